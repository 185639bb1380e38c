//! Reservations on a real PostgreSQL: concurrent calls never reserve the same money, limits count what they name, and a
//! call that is forgotten leaves no row.

use std::time::{Duration, Instant};

use crtx_protocol::{transaction::Outcome, usdc::UsdcBase};
use crtx_store::{
    admission::{
        Bounds, CallLimits, Funds, PerSubject, ReadAt, Refusal, Reservation, Retry, Subject, forget_old_failures,
    },
    executions::{Call, Executions, ExecutionsError, Failure, Lease, State, StoredTransaction, TransactionKind},
    testing::{
        TestDatabase,
        fixtures::{call, unbounded, wallet},
    },
};
use futures::future::join_all;

const PRICE: u64 = 50_000;
const LONG_AGO: Duration = Duration::from_secs(600);

fn money(wallet: u64, key: u64) -> Bounds {
    let read_at = ReadAt::Local(Instant::now());
    Bounds { funds: Funds { wallet: UsdcBase(wallet), key: UsdcBase(key), read_at }, ..unbounded() }
}

fn limited(under_way: PerSubject, failures_per_hour: PerSubject) -> Bounds {
    Bounds { limits: CallLimits { under_way, failures_per_hour }, ..unbounded() }
}

const MANY: PerSubject = PerSubject { key: 1_000, wallet: 1_000, agent: 1_000 };

async fn start() -> (TestDatabase, Executions) {
    let database = TestDatabase::create().await;
    let executions = Executions::new(database.pool().clone(), Duration::from_secs(60));
    (database, executions)
}

async fn reserved(executions: &Executions, call: &Call) -> Lease {
    match executions.reserve(call, &unbounded()).await.unwrap() {
        Reservation::New(lease) => lease,
        other => panic!("{other:?}"),
    }
}

async fn refusal(executions: &Executions, call: &Call, bounds: &Bounds) -> Refusal {
    match executions.reserve(call, bounds).await.unwrap() {
        Reservation::Refused(refusal) => refusal,
        other => panic!("not refused: {other:?}"),
    }
}

fn transaction(name: &str) -> StoredTransaction {
    StoredTransaction { signature: name.to_owned(), bytes: vec![1], last_valid_block_height: 150 }
}

fn failure(code: &str) -> Failure {
    Failure { reason: Some(1), signature: None, status: 500, code: code.to_owned(), message: "m".to_owned() }
}

async fn opened(executions: &Executions, call: &Call) -> Lease {
    let lease = reserved(executions, call).await;
    executions.signed(lease, TransactionKind::Open, &transaction(&call.record.to_string())).await.unwrap();
    executions.opened(lease, State::Opening).await.unwrap();
    lease
}

async fn refunded(executions: &Executions, call: &Call, code: &str) {
    let lease = opened(executions, call).await;
    executions.refunding(lease, &failure(code)).await.unwrap();
    executions.refunded(lease).await.unwrap();
}

#[tokio::test]
async fn of_many_reservations_at_once_only_as_many_succeed_as_there_is_money_for() {
    let (_database, executions) = start().await;
    let calls = (1..=64).map(|seed| {
        let executions = executions.clone();
        tokio::spawn(async move { executions.reserve(&call(seed), &money(10 * PRICE, u64::MAX)).await.unwrap() })
    });
    let outcomes: Vec<_> = join_all(calls).await.into_iter().map(|outcome| outcome.expect("joined")).collect();
    let accepted = outcomes.iter().filter(|outcome| matches!(outcome, Reservation::New(_))).count();
    assert_eq!(accepted, 10);
    for outcome in outcomes {
        if let Reservation::Refused(Refusal::Short(short)) = outcome {
            assert_eq!((short.of, short.reserved), (Subject::Wallet, UsdcBase(10 * PRICE)));
        }
    }
    let mut rows = 0;
    for seed in 1..=64 {
        rows += u32::from(executions.get(&call(seed).record).await.unwrap().is_some());
    }
    assert_eq!(rows, 10, "the others left nothing");
}

#[tokio::test]
async fn a_wallet_is_counted_over_its_keys_and_a_key_by_itself() {
    let (_database, executions) = start().await;
    reserved(&executions, &call(1)).await;
    let other_key = Call { session_key: Some(wallet(203)), ..call(2) };
    let Refusal::Short(short) = refusal(&executions, &other_key, &money(2 * PRICE - 1, PRICE)).await else {
        panic!("short")
    };
    assert_eq!((short.of, short.reserved), (Subject::Wallet, UsdcBase(PRICE)));
    let Refusal::Short(short) = refusal(&executions, &call(2), &money(2 * PRICE, 2 * PRICE - 1)).await else {
        panic!("short")
    };
    assert_eq!((short.of, short.reserved), (Subject::Key, UsdcBase(PRICE)));
    let taken = executions.reserve(&other_key, &money(2 * PRICE, PRICE)).await.unwrap();
    assert!(matches!(taken, Reservation::New(_)), "{taken:?}");
    let other_wallet = Call { caller: wallet(210), session_key: Some(wallet(211)), ..call(3) };
    let taken = executions.reserve(&other_wallet, &money(PRICE, PRICE)).await.unwrap();
    assert!(matches!(taken, Reservation::New(_)), "{taken:?}");
}

