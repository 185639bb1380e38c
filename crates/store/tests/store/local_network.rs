//! Rows of the gateway after the local chain was rolled back, on a real PostgreSQL.

use std::{collections::BTreeSet, time::Duration};

use crtx_protocol::usdc::UsdcBase;
use crtx_store::{
    admission::Reservation,
    api_keys::{self, NewApiKey},
    executions::{Charged, Delivered, Executions, Failure, Lease, Reported, State, StoredTransaction, TransactionKind},
    local_network::{ChainNow, Realigned, database_time, realign, unaccounted},
    mirror::{self, Batch},
    reads,
    testing::{
        TestDatabase,
        fixtures::{self, call, unbounded, wallet},
    },
};
use strum::VariantArray as _;
use uuid::Uuid;

async fn reserved(executions: &Executions, seed: u8) -> Lease {
    match executions.reserve(&call(seed), &unbounded()).await.unwrap() {
        Reservation::New(lease) => lease,
        other => panic!("{other:?}"),
    }
}

async fn opened(executions: &Executions, seed: u8) -> Lease {
    let lease = reserved(executions, seed).await;
    executions.signed(lease, TransactionKind::Open, &transaction(seed, "open")).await.unwrap();
    executions.opened(lease, State::Opening).await.unwrap();
    lease
}

fn transaction(seed: u8, kind: &str) -> StoredTransaction {
    StoredTransaction { signature: format!("{kind}{seed}"), bytes: vec![1], last_valid_block_height: 150 }
}

async fn completed(executions: &Executions, seed: u8) {
    let lease = opened(executions, seed).await;
    executions.dispatching(lease).await.unwrap();
    let delivered = Delivered {
        result: "r".to_owned(),
        hash: [5; 32],
        signature: [6; 64],
        call_signature: None,
        tokens_used: None,
        execution_time_ms: 8,
        steps: None,
    };
    executions.result_stored(lease, &delivered, None).await.unwrap();
    executions.signed(lease, TransactionKind::Complete, &transaction(seed, "complete")).await.unwrap();
    let charged =
        Charged { amount: UsdcBase(50_000), creator_amount: UsdcBase(49_500), platform_amount: UsdcBase(500) };
    let reported = Reported { tokens_used: None, execution_time_ms: 8 };
    executions.completed_by(lease, &charged, &reported, None).await.unwrap();
}

async fn failed(executions: &Executions, seed: u8) {
    let lease = opened(executions, seed).await;
    let failure = Failure {
        reason: Some(1),
        signature: None,
        status: 500,
        code: "execution_failed".to_owned(),
        message: "no".to_owned(),
    };
    executions.refunding(lease, &failure).await.unwrap();
    executions.signed(lease, TransactionKind::Fail, &transaction(seed, "fail")).await.unwrap();
    executions.refunded(lease).await.unwrap();
}

async fn state(executions: &Executions, seed: u8) -> State {
    executions.get(&wallet(seed)).await.unwrap().expect("a row").state
}

#[tokio::test]
async fn rows_follow_a_chain_that_was_rolled_back() {
    let database = TestDatabase::create().await;
    let executions = Executions::new(database.pool().clone(), Duration::from_secs(60));
    for seed in [1, 2, 3] {
        completed(&executions, seed).await;
    }
    for seed in [4, 5] {
        failed(&executions, seed).await;
    }
    opened(&executions, 6).await;
    reserved(&executions, 7).await;

    // 1 and 4 are as they were; 2 and 5 are open again; 3 and 6 are gone; 7 was never on the chain.
    let (records, open) = ([1, 2, 4, 5].map(wallet), [2, 5].map(wallet));
    let lost = unaccounted(database.pool(), &records).await.unwrap();
    assert_eq!(lost.iter().collect::<BTreeSet<_>>(), [3, 6].map(wallet).iter().collect());
    let read_after = database_time(database.pool()).await.unwrap();
    let now = ChainNow { snapshot: &Batch::default(), open: &open, lost: &lost, read_after };
    let changed = realign(database.pool(), &now).await.unwrap();
    assert_eq!(changed, Realigned { lost: 2, reopened: 2 });
    let expected = [
        (1, State::Completed),
        (2, State::ResultStored),
        (3, State::Failed),
        (4, State::Failed),
        (5, State::Refunding),
        (6, State::Failed),
        (7, State::Reserved),
    ];
    for (seed, expected) in expected {
        assert_eq!(state(&executions, seed).await, expected, "execution {seed}");
    }
    let lost = executions.get(&wallet(3)).await.unwrap().expect("a row").failure.expect("a reason");
    assert_eq!((lost.status, lost.code.as_str()), (503, "unavailable"));

    // What is open again can be taken up at once.
    let claimed = executions.claim(State::VARIANTS, 10).await.unwrap();
    assert_eq!(claimed.len(), 2, "the reserved one is still leased");
    assert!(unaccounted(database.pool(), &records).await.unwrap().is_empty());
    let again = realign(database.pool(), &now).await.unwrap();
    assert_eq!(again, Realigned { lost: 0, reopened: 0 }, "a second time changes nothing");
}

