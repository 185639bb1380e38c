//! Which wallets paid which agent, on a real PostgreSQL: the totals are what a count over all executions finds, whatever
//! is written, repeated, reordered or rolled back.

use agent_marketplace::state::ExecutionStatus;
use crtx_store::{
    mirror::{self, Batch, ExecutionAccount},
    reads,
    testing::{TestDatabase, fixtures::*},
};
use proptest::prelude::*;
use solana_pubkey::Pubkey;
use sqlx::PgPool;
use uuid::Uuid;

/// The record of `caller`'s execution with that number.
fn address(caller: u8, number: u128) -> Pubkey {
    addresses().execution(&wallet(caller), Uuid::from_u128(number).as_bytes())
}

fn open(caller: u8, agent: Pubkey, number: u128) -> ExecutionAccount {
    record(wallet(caller), agent, Uuid::from_u128(number))
}

fn with_status(mut execution: ExecutionAccount, status: ExecutionStatus) -> ExecutionAccount {
    execution.record.status = status as u8;
    execution.record.revision += 1;
    execution
}

async fn unique_callers(pool: &PgPool, agent: &Pubkey) -> u64 {
    reads::agents(pool, &[*agent]).await.expect("read").pop().expect("shown").unique_callers
}

/// The totals are those of a count over all executions, and no note is left behind.
async fn assert_exact(pool: &PgPool) {
    let counted: Vec<(String, String, i64, String)> = sqlx::query_as(
        "SELECT agent, caller, count(*), sum(amount)::text FROM mirror_executions
         WHERE status IN (2, 5, 6) GROUP BY 1, 2 ORDER BY 1, 2",
    )
    .fetch_all(pool)
    .await
    .expect("a count");
    let kept: Vec<(String, String, i64, String)> = sqlx::query_as(
        "SELECT agent, caller, completed, spent::text FROM mirror_agent_callers WHERE completed <> 0 ORDER BY 1, 2",
    )
    .fetch_all(pool)
    .await
    .expect("the callers");
    assert_eq!(kept, counted);
    let wrong: i64 = sqlx::query_scalar(
        "SELECT (SELECT count(*) FROM
             (SELECT agent, count(*) AS callers FROM mirror_agent_callers WHERE completed > 0 GROUP BY agent) c
             FULL JOIN mirror_agent_totals t USING (agent)
         WHERE COALESCE(c.callers, 0) <> COALESCE(t.unique_callers, 0))
         + (SELECT count(*) FROM
             (SELECT agent, sum(LEAST(fees, 1000000)) AS trust, sum(LEAST(disputed, 11)) AS disputes,
                     count(*) FILTER (WHERE upheld > 0) AS upheld
              FROM (SELECT agent, caller, COALESCE(sum(LEAST(platform_amount, 100000))
                        FILTER (WHERE status IN (2, 5)), 0) AS fees,
                        COALESCE(sum(dispute_count) FILTER (WHERE status IN (2, 5, 6)), 0) AS disputed,
                        count(*) FILTER (WHERE status = 6) AS upheld
                    FROM mirror_executions GROUP BY agent, caller) AS e GROUP BY agent) c
             FULL JOIN mirror_agent_totals t USING (agent)
         WHERE (COALESCE(c.trust, 0), COALESCE(c.disputes, 0), COALESCE(c.upheld, 0))
            <> (COALESCE(t.trust, 0), COALESCE(t.disputes, 0), COALESCE(t.upheld_wallets, 0)))",
    )
    .fetch_one(pool)
    .await
    .expect("the totals");
    let noted: i64 =
        sqlx::query_scalar("SELECT count(*) FROM mirror_total_notes").fetch_one(pool).await.expect("the notes");
    assert_eq!((wrong, noted), (0, 0));
    assert_exact_amounts(pool).await;
}

