//! The gateway's durable rows on a real PostgreSQL: every step needs its lease and its state, and a call that was paid
//! is never accepted a second time.

use std::{collections::HashSet, time::Duration};

use crtx_protocol::{transaction::Outcome, usdc::UsdcBase};
use crtx_store::{
    admission::{Reservation, Retry},
    api_keys::{self, NewApiKey},
    executions::{
        Call, CallRequest, Charged, Delivered, Executions, ExecutionsError, Failure, Landing, Lease, Reported,
        SettledElsewhere, State, StoredTransaction, TransactionKind,
    },
    leadership::{LeaderOf, Leadership},
    processes::Presence,
    testing::{
        TestDatabase,
        fixtures::{self, unbounded},
    },
};
use serde_json::{Map, json};
use solana_pubkey::Pubkey;
use strum::VariantArray as _;
use uuid::Uuid;

const LEASE: Duration = Duration::from_secs(60);

fn call(seed: u8) -> Call {
    let mut parameters = Map::new();
    parameters.insert("\u{0}".to_owned(), json!(["\u{0}", 1.5, u64::MAX, {"a": null}]));
    Call {
        idempotency_key: Some("key".to_owned()),
        request: CallRequest { task: "a \u{0} b".to_owned(), parameters },
        ..fixtures::call(seed)
    }
}

fn transaction(name: &str) -> StoredTransaction {
    StoredTransaction { signature: name.to_owned(), bytes: vec![1, 2, 3], last_valid_block_height: 150 }
}

fn delivered() -> Delivered {
    Delivered {
        result: "a \u{0} result".to_owned(),
        hash: [5; 32],
        signature: [6; 64],
        call_signature: Some([9; 64]),
        tokens_used: Some(7),
        execution_time_ms: 8,
        steps: Some(json!([{"thought": "hm"}])),
    }
}

fn failure(reason: Option<u8>) -> Failure {
    Failure {
        reason,
        signature: None,
        status: 500,
        code: "execution_failed".to_owned(),
        message: "why \u{0}".to_owned(),
    }
}

fn charged() -> Charged {
    Charged { amount: UsdcBase(40_000), creator_amount: UsdcBase(39_600), platform_amount: UsdcBase(400) }
}

fn reported() -> Reported {
    Reported { tokens_used: Some(7), execution_time_ms: 8 }
}

/// Whatever state they are in.
async fn claim(executions: &Executions, limit: u32) -> Vec<Lease> {
    executions.claim(State::VARIANTS, limit).await.unwrap().into_iter().map(|claimed| claimed.lease).collect()
}

async fn reserved(executions: &Executions, seed: u8) -> Lease {
    match executions.reserve(&call(seed), &unbounded()).await.unwrap() {
        Reservation::New(lease) => lease,
        other => panic!("not reserved: {other:?}"),
    }
}

fn lost<T: std::fmt::Debug>(result: Result<T, ExecutionsError>) -> bool {
    matches!(result, Err(ExecutionsError::LeaseLost))
}

#[tokio::test]
async fn a_call_is_read_back_exactly_as_it_was_accepted() {
    let database = TestDatabase::create().await;
    let executions = Executions::new(database.pool().clone(), LEASE);
    reserved(&executions, 1).await;
    let row = executions.get(&call(1).record).await.unwrap().unwrap();
    assert_eq!(row.call, call(1));
    assert_eq!((row.state, row.opened_at, row.finished_at), (State::Reserved, None, None));
    assert!(matches!(executions.reserve(&call(1), &unbounded()).await.unwrap(), Reservation::Existing(_)));
}

