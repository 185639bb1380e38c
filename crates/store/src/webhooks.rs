//! Webhooks and their deliveries. `migrations/0021_webhooks.sql`.
//!
//! A worker leases a webhook, makes deliveries of the log's new events, and sends those that are due. Until a delivery is
//! acknowledged or given up, later ones of the same execution wait.

use std::time::Duration;

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};
use solana_pubkey::Pubkey;
use sqlx::{PgExecutor, PgPool, types::Json};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, schema::Type},
};
use uuid::Uuid;

use crate::{
    Result,
    columns::{Count, Timestamp},
    convert::amount_to_db,
    database::run,
    events, transaction,
};

pub const MOST_PER_WALLET: i64 = 10;
/// How long a lease lasts that nobody renews. Longer than an attempt.
const LEASE: Duration = Duration::from_secs(30);
/// Due deliveries that are read at once.
const DUE_AT_ONCE: i64 = 64;

/// How the description of the API shows one of [`events::TYPES`].
#[derive(Clone, Copy, Debug)]
pub struct EventTypeName;

impl PartialSchema for EventTypeName {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().schema_type(Type::String).enum_values(Some(events::TYPES)).into()
    }
}

impl ToSchema for EventTypeName {}

/// A webhook, as its owner sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Webhook {
    pub webhook_id: Uuid,
    pub url: String,
    /// Types of events that are sent. Empty: all.
    #[schema(value_type = Vec<EventTypeName>)]
    pub types: Vec<String>,
    /// Only events about these agents. Empty: all events.
    pub agents: Vec<String>,
    pub created_at: Timestamp,
    /// null: it is enabled.
    #[schema(required)]
    pub disabled_at: Option<Timestamp>,
    /// `owner`; `gone`: the target answered 410; `failing`: it acknowledged nothing for five days. null: it is enabled.
    #[schema(required)]
    pub disabled_reason: Option<String>,
    /// The first failure after the last success. null: the last attempt succeeded, or there was none.
    #[schema(required)]
    pub failing_since: Option<Timestamp>,
    /// Deliveries that are not acknowledged yet. Up to 1000 wait; further events follow when there is room.
    #[schema(value_type = u64)]
    pub waiting: Count,
    /// Deliveries were made of the events up to this number.
    #[schema(value_type = u64)]
    pub taken: Count,
    /// The last one. null: there was none.
    #[schema(required, value_type = Option<Replay>)]
    pub replay: Option<Json<Replay>>,
}

/// Events that are sent once more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Replay {
    /// Number of the first event.
    pub from: u64,
    /// Number of the last one.
    pub through: u64,
    /// Only these types. Empty: all that the webhook has.
    #[schema(value_type = Vec<EventTypeName>)]
    pub types: Vec<String>,
    /// How many events match.
    pub events: u64,
    /// Deliveries were made up to here.
    pub taken: u64,
    /// Its deliveries that are not acknowledged yet.
    pub waiting: u64,
}

/// One line of the log of deliveries: an event, and the last attempt to deliver it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Delivery {
    #[schema(value_type = u64)]
    pub sequence: Count,
    pub event_id: Uuid,
    #[serde(rename = "type")]
    pub event_type: String,
    /// null: the event is not about an execution.
    #[schema(required)]
    pub execution_id: Option<Uuid>,
    /// `waiting`, `acknowledged` or `given_up`.
    pub state: String,
    /// Since the event, or since the replay or the enabling.
    pub attempts: i32,
    /// null: nothing is to be done.
    #[schema(required)]
    pub next_attempt_at: Option<Timestamp>,
    #[schema(required)]
    pub acknowledged_at: Option<Timestamp>,
    /// null: there was no attempt.
    #[schema(required)]
    pub attempted_at: Option<Timestamp>,
    /// HTTP status of the answer. null: there was none.
    #[schema(required)]
    pub status: Option<i32>,
    #[schema(required)]
    pub duration_ms: Option<i32>,
    /// The first 1024 bytes of the answer on one line, or what went wrong.
    #[schema(required)]
    pub answer: Option<String>,
}

/// Secrets as they are stored: encrypted with a key of the gateway with this address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    pub webhook_id: Uuid,
    pub url: String,
    pub secret: Vec<u8>,
    /// As long as it signs.
    pub old_secret: Option<Vec<u8>>,
    pub sealed_by: String,
}

#[derive(Clone, Copy, Debug)]
pub struct NewWebhook<'a> {
    pub webhook_id: Uuid,
    pub wallet: Pubkey,
    pub url: &'a str,
    pub types: &'a [String],
    pub agents: &'a [String],
    pub secret: &'a [u8],
    pub sealed_by: &'a str,
}

