//! The list of executions and its counters: always what the sources say, for every writer and whenever counters are
//! folded.

use std::time::Duration;

use agent_marketplace::state::DisputeOutcome;
use chrono::{DateTime, TimeDelta, Utc};
use crtx_store::{
    PgPool,
    execution_list::{self, ListDifference},
    mirror,
    reads::{self, ExecutionFilter, ExecutionPlace, ExecutionRole, ListedExecution, ShownStatus, Start},
    testing::{
        TestDatabase,
        fixtures::{GatewayRow, NOON, addresses, completed, dispute, listing, put, record, show, wallet},
        single,
    },
};
use solana_pubkey::Pubkey;
use sqlx::{AssertSqlSafe, Executor};
use uuid::Uuid;

/// Reproducible random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

async fn all(pool: &PgPool, who: &Pubkey, filter: &ExecutionFilter) -> (Vec<ListedExecution>, u64) {
    let listed = single::list_executions(pool, who, filter, 10_000, &Start::FIRST).await.unwrap();
    assert_eq!(listed.next, None);
    (listed.items, listed.total)
}

const STATUSES: [ShownStatus; 5] =
    [ShownStatus::Pending, ShownStatus::Running, ShownStatus::Completed, ShownStatus::Failed, ShownStatus::Disputed];

/// The ids that a list must show, straight from the views of single executions.
async fn expected(pool: &PgPool, who: &Pubkey, filter: &ExecutionFilter) -> Vec<Uuid> {
    sqlx::query_scalar(
        "SELECT x.execution_id FROM shown_executions x LEFT JOIN mirror_agents a ON a.address = x.agent
         WHERE CASE WHEN $1 THEN x.caller ELSE a.creator END = $2
           AND ($1 OR EXISTS (SELECT FROM mirror_executions m WHERE m.address = x.record))
           AND ($3 IS NULL OR listed_status(x.status) = $3) AND ($4 IS NULL OR x.agent = $4)
           AND ($5::timestamptz IS NULL OR x.initiated_at > $5) AND ($6::timestamptz IS NULL OR x.initiated_at < $6)
         ORDER BY x.initiated_at DESC, x.execution_id DESC, x.record DESC",
    )
    .bind(filter.role == ExecutionRole::Caller)
    .bind(who.to_string())
    .bind(filter.status.map(|status| status as i16))
    .bind(filter.agent.map(|agent| agent.to_string()))
    .bind(filter.from)
    .bind(filter.to)
    .fetch_all(pool)
    .await
    .unwrap()
}

fn moment(seconds: u64) -> DateTime<Utc> {
    DateTime::from_timestamp(NOON, 0).unwrap() + TimeDelta::seconds(i64::try_from(seconds).unwrap())
}

/// Some moments of one day, and some of the days before.
fn any_moment(random: &mut Random) -> DateTime<Utc> {
    moment(random.below(MOMENTS)) - TimeDelta::days(i64::try_from(random.below(DAYS)).unwrap())
}

const DAYS: u64 = 4;
const RECORDS: u64 = 60;
const MOMENTS: u64 = 9;

/// What the property test knows of one record: number, caller, agent.
fn subject(number: u64) -> (Pubkey, Pubkey, Pubkey, Uuid) {
    let caller = wallet(if number.is_multiple_of(5) { 2 } else { 1 });
    // The ids of both callers meet, and so do the moments.
    let id = Uuid::from_u128(u128::from(number / 2));
    let agent = addresses().agent(&wallet(30 + u8::try_from(number % 2).unwrap()), u32::try_from(number % 3).unwrap());
    let record = Pubkey::new_from_array([u8::try_from(number).unwrap() + 40; 32]);
    (record, caller, agent, id)
}

