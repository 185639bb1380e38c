//! Reads a call from a caller: body, `Idempotency-Key`, and their meaning. It is checked before any work starts.

use axum::http::HeaderMap;
use crtx_http::{ApiError, extract::parse_object};
use crtx_protocol::{
    execution_id::is_idempotency_key,
    request_hash,
    strict_json::{self, JsonError},
    usdc::UsdcBase,
};
use crtx_store::executions::{Call, CallRequest};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use solana_pubkey::Pubkey;
use utoipa::ToSchema;
use uuid::Uuid;

pub const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// Body of `POST /v1/agents/{agent_id}/execute` and `POST /v1/executions/{execution_id}/dispatch`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecuteBody {
    /// Free text.
    #[schema(min_length = 1)]
    task: String,
    /// Matches the agent's `input_schema`. Default: an empty object.
    #[schema(value_type = Option<Object>)]
    parameters: Option<Map<String, Value>>,
    /// If true, the answer is sent when the escrow is confirmed.
    #[serde(rename = "async")]
    is_async: Option<bool>,
}

/// A well-formed request. The agent's schema is checked later.
#[derive(Clone, Debug, PartialEq)]
pub struct ReceivedCall {
    pub request: CallRequest,
    pub is_async: bool,
    pub request_hash: [u8; 32],
    /// Hash of agent, task, parameters and mode, to which an idempotency key is bound.
    pub body_hash: [u8; 32],
}

#[derive(Serialize)]
struct Bound<'a> {
    agent_id: String,
    r#async: bool,
    parameters: &'a Map<String, Value>,
    task: &'a str,
}

impl ReceivedCall {
    /// Parses a body. Every error is 400 and names the problem.
    pub fn parse(agent: &Pubkey, bytes: &[u8]) -> Result<Self, ApiError> {
        // Before the parser, which refuses some of these numbers without saying where they are.
        if let Err(JsonError::Inexact { path }) = strict_json::check_numbers(bytes) {
            return Err(ApiError::invalid(&path, strict_json::INEXACT));
        }
        let ExecuteBody { task, parameters, is_async } = parse_object(bytes)?;
        if task.is_empty() {
            return Err(ApiError::invalid("task", "must not be empty"));
        }
        let (parameters, is_async) = (parameters.unwrap_or_default(), is_async.unwrap_or(false));
        let request_hash = request_hash::of(&task, &parameters).map_err(bad_number)?;
        let bound = Bound { agent_id: agent.to_string(), r#async: is_async, parameters: &parameters, task: &task };
        let body_hash = Sha256::digest(serde_json_canonicalizer::to_vec(&bound).map_err(bad_number)?).into();
        Ok(Self { request: CallRequest { task, parameters }, is_async, request_hash, body_hash })
    }

    /// The request as a call whose escrow the wallet itself opens, and whose terms are not known yet.
    pub fn into_call(self, record: Pubkey, execution_id: Uuid, caller: Pubkey, agent: Pubkey) -> Call {
        Call {
            record,
            execution_id,
            caller,
            agent,
            session_key: None,
            idempotency_key: None,
            body_hash: self.body_hash,
            is_async: self.is_async,
            request: self.request,
            request_hash: self.request_hash,
            amount: UsdcBase(0),
            timeout_seconds: 0,
            endpoint: String::new(),
        }
    }
}

fn bad_number(error: serde_json::Error) -> ApiError {
    ApiError::invalid("parameters", format!("holds a number that JSON cannot express: {error}"))
}

/// Returns the `Idempotency-Key` header, if present: 1 to 255 visible ASCII characters, once.
pub fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let bytes = value.as_bytes();
    if !is_idempotency_key(bytes) || values.next().is_some() {
        return Err(ApiError::invalid("Idempotency-Key", "must be sent once, with 1 to 255 visible ASCII characters"));
    }
    Ok(Some(String::from_utf8_lossy(bytes).into_owned()))
}

#[cfg(test)]
mod tests {
    use crtx_http::ErrorCode;

    use super::*;

    const AGENT: Pubkey = Pubkey::new_from_array([1; 32]);

