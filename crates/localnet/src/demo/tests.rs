//! Calls the creator over HTTP, as the gateway does.

use crtx_conformance::{CheckName, Example, TestedEndpoint};
use crtx_http::outbound::{Outbound, OutboundPolicy};
use crtx_protocol::{
    call_text::OpeningId,
    result_hash::{ResultHash, parse_signature, verify_call_signature, verify_signature},
};

use super::*;

const RECORD: Pubkey = Pubkey::new_from_array([4; 32]);
const OPENING: OpeningId = OpeningId { record: [4; 32], opened_at_unix_s: 1_700_000_000 };

fn key() -> SigningKey {
    SigningKey::from_bytes(&[5; 32])
}

async fn start() -> (String, CancellationToken) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let base = format!("http://{}", listener.local_addr().expect("address"));
    let shutdown = CancellationToken::new();
    tokio::spawn(serve(listener, key(), shutdown.clone()));
    (base, shutdown)
}

fn request(parameters: Value) -> (Uuid, Value) {
    let id = Uuid::new_v4();
    let body = json!({
        "execution_id": id, "task": "Some words. More words!", "parameters": parameters,
        "user_pubkey": "11111111111111111111111111111111", "timeout_seconds": 1,
        "execution_record": RECORD.to_string(), "opened_at_unix_s": OPENING.opened_at_unix_s
    });
    (id, body)
}

async fn call(url: &str, body: &Value) -> reqwest::Result<reqwest::Response> {
    reqwest::Client::new().post(url).json(body).send().await
}

async fn answer(path: &str, parameters: Value) -> (Uuid, Value) {
    let (base, shutdown) = start().await;
    let (id, body) = request(parameters);
    let answer = call(&format!("{base}{path}"), &body).await.expect("answers").json().await.expect("json");
    shutdown.cancel();
    (id, answer)
}

/// Whether the call-bound signature of an answer holds for the requested call.
fn is_bound(answer: &Value) -> bool {
    let (Some(hash), Some(signature)) = (answer["result_hash"].as_str(), answer["call_signature"].as_str()) else {
        return false;
    };
    let (hash, signature) = (hash.parse().expect("its form"), parse_signature(signature).expect("its form"));
    verify_call_signature(key().verifying_key().as_bytes(), &OPENING, &hash, &signature).is_ok()
}

/// Whether hash and signature of an answer hold.
fn is_proven(answer: &Value) -> bool {
    let (Some(result), Some(hash), Some(signature)) =
        (answer["result"].as_str(), answer["result_hash"].as_str(), answer["signature"].as_str())
    else {
        return false;
    };
    let Ok(hash) = hash.parse::<ResultHash>() else { return false };
    hash == ResultHash::of(result.as_bytes())
        && parse_signature(signature)
            .is_ok_and(|signature| verify_signature(key().verifying_key().as_bytes(), &hash, &signature).is_ok())
}

#[tokio::test]
async fn text_stats_answers_with_a_json_string_signed_for_the_call() {
    let (id, answer) = answer("/text-stats/execute", json!({"top_words": 1})).await;
    assert!(is_proven(&answer) && is_bound(&answer), "{answer}");
    assert_eq!((&answer["status"], &answer["execution_id"]), (&json!("completed"), &json!(id)));
    let stats: Value = serde_json::from_str(answer["result"].as_str().expect("a string")).expect("json");
    assert_eq!((&stats["words"], &stats["sentences"]), (&json!(4), &json!(2)));
    assert_eq!(stats["top_words"], json!([{"word": "words", "count": 2}]));
}

#[tokio::test]
async fn text_stats_reports_parameters_it_cannot_use() {
    for bad in [json!({"top_words": 0}), json!({"top_words": 51}), json!({"top_words": "x"})] {
        let (_, answer) = answer("/text-stats/execute", bad).await;
        assert_eq!(answer["status"], "failed");
        assert!(answer["result"].is_null() && answer["signature"].is_null() && answer["error"].is_string());
    }
}

#[tokio::test]
async fn ok_is_proven_and_carries_tokens_and_steps() {
    let (_, answer) = answer("/conformance-target/execute", json!({"behaviour": "ok"})).await;
    assert!(is_proven(&answer) && is_bound(&answer), "{answer}");
    assert!(answer["tokens_used"].is_u64() && answer["steps"].is_array());
}

