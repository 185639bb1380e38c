//! `revoke_spending`: a wallet ends a grant permanently and at once.

use anchor_lang::prelude::*;

use crate::{
    account::{self, Current},
    error::{MarketplaceError, ensure},
    state::SpendingGrant,
};

#[derive(Accounts)]
pub struct RevokeSpending<'info> {
    pub wallet: Signer<'info>,
    #[account(mut)]
    pub grant: AccountLoader<'info, SpendingGrant>,
}

impl RevokeSpending<'_> {
    fn validate(&self) -> Result<()> {
        let grant = self.grant.read()?;
        ensure(grant.wallet == *self.wallet.key, MarketplaceError::NotGrantWallet)?;
        ensure(grant.revoked == 0, MarketplaceError::GrantRevoked)
    }
}

/// Rules (docs/specification.md, "Spending grant"):
/// - called by the wallet; open executions are unaffected.
pub(crate) fn handler(ctx: Context<RevokeSpending>) -> Result<()> {
    ctx.accounts.validate()?;
    let mut grant = ctx.accounts.grant.write()?;
    grant.revoked = 1;
    grant.revision = account::next_revision(grant.revision)?;
    Ok(())
}
