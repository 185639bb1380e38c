//! The creator's side of a call (specification 2.7): sending it, and believing nothing of the answer
//! that has not been checked. What is wrong with an answer is told in words a caller can act on.

use std::time::{Duration, Instant};

use agent_marketplace::state::FailureReason;
use crtx_http::{
    ErrorCode,
    outbound::{OutboundError, OutboundPolicy},
};
use crtx_protocol::result_hash::{ResultHash, parse_signature, verify_signature};
use crtx_store::executions::{Call, Delivered, Failure};
use reqwest::{Client, StatusCode, header};
use serde::Serialize;
use serde_json::{Map, Value};
use solana_pubkey::Pubkey;
use uuid::Uuid;

use crate::engine::REFUNDED;

/// Largest result, in bytes of UTF-8.
pub const MAX_RESULT_BYTES: usize = 1024 * 1024;
/// Largest answer: a result of control characters is six times as long in JSON, and steps come on top.
const MAX_ANSWER_BYTES: usize = 7 * 1024 * 1024;
/// Largest reasoning trace, as JSON. It is displayed and nothing else, so a larger one is left out.
const MAX_STEPS_BYTES: usize = 256 * 1024;
/// Longest error text of a creator that is passed on.
const MAX_ERROR_CHARS: usize = 500;
/// Largest number that every reader of JSON keeps exactly.
const MAX_JSON_INTEGER: u64 = (1 << 53) - 1;

/// Calls creators' services.
#[derive(Clone, Debug)]
pub struct Creators {
    policy: OutboundPolicy,
    http: Client,
}

#[derive(Serialize)]
struct ExecuteRequest<'a> {
    execution_id: Uuid,
    task: &'a str,
    parameters: &'a Map<String, Value>,
    user_pubkey: String,
    timeout_seconds: u32,
}

/// What came back, unchecked.
#[derive(Clone, Debug)]
pub struct Answer {
    body: Vec<u8>,
    /// From sending the call to the last byte of the answer.
    pub elapsed: Duration,
}

/// Why a call came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum CreatorError {
    #[error("the agent did not answer within {0} seconds")]
    Timeout(u64),
    #[error("the agent reported failure: {0}")]
    Reported(String),
    #[error("the agent's service could not be called: {0}")]
    NotCallable(#[from] OutboundError),
    #[error("the agent's service could not be reached")]
    Unreachable,
    #[error("the agent's service broke off the connection before it had answered")]
    Dropped,
    #[error("the agent's answer is larger than {MAX_ANSWER_BYTES} bytes")]
    AnswerTooLarge,
    #[error("the agent's answer breaks the contract: {0}")]
    Invalid(String),
}

impl CreatorError {
    /// What the program is told.
    pub const fn reason(&self) -> FailureReason {
        match self {
            Self::Timeout(_) => FailureReason::Timeout,
            Self::Reported(_) => FailureReason::CreatorFailed,
            _ => FailureReason::InvalidResponse,
        }
    }

    /// What the caller is told (specification, section 7).
    pub fn failure(&self) -> Failure {
        let code = match self {
            Self::Timeout(_) => ErrorCode::ExecutionTimeout,
            _ => ErrorCode::ExecutionFailed,
        };
        Failure {
            reason: Some(self.reason() as u8),
            status: code.status().as_u16(),
            code: code.as_str().to_owned(),
            message: format!("{self}; {REFUNDED}"),
        }
    }
}

impl Creators {
    /// `policy` decides which addresses are called at all.
    pub fn new(policy: OutboundPolicy) -> reqwest::Result<Self> {
        // Every request sets its own, shorter limit.
        Ok(Self { policy, http: policy.client(Duration::from_secs(3_600))? })
    }

    /// Sends the call and waits for at most `patience` for the whole answer, which is not believed yet.
    pub async fn ask(&self, call: &Call, patience: Duration) -> Result<Answer, CreatorError> {
        let started = Instant::now();
        let body = tokio::time::timeout(patience, self.post(call, patience))
            .await
            .map_err(|_| CreatorError::Timeout(patience.as_secs().max(1)))??;
        Ok(Answer { body, elapsed: started.elapsed() })
    }

