//! What wraps every service: request ids, error bodies for unknown paths and methods, and for panics.

use std::{any::Any, net::IpAddr};

use axum::{
    Router,
    extract::Request,
    http::{Extensions, HeaderName, HeaderValue, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{MethodRouter, any},
};
use crtx_protocol::text::shortened;
use tower_http::catch_panic::CatchPanicLayer;
use tracing::Instrument;
use uuid::Uuid;

use crate::{
    credentials,
    error::{ApiError, ErrorCode, MAX_QUOTE_CHARS},
    site::Site,
};

/// How long browsers remember that there is TLS.
const A_YEAR: HeaderValue = HeaderValue::from_static("max-age=31536000");

pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

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
        .layer(middleware::from_fn(refuse_a_malformed_wallet))
        .layer(CatchPanicLayer::custom(answer_for_panic))
        .layer(middleware::from_fn(with_request_id))
}

/// Also where the request has no session, so that a page learns of its mistake.
async fn refuse_a_malformed_wallet(request: Request, next: Next) -> Response {
    match credentials::meant_wallet(request.headers()) {
        Ok(_) => next.run(request).await,
        Err(error) => error.into_response(),
    }
}

fn answer_for_panic(panic: Box<dyn Any + Send + 'static>) -> Response {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    ApiError::internal(format!("panic: {}", text.unwrap_or("of unknown type"))).into_response()
}

/// Where the public address is https, tells browsers to come over TLS alone. Apply it last.
pub fn over_tls_alone(router: Router, site: &Site) -> Router {
    if !site.is_secure() {
        return router;
    }
    router.layer(middleware::map_response(async |mut response: Response| {
        response.headers_mut().insert(header::STRICT_TRANSPORT_SECURITY, A_YEAR);
        response
    }))
}

/// Gives each request an id of its own, and each answer the same. An id that the client sent is logged beside it.
async fn with_request_id(request: Request, next: Next) -> Response {
    let id = new_request_id().to_string();
    let sent = request.headers().get(REQUEST_ID).map(shown);
    let (method, path) = (request.method(), request.uri().path());
    let span = tracing::info_span!("request", id = %id, client_id = sent, method = %method, path = %path);
    let mut response = next.run(request).instrument(span).await;
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}

/// A value of a client for the log: the beginning, as one line of printable ASCII.
fn shown(value: &HeaderValue) -> String {
    let text = String::from_utf8_lossy(value.as_bytes());
    let text = text.chars().map(|c| if c == ' ' || c.is_ascii_graphic() { c } else { char::REPLACEMENT_CHARACTER });
    shortened(&text.collect::<String>(), MAX_QUOTE_CHARS)
}

/// A random UUID. The generator of the thread asks the system for randomness far less often than once per request.
pub(crate) fn new_request_id() -> Uuid {
    uuid::Builder::from_random_bytes(rand::random()).into_uuid()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::{body::Body, http::StatusCode, routing::get};
    use tower::ServiceExt;

    async fn ask(method: &str, path: &str, id: Option<&str>) -> (StatusCode, String, serde_json::Value) {
        let log = get(|| async { tracing::info!("at work") });
        let router = finish(Router::new().route("/ok", get(|| async { "{}" })).route("/log", log).route(
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
    async fn the_id_of_an_answer_is_the_services_own_and_that_of_the_client_is_logged_beside_it() {
        let log = Log::default();
        let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(log.clone());
        let sent = format!("abc-1 \t\u{9b}\u{202e}{}", "a".repeat(100));
        let ids = {
            let _guard = tracing::subscriber::set_default(subscriber.with_max_level(tracing::Level::INFO).finish());
            [ask("GET", "/log", Some("abc-1")).await.1, ask("GET", "/log", Some(&sent)).await.1]
        };
        assert!(ids.iter().all(|id| id.parse::<Uuid>().is_ok()), "{ids:?}");
        let text = String::from_utf8(log.0.lock().expect("unpoisoned").clone()).expect("text");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(lines[0].contains(&ids[0]) && lines[0].contains("client_id=\"abc-1\""), "{text}");
        assert!(lines[1].contains(&ids[1]) && lines[1].contains("client_id=\"abc-1 \u{fffd}"), "{text}");
        assert!(!lines[1].contains(&"a".repeat(64)) && !text.contains(['\t', '\u{9b}', '\u{202e}']), "{text}");
    }

    #[tokio::test]
    async fn a_malformed_name_of_a_wallet_is_refused_also_where_nobody_signed_in() {
        for (names, status) in [
            (&[][..], 200),
            (&["11111111111111111111111111111111"], 200),
            (&[""], 400),
            (&["no address"], 400),
            (&["11111111111111111111111111111111", "11111111111111111111111111111111"], 400),
        ] {
            let router = finish(Router::new().route("/ok", get(|| async { "{}" })));
            let mut request = Request::get("/ok");
            for name in names {
                request = request.header("x-crtx-wallet", *name);
            }
            let answer = router.oneshot(request.body(Body::empty()).expect("request")).await.expect("infallible");
            assert_eq!(answer.status().as_u16(), status, "{names:?}");
            assert!(answer.headers().contains_key(REQUEST_ID));
        }
    }

    #[derive(Clone, Default)]
    struct Log(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

    impl std::io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("unpoisoned").extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl tracing_subscriber::fmt::MakeWriter<'_> for Log {
        type Writer = Self;

        fn make_writer(&self) -> Self {
            self.clone()
        }
    }

    #[tokio::test]
    async fn browsers_are_told_to_stay_with_tls_where_the_public_address_has_it() {
        for (url, expected) in [("https://api.example", Some("max-age=31536000")), ("http://127.0.0.1:8080", None)] {
            let router = over_tls_alone(finish(Router::new().route("/ok", get(|| async { "{}" }))), &Site::new(url));
            for path in ["/ok", "/none"] {
                let request = Request::get(path).body(Body::empty()).expect("request");
                let answer = router.clone().oneshot(request).await.expect("infallible");
                let sent = answer.headers().get(header::STRICT_TRANSPORT_SECURITY);
                assert_eq!(sent.map(|value| value.to_str().expect("text")), expected, "{url} {path}");
            }
        }
    }
}
