//! `list_agent`: an agent goes live against locked collateral.

use anchor_lang::prelude::*;

use crate::{
    account,
    error::{MarketplaceError, OrRefuse, ensure},
    event::AgentListed,
    state::{
        AgentListing, AgentStatus, Config, LAYOUT_VERSION, MAX_METADATA_URI_BYTES, MAX_TIMEOUT_S, MIN_TIMEOUT_S,
        first_revision,
    },
    token,
};

/// Seconds a creator's service gets where the listing names none.
pub const DEFAULT_TIMEOUT_S: u32 = 60;

#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug)]
pub struct ListAgentArgs {
    /// Tells the creator's agents apart.
    pub index: u32,
    /// Ed25519 public key that will sign results.
    pub result_key: Pubkey,
    /// Price of one call in USDC base units.
    pub price: u64,
    /// 1 to 900; 0 stands for 60.
    pub timeout_seconds: u32,
    /// USDC base units to lock; at least the tier of the price.
    pub collateral: u64,
    /// SHA-256 of the metadata document.
    pub metadata_hash: [u8; 32],
    pub metadata_uri: String,
}

#[event_cpi]
#[derive(Accounts)]
pub struct ListAgent<'info> {
    /// Pays collateral and rent.
    #[account(mut)]
    pub creator: Signer<'info>,
    pub config: AccountLoader<'info, Config>,
    /// CHECK: created here at its canonical address.
    #[account(mut)]
    pub agent: UncheckedAccount<'info>,
    /// CHECK: created here at its canonical address.
    #[account(mut)]
    pub escrow: UncheckedAccount<'info>,
    /// CHECK: created here at its canonical address.
    #[account(mut)]
    pub collateral_vault: UncheckedAccount<'info>,
    /// CHECK: mint, owner and state are read from its bytes.
    #[account(mut)]
    pub creator_token: UncheckedAccount<'info>,
    /// CHECK: by address, against the configuration.
    pub usdc_mint: UncheckedAccount<'info>,
    /// CHECK: by address.
    #[account(address = token::TOKEN_PROGRAM_ID @ MarketplaceError::WrongTokenProgram)]
    pub token_program: UncheckedAccount<'info>,
    /// CHECK: by address.
    #[account(address = account::SYSTEM_PROGRAM_ID @ MarketplaceError::WrongSystemProgram)]
    pub system_program: UncheckedAccount<'info>,
}

/// Bumps of the three accounts a listing consists of.
struct Bumps {
    agent: u8,
    escrow: u8,
    collateral: u8,
}

impl ListAgent<'_> {
    fn validate(&self, args: &ListAgentArgs) -> Result<()> {
        let config = self.config.load()?;
        ensure(config.paused == 0, MarketplaceError::Paused)?;
        ensure(*self.usdc_mint.key == config.usdc_mint, MarketplaceError::WrongMint)?;
        check_price(args.price)?;
        check_result_key(&args.result_key)?;
        check_metadata_uri(&args.metadata_uri)?;
        ensure(args.collateral >= config.required_collateral(args.price), MarketplaceError::CollateralTooLow)?;
        token::check_account(&self.creator_token, &config.usdc_mint, self.creator.key)
    }

    fn find_bumps(&self, index: &[u8; 4]) -> Result<Bumps> {
        let agent = self.agent.key.as_ref();
        let seeds: &[&[u8]] = &[AgentListing::SEED, self.creator.key.as_ref(), index];
        Ok(Bumps {
            agent: account::canonical_bump(&self.agent, seeds)?,
            escrow: account::canonical_bump(&self.escrow, &[AgentListing::ESCROW_SEED, agent])?,
            collateral: account::canonical_bump(&self.collateral_vault, &[AgentListing::COLLATERAL_SEED, agent])?,
        })
    }
}