#[tokio::test]
async fn an_execution_that_is_open_again_is_counted_once_for_its_key() {
    let database = TestDatabase::create().await;
    let (pool, executions) = (database.pool(), Executions::new(database.pool().clone(), Duration::from_secs(60)));
    let key = NewApiKey {
        session_public_key: wallet(202),
        wallet: wallet(200),
        grant: wallet(9),
        name: "k",
        last_four: "abcd",
    };
    api_keys::register(pool, &key).await.unwrap();
    for seed in [1, 2, 3] {
        completed(&executions, seed).await;
    }
    failed(&executions, 4).await;
    let counted = || async {
        let key = crtx_store::testing::single::api_key(pool, &wallet(202)).await.unwrap().expect("the key");
        (key.execution_count, key.spent.0)
    };
    assert_eq!(counted().await, (4, 150_000));

    let read_after = database_time(pool).await.unwrap();
    // Finished by another gateway after the chain was read: this read says nothing about it.
    completed(&executions, 5).await;
    let (open, lost) = ([2, 4, 5].map(wallet), [wallet(3)]);
    let now = ChainNow { snapshot: &Batch::default(), open: &open, lost: &lost, read_after };
    assert_eq!(realign(pool, &now).await.unwrap(), Realigned { lost: 1, reopened: 2 });
    assert_eq!(state(&executions, 5).await, State::Completed);
    assert_eq!(counted().await, (3, 100_000), "1, the lost 3 at no cost, and 5");
}

#[tokio::test]
async fn the_mirror_loses_only_what_the_chain_lost() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let agent = |revision| {
        let mut listing = fixtures::listing(wallet(1), 0);
        listing.revision = revision;
        listing.price = 1_000 * revision;
        listing
    };
    let record = |number: u8| fixtures::record(wallet(1), wallet(50), Uuid::from_u128(number.into()));
    let mut before = Batch::default();
    before.push(&wallet(50), 90, &agent(4)).unwrap();
    for number in [51, 52, 53] {
        before.push(&wallet(number), 90, &record(number)).unwrap();
    }
    before.push(&wallet(53), 91, &fixtures::completed(record(53), "lost")).unwrap();
    crtx_store::testing::resync(pool, &before, 91, Some("chain")).await.unwrap();
    // 51 is closed, 52 was never on this chain, 53 is open again, and the agent has an earlier revision.
    let mut now = Batch::default();
    now.push(&wallet(50), 10_080, &agent(3)).unwrap();
    now.push(&wallet(53), 10_080, &record(53)).unwrap();
    let unaccounted = unaccounted(pool, &[wallet(50), wallet(53)]).await.unwrap();
    assert_eq!(unaccounted.iter().collect::<BTreeSet<_>>(), [51, 52].map(wallet).iter().collect());
    let read_after = database_time(pool).await.unwrap();
    let chain = ChainNow { snapshot: &now, open: &[wallet(53)], lost: &[wallet(52)], read_after };
    realign(pool, &chain).await.unwrap();
    mirror::mark_closed(pool, &[wallet(51)], 10_080).await.unwrap();

    let counts = reads::mirror_counts(pool).await.unwrap();
    assert_eq!((counts.agents, counts.executions), (1, 2));
    let again = mirror::compare(pool, &now).await.unwrap();
    assert!(again.differences.is_empty(), "{again:?}");
    assert_eq!(mirror::checkpoint(pool).await.unwrap().and_then(|c| c.genesis_hash).as_deref(), Some("chain"));
}
