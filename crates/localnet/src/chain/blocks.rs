//! Makes the chain's blocks: one as soon as a transaction waits for it and no other is about to be executed,
//! else one per slot time so that the clock goes on. The chain's clock is the machine's plus the offset of time travel.
//! Each block is in the database before it is confirmed, and synced before any of its transactions counts as finalized.

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
use crossbeam_channel::{Receiver, Sender};
use solana_account::Account;
use solana_pubkey::Pubkey;
use solana_sdk_ids::{bpf_loader, bpf_loader_deprecated, bpf_loader_upgradeable, feature, native_loader, sysvar};
use surfpool_core::{
    surfnet::{BlockHeader, locker::SurfnetSvmLocker, svm::SurfnetSvm},
    types::{SurfnetTransactionStatus, SyntheticBlockhash},
};
use surfpool_types::{SimnetCommand, SimnetEvent};
use tokio::sync::mpsc;

use super::{
    database::{Block, ChainDatabase, ChainState, Position},
    owner_index::OwnerIndex,
};

/// Time between blocks without transactions, and the slot time that RPC methods calculate with.
pub const SLOT_TIME_MS: u64 = 400;
const SLOT_TIME: Duration = Duration::from_millis(SLOT_TIME_MS);

/// A block waits this long for further transactions that are about to be executed. A block hash is accepted
/// for 150 blocks: with a block for each of hundreds of transactions a second it would end within a second,
/// and transactions that wait their turn with it.
const LONGEST_GATHERING: Duration = Duration::from_millis(20);

/// The database is synced when its oldest block that is not on the disk is this old: long before it is final.
const SLOTS_PER_SYNC: u64 = 8;

/// Without transactions the position is written once in so many slots: fewer than an unclean stop skips.
const SLOTS_PER_POSITION: u64 = 4_000;

/// Owners of accounts that every fresh network has by itself.
const NOT_SAVED: [Pubkey; 6] =
    [sysvar::ID, native_loader::ID, feature::ID, bpf_loader::ID, bpf_loader_deprecated::ID, bpf_loader_upgradeable::ID];

pub fn now_unix_ms() -> u64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}

/// The block maker.
pub struct Blocks {
    locker: SurfnetSvmLocker,
    database: Arc<ChainDatabase>,
    state: ChainState,
    /// The slot of the oldest block that a power cut may still take.
    unsynced: Option<u64>,
    owners: OwnerIndex,
    clock: ChainClock,
    events: Option<Receiver<SimnetEvent>>,
}

/// The chain's clock: the machine's plus an offset that only time travel changes.
#[derive(Debug)]
struct ChainClock {
    offset_ms: i64,
    /// What the chain's clock was set to last; another value means that time travel has moved it.
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
    /// Continues the chain that stands at `state`.
    pub fn new(
        locker: SurfnetSvmLocker,
        database: Arc<ChainDatabase>,
        state: ChainState,
        owners: OwnerIndex,
    ) -> anyhow::Result<Self> {
        database.save_state(&state)?;
        let Position { clock_unix_ms, saved_at_unix_ms, .. } = state.position;
        let ahead_ms = clock_unix_ms.cast_signed().saturating_sub(saved_at_unix_ms.cast_signed());
        let clock = ChainClock { offset_ms: ahead_ms.max(0), last_ms: None };
        Ok(Self { locker, database, state, unsynced: None, owners, clock, events: None })
    }

    /// Makes blocks on a thread of its own until `stopping` is set; then gives itself back.
    pub fn spawn(
        mut self,
        events: Receiver<SimnetEvent>,
        commands: Sender<SimnetCommand>,
        stopping: Arc<AtomicBool>,
        failures: mpsc::UnboundedSender<anyhow::Error>,
    ) -> anyhow::Result<JoinHandle<Self>> {
        let run = move || {
            if let Err(error) = self.run(&events, &commands, &stopping) {
                let _ = failures.send(error.context("the embedded network stopped"));
            }
            self.events = Some(events);
            self
        };
        std::thread::Builder::new().name("blocks".to_owned()).spawn(run).context("no thread for the block maker")
    }

