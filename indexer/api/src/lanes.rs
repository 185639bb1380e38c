//! Shares the database among reads. Single rows have their own pool. Lists have two lanes, one for cheap and one for
//! expensive lists, so that no list delays other clients.
//!
//! The cost of a list is learned from its shape. A list that turns out to be expensive in the cheap lane is ended and
//! runs again in the other lane, where each client has a share of the places and a bounded queue.

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
use tokio::{sync::Semaphore, time::timeout};

/// Time limit of a cheap list.
const CHEAP_LIMIT: Duration = Duration::from_millis(100);
/// A shape that took longer than this runs in the expensive lane the next time.
const EXPENSIVE_FROM: Duration = Duration::from_millis(25);
/// How long a measured cost is used.
const COST_AGE: Duration = Duration::from_secs(60);
const MAX_SHAPES: usize = 4_096;
/// How long a request waits for its turn.
const CHEAP_WAIT: Duration = Duration::from_secs(2);
const EXPENSIVE_WAIT: Duration = Duration::from_secs(3);
/// Time limit of an expensive list.
const EXPENSIVE_LIMIT: Duration = Duration::from_secs(5);
/// Time in the expensive lane that one client may use without a pause.
const EXPENSIVE_BURST: Duration = Duration::from_secs(1);
/// Afterwards each expensive list of a client costs this multiple of its time, so they use a sixth of one connection's
/// time, however many the client requests.
const TIME_PER_COST: u32 = 6;
/// Requests that may wait for the expensive lane, of one client and in total.
const MAX_WAITING_PER_CLIENT: usize = 16;
const MAX_WAITING: usize = 128;

/// The owner of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Client {
    Peer(IpAddr),
    /// The service itself, or a client without an address.
    Local,
}

/// A query that can run twice. It must call [`ReadConnection::done`] when it has its rows.
pub type Query<T> = Box<dyn Fn(ReadConnection) -> BoxFuture<'static, Result<T, StoreError>> + Send + Sync>;

pub struct Lanes {
    points: PgPool,
    lists: PgPool,
    cheap: Arc<Semaphore>,
    expensive: Arc<Semaphore>,
    /// Places of one client in the expensive lane.
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
        let expensive = connections.div_ceil(2);
        Self {
            points: pools.points.clone(),
            lists: pools.lists.clone(),
            cheap: Arc::new(Semaphore::new(connections.saturating_sub(expensive).max(1))),
            expensive: Arc::new(Semaphore::new(expensive)),
            share: expensive.div_ceil(2),
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

    /// Runs a list or a total and returns its database time. `shape`: queries of one shape have about the same cost,
    /// and there are few shapes.
    pub async fn list<T>(&self, client: Client, shape: &str, query: &Query<T>) -> Result<(T, Duration), ApiError> {
        if !self.is_expensive(shape)
            && let Some(answer) = self.ask_cheap(shape, query).await?
        {
            return Ok(answer);
        }
        self.ask_expensive(client, shape, query).await
    }

    /// Returns `None` if the query is not cheap.
    async fn ask_cheap<T>(&self, shape: &str, query: &Query<T>) -> Result<Option<(T, Duration)>, ApiError> {
        let place = timeout(CHEAP_WAIT, Arc::clone(&self.cheap).acquire_owned()).await;
        let place = place.map_err(|_| busy())?.map_err(ApiError::internal)?;
        // Another query of this shape may have turned out to be expensive while this one waited; the places of this
        // lane are for cheap lists.
        if self.is_expensive(shape) {
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

    async fn ask_expensive<T>(&self, client: Client, shape: &str, query: &Query<T>) -> Result<(T, Duration), ApiError> {
        let queue = self.queue_of(client);
        let place = {
            let _waiting =
                (Waiting::join(&self.waiting, MAX_WAITING)?, Waiting::join(&queue.waiting, MAX_WAITING_PER_CLIENT)?);
            let turn = async {
                let own = Arc::clone(&queue.places).acquire_owned().await?;
                tokio::time::sleep(queue.rest()).await;
                Ok::<_, tokio::sync::AcquireError>((own, Arc::clone(&self.expensive).acquire_owned().await?))
            };
            timeout(EXPENSIVE_WAIT, turn).await.map_err(|_| busy())?.map_err(ApiError::internal)?
        };
        let _cost = Cost { of: &queue, started: Instant::now() };
        let answer = self.ask(place, EXPENSIVE_LIMIT, query).await?;
        let (rows, took) = answer.ok_or_else(|| ApiError::unavailable("a list took too long"))?;
        self.note_cost(shape, took);
        Ok((rows, took))
    }

    /// Returns `None` if the query took longer than `limit` and was ended.
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
        // After an answer, no query is running any more.
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

    fn is_expensive(&self, shape: &str) -> bool {
        let costs = self.costs.lock().unwrap_or_else(PoisonError::into_inner);
        costs.get(shape).is_some_and(|(at, cost)| *cost > EXPENSIVE_FROM && at.elapsed() < COST_AGE)
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
    /// How long the client's next expensive list waits because of the earlier ones.
    fn rest(&self) -> Duration {
        self.pace().wait(Instant::now(), EXPENSIVE_BURST.saturating_mul(TIME_PER_COST))
    }

    fn is_even(&self) -> bool {
        self.pace().is_even(Instant::now())
    }

    fn pace(&self) -> MutexGuard<'_, Pace> {
        self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Charges the client for a list when it ends, even if it was abandoned.
struct Cost<'a> {
    of: &'a Queue,
    started: Instant,
}

impl Drop for Cost<'_> {
    fn drop(&mut self) {
        let now = Instant::now();
        let took = now.saturating_duration_since(self.started);
        self.of.pace().charge(now, took.saturating_mul(TIME_PER_COST));
    }
}

fn busy() -> ApiError {
    let message = "too many expensive reads are under way; try again";
    ApiError::new(ErrorCode::Unavailable, message).with_retry_after(Duration::from_secs(2))
}

/// One waiting request.
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

/// A place in a lane. An abandoned query keeps it until the database has detected that, so that one client cannot run
/// any number of queries.
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
