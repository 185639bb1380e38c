//! Answers that are written without the HTTP engine, because it never saw a request: the error body
//! ("Error body" in `docs/specification.md`), a request id, and the end of the connection.

use std::time::SystemTime;

use axum::http::StatusCode;
use uuid::Uuid;

use crate::error::{ApiError, ErrorCode};

/// An answer after which the connection is closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(pub ApiError);

impl Refusal {
    pub fn malformed(problem: &str) -> Self {
        Self(ApiError::invalid_request(format!("the request is not valid HTTP/1.1: {problem}")))
    }

    pub fn target_too_long(limit: usize) -> Self {
        Self(ApiError::new(ErrorCode::UriTooLong, format!("the request target is longer than {limit} bytes")))
    }

    pub fn head_too_large(problem: String) -> Self {
        Self(ApiError::new(ErrorCode::HeadersTooLarge, problem))
    }

    pub fn head_too_slow() -> Self {
        Self(ApiError::new(ErrorCode::RequestTimeout, "the header fields did not arrive in time"))
    }

    /// The whole answer as it goes over the wire.
    pub fn to_bytes(&self) -> Vec<u8> {
        let Self(error) = self;
        let status: StatusCode = error.status();
        let id = Uuid::new_v4();
        let body = serde_json::to_vec(&error.body()).unwrap_or_default();
        let mut answer = format!(
            "HTTP/1.1 {} {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\
             x-request-id: {id}\r\ndate: {}\r\n",
            status.as_u16(),
            status.canonical_reason().unwrap_or("Refused"),
            body.len(),
            httpdate::fmt_http_date(SystemTime::now()),
        );
        if let Some(seconds) = error.retry_after_seconds() {
            answer.push_str(&format!("retry-after: {seconds}\r\n"));
        }
        answer.push_str("\r\n");
        tracing::debug!(%id, %error, "a request was refused before it was read");
        let mut bytes = answer.into_bytes();
        bytes.extend_from_slice(&body);
        bytes
    }
}
