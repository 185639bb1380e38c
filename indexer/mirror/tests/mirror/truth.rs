//! The mirror against a chain that forks, closes and opens accounts again, and a node that loses, repeats, delays and
//! invents: the database ends equal to the chain, and the status says what is wrong meanwhile.

use std::{sync::Arc, time::Duration};

use crate::forking::running::*;
use agent_marketplace::state::ExecutionStatus;
use crtx_mirror::{
    closings::{event::ClosedAccount, search::keep},
    source::SourceEvent,
    sync::{SyncSettings, Syncer},
};
use crtx_protocol::mirror_digest::{MirrorDigest, data_hash};
use crtx_store::{
    closings::ClosingKind,
    indexer_status, mirror,
    reads::ShownStatus,
    testing::{fixtures::*, mirrored, tampering::tamper},
};
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn what_a_fork_of_1_to_32_slots_dropped_is_taken_back() {
    let running = Running::start(&market(3), quick(NEVER)).await;
    let (node, pool) = (&running.node, running.pool());
    for depth in 1..=32 {
        running.fork(depth).await;
        // The node tells it, or says nothing.
        node.drop_fork(depth % 2 == 0);
        node.slots(depth + 40);
        running.until_equal().await;
        assert_eq!(status_of(pool, 1).await, Some(ShownStatus::Running), "{depth} slots");
        assert_eq!(status_of(pool, OPENED).await, None, "an opening that was dropped disappears");
        assert_eq!(status_of(pool, 3).await, Some(ShownStatus::Running), "a closing that was dropped hides nothing");
    }
}

#[tokio::test]
async fn an_execution_can_be_settled_with_another_result_after_a_fork_was_dropped() {
    let running = Running::on_a_fork(3, 2).await;
    running.node.drop_fork(false);
    running.node.slots(40);
    running.until_equal().await;
    let (settled, data) = execution(1, 2, Some("another"));
    running.node.change(settled, data);
    running.until_equal().await;
    assert_eq!(status_of(running.pool(), 1).await, Some(ShownStatus::Completed));
}

#[tokio::test]
async fn what_a_fork_dropped_while_nobody_looked_is_taken_back_after_a_restart() {
    let running = Running::on_a_fork(3, 1).await;
    let node = running.node.clone();
    let database = running.stop().await;
    node.drop_fork(false);
    node.slots(50);
    let running = Running::on(database, &node, quick(NEVER));
    running.until_equal().await;
    assert_eq!(status_of(running.pool(), OPENED).await, None);
}

#[tokio::test]
async fn a_closed_row_of_a_dropped_account_is_found_however_long_ago_it_was_closed() {
    let running = Running::on_a_fork(3, 1).await;
    let node = running.node.clone();
    // The process marks the row and dies before it remembers that.
    let closed = [execution_at(OPENED)];
    let database = running.stop().await;
    node.drop_fork(false);
    mirror::mark_closed(database.pool(), &closed, node.chain().slot).await.expect("marked");
    node.slots(50_000);
    let running = Running::on(database, &node, quick(NEVER));
    running.until_equal().await;
    // The same while it runs: another process that still believes to lead does it.
    running.fork(1).await;
    mirror::mark_closed(running.pool(), &closed, node.chain().slot).await.expect("marked");
    running.node.drop_fork(false);
    running.syncer.resync().await.expect("resynced");
    running.until_equal().await;
}

#[tokio::test]
async fn a_closed_row_that_its_closing_proves_stays_although_nobody_saw_it_final() {
    let running = Running::start(&configured(), quick(NEVER)).await;
    let pool = running.pool();
    let (address, data) = execution(1, 2, Some("r"));
    running.node.state().swallow = true;
    running.node.change(address, data.clone());
    running.node.close(address);
    running.node.state().swallow = false;
    let slot = running.node.chain().slot;
    let closed = ClosedAccount { address, kind: ClosingKind::Execution, data, closed_at: chrono::Utc::now() };
    keep(pool, &[closed], slot, "transaction").await.expect("kept");
    for _ in 0..3 {
        running.node.slots(50);
        running.syncer.resync().await.expect("resynced");
        running.until_equal().await;
    }
    let slot = running.node.chain().slot;
    running.until("the digest moves", async || running.digest_slot().await + 8 > slot).await;
    assert_eq!(status_of(pool, 1).await, Some(ShownStatus::Completed));
}

