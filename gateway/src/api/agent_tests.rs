//! `POST /v1/agent-tests`: the test of a creator's endpoint.

use agent_marketplace::state::{DEFAULT_TIMEOUT_S, MAX_TIMEOUT_S, MIN_TIMEOUT_S};
use axum::{Extension, Json, extract::State};
use crtx_conformance::{Example, Report, TestedEndpoint};
use crtx_http::{ApiError, ApiJson, ApiQuery, ErrorBody, Peer, SignedIn};
use crtx_protocol::metadata::MAX_ENDPOINT_CHARS;
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::gateway::Gateway;

/// Largest body. A listing's document with its schemas is smaller.
const MAX_BODY_BYTES: usize = 1024 * 1024;

/// Body of `POST /v1/agent-tests`: an endpoint, what its listing will say, and a request that it completes.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentTestBody {
    /// Full URL of the creator's service.
    #[schema(max_length = 2048)]
    endpoint: String,
    /// The Ed25519 public key of result signatures, in base58.
    result_key: String,
    /// Whether results are signed for the call. Default: false.
    binding: Option<bool>,
    /// JSON Schema of `parameters`.
    #[schema(value_type = Object)]
    input_schema: Value,
    /// JSON Schema of the result.
    #[schema(value_type = Object)]
    output_schema: Value,
    /// A task that the agent completes.
    #[schema(min_length = 1)]
    task: String,
    /// Default: an empty object.
    #[schema(value_type = Option<Object>)]
    parameters: Option<Map<String, Value>>,
    /// The listing's time-out. Default: 60.
    #[schema(minimum = 1, maximum = 900)]
    timeout_seconds: Option<u32>,
    /// A request that the agent must answer with `failed`.
    failing: Option<FailingExample>,
}

/// A request that the agent must answer with `failed`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FailingExample {
    #[schema(min_length = 1)]
    task: String,
    /// Default: an empty object.
    #[schema(value_type = Option<Object>)]
    parameters: Option<Map<String, Value>>,
}

/// Tests a creator's endpoint with synthetic requests, without any transaction, and reports every check. At most 11
/// requests are sent, 4 of them at a time. It takes up to five minutes if the endpoint answers slowly; a client that
/// disconnects ends it.
#[utoipa::path(
    post,
    path = "/v1/agent-tests",
    operation_id = "test_agent",
    tag = "agents",
    security(("session" = []), ("session_cookie" = [])),
    request_body = AgentTestBody,
    responses(
        (status = 200, description = "The report, whether the endpoint passed or not", body = Report),
        (status = 400, description = "`invalid_request`: a field is missing, unknown or malformed", body = ErrorBody),
        (status = 401, description = "`unauthorized`: no session of a wallet that signed in", body = ErrorBody),
        (status = 403, description = "`forbidden`: the request is from another site, or has no CSRF token", body = ErrorBody),
        (status = 408, description = "`request_timeout`: the body did not arrive in time", body = ErrorBody),
        (status = 413, description = "`payload_too_large`: more than 1 MiB", body = ErrorBody),
        (status = 429, description = "`rate_limited`: a test of the wallet, the client or the host is under way, or there were too many, or too long ones, of them or in all", body = ErrorBody),
        (status = 503, description = "`unavailable`; `Retry-After`", body = ErrorBody),
    )
)]
pub async fn test_agent(
    State(gateway): State<Gateway>,
    session: SignedIn,
    peer: Option<Extension<Peer>>,
    ApiQuery(()): ApiQuery<()>,
    ApiJson(body): ApiJson<AgentTestBody, MAX_BODY_BYTES>,
) -> Result<Json<Report>, ApiError> {
    let subject = subject(body)?;
    let tests = &gateway.agent_tests;
    let client = peer.map(|Extension(Peer(address))| address);
    let _admitted = tests.admit(session.wallet, client, &subject.endpoint).await?;
    let report = crtx_conformance::run(&subject, &tests.outbound).await;
    Ok(Json(report.map_err(ApiError::unavailable)?))
}

fn subject(body: AgentTestBody) -> Result<TestedEndpoint, ApiError> {
    if body.endpoint.chars().nth(MAX_ENDPOINT_CHARS).is_some() {
        return Err(ApiError::invalid("endpoint", format!("must have at most {MAX_ENDPOINT_CHARS} characters")));
    }
    let key = body.result_key.parse();
    let result_key = key.map_err(|_| ApiError::invalid("result_key", "must be 32 bytes in base58"))?;
    let timeout_seconds = body.timeout_seconds.unwrap_or(DEFAULT_TIMEOUT_S);
    if !(MIN_TIMEOUT_S..=MAX_TIMEOUT_S).contains(&timeout_seconds) {
        let problem = format!("must be from {MIN_TIMEOUT_S} to {MAX_TIMEOUT_S}");
        return Err(ApiError::invalid("timeout_seconds", problem));
    }
    for (name, schema) in [("input_schema", &body.input_schema), ("output_schema", &body.output_schema)] {
        if !schema.is_object() {
            return Err(ApiError::invalid(name, "must be a JSON Schema object"));
        }
    }
    let failing = body.failing.map(|failing| example("failing.task", failing.task, failing.parameters)).transpose()?;
    Ok(TestedEndpoint {
        endpoint: body.endpoint,
        result_key,
        binding: body.binding.unwrap_or(false),
        input_schema: body.input_schema,
        output_schema: body.output_schema,
        timeout_seconds,
        example: example("task", body.task, body.parameters)?,
        failing,
    })
}

fn example(field: &str, task: String, parameters: Option<Map<String, Value>>) -> Result<Example, ApiError> {
    if task.is_empty() {
        return Err(ApiError::invalid(field, "must not be empty"));
    }
    Ok(Example { task, parameters: parameters.unwrap_or_default() })
}
