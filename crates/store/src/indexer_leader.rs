//! Which indexer process writes the mirror: the one that holds an advisory lock on a connection of its own. The lock
//! ends with the connection, so another process takes over at once. A process that is stopped keeps its connection, so
//! who takes over ends it: [`SILENCE`] after its last sign of life.

use std::time::Duration;

use sqlx::{Connection, PgConnection, PgPool};
use tokio::time::{Instant, sleep};

use crate::error::StoreError;

/// The advisory lock of the indexer that leads: "crtx" and "lead" in ASCII.
const LOCK: i64 = 0x6372_7478_6c65_6164;
/// A leader without a sign of life for so long has lost the lead.
const SILENCE: Duration = Duration::from_secs(8);
/// A transaction on the mirror whose client says nothing for so long belongs to a process that is stopped or cut off.
const STUCK: Duration = Duration::from_secs(5);
/// Between two looks for such transactions.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// How long the lock of an ended connection may take to become free.
const TRIES: u32 = 10;
const BETWEEN_TRIES: Duration = Duration::from_millis(100);

/// The right to write the mirror. It ends when the value is dropped or the connection is lost.
#[derive(Debug)]
pub struct Leadership {
    connection: PgConnection,
    looked: Instant,
}

impl Leadership {
    /// Takes the lock; `None` if another process has it and lives.
    pub async fn take(pool: &PgPool) -> Result<Option<Self>, StoreError> {
        let mut connection = PgConnection::connect_with(&pool.connect_options()).await?;
        // A process that is paused or cut off loses the lock: the server ends a session that asks nothing.
        sqlx::query!(
            "SELECT set_config('idle_session_timeout', '10s', false) AS idle,
                    set_config('idle_in_transaction_session_timeout', '10s', false) AS in_transaction,
                    set_config('lock_timeout', '2s', false) AS lock"
        )
        .fetch_one(&mut connection)
        .await?;
        let mut taken = try_lock(&mut connection).await?;
        if !taken && end_silent_leader(&mut connection).await? > 0 {
            tracing::warn!("the indexer that led has given no sign of life; its database session was ended");
            for _ in 0..TRIES {
                sleep(BETWEEN_TRIES).await;
                taken = try_lock(&mut connection).await?;
                if taken {
                    break;
                }
            }
        }
        if !taken {
            connection.close().await?;
            return Ok(None);
        }
        sqlx::query!(
            "INSERT INTO indexer_leader AS l (pid, backend_start)
             SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()
             ON CONFLICT (only_row) DO UPDATE SET
                 pid = excluded.pid, backend_start = excluded.backend_start, beat_at = now()"
        )
        .execute(&mut connection)
        .await?;
        end_stuck_writers(&mut connection).await?;
        Ok(Some(Self { connection, looked: Instant::now() }))
    }

    /// Shows others that this process lives. Fails if the connection, and with it the lock, is lost.
    pub async fn prove(&mut self) -> Result<(), StoreError> {
        let shown = sqlx::query!("UPDATE indexer_leader SET beat_at = now() WHERE pid = pg_backend_pid()")
            .execute(&mut self.connection)
            .await?;
        if shown.rows_affected() == 0 {
            return Err(StoreError::corrupt("indexer leader", "another process leads"));
        }
        if self.looked.elapsed() >= LOOK_EVERY {
            self.looked = Instant::now();
            end_stuck_writers(&mut self.connection).await?;
        }
        Ok(())
    }

    /// Gives the lock back.
    pub async fn end(self) -> Result<(), StoreError> {
        Ok(self.connection.close().await?)
    }
}

async fn try_lock(connection: &mut PgConnection) -> Result<bool, StoreError> {
    let taken = sqlx::query_scalar!(r#"SELECT pg_try_advisory_lock($1) AS "taken!""#, LOCK);
    Ok(taken.fetch_one(connection).await?)
}

/// Ends the session that holds the lock, if it is the one that proved the lead last and has been silent since, or if it
/// hangs in a transaction, in which no leader ever is.
async fn end_silent_leader(connection: &mut PgConnection) -> Result<i64, StoreError> {
    let ended = sqlx::query_scalar!(
        r#"SELECT count(pg_terminate_backend(a.pid)) AS "ended!"
           FROM pg_locks l
           JOIN pg_stat_activity a ON a.pid = l.pid
           LEFT JOIN indexer_leader r ON r.pid = a.pid AND r.backend_start = a.backend_start
           WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
             AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
             AND (l.classid::bigint << 32) | l.objid::bigint = $1 AND a.usename = current_user
             AND (r.beat_at < now() - make_interval(secs => $2)
                  OR a.xact_start IS NOT NULL AND a.wait_event = 'ClientRead'
                     AND a.state_change < now() - make_interval(secs => $2))"#,
        LOCK,
        SILENCE.as_secs_f64(),
    );
    Ok(ended.fetch_one(connection).await?)
}

/// Ends the sessions of this role that hold rows of the mirror in a transaction and wait for a client that says nothing:
/// the rest of a leader that was stopped. They would block every writer. Statements that run are not touched, however
/// long they take.
async fn end_stuck_writers(connection: &mut PgConnection) -> Result<(), StoreError> {
    let ended = sqlx::query_scalar!(
        r#"SELECT count(pg_terminate_backend(a.pid)) AS "ended!"
           FROM pg_stat_activity a
           WHERE a.datname = current_database() AND a.usename = current_user AND a.pid <> pg_backend_pid()
             AND a.xact_start IS NOT NULL AND a.wait_event = 'ClientRead'
             AND GREATEST(a.state_change, a.query_start) < now() - make_interval(secs => $1)
             AND EXISTS (
                 SELECT FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
                 WHERE l.pid = a.pid AND l.granted AND l.mode <> 'AccessShareLock' AND c.relname LIKE 'mirror\_%')"#,
        STUCK.as_secs_f64(),
    )
    .fetch_one(connection)
    .await?;
    if ended > 0 {
        tracing::warn!(ended, "transactions that held rows of the mirror without a word were ended");
    }
    Ok(())
}
