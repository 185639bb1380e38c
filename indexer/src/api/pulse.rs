//! How far the mirror is, kept in memory: the header `x-indexed-slot` never waits for the database.

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use crtx_store::{PgPool, mirror};
use tokio::{sync::watch, time::timeout};

/// Between two looks. The slot in the header is so much older than the mirror at most, on a quick database.
const EVERY: Duration = Duration::from_millis(200);
/// A look that takes longer has failed.
const LOOK_LIMIT: Duration = Duration::from_secs(2);
#[derive(Clone, Copy, Debug, Default)]
struct Beat {
    /// The slot that the mirror had reached. It never claims more than the mirror shows.
    slot: Option<u64>,
    /// Whether there was a look, successful or not.
    looked: bool,
}

pub struct Pulse {
    pool: PgPool,
    beat: watch::Sender<Beat>,
    started: AtomicBool,
}

impl Pulse {
    pub fn new(pool: PgPool) -> Arc<Self> {
        Arc::new(Self { pool, beat: watch::Sender::new(Beat::default()), started: AtomicBool::new(false) })
    }

    /// The slot that the mirror had reached a moment ago.
    pub async fn slot(self: &Arc<Self>) -> Option<u64> {
        self.beat().await.slot
    }

    /// The last look. Only the very first is waited for.
    async fn beat(self: &Arc<Self>) -> Beat {
        if !self.started.swap(true, Ordering::AcqRel) {
            tokio::spawn(look_again_and_again(Arc::downgrade(self)));
        }
        let beat = *self.beat.borrow();
        if beat.looked {
            return beat;
        }
        let mut changes = self.beat.subscribe();
        let first = timeout(LOOK_LIMIT, changes.wait_for(|beat| beat.looked)).await;
        first.ok().and_then(Result::ok).map_or(beat, |beat| *beat)
    }

    async fn look(&self) {
        let looked = timeout(LOOK_LIMIT, mirror::checkpoint(&self.pool)).await;
        self.beat.send_modify(|beat| {
            beat.looked = true;
            if let Ok(Ok(checkpoint)) = looked {
                beat.slot = checkpoint.map(|checkpoint| checkpoint.slot);
            }
        });
    }
}

/// Ends with the service.
async fn look_again_and_again(pulse: Weak<Pulse>) {
    while let Some(pulse) = pulse.upgrade() {
        pulse.look().await;
        drop(pulse);
        tokio::time::sleep(EVERY).await;
    }
}
