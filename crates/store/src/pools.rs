//! Connections to the database, in pools that cannot take each other's: money, point reads, lists, health,
//! and the indexer. Each has the time limits that fit its work, set when a connection is opened, so that
//! the server itself ends what runs too long.

use std::{
    ops::{Deref, DerefMut},
    time::Duration,
};

use sqlx::{
    PgConnection, PgPool, Postgres,
    pool::PoolConnection,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use crate::{StoreError, transaction};

/// How soon the server notices that a client has gone, and ends its query.
const ABANDONED_AFTER: Duration = Duration::from_millis(100);

/// What one pool is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolLimits {
    pub connections: u32,
    /// How long a request waits for a connection.
    pub acquire: Duration,
    /// Longest statement. `None`: as long as it takes.
    pub statement: Option<Duration>,
    /// Longest pause inside a transaction, after which the server ends the connection.
    pub idle_in_transaction: Duration,
    /// Longest wait for a lock.
    pub lock: Duration,
    /// Every statement finds its rows by a key. Its plan is made once and never reads a whole table, whatever the
    /// statistics say: they are missing or old for as long as a table grows fast, and planning a statement costs as
    /// much as running it.
    pub by_key: bool,
}

/// Connections for each pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSizes {
    pub money: u32,
    pub points: u32,
    pub lists: u32,
    pub indexer: u32,
}

/// One task writes the gateway's mirror rows.
const MIRROR_CONNECTIONS: u32 = 1;

impl PoolSizes {
    /// Divides a number of connections between the pools.
    pub fn of(connections: u32) -> Self {
        let share = |parts: u32| connections.saturating_mul(parts).checked_div(8).unwrap_or_default().max(1);
        Self { money: share(2).max(2), points: share(2), lists: share(1).max(2), indexer: share(1).max(3) }
    }
}

/// All pools of one process. A pool opens its connections when it needs them.
#[derive(Clone, Debug)]
pub struct Pools {
    /// The gateway: admission, engine, workers.
    pub money: PgPool,
    pub reads: ReadPools,
    /// Mirror rows that the gateway writes aside.
    pub mirror: PgPool,
    /// Mirror, documents, audit.
    pub indexer: PgPool,
}

/// What the read API stands on.
#[derive(Clone, Debug)]
pub struct ReadPools {
    /// Single rows: an agent, an execution, an API key.
    pub points: PgPool,
    /// Pages and totals.
    pub lists: PgPool,
    /// How far the mirror is, and whether the database answers.
    pub health: PgPool,
}

impl From<PgPool> for ReadPools {
    /// One pool for everything: enough where nobody competes.
    fn from(pool: PgPool) -> Self {
        Self { points: pool.clone(), lists: pool.clone(), health: pool }
    }
}

const S: fn(u64) -> Duration = Duration::from_secs;

impl PoolLimits {
    /// Few connections serve more calls than many: a pool takes them in turn, and each is a process of the server
    /// whose caches the others push out of the processor's.
    pub fn money(connections: u32) -> Self {
        Self {
            connections,
            acquire: S(5),
            statement: Some(S(10)),
            idle_in_transaction: S(10),
            lock: S(5),
            by_key: true,
        }
    }

    pub fn points(connections: u32) -> Self {
        Self { connections, acquire: S(2), statement: Some(S(2)), idle_in_transaction: S(5), lock: S(1), by_key: false }
    }

    pub fn lists(connections: u32) -> Self {
        Self { connections, acquire: S(2), statement: Some(S(5)), idle_in_transaction: S(5), lock: S(1), by_key: false }
    }

    pub fn health() -> Self {
        Self {
            connections: 1,
            acquire: S(2),
            statement: Some(S(2)),
            idle_in_transaction: S(5),
            lock: S(1),
            by_key: false,
        }
    }

    /// Mirror rows that a gateway writes aside, a few at a time.
    pub fn mirror(connections: u32) -> Self {
        Self {
            connections,
            acquire: S(5),
            statement: Some(S(10)),
            idle_in_transaction: S(10),
            lock: S(1),
            by_key: false,
        }
    }

    /// Snapshots of a million accounts are written in one transaction.
    pub fn indexer(connections: u32) -> Self {
        Self { connections, acquire: S(30), statement: None, idle_in_transaction: S(120), lock: S(30), by_key: false }
    }
}

