//! What a buyer does when answers are lost, late or refused: never a second charge, never a lost result.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests"
)]

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use crtx_protocol::{content::cid_of, result_hash::ResultHash};
use crtx_sdk::{CallOptions, Client, ClientOptions, Error, ErrorCode, ExecutionFilter, Problem, Purchase, UsdcBase};
use futures::{StreamExt, TryStreamExt};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use uuid::Uuid;

const ID: &str = "806e1eba-133b-4100-9a5e-ddbe7c578906";
const AGENT: &str = "BJu51f7FUVrLYHU1rHsBKtCGWToEFoKUhz3brbxX8A86";
const KEY: &str = "crtx_test_4wBqpZM9xaSheZzJSMawUKKwhdpChKbZ5eu5ky4Vigw";
const RESULT: &str = "done";

/// What a client gets: the whole answer, or its first bytes and then the end of the connection.
#[derive(Clone)]
struct Scripted {
    status: u16,
    headers: String,
    body: Vec<u8>,
    cut_after: Option<usize>,
    /// Between single parts of it.
    drip: Option<Duration>,
}

fn answer(status: u16, body: impl ToString) -> Scripted {
    Scripted { status, headers: String::new(), body: body.to_string().into(), cut_after: None, drip: None }
}

fn cut(after: usize) -> Scripted {
    Scripted { cut_after: Some(after), ..done() }
}

fn done() -> Scripted {
    answer(200, shown("completed"))
}

/// An execution as `GET /v1/executions/{id}` shows it; an answer to a call has some of its members.
fn shown(status: &str) -> Value {
    let hash = ResultHash::of(RESULT.as_bytes());
    let is_done = status == "completed";
    let only = |value: Value| if is_done { value } else { Value::Null };
    json!({
        "execution_id": ID, "status": status, "agent_id": AGENT, "agent_name": "a", "result": only(json!(RESULT)),
        "result_hash": only(json!(hash.to_string())), "cost_usdc": 0.05, "creator_amount_usdc": 0.0495,
        "platform_amount_usdc": 0.0005, "execution_time_ms": 3, "settled_by": "gateway", "binding": true,
        "initiated_at": "2026-11-22T16:10:42Z", "completed_at": only(json!("2026-11-22T16:10:42Z")),
        "on_chain_record": format!("https://explorer.example/address/{AGENT}"),
        "ipfs_url": only(json!(format!("https://api.example/ipfs/{}", cid_of(&hash)))),
    })
}

fn error(code: &str, status: u16, id: Option<&str>, headers: &str) -> Scripted {
    let body = json!({"error": {"code": code, "message": "m", "execution_id": id}});
    Scripted { headers: headers.to_owned(), ..answer(status, body) }
}

fn running() -> Scripted {
    answer(202, json!({"execution_id": ID, "status": "running"}))
}

fn still_runs() -> Scripted {
    error("conflict", 409, Some(ID), "retry-after: 0\r\n")
}

fn proxy() -> Scripted {
    answer(502, "<html>bad gateway</html>")
}

/// Answers calls one after the other, the last one again and again; reads likewise.
#[derive(Clone, Default)]
struct NodeScript {
    calls: Vec<Scripted>,
    reads: Vec<Scripted>,
}

struct Server {
    url: String,
    /// Method and path, idempotency key, and the whole of each request.
    seen: Arc<Mutex<Vec<String>>>,
    script: Arc<Mutex<NodeScript>>,
}

