//! One indexer's mirror: it waits for the lead, and mirrors over one connection after the other.

use std::{
    marker::PhantomData,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use crtx_store::{PgPool, StoreError, indexer_leader::Leadership};
use solana_pubkey::Pubkey;
use tokio::{
    sync::Notify,
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{changes::Changes, error::SyncError, parts::Parts, proved::Proved, settings::SyncSettings};
use crate::{figures::Figures, source::AccountSource};

const MIN_BACKOFF: Duration = Duration::from_millis(200);
const MAX_BACKOFF: Duration = Duration::from_secs(30);
/// A connection that lived so long was a good one.
const GOOD_AFTER: Duration = Duration::from_secs(30);
/// Between attempts to take the lead, and between proofs that it is still held.
const LEAD_INTERVAL: Duration = Duration::from_secs(1);
/// A proof that takes longer counts as lost.
const LEAD_LIMIT: Duration = Duration::from_secs(3);

/// One indexer's mirror: the source it reads and the database it writes.
pub struct Syncer<S> {
    parts: Arc<Parts>,
    /// Notified when listings may have changed, so that new documents are fetched at once.
    pub listings_changed: Arc<Notify>,
    source: PhantomData<fn() -> S>,
}

impl<S: AccountSource> Syncer<S> {
    pub fn new(source: Arc<S>, pool: PgPool, program: Pubkey, resync_interval: Duration) -> Self {
        Self::with_settings(source, pool, program, SyncSettings::new(resync_interval))
    }

    pub fn with_settings(source: Arc<S>, pool: PgPool, program: Pubkey, settings: SyncSettings) -> Self {
        Self::with_figures(source, pool, program, settings, Arc::default())
    }

    /// Counts what it does.
    pub fn with_figures(
        source: Arc<S>,
        pool: PgPool,
        program: Pubkey,
        settings: SyncSettings,
        figures: Arc<Figures>,
    ) -> Self {
        let parts = Arc::new(Parts::new(source, pool, program, settings, figures));
        let listings_changed = Arc::clone(&parts.listings_changed);
        Self { parts, listings_changed, source: PhantomData }
    }

    /// Whether this process writes the mirror. Others stand by, and do no work that should be done once.
    pub fn leads(&self) -> bool {
        self.parts.leads.load(Ordering::Relaxed)
    }

    /// The process in `indexer_processes`.
    pub fn id(&self) -> Uuid {
        self.parts.id
    }

    /// Mirrors while this process leads, until shut down.
    pub async fn run(self: Arc<Self>, shutdown: CancellationToken) {
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = self.lead() => {}
        }
        self.parts.leads.store(false, Ordering::Relaxed);
    }

    async fn lead(&self) {
        loop {
            match Leadership::take(&self.parts.pool).await {
                Ok(Some(leadership)) => self.mirror_while(leadership).await,
                Ok(None) => {}
                Err(error) => tracing::warn!(cause = %error, "the database does not say which indexer leads"),
            }
            sleep(LEAD_INTERVAL).await;
        }
    }

    /// Mirrors until the lead is lost.
    async fn mirror_while(&self, mut leadership: Leadership) {
        tracing::info!("this indexer leads");
        self.parts.leads.store(true, Ordering::Relaxed);
        // Another process may have led: nothing is proved, and what is final has to be read again.
        self.parts.filled.store(false, Ordering::Relaxed);
        self.parts.slots_checked.store(false, Ordering::Relaxed);
        *self.parts.proved() = Proved::default();
        *self.parts.changes() = Changes::default();
        let lost = tokio::select! {
            lost = lost(&mut leadership) => lost,
            () = self.sessions() => return,
        };
        self.parts.leads.store(false, Ordering::Relaxed);
        self.parts.pulse.connected(false);
        tracing::warn!(cause = lost, "this indexer has lost the lead and stops writing");
    }

    /// Connects, and connects again when the connection or the database fails.
    async fn sessions(&self) {
        let mut backoff = MIN_BACKOFF;
        loop {
            let begun = Instant::now();
            let ended = self.parts.session().await;
            self.parts.caught_up.store(false, Ordering::Relaxed);
            self.parts.problems.set(ended.code(), &ended);
            self.parts.beat_now().await;
            if begun.elapsed() > GOOD_AFTER {
                backoff = MIN_BACKOFF;
            }
            tracing::warn!(cause = %ended, retry_in_ms = backoff.as_millis(), "the mirror lost its source");
            sleep(backoff).await;
            backoff = backoff.saturating_mul(2).min(MAX_BACKOFF);
        }
    }

    /// Takes a snapshot and applies it.
    pub async fn resync(&self) -> Result<(), SyncError> {
        self.parts.resync().await.map(drop)
    }

    /// Writes heartbeats, which show every process that this indexer runs.
    pub async fn heartbeat(self: Arc<Self>, shutdown: CancellationToken) {
        self.parts.heartbeats(shutdown).await;
    }
}

/// Waits until the lead is lost. Returns why.
async fn lost(leadership: &mut Leadership) -> String {
    loop {
        sleep(LEAD_INTERVAL).await;
        let checked: Result<Result<(), StoreError>, _> = timeout(LEAD_LIMIT, leadership.check()).await;
        match checked {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return error.to_string(),
            Err(_) => return "the database did not answer in time".to_owned(),
        }
    }
}
