//! One RPC node over HTTP: JSON-RPC 2.0 with answers of limited size. This file repeats no request and sets no
//! deadline: a caller ends a request by dropping its future.

use std::time::{Duration, Instant};

use crtx_download::DownloadError;
use crtx_protocol::text::shortened;
use reqwest::{
    Client, StatusCode, Url,
    header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER},
    redirect,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{
    error::ChainError,
    health::Health,
    urls,
    wire::{JsonRpcError, JsonRpcResponse},
};

/// Longest time to establish a connection.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// How long idle connections are kept for the next request.
const KEEP_IDLE: Duration = Duration::from_secs(30);
/// Longest `Retry-After` that is accepted, and the default if a node does not give one.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(60);
const DEFAULT_RETRY_AFTER: Duration = Duration::from_millis(500);
/// Longer answers are parsed on another thread than those that serve requests.
const PARSED_IN_PLACE: usize = 128 * 1024;
/// Longest part of a node's error message that is kept.
const MAX_MESSAGE_CHARS: usize = 300;

/// A time after another one. Not later, if no clock shows it.
pub(crate) fn after(start: tokio::time::Instant, pause: Duration) -> tokio::time::Instant {
    start.checked_add(pause).unwrap_or(start)
}

/// One request, which can be sent to any node.
#[derive(Debug)]
pub(crate) struct RpcRequest {
    id: u64,
    body: String,
    /// Largest answer, in bytes.
    answer_limit: usize,
    /// The slot that the answer must include. 0: any.
    pub min_slot: u64,
}

impl RpcRequest {
    pub(crate) fn new(id: u64, method: &str, params: &Value, answer_limit: usize) -> Self {
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string();
        Self { id, body, answer_limit, min_slot: 0 }
    }

    /// Accepts only an answer from `min_slot` or later.
    pub(crate) const fn since(mut self, min_slot: u64) -> Self {
        self.min_slot = min_slot;
        self
    }
}

pub(crate) struct Node {
    url: Url,
    /// Host and port, for logs.
    pub name: String,
    http: Client,
    pub health: Health,
}

/// The HTTP client of nodes. It follows no redirects and uses no proxy of the environment, so that no
/// other host sees a transaction before the chain.
pub fn http_client(connect: Duration) -> reqwest::Result<Client> {
    Client::builder()
        .no_proxy()
        .redirect(redirect::Policy::none())
        .referer(false)
        // With HTTP/1.1, a stalled connection stalls one request. With multiplexing, it would stall all of them.
        .http1_only()
        .connect_timeout(connect)
        .pool_idle_timeout(KEEP_IDLE)
        .tcp_keepalive(KEEP_IDLE)
        .user_agent(concat!("crtx/", env!("CARGO_PKG_VERSION")))
        .build()
}

impl Node {
    pub(crate) fn new(url: &str, http: Client) -> Result<Self, ChainError> {
        let name = urls::host(url);
        let url = Url::parse(url).map_err(|_| ChainError::Misconfigured(format!("{name} is not a URL")))?;
        Ok(Self { url, name, http, health: Health::default() })
    }

    /// Sends a request once and updates the node's health from the answer. A request that is dropped after
    /// `stalls_after` counts as a failure of the node.
    pub(crate) async fn ask<T: DeserializeOwned + Send + 'static>(
        &self,
        request: &RpcRequest,
        stalls_after: Duration,
    ) -> Result<T, ChainError> {
        let mut watch = StallWatch { node: self, since: Instant::now(), stalls_after };
        let result = match self.fetch(request).await {
            Ok(body) => parse(body, request).await,
            Err(error) => Err(error),
        };
        match &result {
            Ok(_) => self.health.succeeded(),
            Err(error) => {
                tracing::debug!(node = %self.name, %error, "an RPC node failed");
                self.health.failed(error, Instant::now());
            }
        }
        watch.stalls_after = Duration::MAX;
        result
    }

    async fn fetch(&self, request: &RpcRequest) -> Result<Vec<u8>, ChainError> {
        let post = self.http.post(self.url.clone()).header(CONTENT_TYPE, "application/json");
        let response = post.body(request.body.clone()).send().await.map_err(unreachable)?;
        check_status(response.status(), response.headers())?;
        crtx_download::read(response, request.answer_limit).await.map_err(|error| match error {
            DownloadError::TooLarge { max_bytes } => ChainError::TooLarge { limit: max_bytes },
            DownloadError::Request(error) => unreachable(error),
            DownloadError::Status(status) => ChainError::Status(status.as_u16()),
        })
    }
}

/// Counts a request that was dropped after a long wait as a failure of its node.
struct StallWatch<'a> {
    node: &'a Node,
    since: Instant,
    stalls_after: Duration,
}

impl Drop for StallWatch<'_> {
    fn drop(&mut self) {
        if self.since.elapsed() >= self.stalls_after {
            tracing::debug!(node = %self.node.name, "an RPC node stalls");
            self.node.health.failed(&ChainError::TimedOut, Instant::now());
        }
    }
}

