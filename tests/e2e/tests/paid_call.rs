//! The paid call on the real parts: Surfpool, PostgreSQL, HTTP. One marketplace serves all tests of this
//! file, which run one after the other because they compare balances.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests"
)]

mod rust_library;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use crtx_e2e::{
    Up,
    market::{Answer, Balances, Market},
};
use crtx_protocol::{content::cid_of, fee, result_hash::ResultHash};
use libtest_mimic::{Arguments, Trial};
use reqwest::Method;
use rust_library::{
    a_buyer_and_a_seller_in_rust_pay_once_for_a_result_that_passes_every_check,
    a_wallet_without_a_key_pays_once_by_itself, each_of_100_random_tamperings_is_refused_with_the_name_of_the_check,
};
use serde_json::{Value, json};

fn main() {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    let runtime = Arc::new(tokio::runtime::Runtime::new().expect("a runtime"));
    if arguments.list {
        libtest_mimic::run(&arguments, trials(None, &runtime)).exit();
    }
    let folder = crtx_e2e::folder();
    let mut up = runtime.block_on(Up::start(folder.path(), &[])).expect("crtx up");
    let market = Arc::new(Market::new(up.info().clone()));
    let conclusion = libtest_mimic::run(&arguments, trials(Some(market), &runtime));
    let stopped = runtime.block_on(up.stop());
    if let Err(error) = stopped {
        eprintln!("crtx up did not stop cleanly: {error:#}");
        std::process::exit(101);
    }
    conclusion.exit();
}

/// One trial for each named async function.
macro_rules! trials {
    ($($name:ident),+ $(,)?) => {
        fn trials(market: Option<Arc<Market>>, runtime: &Arc<tokio::runtime::Runtime>) -> Vec<Trial> {
            vec![$({
                let (market, runtime) = (market.clone(), Arc::clone(runtime));
                Trial::test(stringify!($name), move || {
                    let market = market.ok_or("not started")?;
                    // A failed assertion must not take the other trials with it.
                    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| runtime.block_on($name(&market))))
                        .map_err(|_| "an assertion failed, see above".into())
                })
            }),+]
        }
    };
}

trials! {
    a_synchronous_call_delivers_a_verified_result_and_pays_to_the_base_unit,
    the_content_lies_under_its_hash_and_the_record_repeats_the_answer,
    crtx_verify_confirms_the_call_from_the_chain_and_the_content,
    crtx_verify_refuses_a_record_that_was_altered,
    an_asynchronous_call_goes_through_pending_and_running_to_completed,
    a_well_behaved_conformance_call_completes,
    a_creator_that_reports_failure_is_not_paid,
    a_creator_that_answers_too_late_is_not_paid,
    a_bad_signature_is_not_paid,
    a_wrong_hash_is_not_paid,
    a_wrong_execution_id_is_not_paid,
    a_result_that_is_not_signed_for_its_call_is_not_paid,
    a_result_that_is_signed_for_another_call_is_not_paid,
    an_oversized_answer_is_not_paid,
    an_answer_that_is_not_json_is_not_paid,
    a_dropped_connection_is_not_paid,
    an_error_for_a_wallet_without_usdc_names_what_it_holds_and_what_is_required,
    an_unknown_agent_is_not_found,
    a_malformed_request_names_what_is_wrong_and_creates_nothing,
    parameters_outside_the_schema_are_refused_before_money_moves,
    a_missing_malformed_or_unknown_key_is_unauthorized,
    the_same_idempotency_key_pays_once_and_replays_the_answer,
    the_same_idempotency_key_with_another_body_is_a_conflict,
    nobody_sees_the_executions_of_another_wallet,
    executions_are_filtered_by_status_agent_and_time,
    agents_are_listed_in_their_summary_form,
    one_agent_is_shown_in_its_full_form,
    every_error_has_the_specified_body_and_every_answer_a_request_id,
    a_wallet_without_a_key_pays_once_by_itself,
    each_of_100_random_tamperings_is_refused_with_the_name_of_the_check,
    a_buyer_and_a_seller_in_rust_pay_once_for_a_result_that_passes_every_check,
}

