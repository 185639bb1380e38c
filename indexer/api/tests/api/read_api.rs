//! What all endpoints of the read API share: refused parameters, headers, errors, the status and the description.

use crate::common::{Market, market_of_agents};
use axum::{body::Body, http::Request};
use crtx_store::{
    fee_payers::{self, FeePayer, FeePayerState},
    mirror,
    testing::fixtures::*,
};
use proptest::prelude::*;
use serde_json::json;

#[tokio::test]
async fn a_bad_parameter_is_refused_by_name() {
    let market = Market::open().await;
    let key = market.key_of(wallet(1)).await;
    for (path, named) in [
        ("/v1/agents?limit=101", "limit"),
        ("/v1/agents?limit=0", "limit"),
        ("/v1/agents?limit=-1", "limit"),
        ("/v1/agents?limit=ten", "limit"),
        ("/v1/agents?limit=", "limit"),
        ("/v1/agents?limit=1&limit=2", "limit"),
        ("/v1/agents?offset=-1", "offset"),
        ("/v1/agents?offset=9223372036854775808", "offset"),
        ("/v1/agents?offset=1.5", "offset"),
        ("/v1/agents?tags=", "tags"),
        ("/v1/agents?tags=a,,b", "tags"),
        ("/v1/agents?tags=UPPER", "tags"),
        ("/v1/agents?tags=%00", "tags"),
        ("/v1/agents?min_success_rate=1.1", "min_success_rate"),
        ("/v1/agents?min_success_rate=-0.1", "min_success_rate"),
        ("/v1/agents?min_success_rate=NaN", "min_success_rate"),
        ("/v1/agents?min_success_rate=high", "min_success_rate"),
        ("/v1/agents?min_executions=-5", "min_executions"),
        ("/v1/agents?min_executions=many", "min_executions"),
        ("/v1/agents?verified_only=yes", "verified_only"),
        ("/v1/agents?sort=random", "sort"),
        ("/v1/agents?sort=relevance", "sort"),
        ("/v1/agents?offset=10001", "offset"),
        ("/v1/agents?offset=9223372036854775807", "offset"),
        ("/v1/agents?offset=0&cursor=abc", "cursor"),
        ("/v1/agents?cursor=", "cursor"),
        ("/v1/agents?cursor=abc", "cursor"),
        ("/v1/agents?q=", "q"),
        ("/v1/agents?q=%21%3F", "q"),
        ("/v1/agents?q=a&q=b", "q"),
        ("/v1/agents?q=one+two+three+four+five+six+seven+eight+nine", "q"),
        ("/v1/agents?creator=abc", "creator"),
        ("/v1/agents?creator=", "creator"),
        ("/v1/agents?max_price=-1", "max_price"),
        ("/v1/agents?max_price=0.0000001", "max_price"),
        ("/v1/agents?max_price=1e3", "max_price"),
        ("/v1/agents?max_price=", "max_price"),
        ("/v1/agents?sort=", "sort"),
        ("/v1/agents?limt=5", "limt"),
        ("/v1/agents/abc?x=1", "x"),
        ("/v1/executions?limit=101", "limit"),
        ("/v1/executions?offset=x", "offset"),
        ("/v1/executions?offset=9223372036854775808", "offset"),
        ("/v1/executions?cursor=", "cursor"),
        ("/v1/executions?cursor=AAAA", "cursor"),
        ("/v1/executions?cursor=x&offset=0", "cursor"),
        ("/v1/executions?role=resolver", "role"),
        ("/v1/executions?status=done", "status"),
        ("/v1/executions?status=Completed", "status"),
        ("/v1/executions?agent_id=abc", "agent_id"),
        ("/v1/executions?from=yesterday", "from"),
        ("/v1/executions?to=2026-99-99", "to"),
        ("/v1/executions?sort=created_at", "sort"),
        ("/v1/executions/not-a-uuid", "execution_id"),
        ("/v1/status?verbose=1", "verbose"),
    ] {
        let answer = market.get_as(&key, path).await;
        answer.assert_error(400, "invalid_request");
        assert!(answer.message().contains(&format!("`{named}`")), "{path}: {}", answer.message());
    }
}

#[tokio::test]
async fn reads_carry_the_indexed_slot_and_every_answer_a_request_id() {
    let market = Market::open().await;
    mirror::apply_changes(market.database.pool(), &mirror::Batch::default(), 4_711).await.expect("applied");
    for path in ["/v1/agents", "/v1/agents/abc", "/v1/executions", "/v1/status"] {
        let answer = market.get(path).await;
        assert_eq!(answer.headers["x-indexed-slot"], "4711", "{path}");
        assert!(answer.headers.contains_key("x-request-id"), "{path}");
    }
    assert!(market.get("/nowhere").await.headers.contains_key("x-request-id"));
}

#[tokio::test]
async fn unknown_paths_and_methods_get_the_error_body() {
    let market = Market::open().await;
    market.get("/v2/agents").await.assert_error(404, "not_found");
    let request = Request::delete("/v1/agents").body(Body::empty()).expect("request");
    market.send(request).await.assert_error(405, "method_not_allowed");
}