    async fn post(&self, call: &Call, patience: Duration) -> Result<Vec<u8>, CreatorError> {
        let url = self.policy.check_url(&call.endpoint)?;
        let request = ExecuteRequest {
            execution_id: call.execution_id,
            task: &call.request.task,
            parameters: &call.request.parameters,
            user_pubkey: call.caller.to_string(),
            timeout_seconds: call.timeout_seconds,
        };
        let unanswered = |error: reqwest::Error| match error {
            error if error.is_timeout() && !error.is_connect() => CreatorError::Timeout(patience.as_secs().max(1)),
            error if error.is_connect() => CreatorError::Unreachable,
            _ => CreatorError::Dropped,
        };
        let response = self
            .http
            .post(url)
            .timeout(patience)
            .header(header::ACCEPT, "application/json")
            .json(&request)
            .send()
            .await
            .map_err(unanswered)?;
        let status = response.status();
        let body = read_capped(response).await?.map_err(unanswered)?;
        // A service may well report its failure with an error status; anything else needs a good one.
        if status.is_success() || reports_failure(&body) { Ok(body) } else { Err(bad_status(status)) }
    }
}

/// The whole body, or too much of it, or what went wrong on the way.
async fn read_capped(mut response: reqwest::Response) -> Result<reqwest::Result<Vec<u8>>, CreatorError> {
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if body.len().saturating_add(chunk.len()) > MAX_ANSWER_BYTES => {
                return Err(CreatorError::AnswerTooLarge);
            }
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) => return Ok(Ok(body)),
            Err(error) => return Ok(Err(error)),
        }
    }
}

fn reports_failure(body: &[u8]) -> bool {
    serde_json::from_slice::<Map<String, Value>>(body)
        .is_ok_and(|answer| answer.get("status").and_then(Value::as_str) == Some("failed"))
}

fn bad_status(status: StatusCode) -> CreatorError {
    let hint = if status.is_redirection() { " (redirects are not followed)" } else { "" };
    CreatorError::Invalid(format!("it has HTTP status {}{hint}", status.as_u16()))
}

impl Answer {
    /// The delivered result, if the answer keeps the contract and `result_key` signed it. `result_key` is the
    /// key in the on-chain record.
    pub fn check(&self, id: Uuid, result_key: &Pubkey) -> Result<Delivered, CreatorError> {
        check(&self.body, id, result_key, u64::try_from(self.elapsed.as_millis()).unwrap_or(u64::MAX))
    }
}

/// Checks an answer from its bytes: form, id, status, result, hash, and the signature of `result_key`.
fn check(body: &[u8], id: Uuid, result_key: &Pubkey, elapsed_ms: u64) -> Result<Delivered, CreatorError> {
    let invalid = |problem: &str| CreatorError::Invalid(problem.to_owned());
    let answer: Value = serde_json::from_slice(body).map_err(|_| invalid("it is not JSON"))?;
    let answer = answer.as_object().ok_or_else(|| invalid("it is not a JSON object"))?;
    let text = |field: &str| {
        answer.get(field).and_then(Value::as_str).ok_or_else(|| invalid(&format!("`{field}` is not a string")))
    };
    if text("execution_id")?.parse() != Ok(id) {
        return Err(invalid("`execution_id` is not the one of the request"));
    }
    match text("status")? {
        "completed" => {}
        "failed" => return Err(CreatorError::Reported(reported_error(answer))),
        _ => return Err(invalid("`status` is neither `completed` nor `failed`")),
    }
    let result = text("result")?;
    if result.len() > MAX_RESULT_BYTES {
        return Err(invalid(&format!("`result` is larger than {MAX_RESULT_BYTES} bytes")));
    }
    let proof_error = |error: crtx_protocol::result_hash::ResultProofError| CreatorError::Invalid(error.to_string());
    let hash: ResultHash = text("result_hash")?.parse().map_err(proof_error)?;
    if hash != ResultHash::of(result.as_bytes()) {
        return Err(proof_error(crtx_protocol::result_hash::ResultProofError::HashMismatch));
    }
    let signature = parse_signature(text("signature")?).map_err(proof_error)?;
    verify_signature(&result_key.to_bytes(), &hash, &signature).map_err(proof_error)?;
    Ok(Delivered {
        result: result.to_owned(),
        hash: hash.0,
        signature,
        tokens_used: tokens_used(answer)?,
        execution_time_ms: elapsed_ms,
        steps: steps(answer)?,
    })
}

