//! The event log: every change is an event of its wallet, the numbers have no holes, and nothing is skipped whatever
//! commits late.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use agent_marketplace::state::{AgentStatus, DisputeOutcome, ExecutionStatus};
use chrono::TimeDelta;
use crtx_store::{
    PgPool,
    api_keys::{self, NewApiKey},
    events::{self, Event},
    execution_list, mirror,
    reads::RefundReason,
    testing::{
        TestDatabase,
        fixtures::{
            GatewayRow, NOON, addresses, completed, config, configuration, dispute, grant, listing, put, record,
            refunded, show, wallet,
        },
    },
};
use solana_pubkey::Pubkey;
use sqlx::{AssertSqlSafe, Executor};
use uuid::Uuid;

const CALLER: u8 = 1;
const CREATOR: u8 = 30;
const RESOLVER: u8 = 60;

/// A database whose mirror has had its first snapshot: from then on changes are events.
async fn database() -> TestDatabase {
    let database = TestDatabase::create().await;
    mirror::snapshot_applied(database.pool(), 1, None).await.unwrap();
    database
}

async fn number_all(pool: &PgPool) {
    while events::number(pool).await.unwrap() > 0 {}
}

/// The log of a wallet, which proves itself.
async fn log(pool: &PgPool, of: u8) -> Vec<Event> {
    number_all(pool).await;
    let mut connection = pool.acquire().await.unwrap();
    let mut all: Vec<Event> = Vec::new();
    loop {
        let after = all.last().map_or(0, |event| event.sequence.into());
        let page = events::page(&mut connection, &wallet(of), after, &[], 7).await.unwrap();
        if page.events.is_empty() {
            assert_eq!((page.through, page.newest), (after, after));
            break;
        }
        all.extend(page.events);
    }
    has_no_hole(&all);
    all
}

/// What a receiver can check by itself.
fn has_no_hole(events: &[Event]) {
    let mut before = None;
    for (place, event) in (1_u64..).zip(events) {
        assert_eq!(u64::from(event.sequence), place);
        assert_eq!(event.previous, before);
        before = Some(event.id);
    }
}

/// Types, with `!` for a correction.
fn types(events: &[Event]) -> Vec<String> {
    let mark = |event: &Event| if event.correction { "!" } else { "" };
    events.iter().map(|event| format!("{}{}", event.event_type, mark(event))).collect()
}

async fn run(pool: &PgPool, statement: &str) {
    pool.execute(sqlx::raw_sql(AssertSqlSafe(statement.to_owned()))).await.unwrap();
}

/// A call that the gateway has reserved. Returns its record.
async fn reserved(pool: &PgPool, agent: Pubkey, id: u128) -> Pubkey {
    GatewayRow::new(wallet(CALLER), agent, Uuid::from_u128(id), "opening").insert(pool).await
}

const OPENED: &str = "UPDATE executions SET state = 'running', opened_at = now(), dispatched_at = now()";
const COMPLETED: &str = "UPDATE executions SET state = 'completed', finished_at = now(), result = 'x',
    result_hash = decode(repeat('05', 32), 'hex'), result_signature = decode(repeat('05', 64), 'hex'),
    execution_time_ms = 5, charged_amount = 50000, charged_creator_amount = 49500, charged_platform_amount = 500";
const REFUNDED: &str =
    "UPDATE executions SET state = 'failed', finished_at = now(), failure_reason = 2, error_status = 408,
    error_code = 'execution_timeout', error_message = 'x'";

