//! A stream that brings changes later than the chain makes them final: the mirror waits for it, and does not take what
//! it lacks for an error. And a write that ends later than its answer was true.

use std::time::Duration;

use crate::forking::{
    Node,
    running::{NEVER, Running, difference, execution, execution_at, market, quick, status_of},
};
use crtx_mirror::{
    source::{At, SourceEvent},
    sync::SyncSettings,
};
use crtx_store::{
    PgPool,
    reads::ShownStatus,
    testing::{
        TestDatabase,
        mirrored::{execute_in, lock_execution},
        server,
        tampering::{tamper, text_of},
    },
};

/// Many times the pause between two looks at the finalized state.
const LONG: Duration = Duration::from_millis(900);
/// More than the mirror applies in one step.
const FULL: usize = 2_500;

async fn is_waiting_for_a_lock(pool: &PgPool) -> bool {
    let sessions = server::active_sessions(pool).await.expect("the sessions");
    sessions.keys().any(|waits_for| waits_for.starts_with("Lock:"))
}

/// Brings more than the mirror takes at once, with a change that it cannot write while the row of the execution 1 is
/// locked. The chain stays as it is, so a snapshot writes nothing.
fn flood(node: &Node) {
    node.repeat_last(&execution_at(1));
    for _ in 0..FULL {
        node.alive();
    }
}

#[tokio::test]
async fn what_is_final_and_still_waits_in_the_stream_is_waited_for() {
    let node = market(2);
    node.state().offers_transactions = false;
    let running = Running::start(&node, quick(NEVER)).await;
    let pool = running.pool();
    let (address, data) = execution(1, 2, None);
    node.change(address, data);
    node.send(SourceEvent::Reached(node.chain().slot));
    running.until("the first change", async || running.checkpoint().await.unwrap() >= node.chain().slot).await;
    let reads = node.reads(At::Confirmed);

    node.delay(true);
    let (address, data) = execution(1, 3, Some("r"));
    node.change(address, data);
    node.slots(40);
    node.finalize();
    tokio::time::sleep(LONG).await;
    assert_eq!(node.reads(At::Confirmed), reads, "a row was suspected");
    assert_ne!(status_of(pool, 1).await, Some(ShownStatus::Completed));

    node.delay(false);
    running.until("the second change", async || status_of(pool, 1).await == Some(ShownStatus::Completed)).await;
    node.send(SourceEvent::Reached(node.chain().slot));
    running.until_equal().await;
    assert_eq!(node.reads(At::Confirmed), reads, "a row was suspected");
}

#[tokio::test]
async fn what_is_confirmed_is_not_read_again_while_another_account_waits() {
    let node = market(3);
    node.state().offers_transactions = false;
    let running = Running::start(&node, quick(NEVER)).await;
    for number in [1, 2] {
        let (address, data) = execution(number, 2, None);
        node.change(address, data);
    }
    node.send(SourceEvent::Reached(node.chain().slot));
    running.until("both changes", async || running.checkpoint().await.unwrap() == node.chain().slot).await;
    node.delay(true);
    let (address, data) = execution(2, 3, Some("r"));
    node.change(address, data);
    node.slots(40);
    node.finalize();
    let reads = async || [1, 2].map(|number| node.finalized_reads_of(&execution_at(number)));
    tokio::time::sleep(LONG).await;
    let [confirmed, waiting] = reads().await;
    assert!(confirmed > 0);
    tokio::time::sleep(LONG).await;
    let [confirmed_later, waiting_later] = reads().await;
    assert_eq!(confirmed_later, confirmed, "it was read again");
    assert!(waiting_later > waiting, "it was not read again");

    node.delay(false);
    node.send(SourceEvent::Reached(node.chain().slot));
    running.until_equal().await;
}

#[tokio::test]
async fn the_finalized_state_is_left_alone_while_a_late_stream_is_behind_it() {
    let node = market(2);
    node.state().offers_transactions = false;
    let running = Running::start(&node, quick(NEVER)).await;
    let lock = lock_execution(running.pool(), &execution_at(1)).await;
    flood(&node);
    node.slots(40);
    node.finalize();
    tokio::time::sleep(LONG).await;
    let reads = node.reads(At::Finalized);
    tokio::time::sleep(LONG).await;
    assert_eq!(node.reads(At::Finalized), reads, "the finalized state was read");
    lock.rollback().await.expect("released");
    node.send(SourceEvent::Reached(node.chain().slot));
    running.until_equal().await;
}

