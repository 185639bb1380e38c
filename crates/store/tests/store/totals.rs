//! Totals of executions: the same as adding single executions up, bounded, and read from indexes alone.

use chrono::{DateTime, TimeDelta, Utc};
use crtx_protocol::usdc::UsdcBase;
use crtx_store::{
    PgPool, Pools,
    pools::PoolSizes,
    reads::{ExecutionRole, TotalsBy, TotalsQuestion, execution_totals},
    testing::{TestDatabase, fixtures::wallet, roll_up_all, volume},
};
use serde_json::Value;
use solana_pubkey::Pubkey;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

const EXECUTIONS: u32 = 60_000;
const AGENTS: u32 = 1_500;

fn question(wallet: Pubkey, role: ExecutionRole, by: TotalsBy, from: DateTime<Utc>) -> TotalsQuestion {
    TotalsQuestion { wallet, role, by, agent: None, from, to: None }
}

/// Half of the executions are of one caller, the others of many; every seventh was refunded.
async fn seed(pool: &PgPool) -> (Pubkey, Pubkey) {
    let (caller, creator) = (wallet(1), wallet(30));
    volume::agents(pool, &creator, AGENTS).await;
    let agents: Vec<String> =
        sqlx::query_scalar("SELECT address FROM mirror_agents ORDER BY address").fetch_all(pool).await.unwrap();
    let callers: Vec<_> = (0..700).flat_map(|n| [caller.to_string(), format!("caller {n}")]).collect();
    volume::executions(pool, &callers, &agents, EXECUTIONS).await;
    let refunded = "UPDATE mirror_executions m
                    SET status = 3, creator_amount = 0, platform_amount = 0, failure_reason = 1, settled_by = NULL
                    FROM (SELECT address, row_number() OVER ()::integer AS n FROM mirror_executions) AS numbered
                    WHERE numbered.address = m.address AND n % 7 = 0";
    sqlx::query(refunded).execute(pool).await.unwrap();
    roll_up_all(pool).await.unwrap();
    sqlx::raw_sql("VACUUM ANALYZE").execute(pool).await.unwrap();
    (caller, creator)
}

#[tokio::test]
async fn totals_of_many_executions_are_exact_bounded_and_read_by_keys() {
    let database = TestDatabase::create().await;
    let (caller, creator) = seed(database.pool()).await;
    let sizes = PoolSizes { money: 1, points: 1, lists: 2, indexer: 1 };
    let pools = Pools::connect(&database.url(), None, sizes).await.unwrap();
    let lists = &pools.reads.lists;
    let all = Utc::now() - TimeDelta::days(300);
    let recent = Utc::now() - TimeDelta::minutes(4);
    for (owner, role) in [(caller, ExecutionRole::Caller), (creator, ExecutionRole::Creator)] {
        for from in [all, recent] {
            let expected = added_up(database.pool(), &owner, role, from).await;
            for by in [TotalsBy::Day, TotalsBy::Key, TotalsBy::Agent, TotalsBy::Status] {
                let totals = execution_totals(lists, &question(owner, role, by, from)).await.unwrap();
                let total = &totals.total;
                let found = [total.executions, total.completed, total.paid_usdc.0, total.refunded_usdc.0];
                assert_eq!(found, expected, "{role:?} {by:?} {from}");
                let of_groups: u64 = totals.groups.iter().map(|group| group.executions).sum();
                assert_eq!(of_groups < total.executions, totals.truncated, "{role:?} {by:?}");
                assert!(totals.groups.len() <= 1_000);
                let paid: Vec<UsdcBase> = totals.groups.iter().map(|group| group.paid_usdc).collect();
                assert!(by == TotalsBy::Day || paid.is_sorted_by(|one, next| one >= next), "{paid:?}");
                assert!(totals.groups.is_sorted_by_key(|group| group.day));
            }
        }
    }
    // 1 500 agents were called.
    let by_agent = question(creator, ExecutionRole::Creator, TotalsBy::Agent, all);
    let totals = execution_totals(lists, &by_agent).await.unwrap();
    assert_eq!((totals.groups.len(), totals.truncated), (1_000, true));
    let nobody = question(wallet(99), ExecutionRole::Caller, TotalsBy::Day, all);
    let totals = execution_totals(lists, &nobody).await.unwrap();
    assert_eq!((totals.groups.len(), totals.total.executions, totals.total.paid_usdc), (0, 0, UsdcBase(0)));
    pools.close().await;
    it_reads_no_more_than_the_range(&database.url(), &caller, recent).await;
}

/// Executions, completed ones, and what was paid and refunded, without the list and its indexes.
async fn added_up(pool: &PgPool, owner: &Pubkey, role: ExecutionRole, from: DateTime<Utc>) -> [u64; 4] {
    let row: (i64, i64, i64, i64) = sqlx::query_as(
        "SELECT count(*), count(*) FILTER (WHERE x.status = 'completed'),
                COALESCE(sum(x.creator_amount + x.platform_amount), 0)::bigint,
                COALESCE(sum(m.amount) FILTER (WHERE x.status = 'failed'), 0)::bigint
         FROM shown_executions x
         JOIN mirror_executions m ON m.address = x.record
         LEFT JOIN mirror_agents a ON a.address = x.agent
         WHERE CASE WHEN $1 THEN x.caller ELSE a.creator END = $2 AND x.initiated_at >= $3",
    )
    .bind(role == ExecutionRole::Caller)
    .bind(owner.to_string())
    .bind(from)
    .fetch_one(pool)
    .await
    .unwrap();
    [row.0, row.1, row.2, row.3].map(i64::unsigned_abs)
}

/// In the way that the pool of lists plans its statements.
async fn it_reads_no_more_than_the_range(url: &str, caller: &Pubkey, from: DateTime<Utc>) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let settings = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_bitmapscan = off";
    sqlx::raw_sql(settings).execute(&mut connection).await.unwrap();
    let asked = question(*caller, ExecutionRole::Caller, TotalsBy::Day, from);
    let in_range = execution_totals(&mut connection, &asked).await.unwrap().total.executions;
    assert!((100..3_000).contains(&in_range), "{in_range} of {EXECUTIONS}");
    let prepared = "SELECT statement FROM pg_prepared_statements WHERE statement LIKE '%GROUPING SETS%' AND statement NOT LIKE '%pg_prepared%'";
    let statement: String = sqlx::query_scalar(prepared).persistent(false).fetch_one(&mut connection).await.unwrap();
    let prepare = format!("PREPARE totals (int2, text, text, timestamptz, timestamptz, text, int8) AS {statement}");
    sqlx::raw_sql(AssertSqlSafe(prepare)).execute(&mut connection).await.unwrap();
    let explain = format!(
        "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE totals (0, '{caller}', '', '{}', NULL, 'day', 1002)",
        from.to_rfc3339()
    );
    let plan: Value =
        sqlx::query_scalar(AssertSqlSafe(explain)).persistent(false).fetch_one(&mut connection).await.unwrap();
    let plan = &plan[0]["Plan"];
    let blocks = ["Shared Hit Blocks", "Shared Read Blocks"].iter().filter_map(|name| plan[name].as_u64()).sum::<u64>();
    // Of each execution a row of the list, the record with its index, and nothing of those outside of the range.
    assert!(blocks < in_range * 8 + 500, "{blocks} blocks for {in_range} executions\n{plan:#}");
}
