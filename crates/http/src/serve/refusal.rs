//! Answers that are written without hyper, because it never saw a request: the error body
//! ("Error body" in `docs/specification.md`), a request id, and the end of the connection.

use std::time::SystemTime;

use crate::{error::ApiError, layers::new_request_id};

/// The whole answer as it goes over the wire. The connection is closed after it.
pub fn answer(error: &ApiError) -> Vec<u8> {
    let (status, id) = (error.status(), new_request_id());
    let body = serde_json::to_vec(&error.body()).unwrap_or_default();
    tracing::debug!(%id, %error, "a request was refused before it was read");
    let head = format!(
        "HTTP/1.1 {} {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\
         x-request-id: {id}\r\nx-should-retry: {}\r\ndate: {}\r\n\r\n",
        status.as_u16(),
        status.canonical_reason().unwrap_or("Refused"),
        body.len(),
        error.should_retry(),
        httpdate::fmt_http_date(SystemTime::now()),
    );
    [head.into_bytes(), body].concat()
}
