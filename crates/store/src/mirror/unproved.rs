//! Closed rows of accounts that were never final: the opening was dropped with a fork, or the account was opened and
//! closed before anybody looked.

use solana_pubkey::Pubkey;
use sqlx::PgPool;

use crate::{
    convert::{amount_to_db, pubkey},
    error::StoreError,
};

/// Rows that are looked at in one page.
const PAGE: i64 = 1_000;

/// A page of closed rows, in the order of their addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClosedPage {
    /// The last address of the page; `None` after the last page.
    pub last: Option<String>,
    /// Those that were never final.
    pub never_final: Vec<Pubkey>,
}

/// Closed rows after `after` that were closed at `slot` or before. Each closed row of a kind that the program closes has
/// its search for the closing until the closing is known, and that proves the account. So the searches and the closed
/// rows of the other kinds are all that can be wrong, however many accounts were closed in all.
pub async fn unproved_closed(pool: &PgPool, after: &str, slot: u64) -> Result<ClosedPage, StoreError> {
    let rows = sqlx::query!(
        r#"SELECT c.address AS "address!",
                  f.address IS NULL AND EXISTS (
                      SELECT FROM mirror_states s WHERE s.address = c.address AND s.closed_at_slot <= $2)
                  AS "never_final!"
           FROM (SELECT address FROM mirror_closings_wanted WHERE address > $1 AND closed_at_slot <= $2
                 UNION ALL SELECT address FROM mirror_config WHERE address > $1 AND closed_at_slot <= $2
                 UNION ALL SELECT address FROM mirror_creators WHERE address > $1 AND closed_at_slot <= $2
                 UNION ALL SELECT address FROM mirror_grants WHERE address > $1 AND closed_at_slot <= $2
                 ORDER BY address LIMIT $3) AS c
           LEFT JOIN LATERAL (SELECT address FROM mirror_final_accounts t WHERE t.address = c.address OFFSET 0) f
               ON true
           ORDER BY c.address"#,
        after,
        amount_to_db("slot", slot)?,
        PAGE,
    )
    .fetch_all(pool)
    .await?;
    let last = rows.last().map(|row| row.address.clone());
    let never_final = rows.iter().filter(|row| row.never_final).map(|row| pubkey("account address", &row.address));
    Ok(ClosedPage { last, never_final: never_final.collect::<Result<_, _>>()? })
}
