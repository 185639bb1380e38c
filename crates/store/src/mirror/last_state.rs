//! The last state of a closed account, from the event of its closing: the row becomes equal to it.

use sqlx::PgConnection;

use super::{accounts, batch::Batch, compare::compare_with, totals, write::apply};
use crate::{convert::amount_to_db, error::StoreError};

/// What happened to the row of a closed account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastState {
    /// The row has the last state.
    Kept,
    /// The row missed it, or somebody changed it since.
    Repaired,
    /// There was no row: the account was opened and closed unseen.
    Added,
    /// The account was opened again later.
    OpenAgain,
}

/// Makes the row of the account in `last` equal to it and marks it as closed at `slot`. `last` has one account, of a
/// kind that the program closes, as it was at `slot`.
pub async fn close_with(connection: &mut PgConnection, last: Batch, slot: u64) -> Result<LastState, StoreError> {
    let slot = amount_to_db("slot", slot)?;
    let read = last.rows.values().next();
    let read = read.ok_or_else(|| StoreError::corrupt("closing", "it has no account that can be decoded"))?;
    let address = read.address.clone();
    let stored =
        sqlx::query!("SELECT slot, closed_at_slot FROM mirror_accounts WHERE address = $1 FOR UPDATE", address);
    let state = match stored.fetch_optional(&mut *connection).await? {
        None => LastState::Added,
        Some(stored) if stored.closed_at_slot.is_none() && stored.slot > slot => return Ok(LastState::OpenAgain),
        Some(_) => {
            let name = read.table.name;
            let stored = sqlx::query_scalar!(
                r#"SELECT row AS "row!" FROM mirror_rows WHERE name = $1 AND address = $2"#,
                name,
                address,
            );
            let stored = stored.fetch_all(&mut *connection).await?;
            if compare_with(&last, stored)?.equal > 0 { LastState::Kept } else { LastState::Repaired }
        }
    };
    if state == LastState::Repaired {
        accounts::delete(connection, std::slice::from_ref(&address)).await?;
    }
    if state != LastState::Kept {
        apply(connection, &last).await?;
        totals::count(connection).await?;
    }
    sqlx::query!(
        "UPDATE mirror_accounts SET closed_at_slot = $2 WHERE address = $1 AND closed_at_slot IS DISTINCT FROM $2",
        address,
        slot,
    )
    .execute(connection)
    .await?;
    Ok(state)
}
