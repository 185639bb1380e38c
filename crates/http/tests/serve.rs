//! The server against clients that are slow, silent, greedy or wrong, over real sockets.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests"
)]

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use axum::{
    Extension, Json, Router,
    body::Body,
    extract::{Request, State},
    routing::{get, post},
};
use crtx_http::{AddressRange, ApiError, Peer, ServeLimits, TrustedProxies, allowance::Rate, body, finish, serve};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

const BODY_LIMIT: usize = 1024 * 1024;
const BIG: usize = 32 * 1024 * 1024;
/// Longer than any limit of these tests.
const SOON: Duration = Duration::from_secs(10);

struct Service {
    address: SocketAddr,
    shutdown: CancellationToken,
    task: JoinHandle<std::io::Result<()>>,
    dropped: Arc<AtomicUsize>,
}

/// Counts handlers that ended before their answer.
struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

async fn wait_long(State(dropped): State<Arc<AtomicUsize>>) -> &'static str {
    let _guard = Dropped(dropped);
    sleep(Duration::from_secs(600)).await;
    "late"
}

async fn wait_short() -> &'static str {
    sleep(Duration::from_millis(900)).await;
    "patience"
}

async fn length(request: Request) -> Result<Json<usize>, ApiError> {
    Ok(Json(body::read(request.into_body(), BODY_LIMIT).await?.len()))
}

/// A stream without an end, so many bytes at a time.
fn stream(every: Duration, bytes: usize) -> impl axum::response::IntoResponse {
    let frames = futures::stream::unfold((), move |()| async move {
        sleep(every).await;
        Some((Ok::<_, std::convert::Infallible>(vec![b'.'; bytes]), ()))
    });
    ([("content-type", "text/event-stream")], Body::from_stream(frames))
}

fn limits() -> ServeLimits {
    ServeLimits {
        first_byte: Duration::from_millis(400),
        head: Duration::from_millis(400),
        keep_alive: Duration::from_millis(600),
        body_stall: Duration::from_millis(400),
        body: Duration::from_millis(1_500),
        answer_stall: Duration::from_millis(400),
        answer: Duration::from_millis(800),
        drain: Duration::from_millis(500),
        ..ServeLimits::default()
    }
}

async fn start(limits: ServeLimits) -> Service {
    start_behind(TrustedProxies::default(), limits).await
}

async fn start_behind(proxies: TrustedProxies, limits: ServeLimits) -> Service {
    let dropped = Arc::new(AtomicUsize::new(0));
    let router = Router::new()
        .route("/healthz", get(|| async { "{}" }))
        .route("/echo", get(|| async { "echo" }))
        .route("/peer", get(|Extension(Peer(client)): Extension<Peer>| async move { client.to_string() }))
        .route("/long", get(wait_long).post(wait_long))
        .route("/short", get(wait_short))
        .route("/refused", get(|| async { ApiError::unauthorized("who are you?") }))
        .route("/length", post(length))
        .route("/big", get(|| async { Body::from(vec![b'x'; BIG]) }))
        .route("/stream", get(|| async { stream(Duration::from_millis(100), 8) }))
        .route("/flood", get(|| async { stream(Duration::ZERO, 64 * 1024) }))
        .with_state(Arc::clone(&dropped));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("port");
    let address = listener.local_addr().expect("bound");
    let shutdown = CancellationToken::new();
    let task = tokio::spawn(serve(proxies, listener, finish(router), limits, shutdown.clone().cancelled_owned()));
    Service { address, shutdown, task, dropped }
}

impl Service {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.expect("the kernel accepts")
    }

    async fn send(&self, bytes: impl AsRef<[u8]>) -> TcpStream {
        let mut stream = self.connect().await;
        stream.write_all(bytes.as_ref()).await.expect("sent");
        stream
    }

    /// Everything that comes back until the server closes.
    async fn ask(&self, bytes: impl AsRef<[u8]>) -> String {
        read_all(self.send(bytes).await).await
    }

    async fn get(&self, path: &str) -> String {
        self.ask(format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")).await
    }
}

