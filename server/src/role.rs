//! What a process does. Any number of processes of each role work over one database.

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
}
