//! The schema on a real PostgreSQL: its numbers are the program's, and a database of another version is refused.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests"
)]

use agent_marketplace::state::{AgentListed, AgentStatus, ExecutionRecord, ExecutionStatus, FailureReason};
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
}

#[tokio::test]
async fn a_database_of_another_version_is_refused_with_what_to_do() {
    for change in [
        "UPDATE _sqlx_migrations SET checksum = '\\x00' WHERE version = 1",
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES (4711, 'of another version', true, '\\x00', 1)",
    ] {
        let database = TestDatabase::create().await;
        crtx_store::migrate(database.pool()).await.expect("a second time does no harm");
        sqlx::query(change).execute(database.pool()).await.unwrap();
        let error = crtx_store::migrate(database.pool()).await.unwrap_err();
        assert!(matches!(error, StoreError::OtherSchema { migration: 1 | 4_711 }), "{error}");
        assert!(error.to_string().contains("`crtx up --fresh`"), "{error}");
    }
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

/// The SQL of the migrations before the second pass, and of the second pass.
fn first_and_second_pass() -> (String, String) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../migrations/");
    let read = |name: &str| std::fs::read_to_string(format!("{folder}{name}")).unwrap();
    let first =
        ["0001_program_numbers.sql", "0002_mirror.sql", "0003_executions.sql", "0004_admission.sql", "0005_reads.sql"];
    (first.map(read).concat(), read("0006_second_pass.sql"))
}

#[tokio::test]
async fn the_second_pass_empties_the_mirror_and_keeps_documents_and_the_rows_of_the_gateway() {
    let database = TestDatabase::create().await;
    let (first, second) = first_and_second_pass();
    let mut connection = database.pool().acquire().await.unwrap();
    let before = "CREATE SCHEMA first_pass; SET search_path TO first_pass;";
    let rows = "
        INSERT INTO mirror_grants (address, slot, revision, wallet, session_key, allowed_agents, per_call_cap, total_cap,
            spent, executions, expires_at_unix_s, created_at, revoked)
        VALUES ('grant', 1, 1, 'wallet', 'key', '{}', 1, 1, 0, 0, 0, now(), false);
        INSERT INTO mirror_executions (address, slot, revision, execution_id, agent, caller, request_hash, refund_owner,
            result_key, rent_payer, amount, creator_amount, platform_amount, execution_time_ms, timeout_seconds,
            dispute_window_s, opened_at, deadline_at, status, dispute_count, initiated_at)
        VALUES ('record', 1, 1, gen_random_uuid(), 'agent', 'wallet', '\\x00', 'wallet', 'key', 'payer', 1, 1, 0, 0, 60,
            60, now(), now(), 1, 0, now());
        INSERT INTO mirror_checkpoint (slot, genesis_hash) VALUES (1, 'chain');
        INSERT INTO agent_metadata (agent, sha256, uri, error) VALUES ('agent', decode(repeat('05', 32), 'hex'), 'u', 'e');
        INSERT INTO executions (record, execution_id, caller, agent, session_key, state, body_hash, is_async, request,
            request_hash, amount, timeout_seconds, endpoint)
        VALUES ('record', gen_random_uuid(), 'wallet', 'agent', 'key', 'reserved', decode(repeat('05', 32), 'hex'), false,
            '{}', decode(repeat('05', 32), 'hex'), 1, 60, 'https://a.example');";
    for statements in [before, first.as_str(), rows, second.as_str()] {
        sqlx::raw_sql(sqlx::AssertSqlSafe(statements)).execute(&mut *connection).await.unwrap();
    }
    for (table, expected) in [
        ("mirror_grants", 0),
        ("mirror_executions", 0),
        ("mirror_checkpoint", 0),
        ("mirror_agent_callers", 0),
        ("agent_metadata", 1),
        ("executions", 1),
    ] {
        let count = sqlx::AssertSqlSafe(format!("SELECT count(*) FROM {table}"));
        let rows: i64 = sqlx::query_scalar(count).fetch_one(&mut *connection).await.unwrap();
        assert_eq!(rows, expected, "{table}");
    }
    connection.detach();
}
