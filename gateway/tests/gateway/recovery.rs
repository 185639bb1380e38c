//! How a gateway handles pauses, crashes, failed dependencies, and executions that others end on chain.

use std::time::{Duration, Instant};

use crate::support::{HOLDING, Market, PRICE};
use agent_marketplace::{
    error::MarketplaceError,
    state::{AgentListed, ExecutionRecord, ExecutionStatus, FailureReason, OpenTerms, Settler},
};
use crtx_chain::{
    Execution, FetchedAccount, Layout,
    testing::OnSend,
    token::{TOKEN_PROGRAM_ID, TokenAccount},
};
use crtx_content::ContentLocation;
use crtx_gateway::Limits;
use crtx_protocol::result_hash::ResultHash;
use crtx_store::{executions::State, testing::probes};
use serde_json::{Value, json};
use solana_pubkey::Pubkey;
use uuid::Uuid;

fn task() -> Value {
    json!({"task": "it"})
}

/// The amount that the key's grant has spent.
async fn spent(market: &Market) -> u64 {
    let key =
        crtx_store::testing::single::api_key(market.database.pool(), &market.session_key()).await.unwrap().unwrap();
    key.spent.0
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
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs().cast_signed();
    let mut record: ExecutionRecord = bytemuck::Zeroable::zeroed();
    record.agent = market.agent;
    record.caller = market.wallet;
    record.rent_payer = market.gateway.authority();
    record.execution_id = id.into_bytes();
    record.amount = PRICE;
    record.revision = 1;
    record.fee_bps = 100;
    record.status = ExecutionStatus::Open as u8;
    let mut terms: OpenTerms = bytemuck::Zeroable::zeroed();
    terms.result_key = market.listing().result_key;
    terms.paid_from = market.instructions.usdc_of(&market.wallet);
    terms.deadline_unix_s = now - ago;
    terms.timeout_seconds = market.listing().timeout_seconds;
    market.set_record(id, Execution { record, terms: Some(terms) });
    market.record_address(id)
}

/// Completed, failed and expired executions of the agent, as its listing counts them.
fn totals(market: &Market) -> (u64, u64, u64) {
    let listing = market.listing();
    (listing.completed_executions, listing.failed_executions, listing.expired_executions)
}

