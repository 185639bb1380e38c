//! The state of the indexer: the signs of life of its processes, and its last audit.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::{PgExecutor, PgPool, types::Json};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{
    Result, StoreError,
    columns::{Count, Timestamp},
    convert::optional_amount_to_db,
    database::run,
};

/// The last sign of life of a process that led.
#[derive(Clone, Debug, PartialEq)]
pub struct Heartbeat {
    /// The chain's confirmed slot at the heartbeat.
    pub chain_slot: u64,
    /// Whether the indexer receives changes.
    pub streaming: bool,
    /// When the last change arrived.
    pub last_change: Option<DateTime<Utc>>,
    pub at: DateTime<Utc>,
    /// Seconds since `at`, by the database's clock.
    pub silent_s: f64,
}

/// The code of a problem of an endpoint that is not used. All other problems are about the mirror.
pub const ENDPOINT_UNUSABLE: &str = "endpoint_unusable";

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[schema(as = StatusProblem)]
pub struct Problem {
    /// Stable, for programs.
    pub code: String,
    /// For people.
    pub message: String,
}

/// A sign of life of one indexer process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beat {
    pub id: Uuid,
    /// Whether it writes the mirror. The others stand by.
    pub leads: bool,
    /// The endpoint that it follows, without secrets.
    pub source: String,
    /// Whether it receives events.
    pub streaming: bool,
    pub chain_slot: Option<u64>,
    pub finalized_slot: Option<u64>,
    /// How many of the newest slots its source sends again after a break.
    pub replay_slots: Option<u64>,
    /// By the clock of the process. The database keeps it, and the next one, by its own clock.
    pub last_event_at: Option<DateTime<Utc>>,
    pub last_change_at: Option<DateTime<Utc>>,
    pub problems: Vec<Problem>,
}

/// A process of the indexer, as its last sign of life shows it.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = IndexerProcess)]
pub struct ProcessRow {
    #[schema(value_type = String)]
    pub id: Uuid,
    /// Whether it writes the mirror. The others stand by.
    pub leads: bool,
    /// The host of the node that it follows.
    pub source: String,
    /// Whether it receives events.
    pub streaming: bool,
    #[schema(required, value_type = Option<u64>)]
    pub chain_slot: Option<Count>,
    #[schema(required, value_type = Option<u64>)]
    pub finalized_slot: Option<Count>,
    /// How many of the newest slots its Yellowstone server sends again after a break, which then costs no snapshot; null
    /// if it follows a WebSocket, or a server that does not tell.
    #[schema(required, value_type = Option<u64>)]
    pub replay_slots: Option<Count>,
    pub started_at: Timestamp,
    /// Its last sign of life.
    pub at: Timestamp,
    #[schema(required)]
    pub last_event_at: Option<Timestamp>,
    #[schema(required)]
    pub last_change_at: Option<Timestamp>,
    /// What it reports.
    #[schema(value_type = Vec<Problem>)]
    pub problems: Json<Vec<Problem>>,
    /// Seconds since `at`, by the database's clock.
    #[serde(skip)]
    pub silent_s: f64,
}

/// Writes a sign of life. Processes that were silent for ten minutes are forgotten. Only the database's clock says how old something is: times of this process are stored by their
/// age. Returns how far the clock of this process is ahead of the database's, less what the request may have taken.
pub async fn beat(pool: &PgPool, beat: &Beat) -> Result<TimeDelta> {
    let sent_at = Utc::now();
    let problems = serde_json::to_value(&beat.problems).map_err(|error| StoreError::corrupt("problems", error))?;
    let database_at = sqlx::query_scalar!(
        r#"WITH forgotten AS (DELETE FROM indexer_processes WHERE at < now() - interval '10 minutes' AND id <> $1)
         INSERT INTO indexer_processes AS p (id, leads, source, streaming, chain_slot, finalized_slot, last_event_at,
             last_change_at, problems, led_at, replay_slots)
         VALUES ($1, $2, $3, $4, $5, $6, now() - ($10::timestamptz - $7::timestamptz),
             now() - ($10::timestamptz - $8::timestamptz), $9, CASE WHEN $2 AND $5::bigint IS NOT NULL THEN now() END, $11)
         ON CONFLICT (id) DO UPDATE SET
             at = now(), leads = excluded.leads, source = excluded.source, streaming = excluded.streaming,
             chain_slot = COALESCE(excluded.chain_slot, p.chain_slot),
             finalized_slot = COALESCE(excluded.finalized_slot, p.finalized_slot),
             last_event_at = COALESCE(excluded.last_event_at, p.last_event_at),
             last_change_at = COALESCE(excluded.last_change_at, p.last_change_at), problems = excluded.problems,
             led_at = COALESCE(excluded.led_at, p.led_at), replay_slots = excluded.replay_slots
         RETURNING now() AS "now!""#,
        beat.id,
        beat.leads,
        beat.source,
        beat.streaming,
        optional_amount_to_db("slot", beat.chain_slot)?,
        optional_amount_to_db("slot", beat.finalized_slot)?,
        beat.last_event_at,
        beat.last_change_at,
        problems,
        sent_at,
        optional_amount_to_db("slots", beat.replay_slots)?,
    );
    let database_at = database_at.fetch_one(pool).await?;
    Ok(clock_ahead(sent_at, database_at, Utc::now()))
}

