//! The service's description: `/openapi.json` and a browsable page at `/docs`.

use axum::{Router, body::Bytes, http::header, routing::get};
use utoipa::openapi::{
    OpenApi,
    security::{Http, HttpAuthScheme, SecurityScheme},
};
use utoipa_swagger_ui::{Config, SwaggerUi};

/// Name of the security scheme that handlers refer to: `security(("api_key" = []))`.
pub const API_KEY: &str = "api_key";

/// Adds how API keys are sent.
#[must_use]
pub fn with_security(mut openapi: OpenApi) -> OpenApi {
    let mut scheme = Http::new(HttpAuthScheme::Bearer);
    scheme.description = Some("`Authorization: Bearer crtx_live_…` (mainnet) or `crtx_test_…` (devnet, local)".into());
    openapi.components.get_or_insert_default().add_security_scheme(API_KEY, SecurityScheme::Http(scheme));
    openapi
}

/// Serves the description. The page loads scripts from this origin alone.
pub fn router(openapi: OpenApi) -> Router {
    let config = Config::from("/openapi.json").validator_url("none").persist_authorization(false);
    // Serialised once, because it is long and anybody may request it.
    let text = Bytes::from(serde_json::to_vec(&openapi).unwrap_or_default());
    let describe = move || async move { ([(header::CONTENT_TYPE, "application/json")], text) };
    Router::from(SwaggerUi::new("/docs").config(config)).route("/openapi.json", get(describe))
}
