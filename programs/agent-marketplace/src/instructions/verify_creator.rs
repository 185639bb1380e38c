//! `verify_creator`: the badge that follows a manual identity check.

use anchor_lang::prelude::*;

use crate::{
    account,
    error::{MarketplaceError, ensure},
    state::{Config, CreatorProfile},
};

#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug)]
pub struct VerifyCreatorArgs {
    /// `false` removes the badge.
    pub verified: bool,
}

#[derive(Accounts)]
pub struct VerifyCreator<'info> {
    pub admin: Signer<'info>,
    pub config: AccountLoader<'info, Config>,
    #[account(mut)]
    pub profile: AccountLoader<'info, CreatorProfile>,
}

impl VerifyCreator<'_> {
    fn validate(&self, args: &VerifyCreatorArgs) -> Result<()> {
        ensure(self.config.load()?.admin == *self.admin.key, MarketplaceError::NotAdmin)?;
        ensure(self.profile.load()?.verified != u8::from(args.verified), MarketplaceError::NothingToChange)
    }
}

/// Rules (docs/specification.md, "Creator profile"):
/// - called by the admin, after an identity check outside the chain.
pub(crate) fn handler(ctx: Context<VerifyCreator>, args: VerifyCreatorArgs) -> Result<()> {
    ctx.accounts.validate(&args)?;
    let now = account::now_unix_s()?;
    let mut profile = ctx.accounts.profile.load_mut()?;
    profile.verified = u8::from(args.verified);
    profile.verified_at_unix_s = if args.verified { now } else { 0 };
    profile.updated_at_unix_s = now;
    profile.revision = account::next_revision(profile.revision)?;
    Ok(())
}
