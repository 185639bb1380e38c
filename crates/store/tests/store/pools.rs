//! Pools with limits, against a real server.

use std::time::{Duration, Instant};

use crtx_store::{
    StoreError,
    pools::{PoolLimits, PoolSizes, Pools, ReadConnection, open},
    testing::TestDatabase,
};
use sqlx::{Connection, PgPool};

async fn running(pool: &PgPool, what: &str) -> i64 {
    sqlx::query_scalar(
        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE $1 AND state = 'active' AND pid <> pg_backend_pid()",
    )
    .bind(format!("SELECT pg_sleep({what})%"))
    .fetch_one(pool)
    .await
    .expect("activity")
}

async fn eventually(pool: &PgPool, what: &str, wanted: i64) {
    let started = Instant::now();
    while running(pool, what).await != wanted {
        assert!(started.elapsed() < Duration::from_secs(10), "{wanted} queries run");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn each_pool_has_its_own_limits() {
    let database = TestDatabase::create().await;
    let pools = Pools::connect(&database.url(), None, PoolSizes::of(16)).await.expect("connected");
    for (pool, statement) in
        [(&pools.money, "10s"), (&pools.reads.points, "2s"), (&pools.reads.lists, "5s"), (&pools.indexer, "0")]
    {
        let shown: String = sqlx::query_scalar("SHOW statement_timeout").fetch_one(pool).await.expect("shown");
        assert_eq!(shown, statement);
        let idle: String =
            sqlx::query_scalar("SHOW idle_in_transaction_session_timeout").fetch_one(pool).await.expect("shown");
        assert_ne!(idle, "0");
    }
    pools.close().await;
}

#[tokio::test]
async fn a_query_ends_with_whoever_asked() {
    let database = TestDatabase::create().await;
    let pool = open(&database.url(), PoolLimits::lists(1)).expect("a pool");
    let asking = tokio::spawn({
        let pool = pool.clone();
        async move {
            let mut connection = ReadConnection::acquire(&pool).await.expect("a connection");
            sqlx::query("SELECT pg_sleep(4.125)").execute(&mut *connection).await.map(drop)
        }
    });
    eventually(database.pool(), "4.125", 1).await;
    asking.abort();
    let started = Instant::now();
    eventually(database.pool(), "4.125", 0).await;
    assert!(started.elapsed() < Duration::from_secs(3), "the query did not run to its end");
    let mut next = ReadConnection::acquire(&pool).await.expect("the pool has room again");
    next.ping().await.expect("and its connections work");
    next.done();
    assert_eq!(pool.size(), 1);
}

#[tokio::test]
async fn conditions_that_pass_are_told_from_faults() {
    let database = TestDatabase::create().await;
    let error = |sql: &'static str| {
        let pool = database.pool().clone();
        async move { StoreError::from(sqlx::raw_sql(sql).execute(&pool).await.expect_err(sql)) }
    };
    for code in [
        "57P01", "57P02", "57P03", "57P05", "57014", "40P01", "40001", "53100", "53200", "53300", "55P03", "08006",
        "25P03", "58030",
    ] {
        let raise = format!("DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '{code}'; END $$");
        let error =
            StoreError::from(sqlx::raw_sql(sqlx::AssertSqlSafe(raise)).execute(database.pool()).await.expect_err(code));
        assert!(error.is_unavailable(), "{code}: {error}");
    }
    for code in ["SELECT 1 / 0", "SELECT no_such_column", "SELECT 'x'::bigint"] {
        assert!(!error(code).await.is_unavailable(), "{code}");
    }
    assert!(error("SET statement_timeout = 20; SELECT pg_sleep(5)").await.is_unavailable());
}

#[tokio::test]
async fn a_connection_that_the_server_ended_is_a_passing_condition() {
    let database = TestDatabase::create().await;
    let pool = open(&database.url(), PoolLimits::points(1)).expect("a pool");
    let mut connection = pool.acquire().await.expect("a connection");
    let pid: i32 = sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(&mut *connection).await.expect("a pid");
    let sleeping = tokio::spawn(async move { sqlx::query("SELECT pg_sleep(1.875)").execute(&mut *connection).await });
    eventually(database.pool(), "1.875", 1).await;
    sqlx::query("SELECT pg_terminate_backend($1)").bind(pid).execute(database.pool()).await.expect("terminated");
    let error = StoreError::from(sleeping.await.expect("no panic").expect_err("the connection has ended"));
    assert!(error.is_unavailable(), "{error}");
}