/// What wallets paid and agents received is the sum over all executions.
async fn assert_exact_amounts(pool: &PgPool) {
    let wrong: Vec<(Option<String>, Option<String>)> = sqlx::query_as(
        "SELECT c.wallet, t.wallet FROM
             (SELECT caller AS wallet, count(*) FILTER (WHERE status IN (2, 5, 6)) AS completed,
                     count(*) FILTER (WHERE status IN (3, 4)) AS failed,
                     COALESCE(sum(amount) FILTER (WHERE status IN (2, 5, 6)), 0) AS spent
              FROM mirror_executions GROUP BY caller) c
             FULL JOIN (SELECT caller AS wallet, sum(completed) AS completed, sum(failed) AS failed, sum(spent) AS spent
                        FROM mirror_agent_callers GROUP BY caller) t USING (wallet)
         WHERE (COALESCE(c.completed, 0), COALESCE(c.failed, 0), COALESCE(c.spent, 0))
            <> (COALESCE(t.completed, 0), COALESCE(t.failed, 0), COALESCE(t.spent, 0))
         UNION ALL
         SELECT c.agent, t.agent FROM
             (SELECT agent, sum(creator_amount) AS earned FROM mirror_executions WHERE status IN (2, 5, 6)
              GROUP BY agent) c
             FULL JOIN mirror_agent_totals t USING (agent)
         WHERE COALESCE(c.earned, 0) <> COALESCE(t.earned, 0)",
    )
    .fetch_all(pool)
    .await
    .expect("the amounts");
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[tokio::test]
async fn a_wallet_counts_once_for_an_agent_whatever_became_of_its_disputes() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let agent = show(pool, listing(wallet(1), 0), "agent", &["data"]).await;
    let other = show(pool, listing(wallet(1), 1), "other", &["data"]).await;
    assert_eq!(unique_callers(pool, &agent).await, 0);
    for (caller, number, status) in [
        (2, 1, ExecutionStatus::Completed),
        (2, 2, ExecutionStatus::Completed),
        (3, 1, ExecutionStatus::Disputed),
        (4, 1, ExecutionStatus::Overturned),
    ] {
        let settled = with_status(completed(open(caller, agent, number), "r"), status);
        put(pool, &address(caller, number), 5, &settled).await;
        put(pool, &address(caller, number), 6, &settled).await;
    }
    put(pool, &address(2, 9), 5, &completed(open(2, other, 9), "r")).await;
    assert_eq!((unique_callers(pool, &agent).await, unique_callers(pool, &other).await), (3, 1));
    assert_exact(pool).await;
}

#[tokio::test]
async fn who_did_not_pay_does_not_count() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let agent = show(pool, listing(wallet(1), 0), "agent", &["data"]).await;
    put(pool, &address(2, 1), 5, &open(2, agent, 1)).await;
    for (caller, reason) in [(3, 1), (4, 4), (5, 5)] {
        put(pool, &address(caller, 1), 5, &refunded(open(caller, agent, 1), reason)).await;
    }
    assert_eq!(unique_callers(pool, &agent).await, 0);
    assert_exact(pool).await;
}

#[tokio::test]
async fn a_closed_record_still_counts() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let agent = show(pool, listing(wallet(1), 0), "agent", &["data"]).await;
    put(pool, &address(2, 1), 5, &completed(open(2, agent, 1), "r")).await;
    mirror::mark_closed(pool, &[address(2, 1)], 6).await.expect("marked");
    assert_eq!(unique_callers(pool, &agent).await, 1);
    assert_exact(pool).await;
}

#[tokio::test]
async fn a_rollback_takes_back_the_callers_of_what_the_chain_lost() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let agent = show(pool, listing(wallet(1), 0), "agent", &["data"]).await;
    for caller in [2, 3, 4] {
        put(pool, &address(caller, 1), 5, &completed(open(caller, agent, 1), "r")).await;
    }
    assert_eq!(unique_callers(pool, &agent).await, 3);
    // 2 is as it was, 3 is open again, 4 was never on this chain.
    let mut snapshot = Batch::default();
    snapshot.push(&address(2, 1), 9, &completed(open(2, agent, 1), "r")).expect("a row");
    snapshot.push(&address(3, 1), 9, &open(3, agent, 1)).expect("a row");
    let mut transaction = crtx_store::transaction::begin(pool).await.expect("a transaction");
    let deleted = mirror::roll_back(&mut transaction, &snapshot, &[address(4, 1)]).await.expect("rolled back");
    transaction.commit().await.expect("committed");
    assert_eq!((deleted, unique_callers(pool, &agent).await), (2, 1));
    assert_exact(pool).await;

    // Nothing is left of it, and the next call counts again.
    let mut transaction = crtx_store::transaction::begin(pool).await.expect("a transaction");
    let lost = [address(2, 1), address(3, 1)];
    mirror::roll_back(&mut transaction, &Batch::default(), &lost).await.expect("rolled back");
    transaction.commit().await.expect("committed");
    assert_eq!(unique_callers(pool, &agent).await, 0);
    assert_exact(pool).await;
    put(pool, &address(4, 1), 10, &completed(open(4, agent, 1), "r")).await;
    assert_eq!(unique_callers(pool, &agent).await, 1);
}

