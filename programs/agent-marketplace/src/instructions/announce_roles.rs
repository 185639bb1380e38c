//! `announce_roles`: the admin names the next resolver, treasury owner or insurance owner, long before they take
//! office.

use anchor_lang::prelude::*;

use crate::{
    account::{self, Current},
    error::{MarketplaceError, OrRefuse, ensure},
    state::Config,
};

/// What is `None` is not announced.
#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug, Default)]
pub struct AnnounceRolesArgs {
    pub resolver: Option<Pubkey>,
    pub treasury_owner: Option<Pubkey>,
    pub insurance_owner: Option<Pubkey>,
}

#[derive(Accounts)]
pub struct AnnounceRoles<'info> {
    pub admin: Signer<'info>,
    #[account(mut)]
    pub config: AccountLoader<'info, Config>,
}

impl AnnounceRoles<'_> {
    fn validate(&self, args: &AnnounceRolesArgs) -> Result<()> {
        let config = self.config.read()?;
        ensure(config.admin == *self.admin.key, MarketplaceError::NotAdmin)?;
        [args.resolver, args.treasury_owner, args.insurance_owner].iter().flatten().try_for_each(Config::check_role)?;
        // Only this announcement can change the three roles before it applies, except that the resolver can go.
        let announced = Config {
            insurance_owner: args.insurance_owner.unwrap_or(config.insurance_owner),
            treasury_owner: args.treasury_owner.unwrap_or(config.treasury_owner),
            resolver: args.resolver.unwrap_or(config.resolver),
            ..*config
        };
        Config::check_insurance(&announced.insurance_owner, &announced.treasury_owner, &announced.resolver)?;
        Ok(announced.check_roles_apart()?)
    }
}

/// Rules (docs/specification.md, "Role changes"):
/// - called by the admin;
/// - replaces an earlier announcement and restarts the delay; naming nobody withdraws it;
/// - changes nothing else before `apply_roles`.
pub(crate) fn handler(ctx: Context<AnnounceRoles>, args: AnnounceRolesArgs) -> Result<()> {
    ctx.accounts.validate(&args)?;
    let now = account::now_unix_s()?;
    let mut config = ctx.accounts.config.write()?;
    config.announced_resolver = args.resolver.unwrap_or_default();
    config.announced_treasury_owner = args.treasury_owner.unwrap_or_default();
    config.announced_insurance_owner = args.insurance_owner.unwrap_or_default();
    let announced = args.resolver.is_some() || args.treasury_owner.is_some() || args.insurance_owner.is_some();
    config.roles_apply_from_unix_s =
        if announced { now.checked_add(Config::ROLE_DELAY_S).or_refuse(MarketplaceError::OutOfRange)? } else { 0 };
    config.revision = account::next_revision(config.revision)?;
    Ok(())
}
