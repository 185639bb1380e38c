//! What an agent's trust and its figures of disputes cost, on a real PostgreSQL.

use agent_marketplace::state::ExecutionStatus;
use crtx_protocol::usdc::UsdcBase;
use crtx_store::{
    audit,
    mirror::ExecutionAccount,
    reads::{self, AgentDetails, agent_list::AgentListSnapshot},
    testing::{TestDatabase, fixtures::*},
};
use solana_pubkey::Pubkey;
use sqlx::PgPool;
use uuid::Uuid;

async fn put_call(pool: &PgPool, agent: Pubkey, caller: u8, number: u128, amount: u64, status: ExecutionStatus) {
    let id = Uuid::from_u128(number);
    let mut call: ExecutionAccount = completed(record(wallet(caller), agent, id), "r");
    call.record.amount = amount;
    call.record.status = status as u8;
    call.record.dispute_count = u8::from(status != ExecutionStatus::Completed);
    call.record.revision += status as u64;
    put(pool, &addresses().execution(&wallet(caller), id.as_bytes()), 5 + status as u64, &call).await;
}

async fn shown(pool: &PgPool, agent: Pubkey) -> AgentDetails {
    reads::agents(pool, &[agent]).await.expect("read").pop().expect("shown")
}

async fn trust(pool: &PgPool, agent: Pubkey) -> u64 {
    let mut look = AgentListSnapshot::begin(pool).await.expect("looks");
    let listed = look.listed(&[agent]).await.expect("read").pop().expect("listed").trust_usdc;
    let shown = shown(pool, agent).await.trust_usdc;
    assert_eq!(listed, shown, "list and page agree");
    shown.0
}

async fn agent(pool: &PgPool) -> Pubkey {
    put(pool, &addresses().config(), 1, &configuration()).await;
    show(pool, listing(wallet(1), 0), "agent", &["data"]).await
}

#[tokio::test]
async fn one_dear_call_counts_no_more_than_a_tenth_of_a_dollar_of_fee() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let agent = agent(pool).await;
    put_call(pool, agent, 2, 1, 500_000_000, ExecutionStatus::Completed).await;
    assert_eq!(trust(pool, agent).await, 100_000);
    put_call(pool, agent, 3, 1, 1_000_000, ExecutionStatus::Completed).await;
    assert_eq!(trust(pool, agent).await, 110_000);
}

#[tokio::test]
async fn one_wallet_counts_no_more_than_a_dollar_of_fees() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let agent = agent(pool).await;
    for number in 1..=12 {
        put_call(pool, agent, 2, number, 10_000_000, ExecutionStatus::Completed).await;
        assert_eq!(trust(pool, agent).await, (100_000 * u64::try_from(number).expect("small")).min(1_000_000));
    }
    put_call(pool, agent, 3, 1, 10_000_000, ExecutionStatus::Completed).await;
    assert_eq!(trust(pool, agent).await, 1_100_000);
}

/// The row of `SECURITY.md`, "Prices of lies".
#[tokio::test]
async fn the_first_place_over_9999_honest_calls_costs_their_fees_and_several_wallets() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let agent = agent(pool).await;
    // 9 999 calls of 0.05 USDC by a hundred wallets.
    let honest = 9_999 * 500;
    let (mut paid, mut wallets) = (0, 0);
    'bought: for caller in 10_u8.. {
        wallets += 1;
        // The dearest call that still counts in full, until the wallet counts no more.
        for number in 0..10 {
            put_call(pool, agent, caller, number, 10_000_000, ExecutionStatus::Completed).await;
            paid += 100_000;
            if trust(pool, agent).await > honest {
                break 'bought;
            }
        }
    }
    assert_eq!((UsdcBase(paid).to_string().as_str(), wallets), ("5", 5));
    let row = "| First place by trust over 9 999 honest calls of 0.05 USDC | 0.1 USDC, by number of calls | 5 USDC |";
    assert!(include_str!("../../../../SECURITY.md").contains(row));
}

#[tokio::test]
async fn a_failure_and_an_open_dispute_take_no_trust_and_an_upheld_one_takes_its_call_alone() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let agent = agent(pool).await;
    put_call(pool, agent, 2, 1, 1_000_000, ExecutionStatus::Completed).await;
    put_call(pool, agent, 3, 1, 2_000_000, ExecutionStatus::Completed).await;
    let id = Uuid::from_u128(9);
    let failed = refunded(record(wallet(4), agent, id), 2);
    put(pool, &addresses().execution(&wallet(4), id.as_bytes()), 9, &failed).await;
    assert_eq!(trust(pool, agent).await, 30_000);
    put_call(pool, agent, 3, 1, 2_000_000, ExecutionStatus::Disputed).await;
    assert_eq!(trust(pool, agent).await, 30_000);
    put_call(pool, agent, 3, 1, 2_000_000, ExecutionStatus::Overturned).await;
    assert_eq!(trust(pool, agent).await, 10_000);
}

#[tokio::test]
async fn wallets_to_which_fees_and_penalties_go_and_the_admin_add_no_trust_also_when_a_role_changes() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let agent = agent(pool).await;
    let mut config = configuration();
    for (number, caller) in [90_u8, 93, 94, 2].into_iter().enumerate() {
        let number = u128::try_from(number).expect("small");
        put_call(pool, agent, caller, number, 1_000_000, ExecutionStatus::Completed).await;
    }
    assert_eq!(trust(pool, agent).await, 10_000);
    let seen = AgentListSnapshot::begin(pool).await.expect("looks").head.seen;
    config.treasury_owner = wallet(2);
    config.revision += 1;
    put(pool, &addresses().config(), 9, &config).await;
    assert_eq!(trust(pool, agent).await, 10_000, "the new owner's call goes, the former one's counts");
    let changed = AgentListSnapshot::begin(pool).await.expect("looks").changed(Some(&seen)).await.expect("read");
    assert!(changed.contains(&agent), "lists notice it");
}

#[tokio::test]
async fn lists_notice_a_trust_that_the_audit_counted_again() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let agent = agent(pool).await;
    put_call(pool, agent, 2, 1, 1_000_000, ExecutionStatus::Completed).await;
    sqlx::query("UPDATE mirror_agent_totals SET trust = 7").execute(pool).await.expect("altered");
    let seen = AgentListSnapshot::begin(pool).await.expect("looks").head.seen;
    audit::recount(pool).await.expect("counted again");
    assert_eq!(trust(pool, agent).await, 10_000);
    let changed = AgentListSnapshot::begin(pool).await.expect("looks").changed(Some(&seen)).await.expect("read");
    assert!(changed.contains(&agent));
}

#[tokio::test]
async fn fifty_disputes_of_one_wallet_show_as_eleven_and_as_one_wallet() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let agent = agent(pool).await;
    for number in 0..50 {
        put_call(pool, agent, 2, number, 1_000, ExecutionStatus::Disputed).await;
    }
    put_call(pool, agent, 3, 1, 1_000, ExecutionStatus::Disputed).await;
    assert_eq!(shown(pool, agent).await.dispute_count, 12);
    for number in 0..3 {
        put_call(pool, agent, 2, number, 1_000, ExecutionStatus::Overturned).await;
    }
    let agent = shown(pool, agent).await;
    assert_eq!((agent.dispute_count, agent.upheld_wallets, agent.unique_callers), (12, 1, 2));
    assert_eq!(agent.trust_usdc, UsdcBase(48 * 10));
}