#[tokio::test]
async fn the_indexed_slot_does_not_pass_a_change_that_was_not_delivered() {
    let node = market(1);
    node.state().offers_transactions = false;
    let running = Running::start(&node, quick(NEVER)).await;
    let before = running.checkpoint().await.expect("a slot");
    node.state().swallow = true;
    let (address, data) = execution(1, 2, Some("r"));
    node.change(address, data);
    node.state().swallow = false;
    node.slots(300);
    for _ in 0..10 {
        node.alive();
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(running.checkpoint().await, Some(before), "a living stream says nothing about changes");
    // A later change says nothing about those before it.
    let (address, data) = execution(2, 1, None);
    node.change(address, data);
    let slot = node.chain().slot;
    running.until("the later change", async || status_of(running.pool(), 2).await.is_some()).await;
    assert_eq!(running.checkpoint().await, Some(before), "the change before it is missing");
    node.send(SourceEvent::Reached(slot + 5));
    running.until("the source proves a slot", async || running.checkpoint().await >= Some(slot)).await;
}

#[tokio::test]
async fn a_change_that_the_stream_swallowed_is_found_by_its_transaction_and_told() {
    let node = market(1);
    let running = Running::start(&node, quick(NEVER)).await;
    node.state().swallow = true;
    let (address, data) = execution(1, 2, Some("r"));
    node.change(address, data);
    node.state().swallow = false;
    let slot = node.chain().slot;
    running.until("the slot is reached", async || running.checkpoint().await >= Some(slot)).await;
    assert_eq!(status_of(running.pool(), 1).await, Some(ShownStatus::Completed));
    running.until_problem("stream_missed_changes").await;
    running.until_equal().await;
}

/// Two changes of one slot, of which the stream brings one.
async fn the_other_change_of_a_slot_is_swallowed(tells_what_was_written: bool) {
    let node = market(2);
    node.state().tells_what_was_written = tells_what_was_written;
    let running = Running::start(&node, quick(NEVER)).await;
    let (one, data) = execution(1, 2, Some("r"));
    let (other, other_data) = execution(2, 2, Some("r"));
    node.change_in_one_slot(&[(one, data, true), (other, other_data, false)]);
    let slot = node.chain().slot;
    let (later, data) = execution(3, 1, None);
    node.slots(3);
    node.change(later, data);
    let completed = async |number| status_of(running.pool(), number).await == Some(ShownStatus::Completed);
    running
        .until("the slot is passed", async || {
            // The row is read after the slot.
            let passed = running.checkpoint().await >= Some(slot);
            assert!(!passed || completed(2).await, "the slot is passed, and its change is not shown");
            passed
        })
        .await;
    assert!(completed(1).await);
    running.until_problem("stream_missed_changes").await;
    running.until_equal().await;
}

#[tokio::test]
async fn a_change_that_was_swallowed_beside_another_of_its_slot_is_found_before_the_slot_is_passed() {
    the_other_change_of_a_slot_is_swallowed(true).await;
}

#[tokio::test]
async fn a_swallowed_change_is_found_by_a_snapshot_if_the_node_does_not_say_what_was_written() {
    the_other_change_of_a_slot_is_swallowed(false).await;
}

#[tokio::test]
async fn a_quiet_chain_is_indexed_up_to_its_newest_slot() {
    let node = market(1);
    let running = Running::start(&node, quick(NEVER)).await;
    node.slots(500);
    let slot = node.chain().slot;
    running.until("the slot is reached", async || running.checkpoint().await == Some(slot)).await;
    running.until_equal().await;
    assert_eq!(mirror::digest(running.pool()).await.expect("read").map(|d| d.slot <= slot), Some(true));
}

#[tokio::test]
async fn a_snapshot_of_an_unchanged_chain_writes_no_row() {
    let node = market(40);
    let running = Running::start(&node, quick(NEVER)).await;
    let before = mirrored::row_versions(running.pool()).await;
    node.slots(100);
    running.syncer.resync().await.expect("resynced");
    let after = mirrored::row_versions(running.pool()).await;
    assert_eq!(before, after);
    assert_eq!(running.checkpoint().await, Some(node.chain().slot));
}

#[tokio::test]
async fn a_node_without_accounts_or_with_fewer_hides_nothing_and_is_told() {
    let node = market(120);
    let running = Running::start(&node, quick(Duration::from_millis(100))).await;
    let open = mirror::open_accounts(running.pool()).await.expect("counted");
    // No accounts at all, neither in snapshots nor in reads.
    node.state().hide = Box::new(|_| true);
    running.until_problem("snapshot_failed").await;
    assert_eq!(mirror::open_accounts(running.pool()).await.expect("counted"), open);
    // All records are missing, the configuration is there.
    node.state().hide = Box::new(|address| *address != wallet(30));
    node.slots(5);
    running.until_problem("mass_closing_held").await;
    assert_eq!(mirror::open_accounts(running.pool()).await.expect("counted"), open);
    // One snapshot lacks 20 of them, and a second look finds them.
    node.state().hide = Box::new(|_| false);
    running.until("no problem", async || running.problems().await.is_empty()).await;
    running.until_equal().await;
}

#[tokio::test]
async fn a_market_that_closed_indeed_is_hidden_when_the_operator_allows_it() {
    let node = market(120);
    let running = Running::start(&node, quick(Duration::from_millis(100))).await;
    for number in 1..=100 {
        node.close(execution_at(number));
    }
    running.until_problem("mass_closing_held").await;
    assert_eq!(mirror::open_accounts(running.pool()).await.expect("counted"), 121);
    let database = running.stop().await;
    let allowed = SyncSettings { accept_mass_closing: true, ..quick(Duration::from_millis(100)) };
    let running = Running::on(database, &node, allowed);
    running.until_equal().await;
    assert_eq!(mirror::open_accounts(running.pool()).await.expect("counted"), 21);
}

#[tokio::test]
async fn one_wrong_answer_of_the_genesis_is_refused_and_changes_nothing() {
    let node = market(5);
    // No snapshot of the mirror's own takes the wrong answer.
    let running = Running::start(&node, quick(NEVER)).await;
    node.state().wrong_genesis = 1;
    running.syncer.resync().await.expect_err("refused");
    assert_eq!(node.state().wrong_genesis, 0);
    running.syncer.resync().await.expect("the chain that it was");
    running.until_equal().await;
}

#[tokio::test]
async fn a_node_of_another_chain_changes_nothing_and_is_told() {
    let node = market(5);
    let running = Running::start(&node, quick(Duration::from_millis(100))).await;
    let asked_again = async || {
        let left = node.state().wrong_genesis;
        running.until("the genesis is asked for again", async || node.state().wrong_genesis < left).await;
    };
    node.state().wrong_genesis = u32::MAX - 1;
    running.until_problem("other_genesis_held").await;
    // By then the reads that began before the wrong answer have ended.
    asked_again().await;
    let (address, data) = execution(77, 1, None);
    node.state().swallow = true;
    node.change(address, data);
    node.state().swallow = false;
    asked_again().await;
    asked_again().await;
    assert_eq!(mirror::open_accounts(running.pool()).await.expect("counted"), 6);
    assert_eq!(status_of(running.pool(), 77).await, None);
    node.state().wrong_genesis = 0;
    running.until_equal().await;
}

#[tokio::test]
async fn answers_for_an_older_slot_change_nothing() {
    let node = market(2);
    let running = Running::start(&node, quick(NEVER)).await;
    let old = node.chain();
    let (address, data) = execution(1, 2, Some("r"));
    node.change(address, data);
    let (address, data) = execution(3, 1, None);
    node.change(address, data);
    running.until_equal().await;
    node.state().answers_from = Some(old);
    running.syncer.resync().await.expect_err("an older slot");
    node.state().answers_from = None;
    assert!(difference(running.pool(), &node.chain()).await.is_empty());
}

#[tokio::test]
async fn a_node_that_is_behind_the_mirror_is_told_as_long_as_it_is() {
    let node = market(2);
    let running = Running::start(&node, quick(Duration::from_millis(50))).await;
    let old = node.chain();
    let (address, data) = execution(1, 2, Some("r"));
    node.change(address, data);
    running.until_equal().await;
    node.state().answers_from = Some(old);
    running.until_problem("behind").await;
    // Two heartbeats later.
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(running.problems().await.contains(&"behind".to_owned()));
    node.state().answers_from = None;
    running.until("no problem", async || running.problems().await.is_empty()).await;
}

#[tokio::test]
async fn quarantined_bytes_leave_with_their_account() {
    let node = configured();
    node.change(wallet(90), vec![7; 40]);
    node.change(wallet(91), vec![8; 40]);
    let running = Running::start(&node, quick(NEVER)).await;
    assert_eq!(mirrored::quarantined(running.pool()).await.len(), 2);
    node.close(wallet(90));
    let (_, data) = execution(1, 1, None);
    node.change(wallet(91), data);
    running.syncer.resync().await.expect("resynced");
    assert_eq!(mirrored::quarantined(running.pool()).await.len(), 0);
    running.until_equal().await;
}

#[tokio::test]
async fn a_row_that_the_database_refuses_stops_no_other_row() {
    let node = market(3);
    let running = Running::start(&node, quick(NEVER)).await;
    mirrored::refuse_executions_of_1200_ms(running.pool()).await;
    let mut group = vec![execution(1, 2, Some("r"))];
    group.extend((10..30).map(|number| execution(number, 1, None)));
    group.into_iter().for_each(|(address, data)| node.change(address, data));
    let pool = running.pool();
    running.until("the others are written", async || status_of(pool, 29).await.is_some()).await;
    running.until("the row is in quarantine", async || mirrored::quarantined(pool).await.len() == 1).await;
    let refused = mirrored::quarantined(pool).await;
    assert_eq!(refused[0].0, execution_at(1));
    assert!(refused[0].1.contains("refused"), "{refused:?}");
    running.until_problem("rows_refused").await;
    // The same in a snapshot.
    running.syncer.resync().await.expect("resynced");
    assert_eq!(status_of(pool, 1).await, Some(ShownStatus::Running));
}

#[tokio::test]
async fn a_database_that_failed_for_a_while_is_told_only_meanwhile() {
    let running = Running::start(&market(2), quick(Duration::from_millis(50))).await;
    tamper(running.pool(), "ALTER TABLE mirror_checkpoint RENAME TO away").await;
    running.until_problem("database_unavailable").await;
    tamper(running.pool(), "ALTER TABLE away RENAME TO mirror_checkpoint").await;
    let (address, data) = execution(1, 2, Some("r"));
    running.node.change(address, data);
    running.until_equal().await;
    running.until("no problem", async || running.problems().await.is_empty()).await;
}

#[tokio::test]
async fn one_process_leads_and_another_takes_over() {
    let node = market(2);
    let first = Running::start(&node, quick(NEVER)).await;
    let second = Arc::new(Syncer::new(
        Arc::new(node.clone()),
        first.pool().clone(),
        program(),
        quick(NEVER),
        None,
        Arc::default(),
    ));
    let shutdown = CancellationToken::new();
    let tasks = [
        tokio::spawn(Arc::clone(&second).run(shutdown.clone())),
        tokio::spawn(Arc::clone(&second).heartbeat(shutdown.clone())),
    ];
    first
        .until("two processes", async || {
            let processes = indexer_status::processes(first.pool()).await.expect("read");
            processes.iter().map(|process| process.leads).collect::<Vec<_>>() == [true, false]
        })
        .await;
    assert!(first.syncer.leads() && !second.leads());
    // The leader's connection is cut.
    mirrored::cut_lock_holders(first.pool()).await;
    first.until("another lead", async || first.syncer.leads() != second.leads()).await;
    first.shutdown.cancel();
    first.until("the second leads", async || second.leads()).await;
    let (address, data) = execution(1, 2, Some("r"));
    node.change(address, data);
    first.until_equal().await;
    shutdown.cancel();
    for task in tasks {
        task.await.expect("the mirror ends when it is stopped");
    }
}

#[tokio::test]
async fn a_resync_that_hangs_or_breaks_off_stops_no_change() {
    let node = market(2);
    let running = Running::start(&node, quick(Duration::from_millis(50))).await;
    node.state().breaks_off = true;
    running.until_problem("snapshot_incomplete").await;
    let (address, data) = execution(1, 2, Some("r"));
    node.change(address, data);
    let pool = running.pool();
    running.until("the change", async || status_of(pool, 1).await == Some(ShownStatus::Completed)).await;
    assert_eq!(mirror::open_accounts(pool).await.expect("counted"), 3);
    node.state().breaks_off = false;
    running.until_equal().await;
}

#[tokio::test]
async fn the_digest_of_every_slot_is_known_if_the_stream_lost_nothing() {
    let node = market(2);
    let running = Running::start(&node, quick(NEVER)).await;
    let mut expected = Vec::new();
    for revision in 2..8 {
        let (address, data) = execution(1, revision, Some("r"));
        node.change(address, data);
        expected.push(node.chain());
        node.slots(3);
    }
    running.until_equal().await;
    let newest = mirror::digest(running.pool()).await.expect("read").expect("a digest").slot;
    for chain in expected {
        let mut digest = MirrorDigest::identity();
        chain.accounts.iter().for_each(|(address, data)| digest.add(address, &data_hash(data)));
        for slot in [chain.slot, chain.slot + 2] {
            let shown = mirror::digest_at(running.pool(), slot.min(newest)).await.expect("read");
            assert_eq!(shown.map(|shown| shown.checksum), Some(digest.checksum()), "slot {slot}");
        }
    }
    assert_eq!(mirror::digest_at(running.pool(), newest + 1).await.expect("read"), None);
}

#[tokio::test]
async fn a_closed_execution_that_was_final_stays_as_history() {
    let node = market(2);
    let (address, data) = execution(1, 2, Some("r"));
    node.change(address, data);
    let running = Running::start(&node, quick(Duration::from_millis(50))).await;
    node.close(address);
    running.until_equal().await;
    node.slots(100);
    running.until_equal().await;
    assert_eq!(status_of(running.pool(), 1).await, Some(ShownStatus::Completed));
    let status = mirrored::closed_status(running.pool(), &address).await;
    assert_eq!(status, Some(ExecutionStatus::Completed as i16));
}

#[tokio::test]
async fn a_dropped_opening_that_is_told_again_after_it_was_taken_back_disappears_again() {
    let running = Running::on_a_fork(3, 1).await;
    let node = &running.node;
    node.drop_fork(false);
    for next in 20..23 {
        node.slots(50);
        running.until_equal().await;
        // What was final is forgotten in memory.
        let slot = node.chain().slot;
        running.until("the digest moves", async || running.digest_slot().await + 8 > slot).await;
        node.repeat_last(&execution_at(OPENED));
        // What came before a change that is shown was applied.
        let (address, data) = execution(next, 1, None);
        node.change(address, data);
        running.until("it is applied", async || status_of(running.pool(), next).await.is_some()).await;
        running.syncer.resync().await.expect("resynced");
    }
    running.until_equal().await;
    assert_eq!(status_of(running.pool(), OPENED).await, None);
}
