//! Makes the chain's blocks: one as soon as a transaction waits for it, else one per slot time so that
//! the clock goes on. The chain's clock is the machine's, plus whatever time travel added.
//! Each block is written to the journal before it is confirmed.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, anyhow};
use crossbeam_channel::Receiver;
use solana_account::Account;
use solana_pubkey::Pubkey;
use solana_sdk_ids::{bpf_loader, bpf_loader_deprecated, bpf_loader_upgradeable, feature, native_loader, sysvar};
use surfpool_core::{
    surfnet::{BlockHeader, locker::SurfnetSvmLocker, svm::SurfnetSvm},
    types::{SurfnetTransactionStatus, SyntheticBlockhash},
};
use surfpool_types::SimnetEvent;
use tokio::sync::mpsc;

use super::store::{ChainDir, HistoryLine, Journal, JournalLine, Position, SavedAccount};

/// Time between blocks without transactions, and the slot time that RPC methods calculate with.
pub const SLOT_TIME_MS: u64 = 400;

/// After this many journaled blocks the accounts are written anew and the journal starts over.
const BLOCKS_PER_SNAPSHOT: u32 = 2_000;

/// Owners of accounts that every fresh network has by itself.
const NOT_SAVED: [Pubkey; 6] =
    [sysvar::ID, native_loader::ID, feature::ID, bpf_loader::ID, bpf_loader_deprecated::ID, bpf_loader_upgradeable::ID];

pub fn now_unix_ms() -> u64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}

/// The block maker and the journal it writes.
pub struct Blocks {
    locker: SurfnetSvmLocker,
    dir: ChainDir,
    journal: Journal,
    journaled: u32,
    clock: ChainClock,
    events: Option<Receiver<SimnetEvent>>,
}

/// The chain's clock: the machine's plus an offset that only time travel changes.
#[derive(Debug)]
struct ChainClock {
    offset_ms: i64,
    /// What the chain's clock was set to last; another value means that somebody travelled.
    last_ms: Option<u64>,
}

impl ChainClock {
    /// The time of the next block. Never before that of the last one.
    fn next(&mut self, chain_ms: u64, machine_ms: u64) -> u64 {
        if self.last_ms.is_some_and(|last| last != chain_ms) {
            self.offset_ms = chain_ms.cast_signed().saturating_sub(machine_ms.cast_signed());
        }
        let next = machine_ms.saturating_add_signed(self.offset_ms).max(chain_ms);
        self.last_ms = Some(next);
        next
    }
}

impl Blocks {
    /// Saves what the chain holds now, marks the directory as in use and opens the journal.
    pub fn new(locker: SurfnetSvmLocker, dir: ChainDir, clock_offset_ms: i64) -> anyhow::Result<Self> {
        let journal = dir.journal_writer()?;
        let clock = ChainClock { offset_ms: clock_offset_ms, last_ms: None };
        let mut blocks = Self { locker, dir, journal, journaled: 0, clock, events: None };
        blocks.dir.mark_running()?;
        blocks.save()?;
        Ok(blocks)
    }

    /// Makes blocks on a thread of its own until `stopping` is set; then gives itself back.
    pub fn spawn(
        mut self,
        events: Receiver<SimnetEvent>,
        stopping: Arc<AtomicBool>,
        failures: mpsc::UnboundedSender<anyhow::Error>,
    ) -> anyhow::Result<JoinHandle<Self>> {
        let run = move || {
            if let Err(error) = self.run(&events, &stopping) {
                let _ = failures.send(error.context("the embedded network stopped"));
            }
            self.events = Some(events);
            self
        };
        std::thread::Builder::new().name("blocks".to_owned()).spawn(run).context("no thread for the block maker")
    }

    fn run(&mut self, events: &Receiver<SimnetEvent>, stopping: &AtomicBool) -> anyhow::Result<()> {
        let slot_time = Duration::from_millis(SLOT_TIME_MS);
        let mut last_block = Instant::now();
        while !stopping.load(Ordering::SeqCst) {
            let rest = slot_time.saturating_sub(last_block.elapsed()).min(Duration::from_millis(50));
            match events.recv_timeout(rest) {
                Ok(SimnetEvent::ErrorLog(_, error)) => tracing::warn!(%error, "embedded network"),
                Ok(_) | Err(crossbeam_channel::RecvTimeoutError::Timeout) => {}
                Err(error) => return Err(anyhow!(error)),
            }
            let waiting = self.locker.with_svm_reader(|svm| !svm.transactions_queued_for_confirmation.is_empty());
            if waiting || last_block.elapsed() >= slot_time {
                self.make_block()?;
                last_block = Instant::now();
            }
        }
        Ok(())
    }

    fn make_block(&mut self) -> anyhow::Result<()> {
        let (clock, journal) = (&mut self.clock, &mut self.journal);
        let journaled = self.locker.with_svm_writer(move |svm| {
            let time_ms = clock.next(svm.updated_at, now_unix_ms());
            let journaled = match pending_block(svm, time_ms)? {
                None => false,
                Some((history, changes)) => {
                    journal
                        .append(&history, &changes)
                        .map_err(|error| format!("the chain cannot be saved: {error}"))?;
                    true
                }
            };
            // Surfpool adds one slot time when it closes the block.
            svm.updated_at = time_ms.saturating_sub(svm.slot_time);
            svm.confirm_current_block().map_err(|error| error.to_string())?;
            Ok::<_, String>(journaled)
        });
        if journaled.map_err(|error| anyhow!(error))? {
            self.journaled = self.journaled.saturating_add(1);
        }
        if self.journaled >= BLOCKS_PER_SNAPSHOT {
            self.save()?;
        }
        Ok(())
    }

