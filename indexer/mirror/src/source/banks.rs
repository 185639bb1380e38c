//! What the updates of a Yellowstone stream prove: which changes happened, up to which slot all of them were
//! delivered, and which slots the chain left.
//!
//! The stream is subscribed to at `confirmed`. The server sends the content of a slot, then its block meta, then its
//! status. A slot is reached once its block meta and its status are there and its parent is reached.

use std::collections::{BTreeMap, BTreeSet};

use crtx_chain::FetchedAccount;
use solana_pubkey::Pubkey;
use yellowstone_grpc_proto::prelude::{
    SlotStatus, SubscribeUpdate, SubscribeUpdateAccount, SubscribeUpdateSlot, SubscribeUpdateTransaction,
    TransactionStatusMeta, subscribe_update::UpdateOneof,
};

use super::{Change, SourceEvent, accounts::of_program, error::SourceError};

/// Slots whose content or status waits for the rest. More mean that a part of the chain never came.
const MAX_WAITING: usize = 150;
/// A slot so much later than the newest one that was reached is none of this stream.
const LEAP: u64 = 600;
/// Accounts that the transactions of one slot emptied. A block cannot hold so many.
const MAX_PER_SLOT: usize = 200_000;

/// What was heard about the newest slots.
pub(super) struct Banks {
    program: Pubkey,
    /// The server that sends the updates.
    node: String,
    /// Accounts that transactions left without lamports, of slots before their block meta.
    emptied: BTreeMap<u64, BTreeSet<Pubkey>>,
    /// Slots whose content is complete, with their parents.
    sealed: BTreeMap<u64, u64>,
    confirmed: BTreeSet<u64>,
    /// The newest slot up to which everything was delivered. The first one is only the beginning: its content may
    /// have begun before the subscription.
    reached: Option<u64>,
    /// The newest slot.
    slot: u64,
}

impl Banks {
    pub(super) const fn new(program: Pubkey, node: String) -> Self {
        Self {
            program,
            node,
            emptied: BTreeMap::new(),
            sealed: BTreeMap::new(),
            confirmed: BTreeSet::new(),
            reached: None,
            slot: 0,
        }
    }

    /// The connection was lost. What was open is sent again as a whole.
    pub(super) fn disconnected(&mut self) {
        self.emptied.clear();
    }

    /// The events that an update proves.
    pub(super) fn take(&mut self, update: SubscribeUpdate) -> Result<Vec<SourceEvent>, SourceError> {
        let events = match update.update_oneof {
            Some(UpdateOneof::Account(update)) => vec![self.account(update)?],
            Some(UpdateOneof::Transaction(update)) => {
                self.transaction(update)?;
                Vec::new()
            }
            Some(UpdateOneof::BlockMeta(meta)) if self.is_far(meta.slot) => Vec::new(),
            Some(UpdateOneof::BlockMeta(meta)) => {
                let mut events = self.closed_in(meta.slot);
                self.sealed.insert(meta.slot, meta.parent_slot);
                events.extend(self.advance());
                events
            }
            Some(UpdateOneof::Slot(update)) => self.status(&update),
            _ => Vec::new(),
        };
        let waiting = self.emptied.len().max(self.waiting());
        if waiting > MAX_WAITING {
            return Err(SourceError::Missed { node: self.node.clone(), reason: "slots are missing".to_owned() });
        }
        Ok(events)
    }

    /// Whether a slot is so far ahead that it cannot belong to the chain of slots that were delivered.
    fn is_far(&self, slot: u64) -> bool {
        self.reached.is_some_and(|reached| slot > reached.saturating_add(LEAP))
    }

    /// Confirmed slots that are not reached.
    fn waiting(&self) -> usize {
        self.reached.map_or(self.confirmed.len(), |reached| self.confirmed.range(reached.saturating_add(1)..).count())
    }

    fn account(&self, update: SubscribeUpdateAccount) -> Result<SourceEvent, SourceError> {
        let info = update.account.ok_or_else(|| self.malformed())?;
        let address = self.key(&info.pubkey)?;
        let account = FetchedAccount { owner: self.key(&info.owner)?, lamports: info.lamports, data: info.data };
        let data = of_program(&self.program, &self.node, account)?;
        Ok(SourceEvent::Change(Change { address, slot: update.slot, data }))
    }

