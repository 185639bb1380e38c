//! Which process does work that is done once for all: the one that holds an advisory lock on a connection of its own.
//! The lock ends with the connection, so another process takes over at once. PostgreSQL ends the connection of a process
//! that is stopped or cut off; and, by the limit of its pool, a transaction that such a process leaves open.

use sqlx::{Connection, PgConnection, PgPool};

use crate::Result;

/// Work that one process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaderOf {
    /// Writes the mirror.
    Indexers,
    /// Sweeps and cleans up for the gateways of one authority, which this number stands for.
    Gateways(i32),
}

/// The lock of the indexer that leads: "crtx" and "lead" in ASCII.
const INDEXERS: i64 = 0x6372_7478_6c65_6164;
/// Class of the locks of gateways that lead: "crtl" in ASCII.
const GATEWAYS: i32 = 0x6372_746c;

/// The right to do the work. It ends when the value is dropped or the connection is lost.
#[derive(Debug)]
pub struct Leadership(PgConnection);

impl Leadership {
    /// Takes the lock; `None` if another process has it. A leader that says nothing for four seconds has lost it.
    pub async fn take(pool: &PgPool, of: LeaderOf) -> Result<Option<Self>> {
        let mut connection = PgConnection::connect_with(&pool.connect_options()).await?;
        let statement = sqlx::query!(
            "SELECT set_config('idle_session_timeout', '4s', false) AS idle,
                    set_config('idle_in_transaction_session_timeout', '4s', false) AS in_transaction"
        );
        statement.fetch_one(&mut connection).await?;
        let taken = match of {
            LeaderOf::Indexers => {
                let statement = sqlx::query_scalar!(r#"SELECT pg_try_advisory_lock($1) AS "taken!""#, INDEXERS);
                statement.fetch_one(&mut connection).await?
            }
            LeaderOf::Gateways(authority) => {
                let statement =
                    sqlx::query_scalar!(r#"SELECT pg_try_advisory_lock($1, $2) AS "taken!""#, GATEWAYS, authority);
                statement.fetch_one(&mut connection).await?
            }
        };
        if taken {
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