fn text_stats_body() -> Value {
    json!({"task": "One two three. Two three three!", "parameters": {"top_words": 2}})
}

async fn paid_call(market: &Market) -> Answer {
    let answer = market.execute(&market.agent("text-stats"), &text_stats_body()).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer
}

async fn record_of(market: &Market, execution_id: &str) -> Value {
    let answer = market.get_as_owner(&format!("/v1/executions/{execution_id}")).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body
}

async fn a_synchronous_call_delivers_a_verified_result_and_pays_to_the_base_unit(market: &Market) {
    let before = market.balances().await;
    let answer = paid_call(market).await;
    let price = market.price("text-stats");
    let parts = fee::split(price, 100).expect("a fee");
    assert_eq!(
        market.balances().await,
        Balances {
            caller: before.caller - price,
            creator: before.creator + parts.creator,
            treasury: before.treasury + parts.platform,
        }
    );
    assert_eq!(parts.creator + parts.platform, price);
    assert_eq!(answer.text("status"), "completed");
    assert_eq!(answer.text("result_hash"), ResultHash::of(answer.text("result").as_bytes()).to_string());
    assert!(answer.body["execution_time_ms"].is_u64(), "{answer:?}");
    assert!(answer.text("on_chain_record").starts_with("http"), "{answer:?}");
    let counted: Value = serde_json::from_str(answer.text("result")).expect("text-stats answers JSON in a string");
    assert_eq!(counted["words"], 6, "{counted}");
    assert_eq!(counted["sentences"], 2, "{counted}");
}

async fn the_content_lies_under_its_hash_and_the_record_repeats_the_answer(market: &Market) {
    let answer = paid_call(market).await;
    let record = record_of(market, answer.text("execution_id")).await;
    for field in [
        "execution_id",
        "status",
        "result",
        "result_hash",
        "cost_usdc",
        "execution_time_ms",
        "on_chain_record",
        "ipfs_url",
    ] {
        assert_eq!(record[field], answer.body[field], "{field}");
    }
    assert_eq!(record["agent_name"], "text-stats");
    assert_eq!(record["agent_id"], market.agent("text-stats"));
    assert_eq!(
        record["creator_amount_usdc"].as_f64().unwrap() + record["platform_amount_usdc"].as_f64().unwrap(),
        record["cost_usdc"].as_f64().unwrap()
    );
    for time in ["initiated_at", "completed_at"] {
        let text = record[time].as_str().unwrap_or_else(|| panic!("{time}: {record}"));
        assert!(text.contains('T') && text.ends_with('Z'), "{time} is ISO 8601 in UTC: {text}");
    }
    let url = answer.text("ipfs_url");
    let content = market.bytes(url).await;
    assert_eq!(content, answer.text("result").as_bytes());
    let hash: ResultHash = answer.text("result_hash").parse().expect("a hash");
    assert_eq!(ResultHash::of(&content), hash);
    assert!(url.ends_with(&cid_of(&hash)), "the address of the content is its hash: {url}");
}

async fn crtx_verify_confirms_the_call_from_the_chain_and_the_content(market: &Market) {
    let answer = paid_call(market).await;
    let output = market.crtx(&["verify", answer.text("execution_id")]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.lines().count() >= 6, "one line per check: {text}");
}

async fn crtx_verify_refuses_a_record_that_was_altered(market: &Market) {
    let answer = paid_call(market).await;
    let mut record = record_of(market, answer.text("execution_id")).await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("record.json");
    std::fs::write(&file, record.to_string()).expect("written");
    let good = market.crtx(&["verify", "--file", file.to_str().unwrap()]);
    assert_eq!(
        good.status.code(),
        Some(0),
        "{}{}",
        String::from_utf8_lossy(&good.stdout),
        String::from_utf8_lossy(&good.stderr)
    );

    record["result"] = json!("something else");
    std::fs::write(&file, record.to_string()).expect("written");
    let altered = market.crtx(&["verify", "--file", file.to_str().unwrap()]);
    assert_eq!(altered.status.code(), Some(1), "{}", String::from_utf8_lossy(&altered.stdout));
}

