//! Chooses the account for a refund: the owner's associated token account. If the owner has closed it, the refund
//! goes to another account of the same owner, or the associated account is created again.

use crtx_chain::token;
use solana_instruction::Instruction;
use solana_pubkey::Pubkey;
use solana_signer::Signer;

use super::{Engine, transactions::SETTLE_UNITS};

/// Creating the associated account uses part of these units.
const RECREATE_UNITS: u32 = 40_000;

/// The account that receives a refund.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefundAccount {
    Existing(Pubkey),
    /// The owner has no usable account. The associated account is created first.
    Recreated(Pubkey),
}

impl Engine {
    /// Returns the account for a refund. The owner's accounts are read only after the chain has refused the
    /// associated one.
    pub(crate) async fn refund_account(&self, owner: &Pubkey, rejections: u32) -> RefundAccount {
        let usual = self.instructions.usdc_of(owner);
        if rejections == 0 {
            return RefundAccount::Existing(usual);
        }
        let held = match self.chain.token_accounts_by_owner(owner, &self.instructions.usdc_mint).await {
            Ok(held) => held.value,
            Err(error) => {
                tracing::warn!(%owner, %error, "the owner's accounts could not be read; using the associated one");
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

    /// Instructions that precede the refund in its transaction.
    pub(crate) fn refund_preparation(&self, owner: &Pubkey, account: RefundAccount) -> Vec<Instruction> {
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
}

impl RefundAccount {
    pub(crate) const fn address(self) -> Pubkey {
        match self {
            Self::Existing(address) | Self::Recreated(address) => address,
        }
    }
}