/// One random change of a source.
async fn change(pool: &PgPool, random: &mut Random) {
    let number = random.below(RECORDS);
    let (record, caller, agent, _) = subject(number);
    let id = Uuid::from_u128(u128::from(number));
    let at = any_moment(random);
    let (record, caller, agent) = (record.to_string(), caller.to_string(), agent.to_string());
    let statement = match random.below(9) {
        0 | 1 => {
            let state = ["reserved", "opening", "pending", "running"][usize::try_from(random.below(4)).unwrap()];
            format!(
                "INSERT INTO executions (record, execution_id, caller, agent, session_key, state, body_hash, is_async,
                     request, request_hash, amount, timeout_seconds, endpoint, created_at)
                 VALUES ('{record}', '{id}', '{caller}', '{agent}', 'k', '{state}', decode(repeat('05', 32), 'hex'), false,
                     '{{}}', decode(repeat('05', 32), 'hex'), 50000, 60, 'e', '{at}')
                 ON CONFLICT DO NOTHING"
            )
        }
        2 => {
            let state = ["opening", "pending", "running", "refunding"][usize::try_from(random.below(4)).unwrap()];
            format!(
                "UPDATE executions SET state = '{state}', finished_at = NULL, error_status = 408, error_code = 'x',
                     error_message = 'x' WHERE record = '{record}'"
            )
        }
        3 => format!(
            "UPDATE executions SET state = 'failed', finished_at = '{at}', error_status = 408, error_code = 'x',
                 error_message = 'x' WHERE record = '{record}'"
        ),
        4 => {
            let amount = random.below(3) * 10;
            format!(
                "UPDATE executions SET charged_amount = {amount}, charged_creator_amount = 0, charged_platform_amount = 0,
                     lease_owner = NULL WHERE record = '{record}'"
            )
        }
        5 | 6 => {
            let status = 1 + random.below(6);
            format!(
                "INSERT INTO mirror_executions (address, slot, revision, execution_id, agent, caller, rent_payer, amount,
                     creator_amount, platform_amount, execution_time_ms, dispute_window_s, fee_bps,
                     max_penalty_multiple, binding, opened_at, finished_at, status, dispute_count, initiated_at)
                 VALUES ('{record}', 1, 1, '{id}', '{agent}', '{caller}', 'r', 100, 99, 1, 10, 60, 100, 20, false, '{at}',
                     CASE WHEN {status} > 1 THEN now() END, {status}, 0, '{at}')
                 ON CONFLICT (address) DO UPDATE SET status = excluded.status, finished_at = excluded.finished_at"
            )
        }
        7 => {
            let table =
                ["mirror_executions WHERE address", "executions WHERE record", "mirror_disputes WHERE execution"];
            format!("DELETE FROM {} = '{record}'", table[usize::try_from(random.below(3)).unwrap()])
        }
        _ => {
            let compensation = random.below(3) * 20;
            format!(
                "INSERT INTO mirror_disputes (address, slot, revision, execution, agent, raised_by, rent_payer,
                     evidence_hash, evidence_uri, raised_at, slash_amount, compensation, outcome)
                 VALUES ('d{record}', 1, 1, '{record}', '{agent}', '{caller}', 'r', '\\x00', 'u', '{at}', 0, {compensation},
                     2)
                 ON CONFLICT (address) DO UPDATE SET compensation = excluded.compensation"
            )
        }
    };
    pool.execute(sqlx::raw_sql(AssertSqlSafe(statement.clone())))
        .await
        .unwrap_or_else(|error| panic!("{statement}: {error}"));
}

fn random_filter(random: &mut Random) -> (Pubkey, ExecutionFilter) {
    let role = [ExecutionRole::Caller, ExecutionRole::Creator][usize::try_from(random.below(2)).unwrap()];
    let who = match role {
        ExecutionRole::Caller => wallet(1 + u8::try_from(random.below(2)).unwrap()),
        ExecutionRole::Creator => wallet(30 + u8::try_from(random.below(2)).unwrap()),
    };
    let mut sometimes = |share: u64| random.below(share) == 0;
    let (of_agent, of_status, from, to) = (sometimes(2), sometimes(2), sometimes(2), sometimes(2));
    let filter = ExecutionFilter {
        role,
        agent: of_agent.then(|| subject(random.below(RECORDS)).2),
        status: of_status.then(|| STATUSES[usize::try_from(random.below(5)).unwrap()]),
        from: from.then(|| any_moment(random) - TimeDelta::microseconds(i64::try_from(random.below(2)).unwrap())),
        to: to.then(|| any_moment(random) + TimeDelta::microseconds(i64::try_from(random.below(2)).unwrap())),
    };
    (who, filter)
}

async fn list_is_right(pool: &PgPool, random: &mut Random) {
    let (who, filter) = random_filter(random);
    let wanted = expected(pool, &who, &filter).await;
    let (rows, total) = all(pool, &who, &filter).await;
    let ids: Vec<Uuid> = rows.iter().map(|row| row.execution_id).collect();
    assert_eq!((ids, total), (wanted.clone(), u64::try_from(wanted.len()).unwrap()), "{who} {filter:?}");
}

