//! The lists of disputes: `mirror_disputes` in the order of its indexes, and their counters.
//!
//! As in `execution_list.rs`, one statement reads a page and the total, with one text for each combination of filters.
//! Open disputes come first, those that were raised first at the top; then the others, newest first.

use std::sync::{Arc, LazyLock};

use agent_marketplace::state::DisputeOutcome;
use chrono::{DateTime, Utc};
use solana_pubkey::Pubkey;
use sqlx::{AssertSqlSafe, FromRow, PgExecutor, Row, postgres::PgRow};

use super::{
    disputes::{COLUMNS, DisputeDetails, DisputeRow, SOURCES},
    page::{Listed, Start},
};
use crate::{convert::amount_from_db, error::StoreError};

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

/// Which disputes to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DisputeFilter {
    pub scope: DisputeScope,
    pub outcome: Option<DisputeOutcome>,
}

/// The sort key of a dispute in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DisputePlace {
    pub open: bool,
    pub raised_at: DateTime<Utc>,
    pub address: Pubkey,
}

impl DisputeFilter {
    /// Index of its statement.
    const fn shape(self) -> usize {
        let scope = match self.scope {
            DisputeScope::Caller => 0,
            DisputeScope::Creator => 2,
            DisputeScope::Parties => 4,
            DisputeScope::All => 6,
        };
        scope | self.outcome.is_some() as usize
    }
}

impl DisputeScope {
    /// The conditions of the ranges that make the list. $1 is the wallet.
    const fn ranges(self) -> &'static [&'static str] {
        match self {
            Self::Caller => &["d.raised_by = $1"],
            Self::Creator => &["d.creator = $1"],
            Self::Parties => &["d.raised_by = $1", "d.other_creator = $1"],
            Self::All => &["true"],
        }
    }

    /// The counters of the list, and the notes that are not in them yet.
    const fn counters(self) -> (&'static str, &'static str) {
        match self {
            Self::Caller => ("c.role = 0 AND c.owner = $1", "t.raised_by = $1"),
            Self::Creator => ("c.role = 1 AND c.owner = $1", "t.creator = $1"),
            Self::Parties => ("c.role IN (0, 2) AND c.owner = $1", "(t.raised_by = $1 OR t.creator = $1)"),
            Self::All => ("c.role = 3 AND c.owner = ''", "true"),
        }
    }

    /// Page and total. $2 is the outcome; the page is after ($3, $4) among the open disputes and after ($5, $6) among the
    /// others; $7 and $8 are limit and offset; $9: the open ones are on earlier pages. Outcome 1 is open: a test compares it with the program's.
    fn statement(self, of_outcome: bool) -> String {
        let merged = |outcomes: &[&str], of: &str, after: &str, order: &str| {
            let range = |(condition, outcome): (&str, &str)| {
                format!(
                    "(SELECT d.address, d.raised_at FROM mirror_disputes d
                      WHERE {condition} AND d.outcome = {outcome} {of} AND (d.raised_at, d.address) {after} AND {SHOWN}
                      ORDER BY {order} LIMIT $7::bigint + $8::bigint)"
                )
            };
            let ranges =
                self.ranges().iter().flat_map(|condition| outcomes.iter().map(|outcome| (*condition, *outcome)));
            let ranges: Vec<String> = ranges.map(range).collect();
            format!(
                "(SELECT * FROM ({}) AS d ORDER BY {order} LIMIT $7::bigint + $8::bigint)",
                ranges.join(" UNION ALL ")
            )
        };
        let (decided, open_only, decided_only): (&[&str], _, _) =
            if of_outcome { (&["$2"], "AND $2 = 1", "AND $2 <> 1") } else { (&["2", "3", "4"], "", "") };
        let open = merged(&["1"], open_only, "> (COALESCE($3, '-infinity'), $4) AND NOT $9", "d.raised_at, d.address");
        let decided =
            merged(decided, decided_only, "< (COALESCE($5, 'infinity'), $6)", "d.raised_at DESC, d.address DESC");
        let (counters, notes) = self.counters();
        let (counted, noted) = if of_outcome { ("AND c.outcome = $2", "AND t.outcome = $2") } else { ("", "") };
        format!(
            "SELECT c.total::bigint AS total, {COLUMNS}
             FROM (SELECT (SELECT COALESCE(sum(c.n), 0) FROM dispute_totals c WHERE {counters} {counted})
                        + (SELECT COALESCE(sum(t.n), 0) FROM dispute_notes t WHERE {notes} {noted}) AS total) AS c
             LEFT JOIN LATERAL (
                 SELECT found.place, found.address, found.raised_at
                 FROM (SELECT 1 AS place, o.address, o.raised_at FROM {open} AS o
                       UNION ALL
                       SELECT 2, o.address, o.raised_at FROM {decided} AS o) AS found
                 ORDER BY {ORDER} LIMIT $7 OFFSET $8) AS found ON true {SOURCES}
             ORDER BY {ORDER}"
        )
    }
}

