//! Slots that the chain has not reached: an answer, a notification or a row that names one changes nothing for good.

use std::time::Duration;

use crate::forking::{Lie, running::*};
use crtx_mirror::source::{Change, SourceEvent};
use crtx_store::{mirror, reads::ShownStatus, testing::tampering::tamper};

const ABSURD: [u64; 4] = [11_000_050, 1_000_000_000_000, i64::MAX as u64 + 1, u64::MAX];
const OFTEN: Duration = Duration::from_millis(300);

/// The mirror shows what happens now, closings as well, and claims nothing that the chain has not reached.
async fn follows(running: &Running, number: u128) {
    let node = &running.node;
    let (address, data) = execution(number, 1, None);
    node.change(address, data);
    node.slots(5);
    running.until_equal().await;
    node.close(address);
    running.until_equal().await;
    let slot = node.chain().slot;
    running.until("the slot is reached, and no later one", async || running.checkpoint().await == Some(slot)).await;
    // The next heartbeat says so.
    let behind = async || running.problems().await.contains(&"mirror_behind".to_owned());
    running.until("the mirror is not behind", async || !behind().await).await;
}

#[tokio::test]
async fn one_answer_with_an_absurd_slot_changes_nothing() {
    let running = Running::start(&market(3), quick(OFTEN)).await;
    let mut number = 100;
    for slot in ABSURD.into_iter().chain([0, 5]) {
        for (slots, snapshots, reads) in [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)] {
            running.node.state().lie = Some(Lie { slot, slots, snapshots, reads });
            number += 1;
            follows(&running, number).await;
        }
    }
    running.stop().await;
}

#[tokio::test]
async fn a_notification_with_an_absurd_slot_changes_nothing_and_its_account_is_read() {
    let running = Running::start(&market(3), quick(NEVER)).await;
    let node = &running.node;
    for (number, slot) in ABSURD.into_iter().enumerate() {
        node.send(SourceEvent::Alive(slot));
        node.send(SourceEvent::Reached(slot));
        // A change that is true but for its slot.
        let (address, data) = execution(200 + number as u128, 1, None);
        node.state().swallow = true;
        node.change(address, data.clone());
        node.state().swallow = false;
        node.send(SourceEvent::Change(Change { address, slot, data: Some(data) }));
        running.until("it is shown", async || status_of(running.pool(), 200 + number as u128).await.is_some()).await;
        node.close(address);
        follows(&running, 300 + number as u128).await;
        let shown = mirror::shown(running.pool(), &[address]).await.expect("read");
        assert!(!shown.values().flatten().any(|row| row.open), "it is shown as open: {shown:?}");
    }
    running.until_problem("slot_doubted").await;
    running.stop().await;
}

#[tokio::test]
async fn an_absurd_slot_in_the_first_answer_of_all_is_not_believed() {
    let node = market(2);
    node.state().lie = Some(Lie { slot: 11_000_050, slots: 1, snapshots: 1, reads: 0 });
    let running = Running::start(&node, quick(OFTEN)).await;
    follows(&running, 60).await;
}

#[tokio::test]
async fn absurd_slots_in_the_database_are_taken_back() {
    let node = market(3);
    let running = Running::start(&node, quick(OFTEN)).await;
    let database = running.stop().await;
    for statement in [
        "UPDATE mirror_checkpoint SET slot = 11000050",
        "UPDATE mirror_executions SET slot = 11000050, after_slot = 11000049",
        "UPDATE mirror_config SET slot = 9223372036854775807",
        "UPDATE mirror_final_accounts SET slot = 11000050",
        "UPDATE indexer_processes SET chain_slot = 999999999999",
    ] {
        tamper(database.pool(), statement).await;
    }
    node.close(execution_at(1));
    let (settled, data) = execution(2, 2, Some("r"));
    node.change(settled, data);
    let running = Running::on(database, &node, quick(OFTEN));
    running.until_equal().await;
    assert_eq!(status_of(running.pool(), 2).await, Some(ShownStatus::Completed));
    follows(&running, 61).await;
    running.until("no problem is left", async || running.problems().await.is_empty()).await;
    // While it runs, a row is found at the next reading of all finalized accounts.
    tamper(running.pool(), "UPDATE mirror_executions SET slot = 11000050 WHERE closed_at_slot IS NULL").await;
    node.close(execution_at(3));
    running.until_equal().await;
    assert!(mirror::open_accounts(running.pool()).await.expect("counted") > 0);
}

#[tokio::test]
async fn a_slot_that_two_answers_named_is_taken_back_once_the_chain_is_seen_elsewhere() {
    let node = market(3);
    let running = Running::start(&node, quick(OFTEN)).await;
    node.state().lie = Some(Lie { slot: 11_000_050, slots: 4, snapshots: 2, reads: 2 });
    tokio::time::sleep(Duration::from_secs(3)).await;
    node.state().lie = None;
    follows(&running, 62).await;
}