impl Server {
    async fn start(calls: &[Scripted], reads: &[Scripted]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let script = Arc::new(Mutex::new(NodeScript { calls: calls.to_vec(), reads: reads.to_vec() }));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let server = Self { url, seen: Arc::clone(&seen), script: Arc::clone(&script) };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&seen), Arc::clone(&script)));
            }
        });
        server
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }

    fn client(&self, options: ClientOptions) -> Client {
        let options = ClientOptions { verify: false, first_pause: Duration::from_millis(4), ..options };
        Client::with_options(&self.url, Some(KEY), options).unwrap()
    }

    async fn buy_with(&self, options: ClientOptions, key: Option<&str>) -> Result<Purchase, Error> {
        let parameters = json!({"a": 1.5}).as_object().unwrap().clone();
        let call = CallOptions { parameters, idempotency_key: key.map(str::to_owned), ..CallOptions::default() };
        self.client(options).execute(AGENT, "secret task", &call).await
    }

    async fn buy(&self) -> Result<Purchase, Error> {
        self.buy_with(ClientOptions::default(), Some("mine")).await
    }
}

async fn serve(mut stream: TcpStream, seen: Arc<Mutex<Vec<String>>>, script: Arc<Mutex<NodeScript>>) {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        request.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&request);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
        if body.len() >= length.parse().unwrap() {
            break;
        }
    }
    let text = String::from_utf8_lossy(&request).into_owned();
    let scripted = {
        let mut script = script.lock().unwrap();
        let list = if text.starts_with("POST") { &mut script.calls } else { &mut script.reads };
        if list.len() > 1 { list.remove(0) } else { list[0].clone() }
    };
    seen.lock().unwrap().push(text);
    let Scripted { status, headers, body, cut_after, drip } = scripted;
    let length = body.len();
    let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n");
    let mut whole = [head.into_bytes(), body].concat();
    whole.truncate(cut_after.unwrap_or(whole.len()));
    for part in whole.chunks(if drip.is_some() { 100 } else { whole.len().max(1) }) {
        if stream.write_all(part).await.is_err() {
            return;
        }
        if let Some(pause) = drip {
            tokio::time::sleep(pause).await;
        }
    }
}

fn is_unknown(error: &Error) -> bool {
    matches!(*error.problem, Problem::OutcomeUnknown(_))
}

#[tokio::test]
async fn a_fault_is_repeated_as_the_very_same_call() {
    for (name, fault) in [
        ("cut before the answer", cut(0)),
        ("cut in the head of the answer", cut(20)),
        ("cut in the body of the answer", cut(200)),
        ("not the answer of the API", answer(200, "<html>welcome</html>")),
        ("408 while the body is read", error("request_timeout", 408, None, "")),
        ("409 of a call that runs", still_runs()),
        ("429", error("rate_limited", 429, None, "retry-after: 0\r\n")),
        ("500 of a fault", error("internal", 500, Some(ID), "")),
        ("502 of a proxy", proxy()),
        ("503 with Retry-After", error("unavailable", 503, None, "retry-after: 0\r\n")),
        ("504 of a proxy", answer(504, "")),
        ("told to retry", error("forbidden", 403, None, "x-should-retry: true\r\n")),
    ] {
        let server = Server::start(&[fault, done()], &[]).await;
        let bought = server.buy_with(ClientOptions::default(), None).await.unwrap_or_else(|it| panic!("{name}: {it}"));
        assert_eq!((bought.result.as_str(), bought.cost_usdc), (RESULT, UsdcBase(50_000)), "{name}");
        let seen = server.seen();
        assert_eq!((seen.len(), &seen[0]), (2, &seen[1]), "{name}");
        assert!(seen[0].contains(&format!("idempotency-key: {}\r\n", bought.idempotency_key.unwrap())), "{name}");
        assert!(seen[0].contains(&format!("authorization: Bearer {KEY}\r\n")), "{name}");
    }
}

