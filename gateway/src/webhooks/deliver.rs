//! Delivers events. Any number of workers may do this over one database: each works on the webhooks that it has leased.
//!
//! Webhooks whose last answer was a failure or late have places of their own, so a target that hangs delays those alone that
//! fail as well.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use crtx_store::{
    StoreError, events,
    webhooks::{self, DeliveryRetry, Due, Target, WebhookLease},
};
use futures::{StreamExt, stream::FuturesUnordered};
use rand::Rng;
use reqwest::Url;
use tokio::{sync::Semaphore, time::sleep};
use tokio_util::sync::CancellationToken;

use super::{Webhooks, send::SentDelivery};
use crate::engine::Engine;

/// Seconds before each attempt of a delivery: the schedule of Standard Webhooks.
const SCHEDULE: [u64; 10] = [0, 5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
/// How often a worker looks for webhooks that have something to send.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How often it looks at all, also for events that came while no worker was there.
const ALL_EVERY: Duration = Duration::from_secs(30);
/// Webhooks that one process works on at the same time, of each kind.
const WEBHOOKS_AT_ONCE: usize = 256;
/// Events on their way to one webhook, and to one host, whose last answer was a success.
const PER_WEBHOOK: usize = 8;
const PER_HOST: u32 = 32;
/// The same of any other host: one of each webhook.
const PROBES_PER_HOST: u32 = 8;
/// A lease is renewed when it is this old.
const RENEW_AFTER: Duration = Duration::from_secs(10);
/// Then other webhooks have their turn.
const LONGEST_TURN: Duration = Duration::from_secs(30);
/// An answer that takes longer is late.
const LATE: Duration = Duration::from_secs(1);
/// How long a stop waits for answers. What is not answered is sent again by another worker.
const STOP_PATIENCE: Duration = Duration::from_secs(2);
/// How often secrets are encrypted anew while there are two key pairs, and how many at once.
const RESEAL_EVERY: Duration = Duration::from_secs(10);
const RESEALED_AT_ONCE: i64 = 100;

/// What a worker delivers with. Cheap to clone.
#[derive(Clone)]
struct Deliveries {
    engine: Arc<Engine>,
    hooks: Arc<Webhooks>,
}

/// Works until `shutdown`.
pub(crate) async fn deliver(engine: Arc<Engine>, hooks: Arc<Webhooks>, shutdown: &CancellationToken) {
    let deliveries = &Deliveries { engine, hooks };
    tokio::join!(lane(deliveries, false, shutdown), lane(deliveries, true, shutdown), reseal(deliveries, shutdown));
}

async fn lane(deliveries: &Deliveries, troubled: bool, shutdown: &CancellationToken) {
    let places = Arc::new(Semaphore::new(WEBHOOKS_AT_ONCE));
    let (hooks, pool) = (&deliveries.hooks, deliveries.engine.executions.pool());
    let mut looked_at_all = None::<Instant>;
    loop {
        let free = u32::try_from(places.available_permits()).unwrap_or(0);
        let all = looked_at_all.is_none_or(|looked| looked.elapsed() > ALL_EVERY);
        let claimed = match free {
            0 => Ok(Vec::new()),
            free => hooks.ask(webhooks::claim(pool, troubled, free, all)).await,
        };
        match &claimed {
            Ok(_) if all && free > 0 => looked_at_all = Some(Instant::now()),
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "no webhooks could be claimed"),
        }
        for lease in claimed.unwrap_or_default() {
            let Ok(place) = Arc::clone(&places).try_acquire_owned() else { break };
            let (worker, shutdown) = (deliveries.clone(), shutdown.clone());
            deliveries.engine.tasks.spawn(async move {
                work(&worker, lease, &shutdown).await;
                drop(place);
            });
        }
        if shutdown.run_until_cancelled(sleep(LOOK_EVERY)).await.is_none() {
            return;
        }
    }
}

async fn work(deliveries: &Deliveries, lease: WebhookLease, shutdown: &CancellationToken) {
    let pool = deliveries.engine.executions.pool();
    let worked = send_what_is_due(deliveries, lease, shutdown).await;
    let released = match worked {
        Ok(pause) => deliveries.hooks.ask(webhooks::release(pool, lease, pause)).await,
        Err(error) => Err(error),
    };
    if let Err(error) = released {
        tracing::warn!(webhook = %lease.webhook_id, %error, "a webhook was left; its lease expires");
    }
}

