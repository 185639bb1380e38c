//! The read API: agents, executions, wallets, the network, and the status of the mirror.

mod agents;
mod cache;
mod deployment;
mod dispute_transactions;
mod disputes;
mod executions;
mod flights;
mod holdings;
mod lanes;
mod mirror_slot;
mod network;
mod network_response;
mod state;
mod status;
mod status_response;
mod totals;
mod types;
mod wallet_response;
mod wallets;

use std::time::Duration;

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderName, HeaderValue},
    middleware::{self, Next},
    response::{IntoResponse, Response},
};
use crtx_http::ApiError;
use utoipa::OpenApi;
use utoipa_axum::{router::OpenApiRouter, routes};

pub use deployment::Deployment;
pub use state::IndexerApiState;

/// The slot that the mirror has reached, on every answer of the read API.
pub const INDEXED_SLOT: HeaderName = HeaderName::from_static("x-indexed-slot");

/// The longest time that a read may take.
const READ_LIMIT: Duration = Duration::from_secs(10);

#[derive(OpenApi)]
#[openapi(info(
    title = "crtx",
    description = "Agent Marketplace Execution API: browse agents, pay per call, verify results."
))]
struct Description;

fn routes() -> OpenApiRouter<IndexerApiState> {
    OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(agents::list_agents))
        .routes(routes!(agents::get_agent))
        .routes(routes!(executions::list_executions))
        .routes(routes!(executions::get_execution))
        .routes(routes!(disputes::list_disputes))
        .routes(routes!(disputes::get_dispute))
        .routes(routes!(status::status))
        .routes(routes!(wallets::get_wallet))
        .routes(routes!(network::network))
}

/// The read endpoints. The router has no fallback, so that it can be merged with others; pass the result through
/// [`crtx_http::finish`].
pub fn router(state: IndexerApiState) -> Router {
    let (router, _) = routes().split_for_parts();
    router
        .layer(middleware::from_fn(within_limit))
        .layer(middleware::from_fn_with_state(state.clone(), with_indexed_slot))
        .with_state(state)
}

/// The description of the read endpoints.
pub fn openapi() -> utoipa::openapi::OpenApi {
    crtx_http::docs::with_security(routes().split_for_parts().1)
}

/// Sets `x-indexed-slot`. The slot is read before the rows, so the rows are at least as new.
async fn with_indexed_slot(State(state): State<IndexerApiState>, request: Request, next: Next) -> Response {
    let slot = state.mirror_slot().get().await;
    let mut response = next.run(request).await;
    if let Some(slot) = slot {
        response.headers_mut().insert(INDEXED_SLOT, HeaderValue::from(slot));
    }
    response
}

async fn within_limit(request: Request, next: Next) -> Response {
    let answer = tokio::time::timeout(READ_LIMIT, next.run(request)).await;
    answer.unwrap_or_else(|_| ApiError::unavailable("a read took too long").into_response())
}
