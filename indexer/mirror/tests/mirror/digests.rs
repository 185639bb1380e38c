//! Digests that the mirror states, against the accounts that the chain had at that slot: the finalized state is 32 slots
//! behind the confirmed one, and the indexer is killed and started again at every point of a history.

use std::{collections::BTreeMap, time::Duration};

use crate::forking::{Node, running::*};
use crtx_store::{
    PgPool,
    mirror::{self, DigestMove, DigestWrite, FinalHashes},
    testing::{TestDatabase, fixtures::*, probes::stated_digests},
};
use uuid::Uuid;

/// Slots from confirmed to finalized.
const FINALITY: u64 = 32;
/// For some rounds of the mirror.
const A_MOMENT: Duration = Duration::from_millis(80);

/// Compares every digest that is stated. Returns the newest slot with one.
async fn stated_digests_are_true(pool: &PgPool, node: &Node) -> Option<u64> {
    // The past is read afterwards, so it has every slot that a digest can be of.
    let stated = stated_digests(pool, 999..=node.chain().slot + 5).await;
    let past = node.finalized_digests();
    for (slot, accounts, checksum) in &stated {
        let there = past.get(slot).unwrap_or_else(|| panic!("a digest of slot {slot}, which is not final"));
        assert_eq!((*accounts, *checksum), *there, "slot {slot} of {}", node.chain().slot);
    }
    let newest = stated.last()?.0;
    // A process that starts meanwhile states nothing at first.
    if let Some(shown) = mirror::digest_at(pool, newest).await.expect("read") {
        assert_eq!((shown.accounts, shown.checksum), past[&newest], "slot {newest}");
    }
    Some(newest)
}

fn final_node(executions: u128) -> Node {
    let node = Node::default();
    node.state().finality = Some(FINALITY);
    let full = market(executions).chain();
    for (address, data) in full.accounts {
        node.change(address, data);
    }
    node
}

/// Slots pass, and every digest that is stated meanwhile is true.
async fn pass(pool: &PgPool, node: &Node, slots: u64) -> Option<u64> {
    let mut newest = None;
    for _ in 0..slots.div_ceil(4) {
        node.slots(4);
        tokio::time::sleep(A_MOMENT).await;
        newest = stated_digests_are_true(pool, node).await;
    }
    newest
}

/// One step of the history.
fn step(node: &Node, number: u128) {
    let execution_of = |number: u128, revision, result| execution(number, revision, result);
    match number % 6 {
        // Two accounts are opened.
        0 => {
            for new in [100 + number, 200 + number] {
                let (address, data) = execution_of(new, 1, None);
                node.change(address, data);
            }
        }
        1 => {
            let (address, data) = execution_of(99 + number, 2, Some("r"));
            node.change(address, data);
        }
        2 => node.close(execution_at(98 + number)),
        // An account is opened and closed again at once.
        3 => {
            let (address, data) = execution_of(300 + number, 1, None);
            node.change(address, data);
            node.slots(2);
            node.close(address);
        }
        // Two changes of one slot, and the stream brings one.
        4 => {
            let (one, data) = execution_of(400 + number, 1, None);
            let (other, other_data) = execution_of(500 + number, 1, None);
            node.change_in_one_slot(&[(one, data, true), (other, other_data, false)]);
        }
        _ => node.slots(3),
    }
}

async fn until_stated(pool: &PgPool, node: &Node, slot: u64) {
    for _ in 0..100 {
        if pass(pool, node, 4).await >= Some(slot) {
            return;
        }
    }
    panic!("no digest of slot {slot} or later is stated, and the chain is at {}", node.chain().slot);
}

async fn every_restart(tells_what_was_written: bool) {
    let node = final_node(3);
    node.state().tells_what_was_written = tells_what_was_written;
    node.slots(FINALITY + 8);
    let settings = || quick(Duration::from_millis(700));
    let mut running = Running::on(TestDatabase::create().await, &node, settings());
    until_stated(running.pool(), &node, node.chain().slot).await;
    for number in 0..12 {
        // The change before the kill, one while nobody looks, and one after the start are all not final.
        step(&node, 6 * number);
        step(&node, number);
        if number % 2 == 0 {
            tokio::time::sleep(A_MOMENT).await;
        }
        let database = running.kill().await;
        step(&node, 100 + number);
        node.slots(u64::try_from(number * 7).unwrap());
        step(&node, 101 + number);
        running = Running::on(database, &node, settings());
        step(&node, 602 + number);
        pass(running.pool(), &node, 12).await;
        step(&node, 703 + number);
        pass(running.pool(), &node, 4 * (u64::try_from(number).unwrap() % 4 * 3)).await;
    }
    let slot = node.chain().slot;
    until_stated(running.pool(), &node, slot).await;
    running.stop().await;
}

