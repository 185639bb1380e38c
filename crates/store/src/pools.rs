//! Database connections in separate pools, so that one kind of work cannot take the connections of another: money,
//! point reads, lists, health, and the indexer. The time limits of a pool are set when a connection is opened, so
//! that the server itself ends work that takes too long.

use std::{
    fmt,
    ops::{Deref, DerefMut},
    time::Duration,
};

use sqlx::{
    Connection, PgConnection, PgPool, Postgres,
    pool::PoolConnection,
    postgres::{PgConnectOptions, PgPoolOptions},
};
use tokio::{
    runtime::Handle,
    time::{sleep, timeout},
};

use crate::{Result, StoreError, transaction};

/// How soon the server detects that a client has disconnected, and ends its query.
const ABANDONED_AFTER: Duration = Duration::from_millis(100);
/// The server ends the connections of a machine that answers nothing for three seconds, with their locks and
/// transactions. By default it would keep them for two hours, and with them the lead of that machine.
const SILENT_MACHINES: [(&str, &str); 4] = [
    ("tcp_keepalives_idle", "1"),
    ("tcp_keepalives_interval", "1"),
    ("tcp_keepalives_count", "2"),
    ("tcp_user_timeout", "3000"),
];

/// A database that takes longer to answer a ping does not answer any more. The server ends longer statements of calls and reads.
const SILENCE: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Limits of one pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolLimits {
    pub connections: u32,
    /// How long a request waits for a connection.
    pub acquire: Duration,
    /// Longest statement. `None`: no limit.
    pub statement: Option<Duration>,
    /// Longest pause inside a transaction, after which the server ends the connection.
    pub idle_in_transaction: Duration,
    /// Longest wait for a lock.
    pub lock: Duration,
    /// Most statements find their rows by a key. Their plan is made once and never scans a whole table: statistics are
    /// missing or old while a table grows fast, and planning costs as much as execution.
    pub by_key: bool,
}

/// Number of connections of each pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSizes {
    pub money: u32,
    pub points: u32,
    pub lists: u32,
    pub indexer: u32,
}

impl PoolSizes {
    /// Divides a number of connections among the pools.
    pub fn of(connections: u32) -> Self {
        let share = |parts: u32| connections.saturating_mul(parts).checked_div(8).unwrap_or_default().max(1);
        Self { money: share(2).max(2), points: share(2), lists: share(1).max(2), indexer: share(1).max(3) }
    }
}

/// All pools of one process. A pool opens connections when it needs them.
#[derive(Clone, Debug)]
pub struct Pools {
    /// The gateway: admission, engine, workers.
    pub money: PgPool,
    /// Credentials of requests: a revoked one is refused at once, also where reads go to a standby.
    pub credentials: PgPool,
    /// Whether the database answers.
    pub health: PgPool,
    pub reads: ReadPools,
    /// Mirror, documents, audit.
    pub indexer: PgPool,
}

/// The pools of the read API.
#[derive(Clone, Debug)]
pub struct ReadPools {
    /// Single rows: an agent, an execution, an API key.
    pub points: PgPool,
    /// Pages and totals.
    pub lists: PgPool,
    /// The position of the mirror.
    pub health: PgPool,
}

impl From<PgPool> for ReadPools {
    /// One pool for all reads, where no other work competes for it.
    fn from(pool: PgPool) -> Self {
        Self { points: pool.clone(), lists: pool.clone(), health: pool }
    }
}

const S: fn(u64) -> Duration = Duration::from_secs;

impl PoolLimits {
    /// A small pool serves more calls than a large one: each connection is a server process, and many processes push
    /// each other's data out of the processor caches.
    pub fn money(connections: u32) -> Self {
        let (acquire, idle_in_transaction, lock) = (S(5), S(10), S(5));
        Self { connections, acquire, statement: Some(S(10)), idle_in_transaction, lock, by_key: true }
    }

    pub fn points(connections: u32) -> Self {
        Self { connections, by_key: true, ..Self::health() }
    }

    pub fn lists(connections: u32) -> Self {
        Self { connections, statement: Some(S(5)), by_key: true, ..Self::health() }
    }

