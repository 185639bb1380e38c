//! Shares the database among reads. Single rows have their own connections. Lists have others: a client has at most half
//! of the places and a bounded queue, and pauses after expensive lists, so that no client blocks the others. The server
//! ends a statement that takes too long.

use std::{
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use crtx_http::{ApiError, ErrorCode, token_bucket::TokenBucket};
use crtx_store::{ReadPools, pools::ReadConnection};
use moka::sync::Cache;
use parking_lot::Mutex;
use tokio::{
    sync::{AcquireError, Semaphore},
    time::{sleep, timeout},
};

/// How long a request waits for its turn.
const WAIT: Duration = Duration::from_secs(3);
/// When a client may ask again that did not get its turn.
const RETRY_AFTER: Duration = Duration::from_secs(2);
/// A list that takes no longer is not expensive.
const CHEAP: Duration = Duration::from_millis(25);
/// Time beyond [`CHEAP`] that the lists of one client may take without a pause.
const BURST: Duration = Duration::from_secs(1);
/// Afterwards each list of a client costs this multiple of its time, so they use a sixth of one connection's time, however
/// many the client requests.
const TIME_PER_COST: u32 = 6;
/// Requests that may wait for their turn, of one client and in total.
const MAX_WAITING_PER_CLIENT: usize = 16;
const MAX_WAITING: usize = 128;
/// Clients that are remembered, and for how long after their last list.
const MAX_CLIENTS: u64 = 10_000;
const IDLE: Duration = Duration::from_secs(60);

pub struct Connections {
    pub pools: ReadPools,
    /// All connections for lists but one, which the service has for itself.
    places: Arc<Semaphore>,
    waiting: Semaphore,
    share: usize,
    /// `None`: those without an address.
    clients: Cache<Option<IpAddr>, Arc<Client>>,
}

#[derive(Debug)]
struct Client {
    places: Arc<Semaphore>,
    waiting: Semaphore,
    bucket: Mutex<TokenBucket>,
}

impl Client {
    fn new(share: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(share)),
            waiting: Semaphore::new(MAX_WAITING_PER_CLIENT),
            bucket: Mutex::new(TokenBucket::new(Instant::now())),
        }
    }

    /// How long the next list waits because of the earlier ones.
    fn rest(&self) -> Duration {
        self.bucket.lock().wait(Instant::now(), BURST.saturating_mul(TIME_PER_COST))
    }
}

/// Charges a client for a list when it ends, even if it was abandoned.
#[derive(Debug)]
struct ListCharge {
    client: Arc<Client>,
    since: Instant,
}

impl Drop for ListCharge {
    fn drop(&mut self) {
        let now = Instant::now();
        let took = now.saturating_duration_since(self.since).saturating_sub(CHEAP);
        self.client.bucket.lock().charge(now, took.saturating_mul(TIME_PER_COST));
    }
}

impl Connections {
    pub fn new(pools: ReadPools) -> Self {
        let connections = usize::try_from(pools.lists.options().get_max_connections()).unwrap_or(2);
        let places = connections.saturating_sub(1).max(1);
        Self {
            pools,
            places: Arc::new(Semaphore::new(places)),
            waiting: Semaphore::new(MAX_WAITING),
            share: places.div_ceil(2),
            clients: Cache::builder().max_capacity(MAX_CLIENTS).time_to_idle(IDLE).build(),
        }
    }

    /// A connection for single rows.
    pub async fn point(&self) -> Result<ReadConnection, ApiError> {
        Ok(ReadConnection::acquire(&self.pools.points).await?)
    }

    /// A connection for a list that a client asks for.
    pub async fn list(&self, client: Option<IpAddr>) -> Result<ReadConnection, ApiError> {
        let client = self.clients.get_with(client, || Arc::new(Client::new(self.share)));
        let place = {
            let waiting = [&self.waiting, &client.waiting].map(Semaphore::try_acquire);
            if waiting.iter().any(Result::is_err) {
                return Err(busy());
            }
            let turn = async {
                let own = Arc::clone(&client.places).acquire_owned().await?;
                sleep(client.rest()).await;
                Ok::<_, AcquireError>((own, Arc::clone(&self.places).acquire_owned().await?))
            };
            timeout(WAIT, turn).await.map_err(|_| busy())?.map_err(ApiError::internal)?
        };
        let cost = ListCharge { client, since: Instant::now() };
        Ok(ReadConnection::acquire_at(&self.pools.lists, (cost, place)).await?)
    }

    /// Reads a list whose answer the service keeps for all clients, and says how long the read took.
    pub async fn kept_list<T>(
        &self,
        read: impl AsyncFnOnce(&mut ReadConnection) -> Result<T, ApiError>,
    ) -> Result<(T, Duration), ApiError> {
        let mut connection = ReadConnection::acquire(&self.pools.lists).await?;
        let started = Instant::now();
        let answer = read(&mut connection).await?;
        connection.done();
        Ok((answer, started.elapsed()))
    }
}

fn busy() -> ApiError {
    let message = "too many expensive reads are under way; try again";
    ApiError::new(ErrorCode::Unavailable, message).with_retry_after(RETRY_AFTER)
}