#[tokio::test]
async fn a_refusal_is_final_and_typed_by_its_code() {
    use ErrorCode::*;
    for (refusal, code) in [
        (error("invalid_request", 400, None, ""), InvalidRequest),
        (error("insufficient_balance", 402, None, ""), InsufficientBalance),
        (error("execution_timeout", 408, Some(ID), ""), ExecutionTimeout),
        (error("conflict", 409, None, ""), Conflict),
        (error("rate_limited", 429, None, "retry-after: 3600\r\n"), RateLimited),
        (error("execution_failed", 500, Some(ID), ""), ExecutionFailed),
        (error("result_unavailable", 502, Some(ID), ""), ResultUnavailable),
        (error("unavailable", 503, None, ""), Unavailable),
        (error("rate_limited", 429, None, "retry-after: 0\r\nx-should-retry: false\r\n"), RateLimited),
        (error("new_code", 422, None, ""), Unknown),
    ] {
        let server = Server::start(&[refusal], &[]).await;
        let error = server.buy().await.unwrap_err();
        assert_eq!((error.code(), server.seen().len()), (Some(code), 1), "{error}");
        assert_eq!(error.idempotency_key.as_deref(), Some("mine"));
        let refunded = matches!(code, ExecutionTimeout | ExecutionFailed);
        assert!(matches!(&*error.problem, Problem::Api(error) if error.is_refund() == refunded));
        let named = refunded || code == ResultUnavailable;
        assert_eq!(error.execution_id, named.then(|| ID.parse().unwrap()), "{error}");
    }
}

#[tokio::test]
async fn an_outcome_that_is_not_known_is_never_called_failed() {
    let late = error("rate_limited", 429, None, "retry-after: 3600\r\n");
    for (named, answers) in [
        (false, vec![cut(0)]),
        (false, vec![proxy()]),
        (false, vec![cut(0), late]),
        (false, vec![cut(0), error("insufficient_balance", 402, None, "")]),
        (false, vec![error("internal", 500, None, "")]),
        (true, vec![error("unavailable", 503, Some(ID), "")]),
        (true, vec![error("internal", 500, Some(ID), "")]),
    ] {
        let server = Server::start(&answers, &[]).await;
        let error = server.buy().await.unwrap_err();
        assert!(is_unknown(&error) && error.to_string().contains("may be paid"), "{error:?}");
        assert_eq!(error.execution_id, named.then(|| ID.parse().unwrap()));
        assert!(!format!("{error:?}").contains(KEY) && !format!("{error:?}").contains("secret task"));
        server.script.lock().unwrap().calls = vec![done()];
        let again = server.buy_with(ClientOptions::default(), error.idempotency_key.as_deref()).await.unwrap();
        assert_eq!((again.result.as_str(), again.idempotency_key.as_deref()), (RESULT, Some("mine")));
    }
}

#[tokio::test]
async fn a_service_that_is_not_there_charges_nothing() {
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let options = ClientOptions { verify: false, first_pause: Duration::from_millis(4), ..ClientOptions::default() };
    let client = Client::with_options(&format!("http://{port}"), Some(KEY), options).unwrap();
    let error = client.execute(AGENT, "t", &CallOptions::default()).await.unwrap_err();
    assert!(matches!(*error.problem, Problem::ConnectionFailed(_)) && error.idempotency_key.is_some(), "{error:?}");
}

#[tokio::test]
async fn two_retries_are_made_by_default_and_as_many_as_are_set() {
    for (max_retries, attempts) in [(None, 3), (Some(0), 1), (Some(5), 6)] {
        let server = Server::start(&[cut(0)], &[]).await;
        let default = ClientOptions::default();
        let max_retries = max_retries.unwrap_or(default.max_retries);
        let error = server.buy_with(ClientOptions { max_retries, ..default }, None).await.unwrap_err();
        assert!(is_unknown(&error));
        assert_eq!(server.seen().len(), attempts);
    }
}

#[tokio::test]
async fn a_call_that_runs_long_is_followed_and_uses_no_retries_up() {
    let mut answers = vec![still_runs(); 10];
    answers.push(done());
    let server = Server::start(&answers, &[]).await;
    assert_eq!(server.buy().await.unwrap().result, RESULT);
    assert_eq!(server.seen().len(), 11);
}

#[tokio::test]
async fn a_settlement_that_takes_long_is_followed_to_its_end() {
    let reads = [answer(200, shown("running")), cut(0), done()];
    let server = Server::start(&[running()], &reads).await;
    assert_eq!(server.buy().await.unwrap().result, RESULT);
    let methods: Vec<String> = server.seen().iter().map(|seen| seen[..4].trim().to_owned()).collect();
    assert_eq!(methods, ["POST", "GET", "GET", "GET"]);
}

