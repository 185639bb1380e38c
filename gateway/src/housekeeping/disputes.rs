//! Ends disputes that the resolver did not decide in time, so that no collateral stays locked.

use agent_marketplace::state::{Dispute, DisputeOutcome};
use crtx_chain::Layout;
use crtx_store::housekeeping::Chore;
use solana_pubkey::Pubkey;

use super::send::{Job, send};
use crate::{
    engine::{Engine, EngineError},
    pauses::Pauses,
};

const UNITS: u32 = 10_000;

/// Ends the disputes about those of `records` that are open and past their limit by the chain's clock.
pub(super) async fn expire(
    engine: &Engine,
    pauses: &mut Pauses,
    records: &[Pubkey],
    now_unix_s: i64,
) -> Result<(), EngineError> {
    for record in records {
        let address = engine.instructions.addresses.dispute(record);
        if !pauses.allow(&address) {
            continue;
        }
        let account = engine.chain.account(&address).await?.value;
        let Some(dispute) = account.and_then(|account| Dispute::decode(&account.data).ok()) else { continue };
        let over = dispute.decidable_until_unix_s().is_some_and(|until| now_unix_s > until);
        if dispute.outcome() != Some(DisputeOutcome::Open) || !over {
            continue;
        }
        let instruction = engine.instructions.expire_dispute(&dispute.agent, record);
        let job = Job::of(Chore::ExpireDispute, false, engine.budget(UNITS), instruction, UNITS);
        let outcome = send(engine, &job, pauses.refusals(&address) > 0).await?;
        pauses.note(&[address], &outcome, "end a dispute");
    }
    Ok(())
}
