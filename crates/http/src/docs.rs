//! The service's description: `/openapi.json` and a browsable page at `/docs`.

use axum::{Router, body::Bytes, http::header, routing::get};
use utoipa::openapi::{
    OpenApi,
    security::{ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityScheme},
};
use utoipa_swagger_ui::{Config, SwaggerUi};

use crate::credentials;

/// Name of the security scheme that handlers refer to: `security(("api_key" = []))`.
pub const API_KEY: &str = "api_key";
/// The same for the session of a wallet, as a bearer token and as a cookie.
pub const SESSION: &str = "session";
pub const SESSION_COOKIE: &str = "session_cookie";

/// Adds how API keys and sessions are sent.
#[must_use]
pub fn with_security(mut openapi: OpenApi) -> OpenApi {
    let mut scheme = Http::new(HttpAuthScheme::Bearer);
    scheme.description = Some("`Authorization: Bearer crtx_live_…` (mainnet) or `crtx_test_…` (devnet, local)".into());
    let mut session = Http::new(HttpAuthScheme::Bearer);
    session.description = Some("`Authorization: Bearer crtx_session_…`, from `POST /v1/sign-in`".into());
    let cookie = "From `POST /v1/sign-in`. Unsafe methods also need the header `X-CSRF-Token`.";
    let cookie = ApiKey::Cookie(ApiKeyValue::with_description(credentials::SESSION_COOKIE, cookie));
    let components = openapi.components.get_or_insert_default();
    components.add_security_scheme(API_KEY, SecurityScheme::Http(scheme));
    components.add_security_scheme(SESSION, SecurityScheme::Http(session));
    components.add_security_scheme(SESSION_COOKIE, SecurityScheme::ApiKey(cookie));
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
