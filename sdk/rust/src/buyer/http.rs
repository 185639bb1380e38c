//! One request and its answer: whole and in time, or broken.

use std::time::Duration;

use reqwest::{Method, Response, redirect::Policy};
use serde::Deserialize;
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use super::error::{ApiError, Error, ErrorCode, invalid};

/// A result of 1 MiB in escapes, and its steps.
const MAX_ANSWER_BYTES: usize = 8 * 1024 * 1024;
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

pub struct Http {
    client: reqwest::Client,
    pub base_url: String,
}

pub struct Request<'a> {
    pub method: Method,
    pub path: &'a str,
    pub body: Option<&'a [u8]>,
    /// Makes it a paid call.
    pub idempotency_key: Option<&'a str>,
}

/// A whole answer.
pub struct Reply {
    pub status: u16,
    pub body: Vec<u8>,
    retry_after: Option<u32>,
    should_retry: Option<bool>,
    request_id: Option<String>,
}

/// No whole answer. `sent`: the request may have arrived.
pub struct Broken {
    pub sent: bool,
    pub reason: String,
}

impl Http {
    pub fn new(base_url: &str) -> Result<Self, Error> {
        // Another address must not get what is meant for this one: tasks and keys.
        let client = reqwest::Client::builder().connect_timeout(CONNECT_LIMIT).redirect(Policy::none()).build();
        Ok(Self { client: client.map_err(invalid)?, base_url: base_url.trim_end_matches('/').to_owned() })
    }

    pub async fn send(&self, request: &Request<'_>, token: Option<&str>, until: Instant) -> Result<Reply, Broken> {
        let url = format!("{}{}", self.base_url, request.path);
        let mut built = self.client.request(request.method.clone(), url).header("accept", "application/json");
        if let Some(token) = token {
            built = built.bearer_auth(token);
        }
        if let Some(key) = request.idempotency_key {
            built = built.header("idempotency-key", key);
        }
        if let Some(body) = request.body {
            built = built.header("content-type", "application/json").body(body.to_vec());
        }
        let answered = timeout_at(until, async {
            let broken = |error: reqwest::Error| {
                // Only a connection that was never made proves that nothing arrived.
                Broken { sent: !error.is_connect(), reason: crtx_download::root_cause(&error) }
            };
            whole(built.send().await.map_err(broken)?).await
        });
        answered.await.unwrap_or_else(|_| Err(Broken { sent: true, reason: "no whole answer in time".to_owned() }))
    }
}

async fn whole(response: Response) -> Result<Reply, Broken> {
    let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
    let retry_after = header("retry-after").and_then(|seconds| seconds.parse().ok());
    let should_retry = header("x-should-retry").and_then(|said| said.parse().ok());
    let (request_id, status) = (header("x-request-id").map(str::to_owned), response.status().as_u16());
    let body = crtx_download::read(response, MAX_ANSWER_BYTES).await;
    let body = body.map_err(|error| Broken { sent: true, reason: crtx_download::root_cause(&error) })?;
    Ok(Reply { status, body, retry_after, should_retry, request_id })
}

#[derive(Default, Deserialize)]
struct ErrorBody {
    error: ErrorText,
}

#[derive(Default, Deserialize)]
struct ErrorText {
    code: String,
    message: String,
    execution_id: Option<Uuid>,
}

/// An error that the service answered.
pub struct Refused {
    pub error: ApiError,
    pub execution_id: Option<Uuid>,
    /// Whether the same request may succeed later.
    pub retried: bool,
    /// The attempt may have begun the call: the error names an execution, is a fault of the service, or is of something in
    /// front of it.
    pub may_be_paid: bool,
}

impl Reply {
    pub fn refused(&self) -> Refused {
        let found = serde_json::from_slice::<ErrorBody>(&self.body).ok();
        let is_services = found.is_some();
        let unknown =
            || ErrorText { code: "unknown".into(), message: "no answer of the service".into(), execution_id: None };
        let ErrorText { code, message, execution_id } = found.map_or_else(unknown, |found| found.error);
        let retry_after = self.retry_after.map(|seconds| Duration::from_secs(seconds.into()));
        let error = ApiError {
            retry_after,
            request_id: self.request_id.clone(),
            ..ApiError::new(self.status, &code, &message)
        };
        // Without the header, as the service decides it.
        let by_code = match error.code {
            _ if !is_services => matches!(self.status, 408 | 409 | 429 | 502 | 503 | 504),
            ErrorCode::Conflict | ErrorCode::Unavailable => retry_after.is_some(),
            ErrorCode::RequestTimeout | ErrorCode::RateLimited | ErrorCode::Internal | ErrorCode::Stale => true,
            _ => false,
        };
        let by_proxy = !is_services && (self.status >= 500 || self.status == 408);
        let may_be_paid = execution_id.is_some() || by_proxy || error.code == ErrorCode::Internal;
        Refused { retried: self.should_retry.unwrap_or(by_code), may_be_paid, execution_id, error }
    }
}
