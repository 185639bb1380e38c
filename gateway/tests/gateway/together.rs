//! Results that come at the same time are settled in one transaction, and failures are refunded in one. Whatever happens
//! to it, each call is paid or refunded once.

use std::time::{Duration, Instant};

use crate::support::{HOLDING, Market, PRICE, count_instructions};
use agent_marketplace::{
    instruction::{CompleteExecution, FailExecution, OpenExecutionWithGrant},
    state::AgentListed,
};
use anchor_lang::Discriminator;
use crtx_chain::{FetchedAccount, VERSION_1_FEATURE, testing::OnSend};
use crtx_gateway::Limits;
use crtx_store::executions::State;
use serde_json::{Value, json};
use solana_pubkey::Pubkey;
use solana_transaction::versioned::{TransactionVersion, VersionedTransaction};
use uuid::Uuid;

/// A window in which all results of a test come, also on a busy machine.
async fn start() -> Market {
    let market = Market::start_with(Limits { gather_window: Duration::from_millis(1_500), ..Market::limits() }).await;
    // The creator answers the first call, which is opened alone, when it has the last one.
    let listing = market.listing();
    market.set_listing(AgentListed { timeout_seconds: 60, revision: listing.revision + 1, ..listing });
    market
}

/// The network takes transactions of version 1.
fn with_version_1(market: &Market) {
    let feature = FetchedAccount { owner: Pubkey::default(), lamports: 1, data: vec![1, 0, 0, 0, 0, 0, 0, 0, 0] };
    market.node.script().accounts.insert(VERSION_1_FEATURE, feature);
}

fn settlements_in(bytes: &[u8]) -> usize {
    count_instructions(bytes, CompleteExecution::DISCRIMINATOR)
}

fn openings_in(bytes: &[u8]) -> usize {
    count_instructions(bytes, OpenExecutionWithGrant::DISCRIMINATOR)
}

fn refunds_in(bytes: &[u8]) -> usize {
    count_instructions(bytes, FailExecution::DISCRIMINATOR)
}

/// Every transaction that was sent, once.
fn sent(market: &Market) -> Vec<Vec<u8>> {
    let mut sent = market.node.script().sent.clone();
    sent.sort();
    sent.dedup();
    sent
}

/// Those with settlements: version, size and number of settlements.
fn settling(market: &Market) -> Vec<(TransactionVersion, usize, usize)> {
    let version = |bytes: &[u8]| wincode::deserialize::<VersionedTransaction>(bytes).unwrap().version();
    let sent = sent(market);
    let described = sent.iter().map(|bytes| (version(bytes), bytes.len(), settlements_in(bytes)));
    described.filter(|(_, _, settlements)| *settlements > 0).collect()
}

/// Opens so many calls. Their results come together, when all are open.
async fn open(market: &Market, count: usize) -> Vec<Uuid> {
    open_that(market, "ok", count).await
}

