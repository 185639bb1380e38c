//! The slot of the mirror, kept in memory: the header `x-indexed-slot` never waits for the database.

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use crtx_store::{PgPool, mirror};
use tokio::{sync::watch, time::timeout};

/// Between two reads. If the database answers, the header is at most so much older than the mirror.
const READ_EVERY: Duration = Duration::from_millis(200);
/// A read that takes longer has failed.
const READ_LIMIT: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// The slot at the last successful read. The mirror shows this slot or a later one.
    slot: Option<u64>,
    /// Whether there was a read, successful or not.
    read: bool,
}

pub struct MirrorSlot {
    pool: PgPool,
    known: watch::Sender<Known>,
    started: AtomicBool,
}

impl MirrorSlot {
    pub fn new(pool: PgPool) -> Arc<Self> {
        Arc::new(Self { pool, known: watch::Sender::new(Known::default()), started: AtomicBool::new(false) })
    }

    /// The slot that the mirror had reached at the last read. Waits only for the first read of the process.
    pub async fn get(self: &Arc<Self>) -> Option<u64> {
        if !self.started.swap(true, Ordering::AcqRel) {
            tokio::spawn(read_repeatedly(Arc::downgrade(self)));
        }
        let known = *self.known.borrow();
        if known.read {
            return known.slot;
        }
        let mut changes = self.known.subscribe();
        let first = timeout(READ_LIMIT, changes.wait_for(|known| known.read)).await;
        first.ok().and_then(Result::ok).and_then(|known| known.slot)
    }

    async fn read(&self) {
        let checkpoint = timeout(READ_LIMIT, mirror::checkpoint(&self.pool)).await;
        self.known.send_modify(|known| {
            known.read = true;
            if let Ok(Ok(checkpoint)) = checkpoint {
                known.slot = checkpoint.map(|checkpoint| checkpoint.slot);
            }
        });
    }
}

/// Ends with the service.
async fn read_repeatedly(mirror_slot: Weak<MirrorSlot>) {
    while let Some(slot) = mirror_slot.upgrade() {
        slot.read().await;
        drop(slot);
        tokio::time::sleep(READ_EVERY).await;
    }
}
