//! The event logs: each receiver has every event once, in order and without a hole, and they say what the chain says.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use agent_marketplace::state::ExecutionStatus;
use anyhow::Result;
use crtx_store::events;
use serde_json::Value;
use uuid::Uuid;

use super::{Checker, Facts, Violation, facts::OpenedRecord};

/// How long an event may take from the chain to its receiver.
const LATE: Duration = Duration::from_secs(20);

impl Checker<'_> {
    pub async fn check_events(&self, facts: &Facts) -> Result<Vec<Violation>> {
        let base_url = self.marketplace.info()?.base_url;
        let mut violations = Vec::new();
        for receiver in &self.receivers.0 {
            let address = self.cast.wallets[receiver.wallet].address();
            let records: BTreeMap<Uuid, &OpenedRecord> = facts
                .records
                .values()
                .filter(|record| record.caller == address)
                .map(|record| (Uuid::from_bytes(record.execution_id), record))
                .collect();
            let started = Instant::now();
            let wrong = loop {
                while receiver.read(&self.client, &base_url).await {}
                let wrong = untold(&records, &receiver.received().events);
                if wrong.is_empty() || started.elapsed() > LATE {
                    break wrong;
                }
                tokio::time::sleep(Duration::from_millis(200)).await;
            };
            let received = receiver.received();
            let mut again = Vec::new();
            while let Some(page) =
                receiver.page(&self.client, &base_url, again.len()).await.filter(|page| !page.is_empty())
            {
                again.extend(page);
            }
            let of = |rule, problems: Vec<String>| {
                let details = format!("wallet {address}, {} events\n{}\n", received.events.len(), problems.join("\n"));
                (!problems.is_empty()).then_some(Violation { rule, details })
            };
            violations.extend(of("an event log has no hole and nothing in another order", received.problems.clone()));
            violations.extend(of("every change of an execution is an event", wrong));
            let differs = again.iter().zip(&received.events).find(|(now, then)| now != then);
            let differs = differs.map(|(now, then)| format!("{then} is {now} now"));
            violations.extend(of("an event is the same whenever it is read", differs.into_iter().collect()));
        }
        violations.extend(self.payouts_are_told(facts).await?);
        Ok(violations)
    }

    /// The creator's side.
    async fn payouts_are_told(&self, facts: &Facts) -> Result<Option<Violation>> {
        let creator = solana_signer::Signer::pubkey(&self.cast.creator_wallet);
        let mut connection = self.pool.acquire().await?;
        let mut told: BTreeMap<Uuid, u64> = BTreeMap::new();
        let mut after = 0;
        loop {
            let page = events::page(&mut connection, &creator, after, &["payout".to_owned()], 1_000).await?;
            for event in &page.events {
                let amount = event.data.amount_usdc.map_or(0, |amount| amount.0);
                told.insert(event.execution_id.unwrap_or_default(), amount);
            }
            if page.through == after {
                break;
            }
            after = page.through;
        }
        told.retain(|_, amount| *amount > 0);
        let settled = facts.records.values().filter(|record| is_settled(record));
        let paid: BTreeMap<Uuid, u64> = settled
            .map(|record| (Uuid::from_bytes(record.execution_id), record.split().map_or(0, |split| split.creator)))
            .collect();
        let rule = "every payment of a creator is an event";
        let details = format!("{} payouts by events, {} by records\n", told.len(), paid.len());
        Ok((told != paid).then_some(Violation { rule, details }))
    }
}

fn is_settled(record: &OpenedRecord) -> bool {
    matches!(
        record.status(),
        Some(ExecutionStatus::Completed | ExecutionStatus::Disputed | ExecutionStatus::Overturned)
    )
}

/// Executions whose events do not say what their record says.
fn untold(records: &BTreeMap<Uuid, &OpenedRecord>, events: &[Value]) -> Vec<String> {
    let mut told: BTreeMap<Uuid, Vec<&Value>> = BTreeMap::new();
    for event in events {
        if let Some(id) = event["execution_id"].as_str().and_then(|id| id.parse().ok()) {
            told.entry(id).or_default().push(event);
        }
    }
    let mut wrong = Vec::new();
    for (id, record) in records {
        let events = told.get(id).map(Vec::as_slice).unwrap_or_default();
        let types: Vec<&str> = events.iter().filter_map(|event| event["type"].as_str()).collect();
        let end: &[&str] =
            if is_settled(record) { &["execution.completed"] } else { &["execution.failed", "execution.refunded"] };
        let corrected = events.iter().any(|event| event["correction"] == true);
        // With what was running in between, or without.
        let beginnings: [&[&str]; 2] = [&["execution.opened"], &["execution.opened", "execution.running"]];
        let whole = beginnings.iter().any(|beginning| types == [*beginning, end].concat());
        // The reservation can fail although its transaction lands; the sweep refunds it.
        let late = !is_settled(record) && types == end;
        if !(whole || late || corrected && types.last() == end.last()) {
            wrong.push(format!("{id} is {:?} on chain, and its events are {types:?}", record.status()));
        }
    }
    wrong
}
