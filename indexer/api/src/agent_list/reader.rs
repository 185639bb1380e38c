//! Reads the rows of the list from the database: all of them at first, then what changed since the last snapshot.

use std::{
    collections::{HashMap, HashSet},
    mem,
    sync::Arc,
};

use crtx_store::{
    PgPool, StoreError,
    reads::agent_list::{AgentListHead, AgentListSnapshot, AgentSummary},
};
use solana_pubkey::Pubkey;

use super::{model::Model, table::Table};

/// Rows of one query.
const ROWS: usize = 2_000;
/// Documents of one query: they can be large.
const DOCUMENTS: usize = 250;

#[derive(Debug, thiserror::Error)]
pub enum ListReadError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("a table could not be made: {0}")]
    Interrupted(#[from] tokio::task::JoinError),
}

/// Follows the tables of the database.
#[derive(Default)]
pub struct ListReader {
    model: Model,
    /// The last snapshot. `None`: everything is to be read.
    last: Option<AgentListHead>,
}

impl ListReader {
    /// Reads what is new, and makes a table of it. The mirror had reached the slot when the rows were read.
    pub async fn read(&mut self, pool: &PgPool) -> Result<(Arc<Table>, Option<u64>), ListReadError> {
        let mut snapshot = AgentListSnapshot::begin(pool).await?;
        let head = snapshot.head.clone();
        if self.last.as_ref().is_none_or(|last| head.next_transaction < last.next_transaction) {
            *self = Self::default();
        }
        let seen = self.last.as_ref().map(|last| last.seen.as_str());
        if seen != Some(&head.seen) {
            let changed = snapshot.changed(seen).await?;
            for agents in changed.chunks(ROWS) {
                self.read_rows(&mut snapshot, agents).await?;
            }
        }
        snapshot.end().await?;
        // A large table takes a moment, so a thread for blocking work makes it. If that fails, the next snapshot reads everything.
        let Self { mut model, .. } = mem::take(self);
        let made = tokio::task::spawn_blocking(move || {
            let table = model.publish();
            (model, table)
        });
        let (model, table) = made.await?;
        let slot = head.slot.map(u64::from);
        *self = Self { model, last: Some(head) };
        Ok((table, slot))
    }

    /// Reads agents into the model, with the documents of those whose texts it does not have.
    async fn read_rows(&mut self, snapshot: &mut AgentListSnapshot, agents: &[Pubkey]) -> Result<(), StoreError> {
        let rows = snapshot.listed(agents).await?;
        let listed: HashSet<Pubkey> = rows.iter().map(|row| row.address).collect();
        agents.iter().filter(|agent| !listed.contains(agent)).for_each(|agent| self.model.remove(agent));
        let (mut without_texts, known): (Vec<_>, Vec<_>) =
            rows.into_iter().partition(|row| self.model.needs_texts(row));
        known.into_iter().for_each(|row| self.model.put(row, None));
        while !without_texts.is_empty() {
            let some = without_texts.split_off(without_texts.len().saturating_sub(DOCUMENTS));
            self.read_texts(snapshot, some).await?;
        }
        Ok(())
    }

    async fn read_texts(
        &mut self,
        snapshot: &mut AgentListSnapshot,
        rows: Vec<AgentSummary>,
    ) -> Result<(), StoreError> {
        let (agents, hashes): (Vec<_>, Vec<_>) =
            rows.iter().map(|row| (row.address, row.metadata_hash.clone())).unzip();
        let descriptions: HashMap<_, _> = snapshot.descriptions(&agents, &hashes).await?.into_iter().collect();
        for row in rows {
            let description = descriptions.get(&row.address).map(String::as_str).unwrap_or_default();
            self.model.put(row, Some(description));
        }
        Ok(())
    }
}
