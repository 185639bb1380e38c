//! `initialize_config`: a deployment's one configuration.

use anchor_lang::prelude::*;

use crate::{
    account,
    error::{MarketplaceError, OrRefuse, ensure},
    state::{COLLATERAL_TIERS, CollateralTier, Config, LAYOUT_VERSION},
    token,
};

/// Highest fee a deployment can take: 10 %.
pub const MAX_FEE_BPS: u16 = 1_000;

/// Tag of a program account in the upgradeable loader's data, little-endian.
const LOADER_PROGRAM_TAG: [u8; 4] = [2, 0, 0, 0];
/// Tag of a program-data account.
const LOADER_PROGRAM_DATA_TAG: [u8; 4] = [3, 0, 0, 0];
/// Where a program-data account says whether there is an upgrade authority, and which.
const UPGRADE_AUTHORITY_FLAG_AT: usize = 12;
const UPGRADE_AUTHORITY_AT: usize = 13;
/// Where a program account names its program-data account.
const PROGRAM_DATA_ADDRESS_AT: usize = 4;

#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug)]
pub struct InitializeConfigArgs {
    pub admin: Pubkey,
    pub resolver: Pubkey,
    pub gateway_authority: Pubkey,
    pub treasury_owner: Pubkey,
    pub fee_bps: u16,
    pub dispute_window_s: i64,
    pub settle_grace_s: i64,
    pub collateral_tiers: [CollateralTier; COLLATERAL_TIERS],
}

#[derive(Accounts)]
pub struct InitializeConfig<'info> {
    /// The program's upgrade authority; pays the rent.
    #[account(mut)]
    pub authority: Signer<'info>,
    /// CHECK: created here at its canonical address.
    #[account(mut)]
    pub config: UncheckedAccount<'info>,
    /// CHECK: owner, size, decimals and state are read from its bytes.
    pub usdc_mint: UncheckedAccount<'info>,
    /// CHECK: this program's own account.
    #[account(address = crate::ID @ MarketplaceError::WrongProgramData)]
    pub program: UncheckedAccount<'info>,
    /// CHECK: the one that `program` names; holds the upgrade authority.
    pub program_data: UncheckedAccount<'info>,
    /// CHECK: by address.
    #[account(address = account::SYSTEM_PROGRAM_ID @ MarketplaceError::WrongSystemProgram)]
    pub system_program: UncheckedAccount<'info>,
}

impl InitializeConfig<'_> {
    fn validate(&self, args: &InitializeConfigArgs) -> Result<()> {
        self.check_upgrade_authority()?;
        token::check_mint(&self.usdc_mint)?;
        for role in [&args.admin, &args.resolver, &args.gateway_authority, &args.treasury_owner] {
            check_role(role)?;
        }
        check_fee(args.fee_bps)?;
        check_durations(args.dispute_window_s, args.settle_grace_s)?;
        check_tiers(&args.collateral_tiers)
    }

    /// Reads the upgradeable loader's own accounts: the program names its data, the data its authority.
    fn check_upgrade_authority(&self) -> Result<()> {
        let loader = anchor_lang::solana_program::bpf_loader_upgradeable::ID;
        ensure(
            *self.program.owner == loader && *self.program_data.owner == loader,
            MarketplaceError::WrongProgramData,
        )?;
        let program = self.program.try_borrow_data()?;
        ensure(
            program.starts_with(&LOADER_PROGRAM_TAG)
                && program.get(PROGRAM_DATA_ADDRESS_AT..) == Some(self.program_data.key.as_ref()),
            MarketplaceError::WrongProgramData,
        )?;
        let data = self.program_data.try_borrow_data()?;
        ensure(data.starts_with(&LOADER_PROGRAM_DATA_TAG), MarketplaceError::WrongProgramData)?;
        let has_authority = data.get(UPGRADE_AUTHORITY_FLAG_AT) == Some(&1);
        let authority = data.get(UPGRADE_AUTHORITY_AT..).and_then(|rest| rest.first_chunk::<32>());
        ensure(has_authority && authority == Some(self.authority.key.as_array()), MarketplaceError::NotUpgradeAuthority)
    }
}

/// Specification:
/// - called by the program's upgrade authority, once;
/// - the mint MUST be a classic SPL Token mint with 6 decimals;
/// - no role may be the zero address; fee, durations and tiers MUST be within their limits.
pub(crate) fn handler(ctx: Context<InitializeConfig>, args: InitializeConfigArgs) -> Result<()> {
    let accounts = &*ctx.accounts;
    accounts.validate(&args)?;
    let now = account::now_unix_s()?;
    let bump = account::canonical_bump(&accounts.config, &[Config::SEED])?;
    let seeds: &[&[u8]] = &[Config::SEED, &[bump]];
    account::create(&accounts.authority, &accounts.config, Config::SPACE, ctx.program_id, seeds)?;
    account::initialize::<Config>(&accounts.config, |config| {
        config.admin = args.admin;
        config.resolver = args.resolver;
        config.gateway_authority = args.gateway_authority;
        config.treasury_owner = args.treasury_owner;
        config.usdc_mint = *accounts.usdc_mint.key;
        config.resolver_since_unix_s = now;
        config.revision = 1;
        config.dispute_window_s = args.dispute_window_s;
        config.settle_grace_s = args.settle_grace_s;
        config.collateral_tiers = args.collateral_tiers;
        config.fee_bps = args.fee_bps;
        config.version = LAYOUT_VERSION;
        config.bump = bump;
        Ok(())
    })
}

pub(super) fn check_role(role: &Pubkey) -> Result<()> {
    ensure(*role != Pubkey::default(), MarketplaceError::RoleMissing)
}

pub(super) fn check_fee(fee_bps: u16) -> Result<()> {
    ensure(fee_bps <= MAX_FEE_BPS, MarketplaceError::FeeTooHigh)
}

pub(super) fn check_durations(dispute_window_s: i64, settle_grace_s: i64) -> Result<()> {
    ensure(
        (1..=Config::MAX_DISPUTE_WINDOW_S).contains(&dispute_window_s)
            && (0..=Config::MAX_SETTLE_GRACE_S).contains(&settle_grace_s),
        MarketplaceError::DurationOutOfRange,
    )
}

pub(super) fn check_tiers(tiers: &[CollateralTier; COLLATERAL_TIERS]) -> Result<()> {
    for pair in tiers.windows(2) {
        let (lower, higher) = pair.first().zip(pair.get(1)).or_refuse(MarketplaceError::TiersNotAscending)?;
        ensure(
            lower.max_price < higher.max_price && lower.collateral <= higher.collateral,
            MarketplaceError::TiersNotAscending,
        )?;
    }
    Ok(())
}
