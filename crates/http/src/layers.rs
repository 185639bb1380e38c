//! What wraps every service: request ids, error bodies for unknown paths and methods, and for panics.

use std::{any::Any, net::IpAddr};

use axum::{
    Router,
    extract::Request,
    http::{Extensions, HeaderName, HeaderValue},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{MethodRouter, any},
};
use tower_http::catch_panic::CatchPanicLayer;
use tracing::Instrument;
use uuid::Uuid;

use crate::error::{ApiError, ErrorCode};

pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The id of the request at hand, as an extension of the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestId(pub String);

/// The network of the client that a request came from, as an extension of the request: an IPv4 address, or an IPv6 /64.
/// Behind a trusted proxy it is the client that the proxy names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Peer(pub IpAddr);

impl Peer {
    /// The client of a request. `None` without the server that knows it.
    pub fn of(extensions: &Extensions) -> Option<IpAddr> {
        extensions.get::<Self>().map(|peer| peer.0)
    }
}

/// Completes a service: apply it once, last, to everything that is served on a port.
pub fn finish(router: Router) -> Router {
    finish_with(router, any(|| async { ApiError::new(ErrorCode::NotFound, "there is nothing at this path") }))
}

/// The same with another answer to unknown paths.
pub fn finish_with(router: Router, unknown_path: MethodRouter) -> Router {
    router
        .fallback_service(unknown_path)
        .method_not_allowed_fallback(|| async {
            ApiError::new(ErrorCode::MethodNotAllowed, "this path does not answer that method")
        })
        .layer(CatchPanicLayer::custom(answer_for_panic))
        .layer(middleware::from_fn(with_request_id))
}

fn answer_for_panic(panic: Box<dyn Any + Send + 'static>) -> Response {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    ApiError::internal(format!("panic: {}", text.unwrap_or("of unknown type"))).into_response()
}

/// Gives each request an id, unless the client sent a usable one, and each answer the same.
async fn with_request_id(mut request: Request, next: Next) -> Response {
    let id = usable_request_id(request.headers().get(REQUEST_ID));
    request.extensions_mut().insert(RequestId(id.clone()));
    let span = tracing::info_span!("request", id = %id, method = %request.method(), path = %request.uri().path());
    let mut response = next.run(request).instrument(span).await;
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}

/// The id that the client sent, or a new one.
pub(crate) fn usable_request_id(sent: Option<&HeaderValue>) -> String {
    sent.and_then(|value| value.to_str().ok())
        .filter(|text| is_usable(text))
        .map_or_else(|| new_request_id().to_string(), str::to_owned)
}

/// A random UUID. The generator of the thread asks the system for randomness far less often than once per request.
fn new_request_id() -> Uuid {
    uuid::Builder::from_random_bytes(rand::random()).into_uuid()
}

fn is_usable(id: &str) -> bool {
    (1..=64).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::{body::Body, http::StatusCode, routing::get};
    use tower::ServiceExt;

    async fn ask(method: &str, path: &str, id: Option<&str>) -> (StatusCode, String, serde_json::Value) {
        let router = finish(Router::new().route("/ok", get(|| async { "{}" })).route(
            "/panic",
            get(|| async {
                if true {
                    panic!("on purpose")
                }
            }),
        ));
        let mut request = Request::builder().method(method).uri(path);
        if let Some(id) = id {
            request = request.header(REQUEST_ID, id);
        }
        let response = router.oneshot(request.body(Body::empty()).expect("request")).await.expect("infallible");
        let status = response.status();
        let id = response.headers().get(REQUEST_ID).expect("every answer has one").to_str().expect("text").to_owned();
        let body = axum::body::to_bytes(response.into_body(), 10_000).await.expect("body");
        (status, id, serde_json::from_slice(&body).unwrap_or_default())
    }

    #[tokio::test]
    async fn every_answer_has_a_request_id_and_every_error_the_error_body() {
        for (method, path, status, code) in [
            ("GET", "/none", 404, "not_found"),
            ("POST", "/ok", 405, "method_not_allowed"),
            ("GET", "/panic", 500, "internal"),
        ] {
            let (got, id, body) = ask(method, path, None).await;
            assert_eq!((got.as_u16(), body["error"]["code"].as_str()), (status, Some(code)));
            assert!(!id.is_empty());
            assert!(body["error"]["execution_id"].is_null());
        }
    }

    #[tokio::test]
    async fn a_usable_request_id_is_kept_and_another_replaced() {
        assert_eq!(ask("GET", "/ok", Some("abc-1")).await.1, "abc-1");
        assert_ne!(ask("GET", "/ok", Some("a b")).await.1, "a b");
        assert_ne!(ask("GET", "/ok", Some(&"a".repeat(65))).await.1.len(), 65);
    }
}