async fn has_no_difference(pool: &PgPool) {
    let found = execution_list::compare(pool, "", 10_000).await.unwrap();
    assert_eq!((found.differences, found.next), (Vec::new(), None));
}

/// The counters of days, without those that are zero again.
async fn days(pool: &PgPool) -> Vec<String> {
    let counters = "SELECT d::text FROM agent_days d WHERE n <> 0 OR fees <> 0 OR earned <> 0
         UNION ALL SELECT m::text FROM market_days m WHERE completed <> 0 OR failed <> 0 OR earned <> 0
         ORDER BY 1";
    sqlx::query_scalar(counters).fetch_all(pool).await.unwrap()
}

#[tokio::test]
async fn after_any_changes_and_folding_at_any_moment_lists_totals_and_ranges_are_what_the_sources_say() {
    for seed in 0..4 {
        println!("seed {seed}");
        let database = TestDatabase::create().await;
        let pool = database.pool();
        let mut random = Random(seed);
        for creator in [30, 31] {
            for index in 0..3 {
                show(pool, listing(wallet(creator), index), "named", &["data"]).await;
            }
        }
        for step in 0..400 {
            change(pool, &mut random).await;
            if random.below(12) == 0 {
                let folded = "SELECT roll_up_list_notes($1)";
                let most = i32::try_from(1 + random.below(40)).unwrap();
                sqlx::query(folded).bind(most).execute(pool).await.unwrap();
            }
            if step % 4 == 0 {
                list_is_right(pool, &mut random).await;
            }
        }
        has_no_difference(pool).await;
        crtx_store::testing::roll_up_all(pool).await.unwrap();
        has_no_difference(pool).await;
        for _ in 0..60 {
            list_is_right(pool, &mut random).await;
        }
        let counted = days(pool).await;
        assert!(counted.len() > 2, "{counted:?}");
        execution_list::rebuild(pool).await.unwrap();
        crtx_store::testing::roll_up_all(pool).await.unwrap();
        has_no_difference(pool).await;
        assert_eq!(days(pool).await, counted);
        for _ in 0..20 {
            list_is_right(pool, &mut random).await;
        }
    }
}

/// A row of the mirror, and its gateway row.
fn sources(number: u64) -> (String, String, String) {
    let (record, caller, agent, id) = subject(number);
    let mirror = format!(
        "INSERT INTO mirror_executions (address, slot, revision, execution_id, agent, caller, rent_payer, amount,
             creator_amount, platform_amount, execution_time_ms, dispute_window_s, fee_bps, max_penalty_multiple, binding,
             opened_at, finished_at, status, dispute_count, initiated_at)
         VALUES ('{record}', 1, 1, '{id}', '{agent}', '{caller}', 'r', 100, 99, 1, 10, 60, 100, 20, false, now(), now(), 6,
             1, now())"
    );
    let gateway = format!(
        "INSERT INTO executions (record, execution_id, caller, agent, session_key, state, body_hash, is_async, request,
             request_hash, amount, timeout_seconds, endpoint)
         VALUES ('{record}', '{id}', '{caller}', '{agent}', 'k', 'running', decode(repeat('05', 32), 'hex'), false, '{{}}',
             decode(repeat('05', 32), 'hex'), 50000, 60, 'e')"
    );
    let dispute = format!(
        "INSERT INTO mirror_disputes (address, slot, revision, execution, agent, raised_by, rent_payer, evidence_hash,
             evidence_uri, raised_at, slash_amount, compensation, outcome)
         VALUES ('d{record}', 1, 1, '{record}', '{agent}', '{caller}', 'r', '\\x00', 'u', now(), 0, 40, 2)"
    );
    (mirror, gateway, dispute)
}