#[tokio::test]
async fn a_paid_call_goes_through_every_state_and_keeps_its_result() {
    let database = TestDatabase::create().await;
    let executions = Executions::new(database.pool().clone(), LEASE);
    let lease = reserved(&executions, 1).await;
    executions.signed(lease, TransactionKind::Open, &transaction("open")).await.unwrap();
    executions.opened(lease, State::Opening).await.unwrap();
    executions.dispatching(lease).await.unwrap();
    executions.result_stored(lease, &delivered(), None).await.unwrap();
    executions.signed(lease, TransactionKind::Complete, &transaction("complete")).await.unwrap();
    executions.completed_by(lease, &charged(), &reported(), None).await.unwrap();
    let row = executions.get(&lease.record).await.unwrap().unwrap();
    assert_eq!((row.state, row.delivered), (State::Completed, Some(delivered())));
    assert_eq!(row.charged, Some(charged()), "what the record says, not what was reserved");
    assert!(row.opened_at.is_some() && row.dispatched_at.is_some() && row.finished_at.is_some());
    assert!(
        lost(executions.completed_by(lease, &charged(), &reported(), None).await),
        "a finished execution is nobody's to change"
    );
}

#[tokio::test]
async fn no_step_follows_from_a_state_it_does_not_belong_to() {
    let database = TestDatabase::create().await;
    let executions = Executions::new(database.pool().clone(), LEASE);
    let lease = reserved(&executions, 1).await;
    assert!(lost(executions.opened(lease, State::Opening).await));
    assert!(lost(executions.dispatching(lease).await));
    assert!(lost(executions.result_stored(lease, &delivered(), None).await));
    assert!(lost(executions.signed(lease, TransactionKind::Complete, &transaction("s")).await));
    assert!(lost(executions.completed_by(lease, &charged(), &reported(), None).await));
    assert!(lost(executions.refunding(lease, &failure(Some(1))).await));
    assert!(lost(executions.signed(lease, TransactionKind::Fail, &transaction("r")).await));
    assert!(lost(executions.refunded(lease).await));
    executions.signed(lease, TransactionKind::Open, &transaction("open")).await.unwrap();
    assert!(
        lost(executions.signed(lease, TransactionKind::Open, &transaction("again")).await),
        "an opening is signed once"
    );
    executions.opened(lease, State::Opening).await.unwrap();
    assert!(lost(executions.not_opened(lease, &failure(None)).await), "what was paid cannot be called unopened");
}

#[tokio::test]
async fn a_transaction_is_stored_only_together_with_its_state() {
    let database = TestDatabase::create().await;
    let executions = Executions::new(database.pool().clone(), LEASE);
    let lease = reserved(&executions, 1).await;
    assert!(lost(executions.signed(lease, TransactionKind::Complete, &transaction("early")).await));
    let unresolved = executions.unresolved(&lease.record, TransactionKind::Complete).await.unwrap();
    assert_eq!(unresolved, [], "no transaction without its state");
    executions.signed(lease, TransactionKind::Open, &transaction("open")).await.unwrap();
    let unresolved = executions.unresolved(&lease.record, TransactionKind::Open).await.unwrap();
    assert_eq!(unresolved, [transaction("open")]);
}

#[tokio::test]
async fn a_transaction_of_several_executions_is_stored_for_all_of_them_or_for_none() {
    let database = TestDatabase::create().await;
    let executions = Executions::new(database.pool().clone(), LEASE);
    let leases = [reserved(&executions, 1).await, reserved(&executions, 2).await];
    let stale = reserved(&executions, 3).await;
    executions.not_opened(stale, &failure(None)).await.unwrap();
    let all = [leases[0], stale, leases[1]];
    assert!(!executions.signed_together(&all, TransactionKind::Open, &transaction("three")).await.unwrap());
    for lease in leases {
        assert_eq!(executions.get(&lease.record).await.unwrap().unwrap().state, State::Reserved);
        assert_eq!(executions.unresolved(&lease.record, TransactionKind::Open).await.unwrap(), []);
    }
    assert!(executions.signed_together(&leases, TransactionKind::Open, &transaction("two")).await.unwrap());
    for lease in leases {
        assert_eq!(executions.get(&lease.record).await.unwrap().unwrap().state, State::Opening);
        let unresolved = executions.unresolved(&lease.record, TransactionKind::Open).await.unwrap();
        assert_eq!(unresolved, [transaction("two")], "each can send it again");
    }
    executions.resolve(&leases[0].record, "two", &Outcome::Confirmed { slot: 9 }).await.unwrap();
    assert_eq!(executions.unresolved(&leases[0].record, TransactionKind::Open).await.unwrap(), []);
    let other = executions.unresolved(&leases[1].record, TransactionKind::Open).await.unwrap();
    assert_eq!(other, [transaction("two")], "each follows its outcome by itself");
}

