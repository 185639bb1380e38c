//! Which calls are admitted: money is reserved once, limits hold, and the gateway does not pay for a transaction that
//! the chain would refuse.

use std::{collections::HashSet, time::Duration};

use crate::support::{Answer, HOLDING, Market, PRICE, count_instructions};
use agent_marketplace::instruction::{CompleteExecution, OpenExecutionWithGrant};
use anchor_lang::Discriminator;
use axum::{Router, body::Body, http::Request};
use crtx_chain::{testing::OnSend, token::TokenAccount};
use crtx_gateway::{Gateway, Limits};
use crtx_store::{
    admission::{CallLimits, PerSubject, Reservation},
    executions::{Executions, State},
    fee_payers::{self, FeePayerState},
    reads::{ExecutionFilter, ListedExecution, ShownStatus, Start},
    testing::{fixtures::unbounded, single},
};
use futures::future::join_all;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

const NO_LIMIT: PerSubject = PerSubject { key: 1_000, wallet: 1_000, agent: 1_000 };

fn task() -> Value {
    json!({"task": "it"})
}

fn limits(change: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Market::limits();
    change(&mut limits);
    limits
}

/// Sends `calls` calls at the same time, distributed over the routers.
async fn all_at_once(market: &Market, routers: &[Router], calls: usize) -> Vec<Answer> {
    let calls = (0..calls).map(|number| {
        let request = Request::builder()
            .method("POST")
            .uri(format!("/v1/agents/{}/execute", market.agent))
            .header("authorization", format!("Bearer {}", market.key.reveal()))
            .body(Body::from(json!({"task": number.to_string()}).to_string()))
            .expect("request");
        let router = routers[number % routers.len()].clone();
        tokio::spawn(async move {
            let response = router.oneshot(request).await.expect("infallible");
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            let bytes = axum::body::to_bytes(response.into_body(), 1 << 20).await.expect("body");
            Answer { status, headers, body: serde_json::from_slice(&bytes).expect("json") }
        })
    });
    join_all(calls).await.into_iter().map(|answer| answer.expect("joined")).collect()
}

/// Another gateway on the same database, like another process.
fn second_gateway(market: &Market) -> Router {
    let pool = market.database.pool();
    let gateway = Gateway::new(market.config.clone(), pool.clone()).expect("gateway");
    crtx_http::finish(crtx_gateway::api::router(gateway))
}

async fn all_listed(market: &Market) -> Vec<ListedExecution> {
    let filter = ExecutionFilter::default();
    let list =
        single::list_executions(market.database.pool(), &market.wallet, &filter, 100, &Start::FIRST).await.unwrap();
    assert_eq!(list.total, list.items.len() as u64);
    list.items
}

/// All calls, once none is under way. A call that started just now is not in the list yet, so the list has to stay the same
/// for a while.
async fn all_ended(market: &Market) -> Vec<ListedExecution> {
    let mut calls = all_listed(market).await;
    let mut same: u32 = 0;
    for _ in 0..200 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let before = std::mem::replace(&mut calls, all_listed(market).await);
        let is_over = calls.len() == before.len() && calls.iter().all(|call| call.status == ShownStatus::Completed);
        same = if is_over { same + 1 } else { 0 };
        if same == 10 {
            break;
        }
    }
    calls
}

async fn listed(market: &Market) -> u64 {
    all_listed(market).await.len() as u64
}

fn set_money(market: &Market, holding: u64, approved: u64) {
    let spender = market.instructions.addresses.spender(&market.wallet);
    let usdc = market.usdc();
    market.set_usdc(TokenAccount { amount: holding, delegate: Some((spender, approved)), ..usdc });
}

fn different_transactions(market: &Market) -> usize {
    market.node.script().sent.iter().collect::<HashSet<_>>().len()
}