/// Runs `first` in an open transaction, then `second` in another one, which has to wait; commits both.
async fn interleaved(pool: &PgPool, first: &str, second: &str) {
    let mut one = crtx_store::transaction::begin(pool).await.unwrap();
    one.execute(sqlx::raw_sql(AssertSqlSafe(first.to_owned()))).await.unwrap();
    let (waiting, second) = (pool.clone(), second.to_owned());
    let other = tokio::spawn(async move {
        let mut two = crtx_store::transaction::begin(&waiting).await.unwrap();
        two.execute(sqlx::raw_sql(AssertSqlSafe(second))).await.unwrap();
        two.commit().await.unwrap();
    });
    let blocked = "SELECT count(*) FROM pg_stat_activity
                   WHERE datname = current_database() AND wait_event_type = 'Lock'";
    while sqlx::query_scalar::<_, i64>(blocked).fetch_one(pool).await.unwrap() == 0 && !other.is_finished() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(!other.is_finished(), "the second transaction waits for the first one");
    one.commit().await.unwrap();
    other.await.unwrap();
}

#[tokio::test]
async fn two_transactions_that_write_two_sources_of_one_record_end_in_the_row_of_both() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let (mirror, gateway, dispute) = sources(1);
    for (first, second) in
        [(&mirror, &gateway), (&gateway, &mirror), (&dispute, &mirror), (&mirror, &dispute), (&dispute, &gateway)]
    {
        interleaved(pool, first, second).await;
        has_no_difference(pool).await;
        // And the rest, so that each order ends with all three.
        for rest in [&mirror, &gateway, &dispute] {
            pool.execute(sqlx::raw_sql(AssertSqlSafe(format!("{rest} ON CONFLICT DO NOTHING")))).await.unwrap();
        }
        has_no_difference(pool).await;
        let row: (i16, i64) = sqlx::query_as("SELECT status, cost FROM execution_list").fetch_one(pool).await.unwrap();
        assert_eq!(row, (3, 60), "overturned: the price without the compensation");
        for (one, two) in [
            ("DELETE FROM mirror_disputes", "UPDATE mirror_executions SET status = 2"),
            ("UPDATE executions SET state = 'pending'", "DELETE FROM mirror_executions"),
        ] {
            interleaved(pool, one, two).await;
            has_no_difference(pool).await;
        }
        pool.execute("DELETE FROM executions").await.unwrap();
        let left: i64 = sqlx::query_scalar("SELECT count(*) FROM execution_list").fetch_one(pool).await.unwrap();
        assert_eq!(left, 0);
    }
    crtx_store::testing::roll_up_all(pool).await.unwrap();
    let counted: i64 = sqlx::query_scalar("SELECT COALESCE(sum(abs(n)), 0)::bigint FROM execution_totals")
        .fetch_one(pool)
        .await
        .unwrap();
    assert_eq!(counted, 0);
}