#[tokio::test]
async fn results_that_are_stored_together_are_those_whose_leases_hold() {
    let database = TestDatabase::create().await;
    let executions = Executions::new(database.pool().clone(), LEASE);
    let mut leases = Vec::new();
    for number in 1..=3 {
        let lease = reserved(&executions, number).await;
        executions.signed(lease, TransactionKind::Open, &transaction(&format!("open {number}"))).await.unwrap();
        executions.opened(lease, State::Opening).await.unwrap();
        if number != 2 {
            executions.dispatching(lease).await.unwrap();
        }
        leases.push(lease);
    }
    let (bound, plain) =
        (delivered(), Delivered { call_signature: None, tokens_used: None, steps: None, ..delivered() });
    let results = [(leases[0], &bound), (leases[1], &bound), (leases[2], &plain)];
    let stored = executions.results_stored(&results, None).await.unwrap();
    assert_eq!(stored, [0, 2].map(|at| leases[at].record.to_string()).into());
    for (at, expected) in [(0, &bound), (2, &plain)] {
        let row = executions.get(&leases[at].record).await.unwrap().unwrap();
        assert_eq!((row.state, row.delivered.as_ref()), (State::ResultStored, Some(expected)));
    }
}

#[tokio::test]
async fn what_the_chain_said_about_a_transaction_is_final() {
    let database = TestDatabase::create().await;
    let executions = Executions::new(database.pool().clone(), LEASE);
    let lease = reserved(&executions, 1).await;
    executions.signed(lease, TransactionKind::Open, &transaction("open")).await.unwrap();
    executions.resolve(&lease.record, "open", &Outcome::Confirmed { slot: 9 }).await.unwrap();
    executions.resolve(&lease.record, "open", &Outcome::Expired).await.unwrap();
    assert_eq!(executions.unresolved(&lease.record, TransactionKind::Open).await.unwrap(), []);
}

#[tokio::test]
async fn a_landed_transaction_is_noted_with_the_step_that_follows_even_if_the_lease_is_lost() {
    let database = TestDatabase::create().await;
    let executions = Executions::new(database.pool().clone(), LEASE);
    let landing = |signature: &str| Landing { signature: signature.to_owned(), slot: 9 };
    let lease = reserved(&executions, 1).await;
    executions.signed(lease, TransactionKind::Open, &transaction("open")).await.unwrap();
    executions.opened_and_dispatching(lease, &landing("open")).await.unwrap();
    assert_eq!(executions.unresolved(&lease.record, TransactionKind::Open).await.unwrap(), []);
    assert!(lost(executions.opened_and_dispatching(lease, &landing("open")).await), "it is running already");

    executions.result_stored(lease, &delivered(), Some(&transaction("complete"))).await.unwrap();
    let row = executions.get(&lease.record).await.unwrap().unwrap();
    assert_eq!((row.state, row.delivered), (State::Settling, Some(delivered())));
    assert!(row.opened_at.is_some() && row.dispatched_at.is_some());
    let [stored] = &executions.unresolved(&lease.record, TransactionKind::Complete).await.unwrap()[..] else {
        panic!("one settlement")
    };
    assert_eq!(*stored, transaction("complete"));
    let again = executions.result_stored(lease, &delivered(), Some(&transaction("another"))).await;
    assert!(lost(again), "a second settlement is signed only when the first can no longer land");
    executions.postpone(lease, Duration::ZERO).await.unwrap();
    let completed = executions.completed_by(lease, &charged(), &reported(), Some(&landing("complete"))).await;
    assert!(lost(completed));
    assert_eq!(executions.unresolved(&lease.record, TransactionKind::Complete).await.unwrap(), []);
    let row = executions.get(&lease.record).await.unwrap().unwrap();
    assert_eq!(row.state, State::Settling, "the holder of the lease completes it");
}

