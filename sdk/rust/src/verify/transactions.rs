//! The search of transactions about an account.

use std::collections::HashMap;

use anyhow::Context;
use crtx_chain::{
    ChainClient, CommitmentConfig,
    past::{MAX_SIGNATURES_PER_PAGE as PAGE, PastTransaction, SignatureInfo},
};
use futures::future::try_join_all;
use solana_pubkey::Pubkey;

use super::ends::ClosedBytes;

/// Pages that are listed of one account.
const MOST_PAGES: usize = 100;
/// Transactions about one account that one search reads.
const MOST_READ: usize = 1_000;
/// Transactions that are read at the same time.
const AT_ONCE: usize = 8;
/// The clock of the program and the times of blocks differ by less.
const SLACK_S: i64 = 60;

/// The successful transactions about one account. Anybody can add some for a fraction of a cent, so what is looked for is
/// looked for next to the time at which it happened, and the work is bounded. Each page and each transaction is read once.
pub struct History<'a> {
    pub chain: &'a ChainClient,
    pub address: Pubkey,
    pub closed_bytes: ClosedBytes,
    /// Newest first.
    listed: Vec<SignatureInfo>,
    pages: usize,
    /// The node has no older ones.
    is_whole: bool,
    read: HashMap<String, PastTransaction>,
}

/// What was looked for, and when it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen<T> {
    pub what: T,
    pub time: Option<i64>,
}

/// Nothing was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotFound {
    #[error("of {0}")]
    None(usize),
    #[error(
        "looked at {read} of at least {listed}, those next to the known time first; the rest was not looked at, because \
         strangers can add any number"
    )]
    Bound { read: usize, listed: usize },
}

impl<'a> History<'a> {
    pub fn new(chain: &'a ChainClient, address: Pubkey, closed_bytes: ClosedBytes) -> Self {
        Self { chain, address, closed_bytes, listed: Vec::new(), pages: 0, is_whole: false, read: HashMap::new() }
    }

    /// The first result of `look`: for the transactions next to one of these times, else for the newest ones. Times are
    /// in seconds since 1970, and only say where to begin.
    pub async fn first<T>(
        &mut self,
        times: &[i64],
        look: impl Fn(&str, &PastTransaction) -> Option<T>,
    ) -> anyhow::Result<Result<Seen<T>, NotFound>> {
        let mut left = MOST_READ;
        // The node may give no times, or others: then all are listed.
        let oldest = times.iter().min().map(|oldest| oldest.saturating_sub(SLACK_S));
        for since in oldest.into_iter().chain([i64::MIN]) {
            self.list(since).await?;
            if let Some(seen) = self.look(times, &mut left, &look).await? {
                return Ok(Ok(seen));
            }
        }
        let (read, listed) = (MOST_READ.saturating_sub(left), self.listed.len());
        let all = self.is_whole && read == listed;
        Ok(Err(if all { NotFound::None(listed) } else { NotFound::Bound { read, listed } }))
    }

    /// Lists the transactions since that time, as far as the bound allows.
    async fn list(&mut self, since: i64) -> anyhow::Result<()> {
        let mut before: Option<String> = self.listed.last().map(|listed| listed.signature.clone());
        let mut oldest = self.listed.last().and_then(|listed| listed.block_time);
        while !self.is_whole && self.pages < MOST_PAGES && oldest.is_none_or(|oldest| oldest >= since) {
            let page = self
                .chain
                .transactions_about(CommitmentConfig::confirmed(), &self.address, before.as_deref(), PAGE)
                .await?;
            self.pages = self.pages.saturating_add(1);
            self.is_whole = page.len() < PAGE;
            let Some(last) = page.last() else { break };
            (before, oldest) = (Some(last.signature.clone()), last.block_time);
            self.listed.extend(page.into_iter().filter(|listed| !listed.failed));
        }
        Ok(())
    }

    /// Looks at the listed transactions, several at a time, while `left` lasts.
    async fn look<T>(
        &mut self,
        times: &[i64],
        left: &mut usize,
        look: &impl Fn(&str, &PastTransaction) -> Option<T>,
    ) -> anyhow::Result<Option<Seen<T>>> {
        let distance = |listed: &SignatureInfo| {
            let of = |time: i64| times.iter().map(move |known| known.abs_diff(time)).min();
            listed.block_time.and_then(of).unwrap_or(u64::MAX)
        };
        let mut nearest = self.listed.clone();
        nearest.sort_by_key(distance);
        nearest.truncate(MOST_READ);
        // The first is most often the one.
        let (first, rest) = nearest.split_at(nearest.len().min(1));
        for some in std::iter::once(first).chain(rest.chunks(AT_ONCE)) {
            self.read_all(some, left).await?;
            for SignatureInfo { signature, block_time, .. } in some {
                let Some(known) = self.read.get(signature) else { return Ok(None) };
                if let Some(what) = look(signature, known).filter(|_| !known.failed) {
                    return Ok(Some(Seen { what, time: *block_time }));
                }
            }
        }
        Ok(None)
    }

    /// Reads those that are not known yet.
    async fn read_all(&mut self, some: &[SignatureInfo], left: &mut usize) -> anyhow::Result<()> {
        let unknown = some.iter().filter(|listed| !self.read.contains_key(&listed.signature)).take(*left);
        let unknown: Vec<String> = unknown.map(|listed| listed.signature.clone()).collect();
        *left = left.saturating_sub(unknown.len());
        let chain = self.chain;
        let reading = unknown.into_iter().map(|signature| async move {
            let found = chain.past_transaction(CommitmentConfig::confirmed(), &signature).await?;
            let found = found.with_context(|| format!("the RPC node lists {signature} but does not have it"))?;
            anyhow::Ok((signature, found))
        });
        self.read.extend(try_join_all(reading).await?);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
