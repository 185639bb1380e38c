//! Hands an execution over to another worker.

use std::time::Duration;

use crtx_store::executions::Lease;

use super::{Engine, ended::Ended, error::EngineError, work::Work};

/// Pause before a worker resumes an execution after an unknown outcome or an error.
pub(super) const RESUME_AFTER: Duration = Duration::from_secs(2);

impl Engine {
    /// Releases the execution, so that a worker resumes it after `pause`.
    pub(super) async fn leave(&self, work: &Work, pause: Duration, ended: Ended) -> Result<Ended, EngineError> {
        self.executions.postpone(work.lease, pause).await?;
        Ok(ended)
    }

    /// After an error, releases the execution, so that a worker resumes it.
    pub(super) async fn conclude(&self, lease: Lease, result: Result<Ended, EngineError>) -> Option<Ended> {
        match result {
            Ok(ended) => Some(ended),
            Err(EngineError::LeaseLost) => {
                tracing::warn!(record = %lease.record, "the lease is lost");
                None
            }
            Err(error) => {
                tracing::error!(record = %lease.record, %error, "the execution is left for a worker to resume");
                if let Err(error) = self.executions.postpone(lease, RESUME_AFTER).await {
                    tracing::warn!(record = %lease.record, %error, "the lease could not be released; it expires later");
                }
                None
            }
        }
    }
}