    /// Writes all accounts.
    fn save(&mut self) -> anyhow::Result<()> {
        let saved = self.locker.with_svm_reader(|svm| {
            let accounts = svm.get_all_accounts().map_err(|error| error.to_string())?;
            let kept = accounts
                .into_iter()
                .map(|(address, account)| (address, Account::from(account)))
                .filter(|(_, account)| is_saved(account))
                .map(|(address, account)| (address.to_string(), SavedAccount::of(&account)))
                .collect::<BTreeMap<_, _>>();
            Ok::<_, String>((position(svm, svm.updated_at), kept))
        });
        let (position, accounts) = saved.map_err(|error| anyhow!("the chain cannot be read: {error}"))?;
        self.dir.save(position, accounts)?;
        self.journal = self.dir.journal_writer()?;
        self.journaled = 0;
        Ok(())
    }

    /// What a clean stop ends with.
    pub fn save_and_mark_stopped(&mut self) -> anyhow::Result<()> {
        self.make_block()?;
        self.save()?;
        Ok(self.dir.mark_stopped()?)
    }

    /// Waits until both RPC servers say that they closed their ports.
    pub fn wait_until_closed(&self, limit: Duration) {
        let Some(events) = &self.events else { return };
        let started = Instant::now();
        let mut closed = 0u8;
        while closed < 2
            && let Some(rest) = limit.checked_sub(started.elapsed())
        {
            match events.recv_timeout(rest) {
                Ok(SimnetEvent::Shutdown) => closed = closed.saturating_add(1),
                Ok(_) => {}
                Err(_) => return,
            }
        }
    }
}

/// Accounts that a fresh network does not have by itself, and that exist.
fn is_saved(account: &Account) -> bool {
    account.lamports > 0 && !account.executable && !NOT_SAVED.contains(&account.owner)
}

fn position(svm: &SurfnetSvm, clock_unix_ms: u64) -> Position {
    Position {
        slot: svm.latest_epoch_info.absolute_slot,
        block_height: svm.latest_epoch_info.block_height,
        tip_index: svm.chain_tip.index,
        clock_unix_ms,
        saved_at_unix_ms: now_unix_ms(),
    }
}

/// The block that is about to be confirmed, or `None` if it is empty.
fn pending_block(svm: &SurfnetSvm, time_ms: u64) -> Result<Option<(HistoryLine, JournalLine)>, String> {
    let mut touched = BTreeSet::new();
    let mut transactions = Vec::new();
    let mut signatures = Vec::new();
    for (transaction, _, _) in &svm.transactions_queued_for_confirmation {
        let Some(signature) = transaction.signatures.first() else { continue };
        touched.extend(transaction.message.static_account_keys().iter().copied());
        let key = signature.to_string();
        let status = svm.transactions.get(&key).map_err(|error| error.to_string())?;
        if let Some(SurfnetTransactionStatus::Processed(processed)) = &status {
            touched.extend(processed.1.iter().copied());
        }
        transactions.extend(status.map(|status| (key, status)));
        signatures.push(*signature);
    }
    if signatures.is_empty() {
        return Ok(None);
    }
    let slot = svm.latest_epoch_info.absolute_slot;
    // The header that Surfpool is about to store.
    let block = BlockHeader {
        hash: SyntheticBlockhash::new(svm.chain_tip.index).to_string(),
        previous_blockhash: svm.chain_tip.hash.clone(),
        parent_slot: slot.saturating_sub(1),
        block_time: i64::try_from(time_ms / 1_000).unwrap_or(i64::MAX),
        block_height: svm.chain_tip.index.saturating_add(1),
        signatures,
    };
    let after = Position {
        slot: slot.saturating_add(1),
        block_height: block.block_height,
        tip_index: block.block_height,
        ..position(svm, time_ms)
    };
    let accounts = touched.iter().filter_map(|address| change_of(svm, address)).collect();
    Ok(Some((HistoryLine { slot, block, transactions }, JournalLine { position: after, accounts })))
}

/// The account now, unless it is one that every network has. `None` inside: it is gone.
fn change_of(svm: &SurfnetSvm, address: &Pubkey) -> Option<(String, Option<SavedAccount>)> {
    let account = svm.inner.get_account_no_db(address).filter(|account| account.lamports > 0);
    match account {
        None => Some((address.to_string(), None)),
        Some(account) if is_saved(&account) => Some((address.to_string(), Some(SavedAccount::of(&account)))),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chains_clock_is_the_machines() {
        let mut clock = ChainClock { offset_ms: 0, last_ms: None };
        assert_eq!(clock.next(5, 1_000), 1_000);
        assert_eq!(clock.next(1_000, 1_400), 1_400);
    }

    #[test]
    fn the_chains_clock_keeps_the_distance_that_time_travel_gave_it() {
        let mut clock = ChainClock { offset_ms: 0, last_ms: None };
        clock.next(0, 1_000);
        assert_eq!(clock.next(9_000, 1_400), 9_000, "somebody set it to 9 s");
        assert_eq!(clock.next(9_000, 1_900), 9_500);
    }

    #[test]
    fn the_chains_clock_never_goes_back() {
        let mut clock = ChainClock { offset_ms: 0, last_ms: None };
        clock.next(0, 2_000);
        assert_eq!(clock.next(2_000, 1_000), 2_000);
    }
}
