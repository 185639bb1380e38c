//! One round of a rebuild: lists the transactions of the program that no round before had, newest first, then reads them,
//! oldest first.

use std::time::Instant;

use crtx_chain::past::{MAX_SIGNATURES_PER_PAGE, PastTransaction};
use crtx_store::{
    rebuild::{self as store, Found},
    transaction,
};
use futures::{StreamExt, TryStreamExt};

use super::{
    history::Facts,
    parts::{Rebuild, RebuildError, Step},
};
use crate::closings::{event::closed_accounts, search};

/// Transactions that are read before progress is stored.
const TRANSACTIONS_PER_STEP: u32 = 200;
const READS_AT_ONCE: usize = 16;

pub struct Walk<'a> {
    pub rebuild: &'a Rebuild<'a>,
    pub began: Instant,
}

impl Walk<'_> {
    /// Returns how many transactions it listed or read.
    pub async fn round(&self) -> Result<u64, RebuildError> {
        let before = self.rebuild.progress().await?;
        self.list().await?;
        while self.read_some(before.read).await? {}
        store::end_round(self.rebuild.pool).await?;
        let after = self.rebuild.progress().await?;
        let (listed, read) = (after.transactions.abs_diff(before.transactions), after.read.abs_diff(before.read));
        Ok(listed.max(read))
    }

    /// Lists transactions until one is known, or there are no more.
    async fn list(&self) -> Result<(), RebuildError> {
        let Rebuild { history, pool, program, show, .. } = self.rebuild;
        loop {
            let progress = self.rebuild.progress().await?;
            if progress.listed {
                return Ok(());
            }
            let page = history.about(program, progress.cursor.as_deref(), MAX_SIGNATURES_PER_PAGE).await?;
            let known = page.iter().position(|listed| Some(&listed.signature) == progress.known.as_ref());
            let new = page.get(..known.unwrap_or(page.len())).unwrap_or_default();
            let all = known.is_some() || page.len() < MAX_SIGNATURES_PER_PAGE;
            let went_through = new.iter().filter(|listed| !listed.failed);
            let signatures: Vec<String> = went_through.map(|listed| listed.signature.clone()).collect();
            let name = |listed: Option<&crtx_chain::past::Listed>| listed.map(|listed| listed.signature.clone());
            let (first, last) = (name(new.first()), name(new.last()));
            store::note_page(pool, &signatures, first.as_deref(), last.as_deref(), all).await?;
            let done = progress.transactions.saturating_add(u64::try_from(signatures.len()).unwrap_or(u64::MAX));
            let elapsed = self.began.elapsed();
            show(Step { doing: "listing transactions", done, total: 0, elapsed, since_start: done });
        }
    }

    /// Reads the oldest transactions that are left. False: there are none.
    async fn read_some(&self, read_before: u64) -> Result<bool, RebuildError> {
        let Rebuild { pool, show, .. } = self.rebuild;
        let batch = store::next(*pool, TRANSACTIONS_PER_STEP).await?;
        let (Some((oldest, _)), Some((newest, _))) = (batch.first().cloned(), batch.last().cloned()) else {
            return Ok(false);
        };
        let reads: Vec<_> = batch.into_iter().map(|(_, signature)| self.fetch(signature)).collect();
        let read: Vec<(String, PastTransaction)> =
            futures::stream::iter(reads).buffered(READS_AT_ONCE).try_collect().await?;
        let found = self.keep(&read).await?;
        let mut connection = transaction::begin(pool).await?;
        for (_, past) in &read {
            Facts::of(past, &self.rebuild.program).store(&mut connection).await?;
        }
        store::note_read(&mut connection, (oldest, newest), found).await?;
        connection.commit().await.map_err(crtx_store::StoreError::from)?;
        let progress = self.rebuild.progress().await?;
        show(Step {
            doing: "reading transactions",
            done: progress.read,
            total: progress.transactions,
            elapsed: self.began.elapsed(),
            since_start: progress.read.saturating_sub(read_before),
        });
        Ok(true)
    }

    async fn fetch(&self, signature: String) -> Result<(String, PastTransaction), RebuildError> {
        match self.rebuild.history.transaction(&signature).await? {
            Some(past) => Ok((signature, past)),
            None => Err(RebuildError::Forgotten(signature)),
        }
    }

    /// Writes what the transactions closed. A step that is repeated writes the same again.
    async fn keep(&self, read: &[(String, PastTransaction)]) -> Result<Found, RebuildError> {
        let mut found = Found::default();
        for (signature, past) in read {
            let closed = closed_accounts(past, &self.rebuild.program);
            search::keep(self.rebuild.pool, &closed, past.slot, signature).await?;
            found.closings = found.closings.saturating_add(u64::try_from(closed.len()).unwrap_or(u64::MAX));
            let openings = Facts::of(past, &self.rebuild.program).openings();
            found.openings = found.openings.saturating_add(u64::try_from(openings).unwrap_or(u64::MAX));
        }
        Ok(found)
    }
}