/// A dispute can be mirrored before its listing and its record. Until then it takes no place in a page, so that pages
/// are full and a cursor leads to the end. The subquery is in parentheses: each row reads one record by its key.
const SHOWN: &str = "d.creator IS NOT NULL AND (SELECT true FROM mirror_executions s WHERE s.address = d.execution)";

/// The order of a page with both kinds.
const ORDER: &str = "found.place, CASE found.place WHEN 1 THEN found.raised_at END,
                     CASE found.place WHEN 1 THEN found.address END, found.raised_at DESC, found.address DESC";

/// The statements, by [`DisputeFilter::shape`].
static STATEMENTS: LazyLock<Vec<Arc<str>>> = LazyLock::new(|| {
    use DisputeScope::{All, Caller, Creator, Parties};
    let texts =
        [Caller, Creator, Parties, All].into_iter().flat_map(|scope| [false, true].map(|of| scope.statement(of)));
    texts.map(Arc::from).collect()
});

/// The statements of all lists of disputes, so that a test can look at their plans.
#[cfg(feature = "testing")]
pub fn dispute_list_statements() -> Vec<Arc<str>> {
    STATEMENTS.clone()
}

/// A part of a list of disputes, and how many there are. A dispute whose listing or record is not mirrored yet is counted
/// and not shown.
pub async fn list_disputes(
    executor: impl PgExecutor<'_>,
    wallet: &Pubkey,
    filter: DisputeFilter,
    limit: u32,
    start: &Start<DisputePlace>,
) -> Result<Listed<DisputeDetails, DisputePlace>, StoreError> {
    let statement = STATEMENTS.get(filter.shape()).cloned();
    let statement = statement.ok_or_else(|| StoreError::corrupt("list of disputes", "it has no statement"))?;
    let open = start.after().filter(|place| place.open);
    let decided = start.after().filter(|place| !place.open);
    let address = |place: Option<&DisputePlace>| place.map(|place| place.address.to_string()).unwrap_or_default();
    let rows = sqlx::query(AssertSqlSafe(statement))
        .bind(wallet.to_string())
        .bind(filter.outcome.map(|outcome| i16::from(outcome as u8)))
        .bind(open.map(|place| place.raised_at))
        .bind(address(open))
        .bind(decided.map(|place| place.raised_at))
        .bind(address(decided))
        .bind(i64::from(limit).saturating_add(1))
        .bind(start.offset_to_db())
        .bind(decided.is_some())
        .fetch_all(executor)
        .await?;
    let total = rows.first().map(|row| row.try_get("total")).transpose()?.unwrap_or_default();
    let items = rows.iter().filter_map(|row| listed(row).transpose()).collect::<Result<Vec<_>, _>>()?;
    Ok(Listed::new(items, amount_from_db("count", total)?, limit, |dispute: &DisputeDetails| DisputePlace {
        open: dispute.outcome == DisputeOutcome::Open,
        raised_at: dispute.evidence.at,
        address: dispute.address,
    }))
}

/// The dispute of a row; `None` for the row of an empty page.
fn listed(row: &PgRow) -> Result<Option<DisputeDetails>, StoreError> {
    let address: Option<&str> = row.try_get("address")?;
    if address.is_none() {
        return Ok(None);
    }
    DisputeDetails::try_from(DisputeRow::from_row(row)?).map(Some)
}
