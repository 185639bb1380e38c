//! Refunds the escrow. The pause after each refused refund grows, so that no owner can make the gateway pay for
//! endless refusals.
//!
//! The program pays to the account that paid, or to the wallet's associated token account, and nowhere else. An associated
//! account that the wallet has closed is created again, a few times a day: its rent is this gateway's, and the wallet gets
//! it when it closes the account once more.

use std::time::Duration;

use agent_marketplace::state::FailureReason;
use crtx_chain::{
    Execution, SignedTransaction,
    instructions::{Refund, SignedFailure},
    token,
};
use crtx_protocol::{call_text::OpeningId, transaction::Outcome};
use crtx_store::executions::{Failure, TransactionKind};
use solana_instruction::Instruction;
use solana_pubkey::Pubkey;
use solana_signer::Signer;

use super::{
    Engine,
    ended::{Ended, EngineError, Step},
    run::RESUME_AFTER,
    transactions::{SETTLE_UNITS, backoff, stored},
    view::ChainView,
    work::Work,
};

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(600);
/// Creating the associated account uses part of these units.
const RECREATE_UNITS: u32 = 40_000;

impl Engine {
    /// Refunds the whole escrow.
    pub(super) async fn refund(&self, work: &mut Work) -> Step {
        let is_first = std::mem::take(&mut work.fresh) && work.view.as_ref().is_some_and(ChainView::is_open);
        let mut rejections = 0;
        if !is_first {
            rejections = self.executions.rejections(&work.lease.record, TransactionKind::Fail).await?;
            match self.resolve(work, TransactionKind::Fail).await? {
                Outcome::Confirmed { .. } => return self.refunded(work).await.map(|()| None),
                Outcome::Rejected { .. } | Outcome::Expired => {}
                Outcome::Unknown => return self.leave_refund(work, RESUME_AFTER).await,
            }
            self.refresh_view(work).await?;
            if self.follow_record(work).await? {
                return Ok(None);
            }
        }
        let shared = if is_first { self.refund_with_others(work).await? } else { None };
        let (transaction, outcome) = match shared {
            Some((transaction, outcome)) => {
                let outcome = self.outcome_of_shared(work, &transaction, outcome).await?;
                (transaction, outcome)
            }
            None => {
                let transaction = self.sign_refund(work, rejections).await?;
                self.executions.signed(work.lease, TransactionKind::Fail, &stored(&transaction)).await?;
                if rejections > 0
                    && let Some(refusal) = work.hold.unless_lost(self.predict_refusal(&transaction)).await?
                {
                    self.note(work, &transaction.signature.to_string(), &refusal).await?;
                    return self.leave_refund(work, pause_after(rejections)).await;
                }
                let outcome = self.send(work, &transaction, self.config.limits.refund_patience).await?;
                (transaction, outcome)
            }
        };
        match outcome {
            Outcome::Confirmed { .. } => {
                self.note(work, &transaction.signature.to_string(), &outcome).await?;
                self.refunded(work).await.map(|()| None)
            }
            Outcome::Expired => Ok(None),
            Outcome::Rejected { .. } => {
                self.together.serve_alone(work.call.caller);
                self.leave_refund(work, pause_after(rejections)).await
            }
            Outcome::Unknown => self.leave_refund(work, RESUME_AFTER).await,
        }
    }

    async fn sign_refund(&self, work: &mut Work, rejections: u32) -> Result<SignedTransaction, EngineError> {
        let (record, failure) = (work.record()?, work.failure()?);
        let unit_price = self.unit_price(&record.agent, None);
        let (mut instructions, refund) = self.refund_of(&work.lease.record, record, rejections, unit_price).await?;
        let gateway = &*self.config.keypair;
        instructions.extend(self.report(record, &refund, failure)?);
        let blockhash = work.spent.on_chain(self.chain.recent_blockhash()).await?;
        Ok(SignedTransaction::sign(&instructions, &[gateway], blockhash)?)
    }

    /// What refunds an open record for a reason: with the agent's signature, if there is one, the failure counts against the
    /// agent. The instructions must stand next to each other.
    pub(crate) fn report(
        &self,
        record: &Execution,
        refund: &Refund,
        failure: &Failure,
    ) -> Result<Vec<Instruction>, EngineError> {
        let gateway = self.config.keypair.pubkey();
        let Some(signature) = failure.signature else {
            return Ok(vec![self.instructions.fail_execution(&gateway, refund, reported_reason(failure))]);
        };
        let terms = record.terms.ok_or(EngineError::Missing("the terms of an open record"))?;
        let opening = OpeningId { record: refund.record.to_bytes(), opened_at_unix_s: record.opened_at_unix_s };
        let signed = SignedFailure { opening, result_key: terms.result_key, signature };
        Ok(self.instructions.fail_signed_execution(&gateway, refund, &signed).to_vec())
    }

