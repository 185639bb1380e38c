//! The callers of a campaign: each makes its planned calls, retries as a sensible client does, and writes
//! everything down.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    client::{Client, Execute, Reply},
    notes::{Attempt, Claim, Notebook},
    plan::Call,
};

/// How long a caller waits for an answer before it asks another gateway.
const PATIENCE: Duration = Duration::from_secs(15);
/// Longest pause before a retry, whatever the service asks for.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
const SHORTEST_PAUSE: Duration = Duration::from_millis(200);

/// What callers need to know of the marketplace.
pub struct Market {
    /// All gateways.
    pub base_urls: Vec<String>,
    /// API keys in their text form.
    pub keys: Vec<String>,
    /// Addresses.
    pub agents: Vec<String>,
}

/// Makes calls until stopped; the call under way is brought to its end.
pub async fn run(
    calls: impl Iterator<Item = Call>,
    market: Arc<Market>,
    client: Client,
    notebook: Arc<Notebook>,
    stop: CancellationToken,
) {
    for call in calls {
        tokio::select! {
            () = tokio::time::sleep(call.think) => {}
            () = stop.cancelled() => return,
        }
        notebook.meant(&call);
        make(&call, &market, &client, &notebook, &stop).await;
    }
}

/// One call with its retries.
async fn make(call: &Call, market: &Market, client: &Client, notebook: &Notebook, stop: &CancellationToken) {
    for number in 0..call.attempts {
        let gateway = (call.gateway + usize::try_from(number).unwrap_or(0)) % market.base_urls.len();
        let patience = call.hangs_up_after.filter(|_| number == 0).unwrap_or(PATIENCE);
        let attempt = if call.twin && number == 0 {
            let other = (gateway + 1) % market.base_urls.len();
            let (first, second) = tokio::join!(
                send(call, market, client, gateway, patience),
                send(call, market, client, other, PATIENCE)
            );
            notebook.answered(&call.task, second);
            first
        } else {
            send(call, market, client, gateway, patience).await
        };
        let (claim, reply) = (attempt.claim.clone(), attempt.reply.clone());
        notebook.answered(&call.task, attempt);
        let refused = matches!(claim, Claim::NothingCharged(_)) && call.takes_no_for_an_answer;
        if claim.is_final() || refused || stop.is_cancelled() {
            return;
        }
        tokio::time::sleep(pause(&reply)).await;
    }
}

fn pause(reply: &Reply) -> Duration {
    match reply {
        Reply::Answer { retry_after: Some(wanted), .. } => (*wanted).clamp(SHORTEST_PAUSE, LONGEST_PAUSE),
        _ => SHORTEST_PAUSE * 2,
    }
}

/// One request of a call, to one gateway, and what came of it.
pub async fn send(call: &Call, market: &Market, client: &Client, gateway: usize, patience: Duration) -> Attempt {
    let body = json!({
        "task": call.task,
        "parameters": {"behaviour": call.behaviour.name(), "delay_ms": call.delay_ms},
        "async": call.is_async,
    });
    let sent = Instant::now();
    let reply = client
        .execute(&Execute {
            base_url: &market.base_urls[gateway],
            api_key: &market.keys[call.key],
            agent: &market.agents[call.agent],
            body: &body,
            idempotency_key: call.idempotency_key.as_deref(),
            patience,
        })
        .await;
    Attempt { gateway, sent, answered: Instant::now(), claim: Claim::of(&reply), reply }
}
