//! Disputes as their parties and the resolver see them: the view `shown_disputes`.
//!
//! As in `execution_list.rs`, one statement reads a page of a list and the total. Open disputes come first, those that
//! were raised first at the top; then the others, newest first.

use agent_marketplace::state::DisputeOutcome;
use crtx_protocol::result_hash::ResultHash;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use solana_pubkey::Pubkey;
use sqlx::{PgExecutor, types::Json};
use utoipa::ToSchema;
use uuid::Uuid;

use super::page::{Listed, Start};
use crate::{
    columns::{Count, Timestamp},
    error::StoreError,
};

// The outcome of a dispute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, sqlx::Type, ToSchema)]
#[schema(as = DisputeStatusName)]
#[serde(rename_all = "snake_case")]
#[repr(i16)]
pub enum DisputeStatus {
    Open = DisputeOutcome::Open as i16,
    Upheld = DisputeOutcome::Upheld as i16,
    Rejected = DisputeOutcome::Rejected as i16,
    Expired = DisputeOutcome::Expired as i16,
}

impl DisputeStatus {
    const ALL: [Self; 4] = [Self::Open, Self::Upheld, Self::Rejected, Self::Expired];

    pub(super) fn by_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = i16::deserialize(deserializer)?;
        let found = Self::ALL.into_iter().find(|status| *status as i16 == number);
        found.ok_or_else(|| D::Error::custom(format!("no outcome of a dispute has the number {number}")))
    }
}

/// A dispute, its execution and its parties. Amounts are in base units.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct DisputeDetails {
    #[serde(deserialize_with = "address")]
    pub address: Pubkey,
    /// Address of the on-chain record.
    pub record: String,
    pub execution_id: Uuid,
    pub agent: String,
    /// The agent's address if none of its documents is known.
    pub agent_name: String,
    pub caller: String,
    pub creator: String,
    /// What was paid.
    pub amount: u64,
    pub evidence_hash: ResultHash,
    pub evidence_uri: String,
    pub raised_at: Timestamp,
    /// `None`, as its URI and its time, before the creator has answered.
    pub answer_hash: Option<ResultHash>,
    pub answer_uri: Option<String>,
    pub answered_at: Option<Timestamp>,
    #[serde(deserialize_with = "DisputeStatus::by_number")]
    pub outcome: DisputeStatus,
    pub resolved_at: Option<Timestamp>,
    pub resolution_hash: Option<ResultHash>,
    pub slash: u64,
    /// What the caller got of the slash. The rest is the penalty.
    pub compensation: u64,
}

impl DisputeDetails {
    fn place(&self) -> DisputePlace {
        DisputePlace { open: self.outcome == DisputeStatus::Open, raised_at: self.raised_at, address: self.address }
    }
}

fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Pubkey, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}

/// Which disputes a list has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisputeScope {
    /// Those that the wallet raised.
    Caller,
    /// Those about the wallet's agents.
    Creator,
    /// Both.
    Parties,
    /// All. Only the resolver may see them.
    All,
}

impl DisputeScope {
    /// The lists of `dispute_list_rows` that make it.
    const fn roles(self) -> &'static [i16] {
        match self {
            Self::Caller => &[0],
            Self::Creator => &[1],
            Self::Parties => &[0, 2],
            Self::All => &[3],
        }
    }
}

/// Which disputes to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DisputeFilter {
    pub scope: DisputeScope,
    pub outcome: Option<DisputeStatus>,
}

/// The sort key of a dispute in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DisputePlace {
    pub open: bool,
    pub raised_at: Timestamp,
    pub address: Pubkey,
}