#[tokio::test]
async fn a_followed_call_that_cannot_be_read_stays_unknown_and_one_that_fails_says_why() {
    for read in [answer(200, "{}"), proxy(), error("unauthorized", 401, None, "")] {
        let error = Server::start(&[running()], &[read]).await.buy().await.unwrap_err();
        assert!(is_unknown(&error), "{error}");
        assert_eq!((error.idempotency_key.as_deref(), error.execution_id), (Some("mine"), ID.parse().ok()));
    }
    let mut failed = shown("failed");
    failed["error"] = json!({"code": "execution_timeout", "message": "no answer"});
    let error = Server::start(&[running()], &[answer(200, failed)]).await.buy().await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::ExecutionTimeout));
    assert_eq!((error.idempotency_key.as_deref(), error.execution_id), (Some("mine"), ID.parse().ok()));
}

#[tokio::test]
async fn the_time_of_a_caller_ends_with_an_unknown_outcome() {
    for call in [still_runs(), running()] {
        let (started, server) = (Instant::now(), Server::start(&[call], &[answer(200, shown("running"))]).await);
        let options = ClientOptions { timeout: Duration::from_millis(300), ..ClientOptions::default() };
        let error = server.buy_with(options, None).await.unwrap_err();
        assert!(is_unknown(&error) && started.elapsed() < Duration::from_secs(3), "{error}");
        assert_eq!(error.execution_id, ID.parse().ok());
    }
}

