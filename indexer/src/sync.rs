//! Keeps the mirror equal to the chain.
//!
//! Every connection begins in the same way: subscribe, so that changes are buffered; take a snapshot; apply it in one
//! transaction; then apply the changes. An older row never replaces a newer one, so snapshots and changes may be
//! applied in any order. Regular snapshots add the changes that a stream missed, and find closed accounts, which no
//! stream reports.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use agent_marketplace::state::DISCRIMINATOR_LEN;
use chrono::{DateTime, Utc};
use crtx_chain::{Execution, ProgramAccount};
use crtx_store::{
    PgPool, StoreError, indexer_status,
    mirror::{self, Batch, ExecutionAccount, SnapshotMode},
};
use solana_pubkey::Pubkey;
use tokio::{
    sync::{Notify, mpsc},
    time::{Instant, MissedTickBehavior, interval_at, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use crate::source::{AccountSource, Event, MAX_ACCOUNTS_PER_READ, ProgramSnapshot, SourceError};

/// Changes applied in one transaction at most.
const MAX_CHANGES_PER_BATCH: usize = 1_000;
const MIN_BACKOFF: Duration = Duration::from_millis(200);
const MAX_BACKOFF: Duration = Duration::from_secs(30);
/// Without changes the checkpoint moves once in so many slots.
const SLOTS_PER_CHECKPOINT: u64 = 8;
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(2);

#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// One indexer's mirror: the source it reads and the database it writes.
pub struct Syncer<S> {
    source: Arc<S>,
    pool: PgPool,
    program: Pubkey,
    resync_interval: Duration,
    streaming: AtomicBool,
    /// The slot of the last checkpoint that the stream wrote.
    reached: AtomicU64,
    last_change: Mutex<Option<DateTime<Utc>>>,
    /// Notified when listings may have changed, so that new documents are fetched at once.
    pub listings_changed: Notify,
}

impl<S: AccountSource> Syncer<S> {
    pub fn new(source: Arc<S>, pool: PgPool, program: Pubkey, resync_interval: Duration) -> Self {
        Self {
            source,
            pool,
            program,
            resync_interval,
            streaming: AtomicBool::new(false),
            reached: AtomicU64::new(0),
            last_change: Mutex::new(None),
            listings_changed: Notify::new(),
        }
    }

    /// Connects, and connects again when the connection or the database fails, until shut down.
    pub async fn run(self: Arc<Self>, shutdown: CancellationToken) {
        let mut backoff = MIN_BACKOFF;
        loop {
            let was_live = tokio::select! {
                () = shutdown.cancelled() => return,
                ended = self.session() => {
                    let was_live = self.streaming.swap(false, Ordering::Relaxed);
                    tracing::warn!(cause = %ended, retry_in_ms = backoff.as_millis(), "the mirror lost its source");
                    was_live
                }
            };
            if was_live {
                backoff = MIN_BACKOFF;
            }
            tokio::select! {
                () = shutdown.cancelled() => return,
                () = sleep(backoff) => backoff = backoff.saturating_mul(2).min(MAX_BACKOFF),
            }
        }
    }

    /// One connection, from subscribing to the error that ends it.
    async fn session(self: &Arc<Self>) -> SyncError {
        let mut events = match self.connect().await {
            Ok(events) => events,
            Err(error) => return error,
        };
        self.streaming.store(true, Ordering::Relaxed);
        self.try_beat().await;
        let start = Instant::now().checked_add(self.resync_interval).unwrap_or_else(Instant::now);
        let mut resync_due = interval_at(start, self.resync_interval);
        resync_due.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut resync: Option<tokio::task::JoinHandle<Result<(), SyncError>>> = None;
        loop {
            tokio::select! {
                event = events.recv() => {
                    let Some(first) = event else { return SourceError::StreamEnded.into() };
                    if let Err(error) = self.apply_events(first, &mut events).await {
                        return error;
                    }
                }
                _ = resync_due.tick(), if resync.is_none() => {
                    // In parallel with the stream: neither replaces a newer row of the other.
                    let syncer = Arc::clone(self);
                    resync = Some(tokio::spawn(async move { syncer.resync().await }));
                }
                done = finished(&mut resync) => {
                    resync = None;
                    if let Err(error) = done {
                        return error;
                    }
                }
            }
        }
    }

    async fn connect(&self) -> Result<mpsc::UnboundedReceiver<Event>, SyncError> {
        let events = self.source.subscribe().await?;
        self.resync().await?;
        self.reached.store(0, Ordering::Relaxed);
        Ok(events)
    }

    /// Takes a snapshot and applies it. On another chain than the one that the mirror shows, the mirror is
    /// replaced.
    pub async fn resync(&self) -> Result<(), SyncError> {
        let genesis_hash = self.source.genesis_hash().await?;
        let before = mirror::checkpoint(&self.pool).await?;
        let other_chain = before.and_then(|c| c.genesis_hash).is_some_and(|known| known != genesis_hash);
        let mode = if other_chain { SnapshotMode::Replace } else { SnapshotMode::Forward };
        let ProgramSnapshot { slot, accounts } = self.source.snapshot().await?;
        let mut batch = Batch::default();
        for (address, data) in accounts {
            push(&mut batch, &address, slot, data)?;
        }
        let changed = mirror::resync(&self.pool, &batch, slot, Some(&genesis_hash), mode).await?;
        let closed = self.find_closed(&batch, slot).await?;
        tracing::debug!(slot, accounts = batch.len(), changed, closed, "applied a snapshot");
        self.listings_changed.notify_one();
        Ok(())
    }

    /// Marks accounts that are not in the snapshot. Each one is read again first: it may have been opened since.
    async fn find_closed(&self, snapshot: &Batch, slot: u64) -> Result<u64, SyncError> {
        let missing = mirror::missing_from(&self.pool, snapshot, slot).await?;
        let mut closed: u64 = 0;
        for addresses in missing.chunks(MAX_ACCOUNTS_PER_READ) {
            let read = self.source.read(addresses).await?;
            let gone: Vec<Pubkey> = addresses
                .iter()
                .zip(&read.accounts)
                .filter(|(_, account)| account.as_ref().is_none_or(|account| account.owner != self.program))
                .map(|(address, _)| *address)
                .collect();
            closed = closed.saturating_add(mirror::mark_closed(&self.pool, &gone, read.slot).await?);
        }
        Ok(closed)
    }

    /// Applies an event and all that wait behind it, in one transaction.
    async fn apply_events(&self, first: Event, more: &mut mpsc::UnboundedReceiver<Event>) -> Result<(), SyncError> {
        let mut batch = Batch::default();
        let mut slot = 0;
        let mut next = Some(first);
        while let Some(event) = next {
            match event {
                Event::Change(change) => {
                    slot = slot.max(change.slot);
                    push(&mut batch, &change.address, change.slot, change.data)?;
                }
                Event::Reached(reached) => slot = slot.max(reached),
            }
            next = if batch.len() < MAX_CHANGES_PER_BATCH { more.try_recv().ok() } else { None };
        }
        if batch.is_empty() {
            return self.reach(slot).await;
        }
        mirror::apply_changes(&self.pool, &batch, slot).await?;
        self.reached.store(slot, Ordering::Relaxed);
        if let Ok(mut last_change) = self.last_change.lock() {
            *last_change = Some(Utc::now());
        }
        self.listings_changed.notify_one();
        Ok(())
    }

    /// Moves the checkpoint without a change. Not with every slot: each time is a durable write.
    async fn reach(&self, slot: u64) -> Result<(), SyncError> {
        if slot >= self.reached.load(Ordering::Relaxed).saturating_add(SLOTS_PER_CHECKPOINT) {
            mirror::apply_changes(&self.pool, &Batch::default(), slot).await?;
            self.reached.store(slot, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Writes heartbeats, which show every process that this indexer runs.
    pub async fn heartbeat(self: Arc<Self>, shutdown: CancellationToken) {
        let mut tick = tokio::time::interval(HEARTBEAT_INTERVAL);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = shutdown.cancelled() => return,
                () = async { tick.tick().await; self.try_beat().await } => {}
            }
        }
    }

    /// Writes one heartbeat. A failure is only logged: the next one follows.
    async fn try_beat(&self) {
        match timeout(HEARTBEAT_INTERVAL, self.beat()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(cause = %error, "no heartbeat could be written"),
            Err(_) => tracing::warn!("no heartbeat could be written in time"),
        }
    }

    async fn beat(&self) -> Result<(), SyncError> {
        let slot = self.source.slot().await?;
        let last_change = self.last_change.lock().ok().and_then(|last| *last);
        indexer_status::beat(&self.pool, slot, self.streaming.load(Ordering::Relaxed), last_change).await?;
        Ok(())
    }
}

/// Waits for the task; for ever if there is none.
async fn finished(task: &mut Option<tokio::task::JoinHandle<Result<(), SyncError>>>) -> Result<(), SyncError> {
    match task {
        Some(handle) => match handle.await {
            Ok(result) => result,
            Err(panic) => Err(SourceError::Subscription(format!("the resync task failed: {panic}")).into()),
        },
        None => std::future::pending().await,
    }
}

/// Adds an account to a batch: as a row, or to the quarantine if its bytes cannot be decoded. An account whose data is
/// empty or all zeros is being closed or created, and is skipped.
pub fn push(batch: &mut Batch, address: &Pubkey, slot: u64, data: Vec<u8>) -> Result<(), StoreError> {
    if data.len() < DISCRIMINATOR_LEN || data.iter().all(|byte| *byte == 0) {
        return Ok(());
    }
    let pushed = match ProgramAccount::decode(&data) {
        Ok(account) => push_account(batch, address, slot, &account).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    match pushed {
        Ok(()) => Ok(()),
        Err(error) => {
            tracing::error!(%address, slot, error, "an account of the program cannot be decoded");
            batch.quarantine(address, slot, data, error)
        }
    }
}

fn push_account(batch: &mut Batch, address: &Pubkey, slot: u64, account: &ProgramAccount) -> Result<(), StoreError> {
    match account {
        ProgramAccount::Config(account) => batch.push(address, slot, account.as_ref()),
        ProgramAccount::CreatorProfile(account) => batch.push(address, slot, account.as_ref()),
        ProgramAccount::AgentListed(account) => batch.push(address, slot, account.as_ref()),
        ProgramAccount::Execution(account) => {
            let Execution { record, terms } = **account;
            batch.push(address, slot, &ExecutionAccount { record, terms })
        }
        ProgramAccount::Dispute(account) => batch.push(address, slot, account.as_ref()),
        ProgramAccount::SpendingGrant(account) => batch.push(address, slot, account.as_ref()),
    }
}
