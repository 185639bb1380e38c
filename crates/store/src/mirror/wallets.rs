//! What wallets paid and agents received. `mirror_wallet_totals`, `mirror_agent_earnings`.
//!
//! Triggers on `mirror_executions` note the changes. See `migrations/0003_totals.sql` for the tables, and
//! `migrations/0013_record_triggers.sql` for the triggers.

use sqlx::PgConnection;

use crate::error::StoreError;

/// Adds the changes that this transaction noted to the totals. As with [`super::callers::count`], totals are locked in
/// the order of their keys, those of wallets first, after all locks on executions.
pub async fn count(connection: &mut PgConnection) -> Result<(), StoreError> {
    sqlx::query!(
        "WITH noted AS (
             DELETE FROM mirror_wallet_changes RETURNING caller, agent, completed, failed, spent, earned),
         wallets AS (
             INSERT INTO mirror_wallet_totals AS t (wallet, completed, failed, spent)
             SELECT caller, sum(completed)::bigint, sum(failed)::bigint, sum(spent) FROM noted
             GROUP BY caller ORDER BY caller
             ON CONFLICT (wallet) DO UPDATE SET
                 completed = t.completed + excluded.completed, failed = t.failed + excluded.failed,
                 spent = t.spent + excluded.spent
             RETURNING wallet)
         INSERT INTO mirror_agent_earnings AS t (agent, earned)
         SELECT agent, sum(earned) FROM noted
         -- Reads the other statement to its end before this one begins.
         WHERE (SELECT count(*) FROM wallets) > 0
         GROUP BY agent HAVING sum(earned) <> 0 ORDER BY agent
         ON CONFLICT (agent) DO UPDATE SET earned = t.earned + excluded.earned"
    )
    .execute(connection)
    .await?;
    Ok(())
}