/// Sends until nothing is due, something fails, or the turn of this webhook is over. Returns the pause until the next turn.
async fn send_what_is_due(
    deliveries: &Deliveries,
    lease: WebhookLease,
    shutdown: &CancellationToken,
) -> Result<Duration, StoreError> {
    let (hooks, pool) = (&deliveries.hooks, deliveries.engine.executions.pool());
    let began = Instant::now();
    let (mut renewed, mut target, mut queue) = (None::<Instant>, None::<Arc<Target>>, VecDeque::new());
    let (mut flying, mut sequences) = (FuturesUnordered::new(), Vec::new());
    let (mut ending, mut pause) = (false, Duration::ZERO);
    loop {
        ending = ending || shutdown.is_cancelled() || began.elapsed() > LONGEST_TURN;
        let is_old = renewed.is_none_or(|renewed| renewed.elapsed() > RENEW_AFTER);
        if is_old || (queue.is_empty() && !ending) {
            let Some(taken) = hooks.ask(webhooks::take(pool, lease, &sequences)).await? else { return Ok(pause) };
            if !ending {
                let wanted: Vec<_> = taken.due.iter().map(|due| due.sequence).collect();
                let events = hooks.ask(events::numbered(pool, &taken.wallet, &wanted)).await?;
                let due = taken.due.iter().filter_map(|due| {
                    let event = events.iter().find(|event| event.sequence == due.sequence)?;
                    Some((*due, event.id, serde_json::to_vec(event).ok()?))
                });
                queue = due.collect();
            }
            (renewed, target) = (Some(Instant::now()), Some(Arc::new(taken)));
        }
        let Some(target) = &target else { return Ok(pause) };
        let host = host_of(&target.sealed.url);
        let is_good = hooks.good.contains_key(&host);
        let (most, per_host) = if is_good { (PER_WEBHOOK, PER_HOST) } else { (1, PROBES_PER_HOST) };
        while !ending
            && flying.len() < most
            && let Some((due, id, body)) = queue.pop_front()
        {
            let Ok(permit) = hooks.hosts.take(vec![host.clone()], |_, _| per_host) else {
                // Other webhooks of this host have their answers first.
                (ending, pause) = (true, Duration::from_millis(rand::rng().random_range(500..2_000)));
                break;
            };
            sequences.push(due.sequence);
            let target = Arc::clone(target);
            flying.push(async move {
                let sent = hooks.send(&target.sealed.url, &hooks.seals.open(&target.sealed), &id, body).await;
                drop(permit);
                (due, sent)
            });
        }
        if flying.is_empty() {
            return Ok(pause);
        }
        tokio::select! {
            Some((due, sent)) = flying.next() => {
                sequences.retain(|sequence| *sequence != due.sequence);
                if sent.is_acknowledged() { hooks.good.insert(host, ()) } else { hooks.good.invalidate(&host) }
                ending |= !sent.is_acknowledged();
                note(deliveries, lease, due, &sent).await?;
            }
            () = sleep(RENEW_AFTER) => {}
            () = async { shutdown.cancelled().await; sleep(STOP_PATIENCE).await } => return Ok(pause),
        }
    }
}

async fn note(deliveries: &Deliveries, lease: WebhookLease, due: Due, sent: &SentDelivery) -> Result<(), StoreError> {
    let (hooks, pool, attempt) = (&deliveries.hooks, deliveries.engine.executions.pool(), &sent.attempt);
    deliveries.engine.figures.delivery(sent.is_acknowledged());
    if sent.is_acknowledged() {
        let late = attempt.duration > LATE;
        return hooks.ask(webhooks::acknowledge(pool, lease, due.sequence, attempt, late)).await;
    }
    let retry = DeliveryRetry { next: next_attempt(due.attempts, sent.pause), pause: sent.pause };
    hooks.ask(webhooks::fail(pool, lease, due.sequence, attempt, retry)).await
}

/// Until the attempt after so many and this one. A tenth more at most, so that not all retries come at once.
fn next_attempt(attempts: i32, pause: Duration) -> Option<Duration> {
    let next = usize::try_from(attempts).unwrap_or(0).saturating_add(1);
    let planned = Duration::from_secs(*SCHEDULE.get(next)?).mul_f64(rand::rng().random_range(1.0..1.1));
    Some(planned.max(pause))
}

/// Host and port.
fn host_of(url: &str) -> String {
    let url = Url::parse(url).ok();
    let host = url.as_ref().and_then(|url| Some(format!("{}:{}", url.host_str()?, url.port_or_known_default()?)));
    host.unwrap_or_default()
}

/// While another key pair replaces the gateway's, encrypts secrets with the key of the one that the chain names.
async fn reseal(deliveries: &Deliveries, shutdown: &CancellationToken) {
    let (hooks, pool) = (&deliveries.hooks, deliveries.engine.executions.pool());
    while deliveries.engine.config.keypair.all().count() > 1 {
        let others = hooks.ask(webhooks::sealed_by(pool, &hooks.seals.others(), RESEALED_AT_ONCE)).await;
        for before in others.unwrap_or_default() {
            let secrets = hooks.seals.open(&before);
            let Some((secret, old)) = secrets.split_first() else { continue };
            let after = hooks.seals.seal(before.webhook_id, &before.url, secret, old.first());
            let Some(after) = after else { continue };
            if let Err(error) = hooks.ask(webhooks::reseal(pool, &before, &after, None)).await {
                tracing::warn!(%error, "secrets of a webhook could not be encrypted anew");
            }
        }
        if shutdown.run_until_cancelled(sleep(RESEAL_EVERY)).await.is_none() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_follow_the_schedule_of_the_standard_and_then_end() {
        for (failed, seconds) in [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400].into_iter().enumerate()
        {
            let next = next_attempt(i32::try_from(failed).expect("few"), Duration::ZERO).expect("another attempt");
            assert!((1.0..1.1).contains(&(next.as_secs_f64() / f64::from(seconds))), "{failed}: {next:?}");
        }
        assert_eq!(next_attempt(9, Duration::ZERO), None);
        assert_eq!(next_attempt(0, Duration::from_secs(60)), Some(Duration::from_secs(60)), "the target asked for it");
    }

    #[test]
    fn a_host_is_named_with_its_port() {
        assert_eq!(host_of("https://a.example/x?y"), "a.example:443");
        assert_eq!(host_of("http://[::1]:81/"), "[::1]:81");
    }
}
