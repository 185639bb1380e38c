//! The API and the database against the chain: each call has ended, once, and everybody is shown the same.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use agent_marketplace::state::ExecutionStatus;
use anyhow::{Context, Result, bail};
use crtx_protocol::usdc::UsdcBase;
use crtx_store::executions::{Executions, State};
use serde::Deserialize;
use solana_pubkey::Pubkey;
use uuid::Uuid;

use super::{Checker, Facts, Violation, facts::OpenedRecord};
use crate::client::Reply;

const ENDS: &str = "each call ends once, and everybody is shown the same end";
/// How long rows may need to follow the chain.
const FOLLOW_LIMIT: Duration = Duration::from_secs(20);
const PAGE: usize = 100;
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// One line of `GET /v1/executions`.
#[derive(Clone, Debug, Deserialize)]
struct Listed {
    execution_id: Uuid,
    status: String,
    cost_usdc: UsdcBase,
}

impl Checker<'_> {
    /// Rows are given a moment to follow the chain.
    pub async fn check_rows(&self, facts: &Facts) -> Result<Vec<Violation>> {
        let started = Instant::now();
        loop {
            let violations = self.check_rows_once(facts).await?;
            if violations.is_empty() || started.elapsed() > FOLLOW_LIMIT {
                return Ok(violations);
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    async fn check_rows_once(&self, facts: &Facts) -> Result<Vec<Violation>> {
        let executions = Executions::new(self.pool.clone(), Duration::from_secs(1));
        let addresses = self.marketplace.chain()?.build.addresses;
        let mut violations = Vec::new();
        for (number, wallet) in self.cast.wallets.iter().enumerate() {
            let caller = wallet.address();
            let listed = self.list(&self.cast.key_of(number)).await?;
            let mut by_id: HashMap<Uuid, Listed> = HashMap::new();
            for line in listed {
                let address = addresses.execution(&caller, line.execution_id.as_bytes());
                let record = facts.records.get(&address);
                violations.extend(self.listed_as_on_chain(&line, record));
                violations.extend(self.row_as_on_chain(&executions, &address, record).await?);
                if let Some(twice) = by_id.insert(line.execution_id, line) {
                    let details = format!("{} is listed twice\n", twice.execution_id);
                    violations.push(Violation { rule: ENDS, details });
                }
            }
            let own = facts.records.values().filter(|record| record.caller == caller);
            for record in own.filter(|record| !by_id.contains_key(&Uuid::from_bytes(record.execution_id))) {
                let details = format!("the API does not list it\n{}", self.report_of(record));
                violations.push(Violation { rule: ENDS, details });
            }
        }
        Ok(violations)
    }

    /// All executions of a key's wallet.
    async fn list(&self, key: &str) -> Result<Vec<Listed>> {
        let base_url = self.marketplace.info()?.base_url;
        let mut all: Vec<Listed> = Vec::new();
        loop {
            let url = format!("{base_url}/v1/executions?limit={PAGE}&offset={}", all.len());
            let reply = self.client.get(&url, Some(key), ANSWER_LIMIT).await;
            let Reply::Answer { status: 200, body, .. } = reply else { bail!("the list of executions: {reply:?}") };
            let page: Vec<Listed> = serde_json::from_value(body["executions"].clone()).context("a list")?;
            let full = page.len() == PAGE;
            all.extend(page);
            if !full {
                return Ok(all);
            }
        }
    }

    fn listed_as_on_chain(&self, line: &Listed, record: Option<&OpenedRecord>) -> Option<Violation> {
        let (status, cost) = match record.map(|record| (record.status(), record.amount)) {
            Some((Some(ExecutionStatus::Completed), amount)) => ("completed", amount),
            Some((Some(ExecutionStatus::Open), amount)) => ("running", amount),
            Some(_) | None => ("failed", 0),
        };
        if line.status == status && line.cost_usdc == UsdcBase(cost) {
            return None;
        }
        let noted = record.map_or_else(|| self.report_of_id(line.execution_id), |record| self.report_of(record));
        let details = format!("the API says {line:?}, the chain {status} at {cost} base units\n{noted}");
        Some(Violation { rule: ENDS, details })
    }

    /// The notes of an execution that has no record.
    fn report_of_id(&self, id: Uuid) -> String {
        let calls = self.notebook.calls();
        let noted =
            calls.iter().find(|noted| noted.attempts.iter().any(|attempt| attempt.claim.execution() == Some(id)));
        noted.map_or_else(String::new, |noted| self.notebook.details(noted))
    }

    /// The gateway's own row.
    async fn row_as_on_chain(
        &self,
        executions: &Executions,
        address: &Pubkey,
        record: Option<&OpenedRecord>,
    ) -> Result<Option<Violation>> {
        let Some(row) = executions.get(address).await? else { return Ok(None) };
        let expected = match record.map(|record| record.status()) {
            Some(Some(ExecutionStatus::Completed)) => State::Completed,
            _ => State::Failed,
        };
        let unpaid = row.opened_at.is_none() && record.is_some();
        if row.state == expected && !unpaid {
            return Ok(None);
        }
        let noted = record.map_or_else(|| self.report_of_id(row.call.execution_id), |record| self.report_of(record));
        let details = format!(
            "the row of {address} says {} (opened {:?}, failure {:?}), the chain {expected:?}\n{noted}",
            row.state.into_str(),
            row.opened_at,
            row.failure,
        );
        Ok(Some(Violation { rule: ENDS, details }))
    }
}
