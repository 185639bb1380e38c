//! Which wallets paid which agent, and what agents received. `mirror_agent_callers`, `mirror_agent_totals`.
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
             DELETE FROM mirror_total_notes RETURNING agent, caller, completed, failed, spent, earned),
         changes AS (
             SELECT caller, agent, sum(completed)::bigint AS completed, sum(failed)::bigint AS failed,
                    sum(spent) AS spent, sum(earned) AS earned
             FROM noted GROUP BY caller, agent),
         callers AS (
             INSERT INTO mirror_agent_callers AS t (caller, agent, completed, failed, spent)
             SELECT caller, agent, completed, failed, spent FROM changes ORDER BY caller, agent
             ON CONFLICT (caller, agent) DO UPDATE SET
                 completed = t.completed + excluded.completed, failed = t.failed + excluded.failed,
                 spent = t.spent + excluded.spent
             RETURNING caller, agent, completed)
         INSERT INTO mirror_agent_totals AS t (agent, unique_callers, earned)
         SELECT agent, sum((after.completed > 0)::int - (after.completed > changes.completed)::int), sum(earned)
         FROM callers after JOIN changes USING (caller, agent)
         WHERE changes.completed <> 0 OR earned <> 0
         GROUP BY agent ORDER BY agent
         ON CONFLICT (agent) DO UPDATE SET
             unique_callers = t.unique_callers + excluded.unique_callers, earned = t.earned + excluded.earned"
    )
    .execute(connection)
    .await?;
    Ok(())
}
