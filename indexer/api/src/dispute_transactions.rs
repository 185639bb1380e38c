//! The transactions of a dispute, found on the chain: its account does not name them.
//!
//! Anybody can send transactions that name the account, so those near the known times are looked at first, only a
//! bounded number of them, and each must call the program about this dispute.

use std::time::Duration;

use agent_marketplace::instruction::{AnswerDispute, ExpireDispute, OpenDispute, ResolveDispute};
use anchor_lang::Discriminator;
use crtx_chain::{ChainClient, ChainError, CommitmentConfig, past::SignatureInfo};
use crtx_store::reads::{DisputeDetails, DisputeTransactions, Timestamp};
use solana_pubkey::Pubkey;
use tokio::time::timeout;

use crate::{deployment::Deployment, kept::Kept};

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

/// When it was raised, answered and resolved, by the chain's clock in seconds since 1970.
type Moments = [Option<i64>; 3];

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
    pub async fn of(&self, dispute: &DisputeDetails) -> Option<DisputeTransactions> {
        let moments = [Some(dispute.raised_at), dispute.answered_at, dispute.resolved_at];
        let moments = moments.map(|at| at.map(|Timestamp(at)| at.timestamp()));
        let read = async {
            let found = timeout(PATIENCE, self.search(&dispute.dispute, moments)).await;
            let found = found.ok().and_then(Result::ok);
            let is_complete = found.as_ref().is_some_and(|found| {
                let found = [&found.raised, &found.answered, &found.resolved].map(Option::is_some);
                found == moments.map(|moment| moment.is_some())
            });
            Ok((found, if is_complete { COMPLETE_AGE } else { INCOMPLETE_AGE }))
        };
        self.kept.get((dispute.dispute, moments), read).await.ok().flatten()
    }

    async fn search(
        &self,
        dispute: &Pubkey,
        [raised_at, answered_at, resolved_at]: Moments,
    ) -> Result<DisputeTransactions, ChainError> {
        let mentions = self.mentions(dispute).await?;
        let ends = [ResolveDispute::DISCRIMINATOR, ExpireDispute::DISCRIMINATOR];
        Ok(DisputeTransactions {
            raised: self.find(&mentions, dispute, raised_at, &[OpenDispute::DISCRIMINATOR]).await?,
            answered: self.find(&mentions, dispute, answered_at, &[AnswerDispute::DISCRIMINATOR]).await?,
            resolved: self.find(&mentions, dispute, resolved_at, &ends).await?,
        })
    }

    /// Transactions that name the account and did not fail.
    async fn mentions(&self, dispute: &Pubkey) -> Result<Vec<SignatureInfo>, ChainError> {
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
        mentions: &[SignatureInfo],
        dispute: &Pubkey,
        at: Option<i64>,
        discriminators: &[&[u8]],
    ) -> Result<Option<String>, ChainError> {
        let Some(at) = at else { return Ok(None) };
        let mut nearest: Vec<&SignatureInfo> = mentions.iter().collect();
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