fn unreachable(error: reqwest::Error) -> ChainError {
    if error.is_timeout() {
        return ChainError::TimedOut;
    }
    ChainError::Unreachable(crtx_download::root_cause(&error.without_url()))
}

fn check_status(status: StatusCode, headers: &HeaderMap) -> Result<(), ChainError> {
    if status.is_success() {
        return Ok(());
    }
    let asked = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()).and_then(|text| text.parse().ok());
    let asked = asked.map(|seconds| Duration::from_secs(seconds).min(LONGEST_RETRY_AFTER));
    match (status, asked) {
        (StatusCode::TOO_MANY_REQUESTS, asked) => {
            Err(ChainError::RateLimited { retry_after: asked.unwrap_or(DEFAULT_RETRY_AFTER) })
        }
        (StatusCode::SERVICE_UNAVAILABLE, Some(retry_after)) => Err(ChainError::RateLimited { retry_after }),
        (status, _) => Err(ChainError::Status(status.as_u16())),
    }
}

async fn parse<T: DeserializeOwned + Send + 'static>(body: Vec<u8>, request: &RpcRequest) -> Result<T, ChainError> {
    let (id, min_slot) = (request.id, request.min_slot);
    if body.len() <= PARSED_IN_PLACE {
        return parse_now(&body, id, min_slot);
    }
    let parsed = tokio::task::spawn_blocking(move || parse_now(&body, id, min_slot)).await;
    parsed.unwrap_or(Err(ChainError::Malformed("parsed before the service stops")))
}

fn parse_now<T: DeserializeOwned>(body: &[u8], id: u64, min_slot: u64) -> Result<T, ChainError> {
    let answer: JsonRpcResponse<T> =
        serde_json::from_slice(body).map_err(|_| ChainError::Malformed("the JSON that was asked for"))?;
    if let Some(refusal) = answer.error {
        return Err(refused(refusal, min_slot));
    }
    if answer.id.and_then(|id| id.as_u64()) != Some(id) {
        return Err(ChainError::Malformed("that of this request"));
    }
    answer.result.ok_or(ChainError::Malformed("a JSON-RPC answer"))
}

fn refused(refusal: JsonRpcError, min_slot: u64) -> ChainError {
    if refusal.is_behind() {
        return ChainError::Behind { wanted: min_slot };
    }
    ChainError::Refused { code: refusal.code, message: shortened(&refusal.message, MAX_MESSAGE_CHARS) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Option<u64>, ChainError> {
        parse_now(text.as_bytes(), 7, 0)
    }

    #[test]
    fn null_is_a_result_and_no_result_is_not() {
        assert_eq!(parsed(r#"{"jsonrpc":"2.0","id":7,"result":null}"#), Ok(None));
        assert_eq!(parsed(r#"{"jsonrpc":"2.0","id":7,"result":5}"#), Ok(Some(5)));
        assert!(matches!(parsed(r#"{"jsonrpc":"2.0","id":7}"#), Err(ChainError::Malformed(_))));
    }

    #[test]
    fn the_answer_to_another_request_is_not_accepted() {
        assert!(matches!(parsed(r#"{"jsonrpc":"2.0","id":8,"result":5}"#), Err(ChainError::Malformed(_))));
        assert!(matches!(parsed(r#"{"jsonrpc":"2.0","result":5}"#), Err(ChainError::Malformed(_))));
    }

    #[test]
    fn a_node_that_is_behind_has_another_error_than_one_that_refuses() {
        let behind = r#"{"id":7,"error":{"code":-32016,"message":"Minimum context slot has not been reached"}}"#;
        assert_eq!(parsed(behind), Err(ChainError::Behind { wanted: 0 }));
        let refused = r#"{"id":7,"error":{"code":-32602,"message":"Invalid params"}}"#;
        assert!(matches!(parsed(refused), Err(ChainError::Refused { code: -32_602, .. })));
    }

    #[test]
    fn an_error_body_without_an_id_or_a_code_is_still_a_refusal() {
        assert!(matches!(parsed(r#"{"error":{"message":"no"},"id":null}"#), Err(ChainError::Refused { .. })));
    }

    #[test]
    fn retry_after_is_bounded_and_only_needed_for_503() {
        let mut headers = HeaderMap::new();
        let seconds = |error: Result<(), ChainError>| error.expect_err("an error").retry_after();
        assert_eq!(seconds(check_status(StatusCode::TOO_MANY_REQUESTS, &headers)), Some(DEFAULT_RETRY_AFTER));
        assert_eq!(check_status(StatusCode::SERVICE_UNAVAILABLE, &headers), Err(ChainError::Status(503)));
        headers.insert(RETRY_AFTER, "20".parse().expect("a value"));
        assert_eq!(seconds(check_status(StatusCode::SERVICE_UNAVAILABLE, &headers)), Some(Duration::from_secs(20)));
        headers.insert(RETRY_AFTER, "99999999".parse().expect("a value"));
        assert_eq!(seconds(check_status(StatusCode::TOO_MANY_REQUESTS, &headers)), Some(LONGEST_RETRY_AFTER));
        assert_eq!(check_status(StatusCode::FOUND, &headers), Err(ChainError::Status(302)));
    }
}