#[tokio::test]
async fn what_was_opened_after_the_chain_was_read_still_counts_and_what_was_opened_before_does_not() {
    let (_database, executions) = start().await;
    opened(&executions, &call(1)).await;
    // Read long ago: the balance does not show the opening yet.
    let long_ago = Instant::now().checked_sub(LONG_AGO);
    let stale = Bounds {
        funds: Funds { read_at: ReadAt::Local(long_ago.unwrap_or_else(Instant::now)), ..money(PRICE, PRICE).funds },
        ..unbounded()
    };
    let Refusal::Short(short) = refusal(&executions, &call(2), &stale).await else { panic!("short") };
    assert_eq!(short.reserved, UsdcBase(PRICE));
    // Read after that refusal: what is left is what the balance shows.
    let read_at = ReadAt::Database(short.as_of);
    let fresh = Bounds { funds: Funds { read_at, ..stale.funds }, ..unbounded() };
    assert!(matches!(executions.reserve(&call(2), &fresh).await.unwrap(), Reservation::New(_)));
    // A call that ended in between counts as well.
    refunded(&executions, &Call { caller: wallet(210), ..call(3) }, "execution_failed").await;
    let Refusal::Short(_) = refusal(&executions, &Call { caller: wallet(210), ..call(4) }, &stale).await else {
        panic!("short")
    };
}

#[tokio::test]
async fn a_retry_reserves_like_any_other_call_and_is_not_counted_against_itself() {
    let (_database, executions) = start().await;
    let lease = reserved(&executions, &call(1)).await;
    executions.not_opened(lease, &failure("unavailable")).await.unwrap();
    let short = executions.retry(&call(1), &money(PRICE - 1, PRICE)).await.unwrap();
    assert!(matches!(short, Retry::Refused(Refusal::Short(_))), "{short:?}");
    let taken = executions.retry(&call(1), &money(PRICE, PRICE)).await.unwrap();
    assert!(matches!(taken, Retry::Taken(_)), "{taken:?}");
    assert_eq!(executions.retry(&call(1), &money(PRICE, PRICE)).await.unwrap(), Retry::NotNow, "somebody is at it");
    let known = executions.reserve(&call(1), &money(PRICE, PRICE)).await.unwrap();
    assert!(matches!(known, Reservation::Existing(_)), "{known:?}");
}

#[tokio::test]
async fn calls_under_way_are_counted_until_they_end() {
    let (_database, executions) = start().await;
    let first = reserved(&executions, &call(1)).await;
    for (limit, subject) in [
        (PerSubject { key: 1, ..MANY }, Subject::Key),
        (PerSubject { wallet: 1, ..MANY }, Subject::Wallet),
        (PerSubject { agent: 1, ..MANY }, Subject::Agent),
    ] {
        let refused = refusal(&executions, &call(2), &limited(limit, MANY)).await;
        assert_eq!(refused, Refusal::TooManyUnderWay(subject));
    }
    let strict = limited(PerSubject { key: 1, wallet: 1, agent: 1 }, MANY);
    executions.not_opened(first, &failure("unavailable")).await.unwrap();
    assert!(matches!(executions.reserve(&call(2), &strict).await.unwrap(), Reservation::New(_)));
}

#[tokio::test]
async fn an_agents_limit_is_exact_however_many_wallets_call_at_once() {
    let (_database, executions) = start().await;
    let bounds = limited(PerSubject { agent: 5, ..MANY }, MANY);
    let calls = (1..=32).map(|seed| {
        let executions = executions.clone();
        let call = Call { caller: wallet(100 + seed), session_key: Some(wallet(seed)), ..call(seed) };
        tokio::spawn(async move { executions.reserve(&call, &bounds).await.unwrap() })
    });
    let outcomes = join_all(calls).await;
    let accepted = outcomes.iter().filter(|outcome| matches!(outcome, Ok(Reservation::New(_)))).count();
    assert_eq!(accepted, 5);
}

#[tokio::test]
async fn only_failures_of_the_creator_or_the_caller_count_and_only_for_an_hour() {
    let (database, executions) = start().await;
    let strict = limited(MANY, PerSubject { key: 2, wallet: 2, agent: 2 });
    refunded(&executions, &call(1), "execution_failed").await;
    refunded(&executions, &call(2), "unavailable").await;
    let lease = reserved(&executions, &call(3)).await;
    executions.not_opened(lease, &failure("unavailable")).await.unwrap();
    let lease = match executions.reserve(&call(4), &strict).await.unwrap() {
        Reservation::New(lease) => lease,
        other => panic!("one failure is below the limit: {other:?}"),
    };
    executions.forget(lease).await.unwrap();
    refunded(&executions, &call(5), "execution_timeout").await;
    let refused = refusal(&executions, &call(6), &strict).await;
    let Refusal::TooManyFailures { of: Subject::Key, retry_after } = refused else { panic!("{refused:?}") };
    assert!((3_590..=3_600).contains(&retry_after.as_secs()), "{retry_after:?}");
    for (limit, subject) in
        [(PerSubject { wallet: 2, ..MANY }, Subject::Wallet), (PerSubject { agent: 2, ..MANY }, Subject::Agent)]
    {
        let refused = refusal(&executions, &call(6), &limited(MANY, limit)).await;
        assert!(matches!(refused, Refusal::TooManyFailures { of, .. } if of == subject), "{refused:?}");
    }
    forget_old_failures(database.pool()).await.unwrap();
    let still = refusal(&executions, &call(6), &strict).await;
    assert!(matches!(still, Refusal::TooManyFailures { .. }), "younger than an hour: {still:?}");
}

