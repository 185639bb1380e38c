//! One address for two networks: a request with an API key of the other network is answered by the deployment of that
//! network, whose address the operator has set. Everything else is answered here.
//!
//! Body and answer are passed on as they come, so a request costs no memory, and a connection for as long as its client
//! has one here, of which the server limits the number.

use std::{net::IpAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, header},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
};
use crtx_protocol::api_key::{ApiKey, KeyNetwork};
use reqwest::{Client, redirect};

use crate::{
    credentials::bearer,
    error::{ApiError, ErrorCode},
    layers::Peer,
    serve::X_FORWARDED_FOR,
};

const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// Longer than any call: an agent has up to 900 s, and its settlement follows.
const ANSWER_LIMIT: Duration = Duration::from_secs(1_200);

/// Names the deployments that a request has passed. A request that passed one is not passed on again.
const PASSED: HeaderName = header::VIA;
const PASSED_BY: &str = "1.1 crtx";
/// What belongs to one connection, or to this site alone.
const KEPT_HERE: [HeaderName; 12] = [
    header::HOST,
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::COOKIE,
    header::SET_COOKIE,
    header::FORWARDED,
    HeaderName::from_static("keep-alive"),
];

/// The deployment of the other network.
#[derive(Debug)]
pub struct OtherNetwork {
    url: String,
    /// Whose keys it accepts.
    network: KeyNetwork,
    client: Client,
}

impl OtherNetwork {
    /// `url` has no slash at its end. `own`: the network of this deployment's keys.
    pub fn new(url: &str, own: KeyNetwork) -> reqwest::Result<Self> {
        let client = Client::builder().connect_timeout(CONNECT_LIMIT).timeout(ANSWER_LIMIT).no_proxy();
        Ok(Self {
            url: url.to_owned(),
            network: own.other(),
            client: client.redirect(redirect::Policy::none()).build()?,
        })
    }

    /// Whether a request has a well-formed key of that network, and comes from a client.
    fn answers(&self, headers: &HeaderMap) -> bool {
        let key = bearer(headers, "API_KEY").ok().flatten().and_then(|text| text.parse::<ApiKey>().ok());
        // Proxies may have joined the lines into one.
        let mut passed = headers.get_all(PASSED).iter().flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
        key.is_some_and(|key| key.network() == self.network)
            && !passed.any(|by| by.trim_ascii() == PASSED_BY.as_bytes())
    }

    async fn pass_on(&self, request: Request) -> Response {
        let client = Peer::of(request.extensions());
        let (parts, body) = request.into_parts();
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let sent = self
            .client
            .request(parts.method, format!("{}{path}", self.url))
            .headers(of_request(parts.headers, client))
            .body(reqwest::Body::wrap_stream(body.into_data_stream()));
        match sent.send().await {
            Ok(answer) => {
                let answer: axum::http::Response<reqwest::Body> = answer.into();
                let (mut parts, body) = answer.into_parts();
                drop_kept_here(&mut parts.headers);
                Response::from_parts(parts, Body::new(body))
            }
            Err(error) if error.is_connect() => ApiError::unavailable(error).into_response(),
            Err(error) => {
                tracing::warn!(%error, "the deployment of the other network broke off");
                let message = "the service of that network broke off, and may have done what was asked: look, or \
                               repeat the request with the same `Idempotency-Key`";
                ApiError::new(ErrorCode::Internal, message).into_response()
            }
        }
    }
}

/// Passes requests for the other network on. Apply it last, outside of what answers unknown paths.
pub fn with_other_network(router: Router, other: Arc<OtherNetwork>) -> Router {
    router.layer(from_fn_with_state(other, choose))
}

async fn choose(State(other): State<Arc<OtherNetwork>>, request: Request, next: Next) -> Response {
    // `OPTIONS *` is about a server, and has no path.
    if request.uri().path().starts_with('/') && other.answers(request.headers()) {
        other.pass_on(request).await
    } else {
        next.run(request).await
    }
}

/// The header of a request as it is passed on. The client is named by what this server knows, and not by what it wrote.
fn of_request(mut headers: HeaderMap, client: Option<IpAddr>) -> HeaderMap {
    drop_kept_here(&mut headers);
    headers.remove(X_FORWARDED_FOR);
    if let Some(value) = client.and_then(|client| HeaderValue::from_str(&client.to_string()).ok()) {
        headers.insert(X_FORWARDED_FOR, value);
    }
    headers.append(PASSED, HeaderValue::from_static(PASSED_BY));
    headers
}

