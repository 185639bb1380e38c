//! One connection, from its first byte to its orderly end.

use std::{
    convert::Infallible,
    future::poll_fn,
    net::{IpAddr, SocketAddr},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    extract::{ConnectInfo, Request},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures::{StreamExt, future::BoxFuture};
use http_body::Body as _;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use tokio_util::sync::CancellationToken;
use tower::Service;

use super::{
    bodies::{Bodies, BodyOwner},
    body::{RequestBody, answer_body},
    connections::{ConnectionPermit, ConnectionRegistry, network_of},
    gate::RequestGate,
    limits::{LONGEST_REFUSAL_WAIT, MAX_HEAD, MAX_HEADER_FIELDS, ServeLimits},
    proxies::TrustedProxies,
    refusal,
};
use crate::{
    allowance::Allowances,
    error::{ApiError, ErrorCode},
    layers::{Peer, REQUEST_ID, new_request_id},
};

/// What hyper may buffer: a head that passed the gate always fits.
const ENGINE_BUFFER: usize = 2 * MAX_HEAD;
/// For a refusal to be written, and then for the client to notice it.
const FAREWELL: Duration = Duration::from_secs(2);
/// What a restricted connection is answered, everything else is 503.
const HEALTH_PATHS: [&str; 3] = ["/healthz", "/readyz", "/v1/status"];

/// Is cancelled when the server stops, as an extension of the request: an answer that waits for something is given then.
#[derive(Clone, Debug, Default)]
pub struct Stopping(pub CancellationToken);

/// What all connections of one server have in common.
#[derive(Clone)]
pub struct Server {
    pub router: Router,
    pub limits: ServeLimits,
    pub proxies: TrustedProxies,
    pub connections: Arc<ConnectionRegistry>,
    pub bodies: Arc<Bodies>,
    /// Refused requests of each client.
    pub refusals: Arc<Allowances<IpAddr>>,
    /// No further request is taken.
    pub drain: CancellationToken,
    /// Requests under way are answered with 503.
    pub cut: CancellationToken,
}

/// Serves one client until one side ends the connection.
pub async fn run(server: Server, socket: TcpStream, address: SocketAddr, permit: ConnectionPermit) {
    permit.state.evicted.run_until_cancelled(serve(&server, socket, address, &permit)).await;
}

async fn serve(server: &Server, socket: TcpStream, address: SocketAddr, permit: &ConnectionPermit) {
    let _ = socket.set_nodelay(true);
    // Unsent bytes of a closed socket are discarded when the client reads nothing for this long.
    let _ = socket2::SockRef::from(&socket).set_tcp_user_timeout(Some(server.limits.answer));
    let mut limits = server.limits;
    if permit.state.restricted {
        limits.first_byte = limits.first_byte.min(FAREWELL);
        limits.head = limits.head.min(FAREWELL);
    }
    let mut gate = RequestGate::new(socket, Arc::clone(&permit.state), limits);
    let mut silence = limits.first_byte;
    let refusal = loop {
        match server.drain.run_until_cancelled(gate.next_head(silence)).await {
            Some(Ok(true)) => {}
            Some(Err(refusal)) => break Some(refusal),
            Some(Ok(false)) | None => break None,
        }
        if let Err(error) = serve_one(server, &mut gate, address, permit).await {
            tracing::debug!(%error, %address, "a connection ended early");
            return;
        }
        if !gate.goes_on() {
            break None;
        }
        silence = limits.keep_alive;
    };
    let _ = timeout(FAREWELL, say_farewell(gate, refusal)).await;
}

/// Has hyper answer the request whose head has passed the gate. The gate ends hyper's stream after it.
async fn serve_one(
    server: &Server,
    gate: &mut RequestGate<TcpStream>,
    address: SocketAddr,
    permit: &ConnectionPermit,
) -> hyper::Result<()> {
    let service = service_fn(|request: Request<Incoming>| answer(server, permit, address, request));
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(None)
        .max_headers(MAX_HEADER_FIELDS.saturating_add(1))
        .max_buf_size(ENGINE_BUFFER)
        .serve_connection(TokioIo::new(gate), service);
    poll_fn(|context| connection.poll_without_shutdown(context)).await
}

/// Writes the last answer, if there is one, and lets the client read it: closing a socket that has unread bytes
/// would discard the answer.
async fn say_farewell(mut gate: RequestGate<TcpStream>, refusal: Option<ApiError>) -> std::io::Result<()> {
    if let Some(refusal) = &refusal {
        gate.socket.write_all(&refusal::answer(refusal)).await?;
    }
    gate.socket.shutdown().await?;
    if gate.is_still_sending() {
        let mut rest = vec![0; 16 * 1024];
        while gate.socket.read(&mut rest).await? > 0 {}
    }
    Ok(())
}

fn answer<'a>(
    server: &'a Server,
    permit: &'a ConnectionPermit,
    address: SocketAddr,
    request: Request<Incoming>,
) -> BoxFuture<'a, Result<Response, Infallible>> {
    Box::pin(async move {
        let (mut parts, body) = request.into_parts();
        // The end of such a body is known to hyper alone; what follows it is not looked for.
        let has_no_known_end = parts.headers.contains_key(header::TRANSFER_ENCODING);
        parts.extensions.insert(ConnectInfo(address));
        let client = network_of(server.proxies.client_of(address.ip(), &parts.headers));
        parts.extensions.insert(Peer(client));
        parts.extensions.insert(Stopping(server.drain.clone()));
        let has_place = permit.serves(client) && !permit.state.restricted;
        let allowed = has_place || HEALTH_PATHS.contains(&parts.uri.path());
        let room = || Arc::new(server.bodies.room(client, body.size_hint().exact()));
        let room = (!body.is_end_stream()).then(room);
        if let Some(room) = &room {
            parts.extensions.insert(BodyOwner::of(room));
        }
        let body = RequestBody::new(body, room, Arc::clone(&permit.state), &server.limits);
        let request = Request::from_parts(parts, Body::new(body));
        let mut response = if allowed {
            let mut router = server.router.clone();
            // "Try again" would be wrong for a request that may be carried out in part, such as a call that is
            // already paid. It gets its own answer or none.
            let changes_nothing = request.method().is_safe();
            tokio::select! {
                biased;
                response = router.call(request) => response?,
                () = server.cut.cancelled(), if changes_nothing => unserved("the service is stopping; try again"),
            }
        } else {
            drop(request);
            unserved("the service has more connections than it can serve; try again")
        };
        slow_refusals_down(server, client, response.status()).await;
        if is_stream(&response) {
            permit.state.streams.store(true, Ordering::Release);
            let stop = server.drain.clone().cancelled_owned();
            response = response.map(|body| Body::from_stream(body.into_data_stream().take_until(stop)));
        }
        if has_no_known_end || permit.state.restricted || server.drain.is_cancelled() {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        Ok(response.map(|body| answer_body(body, Arc::clone(&permit.state))))
    })
}