#[tokio::test]
async fn a_call_that_never_was_is_forgotten_and_its_rejection_is_counted() {
    let (_database, executions) = start().await;
    let lease = reserved(&executions, &call(1)).await;
    executions.signed(lease, TransactionKind::Open, &transaction("open")).await.unwrap();
    assert!(!executions.forget(lease).await.unwrap(), "it may still land");
    executions.resolve(&lease.record, "open", &Outcome::Rejected { slot: 5, error: "no".to_owned() }).await.unwrap();
    assert!(executions.forget(lease).await.unwrap());
    assert!(executions.get(&call(1).record).await.unwrap().is_none());
    assert!(matches!(executions.forget(lease).await, Err(ExecutionsError::LeaseLost)), "it is gone");
    let strict = limited(MANY, PerSubject { key: 1, ..MANY });
    let refused = refusal(&executions, &call(1), &strict).await;
    assert!(matches!(refused, Refusal::TooManyFailures { of: Subject::Key, .. }), "{refused:?}");
    reserved(&executions, &call(1)).await;
}

#[tokio::test]
async fn nothing_that_was_opened_can_be_forgotten() {
    let (_database, executions) = start().await;
    let lease = opened(&executions, &call(1)).await;
    assert!(!executions.forget(lease).await.unwrap());
    let found = reserved(&executions, &call(2)).await;
    executions.opened(found, State::Reserved).await.unwrap();
    assert!(!executions.forget(found).await.unwrap());
    assert!(matches!(executions.opened(found, State::Reserved).await, Err(ExecutionsError::LeaseLost)));
}

fn handed_over(seed: u8) -> Call {
    Call { session_key: None, ..call(seed) }
}

async fn take_over(executions: &Executions, call: &Call, limits: CallLimits) -> Reservation {
    executions.take_over(call, chrono::Utc::now(), limits).await.unwrap()
}

#[tokio::test]
async fn an_execution_that_its_wallet_opened_is_taken_over_once_and_is_pending() {
    let (database, executions) = start().await;
    let limits = CallLimits { under_way: MANY, failures_per_hour: MANY };
    let other = Executions::new(database.pool().clone(), Duration::from_secs(60));
    let call = handed_over(1);
    let taken =
        join_all((0..10).map(|n| take_over(if n % 2 == 0 { &executions } else { &other }, &call, limits))).await;
    assert_eq!(taken.iter().filter(|taken| matches!(taken, Reservation::New(_))).count(), 1);
    assert!(taken.iter().all(|taken| !matches!(taken, Reservation::Refused(_))));
    let row = executions.get(&call.record).await.unwrap().expect("a row");
    assert_eq!((row.state, row.call), (State::Pending, call));
    assert!(row.opened_at.is_some_and(|at| at <= row.created_at));
}

#[tokio::test]
async fn limits_of_wallet_and_agent_hold_for_executions_that_are_handed_over() {
    let (_database, executions) = start().await;
    // One call of a key, and there is no key.
    let limits = |wallet, agent| CallLimits {
        under_way: PerSubject { key: 1, wallet, agent },
        failures_per_hour: PerSubject { key: 1, ..MANY },
    };
    for seed in [1, 2] {
        assert!(matches!(take_over(&executions, &handed_over(seed), limits(9, 9)).await, Reservation::New(_)));
    }
    let refused = async |limits| match take_over(&executions, &handed_over(3), limits).await {
        Reservation::Refused(refusal) => refusal,
        other => panic!("not refused: {other:?}"),
    };
    assert_eq!(refused(limits(2, 9)).await, Refusal::TooManyUnderWay(Subject::Wallet));
    assert_eq!(refused(limits(9, 2)).await, Refusal::TooManyUnderWay(Subject::Agent));
}

#[tokio::test]
async fn an_execution_that_is_handed_over_takes_no_money_of_later_calls() {
    let (_database, executions) = start().await;
    let limits = CallLimits { under_way: MANY, failures_per_hour: MANY };
    let opened_at = chrono::Utc::now() - chrono::TimeDelta::seconds(30);
    assert!(matches!(executions.take_over(&handed_over(1), opened_at, limits).await.unwrap(), Reservation::New(_)));
    assert!(matches!(executions.reserve(&call(2), &money(PRICE, PRICE)).await.unwrap(), Reservation::New(_)));
}