#[tokio::test]
async fn a_worker_that_lost_its_lease_changes_nothing_any_more() {
    let database = TestDatabase::create().await;
    let short = Executions::new(database.pool().clone(), Duration::from_millis(1));
    let executions = Executions::new(database.pool().clone(), LEASE);
    let stale = reserved(&short, 1).await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    let [lease] = claim(&executions, 10).await[..] else { panic!("one row to claim") };
    assert_eq!(lease.record, stale.record);
    assert!(!executions.renew(stale).await.unwrap());
    assert!(executions.renew(lease).await.unwrap());
    assert!(lost(executions.signed(stale, TransactionKind::Open, &transaction("stale")).await));
    let landing = Landing { signature: "fresh".to_owned(), slot: 9 };
    executions.signed(lease, TransactionKind::Open, &transaction("fresh")).await.unwrap();
    assert_eq!(claim(&executions, 10).await, [], "a held lease is not claimed");
    assert!(lost(executions.opened_and_dispatching(stale, &landing).await));
    executions.opened_and_dispatching(lease, &landing).await.unwrap();
    assert!(lost(executions.result_stored(stale, &delivered(), Some(&transaction("stale"))).await));
    assert_eq!(executions.unresolved(&lease.record, TransactionKind::Complete).await.unwrap(), [], "nothing stored");
}

#[tokio::test]
async fn the_database_refuses_a_row_that_contradicts_itself() {
    let database = TestDatabase::create().await;
    let executions = Executions::new(database.pool().clone(), LEASE);
    let lease = reserved(&executions, 1).await;
    for change in [
        "state = 'lost'",
        "body_hash = '\\x00'",
        "request_hash = '\\x00'",
        "result_hash = '\\x00'",
        "result_signature = '\\x00'",
        "amount = -1",
        "timeout_seconds = 0",
        "tokens_used = -1",
        "execution_time_ms = -1",
        "charged_amount = -1, charged_creator_amount = 0, charged_platform_amount = 0",
        "charged_amount = 0, charged_creator_amount = -1, charged_platform_amount = 0",
        "charged_amount = 0, charged_creator_amount = 0, charged_platform_amount = -1",
        "charged_amount = 1",
        "charged_creator_amount = 1",
        "charged_platform_amount = 1",
        "failure_reason = 6",
        "error_status = 399",
        "lease_owner = NULL",
        "finished_at = now()",
        "state = 'completed', settled_elsewhere = true",
        "state = 'result_stored'",
        "state = 'settling', result = 'a', result_hash = request_hash, execution_time_ms = 1",
        "state = 'completed', finished_at = now()",
        "state = 'refunding'",
        "state = 'refunding', error_status = 500, error_code = 'execution_failed'",
    ] {
        let update = sqlx::AssertSqlSafe(format!("UPDATE executions SET {change} WHERE record = $1"));
        let refused = sqlx::query(update).bind(lease.record.to_string()).execute(database.pool()).await;
        let error = refused.expect_err(change);
        assert_eq!(error.as_database_error().unwrap().constraint(), Some("executions_are_sound"), "{change}: {error}");
    }
}

#[tokio::test]
async fn the_database_refuses_a_call_signature_of_another_length() {
    let database = TestDatabase::create().await;
    let executions = Executions::new(database.pool().clone(), LEASE);
    let lease = reserved(&executions, 1).await;
    let update = "UPDATE executions SET result_call_signature = '\\x00' WHERE record = $1";
    let refused = sqlx::query(update).bind(lease.record.to_string()).execute(database.pool()).await;
    let error = refused.expect_err("one byte");
    let constraint = error.as_database_error().unwrap().constraint();
    assert_eq!(constraint, Some("executions_are_sound"), "{error}");
}