    async fn leave_refund(&self, work: &Work, pause: Duration) -> Step {
        self.leave(work, pause, Ended::RefundPending(work.failure()?.clone())).await.map(Some)
    }

    /// The refund of an open record, and the instructions that precede it in its transaction.
    pub(crate) async fn refund_of(
        &self,
        address: &Pubkey,
        record: &Execution,
        rejections: u32,
        unit_price: u64,
    ) -> Result<(Vec<Instruction>, Refund), EngineError> {
        let terms = record.terms.ok_or(EngineError::Missing("the terms of an open record"))?;
        let wallet = &record.caller;
        let (refund_token, is_new) = self.refund_account(wallet, &terms.paid_from, rejections).await;
        let mut preparation =
            Self::budget(SETTLE_UNITS.saturating_add(if is_new { RECREATE_UNITS } else { 0 }), unit_price);
        if is_new {
            let (payer, mint) = (self.config.keypair.pubkey(), self.instructions.usdc_mint);
            preparation.push(token::create_associated_token_account(&payer, wallet, &mint));
        }
        Ok((preparation, refund_to(refund_token, address, record)))
    }

    /// Returns the account for a refund, and whether it is the associated one that must be created first. The accounts
    /// are read only after the chain has refused the one that paid.
    async fn refund_account(&self, wallet: &Pubkey, paid_from: &Pubkey, rejections: u32) -> (Pubkey, bool) {
        if rejections == 0 {
            return (*paid_from, false);
        }
        let usual = self.instructions.usdc_of(wallet);
        let candidates = [*paid_from, usual];
        let read = match self.read(candidates).await {
            Ok(read) => read,
            Err(error) => {
                tracing::warn!(%wallet, %error, "the wallet's accounts could not be read; using the one that paid");
                return (*paid_from, false);
            }
        };
        let exists = matches!(read, [_, Some(_)]);
        let usable = candidates.into_iter().zip(read).find(|(_, account)| self.receives(account.as_ref(), wallet));
        let may_create = || !exists && self.created_accounts.take((), "closed token accounts").is_ok();
        chosen(usable.map(|(address, _)| address), usual, may_create)
    }
}

/// The refund of an open record to this account.
pub(super) fn refund_to(refund_token: Pubkey, address: &Pubkey, record: &Execution) -> Refund {
    let (agent, rent_payer, grant) = (record.agent, record.rent_payer, record.grant());
    Refund { agent, record: *address, rent_payer, grant, refund_token }
}

/// Without an account that can receive money and without a new one, the refund is refused before it costs a fee, and
/// tried again later: the wallet can have an account again by then.
fn chosen(usable: Option<Pubkey>, usual: Pubkey, may_create: impl FnOnce() -> bool) -> (Pubkey, bool) {
    usable.map_or_else(|| (usual, may_create()), |address| (address, false))
}

/// The reason that the program gets for a stored failure. Without a reason that names the agent, the agent did not fail.
fn reported_reason(failure: &Failure) -> FailureReason {
    use FailureReason::{CreatorFailed, Interrupted, InvalidResponse, Timeout};
    let agents = [CreatorFailed, Timeout, InvalidResponse];
    agents.into_iter().find(|reason| failure.reason == Some(*reason as u8)).unwrap_or(Interrupted)
}

/// Returns the pause after one more refusal than `rejections`.
fn pause_after(rejections: u32) -> Duration {
    backoff(rejections, FIRST_PAUSE, LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use crtx_http::allowance::Allowances;

    use super::*;
    use crate::engine::CREATED_ACCOUNTS;

    #[test]
    fn wallets_that_close_their_accounts_again_and_again_get_few_new_ones() {
        let (usual, other) = (Pubkey::new_from_array([1; 32]), Pubkey::new_from_array([2; 32]));
        let created = Allowances::new(CREATED_ACCOUNTS);
        let may_create = || created.take((), "accounts").is_ok();
        assert_eq!(chosen(Some(other), usual, || panic!("there is one")), (other, false));
        let refunds = (0..1_000).map(|_| chosen(None, usual, may_create));
        let recreated = refunds.filter(|account| *account == (usual, true)).count();
        assert!((1..=21).contains(&recreated), "{recreated}");
        assert_eq!(chosen(None, usual, may_create), (usual, false));
    }
}
