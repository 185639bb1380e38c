//! The open amount of each listing, compared with its open records, for the audit.

use std::collections::HashMap;

use agent_marketplace::state::ExecutionStatus;
use serde::Serialize;

use super::{agents, batch::Batch, executions};

/// A listing whose open amount differs from the sum over its open records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OpenAmountMismatch {
    pub agent: String,
    /// The open amount in the listing.
    pub listing: i64,
    /// The sum over its open records.
    pub records: i64,
}

impl Batch {
    /// Listings whose `open_amount` is not the sum over their open records. Meaningful for a whole snapshot.
    pub fn open_amount_mismatches(&self) -> Vec<OpenAmountMismatch> {
        let mut sums: HashMap<&str, i64> = HashMap::new();
        let open = i64::from(ExecutionStatus::Open as u8);
        for record in self.of(&executions::TABLE).filter(|record| record.number("status") == open) {
            let sum = sums.entry(record.text("agent")).or_default();
            *sum = sum.saturating_add(record.number("amount"));
        }
        self.of(&agents::TABLE)
            .map(|agent| OpenAmountMismatch {
                agent: agent.address.clone(),
                listing: agent.number("open_amount"),
                records: sums.get(agent.address.as_str()).copied().unwrap_or_default(),
            })
            .filter(|agent| agent.listing != agent.records)
            .collect()
    }
}
