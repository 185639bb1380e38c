//! The slot up to which every change was delivered, proved by the program's transactions. Each transaction after the
//! last known one names the accounts that it may have written. If the stream delivered all of them at its slot, or the
//! others are as the mirror knows them, nothing is missing up to the slot that the node has reached.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use crtx_chain::past::SignatureInfo;
use crtx_protocol::mirror_digest::data_hash;
use crtx_store::mirror;
use futures::{StreamExt, TryStreamExt};
use solana_pubkey::Pubkey;
use tokio::time::{Instant, sleep};

use super::{
    changes::AccountState,
    closing::{count, needs_second_look},
    correct::shows,
    look::READ_AT_ONCE,
    syncer::{SyncError, Syncer},
    writer::Item,
};
use crate::source::{At, MAX_TRANSACTIONS};

/// How long after a transaction its changes may still arrive.
pub const PATIENCE: Duration = Duration::from_secs(2);
/// A node that does not offer transactions is asked again after this time.
const UNOFFERED: Duration = Duration::from_secs(60);
/// Transactions whose accounts are asked for in one probe. With more, a snapshot proves the slot.
const MAX_LOOKED_AT: usize = 200;
/// Questions for transactions at the same time.
const ASKED_AT_ONCE: usize = 8;

/// The questions for transactions of one connection, and what the last answers said.
pub struct Probe<'a> {
    mirror: &'a Syncer,
    /// The newest transaction whose changes are applied.
    newest: Option<String>,
    /// Since when transactions have been without their changes.
    waiting: Option<Instant>,
    /// The accounts that transactions without their changes may have written.
    written: HashMap<String, Vec<Pubkey>>,
}

/// What the transactions after the last proved slot say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProbeOutcome {
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

impl<'a> Probe<'a> {
    pub fn new(mirror: &'a Syncer) -> Self {
        Self { mirror, newest: None, waiting: None, written: HashMap::new() }
    }

    /// Asks for transactions in regular intervals, until the database fails.
    pub async fn run(mut self) -> SyncError {
        loop {
            sleep(self.mirror.settings.probe_interval).await;
            if !self.mirror.known().caught_up {
                continue;
            }
            match self.probe().await {
                Ok(true) => {}
                Ok(false) => sleep(UNOFFERED).await,
                Err(error @ SyncError::Store(_)) => return error,
                Err(error) => tracing::debug!(cause = %error, "the program's transactions could not be listed"),
            }
        }
    }

    /// False if the node does not offer transactions.
    async fn probe(&mut self) -> Result<bool, SyncError> {
        let mirror = self.mirror;
        let slot = mirror.chain_slot().await?;
        let base = mirror.known().proved.base;
        // A late stream may still hold what seems to be missing.
        let Some(base) = base.filter(|base| *base < slot && !mirror.is_late()) else {
            self.waiting = None;
            return Ok(true);
        };
        let Some(transactions) = mirror.source.transactions_after(self.newest.as_deref(), slot).await? else {
            return Ok(false);
        };
        let new: Vec<&SignatureInfo> =
            transactions.iter().filter(|t| !t.failed && t.slot <= slot && t.slot > base).collect();
        let cut_off = transactions.len() >= MAX_TRANSACTIONS && transactions.last().is_some_and(|t| t.slot > base);
        let found = if cut_off { ProbeOutcome::Unknown } else { self.follow(&new, slot).await? };
        if found == ProbeOutcome::Waiting {
            self.waiting.get_or_insert_with(Instant::now);
            return Ok(true);
        }
        self.waiting = None;
        self.written.clear();
        if found == ProbeOutcome::Unknown {
            mirror.known().proved.broken();
            mirror.resync_now.notify_one();
            return Ok(true);
        }
        // A transaction of a later slot than the one that was asked for may still lack its changes.
        if let Some(newest) = transactions.iter().find(|transaction| transaction.slot <= slot) {
            self.newest = Some(newest.signature.clone());
        }
        {
            let mut known = mirror.known();
            if found == ProbeOutcome::All {
                known.proved.through(base, slot);
            } else {
                known.proved.broken();
                known.proved.at(slot);
            }
            known.reached(slot);
        }
        mirror::move_to(&mirror.pool, slot).await?;
        Ok(true)
    }