    fn parse(body: &str) -> Result<ReceivedCall, ApiError> {
        ReceivedCall::parse(&AGENT, body.as_bytes())
    }

    #[test]
    fn bodies_with_the_same_meaning_have_the_same_hash() {
        let a = parse(r#"{"task":"t","parameters":{"a":1.0,"b":"x"}}"#).expect("good");
        let b = parse(r#"{ "parameters": {"b":"\u0078","a":1}, "task":"t", "async": false}"#).expect("good");
        assert_eq!((a.body_hash, a.request_hash), (b.body_hash, b.request_hash));
        assert_eq!(parse(r#"{"task":"t"}"#).expect("good"), parse(r#"{"task":"t","parameters":{}}"#).expect("good"));
    }

    #[test]
    fn a_number_that_would_share_the_hash_of_another_is_refused_by_name() {
        let at = |number: &str| parse(&format!(r#"{{"task":"t","parameters":{{"a":[{{"b":{number}}}]}}}}"#));
        for number in ["9007199254740993", "1e400", "1e-400", "0.1000000000000000055511151231257827"] {
            let error = at(number).expect_err(number);
            assert_eq!(error.code, ErrorCode::InvalidRequest, "{number}");
            let message = error.message;
            assert!(message.contains("`parameters/a/0/b`") && message.contains("send it as text"), "{message}");
        }
        for number in ["9007199254740992", "0.1", "-0", "1e300", "\"9007199254740993\""] {
            assert!(at(number).is_ok(), "{number}");
        }
    }

    #[test]
    fn an_idempotency_key_is_bound_to_agent_task_parameters_and_mode() {
        let body = r#"{"task":"t"}"#;
        let hash = parse(body).expect("good").body_hash;
        let other_agent = ReceivedCall::parse(&Pubkey::new_from_array([2; 32]), body.as_bytes()).expect("good");
        assert_ne!(other_agent.body_hash, hash);
        for other in [r#"{"task":"u"}"#, r#"{"task":"t","async":true}"#, r#"{"task":"t","parameters":{"a":1}}"#] {
            assert_ne!(parse(other).expect("good").body_hash, hash, "{other}");
        }
    }

    #[test]
    fn a_malformed_body_is_refused_by_name() {
        for (body, named) in [
            ("", "body"),
            ("[]", "object"),
            (r#"["t"]"#, "object"),
            ("null", "object"),
            (r#"{"task":"#, "body"),
            ("{}", "`task`"),
            (r#"{"task":1}"#, "`task`"),
            (r#"{"task":""}"#, "`task`"),
            (r#"{"task":"t","parameters":[]}"#, "`parameters`"),
            (r#"{"task":"t","async":"yes"}"#, "`async`"),
            (r#"{"task":"t","more":1}"#, "`more`"),
            (r#"{"task":"t","task":"u"}"#, "`task`"),
        ] {
            let error = parse(body).expect_err(body);
            assert_eq!(error.code, ErrorCode::InvalidRequest, "{body}");
            assert!(error.message.contains(named), "{body}: {}", error.message);
        }
        let deep = format!(r#"{{"task":"t","parameters":{{"a":{}{}}}}}"#, "[".repeat(5_000), "]".repeat(5_000));
        assert_eq!(parse(&deep).expect_err("deep").code, ErrorCode::InvalidRequest);
    }

    #[test]
    fn an_idempotency_key_is_short_visible_ascii() {
        let read = |value: &[u8]| {
            let mut headers = HeaderMap::new();
            headers.insert(IDEMPOTENCY_KEY, axum::http::HeaderValue::from_bytes(value).expect("header"));
            idempotency_key(&headers)
        };
        assert_eq!(idempotency_key(&HeaderMap::new()), Ok(None));
        assert_eq!(read(b"order-7"), Ok(Some("order-7".to_owned())));
        assert!(read(&[b'x'; 255]).is_ok());
        for bad in [&b""[..], b"a b", b"\xc3\xa9", &[b'x'; 256]] {
            assert!(read(bad).is_err(), "{bad:?}");
        }
    }
}