    fn run(
        &mut self,
        events: &Receiver<SimnetEvent>,
        commands: &Sender<SimnetCommand>,
        stopping: &AtomicBool,
    ) -> anyhow::Result<()> {
        let mut last_block = Instant::now();
        let mut first_waits_since: Option<Instant> = None;
        while !stopping.load(Ordering::SeqCst) {
            let rest = match first_waits_since {
                Some(since) => LONGEST_GATHERING.saturating_sub(since.elapsed()),
                None => SLOT_TIME.saturating_sub(last_block.elapsed()),
            };
            match events.recv_timeout(rest.min(Duration::from_millis(50))) {
                Ok(SimnetEvent::ErrorLog(_, error)) => tracing::warn!(%error, "embedded network"),
                Ok(_) | Err(crossbeam_channel::RecvTimeoutError::Timeout) => {}
                Err(error) => return Err(anyhow!(error)),
            }
            if self.locker.with_svm_reader(|svm| !svm.transactions_queued_for_confirmation.is_empty()) {
                first_waits_since.get_or_insert_with(Instant::now);
            }
            let waits = first_waits_since.map(|since| since.elapsed());
            if is_due(waits, !commands.is_empty(), last_block.elapsed()) {
                self.make_block()?;
                last_block = Instant::now();
                first_waits_since = None;
            }
        }
        Ok(())
    }

    fn make_block(&mut self) -> anyhow::Result<()> {
        let slot = self.locker.with_svm_reader(|svm| svm.latest_epoch_info.absolute_slot);
        if self.unsynced.is_some_and(|oldest| slot >= oldest.saturating_add(SLOTS_PER_SYNC)) {
            self.database.sync().context("the chain cannot be saved")?;
            self.unsynced = None;
        }
        let (database, state, unsynced) = (&self.database, &mut self.state, &mut self.unsynced);
        let (owners, clock) = (&self.owners, &mut self.clock);
        let made = self.locker.with_svm_writer(move |svm| {
            let time_ms = clock.next(svm.updated_at, now_unix_ms());
            let block = pending_block(svm, time_ms, state.position.slot)?;
            if let Some(block) = &block {
                state.position = block.position.clone();
                database.add(block, state).map_err(|error| format!("the chain cannot be saved: {error:#}"))?;
                unsynced.get_or_insert(block.slot);
                let closed = block.accounts.iter().filter(|(_, account)| account.is_none());
                closed.for_each(|(address, _)| owners.forget(&address.to_string()));
            }
            // Surfpool adds one slot time when it closes the block.
            svm.updated_at = time_ms.saturating_sub(svm.slot_time);
            svm.confirm_current_block().map_err(|error| error.to_string())?;
            // What has its block is read from the database from now on.
            for (signature, _) in block.iter().flat_map(|block| &block.transactions) {
                svm.transactions.take(&signature.to_string()).map_err(|error| error.to_string())?;
            }
            // Surfpool notes every account that ever changed or was closed, for nothing that is used here.
            svm.account_update_slots.clear();
            svm.offline_accounts.clear().map_err(|error| error.to_string())
        });
        made.map_err(|error| anyhow!(error))
    }

