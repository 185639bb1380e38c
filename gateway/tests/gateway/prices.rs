//! What transactions offer for a compute unit.

use std::{collections::HashSet, time::Duration};

use crtx_chain::{instructions::compute_unit_price, testing::OnSend};
use crtx_gateway::Limits;
use crtx_store::{executions::State, fee_payers};
use serde_json::json;
use solana_transaction::versioned::VersionedTransaction;
use tokio_util::sync::CancellationToken;

use crate::support::Market;

const MOST: u64 = 50_000;

async fn start(paid: u64) -> Market {
    let fee_poll_every = Duration::from_millis(50);
    let market = Market::start_with(Limits { max_compute_unit_price: MOST, fee_poll_every, ..Market::limits() }).await;
    market.node.script().unit_prices = vec![paid; 150];
    market
}

/// What a transaction offers.
fn offer(bytes: &[u8]) -> u64 {
    let transaction: VersionedTransaction = wincode::deserialize(bytes).unwrap();
    let message = transaction.message;
    // The instruction is its number and the price.
    let number = compute_unit_price(0).data[0];
    let budget = solana_sdk_ids::compute_budget::ID;
    let price = message.instructions().iter().find(|one| {
        message.static_account_keys()[usize::from(one.program_id_index)] == budget && one.data[0] == number
    });
    price.map_or(0, |one| u64::from_le_bytes(one.data[1..9].try_into().unwrap()))
}

/// What each transaction offers that was sent, in order.
fn offers(market: &Market) -> Vec<u64> {
    let sent = market.node.script().sent.clone();
    let mut seen = HashSet::new();
    sent.iter().filter(|bytes| seen.insert(*bytes)).map(|bytes| offer(bytes)).collect()
}

fn task() -> serde_json::Value {
    json!({"task": "it"})
}

async fn until_asked(market: &Market) {
    while !market.node.script().requests.contains_key("getRecentPrioritizationFees") {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_offers_what_others_paid_of_late_and_the_node_is_not_asked_for_each_transaction() {
    let market = start(1_200).await;
    assert_eq!(market.execute(&task()).await.status, 200);
    until_asked(&market).await;
    assert_eq!(market.execute(&task()).await.status, 200);
    let offers = offers(&market);
    assert_eq!((offers.len(), offers[0]), (4, 0), "nothing was known before the first call");
    assert_eq!(offers[2..], [1_200; 2]);
    assert_eq!(market.node.script().requests["getRecentPrioritizationFees"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_a_node_says_a_call_offers_no_more_than_the_setting() {
    let market = start(u64::MAX).await;
    assert_eq!(market.execute(&task()).await.status, 200);
    until_asked(&market).await;
    assert_eq!(market.execute(&task()).await.status, 200);
    assert_eq!(offers(&market)[2..], [MOST; 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_settlement_close_to_its_deadline_offers_the_most() {
    let market = start(0).await;
    let id =
        market.execute(&json!({"task": "it", "parameters": {"delay_ms": 300}, "async": true})).await.execution_id();
    market.node.script().on_send = OnSend::Drop;
    while offers(&market).len() < 2 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // Its outcome is unknown, and later it is known to be expired.
    tokio::time::sleep(Duration::from_millis(600)).await;
    market.set_deadline(id, chrono::Utc::now().timestamp() + 6);
    {
        let mut script = market.node.script();
        (script.on_send, script.finalized_height, script.last_valid_block_height) = (OnSend::Land, 1_000, 2_000);
    }
    assert_eq!(market.resume(id).await.state, State::Completed);
    let offers = offers(&market);
    assert_eq!((offers.len(), &offers[..2]), (3, &[0, 0][..]));
    assert!((MOST * 9 / 10..=MOST).contains(&offers[2]), "{offers:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_shows_what_is_offered() {
    let market = start(1_200).await;
    let shutdown = CancellationToken::new();
    let worker =
        tokio::spawn(crtx_gateway::run(market.gateway.clone(), crtx_gateway::Recovery::Here, shutdown.clone()));
    for _ in 0..200 {
        let shown = fee_payers::latest(market.database.pool()).await.unwrap();
        if shown.is_some_and(|payer| payer.compute_unit_price == 1_200) {
            shutdown.cancel();
            return worker.await.expect("worker");
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("it was never shown");
}
