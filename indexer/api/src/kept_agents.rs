//! The last answers about agents, each with the version of the rows that it shows, and what they are made from.

use std::{collections::HashMap, sync::Arc};

use crtx_http::{Whole, query_batcher::QueryBatcher};
use crtx_store::{
    PgPool,
    reads::{self, AgentDetails, AgentMetrics, AgentVersion},
};
use moka::future::Cache;
use solana_pubkey::Pubkey;

use crate::kept::Kept;

/// Bytes of the answers that are kept; those that are asked for most.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// What an answer costs beyond its bytes.
const OVERHEAD: usize = 2_048;
/// Agents in one statement: a few reads by key for each.
const MOST_TOGETHER: usize = 64;
/// Agents whose metrics are kept.
const MAX_KEPT: u64 = 200_000;

/// What answers are made from.
pub struct Agents {
    pub answers: Cache<Pubkey, Arc<KeptAgent>>,
    pub versions: QueryBatcher<Pubkey, Option<AgentVersion>>,
    pub rows: QueryBatcher<Pubkey, Option<Arc<AgentDetails>>>,
    /// Counted from many rows. By the agent and the totals of its listing: metrics of other totals are old.
    pub metrics: Kept<(Pubkey, [u64; 4]), AgentMetrics>,
}

/// An answer, and what it was made from.
pub struct KeptAgent {
    pub agent: Arc<AgentDetails>,
    pub metrics: AgentMetrics,
    pub body: Arc<Whole>,
}

/// With room for the compressed form and for the document.
fn size(kept: &KeptAgent) -> u32 {
    let bytes = kept.body.bytes.len();
    let size = bytes.saturating_mul(2).saturating_add(bytes.div_ceil(2)).saturating_add(OVERHEAD);
    u32::try_from(size).unwrap_or(u32::MAX)
}

impl Agents {
    pub fn new(pool: &PgPool) -> Self {
        Self {
            answers: Cache::builder().max_capacity(MAX_BYTES).weigher(|_, kept: &Arc<KeptAgent>| size(kept)).build(),
            versions: QueryBatcher::new(pool.clone(), MOST_TOGETHER, |connection, agents: &[Pubkey]| {
                Box::pin(async move {
                    let versions = reads::agent_versions(connection, agents).await?;
                    Ok(agents.iter().map(|agent| versions.get(agent).cloned()).collect())
                })
            }),
            rows: QueryBatcher::new(pool.clone(), MOST_TOGETHER, |connection, agents: &[Pubkey]| {
                Box::pin(async move {
                    let rows = reads::agents(connection, agents).await?;
                    let mut rows: HashMap<_, _> = rows.into_iter().map(|row| (row.address, Arc::new(row))).collect();
                    Ok(agents.iter().map(|agent| rows.remove(agent)).collect())
                })
            }),
            metrics: Kept::new(MAX_KEPT),
        }
    }
}
