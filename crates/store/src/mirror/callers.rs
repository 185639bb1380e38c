//! Which wallets paid which agent. `mirror_agent_callers`, `mirror_agent_totals`.
//!
//! Triggers on `mirror_executions` note the changes. See `migrations/0003_totals.sql` for the tables, and
//! `migrations/0013_record_triggers.sql` for the triggers.

use sqlx::PgConnection;

use crate::error::StoreError;

/// Adds the changes that this transaction noted to the totals. It locks totals in the order of their keys, so the
/// transaction must have all its locks on executions before.
pub async fn count(connection: &mut PgConnection) -> Result<(), StoreError> {
    sqlx::query!(
        "WITH noted AS (DELETE FROM mirror_caller_changes RETURNING agent, caller, executions, fees),
         changes AS (
             SELECT agent, caller, sum(executions)::bigint AS executions, sum(fees) AS fees
             FROM noted GROUP BY agent, caller),
         counted AS (
             INSERT INTO mirror_agent_callers AS t (agent, caller, executions, fees)
             SELECT agent, caller, executions, fees FROM changes ORDER BY agent, caller
             ON CONFLICT (agent, caller) DO UPDATE SET
                 executions = t.executions + excluded.executions, fees = t.fees + excluded.fees
             RETURNING agent, caller, executions)
         INSERT INTO mirror_agent_totals AS t (agent, unique_callers)
         SELECT agent, sum((after.executions > 0)::int - (after.executions > changes.executions)::int)
         FROM counted after JOIN changes USING (agent, caller)
         GROUP BY agent
         HAVING sum((after.executions > 0)::int - (after.executions > changes.executions)::int) <> 0
         ORDER BY agent
         ON CONFLICT (agent) DO UPDATE SET unique_callers = t.unique_callers + excluded.unique_callers"
    )
    .execute(connection)
    .await?;
    Ok(())
}
