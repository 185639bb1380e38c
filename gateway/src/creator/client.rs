//! Sends calls to creators' services.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use crtx_http::{
    offload::{Offload, OffloadConfig},
    outbound::Outbound,
};
use crtx_protocol::{
    creator_answer::{Answer, Signatory},
    creator_request::{ACCEPT, ACCEPT_ENCODING, CreatorRequest},
};
use crtx_store::executions::{Call, Delivered};
use reqwest::{Client, Response, header};
use uuid::Uuid;

use super::{CreatorError, body::Intake, patience::within};
use crate::error::GatewayError;

/// Answers that are parsed at the same time. Each takes a few times its length in memory.
const READING: OffloadConfig = OffloadConfig { threads: 2, places: 1_024, stack_bytes: 4 * 1024 * 1024 };

/// The HTTP client's own limit. Each call has a shorter one, which counts only time in which this process runs.
const UNREACHED: Duration = Duration::from_secs(7 * 24 * 3_600);

/// Calls creators' services. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Creators {
    outbound: Outbound,
    http: Client,
    intake: Intake,
    reading: Offload,
}

/// An answer that was read but not verified yet.
#[derive(Clone, Debug)]
pub struct Answered {
    answer: Answer,
    /// Time from sending the call to the last byte of the answer.
    pub elapsed: Duration,
}

impl Answered {
    /// Returns the result if the answer keeps the contract and `signatory` signed it.
    pub fn check(self, id: Uuid, signatory: &Signatory) -> Result<Delivered, CreatorError> {
        let signed = self.answer.check(id, signatory)?;
        Ok(Delivered {
            result: signed.result,
            hash: signed.hash.0,
            signature: signed.signature,
            call_signature: signed.call_signature,
            tokens_used: signed.tokens_used,
            execution_time_ms: u64::try_from(self.elapsed.as_millis()).unwrap_or(u64::MAX),
            steps: signed.steps,
        })
    }
}

impl Creators {
    /// `outbound` decides which addresses may be called. Long answers are stored in files in `folder`.
    pub fn new(outbound: Outbound, folder: PathBuf) -> Result<Self, GatewayError> {
        let http = outbound.client(UNREACHED)?;
        Ok(Self { outbound, http, intake: Intake::new(folder), reading: Offload::start("answers", READING)? })
    }

    /// Sends the call and waits for at most `patience` for the whole answer, which is parsed but not verified. Time
    /// in which this process is stopped does not count: an answer that arrived in that time is accepted.
    pub async fn ask(&self, call: &Call, opened_at_unix_s: i64, patience: Duration) -> Result<Answered, CreatorError> {
        let started = Instant::now();
        let whole = async {
            let response = self.post(call, opened_at_unix_s).await?;
            let status = response.status();
            refuse_encoded(&response)?;
            let body = self.intake.read(response).await?.map_err(|error| unanswered(&error))?;
            Ok::<_, CreatorError>((status, body))
        };
        let (status, body) =
            within(patience, whole).await.ok_or(CreatorError::Timeout(patience.as_secs().max(1)))??;
        let elapsed = started.elapsed();
        let read = self.reading.run(move || body.into_bytes().map(|bytes| Answer::read(&bytes))).await;
        let content = read.map_err(|_| CreatorError::NotKept)?.map_err(|_| CreatorError::NotKept)?;
        // A service may report a failure with an error status. Any other answer needs a success status.
        let reported = matches!(&content, Ok(answer) if answer.reports_failure());
        if status.is_success() || reported {
            return Ok(Answered { answer: content?, elapsed });
        }
        let hint = if status.is_redirection() { " (redirects are not followed)" } else { "" };
        Err(CreatorError::Invalid(format!("it has HTTP status {}{hint}", status.as_u16())))
    }

    async fn post(&self, call: &Call, opened_at_unix_s: i64) -> Result<Response, CreatorError> {
        let url = self.outbound.policy().check_url(&call.endpoint)?;
        let request = CreatorRequest {
            execution_id: call.execution_id,
            task: &call.request.task,
            parameters: &call.request.parameters,
            user_pubkey: call.caller.to_string(),
            timeout_seconds: call.timeout_seconds,
            execution_record: call.record.to_string(),
            opened_at_unix_s,
        };
        let sent = self
            .http
            .post(url)
            .header(header::ACCEPT, ACCEPT)
            .header(header::ACCEPT_ENCODING, ACCEPT_ENCODING)
            .json(&request)
            .send();
        sent.await.map_err(|error| unanswered(&error))
    }
}