#[tokio::test]
async fn workers_that_claim_at_once_never_share_an_execution() {
    let database = TestDatabase::create().await;
    let executions = Executions::new(database.pool().clone(), LEASE);
    for seed in 1..=40 {
        let lease = reserved(&executions, seed).await;
        executions.postpone(lease, Duration::ZERO).await.unwrap();
    }
    let claims = (0..8).map(|_| {
        let executions = executions.clone();
        tokio::spawn(async move { claim(&executions, 10).await })
    });
    let mut records = Vec::new();
    for claim in claims.collect::<Vec<_>>() {
        records.extend(claim.await.unwrap().into_iter().map(|lease| lease.record));
    }
    assert_eq!(records.len(), records.iter().collect::<HashSet<_>>().len(), "no record twice");
    records.extend(claim(&executions, 100).await.into_iter().map(|lease| lease.record));
    assert_eq!(records.len(), 40);
}

#[tokio::test]
async fn a_postponed_execution_is_left_alone_until_its_time_has_come() {
    let database = TestDatabase::create().await;
    let executions = Executions::new(database.pool().clone(), LEASE);
    let lease = reserved(&executions, 1).await;
    executions.postpone(lease, Duration::from_millis(300)).await.unwrap();
    assert_eq!(claim(&executions, 10).await, []);
    tokio::time::sleep(Duration::from_millis(350)).await;
    assert_eq!(claim(&executions, 10).await.len(), 1);
}

#[tokio::test]
async fn only_a_call_that_was_never_opened_is_taken_up_again() {
    let database = TestDatabase::create().await;
    let executions = Executions::new(database.pool().clone(), LEASE);
    let lease = reserved(&executions, 1).await;
    assert!(executions.retry(&call(1), &unbounded()).await.unwrap() == Retry::NotNow, "somebody is at it");
    executions.not_opened(lease, &failure(None)).await.unwrap();
    let other_body = Call { body_hash: [99; 32], ..call(1) };
    assert!(
        executions.retry(&other_body, &unbounded()).await.unwrap() == Retry::NotNow,
        "the key is bound to its body"
    );
    let cheaper = Call { amount: UsdcBase(40_000), ..call(1) };
    let Retry::Taken(again) = executions.retry(&cheaper, &unbounded()).await.unwrap() else {
        panic!("taken up again");
    };
    let row = executions.get(&again.record).await.unwrap().unwrap();
    assert_eq!((row.state, row.call.amount, row.failure), (State::Reserved, UsdcBase(40_000), None));

    executions.signed(again, TransactionKind::Open, &transaction("open")).await.unwrap();
    executions.opened(again, State::Opening).await.unwrap();
    executions.refunding(again, &failure(Some(3))).await.unwrap();
    executions.signed(again, TransactionKind::Fail, &transaction("fail")).await.unwrap();
    executions.refunded(again).await.unwrap();
    assert!(executions.retry(&call(1), &unbounded()).await.unwrap() == Retry::NotNow, "it was paid once");
    let row = executions.get(&again.record).await.unwrap().unwrap();
    assert_eq!(row.state, State::Failed);
    assert_eq!(row.failure.unwrap().message, "why \u{fffd}");
}

