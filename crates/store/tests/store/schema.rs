//! The schema on a real PostgreSQL: its numbers are the program's, and a database of another version is refused.

use agent_marketplace::state::{
    AgentListed, AgentStatus, Dispute, DisputeOutcome, ExecutionRecord, ExecutionStatus, FailureReason,
};
use bytemuck::Zeroable;
use crtx_store::{
    StoreError,
    testing::{
        TestDatabase,
        fixtures::{GatewayRow, wallet},
    },
};
use sqlx::PgPool;

/// The number of a name in one of the schema's functions.
async fn number(pool: &PgPool, function: &str, name: &str) -> Result<i16, sqlx::Error> {
    sqlx::query_scalar(sqlx::AssertSqlSafe(format!("SELECT {function}($1)"))).bind(name).fetch_one(pool).await
}

/// Compares a function of the schema with the enum that `named` decodes, over all numbers. `named` matches the enum
/// exhaustively: a new variant does not compile without a name here.
async fn same_numbers(pool: &PgPool, function: &str, variants: usize, named: impl Fn(u8) -> Option<&'static str>) {
    let mut found = 0;
    for expected in 0..=u8::MAX {
        let Some(name) = named(expected) else { continue };
        found += 1;
        assert_eq!(number(pool, function, name).await.unwrap(), i16::from(expected), "{function}({name})");
    }
    assert_eq!(found, variants, "{function}");
    assert!(number(pool, function, "no such name").await.is_err(), "{function} refuses an unknown name");
    let body: String = sqlx::query_scalar("SELECT prosrc FROM pg_proc WHERE proname = $1")
        .bind(function)
        .fetch_one(pool)
        .await
        .unwrap();
    assert_eq!(body.matches("THEN RETURN").count(), variants, "{function} has no name that the program lacks");
}

#[tokio::test]
async fn the_numbers_in_the_schema_are_those_of_the_program() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    same_numbers(pool, "agent_status", 3, |status| {
        let listing = AgentListed { status, ..AgentListed::zeroed() };
        Some(match listing.status()? {
            AgentStatus::Active => "active",
            AgentStatus::Paused => "paused",
            AgentStatus::Delisted => "delisted",
        })
    })
    .await;
    same_numbers(pool, "record_status", 6, |status| {
        let record = ExecutionRecord { status, ..ExecutionRecord::zeroed() };
        Some(match record.status()? {
            ExecutionStatus::Open => "open",
            ExecutionStatus::Completed => "completed",
            ExecutionStatus::Failed => "failed",
            ExecutionStatus::Expired => "expired",
            ExecutionStatus::Disputed => "disputed",
            ExecutionStatus::Overturned => "overturned",
        })
    })
    .await;
    same_numbers(pool, "failure_reason", 5, |failure_reason| {
        let record = ExecutionRecord { failure_reason, ..ExecutionRecord::zeroed() };
        Some(match record.failure_reason()? {
            FailureReason::CreatorFailed => "creator_failed",
            FailureReason::Timeout => "timeout",
            FailureReason::InvalidResponse => "invalid_response",
            FailureReason::Expired => "expired",
            FailureReason::Interrupted => "interrupted",
        })
    })
    .await;
    same_numbers(pool, "dispute_outcome", 6, |outcome| {
        Some(match (Dispute { outcome, ..Dispute::zeroed() }).outcome()? {
            DisputeOutcome::Open => "open",
            DisputeOutcome::Upheld => "upheld",
            DisputeOutcome::Rejected => "rejected",
            DisputeOutcome::Expired => "expired",
            DisputeOutcome::Cancelled => "cancelled",
            DisputeOutcome::Abusive => "abusive",
        })
    })
    .await;
}

#[tokio::test]
async fn a_database_of_another_version_is_refused_with_what_to_do() {
    let database = TestDatabase::create().await;
    crtx_store::migrate(database.pool()).await.expect("a second time does no harm");
    let change = "UPDATE _sqlx_migrations SET checksum = '\\x00' WHERE version = 1";
    sqlx::query(change).execute(database.pool()).await.unwrap();
    let error = crtx_store::migrate(database.pool()).await.unwrap_err();
    assert!(matches!(error, StoreError::OtherSchema { migration: 1 }), "{error}");
    assert!(error.to_string().contains("`crtx up --fresh`"), "{error}");
}

#[tokio::test]
async fn a_process_of_the_version_before_starts_on_the_database_of_the_next_one() {
    let database = TestDatabase::create().await;
    let next = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
                VALUES (4711, 'of the next version', true, '\\x00', 1)";
    sqlx::query(next).execute(database.pool()).await.unwrap();
    crtx_store::migrate(database.pool()).await.unwrap();
}

#[tokio::test]
async fn the_gateway_may_report_every_reason_of_the_program() {
    let database = TestDatabase::create().await;
    for reason in 1..=6i16 {
        let id = uuid::Uuid::from_u128(reason.unsigned_abs().into());
        let record = GatewayRow::new(wallet(2), wallet(20), id, "refunding").insert(database.pool()).await;
        let named = sqlx::query("UPDATE executions SET failure_reason = $1 WHERE record = $2")
            .bind(reason)
            .bind(record.to_string())
            .execute(database.pool())
            .await;
        assert_eq!(named.is_ok(), reason <= 5, "{reason}");
    }
}
