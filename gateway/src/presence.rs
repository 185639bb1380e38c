//! Shows in the database that this process is alive. While it is alive, no other process takes over its work; after
//! its death, others do so within seconds. One process is the leader and does the work that is done once for all
//! processes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use crtx_store::{StoreError, executions::Executions, processes::Presence};
use solana_pubkey::Pubkey;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

const BEAT: Duration = Duration::from_secs(1);
/// A process that holds no lock and shows no sign of life for this time is dead.
const SILENCE: Duration = Duration::from_secs(3);

/// Whether this process is the leader.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leadership(Arc<AtomicBool>);

impl Leadership {
    pub fn is_ours(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Shows that this process is alive until `shutdown`. From the first sign of life on, leases name the process. The
/// gateways of one authority have one leader. A process without `leadership` never becomes the leader.
pub(crate) async fn show(
    executions: Executions,
    authority: Pubkey,
    leadership: Option<Leadership>,
    shutdown: CancellationToken,
) {
    let id = Uuid::new_v4();
    let [a, b, c, d, ..] = authority.to_bytes();
    let group = i32::from_be_bytes([a, b, c, d]);
    while !shutdown.is_cancelled() {
        let ended = show_on_one_connection(id, group, &executions, leadership.as_ref(), &shutdown).await;
        if let Some(leadership) = &leadership {
            leadership.0.store(false, Ordering::Relaxed);
        }
        if let Err(error) = ended {
            tracing::warn!(%error, "this process cannot show that it is alive");
            shutdown.run_until_cancelled(tokio::time::sleep(BEAT)).await;
        }
    }
    executions.set_process(None);
}

async fn show_on_one_connection(
    id: Uuid,
    group: i32,
    executions: &Executions,
    leadership: Option<&Leadership>,
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
        if let Some(leadership) = leadership {
            leadership.0.store(presence.lead(group).await?, Ordering::Relaxed);
        }
        // After a restart of the database, the other processes need a moment to show that they are alive.
        if established.elapsed() > SILENCE {
            let freed = presence.bury_the_dead(SILENCE).await?;
            if freed > 0 {
                tracing::info!(executions = freed, "taking over the executions of a dead process");
            }
        }
        if shutdown.run_until_cancelled(tokio::time::sleep(BEAT)).await.is_none() {
            return presence.end().await;
        }
    }
}