#[tokio::test]
async fn the_status_shows_what_the_mirror_has() {
    let market = market_of_agents().await;
    let body = market.get("/v1/status").await.body;
    assert_eq!((&body["status"], &body["indexed_slot"]), (&json!("starting"), &json!(null)));
    assert_eq!((&body["counts"]["agents"], &body["quarantined"]), (&json!(4), &json!(0)));
    assert_eq!(body["fee_payer"], json!(null), "no gateway has looked at it");
}

#[tokio::test]
async fn the_status_shows_what_the_fee_payer_has_left() {
    let market = Market::open().await;
    let pool = market.database.pool();
    let other = FeePayer {
        address: wallet(8),
        lamports: 1,
        state: FeePayerState::Empty,
        calls_left: 0,
        compute_unit_price: 0,
        treasury_problem: None,
    };
    fee_payers::store(pool, &other).await.expect("database");
    for (lamports, state, calls_left) in [(90, FeePayerState::Ok, 9), (20, FeePayerState::Low, 2)] {
        let payer = FeePayer {
            address: wallet(9),
            lamports,
            state,
            calls_left,
            compute_unit_price: 1_234,
            treasury_problem: None,
        };
        fee_payers::store(pool, &payer).await.expect("database");
    }
    let body = market.get("/v1/status").await.body;
    let payer = &body["fee_payer"];
    assert_eq!((&payer["address"], &payer["state"]), (&json!(wallet(9).to_string()), &json!("low")));
    assert_eq!((&payer["lamports"], &payer["calls_left"]), (&json!(20), &json!(2)));
    assert_eq!(payer["compute_unit_price"], 1_234);
    assert!(payer["at"].is_string(), "{payer}");
}

#[test]
fn the_description_names_every_endpoint_and_resolves_every_reference() {
    let openapi = serde_json::to_value(crtx_api::openapi()).expect("json");
    for path in ["/v1/agents", "/v1/agents/{agent_id}", "/v1/executions", "/v1/executions/{execution_id}", "/v1/status"]
    {
        assert!(openapi["paths"][path]["get"].is_object(), "{path}");
    }
    assert!(openapi["openapi"].as_str().expect("a version").starts_with("3.1"));
    let parameters: Vec<_> = openapi["paths"]["/v1/agents"]["get"]["parameters"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|parameter| parameter["name"].as_str().expect("a name").to_owned())
        .collect();
    assert_eq!(
        parameters,
        [
            "limit",
            "offset",
            "cursor",
            "q",
            "tags",
            "creator",
            "min_success_rate",
            "min_executions",
            "max_price",
            "verified_only",
            "sort"
        ]
    );
    let text = openapi.to_string();
    for reference in text.split("\"#/components/schemas/").skip(1) {
        let name = reference.split('"').next().expect("a name");
        assert!(openapi["components"]["schemas"][name].is_object(), "{name}");
    }
}

/// Query strings with the parameters that exist, values that may be anything.
fn query() -> impl Strategy<Value = String> {
    let name = prop_oneof![
        Just("limit"),
        Just("offset"),
        Just("tags"),
        Just("min_success_rate"),
        Just("min_executions"),
        Just("verified_only"),
        Just("sort"),
        Just("status"),
        Just("agent_id"),
        Just("from"),
        Just("to"),
    ];
    let value = prop_oneof![
        "[0-9]{1,25}",
        "[-+.eE0-9]{0,12}",
        "[a-z_,]{0,40}",
        "%[0-9a-fA-F]{2}",
        "(%[0-9a-fA-F]{2}){0,8}",
        "[!-~&&[^#\"<>\\\\^`{|}]]{0,40}",
        "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{0,8}(Z|%2B[0-9]{2}:00)?",
    ];
    prop::collection::vec((name.prop_map(str::to_owned), value), 0..4)
        .prop_map(|pairs| pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&"))
}

#[test]
fn whatever_is_asked_no_read_endpoint_breaks() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let (market, key) = runtime.block_on(async {
        let market = market_of_agents().await;
        let key = market.key_of(wallet(2)).await;
        (market, key)
    });
    let segment =
        prop_oneof!["[!-~&&[^#?/\"<>\\\\^`{|}]]{1,60}", "(%[0-9a-fA-F]{2}){1,20}", "[1-9A-HJ-NP-Za-km-z]{32,44}"];
    let path = prop_oneof![
        Just("/v1/agents".to_owned()),
        Just("/v1/executions".to_owned()),
        segment.clone().prop_map(|id| format!("/v1/agents/{id}")),
        segment.prop_map(|id| format!("/v1/executions/{id}")),
    ];
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(400));
    let asked = runner.run(&(path, query()), |(path, query)| {
        let Ok(request) = Request::get(format!("{path}?{query}"))
            .header("authorization", format!("Bearer {}", key.reveal()))
            .body(Body::empty())
        else {
            return Ok(());
        };
        let answer = runtime.block_on(market.send(request));
        prop_assert!(answer.status < 500, "{path}?{query}: {}", answer.body);
        if answer.status >= 400 {
            prop_assert!(answer.body["error"]["code"].is_string());
        }
        Ok(())
    });
    asked.expect("no answer is a fault");
}
