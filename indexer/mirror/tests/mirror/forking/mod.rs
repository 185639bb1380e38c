//! A chain with forks and finality, behind a node that does what the test says.

pub mod running;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard},
};

use async_trait::async_trait;
use crtx_chain::{Execution, FetchedAccount, Layout, past::SignatureInfo};
use crtx_mirror::source::{AccountSource, At, Change, Events, Read, Snapshot, SnapshotItem, SourceError, SourceEvent};
use crtx_protocol::mirror_digest::{MirrorDigest, data_hash};
use crtx_store::{
    mirror::ExecutionAccount,
    testing::fixtures::{completed, program, record, wallet},
};
use solana_pubkey::Pubkey;
use tokio::sync::mpsc;
use uuid::Uuid;

/// A state of the chain.
#[derive(Clone, Default)]
pub struct Chain {
    pub slot: u64,
    pub accounts: BTreeMap<Pubkey, Vec<u8>>,
    /// Every account that was ever on this chain.
    pub ever: BTreeSet<Pubkey>,
    transactions: Vec<(u64, String)>,
}

pub type Hide = Box<dyn Fn(&Pubkey) -> bool + Send>;

pub struct State {
    confirmed: Chain,
    finalized: Chain,
    /// The chain before the fork, and the slots of the fork.
    fork: Option<(Chain, Vec<u64>)>,
    sent: Vec<SourceEvent>,
    delayed: Option<Vec<SourceEvent>>,
    listeners: Vec<mpsc::Sender<Result<SourceEvent, SourceError>>>,
    old: Vec<Chain>,
    signed: u64,
    confirmed_reads: usize,
    finalized_reads: usize,
    finalized_reads_of: HashMap<Pubkey, usize>,
    snapshots: usize,
    /// Changes are not delivered.
    pub swallow: bool,
    pub offers_transactions: bool,
    /// Accounts that neither snapshots nor reads have.
    pub hide: Hide,
    /// So many answers name another chain.
    pub wrong_genesis: u32,
    /// Snapshots and reads are of this state.
    pub answers_from: Option<Chain>,
    pub breaks_off: bool,
    pub old_snapshot: bool,
    /// The accounts that each transaction wrote; the node tells them only if it may.
    written: HashMap<String, Vec<Pubkey>>,
    pub tells_what_was_written: bool,
    /// Slots between the confirmed and the finalized state. `None`: only [`Node::finalize`] makes slots final.
    pub finality: Option<u64>,
    /// The accounts at the end of each slot.
    past: BTreeMap<u64, BTreeMap<Pubkey, Vec<u8>>>,
    /// Number and checksum of the accounts at the end of each finalized slot, as far as somebody asked for them.
    digests: BTreeMap<u64, (u64, [u8; 32])>,
    /// So many answers of each kind name this slot.
    pub lie: Option<Lie>,
}

/// A slot that answers name in place of the true one.
#[derive(Clone, Copy)]
pub struct Lie {
    pub slot: u64,
    pub slots: u32,
    pub snapshots: u32,
    pub reads: u32,
}

fn lied(left: Option<&mut u32>) -> bool {
    left.is_some_and(|left| {
        let lies = *left > 0;
        *left = left.saturating_sub(1);
        lies
    })
}

#[derive(Clone)]
pub struct Node(Arc<Mutex<State>>);

impl Default for Node {
    fn default() -> Self {
        let chain = Chain { slot: 1_000, ..Chain::default() };
        Self(Arc::new(Mutex::new(State {
            confirmed: chain.clone(),
            finalized: chain,
            fork: None,
            sent: Vec::new(),
            delayed: None,
            listeners: Vec::new(),
            old: Vec::new(),
            signed: 0,
            confirmed_reads: 0,
            finalized_reads: 0,
            finalized_reads_of: HashMap::new(),
            snapshots: 0,
            swallow: false,
            offers_transactions: true,
            hide: Box::new(|_| false),
            wrong_genesis: 0,
            answers_from: None,
            breaks_off: false,
            old_snapshot: false,
            written: HashMap::new(),
            tells_what_was_written: true,
            finality: None,
            past: BTreeMap::new(),
            digests: BTreeMap::new(),
            lie: None,
        })))
    }
}