/// What an owner changes. `None` stays as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct WebhookChange<'a> {
    pub url: Option<&'a str>,
    pub types: Option<&'a [String]>,
    pub agents: Option<&'a [String]>,
    pub enabled: Option<bool>,
}

/// Stores a webhook. It gets the events from now on. False: the wallet has as many as it may have.
pub async fn create(pool: &PgPool, new: &NewWebhook<'_>) -> Result<bool> {
    let mut transaction = transaction::begin(pool).await?;
    let wallet = new.wallet.to_string();
    // Creations of one wallet count its webhooks one after another.
    sqlx::query!("SELECT pg_advisory_xact_lock(1668445314, hashtext($1))", &wallet).execute(&mut *transaction).await?;
    let created = sqlx::query!(
        "INSERT INTO webhooks (webhook_id, wallet, url, types, agents, secret, sealed_by, taken)
         SELECT $1, $2, $3, $4, $5, $6, $7, COALESCE((SELECT sequence FROM event_heads WHERE wallet = $2), 0)
         WHERE (SELECT count(*) FROM webhooks WHERE wallet = $2) < $8",
        new.webhook_id,
        &wallet,
        new.url,
        new.types,
        new.agents,
        new.secret,
        new.sealed_by,
        MOST_PER_WALLET,
    );
    let created = created.execute(&mut *transaction).await?.rows_affected() == 1;
    transaction.commit().await?;
    Ok(created)
}

/// The webhooks of a wallet, oldest first, or the one with this id.
pub async fn list(db: impl PgExecutor<'_>, wallet: &Pubkey, only: Option<Uuid>) -> Result<Vec<Webhook>> {
    let rows = sqlx::query_as!(
        Webhook,
        r#"SELECT webhook_id, url, types, agents, created_at AS "created_at: Timestamp",
                  disabled_at AS "disabled_at: Timestamp", disabled_reason, failing_since AS "failing_since: Timestamp",
                  (SELECT count(*) FROM webhook_deliveries d WHERE d.webhook_id = w.webhook_id AND next_at IS NOT NULL)
                      AS "waiting!: Count",
                  taken AS "taken: Count",
                  CASE WHEN replay_from IS NOT NULL THEN jsonb_build_object(
                      'from', replay_from, 'through', replay_through, 'types', replay_types, 'events', replay_events,
                      'taken', LEAST(replay_next - 1, replay_through),
                      'waiting', (SELECT count(*) FROM webhook_deliveries d
                                  WHERE d.webhook_id = w.webhook_id AND next_at IS NOT NULL AND replayed)) END
                      AS "replay: Json<Replay>"
           FROM webhooks w WHERE wallet = $1 AND ($2::uuid IS NULL OR webhook_id = $2) ORDER BY created_at, webhook_id"#,
        wallet.to_string(),
        only,
    );
    Ok(rows.fetch_all(db).await?)
}

/// False: the wallet has no such webhook.
pub async fn change(pool: &PgPool, wallet: &Pubkey, webhook_id: Uuid, change: &WebhookChange<'_>) -> Result<bool> {
    let mut transaction = transaction::begin(pool).await?;
    let changed = sqlx::query_scalar!(
        r#"UPDATE webhooks SET url = COALESCE($3, url), types = COALESCE($4, types), agents = COALESCE($5, agents),
               paused_until = CASE WHEN $3::text IS NULL THEN paused_until ELSE '-infinity' END,
               due_at = CASE WHEN $3::text IS NULL THEN due_at ELSE now() END
           WHERE webhook_id = $1 AND wallet = $2 RETURNING disabled_at IS NULL AS "enabled!""#,
        webhook_id,
        wallet.to_string(),
        change.url,
        change.types,
        change.agents,
    );
    let Some(enabled) = changed.fetch_optional(&mut *transaction).await? else { return Ok(false) };
    if change.url.is_some() {
        let hurried = sqlx::query!(
            "UPDATE webhook_deliveries SET next_at = now() WHERE webhook_id = $1 AND next_at > now()",
            webhook_id
        );
        run(&mut *transaction, hurried).await?;
    }
    match change.enabled {
        Some(true) if !enabled => {
            run(&mut *transaction, sqlx::query!("SELECT enable_webhook($1)", webhook_id)).await?;
        }
        Some(false) => {
            run(&mut *transaction, sqlx::query!("SELECT disable_webhook($1, 'owner')", webhook_id)).await?;
        }
        _ => {}
    }
    transaction.commit().await?;
    Ok(true)
}

