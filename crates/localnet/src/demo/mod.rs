//! The demo creator: a service with its own port and Ed25519 key, behind two agents ("Creator service protocol" in
//! `docs/specification.md`). `text-stats` does a small useful job; `conformance-target` breaks the protocol on request,
//! to show how the marketplace reacts.

mod listings;
mod text_stats;

use std::{sync::Arc, time::Duration};

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::State,
    response::{IntoResponse, Response},
    routing::post,
};
use crtx_http::{ApiJson, ServeLimits, TrustedProxies};
use crtx_protocol::{call_text::OpeningId, signed_answer};
use ed25519_dalek::SigningKey;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};
use solana_pubkey::Pubkey;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

pub use self::listings::{DEMO_AGENTS, DemoAgent};

const DEFAULT_TOP_WORDS: u64 = 5;
pub const MAX_TOP_WORDS: u64 = 50;
/// Larger than any result that the gateway takes.
const OVERSIZE_BYTES: usize = 2 * 1024 * 1024;
const MAX_REQUEST_BYTES: usize = 4 * 1024 * 1024;
/// How long after the time-out the answer of `slow` comes.
const SLOW_BY: Duration = Duration::from_secs(2);
pub const MAX_DELAY_MS: u64 = 60_000;

/// What the marketplace sends.
#[derive(Clone, Debug, Deserialize)]
struct CreatorRequest {
    execution_id: Uuid,
    task: String,
    #[serde(default)]
    parameters: Map<String, Value>,
    timeout_seconds: u64,
    /// Base58 address of the record on chain, which the call-bound signature names.
    #[serde(deserialize_with = "address")]
    execution_record: Pubkey,
    /// Names the opening of the record in the call-bound signature.
    opened_at_unix_s: i64,
}

fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Pubkey, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
}

/// Serves both agents until `shutdown`.
pub async fn serve(listener: TcpListener, result_key: SigningKey, shutdown: CancellationToken) -> std::io::Result<()> {
    // The gateway keeps its connections, and would not know that one was closed just before it is used.
    let keep_alive = Duration::from_secs(24 * 3_600);
    let limits = ServeLimits { keep_alive, drain: Duration::from_millis(500), ..ServeLimits::default() };
    crtx_http::serve(TrustedProxies::default(), listener, router(result_key), limits, shutdown.cancelled_owned()).await
}

fn router(result_key: SigningKey) -> Router {
    Router::new()
        .route("/text-stats/execute", post(text_stats_agent))
        .route("/conformance-target/execute", post(conformance_agent))
        .with_state(Arc::new(result_key))
}

async fn text_stats_agent(
    State(key): State<Arc<SigningKey>>,
    ApiJson(request): ApiJson<CreatorRequest, MAX_REQUEST_BYTES>,
) -> Json<Value> {
    let top = match request.parameters.get("top_words") {
        None => DEFAULT_TOP_WORDS,
        Some(value) => match value.as_u64().filter(|top| (1..=MAX_TOP_WORDS).contains(top)) {
            Some(top) => top,
            None => return Json(failed(&key, &request, "top_words must be a whole number from 1 to 50")),
        },
    };
    let stats = text_stats::count(&request.task, usize::try_from(top).unwrap_or(usize::MAX));
    Json(completed(&key, &request, &json!(stats).to_string()))
}

async fn conformance_agent(
    State(key): State<Arc<SigningKey>>,
    ApiJson(request): ApiJson<CreatorRequest, MAX_REQUEST_BYTES>,
) -> Response {
    let delay_ms = request.parameters.get("delay_ms").and_then(Value::as_u64).unwrap_or_default().min(MAX_DELAY_MS);
    tokio::time::sleep(Duration::from_millis(delay_ms)).await;
    let behaviour = request.parameters.get("behaviour").and_then(Value::as_str).unwrap_or("ok");
    behave(behaviour, &key, &request).await
}

/// Everything that a creator can get wrong, by name.
#[expect(clippy::indexing_slicing, reason = "an assignment to a member of a JSON object inserts it")]
async fn behave(behaviour: &str, key: &SigningKey, request: &CreatorRequest) -> Response {
    let result = json!({"behaviour": behaviour, "task": request.task}).to_string();
    let mut answer = completed(key, request, &result);
    match behaviour {
        "ok" => {
            answer["tokens_used"] = json!(42);
            answer["steps"] = json!([{"step": 1, "description": "did as asked"}]);
        }
        "fail" => answer = failed(key, request, "failed as requested"),
        "slow" => tokio::time::sleep(Duration::from_secs(request.timeout_seconds).saturating_add(SLOW_BY)).await,
        "bad_signature" => answer = completed(&SigningKey::from_bytes(&[1; 32]), request, &result),
        "wrong_hash" => {
            answer = completed(key, request, "something else");
            answer["result"] = json!(result);
        }
        "no_call_signature" => answer["call_signature"] = Value::Null,
        "other_call_signature" => {
            let other_call = CreatorRequest { execution_record: Pubkey::new_from_array([1; 32]), ..request.clone() };
            answer["call_signature"] = completed(key, &other_call, &result)["call_signature"].take();
        }
        "wrong_execution_id" => answer["execution_id"] = json!(Uuid::new_v4()),
        "oversize" => answer = completed(key, request, &"x".repeat(OVERSIZE_BYTES)),
        "not_json" => return "this is not JSON".into_response(),
        "drop" => return dropped(),
        other => answer = failed(key, request, &format!("there is no behaviour `{other}`")),
    }
    Json(answer).into_response()
}

/// An answer whose body breaks off: the server closes the connection in the middle of it.
fn dropped() -> Response {
    let broken =
        futures::stream::iter([Err::<Bytes, _>(std::io::Error::other("the connection is closed as requested"))]);
    Body::from_stream(broken).into_response()
}

fn opening_of(request: &CreatorRequest) -> OpeningId {
    OpeningId { record: request.execution_record.to_bytes(), opened_at_unix_s: request.opened_at_unix_s }
}

#[expect(clippy::expect_used, reason = "a key in memory signs everything")]
fn completed(key: &SigningKey, request: &CreatorRequest, result: &str) -> Value {
    signed_answer::completed(key, request.execution_id, &opening_of(request), result).expect("signed")
}

#[expect(clippy::expect_used, reason = "a key in memory signs everything")]
fn failed(key: &SigningKey, request: &CreatorRequest, error: &str) -> Value {
    signed_answer::failed(key, request.execution_id, &opening_of(request), error).expect("signed")
}

#[cfg(test)]
mod tests;
