//! Sends one request, in the form that the gateway sends it, and receives the answer up to its limits.

use std::{
    error::Error,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use chrono::Utc;
use crtx_http::outbound::{Outbound, OutboundError};
use crtx_protocol::{
    call_text::OpeningId,
    creator_answer::MAX_ANSWER_BYTES,
    creator_request::{ACCEPT, ACCEPT_ENCODING, CreatorRequest},
    execution_id,
};
use reqwest::{Client, Response, header};
use serde::Serialize;
use serde_json::Value;
use solana_pubkey::Pubkey;
use tokio::time::timeout;
use uuid::Uuid;

use crate::{limits, quote, subject::Example};

/// Time-out of the HTTP client. It ends no request, because [`TestSender::send`] gives each one a shorter time-out.
const UNREACHED: Duration = Duration::from_secs(3_600);

/// Sends the requests of one test.
#[derive(Debug)]
pub struct TestSender {
    outbound: Outbound,
    http: Client,
    endpoint: String,
    timeout_seconds: u32,
    /// The made-up caller.
    wallet: Pubkey,
    deadline: Instant,
    late: AtomicBool,
}

/// A request. Sent again, it is the same execution.
#[derive(Clone, Debug)]
pub struct TestRequest {
    pub execution_id: Uuid,
    pub opening: OpeningId,
    pub example: Example,
    pub unknown_fields: bool,
}

impl TestRequest {
    /// A request of a new execution. There is no record at its address.
    pub fn of(example: Example) -> Self {
        let opening = OpeningId { record: rand::random(), opened_at_unix_s: Utc::now().timestamp() };
        Self { execution_id: execution_id::random(), opening, example, unknown_fields: false }
    }

    /// Address of the record.
    pub fn record(&self) -> Pubkey {
        Pubkey::new_from_array(self.opening.record)
    }
}

/// A whole answer.
#[derive(Debug)]
pub struct ReceivedAnswer {
    pub status: u16,
    pub content_type: Option<String>,
    /// The value of `content-encoding`, unless it is `identity`.
    pub encoding: Option<String>,
    pub location: Option<String>,
    pub body: Vec<u8>,
    pub elapsed: Duration,
}

/// Why there is no whole answer.
#[derive(Debug)]
pub enum NoAnswer {
    NotCallable(OutboundError),
    Unreachable(String),
    /// A connection was made, but no secure one.
    NotSecure(String),
    Late,
    /// The test itself had no more time.
    NoTime,
    Dropped(String),
    TooLarge,
}

impl TestSender {
    pub fn new(outbound: &Outbound, endpoint: &str, timeout_seconds: u32) -> reqwest::Result<Self> {
        let deadline = Instant::now().checked_add(limits::duration(timeout_seconds)).unwrap_or_else(Instant::now);
        Ok(Self {
            outbound: outbound.clone(),
            http: outbound.client(UNREACHED)?,
            endpoint: endpoint.to_owned(),
            timeout_seconds,
            wallet: random_address(),
            deadline,
            late: AtomicBool::new(false),
        })
    }

    pub async fn send(&self, request: &TestRequest) -> Result<ReceivedAnswer, NoAnswer> {
        let whole = Duration::from_secs(u64::from(self.timeout_seconds));
        let left = self.deadline.saturating_duration_since(Instant::now());
        let Ok(outcome) = timeout(whole.min(left), self.exchange(request)).await else {
            self.late.store(true, Ordering::Relaxed);
            return Err(if left < whole { NoAnswer::NoTime } else { NoAnswer::Late });
        };
        outcome
    }

    /// Whether an answer did not come in time.
    pub fn was_late(&self) -> bool {
        self.late.load(Ordering::Relaxed)
    }

    async fn exchange(&self, request: &TestRequest) -> Result<ReceivedAnswer, NoAnswer> {
        let url = self.outbound.check_reachable(&self.endpoint).await.map_err(NoAnswer::NotCallable)?;
        let started = Instant::now();
        let sent = self
            .http
            .post(url)
            .header(header::ACCEPT, ACCEPT)
            .header(header::ACCEPT_ENCODING, ACCEPT_ENCODING)
            .json(&self.body(request))
            .send();
        let mut response = sent.await.map_err(|error| unanswered(&error))?;
        let body = read(&mut response).await?;
        let text = |name| response.headers().get(name).map(|value| quote::bytes(value.as_bytes()));
        let encoded = text(header::CONTENT_ENCODING).filter(|encoding| !encoding.eq_ignore_ascii_case("identity"));
        Ok(ReceivedAnswer {
            status: response.status().as_u16(),
            content_type: text(header::CONTENT_TYPE),
            encoding: encoded,
            location: text(header::LOCATION),
            body,
            elapsed: started.elapsed(),
        })
    }

    fn body<'a>(&self, request: &'a TestRequest) -> TestBody<'a> {
        let known = CreatorRequest {
            execution_id: request.execution_id,
            task: &request.example.task,
            parameters: &request.example.parameters,
            user_pubkey: self.wallet.to_string(),
            timeout_seconds: self.timeout_seconds,
            execution_record: request.record().to_string(),
            opened_at_unix_s: request.opening.opened_at_unix_s,
        };
        let added = || serde_json::json!({"added": "later", "levels": [1, 2, 3]});
        TestBody { known, x_conformance: request.unknown_fields.then(added) }
    }
}

/// A request, with a member that the protocol does not have yet.
#[derive(Serialize)]
struct TestBody<'a> {
    #[serde(flatten)]
    known: CreatorRequest<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    x_conformance: Option<Value>,
}

fn random_address() -> Pubkey {
    Pubkey::new_from_array(rand::random())
}

async fn read(response: &mut Response) -> Result<Vec<u8>, NoAnswer> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| unanswered(&error))? {
        if body.len().saturating_add(chunk.len()) > MAX_ANSWER_BYTES {
            return Err(NoAnswer::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn unanswered(error: &reqwest::Error) -> NoAnswer {
    let cause = causes(error);
    if !error.is_connect() {
        return NoAnswer::Dropped(cause);
    }
    let secure = error.url().is_some_and(|url| url.scheme() == "https");
    if secure && names_tls(&cause) { NoAnswer::NotSecure(cause) } else { NoAnswer::Unreachable(cause) }
}

/// The innermost causes of an error: the outer ones repeat the URL.
fn causes(error: &reqwest::Error) -> String {
    let mut causes = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        causes.push(cause.to_string());
        next = cause.source();
    }
    causes.dedup();
    quote::text(&causes.join(": "))
}

/// The TLS library's errors are not types of the HTTP client's interface; their texts are stable.
fn names_tls(cause: &str) -> bool {
    const WORDS: [&str; 7] =
        ["certificate", "tls", "handshake", "corrupt message", "fatal alert", "misbehaved", "cert"];
    let cause = cause.to_ascii_lowercase();
    WORDS.iter().any(|word| cause.contains(word))
}