    /// An account that the program closes belongs to another program afterwards, so no update of the program's
    /// accounts shows it. The balances of the transaction do.
    fn transaction(&mut self, update: SubscribeUpdateTransaction) -> Result<(), SourceError> {
        let info = update.transaction.ok_or_else(|| self.malformed())?;
        let message = info.transaction.and_then(|transaction| transaction.message).ok_or_else(|| self.malformed())?;
        let meta = info.meta.ok_or_else(|| self.malformed())?;
        let emptied = emptied(&message.account_keys, &meta).map(|address| self.key(address));
        let emptied: Vec<Pubkey> = emptied.collect::<Result<_, _>>()?;
        let of_slot = self.emptied.entry(update.slot).or_default();
        of_slot.extend(emptied);
        if of_slot.len() > MAX_PER_SLOT {
            let (node, what) = (self.node.clone(), "a slot with too much content");
            return Err(SourceError::Malformed { node, what });
        }
        Ok(())
    }

    /// The accounts that transactions of the slot emptied. A later one of them may have opened an account again: the
    /// reader reads each.
    fn closed_in(&mut self, slot: u64) -> Vec<SourceEvent> {
        let emptied = self.emptied.remove(&slot).unwrap_or_default();
        emptied.into_iter().map(|address| SourceEvent::Change(Change { address, slot, data: None })).collect()
    }

    fn status(&mut self, update: &SubscribeUpdateSlot) -> Vec<SourceEvent> {
        let mut events = Vec::new();
        if self.is_far(update.slot) {
            return events;
        }
        match SlotStatus::try_from(update.status) {
            Ok(SlotStatus::SlotConfirmed) => {
                self.confirmed.insert(update.slot);
                events.extend(self.advance());
            }
            Ok(SlotStatus::SlotFinalized) => {
                self.confirmed.insert(update.slot);
                events.extend(self.advance());
                events.extend(self.finalize(update));
            }
            Ok(SlotStatus::SlotDead) => {
                self.emptied.remove(&update.slot);
                if !self.confirmed.contains(&update.slot) {
                    events.push(SourceEvent::Dropped(update.slot));
                }
                return events;
            }
            Ok(_) => {}
            Err(_) => return events,
        }
        if update.slot > self.slot || !events.is_empty() {
            self.slot = self.slot.max(update.slot);
            events.push(SourceEvent::Alive(self.slot));
        }
        events
    }

    /// Goes from parent to child as far as both the content and the status of a slot are there.
    fn advance(&mut self) -> Vec<SourceEvent> {
        let mut events = Vec::new();
        let Some(mut reached) = self.reached else {
            self.reached = self.confirmed.iter().copied().find(|slot| self.sealed.contains_key(slot));
            return events;
        };
        while let Some((slot, parent)) = self.next_after(reached) {
            // The chain went on from an earlier slot, so it left those between.
            let left = self.confirmed.range(parent.saturating_add(1)..slot).copied().collect::<Vec<_>>();
            for slot in left {
                self.confirmed.remove(&slot);
                events.push(SourceEvent::Dropped(slot));
            }
            events.push(SourceEvent::Reached(slot));
            reached = slot;
        }
        self.reached = Some(reached);
        events
    }

    /// The next slot that is confirmed and complete, and whose parent is reached or older.
    fn next_after(&self, reached: u64) -> Option<(u64, u64)> {
        let newer = self.confirmed.range(reached.saturating_add(1)..);
        let complete = newer.filter_map(|slot| self.sealed.get(slot).map(|parent| (*slot, *parent)));
        complete.into_iter().find(|(_, parent)| *parent <= reached)
    }

    /// Slots between a finalized slot and its parent are not of this chain.
    fn finalize(&mut self, update: &SubscribeUpdateSlot) -> Vec<SourceEvent> {
        let slot = update.slot;
        let parent = update.parent.or_else(|| self.sealed.get(&slot).copied());
        let left = self.confirmed.range(..slot).filter(|left| parent.is_some_and(|parent| **left > parent));
        let dropped = left.copied().map(SourceEvent::Dropped).collect();
        // The finalized slot stays: its children name it.
        self.confirmed = self.confirmed.split_off(&slot);
        self.sealed = self.sealed.split_off(&slot);
        self.emptied = self.emptied.split_off(&slot);
        dropped
    }

    fn key(&self, bytes: &[u8]) -> Result<Pubkey, SourceError> {
        Pubkey::try_from(bytes).map_err(|_| self.malformed())
    }

    fn malformed(&self) -> SourceError {
        SourceError::Malformed { node: self.node.clone(), what: "an update" }
    }
}

