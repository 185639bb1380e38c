//! Queries and changes that tests of other crates need and that the services do not have.
#![allow(missing_docs, reason = "the names say it")]

use std::ops::RangeInclusive;

use chrono::TimeDelta;
use serde_json::Value;
use solana_pubkey::Pubkey;
use sqlx::{PgExecutor, PgPool, Postgres, Transaction};
use uuid::Uuid;

use crate::sessions::{self, NewSession, SessionKind};

async fn count(pool: &PgPool, query: &'static str) -> i64 {
    sqlx::query_scalar(query).fetch_one(pool).await.expect("a count")
}

pub async fn expired_transactions(pool: &PgPool) -> i64 {
    count(pool, "SELECT count(*) FROM execution_transactions WHERE outcome = 'expired'").await
}

/// Connections to this database that the server sees inside an open transaction.
pub async fn idle_in_transaction(pool: &PgPool) -> i64 {
    count(
        pool,
        "SELECT count(*) FROM pg_stat_activity
         WHERE datname = current_database() AND state LIKE 'idle in transaction%'",
    )
    .await
}

/// Locks the mirror as a resync does, until the transaction ends.
pub async fn lock_mirror(pool: &PgPool) -> Transaction<'static, Postgres> {
    let mut transaction = crate::transaction::begin(pool).await.expect("a transaction");
    sqlx::query("LOCK TABLE mirror_agents, mirror_executions, mirror_grants IN EXCLUSIVE MODE")
        .execute(&mut *transaction)
        .await
        .expect("the locks");
    transaction
}

/// Takes every lease over for a second, as another process does after a long pause of this one.
pub async fn steal_leases(pool: &PgPool) {
    sqlx::query("UPDATE executions SET lease_owner = gen_random_uuid(), lease_until = now() + interval '1 second'")
        .execute(pool)
        .await
        .expect("the leases");
}

/// A call like the one that is completed, left behind by a dead process while its creator worked.
pub async fn leave_running(pool: &PgPool, record: &Pubkey, execution_id: Uuid, request: &Value) {
    sqlx::query(
        "INSERT INTO executions (record, execution_id, caller, agent, session_key, state, body_hash, is_async, request,
             request_hash, amount, timeout_seconds, endpoint, opened_at, dispatched_at)
         SELECT $1, $2, caller, agent, session_key, 'running', body_hash, is_async, $3::text::json,
             request_hash, amount, 30, endpoint, now(), now()
         FROM executions WHERE state = 'completed' LIMIT 1",
    )
    .bind(record.to_string())
    .bind(execution_id)
    .bind(request.to_string())
    .execute(pool)
    .await
    .expect("a row");
}

/// Takes the call back to the moment before it was sent to the creator.
pub async fn undo_dispatch(pool: &PgPool, record: &Pubkey) {
    sqlx::query("UPDATE executions SET state = 'pending', dispatched_at = NULL WHERE record = $1")
        .bind(record.to_string())
        .execute(pool)
        .await
        .expect("a row");
}

/// Leaves the call to its refund, for a reason of the program.
pub async fn leave_refunding(pool: &PgPool, record: &Pubkey, reason: u8) {
    sqlx::query(
        "UPDATE executions SET state = 'refunding', failure_reason = $2, error_status = 408,
             error_code = 'execution_timeout', error_message = 'a test'
         WHERE record = $1",
    )
    .bind(record.to_string())
    .bind(i16::from(reason))
    .execute(pool)
    .await
    .expect("a row");
}

/// Sets the end of a session to a moment ago.
pub async fn expire_session(pool: &PgPool, session_id: Uuid) {
    let query = "UPDATE sessions SET expires_at = now() - interval '1 second' WHERE session_id = $1";
    let done = sqlx::query(query).bind(session_id).execute(pool).await.expect("an update");
    assert_eq!(done.rows_affected(), 1, "no session {session_id}");
}

/// Pieces of content that are held for a wallet.
pub async fn held_pieces(pool: &PgPool, wallet: &Pubkey) -> i64 {
    let query = "SELECT count(*) FROM held_content WHERE wallet = $1";
    sqlx::query_scalar(query).bind(wallet.to_string()).fetch_one(pool).await.expect("a count")
}

/// Opens a session for an hour, without a sign-in.
pub async fn open_session(pool: &PgPool, wallet: Pubkey, token_hash: [u8; 32], kind: SessionKind) {
    let challenge = Uuid::new_v4().into_bytes();
    let new = NewSession { token_hash, wallet, kind, lifetime: TimeDelta::hours(1), challenge };
    let opened = sessions::open(pool, &new).await.expect("a session");
    assert!(opened.is_some(), "the challenge is new");
}

/// Ends the connections that wait for new events. Returns how many there were.
///
/// # Panics
/// When the database refuses.
pub async fn end_connections_that_listen(pool: &PgPool) -> usize {
    let ended: Vec<bool> = sqlx::query_scalar(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN %'",
    )
    .fetch_all(pool)
    .await
    .expect("connections");
    ended.len()
}

