//! The open amount of each listing, compared with its open records, for the audit.

use std::collections::HashMap;

use agent_marketplace::state::ExecutionStatus;
use serde::Serialize;

use super::batch::Batch;

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
        let open = i16::from(ExecutionStatus::Open as u8);
        for record in self.executions.values().filter(|record| record.status == open) {
            let sum = sums.entry(&record.agent).or_default();
            *sum = sum.saturating_add(record.amount);
        }
        self.agents
            .values()
            .map(|agent| (agent, sums.get(agent.address.as_str()).copied().unwrap_or_default()))
            .filter(|(agent, sum)| agent.open_amount != *sum)
            .map(|(agent, records)| OpenAmountMismatch {
                agent: agent.address.clone(),
                listing: agent.open_amount,
                records,
            })
            .collect()
    }
}