#[tokio::test]
async fn a_source_that_arrives_while_the_only_other_one_is_deleted_keeps_its_row() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let (mirror, gateway, dispute) = sources(1);
    for (known, deleted, arriving) in [
        (&gateway, "DELETE FROM executions", &mirror),
        (&mirror, "DELETE FROM mirror_executions", &gateway),
        (&gateway, "DELETE FROM executions", &dispute),
        (&dispute, "DELETE FROM mirror_disputes", &mirror),
    ] {
        pool.execute(sqlx::raw_sql(AssertSqlSafe(known.clone()))).await.unwrap();
        interleaved(pool, deleted, arriving).await;
        let rows: i64 = sqlx::query_scalar("SELECT count(*) FROM execution_list").fetch_one(pool).await.unwrap();
        assert_eq!(rows, 1, "{deleted}; {arriving}");
        has_no_difference(pool).await;
        for table in ["executions", "mirror_executions", "mirror_disputes"] {
            pool.execute(sqlx::raw_sql(AssertSqlSafe(format!("DELETE FROM {table}")))).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_step_that_changes_nothing_shown_does_not_touch_the_list() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let (mirror, gateway, dispute) = sources(1);
    for source in [mirror, gateway, dispute] {
        pool.execute(sqlx::raw_sql(AssertSqlSafe(source))).await.unwrap();
    }
    crtx_store::testing::roll_up_all(pool).await.unwrap();
    let state = "SELECT xmin::text || xmax::text || ctid::text FROM execution_list";
    let before: String = sqlx::query_scalar(state).fetch_one(pool).await.unwrap();
    for change in [
        "UPDATE executions SET lease_owner = gen_random_uuid(), lease_until = now()",
        "UPDATE executions SET state = 'settling', result = 'x', result_hash = decode(repeat('05', 32), 'hex'),
             result_signature = decode(repeat('05', 64), 'hex'), execution_time_ms = 5",
        "UPDATE mirror_executions SET slot = slot + 1, observed_at = now(), closed_at_slot = 7",
        "UPDATE mirror_disputes SET slot = slot + 1, answer_hash = '\\x00', answer_uri = 'u', answered_at = now()",
    ] {
        pool.execute(change).await.unwrap();
        assert_eq!(sqlx::query_scalar::<_, String>(state).fetch_one(pool).await.unwrap(), before, "{change}");
    }
    let notes: i64 = sqlx::query_scalar(
        "SELECT (SELECT count(*) FROM execution_notes) + (SELECT count(*) FROM agent_day_notes)
              + (SELECT count(*) FROM dispute_notes)",
    )
    .fetch_one(pool)
    .await
    .unwrap();
    assert_eq!(notes, 0);
}

#[tokio::test]
async fn a_creator_sees_the_executions_of_its_agents_even_if_the_listing_arrives_later() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let (creator, caller, id) = (wallet(30), wallet(1), Uuid::from_u128(1));
    let agent = addresses().agent(&creator, 0);
    let record_address = addresses().execution(&caller, id.as_bytes());
    let of_creator = ExecutionFilter { role: ExecutionRole::Creator, ..ExecutionFilter::default() };

    // A transaction that began before the listing and does not see it.
    let mut early = crtx_store::transaction::begin(pool).await.unwrap();
    early.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ").await.unwrap();
    early.execute("SELECT 1 FROM mirror_agents").await.unwrap();
    put(pool, &record_address, 10, &completed(record(caller, agent, id), "x")).await;
    assert_eq!(all(pool, &creator, &of_creator).await.1, 0);
    show(pool, listing(creator, 0), "named", &["data"]).await;
    assert_eq!(all(pool, &creator, &of_creator).await.1, 1, "the listing names the creator at once");
    let statement = format!(
        "INSERT INTO mirror_executions (address, slot, revision, execution_id, agent, caller, rent_payer, amount,
             creator_amount, platform_amount, execution_time_ms, dispute_window_s, fee_bps, max_penalty_multiple, binding,
             opened_at, status, dispute_count, initiated_at)
         VALUES ('late', 1, 1, '{id}', '{agent}', 'another', 'r', 100, 99, 1, 10, 60, 100, 20, false, now(), 1, 0, now())"
    );
    early.execute(sqlx::raw_sql(AssertSqlSafe(statement))).await.unwrap();
    execution_list::roll_up(pool).await.unwrap();
    early.commit().await.unwrap();
    let record: Option<String> =
        sqlx::query_scalar("SELECT creator FROM execution_list WHERE record = 'late'").fetch_one(pool).await.unwrap();
    assert_eq!(record, None);
    execution_list::roll_up(pool).await.unwrap();
    let record: Option<String> =
        sqlx::query_scalar("SELECT creator FROM execution_list WHERE record = 'late'").fetch_one(pool).await.unwrap();
    assert_eq!(record, Some(creator.to_string()));
}

#[tokio::test]
async fn an_emptied_mirror_leaves_what_the_gateway_knows() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let (mirror, ..) = sources(1);
    pool.execute(sqlx::raw_sql(AssertSqlSafe(mirror))).await.unwrap();
    GatewayRow::new(wallet(1), wallet(9), Uuid::from_u128(77), "running").insert(pool).await;
    let filter = ExecutionFilter::default();
    assert_eq!(all(pool, &wallet(1), &filter).await.1, 2);
    mirror::clear(pool).await.unwrap();
    let (rows, total) = all(pool, &wallet(1), &filter).await;
    assert_eq!((rows.len(), total, rows[0].status), (1, 1, ShownStatus::Running));
    has_no_difference(pool).await;
}

#[tokio::test]
async fn who_folds_and_who_empties_the_mirror_do_not_wait_for_each_other() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    show(pool, listing(wallet(30), 0), "named", &["data"]).await;
    let mut emptying = crtx_store::transaction::begin(pool).await.unwrap();
    emptying.execute("TRUNCATE mirror_accounts").await.unwrap();
    let folding = tokio::spawn({
        let pool = pool.clone();
        async move { execution_list::roll_up(&pool).await }
    });
    let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted
                       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    while sqlx::query_scalar::<_, i64>(waiting).fetch_one(pool).await.unwrap() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    emptying.execute("SELECT rebuild_lists()").await.unwrap();
    emptying.commit().await.unwrap();
    folding.await.unwrap().unwrap();
    has_no_difference(pool).await;
}

