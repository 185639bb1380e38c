//! The transactions of a dispute, found on the chain: its account does not name them.
//!
//! Anybody can send transactions that name the account, so those near the known times are looked at first, only a
//! bounded number of them, and each must call the program about this dispute.

use std::time::Duration;

use agent_marketplace::instruction::{AnswerDispute, ExpireDispute, OpenDispute, ResolveDispute};
use anchor_lang::Discriminator;
use crtx_chain::{ChainClient, ChainError, CommitmentConfig, past::Listed};
use serde::Serialize;
use solana_pubkey::Pubkey;
use tokio::time::timeout;
use utoipa::ToSchema;

use crate::{kept::Kept, state::Deployment};

/// Longest search.
const PATIENCE: Duration = Duration::from_secs(4);
/// Pages of transactions that name the account.
const MOST_PAGES: usize = 5;
const PAGE: usize = 200;
/// Transactions that are looked at, for each of the three.
const MOST_LOOKED_AT: usize = 8;
/// How long an answer is used that may become more complete.
const INCOMPLETE_AGE: Duration = Duration::from_secs(10);
const COMPLETE_AGE: Duration = Duration::from_secs(3_600);
const MOST_KEPT: u64 = 1_000;

/// When something happened, by the chain's clock in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Moments {
    pub raised_at: i64,
    pub answered_at: Option<i64>,
    pub resolved_at: Option<i64>,
}

/// Signatures of a dispute's transactions. null: it has not happened, or the transaction was not found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct DisputeTransactions {
    #[schema(required)]
    pub raised: Option<String>,
    #[schema(required)]
    pub answered: Option<String>,
    #[schema(required)]
    pub resolved: Option<String>,
}

impl DisputeTransactions {
    /// Whether each transaction was found that there has to be.
    const fn are_all(&self, moments: Moments) -> bool {
        self.raised.is_some()
            && self.answered.is_some() == moments.answered_at.is_some()
            && self.resolved.is_some() == moments.resolved_at.is_some()
    }
}

/// Finds transactions and remembers them.
pub struct DisputeHistory {
    chain: ChainClient,
    program_id: Pubkey,
    kept: Kept<(Pubkey, Moments), Option<DisputeTransactions>>,
}

impl DisputeHistory {
    pub fn new(deployment: &Deployment) -> Self {
        let chain = ChainClient::of_urls(&deployment.rpc_urls, PATIENCE);
        Self { chain, program_id: deployment.addresses.program_id(), kept: Kept::new(MOST_KEPT) }
    }

    /// The transactions of a dispute. `None` if the chain did not answer.
    pub async fn of(&self, dispute: Pubkey, moments: Moments) -> Option<DisputeTransactions> {
        let read = async {
            let found = timeout(PATIENCE, self.search(&dispute, moments)).await;
            let found = found.ok().and_then(Result::ok);
            let age =
                if found.as_ref().is_some_and(|found| found.are_all(moments)) { COMPLETE_AGE } else { INCOMPLETE_AGE };
            Ok((found, age))
        };
        self.kept.get((dispute, moments), read).await.ok().flatten()
    }

    async fn search(&self, dispute: &Pubkey, moments: Moments) -> Result<DisputeTransactions, ChainError> {
        let mentions = self.mentions(dispute).await?;
        let ends = [ResolveDispute::DISCRIMINATOR, ExpireDispute::DISCRIMINATOR];
        Ok(DisputeTransactions {
            raised: self.find(&mentions, dispute, Some(moments.raised_at), &[OpenDispute::DISCRIMINATOR]).await?,
            answered: self.find(&mentions, dispute, moments.answered_at, &[AnswerDispute::DISCRIMINATOR]).await?,
            resolved: self.find(&mentions, dispute, moments.resolved_at, &ends).await?,
        })
    }

    /// Transactions that name the account and did not fail.
    async fn mentions(&self, dispute: &Pubkey) -> Result<Vec<Listed>, ChainError> {
        let mut all = Vec::new();
        let mut before: Option<String> = None;
        for _ in 0..MOST_PAGES {
            let confirmed = CommitmentConfig::confirmed();
            let page = self.chain.transactions_about(confirmed, dispute, before.as_deref(), PAGE).await?;
            let full = page.len() >= PAGE;
            before = page.last().map(|mention| mention.signature.clone());
            all.extend(page.into_iter().filter(|mention| !mention.failed));
            if !full {
                break;
            }
        }
        Ok(all)
    }

    /// The transaction nearest to `at` that calls one of the instructions about the dispute.
    async fn find(
        &self,
        mentions: &[Listed],
        dispute: &Pubkey,
        at: Option<i64>,
        discriminators: &[&[u8]],
    ) -> Result<Option<String>, ChainError> {
        let Some(at) = at else { return Ok(None) };
        let mut nearest: Vec<&Listed> = mentions.iter().collect();
        nearest.sort_by_key(|mention| mention.block_time.map_or(u64::MAX, |time| time.abs_diff(at)));
        for mention in nearest.into_iter().take(MOST_LOOKED_AT) {
            let found = self.chain.past_transaction(CommitmentConfig::confirmed(), &mention.signature).await?;
            let is_it = found.iter().flat_map(|found| &found.instructions).any(|called| {
                called.program_id == self.program_id
                    && called.accounts.contains(dispute)
                    && discriminators.iter().any(|discriminator| called.data.starts_with(discriminator))
            });
            if is_it {
                return Ok(Some(mention.signature.clone()));
            }
        }
        Ok(None)
    }
}