async fn an_asynchronous_call_goes_through_pending_and_running_to_completed(market: &Market) {
    let before = market.balances().await;
    // The target takes a moment over `ok` when asked to, so that the states in between can be seen.
    let body = json!({"task": "conform", "parameters": {"behaviour": "ok", "delay_ms": 1500}, "async": true});
    let answer = market.execute(&market.agent("conformance-target"), &body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.text("status"), "pending");
    let fields: BTreeSet<_> = answer.body.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, BTreeSet::from(["execution_id", "status"]), "the asynchronous answer has two fields");
    let mut seen = vec!["pending".to_owned()];
    for _ in 0..500 {
        let record = record_of(market, answer.text("execution_id")).await;
        let status = record["status"].as_str().expect("a status").to_owned();
        if seen.last() != Some(&status) {
            seen.push(status.clone());
        }
        if status == "completed" || status == "failed" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(seen, ["pending", "running", "completed"]);
    let price = market.price("conformance-target");
    assert_eq!(market.balances().await.caller, before.caller - price);
}

async fn a_well_behaved_conformance_call_completes(market: &Market) {
    let answer = market.behave("ok").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.text("status"), "completed");
}

/// The call ends in the error, every base unit is back before the answer, and the record says `failed`. It counts as a failure
/// of the agent if the agent signed it or let its time pass; otherwise it is one that the gateway alone reports.
async fn refunded(market: &Market, behaviour: &str, status: u16, code: &str) {
    let (before, listing) = (market.balances().await, market.listing("conformance-target").await);
    let spent = market.grant().await.spent;
    let answer = market.behave(behaviour).await;
    assert_eq!(market.balances().await, before, "everything is back when the answer arrives");
    assert_eq!(market.grant().await.spent, spent, "the grant has it back, too");
    let now = market.listing("conformance-target").await;
    let proved = u64::from(matches!(behaviour, "fail" | "slow"));
    assert_eq!(
        (now.failed_executions, now.total_executions, now.unproved_failures, now.expired_executions),
        (
            listing.failed_executions + proved,
            listing.total_executions + proved,
            listing.unproved_failures + 1 - proved,
            listing.expired_executions
        ),
        "{behaviour}"
    );
    assert_eq!(answer.status.as_u16(), status, "{answer:?}");
    assert_eq!(answer.error_code(), code);
    let id =
        answer.body["error"]["execution_id"].as_str().unwrap_or_else(|| panic!("an execution was created: {answer:?}"));
    let record = record_of(market, id).await;
    assert_eq!(record["status"], "failed", "{record}");
    assert_eq!(record["cost_usdc"].as_f64(), Some(0.0), "{record}");
    assert!(record["result"].is_null(), "{record}");
}

async fn a_creator_that_reports_failure_is_not_paid(market: &Market) {
    refunded(market, "fail", 500, "execution_failed").await;
}

async fn a_creator_that_answers_too_late_is_not_paid(market: &Market) {
    refunded(market, "slow", 408, "execution_timeout").await;
}

async fn a_bad_signature_is_not_paid(market: &Market) {
    refunded(market, "bad_signature", 500, "execution_failed").await;
}

async fn a_wrong_hash_is_not_paid(market: &Market) {
    refunded(market, "wrong_hash", 500, "execution_failed").await;
}

async fn a_wrong_execution_id_is_not_paid(market: &Market) {
    refunded(market, "wrong_execution_id", 500, "execution_failed").await;
}

async fn a_result_that_is_not_signed_for_its_call_is_not_paid(market: &Market) {
    refunded(market, "no_call_signature", 500, "execution_failed").await;
}

async fn a_result_that_is_signed_for_another_call_is_not_paid(market: &Market) {
    refunded(market, "other_call_signature", 500, "execution_failed").await;
}

async fn an_oversized_answer_is_not_paid(market: &Market) {
    refunded(market, "oversize", 500, "execution_failed").await;
}

