//! Signs of life of this process, which show every other process what the mirror does.

use std::{sync::Arc, time::Duration};

use crtx_store::{
    clocks::{CLOCK_SKEW, clock_problem},
    indexer_status::{self, Beat, ENDPOINT_UNUSABLE, Problem},
};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::{
    problems::MAX_MESSAGE,
    syncer::{SyncError, Syncer},
};

const INTERVAL: Duration = Duration::from_secs(2);
/// How soon others learn that this process began or ceased to receive changes.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// More slots behind the chain than between two snapshots.
const BEHIND: u64 = 600;

impl Syncer {
    /// Writes a sign of life in regular intervals, and at once when the stream begins or ends, until shut down.
    pub async fn heartbeat(self: Arc<Self>, shutdown: CancellationToken) {
        let beats = async {
            let mut last: Option<(Instant, bool)> = None;
            loop {
                let streaming = self.is_streaming();
                if last.is_none_or(|(at, was)| at.elapsed() >= INTERVAL || was != streaming) {
                    last = Some((Instant::now(), streaming));
                    self.try_beat().await;
                }
                sleep(LOOK_EVERY).await;
            }
        };
        shutdown.run_until_cancelled(beats).await;
        drop(timeout(INTERVAL, indexer_status::end(&self.pool, self.id)).await);
    }

    /// Writes one sign of life. A failure is only logged: the next one follows.
    async fn try_beat(&self) {
        drop(timeout(INTERVAL, self.source.ask_unusable_again()).await);
        match timeout(INTERVAL, self.chain_slot()).await {
            // A slot that is not believed is a problem of its own.
            Ok(Ok(_) | Err(SyncError::Doubtful(_))) => {}
            Ok(Err(error)) => self.problems.set_for("source_unreachable", error, INTERVAL.saturating_mul(3)),
            Err(_) => {
                let message = format!("the node at {} does not tell its slot", self.source.name());
                self.problems.set_for("source_unreachable", message, INTERVAL.saturating_mul(3));
            }
        }
        let replays_from = timeout(INTERVAL, self.source.replays_from()).await.unwrap_or_default();
        self.known().replays_from = replays_from;
        self.judge();
        match timeout(INTERVAL, indexer_status::beat(&self.pool, &self.beat())).await {
            Ok(Ok(ahead)) => self.problems.show_while(CLOCK_SKEW, clock_problem(ahead)),
            Ok(Err(error)) => tracing::warn!(cause = %error, "no heartbeat could be written"),
            Err(_) => tracing::warn!("no heartbeat could be written in time"),
        }
    }

    /// Problems that are seen only with time.
    fn judge(&self) {
        let (heard, node) = (self.known().heard, self.source.name());
        let standing = heard.standing_for().zip(heard.chain_slot).map(|(time, slot)| {
            format!("the newest slot of the node at {node} has been {slot} for {} seconds", time.as_secs())
        });
        self.problems.show_while("slot_stands_still", standing);
        let lag = heard.chain_slot.unwrap_or_default().saturating_sub(self.known().indexed);
        let is_behind = self.leads() && lag > BEHIND;
        let behind = is_behind.then(|| format!("the mirror is {lag} slots behind the node at {node}"));
        self.problems.show_while("mirror_behind", behind);
    }

    fn is_streaming(&self) -> bool {
        let known = self.known();
        self.leads() && known.heard.streaming() && known.caught_up
    }

    /// Endpoints that are not used now. That says nothing about the mirror, which follows another one.
    fn unusable_endpoints(&self) -> impl Iterator<Item = Problem> {
        let compared = self.known().second_unusable.clone();
        let mut reasons = self.source.unusable();
        reasons.extend(compared.filter(|reason| !reasons.contains(reason)));
        reasons.into_iter().map(|reason| Problem {
            code: ENDPOINT_UNUSABLE.to_owned(),
            message: reason.chars().take(MAX_MESSAGE).collect(),
        })
    }

    fn beat(&self) -> Beat {
        let (heard, replays_from) = {
            let known = self.known();
            (known.heard, known.replays_from)
        };
        Beat {
            id: self.id,
            leads: self.leads(),
            source: self.source.name(),
            streaming: self.is_streaming(),
            chain_slot: heard.chain_slot,
            finalized_slot: heard.finalized_slot,
            replay_slots: heard.chain_slot.zip(replays_from).map(|(newest, oldest)| newest.saturating_sub(oldest)),
            last_event_at: heard.event_at,
            last_change_at: heard.change_at,
            problems: self.problems.list().into_iter().chain(self.unusable_endpoints()).collect(),
        }
    }

    /// Shows a change of state at once.
    pub(super) async fn beat_now(&self) {
        drop(timeout(INTERVAL, indexer_status::beat(&self.pool, &self.beat())).await);
    }
}
