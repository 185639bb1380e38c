//! Chooses the account for a refund: the one that paid, or the wallet's associated token account. The program pays
//! nowhere else. An associated account that the wallet has closed is created again, a few times a day: its rent is this
//! gateway's, and the wallet gets it when it closes the account once more.

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
        let exists = read.get(1).is_some_and(Option::is_some);
        let usable = candidates.into_iter().zip(read).find(|(_, account)| {
            let account = account.as_ref().and_then(|account| TokenAccount::decode(account).ok());
            account.is_some_and(|account| {
                account.owner == *wallet && account.mint == self.instructions.usdc_mint && !account.frozen
            })
        });
        let may_create = || !exists && self.created_accounts.take((), "closed token accounts").is_ok();
        chosen(usable.map(|(address, _)| address), usual, may_create)
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

/// Without an account that can receive money and without a new one, the refund is refused before it costs a fee, and
/// tried again later: the wallet can have an account again by then.
fn chosen(usable: Option<Pubkey>, usual: Pubkey, may_create: impl FnOnce() -> bool) -> RefundAccount {
    match usable {
        Some(address) => RefundAccount::Existing(address),
        None if may_create() => RefundAccount::Recreated(usual),
        None => RefundAccount::Existing(usual),
    }
}

impl RefundAccount {
    const fn address(self) -> Pubkey {
        match self {
            Self::Existing(address) | Self::Recreated(address) => address,
        }
    }
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
        assert_eq!(chosen(Some(other), usual, || panic!("there is one")), RefundAccount::Existing(other));
        let refunds = (0..1_000).map(|_| chosen(None, usual, may_create));
        let recreated = refunds.filter(|account| *account == RefundAccount::Recreated(usual)).count();
        assert!((1..=21).contains(&recreated), "{recreated}");
        assert_eq!(chosen(None, usual, may_create), RefundAccount::Existing(usual));
    }
}
