//! The read API: agents, executions, wallets, the network, and the status of the mirror.

mod agent_health;
pub mod agent_list;
mod agent_names;
mod agents;
mod badge;
mod connections;
mod deployment;
mod digest;
mod dispute_transactions;
mod disputes;
mod events;
mod execution_totals;
mod executions;
mod freshness;
mod history;
mod holdings;
mod kept;
mod kept_agents;
mod layers;
mod list_agents;
mod listings;
mod network;
mod paging;
mod state;
mod status;
mod types;
mod wallets;

use axum::{Router, middleware::from_fn_with_state, routing::get};
use utoipa::OpenApi;
use utoipa_axum::{router::OpenApiRouter, routes};

pub use deployment::Deployment;
pub use freshness::DEFAULT_MAX_LAG;
pub use layers::INDEXED_SLOT;
pub use state::ApiState;

// The path of a badge ends in `.svg`, which a route cannot say.
#[derive(OpenApi)]
#[openapi(
    paths(badge::get_badge),
    info(
        title = "crtx",
        description = "Agent Marketplace Execution API: browse agents, pay per call, verify results."
    )
)]
struct ReadDescription;

/// Endpoints that show rows of the mirror.
fn rows() -> OpenApiRouter<ApiState> {
    OpenApiRouter::with_openapi(ReadDescription::openapi())
        .routes(routes!(list_agents::list_agents))
        .routes(routes!(agents::get_agent))
        .routes(routes!(agents::get_agent_history))
        .routes(routes!(agent_health::get_agent_health))
        .routes(routes!(listings::get_listing))
        .routes(routes!(executions::list_executions))
        .routes(routes!(execution_totals::get_execution_totals))
        .routes(routes!(executions::get_execution))
        .routes(routes!(disputes::list_disputes))
        .routes(routes!(disputes::get_dispute))
        .routes(routes!(wallets::get_wallet))
        .routes(routes!(history::get_wallet_history))
        .routes(routes!(history::market_history))
}

/// Endpoints about the service itself. They answer even if the mirror is too old; so do badges, which name their slot.
fn facts() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(status::status))
        .routes(routes!(digest::digest))
        .routes(routes!(network::network))
        .routes(routes!(events::list_events))
        .routes(routes!(events::stream::stream_events))
        .routes(routes!(events::stream::stream_execution_events))
}

/// The read endpoints. The router has no fallback, so that it can be merged with others; pass the result through
/// [`crtx_http::finish`].
pub fn router(state: ApiState) -> Router {
    state.agent_list().start();
    state.hub.start();
    let (rows, facts) = (rows().split_for_parts().0, facts().split_for_parts().0);
    rows.layer(from_fn_with_state(state.clone(), layers::refuse_stale))
        .merge(facts)
        .route("/badge/{file}", get(badge::get_badge))
        .layer(from_fn_with_state(state.clone(), layers::complete))
        .with_state(state)
}

/// The description of the read endpoints.
pub fn openapi() -> utoipa::openapi::OpenApi {
    let openapi = rows().merge(facts()).split_for_parts().1;
    crtx_http::docs::with_answers_of_reads(openapi)
}
