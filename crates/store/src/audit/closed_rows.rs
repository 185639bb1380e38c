//! Rows of closed accounts, each with the last bytes that its closing left.

use serde_json::Value;
use sqlx::PgExecutor;

use crate::{
    closings::{Closing, ClosingKind},
    columns::Count,
    error::StoreError,
};

/// A row of a closed account.
#[derive(Clone, Debug, PartialEq)]
pub struct ClosedRow {
    pub address: String,
    /// The whole row.
    pub row: Value,
    /// The newest closing of that address.
    pub closing: Option<Closing>,
    /// The search for the closing; `None` if none is under way.
    pub search: Option<Search>,
}

/// A search for a closing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// Searches that ended without it.
    pub attempts: i32,
    /// Why the last one did.
    pub error: Option<String>,
}

/// The closed rows of one table after `after`, in the order of their addresses.
pub async fn closed_rows(
    executor: impl PgExecutor<'_>,
    kind: ClosingKind,
    after: &str,
    limit: u32,
) -> Result<Vec<ClosedRow>, StoreError> {
    let rows = sqlx::query!(
        r#"SELECT t.address AS "address!", t.row AS "row!",
                  c.slot AS "slot?: Count", c.signature AS "signature?", c.data AS "data?", c.closed_at AS "closed_at?",
                  w.attempts AS "attempts?", w.error AS "error?"
           FROM (SELECT address, row FROM mirror_rows
                 WHERE name = 'mirror_' || $1 || 's' AND closed_at_slot IS NOT NULL AND address > $2
                 ORDER BY address LIMIT $3) AS t
           LEFT JOIN LATERAL (
               SELECT slot, signature, data, closed_at FROM mirror_closings c WHERE c.address = t.address
               ORDER BY c.slot DESC LIMIT 1) c ON true
           LEFT JOIN mirror_closings_wanted w ON w.address = t.address
           ORDER BY t.address"#,
        kind.into_str(),
        after,
        i64::from(limit),
    );
    let rows =
        rows.fetch_all(executor).await?.into_iter().map(|row| ClosedRow {
            address: row.address,
            row: row.row,
            closing: row.slot.zip(row.signature).zip(row.data).zip(row.closed_at).map(
                |(((slot, signature), data), closed_at)| Closing { slot: slot.into(), signature, data, closed_at },
            ),
            search: row.attempts.map(|attempts| Search { attempts, error: row.error }),
        });
    Ok(rows.collect())
}

/// Closings whose row is gone, and rows of kinds that nobody can close: their number, and the first addresses.
pub async fn closings_without_row(
    executor: impl PgExecutor<'_>,
    list_at_most: u32,
) -> Result<(u64, Vec<(String, String)>), StoreError> {
    let rows = sqlx::query!(
        r#"SELECT f.address AS "address!", f.problem AS "problem!", count(*) OVER () AS "all!: Count" FROM (
               SELECT c.address, 'the chain closed it, and the mirror has no row of it' AS problem
               FROM mirror_closings c
               WHERE NOT EXISTS (SELECT FROM mirror_accounts t WHERE t.address = c.address
                                   AND t.tableoid = ('mirror_' || c.kind || 's')::regclass)
               UNION ALL
               SELECT t.address, 'the row is closed, but no instruction closes accounts of its kind'
               FROM (SELECT address, closed_at_slot FROM mirror_config
                     UNION ALL SELECT address, closed_at_slot FROM mirror_creators
                     UNION ALL SELECT address, closed_at_slot FROM mirror_grants) AS t
               WHERE t.closed_at_slot IS NOT NULL) AS f
           ORDER BY f.address LIMIT $1"#,
        i64::from(list_at_most),
    )
    .fetch_all(executor)
    .await?;
    let all = rows.first().map_or(0, |row| row.all.into());
    Ok((all, rows.into_iter().map(|row| (row.address, row.problem)).collect()))
}