    pub fn health() -> Self {
        let (acquire, idle_in_transaction, lock) = (S(2), S(5), S(1));
        Self { connections: 1, acquire, statement: Some(S(2)), idle_in_transaction, lock, by_key: false }
    }

    /// Snapshots of a million accounts are written in one transaction, so a statement may take long. A pause between two
    /// statements is only as long as the process takes to make the next one; one that was stopped blocks no later leader.
    pub fn indexer(connections: u32) -> Self {
        Self { connections, acquire: S(30), statement: None, lock: S(10), ..Self::health() }
    }
}

impl Pools {
    /// All pools with their names.
    pub fn named(&self) -> [(&'static str, &PgPool); 5] {
        let Self { money, reads: ReadPools { points, lists, health }, indexer, .. } = self;
        [("money", money), ("points", points), ("lists", lists), ("health", health), ("indexer", indexer)]
    }

    /// Opens the pools, and one connection to check that the database is available. `standby_url`: where reads go,
    /// instead of to the primary. It shows what was acknowledged only if the primary waits until it has applied that.
    pub async fn connect(database_url: &str, standby_url: Option<&str>, sizes: PoolSizes) -> Result<Self> {
        let pool = |limits| open(database_url, limits);
        let (credentials, health) = (pool(PoolLimits::points(sizes.points))?, pool(PoolLimits::health())?);
        let reads = match standby_url {
            None => {
                let (points, health) = (credentials.clone(), health.clone());
                ReadPools { points, lists: pool(PoolLimits::lists(sizes.lists))?, health }
            }
            Some(url) => {
                let setting: String = sqlx::query_scalar("SHOW synchronous_commit").fetch_one(&health).await?;
                if setting != "remote_apply" {
                    return Err(StoreError::StandbyBehind { setting });
                }
                let pool = |limits| open(url, limits);
                ReadPools {
                    points: pool(PoolLimits::points(sizes.points))?,
                    lists: pool(PoolLimits::lists(sizes.lists))?,
                    health: pool(PoolLimits::health())?,
                }
            }
        };
        let (money, indexer) = (pool(PoolLimits::money(sizes.money))?, pool(PoolLimits::indexer(sizes.indexer))?);
        drop(health.acquire().await?);
        Ok(Self { money, credentials, health, reads, indexer })
    }

    /// Returns when the database has not answered for [`SILENCE`] on a connection that it had accepted, and answers on a new
    /// one: what is between here and there has forgotten the connections of before.
    ///
    /// sqlx waits for an answer without end, and so does everything that asked on one of them. A process cannot take that
    /// back, and has to end. While the database answers nobody, there is no hurry.
    pub async fn silent(&self) {
        let options = self.health.connect_options();
        let connect = async || timeout(SILENCE, PgConnection::connect_with(&options)).await.ok()?.ok();
        loop {
            if let Some(mut connection) = connect().await {
                loop {
                    sleep(LOOK_EVERY).await;
                    match timeout(SILENCE, connection.ping()).await {
                        Ok(Ok(())) => {}
                        Ok(Err(_)) => break,
                        // It may have been the whole database that was silent, and that answers again.
                        Err(_)
                            if connect().await.is_some() && timeout(LOOK_EVERY, connection.ping()).await.is_err() =>
                        {
                            return;
                        }
                        Err(_) => {}
                    }
                }
            }
            sleep(LOOK_EVERY).await;
        }
    }

    /// Closes all connections. Waits for those in use.
    pub async fn close(&self) {
        let Self { money, credentials, health, reads, indexer } = self;
        let ReadPools { points, lists, health: position } = reads;
        let reads = async { tokio::join!(points.close(), lists.close(), position.close()) };
        tokio::join!(money.close(), credentials.close(), health.close(), reads, indexer.close());
    }
}

/// Creates one pool. Connections are opened when they are needed.
pub fn open(database_url: &str, limits: PoolLimits) -> Result<PgPool> {
    let pool = options().max_connections(limits.connections).acquire_timeout(limits.acquire);
    Ok(pool.connect_lazy_with(configure(database_url.parse()?, limits)))
}

/// A connection that was idle for longer is checked before use.
const TRUSTED_WHEN_IDLE_FOR: Duration = Duration::from_secs(1);

/// Options of every pool: a connection that was used a moment ago is reused without a check. By default sqlx checks
/// before each use.
pub(crate) fn options() -> PgPoolOptions {
    PgPoolOptions::new().test_before_acquire(false).before_acquire(|connection, used| {
        Box::pin(async move {
            if used.idle_for < TRUSTED_WHEN_IDLE_FOR {
                return Ok(true);
            }
            transaction::answers_outside_transactions(connection).await
        })
    })
}

/// Bitmap scans are off because they keep visiting entries of deleted rows, which index scans mark as dead: a wallet
/// with many calls leaves thousands of such entries until the next vacuum.
const BY_KEY: [(&str, &str); 3] =
    [("plan_cache_mode", "force_generic_plan"), ("enable_seqscan", "off"), ("enable_bitmapscan", "off")];

/// Sets the limits of every connection, in milliseconds; 0 means no limit.
fn configure(options: PgConnectOptions, limits: PoolLimits) -> PgConnectOptions {
    let ms = |time: Duration| time.as_millis().to_string();
    let options = if limits.by_key { options.options(BY_KEY) } else { options };
    options.options(SILENT_MACHINES).options([
        // Statements are short, so JIT compilation takes longer than execution.
        ("jit", "off".to_owned()),
        ("statement_timeout", limits.statement.map_or_else(|| "0".to_owned(), ms)),
        ("idle_in_transaction_session_timeout", ms(limits.idle_in_transaction)),
        ("lock_timeout", ms(limits.lock)),
        ("client_connection_check_interval", ms(ABANDONED_AFTER)),
    ])
}

/// A connection whose query ends when its caller disappears: if it is dropped before [`Self::done`], it is closed,
/// and the server ends its query. sqlx itself would wait for the result of an abandoned query.
#[derive(Debug)]
pub struct ReadConnection {
    /// `None` only during the drop.
    connection: Option<PoolConnection<Postgres>>,
    /// What the read holds while it runs, such as a permit of a semaphore.
    place: Option<Box<dyn fmt::Debug + Send + Sync>>,
    done: bool,
}

impl ReadConnection {
    /// Longest time that an abandoned query continues.
    const GRACE: Duration = Duration::from_millis(250);