async fn an_answer_that_is_not_json_is_not_paid(market: &Market) {
    refunded(market, "not_json", 500, "execution_failed").await;
}

async fn a_dropped_connection_is_not_paid(market: &Market) {
    refunded(market, "drop", 500, "execution_failed").await;
}

async fn an_error_for_a_wallet_without_usdc_names_what_it_holds_and_what_is_required(market: &Market) {
    let path = format!("/v1/agents/{}/execute", market.agent("text-stats"));
    let answer =
        market.request(Method::POST, &path, Some(&market.info.unfunded_api_key), Some(&text_stats_body())).await;
    assert_eq!((answer.status.as_u16(), answer.error_code()), (402, "insufficient_balance"), "{answer:?}");
    let message = answer.body["error"]["message"].as_str().unwrap();
    let price = crtx_protocol::usdc::UsdcBase(market.price("text-stats")).to_string();
    assert!(message.contains(&price), "the message states the required amount: {message}");
    assert!(message.contains(" 0 ") || message.contains("0 USDC"), "the message states the holding: {message}");
    assert!(answer.body["error"]["execution_id"].is_null(), "{answer:?}");
}

async fn an_unknown_agent_is_not_found(market: &Market) {
    for agent in ["11111111111111111111111111111111", "not-an-address", &market.info.wallet] {
        let answer = market.execute(agent, &text_stats_body()).await;
        assert_eq!((answer.status.as_u16(), answer.error_code()), (404, "agent_not_found"), "{agent}: {answer:?}");
        assert!(answer.body["error"]["execution_id"].is_null(), "{answer:?}");
    }
}

