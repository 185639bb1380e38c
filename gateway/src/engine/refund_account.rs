//! Chooses the account for a refund: the one that paid, or the wallet's associated token account. The program pays
//! nowhere else. An associated account that the wallet has closed is created again.

use crtx_chain::{
    Execution,
    instructions::Refund,
    token::{self, TokenAccount},
};
use solana_instruction::Instruction;
use solana_pubkey::Pubkey;
use solana_signer::Signer;

use super::{Engine, error::EngineError, transactions::SETTLE_UNITS};

/// Creating the associated account uses part of these units.
const RECREATE_UNITS: u32 = 40_000;

/// The account that receives a refund.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RefundAccount {
    Existing(Pubkey),
    /// Neither account can be used. The associated one is created first.
    Recreated(Pubkey),
}

impl Engine {
    /// The refund of an open record, and the instructions that precede it in its transaction.
    pub(crate) async fn refund_of(
        &self,
        address: &Pubkey,
        record: &Execution,
        rejections: u32,
    ) -> Result<(Vec<Instruction>, Refund), EngineError> {
        let terms = record.terms.ok_or(EngineError::Missing("the terms of an open record"))?;
        let account = self.refund_account(&record.caller, &terms.paid_from, rejections).await;
        let refund = Refund {
            agent: record.agent,
            record: *address,
            rent_payer: record.rent_payer,
            grant: record.grant(),
            refund_token: account.address(),
        };
        Ok((self.refund_preparation(&record.caller, account), refund))
    }

    /// Returns the account for a refund. The accounts are read only after the chain has refused the one that paid.
    async fn refund_account(&self, wallet: &Pubkey, paid_from: &Pubkey, rejections: u32) -> RefundAccount {
        if rejections == 0 {
            return RefundAccount::Existing(*paid_from);
        }
        let usual = self.instructions.usdc_of(wallet);
        let candidates = [*paid_from, usual];
        let read = match self.chain.accounts(&candidates).await {
            Ok(read) => read.value,
            Err(error) => {
                tracing::warn!(%wallet, %error, "the wallet's accounts could not be read; using the one that paid");
                return RefundAccount::Existing(*paid_from);
            }
        };
        let usable = candidates.into_iter().zip(read).find(|(_, account)| {
            let account = account.as_ref().and_then(|account| TokenAccount::decode(account).ok());
            account.is_some_and(|account| {
                account.owner == *wallet && account.mint == self.instructions.usdc_mint && !account.frozen
            })
        });
        usable.map_or(RefundAccount::Recreated(usual), |(address, _)| RefundAccount::Existing(address))
    }

    fn refund_preparation(&self, wallet: &Pubkey, account: RefundAccount) -> Vec<Instruction> {
        match account {
            RefundAccount::Existing(_) => self.budget(SETTLE_UNITS),
            RefundAccount::Recreated(_) => {
                let mut instructions = self.budget(SETTLE_UNITS.saturating_add(RECREATE_UNITS));
                let (payer, mint) = (self.config.keypair.pubkey(), self.instructions.usdc_mint);
                instructions.push(token::create_associated_token_account(&payer, wallet, &mint));
                instructions
            }
        }
    }
}

impl RefundAccount {
    const fn address(self) -> Pubkey {
        match self {
            Self::Existing(address) | Self::Recreated(address) => address,
        }
    }
}
