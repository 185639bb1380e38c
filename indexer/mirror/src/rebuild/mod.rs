//! Rebuilds the mirror from the chain: closed accounts from the events of their closings, the terms of executions from
//! their openings, and what lives from a snapshot.
//!
//! It can be stopped at any time and goes on where it was. It writes like the mirror does, so it may run while services
//! use the database.

mod history;
mod parts;
mod walk;

use std::time::Instant;

use agent_marketplace::state::MarketParameters;
use crtx_store::{
    PgPool, StoreError, closings,
    mirror::{self, Batch},
    rebuild::{self as store, Progress},
};

pub use parts::{Rebuild, RebuildError, Step};

use crate::{
    source::{At, SnapshotItem, SourceError},
    sync,
};

/// After a round with at most so many transactions the snapshot is read.
const LAST_ROUND: u64 = 1_000;
/// Rows that get their open terms in one transaction.
const TERMS_PER_STEP: u32 = 1_000;

/// What a whole rebuild found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rebuilt {
    pub transactions: u64,
    pub closings: u64,
    pub openings: u64,
    pub accounts: u64,
}

impl Rebuild<'_> {
    /// Runs to the end.
    pub async fn run(&self) -> Result<Rebuilt, RebuildError> {
        let genesis = self.check_chain().await?;
        store::begin(self.pool, &genesis, MarketParameters::DEFAULT.settle_grace_s).await?;
        let walk = walk::Walk { rebuild: self, began: Instant::now() };
        // A long round leaves many new transactions for the next one.
        while walk.round().await? > LAST_ROUND {}
        // What was closed before the finalized snapshot is in the last round; what is closed later is in the snapshot, and
        // the indexer notices it.
        let accounts = self.snapshot(&genesis).await?;
        walk.round().await?;
        self.fill_terms().await?;
        store::finish(self.pool).await?;
        let progress = self.progress().await?;
        let Progress { read: transactions, closings, openings, .. } = progress;
        Ok(Rebuilt { transactions, closings, openings, accounts })
    }

    async fn check_chain(&self) -> Result<String, RebuildError> {
        let node = self.source.genesis_hash().await?;
        let mirrored = mirror::checkpoint(self.pool).await?.and_then(|checkpoint| checkpoint.genesis_hash);
        let begun = store::progress(self.pool).await?.map(|progress| progress.genesis_hash);
        match mirrored.or(begun).filter(|known| *known != node) {
            Some(database) => Err(RebuildError::OtherChain { database, node }),
            None => Ok(node),
        }
    }

    /// Writes every account that lives, page by page.
    async fn snapshot(&self, genesis: &str) -> Result<u64, RebuildError> {
        let (began, mut accounts) = (Instant::now(), 0_u64);
        let mut snapshot = self.source.snapshot(At::Finalized, 0).await?;
        while let Some(item) = snapshot.recv().await {
            match item? {
                SnapshotItem::Page { slot, accounts: page } => {
                    accounts = accounts.saturating_add(u64::try_from(page.len()).unwrap_or(u64::MAX));
                    let mut batch = Batch::default();
                    for (address, data) in page {
                        sync::push(&mut batch, &address, slot, data)?;
                    }
                    mirror::apply_differing(self.pool, batch).await?;
                    let step = Step {
                        doing: "reading the accounts that live",
                        done: accounts,
                        total: 0,
                        elapsed: began.elapsed(),
                        since_start: accounts,
                    };
                    (self.show)(step);
                }
                SnapshotItem::End { slot } => {
                    mirror::snapshot_applied(self.pool, slot, genesis).await?;
                    return Ok(accounts);
                }
            }
        }
        let reason = "it stopped without an end".to_owned();
        Err(SourceError::SnapshotIncomplete { node: self.source.name(), reason }.into())
    }

    async fn fill_terms(&self) -> Result<(), RebuildError> {
        let mut after = String::new();
        while let Some(last) = store::fill_terms(self.pool, &after, TERMS_PER_STEP).await? {
            after = last;
        }
        Ok(())
    }
}

/// Whether every closed account of the program is known to a database.
pub async fn is_whole(pool: &PgPool) -> Result<bool, StoreError> {
    closings::whole_history(pool).await
}