fn unanswered(error: &reqwest::Error) -> CreatorError {
    if error.is_connect() { CreatorError::Unreachable } else { CreatorError::Dropped }
}

/// Compressed answers are refused, because a small answer could expand to a large one.
fn refuse_encoded(response: &Response) -> Result<(), CreatorError> {
    let encodings = response.headers().get_all(header::CONTENT_ENCODING);
    if encodings.iter().all(|encoding| encoding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        Ok(())
    } else {
        Err(CreatorError::Invalid("it has a content-encoding; answers must be plain".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use agent_marketplace::state::FailureReason;
    use crtx_http::outbound::OutboundPolicy;
    use crtx_protocol::{
        call_text::OpeningId,
        creator_answer::MAX_ANSWER_BYTES,
        result_hash::{CallProof, ResultHash, format_signature},
        usdc::UsdcBase,
    };
    use ed25519_dalek::SigningKey;
    use serde_json::{Map, Value, json};
    use solana_pubkey::Pubkey;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    use super::*;

    const ID: Uuid = Uuid::from_u128(42);
    const PATIENCE: Duration = Duration::from_secs(5);

    fn key() -> SigningKey {
        SigningKey::from_bytes(&[7; 32])
    }

    fn signatory() -> Signatory {
        let result_key = Pubkey::new_from_array(key().verifying_key().to_bytes());
        Signatory { result_key, opening: OpeningId { record: [0; 32], opened_at_unix_s: 0 }, binding: false }
    }

    fn good(result: &str) -> Value {
        let hash = ResultHash::of(result.as_bytes());
        let signature = format_signature(
            &CallProof::sign(&key(), &OpeningId { record: [0; 32], opened_at_unix_s: 0 }, &hash).signature,
        );
        let hash = hash.to_string();
        json!({"execution_id": ID, "status": "completed", "result": result, "result_hash": hash, "signature": signature})
    }

    fn creators(policy: OutboundPolicy) -> Creators {
        Creators::new(Outbound::new(policy), std::env::temp_dir()).expect("client")
    }

    fn call(endpoint: String) -> Call {
        Call {
            record: Pubkey::default(),
            execution_id: ID,
            caller: Pubkey::new_from_array([9; 32]),
            agent: Pubkey::default(),
            session_key: None,
            idempotency_key: None,
            body_hash: [0; 32],
            is_async: false,
            request: crtx_store::executions::CallRequest { task: "t".to_owned(), parameters: Map::new() },
            request_hash: [0; 32],
            amount: UsdcBase(1),
            timeout_seconds: 1,
            endpoint,
        }
    }

    /// A service that reads one request, sends these bytes and closes the connection.
    async fn service(answer: Option<Vec<u8>>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("port");
        let url = format!("http://{}/execute", listener.local_addr().expect("bound"));
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let answer = answer.clone();
                tokio::spawn(async move {
                    let mut request = [0; 4_096];
                    let _ = stream.read(&mut request).await;
                    match &answer {
                        Some(answer) => drop(stream.write_all(answer).await),
                        None => tokio::time::sleep(Duration::from_secs(60)).await,
                    }
                });
            }
        });
        url
    }

    fn http(status: &str, body: &str) -> Option<Vec<u8>> {
        Some(format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes())
    }

    async fn ask(answer: Option<Vec<u8>>) -> Result<Delivered, CreatorError> {
        let answer = creators(OutboundPolicy::LOCAL).ask(&call(service(answer).await), 0, PATIENCE).await?;
        answer.check(ID, &signatory())
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
    async fn an_endpoint_that_nothing_listens_on_is_a_failure() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("port");
        let url = format!("http://{}/", listener.local_addr().expect("bound"));
        drop(listener);
        let creators = creators(OutboundPolicy::LOCAL);
        let result = creators.ask(&call(url), 0, PATIENCE).await;
        assert!(matches!(result, Err(CreatorError::Unreachable)));
    }

    #[tokio::test]
    async fn a_redirect_is_not_followed() {
        let answer = b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n".to_vec();
        assert!(ask(Some(answer)).await.expect_err("redirect").to_string().contains("302"));
    }

    #[tokio::test]
    async fn an_error_status_is_a_failure_and_a_failure_report_with_it_is_accepted() {
        assert!(ask(http("503 Service Unavailable", "busy")).await.expect_err("503").to_string().contains("503"));
        let report = json!({"execution_id": ID, "status": "failed", "error": "no model"}).to_string();
        let error = ask(http("500 Internal Server Error", &report)).await.expect_err("failed");
        assert!(
            matches!(&error, CreatorError::Reported { error: text, signature: None } if text == "no model"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn an_endless_answer_is_cut_off() {
        let body = "x".repeat(MAX_ANSWER_BYTES + 1);
        assert!(matches!(ask(http("200 OK", &body)).await, Err(CreatorError::AnswerTooLarge)));
    }

    #[tokio::test]
    async fn an_address_that_the_policy_forbids_is_not_called() {
        let creators = creators(OutboundPolicy::STRICT);
        let result = creators.ask(&call("https://127.0.0.1/".to_owned()), 0, Duration::from_secs(1)).await;
        assert!(matches!(result, Err(CreatorError::NotCallable(_))));
    }

    #[tokio::test]
    async fn an_encoded_answer_is_refused_and_not_decompressed() {
        let answer = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\n{}".to_vec();
        assert!(ask(Some(answer)).await.expect_err("encoded").to_string().contains("content-encoding"));
    }

    #[tokio::test]
    async fn headers_without_end_are_cut_off() {
        let mut answer = b"HTTP/1.1 200 OK\r\n".to_vec();
        for number in 0..100_000 {
            answer.extend_from_slice(format!("x-{number}: {}\r\n", "y".repeat(40)).as_bytes());
        }
        assert!(matches!(ask(Some(answer)).await, Err(CreatorError::Dropped)));
    }

    /// An answer with the same result and `bytes` additional bytes.
    fn padded(result: &str, bytes: usize) -> String {
        let mut answer = good(result);
        answer["padding"] = vec![json!(0); bytes / 2].into();
        answer.to_string()
    }

    #[tokio::test]
    async fn long_answers_are_read_whole_however_many_come_at_once() {
        let creators = creators(OutboundPolicy::LOCAL);
        let url = service(http("200 OK", &padded("long", 1_000_000))).await;
        let call = call(url);
        let answers = futures::future::join_all((0..8).map(|_| creators.ask(&call, 0, Duration::from_secs(60)))).await;
        for answer in answers {
            assert_eq!(answer.expect("an answer").check(ID, &signatory()).expect("good").result, "long");
        }
    }

    #[tokio::test]
    async fn a_slow_answer_does_not_delay_other_answers() {
        let creators = creators(OutboundPolicy::LOCAL);
        let mut cut = http("200 OK", &padded("never", 400_000)).expect("an answer");
        cut.truncate(200_000);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("port");
        let slow = call(format!("http://{}/execute", listener.local_addr().expect("bound")));
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let cut = cut.clone();
                tokio::spawn(async move {
                    let mut request = [0; 4_096];
                    let _ = stream.read(&mut request).await;
                    let _ = stream.write_all(&cut).await;
                    std::future::pending::<()>().await;
                });
            }
        });
        let slow = futures::future::join_all((0..20).map(|_| creators.ask(&slow, 0, Duration::from_secs(3))));
        let honest = call(service(http("200 OK", &padded("x", 400_000))).await);
        let honest = async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            creators.ask(&honest, 0, Duration::from_secs(60)).await
        };
        let (slow, honest) = tokio::join!(slow, honest);
        assert_eq!(honest.expect("an answer").check(ID, &signatory()).expect("good").result, "x");
        for answer in slow {
            let error = answer.expect_err("it never ended");
            assert!(matches!(error, CreatorError::Timeout(_)), "{error:?}");
        }
    }
}