/// Deletes a webhook with its log. False: the wallet has no such webhook.
pub async fn delete(db: impl PgExecutor<'_>, wallet: &Pubkey, webhook_id: Uuid) -> Result<bool> {
    let done =
        sqlx::query!("DELETE FROM webhooks WHERE webhook_id = $1 AND wallet = $2", webhook_id, wallet.to_string());
    Ok(done.execute(db).await?.rows_affected() == 1)
}

pub async fn sealed(db: impl PgExecutor<'_>, wallet: &Pubkey, webhook_id: Uuid) -> Result<Option<Sealed>> {
    let row = sqlx::query_as!(
        Sealed,
        "SELECT webhook_id, url, secret, sealed_by,
                CASE WHEN old_secret_until > now() THEN old_secret END AS old_secret
         FROM webhooks WHERE webhook_id = $1 AND wallet = $2",
        webhook_id,
        wallet.to_string(),
    );
    Ok(row.fetch_optional(db).await?)
}

/// Webhooks whose secrets a key of one of these gateways encrypts.
pub async fn sealed_by(db: impl PgExecutor<'_>, gateways: &[String], most: i64) -> Result<Vec<Sealed>> {
    let rows = sqlx::query_as!(
        Sealed,
        "SELECT webhook_id, url, secret, sealed_by,
                CASE WHEN old_secret_until > now() THEN old_secret END AS old_secret
         FROM webhooks WHERE sealed_by = ANY ($1) LIMIT $2",
        gateways,
        most,
    );
    Ok(rows.fetch_all(db).await?)
}

/// Puts other secrets in the place of these. `overlap`: how long the old secret still signs; `None`: as long as before. False:
/// somebody else changed them meanwhile.
pub async fn reseal(
    db: impl PgExecutor<'_>,
    before: &Sealed,
    after: &Sealed,
    overlap: Option<TimeDelta>,
) -> Result<bool> {
    let done = sqlx::query!(
        "UPDATE webhooks SET secret = $3, old_secret = $4, sealed_by = $5,
             old_secret_until = CASE WHEN $6::float8 IS NULL THEN old_secret_until
                                     ELSE now() + make_interval(secs => $6) END
         WHERE webhook_id = $1 AND secret = $2",
        before.webhook_id,
        before.secret,
        after.secret,
        after.old_secret.as_deref(),
        after.sealed_by,
        overlap.map(|overlap| overlap.as_seconds_f64()),
    );
    Ok(done.execute(db).await?.rows_affected() == 1)
}

/// The log of deliveries of events before that number, newest first.
pub async fn deliveries(
    db: impl PgExecutor<'_>,
    wallet: &Pubkey,
    webhook_id: Uuid,
    before: u64,
    limit: u32,
) -> Result<Vec<Delivery>> {
    let rows = sqlx::query_as!(
        Delivery,
        r#"SELECT sequence AS "sequence: Count", event_id, type AS event_type, execution_id,
                  CASE WHEN next_at IS NOT NULL THEN 'waiting' WHEN acknowledged_at IS NOT NULL THEN 'acknowledged'
                       ELSE 'given_up' END AS "state!",
                  attempts, next_at AS "next_attempt_at: Timestamp", acknowledged_at AS "acknowledged_at: Timestamp",
                  last_at AS "attempted_at: Timestamp", last_status AS status, last_ms AS duration_ms,
                  last_answer AS answer
           FROM webhook_deliveries d
           WHERE webhook_id = $1 AND sequence < $3
             AND EXISTS (SELECT FROM webhooks w WHERE w.webhook_id = $1 AND w.wallet = $2)
           ORDER BY d.sequence DESC LIMIT $4"#,
        webhook_id,
        wallet.to_string(),
        amount_to_db("before", before)?,
        i64::from(limit),
    );
    Ok(rows.fetch_all(db).await?)
}

/// How many events a replay sends. `None`: the wallet has no such webhook.
pub async fn count_replay(
    db: impl PgExecutor<'_>,
    wallet: &Pubkey,
    webhook_id: Uuid,
    (from, through): (u64, u64),
    types: &[String],
) -> Result<Option<u64>> {
    let count = sqlx::query_scalar!(
        r#"SELECT (SELECT count(*) FROM events e
                   WHERE e.wallet = w.wallet AND e.sequence BETWEEN $3 AND $4
                     AND (w.types = '{}' OR e.type = ANY (w.types)) AND (w.agents = '{}' OR e.agent = ANY (w.agents))
                     AND ($5::text[] = '{}' OR e.type = ANY ($5))) AS "events!: Count"
           FROM webhooks w WHERE w.webhook_id = $1 AND w.wallet = $2"#,
        webhook_id,
        wallet.to_string(),
        amount_to_db("from", from)?,
        amount_to_db("through", through)?,
        types,
    );
    Ok(count.fetch_optional(db).await?.map(u64::from))
}