#[tokio::test]
async fn another_chain_has_its_own_callers() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let agent = show(pool, listing(wallet(1), 0), "agent", &["data"]).await;
    for caller in [2, 3] {
        put(pool, &address(caller, 1), 5, &completed(open(caller, agent, 1), "r")).await;
    }
    let mut snapshot = Batch::default();
    snapshot.push(&address(4, 1), 2, &completed(open(4, agent, 1), "r")).expect("a row");
    mirror::clear(pool).await.expect("cleared");
    crtx_store::testing::resync(pool, &snapshot, 2, Some("other")).await.expect("applied");
    show(pool, listing(wallet(1), 0), "agent", &["data"]).await;
    assert_eq!(unique_callers(pool, &agent).await, 1);
    assert_exact(pool).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn several_writers_of_the_same_executions_count_each_of_them_once() {
    const EXECUTIONS: u128 = 1_100;
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let agents = [wallet(20), wallet(21)];
    let settled = |number: u128| {
        let caller = 2 + (number % 40) as u8;
        let agent = agents[(number % 3 / 2) as usize];
        (address(caller, number), completed(open(caller, agent, number), "r"))
    };
    // Two snapshots of two statements each, and single executions as a gateway writes them.
    let mut snapshot = Batch::default();
    for number in 0..EXECUTIONS {
        let (address, execution) = settled(number);
        snapshot.push(&address, 5, &execution).expect("a row");
    }
    let mut tasks = Vec::new();
    for _ in 0..2 {
        let (pool, snapshot) = (pool.clone(), snapshot.clone());
        tasks.push(tokio::spawn(async move {
            crtx_store::testing::resync(&pool, &snapshot, 5, None).await.expect("applied");
        }));
    }
    for first in 0..4 {
        let batches: Vec<Batch> = (first..EXECUTIONS)
            .step_by(40)
            .map(|number| {
                let (address, execution) = settled(number);
                let mut batch = Batch::default();
                batch.push(&address, 6, &execution).expect("a row");
                batch
            })
            .collect();
        let pool = pool.clone();
        tasks.push(tokio::spawn(async move {
            for batch in batches {
                mirror::apply_changes(&pool, &batch, 6).await.expect("applied");
            }
        }));
    }
    for task in tasks {
        task.await.expect("no task panics");
    }
    assert_exact(pool).await;
}

