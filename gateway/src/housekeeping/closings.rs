//! Closes records when their dispute window is over, so that the rent returns to who paid it. Several records share a
//! transaction: a closing then costs a part of one fee.

use agent_marketplace::state::{Dispute, ExecutionStatus};
use crtx_chain::{Execution, FetchedAccount, Layout};
use crtx_store::housekeeping::Chore;
use futures::StreamExt;
use solana_instruction::Instruction;
use solana_pubkey::Pubkey;
use tracing::Span;
use uuid::Uuid;

use super::{Round, send::ChoreTransaction};
use crate::engine::EngineError;

/// Records whose closings fit one transaction: own ones share their rent payer, others may have two each.
const OWN_PER_TRANSACTION: usize = 8;
const OTHERS_PER_TRANSACTION: usize = 4;
/// More than twice what the benchmark shows for one closing. It is the same for every record.
const UNITS_PER_CLOSING: u32 = 30_000;
/// Of a closing that the chain refused before, whatever the reason was.
const UNITS_ALONE: u32 = 200_000;
const AT_ONCE: usize = 4;
/// Records whose accounts are read in one request: each has a record and a dispute.
const PER_READ: usize = crtx_chain::rpc::MAX_ACCOUNTS_PER_READ / 2;

/// A record that can be closed.
struct ClosableRecord {
    record: Pubkey,
    execution_id: Uuid,
    instruction: Instruction,
    /// Lamports of the record and of its dispute.
    rent_lamports: u64,
}

impl ClosableRecord {
    fn span(&self) -> Span {
        tracing::info_span!("closing", execution = %self.execution_id)
    }
}

impl Round<'_> {
    /// Closes those of `records` that can be closed. `own`: this gateway paid their rent.
    pub(super) async fn close(&self, records: &[Pubkey], own: bool) -> Result<(), EngineError> {
        let due: Vec<Pubkey> = records.iter().filter(|record| self.pauses.allow(record)).copied().collect();
        let mut closings = Vec::new();
        for records in due.chunks(PER_READ) {
            closings.extend(self.closings(records).await?);
        }
        // What the chain refused before travels alone, so that it stops no other closing.
        let (alone, together): (Vec<_>, Vec<_>) =
            closings.into_iter().partition(|closing| self.pauses.refusals(&closing.record) > 0);
        let size = if own { OWN_PER_TRANSACTION } else { OTHERS_PER_TRANSACTION };
        let send = |(group, units)| async move {
            let job = job(self.engine.patient_budget(units), units, group, own);
            let _spans: Vec<_> = group.iter().map(ClosableRecord::span).collect();
            if let Err(error) = job.send(self.engine, self.pauses).await {
                tracing::warn!(%error, "records were not closed");
            }
        };
        let groups = together.chunks(size).map(|group| (group, units(group)));
        let groups = futures::stream::iter(groups.chain(alone.chunks(1).map(|group| (group, UNITS_ALONE))));
        groups.take_until(self.shutdown.cancelled()).for_each_concurrent(AT_ONCE, send).await;
        Ok(())
    }

    /// Reads records and disputes, and keeps what can be closed.
    async fn closings(&self, records: &[Pubkey]) -> Result<Vec<ClosableRecord>, EngineError> {
        let dispute_of = |record: &Pubkey| self.engine.instructions.addresses.dispute(record);
        let addresses: Vec<Pubkey> = records.iter().flat_map(|record| [*record, dispute_of(record)]).collect();
        let accounts = self.engine.chain.accounts(&addresses).await?.value;
        let closings = records.iter().zip(accounts.chunks(2)).filter_map(|(record, accounts)| match accounts {
            [Some(account), dispute] => self.closing(record, account, dispute.as_ref()),
            // Closed already; the indexer has not seen it yet.
            _ => None,
        });
        Ok(closings.collect())
    }

    fn closing(
        &self,
        address: &Pubkey,
        account: &FetchedAccount,
        dispute: Option<&FetchedAccount>,
    ) -> Option<ClosableRecord> {
        let record = self.engine.decode::<Execution>(Some(account))?;
        let over = record.window_end_unix_s(record.finished_at_unix_s).is_some_and(|end| self.now_unix_s > end);
        if matches!(record.status()?, ExecutionStatus::Open | ExecutionStatus::Disputed) || !over {
            return None;
        }
        let mut rent_lamports = account.lamports;
        let mut dispute_rent_payer = record.rent_payer;
        if record.dispute_count > 0 {
            let account = dispute?;
            dispute_rent_payer = Dispute::decode(&account.data).ok()?.rent_payer;
            rent_lamports = rent_lamports.saturating_add(account.lamports);
        }
        let build = &self.engine.instructions;
        let instruction = build.close_execution(address, &record.rent_payer, &dispute_rent_payer);
        let execution_id = Uuid::from_bytes(record.execution_id);
        Some(ClosableRecord { record: *address, execution_id, instruction, rent_lamports })
    }
}

