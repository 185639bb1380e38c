//! Work under a lease. Work ends between two steps, never in the middle of a query: a step that finds the lease lost
//! changes nothing, and only waits for the chain or the creator are cancelled.

use std::time::Duration;

use crtx_store::executions::{Executions, Lease};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{Engine, error::EngineError};

/// A lease that is renewed until this value is dropped.
pub(crate) struct Hold {
    lost: CancellationToken,
    _release: DropGuard,
}

impl Hold {
    /// Starts to renew `lease`, three times per lease length.
    pub fn new(executions: Executions, lease: Lease, length: Duration) -> Self {
        let (lost, released) = (CancellationToken::new(), CancellationToken::new());
        tokio::spawn(renew(executions, lease, length.div_f32(3.0), lost.clone(), released.clone()));
        Self { lost, _release: released.drop_guard() }
    }

    /// Returns an error if the lease is known to be lost.
    pub fn check(&self) -> Result<(), EngineError> {
        if self.lost.is_cancelled() { Err(EngineError::LeaseLost) } else { Ok(()) }
    }

    /// Waits for `others` until the lease is lost. `others` must not do database work, which could be cancelled in
    /// the middle of a query.
    pub async fn unless_lost<T>(&self, others: impl Future<Output = T>) -> Result<T, EngineError> {
        tokio::select! {
            biased;
            value = others => Ok(value),
            () = self.lost.cancelled() => Err(EngineError::LeaseLost),
        }
    }
}

impl Engine {
    pub(super) fn hold(&self, lease: Lease) -> Hold {
        Hold::new(self.executions.clone(), lease, self.config.limits.lease)
    }
}

async fn renew(
    executions: Executions,
    lease: Lease,
    every: Duration,
    lost: CancellationToken,
    released: CancellationToken,
) {
    loop {
        tokio::select! {
            () = released.cancelled() => return,
            () = tokio::time::sleep(every) => {}
        }
        match executions.renew(lease).await {
            Ok(true) => {}
            Ok(false) => return lost.cancel(),
            // The lease may still be valid. Every step checks it, so a step that comes too late changes nothing.
            Err(error) => tracing::warn!(record = %lease.record, %error, "the lease could not be renewed"),
        }
    }
}
