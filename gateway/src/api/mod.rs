//! The gateway's endpoints.

mod agent_tests;
mod answer;
mod content;
mod dispatch;
mod evidence;
mod execute;
mod keys;
mod metadata;
mod sessions;
mod sign_in;
mod webhooks;

use axum::Router;
use utoipa::OpenApi;
use utoipa_axum::{router::OpenApiRouter, routes};

pub use content::MAX_PIECE_BYTES;

use crate::gateway::Gateway;

#[derive(OpenApi)]
#[openapi(info(title = "crtx", description = "Agent Marketplace Execution API: pay per call, get a verified result."))]
struct GatewayDescription;

fn routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::with_openapi(GatewayDescription::openapi())
        .routes(routes!(execute::execute))
        .routes(routes!(dispatch::dispatch_execution))
        .routes(routes!(content::get, content::put))
        .routes(routes!(evidence::create_evidence))
        .routes(routes!(metadata::create_metadata))
        .routes(routes!(agent_tests::test_agent))
        .routes(routes!(sign_in::challenge))
        .routes(routes!(sign_in::sign_in))
        .routes(routes!(sessions::list))
        .routes(routes!(sessions::get, sessions::end))
        .routes(routes!(keys::register, keys::list))
        .routes(routes!(keys::rename, keys::revoke))
        .routes(routes!(webhooks::create, webhooks::list))
        .routes(routes!(webhooks::change, webhooks::delete))
        .routes(routes!(webhooks::test))
        .routes(routes!(webhooks::rotate))
        .routes(routes!(webhooks::deliveries))
        .routes(routes!(webhooks::replay, webhooks::cancel_replay))
}

/// The gateway's endpoints, without a fallback: others are merged with them, and [`crtx_http::finish`] adds it.
pub fn router(gateway: Gateway) -> Router {
    routes().split_for_parts().0.with_state(gateway)
}

/// The description of the gateway's endpoints.
pub fn openapi() -> utoipa::openapi::OpenApi {
    routes().split_for_parts().1
}
