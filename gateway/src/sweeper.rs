//! The sweep refunds executions that are past their deadline on chain, also if the database does not have them.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use agent_marketplace::state::{ExecutionRecord, ExecutionStatus};
use anchor_lang::Discriminator;
use crtx_chain::{CommitmentConfig, Layout, SignedTransaction, filter::AccountFilter};
use crtx_protocol::transaction::Outcome;
use futures::StreamExt;
use solana_pubkey::Pubkey;
use solana_signer::Signer;
use tokio_util::sync::CancellationToken;

use crate::engine::{Engine, EngineError, backoff, refunded_elsewhere};

/// For this long after the deadline, the sweep leaves the refund to the worker of the execution.
const AFTER_DEADLINE_S: i64 = 10;
/// Refunds sent at the same time.
const AT_ONCE: usize = 8;
/// Refunds of one sweep. Further ones wait for the next sweep.
const MOST_PER_SWEEP: usize = 1_000;
/// Number of executions whose refused refunds are remembered.
const MOST_REMEMBERED: usize = 10_000;
const FIRST_PAUSE: Duration = Duration::from_secs(60);
const LONGEST_PAUSE: Duration = Duration::from_secs(6 * 3_600);
/// How long the sweep waits for a refund.
const PATIENCE: Duration = Duration::from_secs(30);

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
    /// Makes one search of the chain. Errors are logged, and the next sweep tries again.
    pub async fn sweep(&mut self, engine: &Engine, shutdown: &CancellationToken) {
        let overdue = match overdue(engine).await {
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
                (address, refusals, refund(engine, &address, &record, refusals).await)
            })
            .buffer_unordered(AT_ONCE);
        let mut refunds = std::pin::pin!(refunds);
        while let Some((address, refusals, refunded)) = refunds.next().await {
            match refunded {
                Ok(Outcome::Confirmed { .. }) => drop(self.refused.remove(&address)),
                Ok(Outcome::Rejected { error, .. }) => {
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

/// Open executions whose rent this gateway paid and whose deadline has passed by the chain's clock, oldest first.
async fn overdue(engine: &Engine) -> Result<Vec<(Pubkey, ExecutionRecord)>, EngineError> {
    let field = |offset: usize| offset.saturating_add(ExecutionRecord::DISCRIMINATOR.len());
    let filters = [
        AccountFilter::DataSize(u64::try_from(ExecutionRecord::SPACE).unwrap_or(u64::MAX)),
        AccountFilter::Bytes { offset: 0, bytes: ExecutionRecord::DISCRIMINATOR.to_vec() },
        AccountFilter::Bytes {
            offset: field(std::mem::offset_of!(ExecutionRecord, rent_payer)),
            bytes: engine.config.keypair.pubkey().to_bytes().to_vec(),
        },
        AccountFilter::Bytes {
            offset: field(std::mem::offset_of!(ExecutionRecord, status)),
            bytes: vec![ExecutionStatus::Open as u8],
        },
    ];
    let program = engine.instructions.addresses.program_id();
    let found = engine.chain.program_accounts_filtered(&program, &filters, CommitmentConfig::confirmed()).await?;
    let latest = engine.chain_now_unix_s().await?.saturating_sub(AFTER_DEADLINE_S);
    let mut overdue: Vec<_> = found
        .value
        .into_iter()
        .filter_map(|(address, account)| Some((address, ExecutionRecord::decode(&account.data).ok()?)))
        .filter(|(_, record)| record.status() == Some(ExecutionStatus::Open) && record.deadline_unix_s < latest)
        .collect();
    overdue.sort_by_key(|(_, record)| record.deadline_unix_s);
    Ok(overdue)
}

/// Refunds one record. Nothing is stored before the transaction is sent: a refund lands at most once, and the next
/// sweep reads the record again.
async fn refund(
    engine: &Engine,
    address: &Pubkey,
    record: &ExecutionRecord,
    refusals: u32,
) -> Result<Outcome, EngineError> {
    let account = engine.refund_account(&record.refund_owner, refusals).await;
    let gateway = &*engine.config.keypair;
    let blockhash = engine.chain.recent_blockhash().await?;
    let mut instructions = engine.refund_preparation(&record.refund_owner, account);
    instructions.push(engine.instructions.refund_expired_execution(&record.agent, address, &account.address()));
    let transaction = SignedTransaction::sign(&instructions, &[gateway], blockhash)?;
    if refusals > 0
        && let Some(refusal) = engine.predict_refusal(&transaction).await
    {
        return Ok(refusal);
    }
    let outcome = engine.chain.send_and_confirm(&transaction, PATIENCE).await;
    if matches!(outcome, Outcome::Confirmed { .. }) {
        engine.executions.follow_refund(address, &refunded_elsewhere()).await?;
        engine.mirror.changed(&[*address, record.agent, record.grant]);
    }
    Ok(outcome)
}