#[tokio::test]
async fn a_paid_call_is_opened_running_and_completed_for_its_caller_and_a_payout_for_the_creator() {
    let database = database().await;
    let pool = database.pool();
    let agent = show(pool, listing(wallet(CREATOR), 0), "named", &["data"]).await;
    let address = reserved(pool, agent, 7).await;
    assert_eq!(types(&log(pool, CALLER).await), [""; 0], "a reservation is nobody's event");
    run(pool, OPENED).await;
    // The mirror sees the opening later, and the settlement before the gateway does.
    put(pool, &address, 20, &record(wallet(CALLER), agent, Uuid::from_u128(7))).await;
    put(pool, &address, 21, &completed(record(wallet(CALLER), agent, Uuid::from_u128(7)), "x")).await;
    run(pool, COMPLETED).await;
    let caller = log(pool, CALLER).await;
    assert_eq!(types(&caller), ["execution.opened", "execution.running", "execution.completed"]);
    let statuses: Vec<_> = caller.iter().map(|event| event.data.status.as_deref().unwrap()).collect();
    assert_eq!(statuses, ["pending", "running", "completed"]);
    for event in &caller {
        assert_eq!((event.execution_id, event.agent_id.clone()), (Some(Uuid::from_u128(7)), Some(agent.to_string())));
        assert_eq!(event.data.amount_usdc.unwrap().0, 50_000);
        assert_eq!(event.data.on_chain_record, Some(address.to_string()));
    }
    assert_eq!(caller[2].slot.map(u64::from), Some(21));
    assert!(caller[2].data.result_hash.as_deref().unwrap().starts_with("sha256:"));
    let creator = log(pool, CREATOR).await;
    assert_eq!(types(&creator), ["agent.listed", "agent.shown", "payout"]);
    assert_eq!(creator[2].execution_id, Some(Uuid::from_u128(7)));
    let text = serde_json::to_string(&caller).unwrap();
    assert!(!text.contains("the result") && text.len() < 3 * 700, "{text}");
}

#[tokio::test]
async fn whoever_ends_an_execution_its_caller_hears_of_it_once() {
    let database = database().await;
    let pool = database.pool();
    let agent = show(pool, listing(wallet(CREATOR), 0), "named", &["data"]).await;
    let of =
        |id: u128| (Uuid::from_u128(id), addresses().execution(&wallet(CALLER), &Uuid::from_u128(id).into_bytes()));
    // 1: refunded by the gateway, then seen on chain. 2: by the sweep of somebody else, then noted by the gateway. 3: opened
    // and settled by a wallet alone. 4: never opened. 5: as 4, but it was opened after all, and the sweep refunds it.
    for id in [1, 2, 4, 5] {
        reserved(pool, agent, id).await;
    }
    run(pool, &format!("{OPENED} WHERE execution_id IN ('{}', '{}')", of(1).0, of(2).0)).await;
    let open = |id| record(wallet(CALLER), agent, of(id).0);
    run(pool, &format!("{REFUNDED} WHERE execution_id = '{}'", of(1).0)).await;
    put(pool, &of(1).1, 30, &refunded(open(1), 2)).await;
    put(pool, &of(2).1, 31, &refunded(open(2), 4)).await;
    run(pool, &format!("{REFUNDED} WHERE execution_id = '{}'", of(2).0)).await;
    put(pool, &of(3).1, 32, &open(3)).await;
    put(pool, &of(3).1, 33, &completed(open(3), "y")).await;
    run(pool, &format!("{REFUNDED} WHERE execution_id IN ('{}', '{}')", of(4).0, of(5).0)).await;
    put(pool, &of(5).1, 34, &open(5)).await;
    put(pool, &of(5).1, 35, &refunded(open(5), 4)).await;
    let events = log(pool, CALLER).await;
    let of_id = |id: u128| {
        let own: Vec<Event> = events.iter().filter(|event| event.execution_id == Some(of(id).0)).cloned().collect();
        types(&own)
    };
    let refund = ["execution.opened", "execution.running", "execution.failed", "execution.refunded"];
    assert_eq!(of_id(1), refund);
    assert_eq!(of_id(2), refund);
    assert_eq!(of_id(3), ["execution.opened", "execution.completed"]);
    assert_eq!(of_id(4), ["execution.failed"]);
    assert_eq!(of_id(5), ["execution.failed", "execution.refunded"]);
    let refunds: Vec<&Event> = events.iter().filter(|event| event.event_type == "execution.refunded").collect();
    assert_eq!(refunds[0].data.failure_reason, Some(RefundReason::Timeout));
    assert_eq!(refunds[0].data.error_code.as_deref(), Some("execution_timeout"));
    assert_eq!(refunds[1].data.failure_reason, Some(RefundReason::Expired));
    assert_eq!(refunds[1].data.amount_usdc.unwrap().0, 50_000);
    let same = events::of_execution(pool, &wallet(CALLER), &of(2).0, 0, 10).await.unwrap();
    assert_eq!(types(&same), refund);
    let other = events::of_execution(pool, &wallet(CREATOR), &of(2).0, 0, 10).await.unwrap();
    assert_eq!(other, []);
}

