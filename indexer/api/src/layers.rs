//! Layers of all reads: time limit, `x-indexed-slot`, and caching. Reads of rows are refused while the mirror is too old.

use std::time::Duration;

use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderName, HeaderValue, header::CONTENT_LENGTH},
    middleware::Next,
    response::{IntoResponse, Response},
};
use crtx_http::{
    ApiError, ErrorCode,
    caching::{Asked, Policy},
};
use tokio::time::{sleep, timeout};

use crate::{events::MAX_WAIT, state::ApiState};

/// A header of every answer: the slot that the mirror had reached before the rows of the answer were read.
pub const INDEXED_SLOT: HeaderName = HeaderName::from_static("x-indexed-slot");
/// The longest time that a read may take, beside the time that it waits for an event.
const READ_LIMIT: Duration = Duration::from_secs(10);
/// How long a read waits for the slot that its client has seen. Processes see the mirror some 200 ms apart.
const SLOT_PATIENCE: Duration = Duration::from_secs(2);
/// An answer from memory follows the mirror after this time.
const MEMORY_BEHIND: Duration = Duration::from_millis(500);
/// Below these paths, every client gets the same answer. Other answers are for one client, or about this moment.
const PUBLIC: [&str; 3] = ["/v1/agents", "/v1/history", "/v1/network"];

/// The list that can wait.
const EVENTS: &str = "/v1/events";

/// An extension of answers that have a slot of their own: an answer from memory can be older than the mirror.
#[derive(Clone, Copy, Debug)]
pub struct ShownSlot(pub Option<u64>);

/// A request may name the slot of an answer that its client has seen: it gets none of an earlier slot, from whatever process.
pub async fn complete(State(state): State<ApiState>, request: Request, next: Next) -> Response {
    let asked = Asked::of(request.method(), request.headers(), policy(&request));
    let seen = request.headers().get(INDEXED_SLOT).and_then(|slot| slot.to_str().ok()?.parse().ok());
    let read = async {
        let Some(seen) = seen else { return read(&state, request, next).await };
        if !state.shared.mirror.reaches(seen, SLOT_PATIENCE).await {
            return behind(seen);
        }
        let (mut again, body) = request.into_parts();
        let first = Request::from_parts(again.clone(), body);
        let (answer, slot) = read(&state, first, next.clone()).await;
        if slot.is_none_or(|slot| slot >= seen) {
            return (answer, slot);
        }
        sleep(MEMORY_BEHIND).await;
        again.headers.remove(CONTENT_LENGTH);
        let (answer, slot) = read(&state, Request::from_parts(again, Body::empty()), next).await;
        if slot.is_none_or(|slot| slot >= seen) { (answer, slot) } else { behind(seen) }
    };
    let (answer, slot) = read.await;
    let mut answer = asked.complete(answer).await;
    if let Some(slot) = slot {
        answer.headers_mut().insert(INDEXED_SLOT, HeaderValue::from(slot));
    }
    answer
}

/// The answer and the slot that it shows.
async fn read(state: &ApiState, request: Request, next: Next) -> (Response, Option<u64>) {
    // The slot is read before the rows, so the rows are at least as new.
    let slot = state.shared.mirror.known().await.slot;
    let wait = if request.uri().path() == EVENTS { MAX_WAIT } else { Duration::ZERO };
    let answer = timeout(READ_LIMIT.saturating_add(wait), next.run(request)).await;
    let answer = answer.unwrap_or_else(|_| ApiError::unavailable("a read took too long").into_response());
    let slot = answer.extensions().get::<ShownSlot>().map_or(slot, |own| own.0);
    (answer, slot)
}

fn behind(seen: u64) -> (Response, Option<u64>) {
    let message = format!("the index has not reached slot {seen} yet, which the header {INDEXED_SLOT} names");
    (ApiError::new(ErrorCode::Stale, message).with_retry_after(Duration::from_secs(1)).into_response(), None)
}

fn policy(request: &Request) -> Policy {
    let path = request.uri().path();
    let is_below =
        |public: &str| path.strip_prefix(public).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    if PUBLIC.into_iter().any(is_below) { Policy::of_public(request.headers()) } else { Policy::Private }
}

/// Answers 503 `stale` while the mirror is too old.
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