/// The accounts that had lamports before a transaction and none after it.
fn emptied<'a>(account_keys: &'a [Vec<u8>], meta: &'a TransactionStatusMeta) -> impl Iterator<Item = &'a [u8]> {
    let loaded = meta.loaded_writable_addresses.iter().chain(&meta.loaded_readonly_addresses);
    let balances = meta.pre_balances.iter().zip(&meta.post_balances);
    let accounts = account_keys.iter().chain(loaded).zip(balances);
    accounts.filter(|(_, (before, after))| **before > 0 && **after == 0).map(|(address, _)| address.as_slice())
}

#[cfg(test)]
mod tests {
    use yellowstone_grpc_proto::prelude::{
        Message, SubscribeUpdateAccountInfo, SubscribeUpdateBlockMeta, SubscribeUpdateTransactionInfo, Transaction,
    };

    use super::*;

    const PROGRAM: Pubkey = Pubkey::new_from_array([7; 32]);

    fn address(number: u8) -> Pubkey {
        Pubkey::new_from_array([number; 32])
    }

    fn update(update: UpdateOneof) -> SubscribeUpdate {
        SubscribeUpdate { filters: vec!["crtx".to_owned()], update_oneof: Some(update), created_at: None }
    }

    fn written(slot: u64, number: u8, transaction: u8) -> SubscribeUpdate {
        let account = SubscribeUpdateAccountInfo {
            pubkey: address(number).to_bytes().to_vec(),
            owner: PROGRAM.to_bytes().to_vec(),
            lamports: 1,
            data: vec![number; 16],
            txn_signature: Some(vec![transaction; 64]),
            ..Default::default()
        };
        update(UpdateOneof::Account(SubscribeUpdateAccount { account: Some(account), slot, ..Default::default() }))
    }

    /// A transaction that empties the account `number`.
    fn emptying(slot: u64, number: u8, transaction: u8, index: u64) -> SubscribeUpdate {
        let message = Message { account_keys: vec![vec![200; 32]], ..Default::default() };
        let meta = TransactionStatusMeta {
            pre_balances: vec![9, 5],
            post_balances: vec![14, 0],
            loaded_writable_addresses: vec![vec![number; 32]],
            ..Default::default()
        };
        let info = SubscribeUpdateTransactionInfo {
            signature: vec![transaction; 64],
            transaction: Some(Transaction { message: Some(message), ..Default::default() }),
            meta: Some(meta),
            index,
            ..Default::default()
        };
        update(UpdateOneof::Transaction(SubscribeUpdateTransaction {
            transaction: Some(info),
            slot,
            ..Default::default()
        }))
    }

    fn sealed(slot: u64, parent_slot: u64) -> SubscribeUpdate {
        update(UpdateOneof::BlockMeta(SubscribeUpdateBlockMeta { slot, parent_slot, ..Default::default() }))
    }

    fn status(slot: u64, status: SlotStatus) -> SubscribeUpdate {
        update(UpdateOneof::Slot(SubscribeUpdateSlot { slot, status: status.into(), ..Default::default() }))
    }

    fn confirmed(slot: u64) -> SubscribeUpdate {
        status(slot, SlotStatus::SlotConfirmed)
    }

    /// The events of the updates, without signs of life.
    fn events(banks: &mut Banks, updates: impl IntoIterator<Item = SubscribeUpdate>) -> Vec<SourceEvent> {
        let events = updates.into_iter().flat_map(|update| banks.take(update).expect("taken"));
        events.filter(|event| !matches!(event, SourceEvent::Alive { .. })).collect()
    }

    fn change(slot: u64, number: u8, open: bool) -> SourceEvent {
        SourceEvent::Change(Change { address: address(number), slot, data: open.then(|| vec![number; 16]) })
    }

    /// At slot 10, from where the stream is complete.
    fn begun() -> Banks {
        let mut banks = Banks::new(PROGRAM, "node".to_owned());
        assert_eq!(events(&mut banks, [sealed(10, 9), confirmed(10)]), [], "its content may have begun earlier");
        banks
    }

    #[test]
    fn a_slot_is_reached_after_its_content_and_its_status() {
        let mut banks = begun();
        assert_eq!(events(&mut banks, [written(11, 1, 1)]), [change(11, 1, true)]);
        assert_eq!(events(&mut banks, [confirmed(11)]), [], "its content is not complete");
        assert_eq!(events(&mut banks, [sealed(11, 10)]), [SourceEvent::Reached(11)]);
        assert_eq!(events(&mut banks, [sealed(14, 11)]), [], "it is not confirmed");
        assert_eq!(events(&mut banks, [confirmed(14)]), [SourceEvent::Reached(14)]);
    }

