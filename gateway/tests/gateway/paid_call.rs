//! Paid calls over HTTP: answers, payments and stored data.

use crate::support::{HOLDING, Market, PRICE};
use agent_marketplace::state::{AgentListed, AgentStatus, ExecutionStatus, FailureReason};
use axum::{body::Body, http::Request};
use crtx_chain::token::TokenAccount;
use crtx_protocol::{
    api_key::{ApiKey, KeyNetwork},
    call_text::OpeningId,
    content::cid_of,
    result_hash::{CallProof, ResultHash},
};
use crtx_store::{api_keys, executions::State, reads::ShownStatus as Shown, testing::single};
use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, TestRunner},
};
use serde_json::{Value, json};

fn task() -> Value {
    json!({"task": "it"})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_paid_once_and_its_answer_has_every_specified_field() {
    let market = Market::start().await;
    let answer = market.execute(&task()).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let hash = ResultHash::of(b"did it");
    for (field, expected) in [
        ("status", json!("completed")),
        ("result", json!("did it")),
        ("result_hash", json!(hash.to_string())),
        ("cost_usdc", json!(0.05)),
        ("tokens_used", json!(3)),
        ("ipfs_url", json!(format!("http://127.0.0.1:8080/ipfs/{}", cid_of(&hash)))),
    ] {
        assert_eq!(answer.body[field], expected, "{field}");
    }
    assert!(answer.body["execution_time_ms"].is_u64() && answer.body.get("steps").is_none(), "{answer:?}");
    let timing = answer.headers["server-timing"].to_str().unwrap();
    assert!(["gateway;dur=", "creator;dur=", "chain;dur="].iter().all(|part| timing.contains(part)), "{timing}");

    let id = answer.execution_id();
    let record = market.record(id).expect("on chain");
    assert_eq!((record.status(), record.result_hash), (Some(ExecutionStatus::Completed), hash.0));
    assert_eq!(market.usdc().amount, HOLDING - PRICE);
    let row = market.row(id).await;
    assert_eq!(row.state, State::Completed);
    let key =
        crtx_store::testing::single::api_key(market.database.pool(), &market.session_key()).await.unwrap().unwrap();
    assert_eq!((key.execution_count, key.spent.0), (1, PRICE));
    assert!(!key.is_use_due);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_and_transactions_are_counted_by_how_they_ended() {
    let market = Market::start().await;
    assert_eq!(market.execute(&task()).await.status, 200);
    let text = market.figures();
    for line in [
        "calls_total{outcome=\"completed\",code=\"\"} 1",
        "transactions_total{outcome=\"confirmed\"} 2",
        "call_wait_seconds_count{part=\"chain\"} 1",
        "call_wait_seconds_count{part=\"creator\"} 1",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
    assert_eq!(market.behave("fail").await.code(), "execution_failed");
    let text = market.figures();
    let line = "calls_total{outcome=\"failed\",code=\"execution_failed\"} 1";
    assert!(text.lines().any(|found| found == line), "{line}: {text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_execution_is_shown_as_the_answer_of_its_call_says_before_it_is_mirrored() {
    let market = Market::start().await;
    let answer = market.execute(&task()).await;
    let shown = single::execution(market.database.pool(), &market.wallet, &answer.execution_id()).await.unwrap();
    let shown = shown.expect("known");
    assert_eq!(shown.status, Shown::Completed);
    assert_eq!(shown.result.as_deref(), Some("did it"));
}

#[tokio::test(flavor = "multi_thread")]
async fn content_is_served_by_its_hash_as_immutable_and_never_as_a_page_that_runs() {
    let market = Market::start().await;
    market.execute(&task()).await;
    let cid = cid_of(&ResultHash::of(b"did it"));
    let get = |path: String, tag: Option<String>| {
        let mut request = Request::builder().uri(path);
        if let Some(tag) = tag {
            request = request.header("if-none-match", tag);
        }
        market.send(request.body(Body::empty()).unwrap())
    };
    let answer = get(format!("/ipfs/{cid}"), None).await;
    assert_eq!((answer.status, &answer.body), (200, &json!("did it")));
    assert_eq!(answer.headers["cache-control"], "public, max-age=31536000, immutable");
    assert_eq!(answer.headers["content-type"], "text/plain; charset=utf-8");
    assert_eq!(answer.headers["x-content-type-options"], "nosniff");
    let again = get(format!("/ipfs/{cid}"), Some(format!("\"{cid}\""))).await;
    assert_eq!(again.status, 304);
    let unknown = get(format!("/ipfs/{}", cid_of(&ResultHash::of(b"else"))), None).await;
    assert_eq!((unknown.status, unknown.code()), (404, "not_found"));
    let malformed = get("/ipfs/..%2f..%2fetc%2fpasswd".to_owned(), None).await;
    assert_eq!((malformed.status, malformed.code()), (400, "invalid_request"));
    let head = Request::builder().method("HEAD").uri(format!("/ipfs/{cid}")).body(Body::empty()).unwrap();
    assert_eq!(market.send(head).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_asynchronous_call_is_answered_once_its_escrow_is_confirmed_and_continues() {
    let market = Market::start().await;
    let body = json!({"task": "it", "parameters": {"delay_ms": 500}, "async": true});
    let answer = market.execute_once("a", &body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let id = answer.execution_id();
    assert_eq!(answer.body, json!({"execution_id": id, "status": "pending"}));
    assert_eq!(market.usdc().amount, HOLDING - PRICE, "the escrow is confirmed");
    let again = market.execute_once("a", &body).await;
    assert_eq!((again.status, &again.body), (200, &answer.body), "a retry while the call runs gets the same answer");
    for _ in 0..100 {
        if market.row(id).await.state == State::Completed {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!(market.row(id).await.state, State::Completed);
    let again = market.execute_once("a", &body).await;
    assert_eq!((again.status, again.body), (200, answer.body), "a retry afterwards gets the same answer");
    assert_eq!(market.creator_calls(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_bad_behaviour_is_refunded_on_chain_before_the_answer() {
    for (behaviour, status, code, reason, named, proved) in [
        ("fail", 500, "execution_failed", FailureReason::CreatorFailed, "out of ideas", true),
        ("fail unsigned", 500, "execution_failed", FailureReason::CreatorFailed, "out of ideas", false),
        (
            "fail signed for another opening",
            500,
            "execution_failed",
            FailureReason::CreatorFailed,
            "out of ideas",
            false,
        ),
        ("slow", 408, "execution_timeout", FailureReason::Timeout, "1 seconds", true),
        ("bad_signature", 500, "execution_failed", FailureReason::InvalidResponse, "signature", false),
        ("wrong_hash", 500, "execution_failed", FailureReason::InvalidResponse, "SHA-256", false),
        ("wrong_execution_id", 500, "execution_failed", FailureReason::InvalidResponse, "execution_id", false),
        ("oversize", 500, "execution_failed", FailureReason::InvalidResponse, "larger", false),
        ("not_json", 500, "execution_failed", FailureReason::InvalidResponse, "JSON", false),
        ("too_many_tokens", 500, "execution_failed", FailureReason::InvalidResponse, "0 to 1000000000", false),
        ("panic", 500, "execution_failed", FailureReason::InvalidResponse, "connection", false),
    ] {
        let market = Market::start().await;
        let answer = market.behave(behaviour).await;
        assert_eq!(market.usdc().amount, HOLDING, "{behaviour}: the whole price is refunded");
        assert_eq!((answer.status, answer.code()), (status, code), "{behaviour}: {answer:?}");
        assert!(answer.message().contains(named), "{behaviour}: {answer:?}");
        assert!(answer.message().contains("refunded"), "{behaviour}: {answer:?}");
        let id = answer.execution_id();
        let record = market.record(id).expect("on chain");
        assert_eq!((record.status(), record.failure_reason()), (Some(ExecutionStatus::Failed), Some(reason)));
        let listing = market.listing();
        let counted = (listing.failed_executions, listing.unproved_failures, listing.expired_executions);
        assert_eq!(counted, (u64::from(proved), u64::from(!proved), 0), "{behaviour}");
        assert_eq!(record.record.agents_failure, u8::from(proved), "{behaviour}");
        assert_eq!(market.grant().spent, 0, "{behaviour}: the grant gets it back");
        assert_eq!(market.row(id).await.state, State::Failed);
        let shown = single::execution(market.database.pool(), &market.wallet, &id).await.unwrap().expect("known");
        assert_eq!((shown.status, shown.cost_usdc.0), (Shown::Failed, 0));
        let key =
            crtx_store::testing::single::api_key(market.database.pool(), &market.session_key()).await.unwrap().unwrap();
        assert_eq!((key.execution_count, key.spent.0), (1, 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_is_signed_for_its_call_is_settled_with_the_signature_for_the_call() {
    let market = Market::start().await;
    market.bind();
    let answer = market.execute(&task()).await;
    assert_eq!((answer.status, &answer.body["result"]), (200, &json!("did it")), "{answer:?}");
    let id = answer.execution_id();
    let record = market.record(id).expect("on chain");
    assert_eq!((record.status(), record.binding), (Some(ExecutionStatus::Completed), 1));
    let delivered = market.row(id).await.delivered.expect("stored");
    let (key, hash) = (market.listing().result_key.to_bytes(), ResultHash(delivered.hash));
    let proof = CallProof { signature: delivered.signature, call_signature: delivered.call_signature };
    let opening = OpeningId { record: market.record_address(id).to_bytes(), opened_at_unix_s: record.opened_at_unix_s };
    assert_eq!(proof.verify(&key, &hash, Some(&opening)), Ok(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bound_call_is_refunded_without_showing_a_result_that_is_not_signed_for_it() {
    for (behaviour, named) in [
        ("no_call_signature", "call_signature is missing"),
        ("old_signature", "call_signature is not one"),
        ("other_call", "call_signature is not one"),
        ("other_opening", "call_signature is not one"),
        ("bad_signature", "the signature is not one"),
    ] {
        let market = Market::start().await;
        market.bind();
        let answer = market.behave(behaviour).await;
        assert_eq!((answer.status, answer.code()), (500, "execution_failed"), "{behaviour}: {answer:?}");
        assert!(answer.message().contains(named), "{behaviour}: {answer:?}");
        assert!(!answer.body.to_string().contains("did t"), "{behaviour}: {answer:?}");
        let id = answer.execution_id();
        assert_eq!(market.row(id).await.delivered, None, "{behaviour}");
        assert_eq!(market.record(id).unwrap().failure_reason(), Some(FailureReason::InvalidResponse), "{behaviour}");
        assert_eq!(market.usdc().amount, HOLDING, "{behaviour}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unbound_call_does_not_need_a_signature_for_the_call_and_does_not_keep_one() {
    for behaviour in ["ok", "no_call_signature", "old_signature", "other_call"] {
        let market = Market::start().await;
        let answer = market.behave(behaviour).await;
        assert_eq!((answer.status, &answer.body["result"]), (200, &json!("did t")), "{behaviour}: {answer:?}");
        let delivered = market.row(answer.execution_id()).await.delivered.expect("stored");
        assert_eq!(delivered.call_signature, None, "{behaviour}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creator_and_an_agent_below_the_minimum_price_are_refused_before_money_moves() {
    let market = Market::start().await;
    let listing = market.listing();
    market.set_listing(AgentListed { creator: market.wallet, ..listing });
    let answer = market.execute(&task()).await;
    assert_eq!((answer.status, answer.code()), (403, "forbidden"), "{answer:?}");
    assert!(answer.message().contains("its own agent"), "{answer:?}");
    market.set_listing(AgentListed { price: 9_999, ..listing });
    let answer = market.execute(&task()).await;
    assert_eq!((answer.status, answer.code()), (503, "unavailable"), "{answer:?}");
    assert!(answer.message().contains("minimum of 0.01 USDC"), "{answer:?}");
    assert!(market.node.script().sent.is_empty(), "no transaction was sent");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_replays_the_answer_and_never_pays_twice() {
    let market = Market::start().await;
    for (key, body, status) in
        [("good", task(), 200), ("bad", json!({"task": "t", "parameters": {"behaviour": "fail"}}), 500)]
    {
        let first = market.execute_once(key, &body).await;
        assert_eq!((first.status, first.execution_id()), (status, market.id_of(key)), "{first:?}");
        let (calls, held) = (market.creator_calls(), market.usdc().amount);
        let again = market.execute_once(key, &body).await;
        assert_eq!((again.status, &again.body), (first.status, &first.body));
        assert_eq!((market.creator_calls(), market.usdc().amount), (calls, held));
        let other = market.execute_once(key, &json!({"task": "another"})).await;
        assert_eq!((other.status, other.code()), (409, "conflict"), "{other:?}");
        assert_eq!(other.execution_id(), first.execution_id());
    }
    assert_eq!(market.usdc().amount, HOLDING - PRICE);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_needs_neither_money_nor_an_active_agent() {
    let market = Market::start().await;
    let first = market.execute_once("k", &task()).await;
    market.set_usdc(TokenAccount { amount: 0, ..market.usdc() });
    market.set(market.agent, &{
        let mut listing = market.listing();
        listing.status = AgentStatus::Paused as u8;
        listing
    });
    let again = market.execute_once("k", &task()).await;
    assert_eq!((again.status, again.body), (200, first.body));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_retries_at_once_open_one_execution() {
    let market = Market::start().await;
    let body = json!({"task": "it", "parameters": {"delay_ms": 300}});
    let (a, b) = tokio::join!(market.execute_once("k", &body), market.execute_once("k", &body));
    let (done, refused) = if a.status == 200 { (a, b) } else { (b, a) };
    assert_eq!(done.status, 200, "{done:?}");
    assert_eq!((refused.status, refused.code()), (409, "conflict"), "{refused:?}");
    assert_eq!(refused.headers["retry-after"], "1");
    assert_eq!((market.creator_calls(), market.usdc().amount), (1, HOLDING - PRICE));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_refusal_happens_before_money_moves() {
    let market = Market::start().await;
    let refused = async |status: u16, code: &str, named: &str| {
        let answer = market.execute(&task()).await;
        assert_eq!((answer.status, answer.code()), (status, code), "{answer:?}");
        assert!(answer.message().contains(named), "{answer:?}");
        assert!(answer.body["error"]["execution_id"].is_null(), "{answer:?}");
    };
    let (listing, grant, usdc) = (market.listing(), market.grant(), market.usdc());

    market.set_usdc(TokenAccount { amount: PRICE - 1, ..usdc });
    refused(402, "insufficient_balance", "holds 0.049999 USDC and 0.05 USDC is required").await;
    market.set_usdc(TokenAccount { delegate: None, ..usdc });
    refused(402, "insufficient_balance", "approval").await;
    market.set_usdc(usdc);

    market.set_grant(&{
        let mut changed = grant;
        changed.per_call_cap = PRICE - 1;
        changed
    });
    refused(403, "forbidden", "per call").await;
    market.set_grant(&{
        let mut changed = grant;
        changed.revoked = 1;
        changed
    });
    refused(401, "unauthorized", "revoked").await;
    market.set_grant(&grant);

    market.set(market.agent, &{
        let mut changed = listing;
        changed.status = AgentStatus::Paused as u8;
        changed
    });
    refused(422, "agent_paused", "paused").await;
    market.set(market.agent, &{
        let mut changed = listing;
        changed.status = AgentStatus::Delisted as u8;
        changed
    });
    refused(404, "agent_not_found", "").await;
    market.set(market.agent, &{
        let mut changed = listing;
        changed.metadata_hash = [2; 32];
        changed
    });
    refused(404, "agent_not_found", "").await;
    market.node.script().accounts.remove(&market.agent);
    refused(404, "agent_not_found", "").await;
    market.node.script().out_of_order = true;
    refused(503, "unavailable", "try again").await;

    assert_eq!(market.creator_calls(), 0);
    assert!(market.node.script().sent.is_empty(), "no transaction was sent");
}

#[tokio::test(flavor = "multi_thread")]
async fn parameters_are_checked_against_the_schema_and_the_path_is_named() {
    let market = Market::start().await;
    let answer = market.execute(&json!({"task": "t", "parameters": {"behaviour": 5}})).await;
    assert_eq!((answer.status, answer.code()), (400, "invalid_request"), "{answer:?}");
    assert!(answer.message().contains("parameters/behaviour"), "{answer:?}");
    let large = market.execute(&json!({"task": "x".repeat(2 << 20)})).await;
    assert_eq!((large.status, large.code()), (413, "payload_too_large"));
    assert!(large.message().contains("1048576"), "{large:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_is_json_without_duplicate_members() {
    let market = Market::start().await;
    let send = async |content_type: Option<&str>, body: &str| {
        let mut request = Request::builder().method("POST").uri(format!("/v1/agents/{}/execute", market.agent));
        request = request.header("authorization", format!("Bearer {}", market.key.reveal()));
        if let Some(content_type) = content_type {
            request = request.header("content-type", content_type);
        }
        market.send(request.body(Body::from(body.to_owned())).unwrap()).await
    };
    let good = task().to_string();
    for content_type in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""] {
        let answer = send(Some(content_type), &good).await;
        assert_eq!((answer.status, answer.code()), (415, "unsupported_media_type"), "{content_type}");
    }
    for (body, named) in [
        (r#"{"task":"t","task":"u"}"#, "`task`"),
        (r#"{"task":"t","parameters":{"a":{"b":[{"c":1,"\u0063":2}]}}}"#, "`parameters/a/b/0/c`"),
    ] {
        let answer = send(Some("application/json"), body).await;
        assert_eq!((answer.status, answer.code()), (400, "invalid_request"), "{body}");
        assert!(answer.message().contains(named), "{answer:?}");
    }
    assert!(market.node.script().sent.is_empty(), "no transaction was sent");
    assert_eq!(send(None, &good).await.status, 200, "without a content type the body is read as JSON");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_known_key_of_this_network_is_accepted() {
    let market = Market::start().await;
    let ask = async |authorization: Option<String>| {
        let mut request = Request::builder().method("POST").uri(format!("/v1/agents/{}/execute", market.agent));
        if let Some(value) = authorization {
            request = request.header("authorization", value);
        }
        let answer = market.send(request.body(Body::from(task().to_string())).unwrap()).await;
        assert_eq!((answer.status, answer.code()), (401, "unauthorized"), "{answer:?}");
    };
    ask(None).await;
    ask(Some("Bearer nonsense".to_owned())).await;
    ask(Some(format!("Bearer {}", ApiKey::from_secret(KeyNetwork::Test, [99; 32]).reveal()))).await;
    ask(Some(format!("Bearer {}", ApiKey::from_secret(KeyNetwork::Live, [13; 32]).reveal()))).await;
    assert_eq!(market.execute(&task()).await.status, 200, "the gateway knows the key from now on");
    api_keys::revoke(market.database.pool(), &market.wallet, &market.session_key()).await.unwrap();
    ask(Some(format!("Bearer {}", market.key.reveal()))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn random_bodies_get_a_specified_answer_and_harm_nothing() {
    let market = Market::start().await;
    let mut runner = TestRunner::new(Config::default());
    let bodies = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..200),
        any::<String>().prop_map(String::into_bytes),
        ".{0,40}".prop_map(|text| json!({"task": text, "parameters": {"behaviour": text, "\u{0}": text}})
            .to_string()
            .into_bytes()),
        (any::<f64>(), any::<i64>())
            .prop_map(|(a, b)| json!({"task": "t", "parameters": {"a": a, "b": [b, {}]}}).to_string().into_bytes()),
        r#"\{"task":"[a-z]{0,3}","(parameters|async|x)":[0-9\[\]{}tn]{0,6}\}"#.prop_map(String::into_bytes),
    ];
    for _ in 0..60 {
        let body = bodies.new_tree(&mut runner).unwrap().current();
        let shown = String::from_utf8_lossy(&body).into_owned();
        let answer = market.execute_with(&[], body).await;
        assert!(matches!(answer.status, 200 | 400), "{shown}: {answer:?}");
        if answer.status == 400 {
            assert_eq!(answer.code(), "invalid_request", "{shown}");
        }
    }
    assert_eq!(market.execute(&task()).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_differs_from_the_configuration_on_chain_fails_its_check() {
    let market = Market::start().await;
    market.gateway.check().await.expect("the right set-up");
    let mut other = market.config.clone();
    let keypair = |seed| std::sync::Arc::new(solana_keypair::Keypair::new_from_array([seed; 32]));
    other.keypair = crtx_gateway::GatewayKeys::new(keypair(77), None);
    let other = crtx_gateway::Gateway::new(other, market.database.pool().clone()).unwrap();
    assert!(other.check().await.expect_err("another key").to_string().contains("as gateway"));
    let mut replaced = market.config.clone();
    replaced.keypair = crtx_gateway::GatewayKeys::new(keypair(77), Some(keypair(14)));
    let replaced = crtx_gateway::Gateway::new(replaced, market.database.pool().clone()).unwrap();
    replaced.check().await.expect("one of its two key pairs is the right one");
    assert_eq!(replaced.authority(), market.gateway.authority());
    let mut other = market.config.clone();
    other.usdc_mint = market.wallet;
    let other = crtx_gateway::Gateway::new(other, market.database.pool().clone()).unwrap();
    assert!(other.check().await.expect_err("another mint").to_string().contains("mint"));
}

#[test]
fn the_description_names_both_endpoints_and_how_keys_are_sent() {
    let description = crtx_http::docs::completed(crtx_gateway::api::openapi());
    let description = serde_json::to_value(description).unwrap();
    let execute = &description["paths"]["/v1/agents/{agent_id}/execute"]["post"];
    for status in ["200", "202", "400", "401", "402", "403", "404", "408", "409", "422", "500", "503"] {
        assert!(execute["responses"][status].is_object(), "{status}");
    }
    assert_eq!(execute["security"], json!([{"api_key": []}]));
    assert!(description["paths"]["/ipfs/{cid}"]["get"].is_object());
    let body = &description["components"]["schemas"]["ExecuteBody"];
    assert_eq!(body["required"], json!(["task"]));
    assert!(body["properties"]["async"].is_object(), "{body}");
}
