//! Sends one transaction of the housekeeping and counts what it cost and what it returned.
//!
//! Nothing is stored before the transaction is sent: each action happens at most once on chain, and the next round
//! reads the chain again.

use std::time::Duration;

use crtx_chain::SignedTransaction;
use crtx_protocol::transaction::Outcome;
use crtx_store::housekeeping::{self, Chore, Done};
use solana_instruction::Instruction;

use crate::engine::{Engine, EngineError};

/// How long a transaction is waited for. One that lands later is counted by nobody; its effect is on chain.
const PATIENCE: Duration = Duration::from_secs(30);
/// The network's fee for one signature.
const LAMPORTS_PER_SIGNATURE: u64 = 5_000;

/// One transaction: what it does, and what it returns if it lands.
pub(super) struct Job {
    pub chore: Chore,
    /// Whether the rent that it returns is this gateway's own.
    pub own: bool,
    /// Compute budget and whatever else must come first.
    pub preparation: Vec<Instruction>,
    pub instructions: Vec<Instruction>,
    /// Compute units that the transaction may use.
    pub units: u32,
    pub actions: u64,
    pub rent_lamports: u64,
}

impl Job {
    /// One action, which returns no rent.
    pub fn of(chore: Chore, own: bool, preparation: Vec<Instruction>, instruction: Instruction, units: u32) -> Self {
        Self { chore, own, preparation, instructions: vec![instruction], units, actions: 1, rent_lamports: 0 }
    }
}

/// What a transaction with one signature and this limit of compute units costs.
pub(super) fn fee(engine: &Engine, units: u32) -> u64 {
    let priority = u64::from(units).saturating_mul(engine.config.limits.compute_unit_price).div_ceil(1_000_000);
    LAMPORTS_PER_SIGNATURE.saturating_add(priority)
}

/// Sends the transaction. If `refused_before`, it is simulated first, so that another refusal costs no fee.
pub(super) async fn send(engine: &Engine, job: &Job, refused_before: bool) -> Result<Outcome, EngineError> {
    let instructions = [job.preparation.as_slice(), &job.instructions].concat();
    let blockhash = engine.chain.recent_blockhash().await?;
    let transaction = SignedTransaction::sign(&instructions, &[&*engine.config.keypair], blockhash)?;
    if refused_before && let Some(refusal) = engine.predict_refusal(&transaction).await {
        return Ok(refusal);
    }
    let outcome = engine.chain.send_and_confirm(&transaction, PATIENCE).await;
    let fees_lamports = fee(engine, job.units);
    let done = match &outcome {
        Outcome::Confirmed { .. } => Done { actions: job.actions, fees_lamports, rent_lamports: job.rent_lamports },
        // A refusal on chain costs its fee.
        Outcome::Rejected { .. } => Done { fees_lamports, ..Done::default() },
        Outcome::Expired | Outcome::Unknown => return Ok(outcome),
    };
    housekeeping::count(engine.executions.pool(), job.chore, job.own, &done).await?;
    Ok(outcome)
}
