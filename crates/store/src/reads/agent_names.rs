//! The names of agents, for lists of other things.

use std::collections::HashMap;

use solana_pubkey::Pubkey;
use sqlx::PgExecutor;

use crate::{columns::Base58, error::StoreError};

/// The names of some agents: of the document in force or, while that one is not known, of the newest known one. An agent
/// without any known document is left out.
pub async fn agent_names(
    executor: impl PgExecutor<'_>,
    agents: &[Pubkey],
) -> Result<HashMap<Pubkey, String>, StoreError> {
    let addresses: Vec<String> = agents.iter().map(Pubkey::to_string).collect();
    // `OFFSET 0` and `LIMIT 1`: found once for each agent, by an index.
    let rows = sqlx::query!(
        r#"SELECT q.agent AS "agent!: Base58",
                  COALESCE((SELECT a.name FROM mirror_agents a WHERE a.address = q.agent OFFSET 0), (
                      SELECT m.name FROM agent_metadata m LEFT JOIN mirror_agents a ON a.address = m.agent
                      WHERE m.agent = q.agent AND m.error IS NULL
                      ORDER BY (m.sha256 = a.metadata_hash) DESC NULLS LAST, m.fetched_at DESC LIMIT 1)) AS name
           FROM unnest($1::text[]) AS q (agent)"#,
        &addresses
    )
    .fetch_all(executor)
    .await?;
    Ok(rows.into_iter().filter_map(|row| Some((row.agent.into(), row.name?))).collect())
}
