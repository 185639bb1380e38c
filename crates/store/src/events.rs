//! The event log of each wallet: numbering, reading, and its end. `migrations/0020_events.sql`.

use std::time::Duration;

use chrono::TimeDelta;
use crtx_protocol::usdc::UsdcBase;
use serde::{Deserialize, Deserializer, Serialize};
use solana_pubkey::Pubkey;
use sqlx::{PgConnection, PgExecutor, PgPool, postgres::PgListener, types::Json};
use tokio::{sync::mpsc, time::timeout};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{
    Result,
    columns::{Base58, Count, Timestamp, base_units},
    convert::{amount_to_db, saturating_to_db},
    pools,
    reads::{DisputeStatus, RefundReason},
};

/// `LISTEN` to this channel: its messages name the wallets that have new events, separated by commas. An empty message: any
/// wallet may have some.
pub const CHANNEL: &str = "crtx_events";
/// Events that one round of [`number`] takes at most.
pub const PER_ROUND: i32 = 1_000;
/// Events that one page reads at most, also those that its types leave out.
pub const MOST_PER_READ: i64 = 10_000;
/// After this time without a message the connection is checked. The check may take as long.
const SILENCE: Duration = Duration::from_secs(5);
/// Events that one round of [`drop_old`] deletes.
const DROPPED_AT_ONCE: i32 = 10_000;

/// All types of events.
pub const TYPES: [&str; 22] = [
    "execution.opened",
    "execution.running",
    "execution.completed",
    "execution.failed",
    "execution.refunded",
    "payout",
    "dispute.opened",
    "dispute.answered",
    "dispute.resolved",
    "dispute.expired",
    "agent.listed",
    "agent.updated",
    "agent.paused",
    "agent.resumed",
    "agent.delisted",
    "agent.slashed",
    "agent.hidden",
    "agent.shown",
    "key.created",
    "key.revoked",
    "key.exhausted",
    "webhook.disabled",
];

/// Whether these are types of events, no more than there are.
pub fn are_types(names: &[String]) -> bool {
    names.len() <= TYPES.len() && names.iter().all(|name| TYPES.contains(&name.as_str()))
}

/// What happened to something of a wallet. It never has the text of a task or of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Event {
    /// The same in every delivery.
    pub id: Uuid,
    #[serde(rename = "type")]
    pub event_type: String,
    /// The wallet whose event it is.
    pub wallet: String,
    /// Its number among the events of the wallet: 1, 2, 3 and so on, without a gap.
    #[schema(value_type = u64)]
    pub sequence: Count,
    /// The `id` of the event before it. null for the first one.
    #[schema(required)]
    pub previous: Option<Uuid>,
    /// When the state changed here.
    pub at: Timestamp,
    /// The slot at which the change was seen on chain. Left out if it is not on chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>)]
    pub slot: Option<Count>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_id: Option<Uuid>,
    /// true: the network took back what an earlier event said, and this is what holds now. Left out otherwise.
    #[serde(skip_serializing_if = "is_false")]
    pub correction: bool,
    #[schema(value_type = EventData)]
    pub data: Json<EventData>,
}

