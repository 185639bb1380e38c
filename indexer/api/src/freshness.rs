//! How old the mirror is, kept in memory, and the refusal of reads once it is too old.

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use crtx_http::{ApiError, ErrorCode};
use crtx_store::{
    PgPool,
    reads::{self, Freshness},
};
use tokio::{sync::watch, time::timeout};

/// How old the mirror may be before reads are refused, unless a setting says otherwise.
pub const DEFAULT_MAX_LAG: Duration = Duration::from_secs(120);
/// Between two reads.
const READ_EVERY: Duration = Duration::from_secs(1);
/// A read that takes longer has failed.
const READ_LIMIT: Duration = Duration::from_secs(2);
/// An indexer that comes back needs some seconds for its first snapshot.
const RETRY_AFTER: Duration = Duration::from_secs(5);

#[derive(Clone, Copy)]
struct Known {
    freshness: Freshness,
    at: Instant,
}

/// Reads from the database once a second, from the first question on.
pub struct MirrorFreshness {
    pool: PgPool,
    /// `None`: reads are never refused.
    max_lag: Option<Duration>,
    known: watch::Sender<Option<Known>>,
    started: AtomicBool,
}

impl MirrorFreshness {
    pub fn new(pool: PgPool, max_lag: Option<Duration>) -> Arc<Self> {
        Arc::new(Self { pool, max_lag, known: watch::Sender::new(None), started: AtomicBool::new(false) })
    }

    /// The same with another limit.
    pub fn with_max_lag(&self, max_lag: Option<Duration>) -> Arc<Self> {
        Self::new(self.pool.clone(), max_lag)
    }

    pub const fn max_lag(&self) -> Option<Duration> {
        self.max_lag
    }

    /// The answer to a read if the mirror is too old. Without an answer of the database it is `None`: the read itself
    /// then fails.
    pub async fn refusal(self: &Arc<Self>) -> Option<ApiError> {
        let max_lag = self.max_lag?;
        let known = self.known().await?;
        let message = match known.freshness {
            Freshness { has_snapshot: true, lag_seconds: Some(lag) } => {
                let lag = Duration::try_from_secs_f64(lag).ok()?.saturating_add(known.at.elapsed());
                if lag <= max_lag {
                    return None;
                }
                format!(
                    "the index is stale: it shows the chain as it was {} ago, and at most {} are allowed; see GET /v1/status",
                    words(lag),
                    words(max_lag)
                )
            }
            _ => "the index has no snapshot of the chain yet; see GET /v1/status".to_owned(),
        };
        Some(ApiError::new(ErrorCode::Stale, message).with_retry_after(RETRY_AFTER))
    }

    /// Waits only for the first read of the process.
    async fn known(self: &Arc<Self>) -> Option<Known> {
        if !self.started.swap(true, Ordering::AcqRel) {
            tokio::spawn(read_repeatedly(Arc::downgrade(self)));
        }
        let known = *self.known.borrow();
        if known.is_some() {
            return known;
        }
        let mut changes = self.known.subscribe();
        let first = timeout(READ_LIMIT, changes.wait_for(Option::is_some)).await;
        first.ok().and_then(Result::ok).and_then(|known| *known)
    }

    /// A database that does not answer leaves what is known, which grows older.
    async fn read(&self) {
        if let Ok(Ok(freshness)) = timeout(READ_LIMIT, reads::freshness(&self.pool)).await {
            self.known.send_replace(Some(Known { freshness, at: Instant::now() }));
        }
    }
}

/// Ends with the service.
async fn read_repeatedly(freshness: Weak<MirrorFreshness>) {
    while let Some(mirror) = freshness.upgrade() {
        mirror.read().await;
        drop(mirror);
        tokio::time::sleep(READ_EVERY).await;
    }
}

/// A time as people say it.
pub fn words(time: Duration) -> String {
    let seconds = time.as_secs();
    let (number, unit) = match seconds {
        0..120 => (seconds, "second"),
        120..7_200 => (seconds.saturating_div(60), "minute"),
        7_200..172_800 => (seconds.saturating_div(3_600), "hour"),
        _ => (seconds.saturating_div(86_400), "day"),
    };
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_said_in_whole_units() {
        let said = [0, 1, 119, 120, 7_199, 7_200, 172_799, 172_800].map(|s| words(Duration::from_secs(s)));
        let expected =
            ["0 seconds", "1 second", "119 seconds", "2 minutes", "119 minutes", "2 hours", "47 hours", "2 days"];
        assert_eq!(said, expected);
    }
}
