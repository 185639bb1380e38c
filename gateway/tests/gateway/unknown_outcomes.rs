//! Calls while the chain does not answer, transactions are lost, or a gateway dies: no call is paid twice, no result
//! is lost, and every call is settled or refunded.

use std::time::{Duration, Instant};

use crate::support::{HOLDING, Market, PRICE};
use agent_marketplace::state::{ExecutionStatus, FailureReason};
use crtx_chain::testing::OnSend;
use crtx_store::{
    admission::Reservation,
    executions::{Executions, State},
    testing::fixtures::unbounded,
};
use serde_json::{Value, json};

fn task() -> Value {
    json!({"task": "it"})
}

#[tokio::test(flavor = "multi_thread")]
async fn an_rpc_error_after_a_send_that_landed_is_not_a_failure() {
    let market = Market::start().await;
    market.node.script().on_send = OnSend::LandButAnswerError;
    let answer = market.execute(&task()).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(market.usdc().amount, HOLDING - PRICE);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_opening_that_is_unknown_is_a_retryable_error_and_pays_once_when_it_landed_later() {
    let market = Market::start().await;
    market.node.script().on_send = OnSend::Drop;
    let answer = market.execute_once("k", &task()).await;
    assert_eq!((answer.status, answer.code()), (503, "unavailable"), "{answer:?}");
    let id = answer.execution_id();
    assert_eq!(market.row(id).await.state, State::Opening);
    let meanwhile = market.execute_once("k", &task()).await;
    assert_eq!((meanwhile.status, meanwhile.code()), (409, "conflict"), "{meanwhile:?}");

    market.node.script().on_send = OnSend::Land;
    assert_eq!(market.resume(id).await.state, State::Completed);
    let again = market.execute_once("k", &task()).await;
    assert_eq!((again.status, &again.body["result"]), (200, &json!("did it")), "{again:?}");
    assert_eq!((market.usdc().amount, market.creator_calls()), (HOLDING - PRICE, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_opening_that_expired_costs_nothing_and_a_retry_runs_the_call() {
    let market = Market::start().await;
    market.node.script().on_send = OnSend::Drop;
    let answer = market.execute_once("k", &task()).await;
    assert_eq!(answer.status, 503, "{answer:?}");
    let id = answer.execution_id();
    market.node.script().finalized_height = 1_000;
    let row = market.resume(id).await;
    assert_eq!((row.state, row.opened_at), (State::Failed, None));
    assert_eq!(market.usdc().amount, HOLDING);

    market.node.script().last_valid_block_height = 2_000;
    market.node.script().on_send = OnSend::Land;
    tokio::time::sleep(Duration::from_millis(350)).await;
    let again = market.execute_once("k", &task()).await;
    assert_eq!((again.status, again.execution_id()), (200, id), "{again:?}");
    assert_eq!((market.usdc().amount, market.creator_calls()), (HOLDING - PRICE, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_opening_that_the_chain_refuses_costs_nothing() {
    let market = Market::start().await;
    market.node.script().on_send = OnSend::LandAndFail;
    let answer = market.execute_once("k", &task()).await;
    assert_eq!((answer.status, answer.code()), (503, "unavailable"), "{answer:?}");
    assert!(answer.message().contains("nothing was charged"), "{answer:?}");
    market.node.script().on_send = OnSend::Land;
    assert_eq!(market.execute_once("k", &task()).await.status, 200);
    assert_eq!(market.usdc().amount, HOLDING - PRICE);
}

fn now_unix_s() -> i64 {
    std::time::UNIX_EPOCH.elapsed().unwrap().as_secs().cast_signed()
}

/// Lets the opening land and handles all later transactions as `later`.
fn only_the_opening_lands(market: &Market, later: OnSend) {
    let node = market.node.clone();
    tokio::spawn(async move {
        loop {
            if node.script().landed.len() == 1 {
                node.script().on_send = later;
                return;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_settlement_beyond_the_bound_is_answered_202_and_settled_later() {
    let market = Market::start().await;
    only_the_opening_lands(&market, OnSend::Drop);
    let body = json!({"task": "it", "parameters": {"delay_ms": 200}});
    let answer = market.execute_once("k", &body).await;
    let id = market.id_of("k");
    assert_eq!((answer.status, &answer.body), (202, &json!({"execution_id": id, "status": "running"})));
    assert_eq!(market.row(id).await.state, State::Settling);
    market.node.script().on_send = OnSend::Land;
    assert_eq!(market.resume(id).await.state, State::Completed);
    let again = market.execute_once("k", &body).await;
    assert_eq!((again.status, &again.body["result"]), (200, &json!("did it")), "{again:?}");
    assert_eq!((market.usdc().amount, market.creator_calls()), (HOLDING - PRICE, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_settlement_of_a_bound_call_that_expired_is_signed_again_from_what_is_stored() {
    let market = Market::start().await;
    market.bind();
    only_the_opening_lands(&market, OnSend::Drop);
    let answer = market.execute(&json!({"task": "it", "parameters": {"delay_ms": 200}})).await;
    assert_eq!(answer.status, 202, "{answer:?}");
    // A listing that changes in the meantime does not matter: the record says what is demanded.
    market.set_listing(agent_marketplace::state::AgentListed { binding: 0, ..market.listing() });
    {
        let mut script = market.node.script();
        (script.on_send, script.finalized_height, script.last_valid_block_height) = (OnSend::Land, 1_000, 2_000);
    }
    assert_eq!(market.resume(answer.execution_id()).await.state, State::Completed);
    assert_eq!((market.usdc().amount, market.creator_calls()), (HOLDING - PRICE, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_settlement_that_expired_is_signed_again_only_after_its_height_has_passed() {
    let market = Market::start().await;
    only_the_opening_lands(&market, OnSend::Drop);
    let answer = market.execute(&json!({"task": "it", "parameters": {"delay_ms": 200}})).await;
    assert_eq!(answer.status, 202, "{answer:?}");
    let first: std::collections::HashSet<Vec<u8>> = market.node.script().sent[1..].iter().cloned().collect();
    assert_eq!(first.len(), 1, "every send has the same bytes");
    market.node.script().finalized_height = 1_000;
    market.node.script().last_valid_block_height = 2_000;
    market.node.script().on_send = OnSend::Land;
    let row = market.resume(answer.execution_id()).await;
    assert_eq!(row.state, State::Completed);
    assert_eq!(market.usdc().amount, HOLDING - PRICE);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_settlement_that_the_chain_refuses_is_tried_again_for_a_while_before_the_escrow_is_refunded() {
    let market = Market::start().await;
    only_the_opening_lands(&market, OnSend::LandAndFail);
    let answer = market.execute(&json!({"task": "it", "parameters": {"delay_ms": 200}})).await;
    assert_eq!((answer.status, &answer.body["status"]), (202, &json!("running")), "{answer:?}");
    let id = answer.execution_id();
    assert_eq!(market.row(id).await.state, State::Settling);
    let refused = market.node.script().landed.values().filter(|failed| **failed).count();
    assert!(refused >= 4, "{refused} refusals");

    // The chain keeps refusing, so the caller finally gets the money back.
    let worker = market.work();
    for _ in 0..600 {
        if market.row(id).await.state == State::Refunding {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    market.node.script().on_send = OnSend::Land;
    worker.stop().await;
    assert_eq!(market.resume(id).await.state, State::Failed);
    assert_eq!(market.usdc().amount, HOLDING);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_settlement_that_the_chain_refuses_at_first_is_settled() {
    let market = Market::start().await;
    only_the_opening_lands(&market, OnSend::LandAndFail);
    let node = market.node.clone();
    tokio::spawn(async move {
        while node.script().landed.values().filter(|failed| **failed).count() < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        node.script().on_send = OnSend::Land;
    });
    let answer = market.execute(&json!({"task": "it", "parameters": {"delay_ms": 200}})).await;
    assert_eq!((answer.status, &answer.body["result"]), (200, &json!("did it")), "{answer:?}");
    assert_eq!(market.usdc().amount, HOLDING - PRICE);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_beyond_the_bound_is_announced_and_made_later() {
    let market = Market::start().await;
    only_the_opening_lands(&market, OnSend::Drop);
    let body = json!({"task": "it", "parameters": {"delay_ms": 200, "behaviour": "fail"}});
    let answer = market.execute_once("k", &body).await;
    assert_eq!((answer.status, answer.code()), (500, "execution_failed"), "{answer:?}");
    assert!(answer.message().contains("the refund is under way"), "{answer:?}");
    market.node.script().on_send = OnSend::Land;
    assert_eq!(market.resume(answer.execution_id()).await.state, State::Failed);
    assert_eq!(market.usdc().amount, HOLDING);
    let again = market.execute_once("k", &body).await;
    assert!(again.message().contains("refunded"), "{again:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_disconnects_loses_nothing() {
    let market = Market::start().await;
    let body = json!({"task": "it", "parameters": {"delay_ms": 300}});
    let asked = async {
        while market.creator_calls() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        answer = market.execute_once("k", &body) => panic!("it answered: {answer:?}"),
        () = asked => {}
    }
    let id = market.id_of("k");
    for _ in 0..100 {
        if market.row(id).await.state == State::Completed {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let answer = market.execute_once("k", &body).await;
    assert_eq!((answer.status, market.creator_calls()), (200, 1), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_was_refunded_by_others_ends_failed() {
    let market = Market::start().await;
    only_the_opening_lands(&market, OnSend::Drop);
    let answer = market.execute(&json!({"task": "it", "parameters": {"delay_ms": 200}})).await;
    assert_eq!(answer.status, 202, "{answer:?}");
    let id = answer.execution_id();
    let mut execution = market.record(id).unwrap();
    execution.record.status = ExecutionStatus::Expired as u8;
    market.set_record(id, execution);
    market.node.script().finalized_height = 1_000;
    let row = market.resume(id).await;
    assert_eq!(row.state, State::Failed);
    assert!(row.failure.unwrap().message.contains("without this gateway"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_died_before_signing_leaves_no_open_execution() {
    let market = Market::start().await;
    // The lease of this reservation expires, because its gateway died.
    let answer = market.execute_once("k", &task()).await;
    assert_eq!(answer.status, 200);
    let done = market.row(answer.execution_id()).await;
    let executions = Executions::new(market.database.pool().clone(), Duration::from_millis(1));
    let mut call = done.call.clone();
    call.execution_id = market.id_of("other");
    call.record = market.instructions.addresses.execution(&market.wallet, call.execution_id.as_bytes());
    assert!(matches!(executions.reserve(&call, &unbounded()).await.unwrap(), Reservation::New(_)));
    let row = market.resume(call.execution_id).await;
    assert_eq!((row.state, row.opened_at), (State::Failed, None));
    assert_eq!(market.usdc().amount, HOLDING - PRICE, "only the first call was paid");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_gateway_died_while_the_creator_worked_is_sent_again_and_delivered() {
    let market = Market::start().await;
    let mut listing = market.listing();
    listing.timeout_seconds = 60;
    listing.revision += 1;
    market.set_listing(listing);
    let body = json!({"task": "it", "parameters": {"behaviour": "slow once"}});
    market.execute_and_die_at_the_creator("k", &body).await;
    let id = market.id_of("k");
    assert_eq!(market.row(id).await.state, State::Running);
    assert_eq!(market.resume(id).await.state, State::Completed);
    assert_eq!((market.creator_calls(), market.usdc().amount), (2, HOLDING - PRICE));
    let again = market.execute_once("k", &body).await;
    assert_eq!((again.status, &again.body["result"]), (200, &json!("did it")), "{again:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_resumed_after_its_time_out_is_sent_again_before_its_deadline() {
    let market = Market::start().await;
    let body = json!({"task": "it", "parameters": {"behaviour": "slow once"}});
    market.execute_and_die_at_the_creator("k", &body).await;
    let row = market.row(market.id_of("k")).await;
    assert_eq!(row.state, State::Running);
    tokio::time::sleep(Duration::from_secs(u64::from(row.call.timeout_seconds))).await;
    assert_eq!(market.resume(market.id_of("k")).await.state, State::Completed);
    assert_eq!((market.creator_calls(), market.usdc().amount), (2, HOLDING - PRICE));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_resumed_too_late_is_refunded_as_interrupted_and_not_as_the_creators_time_out() {
    let market = Market::start().await;
    let body = json!({"task": "it", "parameters": {"behaviour": "slow once"}});
    market.execute_and_die_at_the_creator("k", &body).await;
    let id = market.id_of("k");
    // Fourteen seconds are less than the time reserved for the settlement.
    market.set_deadline(id, now_unix_s() + 14);
    let row = market.resume(id).await;
    assert_eq!((row.state, row.failure.unwrap().code.as_str()), (State::Failed, "interrupted"));
    assert_eq!(market.record(id).unwrap().failure_reason(), Some(FailureReason::Interrupted));
    let listing = market.listing();
    assert_eq!((listing.failed_executions, listing.total_executions, listing.expired_executions), (0, 0, 1));
    assert_eq!((market.creator_calls(), market.usdc().amount), (1, HOLDING));
    let again = market.execute_once("k", &body).await;
    assert_eq!((again.status, again.code()), (500, "interrupted"), "{again:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creator_that_is_asked_again_and_has_less_than_its_time_is_not_blamed_for_a_time_out() {
    let market = Market::start().await;
    let mut listing = market.listing();
    listing.timeout_seconds = 60;
    listing.revision += 1;
    market.set_listing(listing);
    let body = json!({"task": "it", "parameters": {"behaviour": "slow"}});
    market.execute_and_die_at_the_creator("k", &body).await;
    let id = market.id_of("k");
    market.set_deadline(id, now_unix_s() + 20);
    let row = market.resume(id).await;
    assert_eq!((row.state, row.failure.unwrap().code.as_str()), (State::Failed, "interrupted"));
    assert_eq!((market.creator_calls(), market.usdc().amount), (2, HOLDING));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_killed_at_any_moment_leaves_calls_that_end_paid_once_or_not_at_all() {
    let limits = crtx_gateway::Limits { lease: Duration::from_millis(600), ..Market::limits() };
    let market = Market::start_with(limits).await;
    let body = json!({"task": "it", "parameters": {"delay_ms": 10}});
    let started = Instant::now();
    assert_eq!(market.execute(&body).await.status, 200);
    let whole = started.elapsed();
    let mut completed = 1;
    let mut states = std::collections::HashSet::new();
    for moment in 0..24_u32 {
        let key = format!("k{moment}");
        // The moments are closer together at the beginning, where most steps are.
        market.execute_and_die(&key, &body, whole * (moment * moment) / 150).await;
        let id = market.id_of(&key);
        // Statements that the killed gateway sent to the database may still arrive.
        tokio::time::sleep(Duration::from_millis(20)).await;
        let Some(row) = market.find(id).await else { continue };
        states.insert(row.state);
        let row = if row.state.is_finished() { row } else { market.resume(id).await };
        let on_chain = market.record(id).and_then(|record| record.status());
        match row.state {
            State::Completed => {
                completed += 1;
                assert_eq!(on_chain, Some(ExecutionStatus::Completed), "{moment}");
            }
            State::Failed if row.opened_at.is_none() => assert_eq!(on_chain, None, "{moment}"),
            other => panic!("{moment}: ended {other:?}, on chain {on_chain:?}: {:?}", row.failure),
        }
    }
    assert_eq!(market.usdc().amount, HOLDING - completed * PRICE, "each completed call was paid once");
    assert!(states.len() >= 2, "the moments hit different states: {states:?}");
}
