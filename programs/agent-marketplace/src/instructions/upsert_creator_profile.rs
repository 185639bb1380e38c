//! `upsert_creator_profile`: the name a creator is shown under.

use anchor_lang::prelude::*;

use crate::{
    account,
    error::{MarketplaceError, OrRefuse, ensure},
    state::{CreatorProfile, LAYOUT_VERSION, MAX_DISPLAY_NAME_BYTES},
};

#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug)]
pub struct UpsertCreatorProfileArgs {
    /// 1 to 32 bytes of UTF-8 without control characters and without white space around it.
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

impl UpsertCreatorProfile<'_> {
    fn validate(&self, args: &UpsertCreatorProfileArgs) -> Result<()> {
        let name = args.display_name.as_str();
        ensure(
            !name.is_empty()
                && name.len() <= MAX_DISPLAY_NAME_BYTES
                && name.trim() == name
                && !name.chars().any(char::is_control),
            MarketplaceError::DisplayNameInvalid,
        )
    }
}

/// Specification:
/// - called by a creator for the own profile, as often as wanted;
/// - the verification badge goes with the identity, so it stays when the name changes.
pub(crate) fn handler<'info>(
    ctx: Context<'info, UpsertCreatorProfile<'info>>,
    args: UpsertCreatorProfileArgs,
) -> Result<()> {
    let accounts = &*ctx.accounts;
    accounts.validate(&args)?;
    let now = account::now_unix_s()?;
    let wallet = accounts.wallet.key;
    let bump = account::canonical_bump(&accounts.profile, &[CreatorProfile::SEED, wallet.as_ref()])?;
    if account::exists(&accounts.profile) {
        let loader = AccountLoader::<CreatorProfile>::try_from(&accounts.profile)?;
        let mut profile = loader.load_mut()?;
        profile.revision = account::next_revision(profile.revision)?;
        profile.updated_at_unix_s = now;
        return write_name(&mut profile, &args.display_name);
    }
    let seeds: &[&[u8]] = &[CreatorProfile::SEED, wallet.as_ref(), &[bump]];
    account::create(&accounts.wallet, &accounts.profile, CreatorProfile::SPACE, ctx.program_id, seeds)?;
    account::initialize::<CreatorProfile>(&accounts.profile, |profile| {
        profile.wallet = *wallet;
        profile.revision = 1;
        profile.created_at_unix_s = now;
        profile.updated_at_unix_s = now;
        profile.version = LAYOUT_VERSION;
        profile.bump = bump;
        write_name(profile, &args.display_name)
    })
}

fn write_name(profile: &mut CreatorProfile, name: &str) -> Result<()> {
    let length = u8::try_from(name.len()).ok().or_refuse(MarketplaceError::DisplayNameInvalid)?;
    let (used, unused) =
        profile.display_name.split_at_mut_checked(name.len()).or_refuse(MarketplaceError::DisplayNameInvalid)?;
    used.copy_from_slice(name.as_bytes());
    unused.fill(0);
    profile.display_name_len = length;
    Ok(())
}