fn drop_kept_here(headers: &mut HeaderMap) {
    // `Connection` names more of them.
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.iter().chain(&KEPT_HERE) {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use axum::{body::to_bytes, http::StatusCode, routing::any};
    use tokio::net::TcpListener;
    use tower::ServiceExt;

    use super::*;

    fn key(network: KeyNetwork) -> String {
        format!("Bearer {}", ApiKey::from_secret(network, [3; 32]).reveal())
    }

    /// Says what it was asked.
    async fn deployment() -> SocketAddr {
        let router = Router::new().fallback(any(async |request: Request| {
            let (parts, body) = request.into_parts();
            let body = to_bytes(body, 1 << 20).await.expect("a body");
            let mut text = format!("{} {} {}\n", parts.method, parts.uri, String::from_utf8_lossy(&body));
            let mut lines: Vec<_> = parts.headers.iter().map(|(name, value)| format!("{name}: {value:?}\n")).collect();
            lines.sort();
            text.extend(lines);
            (StatusCode::IM_A_TEAPOT, [("x-request-id", "theirs"), ("set-cookie", "a=b")], text)
        }));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(async move { axum::serve(listener, router).await });
        address
    }

    fn in_front_of(address: SocketAddr) -> Router {
        let here = Router::new().fallback(any(|| async { "here" }));
        let other = OtherNetwork::new(&format!("http://{address}"), KeyNetwork::Live).expect("a client");
        with_other_network(here, Arc::new(other))
    }

    async fn ask(router: &Router, headers: &[(&str, &str)]) -> (StatusCode, HeaderMap, String) {
        let mut request = Request::post("/v1/agents/a/execute?b=c").extension(Peer([192, 0, 2, 7].into()));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = router.clone().oneshot(request.body(Body::from("task")).expect("a request")).await.expect("never");
        let (parts, body) = answer.into_parts();
        let body = to_bytes(body, 1 << 20).await.expect("a body");
        (parts.status, parts.headers, String::from_utf8(body.to_vec()).expect("text"))
    }

    #[tokio::test]
    async fn a_key_of_the_other_network_is_answered_by_its_deployment_with_everything_but_what_stays_here() {
        let router = in_front_of(deployment().await);
        let key = key(KeyNetwork::Test);
        let (status, headers, text) = ask(
            &router,
            &[
                ("authorization", &key),
                ("idempotency-key", "order-1"),
                ("cookie", "session=mine"),
                ("connection", "close, x-hop"),
                ("x-hop", "1"),
                ("x-forwarded-for", "203.0.113.9"),
                ("forwarded", "for=203.0.113.9"),
            ],
        )
        .await;
        assert_eq!(status, StatusCode::IM_A_TEAPOT);
        assert_eq!(headers["x-request-id"], "theirs");
        assert!(!headers.contains_key("set-cookie"));
        assert!(text.starts_with("POST /v1/agents/a/execute?b=c task\n"), "{text}");
        for line in ["idempotency-key: \"order-1\"", "x-forwarded-for: \"192.0.2.7\"", "via: \"1.1 crtx\""] {
            assert!(text.contains(line), "{line}: {text}");
        }
        assert!(text.contains(&format!("authorization: {:?}", HeaderValue::from_str(&key).expect("text"))), "{text}");
        for name in ["cookie", "x-hop", "203.0.113.9"] {
            assert!(!text.contains(name), "{name}: {text}");
        }
    }

    #[tokio::test]
    async fn everything_else_is_answered_here() {
        let router = in_front_of(deployment().await);
        let (own, other) = (key(KeyNetwork::Live), key(KeyNetwork::Test));
        for headers in [
            &[][..],
            &[("authorization", own.as_str())],
            &[("authorization", "Bearer crtx_test_nonsense")],
            &[("authorization", &other), ("authorization", &other)],
            &[("authorization", &other), ("via", "1.1 crtx")],
            &[("authorization", &other), ("via", "1.1 proxy"), ("via", "1.1 crtx")],
            &[("authorization", &other), ("via", "1.1 proxy,1.1 crtx , 1.1 proxy")],
        ] {
            assert_eq!(ask(&router, headers).await.2, "here", "{headers:?}");
        }
    }

    #[tokio::test]
    async fn a_deployment_that_is_not_there_was_asked_nothing_and_one_that_breaks_off_may_have_done_it() {
        let key = key(KeyNetwork::Test);
        let closed = TcpListener::bind("127.0.0.1:0").await.expect("a port").local_addr().expect("an address");
        let (status, headers, text) = ask(&in_front_of(closed), &[("authorization", &key)]).await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{text}");
        assert!(headers.contains_key(header::RETRY_AFTER));

        let breaks_off = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = breaks_off.local_addr().expect("an address");
        tokio::spawn(async move {
            while let Ok((socket, _)) = breaks_off.accept().await {
                let mut read = [0; 16];
                let _ = socket.readable().await;
                let _ = socket.try_read(&mut read);
            }
        });
        let (status, headers, text) = ask(&in_front_of(address), &[("authorization", &key)]).await;
        assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR, "{text}");
        assert!(text.contains("may have done what was asked") && !headers.contains_key(header::RETRY_AFTER), "{text}");
    }
}
