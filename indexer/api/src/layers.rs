//! What holds for every read: its time limit, the slot that it shows, what caches may do with it; and for reads of rows
//! that the mirror is not too old.

use std::time::Duration;

use axum::{
    extract::{Request, State},
    http::{HeaderName, HeaderValue},
    middleware::Next,
    response::{IntoResponse, Response},
};
use crtx_http::{
    ApiError,
    caching::{Asked, Policy},
};
use tokio::time::timeout;

use crate::state::ApiState;

/// The slot that the mirror had reached before the rows of an answer were read, on every answer of the read API.
pub const INDEXED_SLOT: HeaderName = HeaderName::from_static("x-indexed-slot");
/// The longest time that a read may take.
const READ_LIMIT: Duration = Duration::from_secs(10);
/// Paths whose answers depend on nothing but the path and its parameters. The rest is for one client, or about now.
const PUBLIC: [&str; 3] = ["/v1/agents", "/v1/history", "/v1/network"];

/// The slot of an answer that knows its own, as an extension of the answer: what is from memory can be older than the
/// mirror.
#[derive(Clone, Copy, Debug)]
pub struct ShownSlot(pub Option<u64>);

pub async fn complete(State(state): State<ApiState>, request: Request, next: Next) -> Response {
    let asked = Asked::of(request.method(), request.headers(), policy(&request));
    // The slot is read before the rows, so the rows are at least as new.
    let slot = state.shared.mirror.known().await.slot;
    let answer = timeout(READ_LIMIT, next.run(request)).await;
    let answer = answer.unwrap_or_else(|_| ApiError::unavailable("a read took too long").into_response());
    let slot = answer.extensions().get::<ShownSlot>().map_or(slot, |own| own.0);
    let mut answer = asked.complete(answer).await;
    if let Some(slot) = slot {
        answer.headers_mut().insert(INDEXED_SLOT, HeaderValue::from(slot));
    }
    answer
}

fn policy(request: &Request) -> Policy {
    let path = request.uri().path();
    let is_below =
        |public: &str| path.strip_prefix(public).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    if PUBLIC.into_iter().any(is_below) { Policy::of_public(request.headers()) } else { Policy::Private }
}

/// Answers 503 `stale` in place of rows that are too old.
pub async fn refuse_stale(State(state): State<ApiState>, request: Request, next: Next) -> Response {
    let refusal = match state.max_lag {
        Some(max_lag) => state.shared.mirror.known().await.refusal(max_lag),
        None => None,
    };
    match refusal {
        Some(refusal) => refusal.into_response(),
        None => next.run(request).await,
    }
}