/// A part of a list of disputes, and how many there are. A dispute whose listing or record is not mirrored yet is
/// counted and not shown.
pub async fn list_disputes(
    executor: impl PgExecutor<'_>,
    wallet: &Pubkey,
    filter: DisputeFilter,
    limit: u32,
    start: &Start<DisputePlace>,
) -> Result<Listed<DisputeDetails, DisputePlace>, StoreError> {
    let owner = if filter.scope == DisputeScope::All { String::new() } else { wallet.to_string() };
    let outcomes = filter.outcome.map_or(DisputeStatus::ALL.to_vec(), |outcome| vec![outcome]);
    let outcomes: Vec<i16> = outcomes.into_iter().map(|outcome| outcome as i16).collect();
    let after = start.after();
    // $4: the page is after this time among the open ones. $5: they are on earlier pages, and it is after this one.
    // A dispute can be mirrored before its listing and its record. Until then it takes no place in a page, so that pages
    // are full and a cursor leads to the end. That subquery, and the one with `OFFSET 0`, read one row by its key each.
    // Outcome 1 is open.
    let list = sqlx::query!(
        r#"SELECT ((SELECT COALESCE(sum(t.n), 0) FROM dispute_totals t
                    WHERE t.role = ANY ($2) AND t.owner = $1 AND t.outcome = ANY ($3))
                 + (SELECT COALESCE(sum(n.n), 0) FROM dispute_notes n, dispute_keys(n.raised_by, n.creator) k
                    WHERE k.role = ANY ($2) AND k.owner = $1 AND n.outcome = ANY ($3)))::bigint AS "total!: Count",
                  (SELECT COALESCE(jsonb_agg(to_jsonb(s) ORDER BY p.place), '[]')
                   FROM (SELECT f.address, row_number() OVER (
                             ORDER BY f.open DESC, CASE WHEN f.open THEN f.raised_at END,
                                      CASE WHEN f.open THEN f.address END, f.raised_at DESC, f.address DESC) AS place
                         FROM unnest($2::int2[]) AS r (role)
                         CROSS JOIN unnest($3::int2[]) AS o (outcome)
                         CROSS JOIN LATERAL (
                             (SELECT true AS open, l.address, l.raised_at FROM dispute_list_rows l
                              WHERE o.outcome = 1 AND l.role = r.role AND l.owner = $1 AND l.outcome = o.outcome
                                AND $5::timestamptz IS NULL
                                AND (l.raised_at, l.address) > (COALESCE($4::timestamptz, '-infinity'), $6::text)
                                AND l.creator IS NOT NULL
                                AND (SELECT true FROM mirror_executions e WHERE e.address = l.execution)
                              ORDER BY l.raised_at, l.address LIMIT $7::bigint + $8::bigint)
                             UNION ALL
                             (SELECT false, l.address, l.raised_at FROM dispute_list_rows l
                              WHERE o.outcome <> 1 AND l.role = r.role AND l.owner = $1 AND l.outcome = o.outcome
                                AND (l.raised_at, l.address) < (COALESCE($5, 'infinity'), $6)
                                AND l.creator IS NOT NULL
                                AND (SELECT true FROM mirror_executions e WHERE e.address = l.execution)
                              ORDER BY l.raised_at DESC, l.address DESC LIMIT $7 + $8)) AS f
                         ORDER BY place LIMIT $7 OFFSET $8) AS p
                   CROSS JOIN LATERAL (SELECT * FROM shown_disputes WHERE address = p.address OFFSET 0) AS s)
                  AS "items!: Json<Vec<DisputeDetails>>""#,
        owner,
        filter.scope.roles(),
        &outcomes,
        after.filter(|place| place.open).map(|place| place.raised_at.0),
        after.filter(|place| !place.open).map(|place| place.raised_at.0),
        after.map(|place| place.address.to_string()).unwrap_or_default(),
        i64::from(limit).saturating_add(1),
        start.offset_to_db(),
    )
    .fetch_one(executor)
    .await?;
    Ok(Listed::new(list.items.0, list.total.into(), limit, DisputeDetails::place))
}

/// Whether the wallet is the resolver.
pub async fn is_resolver(executor: impl PgExecutor<'_>, wallet: &Pubkey) -> Result<bool, StoreError> {
    let is_resolver = sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT FROM mirror_config WHERE resolver = $1 AND closed_at_slot IS NULL) AS "resolver!""#,
        wallet.to_string(),
    )
    .fetch_one(executor)
    .await?;
    Ok(is_resolver)
}

/// One dispute, by its own address or by the address of its record, if the wallet is one of its parties or the
/// resolver.
pub async fn dispute(
    executor: impl PgExecutor<'_>,
    wallet: &Pubkey,
    address: &Pubkey,
) -> Result<Option<DisputeDetails>, StoreError> {
    let dispute = sqlx::query_scalar!(
        r#"SELECT to_jsonb(s) AS "dispute!: Json<DisputeDetails>"
           FROM (SELECT address FROM mirror_disputes WHERE address = $2
                 UNION SELECT address FROM mirror_disputes WHERE execution = $2) AS found
           JOIN shown_disputes s ON s.address = found.address
           WHERE $1 IN (s.caller, s.creator)
              OR EXISTS (SELECT FROM mirror_config c WHERE c.resolver = $1 AND c.closed_at_slot IS NULL)"#,
        wallet.to_string(),
        address.to_string(),
    );
    Ok(dispute.fetch_optional(executor).await?.map(|Json(dispute)| dispute))
}