/// How far the clock of this process is ahead of the database's; negative if it is behind. Zero if the difference can be
/// the time that the question took.
pub async fn clock_skew(db: impl PgExecutor<'_>) -> Result<TimeDelta> {
    let before = Utc::now();
    let database = sqlx::query_scalar!(r#"SELECT clock_timestamp() AS "now!""#).fetch_one(db).await?;
    Ok(clock_ahead(before, database, Utc::now()))
}

fn clock_ahead(before: DateTime<Utc>, database: DateTime<Utc>, after: DateTime<Utc>) -> TimeDelta {
    if before > database {
        before.signed_duration_since(database)
    } else if after < database {
        after.signed_duration_since(database)
    } else {
        TimeDelta::zero()
    }
}

/// The indexer's processes, the leader first.
pub async fn processes(db: impl PgExecutor<'_>) -> Result<Vec<ProcessRow>> {
    let rows = sqlx::query_as!(
        ProcessRow,
        r#"SELECT id, started_at AS "started_at: Timestamp", at AS "at: Timestamp",
                  extract(epoch FROM now() - at)::float8 AS "silent_s!", leads, source, streaming,
                  chain_slot AS "chain_slot: Count", finalized_slot AS "finalized_slot: Count", replay_slots AS "replay_slots: Count",
                  last_event_at AS "last_event_at: Timestamp", last_change_at AS "last_change_at: Timestamp",
                  problems AS "problems: Json<Vec<Problem>>"
           FROM indexer_processes WHERE NOT stopped ORDER BY leads DESC, at DESC, id LIMIT 100"#
    );
    Ok(rows.fetch_all(db).await?)
}

/// A process that stops is not shown any more.
pub async fn end(db: impl PgExecutor<'_>, id: Uuid) -> Result<()> {
    let statement = sqlx::query!("UPDATE indexer_processes SET stopped = true, leads = false WHERE id = $1", id);
    run(db, statement).await
}

/// The newest heartbeat; `None` if no indexer ever led on this database.
pub async fn heartbeat(db: impl PgExecutor<'_>) -> Result<Option<Heartbeat>> {
    let heartbeat = sqlx::query_as!(
        Heartbeat,
        r#"SELECT chain_slot AS "chain_slot!: Count", streaming, last_change_at AS last_change, led_at AS "at!",
                  extract(epoch FROM now() - led_at)::float8 AS "silent_s!"
           FROM indexer_processes WHERE led_at IS NOT NULL ORDER BY led_at DESC LIMIT 1"#
    );
    Ok(heartbeat.fetch_optional(db).await?)
}

/// Replaces the report of the audit before.
pub async fn store_audit(db: impl PgExecutor<'_>, report: &Value) -> Result<()> {
    let statement = sqlx::query!(
        "INSERT INTO indexer_audit (report) VALUES ($1)
         ON CONFLICT (only_row) DO UPDATE SET report = excluded.report, at = now()",
        report
    );
    run(db, statement).await
}

/// The report of the last audit, and its time.
pub async fn last_audit(db: impl PgExecutor<'_>) -> Result<Option<(Value, DateTime<Utc>)>> {
    Ok(sqlx::query!("SELECT report, at FROM indexer_audit").fetch_optional(db).await?.map(|row| (row.report, row.at)))
}
