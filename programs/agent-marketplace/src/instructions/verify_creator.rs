//! `verify_creator`: the badge that follows a manual identity check.

use anchor_lang::prelude::*;

use super::shared::text_argument;
use crate::{
    account::{self, Current},
    error::{MarketplaceError, ensure},
    state::{Config, CreatorProfile},
};

#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug)]
pub struct VerifyCreatorArgs {
    /// The display name that was verified; `None` removes the badge.
    #[cfg_attr(not(feature = "idl-build"), borsh(deserialize_with = "text_argument::read_optional"))]
    pub verified_name: Option<String>,
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
        ensure(self.config.read()?.admin == *self.admin.key, MarketplaceError::NotAdmin)?;
        let profile = self.profile.read()?;
        let names_it = args.verified_name.as_deref().is_none_or(|name| profile.display_name() == Some(name));
        ensure(names_it, MarketplaceError::DisplayNameMismatch)?;
        args.verified_name.as_deref().map_or(Ok(()), CreatorProfile::check_verified_name)?;
        // A profile without a name has nothing to verify.
        let nameless = args.verified_name.as_deref() == Some("");
        let changes = profile.verified != u8::from(args.verified_name.is_some());
        ensure(changes && !nameless, MarketplaceError::NothingToChange)
    }
}

/// Rules (docs/specification.md, "Creator profile"):
/// - called by the admin, after an identity check outside the chain;
/// - names what was verified, so a creator who changes the name on the way gets no badge;
/// - the letters of the name are of one script, so that it does not look like another one.
pub(crate) fn handler(ctx: Context<VerifyCreator>, args: VerifyCreatorArgs) -> Result<()> {
    ctx.accounts.validate(&args)?;
    let now = account::now_unix_s()?;
    let mut profile = ctx.accounts.profile.write()?;
    profile.verified = u8::from(args.verified_name.is_some());
    profile.verified_at_unix_s = if args.verified_name.is_some() { now } else { 0 };
    profile.updated_at_unix_s = now;
    profile.revision = account::next_revision(profile.revision)?;
    Ok(())
}