#[tokio::test]
async fn each_lie_breaks_exactly_one_thing() {
    let (id, lie) = answer("/conformance-target/execute", json!({"behaviour": "wrong_execution_id"})).await;
    assert!(is_proven(&lie) && is_bound(&lie) && lie["execution_id"] != json!(id));

    for behaviour in ["no_call_signature", "other_call_signature"] {
        let (id, lie) = answer("/conformance-target/execute", json!({"behaviour": behaviour})).await;
        assert!(is_proven(&lie) && !is_bound(&lie) && lie["execution_id"] == json!(id), "{behaviour}");
    }

    let (id, lie) = answer("/conformance-target/execute", json!({"behaviour": "bad_signature"})).await;
    let honest_hash = ResultHash::of(lie["result"].as_str().expect("a result").as_bytes()).to_string();
    assert!(!is_proven(&lie) && lie["result_hash"] == json!(honest_hash) && lie["execution_id"] == json!(id));

    let (_, lie) = answer("/conformance-target/execute", json!({"behaviour": "wrong_hash"})).await;
    let hash: ResultHash = lie["result_hash"].as_str().expect("a hash").parse().expect("its form");
    let signature = parse_signature(lie["signature"].as_str().expect("a signature")).expect("its form");
    assert!(verify_signature(key().verifying_key().as_bytes(), &hash, &signature).is_ok());
    assert!(hash != ResultHash::of(lie["result"].as_str().expect("a result").as_bytes()));
}

#[tokio::test]
async fn failures_are_reported_as_specified() {
    let (id, answer) = answer("/conformance-target/execute", json!({"behaviour": "fail"})).await;
    assert_eq!((&answer["status"], &answer["execution_id"]), (&json!("failed"), &json!(id)));
    assert!(answer["result"].is_null() && answer["result_hash"].is_null() && answer["error"].is_string());
}

#[tokio::test]
async fn oversize_not_json_and_drop_break_the_contract() {
    let (base, shutdown) = start().await;
    let url = format!("{base}/conformance-target/execute");
    let response = call(&url, &request(json!({"behaviour": "oversize"})).1).await.expect("answers");
    assert!(response.bytes().await.expect("body").len() > 1024 * 1024);
    let text = call(&url, &request(json!({"behaviour": "not_json"})).1).await.expect("answers").text().await;
    assert!(serde_json::from_str::<Value>(&text.expect("text")).is_err());
    let dropped = call(&url, &request(json!({"behaviour": "drop"})).1).await;
    let body = match dropped {
        Ok(response) => response.bytes().await,
        Err(error) => Err(error),
    };
    assert!(body.is_err(), "the connection is closed");
    shutdown.cancel();
}

#[tokio::test]
async fn slow_answers_after_the_time_out() {
    let started = std::time::Instant::now();
    let (_, answer) = answer("/conformance-target/execute", json!({"behaviour": "slow"})).await;
    assert!(started.elapsed() > Duration::from_secs(1) && is_proven(&answer));
}

#[tokio::test]
async fn what_is_no_execution_request_is_refused() {
    let (base, shutdown) = start().await;
    for path in ["/text-stats/execute", "/conformance-target/execute"] {
        let response = call(&format!("{base}{path}"), &json!({"task": 1})).await.expect("answers");
        assert_eq!(response.status().as_u16(), 400);
    }
    shutdown.cancel();
}

#[tokio::test]
async fn both_agents_pass_the_test_of_an_endpoint() {
    let (base, shutdown) = start().await;
    let port = base.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
    let text_stats = (json!({"top_words": MAX_TOP_WORDS}), json!({"top_words": 0}));
    let conformance_target = (json!({}), json!({"behaviour": "fail"}));
    for (agent, (parameters, failing)) in DEMO_AGENTS.iter().zip([text_stats, conformance_target]) {
        let document = agent.metadata(port);
        let example = |parameters: Value| Example {
            task: "Some words. More words!".to_owned(),
            parameters: parameters.as_object().cloned().expect("an object"),
        };
        let subject = TestedEndpoint {
            endpoint: document.endpoint,
            result_key: Pubkey::new_from_array(key().verifying_key().to_bytes()),
            binding: true,
            input_schema: document.input_schema,
            output_schema: document.output_schema,
            timeout_seconds: agent.timeout_seconds,
            example: example(parameters),
            failing: Some(example(failing)),
        };
        let outbound = Outbound::new(OutboundPolicy::LOCAL);
        let report = crtx_conformance::run(&subject, &outbound).await.expect("a report");
        assert!(report.passed, "{}: {report:#?}", agent.name);
        for name in [CheckName::Signature, CheckName::CallSignature, CheckName::OutputSchema, CheckName::Unicode] {
            assert_eq!(report.check(name).expect("there").passed, Some(true), "{}: {report:#?}", agent.name);
        }
    }
    shutdown.cancel();
}
