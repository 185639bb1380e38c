//! The description of every HTTP endpoint, as the services serve it and `docs/openapi.json` keeps it.

use crtx_http::{docs::with_refusals, formats::with_formats};
use utoipa::openapi::OpenApi;

use crate::readiness;

pub fn description() -> OpenApi {
    let mut description = crtx_api::openapi();
    description.merge(crtx_gateway::api::openapi());
    description.merge(readiness::openapi());
    with_formats(with_refusals(description))
}
