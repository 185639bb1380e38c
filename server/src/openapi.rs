//! The description of every HTTP endpoint, as the services serve it and `docs/openapi.json` keeps it.

use utoipa::openapi::OpenApi;

use crate::readiness;

pub fn description() -> OpenApi {
    let mut description = crtx_api::openapi();
    description.merge(crtx_gateway::api::openapi());
    description.merge(readiness::openapi());
    crtx_http::docs::completed(description)
}
