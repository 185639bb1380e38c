//! The header `x-indexed-slot`: the slot that the mirror had reached before the rows of an answer were read.

use axum::{
    extract::{Request, State},
    http::{HeaderName, HeaderValue},
    middleware::Next,
    response::Response,
};

use crate::state::ApiState;

/// The slot that the mirror has reached, on every answer of the read API.
pub const INDEXED_SLOT: HeaderName = HeaderName::from_static("x-indexed-slot");

/// Sets the slot of an answer that knows its own.
pub fn set(response: &mut Response, slot: Option<u64>) {
    if let Some(slot) = slot {
        response.headers_mut().insert(INDEXED_SLOT, HeaderValue::from(slot));
    }
}

/// Sets the slot of all other answers. It is read before the rows, so the rows are at least as new.
pub async fn with_indexed_slot(State(state): State<ApiState>, request: Request, next: Next) -> Response {
    let slot = state.mirror_slot().get().await;
    let mut response = next.run(request).await;
    if !response.headers().contains_key(INDEXED_SLOT) {
        set(&mut response, slot);
    }
    response
}
