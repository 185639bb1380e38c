//! How a gateway handles pauses, crashes, failed dependencies, and executions that others end on chain.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests"
)]

mod support;

use std::time::{Duration, Instant};

use agent_marketplace::state::ExecutionStatus;
use crtx_chain::{
    FetchedAccount,
    testing::OnSend,
    token::{TOKEN_PROGRAM_ID, TokenAccount},
};
use crtx_gateway::Limits;
use crtx_protocol::result_hash::ResultHash;
use crtx_store::{api_keys, executions::State, testing::probes};
use serde_json::{Value, json};
use solana_pubkey::Pubkey;
use support::{HOLDING, Market, PRICE};
use uuid::Uuid;

fn task() -> Value {
    json!({"task": "it"})
}

/// The amount that the key's grant has spent.
async fn spent(market: &Market) -> u64 {
    api_keys::list(market.database.pool(), &market.wallet).await.unwrap()[0].spent.0
}

/// Waits until the row is in `state`.
async fn until(market: &Market, id: Uuid, state: State) {
    let started = Instant::now();
    loop {
        let now = market.find(id).await.map(|row| row.state);
        if now == Some(state) {
            return;
        }
        assert!(started.elapsed() < Duration::from_secs(30), "{id} is {now:?}, not {state:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Adds an open record of this gateway to the chain, with a deadline `ago` seconds in the past.
fn overdue_record(market: &Market, id: Uuid, ago: i64) -> Pubkey {
    let address = market.instructions.addresses.execution(&market.wallet, id.as_bytes());
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs().cast_signed();
    let mut record: agent_marketplace::state::ExecutionRecord = bytemuck::Zeroable::zeroed();
    record.agent = market.agent;
    record.caller = market.wallet;
    record.refund_owner = market.wallet;
    record.rent_payer = market.gateway.authority();
    record.execution_id = id.into_bytes();
    record.amount = PRICE;
    record.revision = 1;
    record.deadline_unix_s = now - ago;
    record.status = ExecutionStatus::Open as u8;
    market.set(address, &record);
    address
}

fn sweeping() -> Limits {
    Limits { sweep_every: Duration::from_millis(100), ..Market::limits() }
}

async fn refunded_on_chain(market: &Market, id: Uuid) {
    let started = Instant::now();
    while market.record(id).unwrap().status() == Some(ExecutionStatus::Open) {
        assert!(started.elapsed() < Duration::from_secs(30), "{id} is still open");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_overdue_execution_is_refunded_although_the_database_does_not_know_it() {
    let market = Market::start_with(sweeping()).await;
    let id = Uuid::from_u128(7);
    overdue_record(&market, id, 60);
    let worker = market.work();
    refunded_on_chain(&market, id).await;
    worker.stop().await;
    assert_eq!(market.record(id).unwrap().status(), Some(ExecutionStatus::Expired));
    assert_eq!(market.usdc().amount, HOLDING + PRICE, "the record was added without a payment");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_execution_within_its_time_is_not_swept() {
    let market = Market::start_with(sweeping()).await;
    let id = Uuid::from_u128(7);
    overdue_record(&market, id, -30);
    let worker = market.work();
    tokio::time::sleep(Duration::from_secs(2)).await;
    worker.stop().await;
    assert_eq!(market.record(id).unwrap().status(), Some(ExecutionStatus::Open));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_without_a_charge_follows_a_record_that_charges() {
    let market = Market::start_with(sweeping()).await;
    market.node.script().on_send = OnSend::LandAndFail;
    let answer = market.execute_once("k", &task()).await;
    assert_eq!(answer.status, 503, "{answer:?}");
    let id = market.id_of("k");
    overdue_record(&market, id, 60);
    market.node.script().on_send = OnSend::Land;
    let worker = market.work();
    refunded_on_chain(&market, id).await;
    let started = Instant::now();
    loop {
        let row = market.find(id).await;
        if row.is_none() || row.as_ref().is_some_and(|row| row.opened_at.is_some() && row.state == State::Failed) {
            break;
        }
        assert!(started.elapsed() < Duration::from_secs(10), "{row:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn locked_mirror_rows_delay_no_paid_call() {
    let market = Market::start().await;
    let answer = market.execute(&task()).await;
    assert_eq!(answer.status, 200);
    let pool = market.database.pool();
    while probes::mirrored_executions(pool).await < 1 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let resync = probes::lock_mirror(pool).await;
    for _ in 0..3 {
        let answer = tokio::time::timeout(Duration::from_secs(20), market.execute(&task())).await;
        assert_eq!(answer.expect("nothing waits for the mirror").status, 200);
    }
    assert_eq!(probes::mirrored_executions(pool).await, 1);
    resync.rollback().await.unwrap();
    let started = Instant::now();
    while probes::mirrored_executions(pool).await < 4 {
        assert!(started.elapsed() < Duration::from_secs(20), "the mirror is updated once the rows are unlocked");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_content_store_loses_no_result_and_delays_no_settlement() {
    let market = Market::start().await;
    let folder = market.config.content.folder().unwrap();
    std::fs::remove_dir_all(folder).unwrap();
    std::fs::write(folder, "a file in the place of the folder").unwrap();
    let answer = market.execute(&task()).await;
    assert_eq!((answer.status, &answer.body["result"]), (200, &json!("did it")), "{answer:?}");
    assert_eq!(market.usdc().amount, HOLDING - PRICE);
    let hash = ResultHash::of(b"did it");
    let path = format!("/ipfs/{}", crtx_protocol::content::cid_of(&hash));
    let get = || axum::http::Request::builder().uri(&path).body(axum::body::Body::empty()).unwrap();
    let content = market.send(get()).await;
    assert_eq!((content.status, content.body), (200, json!("did it")), "served from the database");

    std::fs::remove_file(folder).unwrap();
    std::fs::create_dir(folder).unwrap();
    let worker = market.work();
    let started = Instant::now();
    while market.gateway.content().get(&hash).await.unwrap().is_none() {
        assert!(started.elapsed() < Duration::from_secs(20), "the result is stored once the store works");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    worker.stop().await;
    assert_eq!(market.send(get()).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn settlements_that_expire_repeatedly_do_not_cause_a_refund_of_a_good_result() {
    let market = Market::start().await;
    let node = market.node.clone();
    tokio::spawn(async move {
        while node.script().landed.len() != 1 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // Every settlement is lost, and its blockhash expires soon.
        let mut script = node.script();
        (script.on_send, script.finalized_height) = (OnSend::Drop, 1_000);
    });
    let answer = market.execute_once("k", &json!({"task": "it", "parameters": {"delay_ms": 200}})).await;
    assert_eq!(answer.status, 202, "{answer:?}");
    let id = market.id_of("k");
    let worker = market.work();
    let started = Instant::now();
    while probes::expired_transactions(market.database.pool()).await < 5 {
        assert!(started.elapsed() < Duration::from_secs(60), "settlements are signed again");
        assert_ne!(market.row(id).await.state, State::Refunding, "{:?}", market.row(id).await.failure);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    {
        let mut script = market.node.script();
        script.on_send = OnSend::Land;
        script.last_valid_block_height = 2_000;
    }
    until(&market, id, State::Completed).await;
    worker.stop().await;
    assert_eq!(market.usdc().amount, HOLDING - PRICE);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_cannot_be_settled_before_the_deadline_is_refunded() {
    let market = Market::start().await;
    let node = market.node.clone();
    tokio::spawn(async move {
        while node.script().landed.len() != 1 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        node.script().on_send = OnSend::Drop;
    });
    let answer = market.execute_once("k", &json!({"task": "it", "parameters": {"delay_ms": 200}})).await;
    assert_eq!(answer.status, 202, "{answer:?}");
    let id = market.id_of("k");
    let mut record = market.record(id).unwrap();
    record.deadline_unix_s -= 200;
    market.set(market.instructions.addresses.execution(&market.wallet, id.as_bytes()), &record);
    {
        let mut script = market.node.script();
        (script.on_send, script.finalized_height, script.last_valid_block_height) = (OnSend::Land, 1_000, 2_000);
        script.sent.clear();
    }
    let row = market.resume(id).await;
    assert_eq!(row.state, State::Failed);
    assert!(row.failure.unwrap().message.contains("before the deadline"));
    assert_eq!(market.usdc().amount, HOLDING);
}

/// Adds calls that a dead process abandoned while their creators worked.
async fn leave_running(market: &Market, count: u128, parameters: &Value) {
    let template = market.execute_once("template", &task()).await;
    assert_eq!(template.status, 200, "{template:?}");
    let request = json!({"task": "it", "parameters": parameters});
    for number in 0..count {
        let id = Uuid::from_u128(1_000 + number);
        let address = overdue_record(market, id, -120);
        probes::leave_running(market.database.pool(), &address, id, &request).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_creators_delay_no_settlement_of_other_calls() {
    let market = Market::start().await;
    only_the_opening_lands(&market);
    let answer = market.execute_once("good", &json!({"task": "it", "parameters": {"delay_ms": 200}})).await;
    assert_eq!(answer.status, 202, "{answer:?}");
    market.node.script().on_send = OnSend::Land;
    let good = market.id_of("good");
    let worker = market.work();
    until(&market, good, State::Completed).await;
    worker.stop().await;

    // The same with many earlier calls whose creator hangs.
    leave_running(&market, 100, &json!({"behaviour": "slow"})).await;
    let landed = market.node.script().landed.len();
    only_one_more_lands(&market, landed);
    let answer = market.execute_once("again", &json!({"task": "it", "parameters": {"delay_ms": 200}})).await;
    assert_eq!(answer.status, 202, "{answer:?}");
    market.node.script().on_send = OnSend::Land;
    let started = Instant::now();
    let worker = market.work();
    until(&market, market.id_of("again"), State::Completed).await;
    assert!(started.elapsed() < Duration::from_secs(5), "the settlement waited for creators that take 5 s each");
    worker.stop().await;
}

/// Lists the agent with a time-out of one minute.
fn patient_listing(market: &Market) {
    let mut listing = market.listing();
    listing.timeout_seconds = 60;
    listing.revision += 1;
    market.set(market.agent, &listing);
}

fn only_the_opening_lands(market: &Market) {
    only_one_more_lands(market, 0);
}

fn only_one_more_lands(market: &Market, before: usize) {
    let node = market.node.clone();
    tokio::spawn(async move {
        while node.script().landed.len() <= before {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        node.script().on_send = OnSend::Drop;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn executions_of_a_killed_process_are_resumed_long_before_its_leases_end() {
    let limits = Limits { lease: Duration::from_secs(600), ..Market::limits() };
    let market = Market::start_with(limits).await;
    patient_listing(&market);
    let body = json!({"task": "it", "parameters": {"behaviour": "slow once"}});
    market.execute_at_work_and_die("k", &body, Duration::from_millis(700)).await;
    let id = market.id_of("k");
    assert_eq!(market.row(id).await.state, State::Running);
    assert_eq!(market.resume(id).await.state, State::Completed);
    assert_eq!((market.creator_calls(), market.usdc().amount), (2, HOLDING - PRICE));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_loses_its_lease_stops_between_two_steps_and_leaves_no_transaction_open() {
    let market = Market::start().await;
    patient_listing(&market);
    let pool = market.database.pool();
    let body = json!({"task": "it", "parameters": {"delay_ms": 1500}});
    let calls = (0..4).map(|number| {
        let (router, body) = (&market, &body);
        async move { router.execute_once(&format!("k{number}"), body).await }
    });
    let calls = futures::future::join_all(calls);
    let theft = async {
        for number in 0..4 {
            until(&market, market.id_of(&format!("k{number}")), State::Running).await;
        }
        // Another process takes the leases over, as after a long pause of this process.
        probes::steal_leases(pool).await;
    };
    let (answers, ()) = tokio::join!(calls, theft);
    for answer in &answers {
        assert_eq!((answer.status, answer.code()), (503, "unavailable"), "{answer:?}");
    }
    assert_eq!(probes::idle_in_transaction(pool).await, 0);
    for number in 0..4 {
        let id = market.id_of(&format!("k{number}"));
        assert_eq!(market.resume(id).await.state, State::Completed);
    }
    assert_eq!(market.usdc().amount, HOLDING - 4 * PRICE, "each was paid once");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_execution_that_its_creator_settled_with_another_result_is_completed() {
    let market = Market::start().await;
    let body = json!({"task": "it", "parameters": {"behaviour": "slow once"}});
    market.execute_and_die("k", &body, Duration::from_millis(400)).await;
    let id = market.id_of("k");
    let address = market.instructions.addresses.execution(&market.wallet, id.as_bytes());
    let mut record = market.record(id).unwrap();
    record.status = ExecutionStatus::Completed as u8;
    record.result_hash = [9; 32];
    record.execution_time_ms = 77;
    market.set(address, &record);
    let row = market.resume(id).await;
    assert_eq!((row.state, row.delivered, row.result_hash), (State::Completed, None, Some([9; 32])));
    assert_eq!(row.charged.unwrap().amount.0, PRICE);
    let again = market.execute_once("k", &body).await;
    assert_eq!((again.status, again.code()), (502, "result_unavailable"), "{again:?}");
    assert!(again.message().contains("0.05 USDC was paid"), "{again:?}");
    assert_eq!(spent(&market).await, PRICE);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_its_creator_settled_itself_is_answered_with_what_the_record_says() {
    let market = Market::start().await;
    only_the_opening_lands(&market);
    let body = json!({"task": "it", "parameters": {"delay_ms": 200}});
    let answer = market.execute_once("k", &body).await;
    assert_eq!(answer.status, 202, "{answer:?}");
    let id = market.id_of("k");
    let address = market.instructions.addresses.execution(&market.wallet, id.as_bytes());
    let mut record = market.record(id).unwrap();
    record.status = ExecutionStatus::Completed as u8;
    record.result_hash = ResultHash::of(b"did it").0;
    (record.execution_time_ms, record.tokens_reported) = (77, 0);
    market.set(address, &record);
    {
        let mut script = market.node.script();
        (script.on_send, script.finalized_height, script.last_valid_block_height) = (OnSend::Land, 1_000, 2_000);
    }
    assert_eq!(market.resume(id).await.state, State::Completed);
    let again = market.execute_once("k", &body).await;
    assert_eq!((again.status, &again.body["result"]), (200, &json!("did it")), "{again:?}");
    assert_eq!((&again.body["execution_time_ms"], again.body.get("tokens_used")), (&json!(77), None));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_execution_that_was_settled_before_its_refund_ends_completed() {
    let market = Market::start().await;
    only_the_opening_lands(&market);
    let body = json!({"task": "it", "parameters": {"delay_ms": 200, "behaviour": "fail"}});
    let answer = market.execute_once("k", &body).await;
    assert_eq!(answer.status, 500, "{answer:?}");
    let id = market.id_of("k");
    let address = market.instructions.addresses.execution(&market.wallet, id.as_bytes());
    let mut record = market.record(id).unwrap();
    record.status = ExecutionStatus::Completed as u8;
    record.result_hash = [9; 32];
    market.set(address, &record);
    {
        let mut script = market.node.script();
        (script.on_send, script.finalized_height, script.last_valid_block_height) = (OnSend::Land, 1_000, 2_000);
    }
    let row = market.resume(id).await;
    assert_eq!((row.state, row.charged.unwrap().amount.0), (State::Completed, PRICE));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_shows_a_price_that_fell_before_the_opening() {
    let market = Market::start().await;
    let cheaper = PRICE / 2;
    let node = market.node.clone();
    let (agent, mut listing) = (market.agent, market.listing());
    listing.price = cheaper;
    listing.revision += 1;
    // The price falls between its read and the opening.
    let mut effect = std::mem::replace(&mut node.script().effect, Box::new(|_, _| {}));
    let falls = crtx_chain::testing::program::program_account(&listing);
    node.script().effect = Box::new(move |bytes, accounts| {
        accounts.insert(agent, falls.clone());
        effect(bytes, accounts);
    });
    let answer = market.execute_once("k", &task()).await;
    assert_eq!((answer.status, &answer.body["cost_usdc"]), (200, &json!(0.025)), "{answer:?}");
    assert_eq!(market.usdc().amount, HOLDING - cheaper);
    assert_eq!(market.execute_once("k", &task()).await.body, answer.body, "a replay shows the same price");
    assert_eq!(spent(&market).await, cheaper);
    let row = market.row(market.id_of("k")).await;
    assert_eq!(row.charged.unwrap().amount.0, cheaper);
}

/// Closes the wallet's USDC account after its call is open, and lets the creator fail.
async fn fail_after_closing_the_account(market: &Market) -> Uuid {
    let node = market.node.clone();
    let usual = market.instructions.usdc_of(&market.wallet);
    tokio::spawn(async move {
        while node.script().landed.len() != 1 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        node.script().accounts.remove(&usual);
    });
    let body = json!({"task": "it", "parameters": {"delay_ms": 200, "behaviour": "fail"}});
    let answer = market.execute_once("k", &body).await;
    assert!(answer.message().contains("the refund is under way"), "{answer:?}");
    market.id_of("k")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_to_a_closed_account_goes_to_another_account_of_the_owner() {
    let market = Market::start().await;
    let other = Pubkey::new_from_array([77; 32]);
    let account = TokenAccount {
        mint: market.instructions.usdc_mint,
        owner: market.wallet,
        amount: 0,
        delegate: None,
        frozen: false,
    };
    let fetched = FetchedAccount { owner: TOKEN_PROGRAM_ID, lamports: 1, data: account.encode() };
    market.node.script().accounts.insert(other, fetched);
    let id = fail_after_closing_the_account(&market).await;
    assert_eq!(market.resume(id).await.state, State::Failed);
    let got = TokenAccount::decode(&market.node.script().accounts[&other]).unwrap();
    assert_eq!(got.amount, PRICE);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_to_an_owner_without_any_account_creates_the_associated_one_again() {
    let market = Market::start().await;
    let id = fail_after_closing_the_account(&market).await;
    assert_eq!(market.resume(id).await.state, State::Failed);
    assert_eq!(market.usdc().amount, PRICE);
}

#[tokio::test(flavor = "multi_thread")]
async fn refunds_that_the_chain_refuses_are_tried_less_and_less_often() {
    let market = Market::start().await;
    only_the_opening_lands(&market);
    let body = json!({"task": "it", "parameters": {"delay_ms": 200, "behaviour": "fail"}});
    let answer = market.execute_once("k", &body).await;
    assert!(answer.message().contains("the refund is under way"), "{answer:?}");
    market.node.script().on_send = OnSend::LandAndFail;
    let worker = market.work();
    tokio::time::sleep(Duration::from_secs(12)).await;
    worker.stop().await;
    let refused = market.node.script().landed.values().filter(|failed| **failed).count();
    assert!((1..=5).contains(&refused), "{refused} refusals in 12 seconds");
    assert_eq!(market.row(market.id_of("k")).await.state, State::Refunding);
}
