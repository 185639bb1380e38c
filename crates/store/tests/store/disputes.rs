//! Lists of disputes on a real PostgreSQL: who sees which, in what order, and by which index.

use agent_marketplace::state::DisputeOutcome;
use crtx_store::{
    PgPool,
    reads::{self, DisputeFilter, DisputePlace, DisputeScope, DisputeStatus, Start},
    testing::{TestDatabase, fixtures::*},
};
use solana_pubkey::Pubkey;
use uuid::Uuid;

/// A dispute of `caller` against an agent of `creator`, raised `age` seconds before noon. Returns its address.
async fn raise(pool: &PgPool, number: u128, caller: u8, creator: u8, age: i64, outcome: DisputeOutcome) -> Pubkey {
    let (caller, creator, id) = (wallet(caller), wallet(creator), Uuid::from_u128(number));
    let agent = show(pool, listing(creator, 0), "named", &["data"]).await;
    let record_address = addresses().execution(&caller, id.as_bytes());
    put(pool, &record_address, 10, &completed(record(caller, agent, id), "x")).await;
    let mut dispute = dispute(record_address, agent, caller, outcome);
    dispute.raised_at_unix_s = NOON - age;
    if outcome != DisputeOutcome::Open {
        dispute.resolved_at_unix_s = NOON;
    }
    let address = addresses().dispute(&record_address);
    put(pool, &address, 10, &dispute).await;
    address
}

async fn make_resolver(pool: &PgPool, resolver: Pubkey) {
    put(pool, &addresses().config(), 10, &config(resolver)).await;
}

/// What a list shows, read at once and page by page, before and after folding.
async fn listed(pool: &PgPool, who: u8, scope: DisputeScope, outcome: Option<DisputeStatus>) -> Vec<Pubkey> {
    let filter = DisputeFilter { scope, outcome };
    let mut found = Vec::new();
    for _ in 0..2 {
        let list = reads::list_disputes(pool, &wallet(who), filter, 100, &Start::FIRST).await.unwrap();
        found = list.items.iter().map(|dispute| dispute.dispute).collect();
        assert_eq!((usize::try_from(list.total).unwrap(), list.next), (found.len(), None));
        let (mut pages, mut start) = (Vec::new(), Start::<DisputePlace>::FIRST);
        loop {
            let page = reads::list_disputes(pool, &wallet(who), filter, 1, &start).await.unwrap();
            assert_eq!(page.total, list.total);
            pages.extend(page.items.iter().map(|dispute| dispute.dispute));
            let skipped =
                reads::list_disputes(pool, &wallet(who), filter, 1, &Start::Offset(pages.len() as u64)).await.unwrap();
            assert_eq!(skipped.items.first().map(|dispute| dispute.dispute), found.get(pages.len()).copied());
            match page.next {
                Some(next) => start = Start::After(next),
                None => break,
            }
        }
        assert_eq!(pages, found);
        crtx_store::testing::roll_up_all(pool).await.unwrap();
    }
    found
}

#[tokio::test]
async fn a_wallet_sees_the_disputes_in_which_it_is_caller_or_creator_and_no_other() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let raised = raise(pool, 1, 1, 2, 100, DisputeOutcome::Open).await;
    let received = raise(pool, 2, 3, 1, 50, DisputeOutcome::Upheld).await;
    let other = raise(pool, 3, 3, 2, 10, DisputeOutcome::Open).await;
    let own = raise(pool, 4, 1, 1, 5, DisputeOutcome::Rejected).await;
    let open = Some(DisputeStatus::Open);
    assert_eq!(listed(pool, 1, DisputeScope::Parties, None).await, [raised, own, received], "its own one once");
    assert_eq!(listed(pool, 1, DisputeScope::Caller, None).await, [raised, own]);
    assert_eq!(listed(pool, 1, DisputeScope::Creator, None).await, [own, received]);
    assert_eq!(listed(pool, 1, DisputeScope::Parties, open).await, [raised]);
    assert_eq!(listed(pool, 1, DisputeScope::Creator, open).await, []);
    assert_eq!(listed(pool, 9, DisputeScope::Parties, None).await, []);
    assert_eq!(listed(pool, 9, DisputeScope::All, open).await, [raised, other]);
}

