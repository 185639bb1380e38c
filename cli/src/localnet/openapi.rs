//! The one description of both services' endpoints, as `crtx up` serves it and the repository keeps it.

use utoipa::openapi::OpenApi;

pub fn description() -> OpenApi {
    let mut description = crtx_indexer::api::openapi();
    description.merge(crtx_gateway::api::openapi());
    description
}

/// Prints it, for `docs/openapi.json`.
pub fn print() -> anyhow::Result<()> {
    println!("{}", description().to_pretty_json()?);
    Ok(())
}