/// Starts a replay. False: there is no such webhook, or its last replay is not over.
pub async fn start_replay(db: impl PgExecutor<'_>, wallet: &Pubkey, webhook_id: Uuid, replay: &Replay) -> Result<bool> {
    let done = sqlx::query!(
        "UPDATE webhooks w SET replay_from = $3, replay_next = $3, replay_through = $4, replay_types = $5,
             replay_events = $6, due_at = now()
         WHERE webhook_id = $1 AND wallet = $2 AND (replay_next > replay_through) IS NOT FALSE
           AND NOT EXISTS (SELECT FROM webhook_deliveries d
                           WHERE d.webhook_id = w.webhook_id AND next_at IS NOT NULL AND replayed)",
        webhook_id,
        wallet.to_string(),
        amount_to_db("from", replay.from)?,
        amount_to_db("through", replay.through)?,
        &replay.types,
        amount_to_db("events", replay.events)?,
    );
    Ok(done.execute(db).await?.rows_affected() == 1)
}

/// Ends a replay: what it has not sent is not sent. False: the wallet has no such webhook.
pub async fn cancel_replay(pool: &PgPool, wallet: &Pubkey, webhook_id: Uuid) -> Result<bool> {
    let mut transaction = transaction::begin(pool).await?;
    let cancelled = sqlx::query!(
        "UPDATE webhooks SET replay_through = LEAST(replay_through, replay_next - 1)
         WHERE webhook_id = $1 AND wallet = $2",
        webhook_id,
        wallet.to_string(),
    );
    let cancelled = cancelled.execute(&mut *transaction).await?.rows_affected() == 1;
    if cancelled {
        let statement = sqlx::query!(
            "UPDATE webhook_deliveries SET next_at = NULL
             WHERE webhook_id = $1 AND next_at IS NOT NULL AND replayed",
            webhook_id,
        );
        run(&mut *transaction, statement).await?;
        transaction.commit().await?;
    }
    Ok(cancelled)
}

/// The right to send to one webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WebhookLease {
    pub webhook_id: Uuid,
    token: Uuid,
}

/// What a worker needs to send to a webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub wallet: String,
    pub sealed: Sealed,
    pub due: Vec<Due>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    pub sequence: Count,
    /// Attempts that failed.
    pub attempts: i32,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryAttempt {
    /// HTTP status of the answer, if there was one.
    pub status: Option<u16>,
    pub duration: Duration,
    pub answer: String,
}

/// What follows a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveryRetry {
    /// Until the next attempt of this delivery. `None`: it is given up.
    pub next: Option<Duration>,
    /// The target asked for this pause.
    pub pause: Duration,
}

/// Leases webhooks that have something to send, and that nobody works on. `troubled`: those whose last answer was a failure
/// or late, or those of all others. New events are found by their time; `all` finds those that no worker was there to find.
pub async fn claim(db: impl PgExecutor<'_>, troubled: bool, limit: u32, all: bool) -> Result<Vec<WebhookLease>> {
    let rows = sqlx::query_as!(
        WebhookLease,
        r#"UPDATE webhooks
           SET lease_owner = gen_random_uuid(), lease_until = now() + make_interval(secs => $1), due_at = now()
           WHERE webhook_id IN (
               SELECT webhook_id FROM webhooks
               WHERE webhook_id IN (
                       SELECT webhook_id FROM webhooks WHERE due_at <= now() AND disabled_at IS NULL
                       UNION ALL
                       SELECT webhook_id FROM events e JOIN webhooks w ON w.wallet = e.wallet AND w.taken < e.sequence
                       WHERE numbered_at > now() - interval '5 seconds'
                       UNION ALL
                       SELECT webhook_id FROM webhooks w JOIN event_heads h ON h.wallet = w.wallet AND w.taken < h.sequence
                       WHERE $4)
                 AND disabled_at IS NULL AND paused_until <= now() AND lease_until <= now() AND troubled = $2
               ORDER BY lease_until LIMIT $3
               FOR UPDATE SKIP LOCKED)
           RETURNING webhook_id, lease_owner AS "token!""#,
        LEASE.as_secs_f64(),
        troubled,
        i64::from(limit),
        all,
    );
    Ok(rows.fetch_all(db).await?)
}

