//! The gateway's endpoints.

mod answer;
mod content;
mod execute;

use axum::Router;
use utoipa::OpenApi;
use utoipa_axum::{router::OpenApiRouter, routes};

pub use answer::{ExecuteAnswer, ExecuteStatus, StatusAnswer};

use crate::gateway::Gateway;

#[derive(OpenApi)]
#[openapi(info(title = "crtx", description = "Agent Marketplace Execution API: pay per call, get a verified result."))]
struct Description;

fn routes() -> OpenApiRouter<Gateway> {
    OpenApiRouter::with_openapi(Description::openapi()).routes(routes!(execute::execute)).routes(routes!(content::get))
}

/// The gateway's endpoints. Has no fallback, so that it can be merged with other routers; pass the result
/// through [`crtx_http::finish`].
pub fn router(gateway: Gateway) -> Router {
    routes().split_for_parts().0.with_state(gateway)
}

/// The description of the gateway's endpoints.
pub fn openapi() -> utoipa::openapi::OpenApi {
    crtx_http::docs::with_security(routes().split_for_parts().1)
}
