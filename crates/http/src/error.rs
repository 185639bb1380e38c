//! The error of every endpoint: status, stable code, message, and the execution it belongs to.

use std::{fmt::Display, time::Duration};

use axum::{
    Json,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use crtx_protocol::text::shortened;
use crtx_store::StoreError;
use serde::Serialize;
use strum::{EnumString, IntoStaticStr, VariantArray};
use utoipa::ToSchema;
use uuid::Uuid;

const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");
/// Longest part of a request that a message quotes, in characters.
pub(crate) const MAX_QUOTE_CHARS: usize = 64;

/// Stable error codes, each with its HTTP status. Codes are never reused for another meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, ToSchema, EnumString, IntoStaticStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ErrorCode {
    InvalidRequest,
    Unauthorized,
    InsufficientBalance,
    Forbidden,
    AgentNotFound,
    ExecutionNotFound,
    NotFound,
    MethodNotAllowed,
    ExecutionTimeout,
    RequestTimeout,
    Conflict,
    PayloadTooLarge,
    UriTooLong,
    UnsupportedMediaType,
    AgentPaused,
    AgentUnpayable,
    RateLimited,
    HeadersTooLarge,
    ExecutionFailed,
    /// The service was interrupted while the agent worked; refunded.
    Interrupted,
    /// Paid on chain for a result that this service does not have.
    ResultUnavailable,
    Internal,
    Stale,
    Unavailable,
}

impl ErrorCode {
    pub const fn status(self) -> StatusCode {
        match self {
            Self::InvalidRequest => StatusCode::BAD_REQUEST,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::InsufficientBalance => StatusCode::PAYMENT_REQUIRED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::AgentNotFound | Self::ExecutionNotFound | Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::ExecutionTimeout | Self::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::Conflict => StatusCode::CONFLICT,
            Self::PayloadTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UriTooLong => StatusCode::URI_TOO_LONG,
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::AgentPaused | Self::AgentUnpayable => StatusCode::UNPROCESSABLE_ENTITY,
            Self::RateLimited => StatusCode::TOO_MANY_REQUESTS,
            Self::HeadersTooLarge => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::ExecutionFailed | Self::Interrupted | Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Self::ResultUnavailable => StatusCode::BAD_GATEWAY,
            Self::Stale | Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// Whether a later repetition may have another outcome, without any word about when.
    const fn passes(self) -> bool {
        matches!(self, Self::RequestTimeout | Self::RateLimited | Self::Internal | Self::Stale)
    }

    /// The code as it is written in bodies.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Reads a code back, as the store keeps it.
    pub fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

/// An error answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", code.as_str())]
pub struct ApiError {
    pub code: ErrorCode,
    pub message: String,
    /// The execution that was created, if one was.
    pub execution_id: Option<Uuid>,
    /// Sent as `Retry-After`, in whole seconds, rounded up.
    pub retry_after: Option<Duration>,
    /// The limit that was met, sent as `RateLimit` and `RateLimit-Policy`.
    pub rate_limit: Option<RateLimit>,
}

/// A limit that a request met, as draft-ietf-httpapi-ratelimit-headers-10 describes it. Nothing of it is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// Name of the policy: lower-case letters and hyphens.
    pub policy: &'static str,
    pub quota: u32,
    pub unit: QuotaUnit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuotaUnit {
    /// So many at a time.
    Concurrent,
    /// So many within this time.
    Within(Duration),
}

/// The body of every error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ErrorBody {
    pub error: ErrorDetail,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ErrorDetail {
    pub code: ErrorCode,
    /// For people; do not parse it.
    pub message: String,
    /// null when no execution was created.
    #[schema(required)]
    pub execution_id: Option<Uuid>,
}

impl ApiError {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), execution_id: None, retry_after: None, rate_limit: None }
    }

    /// 400 about one named field or parameter: "`limit` must be …".
    pub fn invalid(name: &str, problem: impl Display) -> Self {
        Self::new(ErrorCode::InvalidRequest, format!("`{name}` {problem}"))
    }

    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidRequest, message)
    }

    pub fn unauthorized(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Unauthorized, message)
    }

    pub fn agent_not_found(agent_id: &str) -> Self {
        Self::new(ErrorCode::AgentNotFound, format!("there is no agent {}", shortened(agent_id, MAX_QUOTE_CHARS)))
    }

    pub fn execution_not_found(execution_id: &Uuid) -> Self {
        Self::new(ErrorCode::ExecutionNotFound, format!("this wallet has no execution {execution_id}"))
    }

    /// 500. The cause goes to the log, not to the client.
    pub fn internal(cause: impl Display) -> Self {
        tracing::error!(%cause, "internal error");
        Self::new(ErrorCode::Internal, "an internal error occurred; the request id identifies it in the logs")
    }

    /// 503 with `Retry-After`. The cause goes to the log, not to the client.
    pub fn unavailable(cause: impl Display) -> Self {
        tracing::warn!(%cause, "a dependency is unavailable");
        Self::new(ErrorCode::Unavailable, "the service cannot answer right now; try again")
            .with_retry_after(Duration::from_secs(1))
    }

    #[must_use]
    pub fn with_execution(mut self, execution_id: Uuid) -> Self {
        self.execution_id = Some(execution_id);
        self
    }

    #[must_use]
    pub fn with_retry_after(mut self, after: Duration) -> Self {
        self.retry_after = Some(after);
        self
    }

    /// 429 with `Retry-After` and the standard's headers.
    pub fn rate_limited(message: impl Into<String>, limit: RateLimit, retry_after: Duration) -> Self {
        let error = Self::new(ErrorCode::RateLimited, message).with_retry_after(retry_after);
        Self { rate_limit: Some(limit), ..error }
    }

    pub const fn status(&self) -> StatusCode {
        self.code.status()
    }

    /// What `x-should-retry` says: whether the same request, with the same `Idempotency-Key`, may succeed later. With the
    /// key it pays nothing twice.
    pub const fn should_retry(&self) -> bool {
        self.retry_after.is_some() || self.code.passes()
    }

    /// What `Retry-After` says: whole seconds, rounded up.
    pub fn retry_after_seconds(&self) -> Option<u64> {
        self.retry_after.map(|after| after.as_secs().saturating_add(u64::from(after.subsec_nanos() > 0)))
    }

    pub fn body(&self) -> ErrorBody {
        ErrorBody {
            error: ErrorDetail { code: self.code, message: self.message.clone(), execution_id: self.execution_id },
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status(), Json(self.body())).into_response();
        let should_retry = if self.should_retry() { "true" } else { "false" };
        response.headers_mut().insert(SHOULD_RETRY, HeaderValue::from_static(should_retry));
        if self.code == ErrorCode::Unauthorized {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = self.retry_after_seconds() {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
            if let Some(limit) = self.rate_limit {
                limit.write(response.headers_mut(), seconds);
            }
        }
        response
    }
}

