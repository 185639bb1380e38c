//! Refunds expired executions whose rent somebody else paid. Those of this gateway are found on chain by the sweep.

use agent_marketplace::state::{ExecutionRecord, OpenTerms};
use crtx_chain::Execution;
use crtx_store::housekeeping::Chore;
use solana_pubkey::Pubkey;

use super::{Round, send::ChoreTransaction};
use crate::engine::EngineError;

/// Includes the creation of a token account that the wallet closed.
const UNITS: u32 = 100_000;

/// Bytes that rent is charged for in addition to the account's data.
const ACCOUNT_OVERHEAD: u64 = 128;

/// What a refund returns of an open record's rent, which is proportional to its size.
fn rent_of_open_terms(lamports: u64) -> u64 {
    let [dropped, all] = [OpenTerms::LEN, ExecutionRecord::OPEN_SPACE].map(|bytes| u64::try_from(bytes).unwrap_or(0));
    lamports.saturating_mul(dropped).checked_div(all.saturating_add(ACCOUNT_OVERHEAD)).unwrap_or(0)
}

impl Round<'_> {
    /// Refunds those of `records` that are open and past their deadline.
    pub(super) async fn refund(&self, records: &[Pubkey]) -> Result<(), EngineError> {
        let Self { engine, pauses, now_unix_s, .. } = self;
        for address in records {
            if !pauses.allow(address) {
                continue;
            }
            let [account] = engine.read([*address]).await?;
            let Some(execution) = engine.decode::<Execution>(account.as_ref()) else { continue };
            if execution.terms.is_none_or(|terms| *now_unix_s <= terms.deadline_unix_s) {
                continue;
            }
            let (refusals, unit_price) = (pauses.refusals(address), engine.config.limits.compute_unit_price);
            let (mut instructions, refund) = engine.refund_of(address, &execution, refusals, unit_price).await?;
            instructions.push(engine.instructions.refund_expired_execution(None, &refund));
            let rent_lamports = rent_of_open_terms(account.map_or(0, |account| account.lamports));
            let addresses = vec![*address];
            let job = ChoreTransaction {
                chore: Chore::Refund,
                own: false,
                addresses,
                instructions,
                units: UNITS,
                rent_lamports,
            };
            job.send(engine, pauses).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refund_returns_the_rent_of_the_dropped_bytes() {
        let per_byte = 6_960;
        let open = (ACCOUNT_OVERHEAD + ExecutionRecord::OPEN_SPACE as u64) * per_byte;
        assert_eq!(rent_of_open_terms(open), OpenTerms::LEN as u64 * per_byte);
    }
}
