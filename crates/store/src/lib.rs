//! The only crate with SQL. It owns the schema (`migrations/`), the mirror of the program's accounts, the
//! queries behind the read API, API keys, and the gateway's durable executions.
//!
//! Queries are checked against the schema when they are compiled, from the data in `.sqlx/`.
#![forbid(unsafe_code)]

pub mod admission;
pub mod api_keys;
mod convert;
pub mod error;
pub mod executions;
pub mod fee_payers;
pub mod indexer_status;
pub mod local_network;
pub mod metadata;
pub mod mirror;
pub mod pools;
pub mod processes;
pub mod reads;
#[cfg(feature = "testing")]
pub mod testing;
pub mod transaction;

pub use error::StoreError;
pub use pools::{Pools, ReadPools};
pub use sqlx::{PgConnection, PgPool};

use std::time::Duration;

/// Opens a pool. Waits at most five seconds for a connection, so that a request fails instead of hanging.
pub async fn connect(database_url: &str, max_connections: u32) -> Result<PgPool, StoreError> {
    pools::options()
        .max_connections(max_connections)
        .acquire_timeout(Duration::from_secs(5))
        .connect(database_url)
        .await
        .map_err(StoreError::from)
}

/// Brings the schema up to date. Safe to run from several processes at once: the migrator takes a lock.
pub async fn migrate(pool: &PgPool) -> Result<(), StoreError> {
    sqlx::migrate!("../../migrations").run(pool).await.map_err(StoreError::from)
}
