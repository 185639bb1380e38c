//! Webhooks: over HTTP, on a real database, with workers that send to real targets.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::{Body, Bytes},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use chrono::TimeDelta;
use crtx_gateway::{Gateway, GatewayConfig, GatewayKeys, Recovery};
use crtx_http::{outbound::OutboundPolicy, session_token::SessionToken};
use crtx_protocol::signature::is_signed_by;
use crtx_store::{
    PgPool, events,
    testing::probes::{age_webhooks, log_event, next_attempts, stored_secrets},
    webhooks::{self, NewWebhook},
};
use serde_json::{Value, json};
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use solana_signer::Signer as _;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::sleep,
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::support::Market;

/// One request that a target received.
#[derive(Clone, Debug)]
struct Got {
    at: Instant,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Got {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    fn number(&self) -> u64 {
        self.json()["sequence"].as_u64().unwrap()
    }

    fn header(&self, name: &str) -> &str {
        self.headers[name].to_str().unwrap()
    }
}

/// A target that remembers what it received.
#[derive(Clone)]
struct Receiver {
    url: String,
    got: Arc<Mutex<Vec<Got>>>,
}

impl Receiver {
    /// `answer` gets the number of the request, from 0 on, and the request.
    async fn start(answer: impl Fn(usize, &Got) -> Response + Clone + Send + Sync + 'static) -> Self {
        Self::slow(Duration::ZERO, answer).await
    }

    /// The same, and answers after so long.
    async fn slow(delay: Duration, answer: impl Fn(usize, &Got) -> Response + Clone + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let got = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&got);
        let router = Router::new().fallback(move |headers: HeaderMap, body: Bytes| async move {
            let one = Got { at: Instant::now(), headers, body: body.to_vec() };
            let number = {
                let mut all = seen.lock().unwrap();
                all.push(one.clone());
                all.len() - 1
            };
            sleep(delay).await;
            answer(number, &one)
        });
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, got }
    }

    async fn good() -> Self {
        Self::start(|_, _| StatusCode::NO_CONTENT.into_response()).await
    }

    fn all(&self) -> Vec<Got> {
        self.got.lock().unwrap().clone()
    }

    async fn until(&self, requests: usize) -> Vec<Got> {
        let started = Instant::now();
        loop {
            let all = self.all();
            if all.len() >= requests {
                return all;
            }
            assert!(started.elapsed() < Duration::from_secs(60), "{requests}: {:?}", all.len());
            sleep(Duration::from_millis(5)).await;
        }
    }
}

/// A target that accepts connections and does this with each.
async fn raw<F: Future<Output = ()> + Send>(serve: impl Fn(TcpStream) -> F + Copy + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(async move { serve(stream).await });
        }
    });
    url
}

async fn hanging() -> String {
    raw(|stream| async move {
        sleep(Duration::from_secs(600)).await;
        drop(stream);
    })
    .await
}

fn wallet(number: u8) -> Pubkey {
    Pubkey::new_from_array([number; 32])
}

async fn event(pool: &PgPool, of: u8, execution: u128) {
    log_event(pool, &wallet(of), "execution.opened", None, Some(Uuid::from_u128(execution))).await;
}

/// A webhook of the session's wallet: its id and its secret.
async fn create(market: &Market, session: &SessionToken, url: &str) -> (String, String) {
    let answer = market.ask_as(session, "POST", "/v1/webhooks", Some(&json!({"url": url}))).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    let text = |name: &str| answer.body[name].as_str().unwrap().to_owned();
    (text("webhook_id"), text("secret"))
}

async fn one(market: &Market, session: &SessionToken, id: &str) -> Value {
    let all = market.ask_as(session, "GET", "/v1/webhooks", None).await.body;
    all["webhooks"].as_array().unwrap().iter().find(|one| one["webhook_id"] == id).expect("the webhook").clone()
}

/// Lines of the log, oldest first.
async fn log(market: &Market, session: &SessionToken, id: &str) -> Vec<Value> {
    let page = market.ask_as(session, "GET", &format!("/v1/webhooks/{id}/deliveries?limit=100"), None).await;
    assert_eq!(page.status, 200, "{page:?}");
    page.body["deliveries"].as_array().unwrap().iter().rev().cloned().collect()
}

