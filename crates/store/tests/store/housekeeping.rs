//! What the worker finds to do for the market, and what it counts.

use agent_marketplace::state::DisputeOutcome;
use chrono::{DateTime, Utc};
use crtx_store::{
    PgPool,
    housekeeping::{self, Chore, Done},
    mirror::ExecutionAccount,
    testing::{TestDatabase, fixtures},
};
use solana_pubkey::Pubkey;
use uuid::Uuid;

const OWN: u8 = 1;
const OTHER: u8 = 2;

/// Stores an execution whose rent this wallet paid; returns the record's address.
async fn store(
    pool: &PgPool,
    number: u8,
    payer: u8,
    change: impl FnOnce(ExecutionAccount) -> ExecutionAccount,
) -> Pubkey {
    let caller = fixtures::wallet(9);
    let id = Uuid::from_bytes([number; 16]);
    let mut execution = change(fixtures::record(caller, fixtures::wallet(8), id));
    execution.record.rent_payer = fixtures::wallet(payer);
    let address = fixtures::addresses().execution(&caller, id.as_bytes());
    assert!(fixtures::put(pool, &address, 1, &execution).await);
    address
}

fn time(unix_s: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(unix_s, 0).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_can_be_closed_when_its_window_is_over_and_each_payer_has_its_own_list() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let completed = store(pool, 1, OWN, |open| fixtures::completed(open, "result")).await;
    let refunded = store(pool, 2, OTHER, |open| fixtures::refunded(open, 2)).await;
    store(pool, 3, OWN, |open| open).await;
    let ended = fixtures::completed(fixtures::record(fixtures::wallet(9), fixtures::wallet(8), Uuid::nil()), "result");
    let end = ended.record.window_end_unix_s(ended.record.finished_at_unix_s).unwrap();

    let found = async |now: i64, own: bool| {
        housekeeping::closable(pool, time(now), &fixtures::wallet(OWN), own, 10).await.unwrap()
    };
    assert_eq!(found(end, true).await, [], "the last second of the window belongs to the caller");
    assert_eq!(found(end + 1, true).await, [completed]);
    assert_eq!(found(end + 1_000_000, false).await, [refunded]);
    assert_eq!(housekeeping::closable(pool, time(end + 1), &fixtures::wallet(OWN), true, 0).await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_record_of_somebody_else_is_overdue_after_its_deadline() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    store(pool, 1, OWN, |open| open).await;
    store(pool, 2, OTHER, |open| fixtures::refunded(open, 2)).await;
    let open = store(pool, 3, OTHER, |open| open).await;
    let deadline =
        fixtures::record(fixtures::wallet(9), fixtures::wallet(8), Uuid::nil()).terms.unwrap().deadline_unix_s;
    let found =
        async |now: i64| housekeeping::overdue_of_others(pool, time(now), &fixtures::wallet(OWN), 10).await.unwrap();
    assert_eq!(found(deadline).await, []);
    assert_eq!(found(deadline + 1).await, [open]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dispute_is_undecided_until_it_has_an_outcome() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let (agent, caller) = (fixtures::wallet(8), fixtures::wallet(9));
    for (number, outcome) in [(1, DisputeOutcome::Open), (2, DisputeOutcome::Rejected)] {
        let execution = fixtures::wallet(number);
        let mut dispute = fixtures::dispute(execution, agent, caller, outcome);
        if outcome != DisputeOutcome::Open {
            dispute.resolved_at_unix_s = dispute.raised_at_unix_s + 1;
        }
        assert!(fixtures::put(pool, &fixtures::addresses().dispute(&execution), 1, &dispute).await);
    }
    let raised = fixtures::dispute(agent, agent, caller, DisputeOutcome::Open).raised_at_unix_s;
    let found = async |before: i64| housekeeping::undecided(pool, time(before), 10).await.unwrap();
    assert_eq!(found(raised).await, []);
    assert_eq!(found(raised + 1).await, [fixtures::wallet(1)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn work_is_added_up_and_only_work_for_others_counts_for_the_daily_limit() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    assert_eq!(housekeeping::total(pool, Chore::Close).await.unwrap(), Done::default());
    let done = Done { actions: 8, fees_lamports: 5_000, rent_lamports: 18_708_480 };
    for own in [true, false, false] {
        housekeeping::count(pool, Chore::Close, own, &done).await.unwrap();
    }
    let all = Done { actions: 24, fees_lamports: 15_000, rent_lamports: 56_125_440 };
    assert_eq!(housekeeping::total(pool, Chore::Close).await.unwrap(), all);
    assert_eq!(housekeeping::total(pool, Chore::Refund).await.unwrap(), Done::default());
    assert_eq!(housekeeping::spent_for_others_today(pool).await.unwrap(), 10_000);
    sqlx::query("UPDATE housekeeping SET day = day - 1").execute(pool).await.unwrap();
    assert_eq!(housekeeping::spent_for_others_today(pool).await.unwrap(), 0, "every day has its own limit");
}