#[tokio::test]
async fn what_the_stream_never_brings_is_read_once_the_indexed_slot_has_passed_it() {
    let node = market(2);
    node.state().offers_transactions = false;
    let running = Running::start(&node, quick(NEVER)).await;
    let pool = running.pool();
    let (address, data) = execution(1, 2, None);
    node.change(address, data);
    node.state().swallow = true;
    let (address, data) = execution(1, 3, Some("r"));
    node.change(address, data);
    node.state().swallow = false;
    node.finalize();
    tokio::time::sleep(LONG).await;
    assert_ne!(status_of(pool, 1).await, Some(ShownStatus::Completed), "it may still wait in the stream");
    node.send(SourceEvent::Reached(node.chain().slot));
    running.until("the row is read", async || status_of(pool, 1).await == Some(ShownStatus::Completed)).await;
    running.until_equal().await;
}

#[tokio::test]
async fn a_row_that_is_being_written_is_not_taken_for_wrong() {
    let node = market(2);
    let running = Running::start(&node, quick(NEVER)).await;
    let reads = node.reads(At::Confirmed);
    let lock = lock_execution(running.pool(), &execution_at(1)).await;
    let (address, data) = execution(1, 2, Some("r"));
    node.change(address, data);
    running.until("its row is being written", async || is_waiting_for_a_lock(running.pool()).await).await;
    node.finalize();
    tokio::time::sleep(LONG).await;
    assert_eq!(node.reads(At::Confirmed), reads, "a row was suspected");
    lock.rollback().await.expect("released");
    running.until_equal().await;
    assert_eq!(node.reads(At::Confirmed), reads, "a row was suspected");
}

#[tokio::test]
async fn no_snapshot_begins_while_the_stream_is_late_and_one_follows() {
    let node = market(2);
    let interval = Duration::from_millis(500);
    let running = Running::start(&node, quick(interval)).await;
    let lock = lock_execution(running.pool(), &execution_at(1)).await;
    flood(&node);
    // A snapshot that is under way ends.
    tokio::time::sleep(interval / 2).await;
    let snapshots = node.snapshots();
    tokio::time::sleep(interval * 3).await;
    assert_eq!(node.snapshots(), snapshots, "a snapshot began");
    lock.rollback().await.expect("released");
    running.until("a snapshot", async || node.snapshots() > snapshots).await;
    running.until_equal().await;
}

#[tokio::test]
async fn a_stream_that_is_always_late_does_not_keep_snapshots_away() {
    let node = market(2);
    let interval = Duration::from_millis(500);
    let running = Running::start(&node, quick(interval)).await;
    let lock = lock_execution(running.pool(), &execution_at(1)).await;
    flood(&node);
    let snapshots = node.snapshots();
    // The second one begins after five intervals.
    running.until("two snapshots", async || node.snapshots() >= snapshots + 2).await;
    lock.rollback().await.expect("released");
    running.until_equal().await;
}

#[tokio::test]
async fn a_closing_that_is_written_after_its_fork_was_dropped_is_taken_back() {
    let node = market(3);
    let settings = SyncSettings { finality_interval: NEVER, ..quick(NEVER) };
    let running = Running::on(TestDatabase::create().await, &node, settings);
    let (pool, closed) = (running.pool(), execution_at(3));
    // The mirror looks at the finalized state only if it is asked to.
    let look = || node.send(SourceEvent::Dropped(0));
    let until_equal = async || {
        node.finalize();
        let is_equal = async || {
            look();
            difference(pool, &node.chain()).await.is_empty()
        };
        running.until("the mirror equals the chain", is_equal).await;
    };
    until_equal().await;
    // The next update of rows waits, and those after it do not.
    tamper(
        pool,
        "CREATE SEQUENCE updates;
         CREATE FUNCTION hold_the_first() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             IF nextval('updates') = 1 THEN PERFORM pg_advisory_xact_lock(7000001); END IF;
             RETURN NULL;
         END $$;
         CREATE TRIGGER hold_the_first BEFORE UPDATE ON mirror_accounts EXECUTE FUNCTION hold_the_first()",
    )
    .await;
    let mut hold = lock_execution(pool, &execution_at(77)).await;
    execute_in(&mut hold, "SELECT pg_advisory_xact_lock(7000001)").await.expect("the lock");
    node.begin_fork();
    node.close(closed);
    let is_held = async || text_of(pool, "SELECT is_called::text FROM updates").await == "true";
    running.until("the closing is being written", is_held).await;

    node.drop_fork(false);
    node.slots(40);
    node.finalize();
    let reads = node.finalized_reads_of(&closed);
    let is_read = async || {
        look();
        node.finalized_reads_of(&closed) > reads
    };
    running.until("the account is read as it is", is_read).await;
    tokio::time::sleep(LONG).await;
    hold.rollback().await.expect("released");
    tokio::time::sleep(LONG).await;
    until_equal().await;
}
