//! One audit: what its checks read, and the report that they write.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crtx_content::ContentStore;
use crtx_store::{PgPool, StoreError, mirror};
use solana_pubkey::Pubkey;

use super::report::AuditReport;
use crate::{
    history::History,
    source::{AccountSource, At, SourceError},
};

/// Why an audit could not be made.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What it answers says nothing about the mirror.
    #[error("the node at {0} belongs to another chain than the mirror")]
    OtherChain(String),
}

pub struct Audit<'a> {
    pub source: &'a dyn AccountSource,
    pub witness: Option<Arc<dyn AccountSource>>,
    pub history: Option<&'a dyn History>,
    pub content: Option<&'a ContentStore>,
    pub pool: &'a PgPool,
    pub program: Pubkey,
    /// Before what differs is read again.
    pub pause: Duration,
    /// What differs is written, and not only told.
    pub corrects: bool,
    /// When the audit has to end.
    pub until: Instant,
    /// The list of executions has counters that are not the number of its rows.
    pub wrong_counters: bool,
    pub report: AuditReport,
}

impl Audit<'_> {
    /// A change may be about to be delivered, or another statement to see it.
    pub async fn wait(&self) {
        tokio::time::sleep(self.pause).await;
    }

    /// The time is over.
    pub fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    /// A node of another chain has other accounts, and no row is wrong because of that.
    pub async fn check_chain(&self) -> Result<(), AuditError> {
        let told = self.source.genesis_hash().await?;
        let known = mirror::checkpoint(self.pool).await?.and_then(|checkpoint| checkpoint.genesis_hash);
        if known.is_some_and(|known| known != told) {
            return Err(AuditError::OtherChain(self.source.name()));
        }
        Ok(())
    }

    /// The newest confirmed slot. A read at this slot sees everything that was confirmed before.
    pub async fn newest_slot(&self) -> Result<u64, SourceError> {
        self.source.slot(At::Confirmed).await
    }
}