    pub async fn acquire(pool: &PgPool) -> Result<Self> {
        Ok(Self { connection: Some(pool.acquire().await?), place: None, done: false })
    }

    /// The same for a read that has a place. An abandoned query keeps it until the server has noticed that, so that one
    /// client cannot run any number of queries.
    pub async fn acquire_at(pool: &PgPool, place: impl fmt::Debug + Send + Sync + 'static) -> Result<Self> {
        let mut read = Self::acquire(pool).await?;
        read.place = Some(Box::new(place));
        Ok(read)
    }

    /// Returns the connection to the pool.
    pub fn done(mut self) {
        self.done = true;
    }
}

impl Deref for ReadConnection {
    type Target = PgConnection;

    #[expect(clippy::expect_used, reason = "it is there until it is dropped")]
    fn deref(&self) -> &PgConnection {
        self.connection.as_ref().expect("the connection is there until it is dropped")
    }
}

impl DerefMut for ReadConnection {
    #[expect(clippy::expect_used, reason = "it is there until it is dropped")]
    fn deref_mut(&mut self) -> &mut PgConnection {
        self.connection.as_mut().expect("the connection is there until it is dropped")
    }
}

impl Drop for ReadConnection {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take()
            && !self.done
        {
            drop(connection.detach());
            if let (Some(place), Ok(runtime)) = (self.place.take(), Handle::try_current()) {
                runtime.spawn(async move {
                    sleep(Self::GRACE).await;
                    drop(place);
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pool_has_a_connection_even_if_there_are_few() {
        for connections in [0, 1, 2, 16, 32] {
            let sizes = PoolSizes::of(connections);
            assert!([sizes.money, sizes.points, sizes.lists, sizes.indexer].iter().all(|size| *size >= 1));
        }
        assert_eq!(PoolSizes::of(32), PoolSizes { money: 8, points: 8, lists: 4, indexer: 4 });
    }
}
