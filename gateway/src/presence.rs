//! This process's sign of life in the database: while it lives nobody takes over its work, and once it is dead
//! others do so within seconds. One process of all is the leader, which does what is done once for all of them.

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
/// A process without its lock that has been silent for this long is dead.
const SILENCE: Duration = Duration::from_secs(3);

/// Whether this process is the leader.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leadership(Arc<AtomicBool>);

impl Leadership {
    pub fn is_ours(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Shows that this process lives, until `shutdown`. Leases name the process from the first sign of life on.
/// The gateways of one authority have one leader; a process without `leadership` never becomes it.
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
            tracing::warn!(%error, "this process cannot show the others that it lives");
            tokio::select! {
                () = shutdown.cancelled() => {}
                () = tokio::time::sleep(BEAT) => {}
            }
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
            // Others took this process for dead. What it still holds is theirs or nobody's.
            return Ok(());
        }
        if let Some(leadership) = leadership {
            leadership.0.store(presence.lead(group).await?, Ordering::Relaxed);
        }
        // After a restart of the database the others need a moment to show that they live.
        if established.elapsed() > SILENCE {
            let freed = presence.bury_the_dead(SILENCE).await?;
            if freed > 0 {
                tracing::info!(executions = freed, "taking over what a dead process was working on");
            }
        }
        tokio::select! {
            () = shutdown.cancelled() => return presence.end().await,
            () = tokio::time::sleep(BEAT) => {}
        }
    }
}
