//! What the database says about mirror, documents and money, as numbers for the metrics of a process. Every statement reads
//! few rows: nothing counts a whole table.

use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::PgPool;

use crate::{
    Result,
    convert::saturating_to_db,
    events, fee_payers,
    housekeeping::{self, Chore},
    indexer_status, mirror,
    reads::DisputeStatus,
};

/// Name and value of each number that is known.
pub async fn read(pool: &PgPool) -> Result<Vec<(&'static str, i64)>> {
    let mut figures = Vec::new();
    add_mirror(&mut figures, pool).await?;
    add_documents(&mut figures, pool).await?;
    add_open(&mut figures, pool).await?;
    let (waiting, age_s) = events::waiting(pool).await?;
    figures.extend([("events_waiting", saturating_to_db(waiting)), ("events_waiting_age_seconds", age_s as i64)]);
    if let Some(payer) = fee_payers::latest(pool).await? {
        figures.push(("fee_payer_lamports", saturating_to_db(payer.lamports)));
        figures.push(("fee_payer_calls_left", saturating_to_db(payer.calls_left)));
    }
    for (name, chore) in [
        ("housekeeping_refunds", Chore::Refund),
        ("housekeeping_closings", Chore::Close),
        ("housekeeping_expired_disputes", Chore::ExpireDispute),
        ("housekeeping_announcements", Chore::ApplyAnnouncement),
    ] {
        figures.push((name, saturating_to_db(housekeeping::total(pool, chore).await?.actions)));
    }
    Ok(figures)
}

async fn add_mirror(figures: &mut Vec<(&'static str, i64)>, pool: &PgPool) -> Result<()> {
    let age = |at: DateTime<Utc>| Utc::now().signed_duration_since(at).num_seconds();
    if let Some(checkpoint) = mirror::checkpoint(pool).await? {
        figures.push(("indexed_slot", saturating_to_db(checkpoint.slot)));
        figures.push(("mirror_lag_seconds", checkpoint.lag_seconds as i64));
    }
    if let Some(beat) = indexer_status::heartbeat(pool).await? {
        figures.push(("chain_slot", saturating_to_db(beat.chain_slot)));
        figures.push(("indexer_streaming", i64::from(beat.streaming)));
        figures.push(("indexer_heartbeat_age_seconds", age(beat.at)));
        if let Some(at) = beat.last_change {
            figures.push(("indexer_last_change_age_seconds", age(at)));
        }
    }
    if let Some((report, at)) = indexer_status::last_audit(pool).await? {
        figures.push(("audit_age_seconds", age(at)));
        figures.push(("audit_ok", i64::from(report.get("ok").and_then(Value::as_bool).unwrap_or(false))));
    }
    Ok(())
}

/// What should have ended: open records that nobody settled or refunded for a minute after their deadline, calls that no
/// worker took for a minute after their lease, and disputes that wait for a decision. Gateways look every 30 s.
async fn add_open(figures: &mut Vec<(&'static str, i64)>, pool: &PgPool) -> Result<()> {
    let row = sqlx::query!(
        r#"SELECT (SELECT count(*) FROM mirror_executions
                   WHERE closed_at_slot IS NULL AND status = record_status('open')
                     AND deadline_at < now() - interval '1 minute') AS "overdue!",
                  (SELECT count(*) FROM executions
                   WHERE finished_at IS NULL AND lease_until < now() - interval '1 minute') AS "abandoned!",
                  count(*) AS "disputes!",
                  COALESCE(extract(epoch FROM now() - min(raised_at)), 0)::bigint AS "oldest!"
           FROM mirror_disputes WHERE outcome = $1 AND closed_at_slot IS NULL"#,
        DisputeStatus::Open as i16,
    );
    let row = row.fetch_one(pool).await?;
    figures.extend([
        ("executions_overdue", row.overdue),
        ("executions_abandoned", row.abandoned),
        ("disputes_open", row.disputes),
        ("dispute_oldest_age_seconds", row.oldest),
    ]);
    Ok(())
}

/// Listings whose document is missing are in an index of their own, and quarantined accounts are few.
async fn add_documents(figures: &mut Vec<(&'static str, i64)>, pool: &PgPool) -> Result<()> {
    let row = sqlx::query!(
        r#"SELECT (SELECT count(*) FROM mirror_quarantine) AS "quarantined!",
                  (SELECT count(*) FROM document_leases WHERE until > now()) AS "fetching!",
                  count(*) FILTER (WHERE m.error IS NULL) AS "waiting!",
                  count(*) FILTER (WHERE m.error IS NOT NULL) AS "failing!"
           FROM mirror_agents a
           LEFT JOIN agent_metadata m ON m.agent = a.address AND m.sha256 = a.metadata_hash
           WHERE a.name IS NULL AND a.closed_at_slot IS NULL
             AND a.status IN (agent_status('active'), agent_status('paused'))"#
    );
    let row = row.fetch_one(pool).await?;
    figures.extend([
        ("quarantined_accounts", row.quarantined),
        ("documents_fetching", row.fetching),
        ("documents_waiting", row.waiting),
        ("documents_failing", row.failing),
    ]);
    Ok(())
}