#[tokio::test(flavor = "multi_thread")]
async fn sixty_four_calls_at_once_on_money_for_ten_over_two_gateways_send_ten_openings() {
    let market = Market::start_with(Limits {
        open_patience: Duration::from_secs(10),
        settle_patience: Duration::from_secs(10),
        lease: Duration::from_secs(30),
        ..Market::limits()
    })
    .await;
    set_money(&market, 10 * PRICE, u64::MAX);
    let routers = [market.router.clone(), second_gateway(&market)];
    let answers = all_at_once(&market, &routers, 64).await;
    let served = answers.iter().filter(|answer| answer.status == 200).count();
    for answer in answers.iter().filter(|answer| answer.status != 200) {
        assert_eq!((answer.status, answer.code()), (402, "insufficient_balance"), "{answer:?}");
        assert_eq!(answer.body["error"]["execution_id"], Value::Null, "{answer:?}");
    }
    assert_eq!((served, market.usdc().amount, market.creator_calls()), (10, 0, 10));
    let sent: HashSet<Vec<u8>> = market.node.script().sent.iter().cloned().collect();
    let count = |what| sent.iter().map(|bytes| count_instructions(bytes, what)).sum::<usize>();
    let sent = [OpenExecutionWithGrant::DISCRIMINATOR, CompleteExecution::DISCRIMINATOR].map(count);
    assert_eq!(sent, [10, 10], "openings and settlements");
    assert_eq!(listed(&market).await, 10, "the refused calls leave no execution");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_in_progress_share_an_approval_that_is_below_the_balance() {
    let market = Market::start_with(limits(|limits| limits.funds_patience = Duration::from_millis(100))).await;
    set_money(&market, HOLDING, 2 * PRICE - 1);
    market.node.script().on_send = OnSend::Drop;
    assert_eq!(market.execute_once("first", &task()).await.status, 503);
    let second = market.execute_once("second", &task()).await;
    assert_eq!((second.status, second.code()), (402, "insufficient_balance"), "{second:?}");
    assert!(second.message().contains("lets its API keys move 0.099999 USDC of it"), "{second:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn money_that_an_unfinished_opening_may_still_take_is_not_reserved_again() {
    let market = Market::start_with(limits(|limits| limits.funds_patience = Duration::from_millis(100))).await;
    set_money(&market, PRICE + PRICE / 2, u64::MAX);
    market.node.script().on_send = OnSend::Drop;
    let first = market.execute_once("first", &task()).await;
    assert_eq!((first.status, first.code()), (503, "unavailable"), "{first:?}");
    assert_eq!(market.row(first.execution_id()).await.state, State::Opening);
    let sent = different_transactions(&market);
    let second = market.execute_once("second", &task()).await;
    assert_eq!((second.status, second.code()), (402, "insufficient_balance"), "{second:?}");
    assert_eq!(second.body["error"]["execution_id"], Value::Null);
    assert!(second.message().contains("holds 0.075 USDC") && second.message().contains("take 0.05 USDC"), "{second:?}");
    assert!(second.message().contains("0.05 USDC is required"), "{second:?}");
    assert_eq!((different_transactions(&market), listed(&market).await), (sent, 1));
    assert!(market.find(market.id_of("second")).await.is_none());

    market.node.script().on_send = OnSend::Land;
    assert_eq!(market.resume(first.execution_id()).await.state, State::Completed);
    set_money(&market, PRICE, u64::MAX);
    assert_eq!(market.execute_once("second", &task()).await.status, 200, "its idempotency key is free");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_is_shared_by_the_calls_of_its_key_that_are_under_way() {
    let market = Market::start_with(limits(|limits| limits.funds_patience = Duration::from_millis(100))).await;
    let mut grant = market.grant();
    grant.total_cap = grant.spent + PRICE;
    market.set_grant(&grant);
    market.node.script().on_send = OnSend::Drop;
    assert_eq!(market.execute_once("first", &task()).await.status, 503);
    let second = market.execute_once("second", &task()).await;
    assert_eq!((second.status, second.code()), (403, "forbidden"), "{second:?}");
    assert!(second.message().contains("calls under way take 0.05 USDC"), "{second:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wallet_with_just_enough_for_one_more_call_is_never_refused() {
    let market = Market::start().await;
    for number in 0..8 {
        // The wallet has exactly the price, each time right after the previous call has taken the same amount.
        set_money(&market, PRICE, PRICE);
        let answer = market.execute(&json!({"task": number.to_string()})).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(market.usdc().amount, 0);
    }
    set_money(&market, 2 * PRICE, 2 * PRICE);
    let accepted = market.execute(&json!({"task": "one", "async": true})).await;
    assert_eq!(accepted.status, 200, "{accepted:?}");
    let answer = market.execute(&json!({"task": "two"})).await;
    assert_eq!(answer.status, 200, "the first call, opened a moment ago, is counted once: {answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_disconnects_leaves_no_reservation_behind() {
    let market = Market::start().await;
    set_money(&market, 8 * PRICE, 8 * PRICE);
    let body = task();
    for after_ms in [0, 2, 4, 6, 8, 12, 16, 24] {
        drop(tokio::time::timeout(Duration::from_millis(after_ms), market.execute(&body)).await);
    }
    let calls = all_ended(&market).await;
    assert!(
        calls.iter().all(|call| call.status == ShownStatus::Completed),
        "a call that started is finished: {calls:?}"
    );
    assert_eq!(market.usdc().amount, (8 - u64::try_from(calls.len()).expect("few")) * PRICE);

    let executions = Executions::new(market.database.pool().clone(), Duration::from_secs(1));
    let (lease, id) = {
        // The state that a process leaves if it is killed between reservation and start.
        set_money(&market, PRICE, PRICE);
        let answer = market.execute_once("seed", &task()).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let mut call = market.row(answer.execution_id()).await.call;
        call.execution_id = market.id_of("orphan");
        call.record = market.instructions.addresses.execution(&market.wallet, call.execution_id.as_bytes());
        let Reservation::New(lease) = executions.reserve(&call, &unbounded()).await.unwrap() else { panic!("new") };
        (lease, call.execution_id)
    };
    let shutdown = CancellationToken::new();
    let worker =
        tokio::spawn(crtx_gateway::run(market.gateway.clone(), crtx_gateway::Recovery::Here, shutdown.clone()));
    set_money(&market, PRICE, PRICE);
    let mut answer = market.execute(&task()).await;
    for _ in 0..100 {
        if answer.status != 402 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        answer = market.execute(&task()).await;
    }
    assert_eq!(answer.status, 200, "after the lease the money is free again: {answer:?}");
    assert!(!executions.renew(lease).await.unwrap(), "the lease of {id} is lost");
    shutdown.cancel();
    worker.await.expect("worker");
}

fn header<'a>(answer: &'a Answer, name: &str) -> &'a str {
    answer.headers.get(name).unwrap_or_else(|| panic!("{name}: {answer:?}")).to_str().expect("text")
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_under_way_are_limited_per_key_per_wallet_and_per_agent() {
    for (under_way, policy) in [
        (PerSubject { key: 1, ..NO_LIMIT }, "calls-under-way-per-key"),
        (PerSubject { wallet: 1, ..NO_LIMIT }, "calls-under-way-per-wallet"),
        (PerSubject { agent: 1, ..NO_LIMIT }, "calls-under-way-per-agent"),
    ] {
        let calls = CallLimits { under_way, failures_per_hour: NO_LIMIT };
        let market = Market::start_with(limits(|limits| limits.calls = calls)).await;
        let slow = json!({"task": "it", "parameters": {"delay_ms": 600}, "async": true});
        assert_eq!(market.execute(&slow).await.status, 200);
        let refused = market.execute(&task()).await;
        assert_eq!((refused.status, refused.code()), (429, "rate_limited"), "{refused:?}");
        assert_eq!(refused.body["error"]["execution_id"], Value::Null);
        assert_eq!(header(&refused, "ratelimit-policy"), format!("\"{policy}\";q=1;qu=\"concurrent-requests\""));
        assert_eq!(header(&refused, "ratelimit"), format!("\"{policy}\";r=0;t=1"));
        assert_eq!(header(&refused, "retry-after"), "1");
        assert_eq!(listed(&market).await, 1);
        tokio::time::sleep(Duration::from_secs(2)).await;
        let answer = market.execute(&task()).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_calls_are_limited_per_hour_for_key_wallet_and_agent() {
    for (failures_per_hour, policy) in [
        (PerSubject { key: 2, ..NO_LIMIT }, "failures-per-key"),
        (PerSubject { wallet: 2, ..NO_LIMIT }, "failures-per-wallet"),
        (PerSubject { agent: 2, ..NO_LIMIT }, "failures-per-agent"),
    ] {
        let calls = CallLimits { under_way: NO_LIMIT, failures_per_hour };
        let market = Market::start_with(limits(|limits| limits.calls = calls)).await;
        assert_eq!(market.behave("fail").await.code(), "execution_failed");
        assert_eq!(market.execute(&task()).await.status, 200, "a call that succeeds is not counted");
        assert_eq!(market.behave("bad_signature").await.code(), "execution_failed");
        let refused = market.execute(&task()).await;
        assert_eq!((refused.status, refused.code()), (429, "rate_limited"), "{refused:?}");
        assert_eq!(header(&refused, "ratelimit-policy"), format!("\"{policy}\";q=2;w=3600"));
        let seconds: u32 = header(&refused, "retry-after").parse().expect("seconds");
        assert!((3_500..=3_600).contains(&seconds), "{seconds}");
        assert_eq!(market.usdc().amount, HOLDING - PRICE);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_opening_that_the_chain_rejected_for_lack_of_money_leaves_no_execution_and_counts_as_a_failure() {
    let calls = CallLimits { under_way: NO_LIMIT, failures_per_hour: PerSubject { wallet: 1, ..NO_LIMIT } };
    let market = Market::start_with(limits(|limits| limits.calls = calls)).await;
    market.node.script().on_send = OnSend::LandAndFail;
    let node = market.node.clone();
    let usdc_address = market.instructions.usdc_of(&market.wallet);
    let spent_elsewhere = TokenAccount { amount: 1, ..market.usdc() }.encode();
    let thief = tokio::spawn(async move {
        // The wallet spends its money elsewhere between the simulation and the landing.
        while node.script().simulated.is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        node.script().accounts.get_mut(&usdc_address).expect("account").data = spent_elsewhere;
    });
    let answer = market.execute_once("k", &task()).await;
    thief.await.expect("joined");
    assert_eq!((answer.status, answer.code()), (402, "insufficient_balance"), "{answer:?}");
    assert_eq!(answer.body["error"]["execution_id"], Value::Null);
    assert!(market.find(market.id_of("k")).await.is_none());
    assert_eq!(listed(&market).await, 0);
    market.node.script().on_send = OnSend::Land;
    set_money(&market, HOLDING, HOLDING);
    let next = market.execute_once("k", &task()).await;
    assert_eq!(
        (next.status, header(&next, "ratelimit")),
        (429, &*format!("\"failures-per-wallet\";r=0;t={}", header(&next, "retry-after"))),
        "{next:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_opening_that_the_simulation_refuses_is_not_sent() {
    let market = Market::start().await;
    for (error, status, code) in [
        (json!({"InstructionError": [1, {"Custom": 1}]}), 402, "insufficient_balance"),
        (json!({"InstructionError": [1, {"Custom": 6303}]}), 503, "unavailable"),
        (json!({"InstructionError": [1, {"Custom": 6205}]}), 503, "unavailable"),
        (json!("InsufficientFundsForFee"), 503, "unavailable"),
    ] {
        market.node.script().simulation = Some(error.clone());
        let answer = market.execute_once("k", &task()).await;
        assert_eq!((answer.status, answer.code()), (status, code), "{error}: {answer:?}");
        assert_eq!(answer.body["error"]["execution_id"], Value::Null, "{error}");
        assert!(market.find(market.id_of("k")).await.is_none(), "{error}");
        assert_eq!(answer.headers.contains_key("retry-after"), status == 503, "{error}");
    }
    assert!(market.node.script().sent.is_empty(), "so the gateway pays no fee");
    market.node.script().simulation = None;
    assert_eq!(market.execute_once("k", &task()).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_opening_is_stored_while_it_is_simulated_and_sent_only_after_the_verdict() {
    for (verdict, status, sent) in [(None, 200, 2), (Some(json!("InsufficientFundsForFee")), 503, 0)] {
        let market = Market::start().await;
        let (hold, held) = watch::channel(true);
        (market.node.script().holds_simulations, market.node.script().simulation) = (Some(held), verdict);
        let is_stored = async {
            while market.find(market.id_of("k")).await.is_none_or(|row| row.state != State::Opening) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            assert!(market.node.script().sent.is_empty(), "there is no verdict yet");
            hold.send(false).expect("somebody waits");
        };
        let task = task();
        let (answer, ()) = tokio::join!(market.execute_once("k", &task), is_stored);
        assert_eq!(answer.status, status, "{answer:?}");
        assert_eq!(market.node.script().sent.len(), sent);
        assert_eq!(market.find(market.id_of("k")).await.is_some(), status == 200, "what was refused leaves nothing");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_node_cannot_send_a_transaction_that_it_simulates() {
    let market = Market::start().await;
    assert_eq!(market.execute(&task()).await.status, 200);
    let script = market.node.script();
    let simulated = script.simulated.first().expect("the opening");
    let signatures = 1..1 + usize::from(simulated[0]) * 64;
    assert!(simulated[signatures.clone()].iter().all(|byte| *byte == 0), "no signature leaves before it is stored");
    assert_eq!(simulated[signatures.end..], script.sent[0][signatures.end..], "the message is that of the opening");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_cannot_simulate_stops_no_call() {
    let market = Market::start().await;
    market.node.script().simulation = Some(json!("BlockhashNotFound"));
    assert_eq!(market.execute(&task()).await.status, 200);
}

/// Rent, four signatures, and the highest price of its units.
const LAMPORTS_PER_CALL: u64 = 4_000_000 + 20_000 + 14_052;

fn fee_payer(limits: &mut Limits) {
    (limits.fee_poll_every, limits.fee_low_calls, limits.fee_reserve_lamports) =
        (Duration::from_millis(50), 10, 1_000_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fee_payer_that_runs_out_refuses_new_calls_and_still_settles_open_ones() {
    let market = Market::start_with(limits(fee_payer)).await;
    let shutdown = CancellationToken::new();
    let worker =
        tokio::spawn(crtx_gateway::run(market.gateway.clone(), crtx_gateway::Recovery::Here, shutdown.clone()));
    let status = async |wanted: FeePayerState| {
        for _ in 0..200 {
            if let Some(payer) = fee_payers::latest(market.database.pool()).await.unwrap()
                && payer.state == wanted.into_str()
            {
                return payer;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("the status never became {wanted:?}")
    };
    assert_eq!(status(FeePayerState::Ok).await.address, market.gateway.authority().to_string());
    market.set_sol(1_000_000 + 3 * LAMPORTS_PER_CALL);
    assert_eq!(status(FeePayerState::Low).await.calls_left, 3);
    let open = market.execute(&json!({"task": "it", "parameters": {"delay_ms": 600}, "async": true})).await;
    assert_eq!(open.status, 200, "a low balance still accepts calls: {open:?}");

    market.set_sol(1_000_000 + LAMPORTS_PER_CALL - 1);
    assert_eq!(status(FeePayerState::Empty).await.calls_left, 0);
    let sent = different_transactions(&market);
    let refused = market.execute(&task()).await;
    assert_eq!((refused.status, refused.code()), (503, "unavailable"), "{refused:?}");
    assert!(refused.message().contains("fee payer needs SOL"), "{refused:?}");
    assert_eq!(header(&refused, "retry-after"), "30");
    for _ in 0..100 {
        if market.row(open.execution_id()).await.state == State::Completed {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(market.row(open.execution_id()).await.state, State::Completed);
    assert_eq!(different_transactions(&market), sent + 1, "the settlement, and no opening");
    shutdown.cancel();
    worker.await.expect("worker");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_beyond_what_the_process_works_on_get_503_at_once_and_another_wallets_place_stays_free() {
    let few = Limits { calls_at_once: 5, calls_queued: 0, ..Market::limits() };
    let market = Market::start_with(few).await;
    let slow = json!({"task": "it", "parameters": {"delay_ms": 600}, "async": true});
    for _ in 0..4 {
        assert_eq!(market.execute(&slow).await.status, 200);
    }
    let refused = market.execute(&task()).await;
    assert_eq!((refused.status, refused.code(), header(&refused, "retry-after")), (503, "unavailable", "1"));
    assert_eq!(listed(&market).await, 4, "no other call was started");
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(market.execute(&task()).await.status, 200);
    assert_eq!(listed(&market).await, 5);
}
