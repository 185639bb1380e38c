//! Leases: which worker may change a row, and until when.

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use solana_pubkey::Pubkey;
use sqlx::PgPool;
use uuid::Uuid;

use super::types::{Lease, State};
use crate::{Result, columns::Base58, database::run};

/// Access to the executions, with the length of the leases it takes.
#[derive(Clone, Debug)]
pub struct Executions {
    pool: PgPool,
    pub(crate) lease_seconds: f64,
    /// Written into every lease, once the process is registered ([`crate::processes`]).
    process: Arc<RwLock<Option<Uuid>>>,
}

/// A lease that was taken over, with the agent, whose limits decide whether the work continues now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimedLease {
    pub lease: Lease,
    pub agent: Pubkey,
}

impl Executions {
    pub fn new(pool: PgPool, lease: Duration) -> Self {
        Self { pool, lease_seconds: lease.as_secs_f64(), process: Arc::default() }
    }

    /// From now on leases name this process, or none after its registration has ended.
    pub fn set_process(&self, process: Option<Uuid>) {
        *self.process.write().unwrap_or_else(PoisonError::into_inner) = process;
    }

    pub(crate) fn process(&self) -> Option<Uuid> {
        *self.process.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// Extends the lease. False if it is lost.
    pub async fn renew(&self, lease: Lease) -> Result<bool> {
        let updated = sqlx::query!(
            "UPDATE executions SET lease_until = now() + make_interval(secs => $3)
             WHERE record = $1 AND lease_owner = $2",
            lease.record.to_string(),
            lease.token,
            self.lease_seconds,
        );
        Ok(updated.execute(&self.pool).await?.rows_affected() == 1)
    }

    /// Gives the lease back. The next worker can take it after `pause`.
    pub async fn postpone(&self, lease: Lease, pause: Duration) -> Result<()> {
        let statement = sqlx::query!(
            "UPDATE executions
             SET lease_owner = gen_random_uuid(), lease_until = now() + make_interval(secs => $3), lease_process = NULL
             WHERE record = $1 AND lease_owner = $2 AND finished_at IS NULL",
            lease.record.to_string(),
            lease.token,
            pause.as_secs_f64(),
        );
        run(&self.pool, statement).await
    }

    /// Leases executions in one of `states` that nobody works on, oldest lease first.
    pub async fn claim(&self, states: &[State], limit: u32) -> Result<Vec<ClaimedLease>> {
        let states: Vec<String> = states.iter().map(|state| state.into_str().to_owned()).collect();
        let rows = sqlx::query!(
            r#"UPDATE executions
               SET lease_owner = gen_random_uuid(), lease_until = now() + make_interval(secs => $1), lease_process = $4
               WHERE record IN (
                   SELECT record FROM executions
                   WHERE finished_at IS NULL AND state = ANY($3)
                     AND (lease_until IS NULL OR lease_until < now())
                   ORDER BY lease_until NULLS FIRST
                   LIMIT $2
                   FOR UPDATE SKIP LOCKED)
               RETURNING record AS "record: Base58", agent AS "agent: Base58", lease_owner AS "token!""#,
            self.lease_seconds,
            i64::from(limit),
            &states,
            self.process(),
        );
        let rows = rows.fetch_all(&self.pool).await?;
        let claimed = rows.into_iter().map(|row| {
            let lease = Lease { record: row.record.into(), token: row.token };
            ClaimedLease { lease, agent: row.agent.into() }
        });
        Ok(claimed.collect())
    }
}