#[tokio::test]
async fn open_disputes_come_first_by_their_age_and_then_the_others_newest_first() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let mut expected = Vec::new();
    for (number, age, outcome) in [
        (1, 300, DisputeOutcome::Open),
        (2, 200, DisputeOutcome::Open),
        (3, 100, DisputeOutcome::Open),
        (4, 50, DisputeOutcome::Rejected),
        (5, 150, DisputeOutcome::Expired),
        (6, 400, DisputeOutcome::Upheld),
    ] {
        expected.push(raise(pool, number, 1, 2, age, outcome).await);
    }
    for scope in [DisputeScope::Caller, DisputeScope::Parties, DisputeScope::All] {
        assert_eq!(listed(pool, 1, scope, None).await, expected);
    }
    assert_eq!(listed(pool, 2, DisputeScope::Creator, None).await, expected);
    assert_eq!(listed(pool, 1, DisputeScope::All, Some(DisputeStatus::Open)).await, expected[..3]);
    // A decision moves a dispute, and its counters.
    sqlx::query("UPDATE mirror_disputes SET outcome = 3, resolved_at = now() WHERE address = $1")
        .bind(expected[0].to_string())
        .execute(pool)
        .await
        .unwrap();
    assert_eq!(listed(pool, 1, DisputeScope::All, Some(DisputeStatus::Open)).await, expected[1..3]);
    assert_eq!(listed(pool, 1, DisputeScope::Caller, Some(DisputeStatus::Rejected)).await, [expected[3], expected[0]]);
}

#[tokio::test]
async fn one_dispute_is_found_by_both_addresses_by_its_parties_and_the_resolver_alone() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    make_resolver(pool, wallet(7)).await;
    let address = raise(pool, 1, 1, 2, 100, DisputeOutcome::Open).await;
    let record = addresses().execution(&wallet(1), Uuid::from_u128(1).as_bytes());
    assert!(reads::is_resolver(pool, &wallet(7)).await.unwrap());
    assert!(!reads::is_resolver(pool, &wallet(1)).await.unwrap());
    for who in [1, 2, 7] {
        for id in [address, record] {
            let found = reads::dispute(pool, &wallet(who), &id).await.unwrap().expect("seen");
            assert_eq!(
                (found.dispute, found.execution_record, found.agent_name.as_str()),
                (address, record.to_string(), "named")
            );
            assert_eq!((found.caller, found.creator), (wallet(1).to_string(), wallet(2).to_string()));
            assert_eq!(found.amount_usdc.0, 50_000);
        }
    }
    assert_eq!(reads::dispute(pool, &wallet(3), &address).await.unwrap(), None);
    assert_eq!(reads::dispute(pool, &wallet(1), &wallet(3)).await.unwrap(), None);
}

#[tokio::test]
async fn the_indexes_serve_the_searches_of_references() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let mut connection = pool.acquire().await.unwrap();
    sqlx::raw_sql("SET enable_seqscan = off; SET enable_sort = off").execute(&mut *connection).await.unwrap();
    for (statement, index) in [
        ("SELECT FROM mirror_executions WHERE result_hash = '\\x00'", "mirror_executions_by_result"),
        ("SELECT FROM mirror_agents WHERE metadata_hash = '\\x00'", "mirror_agents_by_document"),
        ("SELECT FROM mirror_disputes WHERE evidence_hash = '\\x00'", "mirror_disputes_by_evidence"),
        ("SELECT FROM mirror_disputes WHERE answer_hash = '\\x00'", "mirror_disputes_by_answer"),
        ("SELECT FROM mirror_disputes WHERE resolution_hash = '\\x00'", "mirror_disputes_by_resolution"),
    ] {
        let explain = sqlx::AssertSqlSafe(format!("EXPLAIN {statement}"));
        let plan: Vec<String> = sqlx::query_scalar(explain).fetch_all(&mut *connection).await.unwrap();
        assert!(plan.iter().any(|line| line.contains(index)), "{statement}: {plan:?}");
    }
    connection.detach();
}
