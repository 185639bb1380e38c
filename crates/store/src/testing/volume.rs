//! Many rows at once: a mirror that makes expensive queries expensive.

use solana_pubkey::Pubkey;
use sqlx::PgPool;

/// Rows written with one statement.
const BATCH: u32 = 5_000;

/// Shows `count` active agents of one creator, each with a document, and some history to sort by.
///
/// # Panics
/// When the database refuses.
pub async fn agents(pool: &PgPool, creator: &Pubkey, count: u32) {
    for first in (0..count).step_by(BATCH as usize) {
        let addresses = addresses(1, first, count);
        // In one transaction: the indexer fetches documents for agents that it sees without one.
        let mut transaction = crate::transaction::begin(pool).await.expect("a transaction");
        sqlx::query(
            "INSERT INTO mirror_agents (address, slot, revision, creator, agent_index, result_key, metadata_hash,
                 metadata_uri, binding, price, collateral, slashed_total, open_amount, disputed_amount,
                 total_executions, successful_executions, failed_executions, expired_executions, disputed_executions,
                 completed_executions, timed_executions, execution_time_ms_total, platform_fees_total, timeout_seconds, open_executions,
                 open_disputes, status, created_at, updated_at)
             SELECT address, 1, 1, $2, $3 + n, $2, decode(repeat('05', 32), 'hex'), 'ipfs://x',
                 n % 2 = 0, 10000 + n % 90000, 10000000, 0, 0, 0, n % 700 + n % 300,
                 n % 700, n % 300, n % 10, 0, n % 700, n % 700, n * 10, n % 700 * (100 + n % 900), 60, 0, 0, 1,
                 now() - n * interval '1 second', now()
             FROM unnest($1::text[]) WITH ORDINALITY AS row (address, n)",
        )
        .bind(&addresses)
        .bind(creator.to_string())
        .bind(i64::from(first))
        .execute(&mut *transaction)
        .await
        .expect("agents are written");
        sqlx::query(
            "INSERT INTO mirror_agent_totals (agent, unique_callers, earned, trust, disputes, upheld_wallets)
             SELECT address, n % 70, n * 100, n % 700 * (100 + n % 900), 0, 0
             FROM unnest($1::text[]) WITH ORDINALITY AS row (address, n)",
        )
        .bind(&addresses)
        .execute(&mut *transaction)
        .await
        .expect("totals are written");
        sqlx::query(
            "INSERT INTO agent_metadata (agent, sha256, uri, document, name, tagline, tags, endpoint, fetched_at)
             SELECT address, decode(repeat('05', 32), 'hex'), 'ipfs://x',
                 jsonb_build_object('name', 'agent ' || n, 'tagline', 't', 'description', 'd', 'tags', '[\"data\"]'::jsonb,
                     'endpoint', 'https://a.example', 'input_schema', '{}'::jsonb, 'output_schema', '{}'::jsonb),
                 'agent ' || n, 't', ARRAY['data', 'tag' || n % 50], 'https://a.example', now()
             FROM unnest($1::text[]) WITH ORDINALITY AS row (address, n)",
        )
        .bind(&addresses)
        .execute(&mut *transaction)
        .await
        .expect("documents are written");
        // As `metadata` does when it stores a document: lists show agents with a name alone.
        let named = sqlx::query(
            "UPDATE mirror_agents a SET name = m.name, tagline = m.tagline, tags = m.tags
             FROM agent_metadata m WHERE m.agent = a.address AND a.address = ANY ($1)",
        )
        .bind(&addresses)
        .execute(&mut *transaction)
        .await
        .expect("agents are named");
        assert_eq!(usize::try_from(named.rows_affected()), Ok(addresses.len()), "every agent has a name");
        transaction.commit().await.expect("commits");
    }
}

/// Writes `count` completed executions. The callers, and the agents, take turns.
///
/// # Panics
/// When the database refuses.
pub async fn executions(pool: &PgPool, callers: &[String], agents: &[String], count: u32) {
    for first in (0..count).step_by(BATCH as usize) {
        let addresses = addresses(2, first, count);
        let in_turn = |names: &[String]| -> Vec<String> {
            names.iter().cycle().skip(first as usize % names.len()).take(addresses.len()).cloned().collect()
        };
        sqlx::query(
            "INSERT INTO mirror_executions (address, slot, revision, execution_id, agent, caller, rent_payer, result_hash,
                 amount, creator_amount, platform_amount, execution_time_ms, dispute_window_s, fee_bps,
                 max_penalty_multiple, binding, settled_by, opened_at, finished_at, status, dispute_count, initiated_at)
             SELECT address, 1, 1, gen_random_uuid(), agent, caller, caller, decode(repeat('06', 32), 'hex'), 10000, 9900,
                 100, 10, 259200, 100, 20, false, 3, now() - n * interval '1 second', now(), 2, 0,
                 now() - n * interval '1 second'
             FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS row (address, caller, agent, n)",
        )
        .bind(&addresses)
        .bind(in_turn(callers))
        .bind(in_turn(agents))
        .execute(pool)
        .await
        .expect("executions are written");
    }
}

/// Addresses that no program owns, one for each kind and number.
fn addresses(kind: u8, first: u32, count: u32) -> Vec<String> {
    let last = first.saturating_add(BATCH).min(count);
    let address = |number: u32| {
        let mut bytes = [kind; 32];
        bytes[..4].copy_from_slice(&number.to_be_bytes());
        Pubkey::new_from_array(bytes).to_string()
    };
    (first..last).map(address).collect()
}