fn reported_error(answer: &Map<String, Value>) -> String {
    let text = answer.get("error").and_then(Value::as_str).unwrap_or_default().trim();
    if text.is_empty() {
        return "it gave no reason".to_owned();
    }
    let printable = text.chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c });
    if text.chars().count() <= MAX_ERROR_CHARS {
        return printable.collect();
    }
    printable.take(MAX_ERROR_CHARS).chain(['…']).collect()
}

fn tokens_used(answer: &Map<String, Value>) -> Result<Option<u64>, CreatorError> {
    match answer.get("tokens_used") {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_u64() {
            Some(tokens) if tokens <= MAX_JSON_INTEGER => Ok(Some(tokens)),
            _ => Err(CreatorError::Invalid("`tokens_used` is not a whole number from 0 to 2^53 - 1".to_owned())),
        },
    }
}

fn steps(answer: &Map<String, Value>) -> Result<Option<Value>, CreatorError> {
    match answer.get("steps") {
        None | Some(Value::Null) => Ok(None),
        Some(steps @ Value::Array(_)) => {
            Ok((steps.to_string().len() <= MAX_STEPS_BYTES).then(|| without_nul(steps.clone())))
        }
        Some(_) => Err(CreatorError::Invalid("`steps` is not an array".to_owned())),
    }
}