    /// What a clean stop ends with.
    pub fn save_and_mark_stopped(&mut self) -> anyhow::Result<()> {
        self.make_block()?;
        let saved = self.locker.with_svm_reader(|svm| {
            let accounts = svm.get_all_accounts().map_err(|error| error.to_string())?;
            let kept = accounts
                .into_iter()
                .map(|(address, account)| (address, Account::from(account)))
                .filter(|(_, account)| is_saved(account))
                .collect::<BTreeMap<_, _>>();
            Ok::<_, String>((position(svm, svm.updated_at), kept))
        });
        let (position, accounts) = saved.map_err(|error| anyhow!("the chain cannot be read: {error}"))?;
        self.state = ChainState { position, clean: true, ..self.state.clone() };
        self.database.save_all(&self.state, &accounts)
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

/// Whether a block is made now. `waits`: for how long a transaction has waited for it.
fn is_due(waits: Option<Duration>, more_to_come: bool, since_last_block: Duration) -> bool {
    waits.is_some_and(|waits| !more_to_come || waits >= LONGEST_GATHERING) || since_last_block >= SLOT_TIME
}

/// Accounts that a fresh network does not have by itself, and that exist.
fn is_saved(account: &Account) -> bool {
    account.lamports > 0 && !account.executable && !NOT_SAVED.contains(&account.owner)
}

pub fn position(svm: &SurfnetSvm, clock_unix_ms: u64) -> Position {
    Position {
        slot: svm.latest_epoch_info.absolute_slot,
        block_height: svm.latest_epoch_info.block_height,
        tip_index: svm.chain_tip.index,
        clock_unix_ms,
        saved_at_unix_ms: now_unix_ms(),
    }
}

/// The block that is about to be confirmed; `None` if it is empty and need not be written. The last that was written
/// led to slot `last`.
fn pending_block(svm: &SurfnetSvm, time_ms: u64, last: u64) -> Result<Option<Block>, String> {
    let mut touched = BTreeSet::new();
    let mut transactions = Vec::new();
    let mut signatures = Vec::new();
    for (transaction, _, _) in &svm.transactions_queued_for_confirmation {
        let Some(signature) = transaction.signatures.first() else { continue };
        touched.extend(transaction.message.static_account_keys().iter().copied());
        let status = svm.transactions.get(&signature.to_string()).map_err(|error| error.to_string())?;
        if let Some(SurfnetTransactionStatus::Processed(processed)) = &status {
            touched.extend(processed.1.iter().copied());
        }
        transactions.extend(status.map(|status| (*signature, status)));
        signatures.push(*signature);
    }
    let slot = svm.latest_epoch_info.absolute_slot;
    if signatures.is_empty() && slot < last.saturating_add(SLOTS_PER_POSITION) {
        return Ok(None);
    }
    // The header that Surfpool is about to store.
    let header = BlockHeader {
        hash: SyntheticBlockhash::new(svm.chain_tip.index).to_string(),
        previous_blockhash: svm.chain_tip.hash.clone(),
        parent_slot: slot.saturating_sub(1),
        block_time: i64::try_from(time_ms / 1_000).unwrap_or(i64::MAX),
        block_height: svm.chain_tip.index.saturating_add(1),
        signatures,
    };
    let after = Position {
        slot: slot.saturating_add(1),
        block_height: header.block_height,
        tip_index: header.block_height,
        ..position(svm, time_ms)
    };
    let accounts = touched.iter().filter_map(|address| change_of(svm, address)).collect();
    Ok(Some(Block { position: after, slot, header, transactions, accounts }))
}

/// The account now, unless it is one that every network has. `None` inside: it is gone.
fn change_of(svm: &SurfnetSvm, address: &Pubkey) -> Option<(Pubkey, Option<Account>)> {
    let account = svm.inner.get_account_no_db(address).filter(|account| account.lamports > 0);
    account.as_ref().is_none_or(is_saved).then_some((*address, account))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lone_transaction_gets_its_block_at_once_and_those_that_queue_share_one() {
        let (now, soon) = (Duration::ZERO, Duration::from_millis(5));
        assert!(is_due(Some(now), false, soon), "nothing else is about to be executed");
        assert!(!is_due(Some(now), true, soon), "others join it");
        assert!(is_due(Some(LONGEST_GATHERING), true, soon), "but not for ever");
        assert!(!is_due(None, true, soon), "an empty block waits for its slot");
        assert!(is_due(None, false, SLOT_TIME));
    }

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