async fn a_malformed_request_names_what_is_wrong_and_creates_nothing(market: &Market) {
    let before = market.balances().await;
    let path = format!("/v1/agents/{}/execute", market.agent("text-stats"));
    for (body, named) in [
        (r#"{"task": "#, ""),
        ("[]", ""),
        ("", ""),
        (r"{}", "task"),
        (r#"{"task": 1}"#, "task"),
        (r#"{"task": null}"#, "task"),
        (r#"{"task": "x", "parameters": []}"#, "parameters"),
        (r#"{"task": "x", "async": "yes"}"#, "async"),
    ] {
        let answer = market.raw(Method::POST, &path, Some(&market.info.api_key), &[], Some(body.into())).await;
        assert_eq!((answer.status.as_u16(), answer.error_code()), (400, "invalid_request"), "{body}: {answer:?}");
        assert!(answer.body["error"]["message"].as_str().unwrap().contains(named), "{body}: {answer:?}");
        assert!(answer.body["error"]["execution_id"].is_null(), "{answer:?}");
    }
    assert_eq!(market.balances().await, before);
}

async fn parameters_outside_the_schema_are_refused_before_money_moves(market: &Market) {
    let before = market.balances().await;
    let answer = market.behave("no such behaviour").await;
    assert_eq!((answer.status.as_u16(), answer.error_code()), (400, "invalid_request"), "{answer:?}");
    assert!(answer.body["error"]["message"].as_str().unwrap().contains("behaviour"), "{answer:?}");
    assert_eq!(market.balances().await, before);
}

async fn a_missing_malformed_or_unknown_key_is_unauthorized(market: &Market) {
    let unknown = crtx_protocol::api_key::ApiKey::generate(crtx_protocol::api_key::KeyNetwork::Test).unwrap().reveal();
    let live = market.info.api_key.replace("crtx_test_", "crtx_live_");
    let path = format!("/v1/agents/{}/execute", market.agent("text-stats"));
    for key in [None, Some(""), Some("nonsense"), Some("crtx_test_"), Some(unknown.as_str()), Some(live.as_str())] {
        for (method, path, body) in [
            (Method::POST, path.as_str(), Some(text_stats_body())),
            (Method::GET, "/v1/executions", None),
            (Method::GET, "/v1/executions/00000000-0000-4000-8000-000000000000", None),
        ] {
            let answer = market.request(method, path, key, body.as_ref()).await;
            assert_eq!(
                (answer.status.as_u16(), answer.error_code()),
                (401, "unauthorized"),
                "{key:?} {path}: {answer:?}"
            );
        }
    }
}

async fn the_same_idempotency_key_pays_once_and_replays_the_answer(market: &Market) {
    let before = market.balances().await;
    let path = format!("/v1/agents/{}/execute", market.agent("text-stats"));
    let key = [("idempotency-key", "order-4711")];
    let body = serde_json::to_vec(&text_stats_body()).unwrap();
    let first = market.raw(Method::POST, &path, Some(&market.info.api_key), &key, Some(body.clone())).await;
    let second = market.raw(Method::POST, &path, Some(&market.info.api_key), &key, Some(body)).await;
    assert_eq!(first.status, 200, "{first:?}");
    assert_eq!((second.status, &second.body), (first.status, &first.body));
    assert_eq!(market.balances().await.caller, before.caller - market.price("text-stats"));
}

async fn the_same_idempotency_key_with_another_body_is_a_conflict(market: &Market) {
    let path = format!("/v1/agents/{}/execute", market.agent("text-stats"));
    let key = [("idempotency-key", "order-4712")];
    let first = json!({"task": "a"}).to_string().into_bytes();
    let other = json!({"task": "b"}).to_string().into_bytes();
    let paid = market.raw(Method::POST, &path, Some(&market.info.api_key), &key, Some(first)).await;
    assert_eq!(paid.status, 200, "{paid:?}");
    let before = market.balances().await;
    let answer = market.raw(Method::POST, &path, Some(&market.info.api_key), &key, Some(other)).await;
    assert_eq!((answer.status.as_u16(), answer.error_code()), (409, "conflict"), "{answer:?}");
    assert_eq!(market.balances().await, before);
}

async fn nobody_sees_the_executions_of_another_wallet(market: &Market) {
    let answer = paid_call(market).await;
    let path = format!("/v1/executions/{}", answer.text("execution_id"));
    let foreign = market.request(Method::GET, &path, Some(&market.info.unfunded_api_key), None).await;
    assert_eq!((foreign.status.as_u16(), foreign.error_code()), (404, "execution_not_found"), "{foreign:?}");
    let list = market.request(Method::GET, "/v1/executions", Some(&market.info.unfunded_api_key), None).await;
    assert_eq!(list.body["total"], 0, "{list:?}");
}

async fn executions_are_filtered_by_status_agent_and_time(market: &Market) {
    let done = paid_call(market).await;
    let failed = market.behave("fail").await;
    let failed = failed.body["error"]["execution_id"].as_str().unwrap().to_owned();
    let ids = |answer: &Answer| -> BTreeSet<String> {
        let list = answer.body["executions"].as_array().unwrap_or_else(|| panic!("a list: {answer:?}"));
        list.iter().map(|execution| execution["execution_id"].as_str().unwrap().to_owned()).collect()
    };
    let all = market.get_as_owner("/v1/executions?limit=100").await;
    assert!(ids(&all).contains(done.text("execution_id")) && ids(&all).contains(&failed));
    let first = &all.body["executions"][0];
    let fields: BTreeSet<_> = first.as_object().unwrap().keys().map(String::as_str).collect();
    let form = [
        "execution_id",
        "agent_id",
        "agent_name",
        "status",
        "cost_usdc",
        "creator_amount_usdc",
        "platform_amount_usdc",
        "initiated_at",
        "completed_at",
        "execution_time_ms",
        "session_public_key",
        "failure",
        "on_chain_record",
    ];
    assert_eq!(fields, BTreeSet::from(form));
    for (filter, finds_done, finds_failed) in [
        ("status=completed".to_owned(), true, false),
        ("status=failed".to_owned(), false, true),
        ("status=disputed".to_owned(), false, false),
        (format!("agent_id={}", market.agent("text-stats")), true, false),
        ("from=2020-01-01T00:00:00Z".to_owned(), true, true),
        ("to=2020-01-01T00:00:00Z".to_owned(), false, false),
    ] {
        let found = ids(&market.get_as_owner(&format!("/v1/executions?limit=100&{filter}")).await);
        assert_eq!(
            (found.contains(done.text("execution_id")), found.contains(&failed)),
            (finds_done, finds_failed),
            "{filter}"
        );
    }
    for bad in ["limit=101", "limit=0", "limit=x", "offset=-1", "status=lost", "from=yesterday", "to=1"] {
        let answer = market.get_as_owner(&format!("/v1/executions?{bad}")).await;
        let name = bad.split('=').next().unwrap();
        assert_eq!((answer.status.as_u16(), answer.error_code()), (400, "invalid_request"), "{bad}: {answer:?}");
        assert!(answer.body["error"]["message"].as_str().unwrap().contains(name), "{bad}: {answer:?}");
    }
}

async fn agents_are_listed_in_their_summary_form(market: &Market) {
    let answer = market.get("/v1/agents").await;
    assert_eq!(
        (&answer.body["total"], &answer.body["limit"], &answer.body["offset"]),
        (&json!(2), &json!(20), &json!(0)),
        "{answer:?}"
    );
    let form = [
        "agent_id",
        "name",
        "tagline",
        "tags",
        "price_per_call_usdc",
        "total_executions",
        "success_rate",
        "avg_execution_time_ms",
        "creator",
        "status",
        "binding",
        "trust_usdc",
    ];
    for agent in answer.body["agents"].as_array().unwrap() {
        let fields: BTreeSet<_> = agent.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(fields, BTreeSet::from(form));
        assert_eq!((&agent["status"], &agent["binding"]), (&json!("active"), &json!(true)));
    }
    let by_price = market.get("/v1/agents?sort=price_asc").await;
    let prices: Vec<f64> = by_price.body["agents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|agent| agent["price_per_call_usdc"].as_f64().unwrap())
        .collect();
    assert!(prices.is_sorted(), "{prices:?}");
    for bad in
        ["limit=101", "sort=best", "min_success_rate=1.5", "min_executions=-1", "verified_only=maybe", "offset=x"]
    {
        let answer = market.get(&format!("/v1/agents?{bad}")).await;
        let name = bad.split('=').next().unwrap();
        assert_eq!((answer.status.as_u16(), answer.error_code()), (400, "invalid_request"), "{bad}: {answer:?}");
        assert!(answer.body["error"]["message"].as_str().unwrap().contains(name), "{bad}: {answer:?}");
    }
}

async fn one_agent_is_shown_in_its_full_form(market: &Market) {
    paid_call(market).await;
    let answer = market.get(&format!("/v1/agents/{}", market.agent("text-stats"))).await;
    for field in [
        "description",
        "input_schema",
        "output_schema",
        "successful_executions",
        "dispute_count",
        "on_chain_listing",
        "created_at",
        "binding",
        "terms_hash",
        "timeout_seconds",
        "failed_executions",
        "expired_executions",
        "platform_fees_usdc",
        "unique_callers",
        "trust_usdc",
    ] {
        assert!(!answer.body[field].is_null(), "{field}: {answer:?}");
    }
    assert!(answer.body["creator"]["display_name"].is_string(), "{answer:?}");
}

async fn every_error_has_the_specified_body_and_every_answer_a_request_id(market: &Market) {
    for (method, path) in [
        (Method::GET, "/nowhere"),
        (Method::GET, "/v1/agents/x/y/z"),
        (Method::DELETE, "/v1/agents"),
        (Method::GET, "/ipfs/not-a-cid"),
        (Method::GET, "/ipfs/bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e"),
    ] {
        let answer = market.request(method.clone(), path, None, None).await;
        assert!(answer.status.is_client_error(), "{method} {path}: {answer:?}");
        answer.error_code();
        assert!(answer.headers.contains_key("x-request-id"), "{method} {path}: {answer:?}");
        assert_eq!(answer.headers["x-should-retry"], "false", "{method} {path}: {answer:?}");
    }
    let good = market.get("/v1/agents").await;
    assert!(good.headers.contains_key("x-request-id") && good.headers.contains_key("x-indexed-slot"), "{good:?}");
}