/// Renews the lease, makes deliveries, and reads those that are due and not `flying`: at most the first of each execution.
/// `None`: the lease is lost.
pub async fn take(pool: &PgPool, lease: WebhookLease, flying: &[Count]) -> Result<Option<Target>> {
    let taken = sqlx::query_scalar!(
        r#"SELECT take_events($1, $2, $3) AS "taken!""#,
        lease.webhook_id,
        lease.token,
        LEASE.as_secs_f64(),
    );
    if !taken.fetch_one(pool).await? {
        return Ok(None);
    }
    let due = sqlx::query_as!(
        Due,
        r#"SELECT sequence AS "sequence!: Count", attempts AS "attempts!"
           FROM (SELECT DISTINCT ON (COALESCE(execution_id, event_id)) sequence, attempts, next_at
                 FROM webhook_deliveries WHERE webhook_id = $1 AND next_at IS NOT NULL
                 ORDER BY COALESCE(execution_id, event_id), sequence) AS first
           WHERE next_at <= now() AND sequence <> ALL ($2) ORDER BY sequence LIMIT $3"#,
        lease.webhook_id,
        &flying.iter().map(|sequence| amount_to_db("sequence", (*sequence).into())).collect::<Result<Vec<_>>>()?,
        DUE_AT_ONCE,
    );
    let due = due.fetch_all(pool).await?;
    let target = sqlx::query!(
        "SELECT wallet, url, secret, sealed_by, CASE WHEN old_secret_until > now() THEN old_secret END AS old_secret
         FROM webhooks WHERE webhook_id = $1 AND lease_owner = $2",
        lease.webhook_id,
        lease.token,
    );
    let target = target.fetch_optional(pool).await?;
    Ok(target.map(|row| Target {
        wallet: row.wallet,
        sealed: Sealed {
            webhook_id: lease.webhook_id,
            url: row.url,
            secret: row.secret,
            old_secret: row.old_secret,
            sealed_by: row.sealed_by,
        },
        due,
    }))
}

/// The target acknowledged the event. `late`: after so long that the webhook is worked on apart from others.
pub async fn acknowledge(
    db: impl PgExecutor<'_>,
    lease: WebhookLease,
    sequence: Count,
    attempt: &DeliveryAttempt,
    late: bool,
) -> Result<()> {
    let statement = sqlx::query!(
        "SELECT acknowledge_delivery($1, $2, $3, $4, $5, $6)",
        lease.webhook_id,
        amount_to_db("sequence", sequence.into())?,
        attempt.status.map(i32::from),
        attempt.milliseconds(),
        attempt.answer,
        late,
    );
    run(db, statement).await
}

pub async fn fail(
    db: impl PgExecutor<'_>,
    lease: WebhookLease,
    sequence: Count,
    attempt: &DeliveryAttempt,
    retry: DeliveryRetry,
) -> Result<()> {
    let statement = sqlx::query!(
        "SELECT fail_delivery($1, $2, $3, $4, $5, $6, $7, $8)",
        lease.webhook_id,
        lease.token,
        amount_to_db("sequence", sequence.into())?,
        attempt.status.map(i32::from),
        attempt.milliseconds(),
        attempt.answer,
        retry.next.map(|next| next.as_secs_f64()),
        retry.pause.as_secs_f64(),
    );
    run(db, statement).await
}

/// Gives the lease back. It is taken again when a delivery is due, when an event or a replay goes on, and not before the
/// pause is over.
pub async fn release(db: impl PgExecutor<'_>, lease: WebhookLease, pause: Duration) -> Result<()> {
    let statement = sqlx::query!(
        "UPDATE webhooks w SET lease_owner = NULL, lease_until = now(),
             paused_until = GREATEST(w.paused_until, now() + make_interval(secs => $3)),
             due_at = GREATEST(w.paused_until, CASE
                 WHEN d.waiting < 1000 AND (w.replay_next <= w.replay_through OR w.taken <
                     (SELECT sequence FROM event_heads h WHERE h.wallet = w.wallet)) THEN now()
                 ELSE COALESCE(d.first, 'infinity') END)
         FROM (SELECT min(next_at) AS first, count(*) AS waiting FROM webhook_deliveries
               WHERE webhook_id = $1 AND next_at IS NOT NULL) AS d
         WHERE w.webhook_id = $1 AND w.lease_owner = $2",
        lease.webhook_id,
        lease.token,
        pause.as_secs_f64(),
    );
    run(db, statement).await
}

impl DeliveryAttempt {
    fn milliseconds(&self) -> i32 {
        i32::try_from(self.duration.as_millis()).unwrap_or(i32::MAX)
    }
}