#[tokio::test]
async fn a_fork_that_takes_a_change_back_is_a_correction() {
    let database = database().await;
    let pool = database.pool();
    let agent = show(pool, listing(wallet(CREATOR), 0), "named", &["data"]).await;
    let id = Uuid::from_u128(1);
    let address = addresses().execution(&wallet(CALLER), id.as_bytes());
    let open = record(wallet(CALLER), agent, id);
    let correct = async |account: &mirror::ExecutionAccount, gone: &[Pubkey], slot| {
        let mut batch = mirror::Batch::default();
        if gone.is_empty() {
            batch.push(&address, slot, account).unwrap();
        }
        mirror::correct(pool, &batch, gone, slot).await.unwrap();
    };
    put(pool, &address, 20, &open).await;
    put(pool, &address, 21, &completed(open, "y")).await;
    correct(&open, &[], 30).await;
    put(pool, &address, 31, &refunded(open, 2)).await;
    correct(&completed(open, "y"), &[], 40).await;
    correct(&open, &[address], 50).await;
    let events = log(pool, CALLER).await;
    assert_eq!(
        types(&events),
        [
            "execution.opened",
            "execution.completed",
            "execution.opened!",
            "execution.failed",
            "execution.refunded",
            "execution.completed!",
            "execution.opened!",
        ]
    );
    assert_eq!(events[6].data.status, None, "nothing is left of it");
    let payouts: Vec<(bool, u64)> = log(pool, CREATOR)
        .await
        .iter()
        .filter(|event| event.event_type == "payout")
        .map(|event| (event.correction, event.data.amount_usdc.unwrap().0))
        .collect();
    assert_eq!(payouts.iter().map(|(correction, _)| *correction).collect::<Vec<_>>(), [false, true, true, true]);
    assert_eq!((payouts[1].1, payouts[3].1), (0, 0), "taken back");
    // A listing whose change was dropped.
    let mut changed = listing(wallet(CREATOR), 0);
    changed.metadata_hash =
        crtx_protocol::result_hash::ResultHash::of(&crtx_store::testing::fixtures::document("named", &["data"])).0;
    let before = changed;
    (changed.price, changed.revision) = (60_000, 2);
    put(pool, &agent, 60, &changed).await;
    let mut batch = mirror::Batch::default();
    batch.push(&agent, 70, &before).unwrap();
    mirror::correct(pool, &batch, &[], 70).await.unwrap();
    let listings = log(pool, CREATOR).await;
    let last: Vec<_> =
        listings.iter().rev().take(2).map(|event| (event.correction, event.data.price_usdc.unwrap().0)).collect();
    assert_eq!(last, [(true, 50_000), (false, 60_000)]);
}

#[tokio::test]
async fn both_parties_and_the_resolver_hear_of_a_dispute_from_its_beginning_to_its_end() {
    let database = database().await;
    let pool = database.pool();
    put(pool, &addresses().config(), 9, &config(wallet(RESOLVER))).await;
    let agent = show(pool, listing(wallet(CREATOR), 0), "named", &["data"]).await;
    let id = Uuid::from_u128(1);
    let address = addresses().execution(&wallet(CALLER), id.as_bytes());
    put(pool, &address, 20, &completed(record(wallet(CALLER), agent, id), "y")).await;
    let at = addresses().dispute(&address);
    let mut raised = dispute(address, agent, wallet(CALLER), DisputeOutcome::Open);
    put(pool, &at, 21, &raised).await;
    (raised.revision, raised.answered_at_unix_s, raised.answer_hash) = (2, NOON + 100, [8; 32]);
    put(pool, &at, 22, &raised).await;
    (raised.revision, raised.resolved_at_unix_s) = (3, NOON + 200);
    raised.outcome = DisputeOutcome::Upheld as u8;
    (raised.compensation, raised.slash_amount) = (50_000, 70_000);
    put(pool, &at, 23, &raised).await;
    let of = async |of: u8| {
        let events = log(pool, of).await;
        events.into_iter().filter(|event| event.event_type.starts_with("dispute.")).collect::<Vec<_>>()
    };
    for wallet in [CALLER, CREATOR, RESOLVER] {
        let events = of(wallet).await;
        assert_eq!(types(&events), ["dispute.opened", "dispute.answered", "dispute.resolved"]);
        assert_eq!(events[2].execution_id, Some(id));
        let data = &events[2].data;
        assert_eq!((data.compensation_usdc.unwrap().0, data.penalty_usdc.unwrap().0), (50_000, 20_000));
        assert_eq!(serde_json::to_value(data.outcome).unwrap(), "upheld");
        assert_eq!(serde_json::to_value(events[0].data.outcome).unwrap(), "open");
    }
    // Nobody decides about another one.
    let other = addresses().execution(&wallet(CREATOR), &[9; 16]);
    put(pool, &other, 30, &completed(record(wallet(CREATOR), agent, Uuid::from_bytes([9; 16])), "y")).await;
    let mut own = dispute(other, agent, wallet(CREATOR), DisputeOutcome::Open);
    put(pool, &addresses().dispute(&other), 31, &own).await;
    (own.revision, own.outcome, own.resolved_at_unix_s) = (2, DisputeOutcome::Expired as u8, NOON + 300);
    put(pool, &addresses().dispute(&other), 32, &own).await;
    let ends: Vec<String> = types(&of(CREATOR).await).split_off(3);
    assert_eq!(ends, ["dispute.opened", "dispute.expired"], "a party that is both hears of it once");
}

