//! How reads share the database. Single rows have a pool of their own; lists have two lanes, one for those
//! that are answered in a moment and one for the others, so that no list keeps anybody else waiting.
//!
//! What a list costs is learned from its shape. One that turns out to be expensive in the cheap lane is ended
//! there and asked again in the other, where each client has a share of the places and a bounded queue.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use crtx_http::{ApiError, ErrorCode, pace::Pace};
use crtx_store::{PgPool, ReadPools, StoreError, pools::ReadConnection};
use futures::future::BoxFuture;
use solana_pubkey::Pubkey;
use tokio::{sync::Semaphore, time::timeout};

/// What takes longer is no cheap list.
const CHEAP_LIMIT: Duration = Duration::from_millis(100);
/// What took longer than this goes to the lane of expensive lists the next time.
const DEAR_FROM: Duration = Duration::from_millis(25);
/// How long the cost of a shape is believed.
const COST_AGE: Duration = Duration::from_secs(60);
const MAX_SHAPES: usize = 4_096;
/// How long a request waits for its turn.
const CHEAP_WAIT: Duration = Duration::from_secs(2);
const DEAR_WAIT: Duration = Duration::from_secs(3);
/// How long an expensive list may take.
const DEAR_LIMIT: Duration = Duration::from_secs(5);
/// The lane's time that one client may take at once.
const DEAR_BURST: Duration = Duration::from_secs(1);
/// After that a client's expensive lists rest for so many times as long as they took: they get a quarter of one
/// connection's time, however many of them it asks for.
const REST_PER_COST: u32 = 3;
/// Requests of one client, and of all, that wait for the lane of expensive lists.
const MAX_WAITING_PER_CLIENT: usize = 16;
const MAX_WAITING: usize = 128;

/// Who shares a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Client {
    Wallet(Pubkey),
    Peer(IpAddr),
    /// The service itself, or a client without an address.
    Local,
}

/// A query that can be asked twice. It must call [`ReadConnection::done`] when it has its rows.
pub type Query<T> = Box<dyn Fn(ReadConnection) -> BoxFuture<'static, Result<T, StoreError>> + Send + Sync>;

pub struct Lanes {
    points: PgPool,
    lists: PgPool,
    cheap: Arc<Semaphore>,
    dear: Arc<Semaphore>,
    /// Places of one client in the lane of expensive lists.
    share: usize,
    queues: Mutex<HashMap<Client, Arc<Queue>>>,
    waiting: AtomicUsize,
    costs: Mutex<HashMap<String, (Instant, Duration)>>,
}

struct Queue {
    places: Arc<Semaphore>,
    waiting: AtomicUsize,
    pace: Mutex<Pace>,
}

impl Lanes {
    pub fn new(pools: &ReadPools) -> Self {
        let connections = usize::try_from(pools.lists.options().get_max_connections()).unwrap_or(2).max(2);
        let dear = connections.div_ceil(2);
        Self {
            points: pools.points.clone(),
            lists: pools.lists.clone(),
            cheap: Arc::new(Semaphore::new(connections.saturating_sub(dear).max(1))),
            dear: Arc::new(Semaphore::new(dear)),
            share: dear.div_ceil(2),
            queues: Mutex::default(),
            waiting: AtomicUsize::new(0),
            costs: Mutex::default(),
        }
    }

    pub fn points(&self) -> &PgPool {
        &self.points
    }

    /// A connection for single rows.
    pub async fn point(&self) -> Result<ReadConnection, ApiError> {
        Ok(ReadConnection::acquire(&self.points).await?)
    }

    /// Asks for a list or a total; tells how long the database took. `shape`: queries of one shape cost about
    /// the same, and there are few shapes.
    pub async fn list<T>(&self, client: Client, shape: &str, query: &Query<T>) -> Result<(T, Duration), ApiError> {
        if !self.is_dear(shape)
            && let Some(answer) = self.ask_cheaply(shape, query).await?
        {
            return Ok(answer);
        }
        self.ask_dearly(client, shape, query).await
    }

    /// `None`: it is not cheap.
    async fn ask_cheaply<T>(&self, shape: &str, query: &Query<T>) -> Result<Option<(T, Duration)>, ApiError> {
        let place = timeout(CHEAP_WAIT, Arc::clone(&self.cheap).acquire_owned()).await;
        let place = place.map_err(|_| busy())?.map_err(ApiError::internal)?;
        // Others of this shape went first and showed what it costs: the places of this lane are for cheap lists.
        if self.is_dear(shape) {
            return Ok(None);
        }
        match self.ask(place, CHEAP_LIMIT, query).await? {
            Some((rows, took)) => {
                self.note_cost(shape, took);
                Ok(Some((rows, took)))
            }
            None => {
                self.note_cost(shape, CHEAP_LIMIT);
                Ok(None)
            }
        }
    }

