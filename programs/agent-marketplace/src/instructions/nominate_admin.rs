//! `nominate_admin`: the admin names a successor. First of two steps.

use anchor_lang::prelude::*;

use crate::{
    account::{self, Current},
    error::{MarketplaceError, ensure},
    state::Config,
};

#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug)]
pub struct NominateAdminArgs {
    /// Who may accept; the zero address withdraws a nomination.
    pub nominee: Pubkey,
}

#[derive(Accounts)]
pub struct NominateAdmin<'info> {
    pub admin: Signer<'info>,
    #[account(mut)]
    pub config: AccountLoader<'info, Config>,
}

impl NominateAdmin<'_> {
    fn validate(&self) -> Result<()> {
        ensure(self.config.read()?.admin == *self.admin.key, MarketplaceError::NotAdmin)
    }
}

/// Rules (docs/specification.md, "Role changes"):
/// - called by the admin, who stays admin until the nominee accepts.
pub(crate) fn handler(ctx: Context<NominateAdmin>, args: NominateAdminArgs) -> Result<()> {
    ctx.accounts.validate()?;
    let mut config = ctx.accounts.config.write()?;
    config.pending_admin = args.nominee;
    config.revision = account::next_revision(config.revision)?;
    Ok(())
}
