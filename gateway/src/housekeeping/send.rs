//! Sends transactions that no execution waits for. Nothing is stored before one is sent: each action happens at most once
//! on chain, and the next round reads the chain again.
//!
//! The pause after each refusal grows, so that an account that cannot be served costs ever less.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crtx_chain::{Budget, SignedTransaction};
use crtx_protocol::transaction::Outcome;
use crtx_store::housekeeping::{self, Chore, Done};
use solana_instruction::Instruction;
use solana_pubkey::Pubkey;

use crate::engine::{Engine, EngineError, backoff};

/// How long a transaction is waited for. One that lands later is counted by nobody; its effect is on chain.
const PATIENCE: Duration = Duration::from_secs(30);
/// The network's fee for one signature.
const LAMPORTS_PER_SIGNATURE: u64 = 5_000;
/// Addresses that are remembered. Further ones are tried again without a pause.
const MOST_REMEMBERED: usize = 10_000;
const FIRST_PAUSE: Duration = Duration::from_secs(60);
const LONGEST_PAUSE: Duration = Duration::from_secs(6 * 3_600);

/// One transaction: what it does, and what it returns if it lands.
pub(super) struct ChoreTransaction {
    pub chore: Chore,
    /// Whether the rent that it returns is this gateway's own.
    pub own: bool,
    /// What it works on: one action each.
    pub addresses: Vec<Pubkey>,
    pub instructions: Vec<Instruction>,
    /// Compute units that the transaction may use.
    pub units: u32,
    pub rent_lamports: u64,
}

impl ChoreTransaction {
    /// Sends the transaction, and counts what it cost and what it returned.
    pub async fn send(self, engine: &Engine, pauses: &Pauses) -> Result<(), EngineError> {
        let refused_before = self.addresses.iter().any(|address| pauses.refusals(address) > 0);
        let outcome = send(engine, &self.instructions, refused_before).await?;
        pauses.note(&self.addresses, &outcome, self.chore.into_str());
        let budget = Budget { units: self.units, unit_price: engine.config.limits.compute_unit_price };
        let fees_lamports = LAMPORTS_PER_SIGNATURE.saturating_add(budget.priority_fee_lamports());
        let done = match outcome {
            Outcome::Confirmed { .. } => {
                let actions = u64::try_from(self.addresses.len()).unwrap_or(u64::MAX);
                Done { actions, fees_lamports, rent_lamports: self.rent_lamports }
            }
            // A refusal on chain costs its fee. One that was predicted has no slot, and costs nothing.
            Outcome::Rejected { slot, .. } if slot > 0 => Done { fees_lamports, ..Done::default() },
            Outcome::Rejected { .. } | Outcome::Expired | Outcome::Unknown => return Ok(()),
        };
        Ok(housekeeping::count(engine.executions.pool(), self.chore, self.own, &done).await?)
    }
}

/// Signs and sends a transaction. If `refused_before`, it is simulated first, so that another refusal costs no fee.
pub(super) async fn send(
    engine: &Engine,
    instructions: &[Instruction],
    refused_before: bool,
) -> Result<Outcome, EngineError> {
    let blockhash = engine.chain.recent_blockhash().await?;
    let transaction = SignedTransaction::sign(instructions, &[&*engine.config.keypair], blockhash)?;
    if refused_before && let Some(refusal) = engine.predict_refusal(&transaction).await {
        return Ok(refusal);
    }
    let outcome = engine.chain.send_and_confirm(&transaction, PATIENCE).await;
    engine.figures.transaction(&outcome);
    Ok(outcome)
}

/// Work that the chain refused, by address, and when it is tried again.
#[derive(Debug, Default)]
pub(crate) struct Pauses(Mutex<HashMap<Pubkey, RefusedChore>>);

#[derive(Debug)]
struct RefusedChore {
    times: u32,
    not_before: Instant,
}

impl Pauses {
    /// Whether work on this address may be tried now.
    pub fn allow(&self, address: &Pubkey) -> bool {
        self.refused().get(address).is_none_or(|refused| refused.not_before <= Instant::now())
    }

    /// How often the chain refused work on this address since it last succeeded.
    pub fn refusals(&self, address: &Pubkey) -> u32 {
        self.refused().get(address).map_or(0, |refused| refused.times)
    }

    /// Notes the outcome of one transaction. An unknown one changes nothing: the next round reads the chain.
    pub fn note(&self, addresses: &[Pubkey], outcome: &Outcome, work: &str) {
        let mut all = self.refused();
        match outcome {
            Outcome::Confirmed { .. } => all.retain(|address, _| !addresses.contains(address)),
            Outcome::Rejected { error, .. } => {
                tracing::warn!(?addresses, %error, work, "the chain refused housekeeping");
                addresses.iter().for_each(|address| refuse(&mut all, *address));
            }
            Outcome::Expired | Outcome::Unknown => {}
        }
    }

    /// Forgets the addresses that need no work any more.
    pub fn retain(&self, needs_work: impl Fn(&Pubkey) -> bool) {
        self.refused().retain(|address, _| needs_work(address));
    }

    fn refused(&self) -> MutexGuard<'_, HashMap<Pubkey, RefusedChore>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn refuse(all: &mut HashMap<Pubkey, RefusedChore>, address: Pubkey) {
    let now = Instant::now();
    if all.len() >= MOST_REMEMBERED && !all.contains_key(&address) {
        // What is due again is tried again in any case.
        all.retain(|_, refused| refused.not_before > now);
        if all.len() >= MOST_REMEMBERED {
            return;
        }
    }
    let times = all.get(&address).map_or(0, |refused| refused.times);
    let not_before = now.checked_add(backoff(times, FIRST_PAUSE, LONGEST_PAUSE)).unwrap_or(now);
    all.insert(address, RefusedChore { times: times.saturating_add(1), not_before });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_address_waits_until_it_is_done_and_others_do_not() {
        let (refused, other) = (Pubkey::new_unique(), Pubkey::new_unique());
        let refusal = Outcome::Rejected { slot: 1, error: "no".to_owned() };
        let pauses = Pauses::default();
        pauses.note(&[refused], &refusal, "work");
        pauses.note(&[refused], &refusal, "work");
        pauses.note(&[refused, other], &Outcome::Unknown, "work");
        assert!(!pauses.allow(&refused) && pauses.allow(&other));
        assert_eq!((pauses.refusals(&refused), pauses.refusals(&other)), (2, 0));
        pauses.note(&[refused], &Outcome::Confirmed { slot: 2 }, "work");
        assert!(pauses.allow(&refused));
    }

    #[test]
    fn memory_for_refusals_is_limited() {
        let pauses = Pauses::default();
        for _ in 0..MOST_REMEMBERED + 100 {
            refuse(&mut pauses.refused(), Pubkey::new_unique());
        }
        assert_eq!(pauses.refused().len(), MOST_REMEMBERED);
    }
}
