//! The service as the marketplace and others call it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests"
)]

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use axum::{
    Router,
    body::{Body, to_bytes},
    http::Request,
    routing::get,
};
use crtx_conformance::{Example, TestedEndpoint};
use crtx_http::outbound::{Outbound, OutboundPolicy};
use crtx_protocol::{
    call_text::OpeningId,
    creator_answer::{Answer, AnswerError, Signatory},
};
use crtx_sdk::{Begun, CallKey, GuardError, ReplayGuard, Seller, SellerOptions, SigningKey, Task, Work};
use serde_json::{Map, Value, json};
use solana_pubkey::Pubkey;
use tokio::net::TcpListener;
use tower::Service;
use uuid::Uuid;

const ID: Uuid = Uuid::from_u128(42);
const OPENING: OpeningId = OpeningId { record: [3; 32], opened_at_unix_s: 1_700_000_000 };

fn key() -> SigningKey {
    SigningKey::from_bytes(&[7; 32])
}

fn result_key() -> Pubkey {
    Pubkey::new_from_array(key().verifying_key().to_bytes())
}

fn call(task: &str) -> Value {
    json!({
        "execution_id": ID, "task": task, "parameters": {}, "timeout_seconds": 1, "user_pubkey": result_key().to_string(),
        "execution_record": Pubkey::new_from_array(OPENING.record).to_string(),
        "opened_at_unix_s": OPENING.opened_at_unix_s, "later": "versions add members",
    })
}

async fn send(seller: &Seller, method: &str, body: impl Into<Body>) -> (u16, Value) {
    let request = Request::builder().method(method).body(body.into()).unwrap();
    let response = seller.clone().call(request).await.unwrap();
    let status = response.status().as_u16();
    let body = to_bytes(Body::new(response.into_body()), usize::MAX).await.unwrap();
    (status, serde_json::from_slice(&body).unwrap())
}

async fn ask(seller: &Seller, task: &str) -> Value {
    let (status, answer) = send(seller, "POST", call(task).to_string()).await;
    assert_eq!(status, 200, "{answer}");
    answer
}

/// As the gateway reads it, for a call that demands both signatures.
fn read(answer: &Value) -> Result<String, AnswerError> {
    let signatory = Signatory { result_key: result_key(), opening: OPENING, binding: true };
    Answer::read(answer.to_string().as_bytes())?.check(ID, &signatory).map(|signed| signed.result)
}

/// Whatever went wrong, the agent signed that it failed.
fn failure(answer: &Value) -> String {
    match read(answer) {
        Err(AnswerError::Reported { error, signature: Some(_) }) => error,
        other => panic!("{other:?}: {answer}"),
    }
}

/// Counts its runs, and does what the task says.
fn seller(runs: &Arc<AtomicUsize>, options: SellerOptions) -> Seller {
    let runs = Arc::clone(runs);
    let work = move |task: Task| {
        runs.fetch_add(1, Ordering::SeqCst);
        async move {
            match task.text.as_str() {
                "fail" => Err("no such thing".to_owned()),
                "panic" => panic!("on purpose"),
                "never" => std::future::pending().await,
                "soon" => {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    Ok(Work::from("done"))
                }
                "large" => Ok("x".repeat(1024 * 1024 + 1).into()),
                "traced" => Ok(Work { result: "r".into(), tokens_used: Some(9), steps: Some(vec![json!("s")]) }),
                "much" => {
                    let steps = Some(vec![json!("x".repeat(300_000))]);
                    Ok(Work { result: "r".into(), tokens_used: Some(u64::MAX), steps })
                }
                text => Ok(text.into()),
            }
        }
    };
    Seller::with_options(options, key(), work).expect("a seller")
}

fn application(agent: Seller) -> Router {
    Router::new().route("/", get(async || "a shop")).route_service("/execute", agent)
}

#[test]
fn the_documents_show_how_an_application_has_an_agent() {
    let (_, rest) = include_str!("../README.md").split_once("fn application").unwrap();
    let code = rest.split_once("```").unwrap().0;
    assert!(include_str!("seller.rs").contains(&format!("fn application{code}")), "{code}");
}

#[tokio::test]
async fn it_passes_the_test_of_an_endpoint_as_a_route_of_an_application() {
    let seller = seller(&Arc::default(), SellerOptions::default());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}/execute", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, application(seller)).await });
    let example = |task: &str| Example { task: task.to_owned(), parameters: Map::new() };
    let subject = TestedEndpoint {
        endpoint,
        result_key: result_key(),
        binding: true,
        input_schema: json!({"type": "object"}),
        output_schema: json!({}),
        timeout_seconds: 5,
        example: example("\"a text\""),
        failing: Some(example("fail")),
    };
    let report = crtx_conformance::run(&subject, &Outbound::new(OutboundPolicy::LOCAL)).await.unwrap();
    assert!(report.passed, "{report:#?}");
}