// `skip_serializing_if` passes a reference.
#[expect(clippy::trivially_copy_pass_by_ref)]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// What an event says. Each type has some of these fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EventData {
    /// Of an execution: `pending`, `running`, `completed` or `failed`. Of a listing: `active`, `paused` or `delisted`. Left out
    /// if nothing is left of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Address of the record of the execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_chain_record: Option<String>,
    /// What the execution costs, or what its refund gave back. Of a payout: what the creator received.
    #[serde(default, deserialize_with = "some_base_units", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>)]
    pub amount_usdc: Option<UsdcBase>,
    /// `sha256:` and the hex SHA-256 of the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_hash: Option<String>,
    /// Why it was refunded: `creator_failed`, `timeout`, `invalid_response`, `expired` or `interrupted`.
    #[serde(default, deserialize_with = "reason", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub failure_reason: Option<RefundReason>,
    /// The code of the error that the call was answered with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// Address of the dispute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispute: Option<String>,
    #[serde(default, deserialize_with = "outcome", skip_serializing_if = "Option::is_none")]
    pub outcome: Option<DisputeStatus>,
    #[serde(default, deserialize_with = "some_base_units", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>)]
    pub bond_usdc: Option<UsdcBase>,
    /// What the caller got back.
    #[serde(default, deserialize_with = "some_base_units", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>)]
    pub compensation_usdc: Option<UsdcBase>,
    /// What the collateral paid beyond the compensation.
    #[serde(default, deserialize_with = "some_base_units", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>)]
    pub penalty_usdc: Option<UsdcBase>,
    #[serde(default, deserialize_with = "some_base_units", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>)]
    pub price_usdc: Option<UsdcBase>,
    #[serde(default, deserialize_with = "some_base_units", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>)]
    pub collateral_usdc: Option<UsdcBase>,
    /// What the listing lost of its collateral since it was listed.
    #[serde(default, deserialize_with = "some_base_units", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>)]
    pub slashed_total_usdc: Option<UsdcBase>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_public_key: Option<String>,
    /// The end of the key's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_four: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook_id: Option<Uuid>,
    /// Why the webhook was disabled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

fn some_base_units<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<UsdcBase>, D::Error> {
    base_units(deserializer).map(Some)
}

fn outcome<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<DisputeStatus>, D::Error> {
    DisputeStatus::by_number(deserializer).map(Some)
}

/// By the program's number.
fn reason<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<RefundReason>, D::Error> {
    Ok(Some(RefundReason::from_repr(i16::deserialize(deserializer)?).unwrap_or(RefundReason::Interrupted)))
}

// Some events of a wallet, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = EventListResponse)]
pub struct EventPage {
    /// Oldest first.
    pub events: Vec<Event>,
    // Every event up to this one was read.
    /// The `after` of the next request.
    #[serde(rename = "next_after")]
    pub through: u64,
    /// The first event that is kept: those with smaller numbers were deleted.
    pub oldest: u64,
    /// The newest event of the wallet. 0: it has none.
    pub newest: u64,
}

