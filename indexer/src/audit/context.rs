//! What every check of an audit needs.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crtx_content::ContentStore;
use crtx_store::{PgPool, StoreError};
use solana_pubkey::Pubkey;

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
}

/// The parts of one audit.
pub struct Context<'a> {
    pub source: &'a dyn AccountSource,
    pub witness: Option<Arc<dyn AccountSource>>,
    pub history: Option<&'a dyn History>,
    pub content: Option<&'a ContentStore>,
    pub pool: &'a PgPool,
    pub program: Pubkey,
    /// Before what differs is read again.
    pub pause: Duration,
    /// When the audit has to end.
    pub until: Instant,
}

impl Context<'_> {
    /// Between two pages, for as long as the last one took: changes of the chain come first.
    pub async fn rest(&self, page_began: Instant) {
        tokio::time::sleep(page_began.elapsed()).await;
    }

    /// The time is over.
    pub fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    /// The newest confirmed slot. A read at this slot sees everything that was confirmed before.
    pub async fn newest_slot(&self) -> Result<u64, SourceError> {
        self.source.slot(At::Confirmed).await
    }
}