#[tokio::test]
async fn a_call_runs_once_also_for_those_who_come_meanwhile_and_for_a_client_that_left() {
    let runs = Arc::default();
    let seller = seller(&runs, SellerOptions::default());
    let left = tokio::time::timeout(Duration::from_millis(20), ask(&seller, "soon")).await;
    assert!(left.is_err());
    let (one, other) = tokio::join!(ask(&seller, "soon"), ask(&seller, "soon"));
    assert_eq!((read(&one).unwrap(), &one), ("done".to_owned(), &other));
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    // A stranger who sends the public id with another task disturbs nothing.
    assert_eq!(read(&ask(&seller, "else").await).unwrap(), "else");
    assert_eq!((ask(&seller, "soon").await, runs.load(Ordering::SeqCst)), (one, 2));
}

#[tokio::test]
async fn whatever_goes_wrong_is_a_signed_failure_and_does_not_run_again() {
    let runs = Arc::default();
    let seller = seller(&runs, SellerOptions::default());
    for (task, says) in [
        ("fail", "no such thing"),
        ("panic", "the agent broke down"),
        ("never", "there was no result within 1 s"),
        ("large", "the result is larger than 1 MiB"),
    ] {
        let before = runs.load(Ordering::SeqCst);
        let answer = ask(&seller, task).await;
        assert_eq!(failure(&answer), says);
        assert_eq!((ask(&seller, task).await, runs.load(Ordering::SeqCst)), (answer, before + 1), "{task}");
    }
}

#[tokio::test]
async fn tokens_and_steps_are_said_unless_the_marketplace_would_refuse_them() {
    let seller = seller(&Arc::default(), SellerOptions::default());
    let traced = ask(&seller, "traced").await;
    assert_eq!((&traced["tokens_used"], &traced["steps"]), (&json!(9), &json!(["s"])));
    let much = ask(&seller, "much").await;
    assert!(read(&much).is_ok() && much.get("tokens_used").is_none() && much.get("steps").is_none());
}

#[tokio::test]
async fn what_is_no_call_is_refused_before_anything_runs() {
    let runs = Arc::default();
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let options = SellerOptions { input_schema: Some(schema), ..SellerOptions::default() };
    let seller = seller(&runs, options);
    let good = call("t").to_string();
    for (status, method, body) in [
        (405, "GET", good.clone()),
        (400, "POST", String::new()),
        (400, "POST", format!("[{good}]")),
        (400, "POST", good.replacen('{', "{\"task\":\"u\",", 1)),
        (400, "POST", good.replace("execution_record\":\"", "execution_record\":\"0")),
        (400, "POST", good.replace("timeout_seconds\":1", "timeout_seconds\":-1")),
        (413, "POST", " ".repeat(4 * 1024 * 1024 + 1)),
    ] {
        let (got, answer) = send(&seller, method, body).await;
        assert!(got == status && answer["error"].is_string(), "{got} {answer}");
    }
    let mismatch = good.replace("\"parameters\":{}", "\"parameters\":{\"n\":\"x\"}");
    assert!(failure(&send(&seller, "POST", mismatch).await.1).contains("schema"));
    assert_eq!(runs.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn only_so_many_run_and_wait() {
    let runs = Arc::default();
    let seller = seller(&runs, SellerOptions { max_running: 1, ..SellerOptions::default() });
    let ask = |number: u128| {
        let mut body = call("soon");
        (body["execution_id"], body["timeout_seconds"]) = (json!(Uuid::from_u128(number)), json!(30));
        let seller = seller.clone();
        tokio::spawn(async move { send(&seller, "POST", body.to_string()).await.0 })
    };
    let mut statuses = futures::future::join_all((0..8).map(ask)).await;
    let refused = statuses.drain(..).filter(|status| *status.as_ref().unwrap() == 503).count();
    assert_eq!((refused, runs.load(Ordering::SeqCst)), (3, 5));
}

/// As if the process that ran the call had died.
struct Dead;

#[async_trait]
impl ReplayGuard for Dead {
    async fn begin(&self, call: &CallKey, _: std::time::SystemTime) -> Result<Begun, GuardError> {
        if call.execution_id == ID { Ok(Begun::Lost) } else { Err("the store is away".into()) }
    }

    async fn finish(&self, _: &CallKey, _: Arc<str>) -> Result<(), GuardError> {
        Ok(())
    }
}

#[tokio::test]
async fn a_run_that_was_lost_is_a_failure_and_without_the_store_nothing_runs() {
    let runs = Arc::default();
    let seller = seller(&runs, SellerOptions { guard: Arc::new(Dead), ..SellerOptions::default() });
    assert!(failure(&ask(&seller, "t").await).contains("does not run a second time"));
    let other = call("t").to_string().replace(&ID.to_string(), &Uuid::from_u128(1).to_string());
    assert_eq!(send(&seller, "POST", other).await.0, 503);
    assert_eq!(runs.load(Ordering::SeqCst), 0);
}

#[test]
fn the_example_sells_in_twelve_lines() {
    let example = include_str!("../examples/csv_profile.rs");
    let (selling, _work) = example.split_once("fn profile").unwrap();
    let lines = selling.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("//")).count();
    assert!(lines <= 12, "{lines}");
}
