//! Giving the escrow back.
//!
//! The money goes to the owner's associated token account. An owner may have closed it: then the refund goes to
//! another account of the same owner, or the associated one is created again. Refunds that the chain refuses are
//! tried again less and less often, so that nobody makes the gateway pay for refusals without end.

use std::time::Duration;

use agent_marketplace::state::FailureReason;
use crtx_chain::{SignedTransaction, Simulation, token};
use crtx_store::executions::{Resolution, TransactionKind};
use solana_pubkey::Pubkey;
use solana_signer::Signer;

use super::{
    Ended, EngineError, RESUME_AFTER, SETTLE_UNITS, Work,
    transactions::{Landed, backoff, stored},
};
use crate::state::Parts;

/// The associated account's creation takes part of it.
const RECREATE_UNITS: u32 = 40_000;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(600);

/// Where a refund goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefundAccount {
    Existing(Pubkey),
    /// The owner has no account that can take the money: its associated account is created first.
    Recreated(Pubkey),
}

impl Parts {
    /// Pays everything back. `None`: the state has changed, look again.
    pub(super) async fn refund(&self, work: &mut Work) -> Result<Option<Ended>, EngineError> {
        let rejections = self.rejections(work, TransactionKind::Fail).await?;
        loop {
            match self.resolve(work, TransactionKind::Fail).await? {
                Landed::Yes => return self.refunded(work).await.map(|()| None),
                Landed::Rejected | Landed::Expired => {}
                Landed::Unknown => return self.leave_refund(work, RESUME_AFTER).await,
            }
            if !work.fresh || work.seen.is_none() {
                self.look(work).await?;
            }
            if self.follow_record(work).await? {
                return Ok(None);
            }
            let transaction = self.sign_refund(work, rejections).await?;
            self.executions.refund_signed(work.lease, &stored(&transaction)).await?;
            if rejections > 0 && self.refused_again(work, &transaction).await? {
                return self.leave_refund(work, backoff(rejections, FIRST_PAUSE, LONGEST_PAUSE)).await;
            }
            match self.send(work, &transaction, self.config.limits.refund_patience).await? {
                Landed::Yes => return self.refunded(work).await.map(|()| None),
                Landed::Expired => work.fresh = false,
                Landed::Rejected => {
                    return self.leave_refund(work, backoff(rejections, FIRST_PAUSE, LONGEST_PAUSE)).await;
                }
                Landed::Unknown => return self.leave_refund(work, RESUME_AFTER).await,
            }
        }
    }

    /// After a refusal a refund is simulated before it is sent, so that the next refusal costs no fee. It counts as one
    /// all the same: the pauses grow.
    async fn refused_again(&self, work: &mut Work, transaction: &SignedTransaction) -> Result<bool, EngineError> {
        let simulated = work.hold.unless_lost(self.chain.simulate(transaction)).await?;
        let Simulation::Refused(refused) = simulated else { return Ok(false) };
        let resolution = Resolution::Rejected { slot: 0, error: format!("simulated: {}", refused.error()) };
        self.executions.resolve(&transaction.signature.to_string(), &resolution).await?;
        Ok(true)
    }

    async fn sign_refund(&self, work: &mut Work, rejections: u32) -> Result<SignedTransaction, EngineError> {
        let reason = match work.failure()?.reason {
            Some(1) => FailureReason::CreatorFailed,
            Some(2) => FailureReason::Timeout,
            _ => FailureReason::InvalidResponse,
        };
        let owner = work.record()?.refund_owner;
        let account = self.refund_account(&owner, rejections).await;
        let gateway = &*self.config.keypair;
        let blockhash = work.clock.chain(self.chain.recent_blockhash()).await?;
        let mut instructions = self.refund_preparation(&owner, account);
        let (record, token) = (&work.lease.record, account.address());
        instructions.push(self.instructions.fail_execution(
            &gateway.pubkey(),
            &work.call.agent,
            record,
            &token,
            reason,
        ));
        Ok(SignedTransaction::sign(&instructions, &[gateway], blockhash)?)
    }

    /// The account that a refund goes to. The owner's accounts are looked at only after the chain has refused the
    /// usual one.
    pub(crate) async fn refund_account(&self, owner: &Pubkey, rejections: u32) -> RefundAccount {
        let usual = self.instructions.usdc_of(owner);
        if rejections == 0 {
            return RefundAccount::Existing(usual);
        }
        let held = match self.chain.token_accounts_by_owner(owner, &self.instructions.usdc_mint).await {
            Ok(held) => held.value,
            Err(error) => {
                tracing::warn!(%owner, %error, "the owner's accounts are not known; the usual one is tried again");
                return RefundAccount::Existing(usual);
            }
        };
        let mut usable: Vec<Pubkey> = held
            .into_iter()
            .filter(|(_, account)| account.owner == *owner && !account.frozen)
            .map(|(address, _)| address)
            .collect();
        usable.sort_by_key(|address| *address != usual);
        usable.first().map_or(RefundAccount::Recreated(usual), |address| RefundAccount::Existing(*address))
    }

    /// What comes before the refund itself in its transaction.
    pub(crate) fn refund_preparation(
        &self,
        owner: &Pubkey,
        account: RefundAccount,
    ) -> Vec<solana_instruction::Instruction> {
        match account {
            RefundAccount::Existing(_) => self.budget(SETTLE_UNITS),
            RefundAccount::Recreated(_) => {
                let mut instructions = self.budget(SETTLE_UNITS.saturating_add(RECREATE_UNITS));
                let (payer, mint) = (self.config.keypair.pubkey(), self.instructions.usdc_mint);
                instructions.push(token::create_associated_token_account(&payer, owner, &mint));
                instructions
            }
        }
    }

    async fn leave_refund(&self, work: &mut Work, pause: Duration) -> Result<Option<Ended>, EngineError> {
        let failure = work.failure()?.clone();
        self.leave(work, pause, Ended::RefundPending(failure)).await
    }
}

impl RefundAccount {
    pub(crate) const fn address(self) -> Pubkey {
        match self {
            Self::Existing(address) | Self::Recreated(address) => address,
        }
    }
}
