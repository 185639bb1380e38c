//! What the chain says: every record of the campaign's wallets, found by what was asked for.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Deref,
    time::Duration,
};

use agent_marketplace::state::ExecutionStatus;
use anyhow::{Context, Result};
use crtx_chain::{CommitmentConfig, Execution, ProgramAccount};
use crtx_protocol::request_hash;
use serde_json::{Map, Value, json};
use solana_pubkey::Pubkey;
use uuid::Uuid;

use super::{Checker, Tally, openings::Opening};
use crate::{notes::NotedCall, plan::Call};

/// A record with what it had while it was open.
#[derive(Clone, Copy, Debug)]
pub struct OpenedRecord {
    pub execution: Execution,
    pub opening: Opening,
    /// The time-out of its agent, which does not change in a campaign.
    pub timeout_seconds: u32,
}

impl Deref for OpenedRecord {
    type Target = Execution;

    fn deref(&self) -> &Execution {
        &self.execution
    }
}

pub struct Facts {
    /// By address.
    pub records: BTreeMap<Pubkey, OpenedRecord>,
    /// Addresses of the records of one request: wallet and hash of what was asked.
    by_request: HashMap<(Pubkey, [u8; 32]), Vec<Pubkey>>,
    /// The calls, by the same.
    calls: HashMap<(Pubkey, [u8; 32]), NotedCall>,
}

impl Facts {
    pub fn open(&self) -> impl Iterator<Item = (&Pubkey, &OpenedRecord)> {
        self.records.iter().filter(|(_, record)| record.status() == Some(ExecutionStatus::Open))
    }

    /// Records that were opened for a call.
    pub fn of_call(&self, wallet: &Pubkey, call: &Call) -> Vec<(&Pubkey, &OpenedRecord)> {
        let addresses = self.by_request.get(&(*wallet, request_hash_of(call))).map(Vec::as_slice).unwrap_or_default();
        addresses.iter().filter_map(|address| self.records.get_key_value(address)).collect()
    }

    /// The call that a record was opened for.
    pub fn call_of(&self, record: &OpenedRecord) -> Option<&NotedCall> {
        self.calls.get(&(record.caller, record.opening.request_hash))
    }

    pub fn calls(&self) -> impl Iterator<Item = &NotedCall> {
        self.calls.values()
    }
}

/// What the gateway hashes of the request that a caller sends for the call.
fn request_hash_of(call: &Call) -> [u8; 32] {
    let parameters = json!({"behaviour": call.behaviour.name(), "delay_ms": call.delay_ms});
    let parameters: &Map<String, Value> = parameters.as_object().expect("an object");
    request_hash::of(&call.task, parameters).expect("plain numbers")
}

impl Checker<'_> {
    pub async fn facts(&self) -> Result<Facts> {
        let chain = self.marketplace.chain()?;
        let program = chain.build.addresses.program_id();
        let accounts = chain.client.program_accounts(&program, &[], CommitmentConfig::confirmed()).await?.value;
        let mut records = BTreeMap::new();
        let mut by_request: HashMap<_, Vec<Pubkey>> = HashMap::new();
        for (address, account) in accounts {
            if let ProgramAccount::Execution(execution) = ProgramAccount::decode(&account.data)?
                && self.cast.wallet_of(&execution.caller).is_some()
            {
                let opening = self.openings.of(&chain.client, &address, &execution).await?;
                let agent = self.cast.agents.iter().find(|agent| agent.address == execution.agent);
                let timeout_seconds = agent.context("a record of an agent of the campaign")?.timeout_seconds;
                by_request.entry((execution.caller, opening.request_hash)).or_default().push(address);
                records.insert(address, OpenedRecord { execution: *execution, opening, timeout_seconds });
            }
        }
        let calls = self.notebook.calls().into_iter();
        let calls = calls.map(|noted| ((self.wallet_of(&noted.call), request_hash_of(&noted.call)), noted)).collect();
        Ok(Facts { records, by_request, calls })
    }

    /// Address of the wallet that a call spends.
    pub fn wallet_of(&self, call: &Call) -> Pubkey {
        self.cast.wallets[self.cast.keys[call.key].0].address()
    }

    /// What the record and the notes of the call say.
    pub fn report_of(&self, record: &OpenedRecord) -> String {
        let id = Uuid::from_bytes(record.execution_id);
        let notes = self.cast.creator.notes(id);
        let delivered: Vec<_> = notes.delivered.iter().map(|(result, took)| (result, took.as_millis())).collect();
        let mut text = format!(
            "  on chain: execution {id}, {:?}, reason {:?}, amount {}, opened {}, terms {:?}, finished {}\n  creator: \
             asked {} times, delivered {delivered:?}, settled {:?}\n",
            record.status(),
            record.failure_reason(),
            record.amount,
            record.opened_at_unix_s,
            record.terms,
            record.finished_at_unix_s,
            notes.asked.len(),
            notes.settled,
        );
        let calls = self.notebook.calls();
        let noted = calls.iter().find(|noted| {
            self.wallet_of(&noted.call) == record.caller && request_hash_of(&noted.call) == record.opening.request_hash
        });
        match noted {
            Some(noted) => text += &self.notebook.details(noted),
            None => text += "  nobody asked for this\n",
        }
        text
    }

    pub fn tally(&self, facts: &Facts) -> Tally {
        let is = |wanted: ExecutionStatus| facts.records.values().filter(move |r| r.status() == Some(wanted));
        let refunded = || is(ExecutionStatus::Failed).chain(is(ExecutionStatus::Expired));
        let delivered = |record: &&OpenedRecord| {
            let notes = self.cast.creator.notes(Uuid::from_bytes(record.execution_id));
            let limit = Duration::from_secs(u64::from(record.timeout_seconds));
            notes.delivered.iter().any(|(_, took)| *took < limit)
        };
        Tally {
            calls: facts.calls.len(),
            requests: facts.calls.values().map(|noted| noted.attempts.len()).sum(),
            records: facts.records.len(),
            completed: is(ExecutionStatus::Completed).count(),
            refunded: refunded().count(),
            good_results_refunded: refunded().filter(delivered).count(),
            verified: 0,
        }
    }
}
