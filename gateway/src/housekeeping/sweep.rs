//! The sweep refunds executions that are past their deadline on chain, also if the database does not have them. What the
//! database does have is reported with its reason: an execution that expires counts as nobody's failure.

use agent_marketplace::state::{ExecutionRecord, ExecutionStatus};
use anchor_lang::Discriminator;
use crtx_chain::{CommitmentConfig, Execution, Layout, filter::AccountFilter};
use crtx_protocol::transaction::Outcome;
use crtx_store::executions::Failure;
use futures::StreamExt;
use solana_pubkey::Pubkey;
use solana_signer::Signer;
use tokio_util::sync::CancellationToken;

use super::send::{Pauses, send};
use crate::engine::{Engine, EngineError, interrupted, refunded_elsewhere};

/// For this long after the deadline, the sweep leaves the refund to the worker of the execution.
const AFTER_DEADLINE_S: i64 = 10;
/// Refunds sent at the same time.
const AT_ONCE: usize = 8;
/// Refunds of one sweep. Further ones wait for the next sweep.
const MOST_PER_SWEEP: usize = 1_000;
/// From so many refusals on, a refund reports no failure: that is accepted from anybody, also if the program's
/// configuration names another gateway by now.
const UNREPORTED_AFTER: u32 = 2;

/// Makes one search of the chain, and refunds what is overdue. `pauses` remembers which refunds the chain refused.
pub(crate) async fn sweep(engine: &Engine, pauses: &Pauses, shutdown: &CancellationToken) -> Result<(), EngineError> {
    let overdue = overdue(engine).await?;
    pauses.retain(|address| overdue.iter().any(|(overdue, _)| overdue == address));
    let due: Vec<_> = overdue.into_iter().filter(|(address, _)| pauses.allow(address)).take(MOST_PER_SWEEP).collect();
    if !due.is_empty() {
        tracing::info!(executions = due.len(), "refunding executions that are past their deadline");
    }
    let refund = |(address, record): (Pubkey, Execution)| async move {
        match refund(engine, &address, &record, pauses.refusals(&address)).await {
            Ok(outcome) => pauses.note(&[address], &outcome, "refund of an overdue execution"),
            Err(error) => tracing::warn!(record = %address, %error, "an overdue execution was not refunded"),
        }
    };
    futures::stream::iter(due).take_until(shutdown.cancelled()).for_each_concurrent(AT_ONCE, refund).await;
    Ok(())
}

/// Open executions whose rent this gateway paid and whose deadline has passed by the chain's clock, oldest first.
async fn overdue(engine: &Engine) -> Result<Vec<(Pubkey, Execution)>, EngineError> {
    let field = |offset: usize| offset.saturating_add(ExecutionRecord::DISCRIMINATOR.len());
    let filters = [
        AccountFilter::DataSize(u64::try_from(ExecutionRecord::OPEN_SPACE).unwrap_or(u64::MAX)),
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
    let found = engine.chain.program_accounts(&program, &filters, CommitmentConfig::confirmed()).await?;
    let latest = engine.chain_now_unix_s().await?.saturating_sub(AFTER_DEADLINE_S);
    let mut overdue: Vec<_> = found
        .value
        .into_iter()
        .filter_map(|(address, account)| {
            let record = Execution::decode(&account.data).ok()?;
            Some((record.terms?.deadline_unix_s, address, record))
        })
        .filter(|(deadline, ..)| *deadline < latest)
        .collect();
    overdue.sort_by_key(|(deadline, ..)| *deadline);
    Ok(overdue.into_iter().map(|(_, address, record)| (address, record)).collect())
}

/// Refunds one record.
async fn refund(engine: &Engine, address: &Pubkey, record: &Execution, refusals: u32) -> Result<Outcome, EngineError> {
    let known = if refusals < UNREPORTED_AFTER { known_failure(engine, address).await? } else { None };
    let unit_price = engine.unit_price(&record.agent, None);
    let (mut instructions, refund) = engine.refund_of(address, record, refusals, unit_price).await?;
    match &known {
        Some(failure) => instructions.extend(engine.report(record, &refund, failure)?),
        None => instructions.push(engine.instructions.refund_expired_execution(None, &refund)),
    }
    let outcome = send(engine, &instructions, refusals > 0).await?;
    if matches!(outcome, Outcome::Confirmed { .. }) {
        engine.executions.follow_refund(address, &known.unwrap_or_else(refunded_elsewhere)).await?;
    }
    Ok(outcome)
}

/// Why an execution of this database is refunded: for its own reason, or because no worker ended it in time. `None` if
/// the database does not have it as an execution whose escrow is open.
async fn known_failure(engine: &Engine, address: &Pubkey) -> Result<Option<Failure>, EngineError> {
    let row = engine.executions.get(address).await?;
    let row = row.filter(|row| !row.state.is_finished());
    Ok(row.map(|row| row.failure.unwrap_or_else(interrupted)))
}
