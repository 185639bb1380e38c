//! What a process does. Any number of processes of each role work over one database.

use std::{collections::BTreeSet, fmt};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Serves every HTTP endpoint: reads, paid calls and content.
    Api,
    /// Mirrors the chain into the database, fetches metadata documents, audits the mirror.
    Indexer,
    /// Resumes executions that another process left behind, and refunds those past their deadline.
    Worker,
}

impl Role {
    pub const ALL: [Self; 3] = [Self::Api, Self::Indexer, Self::Worker];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Indexer => "indexer",
            Self::Worker => "worker",
        }
    }
}

/// The roles of one process; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roles(BTreeSet<Role>);

impl Roles {
    /// `None` if no role is named.
    pub fn new(roles: impl IntoIterator<Item = Role>) -> Option<Self> {
        let roles: BTreeSet<Role> = roles.into_iter().collect();
        (!roles.is_empty()).then_some(Self(roles))
    }

    pub fn all() -> Self {
        Self(Role::ALL.into())
    }

    pub fn has(&self, role: Role) -> bool {
        self.0.contains(&role)
    }

    /// Whether the process works on executions, and therefore needs the gateway's key pair.
    pub fn need_gateway(&self) -> bool {
        self.has(Role::Api) || self.has(Role::Worker)
    }
}

impl fmt::Display for Roles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(|role| role.name()).collect();
        f.write_str(&names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_at_least_one_role_and_names_each_once() {
        assert!(Roles::new([]).is_none());
        assert_eq!(Roles::new([Role::Worker, Role::Api, Role::Worker]).unwrap().to_string(), "api, worker");
        assert_eq!(Roles::all().to_string(), "api, indexer, worker");
    }

    #[test]
    fn an_indexer_alone_needs_no_gateway() {
        assert!(!Roles::new([Role::Indexer]).unwrap().need_gateway());
        assert!(Roles::new([Role::Worker]).unwrap().need_gateway());
    }
}
