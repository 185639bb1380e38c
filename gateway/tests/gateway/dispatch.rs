//! Executions that a wallet opened itself and hands over.

use std::time::Duration;

use crate::support::{Answer, HOLDING, Market, PRICE};
use agent_marketplace::state::{
    AgentListed, AgentStatus, Config, ExecutionRecord, ExecutionStatus, MarketParameters, OpenTerms,
};
use bytemuck::Zeroable;
use crtx_chain::{Execution as OnChain, Layout, testing::OnSend, token::TokenAccount};
use crtx_gateway::{Gateway, Limits};
use crtx_http::session_token::SessionToken;
use crtx_protocol::{request_hash, result_hash::ResultHash};
use crtx_store::{
    admission::{CallLimits, PerSubject},
    executions::State,
    testing::{single, tampering::tamper},
};
use serde_json::{Map, Value, json};
use solana_pubkey::Pubkey;
use uuid::Uuid;

const ID: Uuid = Uuid::from_u128(7);

fn task() -> Value {
    json!({"task": "it"})
}

fn behaviour(behaviour: &str) -> Value {
    json!({"task": "it", "parameters": {"behaviour": behaviour}})
}

fn now() -> i64 {
    i64::try_from(std::time::UNIX_EPOCH.elapsed().expect("after 1970").as_secs()).expect("small")
}

/// Opens an execution for `request` as its wallet, without a gateway: the money is in the escrow.
fn open_as_wallet(market: &Market, id: Uuid, request: &Value) {
    let listing = market.listing();
    let parameters = request["parameters"].as_object().cloned().unwrap_or_else(Map::new);
    let mut record = ExecutionRecord::zeroed();
    record.agent = market.agent;
    record.caller = market.wallet;
    record.rent_payer = market.wallet;
    record.execution_id = *id.as_bytes();
    record.revision = 1;
    record.amount = listing.price;
    record.fee_bps = 100;
    record.max_penalty_multiple = 20;
    record.dispute_window_s = u32::try_from(MarketParameters::DEFAULT.dispute_window_s).unwrap();
    record.binding = listing.binding;
    record.opened_at_unix_s = now();
    record.status = ExecutionStatus::Open as u8;
    let terms = OpenTerms {
        request_hash: request_hash::of(request["task"].as_str().unwrap(), &parameters).unwrap(),
        result_key: listing.result_key,
        grant: Pubkey::default(),
        paid_from: market.instructions.usdc_of(&market.wallet),
        deadline_unix_s: now() + 180,
        timeout_seconds: listing.timeout_seconds,
        reserved: [0; 4],
    };
    market.set_record(id, OnChain { record, terms: Some(terms) });
    let usdc = market.usdc();
    market.set_usdc(TokenAccount { amount: usdc.amount - listing.price, ..usdc });
}

async fn opened(request: &Value) -> (Market, SessionToken) {
    let market = Market::start().await;
    open_as_wallet(&market, ID, request);
    let session = market.session_of(market.wallet).await;
    (market, session)
}

async fn dispatch(market: &Market, session: &SessionToken, body: &Value) -> Answer {
    market.ask_as(session, "POST", &format!("/v1/executions/{ID}/dispatch"), Some(body)).await
}