    async fn ask_dearly<T>(&self, client: Client, shape: &str, query: &Query<T>) -> Result<(T, Duration), ApiError> {
        let queue = self.queue_of(client);
        let place = {
            let _waiting =
                (Waiting::join(&self.waiting, MAX_WAITING)?, Waiting::join(&queue.waiting, MAX_WAITING_PER_CLIENT)?);
            let turn = async {
                let own = Arc::clone(&queue.places).acquire_owned().await?;
                tokio::time::sleep(queue.rest()).await;
                Ok::<_, tokio::sync::AcquireError>((own, Arc::clone(&self.dear).acquire_owned().await?))
            };
            timeout(DEAR_WAIT, turn).await.map_err(|_| busy())?.map_err(ApiError::internal)?
        };
        let _cost = Cost { of: &queue, started: Instant::now() };
        let answer = self.ask(place, DEAR_LIMIT, query).await?;
        let (rows, took) = answer.ok_or_else(|| ApiError::unavailable("a list took too long"))?;
        self.note_cost(shape, took);
        Ok((rows, took))
    }

    /// `None`: it took longer than `limit` and has been ended.
    async fn ask<T>(
        &self,
        place: impl Send + 'static,
        limit: Duration,
        query: &Query<T>,
    ) -> Result<Option<(T, Duration)>, ApiError> {
        let mut held = HeldPlace(Some(place));
        let connection = ReadConnection::acquire(&self.lists).await?;
        let started = Instant::now();
        let Ok(rows) = timeout(limit, query(connection)).await else { return Ok(None) };
        // Only an answer shows that nothing runs on.
        held.0 = None;
        Ok(Some((rows?, started.elapsed())))
    }

    fn queue_of(&self, client: Client) -> Arc<Queue> {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = queues.get(&client) {
            return Arc::clone(queue);
        }
        queues.retain(|_, queue| Arc::strong_count(queue) > 1 || !queue.is_even());
        let queue = Arc::new(Queue {
            places: Arc::new(Semaphore::new(self.share)),
            waiting: AtomicUsize::new(0),
            pace: Mutex::new(Pace::new(Instant::now())),
        });
        queues.insert(client, Arc::clone(&queue));
        queue
    }

    fn is_dear(&self, shape: &str) -> bool {
        let costs = self.costs.lock().unwrap_or_else(PoisonError::into_inner);
        costs.get(shape).is_some_and(|(at, cost)| *cost > DEAR_FROM && at.elapsed() < COST_AGE)
    }

    fn note_cost(&self, shape: &str, cost: Duration) {
        let mut costs = self.costs.lock().unwrap_or_else(PoisonError::into_inner);
        if costs.len() >= MAX_SHAPES && !costs.contains_key(shape) {
            costs.clear();
        }
        costs.insert(shape.to_owned(), (Instant::now(), cost));
    }
}

impl Queue {
    /// How long the client's next expensive list waits for what the ones before it cost.
    fn rest(&self) -> Duration {
        self.pace().wait(Instant::now(), DEAR_BURST.saturating_mul(REST_PER_COST.saturating_add(1)))
    }

    fn is_even(&self) -> bool {
        self.pace().is_even(Instant::now())
    }

    fn pace(&self) -> MutexGuard<'_, Pace> {
        self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Charges the client for a list when it ends, also one that was abandoned.
struct Cost<'a> {
    of: &'a Queue,
    started: Instant,
}

impl Drop for Cost<'_> {
    fn drop(&mut self) {
        let now = Instant::now();
        let took = now.saturating_duration_since(self.started);
        self.of.pace().charge(now, took.saturating_mul(REST_PER_COST.saturating_add(1)));
    }
}

/// Cost grows with the offset: offsets of one order of magnitude have one shape.
pub fn magnitude(offset: u64) -> u32 {
    u64::BITS.saturating_sub(offset.leading_zeros())
}

fn busy() -> ApiError {
    let message = "too many expensive reads are under way; try again";
    ApiError::new(ErrorCode::Unavailable, message).with_retry_after(Duration::from_secs(2))
}

/// One of those that wait.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn join(count: &'a AtomicUsize, most: usize) -> Result<Self, ApiError> {
        let add = |waiting: usize| waiting.checked_add(1).filter(|waiting| *waiting <= most);
        count.fetch_update(Ordering::AcqRel, Ordering::Acquire, add).map_err(|_| busy())?;
        Ok(Self(count))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A place in a lane. A query that was abandoned keeps it until the database has noticed: else one client
/// could have any number of them running.
struct HeldPlace<P: Send + 'static>(Option<P>);

impl<P: Send + 'static> Drop for HeldPlace<P> {
    fn drop(&mut self) {
        if let (Some(place), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current()) {
            runtime.spawn(async move {
                tokio::time::sleep(ReadConnection::GRACE).await;
                drop(place);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_of_one_magnitude_have_one_shape() {
        assert_eq!([0, 1, 2, 3, 4, 50_000, 60_000, u64::MAX].map(magnitude), [0, 1, 2, 2, 3, 16, 16, 64]);
    }
}
