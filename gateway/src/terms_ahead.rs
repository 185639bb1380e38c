//! Terms that are read while the API key of a call is still being looked up. The wallet of a key never changes, so the
//! wallet that the key had the last time says what to read; whether the key is good is decided by the look-up alone.

use std::time::{Duration, Instant};

use crtx_http::{ApiError, Caller};
use moka::future::Cache;
use solana_pubkey::Pubkey;
use tokio_util::task::AbortOnDropHandle;

use crate::{
    state::Gateway,
    terms::{Payer, Terms},
};

/// Keys whose wallets are remembered.
const MOST_KEYS: u64 = 10_000;
/// Terms that were read longer ago are read again: the body of a request may take its time.
const FRESH: Duration = Duration::from_millis(500);

/// The wallets of keys that were good a while ago.
pub(crate) struct KnownPayers(Cache<Pubkey, Pubkey>);

impl Default for KnownPayers {
    fn default() -> Self {
        Self(Cache::new(MOST_KEYS))
    }
}

impl KnownPayers {
    pub async fn remember(&self, caller: &Caller) {
        if !self.0.contains_key(&caller.session_key) {
            self.0.insert(caller.session_key, caller.wallet).await;
        }
    }

    async fn find(&self, session_key: &Pubkey) -> Option<Payer> {
        let wallet = self.0.get(session_key).await?;
        Some(Payer { wallet, session_key: *session_key })
    }
}

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

impl Gateway {
    /// Begins to read the terms of a call whose key is known from earlier. A process that is busy does not: what it
    /// refuses must cost little.
    pub(crate) async fn terms_ahead(&self, session_key: &Pubkey, agent: &Pubkey) -> Option<TermsAhead> {
        let parts = self.parts();
        if !parts.gate.has_room() {
            return None;
        }
        let payer = parts.known_payers.find(session_key).await?;
        let (gateway, agent) = (self.clone(), *agent);
        let reading = tokio::spawn(async move {
            let started = Instant::now();
            let terms = gateway.parts().terms(&payer, &agent).await;
            (terms, started.elapsed())
        });
        Some(TermsAhead { payer, started: Instant::now(), reading: AbortOnDropHandle::new(reading) })
    }
}