pub fn record_bytes(account: &ExecutionAccount) -> Vec<u8> {
    Execution { record: account.record, terms: account.terms }.encode()
}

impl State {
    fn deliver(&mut self, event: SourceEvent) {
        self.sent.push(event.clone());
        if let Some(delayed) = &mut self.delayed {
            delayed.push(event);
            return;
        }
        self.listeners.retain(|listener| listener.try_send(Ok(event.clone())).is_ok());
    }

    fn next_slot(&mut self) -> u64 {
        if self.old.len() < 200 {
            self.old.push(self.confirmed.clone());
        }
        self.past.insert(self.confirmed.slot, self.confirmed.accounts.clone());
        self.confirmed.slot += 1;
        let slot = self.confirmed.slot;
        if let Some(distance) = self.finality {
            let finalized = slot.saturating_sub(distance);
            if let Some(accounts) = self.past.get(&finalized) {
                self.finalized = Chain { slot: finalized, accounts: accounts.clone(), ..self.confirmed.clone() };
            }
        }
        if let Some((_, slots)) = &mut self.fork {
            slots.push(slot);
        }
        slot
    }

    fn transaction(&mut self, slot: u64, written: &[Pubkey]) {
        // A fork has other transactions in the same place, so they are counted over all forks.
        self.signed += 1;
        self.confirmed.transactions.push((slot, self.signed.to_string()));
        self.written.insert(self.signed.to_string(), written.to_vec());
    }

    fn at(&self, at: At) -> &Chain {
        match (&self.answers_from, at) {
            (Some(old), _) => old,
            (None, At::Confirmed) => &self.confirmed,
            (None, At::Finalized) => &self.finalized,
        }
    }
}

