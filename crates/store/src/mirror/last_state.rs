//! The last state of a closed account, from the event of its closing: the row becomes equal to it.

use serde_json::Value;
use sqlx::PgConnection;

use super::{
    batch::Batch, callers, compare::compare_with, executions::ExecutionRow, row::MirrorRow, wallets, write::apply,
};
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

struct Stored {
    row: Value,
    slot: i64,
    closed_at_slot: Option<i64>,
}

/// The statements on one table.
macro_rules! of_table {
    ($table:tt, $connection:expr, read $address:expr) => {{
        let row = sqlx::query!(
            "SELECT to_jsonb(t) AS \"row!\", slot, closed_at_slot FROM " + $table + " t WHERE address = $1 FOR UPDATE",
            $address,
        );
        let row = row.fetch_optional($connection).await?;
        row.map(|row| Stored { row: row.row, slot: row.slot, closed_at_slot: row.closed_at_slot })
    }};
    ($table:tt, $connection:expr, delete $address:expr) => {
        sqlx::query!("DELETE FROM " + $table + " WHERE address = $1", $address).execute($connection).await?
    };
    ($table:tt, $connection:expr, close $address:expr, $slot:expr) => {
        sqlx::query!(
            "UPDATE " + $table + " SET closed_at_slot = $2 WHERE address = $1 AND closed_at_slot IS DISTINCT FROM $2",
            $address,
            $slot,
        )
        .execute($connection)
        .await?
    };
}

/// A table with rows of closed accounts, and the account of a batch that belongs there.
enum Closed {
    Execution(String),
    Dispute(String),
    Agent(String),
}

impl Closed {
    fn of(batch: &Batch) -> Result<Self, StoreError> {
        let execution = batch.executions.keys().next().cloned().map(Self::Execution);
        let dispute = || batch.disputes.keys().next().cloned().map(Self::Dispute);
        let agent = || batch.agents.keys().next().cloned().map(Self::Agent);
        let closed = execution.or_else(dispute).or_else(agent);
        closed.ok_or_else(|| StoreError::corrupt("closing", "it has no account that the program closes"))
    }

    async fn read(&self, connection: &mut PgConnection) -> Result<Option<Stored>, StoreError> {
        Ok(match self {
            Self::Execution(address) => of_table!("mirror_executions", connection, read address),
            Self::Dispute(address) => of_table!("mirror_disputes", connection, read address),
            Self::Agent(address) => of_table!("mirror_agents", connection, read address),
        })
    }

    async fn delete(&self, connection: &mut PgConnection) -> Result<(), StoreError> {
        match self {
            Self::Execution(address) => of_table!("mirror_executions", connection, delete address),
            Self::Dispute(address) => of_table!("mirror_disputes", connection, delete address),
            Self::Agent(address) => of_table!("mirror_agents", connection, delete address),
        };
        Ok(())
    }

    async fn close(&self, connection: &mut PgConnection, slot: i64) -> Result<(), StoreError> {
        match self {
            Self::Execution(address) => of_table!("mirror_executions", connection, close address, slot),
            Self::Dispute(address) => of_table!("mirror_disputes", connection, close address, slot),
            Self::Agent(address) => of_table!("mirror_agents", connection, close address, slot),
        };
        Ok(())
    }
}

/// Makes the row of the account in `last` equal to it and marks it as closed at `slot`. `last` has one account, of a
/// kind that the program closes, as it was at `slot`. What the account dropped stays as the row knows it.
pub async fn close_with(connection: &mut PgConnection, mut last: Batch, slot: u64) -> Result<LastState, StoreError> {
    let (closed, slot) = (Closed::of(&last)?, amount_to_db("slot", slot)?);
    let state = match closed.read(connection).await? {
        None => LastState::Added,
        Some(stored) if stored.closed_at_slot.is_none() && stored.slot > slot => return Ok(LastState::OpenAgain),
        Some(stored) => {
            keep_terms(&mut last, &stored.row);
            let found = compare_with(&last, vec![stored.row])?;
            if found.equal > 0 { LastState::Kept } else { LastState::Repaired }
        }
    };
    if state == LastState::Repaired {
        closed.delete(connection).await?;
    }
    if state != LastState::Kept {
        apply(connection, &last).await?;
        callers::count(connection).await?;
        wallets::count(connection).await?;
    }
    closed.close(connection, slot).await?;
    Ok(state)
}

/// A row that cannot be read as an execution has nothing to keep.
fn keep_terms(last: &mut Batch, row: &Value) {
    for execution in last.executions.values_mut() {
        if let Ok(stored) = serde_json::from_value::<ExecutionRow>(row.clone()) {
            execution.keep_dropped(&stored);
        }
    }
}
