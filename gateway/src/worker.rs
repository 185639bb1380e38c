//! Takes up executions that were left behind: by a crash, by a transaction whose outcome nobody knew yet,
//! by a dependency that failed. Any number of gateways may run this over one database.

use std::{sync::Arc, time::Duration};

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::state::Gateway;

/// Executions one worker resumes at a time.
const AT_ONCE: u32 = 32;
/// How long a stop waits for calls under way. What is left then is resumed after the next start.
const STOP_PATIENCE: Duration = Duration::from_secs(15);

/// Works until `shutdown`, then lets the calls under way end.
pub async fn run(gateway: Gateway, shutdown: CancellationToken) {
    let slots = Arc::new(Semaphore::new(usize::try_from(AT_ONCE).unwrap_or(1)));
    let every = gateway.parts().config.limits.resume_every;
    loop {
        resume_some(&gateway, &slots).await;
        tokio::select! {
            () = shutdown.cancelled() => break,
            () = tokio::time::sleep(every) => {}
        }
    }
    let tasks = &gateway.parts().tasks;
    tasks.close();
    if tokio::time::timeout(STOP_PATIENCE, tasks.wait()).await.is_err() {
        tracing::warn!(calls = tasks.len(), "stopping with calls under way; they are resumed after the next start");
    }
}

async fn resume_some(gateway: &Gateway, slots: &Arc<Semaphore>) {
    let free = u32::try_from(slots.available_permits()).unwrap_or(AT_ONCE);
    if free == 0 {
        return;
    }
    let leases = match gateway.parts().executions.claim(free).await {
        Ok(leases) => leases,
        Err(error) => {
            tracing::warn!(%error, "no executions could be claimed");
            return;
        }
    };
    for lease in leases {
        let Ok(slot) = Arc::clone(slots).try_acquire_owned() else { return };
        let gateway = gateway.clone();
        gateway.clone().parts().tasks.spawn(async move {
            gateway.resume(lease).await;
            drop(slot);
        });
    }
}
