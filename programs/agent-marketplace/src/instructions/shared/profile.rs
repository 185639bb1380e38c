//! The creator's profile: what the instructions that write it share.

use anchor_lang::prelude::*;
use bytemuck::Zeroable;

use crate::{
    account::{self, Current},
    id::ID,
    state::{CreatorProfile, LAYOUT_VERSION},
};

/// The profile at its canonical address with its next revision, or a new one without a name.
pub fn present_or_new<'info>(
    profile: &'info UncheckedAccount<'info>,
    wallet: &Pubkey,
    now_unix_s: i64,
) -> Result<CreatorProfile> {
    let bump = account::canonical_bump(profile, &[CreatorProfile::SEED, wallet.as_ref()])?;
    if account::exists(profile) {
        let mut profile = *AccountLoader::<CreatorProfile>::try_from(profile)?.read()?;
        profile.updated_at_unix_s = now_unix_s;
        profile.revision = account::next_revision(profile.revision)?;
        return Ok(profile);
    }
    account::check_vacant(profile)?;
    Ok(CreatorProfile {
        wallet: *wallet,
        revision: 1,
        created_at_unix_s: now_unix_s,
        updated_at_unix_s: now_unix_s,
        version: LAYOUT_VERSION,
        bump,
        ..Zeroable::zeroed()
    })
}

/// Writes the profile. The first time, `payer` pays its rent.
pub fn store<'info>(payer: &AccountInfo<'info>, account: &AccountInfo<'info>, profile: &CreatorProfile) -> Result<()> {
    if !account::exists(account) {
        let seeds: &[&[u8]] = &[CreatorProfile::SEED, profile.wallet.as_ref(), &[profile.bump]];
        account::create(payer, account, CreatorProfile::SPACE, &ID, seeds)?;
    }
    account::write(account, profile)
}
