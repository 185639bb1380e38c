//! Which indexer process writes the mirror: the one that holds an advisory lock on a connection of its own. The lock
//! ends with the connection, so another process takes over at once. PostgreSQL ends the connection of a process that is
//! stopped or cut off; and, by the limit of its pool, a transaction that such a process leaves open.

use sqlx::{Connection, PgConnection, PgPool};

use crate::Result;

/// The advisory lock of the indexer that leads: "crtx" and "lead" in ASCII.
const LOCK: i64 = 0x6372_7478_6c65_6164;

/// The right to write the mirror. It ends when the value is dropped or the connection is lost.
#[derive(Debug)]
pub struct Leadership(PgConnection);

impl Leadership {
    /// Takes the lock; `None` if another process has it. A leader that says nothing for eight seconds has lost it.
    pub async fn take(pool: &PgPool) -> Result<Option<Self>> {
        let mut connection = PgConnection::connect_with(&pool.connect_options()).await?;
        let statement = sqlx::query!(
            "SELECT set_config('idle_session_timeout', '8s', false) AS idle,
                    set_config('idle_in_transaction_session_timeout', '8s', false) AS in_transaction"
        );
        statement.fetch_one(&mut connection).await?;
        let taken = sqlx::query_scalar!(r#"SELECT pg_try_advisory_lock($1) AS "taken!""#, LOCK);
        if taken.fetch_one(&mut connection).await? {
            return Ok(Some(Self(connection)));
        }
        connection.close().await?;
        Ok(None)
    }

    /// Shows the server that this process lives. Fails if the connection, and with it the lock, is lost.
    pub async fn prove(&mut self) -> Result<()> {
        Ok(self.0.ping().await?)
    }
}
