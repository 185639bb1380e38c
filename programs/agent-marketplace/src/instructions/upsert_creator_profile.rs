//! `upsert_creator_profile`: a creator sets the display name.

use anchor_lang::prelude::*;
use bytemuck::Zeroable;

use crate::{
    account,
    error::MarketplaceError,
    id::ID,
    state::{CreatorProfile, LAYOUT_VERSION},
};

#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug)]
pub struct UpsertCreatorProfileArgs {
    /// 1 to 32 bytes of UTF-8 without control characters or outer white space.
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
        let wallet = self.wallet.key;
        let bump = account::canonical_bump(&self.profile, &[CreatorProfile::SEED, wallet.as_ref()])?;
        let mut profile = if account::exists(&self.profile) {
            let mut profile = *AccountLoader::<CreatorProfile>::try_from(&self.profile)?.load()?;
            profile.revision = account::next_revision(profile.revision)?;
            profile
        } else {
            account::check_vacant(&self.profile)?;
            CreatorProfile {
                wallet: *wallet,
                revision: 1,
                created_at_unix_s: now_unix_s,
                version: LAYOUT_VERSION,
                bump,
                ..Zeroable::zeroed()
            }
        };
        profile.updated_at_unix_s = now_unix_s;
        CreatorProfile::check_display_name(&args.display_name)?;
        profile.set_display_name(&args.display_name)?;
        Ok(profile)
    }
}

/// Rules (docs/specification.md, "Creator profile"):
/// - called by a creator for the own profile, any number of times;
/// - the verification badge belongs to the identity, so it stays when the name changes.
pub(crate) fn handler<'info>(
    ctx: Context<'info, UpsertCreatorProfile<'info>>,
    args: UpsertCreatorProfileArgs,
) -> Result<()> {
    let accounts = &*ctx.accounts;
    let now = account::now_unix_s()?;
    let profile = accounts.validate(&args, now)?;
    if !account::exists(&accounts.profile) {
        let seeds: &[&[u8]] = &[CreatorProfile::SEED, profile.wallet.as_ref(), &[profile.bump]];
        account::create(&accounts.wallet, &accounts.profile, CreatorProfile::SPACE, &ID, seeds)?;
    }
    account::write(&accounts.profile, &profile)
}
