//! Disputes as their parties and the resolver see them: the view `shown_disputes`.
//!
//! As in `execution_list.rs`, one statement reads a page of a list and the total. Open disputes come first, those that
//! were raised first at the top; then the others, newest first.

use agent_marketplace::state::DisputeOutcome;
use crtx_protocol::{result_hash::ResultHash, usdc::UsdcBase};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use solana_pubkey::Pubkey;
use sqlx::{PgExecutor, types::Json};
use utoipa::ToSchema;
use uuid::Uuid;

use super::page::{Listed, Start};
use crate::{
    columns::{Count, Timestamp, base_units},
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
    Cancelled = DisputeOutcome::Cancelled as i16,
    Abusive = DisputeOutcome::Abusive as i16,
}

impl DisputeStatus {
    const ALL: [Self; 6] = [Self::Open, Self::Upheld, Self::Rejected, Self::Expired, Self::Cancelled, Self::Abusive];

    pub(crate) fn by_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = i16::deserialize(deserializer)?;
        let found = Self::ALL.into_iter().find(|status| *status as i16 == number);
        found.ok_or_else(|| D::Error::custom(format!("no outcome of a dispute has the number {number}")))
    }
}

/// A dispute about an execution.
// What the API adds is empty in what this module reads: links to the documents, what follows from the times, and the
// transactions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = DisputeResponse)]
pub struct DisputeDetails {
    /// Address of the dispute's account.
    #[schema(value_type = String)]
    #[serde(serialize_with = "address_text", deserialize_with = "address")]
    pub dispute: Pubkey,
    pub execution_id: Uuid,
    /// Address of the execution's record.
    pub execution_record: String,
    pub agent_id: String,
    // Its address if none of its documents is known.
    pub agent_name: String,
    /// The wallet that paid and raised the dispute.
    pub caller: String,
    /// The wallet that listed the agent.
    pub creator: String,
    /// What was paid.
    #[schema(value_type = f64)]
    #[serde(deserialize_with = "base_units")]
    pub amount_usdc: UsdcBase,
    /// `expired`: nobody decided within 30 days. `cancelled`: the caller gave it up. `abusive`: rejected, and the creator
    /// got the bond.
    #[serde(deserialize_with = "DisputeStatus::by_number")]
    pub status: DisputeStatus,
    /// SHA-256 of the evidence document: `sha256:` and hex.
    #[schema(value_type = String)]
    pub evidence_hash: ResultHash,
    /// Where the caller says the document is.
    pub evidence_uri: String,
    /// Where this service has it, once it was stored here.
    #[serde(default)]
    #[schema(required)]
    pub evidence_url: String,
    /// The same for the document of the creator's answer. null before there is one, like its time.
    #[schema(required, value_type = Option<String>)]
    pub answer_hash: Option<ResultHash>,
    #[schema(required)]
    pub answer_uri: Option<String>,
    #[schema(required)]
    pub answer_url: Option<String>,
    #[schema(required)]
    pub answered_at: Option<Timestamp>,
    pub raised_at: Timestamp,
    /// 72 hours after it was raised: until then the resolver decides.
    #[schema(required, value_type = Timestamp)]
    pub respond_by: Option<Timestamp>,
    /// From then on it can be upheld: the creator's answer, or 24 hours after it was raised. It can be rejected at once.
    #[schema(required, value_type = Timestamp)]
    pub upholdable_from: Option<Timestamp>,
    /// 30 days after it was raised: then it ends undecided.
    #[schema(required, value_type = Timestamp)]
    pub expires_at: Option<Timestamp>,
    #[schema(required)]
    pub resolved_at: Option<Timestamp>,
    /// Who decided. null unless the resolver did, like the reasons.
    #[schema(required)]
    pub resolved_by: Option<String>,
    /// SHA-256 of the resolver's reasons.
    #[schema(required, value_type = Option<String>)]
    pub resolution_hash: Option<ResultHash>,
    /// Where the resolver says the reasons are.
    #[schema(required)]
    pub resolution_uri: Option<String>,
    /// Where this service has the reasons, once they were stored here.
    #[schema(required)]
    pub resolution_url: Option<String>,
    /// What the caller deposited. It comes back when the dispute ends, unless it was abusive.
    #[schema(value_type = f64)]
    #[serde(deserialize_with = "base_units")]
    pub bond_usdc: UsdcBase,
    /// Taken from the collateral.
    #[schema(value_type = f64)]
    #[serde(deserialize_with = "base_units")]
    pub slash_usdc: UsdcBase,
    /// The part of it that the caller got.
    #[schema(value_type = f64)]
    #[serde(deserialize_with = "base_units")]
    pub compensation_usdc: UsdcBase,
    /// The part of it that the insurance got.
    #[schema(value_type = f64)]
    #[serde(deserialize_with = "base_units")]
    pub penalty_usdc: UsdcBase,
    /// Signatures of its transactions. null in lists, and if the chain could not be asked.
    #[schema(required)]
    pub transactions: Option<DisputeTransactions>,
}

/// Signatures of a dispute's transactions. null: it has not happened, or the transaction was not found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DisputeTransactions {
    #[schema(required)]
    pub raised: Option<String>,
    #[schema(required)]
    pub answered: Option<String>,
    #[schema(required)]
    pub resolved: Option<String>,
}

impl DisputeDetails {
    fn place(&self) -> DisputePlace {
        DisputePlace { open: self.status == DisputeStatus::Open, raised_at: self.raised_at, address: self.dispute }
    }
}

pub(super) fn address_text<S: Serializer>(address: &Pubkey, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(address)
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
                   CROSS JOIN LATERAL (SELECT * FROM shown_disputes WHERE key = p.address OFFSET 0) AS s)
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
           JOIN shown_disputes s ON s.key = found.address
           WHERE $1 IN (s.caller, s.creator)
              OR EXISTS (SELECT FROM mirror_config c WHERE c.resolver = $1 AND c.closed_at_slot IS NULL)"#,
        wallet.to_string(),
        address.to_string(),
    );
    Ok(dispute.fetch_optional(executor).await?.map(|Json(dispute)| dispute))
}