#[tokio::test]
async fn a_worker_claims_its_own_kind_of_work_alone() {
    let database = TestDatabase::create().await;
    let executions = Executions::new(database.pool().clone(), LEASE);
    for seed in 1..=2 {
        let lease = reserved(&executions, seed).await;
        executions.signed(lease, TransactionKind::Open, &transaction(&format!("open {seed}"))).await.unwrap();
        executions.opened(lease, State::Opening).await.unwrap();
        if seed == 2 {
            executions.refunding(lease, &failure(Some(1))).await.unwrap();
        }
        executions.postpone(lease, Duration::ZERO).await.unwrap();
    }
    assert_eq!(executions.claim(&State::SETTLEMENT, 10).await.unwrap(), []);
    let [refund] = executions.claim(&State::REFUND, 10).await.unwrap()[..] else { panic!("one refund") };
    assert_eq!((refund.lease.record, refund.agent), (call(2).record, call(2).agent));
    let [dispatch] = executions.claim(&State::DISPATCH, 10).await.unwrap()[..] else { panic!("one dispatch") };
    assert_eq!(dispatch.lease.record, call(1).record);
}

#[tokio::test]
async fn an_execution_that_somebody_else_settled_keeps_what_the_chain_says_and_no_other_result() {
    let database = TestDatabase::create().await;
    let executions = Executions::new(database.pool().clone(), LEASE);
    let lease = reserved(&executions, 1).await;
    executions.signed(lease, TransactionKind::Open, &transaction("open")).await.unwrap();
    executions.opened(lease, State::Opening).await.unwrap();
    executions.dispatching(lease).await.unwrap();
    executions.result_stored(lease, &delivered(), None).await.unwrap();
    let settled = SettledElsewhere { charged: charged(), result_hash: [9; 32], reported: reported() };
    executions.settled_elsewhere(lease, &settled).await.unwrap();
    let row = executions.get(&lease.record).await.unwrap().unwrap();
    assert_eq!((row.state, row.delivered, row.result_hash), (State::Completed, None, Some([9; 32])));
    assert_eq!((row.charged, row.settled_elsewhere), (Some(charged()), true));
}

#[tokio::test]
async fn a_row_follows_a_refund_on_chain_unless_somebody_works_on_it() {
    let database = TestDatabase::create().await;
    let executions = Executions::new(database.pool().clone(), LEASE);
    let lease = reserved(&executions, 1).await;
    executions.signed(lease, TransactionKind::Open, &transaction("open")).await.unwrap();
    assert!(!executions.follow_refund(&lease.record, &failure(Some(4))).await.unwrap(), "a worker has it in hand");
    executions.not_opened(lease, &failure(None)).await.unwrap();
    assert!(executions.follow_refund(&lease.record, &failure(Some(4))).await.unwrap());
    let row = executions.get(&lease.record).await.unwrap().unwrap();
    assert!(row.state == State::Failed && row.opened_at.is_some(), "it was opened after all: {row:?}");
    assert!(!executions.follow_refund(&lease.record, &failure(Some(4))).await.unwrap(), "once is enough");
}

#[tokio::test]
async fn a_refund_is_counted_for_the_api_key_once_by_every_path() {
    let database = TestDatabase::create().await;
    let executions = Executions::new(database.pool().clone(), LEASE);
    let key = NewApiKey {
        session_public_key: call(1).session_key.unwrap(),
        wallet: call(1).caller,
        grant: Pubkey::new_from_array([203; 32]),
        name: "test",
        last_four: "abcd",
    };
    api_keys::register(database.pool(), &key).await.unwrap();
    let counted = async || {
        let key = crtx_store::testing::single::api_key(database.pool(), &call(1).session_key.unwrap())
            .await
            .unwrap()
            .unwrap();
        (key.execution_count, key.spent)
    };
    for seed in 1..=2 {
        let lease = reserved(&executions, seed).await;
        executions.signed(lease, TransactionKind::Open, &transaction(&format!("open {seed}"))).await.unwrap();
        executions.opened(lease, State::Opening).await.unwrap();
        executions.refunding(lease, &failure(Some(1))).await.unwrap();
        if seed == 1 {
            executions.refunded(lease).await.unwrap();
        } else {
            executions.postpone(lease, Duration::ZERO).await.unwrap();
            assert!(executions.follow_refund(&lease.record, &failure(Some(4))).await.unwrap());
        }
        assert_eq!(counted().await, (seed.into(), UsdcBase(0)));
        assert!(!executions.follow_refund(&lease.record, &failure(Some(4))).await.unwrap());
        assert_eq!(counted().await, (seed.into(), UsdcBase(0)), "a second refund of the same record changes nothing");
    }
}

