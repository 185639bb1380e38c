//! The slot up to which every change was delivered, proved by the program's transactions. Each transaction after the
//! last known one names the accounts that it may have written. If the stream delivered all of them at its slot, or the
//! others are as the mirror knows them, nothing is missing up to the slot that the node has reached.

use std::{
    collections::{BTreeMap, HashMap},
    sync::atomic::Ordering,
    time::Duration,
};

use crtx_store::mirror;
use futures::{StreamExt, TryStreamExt};
use solana_pubkey::Pubkey;
use solana_signature::Signature;
use tokio::time::{Instant, sleep};

use super::{
    apply::Item,
    changes::State,
    correct::hash_of,
    error::SyncError,
    guard,
    parts::{Parts, READ_AT_ONCE, lock},
};
use crate::source::{At, MAX_TRANSACTIONS, ProgramTransaction};

/// How long the changes of a transaction may take longer than the transaction.
pub const PATIENCE: Duration = Duration::from_secs(2);
/// A node that does not offer transactions is asked again after this time.
const UNOFFERED: Duration = Duration::from_secs(60);
/// Transactions whose accounts are asked for in one probe. With more, a snapshot proves the slot.
const MAX_LOOKED_AT: usize = 200;
/// Questions for transactions at the same time.
const ASKED_AT_ONCE: usize = 8;

/// What the last answers said.
#[derive(Default)]
struct Known {
    /// The newest transaction whose changes are applied.
    newest: Option<Signature>,
    /// Since when transactions have been without their changes.
    waiting: Option<Instant>,
    /// The accounts that transactions without their changes may have written.
    written: HashMap<Signature, Vec<Pubkey>>,
}

/// What the transactions after the last proved slot say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// Every change was delivered with its slot.
    All,
    /// Every account is shown, but not every change was delivered.
    Shown,
    /// Changes are on their way.
    Waiting,
    /// Only a snapshot can tell.
    Unknown,
}

/// Accounts that transactions may have written and the stream did not bring at their slots.
type Undelivered = BTreeMap<Pubkey, Vec<u64>>;

impl Parts {
    /// Asks for transactions in regular intervals, until the database fails.
    pub async fn probes(&self) -> SyncError {
        let mut known = Known::default();
        loop {
            sleep(self.settings.probe_interval).await;
            if !self.caught_up.load(Ordering::Relaxed) {
                continue;
            }
            match self.probe(&mut known).await {
                Ok(true) => {}
                Ok(false) => sleep(UNOFFERED).await,
                Err(error @ SyncError::Store(_)) => return error,
                Err(error) => tracing::debug!(cause = %error, "the program's transactions could not be listed"),
            }
        }
    }

    /// False if the node does not offer transactions.
    async fn probe(&self, known: &mut Known) -> Result<bool, SyncError> {
        let slot = self.chain_slot().await?;
        let base = self.proved().base();
        // What a late stream lacks may wait in it.
        let Some(base) = base.filter(|base| *base < slot && !self.pulse.heard().late()) else {
            known.waiting = None;
            return Ok(true);
        };
        let Some(transactions) = self.source.transactions_after(known.newest, slot).await? else { return Ok(false) };
        let new: Vec<&ProgramTransaction> =
            transactions.iter().filter(|t| !t.failed && t.slot <= slot && t.slot > base).collect();
        let cut_off = transactions.len() >= MAX_TRANSACTIONS && transactions.last().is_some_and(|t| t.slot > base);
        let found = if cut_off { Found::Unknown } else { self.follow(&new, slot, known).await? };
        if found == Found::Waiting {
            known.waiting.get_or_insert_with(Instant::now);
            return Ok(true);
        }
        known.waiting = None;
        known.written.clear();
        if found == Found::Unknown {
            self.proved().broken();
            self.resync_now.notify_one();
            return Ok(true);
        }
        // A transaction of a later slot than the one that was asked for may still lack its changes.
        if let Some(newest) = transactions.iter().find(|transaction| transaction.slot <= slot) {
            known.newest = Some(newest.signature);
        }
        {
            let mut proved = self.proved();
            if found == Found::All {
                proved.through(base, slot);
            } else {
                proved.broken();
                proved.at(slot);
            }
        }
        self.indexed.fetch_max(slot, Ordering::Relaxed);
        mirror::move_to(&self.pool, slot).await?;
        Ok(true)
    }