fn now_unix_s() -> i64 {
    std::time::UNIX_EPOCH.elapsed().unwrap().as_secs().cast_signed()
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

/// Makes a call that fails with `failure` before its deadline, and whose refund does not land until after it.
async fn refund_late(market: &Market, behaviour: &str) -> Uuid {
    only_the_opening_lands(market);
    let answer = market.execute_once("k", &json!({"task": "it", "parameters": {"behaviour": behaviour}})).await;
    assert!(answer.message().contains("the refund is under way"), "{answer:?}");
    let id = market.id_of("k");
    market.set_deadline(id, now_unix_s() - 60);
    let mut script = market.node.script();
    (script.on_send, script.finalized_height, script.last_valid_block_height) = (OnSend::Land, 1_000, 2_000);
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proved_failure_of_the_agent_counts_although_its_refund_lands_after_the_deadline() {
    for (behaviour, reason, failed) in [
        ("slow", FailureReason::Timeout, 1),
        ("not_json", FailureReason::InvalidResponse, 0),
        ("fail", FailureReason::CreatorFailed, 1),
    ] {
        for limits in [Market::limits(), sweeping()] {
            let market = Market::start_with(limits).await;
            let id = refund_late(&market, behaviour).await;
            assert_eq!(market.resume(id).await.state, State::Failed);
            let record = market.record(id).unwrap();
            assert_eq!((record.status(), record.failure_reason()), (Some(ExecutionStatus::Failed), Some(reason)));
            assert_eq!(totals(&market), (0, failed, 0), "{behaviour}");
            assert_eq!(market.listing().unproved_failures, 1 - failed, "{behaviour}");
            assert_eq!((market.usdc().amount, market.grant().spent), (HOLDING, 0), "the grant gets it back, too");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sweep_reports_the_stored_reason_of_an_execution_that_no_worker_ended() {
    // No worker takes the row, because its lease is not over.
    let limits = Limits { lease: Duration::from_secs(600), ..sweeping() };
    for (fails, reason, expected) in
        [(true, FailureReason::Timeout, (0, 1, 0)), (false, FailureReason::Interrupted, (0, 0, 1))]
    {
        let market = Market::start_with(limits).await;
        patient_listing(&market);
        let body = json!({"task": "it", "parameters": {"behaviour": "slow once"}});
        market.execute_and_die_at_the_creator("k", &body).await;
        let id = market.id_of("k");
        assert_eq!(market.row(id).await.state, State::Running);
        if fails {
            probes::leave_refunding(market.database.pool(), &market.record_address(id), reason as u8).await;
        }
        market.set_deadline(id, now_unix_s() - 60);
        let worker = market.work();
        refunded_on_chain(&market, id).await;
        worker.stop().await;
        let record = market.record(id).unwrap();
        assert_eq!((record.status(), record.failure_reason()), (Some(ExecutionStatus::Failed), Some(reason)));
        assert_eq!(totals(&market), expected);
        assert_eq!((market.usdc().amount, market.grant().spent), (HOLDING, 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_gateway_died_before_it_asked_the_agent_does_not_count_as_its_failure() {
    let market = Market::start().await;
    leave_running(&market, 1, &json!({})).await;
    let id = Uuid::from_u128(1_000);
    probes::undo_dispatch(market.database.pool(), &market.record_address(id)).await;
    market.set_deadline(id, now_unix_s() + 10);
    let calls = market.creator_calls();
    assert_eq!(market.resume(id).await.state, State::Failed);
    assert_eq!(market.record(id).unwrap().failure_reason(), Some(FailureReason::Interrupted));
    assert_eq!((market.creator_calls(), totals(&market)), (calls, (1, 0, 1)));
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
    let resync = probes::lock_mirror(market.database.pool()).await;
    for _ in 0..3 {
        let answer = tokio::time::timeout(Duration::from_secs(20), market.execute(&task())).await;
        assert_eq!(answer.expect("nothing waits for the mirror").status, 200);
    }
    resync.rollback().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_content_store_loses_no_result_and_delays_no_settlement() {
    let market = Market::start().await;
    let ContentLocation::Folder(folder) = &market.config.content else { panic!("a folder") };
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
    market.set_deadline(id, now_unix_s() - 20);
    {
        let mut script = market.node.script();
        (script.on_send, script.finalized_height, script.last_valid_block_height) = (OnSend::Land, 1_000, 2_000);
        script.sent.clear();
    }
    let row = market.resume(id).await;
    assert_eq!(row.state, State::Failed);
    assert!(row.failure.unwrap().message.contains("before the deadline"));
    assert_eq!(market.usdc().amount, HOLDING);
    assert_eq!(market.record(id).unwrap().failure_reason(), Some(FailureReason::Interrupted), "the result was good");
    assert_eq!(totals(&market), (0, 0, 1));
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
    market.set_listing(listing);
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
    market.execute_at_work_and_die_at_the_creator("k", &body).await;
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

/// Settles the open record on chain as its creator does, without this gateway.
fn settled_by_creator(market: &Market, id: Uuid, result_hash: [u8; 32]) {
    let mut execution = market.record(id).unwrap();
    execution.record.status = ExecutionStatus::Completed as u8;
    execution.record.settled_by = Settler::Creator as u8;
    execution.record.result_hash = result_hash;
    execution.record.execution_time_ms = 77;
    market.set_record(id, execution);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_its_creator_settles_while_it_is_on_its_way_is_delivered() {
    for binding in [0, 1] {
        let market = Market::start().await;
        market.set_listing(AgentListed { binding, ..market.listing() });
        let body = json!({"task": "it", "parameters": {"delay_ms": 400}});
        let call = market.execute(&body);
        let settle = async {
            while market.node.script().landed.is_empty() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            let id = opened(&market);
            settled_by_creator(&market, id, ResultHash::of(b"did it").0);
        };
        let (answer, ()) = tokio::join!(call, settle);
        assert_eq!((answer.status, &answer.body["result"]), (200, &json!("did it")), "{answer:?}");
        assert_eq!(market.record(answer.execution_id()).unwrap().settled_by, Settler::Creator as u8);
    }
}

/// The id of the only open record.
fn opened(market: &Market) -> Uuid {
    let script = market.node.script();
    let mut records = script.accounts.values().filter_map(|account| Execution::decode(&account.data).ok());
    Uuid::from_bytes(records.next().expect("a record").execution_id)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_execution_that_its_creator_settled_with_another_result_is_completed() {
    let market = Market::start().await;
    let body = json!({"task": "it", "parameters": {"behaviour": "slow once"}});
    market.execute_and_die_at_the_creator("k", &body).await;
    let id = market.id_of("k");
    settled_by_creator(&market, id, [9; 32]);
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
    settled_by_creator(&market, id, ResultHash::of(b"did it").0);
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
    settled_by_creator(&market, id, [9; 32]);
    {
        let mut script = market.node.script();
        (script.on_send, script.finalized_height, script.last_valid_block_height) = (OnSend::Land, 1_000, 2_000);
    }
    let row = market.resume(id).await;
    assert_eq!((row.state, row.charged.unwrap().amount.0), (State::Completed, PRICE));
}

#[tokio::test(flavor = "multi_thread")]
async fn terms_that_change_while_the_opening_is_on_its_way_cost_nothing_and_a_retry_agrees_to_the_new_ones() {
    let market = Market::start().await;
    let listing = market.listing();
    for (key, changed) in [
        ("cheaper", AgentListed { price: PRICE / 2, ..listing }),
        ("dearer", AgentListed { price: PRICE * 2, ..listing }),
        ("time-out", AgentListed { timeout_seconds: 2, ..listing }),
        ("binding", AgentListed { binding: 1, ..listing }),
        ("result-key", AgentListed { result_key: Pubkey::new_from_array([5; 32]), ..listing }),
        ("document", AgentListed { metadata_hash: [2; 32], ..listing }),
    ] {
        let (agent, account) = (market.agent, crtx_chain::testing::program::program_account(&changed));
        // The terms change between their read and the opening.
        market.node.script().refuses = Box::new(move |bytes, accounts| {
            let mut accounts = accounts.clone();
            accounts.insert(agent, account.clone());
            crtx_chain::testing::program::refuses(bytes, &accounts)
        });
        let answer = market.execute_once(key, &task()).await;
        assert_eq!((answer.status, answer.code()), (503, "unavailable"), "{key}: {answer:?}");
        assert!(answer.message().contains("nothing was charged, try again"), "{key}: {answer:?}");
        assert_eq!((market.usdc().amount, market.creator_calls()), (HOLDING, 0), "{key}");
    }
    market.node.script().refuses = Box::new(crtx_chain::testing::program::refuses);
    market.set_listing(AgentListed { price: PRICE / 2, ..listing });
    let again = market.execute_once("cheaper", &task()).await;
    assert_eq!((again.status, &again.body["cost_usdc"]), (200, &json!(0.025)), "{again:?}");
    assert_eq!(spent(&market).await, PRICE / 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_simulation_that_finds_other_terms_says_so() {
    let market = Market::start().await;
    let code = 6_000 + MarketplaceError::TermsChanged as u32;
    market.node.script().simulation = Some(json!({"InstructionError": [1, {"Custom": code}]}));
    let answer = market.execute(&task()).await;
    assert_eq!((answer.status, answer.code()), (503, "unavailable"), "{answer:?}");
    assert!(answer.message().contains("the agent's terms changed while the call was prepared"), "{answer:?}");
    assert!(answer.headers.contains_key("retry-after") && market.node.script().sent.is_empty(), "{answer:?}");
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

/// An empty USDC account of the wallet that is not its associated one.
fn another_account(market: &Market) -> Pubkey {
    let other = Pubkey::new_from_array([77; 32]);
    let (mint, owner) = (market.instructions.usdc_mint, market.wallet);
    let account = TokenAccount { mint, owner, amount: 0, delegate: None, frozen: false };
    let fetched = FetchedAccount { owner: TOKEN_PROGRAM_ID, lamports: 1, data: account.encode() };
    market.node.script().accounts.insert(other, fetched);
    other
}

fn holds(market: &Market, account: &Pubkey) -> u64 {
    TokenAccount::decode(&market.node.script().accounts[account]).unwrap().amount
}

/// Lets another account than the associated one be the one that paid for the open record.
fn paid_from(market: &Market, id: Uuid, account: Pubkey) {
    let mut execution = market.record(id).unwrap();
    execution.terms.as_mut().unwrap().paid_from = account;
    market.set_record(id, execution);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_goes_to_the_account_that_paid() {
    let market = Market::start_with(sweeping()).await;
    let (id, other) = (Uuid::from_u128(7), another_account(&market));
    overdue_record(&market, id, 60);
    paid_from(&market, id, other);
    let worker = market.work();
    refunded_on_chain(&market, id).await;
    worker.stop().await;
    assert_eq!((holds(&market, &other), market.usdc().amount), (PRICE, HOLDING));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_goes_to_the_associated_account_if_the_one_that_paid_is_closed() {
    let market = Market::start().await;
    only_the_opening_lands(&market);
    let body = json!({"task": "it", "parameters": {"delay_ms": 200, "behaviour": "fail"}});
    let answer = market.execute_once("k", &body).await;
    assert!(answer.message().contains("the refund is under way"), "{answer:?}");
    let id = market.id_of("k");
    paid_from(&market, id, Pubkey::new_from_array([78; 32]));
    market.node.script().on_send = OnSend::Land;
    market.node.script().finalized_height = 1_000;
    market.node.script().last_valid_block_height = 2_000;
    assert_eq!(market.resume(id).await.state, State::Failed);
    assert_eq!(market.usdc().amount, HOLDING);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_never_goes_to_an_account_that_neither_paid_nor_is_the_associated_one() {
    let market = Market::start().await;
    let other = another_account(&market);
    let id = fail_after_closing_the_account(&market).await;
    assert_eq!(market.resume(id).await.state, State::Failed);
    assert_eq!((holds(&market, &other), market.usdc().amount), (0, PRICE), "the associated account is created again");
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

/// Takes the creator's account away when the first escrow is open.
fn close_the_creators_account(market: &Market) {
    let (node, usual) = (market.node.clone(), market.instructions.usdc_of(&market.listing().creator));
    tokio::spawn(async move {
        while node.script().landed.is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        node.script().accounts.remove(&usual);
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_that_fails_is_no_verdict_about_a_creator_whose_settlement_was_refused() {
    let market = Market::start().await;
    let works = ["getLatestBlockhash", "getMultipleAccounts", "getSignatureStatuses", "getBlockHeight", "getSlot"];
    let works = [works.as_slice(), &["sendTransaction", "simulateTransaction", "getEpochInfo"]].concat();
    market.node.script().only = Some(works);
    close_the_creators_account(&market);
    let answer = market.execute_once("k", &json!({"task": "it", "parameters": {"delay_ms": 200}})).await;
    assert_eq!((answer.status, &answer.body["status"]), (202, &json!("running")), "{answer:?}");
    let id = market.id_of("k");
    assert_eq!(market.row(id).await.state, State::Settling);
    market.node.script().only = None;
    let row = market.resume(id).await;
    assert_eq!((row.state, row.failure.unwrap().reason), (State::Failed, Some(FailureReason::CreatorFailed as u8)));
    assert_eq!(market.node.script().landed.values().filter(|failed| **failed).count(), 1, "one refused settlement");
    assert_eq!((totals(&market), market.usdc().amount), ((0, 0, 0), HOLDING));
    assert_eq!(market.listing().unproved_failures, 1, "the gateway's word alone");
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_that_cannot_be_paid_are_not_searched_for_at_each_call() {
    let market = Market::start().await;
    let usual = market.instructions.usdc_of(&market.listing().creator);
    market.node.script().accounts.remove(&usual);
    for _ in 0..10 {
        let answer = market.execute(&task()).await;
        assert_eq!((answer.status, answer.code()), (422, "agent_unpayable"), "{answer:?}");
    }
    let script = market.node.script();
    assert_eq!((script.requests["getTokenAccountsByOwner"], script.sent.len()), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_accounts_of_known_payees_are_read_with_the_terms_of_the_call() {
    let market = Market::start().await;
    let reads = || market.node.script().requests["getMultipleAccounts"];
    assert_eq!(market.execute(&task()).await.status, 200);
    let first = reads();
    assert_eq!(market.execute(&task()).await.status, 200);
    // The terms, and the record that was opened.
    assert_eq!(reads() - first, 2);
    assert!(!market.node.script().requests.contains_key("getTokenAccountsByOwner"));
}