fn units(group: &[ClosableRecord]) -> u32 {
    u32::try_from(group.len()).unwrap_or(u32::MAX).saturating_mul(UNITS_PER_CLOSING)
}

fn job(budget: Vec<Instruction>, units: u32, group: &[ClosableRecord], own: bool) -> ChoreTransaction {
    let closings = group.iter().map(|closing| closing.instruction.clone());
    ChoreTransaction {
        chore: Chore::Close,
        own,
        addresses: group.iter().map(|closing| closing.record).collect(),
        instructions: budget.into_iter().chain(closings).collect(),
        units,
        rent_lamports: group.iter().fold(0, |sum, closing| sum.saturating_add(closing.rent_lamports)),
    }
}

#[cfg(test)]
mod tests {
    use crtx_chain::{Instructions, SignedTransaction, transaction::RecentBlockhash};
    use crtx_protocol::address::Addresses;
    use solana_hash::Hash;
    use solana_keypair::Keypair;
    use solana_signer::Signer;

    use super::*;

    #[test]
    fn the_closings_of_a_group_fit_one_transaction() {
        let gateway = Keypair::new();
        let build = Instructions::new(Addresses::new(agent_marketplace::ID), Pubkey::new_unique());
        let own = |_| build.close_execution(&Pubkey::new_unique(), &gateway.pubkey(), &gateway.pubkey());
        let other = |_| build.close_execution(&Pubkey::new_unique(), &Pubkey::new_unique(), &Pubkey::new_unique());
        let groups: [Vec<Instruction>; 2] =
            [(0..OWN_PER_TRANSACTION).map(own).collect(), (0..OTHERS_PER_TRANSACTION).map(other).collect()];
        for group in groups {
            let budget = [
                crtx_chain::instructions::compute_unit_limit(240_000),
                crtx_chain::instructions::compute_unit_price(1),
            ];
            let blockhash = RecentBlockhash { hash: Hash::new_from_array([9; 32]), last_valid_block_height: 1 };
            let signed = SignedTransaction::sign(&[budget.to_vec(), group].concat(), &[&gateway], blockhash);
            assert!(signed.is_ok(), "{signed:?}");
        }
    }

    #[test]
    fn a_transaction_counts_all_its_closings() {
        let closing = || ClosableRecord {
            record: Pubkey::new_unique(),
            execution_id: Uuid::nil(),
            instruction: Instruction { program_id: Pubkey::new_unique(), accounts: vec![], data: vec![] },
            rent_lamports: 2,
        };
        let group: Vec<ClosableRecord> = (0..4).map(|_| closing()).collect();
        let job = job(vec![], units(&group), &group, true);
        assert_eq!((job.addresses.len(), job.rent_lamports, job.units), (4, 8, 4 * UNITS_PER_CLOSING));
    }
}
