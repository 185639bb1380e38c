//! The read API: agents, executions, wallets, the network, and the status of the mirror.

mod agent_answers;
mod agent_documents;
mod agent_history;
pub mod agent_list;
mod agent_metrics;
mod agent_names;
mod agent_reads;
mod agents;
mod bare;
mod caching;
mod connections;
mod deployment;
mod digest;
mod digest_answer;
mod dispute_transactions;
mod disputes;
mod execution_questions;
mod executions;
mod freshness;
mod gathered;
mod history;
mod history_response;
mod holdings;
mod indexed_slot;
mod kept;
mod list_agents;
mod list_agents_response;
mod listing_reason;
mod listings;
mod mirror_slot;
mod names;
mod network;
mod network_response;
mod paging;
mod state;
mod status;
mod status_problems;
mod status_response;
mod types;
mod wallet_response;
mod wallets;

use axum::{
    Router,
    extract::{Request, State},
    middleware::{self, Next},
    response::{IntoResponse, Response},
};
use utoipa::OpenApi;
use utoipa_axum::{router::OpenApiRouter, routes};

pub use deployment::Deployment;
pub use freshness::DEFAULT_MAX_LAG;
pub use indexed_slot::INDEXED_SLOT;
pub use state::ApiState;

#[derive(OpenApi)]
#[openapi(info(
    title = "crtx",
    description = "Agent Marketplace Execution API: browse agents, pay per call, verify results."
))]
struct Description;

fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(agent_history::get_agent_history))
        .routes(routes!(listings::get_listing))
        .routes(routes!(disputes::list_disputes))
        .routes(routes!(disputes::get_dispute))
        .routes(routes!(status::status))
        .routes(routes!(digest::digest))
        .routes(routes!(wallets::get_wallet))
        .routes(routes!(history::get_wallet_history))
        .routes(routes!(network::network))
        .routes(routes!(history::market_history))
}

/// Endpoints that do themselves what the layers do for all others: they are asked most, and each layer costs time.
fn bare_routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list_agents::list_agents))
        .routes(routes!(agents::get_agent))
        .routes(routes!(executions::list_executions))
        .routes(routes!(executions::get_execution))
}

/// The read endpoints. The router has no fallback, so that it can be merged with others; pass the result through
/// [`crtx_http::finish`].
pub fn router(state: ApiState) -> Router {
    state.agent_list().start();
    let (router, bare) = (routes().split_for_parts().0, bare_routes().split_for_parts().0);
    router
        .layer(middleware::from_fn_with_state(state.clone(), refuse_stale))
        .layer(middleware::from_fn(within_limit))
        .layer(middleware::from_fn(caching::with_caching))
        .layer(middleware::from_fn_with_state(state.clone(), indexed_slot::with_indexed_slot))
        .merge(bare)
        .with_state(state)
}

/// The description of the read endpoints.
pub fn openapi() -> utoipa::openapi::OpenApi {
    let openapi = routes().merge(bare_routes()).split_for_parts().1;
    crtx_http::docs::with_not_modified(crtx_http::docs::with_security(openapi))
}

/// Paths that say how the service is, and what it is. They answer also from an old mirror.
const ALWAYS_ANSWERED: [&str; 3] = ["/v1/status", "/v1/digest", "/v1/network"];

/// Answers 503 `stale` in place of rows that are too old.
async fn refuse_stale(State(state): State<ApiState>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let always = ALWAYS_ANSWERED.iter().any(|prefix| path.starts_with(prefix));
    match state.freshness().refusal().await.filter(|_| !always) {
        Some(refusal) => refusal.into_response(),
        None => next.run(request).await,
    }
}

async fn within_limit(request: Request, next: Next) -> Response {
    let answer = bare::limited(async { Ok(next.run(request).await) }).await;
    answer.unwrap_or_else(IntoResponse::into_response)
}