#[tokio::test]
async fn slow_bytes_end_with_the_time_of_the_attempt_and_not_later() {
    let slow = |pause| Scripted { drip: Some(Duration::from_millis(pause)), ..done() };
    let started = Instant::now();
    let server = Server::start(&[slow(200), done()], &[]).await;
    let options = ClientOptions { attempt_timeout: Duration::from_millis(300), ..ClientOptions::default() };
    assert_eq!(server.buy_with(options, None).await.unwrap().result, RESULT);
    assert!(started.elapsed() < Duration::from_secs(3) && server.seen().len() == 2);
    let server = Server::start(&[slow(5)], &[]).await;
    assert_eq!(server.buy().await.unwrap().result, RESULT);
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn an_endless_answer_is_not_read() {
    let server = Server::start(&[answer(200, "x".repeat(9 * 1024 * 1024))], &[]).await;
    let options = ClientOptions { max_retries: 0, ..ClientOptions::default() };
    let error = server.buy_with(options, None).await.unwrap_err();
    assert!(is_unknown(&error) && error.to_string().contains("bytes"), "{error}");
}

#[tokio::test]
async fn what_would_be_changed_on_its_way_is_refused_before_it_is_sent() {
    let server = Server::start(&[done()], &[]).await;
    let client = server.client(ClientOptions::default());
    let with = |parameters: Value| CallOptions {
        parameters: parameters.as_object().unwrap().clone(),
        ..CallOptions::default()
    };
    let mut calls = vec![(AGENT, with(json!({"n": (1_u64 << 53) + 1}))), ("no address", CallOptions::default())];
    for key in ["", "a b", "é", &"x".repeat(256)] {
        calls.push((AGENT, CallOptions { idempotency_key: Some(key.to_owned()), ..CallOptions::default() }));
    }
    // Only a wallet signs an opening.
    calls.push((AGENT, CallOptions { max_price: Some(UsdcBase(1)), ..CallOptions::default() }));
    for (agent, call) in calls {
        let error = client.execute(agent, "t", &call).await.unwrap_err();
        assert!(matches!(*error.problem, Problem::Invalid(_)), "{error:?}");
    }
    assert!(server.seen().is_empty());
    for (url, key) in [("http://192.0.2.1", KEY), ("nowhere", KEY), (server.url.as_str(), "crtx_prod_1")] {
        assert!(Client::new(url, key).is_err(), "{url}");
    }
}

#[tokio::test]
async fn reads_are_repeated_and_pages_of_events_follow_each_other() {
    let page = |sequence: i64| {
        let event = json!({
            "id": ID, "type": "execution.opened", "sequence": sequence, "previous": null, "wallet": AGENT,
            "at": "2026-11-22T16:10:42Z", "data": {"amount_usdc": 0.05},
        });
        answer(200, json!({"events": [event], "next_after": sequence, "oldest": 1, "newest": sequence}))
    };
    let server = Server::start(&[], &[cut(0), page(4), page(5), cut(9), page(6)]).await;
    let events = server.client(ClientOptions::default()).events(3, &["execution.opened"]);
    let events: Vec<_> = events.take(3).try_collect().await.unwrap();
    assert_eq!(events.iter().map(|event| event.sequence).collect::<Vec<_>>(), [4, 5, 6]);
    assert_eq!(events[0].data.amount_usdc, Some(UsdcBase(50_000)));
    let asked: Vec<String> = server.seen().iter().map(|seen| seen.lines().next().unwrap().to_owned()).collect();
    assert!(asked[1].contains("after=3&types=execution.opened&wait=25"), "{asked:?}");
    assert!(asked[4].contains("after=5"), "{asked:?}");
}

#[tokio::test]
async fn the_answer_of_another_execution_is_refused() {
    let other = Uuid::from_u128(1);
    let pending = answer(202, json!({"execution_id": other, "status": "pending"}));
    let server = Server::start(&[pending], &[done()]).await;
    let client = server.client(ClientOptions::default());
    let started = client.start(AGENT, "t", &CallOptions::default()).await.unwrap();
    let errors = [
        client.get(other).await.unwrap_err(),
        client.wait(&started).await.unwrap_err(),
        client.verify(other).await.unwrap_err(),
    ];
    for error in errors {
        assert_eq!((error.failed_check(), error.execution_id), (Some("identity"), Some(other)));
    }
    assert_eq!(client.get(ID.parse().unwrap()).await.unwrap().result.as_deref(), Some(RESULT));
}

#[tokio::test]
async fn a_result_that_cannot_be_checked_is_not_paid_for() {
    let server = Server::start(&[done()], &[answer(200, json!({"rpc_url": null}))]).await;
    let client = Client::new(&server.url, KEY).unwrap();
    let error = client.execute(AGENT, "t", &CallOptions::default()).await.unwrap_err();
    assert!(matches!(*error.problem, Problem::NotVerified { unchecked: None, .. }), "{error:?}");
    assert!(server.seen().iter().all(|seen| seen.starts_with("GET /v1/network")));
    let refused = client.list(&ExecutionFilter { limit: Some(1), ..ExecutionFilter::default() }).await;
    assert!(refused.is_err() && server.seen().last().unwrap().starts_with("GET /v1/executions?limit=1 "));
}

#[tokio::test]
async fn a_wallet_needs_a_node_of_its_own() {
    let wallet = crtx_sdk::SigningKey::from_bytes(&[7; 32]);
    assert!(Client::with_wallet("http://127.0.0.1:1", &wallet, ClientOptions::default()).is_err());
}

#[test]
fn the_example_buys_in_five_lines() {
    let example = include_str!("../examples/buyer.rs");
    let lines = example.lines().filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with("//")).count();
    assert!(lines <= 5, "{lines}");
}

#[test]
fn the_documents_show_the_examples() {
    let readme = include_str!("../README.md");
    for (document, example) in [
        (readme, include_str!("../examples/buyer.rs")),
        (readme, include_str!("../examples/csv_profile.rs").split("\nfn profile").next().unwrap()),
        (include_str!("../../../docs/quickstart-buy.md"), include_str!("../examples/quickstart.rs")),
    ] {
        let (_, code) = example.split_once('\n').unwrap();
        assert!(document.contains(&format!("```rust\n{}\n```\n", code.trim())), "{code}");
    }
}
