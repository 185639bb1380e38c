//! An indexer waits for the lead, and mirrors over one connection after the other.

use std::{future::poll_fn, pin::pin, sync::Arc, task::Poll, time::Duration};

use crtx_store::leadership::{LeaderOf, Leadership};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::syncer::Syncer;

const MIN_BACKOFF: Duration = Duration::from_millis(200);
const MAX_BACKOFF: Duration = Duration::from_secs(30);
/// A connection that lasts so long resets the pauses between attempts to the shortest one.
const GOOD_AFTER: Duration = Duration::from_secs(30);
/// Between attempts to take the lead, and between proofs that it is still held.
const LEAD_INTERVAL: Duration = Duration::from_secs(1);
/// A proof that takes longer counts as lost.
const LEAD_LIMIT: Duration = Duration::from_millis(2_400);
/// An attempt to take the lead that takes longer failed.
const TAKE_LIMIT: Duration = Duration::from_secs(5);

impl Syncer {
    /// Mirrors while this process leads, until shut down.
    pub async fn run(self: Arc<Self>, shutdown: CancellationToken) {
        shutdown.run_until_cancelled(self.lead()).await;
        self.prove_lead(false);
    }

    async fn lead(&self) {
        loop {
            match timeout(TAKE_LIMIT, Leadership::take(&self.pool, LeaderOf::Indexers)).await {
                Ok(Ok(Some(leadership))) => self.mirror_while(leadership).await,
                Ok(Ok(None)) => {}
                Ok(Err(error)) => tracing::warn!(cause = %error, "the database does not say which indexer leads"),
                Err(_) => tracing::warn!("the database does not say in time which indexer leads"),
            }
            sleep(LEAD_INTERVAL).await;
        }
    }

    /// Mirrors until the lead is lost.
    async fn mirror_while(&self, mut leadership: Leadership) {
        tracing::info!("this indexer leads");
        self.prove_lead(true);
        self.known().begin_to_lead();
        // The proof comes first: a process that was paused writes nothing before it has proved that it still leads.
        let lost = tokio::select! {
            biased;
            lost = self.lost(&mut leadership) => lost,
            () = self.while_leading(self.sessions()) => return,
        };
        self.prove_lead(false);
        self.known().heard.connected(false);
        tracing::warn!(cause = lost, "this indexer has lost the lead and stops writing");
    }

    /// Goes on with work only while the last proof of the lead is not too old.
    async fn while_leading(&self, work: impl Future<Output = ()>) {
        let mut work = pin!(work);
        poll_fn(|context| if self.leads() { work.as_mut().poll(context) } else { Poll::Pending }).await;
    }

    /// Proves the lead in regular intervals until it is lost. Returns why.
    async fn lost(&self, leadership: &mut Leadership) -> String {
        loop {
            sleep(LEAD_INTERVAL).await;
            match timeout(LEAD_LIMIT, leadership.prove()).await {
                Ok(Ok(())) => self.prove_lead(true),
                Ok(Err(error)) => return error.to_string(),
                Err(_) => return "the database did not answer in time".to_owned(),
            }
        }
    }

    /// Connects, and connects again when the connection or the database fails.
    async fn sessions(&self) {
        let mut backoff = MIN_BACKOFF;
        loop {
            let begun = Instant::now();
            let Err(ended) = self.session().await;
            self.known().caught_up = false;
            self.problems.set(ended.code(), &ended);
            self.beat_now().await;
            if begun.elapsed() > GOOD_AFTER {
                backoff = MIN_BACKOFF;
            }
            tracing::warn!(cause = %ended, retry_in_ms = backoff.as_millis(), "the mirror lost its source");
            sleep(backoff).await;
            backoff = backoff.saturating_mul(2).min(MAX_BACKOFF);
        }
    }
}
