//! `initialize_config`: creates the one configuration of a deployment.

use anchor_lang::prelude::*;
use bytemuck::Zeroable;

use crate::{
    account,
    error::{MarketplaceError, ensure},
    id::ID,
    state::{Config, LAYOUT_VERSION, MarketParameters},
    token,
};

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
    /// Neither the treasury's owner nor the resolver.
    pub insurance_owner: Pubkey,
    /// May stop, but not resume. The zero address: nobody.
    pub guardian: Pubkey,
    pub parameters: MarketParameters,
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
    #[account(address = ID @ MarketplaceError::WrongProgramData)]
    pub program: UncheckedAccount<'info>,
    /// CHECK: the one that `program` names; holds the upgrade authority.
    pub program_data: UncheckedAccount<'info>,
    /// CHECK: by address.
    #[account(address = account::SYSTEM_PROGRAM_ID @ MarketplaceError::WrongSystemProgram)]
    pub system_program: UncheckedAccount<'info>,
}

impl InitializeConfig<'_> {
    fn validate(&self, args: &InitializeConfigArgs, now_unix_s: i64) -> Result<Config> {
        self.check_upgrade_authority()?;
        token::check_mint(&self.usdc_mint)?;
        // The invariant allows a configuration without a resolver: the admin may remove one later.
        Config::check_role(&args.resolver)?;
        let bump = account::canonical_bump(&self.config, &[Config::SEED])?;
        account::check_vacant(&self.config)?;
        let config = Config {
            admin: args.admin,
            resolver: args.resolver,
            gateway_authority: args.gateway_authority,
            treasury_owner: args.treasury_owner,
            insurance_owner: args.insurance_owner,
            guardian: args.guardian,
            usdc_mint: *self.usdc_mint.key,
            resolver_since_unix_s: now_unix_s,
            revision: 1,
            parameters: args.parameters,
            version: LAYOUT_VERSION,
            bump,
            ..Zeroable::zeroed()
        };
        config.invariant()?;
        Ok(config)
    }

    /// Reads the upgradeable loader's accounts: the program names its data, the data its authority.
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

/// Rules (docs/specification.md, "Configuration"):
/// - called by the program's upgrade authority, once;
/// - the mint must be a classic SPL Token mint with 6 decimals;
/// - no role but the guardian is the zero address; no two of admin, resolver, gateway, treasury owner and guardian are
///   one key; the parameters are within their limits; the insurance is independent.
pub(crate) fn handler(ctx: Context<InitializeConfig>, args: InitializeConfigArgs) -> Result<()> {
    let accounts = &*ctx.accounts;
    let now = account::now_unix_s()?;
    let config = accounts.validate(&args, now)?;
    let seeds: &[&[u8]] = &[Config::SEED, &[config.bump]];
    account::create(&accounts.authority, &accounts.config, Config::SPACE, &ID, seeds)?;
    account::write(&accounts.config, &config)
}