/// Refused, and neither the creator nor the chain heard of it.
async fn refused(market: &Market, session: &SessionToken, body: &Value, status: u16, code: &str) -> Answer {
    let answer = dispatch(market, session, body).await;
    assert_eq!((answer.status, answer.code()), (status, code), "{answer:?}");
    assert_eq!(market.creator_calls(), 0);
    assert!(market.node.script().sent.is_empty());
    assert!(market.find(ID).await.is_none_or(|row| row.call.session_key.is_some()));
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn an_opening_whose_creator_cannot_be_paid_is_not_taken_over_until_it_can() {
    let (market, session) = opened(&task()).await;
    let creator = market.listing().creator;
    market.set_token_account(market.instructions.usdc_of(&creator), creator, true);
    refused(&market, &session, &task(), 422, "agent_unpayable").await;
    market.set_token_account(market.instructions.usdc_of(&creator), creator, false);
    assert_eq!(dispatch(&market, &session, &task()).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_execution_that_the_wallet_opened_is_delivered_and_settled_like_any_other() {
    let (market, session) = opened(&task()).await;
    let answer = dispatch(&market, &session, &task()).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let hash = ResultHash::of(b"did it");
    for (field, expected) in [
        ("execution_id", json!(ID)),
        ("status", json!("completed")),
        ("result", json!("did it")),
        ("result_hash", json!(hash.to_string())),
        ("cost_usdc", json!(0.05)),
    ] {
        assert_eq!(answer.body[field], expected, "{field}");
    }
    let record = market.record(ID).unwrap();
    assert_eq!((record.status(), record.result_hash), (Some(ExecutionStatus::Completed), hash.0));
    assert_eq!(market.usdc().amount, HOLDING - PRICE, "nothing is charged a second time");
    assert_eq!(market.node.script().sent.len(), 1, "the gateway pays for the settlement alone");
    let shown = single::execution(market.database.pool(), &market.wallet, &ID).await.unwrap().expect("listed");
    assert_eq!((shown.result.as_deref(), shown.cost_usdc.0), (Some("did it"), PRICE));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bound_execution_settles_with_the_signature_for_this_call() {
    let market = Market::start().await;
    market.bind();
    open_as_wallet(&market, ID, &task());
    let session = market.session_of(market.wallet).await;
    assert_eq!(dispatch(&market, &session, &task()).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_key_of_the_record_decides_and_not_the_one_that_the_listing_has_now() {
    let (market, session) = opened(&task()).await;
    market.set_listing(AgentListed { result_key: Pubkey::new_unique(), ..market.listing() });
    assert_eq!(dispatch(&market, &session, &task()).await.status, 200);
    let other = Uuid::from_u128(8);
    open_as_wallet(&market, other, &task());
    let path = format!("/v1/executions/{other}/dispatch");
    let answer = market.ask_as(&session, "POST", &path, Some(&task())).await;
    assert_eq!((answer.status, answer.code()), (500, "execution_failed"), "its record names another key");
    assert_eq!(market.record(other).unwrap().status(), Some(ExecutionStatus::Failed));
}

#[tokio::test(flavor = "multi_thread")]
async fn another_request_than_the_one_that_was_paid_for_is_refused_before_the_creator_hears_of_it() {
    let (market, session) = opened(&task()).await;
    for other in [json!({"task": "else"}), json!({"task": "it", "parameters": {"behaviour": "ok"}})] {
        let answer = refused(&market, &session, &other, 409, "conflict").await;
        assert!(answer.message().contains("not what the execution was opened for"), "{answer:?}");
    }
    assert_eq!(dispatch(&market, &session, &json!({"task": "it", "parameters": {}})).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_wallet_itself_hands_over_and_only_with_a_session() {
    let (market, _) = opened(&task()).await;
    let stranger = market.session_of(Pubkey::new_unique()).await;
    refused(&market, &stranger, &task(), 404, "execution_not_found").await;
    let path = format!("/v1/executions/{ID}/dispatch");
    let bearer = format!("Bearer {}", market.key.reveal());
    for headers in [&[][..], &[("authorization", bearer.as_str())]] {
        let answer = market.ask("POST", &path, headers, Some(&task())).await;
        assert_eq!((answer.status, answer.code()), (401, "unauthorized"), "{answer:?}");
    }
    assert_eq!(market.creator_calls(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_execution_that_is_not_there_or_not_open_is_refused() {
    let market = Market::start().await;
    let session = market.session_of(market.wallet).await;
    let answer = refused(&market, &session, &task(), 404, "execution_not_found").await;
    assert!(answer.headers.contains_key("retry-after"), "the node may be behind");
    open_as_wallet(&market, ID, &task());
    let open = market.record(ID).unwrap();
    for status in [
        ExecutionStatus::Completed,
        ExecutionStatus::Failed,
        ExecutionStatus::Expired,
        ExecutionStatus::Disputed,
        ExecutionStatus::Overturned,
    ] {
        let mut ended = open;
        ended.record.status = status as u8;
        market.set_record(ID, ended);
        refused(&market, &session, &task(), 409, "conflict").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_execution_that_an_api_key_opened_is_not_handed_over() {
    let market = Market::start().await;
    let session = market.session_of(market.wallet).await;
    open_as_wallet(&market, ID, &task());
    let mut with_grant = market.record(ID).unwrap();
    with_grant.terms.as_mut().unwrap().grant =
        market.instructions.addresses.grant(&market.wallet, &market.session_key());
    market.set_record(ID, with_grant);
    refused(&market, &session, &task(), 409, "conflict").await;

    let body = json!({"task": "it", "parameters": {"delay_ms": 400}, "async": true});
    let called = market.execute_once("a", &body).await.execution_id();
    let path = format!("/v1/executions/{called}/dispatch");
    let answer = market.ask_as(&session, "POST", &path, Some(&body)).await;
    assert_eq!((answer.status, answer.code()), (409, "conflict"), "{answer:?}");
    assert!(answer.message().contains("API key"), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_creators_whole_time_before_the_deadline_it_is_refused() {
    let (market, session) = opened(&task()).await;
    for left in [-1, 0, 10, 16] {
        market.set_deadline(ID, now() + left);
        let answer = refused(&market, &session, &task(), 409, "conflict").await;
        assert!(answer.message().contains("before the deadline"), "{answer:?}");
    }
    market.set_deadline(ID, now() + 25);
    assert_eq!(dispatch(&market, &session, &task()).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_cannot_settle_takes_nothing_over() {
    let (market, session) = opened(&task()).await;
    let address = market.instructions.addresses.config();
    let good: Config = Layout::decode(&market.node.script().accounts[&address].data).unwrap();
    market.set(address, &Config { gateway_authority: Pubkey::new_unique(), ..good });
    refused(&market, &session, &task(), 503, "unavailable").await;
    market.set(address, &good);
    market.set_sol(1_000);
    refused(&market, &session, &task(), 503, "unavailable").await;
    market.set_sol(1_000_000_000_000);
    market.set(address, &Config { openings_paused: 1, ..good });
    assert_eq!(dispatch(&market, &session, &task()).await.status, 200, "a pause stops openings alone");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_execution_of_an_agent_that_was_paused_since_is_still_finished() {
    let (market, session) = opened(&task()).await;
    market.set_listing(AgentListed { status: AgentStatus::Paused as u8, ..market.listing() });
    assert_eq!(dispatch(&market, &session, &task()).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_body_or_parameters_that_the_agent_does_not_accept_are_refused_by_name() {
    let bad = json!({"task": "it", "parameters": {"delay_ms": "soon"}});
    let (market, session) = opened(&bad).await;
    let answer = refused(&market, &session, &bad, 400, "invalid_request").await;
    assert!(answer.message().contains("delay_ms"), "{answer:?}");
    for body in [json!({}), json!({"task": ""}), json!({"task": "it", "more": 1}), json!([])] {
        refused(&market, &session, &body, 400, "invalid_request").await;
    }
    let path = format!("/v1/executions/{ID}/dispatch?wait=1");
    assert_eq!(market.ask_as(&session, "POST", &path, Some(&task())).await.status, 400);
    let path = "/v1/executions/not-a-uuid/dispatch";
    assert_eq!(market.ask_as(&session, "POST", path, Some(&task())).await.status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_of_the_creator_is_refunded_to_the_account_that_paid() {
    let (market, session) = opened(&behaviour("fail")).await;
    let answer = dispatch(&market, &session, &behaviour("fail")).await;
    assert_eq!((answer.status, answer.code()), (500, "execution_failed"), "{answer:?}");
    assert_eq!(answer.execution_id(), ID);
    assert_eq!(market.record(ID).unwrap().status(), Some(ExecutionStatus::Failed));
    assert_eq!(market.usdc().amount, HOLDING);
    let again = dispatch(&market, &session, &behaviour("fail")).await;
    assert_eq!((again.status, &again.body), (500, &answer.body), "a repetition gets the same answer");
    assert_eq!(market.creator_calls(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creator_that_is_silent_for_its_whole_time_is_the_failure_of_the_agent() {
    let (market, session) = opened(&behaviour("slow")).await;
    let answer = dispatch(&market, &session, &behaviour("slow")).await;
    assert_eq!((answer.status, answer.code()), (408, "execution_timeout"), "{answer:?}");
    assert_eq!(market.usdc().amount, HOLDING);
    assert_eq!(market.listing().failed_executions, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repetition_gets_the_stored_answer_and_409_while_the_execution_is_worked_on() {
    let body = json!({"task": "it", "parameters": {"delay_ms": 600}});
    let (market, session) = opened(&body).await;
    let first = dispatch(&market, &session, &body);
    let second = async {
        while market.creator_calls() == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        dispatch(&market, &session, &body).await
    };
    let (first, second) = tokio::join!(first, second);
    assert_eq!((second.status, second.code()), (409, "conflict"), "{second:?}");
    assert!(second.headers.contains_key("retry-after"));
    assert_eq!(first.status, 200, "{first:?}");
    let third = dispatch(&market, &session, &body).await;
    assert_eq!((third.status, &third.body), (200, &first.body));
    let other = dispatch(&market, &session, &task()).await;
    assert_eq!((other.status, other.code()), (409, "conflict"), "another request is never answered with this result");
    assert_eq!((market.creator_calls(), market.node.script().sent.len()), (1, 1));
}

/// Makes an execution as old as it has to be before its record can be opened again.
async fn age(market: &Market) {
    let times = ["created_at", "opened_at", "dispatched_at", "finished_at"];
    let older = times.map(|time| format!("{time} = {time} - interval '73 hours'")).join(", ");
    tamper(market.database.pool(), &format!("UPDATE executions SET {older}")).await;
}

fn accounts_read(market: &Market) -> u64 {
    market.node.script().requests.get("getMultipleAccounts").copied().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_execution_that_ended_is_answered_without_a_look_at_the_chain_until_its_record_can_be_opened_again() {
    let (market, session) = opened(&task()).await;
    let first = dispatch(&market, &session, &task()).await;
    let read = accounts_read(&market);
    let again = dispatch(&market, &session, &task()).await;
    assert_eq!((again.status, &again.body), (200, &first.body));
    assert_eq!(accounts_read(&market), read);

    age(&market).await;
    let again = dispatch(&market, &session, &task()).await;
    assert_eq!((again.status, &again.body), (200, &first.body), "it was not opened again");
    assert!(accounts_read(&market) > read);
    open_as_wallet(&market, ID, &task());
    let next = dispatch(&market, &session, &task()).await;
    assert_eq!((next.status, next.code()), (409, "conflict"), "the answer of the earlier call is not repeated");
    assert!(next.message().contains("not seen yet"), "{next:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_repeats_an_old_execution_in_a_loop_delays_only_itself() {
    let market = Market::start_with(Limits { refused_calls_per_second: 1, ..Market::limits() }).await;
    open_as_wallet(&market, ID, &task());
    let session = market.session_of(market.wallet).await;
    assert_eq!(dispatch(&market, &session, &task()).await.status, 200);
    age(&market).await;
    let body = task();
    let many = futures::future::join_all((0..130).map(|_| dispatch(&market, &session, &body)));
    drop(tokio::time::timeout(Duration::from_secs(3), many).await);
    let limited = async {
        loop {
            // What is not refused at once waits for its turn.
            let answer = tokio::time::timeout(Duration::from_millis(500), dispatch(&market, &session, &body)).await;
            if let Some(answer) = answer.ok().filter(|answer| answer.status == 429) {
                break answer;
            }
        }
    };
    assert_eq!(limited.await.code(), "rate_limited");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_that_get_it_at_the_same_time_dispatch_it_once() {
    let (market, session) = opened(&json!({"task": "it", "parameters": {"delay_ms": 300}})).await;
    let body = json!({"task": "it", "parameters": {"delay_ms": 300}});
    let pool = market.database.pool();
    let other = Gateway::new(market.config.clone(), pool.clone()).unwrap();
    let routers = [market.router.clone(), crtx_http::finish(crtx_gateway::api::router(other))];
    let answers = futures::future::join_all((0..6).map(|n| {
        let request = axum::http::Request::post(format!("/v1/executions/{ID}/dispatch"))
            .header("authorization", format!("Bearer {}", session.reveal()))
            .body(axum::body::Body::from(body.to_string()))
            .unwrap();
        tower::ServiceExt::oneshot(routers[n % 2].clone(), request)
    }))
    .await;
    let statuses: Vec<_> = answers.into_iter().map(|answer| answer.unwrap().status().as_u16()).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| matches!(status, 200 | 409)), "{statuses:?}");
    assert_eq!((market.creator_calls(), market.node.script().sent.len()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_asynchronous_dispatch_is_answered_at_once_and_continues() {
    let body = json!({"task": "it", "parameters": {"delay_ms": 300}, "async": true});
    let (market, session) = opened(&body).await;
    let answer = dispatch(&market, &session, &body).await;
    assert_eq!((answer.status, &answer.body), (200, &json!({"execution_id": ID, "status": "pending"})));
    for _ in 0..100 {
        if market.row(ID).await.state == State::Completed {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(market.row(ID).await.state, State::Completed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_settlement_that_is_lost_is_sent_by_the_worker() {
    let (market, session) = opened(&task()).await;
    market.node.script().on_send = OnSend::Drop;
    let answer = dispatch(&market, &session, &task()).await;
    assert_eq!(answer.status, 202, "{answer:?}");
    market.node.script().on_send = OnSend::Land;
    market.node.script().finalized_height = 1_000;
    market.node.script().last_valid_block_height = 1_150;
    assert_eq!(market.resume(ID).await.state, State::Completed);
    assert_eq!(market.creator_calls(), 1);
    assert_eq!(market.usdc().amount, HOLDING - PRICE);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_execution_that_others_settled_in_the_meantime_is_followed() {
    let body = json!({"task": "it", "parameters": {"delay_ms": 400}});
    let (market, session) = opened(&body).await;
    let settle = async {
        while market.creator_calls() == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let mut settled = market.record(ID).unwrap();
        settled.record.status = ExecutionStatus::Completed as u8;
        settled.record.result_hash = ResultHash::of(b"another result").0;
        settled.record.revision += 1;
        settled.record.finished_at_unix_s = now();
        settled.record.settled_by = 1;
        market.set_record(ID, settled);
        market.node.script().on_send = OnSend::LandAndFail;
    };
    let (answer, ()) = tokio::join!(dispatch(&market, &session, &body), settle);
    let row = if market.row(ID).await.state.is_finished() { market.row(ID).await } else { market.resume(ID).await };
    assert!(row.settled_elsewhere, "{answer:?}");
    let again = dispatch(&market, &session, &body).await;
    assert_eq!((again.status, again.code()), (502, "result_unavailable"), "{again:?}");
    market.gateway.content().put("another result").await.unwrap();
    let found = dispatch(&market, &session, &body).await;
    assert_eq!((found.status, &found.body["result"]), (200, &json!("another result")), "its content is there now");
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_of_wallet_and_agent_hold_for_what_is_handed_over() {
    let all = PerSubject { key: 9, wallet: 9, agent: 9 };
    for (policy, wallet, agent) in [("calls-under-way-per-wallet", 1, 9), ("calls-under-way-per-agent", 9, 1)] {
        let calls = CallLimits { under_way: PerSubject { key: 9, wallet, agent }, failures_per_hour: all };
        let market = Market::start_with(Limits { calls, ..Market::limits() }).await;
        let session = market.session_of(market.wallet).await;
        let body = json!({"task": "it", "parameters": {"delay_ms": 500}, "async": true});
        open_as_wallet(&market, Uuid::from_u128(1), &body);
        open_as_wallet(&market, ID, &body);
        let path = format!("/v1/executions/{}/dispatch", Uuid::from_u128(1));
        assert_eq!(market.ask_as(&session, "POST", &path, Some(&body)).await.status, 200);
        let answer = dispatch(&market, &session, &body).await;
        assert_eq!((answer.status, answer.code()), (429, "rate_limited"), "{answer:?}");
        assert!(answer.headers["ratelimit-policy"].to_str().unwrap().contains(policy), "{answer:?}");
        assert!(market.find(ID).await.is_none());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_execution_of_a_process_that_died_is_finished_by_the_worker() {
    let body = behaviour("slow once");
    let (market, session) = opened(&body).await;
    let options = (*market.database.pool().connect_options()).clone();
    let (config, token, sent) = (market.config.clone(), session.reveal().to_owned(), body.to_string());
    let runtime = tokio::runtime::Runtime::new().expect("runtime");
    runtime.spawn(async move {
        let pool = crtx_store::PgPool::connect_with(options).await.expect("database");
        let gateway = Gateway::new(config, pool.clone()).expect("gateway");
        let request = axum::http::Request::post(format!("/v1/executions/{ID}/dispatch"))
            .header("authorization", format!("Bearer {token}"))
            .body(axum::body::Body::from(sent))
            .unwrap();
        let _ = tower::ServiceExt::oneshot(crtx_gateway::api::router(gateway), request).await;
    });
    while market.creator_calls() == 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    runtime.shutdown_background();
    let row = market.resume(ID).await;
    assert_eq!(row.state, State::Completed, "{row:?}");
    assert_eq!(market.usdc().amount, HOLDING - PRICE);
    let answer = dispatch(&market, &session, &body).await;
    assert_eq!((answer.status, &answer.body["result"]), (200, &json!("did it")));
}
