//! `apply_roles`: an announced resolver, treasury owner or insurance owner takes office.

use anchor_lang::prelude::*;

use crate::{
    account::{self, Current},
    state::Config,
};

#[derive(Accounts)]
pub struct ApplyRoles<'info> {
    #[account(mut)]
    pub config: AccountLoader<'info, Config>,
}

impl ApplyRoles<'_> {
    fn validate(&self, now_unix_s: i64) -> Result<()> {
        Ok(Config::check_due(self.config.read()?.roles_apply_from_unix_s, now_unix_s)?)
    }
}

/// Rules (docs/specification.md, "Role changes"):
/// - called by anybody, when the delay after the announcement is over and the announcement has not lapsed;
/// - refused while a successor has another of the roles that check each other.
pub(crate) fn handler(ctx: Context<ApplyRoles>) -> Result<()> {
    let now = account::now_unix_s()?;
    ctx.accounts.validate(now)?;
    let mut config = ctx.accounts.config.write()?;
    let (resolver, treasury_owner) = (config.announced_resolver, config.announced_treasury_owner);
    let insurance_owner = config.announced_insurance_owner;
    // The present resolver's own term goes on.
    if resolver != Pubkey::default() && resolver != config.resolver {
        config.resolver = resolver;
        config.resolver_since_unix_s = now;
    }
    if treasury_owner != Pubkey::default() {
        config.treasury_owner = treasury_owner;
    }
    if insurance_owner != Pubkey::default() {
        config.insurance_owner = insurance_owner;
    }
    config.check_roles_apart()?;
    config.announced_resolver = Pubkey::default();
    config.announced_insurance_owner = Pubkey::default();
    config.announced_treasury_owner = Pubkey::default();
    config.roles_apply_from_unix_s = 0;
    config.revision = account::next_revision(config.revision)?;
    Ok(())
}
