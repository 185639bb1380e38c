//! Searches for the closing of each account that the mirror found closed, and makes its row equal to the last bytes. So a
//! row that missed the last change before the closing is repaired.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crtx_chain::ChainError;
use crtx_store::{
    PgPool, StoreError,
    closings::{self as store, Closing, WantedClosing},
    mirror::{self, Batch},
    transaction,
};
use futures::StreamExt;
use solana_pubkey::Pubkey;

use super::event::{ClosedAccount, closed_accounts};
use crate::{history::History, pauses::doubled, sync};

/// Between two looks for searches that are due.
const ROUND_INTERVAL: Duration = Duration::from_secs(5);
const WANTED_PER_ROUND: u32 = 100;
const SEARCHES_AT_ONCE: usize = 4;
const PROOFS_AT_ONCE: usize = 8;
/// Transactions of one account that a search looks at. The closing is among the last, unless strangers name a closed
/// account in transactions of their own.
const MAX_LISTED: usize = 1_000;
const LISTED_PER_PAGE: usize = 50;
const FIRST_RETRY: Duration = Duration::from_secs(10);
const LAST_RETRY: Duration = Duration::from_secs(3_600);
/// The mirror finds a closing before it is finalized.
const FINALITY: Duration = Duration::from_secs(30);
/// Searches in a row that find nothing: a node that hides accounts has no closings of them.
const MOST_MISSES: usize = 24;
/// How long one search for many closings may take. What it did not reach is searched for the next time.
const BUDGET: Duration = Duration::from_secs(60);
/// The search believes neither slot.
const TWO_SLOTS: &str = "the node names two slots for one transaction";
/// The node keeps no transactions, or lists one that it does not keep.
pub const NO_HISTORY: &str = "the node does not keep the transactions that would prove it";
const NEVER_NAMED: &str = "no transaction on the chain names this account";
const NOT_CLOSED: &str = "no transaction on the chain closes this account";

pub struct Closer {
    history: Arc<dyn History>,
    pool: PgPool,
    program: Pubkey,
}

impl Closer {
    pub fn new(history: Arc<dyn History>, pool: PgPool, program: Pubkey) -> Self {
        Self { history, pool, program }
    }

    /// Searches while this process leads.
    pub async fn run(self, leads: impl Fn() -> bool) {
        loop {
            tokio::time::sleep(ROUND_INTERVAL).await;
            if leads()
                && let Err(error) = self.round().await
            {
                tracing::warn!(cause = %error, "closings could not be searched for");
            }
        }
    }

    /// Runs all searches that are due, at most [`WANTED_PER_ROUND`]. Returns how many closings were found.
    pub async fn round(&self) -> Result<usize, StoreError> {
        let wanted = store::wanted(&self.pool, WANTED_PER_ROUND).await?;
        let found: Vec<Result<bool, StoreError>> = futures::stream::iter(wanted)
            .map(async |wanted| self.search_and_note(&wanted).await)
            .buffer_unordered(SEARCHES_AT_ONCE)
            .collect()
            .await;
        let found: Vec<bool> = found.into_iter().collect::<Result<_, _>>()?;
        Ok(found.into_iter().filter(|found| *found).count())
    }

    async fn search_and_note(&self, wanted: &WantedClosing) -> Result<bool, StoreError> {
        let address = &wanted.address;
        let missed = match closing_of(self.history.as_ref(), &self.program, address).await {
            Ok(Ok(Proof { closed, slot, signature })) => {
                keep(&self.pool, &closed, slot, &signature).await?;
                return Ok(true);
            }
            // A closing that is not finalized yet is searched for again, and the audit reports no fault.
            Ok(Err(NEVER_NAMED | NOT_CLOSED)) if wanted.age < FINALITY => Ok(None),
            Ok(Err(NEVER_NAMED)) => {
                // A node that keeps nothing at all proves nothing.
                let any = self.history.about(&self.program, None, 1).await;
                any.map(|any| Some(if any.is_empty() { NO_HISTORY } else { NEVER_NAMED }))
            }
            Ok(Err(reason)) => Ok(Some(reason)),
            Err(error) => Err(error),
        };
        let reason = missed.unwrap_or_else(|error| {
            tracing::debug!(%address, %error, "a closing could not be searched for");
            None
        });
        let pause = if reason.is_some() { doubled(FIRST_RETRY, wanted.attempts, LAST_RETRY) } else { FIRST_RETRY };
        store::not_found(&self.pool, address, reason, pause).await?;
        Ok(false)
    }
}

