//! What the chain shows of the demo wallet's calls: that every call answered as completed is, that the
//! money moved is what those calls cost, and that no good result was refunded.

use std::{collections::HashMap, time::Duration};

use agent_marketplace::state::ExecutionStatus;
use anyhow::{Context, Result, bail, ensure};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use crtx_chain::ProgramAccount;
use crtx_e2e::market::{Balances, Market};
use serde_json::json;
use uuid::Uuid;

use super::load::Run;

/// How long calls that were answered without their end may take to get there.
const PATIENCE: Duration = Duration::from_secs(180);

/// Every execution on the chain, and what the parties hold.
pub struct Ledger {
    statuses: HashMap<Uuid, ExecutionStatus>,
    balances: Balances,
    /// Of the gateway, with the rent of the records, which it gets back.
    lamports: u64,
}

/// What changed between two looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    pub completed: usize,
    pub refunded: usize,
    /// Network fees that the gateway paid.
    pub fees_lamports: u64,
}

impl Moved {
    pub fn fee_per_call_lamports(&self) -> f64 {
        self.fees_lamports as f64 / self.completed.max(1) as f64
    }
}

impl Ledger {
    /// Looks until no execution is open.
    pub async fn settled(market: &Market) -> Result<Self> {
        let started = std::time::Instant::now();
        loop {
            let (statuses, rent) = statuses(market).await?;
            let open = statuses.values().filter(|status| **status == ExecutionStatus::Open).count();
            if open == 0 {
                let lamports = market.gateway_lamports().await + rent;
                return Ok(Self { statuses, balances: market.balances().await, lamports });
            }
            if started.elapsed() > PATIENCE {
                bail!("{open} executions are still open after {} s", PATIENCE.as_secs());
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    fn count(&self, wanted: &[ExecutionStatus]) -> usize {
        self.statuses.values().filter(|status| wanted.contains(status)).count()
    }

    /// Compares with an earlier look, and with the answers of the calls in between.
    pub fn since(&self, before: &Self, run: &Run, price: u64) -> Result<Moved> {
        let since = |wanted: &[ExecutionStatus]| self.count(wanted) - before.count(wanted);
        let completed = since(&[ExecutionStatus::Completed]);
        let refunded = since(&[ExecutionStatus::Failed, ExecutionStatus::Expired]);
        for id in run.completed_ids() {
            let status = self.statuses.get(&id);
            ensure!(status == Some(&ExecutionStatus::Completed), "{id} was answered as completed and is {status:?}");
        }
        let cost = u64::try_from(completed)? * price;
        let fee = cost / 100;
        let expected = Balances {
            caller: before.balances.caller - cost,
            creator: before.balances.creator + cost - fee,
            treasury: before.balances.treasury + fee,
        };
        ensure!(self.balances == expected, "{completed} calls moved {:?}, not {expected:?}", self.balances);
        Ok(Moved { completed, refunded, fees_lamports: before.lamports - self.lamports })
    }
}

/// The status of every record, and the rent of all of them.
async fn statuses(market: &Market) -> Result<(HashMap<Uuid, ExecutionStatus>, u64)> {
    // Records have two sizes, and the program has few other accounts, so all of them are read.
    let config = json!({"encoding": "base64", "commitment": "confirmed"});
    let accounts = market.rpc("getProgramAccounts", json!([market.info.program_id, config])).await;
    let (mut statuses, mut rent) = (HashMap::new(), 0);
    for account in accounts.as_array().context("a list of accounts")? {
        let data = account["account"]["data"][0].as_str().context("account data")?;
        let ProgramAccount::Execution(record) = ProgramAccount::decode(&BASE64.decode(data)?)? else { continue };
        let status = record.status().context("a record's status")?;
        statuses.insert(Uuid::from_bytes(record.execution_id), status);
        rent += account["account"]["lamports"].as_u64().context("lamports")?;
    }
    Ok((statuses, rent))
}