#[tokio::test]
async fn the_comparison_finds_what_somebody_altered() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    for number in 0..40 {
        let (mirror, ..) = sources(number * 2);
        pool.execute(sqlx::raw_sql(AssertSqlSafe(mirror))).await.unwrap();
    }
    crtx_store::testing::roll_up_all(pool).await.unwrap();
    has_no_difference(pool).await;
    for (damage, is_row) in [
        ("UPDATE execution_list SET cost = 7 WHERE record = (SELECT min(record) FROM execution_list)", true),
        ("DELETE FROM execution_list WHERE record = (SELECT min(record) FROM execution_list)", true),
        ("UPDATE execution_totals SET n = n + 1 WHERE status = 3", false),
        ("UPDATE execution_totals SET n = n + 1 WHERE day > '-infinity'", false),
        (
            "INSERT INTO execution_changes (caller, agent, day, was, status)
             SELECT caller, agent, utc_day(initiated_at), -1, 1 FROM execution_list",
            false,
        ),
        ("DELETE FROM execution_totals", false),
    ] {
        pool.execute(sqlx::raw_sql(damage)).await.unwrap();
        let found = execution_list::compare(pool, "", 1_000).await.unwrap().differences;
        let hit = found.iter().any(|difference| matches!(difference, ListDifference::Row { .. }) == is_row);
        assert!(hit, "{damage}: {found:?}");
        execution_list::rebuild(pool).await.unwrap();
        crtx_store::testing::roll_up_all(pool).await.unwrap();
        has_no_difference(pool).await;
    }
    let mut parts = 0;
    let mut after = String::new();
    loop {
        let part = execution_list::compare(pool, &after, 7).await.unwrap();
        parts += part.rows;
        match part.next {
            Some(next) => after = next,
            None => break,
        }
    }
    let rows: i64 = sqlx::query_scalar("SELECT count(*) FROM execution_list").fetch_one(pool).await.unwrap();
    assert_eq!(parts, rows.unsigned_abs());
}

#[tokio::test]
async fn cursor_pages_show_every_execution_once_with_ties_and_while_newer_ones_arrive() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let mut random = Random(7);
    for creator in [30, 31] {
        for index in 0..3 {
            show(pool, listing(wallet(creator), index), "named", &["data"]).await;
        }
    }
    for _ in 0..300 {
        change(pool, &mut random).await;
    }
    for (who, role) in [(wallet(1), ExecutionRole::Caller), (wallet(30), ExecutionRole::Creator)] {
        for status in [None, Some(ShownStatus::Failed)] {
            let filter = ExecutionFilter { role, status, to: Some(moment(MOMENTS)), ..ExecutionFilter::default() };
            let wanted: Vec<Pubkey> = all(pool, &who, &filter).await.0.iter().map(|row| row.record).collect();
            let (mut seen, mut start): (Vec<Pubkey>, Start<ExecutionPlace>) = (Vec::new(), Start::FIRST);
            loop {
                let page = single::list_executions(pool, &who, &filter, 3, &start).await.unwrap();
                assert_eq!(page.total, u64::try_from(wanted.len()).unwrap());
                seen.extend(page.items.iter().map(|row| row.record));
                match page.next {
                    Some(next) => start = Start::After(next),
                    None => break,
                }
            }
            assert_eq!(seen, wanted, "{role:?} {status:?}");
            assert!(seen.len() > 4);
            let skipped = single::list_executions(pool, &who, &filter, 2, &Start::Offset(2)).await.unwrap();
            assert_eq!(skipped.items.iter().map(|row| row.record).collect::<Vec<_>>(), wanted[2..4]);
            let beyond = single::list_executions(pool, &who, &filter, 2, &Start::Offset(5_000)).await.unwrap();
            assert_eq!(
                (beyond.items.len(), beyond.total, beyond.next),
                (0, u64::try_from(wanted.len()).unwrap(), None)
            );
        }
    }
}

