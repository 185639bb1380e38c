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

/// Status and description of the errors that operations have in common.
type Answers = &'static [(&'static str, &'static str)];

const NO_DATABASE: (&str, &str) = ("503", "`unavailable`: no database; `Retry-After`");
/// What every read answers: parameters that it does not know are refused, and its rows are in the database.
const OF_READS: Answers = &[("400", "`invalid_request`: a query parameter"), NO_DATABASE];
/// What every operation with a credential answers, which is looked up in the database.
const OF_CREDENTIALS: Answers = &[
    ("400", "`invalid_request`"),
    ("401", "`unauthorized`"),
    ("429", "`rate_limited`: too many credentials from this address that are not known"),
    NO_DATABASE,
];
/// What an operation that changes something answers to a session's cookie that another site can have sent.
const OF_COOKIES: Answers = &[("403", "`forbidden`: the cookie without `X-CSRF-Token`, or from a foreign page")];
/// What every operation with a body of JSON answers.
const OF_JSON: Answers =
    &[("413", "`payload_too_large`"), ("415", "`unsupported_media_type`: the content type is not JSON")];
/// What the server answers to a request that is too long for any endpoint.
const TOO_LONG: Answers = &[
    ("414", "`uri_too_long`: the request target is longer than 8 KiB"),
    ("431", "`headers_too_large`: request line and header fields are larger than 32 KiB, or more than 100 fields"),
];

/// Adds what operations have in common: how API keys and sessions are sent, that a session's request can name its wallet,
/// and the errors that follow from credential, method and body. What an operation itself says of an error stays.
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
    for (operation, is_get) in openapi.paths.paths.values_mut().flat_map(operations) {
        let takes_session = operation.security.iter().flatten().any(|requirement| *requirement == session);
        if operation.security.is_some() {
            add(operation, OF_CREDENTIALS);
        }
        if takes_session && !is_get {
            add(operation, OF_COOKIES);
        }
        if matches!(&operation.request_body, Some(RefOr::T(body)) if body.content.contains_key("application/json")) {
            add(operation, OF_JSON);
        }
        add(operation, TOO_LONG);
        if takes_session {
            name_the_wallet(operation);
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
}

/// Adds what the reads of the mirror have in common: their errors, and the answer to a client that has the same answer
/// already ([`crate::caching`]).
#[must_use]
pub fn with_answers_of_reads(mut openapi: OpenApi) -> OpenApi {
    for operation in openapi.paths.paths.values_mut().filter_map(|item| item.get.as_mut()) {
        add(operation, OF_READS);
        let described = operation.responses.responses.entry("304".to_owned());
        let unchanged = ResponseBuilder::new().description("`If-None-Match` names this answer").build();
        described.or_insert_with(|| RefOr::T(unchanged));
    }
    openapi
}

/// The operations of a path, and whether each is its GET.
fn operations(item: &mut PathItem) -> impl Iterator<Item = (&mut Operation, bool)> {
    let PathItem { get, put, post, delete, options, head, patch, trace, .. } = item;
    let others = [put, post, delete, options, head, patch, trace].into_iter().flatten();
    get.iter_mut().map(|operation| (operation, true)).chain(others.map(|operation| (operation, false)))
}

/// Adds the answers of these statuses that the operation does not describe itself.
fn add(operation: &mut Operation, answers: Answers) {
    for &(status, description) in answers {
        let described = operation.responses.responses.entry(status.to_owned());
        described.or_insert_with(|| RefOr::T(refusal(description)));
    }
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
