//! `apply_parameters`: announced parameters take effect.

use anchor_lang::prelude::*;
use bytemuck::Zeroable;

use crate::{
    account::{self, Current},
    state::Config,
};

#[derive(Accounts)]
pub struct ApplyParameters<'info> {
    #[account(mut)]
    pub config: AccountLoader<'info, Config>,
}

impl ApplyParameters<'_> {
    fn validate(&self, now_unix_s: i64) -> Result<()> {
        Ok(Config::check_due(self.config.read()?.parameters_apply_from_unix_s, now_unix_s)?)
    }
}

/// Rules (docs/specification.md, "Parameter changes"):
/// - called by anybody, when the delay after the announcement is over and the announcement has not lapsed;
/// - open executions keep their split, deadline, dispute window and limit of penalties.
pub(crate) fn handler(ctx: Context<ApplyParameters>) -> Result<()> {
    let now = account::now_unix_s()?;
    ctx.accounts.validate(now)?;
    let mut config = ctx.accounts.config.write()?;
    config.parameters = core::mem::replace(&mut config.announced_parameters, Zeroable::zeroed());
    config.parameters_apply_from_unix_s = 0;
    config.revision = account::next_revision(config.revision)?;
    Ok(())
}