#[tokio::test]
async fn many_executions_of_one_moment_are_counted_exactly() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let rows = "INSERT INTO mirror_executions (address, slot, revision, execution_id, agent, caller, rent_payer, amount,
                    creator_amount, platform_amount, execution_time_ms, dispute_window_s, fee_bps, max_penalty_multiple,
                    binding, opened_at, finished_at, status, dispute_count, initiated_at)
                SELECT record, 1, 1, gen_random_uuid(), $1, $1, 'r', 100, 99, 1, 10, 60, 100, 20, false, now(), now(), 2, 0,
                    CASE WHEN n % 3 = 0 THEN $2 + n * interval '1 second' ELSE $2 END
                FROM unnest($3::text[]) WITH ORDINALITY AS r (record, n)";
    let records: Vec<String> = (1..=90).map(|number| wallet(number).to_string()).collect();
    let noon = moment(0);
    sqlx::query(rows).bind(wallet(1).to_string()).bind(noon).bind(records).execute(pool).await.unwrap();
    crtx_store::testing::roll_up_all(pool).await.unwrap();
    let us = TimeDelta::microseconds(1);
    for (from, to, wanted) in [
        (None, None, 90),
        (Some(noon), None, 30),
        (Some(noon - us), None, 90),
        (None, Some(noon), 0),
        (None, Some(noon + us), 60),
        (Some(noon - us), Some(noon + us), 60),
        (Some(noon), Some(noon + us), 0),
        (Some(noon + TimeDelta::seconds(10)), Some(noon), 0),
    ] {
        let filter = ExecutionFilter { from, to, ..ExecutionFilter::default() };
        let listed = single::list_executions(pool, &wallet(1), &filter, 1, &Start::FIRST).await.unwrap();
        assert_eq!(listed.total, wanted, "{from:?} {to:?}");
    }
    has_no_difference(pool).await;
}

#[tokio::test]
async fn the_metrics_of_an_agent_are_those_of_its_last_thirty_days() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let agent = wallet(9);
    let rows =
        "INSERT INTO mirror_executions (address, slot, revision, execution_id, agent, caller, rent_payer, amount,
                    creator_amount, platform_amount, execution_time_ms, dispute_window_s, fee_bps, max_penalty_multiple,
                    binding, opened_at, failure_reason, agents_failure, settled_by, finished_at, status, dispute_count,
                    initiated_at)
                SELECT 'r' || n, 1, 1, gen_random_uuid(), $1, 'c', 'r', 100, 99, 1,
                    -- Who settled alone settled in the last second.
                    CASE WHEN n % 9 = 0 THEN 500000 ELSE n * 10 END, 60, 100, 20, false, now(),
                    -- One of the five that failed was given up by the gateway.
                    CASE WHEN n BETWEEN 81 AND 84 THEN 2 WHEN n = 85 THEN 5 END, n BETWEEN 81 AND 84,
                    CASE WHEN n <= 80 OR n >= 89 THEN CASE WHEN n % 9 = 0 THEN 2 ELSE 3 END END,
                    CASE WHEN n > 90 THEN now() - interval '31 days' ELSE now() - interval '2 days' END,
                    CASE WHEN n <= 80 THEN 2 WHEN n <= 85 THEN 3 WHEN n <= 88 THEN 4 WHEN n <= 89 THEN 6 ELSE 2 END,
                    CASE WHEN n = 89 OR n = 1 THEN 1 ELSE 0 END, now()
                FROM generate_series(1, 100) n";
    sqlx::query(rows).bind(agent.to_string()).execute(pool).await.unwrap();
    crtx_store::testing::roll_up_all(pool).await.unwrap();
    let mut connection = pool.acquire().await.unwrap();
    let metrics = reads::agent_metrics(&mut connection, &agent, Utc::now()).await.unwrap();
    assert_eq!(
        (
            metrics.completed_executions,
            metrics.failed_executions,
            metrics.disputed_executions,
            metrics.upheld_disputes,
            metrics.fees.0
        ),
        (82, 4, 2, 1, 82)
    );
    assert_eq!(metrics.success_rate, Some(81.0 / 86.0));
    assert_eq!(metrics.dispute_rate, Some(1.0 / 82.0));
    let (p50, p95) = (metrics.p50_execution_time_ms.unwrap(), metrics.p95_execution_time_ms.unwrap());
    assert!((400..=420).contains(&p50) && (756..=800).contains(&p95), "{p50} {p95}");
    // A record that changes is counted as what it is now.
    pool.execute("UPDATE mirror_executions SET status = 6, dispute_count = 1 WHERE address = 'r2'").await.unwrap();
    pool.execute("DELETE FROM mirror_executions WHERE address = 'r3'").await.unwrap();
    crtx_store::testing::roll_up_all(pool).await.unwrap();
    let metrics = reads::agent_metrics(&mut connection, &agent, Utc::now()).await.unwrap();
    assert_eq!((metrics.completed_executions, metrics.disputed_executions, metrics.upheld_disputes), (81, 3, 2));
    assert_eq!(
        reads::agent_metrics(&mut connection, &wallet(8), Utc::now()).await.unwrap(),
        reads::AgentMetrics::default()
    );
}

