//! What must hold after a campaign, whatever happened in it: the chain, the database, the API and the callers'
//! notes are compared. What does not hold is a violation, with its report.

mod answers;
mod events;
mod facts;
mod money;
mod openings;
mod proofs;
mod rows;
mod totals;

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use crtx_store::PgPool;
use solana_pubkey::Pubkey;

pub use facts::Facts;
pub use openings::Openings;

use crate::{cast::Cast, client::Client, notes::Notebook, receivers::Receivers, world::Marketplace};

/// How long after a record's deadline the marketplace may need to refund it: gateways look every 30 s.
pub const SWEEP: Duration = Duration::from_secs(45);

/// Something that must hold and does not.
#[derive(Clone, Debug)]
pub struct Violation {
    /// What must hold.
    pub rule: &'static str,
    /// What was found instead, and what led to it.
    pub details: String,
}

/// Everything the checks look at.
pub struct Checker<'a> {
    pub marketplace: &'a Marketplace,
    pub cast: &'a Cast,
    pub notebook: &'a Notebook,
    pub pool: &'a PgPool,
    /// Filled by the comparisons of all rounds.
    pub openings: &'a Openings,
    pub receivers: &'a Receivers,
    pub client: Client,
}

/// What was checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub calls: usize,
    pub requests: usize,
    pub records: usize,
    pub completed: usize,
    pub refunded: usize,
    /// Delivered and refunded nevertheless: nobody lost money, but the creator its pay.
    pub good_results_refunded: usize,
    pub verified: usize,
}

impl Checker<'_> {
    /// Waits until nothing is open any more, and checks everything. Records in `verified` were verified before.
    pub async fn run(&self, verified: &mut HashSet<Pubkey>) -> Result<(Tally, Vec<Violation>)> {
        let mut violations = self.wait_until_settled().await?;
        let facts = self.facts().await?;
        violations.extend(self.check_answers(&facts).await);
        violations.extend(self.check_rows(&facts).await?);
        violations.extend(self.check_money(&facts).await?);
        violations.extend(self.check_totals(&facts).await?);
        violations.extend(self.check_events(&facts).await?);
        violations.extend(self.check_audit().await?);
        let (proved, unproved) = self.check_proofs(&facts, verified).await?;
        violations.extend(unproved);
        let mut tally = self.tally(&facts);
        tally.verified = proved;
        Ok((tally, violations))
    }

    /// Nothing may be open past its deadline plus the sweep; nothing may be unfinished in the database after.
    async fn wait_until_settled(&self) -> Result<Vec<Violation>> {
        let rule = "nothing is open past its deadline plus the sweep";
        let chain = self.marketplace.chain()?;
        let started = Instant::now();
        loop {
            let facts = self.facts().await?;
            let open: Vec<_> = facts.open().collect();
            let deadlines = open.iter().filter_map(|(_, record)| record.terms);
            let Some(last) = deadlines.map(|terms| terms.deadline_unix_s).max() else { return Ok(Vec::new()) };
            let now = chain.client.unix_time().await?.context("the chain has no clock")?;
            let overdue = now.saturating_sub(last) > i64::try_from(SWEEP.as_secs()).unwrap_or(i64::MAX);
            // The chain's clock stands still if its process does not work; then it is not waited for.
            if overdue || started.elapsed() > SWEEP * 3 {
                let late = open.iter().map(|(address, record)| {
                    let late = record.terms.map_or(0, |terms| now.saturating_sub(terms.deadline_unix_s));
                    let report = self.report_of(record);
                    Violation {
                        rule,
                        details: format!("record {address} is open {late} s after its deadline\n{report}"),
                    }
                });
                return Ok(late.collect());
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }
}