/// The same with a behaviour of the creator's service.
async fn open_that(market: &Market, behaviour: &str, count: usize) -> Vec<Uuid> {
    let parameters = json!({"behaviour": behaviour, "after_calls": market.creator_calls() + count});
    let body = json!({"task": "it", "async": true, "parameters": parameters});
    let keys: Vec<String> = (0..count).map(|number| format!("call-{number}")).collect();
    let calls = keys.iter().map(|key| market.execute_once(key, &body));
    for answer in futures::future::join_all(calls).await {
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    keys.iter().map(|key| market.id_of(key)).collect()
}

/// Waits until every call is settled, and checks that each was paid once.
async fn until_settled(market: &Market, ids: &[Uuid]) {
    let started = Instant::now();
    for id in ids {
        while market.row(*id).await.state != State::Completed {
            assert!(started.elapsed() < Duration::from_secs(30), "{id} is {:?}", market.row(*id).await.state);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(market.record(*id).unwrap().result_hash, market.row(*id).await.delivered.unwrap().hash);
    }
    let count = u64::try_from(ids.len()).unwrap();
    assert_eq!(market.usdc().amount, HOLDING - count * PRICE);
    assert_eq!(market.listing().completed_executions, count);
    assert_eq!(market.creator_calls(), ids.len());
}

/// Waits until every call is refunded, and checks that each was refunded once.
async fn until_refunded(market: &Market, ids: &[Uuid]) {
    let started = Instant::now();
    for id in ids {
        while market.row(*id).await.state != State::Failed {
            assert!(started.elapsed() < Duration::from_secs(30), "{id} is {:?}", market.row(*id).await.state);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    assert_eq!(market.usdc().amount, HOLDING);
    assert_eq!((market.listing().open_executions, market.listing().open_amount), (0, 0));
}

/// Numbers of refunds in each transaction that has some.
fn refunds(market: &Market) -> Vec<usize> {
    let mut counts: Vec<usize> = sent(market).iter().map(|bytes| refunds_in(bytes)).filter(|one| *one > 0).collect();
    counts.sort_unstable();
    counts
}

/// Waits until so many settlements were sent in one transaction.
async fn until_sent_together(market: &Market, count: usize) {
    let started = Instant::now();
    while settlements(market).last() != Some(&count) {
        assert!(started.elapsed() < Duration::from_secs(10), "{:?}", settling(market));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn settlements(market: &Market) -> Vec<usize> {
    let mut counts: Vec<usize> = settling(market).into_iter().map(|(_, _, settlements)| settlements).collect();
    counts.sort_unstable();
    counts
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_come_together_are_opened_in_one_transaction_and_settled_in_one() {
    let market = start().await;
    with_version_1(&market);
    market.bind();
    let ids = open(&market, 8).await;
    until_settled(&market, &ids).await;
    let settling = settling(&market);
    let [(version, bytes, settlements)] = &settling[..] else { panic!("{settling:?}") };
    assert_eq!((version, *settlements), (&TransactionVersion::Number(1), 8));
    assert!((1_233..=4_096).contains(bytes), "{bytes}");
    let openings: Vec<usize> = sent(&market).iter().map(|bytes| openings_in(bytes)).filter(|one| *one > 0).collect();
    assert_eq!(openings.iter().sum::<usize>(), 8);
    assert!(openings.len() <= 2, "a call that came first may have been opened alone: {openings:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_the_only_one_waits_for_nobody() {
    let market = Market::start_with(Limits { gather_window: Duration::from_secs(3_600), ..Market::limits() }).await;
    with_version_1(&market);
    assert_eq!(market.execute(&json!({"task": "it"})).await.status, 200);
    assert_eq!(sent(&market).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn openings_that_a_simulation_refuses_together_go_alone() {
    let market = start().await;
    with_version_1(&market);
    market.node.script().refuses_simulation = Box::new(|bytes| openings_in(bytes) > 1);
    let ids = open(&market, 5).await;
    until_settled(&market, &ids).await;
    assert!(sent(&market).iter().all(|bytes| openings_in(bytes) <= 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn openings_that_fail_on_chain_together_cost_nothing_and_can_be_tried_again() {
    let market = start().await;
    with_version_1(&market);
    market.node.script().refuses = Box::new(|bytes, _| openings_in(bytes) > 1);
    let keys = ["a", "b", "c", "d"];
    let bodies = json!({"task": "it"});
    let answers = futures::future::join_all(keys.map(|key| market.execute_once(key, &bodies))).await;
    let refused = answers.iter().filter(|answer| answer.status == 503).count();
    assert!(refused >= 3, "one may have been the first, which goes alone: {answers:?}");
    assert_eq!(market.usdc().amount, HOLDING - u64::try_from(4 - refused).unwrap() * PRICE);
    for key in keys {
        let again = market.execute_once(key, &bodies).await;
        assert_eq!(again.status, 200, "{again:?} after {answers:?}");
    }
    assert_eq!(market.usdc().amount, HOLDING - 4 * PRICE);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_transactions_of_version_1_fewer_settlements_share_one() {
    let market = start().await;
    let ids = open(&market, 8).await;
    until_settled(&market, &ids).await;
    let sent = settling(&market);
    assert!(
        sent.iter().all(|(version, bytes, _)| *version == TransactionVersion::LEGACY && *bytes <= 1_232),
        "{sent:?}"
    );
    assert!(settlements(&market).iter().any(|count| *count > 1), "{sent:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn more_results_than_fit_take_several_transactions() {
    let market = start().await;
    with_version_1(&market);
    let ids = open(&market, 20).await;
    until_settled(&market, &ids).await;
    let counts = settlements(&market);
    assert!(counts.len() >= 2 && counts[counts.len() - 1] >= 9, "{counts:?}");
    assert_eq!(counts.iter().sum::<usize>(), 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn settlements_that_a_simulation_refuses_are_sent_alone_and_the_agent_is_settled_alone_from_then_on() {
    let market = start().await;
    with_version_1(&market);
    let ids = open(&market, 4).await;
    market.node.script().simulation = Some(json!({"InstructionError": [3, {"Custom": 6_001}]}));
    until_settled(&market, &ids).await;
    assert_eq!(settlements(&market), [1; 4]);

    market.node.script().simulation = None;
    let again: Vec<Value> = (0..3).map(|number| json!({"task": number.to_string()})).collect();
    let answers = futures::future::join_all(again.iter().map(|body| market.execute(body))).await;
    assert!(answers.iter().all(|answer| answer.status == 200), "{answers:?}");
    assert_eq!(settlements(&market), [1; 7]);
    let simulated = market.node.script().simulated.clone();
    assert_eq!(simulated.iter().filter(|bytes| settlements_in(bytes) > 0).count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_of_several_settlements_that_fails_on_chain_is_repeated_one_by_one() {
    let market = start().await;
    with_version_1(&market);
    market.node.script().refuses = Box::new(|bytes, _| settlements_in(bytes) > 1);
    let ids = open(&market, 5).await;
    until_settled(&market, &ids).await;
    // On a busy machine a result can come after the window of the others.
    let counts = settlements(&market);
    let alone = counts.iter().filter(|count| **count == 1).count();
    assert!(alone == 5 && counts.len() > 5, "{counts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shared_settlement_that_got_lost_is_found_sent_and_followed_by_another_worker() {
    let market = start().await;
    with_version_1(&market);
    let ids = open(&market, 5).await;
    market.node.script().on_send = OnSend::Drop;
    until_sent_together(&market, 5).await;
    // All of them are left with an unknown outcome.
    tokio::time::sleep(Duration::from_millis(600)).await;
    market.node.script().on_send = OnSend::Land;
    for id in &ids {
        assert_eq!(market.resume(*id).await.state, State::Completed);
    }
    until_settled(&market, &ids).await;
    assert_eq!(settlements(&market), [5], "nothing is signed twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shared_settlement_that_expired_is_signed_again_for_each_call() {
    let market = start().await;
    with_version_1(&market);
    let ids = open(&market, 4).await;
    market.node.script().on_send = OnSend::Drop;
    until_sent_together(&market, 4).await;
    market.node.script().finalized_height = 1_000;
    tokio::time::sleep(Duration::from_millis(600)).await;
    {
        let mut script = market.node.script();
        (script.last_valid_block_height, script.on_send) = (2_000, OnSend::Land);
    }
    for id in &ids {
        assert_eq!(market.resume(*id).await.state, State::Completed);
    }
    until_settled(&market, &ids).await;
    assert_eq!(settlements(&market).iter().filter(|count| **count == 4).count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_fail_together_are_refunded_in_one_transaction() {
    for behaviour in ["fail", "fail unsigned"] {
        let market = start().await;
        with_version_1(&market);
        let ids = open_that(&market, behaviour, 8).await;
        until_refunded(&market, &ids).await;
        assert_eq!(refunds(&market), [8], "{behaviour}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_that_is_the_only_one_waits_for_nobody() {
    let market = Market::start_with(Limits { gather_window: Duration::from_secs(3_600), ..Market::limits() }).await;
    with_version_1(&market);
    assert_eq!(market.behave("fail").await.code(), "execution_failed");
    assert_eq!(refunds(&market), [1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn refunds_that_a_simulation_refuses_go_alone_and_so_do_those_of_the_same_wallet_from_then_on() {
    let market = start().await;
    with_version_1(&market);
    let ids = open_that(&market, "fail", 4).await;
    market.node.script().simulation = Some(json!({"InstructionError": [3, {"Custom": 6_001}]}));
    until_refunded(&market, &ids).await;
    assert_eq!(refunds(&market), [1; 4]);

    market.node.script().simulation = None;
    let answers = futures::future::join_all((0..4).map(|_| market.behave("fail"))).await;
    assert!(answers.iter().all(|answer| answer.code() == "execution_failed"), "{answers:?}");
    assert_eq!(refunds(&market), [1; 8]);
    let simulated = market.node.script().simulated.clone();
    assert_eq!(simulated.iter().filter(|bytes| refunds_in(bytes) > 0).count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_of_several_refunds_that_fails_on_chain_is_repeated_one_by_one() {
    let market = start().await;
    with_version_1(&market);
    let worker = market.work();
    market.node.script().refuses = Box::new(|bytes, _| refunds_in(bytes) > 1);
    let ids = open_that(&market, "fail", 5).await;
    until_refunded(&market, &ids).await;
    worker.stop().await;
    let counts = refunds(&market);
    assert_eq!(counts.iter().filter(|count| **count == 1).count(), 5, "{counts:?}");
    assert!(counts.iter().any(|count| *count > 1), "{counts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shared_refund_that_got_lost_is_found_sent_and_followed_by_another_worker() {
    let market = start().await;
    with_version_1(&market);
    let ids = open_that(&market, "fail", 5).await;
    market.node.script().on_send = OnSend::Drop;
    let started = Instant::now();
    while refunds(&market) != [5] {
        assert!(started.elapsed() < Duration::from_secs(10), "{:?}", refunds(&market));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // All of them are left with an unknown outcome.
    tokio::time::sleep(Duration::from_millis(600)).await;
    market.node.script().on_send = OnSend::Land;
    for id in &ids {
        assert_eq!(market.resume(*id).await.state, State::Failed);
    }
    until_refunded(&market, &ids).await;
    assert_eq!(refunds(&market), [5], "nothing is signed twice");
}
