//! Terms that are read while the API key of a call is still being looked up. The wallet of a key never changes, so the
//! wallet that the key had the last time says what to read; whether the key is good is decided by the look-up alone.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crtx_http::ApiError;
use solana_pubkey::Pubkey;
use tokio_util::task::AbortOnDropHandle;

use crate::{engine::Engine, payer::Payer, terms::Terms};

/// Terms that were read longer ago are read again: the body of a request may take its time.
const FRESH: Duration = Duration::from_millis(500);

/// Terms that are being read. Dropped, the read ends.
pub(crate) struct TermsAhead {
    payer: Payer,
    started: Instant,
    reading: AbortOnDropHandle<(Result<Terms, ApiError>, Duration)>,
}

impl TermsAhead {
    /// The terms and how long the read took; `None` if they are not those of `payer`, or old.
    pub async fn of(self, payer: &Payer) -> Option<(Result<Terms, ApiError>, Duration)> {
        if self.payer != *payer || self.started.elapsed() > FRESH {
            return None;
        }
        self.reading.await.ok()
    }
}

impl Engine {
    /// Begins to read the terms of a call whose key is known from earlier. A process that is busy does not: what it
    /// refuses must cost little.
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