/// Numbers what was committed since the last round. Returns how many events it took; [`PER_ROUND`] means that there may be
/// others. While another process numbers, it takes none.
///
/// The commit waits for the disk: a client that has seen a number sees the same event with it for ever.
pub async fn number(pool: &PgPool) -> Result<u64> {
    let waiting = sqlx::query_scalar!(r#"SELECT EXISTS (SELECT FROM event_queue WHERE position > 0) AS "waiting!""#);
    if !waiting.fetch_one(pool).await? {
        return Ok(0);
    }
    let numbered = sqlx::query_scalar!(r#"SELECT number_events($1) AS "numbered!: Count""#, PER_ROUND);
    Ok(numbered.fetch_one(pool).await?.into())
}

/// Deletes events that are older than `kept`. Returns how many; 0 if none is left to delete.
pub async fn drop_old(pool: &PgPool, kept: TimeDelta) -> Result<u64> {
    let dropped = sqlx::query_scalar!(
        r#"SELECT drop_events(now() - make_interval(secs => $1), $2) AS "dropped!: Count""#,
        kept.as_seconds_f64(),
        DROPPED_AT_ONCE,
    );
    Ok(dropped.fetch_one(pool).await?.into())
}

/// At most `limit` events of a wallet after the one with the number `after`. `types`: only these; all if empty.
pub async fn page(
    connection: &mut PgConnection,
    wallet: &Pubkey,
    after: u64,
    types: &[String],
    limit: u32,
) -> Result<EventPage> {
    let (wallet, after_db) = (wallet.to_string(), amount_to_db("after", after)?);
    let limit = i64::from(limit);
    let head = sqlx::query!(
        r#"SELECT sequence AS "newest: Count", oldest AS "oldest: Count" FROM event_heads WHERE wallet = $1"#,
        &wallet
    );
    let head = head.fetch_optional(&mut *connection).await?;
    let (newest, oldest): (u64, u64) = head.map_or((0, 1), |head| (head.newest.into(), head.oldest.into()));
    // With all types, no row is read that is not shown.
    let most_read = if types.is_empty() { limit } else { MOST_PER_READ };
    let rows = sqlx::query_as!(
        Event,
        r#"SELECT event_id AS "id!", type AS "event_type!", wallet AS "wallet!", sequence AS "sequence!: Count", previous,
                  at AS "at!: Timestamp", slot AS "slot?: Count", agent AS agent_id, execution_id,
                  correction AS "correction!", data AS "data!: Json<EventData>"
           FROM (SELECT * FROM events WHERE wallet = $1 AND sequence > $2 ORDER BY sequence LIMIT $4) AS read
           WHERE $3::text[] = '{}' OR type = ANY ($3) ORDER BY sequence LIMIT $5"#,
        &wallet,
        after_db,
        types,
        most_read,
        limit,
    );
    let events = rows.fetch_all(&mut *connection).await?;
    let last: u64 = events.last().map_or(0, |event| event.sequence.into());
    let is_full = i64::try_from(events.len()).is_ok_and(|read| read >= limit);
    // Without types all there is was looked at, also if it is deleted by now. Else as many as one read may look at: the
    // numbers have no gaps, the first one that is kept is known, and `newest` was read before the rows.
    let looked_at = if types.is_empty() {
        newest
    } else {
        newest.min(after.max(oldest.saturating_sub(1)).saturating_add(MOST_PER_READ.unsigned_abs()))
    };
    let through = if is_full { last } else { last.max(looked_at).max(after) };
    Ok(EventPage { events, through, oldest, newest: newest.max(last) })
}

/// Events of one execution as its caller or the creator of a payout sees them, after the one with the number `after`.
pub async fn of_execution(
    db: impl PgExecutor<'_>,
    wallet: &Pubkey,
    execution_id: &Uuid,
    after: u64,
    limit: u32,
) -> Result<Vec<Event>> {
    let rows = sqlx::query_as!(
        Event,
        r#"SELECT event_id AS id, type AS event_type, wallet, sequence AS "sequence: Count", previous,
                  at AS "at: Timestamp", slot AS "slot?: Count", agent AS agent_id, execution_id, correction,
                  data AS "data: Json<EventData>"
           FROM events WHERE wallet = $1 AND execution_id = $2 AND sequence > $3 ORDER BY sequence LIMIT $4"#,
        wallet.to_string(),
        execution_id,
        amount_to_db("after", after)?,
        i64::from(limit),
    );
    Ok(rows.fetch_all(db).await?)
}

/// Events of several wallets, of each those after its number, at most `limit`, oldest first.
pub async fn after(db: impl PgExecutor<'_>, positions: &[(Pubkey, u64)], limit: u32) -> Result<Vec<Event>> {
    let wallets: Vec<String> = positions.iter().map(|(wallet, _)| wallet.to_string()).collect();
    let after = positions.iter().map(|(_, after)| amount_to_db("after", *after)).collect::<Result<Vec<i64>>>()?;
    let rows = sqlx::query_as!(
        Event,
        r#"SELECT e.event_id AS "id!", e.type AS "event_type!", e.wallet AS "wallet!", e.sequence AS "sequence!: Count",
                  e.previous, e.at AS "at!: Timestamp", e.slot AS "slot?: Count", e.agent AS agent_id, e.execution_id,
                  e.correction AS "correction!", e.data AS "data!: Json<EventData>"
           FROM unnest($1::text[], $2::bigint[]) AS p (wallet, after)
           CROSS JOIN LATERAL (
               SELECT * FROM events WHERE wallet = p.wallet AND sequence > p.after ORDER BY sequence LIMIT $3) AS e
           ORDER BY e.wallet, e.sequence"#,
        &wallets,
        &after,
        i64::from(limit),
    );
    Ok(rows.fetch_all(db).await?)
}

/// The events of a wallet with these numbers, as far as they are kept.
pub async fn numbered(db: impl PgExecutor<'_>, wallet: &str, sequences: &[Count]) -> Result<Vec<Event>> {
    let rows = sqlx::query_as!(
        Event,
        r#"SELECT event_id AS id, type AS event_type, wallet, sequence AS "sequence: Count", previous,
                  at AS "at: Timestamp", slot AS "slot?: Count", agent AS agent_id, execution_id, correction,
                  data AS "data: Json<EventData>"
           FROM events WHERE wallet = $1 AND sequence = ANY ($2) ORDER BY sequence"#,
        wallet,
        &sequences.iter().map(|sequence| amount_to_db("sequence", (*sequence).into())).collect::<Result<Vec<_>>>()?,
    );
    Ok(rows.fetch_all(db).await?)
}

/// Sends the wallets that have new events, from a connection of its own; `None`: any wallet may have some. Works until the
/// connection fails or the receiver is gone. While there is no connection, it sends nothing.
pub async fn listen(pool: &PgPool, told: &mpsc::Sender<Option<Vec<Pubkey>>>) -> Result<()> {
    let own = pools::options().max_connections(1).acquire_timeout(SILENCE);
    let own = own.connect_lazy_with((*pool.connect_options()).clone());
    let mut listener = PgListener::connect_with(&own).await?;
    listener.listen(CHANNEL).await?;
    let mut wallets = None;
    while told.send(wallets).await.is_ok() {
        wallets = loop {
            let heard = tokio::select! {
                heard = timeout(SILENCE, listener.try_recv()) => heard,
                () = told.closed() => return Ok(()),
            };
            match heard {
                Ok(message) => break message?.and_then(|message| named(message.payload())),
                // The other side may be gone without a word.
                Err(_) => timeout(SILENCE, sqlx::query("SELECT 1").execute(&mut listener))
                    .await
                    .map_err(|_| sqlx::Error::PoolTimedOut)??,
            };
        };
    }
    Ok(())
}

/// The wallets that a message names.
fn named(message: &str) -> Option<Vec<Pubkey>> {
    message.split(',').map(|wallet| wallet.parse().ok()).collect()
}

/// The newest number of each of these wallets that has one.
pub async fn newest(db: impl PgExecutor<'_>, wallets: &[Pubkey]) -> Result<Vec<(Pubkey, u64)>> {
    let wallets: Vec<String> = wallets.iter().map(Pubkey::to_string).collect();
    let heads = sqlx::query!(
        r#"SELECT wallet AS "wallet: Base58", sequence AS "sequence: Count" FROM event_heads WHERE wallet = ANY ($1)"#,
        &wallets
    );
    let heads = heads.fetch_all(db).await?;
    Ok(heads.into_iter().map(|head| (head.wallet.into(), head.sequence.into())).collect())
}

/// The changes of this transaction are no events: it makes rows again from their sources.
pub(crate) async fn log_nothing(connection: &mut PgConnection) -> Result<()> {
    sqlx::query!("SELECT set_config('crtx.log', 'off', true)").fetch_one(connection).await?;
    Ok(())
}

/// Events that are not numbered yet, and the age of the oldest one in seconds.
pub async fn waiting(db: impl PgExecutor<'_>) -> Result<(u64, f64)> {
    let waiting = sqlx::query!(
        r#"SELECT count(*) AS "events!: Count", COALESCE(extract(epoch FROM now() - min(at)), 0)::float8 AS "age_s!"
           FROM (SELECT at FROM event_queue ORDER BY position LIMIT $1) AS q"#,
        saturating_to_db(100_000),
    );
    let waiting = waiting.fetch_one(db).await?;
    Ok((waiting.events.into(), waiting.age_s))
}
