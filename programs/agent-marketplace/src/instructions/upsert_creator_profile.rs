//! `upsert_creator_profile`: a creator sets the display name.

use anchor_lang::prelude::*;

use super::shared::{profile, text_argument};
use crate::{account, error::MarketplaceError, state::CreatorProfile};

#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug)]
pub struct UpsertCreatorProfileArgs {
    /// 1 to 32 bytes of UTF-8: visible characters and inner spaces.
    #[cfg_attr(not(feature = "idl-build"), borsh(deserialize_with = "text_argument::read"))]
    pub display_name: String,
}

#[derive(Accounts)]
pub struct UpsertCreatorProfile<'info> {
    /// The creator; pays the rent.
    #[account(mut)]
    pub wallet: Signer<'info>,
    /// CHECK: at its canonical address; created here the first time.
    #[account(mut)]
    pub profile: UncheckedAccount<'info>,
    /// CHECK: by address.
    #[account(address = account::SYSTEM_PROGRAM_ID @ MarketplaceError::WrongSystemProgram)]
    pub system_program: UncheckedAccount<'info>,
}

impl<'info> UpsertCreatorProfile<'info> {
    fn validate(&'info self, args: &UpsertCreatorProfileArgs, now_unix_s: i64) -> Result<CreatorProfile> {
        let mut profile = profile::present_or_new(&self.profile, self.wallet.key, now_unix_s)?;
        CreatorProfile::check_display_name(&args.display_name)?;
        if profile.display_name() != Some(args.display_name.as_str()) {
            profile.set_display_name(&args.display_name)?;
            profile.verified = 0;
            profile.verified_at_unix_s = 0;
        }
        Ok(profile)
    }
}

/// Rules (docs/specification.md, "Creator profile"):
/// - called by a creator for the own profile, any number of times;
/// - the verification badge is for the name that was verified, so another name loses it.
pub(crate) fn handler<'info>(
    ctx: Context<'info, UpsertCreatorProfile<'info>>,
    args: UpsertCreatorProfileArgs,
) -> Result<()> {
    let accounts = &*ctx.accounts;
    let now = account::now_unix_s()?;
    let profile = accounts.validate(&args, now)?;
    profile::store(&accounts.wallet, &accounts.profile, &profile)
}