/// Gives a listing so many successful executions, in a transaction that the test commits.
///
/// # Panics
/// When the database refuses.
pub async fn count_later(pool: &PgPool, agent: &Pubkey, executions: i64) -> Transaction<'static, Postgres> {
    let mut transaction = crate::transaction::begin(pool).await.expect("a transaction");
    sqlx::query("UPDATE mirror_agents SET total_executions = $2, successful_executions = $2 WHERE address = $1")
        .bind(agent.to_string())
        .bind(executions)
        .execute(&mut *transaction)
        .await
        .expect("the listing is changed");
    transaction
}

/// Deletes the row of a listing.
///
/// # Panics
/// When the database refuses.
pub async fn delete_agent(pool: &PgPool, agent: &Pubkey) {
    let delete = sqlx::query("DELETE FROM mirror_agents WHERE address = $1").bind(agent.to_string());
    delete.execute(pool).await.expect("the row is deleted");
}

/// Slot, accounts and checksum of each digest that [`crate::mirror::digest_at`] states of one of these slots, in one
/// statement.
pub async fn stated_digests(pool: &PgPool, slots: RangeInclusive<u64>) -> Vec<(u64, u64, [u8; 32])> {
    let rows: Vec<(i64, i64, [u8; 32])> = sqlx::query_as(
        "SELECT s.slot, h.accounts, h.checksum
         FROM mirror_digest d CROSS JOIN generate_series($1, LEAST($2, d.slot)) s (slot) CROSS JOIN LATERAL (
             SELECT * FROM mirror_digest_history h WHERE h.slot <= s.slot ORDER BY h.slot DESC LIMIT 1
         ) h
         WHERE COALESCE(h.through, d.slot) >= s.slot ORDER BY s.slot",
    )
    .bind(slots.start().cast_signed())
    .bind(slots.end().cast_signed())
    .fetch_all(pool)
    .await
    .expect("read");
    rows.into_iter()
        .map(|(slot, accounts, checksum)| (slot.cast_unsigned(), accounts.cast_unsigned(), checksum))
        .collect()
}

/// The rows of a mirrored kind by their address, without what says when and how they were written, and without columns
/// that are copied from documents.
///
/// # Panics
/// When the database refuses.
pub async fn mirrored(pool: &PgPool, table: &str) -> Value {
    let rows = format!(
        "SELECT COALESCE(jsonb_agg(to_jsonb(m) - '{{observed_at,slot,after_slot,closed_at_slot,initiated_at,changed_in,name,tagline,tags}}'::text[]
                                   ORDER BY address), '[]')
         FROM {table} m"
    );
    sqlx::query_scalar(sqlx::AssertSqlSafe(rows)).fetch_one(pool).await.expect("the rows")
}

/// Puts an event of a wallet into the queue.
pub async fn queue_event(db: impl PgExecutor<'_>, wallet: &Pubkey, event_type: &str, data: &Value) {
    sqlx::query("INSERT INTO event_queue (wallet, type, data) VALUES ($1, $2, $3)")
        .bind(wallet.to_string())
        .bind(event_type)
        .bind(data)
        .execute(db)
        .await
        .expect("an event");
}

/// Puts an event into the log and numbers it.
pub async fn log_event(
    pool: &PgPool,
    wallet: &Pubkey,
    event_type: &str,
    agent: Option<Pubkey>,
    execution: Option<Uuid>,
) {
    sqlx::query("INSERT INTO event_queue (wallet, type, agent, execution_id, data) VALUES ($1, $2, $3, $4, '{}')")
        .bind(wallet.to_string())
        .bind(event_type)
        .bind(agent.map(|agent| agent.to_string()))
        .bind(execution)
        .execute(pool)
        .await
        .expect("an event");
    while crate::events::number(pool).await.expect("numbered") == 0 {}
}

/// Lets so much time pass for all webhooks.
pub async fn age_webhooks(pool: &PgPool, by: TimeDelta) {
    let seconds = by.as_seconds_f64();
    for statement in [
        "UPDATE webhooks SET failing_since = failing_since - make_interval(secs => $1),
             due_at = due_at - make_interval(secs => $1), paused_until = paused_until - make_interval(secs => $1),
             lease_until = lease_until - make_interval(secs => $1),
             old_secret_until = old_secret_until - make_interval(secs => $1)",
        "UPDATE webhook_deliveries SET next_at = next_at - make_interval(secs => $1),
             last_at = last_at - make_interval(secs => $1)",
    ] {
        sqlx::query(statement).bind(seconds).execute(pool).await.expect("the clocks");
    }
}

/// Seconds until the next attempt of each delivery that waits, by its number.
pub async fn next_attempts(pool: &PgPool) -> Vec<(i64, f64)> {
    let query = "SELECT sequence, extract(epoch FROM next_at - now())::float8 FROM webhook_deliveries
                 WHERE next_at IS NOT NULL ORDER BY sequence";
    sqlx::query_as(query).fetch_all(pool).await.expect("the deliveries")
}

/// What the database has of the secrets of all webhooks.
pub async fn stored_secrets(pool: &PgPool) -> Vec<Vec<u8>> {
    sqlx::query_scalar("SELECT secret FROM webhooks").fetch_all(pool).await.expect("the secrets")
}
