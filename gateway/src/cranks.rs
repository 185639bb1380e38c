//! What a gateway does on its own, without a call that asks for it: refunds executions that are past their deadline
//! on chain, whatever its database says, and writes results to the content store that could not be written before.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use agent_marketplace::state::{ExecutionRecord, ExecutionStatus};
use anchor_lang::Discriminator;
use crtx_chain::{CommitmentConfig, Layout, Outcome, SignedTransaction, Simulation, filter::AccountFilter};
use futures::StreamExt;
use solana_pubkey::Pubkey;
use solana_signer::Signer;
use tokio_util::sync::CancellationToken;

use crate::{
    engine::{EngineError, backoff, refunded_elsewhere},
    state::Parts,
};

/// After the deadline the worker of the execution has this long for its own refund.
const AFTER_DEADLINE_S: i64 = 10;
/// Refunds sent at a time.
const AT_ONCE: usize = 8;
/// Refunds of one sweep. The rest waits for the next.
const MOST_PER_SWEEP: usize = 1_000;
/// Executions whose refused refunds are remembered.
const MOST_REMEMBERED: usize = 10_000;
const FIRST_PAUSE: Duration = Duration::from_secs(60);
const LONGEST_PAUSE: Duration = Duration::from_secs(6 * 3_600);
/// How long a refund is waited for.
const PATIENCE: Duration = Duration::from_secs(30);
/// Results written to the content store in one go.
const CONTENT_AT_ONCE: u32 = 16;

/// Finds and refunds overdue executions, and remembers which refunds the chain refused.
#[derive(Default)]
pub(crate) struct Sweeper {
    refused: HashMap<Pubkey, Refused>,
}

struct Refused {
    times: u32,
    not_before: Instant,
}

impl Sweeper {
    /// One search of the chain. Errors are logged: the next sweep tries again.
    pub async fn sweep(&mut self, parts: &Parts, shutdown: &CancellationToken) {
        let overdue = match overdue(parts).await {
            Ok(overdue) => overdue,
            Err(error) => {
                tracing::warn!(%error, "the chain could not be searched for overdue executions");
                return;
            }
        };
        let now = Instant::now();
        self.refused.retain(|address, _| overdue.iter().any(|(overdue, _)| overdue == address));
        let due: Vec<_> = overdue
            .into_iter()
            .filter(|(address, _)| self.refused.get(address).is_none_or(|refused| refused.not_before <= now))
            .map(|(address, record)| (address, record, self.refused.get(&address).map_or(0, |refused| refused.times)))
            .take(MOST_PER_SWEEP)
            .collect();
        if due.is_empty() {
            return;
        }
        tracing::info!(executions = due.len(), "refunding executions that are past their deadline");
        let refunds = futures::stream::iter(due)
            .take_until(shutdown.cancelled())
            .map(|(address, record, refusals)| async move {
                (address, refusals, refund(parts, &address, &record, refusals).await)
            })
            .buffer_unordered(AT_ONCE);
        let mut refunds = std::pin::pin!(refunds);
        while let Some((address, refusals, refunded)) = refunds.next().await {
            match refunded {
                Ok(Outcome::Confirmed { error: None, .. }) => drop(self.refused.remove(&address)),
                Ok(Outcome::Confirmed { error: Some(error), .. }) => {
                    tracing::warn!(record = %address, %error, "the chain refused the refund of an overdue execution");
                    self.remember(address, refusals);
                }
                Ok(Outcome::Expired | Outcome::Unknown) => {}
                Err(error) => tracing::warn!(record = %address, %error, "an overdue execution was not refunded"),
            }
        }
    }

    fn remember(&mut self, address: Pubkey, refusals: u32) {
        if self.refused.len() >= MOST_REMEMBERED && !self.refused.contains_key(&address) {
            return;
        }
        let pause = backoff(refusals, FIRST_PAUSE, LONGEST_PAUSE);
        let not_before = Instant::now().checked_add(pause).unwrap_or_else(Instant::now);
        self.refused.insert(address, Refused { times: refusals.saturating_add(1), not_before });
    }
}

/// Open executions whose rent this gateway paid, past their deadline by the chain's own clock. Oldest first.
async fn overdue(parts: &Parts) -> Result<Vec<(Pubkey, ExecutionRecord)>, EngineError> {
    let field = |offset: usize| offset.saturating_add(ExecutionRecord::DISCRIMINATOR.len());
    let filters = [
        AccountFilter::DataSize(u64::try_from(ExecutionRecord::SPACE).unwrap_or(u64::MAX)),
        AccountFilter::Bytes { offset: 0, bytes: ExecutionRecord::DISCRIMINATOR.to_vec() },
        AccountFilter::Bytes {
            offset: field(std::mem::offset_of!(ExecutionRecord, rent_payer)),
            bytes: parts.config.keypair.pubkey().to_bytes().to_vec(),
        },
        AccountFilter::Bytes {
            offset: field(std::mem::offset_of!(ExecutionRecord, status)),
            bytes: vec![ExecutionStatus::Open as u8],
        },
    ];
    let program = parts.instructions.addresses.program_id();
    let found = parts.chain.program_accounts_filtered(&program, &filters, CommitmentConfig::confirmed()).await?;
    let latest = parts.chain_now_unix_s().await?.saturating_sub(AFTER_DEADLINE_S);
    let mut overdue: Vec<_> = found
        .value
        .into_iter()
        .filter_map(|(address, account)| Some((address, ExecutionRecord::decode(&account.data).ok()?)))
        .filter(|(_, record)| record.status() == Some(ExecutionStatus::Open) && record.deadline_unix_s < latest)
        .collect();
    overdue.sort_by_key(|(_, record)| record.deadline_unix_s);
    Ok(overdue)
}

/// Refunds one record. Nothing is stored before it is sent: a refund can land once at most, the record says whether
/// it did, and the next sweep reads the record again.
async fn refund(
    parts: &Parts,
    address: &Pubkey,
    record: &ExecutionRecord,
    refusals: u32,
) -> Result<Outcome, EngineError> {
    let account = parts.refund_account(&record.refund_owner, refusals).await;
    let gateway = &*parts.config.keypair;
    let blockhash = parts.chain.recent_blockhash().await?;
    let mut instructions = parts.refund_preparation(&record.refund_owner, account);
    instructions.push(parts.instructions.refund_expired_execution(&record.agent, address, &account.address()));
    let transaction = SignedTransaction::sign(&instructions, &[gateway], blockhash)?;
    // After a refusal the next one is found out before it costs a fee.
    if refusals > 0
        && let Simulation::Refused(refused) = parts.chain.simulate(&transaction).await
    {
        return Ok(Outcome::Confirmed { slot: 0, error: Some(refused.error().clone()) });
    }
    let outcome = parts.chain.send_and_confirm(&transaction, PATIENCE).await;
    if matches!(outcome, Outcome::Confirmed { error: None, .. }) {
        parts.executions.follow_refund(address, &refunded_elsewhere()).await?;
        parts.mirror.changed(&[*address, record.agent, record.grant]);
    }
    Ok(outcome)
}

/// Writes results that are in the database alone to the content store.
pub(crate) async fn store_missing_content(parts: &Parts) {
    let missing = match parts.executions.without_content(CONTENT_AT_ONCE).await {
        Ok(missing) => missing,
        Err(error) => {
            tracing::debug!(%error, "results without content could not be looked for");
            return;
        }
    };
    for (record, result) in missing {
        if !parts.content.try_put(result).await {
            return;
        }
        if let Err(error) = parts.executions.content_stored(&record).await {
            tracing::debug!(%record, %error, "the content is stored once more");
        }
    }
}