impl Node {
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no test panicked holding it")
    }

    pub fn chain(&self) -> Chain {
        self.state().confirmed.clone()
    }

    pub fn chain_at(&self, at: At) -> Chain {
        self.state().at(at).clone()
    }

    /// Reads of single accounts so far.
    pub fn reads(&self, at: At) -> usize {
        match at {
            At::Confirmed => self.state().confirmed_reads,
            At::Finalized => self.state().finalized_reads,
        }
    }

    /// How often the finalized state of an account was read.
    pub fn finalized_reads_of(&self, address: &Pubkey) -> usize {
        self.state().finalized_reads_of.get(address).copied().unwrap_or_default()
    }

    /// Snapshots of the confirmed state so far.
    pub fn snapshots(&self) -> usize {
        self.state().snapshots
    }

    /// A transaction changes an account, in a slot of its own.
    pub fn change(&self, address: Pubkey, data: Vec<u8>) {
        let swallowed = self.state().swallow;
        self.change_in_one_slot(&[(address, data, !swallowed)]);
    }

    /// Transactions that change an account each, all in one slot. The stream tells those that are to be delivered.
    pub fn change_in_one_slot(&self, changes: &[(Pubkey, Vec<u8>, bool)]) {
        let mut state = self.state();
        let slot = state.next_slot();
        for (address, data, delivered) in changes.iter().cloned() {
            state.transaction(slot, &[address]);
            state.confirmed.accounts.insert(address, data.clone());
            state.confirmed.ever.insert(address);
            if delivered {
                state.deliver(SourceEvent::Change(Change { address, slot, data: Some(data) }));
            }
        }
    }

    /// Number and checksum of the accounts at the end of each slot, up to the finalized one.
    pub fn finalized_digests(&self) -> BTreeMap<u64, (u64, [u8; 32])> {
        let state = &mut *self.state();
        let next = state.digests.keys().next_back().map_or(0, |slot| slot + 1);
        for (slot, accounts) in state.past.range(next..).filter(|(slot, _)| **slot <= state.finalized.slot) {
            let mut digest = MirrorDigest::identity();
            accounts.iter().for_each(|(address, data)| digest.add(address, &data_hash(data)));
            state.digests.insert(*slot, (accounts.len() as u64, digest.checksum()));
        }
        state.digests.clone()
    }

    /// A transaction closes an account. The stream does not tell.
    pub fn close(&self, address: Pubkey) {
        let mut state = self.state();
        if state.confirmed.accounts.contains_key(&address) {
            let slot = state.next_slot();
            state.transaction(slot, &[address]);
            state.confirmed.accounts.remove(&address);
        }
    }

    /// The next state of an execution, if it exists.
    pub fn settle(&self, number: u128, result: u8) {
        let open = record(wallet(2), wallet(20), Uuid::from_u128(number));
        let address =
            crtx_store::testing::fixtures::addresses().execution(&wallet(2), Uuid::from_u128(number).as_bytes());
        let Some(before) = self.chain().accounts.get(&address).cloned() else { return };
        let revision = Execution::decode(&before).expect("an execution").record.revision;
        let mut account = completed(open, &result.to_string());
        account.record.revision = revision + 1;
        self.change(address, record_bytes(&account));
    }

    /// From here on the chain may be dropped.
    pub fn begin_fork(&self) {
        let mut state = self.state();
        if state.fork.is_none() {
            state.fork = Some((state.confirmed.clone(), Vec::new()));
        }
    }

    /// What happened since [`Node::begin_fork`] never happened. Slots go on.
    pub fn drop_fork(&self, told: bool) {
        let mut state = self.state();
        let Some((mut chain, slots)) = state.fork.take() else { return };
        chain.slot = state.confirmed.slot + 1;
        state.confirmed = chain;
        state.old.clear();
        if told {
            for slot in slots {
                state.deliver(SourceEvent::Dropped(slot));
            }
        }
    }

    /// Slots pass.
    pub fn slots(&self, count: u64) {
        let mut state = self.state();
        for _ in 0..count {
            state.next_slot();
        }
        let slot = state.confirmed.slot;
        drop(state);
        self.send(SourceEvent::Alive(slot));
    }

    pub fn alive(&self) {
        let slot = self.chain().slot;
        self.send(SourceEvent::Alive(slot));
    }

    pub fn send(&self, event: SourceEvent) {
        self.state().deliver(event);
    }

    /// Everything is final that is on no open fork.
    pub fn finalize(&self) {
        let mut state = self.state();
        state.finalized = match &state.fork {
            Some((chain, _)) => chain.clone(),
            None => state.confirmed.clone(),
        };
    }

    /// Delivers an earlier event again.
    pub fn repeat(&self, seed: usize) {
        let mut state = self.state();
        let changes: Vec<SourceEvent> =
            state.sent.iter().filter(|event| matches!(event, SourceEvent::Change(_))).cloned().collect();
        if !changes.is_empty() {
            let event = changes[seed % changes.len()].clone();
            state.listeners.retain(|listener| listener.try_send(Ok(event.clone())).is_ok());
        }
    }

    /// Delivers the last change of an account again.
    pub fn repeat_last(&self, address: &Pubkey) {
        let mut state = self.state();
        let of = |event: &&SourceEvent| matches!(event, SourceEvent::Change(change) if change.address == *address);
        if let Some(event) = state.sent.iter().rev().find(of).cloned() {
            state.listeners.retain(|listener| listener.try_send(Ok(event.clone())).is_ok());
        }
    }

    /// Holds events back, and then delivers them in the wrong order.
    pub fn delay(&self, delay: bool) {
        let mut state = self.state();
        if delay {
            state.delayed.get_or_insert_default();
        } else if let Some(mut delayed) = state.delayed.take() {
            delayed.reverse();
            for event in delayed {
                state.listeners.retain(|listener| listener.try_send(Ok(event.clone())).is_ok());
            }
        }
    }

    pub fn answer_with_an_old_snapshot(&self) {
        self.state().old_snapshot = true;
    }

    pub fn break_streams(&self) {
        self.state().listeners.clear();
    }

    /// All faults end, and everything is delivered that was held back.
    pub fn calm(&self) {
        self.delay(false);
        let mut state = self.state();
        state.fork = None;
        state.swallow = false;
        state.old_snapshot = false;
        state.next_slot();
        state.next_slot();
        drop(state);
        self.finalize();
    }
}