    #[test]
    fn a_slot_whose_parent_is_missing_is_not_reached_before_it() {
        let mut banks = begun();
        assert_eq!(events(&mut banks, [sealed(12, 11), confirmed(12), sealed(13, 12), confirmed(13)]), []);
        let late = [sealed(11, 10), confirmed(11)];
        assert_eq!(events(&mut banks, late), [11, 12, 13].map(SourceEvent::Reached));
    }

    #[test]
    fn a_parent_that_never_comes_ends_the_stream() {
        let mut banks = begun();
        let updates = (12..1_000).flat_map(|slot| [sealed(slot, slot - 1), confirmed(slot)]);
        let wrong = updates.into_iter().find_map(|update| banks.take(update).err());
        assert!(matches!(wrong, Some(SourceError::Missed { .. })), "{wrong:?}");
    }

    #[test]
    fn a_slot_that_comes_twice_is_reached_once() {
        let mut banks = begun();
        let slot = || [written(11, 1, 1), sealed(11, 10), confirmed(11)];
        assert_eq!(events(&mut banks, slot()), [change(11, 1, true), SourceEvent::Reached(11)]);
        banks.disconnected();
        assert_eq!(events(&mut banks, slot()), [change(11, 1, true)]);
        assert_eq!(events(&mut banks, [sealed(12, 11), confirmed(12)]), [SourceEvent::Reached(12)]);
    }

    #[test]
    fn an_account_that_a_transaction_empties_is_closed() {
        let mut banks = begun();
        assert_eq!(events(&mut banks, [emptying(11, 1, 1, 0)]), []);
        let closed = [change(11, 1, false), SourceEvent::Reached(11)];
        assert_eq!(events(&mut banks, [sealed(11, 10), confirmed(11)]), closed);
    }

    #[test]
    fn an_account_that_one_slot_closes_and_opens_is_told_as_both() {
        let mut banks = begun();
        let updates = [emptying(11, 1, 1, 0), emptying(11, 9, 2, 1), written(11, 1, 2), sealed(11, 10)];
        let told = [change(11, 1, true), change(11, 1, false), change(11, 9, false)];
        assert_eq!(events(&mut banks, updates), told);
    }

    #[test]
    fn slots_that_the_chain_left_are_dropped() {
        let mut banks = begun();
        assert_eq!(events(&mut banks, [status(11, SlotStatus::SlotDead)]), [SourceEvent::Dropped(11)]);
        assert_eq!(events(&mut banks, [sealed(12, 10), confirmed(12)]), [SourceEvent::Reached(12)]);
        // The chain goes on from slot 10 after all.
        assert_eq!(
            events(&mut banks, [sealed(13, 10), confirmed(13)]),
            [SourceEvent::Dropped(12), SourceEvent::Reached(13)]
        );
        let finalized = SubscribeUpdateSlot { slot: 16, parent: Some(13), status: 2, ..Default::default() };
        let before = [sealed(14, 13), confirmed(14)];
        assert_eq!(events(&mut banks, before), [SourceEvent::Reached(14)]);
        let found = events(&mut banks, [sealed(16, 13), update(UpdateOneof::Slot(finalized))]);
        assert_eq!(found, [SourceEvent::Dropped(14), SourceEvent::Reached(16)]);
        assert_eq!(events(&mut banks, [sealed(17, 16), confirmed(17)]), [SourceEvent::Reached(17)]);
    }

    #[test]
    fn life_tells_the_newest_slot() {
        let mut banks = begun();
        let alive = |slot| vec![SourceEvent::Alive(slot)];
        assert_eq!(banks.take(status(42, SlotStatus::SlotProcessed)), Ok(alive(42)));
        assert_eq!(banks.take(status(41, SlotStatus::SlotProcessed)), Ok(Vec::new()));
        assert_eq!(banks.take(status(10, SlotStatus::SlotFinalized)), Ok(Vec::new()));
        assert_eq!(banks.take(status(43, SlotStatus::SlotProcessed)), Ok(alive(43)));
    }

    #[test]
    fn an_update_without_its_parts_is_not_passed_over() {
        let mut banks = begun();
        let bare = update(UpdateOneof::Account(SubscribeUpdateAccount::default()));
        assert!(matches!(banks.take(bare), Err(SourceError::Malformed { .. })));
        let bare = update(UpdateOneof::Transaction(SubscribeUpdateTransaction::default()));
        assert!(matches!(banks.take(bare), Err(SourceError::Malformed { .. })));
    }
}
