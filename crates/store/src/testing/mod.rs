//! A fresh, migrated database for each test, on the server that `CRTX_TEST_DATABASE_URL` names.
//! Without that variable tests fail: a test that did not run must not look like one that passed.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "test support: a broken set-up ends the test with its reason"
)]

pub mod fixtures;
pub mod probes;
pub mod server;
pub mod volume;

use std::{
    process,
    sync::atomic::{AtomicU32, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

use sqlx::{AssertSqlSafe, Connection, PgConnection, PgPool, postgres::PgConnectOptions};

/// Names the server; any database of it will do, the tests create their own.
pub const URL_VARIABLE: &str = "CRTX_TEST_DATABASE_URL";

static COUNTER: AtomicU32 = AtomicU32::new(0);

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
        sqlx::query(AssertSqlSafe(format!("CREATE DATABASE \"{name}\"")))
            .execute(&mut connection)
            .await
            .expect("the test role may create databases");
        connection.close().await.expect("an orderly close");
        let pool = crate::pool_options()
            .max_connections(8)
            .connect_with(server.clone().database(&name))
            .await
            .expect("the new database accepts connections");
        crate::migrate(&pool).await.expect("the migrations apply to an empty database");
        Self { server, name, pool }
    }

    pub fn pool(&self) -> &PgPool {
        &self.pool
    }
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