/// Whether an answer is a stream of events, also one of another service: it has no end of its own, so a stop ends it.
fn is_stream(response: &Response) -> bool {
    let content_type = response.headers().get(header::CONTENT_TYPE);
    content_type.is_some_and(|value| value.as_bytes().starts_with(b"text/event-stream"))
}

/// A client that repeats a request without a valid credential, with too long a body, or beyond a limit waits for these
/// answers. Each of them costs little, but in a loop they take processor time from everybody. Other answers to the same
/// address do not wait.
async fn slow_refusals_down(server: &Server, client: IpAddr, status: StatusCode) {
    let is_refusal =
        matches!(status, StatusCode::UNAUTHORIZED | StatusCode::PAYLOAD_TOO_LARGE | StatusCode::TOO_MANY_REQUESTS);
    if is_refusal {
        let wait = server.refusals.delay(client, LONGEST_REFUSAL_WAIT);
        // A stop does not wait for them.
        let _ = timeout(wait, server.drain.cancelled()).await;
    }
}

fn unserved(message: &str) -> Response {
    let error = ApiError::new(ErrorCode::Unavailable, message).with_retry_after(Duration::from_secs(1));
    let mut response = error.into_response();
    if let Ok(id) = HeaderValue::from_str(&new_request_id().to_string()) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}
