//! Tells those who wait for events that there are new ones, over all processes, and ends their wait when their credentials
//! end. What it says is a hint: the log in the database says what happened, and a stream sends an event only after the one
//! before it.
//!
//! The database says which wallets have new events (`crtx_store::events::listen`). One statement then reads them for all
//! streams of these wallets. The hub also looks twice a second, so a message that is lost delays an event and nothing else.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, Weak},
    time::Duration,
};

use axum::body::Bytes;
use crtx_http::{ApiError, CredentialName, Credentials, QuotaUnit, RateLimit, ServeLimits};
use crtx_store::{
    PgPool, StoreError,
    events::{self, Event},
    pools::ReadConnection,
};
use parking_lot::Mutex;
use solana_pubkey::Pubkey;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch},
    time::{MissedTickBehavior, interval, sleep},
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// Between two looks at the log and at the credentials.
const EVERY: Duration = Duration::from_millis(500);
/// Before another connection is tried that tells of new events.
const PAUSE: Duration = Duration::from_secs(1);
/// Streams, and requests that wait, of one wallet at this process.
const MOST_PER_WALLET: usize = 32;
/// Events of one wallet in memory, for all of its streams, and those that one look reads.
const RECENT: u32 = 64;
/// Streams that read the database at the same time because they are further behind.
const MOST_BEHIND: usize = 2;
/// When one that is refused may ask again.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// An event as every stream of its wallet sends it.
pub struct Frame {
    pub sequence: u64,
    pub event_type: String,
    pub execution_id: Option<Uuid>,
    pub text: Bytes,
}

impl Frame {
    pub fn new(event: Event) -> Result<Self, ApiError> {
        let sequence = event.sequence.into();
        let json = serde_json::to_string(&event).map_err(ApiError::internal)?;
        let text = format!("id: {sequence}\nevent: {}\ndata: {json}\n\n", event.event_type).into();
        Ok(Self { sequence, event_type: event.event_type, execution_id: event.execution_id, text })
    }
}

/// The newest events of a wallet that somebody waits for.
struct Feed {
    /// The number of the last one, `None` until it is known, and the last ones without a gap.
    recent: Mutex<(Option<u64>, VecDeque<Arc<Frame>>)>,
    /// Changes when there are new ones.
    moved: watch::Sender<()>,
}

impl Feed {
    fn new() -> Self {
        Self { recent: Mutex::default(), moved: watch::Sender::new(()) }
    }

    /// Adds what was read after the last one.
    fn push(&self, frames: Vec<Arc<Frame>>) {
        let (through, recent) = &mut *self.recent.lock();
        for frame in frames {
            if through.and_then(|through| through.checked_add(1)) != Some(frame.sequence) {
                // Those between were deleted because of their age.
                recent.clear();
            }
            *through = Some(frame.sequence);
            recent.push_back(frame);
        }
        while recent.len() > RECENT as usize {
            recent.pop_front();
        }
        self.moved.send_replace(());
    }

    /// What comes after an event. `None`: not all of that is in memory.
    fn after(&self, after: u64) -> Option<Vec<Arc<Frame>>> {
        let (through, recent) = &*self.recent.lock();
        let newer = usize::try_from(through.unwrap_or_default().saturating_sub(after)).ok()?;
        let known = recent.len().checked_sub(newer)?;
        Some(recent.iter().skip(known).cloned().collect())
    }
}

pub struct Hub {
    credentials: Arc<Credentials>,
    pub pool: PgPool,
    feeds: Mutex<HashMap<Pubkey, (Arc<Feed>, usize)>>,
    /// The credentials of those who wait, and what ends their wait.
    presented: Mutex<HashMap<CredentialName, Weak<CancellationToken>>>,
    places: Arc<Semaphore>,
    /// A turn of a stream that is behind.
    pub turns: Semaphore,
    news: mpsc::Sender<Option<Vec<Pubkey>>>,
    told: Mutex<Option<mpsc::Receiver<Option<Vec<Pubkey>>>>>,
}

impl Hub {
    /// `pool`: of the primary.
    pub fn new(pool: PgPool, credentials: Arc<Credentials>) -> Arc<Self> {
        let (news, told) = mpsc::channel(64);
        // Half of the connections stay free for requests.
        let most = ServeLimits::default().within_open_files().max_connections.div_ceil(2);
        Arc::new(Self {
            credentials,
            pool,
            feeds: Mutex::default(),
            presented: Mutex::default(),
            places: Arc::new(Semaphore::new(most)),
            turns: Semaphore::new(MOST_BEHIND),
            news,
            told: Mutex::new(Some(told)),
        })
    }

    /// Follows the log as long as there is the hub.
    pub fn start(self: &Arc<Self>) {
        if let Some(told) = self.told.lock().take() {
            tokio::spawn(follow(Arc::downgrade(self), told));
            tokio::spawn(listen(self.pool.clone(), self.news.clone()));
        }
    }