#[tokio::test]
async fn a_creator_hears_of_every_change_of_its_listing() {
    let database = database().await;
    let pool = database.pool();
    let mut account = listing(wallet(CREATOR), 0);
    let agent = show(pool, account, "named", &["data"]).await;
    account.metadata_hash =
        crtx_protocol::result_hash::ResultHash::of(&crtx_store::testing::fixtures::document("named", &["data"])).0;
    let mut slot = 20;
    let mut change = async |change: &mut dyn FnMut(&mut agent_marketplace::state::AgentListed)| {
        (account.revision, slot) = (account.revision + 1, slot + 1);
        change(&mut account);
        put(pool, &agent, slot, &account).await;
    };
    change(&mut |agent| agent.open_amount = 5).await;
    change(&mut |agent| agent.price = 70_000).await;
    change(&mut |agent| agent.status = AgentStatus::Paused as u8).await;
    change(&mut |agent| agent.status = AgentStatus::Active as u8).await;
    change(&mut |agent| (agent.collateral, agent.slashed_total) = (9_000_000, 1_000_000)).await;
    change(&mut |agent| agent.metadata_hash = [1; 32]).await;
    change(&mut |agent| agent.status = AgentStatus::Delisted as u8).await;
    mirror::mark_closed(pool, &[agent], 90).await.unwrap();
    let events = log(pool, CREATOR).await;
    assert_eq!(
        types(&events),
        [
            "agent.listed",
            "agent.shown",
            "agent.updated",
            "agent.paused",
            "agent.resumed",
            "agent.slashed",
            "agent.updated",
            "agent.hidden",
            "agent.delisted",
        ]
    );
    assert_eq!(events[5].data.slashed_total_usdc.unwrap().0, 1_000_000);
    assert_eq!(events[8].data.status.as_deref(), Some("delisted"));
    assert!(events.iter().all(|event| event.agent_id == Some(agent.to_string())));
}

#[tokio::test]
async fn a_key_is_created_exhausted_and_revoked_once() {
    let database = database().await;
    let pool = database.pool();
    put(pool, &addresses().config(), 5, &configuration()).await;
    let least = configuration().parameters.min_price;
    let at = addresses().grant(&wallet(CALLER), &wallet(2));
    let mut account = grant(wallet(CALLER), wallet(2));
    account.total_cap = 10 * least;
    put(pool, &at, 6, &account).await;
    let key = NewApiKey {
        session_public_key: wallet(2),
        wallet: wallet(CALLER),
        grant: at,
        name: "secret name",
        last_four: "abcd",
    };
    api_keys::register(pool, &key).await.unwrap();
    for (revision, spent) in [(2, least), (3, 9 * least), (4, 9 * least + 1), (5, 10 * least)] {
        (account.revision, account.spent) = (revision, spent);
        put(pool, &at, 6 + revision, &account).await;
    }
    (account.revision, account.revoked) = (6, 1);
    put(pool, &at, 20, &account).await;
    api_keys::revoke(pool, &wallet(CALLER), &wallet(2)).await.unwrap();
    let events = log(pool, CALLER).await;
    assert_eq!(types(&events), ["key.created", "key.exhausted", "key.revoked"]);
    assert!(events.iter().all(|event| event.data.session_public_key == Some(wallet(2).to_string())));
    assert!(!serde_json::to_string(&events).unwrap().contains("secret name"));
    // A key that only the service revokes.
    let other =
        NewApiKey { session_public_key: wallet(3), grant: addresses().grant(&wallet(CALLER), &wallet(3)), ..key };
    api_keys::register(pool, &other).await.unwrap();
    api_keys::revoke(pool, &wallet(CALLER), &wallet(3)).await.unwrap();
    assert_eq!(types(&log(pool, CALLER).await).split_off(3), ["key.created", "key.revoked"]);
}