#[tokio::test]
async fn no_false_digest_is_stated_however_often_the_indexer_is_killed() {
    every_restart(true).await;
}

#[tokio::test]
async fn no_false_digest_is_stated_if_the_node_does_not_say_what_a_transaction_wrote() {
    every_restart(false).await;
}

#[tokio::test]
async fn no_digest_is_stated_at_the_start_before_what_was_read_is_final() {
    let node = final_node(1);
    node.slots(FINALITY + 8);
    // What is newer than the finalized state is not in it.
    for number in 50..53 {
        let (address, data) = execution(number, 1, None);
        node.change(address, data);
    }
    let began = node.chain().slot;
    let running = Running::on(TestDatabase::create().await, &node, quick(NEVER));
    running.until("the first snapshot", async || running.checkpoint().await.is_some()).await;
    for _ in 0..10 {
        tokio::time::sleep(A_MOMENT).await;
        assert_eq!(stated_digests_are_true(running.pool(), &node).await, None, "nothing is proved yet");
    }
    until_stated(running.pool(), &node, began).await;
}

#[tokio::test]
async fn an_account_that_was_opened_and_closed_while_the_stream_was_away_falsifies_no_digest() {
    let node = final_node(2);
    let running = Running::on(TestDatabase::create().await, &node, quick(NEVER));
    until_stated(running.pool(), &node, node.chain().slot).await;
    // The stream breaks, and its successor begins later.
    node.state().swallow = true;
    node.break_streams();
    let (address, data) = execution(70, 1, None);
    node.change(address, data);
    node.slots(4);
    node.close(address);
    node.state().swallow = false;
    until_stated(running.pool(), &node, node.chain().slot + 8).await;
}

#[tokio::test]
async fn a_closing_that_no_stream_tells_leaves_no_gap_in_the_digests() {
    let node = final_node(4);
    let running = Running::on(TestDatabase::create().await, &node, quick(NEVER));
    until_stated(running.pool(), &node, node.chain().slot).await;
    let first = node.chain().slot;
    pass(running.pool(), &node, 8).await;
    node.close(execution_at(2));
    pass(running.pool(), &node, 8).await;
    let last = node.chain().slot;
    until_stated(running.pool(), &node, last).await;
    for slot in first..=last {
        assert!(mirror::digest_at(running.pool(), slot).await.expect("read").is_some(), "slot {slot} is not known");
    }
}

#[tokio::test]
async fn a_process_that_no_longer_leads_changes_no_digest() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let (old, new) = (Uuid::from_u128(1), Uuid::from_u128(2));
    let states = |hash: u8| FinalHashes::from([(wallet(1), Some([hash; 32]))]);
    let step = |slot: u64, hash| BTreeMap::from([(slot, states(hash))]);
    mirror::begin_digest(pool, old).await.expect("begun");
    mirror::fill_digest(pool, old, 9, &states(1)).await.expect("filled").expect("its own");
    let moved = |from, to, steps| DigestMove { from, to, steps, exact: true };
    let write = mirror::advance_digest(pool, old, &moved(None, 10, BTreeMap::new())).await.expect("moved");
    assert_eq!(write, DigestWrite::Done);
    mirror::begin_digest(pool, new).await.expect("taken over");
    assert_eq!(mirror::digest_at(pool, 10).await.expect("read"), None, "another process proved it");
    let write = mirror::advance_digest(pool, new, &moved(None, 20, step(15, 2))).await.expect("moved");
    assert_eq!(write, DigestWrite::Done);
    let shown = mirror::digest(pool).await.expect("read");
    let late = mirror::advance_digest(pool, old, &moved(Some(20), 30, step(12, 1))).await.expect("refused");
    assert_eq!(late, DigestWrite::Taken);
    assert_eq!(mirror::fill_digest(pool, old, 31, &states(3)).await.expect("refused"), None);
    let elsewhere = mirror::advance_digest(pool, new, &moved(Some(19), 30, BTreeMap::new())).await.expect("refused");
    assert_eq!(elsewhere, DigestWrite::Elsewhere);
    assert_eq!(mirror::digest(pool).await.expect("read"), shown);
}
