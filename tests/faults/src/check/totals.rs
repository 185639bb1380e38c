//! What each listing counts, against the records of its agent: only failures of the agent are counted as failures.

use agent_marketplace::state::{AgentListed, ExecutionStatus};
use anyhow::{Context, Result};

use super::{Checker, Facts, Violation, answers::is_the_agents};

impl Checker<'_> {
    pub async fn check_totals(&self, facts: &Facts) -> Result<Vec<Violation>> {
        let chain = self.marketplace.chain()?;
        let mut violations = Vec::new();
        for agent in &self.cast.agents {
            let listing = chain.read::<AgentListed>(&agent.address).await?.context("the agent has no listing")?;
            let records = || facts.records.values().filter(|record| record.agent == agent.address);
            let failed = records().filter(|record| record.agents_failure == 1).count();
            let unproved =
                records().filter(|record| is_the_agents(record.failure_reason()) && record.agents_failure == 0).count();
            let completed = records().filter(|record| record.status() == Some(ExecutionStatus::Completed)).count();
            let refunded = [ExecutionStatus::Failed, ExecutionStatus::Expired].map(Some);
            let refunded = records().filter(|record| refunded.contains(&record.status())).count();
            let counted = [
                listing.completed_executions,
                listing.failed_executions,
                listing.unproved_failures,
                listing.expired_executions,
                listing.total_executions,
            ];
            let expired = refunded - failed - unproved;
            let expected = [completed, failed, unproved, expired, completed + failed].map(|count| count as u64);
            if counted != expected {
                let details = format!(
                    "{}: completed, failed, unproved, expired, total are {counted:?}, by its records {expected:?}\n",
                    agent.name
                );
                violations.push(Violation { rule: "a listing counts what its records say", details });
            }
        }
        Ok(violations)
    }
}
