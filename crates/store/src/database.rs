//! Brings the schema of a database up to date, and runs statements.

use std::sync::LazyLock;

use sqlx::{
    PgExecutor, PgPool, Postgres,
    migrate::{MigrateError, Migrator},
    postgres::PgArguments,
    query::Query,
};

use crate::{Result, StoreError};

/// `migrations/`. Those of a newer version, which the database has and this program does not know, are accepted: while
/// processes are replaced one by one, one of the version before may start again. So each migration keeps the version
/// before working.
pub static MIGRATIONS: LazyLock<Migrator> = LazyLock::new(|| {
    let mut migrations = sqlx::migrate!("../../migrations");
    migrations.set_ignore_missing(true);
    migrations
});

/// Applies the migrations that the database does not have yet. Several processes may do so at once: the migrator takes
/// a lock.
pub async fn migrate(pool: &PgPool) -> Result<()> {
    MIGRATIONS.run(pool).await.map_err(|error| match error {
        MigrateError::VersionMismatch(migration) => StoreError::OtherSchema { migration },
        error => error.into(),
    })
}

/// Runs a statement that answers nothing.
pub(crate) async fn run(db: impl PgExecutor<'_>, statement: Query<'_, Postgres, PgArguments>) -> Result<()> {
    statement.execute(db).await?;
    Ok(())
}
