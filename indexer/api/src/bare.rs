//! The end of endpoints that do themselves what the layers do for all others: caching and the indexed slot.

use std::{sync::Arc, time::Duration};

use axum::response::{IntoResponse, Response};
use crtx_http::{ApiError, Whole, caching::Asked};

use crate::{indexed_slot, state::ApiState};

/// The longest time that a read may take.
const READ_LIMIT: Duration = Duration::from_secs(10);

/// A body, and the slot that it shows.
pub type Shown = (Arc<Whole>, Option<u64>);

pub async fn respond(state: &ApiState, asked: Asked, answer: Result<Shown, ApiError>) -> Response {
    let (mut response, slot) = match answer {
        Ok((body, slot)) => (asked.answer(&body), slot),
        Err(error) => (asked.complete(error.into_response()).await, state.mirror_slot().get().await),
    };
    indexed_slot::set(&mut response, slot);
    response
}

/// A read of rows that the client alone may see. The slot is read before them, so they are at least as new. A part that
/// is from memory can be older: then its slot comes with the body.
pub async fn read(
    state: &ApiState,
    rows: impl Future<Output = Result<(Whole, Option<u64>), ApiError>>,
) -> Result<Shown, ApiError> {
    if let Some(refusal) = state.freshness().refusal().await {
        return Err(refusal);
    }
    let slot = state.mirror_slot().get().await;
    let (body, slot_of_memory) = limited(rows).await?;
    Ok((Arc::new(body), slot.map(|slot| slot.min(slot_of_memory.unwrap_or(slot)))))
}

/// Ends a read that takes too long.
pub async fn limited<T>(read: impl Future<Output = Result<T, ApiError>>) -> Result<T, ApiError> {
    let answer = tokio::time::timeout(READ_LIMIT, read).await;
    answer.unwrap_or_else(|_| Err(ApiError::unavailable("a read took too long")))
}