async fn until_logged(market: &Market, session: &SessionToken, id: &str, is: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    let started = Instant::now();
    loop {
        let lines = log(market, session, id).await;
        if is(&lines) {
            return lines;
        }
        assert!(started.elapsed() < Duration::from_secs(60), "{lines:?}");
        sleep(Duration::from_millis(700)).await;
    }
}

/// Verifies `v1` with the library of the standard.
fn verifies(secret: &str, got: &Got) -> bool {
    standardwebhooks::Webhook::new(secret).unwrap().verify(&got.body, &got.headers).is_ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_gets_each_event_once_with_the_bytes_of_the_log_and_signatures_that_hold() {
    let market = Market::start().await;
    let (pool, session) = (market.database.pool(), market.session_of(wallet(1)).await);
    let target = Receiver::good().await;
    let (id, secret) = create(&market, &session, &target.url).await;
    let worker = market.work();
    for number in 0..5 {
        event(pool, 1, number).await;
    }
    event(pool, 2, 9).await;
    let got = target.until(5).await;
    let mut connection = pool.acquire().await.unwrap();
    let page = events::page(&mut connection, &wallet(1), 0, &[], 10).await.unwrap();
    let keys = market.config.webhook_keys();
    let public = BASE64_STANDARD.decode(keys[0].public_key.strip_prefix("whpk_").unwrap()).unwrap();
    for one in &got {
        let event = page.events.iter().find(|event| event.id.to_string() == one.header("webhook-id")).unwrap();
        assert_eq!(one.body, serde_json::to_vec(event).unwrap());
        assert!(one.body.len() < 20_000);
        assert!(verifies(&secret, one), "{one:?}");
        let content = [one.header("webhook-id"), one.header("webhook-timestamp"), &String::from_utf8_lossy(&one.body)];
        let signatures: Vec<_> = one.header("webhook-signature").split(' ').collect();
        assert_eq!(signatures.len(), 2, "{signatures:?}");
        let v1a = BASE64_STANDARD.decode(signatures[1].strip_prefix("v1a,").unwrap()).unwrap();
        let (public, v1a) = (public.as_slice().try_into().unwrap(), v1a.as_slice().try_into().unwrap());
        assert!(is_signed_by(public, content.join(".").as_bytes(), v1a));
        let forged = Got { body: [&one.body[..], b" "].concat(), ..one.clone() };
        assert!(!verifies(&secret, &forged));
    }
    let lines =
        until_logged(&market, &session, &id, |lines| lines.iter().all(|line| line["state"] == "acknowledged")).await;
    assert_eq!(lines.len(), 5);
    assert!(lines.iter().all(|line| line["status"] == 204 && line["attempts"] == 1), "{lines:?}");
    worker.stop().await;
    assert_eq!(target.all().len(), 5);
    let figures = market.figures();
    assert!(figures.contains("webhook_deliveries_total{outcome=\"acknowledged\"} 5\n"), "{figures}");
    // The database has nothing with which the signatures could be made.
    let stored = stored_secrets(pool).await;
    let plain = BASE64_STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
    assert!(stored.len() == 1 && !stored[0].windows(8).any(|part| plain.windows(8).any(|other| other == part)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_sends_the_same_bytes_with_the_same_ids() {
    let market = Market::start().await;
    let (pool, session) = (market.database.pool(), market.session_of(wallet(1)).await);
    let target = Receiver::good().await;
    let (id, secret) = create(&market, &session, &target.url).await;
    let worker = market.work();
    for number in 0..3 {
        event(pool, 1, number).await;
    }
    let first = target.until(3).await;
    let replay = format!("/v1/webhooks/{id}/replay");
    let ask = async |body: Value| market.ask_as(&session, "POST", &replay, Some(&body)).await;
    let plan = ask(json!({"from": 2, "through": 3})).await;
    assert_eq!((plan.status, &plan.body), (200, &json!({"events": 2, "started": false})));
    assert_eq!(ask(json!({"from": 1, "through": 100_001})).await.status, 400);
    assert_eq!(ask(json!({"from": 2, "through": 1})).await.status, 400);
    sleep(Duration::from_millis(600)).await;
    assert_eq!(target.all().len(), 3, "a plan sends nothing");
    assert_eq!(ask(json!({"from": 2, "through": 3, "start": true})).await.body["started"], true);
    let all = target.until(5).await;
    let bytes = |got: &[Got]| got.iter().map(|one| (one.header("webhook-id").to_owned(), one.body.clone())).collect();
    let (before, after): (HashMap<_, _>, HashMap<_, _>) = (bytes(&first), bytes(&all[3..]));
    assert!(after.len() == 2 && after.iter().all(|(id, body)| before[id] == *body));
    assert!(all.iter().all(|one| verifies(&secret, one)));
    until_logged(&market, &session, &id, |lines| lines.iter().all(|line| line["state"] == "acknowledged")).await;
    let shown = one(&market, &session, &id).await;
    assert_eq!(shown["replay"], json!({"from": 2, "through": 3, "types": [], "events": 2, "taken": 3, "waiting": 0}));
    assert_eq!(market.ask_as(&session, "DELETE", &replay, None).await.status, 204);
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_dies_between_sending_and_noting_sends_again_the_same_id_and_bytes() {
    let market = Market::start().await;
    let (pool, session) = (market.database.pool(), market.session_of(wallet(1)).await);
    // The first answer comes when nobody is left to hear it.
    let target = Receiver::slow(Duration::from_millis(900), |_, _| StatusCode::OK.into_response()).await;
    let (id, _) = create(&market, &session, &target.url).await;
    event(pool, 1, 1).await;
    let (config, options) = (market.config.clone(), (*pool.connect_options()).clone());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.spawn(async move {
        let gateway = Gateway::new(config, PgPool::connect_with(options).await.unwrap()).unwrap();
        crtx_gateway::run(gateway, Recovery::Here, CancellationToken::new()).await;
    });
    target.until(1).await;
    runtime.shutdown_background();
    sleep(Duration::from_millis(1_500)).await;
    let lines = log(&market, &session, &id).await;
    assert_eq!((&lines[0]["state"], &lines[0]["attempts"]), (&json!("waiting"), &json!(0)), "nothing was noted");
    age_webhooks(pool, TimeDelta::seconds(31)).await;
    let worker = market.work();
    let got = target.until(2).await;
    assert_eq!(got[0].header("webhook-id"), got[1].header("webhook-id"));
    assert_eq!(got[0].body, got[1].body);
    until_logged(&market, &session, &id, |lines| lines[0]["state"] == "acknowledged").await;
    worker.stop().await;
}

/// What a receiver proves from the events alone: no number is missing, each names the one before it, and within an execution
/// each came after the one before it.
fn proves_that_nothing_is_missing(got: &[Got], events: u64) {
    let mut first_seen = Vec::new();
    let mut seen = HashSet::new();
    for one in got {
        let event = one.json();
        if seen.insert(event["id"].as_str().unwrap().to_owned()) {
            first_seen.push(event);
        }
    }
    let by_number: HashMap<u64, &Value> =
        first_seen.iter().map(|event| (event["sequence"].as_u64().unwrap(), event)).collect();
    for number in 1..=events {
        let before = number.checked_sub(1).and_then(|before| by_number.get(&before)).map(|event| &event["id"]);
        assert_eq!(&by_number[&number]["previous"], before.unwrap_or(&Value::Null), "{number}");
    }
    let mut last: HashMap<&str, u64> = HashMap::new();
    for event in &first_seen {
        let (execution, number) = (event["execution_id"].as_str().unwrap(), event["sequence"].as_u64().unwrap());
        assert!(last.insert(execution, number).is_none_or(|before| before < number), "{event}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn several_workers_send_to_targets_that_fail_now_and_then_in_order() {
    const EVENTS: u64 = 120;
    let market = Market::start().await;
    let (pool, session) = (market.database.pool(), market.session_of(wallet(1)).await);
    let mut targets = Vec::new();
    for _ in 0..3 {
        // Every fifth event fails the first time.
        let failed = Arc::new(Mutex::new(HashSet::new()));
        let target =
            Receiver::start(move |_, got| match got.number() % 5 == 2 && failed.lock().unwrap().insert(got.number()) {
                true => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
                false => StatusCode::OK.into_response(),
            })
            .await;
        create(&market, &session, &target.url).await;
        targets.push(target);
    }
    let stop = CancellationToken::new();
    let workers: Vec<_> = (0..3)
        .map(|_| {
            let gateway = Gateway::new(market.config.clone(), pool.clone()).unwrap();
            tokio::spawn(crtx_gateway::run(gateway, Recovery::Here, stop.clone()))
        })
        .collect();
    for number in 0..EVENTS {
        event(pool, 1, u128::from(number % 7)).await;
    }
    let started = Instant::now();
    loop {
        let all = market.ask_as(&session, "GET", "/v1/webhooks", None).await.body;
        let waiting = |one: &Value| one["waiting"] != 0 || one["taken"] != EVENTS;
        if !all["webhooks"].as_array().unwrap().iter().any(waiting) {
            break;
        }
        assert!(started.elapsed() < Duration::from_secs(120), "{all}");
        // Seconds of the schedule go by faster.
        age_webhooks(pool, TimeDelta::seconds(2)).await;
        sleep(Duration::from_millis(600)).await;
    }
    stop.cancel();
    for worker in workers {
        worker.await.unwrap();
    }
    for target in targets {
        proves_that_nothing_is_missing(&target.all(), EVENTS);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn targets_that_hang_delay_no_other() {
    const HANGING: u8 = 20;
    // The time-out of a delivery.
    const HANGS_FOR: Duration = Duration::from_secs(15);
    let market = Market::start().await;
    let pool = market.database.pool();
    let hanging = futures::future::join_all((0..HANGING).map(async |of| {
        let session = market.session_of(wallet(100 + of)).await;
        for _ in 0..10 {
            create(&market, &session, &hanging().await).await;
        }
    }));
    hanging.await;
    let session = market.session_of(wallet(1)).await;
    let target = Receiver::good().await;
    create(&market, &session, &target.url).await;
    for of in 0..HANGING {
        for execution in 0..3 {
            event(pool, 100 + of, execution).await;
        }
    }
    let worker = market.work();
    sleep(Duration::from_secs(1)).await;
    let mut sent = HashMap::new();
    for number in 1..=100_u64 {
        event(pool, 1, number.into()).await;
        sent.insert(number, Instant::now());
        sleep(Duration::from_millis(60)).await;
    }
    let got = target.until(100).await;
    let mut delays: Vec<_> = got.iter().map(|one| one.at.duration_since(sent[&one.number()])).collect();
    delays.sort_unstable();
    let p99 = delays[delays.len() * 99 / 100];
    eprintln!("beside 200 targets that hang: median {:?}, p99 {p99:?}", delays[delays.len() / 2]);
    let longest = delays[delays.len() - 1];
    assert!(longest < HANGS_FOR, "no delivery waited for the end of another one: {longest:?}");
    let started = Instant::now();
    worker.stop().await;
    assert!(started.elapsed() < HANGS_FOR, "a stop waits for none of them: {:?}", started.elapsed());
}

/// A target that sends this, and then what `more` returns, without end.
async fn endless(stream: TcpStream, head: &str, more: &[u8], pause: Duration) {
    let mut stream = stream;
    let _ = stream.read(&mut [0; 8_192]).await;
    let mut sent = stream.write_all(head.as_bytes()).await;
    while sent.is_ok() {
        sleep(pause).await;
        sent = stream.write_all(more).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_answers_cost_little_and_are_shown_on_one_line() {
    let market = Market::start().await;
    let (pool, session) = (market.database.pool(), market.session_of(wallet(1)).await);
    let elsewhere = Receiver::good().await;
    let location = elsewhere.url.clone();
    let redirecting = Receiver::start(move |_, _| {
        (StatusCode::TEMPORARY_REDIRECT, [("location", location.clone())], "go").into_response()
    })
    .await;
    let huge = Receiver::start(|_, _| (StatusCode::OK, Body::from(vec![b'x'; 5_000_000])).into_response()).await;
    let control = Receiver::start(|_, _| (StatusCode::BAD_REQUEST, "a\u{1b}[2J\r\nb\0c").into_response()).await;
    let ok = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n";
    let endless_body = raw(move |s| endless(s, ok, &[b'y'; 65_536], Duration::ZERO)).await;
    let dripping = raw(move |s| endless(s, ok, b"z", Duration::from_millis(300))).await;
    let endless_head = raw(|s| async move {
        endless(s, "HTTP/1.1 200 OK\r\n", "a: b\r\n".repeat(10_000).as_bytes(), Duration::ZERO).await;
    })
    .await;
    let closing = raw(|s| async move { drop(s) }).await;
    let cases = [
        (redirecting.url.as_str(), json!(307), "waiting", "go"),
        (&huge.url, json!(200), "acknowledged", "xxx"),
        (&control.url, json!(400), "waiting", "a\u{fffd}[2J\u{fffd}\u{fffd}b\u{fffd}c"),
        (&endless_body, json!(200), "acknowledged", "yyy"),
        (&dripping, json!(200), "acknowledged", "z"),
        (&endless_head, Value::Null, "waiting", "the connection ended"),
        (&closing, Value::Null, "waiting", "the connection ended"),
    ];
    let mut ids = Vec::new();
    for (url, ..) in &cases {
        ids.push(create(&market, &session, url).await.0);
    }
    let worker = market.work();
    event(pool, 1, 1).await;
    for ((url, status, state, answer), id) in cases.iter().zip(&ids) {
        let lines = until_logged(&market, &session, id, |lines| lines.iter().any(|line| line["attempts"] != 0)).await;
        let line = &lines[0];
        assert_eq!((&line["status"], line["state"].as_str().unwrap()), (status, *state), "{url}: {line}");
        let text = line["answer"].as_str().unwrap();
        assert!(text.starts_with(answer) && text.len() <= 1_024, "{url}: {line}");
        assert!(line["duration_ms"].as_u64().unwrap() < 5_000, "{url}: {line}");
    }
    assert!(elsewhere.all().is_empty(), "no redirect is followed");
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn private_addresses_are_neither_taken_nor_called() {
    let mut market = Market::start().await;
    market.config.outbound = OutboundPolicy::STRICT;
    let pool = market.database.pool().clone();
    let strict = Gateway::new(market.config.clone(), pool.clone()).unwrap();
    market.router = crtx_http::finish(crtx_gateway::api::router(strict.clone()));
    market.gateway = strict;
    let session = market.session_of(wallet(1)).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    for url in [
        "http://example.com/".to_owned(),
        "https://127.0.0.1/".to_owned(),
        "https://2130706433/".to_owned(),
        "https://169.254.169.254/latest".to_owned(),
        "https://[::ffff:10.0.0.1]/".to_owned(),
        "https://[64:ff9b::7f00:1]/".to_owned(),
        "https://localhost/".to_owned(),
        "https://db.internal/".to_owned(),
        "https://user:password@example.com/".to_owned(),
        "https://example.com:22/".to_owned(),
        "not a url".to_owned(),
        format!("https://example.com/{}", "x".repeat(1_000)),
    ] {
        let answer = market.ask_as(&session, "POST", "/v1/webhooks", Some(&json!({"url": url}))).await;
        assert_eq!((answer.status, answer.code()), (400, "invalid_request"), "{url}: {answer:?}");
        assert!(answer.message().contains("`url`"), "{url}: {answer:?}");
    }
    // An address that was good when the webhook was made, as a name that leads elsewhere later.
    for (number, url) in [format!("https://127.0.0.1:{port}/"), format!("https://localhost:{port}/")].iter().enumerate()
    {
        let new = NewWebhook {
            webhook_id: Uuid::from_u128(number.try_into().unwrap()),
            wallet: wallet(1),
            url,
            types: &[],
            agents: &[],
            secret: &[1; 60],
            sealed_by: "nobody",
        };
        assert!(webhooks::create(&pool, &new).await.unwrap());
    }
    let worker = market.work();
    event(&pool, 1, 1).await;
    for number in 0..2 {
        let id = Uuid::from_u128(number).to_string();
        let lines = until_logged(&market, &session, &id, |lines| lines.iter().any(|line| line["attempts"] != 0)).await;
        assert_eq!((&lines[0]["status"], &lines[0]["state"]), (&Value::Null, &json!("waiting")), "{lines:?}");
    }
    worker.stop().await;
    let nobody_came = tokio::time::timeout(Duration::from_millis(50), listener.accept()).await;
    assert!(nobody_came.is_err(), "a connection was made");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_is_gone_is_left_and_one_that_asks_for_a_pause_gets_it() {
    let market = Market::start().await;
    let (pool, session) = (market.database.pool(), market.session_of(wallet(1)).await);
    let busy = Receiver::start(|number, _| match number {
        0 => (StatusCode::SERVICE_UNAVAILABLE, [("retry-after", "3600")]).into_response(),
        _ => StatusCode::OK.into_response(),
    })
    .await;
    let (busy_id, _) = create(&market, &session, &busy.url).await;
    let worker = market.work();
    event(pool, 1, 1).await;
    until_logged(&market, &session, &busy_id, |lines| lines.iter().any(|line| line["status"] == 503)).await;
    event(pool, 1, 2).await;
    let waits = next_attempts(pool).await[0].1;
    assert!((3_500.0..=3_600.0).contains(&waits), "{waits}");
    sleep(Duration::from_millis(600)).await;
    assert_eq!(busy.all().len(), 1, "other events wait, too");
    age_webhooks(pool, TimeDelta::hours(1)).await;
    busy.until(3).await;
    let gone = Receiver::start(|number, _| match number {
        0 => StatusCode::GONE.into_response(),
        _ => StatusCode::OK.into_response(),
    })
    .await;
    let (gone_id, _) = create(&market, &session, &gone.url).await;
    event(pool, 1, 3).await;
    gone.until(1).await;
    let started = Instant::now();
    while one(&market, &session, &gone_id).await["disabled_reason"] != "gone" {
        assert!(started.elapsed() < Duration::from_secs(20));
        sleep(Duration::from_millis(500)).await;
    }
    event(pool, 1, 4).await;
    age_webhooks(pool, TimeDelta::hours(1)).await;
    sleep(Duration::from_millis(600)).await;
    assert_eq!(gone.all().len(), 1);
    let path = format!("/v1/webhooks/{gone_id}");
    let enabled = market.ask_as(&session, "PATCH", &path, Some(&json!({"enabled": true}))).await;
    assert_eq!((enabled.status, &enabled.body["disabled_at"]), (200, &Value::Null), "{enabled:?}");
    let got = gone.until(4).await;
    let numbers: HashSet<u64> = got.iter().map(Got::number).collect();
    assert_eq!(numbers, HashSet::from([3, 4, 5]), "with the event that it was disabled, and without a hole");
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_secrets_sign_after_a_rotation_and_a_test_shows_the_answer() {
    let market = Market::start().await;
    let session = market.session_of(wallet(1)).await;
    let target = Receiver::start(|_, _| (StatusCode::IM_A_TEAPOT, "short and stout").into_response()).await;
    let (id, old) = create(&market, &session, &target.url).await;
    let test = async || market.ask_as(&session, "POST", &format!("/v1/webhooks/{id}/test"), None).await;
    let answer = test().await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!((&answer.body["acknowledged"], &answer.body["status"]), (&json!(false), &json!(418)));
    assert_eq!(answer.body["answer"], "short and stout");
    let rotated = market.ask_as(&session, "POST", &format!("/v1/webhooks/{id}/rotate"), None).await;
    assert_eq!(rotated.status, 200, "{rotated:?}");
    let new = rotated.body["secret"].as_str().unwrap();
    test().await;
    age_webhooks(market.database.pool(), TimeDelta::hours(25)).await;
    test().await;
    let got = target.all();
    let verified: Vec<_> = got.iter().map(|one| (verifies(&old, one), verifies(new, one))).collect();
    assert_eq!(verified, [(true, false), (true, true), (false, true)]);
    assert_eq!(got[0].json()["type"], "webhook.test");
    assert_eq!(got[0].json()["data"]["webhook_id"], id);
    assert!(log(&market, &session, &id).await.is_empty(), "a test is no event");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_owner_sees_and_changes_webhooks() {
    let market = Market::start().await;
    let (session, stranger) = (market.session_of(wallet(1)).await, market.session_of(wallet(2)).await);
    let (id, _) = create(&market, &session, "http://127.0.0.1:9/").await;
    let path = format!("/v1/webhooks/{id}");
    for (method, path, body) in [
        ("PATCH", path.clone(), Some(json!({"enabled": false}))),
        ("DELETE", path.clone(), None),
        ("POST", format!("{path}/test"), None),
        ("POST", format!("{path}/rotate"), None),
        ("GET", format!("{path}/deliveries"), None),
        ("POST", format!("{path}/replay"), Some(json!({"from": 1, "through": 2, "start": true}))),
        ("DELETE", format!("{path}/replay"), None),
    ] {
        let answer = market.ask_as(&stranger, method, &path, body.as_ref()).await;
        assert_eq!((answer.status, answer.code()), (404, "not_found"), "{method} {path}: {answer:?}");
    }
    assert_eq!(market.ask_as(&stranger, "GET", "/v1/webhooks", None).await.body, json!({"webhooks": []}));
    assert_eq!(one(&market, &session, &id).await["disabled_at"], Value::Null);
    let bad = json!({"url": "http://127.0.0.1:9/", "types": ["execution.opened", "nothing"]});
    assert_eq!(market.ask_as(&session, "POST", "/v1/webhooks", Some(&bad)).await.status, 400);
    let bad = json!({"url": "http://127.0.0.1:9/", "agents": ["x"]});
    assert_eq!(market.ask_as(&session, "POST", "/v1/webhooks", Some(&bad)).await.status, 400);
    for _ in 1..10 {
        create(&market, &session, "http://127.0.0.1:9/").await;
    }
    let full = market.ask_as(&session, "POST", "/v1/webhooks", Some(&json!({"url": "http://127.0.0.1:9/"}))).await;
    assert_eq!((full.status, full.code()), (409, "conflict"));
    assert_eq!(market.ask_as(&session, "DELETE", &path, None).await.status, 204);
    assert_eq!(market.ask_as(&session, "DELETE", &path, None).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_survive_the_exchange_of_the_gateways_key_pair() {
    let market = Market::start().await;
    let (pool, session) = (market.database.pool(), market.session_of(wallet(1)).await);
    let target = Receiver::good().await;
    let (id, secret) = create(&market, &session, &target.url).await;
    let (old, new) = (Arc::new(Keypair::new_from_array([14; 32])), Arc::new(Keypair::new_from_array([77; 32])));
    let with = |first: &Arc<Keypair>, other: Option<&Arc<Keypair>>| GatewayConfig {
        keypair: GatewayKeys::new(Arc::clone(first), other.cloned()),
        ..market.config.clone()
    };
    let run = |config: &GatewayConfig| {
        let (stop, gateway) = (CancellationToken::new(), Gateway::new(config.clone(), pool.clone()).unwrap());
        (tokio::spawn(crtx_gateway::run(gateway, Recovery::Here, stop.clone())), stop)
    };
    market.fill_chain(new.pubkey());
    // While both are there, each signature is there of both, and the secrets move to the key that signs now.
    let both = with(&new, Some(&old));
    let (worker, stop) = run(&both);
    event(pool, 1, 1).await;
    let first = target.until(1).await.remove(0);
    assert!(verifies(&secret, &first));
    assert_eq!(first.header("webhook-signature").matches("v1a,").count(), 2);
    assert_eq!(both.webhook_keys().len(), 2);
    let sealed_by = async || {
        let id = id.parse().unwrap();
        webhooks::sealed(pool, &wallet(1), id).await.unwrap().expect("secrets").sealed_by
    };
    let started = Instant::now();
    while sealed_by().await != new.pubkey().to_string() {
        assert!(started.elapsed() < Duration::from_secs(30));
        sleep(Duration::from_millis(50)).await;
    }
    stop.cancel();
    worker.await.unwrap();
    let only = with(&new, None);
    let (worker, stop) = run(&only);
    event(pool, 1, 2).await;
    assert!(verifies(&secret, &target.until(2).await[1]));
    stop.cancel();
    worker.await.unwrap();
}
