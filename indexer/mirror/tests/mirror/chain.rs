//! A chain that does what a test says: its accounts, its slot, its past transactions.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard},
};

use agent_marketplace::{
    event::{AgentClosed, ExecutionClosed},
    state::AgentListed,
};
use anchor_lang::{AnchorSerialize, Discriminator, event::EVENT_IX_TAG_LE};
use async_trait::async_trait;
use crtx_chain::{
    ChainError, Execution, FetchedAccount,
    past::{CalledInstruction, PastTransaction, SignatureInfo},
    token::TokenAccount,
};
use crtx_mirror::{
    history::History,
    source::{AccountSource, At, Events, Read, Snapshot, SnapshotItem, SourceError},
    sync,
};
use crtx_store::{
    PgPool,
    mirror::{self, Batch, ExecutionAccount},
    testing::fixtures::*,
};
use solana_pubkey::Pubkey;
use tokio::sync::mpsc;

pub type Happening = Box<dyn FnOnce(&mut State) + Send>;
/// Its signature, the accounts that it names, and what it did.
pub type Transaction = (String, Vec<Pubkey>, PastTransaction);

#[derive(Clone)]
pub struct Chain(Arc<Mutex<State>>);

pub struct State {
    pub slot: u64,
    pub accounts: HashMap<Pubkey, FetchedAccount>,
    /// Answers snapshots with no account.
    pub says_nothing: bool,
    /// Ends snapshots without an end.
    pub breaks_off: bool,
    /// Newest first.
    pub transactions: Vec<Transaction>,
    /// What happens before the next single read.
    pub before_read: Option<Happening>,
    pub witness: Option<Chain>,
    /// A transaction that is listed and not told.
    pub forgets: Option<String>,
}

impl Chain {
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(State {
            slot: 100,
            accounts: HashMap::new(),
            says_nothing: false,
            breaks_off: false,
            transactions: Vec::new(),
            before_read: None,
            witness: None,
            forgets: None,
        })))
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no test panicked holding it")
    }

    /// Writes the mirror as the chain is.
    pub async fn mirror_into(&self, pool: &PgPool) {
        let (slot, accounts) = {
            let state = self.state();
            (state.slot, state.program_accounts())
        };
        let mut batch = Batch::default();
        for (address, data) in accounts {
            sync::push(&mut batch, &address, slot, data).expect("a row");
        }
        mirror::apply_changes(pool, &batch, slot).await.expect("written");
    }
}

impl State {
    pub fn write(&mut self, address: Pubkey, data: Vec<u8>) {
        self.slot += 1;
        self.accounts.insert(address, FetchedAccount { owner: program(), lamports: 1, data });
    }

    pub fn program_accounts(&self) -> Vec<(Pubkey, Vec<u8>)> {
        let owned = self.accounts.iter().filter(|(_, account)| account.owner == program());
        owned.map(|(address, account)| (*address, account.data.clone())).collect()
    }

    /// Closes an account in a transaction with this event.
    pub fn close(&mut self, address: Pubkey, event: Vec<u8>) -> String {
        self.slot += 1;
        self.accounts.remove(&address);
        self.transact(&[address], event)
    }

    /// A transaction that names these accounts and calls the program's event instruction.
    pub fn transact(&mut self, accounts: &[Pubkey], event: Vec<u8>) -> String {
        let signature = format!("signature{}", self.transactions.len());
        let data = [EVENT_IX_TAG_LE, &event].concat();
        let call = CalledInstruction { program_id: program(), accounts: Vec::new(), data, called: Vec::new() };
        let past = PastTransaction {
            slot: self.slot,
            block_time: Some(NOON),
            failed: false,
            instructions: vec![call],
            token_changes: Vec::new(),
        };
        let named = accounts.iter().copied().chain([program()]).collect();
        self.transactions.insert(0, (signature.clone(), named, past));
        signature
    }

    /// The token accounts of an agent.
    pub fn fill_vaults(&mut self, agent: &Pubkey, escrow: u64, collateral: u64) {
        self.accounts.insert(addresses().escrow(agent), token_account(escrow));
        self.accounts.insert(addresses().collateral(agent), token_account(collateral));
    }
}

