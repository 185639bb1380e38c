//! `POST /v1/agent-tests`: who may test, what is refused before a request is sent, and that nothing touches the chain.

use std::time::Duration;

use crate::support::{Answer, Market, result_signer};
use crtx_conformance::{CheckName, Report};
use crtx_gateway::Gateway;
use crtx_http::outbound::OutboundPolicy;
use serde_json::{Value, json};
use solana_pubkey::Pubkey;

const PATH: &str = "/v1/agent-tests";

fn body(market: &Market) -> Value {
    json!({
        "endpoint": market.endpoint, "task": "the task",
        "result_key": Pubkey::new_from_array(result_signer().verifying_key().to_bytes()).to_string(),
        "binding": true, "input_schema": {"type": "object"}, "output_schema": {"type": "string"},
        "failing": {"task": "x", "parameters": {"behaviour": "fail"}},
    })
}

async fn test(market: &Market, body: &Value) -> Answer {
    let session = market.session_of(market.wallet).await;
    market.ask_as(&session, "POST", PATH, Some(body)).await
}

fn report(answer: &Answer) -> Report {
    assert_eq!(answer.status, 200, "{answer:?}");
    serde_json::from_value(answer.body.clone()).expect("a report")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_good_endpoint_passes_without_any_transaction() {
    let market = Market::start().await;
    let report = report(&test(&market, &body(&market)).await);
    assert!(report.passed, "{report:#?}");
    assert_eq!(report.checks.len(), CheckName::ALL.len());
    assert_eq!(market.calls.load(std::sync::atomic::Ordering::SeqCst), usize::try_from(report.requests).unwrap());
    let script = market.node.script();
    assert!(script.sent.is_empty() && script.simulated.is_empty(), "nothing is sent to the chain");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_is_in_the_report_and_not_in_the_status() {
    let market = Market::start().await;
    for (behaviour, fails) in [
        ("bad_signature", CheckName::ResultKey),
        ("wrong_hash", CheckName::ResultHash),
        ("wrong_execution_id", CheckName::ExecutionId),
        ("too_many_tokens", CheckName::TokensUsed),
        ("not_json", CheckName::JsonShape),
        ("panic", CheckName::WholeAnswer),
        ("old_signature", CheckName::CallSignature),
    ] {
        let mut body = body(&market);
        body["parameters"] = json!({"behaviour": behaviour});
        let report = report(&test(&market, &body).await);
        let failed: Vec<_> = report.failed().map(|check| check.name).collect();
        assert!(failed.contains(&fails), "{behaviour}: {failed:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_needs_a_session_and_a_body_that_names_its_faults() {
    let market = Market::start().await;
    let good = body(&market);
    let key = format!("Bearer {}", market.key.reveal());
    for headers in [&[][..], &[("authorization", key.as_str())]] {
        let answer = market.ask("POST", PATH, headers, Some(&good)).await;
        assert_eq!((answer.status, answer.code()), (401, "unauthorized"));
    }
    for (field, value) in [
        ("result_key", json!("x")),
        ("timeout_seconds", json!(0)),
        ("timeout_seconds", json!(901)),
        ("task", json!("")),
        ("task", json!(1)),
        ("parameters", json!([])),
        ("endpoint", json!(format!("https://a.example/{}", "x".repeat(2_048)))),
        ("failing", json!({"task": ""})),
        ("more", json!(1)),
    ] {
        let mut body = good.clone();
        body[field] = value;
        let answer = test(&market, &body).await;
        assert_eq!((answer.status, answer.code()), (400, "invalid_request"), "{field}: {answer:?}");
        assert!(answer.message().contains(field), "{field}: {answer:?}");
    }
    let mut body = good;
    body["task"] = json!("x".repeat(1024 * 1024));
    assert_eq!(test(&market, &body).await.status, 413);
    assert_eq!(market.calls.load(std::sync::atomic::Ordering::SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_public_network_tests_public_https_endpoints_alone() {
    let mut market = Market::start().await;
    let mut config = market.config.clone();
    config.outbound = OutboundPolicy::STRICT;
    let pool = market.database.pool();
    let gateway = Gateway::new(config, pool.clone()).unwrap();
    market.router = crtx_http::finish(crtx_gateway::api::router(gateway));
    for (endpoint, fails) in [
        (market.endpoint.clone(), CheckName::Tls),
        (market.endpoint.replace("http:", "https:"), CheckName::Reachable),
        ("https://169.254.169.254/latest/meta-data/".to_owned(), CheckName::Reachable),
        ("https://a.internal/".to_owned(), CheckName::Reachable),
        ("https://example.com:8443/".to_owned(), CheckName::Reachable),
        ("file:///etc/passwd".to_owned(), CheckName::Tls),
    ] {
        let mut body = body(&market);
        body["endpoint"] = json!(endpoint);
        let report = report(&test(&market, &body).await);
        assert_eq!(report.failed().map(|check| check.name).collect::<Vec<_>>(), [fails], "{endpoint}");
    }
    assert_eq!(market.calls.load(std::sync::atomic::Ordering::SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_hangs_up_ends_its_test_and_frees_its_place() {
    let market = Market::start().await;
    let mut slow = body(&market);
    slow["parameters"] = json!({"delay_ms": 600_000});
    let waiting = test(&market, &slow);
    assert!(tokio::time::timeout(Duration::from_millis(500), waiting).await.is_err(), "it hangs up");
    assert!(report(&test(&market, &body(&market)).await).passed);
}
