//! The service's description: `/openapi.json`. The dashboard shows it to people at `/docs`.

use axum::{Router, body::Bytes, http::header, routing::get};
use utoipa::openapi::{
    ContentBuilder, OpenApi, Ref, RefOr, Response, ResponseBuilder,
    path::{Operation, ParameterBuilder, ParameterIn, PathItem},
    schema::{ObjectBuilder, Type},
    security::{ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityRequirement, SecurityScheme},
};

use crate::{formats, site};

/// Name of the security scheme that handlers refer to: `security(("api_key" = []))`.
pub const API_KEY: &str = "api_key";
/// The same for the session of a wallet, as a bearer token and as a cookie.
pub const SESSION: &str = "session";
pub const SESSION_COOKIE: &str = "session_cookie";

const MEANT_WALLET: &str = "The wallet that the session has to be of. Only sessions are compared";
const ANOTHER_WALLET: &str = "`conflict`: the session is of another wallet than `X-Crtx-Wallet` names";

/// The answer to a client that presents many credentials that are not known.
const UNKNOWN_CREDENTIALS: &str = "`rate_limited`: too many credentials from this address that are not known";
/// What the server answers to a request that is too long for any endpoint.
const TOO_LONG: [(&str, &str); 2] = [
    ("414", "`uri_too_long`: the request target is longer than 8 KiB"),
    ("431", "`headers_too_large`: request line and header fields are larger than 32 KiB, or more than 100 fields"),
];

/// Adds what holds for every operation: how API keys and sessions are sent, that a session's request can name its wallet,
/// and the answers that the server gives before an endpoint is asked.
#[must_use]
pub fn completed(mut openapi: OpenApi) -> OpenApi {
    let mut scheme = Http::new(HttpAuthScheme::Bearer);
    scheme.description = Some("`Authorization: Bearer crtx_live_…` (mainnet) or `crtx_test_…` (devnet, local)".into());
    let mut session = Http::new(HttpAuthScheme::Bearer);
    session.description = Some("`Authorization: Bearer crtx_session_…`, from `POST /v1/sign-in`".into());
    let cookie = "From `POST /v1/sign-in`; on https its name is `__Host-crtx_session`. Unsafe methods also need the header `X-CSRF-Token`.";
    let cookie = ApiKey::Cookie(ApiKeyValue::with_description(site::SESSION_COOKIE, cookie));
    let components = openapi.components.get_or_insert_default();
    components.add_security_scheme(API_KEY, SecurityScheme::Http(scheme));
    components.add_security_scheme(SESSION, SecurityScheme::Http(session));
    components.add_security_scheme(SESSION_COOKIE, SecurityScheme::ApiKey(cookie));
    let session = SecurityRequirement::new::<_, [&str; 0], &str>(SESSION, []);
    for operation in openapi.paths.paths.values_mut().flat_map(operations) {
        if operation.security.iter().flatten().any(|requirement| *requirement == session) {
            name_the_wallet(operation);
        }
        let unknown = operation.security.as_ref().map(|_| ("429", UNKNOWN_CREDENTIALS));
        for (status, description) in unknown.into_iter().chain(TOO_LONG) {
            let described = operation.responses.responses.entry(status.to_owned());
            described.or_insert_with(|| RefOr::T(refusal(description)));
        }
    }
    formats::with_formats(openapi)
}

fn name_the_wallet(operation: &mut Operation) {
    let address = ObjectBuilder::new().schema_type(Type::String);
    let header = ParameterBuilder::new()
        .name(formats::MEANT_WALLET)
        .parameter_in(ParameterIn::Header)
        .description(Some(MEANT_WALLET))
        .schema(Some(address));
    operation.parameters.get_or_insert_default().push(RefOr::T(header.build()));
    let answers = &mut operation.responses.responses;
    match answers.entry("409".to_owned()).or_insert_with(|| RefOr::T(refusal(ANOTHER_WALLET))) {
        RefOr::T(answer) if !answer.description.contains(ANOTHER_WALLET) => {
            answer.description = format!("{}; {ANOTHER_WALLET}", answer.description);
        }
        _ => {}
    }
    answers.entry("400".to_owned()).or_insert_with(|| RefOr::T(refusal("`invalid_request`: a header")));
}

/// Adds the answer to a read whose client has the same answer already ([`crate::caching`]).
#[must_use]
pub fn with_not_modified(mut openapi: OpenApi) -> OpenApi {
    for operation in openapi.paths.paths.values_mut().filter_map(|item| item.get.as_mut()) {
        let described = operation.responses.responses.entry("304".to_owned());
        let unchanged = ResponseBuilder::new().description("`If-None-Match` names this answer").build();
        described.or_insert_with(|| RefOr::T(unchanged));
    }
    openapi
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem { get, put, post, delete, options, head, patch, trace, .. } = item;
    [get, put, post, delete, options, head, patch, trace].into_iter().flatten()
}

fn refusal(description: &str) -> Response {
    let body = ContentBuilder::new().schema(Some(Ref::from_schema_name("ErrorBody"))).build();
    ResponseBuilder::new().description(description).content("application/json", body).build()
}

/// Serves the description.
pub fn router(openapi: OpenApi) -> Router {
    // Serialised once, because it is long and anybody may request it.
    let text = Bytes::from(serde_json::to_vec(&openapi).unwrap_or_default());
    let describe = move || async move { ([(header::CONTENT_TYPE, "application/json")], text) };
    Router::new().route("/openapi.json", get(describe))
}
