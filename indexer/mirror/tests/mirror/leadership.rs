//! A leader that is stopped while it holds rows: another process shows changes soon, and the first one writes no more.

use std::{
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

use crate::forking::running::*;
use crtx_mirror::sync::Syncer;
use crtx_store::{
    PgPool,
    leadership::{LeaderOf, Leadership},
    mirror,
    pools::{self, PoolLimits},
    reads::ShownStatus,
    testing::{TestDatabase, fixtures::*, mirrored, tampering::tamper},
};

/// A change has to be shown so long after the leader was stopped.
const SOON: Duration = Duration::from_secs(15);

/// Connections as the indexer of a service has them.
fn as_an_indexer(database: &TestDatabase) -> PgPool {
    pools::open(&database.url(), PoolLimits::indexer(2)).unwrap()
}

async fn until_shown(running: &Running, since: Instant) {
    let (address, data) = execution(1, 2, Some("r"));
    running.node.change(address, data);
    let pool = running.pool();
    running.until("the change", async || status_of(pool, 1).await == Some(ShownStatus::Completed)).await;
    assert!(since.elapsed() < SOON, "{:?}", since.elapsed());
}

#[tokio::test]
async fn a_leader_that_stops_inside_a_transaction_blocks_nobody_for_long_and_its_write_is_lost() {
    let node = market(3);
    let database = Running::start(&node, quick(NEVER)).await.stop().await;
    // The leader and its transaction, without a further word from either.
    let leader = Leadership::take(database.pool(), LeaderOf::Indexers).await.unwrap().expect("nobody leads");
    let mut stuck = mirrored::lock_execution(&as_an_indexer(&database), &execution_at(1)).await;
    let stopped = Instant::now();
    let running = Running::on(database, &node, quick(NEVER));
    until_shown(&running, stopped).await;
    // It wakes.
    let write = "UPDATE mirror_executions SET tokens_used = 999";
    let woken = async {
        mirrored::execute_in(&mut stuck, write).await?;
        stuck.commit().await
    };
    assert!(woken.await.is_err(), "its session was ended");
    let mut leader = leader;
    assert!(leader.prove().await.is_err());
    running.until_equal().await;
}

#[tokio::test]
async fn a_connection_that_holds_the_lead_inside_a_transaction_is_ended() {
    let node = market(3);
    let database = Running::start(&node, quick(NEVER)).await.stop().await;
    let mut stuck = mirrored::lock_execution(&as_an_indexer(&database), &execution_at(1)).await;
    mirrored::execute_in(&mut stuck, "SELECT pg_advisory_lock(x'637274786c656164'::bigint)").await.unwrap();
    let stopped = Instant::now();
    let running = Running::on(database, &node, quick(NEVER));
    until_shown(&running, stopped).await;
}

#[tokio::test]
async fn a_leader_that_lives_is_not_ended_while_its_statements_take_long() {
    let node = market(3);
    let running = Running::start(&node, quick(NEVER)).await;
    let pool = running.pool().clone();
    // A statement that changes a row, and takes longer than a silent transaction may last.
    let slow = tokio::spawn(async move {
        let slow = "UPDATE mirror_executions SET observed_at = now() FROM pg_sleep(9) WHERE revision = 1";
        tamper(&pool, slow).await;
    });
    let other =
        Syncer::new(Arc::new(node.clone()), running.pool().clone(), program(), quick(NEVER), None, Arc::default());
    let (other, shutdown) = (Arc::new(other), running.shutdown.clone());
    let task = tokio::spawn(Arc::clone(&other).run(shutdown));
    slow.await.expect("the statement is not ended");
    assert!(running.syncer.leads() && !other.leads());
    running.shutdown.cancel();
    task.await.unwrap();
}

#[tokio::test]
async fn a_process_that_was_paused_writes_nothing_when_it_wakes() {
    let node = market(3);
    let database = TestDatabase::create().await;
    let (url, paused_node) = (database.url(), node.clone());
    let (leads, is_leading) = mpsc::channel();
    let (wake, woken) = mpsc::channel();
    let (over, is_over) = mpsc::channel();
    // The whole runtime of the first process stands still, as after SIGSTOP.
    let first = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let pool = PgPool::connect_lazy(&url).unwrap();
            let syncer =
                Syncer::new(Arc::new(paused_node), pool.clone(), program(), quick(NEVER), None, Arc::default());
            let syncer = Arc::new(syncer);
            tokio::spawn(Arc::clone(&syncer).run(tokio_util::sync::CancellationToken::new()));
            while mirror::checkpoint(&pool).await.unwrap().is_none() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            assert!(syncer.leads());
            leads.send(()).unwrap();
            // Blocks the thread.
            woken.recv().unwrap();
            assert!(!syncer.leads(), "it does not believe to lead");
            tokio::time::sleep(Duration::from_millis(300)).await;
            assert!(!syncer.leads());
            over.send(()).unwrap();
        });
    });
    tokio::task::spawn_blocking(move || is_leading.recv().unwrap()).await.unwrap();
    let stopped = Instant::now();
    let second = Running::on(database, &node, quick(NEVER));
    until_shown(&second, stopped).await;
    assert!(second.syncer.leads());
    wake.send(()).unwrap();
    tokio::task::spawn_blocking(move || is_over.recv().unwrap()).await.unwrap();
    first.join().unwrap();
    assert!(second.syncer.leads());
    second.until_equal().await;
}