impl RateLimit {
    const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
    const STATE: HeaderName = HeaderName::from_static("ratelimit");

    fn write(&self, headers: &mut HeaderMap, reset_s: u64) {
        let Self { policy, quota, unit } = self;
        let unit = match unit {
            QuotaUnit::Concurrent => "qu=\"concurrent-requests\"".to_owned(),
            QuotaUnit::Within(window) => format!("w={}", window.as_secs()),
        };
        for (name, text) in [
            (Self::POLICY, format!("\"{policy}\";q={quota};{unit}")),
            (Self::STATE, format!("\"{policy}\";r=0;t={reset_s}")),
        ] {
            if let Ok(value) = HeaderValue::from_str(&text) {
                headers.insert(name, value);
            }
        }
    }
}

impl From<StoreError> for ApiError {
    /// A database that cannot be reached is a passing condition; everything else is a fault of the service.
    fn from(error: StoreError) -> Self {
        if error.is_unavailable() { Self::unavailable(error) } else { Self::internal(error) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_written_code_is_the_one_in_the_body() {
        for &code in ErrorCode::VARIANTS {
            assert_eq!(serde_json::to_value(code).expect("json"), code.as_str());
            assert_eq!(ErrorCode::parse(code.as_str()), Some(code));
        }
    }

    #[test]
    fn the_body_is_the_one_of_the_specification() {
        let id = Uuid::from_u128(7);
        let error = ApiError::new(ErrorCode::ExecutionFailed, "m").with_execution(id);
        let expected = serde_json::json!({"error": {"code": "execution_failed", "message": "m", "execution_id": id}});
        assert_eq!(serde_json::to_value(error.body()).expect("json"), expected);
        let expected =
            serde_json::json!({"error": {"code": "invalid_request", "message": "`limit` x", "execution_id": null}});
        assert_eq!(serde_json::to_value(ApiError::invalid("limit", "x").body()).expect("json"), expected);
    }

    #[test]
    fn an_error_says_whether_the_same_request_may_succeed_later() {
        let passing: Vec<&str> =
            ErrorCode::VARIANTS.iter().filter(|code| code.passes()).map(|it| it.as_str()).collect();
        assert_eq!(passing, ["request_timeout", "rate_limited", "internal", "stale"]);
        let said = |error: ApiError| error.into_response().headers()[SHOULD_RETRY].to_str().expect("text").to_owned();
        // The same code with and without a time: a call that still runs, and a key that belongs to another body.
        let conflict = ApiError::new(ErrorCode::Conflict, "m");
        assert_eq!(said(conflict.clone().with_retry_after(Duration::from_secs(1))), "true");
        assert_eq!(said(conflict), "false");
        for (code, expected) in [
            (ErrorCode::Internal, "true"),
            (ErrorCode::ExecutionTimeout, "false"),
            (ErrorCode::Interrupted, "false"),
            (ErrorCode::Unavailable, "false"),
        ] {
            assert_eq!(said(ApiError::new(code, "m")), expected, "{code:?}");
        }
        assert_eq!(said(ApiError::unavailable("m")), "true");
    }

    #[test]
    fn retry_after_is_rounded_up_to_whole_seconds() {
        let error = ApiError::new(ErrorCode::Conflict, "m").with_retry_after(Duration::from_millis(1_200));
        assert_eq!(error.into_response().headers().get(header::RETRY_AFTER).expect("header"), "2");
    }

    #[test]
    fn a_rate_limit_is_sent_in_the_headers_of_the_standard() {
        let headers_of = |unit| {
            let limit = RateLimit { policy: "failures-per-key", quota: 20, unit };
            let error = ApiError::rate_limited("m", limit, Duration::from_millis(2_500));
            assert_eq!(error.status(), StatusCode::TOO_MANY_REQUESTS);
            let response = error.into_response();
            let text = |name: &str| response.headers()[name].to_str().expect("text").to_owned();
            (text("retry-after"), text("ratelimit"), text("ratelimit-policy"))
        };
        let within = headers_of(QuotaUnit::Within(Duration::from_secs(3_600)));
        let expected = ("3", "\"failures-per-key\";r=0;t=3", "\"failures-per-key\";q=20;w=3600");
        assert_eq!((&*within.0, &*within.1, &*within.2), expected);
        let at_once = headers_of(QuotaUnit::Concurrent);
        assert_eq!(at_once.2, "\"failures-per-key\";q=20;qu=\"concurrent-requests\"");
    }

    #[test]
    fn a_long_identifier_is_not_echoed_in_full() {
        assert!(ApiError::agent_not_found(&"x".repeat(10_000)).message.len() < 200);
    }
}