fn snapshot_of(slot: u64, accounts: Vec<(Pubkey, Vec<u8>)>, whole: bool) -> Snapshot {
    let (items, snapshot) = mpsc::channel(accounts.len() + 2);
    for page in accounts.chunks(3) {
        items.try_send(Ok(SnapshotItem::Page { slot, accounts: page.to_vec() })).expect("room");
    }
    if whole {
        items.try_send(Ok(SnapshotItem::End { slot })).expect("room");
    }
    snapshot
}

#[async_trait]
impl AccountSource for Node {
    fn name(&self) -> String {
        "scripted".to_owned()
    }

    async fn subscribe(&self) -> Result<Events, SourceError> {
        let (sender, receiver) = mpsc::channel(100_000);
        self.state().listeners.push(sender);
        Ok(receiver)
    }

    async fn snapshot(&self, at: At, _: u64) -> Result<Snapshot, SourceError> {
        let mut state = self.state();
        state.snapshots += usize::from(at == At::Confirmed);
        if at == At::Confirmed
            && std::mem::take(&mut state.old_snapshot)
            && let Some(old) = state.old.first()
        {
            return Ok(snapshot_of(old.slot, old.accounts.clone().into_iter().collect(), true));
        }
        let mut chain = state.at(at).clone();
        if lied(state.lie.as_mut().map(|lie| &mut lie.snapshots)) {
            chain.slot = state.lie.expect("a lie").slot;
        }
        let accounts = chain.accounts.into_iter().filter(|(address, _)| !(state.hide)(address)).collect();
        Ok(snapshot_of(chain.slot, accounts, !state.breaks_off))
    }

    async fn read(&self, addresses: &[Pubkey], at: At, _: u64) -> Result<Read, SourceError> {
        let mut state = self.state();
        match at {
            At::Confirmed => state.confirmed_reads += 1,
            At::Finalized => {
                state.finalized_reads += 1;
                for address in addresses {
                    *state.finalized_reads_of.entry(*address).or_default() += 1;
                }
            }
        }
        let mut slot = state.at(at).slot;
        if lied(state.lie.as_mut().map(|lie| &mut lie.reads)) {
            slot = state.lie.expect("a lie").slot;
        }
        let chain = state.at(at);
        let account = |address: &Pubkey| {
            let data = chain.accounts.get(address).filter(|_| !(state.hide)(address))?;
            Some(FetchedAccount { owner: program(), lamports: 1, data: data.clone() })
        };
        Ok(Read { slot, value: addresses.iter().map(account).collect() })
    }

    async fn slot(&self, at: At) -> Result<u64, SourceError> {
        let mut state = self.state();
        if lied(state.lie.as_mut().map(|lie| &mut lie.slots)) {
            return Ok(state.lie.expect("a lie").slot);
        }
        Ok(state.at(at).slot)
    }

    async fn written_by(&self, signature: &str) -> Result<Option<Vec<Pubkey>>, SourceError> {
        let state = self.state();
        Ok(state.written.get(signature).filter(|_| state.tells_what_was_written).cloned())
    }

    async fn genesis_hash(&self) -> Result<String, SourceError> {
        let mut state = self.state();
        if state.wrong_genesis > 0 {
            if state.wrong_genesis < u32::MAX {
                state.wrong_genesis -= 1;
            }
            return Ok("another".to_owned());
        }
        Ok("one".to_owned())
    }

    async fn transactions_after(&self, after: Option<&str>, _: u64) -> Result<Option<Vec<SignatureInfo>>, SourceError> {
        let state = self.state();
        if !state.offers_transactions {
            return Ok(None);
        }
        let newest = state.confirmed.transactions.iter().rev();
        let found = newest.take_while(|(_, signature)| Some(&**signature) != after);
        let listed = |(slot, signature): &(u64, String)| SignatureInfo {
            signature: signature.clone(),
            slot: *slot,
            block_time: None,
            failed: false,
        };
        Ok(Some(found.map(listed).collect()))
    }
}