impl Pools {
    /// Opens the pools, and one connection to see that the database is there.
    pub async fn connect(database_url: &str, sizes: PoolSizes) -> Result<Self, StoreError> {
        let pool = |limits| open(database_url, limits);
        let pools = Self {
            money: pool(PoolLimits::money(sizes.money))?,
            reads: ReadPools {
                points: pool(PoolLimits::points(sizes.points))?,
                lists: pool(PoolLimits::lists(sizes.lists))?,
                health: pool(PoolLimits::health())?,
            },
            mirror: pool(PoolLimits::mirror(MIRROR_CONNECTIONS))?,
            indexer: pool(PoolLimits::indexer(sizes.indexer))?,
        };
        drop(pools.reads.health.acquire().await?);
        Ok(pools)
    }

    /// Closes all connections; those in use are waited for.
    pub async fn close(&self) {
        let Self { money, reads: ReadPools { points, lists, health }, mirror, indexer } = self;
        tokio::join!(money.close(), points.close(), lists.close(), health.close(), mirror.close(), indexer.close());
    }
}

/// Opens one pool. No connection is opened before it is needed.
pub fn open(database_url: &str, limits: PoolLimits) -> Result<PgPool, StoreError> {
    let options: PgConnectOptions = database_url.parse()?;
    Ok(with_limits(limits).connect_lazy_with(configure(options, limits)))
}

/// A connection that was not used for so long is asked whether it still lives.
const TRUSTED_WHEN_IDLE_FOR: Duration = Duration::from_secs(1);

/// What every pool has in common: a connection that comes back inside an open transaction is closed, and one that
/// was used a moment ago is used again at once. sqlx would ask the server before each use.
pub(crate) fn options() -> PgPoolOptions {
    PgPoolOptions::new()
        .test_before_acquire(false)
        .before_acquire(|connection, used| {
            Box::pin(async move {
                if used.idle_for < TRUSTED_WHEN_IDLE_FOR {
                    return Ok(true);
                }
                transaction::answers_outside_transactions(connection).await
            })
        })
        .after_release(|connection, _| Box::pin(transaction::is_idle(connection)))
}

fn with_limits(limits: PoolLimits) -> PgPoolOptions {
    options().max_connections(limits.connections).acquire_timeout(limits.acquire)
}

/// A bitmap scan never forgets the entries of rows that are gone, which an index scan does: one wallet that makes many
/// calls leaves thousands of them until the next vacuum.
const BY_KEY: [(&str, &str); 3] =
    [("plan_cache_mode", "force_generic_plan"), ("enable_seqscan", "off"), ("enable_bitmapscan", "off")];

/// Sets the limits of every connection, as milliseconds; 0 is no limit.
fn configure(options: PgConnectOptions, limits: PoolLimits) -> PgConnectOptions {
    let ms = |time: Duration| time.as_millis().to_string();
    let options = if limits.by_key { options.options(BY_KEY) } else { options };
    options.options([
        // Statements are short: compiling one takes longer than running it.
        ("jit", "off".to_owned()),
        ("statement_timeout", limits.statement.map_or_else(|| "0".to_owned(), ms)),
        ("idle_in_transaction_session_timeout", ms(limits.idle_in_transaction)),
        ("lock_timeout", ms(limits.lock)),
        ("client_connection_check_interval", ms(ABANDONED_AFTER)),
    ])
}

/// A connection whose query ends with whoever asked: dropped before [`Self::done`], it is closed, and the
/// server ends what still runs on it. sqlx itself would wait for the result of a query that nobody wants.
#[derive(Debug)]
pub struct ReadConnection {
    /// `None` only while it is dropped.
    connection: Option<PoolConnection<Postgres>>,
    done: bool,
}

impl ReadConnection {
    /// Longest time that an abandoned query goes on.
    pub const GRACE: Duration = Duration::from_millis(250);

    pub async fn acquire(pool: &PgPool) -> Result<Self, StoreError> {
        Ok(Self { connection: Some(pool.acquire().await?), done: false })
    }

    /// Gives the connection back for others to use.
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
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pool_has_a_connection_however_few_there_are() {
        for connections in [0, 1, 2, 16, 32] {
            let sizes = PoolSizes::of(connections);
            assert!([sizes.money, sizes.points, sizes.lists, sizes.indexer].iter().all(|size| *size >= 1));
        }
        assert_eq!(PoolSizes::of(32), PoolSizes { money: 8, points: 8, lists: 4, indexer: 4 });
    }
}