/// A transaction that closed an account, and whatever it closed together with it.
#[derive(Clone, Debug)]
pub struct Proof {
    pub closed: Vec<ClosedAccount>,
    pub slot: u64,
    pub signature: String,
}

/// What a search for a closing found, or why it found nothing.
type Search = Result<Proof, &'static str>;

/// Looks at an account's transactions, newest first, until one closes it.
async fn closing_of(history: &dyn History, program: &Pubkey, address: &Pubkey) -> Result<Search, ChainError> {
    let (mut before, mut looked_at): (Option<String>, usize) = (None, 0);
    loop {
        let page = history.about(address, before.as_deref(), LISTED_PER_PAGE).await?;
        let full = page.len() >= LISTED_PER_PAGE;
        looked_at = looked_at.saturating_add(page.len());
        before = page.last().map(|listed| listed.signature.clone());
        for listed in page.into_iter().filter(|listed| !listed.failed) {
            let Some(transaction) = history.transaction(&listed.signature).await? else {
                return Ok(Err(NO_HISTORY));
            };
            if transaction.slot != listed.slot {
                return Ok(Err(TWO_SLOTS));
            }
            let closed = closed_accounts(&transaction, program);
            if closed.iter().any(|closed| closed.address == *address) {
                return Ok(Ok(Proof { closed, slot: transaction.slot, signature: listed.signature }));
            }
        }
        if !full || looked_at >= MAX_LISTED {
            return Ok(Err(if looked_at == 0 { NEVER_NAMED } else { NOT_CLOSED }));
        }
    }
}

/// Of these accounts, those whose newest closing on the chain is the one that `proves` wants.
pub async fn closed(
    history: &dyn History,
    program: &Pubkey,
    addresses: &[Pubkey],
    proves: impl Fn(&Pubkey, &Proof) -> bool,
) -> Vec<Pubkey> {
    let began = Instant::now();
    let (mut closed, mut misses) = (Vec::new(), 0_usize);
    for chunk in addresses.chunks(PROOFS_AT_ONCE) {
        let searches = chunk.iter().map(|address| closing_of(history, program, address));
        for (address, found) in chunk.iter().zip(futures::future::join_all(searches).await) {
            match found {
                Ok(Ok(proof)) if proves(address, &proof) => {
                    misses = 0;
                    closed.push(*address);
                    continue;
                }
                Ok(_) => {}
                Err(error) => tracing::debug!(%address, %error, "a closing could not be searched for"),
            }
            misses = misses.saturating_add(1);
        }
        if misses >= MOST_MISSES || began.elapsed() > BUDGET {
            break;
        }
    }
    closed
}

/// Keeps what a transaction closed, and makes the rows equal to it. One row after the other: no two locks are held.
pub async fn keep(pool: &PgPool, closed: &[ClosedAccount], slot: u64, signature: &str) -> Result<(), StoreError> {
    for account in closed {
        let ClosedAccount { address, kind, data, closed_at } = account;
        let signature = signature.to_owned();
        let closing = Closing { slot, signature, data: data.clone(), closed_at: *closed_at };
        let mut last = Batch::default();
        sync::push(&mut last, address, slot, data.clone())?;
        let mut connection = transaction::begin(pool).await?;
        if store::store(&mut *connection, address, *kind, &closing).await? {
            if mirror::close_with(&mut connection, last, slot).await? {
                tracing::warn!(%address, slot, "the row of a closed account was not its last state; it is repaired");
            }
            store::found(&mut connection, address).await?;
        }
        connection.commit().await?;
    }
    Ok(())
}