async fn read_all(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    // A connection that is reset has been closed as well.
    let _ = timeout(SOON, stream.read_to_end(&mut bytes)).await.expect("the server closes the connection in time");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads one answer with a known length.
async fn read_one(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") {
        timeout(SOON, stream.read_exact(&mut byte)).await.expect("in time").expect("an answer");
        bytes.push(byte[0]);
    }
    let head = String::from_utf8(bytes).expect("text");
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).expect("a length");
    let mut body = vec![0; length.parse().expect("a number")];
    timeout(SOON, stream.read_exact(&mut body)).await.expect("in time").expect("the body");
    head + &String::from_utf8_lossy(&body)
}

/// Whether the answer is an error of the specification's form.
fn assert_error(answer: &str, status: u16, code: &str) {
    assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let head = head.to_ascii_lowercase();
    assert!(head.contains("content-type: application/json"), "{answer}");
    assert!(head.contains("x-request-id: "), "{answer}");
    let body: serde_json::Value = serde_json::from_str(body).unwrap_or_else(|_| panic!("a JSON body: {answer}"));
    assert_eq!(body["error"]["code"], code, "{answer}");
    assert!(body["error"]["message"].is_string() && body["error"]["execution_id"].is_null(), "{answer}");
    assert_eq!(body["error"].as_object().expect("object").len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_follow_each_other_on_one_connection_also_when_they_are_sent_at_once() {
    let service = start(limits()).await;
    let one = "POST /length HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nhello";
    let mut stream = service.send(one.repeat(3) + "GET /echo HTTP/1.1\r\nhost: x\r\n\r\n").await;
    for _ in 0..3 {
        assert!(read_one(&mut stream).await.ends_with("\r\n\r\n5"));
    }
    assert!(read_one(&mut stream).await.ends_with("echo"));
    sleep(Duration::from_millis(100)).await;
    stream.write_all(one.as_bytes()).await.expect("still open");
    assert!(read_one(&mut stream).await.ends_with("\r\n\r\n5"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_arrives_byte_by_byte_is_answered() {
    let service = start(ServeLimits { head: Duration::from_secs(5), ..limits() }).await;
    let mut stream = service.connect().await;
    for byte in b"POST /length HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nhello" {
        stream.write_all(&[*byte]).await.expect("sent");
        sleep(Duration::from_millis(2)).await;
    }
    assert!(read_one(&mut stream).await.ends_with("\r\n\r\n5"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chunked_body_is_read_and_its_connection_closed() {
    let service = start(limits()).await;
    let head = "POST /length HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";
    let answer = service.ask(format!("{head}3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\r\n\r\n7"), "{answer}");
    assert!(answer.contains("connection: close"), "{answer}");
    let mut stream = service.send(format!("{head}3\r\nabc\r\n")).await;
    assert_error(&read_one(&mut stream).await, 408, "request_timeout");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_is_asked_for_where_the_client_waits_to_be_asked() {
    let service = start(limits()).await;
    let mut stream =
        service.send("POST /length HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\n").await;
    let mut asked = vec![0; b"HTTP/1.1 100 Continue\r\n\r\n".len()];
    timeout(SOON, stream.read_exact(&mut asked)).await.expect("in time").expect("asked");
    stream.write_all(b"hello").await.expect("sent");
    assert!(read_one(&mut stream).await.ends_with("\r\n\r\n5"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_malformed_or_too_large_gets_the_error_body() {
    let service = start(limits()).await;
    let long = "x".repeat(9_000);
    for (request, status, code) in [
        (format!("GET /{long} HTTP/1.1\r\nhost: x\r\n\r\n"), 414, "uri_too_long"),
        (format!("GET /?{}", "x".repeat(100_000)), 414, "uri_too_long"),
        (format!("GET /echo HTTP/1.1\r\nhost: x\r\na: {}\r\n\r\n", "x".repeat(40_000)), 431, "headers_too_large"),
        (format!("GET /echo HTTP/1.1\r\nhost: x\r\na: {}", "x".repeat(2_000_000)), 431, "headers_too_large"),
        (format!("GET /echo HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(101)), 431, "headers_too_large"),
        ("\x16\x03\x01\x02\x00\x01\x00\x01\r\n".to_owned(), 400, "invalid_request"),
        ("GET /echo\r\n\r\n".to_owned(), 400, "invalid_request"),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(), 400, "invalid_request"),
        ("GET /echo HTTP/1.1\r\nbad header\r\n\r\n".to_owned(), 400, "invalid_request"),
        ("POST /length HTTP/1.1\r\nhost: x\r\ncontent-length: x\r\n\r\n".to_owned(), 400, "invalid_request"),
        (
            "POST /length HTTP/1.1\r\nhost: x\r\ncontent-length: 2000000\r\nconnection: close\r\n\r\n".to_owned(),
            413,
            "payload_too_large",
        ),
        ("GET /none HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".to_owned(), 404, "not_found"),
        ("OPTIONS * HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".to_owned(), 404, "not_found"),
        ("PUT /echo HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".to_owned(), 405, "method_not_allowed"),
    ] {
        // The server may close before it has taken all: the answer must be there all the same.
        let stream = service.connect().await;
        let (mut reader, mut writer) = stream.into_split();
        let writing = tokio::spawn(async move { drop(writer.write_all(request.as_bytes()).await) });
        let mut answer = Vec::new();
        let _ = timeout(SOON, reader.read_to_end(&mut answer)).await.expect("closed in time");
        writing.abort();
        assert_error(&String::from_utf8_lossy(&answer), status, code);
    }
    assert!(service.get("/echo").await.ends_with("echo"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_request_behind_a_good_one_does_not_cost_the_good_one_its_answer() {
    let service = start(limits()).await;
    let answer = service.ask("GET /short HTTP/1.1\r\nhost: x\r\n\r\nnonsense\r\n\r\n").await;
    let (first, second) = answer.split_once("patience").expect("the first answer");
    assert!(first.starts_with("HTTP/1.1 200 "), "{answer}");
    assert_error(second, 400, "invalid_request");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_looks_like_the_end_of_a_connection_is_delivered_as_it_is() {
    let service = start(limits()).await;
    let smuggled = "HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n";
    let request = format!("POST /length HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{smuggled}", smuggled.len());
    let mut stream = service.send(request).await;
    assert!(read_one(&mut stream).await.ends_with(&smuggled.len().to_string()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_is_slow_with_its_request_is_not_waited_for() {
    let service = start(limits()).await;
    assert_eq!(read_all(service.connect().await).await, "", "a silent connection is closed");
    assert_error(&service.ask("GET /echo HTTP/1.1\r\nhost: ").await, 408, "request_timeout");
    let mut idle = service.send("GET /echo HTTP/1.1\r\nhost: x\r\n\r\n").await;
    read_one(&mut idle).await;
    assert_eq!(read_all(idle).await, "", "an idle connection is closed");
    let head = "POST /length HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n";
    assert_error(&service.ask(format!("{head}abc")).await, 408, "request_timeout");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_drips_is_cut_off_by_the_time_for_the_whole() {
    let service = start(limits()).await;
    for head in
        ["GET /echo HTTP/1.1\r\nhost: x\r\na: ", "POST /length HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\n"]
    {
        let stream = service.send(head).await;
        let (reader, mut writer) = stream.into_split();
        let dripping = tokio::spawn(async move {
            while writer.write_all(b"x").await.is_ok() {
                sleep(Duration::from_millis(50)).await;
            }
        });
        let mut reader = reader;
        let mut answer = Vec::new();
        let _ = timeout(SOON, reader.read_to_end(&mut answer)).await.expect("cut off");
        assert_error(&String::from_utf8_lossy(&answer), 408, "request_timeout");
        dripping.abort();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_for_a_slow_answer_is_no_idleness() {
    let service = start(ServeLimits { body: Duration::from_millis(100), ..limits() }).await;
    assert!(service.get("/short").await.ends_with("patience"));
    let chunked = "GET /short HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n";
    assert!(service.ask(chunked).await.ends_with("patience"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_its_answer_is_let_go() {
    let service = start(limits()).await;
    let mut stream = service.send("GET /big HTTP/1.1\r\nhost: x\r\n\r\n").await;
    sleep(Duration::from_millis(2_500)).await;
    let mut read = 0_usize;
    let mut bytes = vec![0; 1024 * 1024];
    while let Ok(length @ 1..) = timeout(SOON, stream.read(&mut bytes)).await.expect("the connection has ended") {
        read += length;
    }
    assert!(read < BIG, "{read}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_goes_on_beyond_the_time_for_an_answer_and_a_stop_ends_it_at_once() {
    let service = start(ServeLimits { drain: SOON, ..limits() }).await;
    let mut client = service.send("GET /stream HTTP/1.1\r\nhost: a\r\n\r\n").await;
    let mut read = Vec::new();
    let started = Instant::now();
    while started.elapsed() < 3 * limits().answer {
        assert!(client.read_buf(&mut read).await.expect("the stream goes on") > 0);
    }
    let stopped = Instant::now();
    service.shutdown.cancel();
    client.read_to_end(&mut read).await.expect("the stream ends");
    assert!(stopped.elapsed() < Duration::from_millis(400), "{:?}", stopped.elapsed());
    assert!(read.ends_with(b"\r\n0\r\n\r\n"), "an orderly end");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_its_stream_is_let_go_and_one_that_reads_is_not() {
    let service = start(limits()).await;
    let mut reading = service.send("GET /flood HTTP/1.1\r\nhost: a\r\n\r\n").await;
    let mut silent = service.send("GET /flood HTTP/1.1\r\nhost: a\r\n\r\n").await;
    let (started, mut part) = (Instant::now(), vec![0; 1024 * 1024]);
    while started.elapsed() < 3 * limits().answer {
        assert!(reading.read(&mut part).await.expect("it is read") > 0);
        sleep(Duration::from_millis(20)).await;
    }
    // What lies in the sockets is still there to be read, and then nothing.
    let rest = timeout(SOON, async { while matches!(silent.read(&mut part).await, Ok(1..)) {} }).await;
    assert!(rest.is_ok(), "it was cut");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_ends_its_side_after_the_request_gets_its_answer() {
    let service = start(limits()).await;
    let mut stream = service.send("GET /echo HTTP/1.1\r\nhost: x\r\n\r\n".repeat(2)).await;
    stream.shutdown().await.expect("half closed");
    assert_eq!(read_all(stream).await.matches("echo").count(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_ends_with_its_client() {
    let service = start(limits()).await;
    let stream = service.send("GET /long HTTP/1.1\r\nhost: x\r\n\r\n").await;
    sleep(Duration::from_millis(200)).await;
    drop(stream);
    let started = Instant::now();
    while service.dropped.load(Ordering::Relaxed) == 0 {
        assert!(started.elapsed() < SOON, "the handler goes on");
        sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_connections_beyond_the_limit_do_not_keep_others_out() {
    let patient = ServeLimits { first_byte: SOON, ..limits() };
    let service = start(ServeLimits { max_connections: 16, max_connections_per_peer: 12, ..patient }).await;
    let mut silent = Vec::new();
    for _ in 0..100 {
        silent.push(service.connect().await);
    }
    for _ in 0..20 {
        assert!(service.get("/echo").await.ends_with("echo"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_every_connection_is_at_work_others_get_503_and_health_checks_their_answer() {
    let service = start(ServeLimits { max_connections: 4, max_connections_per_peer: 4, reserve: 4, ..limits() }).await;
    let mut busy = Vec::new();
    for _ in 0..4 {
        busy.push(service.send("GET /long HTTP/1.1\r\nhost: x\r\n\r\n").await);
    }
    sleep(Duration::from_millis(200)).await;
    let answer = service.get("/echo").await;
    assert_error(&answer, 503, "unavailable");
    assert!(answer.contains("retry-after: 1"), "{answer}");
    assert!(service.get("/healthz").await.starts_with("HTTP/1.1 200 "));
    assert_eq!(service.dropped.load(Ordering::Relaxed), 0, "work under way goes on");
}

/// A request with one more header field, and the client that the service takes it from.
async fn peer(service: &Service, field: &str) -> String {
    let answer = service.ask(format!("GET /peer HTTP/1.1\r\nhost: x\r\n{field}\r\nconnection: close\r\n\r\n")).await;
    answer.rsplit("\r\n").next().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trusted_proxy_names_the_client_of_each_request_and_nobody_else_does() {
    let named = "x-forwarded-for: 198.51.100.1, 192.0.2.1";
    let proxies = ["127.0.0.0/8".parse::<AddressRange>().expect("a range")].into_iter().collect();
    let service = start_behind(proxies, limits()).await;
    assert_eq!(peer(&service, named).await, "192.0.2.1");
    assert_eq!(peer(&service, "forwarded: for=\"[2001:db8::1:2:3:4]:80\"").await, "2001:db8::");
    assert_eq!(peer(&service, "x-forwarded-for: nobody").await, "127.0.0.1");
    let mut stream = service.connect().await;
    for client in ["192.0.2.1", "192.0.2.2"] {
        let request = format!("GET /peer HTTP/1.1\r\nhost: x\r\nx-forwarded-for: {client}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.expect("sent");
        assert!(read_one(&mut stream).await.ends_with(client), "one connection has the requests of many clients");
    }
    let service = start(limits()).await;
    for field in [named, "forwarded: for=192.0.2.1"] {
        assert_eq!(peer(&service, field).await, "127.0.0.1", "{field}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_client_behind_a_proxy_does_not_take_the_connections_of_the_others() {
    let proxies = ["127.0.0.1".parse::<AddressRange>().expect("a range")].into_iter().collect();
    let few = ServeLimits { max_connections: 16, max_connections_per_peer: 3, ..limits() };
    let service = start_behind(proxies, few).await;
    let from = |client: &str, path: &str| {
        format!("GET {path} HTTP/1.1\r\nhost: x\r\nx-forwarded-for: {client}\r\nconnection: close\r\n\r\n")
    };
    let mut busy = Vec::new();
    for _ in 0..3 {
        busy.push(service.send(from("192.0.2.1", "/long")).await);
    }
    sleep(Duration::from_millis(200)).await;
    assert_error(&service.ask(from("192.0.2.1", "/echo")).await, 503, "unavailable");
    assert!(service.ask(from("192.0.2.1", "/healthz")).await.starts_with("HTTP/1.1 200 "));
    for number in 2..9 {
        assert!(service.ask(from(&format!("192.0.2.{number}"), "/echo")).await.ends_with("echo"));
    }
    assert_eq!(service.dropped.load(Ordering::Relaxed), 0, "work under way goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_is_refused_again_and_again_waits_for_these_answers_alone() {
    let proxies = ["127.0.0.1".parse::<AddressRange>().expect("a range")].into_iter().collect();
    let hour = Duration::from_secs(3_600);
    let refusals = Rate { policy: "tests", burst: 2, quota: 1, window: hour };
    let service = start_behind(proxies, ServeLimits { refusals, ..limits() }).await;
    let from = |client: &str, path: &str| {
        format!("GET {path} HTTP/1.1\r\nhost: x\r\nx-forwarded-for: {client}\r\nconnection: close\r\n\r\n")
    };
    for _ in 0..2 {
        assert_error(&service.ask(from("192.0.2.1", "/refused")).await, 401, "unauthorized");
    }
    let mut waiting = service.send(from("192.0.2.1", "/refused")).await;
    timeout(Duration::from_millis(500), waiting.read_u8()).await.expect_err("the answer waits");
    assert!(service.ask(from("192.0.2.1", "/echo")).await.ends_with("echo"), "what is not refused does not wait");
    assert_error(&service.ask(from("192.0.2.2", "/refused")).await, 401, "unauthorized");
    assert_error(&read_all(waiting).await, 401, "unauthorized");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_does_not_wait_for_the_answers_of_refused_clients() {
    let refusals = Rate { policy: "tests", burst: 1, quota: 1, window: Duration::from_secs(3_600) };
    let service = start(ServeLimits { refusals, drain: SOON, ..limits() }).await;
    assert_error(&service.get("/refused").await, 401, "unauthorized");
    let mut waiting = service.send("GET /refused HTTP/1.1\r\nhost: x\r\n\r\n").await;
    timeout(Duration::from_millis(300), waiting.read_u8()).await.expect_err("the answer waits");
    service.shutdown.cancel();
    let answer = timeout(Duration::from_millis(500), read_one(&mut waiting)).await.expect("at once");
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
    service.task.await.expect("ended").expect("stopped");
}

/// A client at another address of this machine.
async fn connect_from(last_byte: u8, service: &Service) -> TcpStream {
    let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
    socket.bind(SocketAddr::from(([127, 0, 0, last_byte], 0))).expect("an address of this machine");
    socket.connect(service.address).await.expect("the kernel accepts")
}

const KIB: usize = 1024;

/// Starts to send a body, and leaves the rest.
async fn hold(from: u8, service: &Service, framing: &str, bytes: usize) -> TcpStream {
    let mut stream = connect_from(from, service).await;
    let head = format!("POST /length HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{framing}\r\n\r\n");
    stream.write_all((head + &"x".repeat(bytes)).as_bytes()).await.expect("sent");
    stream
}

fn announced(bytes: usize) -> String {
    format!("content-length: {bytes}")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_slowest_body_of_an_address_makes_room_for_its_next_one() {
    let slow = ServeLimits { body_stall: SOON, body: SOON, ..limits() };
    let service = start(ServeLimits { max_bodies: 8 * 300 * KIB, ..slow }).await;
    let mut first = hold(1, &service, &announced(200 * KIB), 199 * KIB).await;
    let mut other = hold(2, &service, &announced(200 * KIB), 199 * KIB).await;
    sleep(Duration::from_millis(1_200)).await;
    let second = hold(1, &service, &announced(200 * KIB), 200 * KIB).await;
    assert!(read_all(second).await.ends_with(&(200 * KIB).to_string()), "it is not refused for the first");
    other.write_all(&[b'x'; KIB]).await.expect("still open");
    assert!(read_all(other).await.ends_with(&(200 * KIB).to_string()), "another address keeps its own");
    let answer = read_one(&mut first).await;
    assert_error(&answer, 503, "unavailable");
    assert!(answer.contains("retry-after: 1"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_from_a_proxy_count_for_the_clients_that_it_names() {
    let proxies = ["127.0.0.1".parse::<AddressRange>().expect("a range")].into_iter().collect();
    let slow = ServeLimits { body_stall: SOON, body: SOON, ..limits() };
    let service = start_behind(proxies, ServeLimits { max_bodies: 8 * 300 * KIB, ..slow }).await;
    let of = |client: u8| format!("x-forwarded-for: 192.0.2.{client}\r\n{}", announced(200 * KIB));
    let mut first = hold(1, &service, &of(1), 199 * KIB).await;
    let mut others = Vec::new();
    for client in 2..7 {
        others.push(hold(1, &service, &of(client), 199 * KIB).await);
    }
    sleep(Duration::from_millis(1_200)).await;
    let second = hold(1, &service, &of(1), 200 * KIB).await;
    assert!(read_all(second).await.ends_with(&(200 * KIB).to_string()));
    for mut other in others {
        other.write_all(&[b'x'; KIB]).await.expect("still open");
        assert!(read_all(other).await.ends_with(&(200 * KIB).to_string()), "another client keeps its own");
    }
    assert_error(&read_one(&mut first).await, 503, "unavailable");
}

#[tokio::test(flavor = "multi_thread")]
async fn long_bodies_of_many_strangers_keep_nobody_out() {
    let slow = ServeLimits { body_stall: SOON, body: SOON, ..limits() };
    let service = start(ServeLimits { max_bodies: 8 * 100 * KIB, max_small_bodies: 8 * 64 * KIB, ..slow }).await;
    let mut held = Vec::new();
    for address in 2..40 {
        held.push(hold(address, &service, &announced(100 * KIB), 99 * KIB).await);
        held.push(hold(address, &service, "transfer-encoding: chunked", 0).await);
        held.push(hold(address, &service, &announced(60 * KIB), 59 * KIB).await);
        held.push(hold(address, &service, &announced(1024 * KIB), 0).await);
    }
    sleep(Duration::from_millis(1_200)).await;
    for length in [5, 60 * KIB, 100 * KIB] {
        let started = Instant::now();
        let answer = read_all(hold(100, &service, &announced(length), length).await).await;
        assert!(answer.ends_with(&format!("\r\n\r\n{length}")), "{answer}");
        assert!(started.elapsed() < SOON / 2, "{length} bytes after {:?}", started.elapsed());
    }
    let chunked = format!("{:x}\r\n{}\r\n0\r\n\r\n", 90 * KIB, "x".repeat(90 * KIB));
    let mut stream = hold(100, &service, "transfer-encoding: chunked", 0).await;
    stream.write_all(chunked.as_bytes()).await.expect("sent");
    assert!(read_all(stream).await.ends_with(&(90 * KIB).to_string()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_below_the_least_rate_ends_whatever_it_brought_before() {
    let service = start(ServeLimits { body: SOON * 6, body_stall: Duration::from_millis(800), ..limits() }).await;
    for framing in [announced(1024 * KIB), "transfer-encoding: chunked".to_owned()] {
        let begin = if framing.starts_with("content") { String::new() } else { "100000\r\n".to_owned() };
        let stream = hold(1, &service, &framing, 0).await;
        let (mut reader, mut writer) = stream.into_split();
        writer.write_all((begin + &"x".repeat(600 * KIB)).as_bytes()).await.expect("sent");
        let started = Instant::now();
        let dripping = tokio::spawn(async move {
            while writer.write_all(b"x").await.is_ok() {
                sleep(Duration::from_millis(50)).await;
            }
        });
        let mut answer = Vec::new();
        let _ = timeout(SOON, reader.read_to_end(&mut answer)).await.expect("it ends");
        assert_error(&String::from_utf8_lossy(&answer), 408, "request_timeout");
        assert!(started.elapsed() >= Duration::from_millis(700), "{:?}", started.elapsed());
        dripping.abort();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_has_one_host() {
    let service = start(limits()).await;
    for version in ["1.0", "1.1"] {
        for hosts in ["", "host: x\r\nhost: x\r\n", "host: x\r\nHost: y\r\n", "host: a b\r\n"] {
            let answer = service.ask(format!("GET /echo HTTP/{version}\r\n{hosts}\r\n")).await;
            assert_error(&answer, 400, "invalid_request");
            assert!(answer.contains("`Host`"), "{answer}");
        }
    }
    assert!(service.ask("GET /echo HTTP/1.0\r\nhost: x\r\n\r\n").await.ends_with("echo"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_reaches_a_client_that_is_still_sending() {
    const LENGTH: usize = 4 * 1024 * 1024;
    let service = start(ServeLimits { body_stall: SOON, body: SOON, ..limits() }).await;
    let mut stream = service.connect().await;
    for _ in 0..2 {
        let head = format!("PUT /echo HTTP/1.1\r\nhost: x\r\ncontent-length: {LENGTH}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.expect("head");
        sleep(Duration::from_millis(100)).await;
        stream.write_all(&vec![b'x'; LENGTH]).await.expect("the connection takes the whole body");
        assert_error(&read_one(&mut stream).await, 405, "method_not_allowed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_in_time_whatever_clients_do() {
    let slow = ServeLimits { first_byte: SOON, head: SOON, keep_alive: SOON, body_stall: SOON, body: SOON, ..limits() };
    let service = start(ServeLimits { answer: SOON, answer_stall: SOON, ..slow }).await;
    let mut clients = Vec::new();
    for request in [
        "",
        "GET /echo HTTP/1.1\r\nhos",
        "GET /echo HTTP/1.1\r\nhost: x\r\n\r\n",
        "POST /length HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nabc",
        "POST /length HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab",
        "GET /big HTTP/1.1\r\nhost: x\r\n\r\n",
    ] {
        for _ in 0..10 {
            clients.push(service.send(request).await);
        }
    }
    let mut waiting = service.send("GET /long HTTP/1.1\r\nhost: x\r\n\r\n").await;
    let short = service.send("GET /short HTTP/1.1\r\nhost: x\r\n\r\n").await;
    sleep(Duration::from_millis(700)).await;
    service.shutdown.cancel();
    let stopped = timeout(Duration::from_secs(4), service.task).await.expect("the stop has its patience");
    stopped.expect("no panic").expect("an orderly end");
    assert_error(&read_one(&mut waiting).await, 503, "unavailable");
    assert!(read_all(short).await.ends_with("patience"), "a request that ends within the patience is answered");
    assert!(TcpStream::connect(service.address).await.is_err(), "nobody listens any more");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_may_have_changed_something_is_not_asked_to_try_again_by_a_stop() {
    let service = start(limits()).await;
    let paying = service.send("POST /long HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n").await;
    sleep(Duration::from_millis(200)).await;
    service.shutdown.cancel();
    let stopped = timeout(Duration::from_secs(4), service.task).await.expect("the stop has its patience");
    stopped.expect("no panic").expect("an orderly end");
    assert_eq!(read_all(paying).await, "", "no answer is better than one that may be wrong");
}