/// Specification (1.6, 3.2):
/// - called by the creator, who pays collateral of at least the price's tier;
/// - refused while the configuration is paused;
/// - the listing is active as soon as the transaction confirms.
pub(crate) fn handler(ctx: Context<ListAgent>, args: ListAgentArgs) -> Result<()> {
    ctx.accounts.validate(&args)?;
    let timeout_seconds = timeout_or_default(args.timeout_seconds)?;
    let index = args.index.to_le_bytes();
    let bumps = ctx.accounts.find_bumps(&index)?;
    let now = account::now_unix_s()?;
    create_accounts(ctx.accounts, &index, &bumps)?;
    account::initialize::<AgentListing>(&ctx.accounts.agent, |agent| {
        agent.creator = *ctx.accounts.creator.key;
        agent.result_key = args.result_key;
        agent.metadata_hash = args.metadata_hash;
        agent.revision = first_revision(now).or_refuse(MarketplaceError::OutOfRange)?;
        agent.price = args.price;
        agent.collateral = args.collateral;
        agent.created_at_unix_s = now;
        agent.updated_at_unix_s = now;
        agent.index = args.index;
        agent.timeout_seconds = timeout_seconds;
        agent.status = AgentStatus::Active as u8;
        agent.version = LAYOUT_VERSION;
        agent.bump = bumps.agent;
        agent.escrow_bump = bumps.escrow;
        agent.collateral_bump = bumps.collateral;
        agent.escrow = *ctx.accounts.escrow.key;
        write_metadata_uri(agent, &args.metadata_uri)
    })?;
    lock_collateral(ctx.accounts, args.collateral)?;
    emit_cpi!(AgentListed {
        agent: *ctx.accounts.agent.key,
        creator: *ctx.accounts.creator.key,
        index: args.index,
        result_key: args.result_key,
        price: args.price,
        timeout_seconds,
        collateral: args.collateral,
        metadata_hash: args.metadata_hash,
        metadata_uri: args.metadata_uri,
        listed_at_unix_s: now,
    });
    Ok(())
}

fn create_accounts(accounts: &ListAgent, index: &[u8; 4], bumps: &Bumps) -> Result<()> {
    let (creator, agent) = (&accounts.creator, accounts.agent.key.as_ref());
    let seeds: &[&[u8]] = &[AgentListing::SEED, creator.key.as_ref(), index, &[bumps.agent]];
    account::create(creator, &accounts.agent, AgentListing::SPACE, &crate::ID, seeds)?;
    for (vault, seed, bump) in [
        (&accounts.escrow, AgentListing::ESCROW_SEED, bumps.escrow),
        (&accounts.collateral_vault, AgentListing::COLLATERAL_SEED, bumps.collateral),
    ] {
        let seeds: &[&[u8]] = &[seed, agent, &[bump]];
        account::create(creator, vault, token::TOKEN_ACCOUNT_LEN, &token::TOKEN_PROGRAM_ID, seeds)?;
        token::initialize_account(vault, &accounts.usdc_mint, accounts.agent.key)?;
    }
    Ok(())
}

fn lock_collateral(accounts: &ListAgent, amount: u64) -> Result<()> {
    token::transfer(
        &accounts.creator_token,
        &accounts.usdc_mint,
        &accounts.collateral_vault,
        &accounts.creator,
        amount,
        &[],
    )
}

pub(super) fn check_price(price: u64) -> Result<()> {
    ensure(price > 0, MarketplaceError::PriceZero)
}

pub(super) fn check_result_key(key: &Pubkey) -> Result<()> {
    ensure(*key != Pubkey::default(), MarketplaceError::ResultKeyMissing)
}

pub(super) fn check_timeout(timeout_seconds: u32) -> Result<()> {
    ensure((MIN_TIMEOUT_S..=MAX_TIMEOUT_S).contains(&timeout_seconds), MarketplaceError::TimeoutOutOfRange)
}

fn timeout_or_default(timeout_seconds: u32) -> Result<u32> {
    if timeout_seconds == 0 {
        return Ok(DEFAULT_TIMEOUT_S);
    }
    check_timeout(timeout_seconds)?;
    Ok(timeout_seconds)
}

pub(super) fn check_metadata_uri(uri: &str) -> Result<()> {
    ensure(
        !uri.is_empty() && uri.len() <= MAX_METADATA_URI_BYTES && uri.bytes().all(|byte| byte.is_ascii_graphic()),
        MarketplaceError::MetadataUriInvalid,
    )
}

pub(super) fn write_metadata_uri(agent: &mut AgentListing, uri: &str) -> Result<()> {
    let length = u8::try_from(uri.len()).ok().or_refuse(MarketplaceError::MetadataUriInvalid)?;
    let (used, unused) =
        agent.metadata_uri.split_at_mut_checked(uri.len()).or_refuse(MarketplaceError::MetadataUriInvalid)?;
    used.copy_from_slice(uri.as_bytes());
    unused.fill(0);
    agent.metadata_uri_len = length;
    Ok(())
}