fn token_account(amount: u64) -> FetchedAccount {
    let account = TokenAccount { mint: wallet(61), owner: wallet(62), amount, delegate: None, frozen: false };
    FetchedAccount { owner: wallet(60), lamports: 1, data: account.encode() }
}

pub fn listing_bytes(listing: &AgentListed) -> Vec<u8> {
    account_bytes(AgentListed::DISCRIMINATOR, listing)
}

pub fn record_bytes(account: &ExecutionAccount) -> Vec<u8> {
    Execution { record: account.record, terms: account.terms }.encode()
}

/// The event of the closing of a record.
pub fn record_closed(record: Pubkey, record_data: Vec<u8>, dispute_data: Option<Vec<u8>>) -> Vec<u8> {
    let event = ExecutionClosed { record, record_data, dispute_data, closed_at_unix_s: NOON + 300_000 };
    let mut bytes = ExecutionClosed::DISCRIMINATOR.to_vec();
    event.serialize(&mut bytes).expect("written");
    bytes
}

/// The event of the closing of a listing.
pub fn agent_closed(agent: Pubkey, agent_data: Vec<u8>) -> Vec<u8> {
    let mut bytes = AgentClosed::DISCRIMINATOR.to_vec();
    AgentClosed { agent, agent_data, closed_at_unix_s: NOON + 300_000 }.serialize(&mut bytes).expect("written");
    bytes
}

#[async_trait]
impl AccountSource for Chain {
    fn name(&self) -> String {
        "node.example".to_owned()
    }

    async fn subscribe(&self) -> Result<Events, SourceError> {
        Ok(mpsc::channel(1).1)
    }

    async fn snapshot(&self, _: At, _: u64) -> Result<Snapshot, SourceError> {
        let (slot, mut accounts, breaks_off) = {
            let state = self.state();
            (state.slot, state.program_accounts(), state.breaks_off)
        };
        if self.state().says_nothing {
            accounts.clear();
        }
        let (items, snapshot) = mpsc::channel(64);
        tokio::spawn(async move {
            for page in accounts.chunks(3) {
                let page = SnapshotItem::Page { slot, accounts: page.to_vec() };
                if items.send(Ok(page)).await.is_err() {
                    return;
                }
            }
            if !breaks_off {
                let _ = items.send(Ok(SnapshotItem::End { slot })).await;
            }
        });
        Ok(snapshot)
    }

    async fn read(&self, addresses: &[Pubkey], _: At, _: u64) -> Result<Read, SourceError> {
        let mut state = self.state();
        if let Some(happening) = state.before_read.take() {
            happening(&mut state);
        }
        let accounts = addresses.iter().map(|address| state.accounts.get(address).cloned()).collect();
        Ok(Read { slot: state.slot, value: accounts })
    }

    async fn slot(&self, _: At) -> Result<u64, SourceError> {
        Ok(self.state().slot)
    }

    async fn genesis_hash(&self) -> Result<String, SourceError> {
        Ok("one".to_owned())
    }

    async fn transactions_after(&self, _: Option<&str>, _: u64) -> Result<Option<Vec<SignatureInfo>>, SourceError> {
        Ok(None)
    }

    fn witness(&self) -> Option<Arc<dyn AccountSource>> {
        self.state().witness.clone().map(|witness| Arc::new(witness) as Arc<dyn AccountSource>)
    }
}

#[async_trait]
impl History for Chain {
    async fn about(
        &self,
        address: &Pubkey,
        before: Option<&str>,
        limit: usize,
    ) -> Result<Vec<SignatureInfo>, ChainError> {
        let state = self.state();
        let start = before.and_then(|before| state.transactions.iter().position(|(name, ..)| name == before));
        let older = state.transactions.iter().skip(start.map_or(0, |at| at + 1));
        let naming = older.filter(|(_, named, _)| named.contains(address)).take(limit);
        let listed = naming.map(|(signature, _, past)| SignatureInfo {
            signature: signature.clone(),
            slot: past.slot,
            block_time: past.block_time,
            failed: past.failed,
        });
        Ok(listed.collect())
    }

    async fn transaction(&self, signature: &str) -> Result<Option<PastTransaction>, ChainError> {
        let state = self.state();
        if state.forgets.as_deref() == Some(signature) {
            return Ok(None);
        }
        Ok(state.transactions.iter().find(|(name, ..)| name == signature).map(|(.., past)| past.clone()))
    }
}
