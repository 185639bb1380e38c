//! Which indexer process writes the mirror: the one that holds an advisory lock on a connection of its own. The lock
//! ends with the connection, so another process takes over at once.

use sqlx::{Connection, PgConnection, PgPool};

use crate::error::StoreError;

/// The advisory lock of the indexer that leads: "crtx" and "lead" in ASCII.
const LOCK: i64 = 0x6372_7478_6c65_6164;

/// The right to write the mirror. It ends when the value is dropped or the connection is lost.
#[derive(Debug)]
pub struct Leadership {
    connection: PgConnection,
}

impl Leadership {
    /// Takes the lock; `None` if another process has it.
    pub async fn take(pool: &PgPool) -> Result<Option<Self>, StoreError> {
        let mut connection = PgConnection::connect_with(&pool.connect_options()).await?;
        // A process that is paused or cut off loses the lock: the server ends a session that asks nothing.
        sqlx::query!("SELECT set_config('idle_session_timeout', '10s', false) AS idle")
            .fetch_one(&mut connection)
            .await?;
        let taken = sqlx::query_scalar!(r#"SELECT pg_try_advisory_lock($1) AS "taken!""#, LOCK)
            .fetch_one(&mut connection)
            .await?;
        if taken {
            return Ok(Some(Self { connection }));
        }
        connection.close().await?;
        Ok(None)
    }

    /// Fails if the connection, and with it the lock, is lost.
    pub async fn check(&mut self) -> Result<(), StoreError> {
        Ok(self.connection.ping().await?)
    }

    /// Gives the lock back.
    pub async fn end(self) -> Result<(), StoreError> {
        Ok(self.connection.close().await?)
    }
}