#[tokio::test]
async fn a_result_is_served_from_the_database_until_the_content_store_has_it() {
    let database = TestDatabase::create().await;
    let executions = Executions::new(database.pool().clone(), LEASE);
    let lease = reserved(&executions, 1).await;
    executions.signed(lease, TransactionKind::Open, &transaction("open")).await.unwrap();
    executions.opened(lease, State::Opening).await.unwrap();
    executions.dispatching(lease).await.unwrap();
    executions.result_stored(lease, &delivered(), None).await.unwrap();
    executions.content_missing(&lease.record).await.unwrap();
    assert_eq!(executions.result_by_hash(&delivered().hash).await.unwrap(), None, "nobody has paid for it yet");
    executions.signed(lease, TransactionKind::Complete, &transaction("complete")).await.unwrap();
    executions.completed_by(lease, &charged(), &reported(), None).await.unwrap();
    let result = delivered().result.into_bytes();
    assert_eq!(executions.result_by_hash(&delivered().hash).await.unwrap(), Some(result.clone()));
    assert_eq!(executions.without_content(10).await.unwrap(), [(lease.record.to_string(), result)]);
    executions.content_stored(&lease.record.to_string()).await.unwrap();
    assert_eq!(executions.without_content(10).await.unwrap(), []);
}

/// Ends the connection of a process's entry, as the end of the process does.
async fn kill(presence: Presence) {
    drop(presence);
    tokio::time::sleep(Duration::from_millis(100)).await;
}

#[tokio::test]
async fn the_leases_of_a_dead_process_are_free_at_once_and_those_of_a_living_one_are_not() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let (first, second) = (Executions::new(pool.clone(), LEASE), Executions::new(pool.clone(), LEASE));
    let (dead, alive) = (Uuid::from_u128(1), Uuid::from_u128(2));
    let doomed = Presence::establish(pool, dead).await.unwrap();
    first.set_process(Some(dead));
    let lease = reserved(&first, 1).await;
    first.signed(lease, TransactionKind::Open, &transaction("open")).await.unwrap();

    let mut survivor = Presence::establish(pool, alive).await.unwrap();
    second.set_process(Some(alive));
    let silence = Duration::from_millis(300);
    tokio::time::sleep(silence * 2).await;
    assert_eq!(survivor.bury_the_dead(silence).await.unwrap(), 0, "a silent process that holds its lock is paused");
    kill(doomed).await;
    assert_eq!(survivor.bury_the_dead(Duration::from_secs(60)).await.unwrap(), 0, "it gave a sign of life just now");
    assert_eq!(survivor.bury_the_dead(silence).await.unwrap(), 1);
    let [taken] = claim(&second, 10).await[..] else { panic!("one row to take over") };
    assert_eq!(taken.record, lease.record);
    assert!(lost(first.opened(lease, State::Opening).await), "the dead process's lease is worth nothing now");
    assert!(survivor.beat().await.unwrap());
}

#[tokio::test]
async fn one_process_leads_until_it_ends() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let take = || Leadership::take(pool, LeaderOf::Gateways(7));
    let mut first = take().await.unwrap().expect("nobody leads");
    assert!(take().await.unwrap().is_none() && first.prove().await.is_ok());
    assert!(Leadership::take(pool, LeaderOf::Gateways(8)).await.unwrap().is_some(), "of another authority");
    drop(first);
    tokio::time::sleep(Duration::from_millis(100)).await;
    let mut second = take().await.unwrap().expect("the first has ended");
    // A process that says nothing is stopped or cut off.
    tokio::time::sleep(Duration::from_millis(4_500)).await;
    assert!(take().await.unwrap().is_some() && second.prove().await.is_err());
}
