//! Which wallets paid which agent, what wallets paid, and what agents received. `mirror_agent_callers`,
//! `mirror_agent_totals`, `mirror_wallet_totals`, `mirror_agent_earnings`.
//!
//! A trigger on `mirror_executions` notes the changes. See `migrations/0003_totals.sql` for the tables, and
//! `migrations/0013_record_triggers.sql` for the trigger.

use sqlx::PgConnection;

use crate::error::StoreError;

/// Adds the changes that this transaction noted to the totals. It locks totals in the order of tables and keys, so the
/// transaction must have all its locks on executions before.
pub async fn count(connection: &mut PgConnection) -> Result<(), StoreError> {
    sqlx::query!(
        "WITH noted AS (
             DELETE FROM mirror_total_notes RETURNING agent, caller, completed, failed, spent, earned, fees),
         changes AS (
             SELECT agent, caller, sum(completed)::bigint AS completed, sum(failed)::bigint AS failed,
                    sum(spent) AS spent, sum(earned) AS earned, sum(fees) AS fees
             FROM noted GROUP BY agent, caller),
         callers AS (
             INSERT INTO mirror_agent_callers AS t (agent, caller, executions, fees)
             SELECT agent, caller, completed, fees FROM changes WHERE completed <> 0 OR fees <> 0 ORDER BY agent, caller
             ON CONFLICT (agent, caller) DO UPDATE SET
                 executions = t.executions + excluded.executions, fees = t.fees + excluded.fees
             RETURNING agent, caller, executions),
         agents AS (
             INSERT INTO mirror_agent_totals AS t (agent, unique_callers)
             SELECT agent, sum((after.executions > 0)::int - (after.executions > changes.completed)::int)
             FROM callers after JOIN changes USING (agent, caller)
             GROUP BY agent
             HAVING sum((after.executions > 0)::int - (after.executions > changes.completed)::int) <> 0
             ORDER BY agent
             ON CONFLICT (agent) DO UPDATE SET unique_callers = t.unique_callers + excluded.unique_callers
             RETURNING agent),
         wallets AS (
             INSERT INTO mirror_wallet_totals AS t (wallet, completed, failed, spent)
             SELECT caller, sum(completed), sum(failed), sum(spent) FROM changes
             -- Counting the rows of a statement runs it to its end before this one begins.
             WHERE (SELECT count(*) FROM agents) >= 0
             GROUP BY caller ORDER BY caller
             ON CONFLICT (wallet) DO UPDATE SET
                 completed = t.completed + excluded.completed, failed = t.failed + excluded.failed,
                 spent = t.spent + excluded.spent
             RETURNING wallet)
         INSERT INTO mirror_agent_earnings AS t (agent, earned)
         SELECT agent, sum(earned) FROM changes WHERE (SELECT count(*) FROM wallets) >= 0
         GROUP BY agent HAVING sum(earned) <> 0 ORDER BY agent
         ON CONFLICT (agent) DO UPDATE SET earned = t.earned + excluded.earned"
    )
    .execute(connection)
    .await?;
    Ok(())
}
