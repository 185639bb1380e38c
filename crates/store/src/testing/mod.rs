//! A fresh, migrated database for each test, on the server that `CRTX_TEST_DATABASE_URL` names.
//! Without that variable tests fail: a test that did not run must not look like one that passed.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "test support: a broken set-up ends the test with its reason"
)]

pub mod calls;
pub mod dump;
pub mod encode;
pub mod fixtures;
pub mod market;
pub mod mirror_figures;
pub mod mirrored;
pub mod probes;
pub mod server;
pub mod single;
pub mod tampering;
pub mod volume;

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    process,
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use sqlx::{AssertSqlSafe, Connection, PgConnection, PgPool, postgres::PgConnectOptions};

use crate::{
    Result,
    database::MIGRATIONS,
    execution_list,
    mirror::{self, Batch},
};

/// Names the server; any database of it will do, the tests create their own.
pub const URL_VARIABLE: &str = "CRTX_TEST_DATABASE_URL";

static COUNTER: AtomicU32 = AtomicU32::new(0);

/// Opens a pool. Waits at most five seconds for a connection, so that a test fails instead of hanging.
pub async fn connect(database_url: &str, max_connections: u32) -> Result<PgPool> {
    let pool = crate::pools::options().max_connections(max_connections).acquire_timeout(Duration::from_secs(5));
    Ok(pool.connect(database_url).await?)
}

/// Writes a whole snapshot, and that it was applied. Returns how many rows changed.
pub async fn resync(pool: &PgPool, snapshot: &Batch, slot: u64, genesis_hash: Option<&str>) -> Result<u64> {
    let changed = mirror::apply_changes(pool, snapshot, 0).await?;
    mirror::snapshot_applied(pool, slot, genesis_hash).await?;
    Ok(changed)
}

/// Folds the notes of the lists until none is left.
pub async fn roll_up_all(pool: &PgPool) -> Result<()> {
    while execution_list::roll_up(pool).await? > 0 {}
    Ok(())
}

/// A database that exists as long as this value.
pub struct TestDatabase {
    server: PgConnectOptions,
    name: String,
    pool: PgPool,
}

impl TestDatabase {
    /// Creates and migrates a database.
    ///
    /// # Panics
    /// When the server is not named or cannot be used.
    pub async fn create() -> Self {
        let url = std::env::var(URL_VARIABLE).unwrap_or_else(|_| {
            panic!("{URL_VARIABLE} must name a PostgreSQL server on which tests may create databases; `cargo xtask test` starts one and sets it")
        });
        let server: PgConnectOptions = url.parse().expect("CRTX_TEST_DATABASE_URL is a postgres:// URL");
        let nanos = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970").as_nanos();
        let name = format!("crtx_test_{}_{}_{nanos}", process::id(), COUNTER.fetch_add(1, Ordering::Relaxed));
        let mut connection = PgConnection::connect_with(&server).await.expect("the test server accepts connections");
        let template = migrated_template(&mut connection, &server).await;
        sqlx::query(AssertSqlSafe(format!("CREATE DATABASE \"{name}\" TEMPLATE \"{template}\"")))
            .execute(&mut connection)
            .await
            .expect("the test role may create databases");
        connection.close().await.expect("an orderly close");
        let pool = crate::pools::options()
            .max_connections(8)
            .connect_with(server.clone().database(&name))
            .await
            .expect("the new database accepts connections");
        Self { server, name, pool }
    }

    pub fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// Makes every query that looks at creators, which all lists of agents do, take so long.
    ///
    /// # Panics
    /// When the database refuses.
    pub async fn slow_creators(&self, seconds: f64) {
        let view = format!(
            "ALTER TABLE mirror_creators RENAME TO creators_behind_the_view;
             CREATE VIEW mirror_creators AS
             SELECT c.* FROM pg_sleep({seconds}) LEFT JOIN creators_behind_the_view c ON true"
        );
        sqlx::raw_sql(AssertSqlSafe(view)).execute(&self.pool).await.expect("the view is created");
    }

    /// Queries that sleep now.
    ///
    /// # Panics
    /// When the database refuses.
    pub async fn sleeping(&self) -> i64 {
        let count = "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND wait_event = 'PgSleep'";
        sqlx::query_scalar(count).bind(&self.name).fetch_one(&self.pool).await.expect("the activity is shown")
    }

    /// Where the database is, for pools of the test's own.
    pub fn url(&self) -> String {
        let mut url = std::env::var(URL_VARIABLE).unwrap_or_default();
        // `postgres://user@host/database?parameters`: the database alone differs.
        let parameters = url.find('?').map(|at| url.split_off(at)).unwrap_or_default();
        let start = url.find("://").map_or(0, |at| at + 3);
        let end = url[start..].find('/').map_or(url.len(), |at| start + at);
        format!("{}/{}{parameters}", &url[..end], self.name)
    }
}

/// The name of a database with these migrations, from which all others are copied: a copy takes a third of the time of the
/// migrations. The first test program that needs it makes it, and the others wait for that.
async fn migrated_template(connection: &mut PgConnection, server: &PgConnectOptions) -> String {
    let mut version = DefaultHasher::new();
    MIGRATIONS.iter().for_each(|migration| migration.checksum.hash(&mut version));
    let name = format!("crtx_test_template_{:x}", version.finish());
    sqlx::query("SELECT pg_advisory_lock(hashtext('crtx test template'))")
        .execute(&mut *connection)
        .await
        .expect("a lock");
    let exists =
        sqlx::query_scalar::<_, bool>("SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)").bind(&name);
    if !exists.fetch_one(&mut *connection).await.expect("the databases are shown") {
        // Under another name until it is whole: the program can be killed meanwhile.
        let unfinished = format!("{name}_unfinished");
        for statement in
            [format!("DROP DATABASE IF EXISTS \"{unfinished}\""), format!("CREATE DATABASE \"{unfinished}\"")]
        {
            let statement = sqlx::query(AssertSqlSafe(statement));
            statement.execute(&mut *connection).await.expect("the test role may create databases");
        }
        let pool = crate::pools::options().connect_with(server.clone().database(&unfinished)).await;
        let pool = pool.expect("the new database accepts connections");
        crate::migrate(&pool).await.expect("the migrations apply to an empty database");
        pool.close().await;
        let renamed = sqlx::query(AssertSqlSafe(format!("ALTER DATABASE \"{unfinished}\" RENAME TO \"{name}\"")));
        renamed.execute(&mut *connection).await.expect("the template is named");
    }
    sqlx::query("SELECT pg_advisory_unlock_all()").execute(connection).await.expect("the lock is released");
    name
}

impl Drop for TestDatabase {
    /// Drops the database from a thread of its own: the test's runtime may be gone or be this very thread.
    fn drop(&mut self) {
        let (server, name) = (self.server.clone(), std::mem::take(&mut self.name));
        let dropper = std::thread::spawn(move || -> Result<(), sqlx::Error> {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let mut connection = PgConnection::connect_with(&server).await?;
                sqlx::query(AssertSqlSafe(format!("DROP DATABASE IF EXISTS \"{name}\" WITH (FORCE)")))
                    .execute(&mut connection)
                    .await?;
                connection.close().await
            })
        });
        if let Ok(Err(error)) = dropper.join() {
            eprintln!("the test database could not be dropped: {error}");
        }
    }
}
