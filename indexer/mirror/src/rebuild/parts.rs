//! What the files of a rebuild share: its parts, its progress, its errors.

use std::{sync::Arc, time::Duration};

use crtx_chain::ChainError;
use crtx_store::{
    PgPool, StoreError,
    rebuild::{self as store, Progress},
};
use solana_pubkey::Pubkey;

use crate::{
    history::History,
    source::{AccountSource, SourceError},
};

#[derive(Debug, thiserror::Error)]
pub enum RebuildError {
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error(transparent)]
    Chain(#[from] ChainError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the node lists the transaction {0} but does not have it; a rebuild needs a node that keeps all of them")]
    Forgotten(String),
    #[error("the database mirrors the chain {database}, and the node belongs to the chain {node}")]
    OtherChain { database: String, node: String },
}

/// What a rebuild did so far, to be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// What it does now.
    pub doing: &'static str,
    /// Transactions, or accounts while it reads the snapshot.
    pub done: u64,
    /// 0: not known yet.
    pub total: u64,
    pub elapsed: Duration,
    /// Done since this process began, for the rate.
    pub since_start: u64,
}

impl Step {
    /// Done per second.
    pub fn rate(&self) -> f64 {
        self.since_start as f64 / self.elapsed.as_secs_f64().max(0.001)
    }

    /// The time that is left at this rate.
    pub fn left(&self) -> Option<Duration> {
        let left = self.total.checked_sub(self.done).filter(|_| self.total > 0 && self.since_start > 0)?;
        Duration::try_from_secs_f64(left as f64 / self.rate()).ok()
    }
}

/// One rebuild.
pub struct Rebuild<'a> {
    pub source: &'a dyn AccountSource,
    pub history: Arc<dyn History>,
    pub pool: &'a PgPool,
    pub program: Pubkey,
    /// Called after each step.
    pub show: &'a (dyn Fn(Step) + Sync),
}

impl Rebuild<'_> {
    pub(super) async fn progress(&self) -> Result<Progress, RebuildError> {
        let progress = store::progress(self.pool).await?;
        Ok(progress.ok_or(StoreError::Corrupt { what: "rebuild", value: "it is gone".to_owned() })?)
    }
}
