//! Brings the schema of a database up to date, and runs statements.

use sqlx::{
    PgExecutor, PgPool, Postgres,
    migrate::{MigrateError, Migrator},
    postgres::PgArguments,
    query::Query,
};

use crate::{Result, StoreError};

/// `migrations/`.
pub static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations");

/// Applies the migrations that the database does not have yet. Several processes may do so at once: the migrator takes
/// a lock.
pub async fn migrate(pool: &PgPool) -> Result<()> {
    MIGRATIONS.run(pool).await.map_err(|error| match error {
        MigrateError::VersionMismatch(migration) | MigrateError::VersionMissing(migration) => {
            StoreError::OtherSchema { migration }
        }
        error => error.into(),
    })
}

/// Runs a statement that answers nothing.
pub(crate) async fn run(db: impl PgExecutor<'_>, statement: Query<'_, Postgres, PgArguments>) -> Result<()> {
    statement.execute(db).await?;
    Ok(())
}
