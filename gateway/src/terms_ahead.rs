//! Reads the terms of a call while its API key is still looked up. The wallet of a key hardly ever changes, so the
//! last known wallet of the key decides which accounts are read. Only the look-up decides whether the key is valid.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crtx_http::ApiError;
use solana_pubkey::Pubkey;
use tokio_util::task::AbortOnDropHandle;

use crate::{engine::Engine, payer::Payer, terms::Terms};

/// What was read before a body is read again after this time, because the body may arrive slowly.
pub(crate) const FRESH: Duration = Duration::from_millis(500);

/// A read of terms in progress. Dropping it cancels the read.
pub(crate) struct TermsAhead {
    payer: Payer,
    started: Instant,
    reading: AbortOnDropHandle<(Result<Terms, ApiError>, Duration)>,
}

impl TermsAhead {
    /// Returns the terms and the duration of the read. `None` if they are for another payer or too old.
    pub async fn of(self, payer: &Payer) -> Option<(Result<Terms, ApiError>, Duration)> {
        if self.payer != *payer || self.started.elapsed() > FRESH {
            return None;
        }
        self.reading.await.ok()
    }
}

impl Engine {
    /// Starts to read the terms of a call if the wallet of its key is known. A busy process does not, because a
    /// refused call must cost little.
    pub(crate) async fn terms_ahead(self: &Arc<Self>, session_key: &Pubkey, agent: &Pubkey) -> Option<TermsAhead> {
        if !self.gate.has_room() {
            return None;
        }
        let payer = self.known_payers.find(session_key).await?;
        let (engine, agent) = (Arc::clone(self), *agent);
        let reading = tokio::spawn(async move {
            let started = Instant::now();
            let terms = engine.terms(&payer, &agent).await;
            (terms, started.elapsed())
        });
        Some(TermsAhead { payer, started: Instant::now(), reading: AbortOnDropHandle::new(reading) })
    }
}