/// U+0000 has no place in a trace, and databases choke on it.
fn without_nul(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(text.replace('\0', "\u{fffd}")),
        Value::Array(items) => Value::Array(items.into_iter().map(without_nul).collect()),
        Value::Object(members) => Value::Object(
            members.into_iter().map(|(name, value)| (name.replace('\0', "\u{fffd}"), without_nul(value))).collect(),
        ),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use crtx_protocol::{result_hash::format_signature, usdc::UsdcBase};
    use ed25519_dalek::{Signer, SigningKey};
    use proptest::prelude::*;
    use serde_json::json;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    use super::*;

    const ID: Uuid = Uuid::from_u128(42);

    fn signing_key() -> SigningKey {
        SigningKey::from_bytes(&[7; 32])
    }

    fn result_key() -> Pubkey {
        Pubkey::new_from_array(signing_key().verifying_key().to_bytes())
    }

    fn good(result: &str) -> Value {
        let hash = ResultHash::of(result.as_bytes());
        let signature = signing_key().sign(&hash.signed_text()).to_bytes();
        json!({
            "execution_id": ID, "status": "completed", "result": result, "result_hash": hash.to_string(),
            "signature": format_signature(&signature), "tokens_used": 12, "steps": [{"thought": "hm"}],
        })
    }

    fn checked(answer: &Value) -> Result<Delivered, CreatorError> {
        check(answer.to_string().as_bytes(), ID, &result_key(), 5)
    }

    #[test]
    fn a_good_answer_is_delivered_with_everything_in_it() {
        let delivered = checked(&good("done \u{0} ✓")).expect("good");
        assert_eq!(delivered.result, "done \u{0} ✓");
        assert_eq!(delivered.hash, ResultHash::of("done \u{0} ✓".as_bytes()).0);
        assert_eq!((delivered.tokens_used, delivered.execution_time_ms), (Some(12), 5));
        assert_eq!(delivered.steps, Some(json!([{"thought": "hm"}])));
    }

    #[test]
    fn an_answer_without_optional_fields_is_good() {
        let mut answer = good("x");
        answer.as_object_mut().expect("object").retain(|name, _| !["tokens_used", "steps"].contains(&name.as_str()));
        assert!(checked(&answer).is_ok());
        answer["tokens_used"] = Value::Null;
        answer["steps"] = Value::Null;
        answer["error"] = Value::Null;
        assert!(checked(&answer).is_ok());
    }

    #[test]
    fn every_break_of_the_contract_is_refused_and_named() {
        let other = good("other");
        let foreign_key = SigningKey::from_bytes(&[8; 32]);
        let foreign = format_signature(&foreign_key.sign(&ResultHash::of(b"x").signed_text()).to_bytes());
        let upper = good("x")["result_hash"].as_str().expect("text").to_uppercase();
        let oversize = "x".repeat(MAX_RESULT_BYTES + 1);
        for (field, value, named) in [
            ("execution_id", json!(Uuid::from_u128(43)), "execution_id"),
            ("execution_id", json!("nonsense"), "execution_id"),
            ("execution_id", Value::Null, "execution_id"),
            ("status", json!("done"), "status"),
            ("status", json!(true), "status"),
            ("result", Value::Null, "`result`"),
            ("result", json!({"a": 1}), "`result`"),
            ("result", json!("y"), "SHA-256"),
            ("result", json!(oversize), "larger"),
            ("result_hash", other["result_hash"].clone(), "SHA-256"),
            ("result_hash", json!(upper), "result_hash"),
            ("result_hash", Value::Null, "result_hash"),
            ("signature", other["signature"].clone(), "signature"),
            ("signature", json!(foreign), "signature"),
            ("signature", json!("ed25519:111"), "signature"),
            ("signature", json!("base64:AAAA"), "signature"),
            ("signature", Value::Null, "signature"),
            ("tokens_used", json!(-1), "tokens_used"),
            ("tokens_used", json!(1.5), "tokens_used"),
            ("tokens_used", json!(u64::MAX), "tokens_used"),
            ("steps", json!("text"), "steps"),
        ] {
            let mut answer = good("x");
            answer[field] = value;
            let error = checked(&answer).expect_err(field);
            assert!(matches!(error, CreatorError::Invalid(_)), "{field}: {error}");
            assert!(error.to_string().contains(named), "{field}: {error}");
            assert_eq!(error.reason(), FailureReason::InvalidResponse);
            assert_eq!((error.failure().status, error.failure().code.as_str()), (500, "execution_failed"));
        }
    }

    #[test]
    fn what_is_not_a_json_object_is_refused() {
        for body in [&b""[..], b"not json", b"[]", b"\"x\"", b"\xff\xfe", b"{\"a\":"] {
            assert!(matches!(check(body, ID, &result_key(), 5), Err(CreatorError::Invalid(_))), "{body:?}");
        }
    }

    #[test]
    fn a_reported_failure_carries_the_creators_words_within_bounds() {
        let report = |error: Value| {
            let answer = json!({
                "execution_id": ID, "status": "failed", "result": null, "result_hash": null, "signature": null,
                "error": error,
            });
            checked(&answer).expect_err("failed").to_string()
        };
        assert!(report(json!("model overloaded")).contains("model overloaded"));
        assert!(report(Value::Null).contains("no reason"));
        assert!(report(json!("x".repeat(100_000))).len() < 1_000);
        assert!(!report(json!("a\u{0}b\u{1b}[31m")).contains(['\u{0}', '\u{1b}']));
    }

    #[test]
    fn a_trace_beyond_display_is_left_out_and_one_with_nul_is_mended() {
        let mut answer = good("x");
        answer["steps"] = json!(["y".repeat(MAX_STEPS_BYTES)]);
        assert_eq!(checked(&answer).expect("good").steps, None);
        answer["steps"] = json!([{"a\u{0}": "b\u{0}"}]);
        assert_eq!(checked(&answer).expect("good").steps, Some(json!([{"a\u{fffd}": "b\u{fffd}"}])));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic_and_never_pass(body in proptest::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(check(&body, ID, &result_key(), 5).is_err());
        }
    }

    fn call(endpoint: String) -> Call {
        Call {
            record: Pubkey::default(),
            execution_id: ID,
            caller: Pubkey::new_from_array([9; 32]),
            agent: Pubkey::default(),
            session_key: Pubkey::default(),
            idempotency_key: None,
            body_hash: [0; 32],
            is_async: false,
            request: crtx_store::executions::Request { task: "t".to_owned(), parameters: Map::new() },
            request_hash: [0; 32],
            amount: UsdcBase(1),
            timeout_seconds: 1,
            endpoint,
        }
    }

    /// A service that reads one request and answers with these bytes, then closes.
    async fn service(answer: Option<Vec<u8>>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("port");
        let url = format!("http://{}/execute", listener.local_addr().expect("bound"));
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = [0; 4_096];
                let _ = stream.read(&mut request).await;
                match &answer {
                    Some(answer) => drop(stream.write_all(answer).await),
                    None => tokio::time::sleep(Duration::from_secs(60)).await,
                }
            }
        });
        url
    }

    fn http(status: &str, body: &str) -> Option<Vec<u8>> {
        Some(format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes())
    }

    async fn ask(answer: Option<Vec<u8>>) -> Result<Delivered, CreatorError> {
        let creators = Creators::new(OutboundPolicy::LOCAL).expect("client");
        let answer = creators.ask(&call(service(answer).await), Duration::from_millis(500)).await?;
        answer.check(ID, &result_key())
    }

    #[tokio::test]
    async fn a_good_answer_over_http_is_delivered() {
        assert_eq!(ask(http("200 OK", &good("x").to_string())).await.expect("good").result, "x");
    }

    #[tokio::test]
    async fn no_answer_in_time_is_a_timeout() {
        let error = ask(None).await.expect_err("late");
        assert_eq!(error.reason(), FailureReason::Timeout);
        assert_eq!((error.failure().status, error.failure().code.as_str()), (408, "execution_timeout"));
    }

    #[tokio::test]
    async fn a_body_that_never_ends_is_a_timeout_too() {
        let error = ask(Some(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{".to_vec())).await.expect_err("cut");
        assert!(matches!(error, CreatorError::Dropped | CreatorError::Timeout(_)), "{error}");
    }

    #[tokio::test]
    async fn a_dropped_connection_is_a_failure() {
        assert!(matches!(ask(Some(Vec::new())).await, Err(CreatorError::Dropped)));
    }

    #[tokio::test]
    async fn nobody_listening_is_a_failure() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("port");
        let url = format!("http://{}/", listener.local_addr().expect("bound"));
        drop(listener);
        let creators = Creators::new(OutboundPolicy::LOCAL).expect("client");
        let result = creators.ask(&call(url), Duration::from_millis(500)).await;
        assert!(matches!(result, Err(CreatorError::Unreachable)));
    }

    #[tokio::test]
    async fn a_redirect_is_not_followed() {
        let answer = b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n".to_vec();
        assert!(ask(Some(answer)).await.expect_err("redirect").to_string().contains("302"));
    }

    #[tokio::test]
    async fn an_error_status_is_a_failure_and_a_report_under_it_is_heard() {
        assert!(ask(http("503 Service Unavailable", "busy")).await.expect_err("503").to_string().contains("503"));
        let report = json!({"execution_id": ID, "status": "failed", "error": "no model"}).to_string();
        let error = ask(http("500 Internal Server Error", &report)).await.expect_err("failed");
        assert!(matches!(&error, CreatorError::Reported(text) if text == "no model"), "{error}");
    }

    #[tokio::test]
    async fn an_endless_answer_is_cut_off() {
        let body = "x".repeat(MAX_ANSWER_BYTES + 1);
        assert!(matches!(ask(http("200 OK", &body)).await, Err(CreatorError::AnswerTooLarge)));
    }

    #[tokio::test]
    async fn an_address_that_the_policy_forbids_is_not_called() {
        let creators = Creators::new(OutboundPolicy::STRICT).expect("client");
        let result = creators.ask(&call("https://127.0.0.1/".to_owned()), Duration::from_secs(1)).await;
        assert!(matches!(result, Err(CreatorError::NotCallable(_))));
    }
}
