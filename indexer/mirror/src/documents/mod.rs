//! Fetches the metadata documents of listings. A document is accepted only if its SHA-256 is the one on chain and its
//! form is valid. Otherwise the reason is stored and the fetch repeated later, at growing intervals.
//!
//! The database says what is due and which process has it (`crtx_store::metadata`). [`queue`] decides what is
//! next, so that slow hosts and creators delay only themselves.

mod fetch;
mod queue;

use std::{io, sync::Arc, time::Duration};

use crtx_content::ContentSources;
use crtx_http::{
    offload::{Offload, OffloadConfig},
    outbound::OutboundPolicy,
};
use crtx_protocol::metadata::Metadata;
use crtx_schema::{Schema, limits};
use crtx_store::{
    PgPool, StoreError,
    metadata::{self as store, ClaimLimits, FetchFailure, WantedDocument},
};
use serde_json::Value;
use solana_pubkey::Pubkey;
use tokio::{
    sync::{Notify, Semaphore},
    task::{JoinError, JoinSet},
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::pauses::doubled;

use self::{
    fetch::{DocumentSource, FetchError, Fetched, PACE, Ways},
    queue::{FETCHES, FetchJob, Queue},
};

/// Documents that wait in memory. The others wait in the database.
const MAX_WAITING: u32 = 512;
/// A process that stops without a word keeps its documents from the others so long.
const LEASE: Duration = Duration::from_secs(60);
/// Creators and hosts with more documents wait in the database, so that those in memory are of many.
const LEASES_PER_CREATOR: u32 = 4;
const LEASES_PER_HOST: u32 = 16;
/// Content by its hash is read at places that the operator has chosen, which are trusted to be quick. Each look for due
/// documents ranks all of them, so few looks have to be enough for a market whose documents are all in the store.
const LEASES_OF_CONTENT: u32 = 128;
/// Documents are not trusted, so they are parsed and their schemas compiled on a thread of their own.
const READING: OffloadConfig = OffloadConfig { threads: 1, places: FETCHES, stack_bytes: limits::STACK_BYTES };
/// Documents that are written at once. Each takes a connection, and the mirror needs the others.
const STORES_AT_ONCE: usize = 2;
/// Between looks for due retries. Documents of new listings are looked for at once.
const ROUND_INTERVAL: Duration = Duration::from_secs(2);
/// Listings can change hundreds of times in a second.
const LEAST_INTERVAL: Duration = Duration::from_millis(200);
const FIRST_RETRY: Duration = Duration::from_secs(2);
const LAST_RETRY: Duration = Duration::from_secs(3_600);
/// Between deletions of the earlier documents of closed agents, and the age from which they are deleted.
const PRUNE_INTERVAL: Duration = Duration::from_secs(3_600);
const PRUNE_CLOSED_AFTER: Duration = Duration::from_secs(30 * 24 * 3_600);

/// Fetches documents for the listings of one database.
pub struct Fetcher {
    pool: PgPool,
    /// The name of its leases.
    holder: Uuid,
    policy: OutboundPolicy,
    reading: Offload,
    ways: Ways,
    storing: Semaphore,
}

/// How a fetch ended.
struct EndedFetch {
    agent: Pubkey,
    took: Duration,
    stored: Result<bool, StoreError>,
    /// It was not read yet: to be fetched elsewhere.
    next: Option<FetchJob>,
}

/// What is fetched and what waits for it. Fetches go on while others are looked for: one that stands still may hold the
/// connection that the look waits for.
#[derive(Default)]
struct UnderWay {
    queue: Queue,
    fetches: JoinSet<EndedFetch>,
}

impl Fetcher {
    pub fn new(pool: PgPool, policy: OutboundPolicy, sources: ContentSources) -> io::Result<Arc<Self>> {
        let ways = Ways::new(policy, sources).map_err(io::Error::other)?;
        let reading = Offload::start("documents", READING)?;
        let (holder, storing) = (Uuid::new_v4(), Semaphore::new(STORES_AT_ONCE));
        Ok(Arc::new(Self { pool, holder, policy, reading, ways, storing }))
    }

    /// Fetches documents when listings change and in regular intervals, until shut down.
    pub async fn follow(self: &Arc<Self>, changed: &Notify, shutdown: &CancellationToken) {
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = self.work(changed) => {}
            () = self.prune() => {}
        }
        if let Err(error) = store::release_all(&self.pool, self.holder).await {
            tracing::warn!(cause = %error, "leases of documents could not be given back");
        }
    }

    async fn work(self: &Arc<Self>, changed: &Notify) {
        let mut under_way = UnderWay::default();
        let mut last_look = Instant::now();
        let mut look_at = last_look;
        loop {
            if Instant::now() >= look_at {
                last_look = Instant::now();
                let claimed = self.claim(&mut under_way.queue).await;
                let full = claimed.unwrap_or_else(|error| {
                    tracing::warn!(cause = %error, "due metadata documents could not be read");
                    false
                });
                // A full answer says that the database has more.
                look_at = later(last_look, if full { LEAST_INTERVAL } else { ROUND_INTERVAL });
            }
            self.begin(&mut under_way);
            tokio::select! {
                () = sleep_until(look_at) => {}
                () = changed.notified() => look_at = look_at.min(later(last_look, LEAST_INTERVAL)),
                Some(ended) = under_way.fetches.join_next() => {
                    // A creator or host that has a place again may have more in the database.
                    look_at = look_at.min(later(last_look, LEAST_INTERVAL));
                    if let Err(error) = settle(&mut under_way.queue, ended) {
                        // Its lease ends, and it is fetched again.
                        tracing::warn!(cause = %error, "a metadata document could not be kept");
                    }
                }
            }
        }
    }

    /// Fetches all due documents, until none is left. Returns how many were stored.
    pub async fn round(self: &Arc<Self>) -> Result<usize, StoreError> {
        let (mut under_way, mut stored) = (UnderWay::default(), 0_usize);
        loop {
            self.claim(&mut under_way.queue).await?;
            self.begin(&mut under_way);
            let Some(ended) = under_way.fetches.join_next().await else { return Ok(stored) };
            stored = stored.saturating_add(usize::from(settle(&mut under_way.queue, ended)?));
        }
    }

    /// Begins the fetches that may begin now.
    fn begin(self: &Arc<Self>, under_way: &mut UnderWay) {
        while let Some(job) = under_way.queue.next(Instant::now()) {
            let fetcher = Arc::clone(self);
            under_way.fetches.spawn(async move { fetcher.fetch_and_store(job).await });
        }
    }

    async fn claim(&self, queue: &mut Queue) -> Result<bool, StoreError> {
        let room = MAX_WAITING.saturating_sub(u32::try_from(queue.waiting()).unwrap_or(u32::MAX));
        // Documents that failed before never fill the whole queue.
        let retries = room.saturating_sub(MAX_WAITING.div_ceil(2));
        let limits = ClaimLimits {
            fresh: room,
            retries,
            per_creator: LEASES_PER_CREATOR,
            per_host: LEASES_PER_HOST,
            of_content: LEASES_OF_CONTENT,
            lease: LEASE,
        };
        if room == 0 {
            return Ok(false);
        }
        let now = Instant::now();
        let claims = store::claim(&self.pool, self.holder, limits).await?;
        let full = u32::try_from(claims.len()).unwrap_or(u32::MAX) >= room;
        for wanted in claims {
            match DocumentSource::of(&wanted.uri, self.policy) {
                Ok(source) => {
                    queue.add(FetchJob { wanted, source, start_before: later(now, LEASE.saturating_sub(PACE.whole)) })
                }
                Err(error) => self.note(&wanted, &error.into()).await?,
            }
        }
        Ok(full)
    }

    /// Fetches and stores one document.
    async fn fetch_and_store(&self, job: FetchJob) -> EndedFetch {
        let started = Instant::now();
        let fetched = self.ways.fetch(&job.source, job.wanted.sha256).await;
        let took = started.elapsed();
        let FetchJob { wanted, start_before, .. } = job;
        let agent = wanted.agent;
        let (stored, next) = match fetched {
            Ok(Fetched::Elsewhere(source)) => (Ok(false), Some(FetchJob { wanted, source, start_before })),
            Ok(Fetched::Document(bytes)) => (self.keep(&wanted, bytes).await, None),
            Err(error) => (self.note(&wanted, &error).await.map(|()| false), None),
        };
        EndedFetch { agent, took, stored, next }
    }

    async fn keep(&self, wanted: &WantedDocument, bytes: Vec<u8>) -> Result<bool, StoreError> {
        let (fetched, policy) = (bytes.clone(), self.policy);
        let read = self.reading.run(move || read_document(&bytes, policy)).await;
        let problem = match read.unwrap_or_else(|error| Err(format!("the document could not be read: {error}"))) {
            Ok((document, metadata)) => {
                let _turn = self.storing.acquire().await;
                match store::store_document(&self.pool, wanted, &fetched, &document, &metadata).await {
                    Ok(()) => return Ok(true),
                    Err(error) if error.is_unavailable() => return Err(error),
                    Err(error) => {
                        tracing::error!(agent = %wanted.agent, cause = %error, "a document cannot be stored");
                        "it cannot be stored".to_owned()
                    }
                }
            }
            Err(problem) => problem,
        };
        self.note(wanted, &FetchError::Invalid(problem)).await.map(|()| false)
    }

    /// Notes why there is no document, and when to try again.
    async fn note(&self, wanted: &WantedDocument, error: &FetchError) -> Result<(), StoreError> {
        let (agent, message) = (wanted.agent, error.reason());
        tracing::warn!(%agent, uri = wanted.uri, problem = message, "a listing's metadata document cannot be shown");
        let retry_in = doubled(FIRST_RETRY, wanted.attempts.unsigned_abs(), LAST_RETRY);
        let failure = FetchFailure { kind: error.kind(), message: &message, retry_in };
        let _turn = self.storing.acquire().await;
        store::store_failure(&self.pool, wanted, failure).await
    }

    async fn prune(&self) {
        loop {
            tokio::time::sleep(PRUNE_INTERVAL).await;
            match store::prune_closed(&self.pool, PRUNE_CLOSED_AFTER).await {
                Ok(pruned) => tracing::debug!(pruned, "deleted earlier documents of closed agents"),
                Err(error) => tracing::warn!(cause = %error, "documents of closed agents could not be deleted"),
            }
        }
    }
}

/// Counts a fetch that ended, and queues what is to be read elsewhere. True if the document was stored.
fn settle(queue: &mut Queue, ended: Result<EndedFetch, JoinError>) -> Result<bool, StoreError> {
    let ended = ended.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
    queue.finished(&ended.agent, ended.took, Instant::now());
    ended.next.into_iter().for_each(|job| queue.add(job));
    ended.stored
}

fn later(moment: Instant, pause: Duration) -> Instant {
    moment.checked_add(pause).unwrap_or(moment)
}

/// Parses a document, and checks that calls with it are possible: a listing that cannot be called is not shown.
fn read_document(bytes: &[u8], policy: OutboundPolicy) -> Result<(Value, Metadata), String> {
    let metadata = Metadata::parse(bytes).map_err(|error| error.to_string())?;
    policy.check_url(&metadata.endpoint).map_err(|error| format!("`endpoint` is not allowed: {error}"))?;
    Schema::compile(&metadata.input_schema).map_err(|error| format!("`input_schema` is not accepted: {error}"))?;
    let document = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    Ok((document, metadata))
}
