//! Many paid calls at once, as rows: what the event log makes of them.

use solana_pubkey::Pubkey;
use sqlx::PgPool;

use crate::Result;

/// Reserves, opens and completes the calls with these numbers, each step for all of them in one transaction. It can be done
/// again after an error whose outcome is unknown: what was done stays as it is. No worker takes them over meanwhile.
pub async fn pay(pool: &PgPool, caller: &Pubkey, agent: &Pubkey, first: i64, last: i64) -> Result<()> {
    let name = |number: &str| format!("'{}' || {number}", &caller.to_string()[..20]);
    let of_these = format!("record IN (SELECT {} FROM generate_series($1::bigint, $2) n)", name("n"));
    let reserve = format!(
        "INSERT INTO executions (record, execution_id, caller, agent, session_key, state, body_hash, is_async, request,
             request_hash, amount, timeout_seconds, endpoint, lease_owner, lease_until)
         SELECT {}, md5('{caller}' || n)::uuid, '{caller}', '{agent}', 'k', 'opening', decode(repeat('05', 32), 'hex'),
             false, '{{}}', decode(repeat('05', 32), 'hex'), 50000, 60, 'e',
             gen_random_uuid(), now() + interval '1 day'
         FROM generate_series($1, $2) n
         ON CONFLICT DO NOTHING",
        name("n")
    );
    let open = format!(
        "UPDATE executions SET state = 'running', opened_at = now(), dispatched_at = now()
         WHERE state = 'opening' AND {of_these}"
    );
    let complete = format!(
        "UPDATE executions SET state = 'completed', lease_owner = NULL, lease_until = NULL, finished_at = now(), result = 'x', result_hash = request_hash,
             result_signature = decode(repeat('05', 64), 'hex'), execution_time_ms = 5, charged_amount = 50000,
             charged_creator_amount = 49500, charged_platform_amount = 500
         WHERE state = 'running' AND {of_these}"
    );
    for statement in [reserve, open, complete] {
        sqlx::query(sqlx::AssertSqlSafe(statement)).bind(first).bind(last).execute(pool).await?;
    }
    Ok(())
}