    async fn follow(&mut self, new: &[&SignatureInfo], slot: u64) -> Result<ProbeOutcome, SyncError> {
        let mirror = self.mirror;
        if new.is_empty() {
            return Ok(ProbeOutcome::All);
        }
        if new.len() > MAX_LOOKED_AT || !self.ask_what_was_written(new).await? {
            let lacking = {
                let known = mirror.known();
                new.iter().any(|t| !known.delivered.has_slot(t.slot))
            };
            return Ok(if lacking && self.waits() { ProbeOutcome::Waiting } else { ProbeOutcome::Unknown });
        }
        let Some(undelivered) = self.undelivered(new) else { return Ok(ProbeOutcome::Waiting) };
        let addresses: Vec<Pubkey> = undelivered.keys().copied().collect();
        let (mut changed, mut gone, mut unsure) = (Vec::new(), Vec::new(), false);
        for addresses in addresses.chunks(READ_AT_ONCE) {
            let read = mirror.read_doubted(mirror.source.as_ref(), addresses, At::Confirmed, slot).await?;
            let accounts: HashMap<Pubkey, Option<Vec<u8>>> =
                addresses.iter().copied().zip(read.value.into_iter().map(|found| found.map(|a| a.data))).collect();
            let same = self.as_known(&accounts).await?;
            for (address, data) in accounts {
                let slots = undelivered.get(&address).map_or(&[][..], Vec::as_slice);
                if same.contains(&address) {
                    // A later change that the stream brought hides whether this transaction wrote the account.
                    let known = mirror.known();
                    unsure |= data.is_some() && slots.iter().any(|slot| known.delivered.has_later(*slot, &address));
                    continue;
                }
                match data {
                    Some(data) => changed.push(Item::read(address, read.slot, data)),
                    None => gone.push((address, slots.to_vec())),
                }
            }
        }
        if (unsure || !changed.is_empty()) && self.waits() {
            return Ok(ProbeOutcome::Waiting);
        }
        let since = mirror.known().proved.newest().unwrap_or_default();
        mirror.apply_page(&changed).await?;
        changed.iter().for_each(|item| mirror.known().delivered.expect(item.address, since));
        if !self.take_closed(&gone).await? {
            return Ok(ProbeOutcome::Unknown);
        }
        Ok(if unsure || !changed.is_empty() { ProbeOutcome::Shown } else { ProbeOutcome::All })
    }

    /// Whether changes may still be on their way. Notifications with old slots are never recognised.
    fn waits(&self) -> bool {
        self.waiting.is_none_or(|since| since.elapsed() < PATIENCE) && !self.mirror.known().delivered.stale_slots
    }

    /// Asks for the accounts that these transactions may have written. False if the node does not tell.
    async fn ask_what_was_written(&mut self, new: &[&SignatureInfo]) -> Result<bool, SyncError> {
        let source = &self.mirror.source;
        let unknown = new.iter().map(|t| &t.signature).filter(|signature| !self.written.contains_key(*signature));
        let asked = unknown.map(|signature| async move {
            Ok::<_, SyncError>((signature.clone(), source.written_by(signature).await?))
        });
        let asked: Vec<_> = asked.collect();
        let answers: Vec<(String, Option<Vec<Pubkey>>)> =
            futures::stream::iter(asked).buffer_unordered(ASKED_AT_ONCE).try_collect().await?;
        let told = answers.iter().all(|(_, written)| written.is_some());
        self.written.extend(answers.into_iter().filter_map(|(signature, written)| Some((signature, written?))));
        Ok(told)
    }

    /// `None`: a row of what was delivered is being written.
    fn undelivered(&self, new: &[&SignatureInfo]) -> Option<Undelivered> {
        let known = self.mirror.known();
        let mut undelivered = Undelivered::new();
        for transaction in new {
            for address in self.written.get(&transaction.signature).into_iter().flatten() {
                if known.changes.writing.contains(address) {
                    return None;
                }
                if !known.delivered.has(transaction.slot, address) {
                    undelivered.entry(*address).or_default().push(transaction.slot);
                }
            }
        }
        Some(undelivered)
    }

    /// The accounts whose state the mirror knows and shows. It shows nothing of accounts that were never the program's.
    async fn as_known(&self, accounts: &HashMap<Pubkey, Option<Vec<u8>>>) -> Result<Vec<Pubkey>, SyncError> {
        let addresses: Vec<Pubkey> = accounts.keys().copied().collect();
        let shown = mirror::shown(&self.mirror.pool, &addresses).await?;
        let finals = mirror::final_hashes(&self.mirror.pool, &addresses).await?;
        let known = self.mirror.known();
        let same = |(address, data): &(&Pubkey, &Option<Vec<u8>>)| {
            let hash = data.as_deref().map(data_hash);
            // Another process may have written the row of a change that the stream swallowed.
            let known = match known.changes.newest(address) {
                Some(state) => state.data_hash,
                None if known.filled => finals.get(*address).copied().flatten(),
                None => hash,
            };
            shows(&shown, address, hash) && (hash.is_none() || hash == known)
        };
        Ok(accounts.iter().filter(same).map(|(address, _)| *address).collect())
    }

    /// Takes accounts for closed that only one transaction can have closed, if a look at them agrees. False if not.
    async fn take_closed(&self, gone: &[(Pubkey, Vec<u64>)]) -> Result<bool, SyncError> {
        let addresses: Vec<Pubkey> = gone.iter().map(|(address, _)| *address).collect();
        // Many are left to a snapshot, which looks twice.
        if gone.is_empty() || needs_second_look(count(&addresses), 0) {
            return Ok(gone.is_empty());
        }
        for (address, slots) in gone {
            let [slot] = slots.as_slice() else { return Ok(false) };
            let mut known = self.mirror.known();
            known.changes.note(*address, AccountState { exact: true, ..AccountState::gone(*slot) });
            known.changes.recheck([*address]);
        }
        self.mirror.recheck_rows().await?;
        Ok(mirror::still_open(&self.mirror.pool, &addresses).await?.is_empty())
    }
}
