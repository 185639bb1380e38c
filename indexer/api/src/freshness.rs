//! Keeps in memory how old the mirror is and which slot it shows, so that the header `x-indexed-slot` and the answer 503
//! `stale` never wait for the database.

use std::{
    sync::{Arc, Once, Weak},
    time::{Duration, Instant},
};

use crtx_http::{ApiError, ErrorCode};
use crtx_store::{PgPool, mirror};
use tokio::{sync::watch, time::timeout};

/// How old the mirror may be before reads are refused, unless a setting says otherwise.
pub const DEFAULT_MAX_LAG: Duration = Duration::from_secs(120);
/// Between two reads. If the database answers, the header is at most so much older than the mirror.
const READ_EVERY: Duration = Duration::from_millis(200);
/// A read that takes longer has failed.
const READ_LIMIT: Duration = Duration::from_secs(2);
/// An indexer that comes back needs some seconds for its first snapshot.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// What the last read that succeeded found.
#[derive(Clone, Copy, Debug, Default)]
pub struct LastRead {
    /// The mirror shows this slot or a later one.
    pub slot: Option<u64>,
    /// Seconds that it was behind, and when that was read. The seconds are `None` before the first snapshot.
    lag: Option<(Option<f64>, Instant)>,
    /// Whether there was a read, successful or not.
    read: bool,
}

impl LastRead {
    /// Refuses a read if the mirror is too old. `None` while the database has never answered: then the read fails by
    /// itself.
    pub fn refusal(&self, max_lag: Duration) -> Option<ApiError> {
        let (lag, at) = self.lag?;
        let message = match lag {
            Some(lag) => {
                let lag = Duration::try_from_secs_f64(lag).ok()?.saturating_add(at.elapsed());
                if lag <= max_lag {
                    return None;
                }
                format!(
                    "the index is stale: it shows the chain as it was {} ago, and at most {} are allowed; see GET /v1/status",
                    words(lag),
                    words(max_lag)
                )
            }
            None => "the index has no snapshot of the chain yet; see GET /v1/status".to_owned(),
        };
        Some(ApiError::new(ErrorCode::Stale, message).with_retry_after(RETRY_AFTER))
    }
}

/// Reads from the database repeatedly, beginning with the first question.
pub struct MirrorWatch {
    pool: PgPool,
    known: watch::Sender<LastRead>,
    started: Once,
}

impl MirrorWatch {
    pub fn new(pool: PgPool) -> Arc<Self> {
        Arc::new(Self { pool, known: watch::Sender::default(), started: Once::new() })
    }

    /// Waits only for the first read of the process.
    pub async fn known(self: &Arc<Self>) -> LastRead {
        self.started.call_once(|| drop(tokio::spawn(read_repeatedly(Arc::downgrade(self)))));
        let known = *self.known.borrow();
        if known.read {
            return known;
        }
        let mut changes = self.known.subscribe();
        let first = timeout(READ_LIMIT, changes.wait_for(|known| known.read)).await;
        first.ok().and_then(Result::ok).map(|known| *known).unwrap_or_default()
    }

    /// Whether the mirror shows this slot now, or soon.
    pub async fn reaches(self: &Arc<Self>, slot: u64, patience: Duration) -> bool {
        let there = |known: &LastRead| known.slot.is_some_and(|known| known >= slot);
        let mut changes = self.known.subscribe();
        there(&self.known().await) || matches!(timeout(patience, changes.wait_for(there)).await, Ok(Ok(_)))
    }

    /// If the database does not answer, the last values stay and grow older.
    async fn read(&self) {
        let found = timeout(READ_LIMIT, mirror::checkpoint(&self.pool)).await;
        self.known.send_modify(|known| {
            known.read = true;
            if let Ok(Ok(checkpoint)) = found {
                known.slot = checkpoint.as_ref().map(|checkpoint| checkpoint.slot);
                let after_snapshot = checkpoint.filter(|checkpoint| checkpoint.snapshot_at.is_some());
                known.lag = Some((after_snapshot.map(|checkpoint| checkpoint.lag_seconds), Instant::now()));
            }
        });
    }
}

/// Runs until the service ends.
async fn read_repeatedly(mirror: Weak<MirrorWatch>) {
    while let Some(watch) = mirror.upgrade() {
        watch.read().await;
        drop(watch);
        tokio::time::sleep(READ_EVERY).await;
    }
}

/// A duration in words.
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
