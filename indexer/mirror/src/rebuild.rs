//! Rebuilds the mirror from the chain: closed accounts from the events of their closings, and what lives from a snapshot.
//!
//! It works in rounds: each lists the transactions of the program that no round before had, newest first, then reads them,
//! oldest first. It can be stopped at any time and goes on where it was. It writes like the mirror does, so it may run
//! while services use the database.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crtx_chain::{
    ChainError,
    past::{MAX_SIGNATURES_PER_PAGE, PastTransaction},
};
use crtx_store::{
    PgPool, StoreError,
    mirror::{self, Batch},
    rebuild::{self as store, RebuildProgress},
};
use futures::{StreamExt, TryStreamExt};
use solana_pubkey::Pubkey;

use crate::{
    closings::{event::closed_accounts, search},
    history::History,
    snapshots::next_item,
    source::{AccountSource, At, SnapshotItem, SourceError},
    sync,
};

/// After a round with at most so many transactions the snapshot is read.
const LAST_ROUND: u64 = 1_000;
/// Transactions that are read before progress is stored.
const TRANSACTIONS_PER_STEP: u32 = 200;
const READS_AT_ONCE: usize = 16;

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
pub struct RebuildStep {
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

impl RebuildStep {
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
    pub show: &'a (dyn Fn(RebuildStep) + Sync),
}

/// What a whole rebuild found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rebuilt {
    pub transactions: u64,
    pub closings: u64,
    pub accounts: u64,
}

impl Rebuild<'_> {
    /// Runs to the end.
    pub async fn run(&self) -> Result<Rebuilt, RebuildError> {
        let genesis = self.check_chain().await?;
        store::begin(self.pool, &genesis).await?;
        let began = Instant::now();
        // A long round leaves many new transactions for the next one.
        while self.round(began).await? > LAST_ROUND {}
        // What was closed before the finalized snapshot is in the last round; what is closed later is in the snapshot, and
        // the indexer notices it.
        let accounts = self.snapshot(&genesis).await?;
        self.round(began).await?;
        store::finish(self.pool).await?;
        let RebuildProgress { read: transactions, closings, .. } = self.progress().await?;
        Ok(Rebuilt { transactions, closings, accounts })
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
        loop {
            match next_item(&self.source.name(), &mut snapshot).await? {
                SnapshotItem::Page { slot, accounts: page } => {
                    accounts = accounts.saturating_add(u64::try_from(page.len()).unwrap_or(u64::MAX));
                    let mut batch = Batch::default();
                    for (address, data) in page {
                        sync::push(&mut batch, &address, slot, data)?;
                    }
                    mirror::apply_differing(self.pool, batch).await?;
                    let doing = "reading the accounts that live";
                    let elapsed = began.elapsed();
                    (self.show)(RebuildStep { doing, done: accounts, total: 0, elapsed, since_start: accounts });
                }
                SnapshotItem::End { slot } => {
                    mirror::snapshot_applied(self.pool, slot, Some(genesis)).await?;
                    return Ok(accounts);
                }
            }
        }
    }

    async fn progress(&self) -> Result<RebuildProgress, RebuildError> {
        let progress = store::progress(self.pool).await?;
        Ok(progress.ok_or_else(|| StoreError::Corrupt { what: "rebuild", value: "it is gone".to_owned() })?)
    }

    /// Returns how many transactions it listed or read.
    async fn round(&self, began: Instant) -> Result<u64, RebuildError> {
        let before = self.progress().await?;
        self.list(began).await?;
        while self.read_some(began, before.read).await? {}
        store::end_round(self.pool).await?;
        let after = self.progress().await?;
        let (listed, read) = (after.transactions.abs_diff(before.transactions), after.read.abs_diff(before.read));
        Ok(listed.max(read))
    }

    /// Lists transactions until one is known, or there are no more.
    async fn list(&self, began: Instant) -> Result<(), RebuildError> {
        loop {
            let progress = self.progress().await?;
            if progress.listed {
                return Ok(());
            }
            let cursor = progress.cursor.as_deref();
            let page = self.history.about(&self.program, cursor, MAX_SIGNATURES_PER_PAGE).await?;
            let known = page.iter().position(|listed| Some(&listed.signature) == progress.known.as_ref());
            let new = page.get(..known.unwrap_or(page.len())).unwrap_or_default();
            let all = known.is_some() || page.len() < MAX_SIGNATURES_PER_PAGE;
            let went_through = new.iter().filter(|listed| !listed.failed);
            let signatures: Vec<String> = went_through.map(|listed| listed.signature.clone()).collect();
            let (first, last) =
                (new.first().map(|listed| &*listed.signature), new.last().map(|listed| &*listed.signature));
            store::note_page(self.pool, &signatures, first, last, all).await?;
            let done = progress.transactions.saturating_add(u64::try_from(signatures.len()).unwrap_or(u64::MAX));
            let elapsed = began.elapsed();
            (self.show)(RebuildStep { doing: "listing transactions", done, total: 0, elapsed, since_start: done });
        }
    }

    /// Reads the oldest transactions that are left, and writes what they closed. A step that is repeated writes the same
    /// again. False: there are none.
    async fn read_some(&self, began: Instant, read_before: u64) -> Result<bool, RebuildError> {
        let batch = store::next(self.pool, TRANSACTIONS_PER_STEP).await?;
        let (Some(&(oldest, _)), Some(&(newest, _))) = (batch.first(), batch.last()) else { return Ok(false) };
        let reads: Vec<_> = batch.into_iter().map(|(_, signature)| self.fetch(signature)).collect();
        let read: Vec<(String, PastTransaction)> =
            futures::stream::iter(reads).buffered(READS_AT_ONCE).try_collect().await?;
        let mut closings = 0_u64;
        for (signature, past) in &read {
            let closed = closed_accounts(past, &self.program);
            search::keep(self.pool, &closed, past.slot, signature).await?;
            closings = closings.saturating_add(u64::try_from(closed.len()).unwrap_or(u64::MAX));
        }
        store::note_read(self.pool, (oldest, newest), closings).await?;
        let RebuildProgress { read: done, transactions: total, .. } = self.progress().await?;
        let since_start = done.saturating_sub(read_before);
        (self.show)(RebuildStep { doing: "reading transactions", done, total, elapsed: began.elapsed(), since_start });
        Ok(true)
    }

    async fn fetch(&self, signature: String) -> Result<(String, PastTransaction), RebuildError> {
        match self.history.transaction(&signature).await? {
            Some(past) => Ok((signature, past)),
            None => Err(RebuildError::Forgotten(signature)),
        }
    }
}
