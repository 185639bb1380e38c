//! Gateway processes and their signs of life, so that the work of a dead process is taken over at once.
//!
//! A living process holds an advisory lock on a connection of its own and renews `beat_at` on it. A process is dead if
//! its lock is free and `beat_at` is old. A killed process loses the lock with its connection; a paused process keeps
//! it. A restart of the database frees all locks, but `beat_at` stays new until the processes have connected again.

use std::time::Duration;

use sqlx::{Connection, PgConnection, PgPool};
use uuid::Uuid;

use crate::Result;

/// Class of the advisory locks of gateway processes: "crtx" in ASCII.
const LOCK_CLASS: i32 = 0x6372_7478;

/// The entry of a living process, on its own connection. It ends with the connection.
#[derive(Debug)]
pub struct Presence {
    connection: PgConnection,
    id: Uuid,
}

impl Presence {
    /// Registers the process and takes its lock.
    pub async fn establish(pool: &PgPool, id: Uuid) -> Result<Self> {
        let mut connection = PgConnection::connect_with(&pool.connect_options()).await?;
        let key = sqlx::query_scalar!(
            "INSERT INTO gateway_processes AS p (id) VALUES ($1)
             ON CONFLICT (id) DO UPDATE SET beat_at = now() RETURNING p.lock_key",
            id,
        );
        let key = key.fetch_one(&mut connection).await?;
        let locked = sqlx::query!(r#"SELECT pg_advisory_lock($1, $2)::text AS "locked""#, LOCK_CLASS, key);
        locked.fetch_one(&mut connection).await?;
        Ok(Self { connection, id })
    }

    /// Renews the sign of life. False if others have declared this process dead: establish it again.
    pub async fn beat(&mut self) -> Result<bool> {
        let updated = sqlx::query!("UPDATE gateway_processes SET beat_at = now() WHERE id = $1", self.id);
        Ok(updated.execute(&mut self.connection).await?.rows_affected() == 1)
    }

    /// Ends the leases of processes that are dead and have given no sign of life for `silence`. Returns how many
    /// executions can be taken over now.
    pub async fn bury_the_dead(&mut self, silence: Duration) -> Result<u64> {
        let freed = sqlx::query!(
            "WITH dead AS (
                 DELETE FROM gateway_processes p
                 WHERE p.beat_at < now() - make_interval(secs => $1) AND p.id <> $3
                   AND NOT EXISTS (
                       SELECT FROM pg_locks l
                       WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 2
                         AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
                         AND l.classid::bigint = $2 AND l.objid::bigint = p.lock_key)
                 RETURNING p.id)
             UPDATE executions SET lease_until = now(), lease_process = NULL
             WHERE lease_process IN (SELECT id FROM dead) AND finished_at IS NULL",
            silence.as_secs_f64(),
            i64::from(LOCK_CLASS),
            self.id,
        );
        Ok(freed.execute(&mut self.connection).await?.rows_affected())
    }

    /// Ends the entry: the process stops, and leases that it still holds are free at once.
    pub async fn end(mut self) -> Result<()> {
        let statement = sqlx::query!(
            "WITH gone AS (DELETE FROM gateway_processes WHERE id = $1)
             UPDATE executions SET lease_until = now(), lease_process = NULL
             WHERE lease_process = $1 AND finished_at IS NULL",
            self.id,
        );
        statement.execute(&mut self.connection).await?;
        Ok(self.connection.close().await?)
    }
}