    /// A place for somebody who waits for events of a wallet. 429: the wallet has too many; 503: this process has.
    pub async fn wait(self: &Arc<Self>, wallet: Pubkey, credential: CredentialName) -> Result<Waiter, ApiError> {
        let full = |_| ApiError::unavailable("too many streams of events").with_retry_after(RETRY_AFTER);
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(full)?;
        let feed = {
            let mut feeds = self.feeds.lock();
            let (feed, waiting) = feeds.entry(wallet).or_insert_with(|| (Arc::new(Feed::new()), 0));
            if *waiting >= MOST_PER_WALLET {
                let quota = u32::try_from(MOST_PER_WALLET).map_err(ApiError::internal)?;
                let limit = RateLimit { policy: "streams-per-wallet", quota, unit: QuotaUnit::Concurrent };
                let message = format!("this wallet has {MOST_PER_WALLET} streams of events, and no more at a time");
                return Err(ApiError::rate_limited(message, limit, RETRY_AFTER));
            }
            *waiting = waiting.saturating_add(1);
            Arc::clone(feed)
        };
        let ended = {
            let mut presented = self.presented.lock();
            let known = presented.get(&credential).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                let ended = Arc::default();
                presented.insert(credential, Arc::downgrade(&ended));
                ended
            })
        };
        let moved = feed.moved.subscribe();
        let waiting = Waiter { hub: Arc::clone(self), wallet, feed, moved, ended, _place: place };
        if waiting.feed.recent.lock().0.is_none() {
            let newest = events::newest(&self.pool, &[wallet]).await?;
            let newest = newest.first().map_or(0, |(_, newest)| *newest);
            waiting.feed.recent.lock().0.get_or_insert(newest);
            // Something may have been told of meanwhile.
            let _ = self.news.try_send(Some(vec![wallet]));
        }
        Ok(waiting)
    }

    /// Reads the new events of these wallets, or of all that somebody waits for.
    async fn look(&self, wallets: Option<Vec<Pubkey>>) -> Result<(), ApiError> {
        let mut feeds: HashMap<String, (Pubkey, Arc<Feed>)> = {
            let feeds = self.feeds.lock();
            let all = || feeds.keys().copied().collect();
            let wallets = wallets.unwrap_or_else(all).into_iter();
            let feed = |wallet: Pubkey| Some((wallet.to_string(), (wallet, Arc::clone(&feeds.get(&wallet)?.0))));
            wallets.filter_map(feed).collect()
        };
        while !feeds.is_empty() {
            let position = |(wallet, feed): &(Pubkey, Arc<Feed>)| Some((*wallet, feed.recent.lock().0?));
            let positions: Vec<(Pubkey, u64)> = feeds.values().filter_map(position).collect();
            let mut connection = ReadConnection::acquire(&self.pool).await?;
            let found = events::after(&mut *connection, &positions, RECENT).await?;
            connection.done();
            let mut frames: HashMap<String, Vec<Arc<Frame>>> = HashMap::new();
            for event in found {
                frames.entry(event.wallet.clone()).or_default().push(Arc::new(Frame::new(event)?));
            }
            // Who has as many as were asked for may have more.
            feeds.retain(|wallet, (_, feed)| {
                let frames = frames.remove(wallet).unwrap_or_default();
                let is_full = frames.len() >= RECENT as usize;
                if !frames.is_empty() {
                    feed.push(frames);
                }
                is_full
            });
        }
        Ok(())
    }

    /// Ends the wait of those whose credentials are not valid any more.
    async fn check(&self) -> Result<(), StoreError> {
        let names: Vec<CredentialName> = {
            let mut presented = self.presented.lock();
            presented.retain(|_, ended| ended.strong_count() > 0);
            presented.keys().copied().collect()
        };
        if names.is_empty() {
            return Ok(());
        }
        let over: HashSet<CredentialName> = self.credentials.ended(names).await?.into_iter().collect();
        let over: Vec<_> = self.presented.lock().extract_if(|name, _| over.contains(name)).collect();
        for ended in over.into_iter().filter_map(|(_, ended)| ended.upgrade()) {
            ended.cancel();
        }
        Ok(())
    }
}

/// A place among those who wait for events of a wallet.
pub struct Waiter {
    pub hub: Arc<Hub>,
    pub wallet: Pubkey,
    feed: Arc<Feed>,
    moved: watch::Receiver<()>,
    /// The credential is not valid any more.
    ended: Arc<CancellationToken>,
    _place: OwnedSemaphorePermit,
}

impl Waiter {
    /// The newest event that the hub has seen.
    pub fn newest(&self) -> u64 {
        self.feed.recent.lock().0.unwrap_or_default()
    }

    /// What comes after an event; `None` if it is to be read from the database. [`Self::news`] then tells of what comes later.
    pub fn after(&mut self, after: u64) -> Option<Vec<Arc<Frame>>> {
        self.moved.mark_unchanged();
        self.feed.after(after)
    }

    /// Ends when there are new events.
    pub async fn news(&mut self) {
        let _ = self.moved.changed().await;
    }

    /// Ends when the credential is not valid any more.
    pub fn over(&self) -> impl Future<Output = ()> + use<> {
        (*self.ended).clone().cancelled_owned()
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let mut feeds = self.hub.feeds.lock();
        if let Some((_, waiting)) = feeds.get_mut(&self.wallet) {
            *waiting = waiting.saturating_sub(1);
            if *waiting == 0 {
                feeds.remove(&self.wallet);
            }
        }
    }
}

async fn follow(hub: Weak<Hub>, mut told: mpsc::Receiver<Option<Vec<Pubkey>>>) {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let (wallets, is_tick) = tokio::select! {
            wallets = told.recv() => (wallets.flatten(), false),
            _ = ticks.tick() => (None, true),
        };
        let Some(hub) = hub.upgrade() else { return };
        let check = async { if is_tick { hub.check().await } else { Ok(()) } };
        let (looked, checked) = tokio::join!(hub.look(wallets), check);
        if let Err(cause) = looked {
            tracing::warn!(%cause, "new events could not be read; streams wait");
        }
        if let Err(cause) = checked {
            tracing::warn!(%cause, "the credentials of streams could not be checked");
        }
    }
}

async fn listen(pool: PgPool, news: mpsc::Sender<Option<Vec<Pubkey>>>) {
    while !news.is_closed() {
        if let Err(cause) = events::listen(&pool, &news).await {
            tracing::warn!(%cause, "nothing tells of new events; streams look for them twice a second");
        }
        sleep(PAUSE).await;
    }
}
