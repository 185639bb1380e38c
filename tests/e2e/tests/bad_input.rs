//! Random input at every endpoint of a running marketplace: each answer is a specified one, and the
//! services are as well afterwards as before.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "tests")]

use crtx_e2e::{Up, market::Market};
use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use reqwest::Method;

/// Inputs per endpoint and kind.
const CASES: usize = 300;

/// Bodies: bytes, almost-JSON, and JSON of the request's form with arbitrary values.
fn bodies() -> impl Strategy<Value = Vec<u8>> {
    let scalar = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|b| b.to_string()),
        any::<f64>().prop_map(|n| n.to_string()),
        any::<i64>().prop_map(|n| n.to_string()),
        Just("1e999".to_owned()),
        any::<String>().prop_map(|s| serde_json::to_string(&s).unwrap()),
        Just(r#""\u0000""#.to_owned()),
        Just(r#""\ud800""#.to_owned()),
    ];
    let value = scalar.prop_recursive(6, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(|v| format!("[{}]", v.join(","))),
            prop::collection::vec((any::<String>(), inner), 0..5).prop_map(|members| {
                let members: Vec<_> =
                    members.iter().map(|(k, v)| format!("{}:{v}", serde_json::to_string(k).unwrap())).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    });
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        value.clone().prop_map(String::into_bytes),
        (value.clone(), value.clone(), value).prop_map(|(task, parameters, asynchronous)| {
            format!(r#"{{"task":{task},"parameters":{parameters},"async":{asynchronous}}}"#).into_bytes()
        }),
        Just(b"[".repeat(100_000)),
        Just(br#"{"task":"#.repeat(20_000)),
    ]
}

/// One segment of a path or a query, percent-encoded where it has to be.
fn segments() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,40}",
        any::<String>(),
        prop::collection::vec(any::<u8>(), 0..30).prop_map(|bytes| bytes.iter().map(|b| format!("%{b:02x}")).collect()),
        Just("..%2f..%2fetc%2fpasswd".to_owned()),
    ]
    .prop_map(|text: String| {
        text.bytes()
            .map(|b| {
                if b.is_ascii_alphanumeric() || b"-._~%".contains(&b) {
                    (b as char).to_string()
                } else {
                    format!("%{b:02X}")
                }
            })
            .collect()
    })
}

fn sample<T>(strategy: impl Strategy<Value = T>, runner: &mut TestRunner) -> T {
    strategy.new_tree(runner).expect("a value").current()
}

#[tokio::test(flavor = "multi_thread")]
async fn random_input_at_every_endpoint_gets_a_specified_answer_and_harms_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut up = Up::start(folder.path(), &[]).await.unwrap();
    let market = Market::new(up.info().clone());
    let mut runner = TestRunner::default();
    let execute = format!("/v1/agents/{}/execute", market.agent("text-stats"));
    for _ in 0..CASES {
        let body = sample(bodies(), &mut runner);
        let key = Some(market.info.api_key.as_str());
        let segment = sample(segments(), &mut runner);
        let answers = [
            (Method::POST, execute.clone(), Some(body.clone())),
            (Method::POST, format!("/v1/agents/{segment}/execute"), Some(body.clone())),
            (Method::GET, format!("/v1/agents/{segment}"), None),
            (Method::GET, format!("/v1/executions/{segment}"), None),
            (Method::GET, format!("/ipfs/{segment}"), None),
            (Method::GET, format!("/v1/agents?{segment}={segment}"), None),
            (Method::GET, format!("/v1/agents?tags={segment}&limit={segment}"), None),
            (Method::GET, format!("/v1/agents?sort={segment}&min_success_rate={segment}"), None),
            (Method::GET, format!("/v1/executions?from={segment}&to={segment}&status={segment}"), None),
            (Method::GET, format!("/v1/executions?agent_id={segment}&offset={segment}"), None),
            (Method::PUT, execute.clone(), Some(body)),
        ];
        for (method, path, body) in answers {
            let shown = body.as_ref().map(|bytes| String::from_utf8_lossy(&bytes[..bytes.len().min(300)]).into_owned());
            let answer = market.raw(method.clone(), &path, key, &[], body).await;
            let status = answer.status.as_u16();
            assert!(matches!(status, 200 | 400 | 401 | 404 | 405 | 409 | 413), "{method} {path} {shown:?}: {answer:?}");
            if status != 200 {
                answer.error_code();
            }
        }
        let header = sample("[!-~]{0,60}", &mut runner);
        let answer = market
            .raw(Method::POST, &execute, Some(&header), &[("idempotency-key", &header)], Some(b"{}".to_vec()))
            .await;
        assert_eq!((answer.status.as_u16(), answer.error_code()), (401, "unauthorized"), "{header}: {answer:?}");
    }
    let answer = market.execute(&market.agent("text-stats"), &serde_json::json!({"task": "still there"})).await;
    assert_eq!(answer.status, 200, "the marketplace works afterwards: {answer:?}");
    up.stop().await.unwrap();
}