#[tokio::test]
async fn the_days_of_a_creator_and_of_the_market_are_those_of_their_agents_even_if_a_listing_arrives_later() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let (creator, other) = (wallet(30), wallet(31));
    show(pool, listing(creator, 0), "early", &["data"]).await;
    let agents = [addresses().agent(&creator, 0), addresses().agent(&creator, 1), addresses().agent(&other, 0)];
    for (number, agent) in (0_u8..).zip([agents[0], agents[0], agents[1], agents[2]]) {
        let mut execution = completed(record(wallet(1), agent, Uuid::from_bytes([number; 16])), "x");
        execution.record.finished_at_unix_s = Utc::now().timestamp();
        put(pool, &addresses().execution(&wallet(1), &[number; 16]), 10, &execution).await;
    }
    crtx_store::testing::roll_up_all(pool).await.unwrap();
    let now = Utc::now();
    let market = reads::market_history(pool, now).await.unwrap();
    let completed = market.iter().map(|day| day.completed_executions).sum::<u64>();
    let fees = market.iter().map(|day| day.fees_usdc.0).sum::<u64>();
    let earned = market.iter().map(|day| day.volume_usdc.0).sum::<u64>() - fees;
    let of = |days: &[reads::CreatorDay]| {
        let sum = |count: fn(&reads::CreatorDay) -> u64| days.iter().map(count).sum::<u64>();
        (sum(|day| day.completed_executions), sum(|day| day.earned_usdc.0), sum(|day| day.fees_usdc.0))
    };
    assert_eq!((completed, earned > 0, fees > 0), (4, true, true));
    let early = reads::creator_history(pool, &creator, now).await.unwrap();
    assert_eq!(of(&early), (2, earned / 2, fees / 2), "the other listing is not known yet");
    show(pool, listing(creator, 1), "late", &["data"]).await;
    crtx_store::testing::roll_up_all(pool).await.unwrap();
    let late = reads::creator_history(pool, &creator, now).await.unwrap();
    assert_eq!(of(&late), (3, earned / 4 * 3, fees / 4 * 3));
    assert_eq!(reads::market_history(pool, now).await.unwrap(), market);
    assert_eq!(reads::creator_history(pool, &other, now).await.unwrap(), []);
}

#[tokio::test]
async fn writers_of_disputes_and_executions_do_not_lock_each_other_out() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let agent = show(pool, listing(wallet(30), 0), "named", &["data"]).await;
    let mut batches = Vec::new();
    for revision in 0..40_u64 {
        let mut batch = mirror::Batch::default();
        for number in 0..6_u128 {
            let (caller, id) = (wallet(1), Uuid::from_u128(number));
            let address = addresses().execution(&caller, id.as_bytes());
            let mut account = completed(record(caller, agent, id), "x");
            account.record.revision += revision;
            batch.push(&address, 10 + revision, &account).unwrap();
            let mut raised = dispute(address, agent, caller, DisputeOutcome::Upheld);
            raised.revision += revision;
            raised.compensation = revision % 3;
            raised.slash_amount = raised.compensation;
            // Half of the batches have the disputes of some and the executions of others.
            if (number + u128::from(revision)).is_multiple_of(2) {
                batch.push(&addresses().dispute(&address), 10 + revision, &raised).unwrap();
            }
        }
        batches.push(batch);
    }
    let writers: Vec<_> = (0..4_usize)
        .map(|writer| {
            let (pool, batches) = (pool.clone(), batches.clone());
            tokio::spawn(async move {
                for step in 0..batches.len() {
                    mirror::apply_changes(&pool, &batches[(step + writer * 7) % batches.len()], 50).await?;
                }
                Ok::<_, crtx_store::StoreError>(())
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap().expect("no deadlock");
    }
    has_no_difference(pool).await;
}
