//! Opens a database and brings its schema up to date.

use std::time::Duration;

use sqlx::{
    PgPool,
    migrate::{MigrateError, Migrator},
};

use crate::{error::StoreError, pools};

/// `migrations/`.
pub static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations");

/// Opens a pool. Waits at most five seconds for a connection, so that a request fails instead of hanging.
pub async fn connect(database_url: &str, max_connections: u32) -> Result<PgPool, StoreError> {
    pools::options()
        .max_connections(max_connections)
        .acquire_timeout(Duration::from_secs(5))
        .connect(database_url)
        .await
        .map_err(StoreError::from)
}

/// Applies the migrations that the database does not have yet. Several processes may do so at once: the migrator takes
/// a lock.
pub async fn migrate(pool: &PgPool) -> Result<(), StoreError> {
    MIGRATIONS.run(pool).await.map_err(|error| match error {
        MigrateError::VersionMismatch(migration) | MigrateError::VersionMissing(migration) => {
            StoreError::OtherSchema { migration }
        }
        error => error.into(),
    })
}