    async fn follow(&self, new: &[&ProgramTransaction], slot: u64, known: &mut Known) -> Result<Found, SyncError> {
        if new.is_empty() {
            return Ok(Found::All);
        }
        if new.len() > MAX_LOOKED_AT || !self.ask_what_was_written(new, known).await? {
            let lacking = {
                let delivered = lock(&self.delivered);
                new.iter().any(|t| !delivered.has_slot(t.slot))
            };
            return Ok(if lacking && self.waits(known) { Found::Waiting } else { Found::Unknown });
        }
        let Some(undelivered) = self.undelivered(new, known) else { return Ok(Found::Waiting) };
        let addresses: Vec<Pubkey> = undelivered.keys().copied().collect();
        let (mut changed, mut gone, mut unsure) = (Vec::new(), Vec::new(), false);
        for addresses in addresses.chunks(READ_AT_ONCE) {
            let read = self.read_doubted(self.source.as_ref(), addresses, At::Confirmed, slot).await?;
            let accounts: HashMap<Pubkey, Option<Vec<u8>>> =
                addresses.iter().copied().zip(read.accounts.into_iter().map(|found| found.map(|a| a.data))).collect();
            let same = self.as_known(&accounts).await?;
            for (address, data) in accounts {
                let slots = undelivered.get(&address).map_or(&[][..], Vec::as_slice);
                if same.contains(&address) {
                    // It was written between, if the stream brought a change of a later slot.
                    let delivered = lock(&self.delivered);
                    unsure |= data.is_some() && slots.iter().any(|slot| delivered.has_later(*slot, &address));
                    continue;
                }
                match data {
                    Some(data) => changed.push(Item { address, slot: read.slot, data, exact: false }),
                    None => gone.push((address, slots.to_vec())),
                }
            }
        }
        if (unsure || !changed.is_empty()) && self.waits(known) {
            return Ok(Found::Waiting);
        }
        let since = self.proved().newest().unwrap_or_default();
        self.apply_page(&changed).await?;
        changed.iter().for_each(|item| lock(&self.delivered).expect(item.address, since));
        if !self.take_closed(&gone).await? {
            return Ok(Found::Unknown);
        }
        Ok(if unsure || !changed.is_empty() { Found::Shown } else { Found::All })
    }

    /// Whether changes may still be on their way. Notifications with old slots are never recognised.
    fn waits(&self, known: &Known) -> bool {
        known.waiting.is_none_or(|since| since.elapsed() < PATIENCE) && !lock(&self.delivered).stale_slots
    }

    /// Asks for the accounts that these transactions may have written. False if the node does not tell.
    async fn ask_what_was_written(&self, new: &[&ProgramTransaction], known: &mut Known) -> Result<bool, SyncError> {
        let unknown = new.iter().map(|t| t.signature).filter(|signature| !known.written.contains_key(signature));
        let asked = unknown
            .map(|signature| async move { Ok::<_, SyncError>((signature, self.source.written_by(&signature).await?)) });
        let asked: Vec<_> = asked.collect();
        let answers: Vec<(Signature, Option<Vec<Pubkey>>)> =
            futures::stream::iter(asked).buffer_unordered(ASKED_AT_ONCE).try_collect().await?;
        let mut told = true;
        for (signature, written) in answers {
            match written {
                Some(written) => drop(known.written.insert(signature, written)),
                None => told = false,
            }
        }
        Ok(told)
    }

    /// `None`: a row of what was delivered is being written.
    fn undelivered(&self, new: &[&ProgramTransaction], known: &Known) -> Option<Undelivered> {
        let (changes, delivered) = (self.changes(), lock(&self.delivered));
        let mut undelivered = Undelivered::new();
        for transaction in new {
            let written = known.written.get(&transaction.signature).into_iter().flatten();
            for address in written {
                if changes.is_being_written(address) {
                    return None;
                }
                if !delivered.has(transaction.slot, address) {
                    undelivered.entry(*address).or_default().push(transaction.slot);
                }
            }
        }
        Some(undelivered)
    }

    /// The accounts that are read as the mirror knows them. One that is not the program's, and never was, is.
    async fn as_known(&self, accounts: &HashMap<Pubkey, Option<Vec<u8>>>) -> Result<Vec<Pubkey>, SyncError> {
        let addresses: Vec<Pubkey> = accounts.keys().copied().collect();
        let shown = mirror::shown(&self.pool, &addresses).await?;
        let finals = mirror::final_hashes(&self.pool, &addresses).await?;
        let filled = self.filled.load(Ordering::Relaxed);
        let changes = self.changes();
        let same = |(address, data): &(&Pubkey, &Option<Vec<u8>>)| {
            let hash = hash_of(data.as_deref());
            let open = shown.get(*address).into_iter().flatten().find(|row| row.open);
            let row = open.and_then(|row| row.data_hash);
            if hash.is_none() {
                return open.is_none();
            }
            // Another process may have written the row of a change that the stream swallowed.
            let known = match changes.newest(address) {
                Some(state) => state.data_hash,
                None if filled => finals.get(*address).copied().flatten(),
                None => row,
            };
            hash == row && hash == known
        };
        Ok(accounts.iter().filter(same).map(|(address, _)| *address).collect())
    }

    /// Takes accounts for closed that only one transaction can have closed, if a look at them agrees. False if not.
    async fn take_closed(&self, gone: &[(Pubkey, Vec<u64>)]) -> Result<bool, SyncError> {
        // Many are left to a snapshot, which looks twice.
        if guard::needs_second_look(u64::try_from(gone.len()).unwrap_or(u64::MAX), 0) {
            return Ok(false);
        }
        for (address, slots) in gone {
            let [slot] = slots.as_slice() else { return Ok(false) };
            let mut changes = self.changes();
            changes.note(*address, State { exact: true, ..State::gone(*slot) });
            changes.suspect([*address]);
        }
        if gone.is_empty() {
            return Ok(true);
        }
        self.look_at_suspects().await?;
        let addresses: Vec<Pubkey> = gone.iter().map(|(address, _)| *address).collect();
        let shown = mirror::shown(&self.pool, &addresses).await?;
        Ok(!shown.values().flatten().any(|row| row.open))
    }
}
