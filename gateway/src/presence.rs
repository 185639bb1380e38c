//! Shows in the database that this process is alive. While it is alive, no other process takes over its work; after
//! its death, others do so within seconds. One process is the leader and does the work that is done once for all
//! processes.

use std::time::{Duration, Instant};

use crtx_store::{
    PgPool, StoreError,
    executions::Executions,
    leadership::{self, LeaderOf},
    processes::Presence,
};
use solana_pubkey::Pubkey;
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

const BEAT: Duration = Duration::from_secs(1);
/// A process that holds no lock and shows no sign of life for this time is dead.
const SILENCE: Duration = Duration::from_secs(3);

/// When this process proved the last time that it is the leader. A proof holds for [`SILENCE`]: a process that was stopped
/// no longer leads when it goes on.
#[derive(Debug, Default)]
pub(crate) struct LeaderWatch(watch::Sender<Option<Instant>>);

impl LeaderWatch {
    pub fn is_ours(&self) -> bool {
        self.0.borrow().is_some_and(|proved| proved.elapsed() < SILENCE)
    }

    fn set(&self, ours: bool) {
        self.0.send_replace(ours.then(Instant::now));
    }

    /// Leads the gateways of one authority whenever no other process does, until `shutdown`.
    pub async fn seek(&self, pool: &PgPool, authority: Pubkey, shutdown: &CancellationToken) {
        let [a, b, c, d, ..] = authority.to_bytes();
        let gateways = LeaderOf::Gateways(i32::from_be_bytes([a, b, c, d]));
        let seeking = async {
            loop {
                if let Ok(Ok(Some(held))) = timeout(SILENCE, leadership::Leadership::take(pool, gateways)).await {
                    self.hold(held).await;
                }
                sleep(BEAT).await;
            }
        };
        shutdown.run_until_cancelled(seeking).await;
        self.set(false);
    }

    /// Until the lead is lost.
    async fn hold(&self, mut held: leadership::Leadership) {
        loop {
            self.set(true);
            sleep(BEAT).await;
            if !matches!(timeout(SILENCE, held.prove()).await, Ok(Ok(()))) {
                return self.set(false);
            }
        }
    }
}

/// Shows that this process is alive until `shutdown`. From the first sign of life on, leases name the process.
pub(crate) async fn show(executions: Executions, shutdown: CancellationToken) {
    let id = Uuid::new_v4();
    while !shutdown.is_cancelled() {
        if let Err(error) = show_on_one_connection(id, &executions, &shutdown).await {
            tracing::warn!(%error, "this process cannot show that it is alive");
            shutdown.run_until_cancelled(sleep(BEAT)).await;
        }
    }
    executions.set_process(None);
}

async fn show_on_one_connection(
    id: Uuid,
    executions: &Executions,
    shutdown: &CancellationToken,
) -> Result<(), StoreError> {
    let mut presence = Presence::establish(executions.pool(), id).await?;
    executions.set_process(Some(id));
    let established = Instant::now();
    loop {
        if !presence.beat().await? {
            // The other processes treat this process as dead. They have taken its leases or will do so.
            return Ok(());
        }
        // After a restart of the database, the other processes need a moment to show that they are alive.
        if established.elapsed() > SILENCE {
            let freed = presence.bury_the_dead(SILENCE).await?;
            if freed > 0 {
                tracing::info!(executions = freed, "taking over the executions of a dead process");
            }
        }
        if shutdown.run_until_cancelled(sleep(BEAT)).await.is_none() {
            return presence.end().await;
        }
    }
}