/// Waits until so many statements wait for a lock.
async fn until_waiting(pool: &PgPool, statements: i64) {
    let waiting = "SELECT count(*) FROM pg_stat_activity
                   WHERE datname = current_database() AND wait_event_type = 'Lock'";
    for _ in 0..500 {
        if sqlx::query_scalar::<_, i64>(waiting).fetch_one(pool).await.expect("the activity") == statements {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("never happened: {statements} statements wait for a lock");
}

#[tokio::test]
async fn a_snapshot_in_several_statements_and_a_writer_of_its_last_row_do_not_wait_for_each_other() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let agent = wallet(20);
    // All of one wallet and one agent, in more than one statement. Statements are in the order of the addresses.
    let mut numbers: Vec<u128> = (0..1_001).collect();
    numbers.sort_by_key(|number| address(2, *number).to_string());
    let last = *numbers.last().expect("a number");
    let (mut before, mut snapshot, mut change) = (Batch::default(), Batch::default(), Batch::default());
    for number in numbers {
        before.push(&address(2, number), 5, &open(2, agent, number)).expect("a row");
        snapshot.push(&address(2, number), 6, &completed(open(2, agent, number), "r")).expect("a row");
    }
    change.push(&address(2, last), 6, &completed(open(2, agent, last), "r")).expect("a row");
    mirror::apply_changes(pool, &before, 5).await.expect("applied");

    let mut holder = crtx_store::transaction::begin(pool).await.expect("a transaction");
    sqlx::query("SELECT FROM mirror_executions WHERE address = $1 FOR UPDATE")
        .bind(address(2, last).to_string())
        .execute(&mut *holder)
        .await
        .expect("the lock");
    let writer = tokio::spawn({
        let pool = pool.clone();
        async move { mirror::apply_changes(&pool, &change, 6).await }
    });
    until_waiting(pool, 1).await;
    let resync = tokio::spawn({
        let pool = pool.clone();
        async move { crtx_store::testing::resync(&pool, &snapshot, 6, None).await }
    });
    until_waiting(pool, 2).await;
    holder.rollback().await.expect("the lock is free");
    assert_eq!(writer.await.expect("no panic").expect("no deadlock"), 1);
    assert_eq!(resync.await.expect("no panic").expect("no deadlock"), 1_000);
    assert_exact(pool).await;
}

#[tokio::test]
async fn a_batch_with_a_listing_and_a_writer_of_one_of_its_executions_do_not_wait_for_each_other() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let mut listing = listing(wallet(1), 0);
    let agent = show(pool, listing, "agent", &["data"]).await;
    let record = address(2, 1);
    put(pool, &record, 5, &open(2, agent, 1)).await;
    (listing.revision, listing.price) = (listing.revision + 1, 70_000);
    let (mut batch, mut change) = (Batch::default(), Batch::default());
    batch.push(&agent, 6, &listing).expect("a row");
    batch.push(&record, 6, &completed(open(2, agent, 1), "r")).expect("a row");
    change.push(&record, 6, &completed(open(2, agent, 1), "r")).expect("a row");

    let holder = crtx_store::testing::mirrored::lock_execution(pool, &record).await;
    let writers = [(change, 1), (batch, 2)].map(|(batch, place)| {
        let pool = pool.clone();
        tokio::spawn(async move {
            until_waiting(&pool, place - 1).await;
            mirror::apply_changes(&pool, &batch, 6).await
        })
    });
    until_waiting(pool, 2).await;
    holder.rollback().await.expect("the lock is free");
    for writer in writers {
        assert_eq!(writer.await.expect("no panic").expect("no deadlock"), 1);
    }
    assert_exact(pool).await;
}

/// What happens to one of a few executions.
#[derive(Clone, Copy, Debug)]
enum Step {
    Show(u8, u128, ExecutionStatus),
    Close(u8, u128),
    Lose(u8, u128),
}

fn step() -> impl Strategy<Value = Step> {
    let status = prop_oneof![
        Just(ExecutionStatus::Open),
        Just(ExecutionStatus::Completed),
        Just(ExecutionStatus::Failed),
        Just(ExecutionStatus::Disputed),
        Just(ExecutionStatus::Overturned),
    ];
    let which = (2u8..5, 0u128..3);
    prop_oneof![
        4 => (which.clone(), status).prop_map(|((caller, number), status)| Step::Show(caller, number, status)),
        1 => which.clone().prop_map(|(caller, number)| Step::Close(caller, number)),
        1 => which.prop_map(|(caller, number)| Step::Lose(caller, number)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn the_totals_are_exact_after_any_history(steps in prop::collection::vec(step(), 1..40)) {
        tokio::runtime::Runtime::new().expect("a runtime").block_on(async {
            let database = TestDatabase::create().await;
            let pool = database.pool();
            for (revision, step) in (1u64..).zip(steps) {
                match step {
                    Step::Show(caller, number, status) => {
                        // The same address may serve another agent after it was closed.
                        let agent = wallet(20 + (revision % 2) as u8);
                        let open = open(caller, agent, number);
                        let mut execution = match status {
                            ExecutionStatus::Open => open,
                            ExecutionStatus::Failed => refunded(open, 1),
                            _ => with_status(completed(open, "r"), status),
                        };
                        execution.record.revision = revision;
                        put(pool, &address(caller, number), revision, &execution).await;
                    }
                    Step::Close(caller, number) => {
                        mirror::mark_closed(pool, &[address(caller, number)], revision).await.expect("marked");
                    }
                    Step::Lose(caller, number) => {
                        let mut transaction = crtx_store::transaction::begin(pool).await.expect("a transaction");
                        let lost = [address(caller, number)];
                        mirror::roll_back(&mut transaction, &Batch::default(), &lost).await.expect("rolled back");
                        transaction.commit().await.expect("committed");
                    }
                }
                assert_exact(pool).await;
            }
        });
    }
}