#[tokio::test]
async fn what_commits_late_is_numbered_late_and_nothing_is_skipped() {
    let database = database().await;
    let pool = database.pool();
    let note = "INSERT INTO event_queue (wallet, type, data) VALUES ($1, $2, '{}')";
    let owner = wallet(CALLER).to_string();
    let mut late = crtx_store::transaction::begin(pool).await.unwrap();
    sqlx::query(note).bind(&owner).bind("first").execute(&mut *late).await.unwrap();
    sqlx::query(note).bind(&owner).bind("second").execute(pool).await.unwrap();
    assert_eq!(types(&log(pool, CALLER).await), ["second"]);
    late.commit().await.unwrap();
    assert_eq!(types(&log(pool, CALLER).await), ["second", "first"]);
}

#[tokio::test]
async fn several_processes_number_at_once_while_others_write_and_roll_back_and_no_wallet_has_a_hole() {
    let database = database().await;
    let pool = database.pool();
    let done = Arc::new(AtomicBool::new(false));
    let numbering: Vec<_> = (0..3)
        .map(|_| {
            let (pool, done) = (pool.clone(), Arc::clone(&done));
            tokio::spawn(async move {
                while !done.load(Ordering::Relaxed) {
                    events::number(&pool).await.unwrap();
                }
            })
        })
        .collect();
    let writers: Vec<_> = (0..6_u8)
        .map(|writer| {
            let pool = pool.clone();
            tokio::spawn(async move {
                for step in 0..80_u8 {
                    let mut transaction = crtx_store::transaction::begin(&pool).await.unwrap();
                    for place in 0..=step % 3 {
                        let note = "INSERT INTO event_queue (wallet, type, data) VALUES ($1, $2, '{}')";
                        let name = format!("{writer}.{step}.{place}");
                        let to = wallet(1 + (writer + place) % 4).to_string();
                        sqlx::query(note).bind(to).bind(name).execute(&mut *transaction).await.unwrap();
                    }
                    if step % 4 == 3 {
                        transaction.rollback().await.unwrap();
                    } else {
                        transaction.commit().await.unwrap();
                    }
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    done.store(true, Ordering::Relaxed);
    for task in numbering {
        task.await.unwrap();
    }
    let mut seen: HashMap<String, u32> = HashMap::new();
    for owner in 1..=4 {
        let events = log(pool, owner).await;
        // Of each writer in the order in which it wrote.
        for writer in 0..6 {
            let steps: Vec<(u8, u8)> = events
                .iter()
                .filter_map(|event| event.event_type.strip_prefix(&format!("{writer}."))?.split_once('.'))
                .map(|(step, place)| (step.parse().unwrap(), place.parse().unwrap()))
                .collect();
            assert!(steps.is_sorted(), "{steps:?}");
        }
        for event in events {
            *seen.entry(event.event_type).or_default() += 1;
        }
    }
    let written: usize = 6 * (0..80).filter(|step| step % 4 != 3).map(|step| step % 3 + 1).sum::<usize>();
    assert_eq!(seen.len(), written);
    assert!(seen.values().all(|times| *times == 1));
}

#[tokio::test]
async fn a_page_of_some_types_says_how_far_it_has_read() {
    let database = database().await;
    let pool = database.pool();
    run(
        pool,
        &format!(
            "INSERT INTO event_queue (wallet, type, data)
             SELECT '{}', CASE WHEN n % 10 = 0 THEN 'payout' ELSE 'key.created' END, '{{}}' FROM generate_series(1, 95) n",
            wallet(CALLER)
        ),
    )
    .await;
    number_all(pool).await;
    let mut connection = pool.acquire().await.unwrap();
    let mut read = async |after, types: &[&str], limit| {
        let types: Vec<String> = types.iter().map(|name| (*name).to_owned()).collect();
        let page = events::page(&mut connection, &wallet(CALLER), after, &types, limit).await.unwrap();
        let numbers: Vec<u64> = page.events.iter().map(|event| event.sequence.into()).collect();
        (numbers, page.through, page.oldest, page.newest)
    };
    assert_eq!(read(0, &["payout"], 4).await, (vec![10, 20, 30, 40], 40, 1, 95));
    assert_eq!(read(40, &["payout"], 10).await, (vec![50, 60, 70, 80, 90], 95, 1, 95));
    assert_eq!(read(90, &["payout"], 10).await, (vec![], 95, 1, 95));
    assert_eq!(read(95, &[], 10).await, (vec![], 95, 1, 95));
    // The oldest were deleted, and the log says so.
    run(pool, "UPDATE events SET numbered_at = now() - interval '91 days' WHERE sequence <= 30").await;
    let kept = TimeDelta::days(90);
    while events::drop_old(pool, kept).await.unwrap() > 0 {}
    assert_eq!(read(0, &[], 2).await, (vec![31, 32], 32, 31, 95));
    assert_eq!(read(0, &["key.created"], 1).await, (vec![31], 31, 31, 95));
    // Also if all of them are gone.
    run(pool, "UPDATE events SET numbered_at = now() - interval '91 days'").await;
    while events::drop_old(pool, kept).await.unwrap() > 0 {}
    assert_eq!(read(95, &[], 2).await, (vec![], 95, 96, 95));
    assert_eq!(read(50, &[], 2).await, (vec![], 95, 96, 95), "a client that was away goes on where the log does");
    run(pool, &format!("INSERT INTO event_queue (wallet, type, data) VALUES ('{}', 'payout', '{{}}')", wallet(CALLER)))
        .await;
    number_all(pool).await;
    assert_eq!(read(95, &[], 2).await, (vec![96], 96, 96, 96));
    let page = events::page(&mut connection, &wallet(CALLER), 95, &[], 1).await.unwrap();
    assert!(page.events[0].previous.is_some(), "the chain goes on");
}

#[tokio::test]
async fn a_payout_waits_until_the_creator_is_known_and_nothing_waits_for_it() {
    let database = database().await;
    let pool = database.pool();
    let agent = addresses().agent(&wallet(CREATOR), 0);
    let id = Uuid::from_u128(3);
    put(
        pool,
        &addresses().execution(&wallet(CALLER), id.as_bytes()),
        20,
        &completed(record(wallet(CALLER), agent, id), "y"),
    )
    .await;
    assert_eq!(types(&log(pool, CALLER).await), ["execution.opened", "execution.completed"]);
    assert_eq!(types(&log(pool, CREATOR).await), [""; 0]);
    show(pool, listing(wallet(CREATOR), 0), "named", &["data"]).await;
    let heard = types(&log(pool, CREATOR).await);
    assert_eq!(heard, ["payout", "agent.listed", "agent.shown"]);
}

#[tokio::test]
async fn filling_a_mirror_and_making_lists_again_are_no_events() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let agent = show(pool, listing(wallet(CREATOR), 0), "named", &["data"]).await;
    let id = Uuid::from_u128(3);
    let address = addresses().execution(&wallet(CALLER), id.as_bytes());
    put(pool, &address, 20, &completed(record(wallet(CALLER), agent, id), "y")).await;
    mirror::snapshot_applied(pool, 21, None).await.unwrap();
    assert_eq!(log(pool, CALLER).await, []);
    execution_list::rebuild(pool).await.unwrap();
    execution_list::rewrite(pool, &[address.to_string()]).await.unwrap();
    mirror::clear(pool).await.unwrap();
    assert_eq!((log(pool, CALLER).await, log(pool, CREATOR).await), (vec![], vec![]));
}

#[tokio::test]
async fn a_record_that_is_opened_again_begins_anew_and_its_past_is_not_told_twice() {
    let database = database().await;
    let pool = database.pool();
    let agent = show(pool, listing(wallet(CREATOR), 0), "named", &["data"]).await;
    let id = Uuid::from_u128(3);
    let address = addresses().execution(&wallet(CALLER), id.as_bytes());
    let first = record(wallet(CALLER), agent, id);
    put(pool, &address, 20, &first).await;
    put(pool, &address, 21, &completed(first, "y")).await;
    mirror::mark_closed(pool, &[address], 30).await.unwrap();
    let mut again = first;
    again.record.opened_at_unix_s = NOON + 10 * 86_400;
    put(pool, &address, 40, &again).await;
    put(pool, &address, 41, &refunded(again, 4)).await;
    assert_eq!(refunded(again, 4).record.status, ExecutionStatus::Expired as u8);
    assert_eq!(
        types(&log(pool, CALLER).await),
        ["execution.opened", "execution.completed", "execution.opened", "execution.failed", "execution.refunded"]
    );
}
