//! `list_agent`: a creator lists an agent and locks its collateral.

use anchor_lang::prelude::*;
use bytemuck::Zeroable;

use super::shared::{profile, text_argument};
use crate::{
    account::{self, Current},
    error::{MarketplaceError, OrRefuse, ensure},
    event::ListingCreated,
    id::ID,
    state::{AgentListed, AgentStatus, Config, CreatorProfile, DEFAULT_TIMEOUT_S, LAYOUT_VERSION, first_revision},
    token,
};

#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug)]
pub struct ListAgentArgs {
    /// Tells the creator's agents apart. Higher than every index that the creator used before.
    pub index: u32,
    /// Ed25519 public key that will sign results.
    pub result_key: Pubkey,
    /// Price of one call in USDC base units.
    pub price: u64,
    /// 1 to 900; 0 means 60.
    pub timeout_seconds: u32,
    /// Whether the creator's service signs each result for its call.
    pub binding: bool,
    /// The free collateral that the creator promises, in prices of one call; 0: no promise.
    pub min_cover: u8,
    /// USDC base units to lock; at least the tier of the price, the price, and the promised cover.
    pub collateral: u64,
    /// SHA-256 of the metadata document.
    pub metadata_hash: [u8; 32],
    #[cfg_attr(not(feature = "idl-build"), borsh(deserialize_with = "text_argument::read"))]
    pub metadata_uri: String,
}

#[event_cpi]
#[derive(Accounts)]
pub struct ListAgent<'info> {
    /// Pays collateral and rent.
    #[account(mut)]
    pub creator: Signer<'info>,
    pub config: AccountLoader<'info, Config>,
    /// CHECK: at its canonical address; created here for the first agent.
    #[account(mut)]
    pub profile: UncheckedAccount<'info>,
    /// CHECK: created here at its canonical address.
    #[account(mut)]
    pub agent: UncheckedAccount<'info>,
    /// CHECK: created here at its canonical address.
    #[account(mut)]
    pub escrow: UncheckedAccount<'info>,
    /// CHECK: created here at its canonical address.
    #[account(mut)]
    pub collateral_vault: UncheckedAccount<'info>,
    /// CHECK: pays the collateral; mint, owner and state are read from its bytes.
    #[account(mut)]
    pub creator_token: UncheckedAccount<'info>,
    /// CHECK: by address, against the configuration.
    pub usdc_mint: UncheckedAccount<'info>,
    /// CHECK: creates both token accounts and moves the collateral; by address.
    #[account(address = token::TOKEN_PROGRAM_ID @ MarketplaceError::WrongTokenProgram)]
    pub token_program: UncheckedAccount<'info>,
    /// CHECK: by address.
    #[account(address = account::SYSTEM_PROGRAM_ID @ MarketplaceError::WrongSystemProgram)]
    pub system_program: UncheckedAccount<'info>,
}

impl<'info> ListAgent<'info> {
    /// Returns the listing and its creator's profile as they will be.
    fn validate(&'info self, args: &ListAgentArgs, now_unix_s: i64) -> Result<(AgentListed, CreatorProfile)> {
        let config = self.config.read()?;
        ensure(config.listings_paused == 0, MarketplaceError::Paused)?;
        ensure(*self.usdc_mint.key == config.usdc_mint, MarketplaceError::WrongMint)?;
        config.parameters.check_price(args.price)?;
        let required = config.parameters.required_collateral(args.price, args.min_cover);
        ensure(args.collateral >= required, MarketplaceError::CollateralTooLow)?;
        token::check_account(&self.creator_token, &config.usdc_mint, self.creator.key)?;
        let agent = self.listing(args, now_unix_s)?;
        agent.invariant()?;
        for account in [&self.agent, &self.escrow, &self.collateral_vault] {
            account::check_vacant(account)?;
        }
        let mut profile = profile::present_or_new(&self.profile, self.creator.key, now_unix_s)?;
        ensure(args.index >= profile.next_agent_index, MarketplaceError::IndexUsed)?;
        profile.next_agent_index = args.index.checked_add(1).or_refuse(MarketplaceError::OutOfRange)?;
        Ok((agent, profile))
    }

    /// The listing as it will be, at its canonical addresses.
    fn listing(&self, args: &ListAgentArgs, now_unix_s: i64) -> Result<AgentListed> {
        let (index, agent) = (args.index.to_le_bytes(), self.agent.key.as_ref());
        let seeds: &[&[u8]] = &[AgentListed::SEED, self.creator.key.as_ref(), &index];
        let mut listing = AgentListed {
            creator: *self.creator.key,
            result_key: args.result_key,
            metadata_hash: args.metadata_hash,
            revision: first_revision(now_unix_s).or_refuse(MarketplaceError::OutOfRange)?,
            price: args.price,
            collateral: args.collateral,
            created_at_unix_s: now_unix_s,
            updated_at_unix_s: now_unix_s,
            index: args.index,
            timeout_seconds: if args.timeout_seconds == 0 { DEFAULT_TIMEOUT_S } else { args.timeout_seconds },
            status: AgentStatus::Active as u8,
            binding: u8::from(args.binding),
            min_cover: args.min_cover,
            version: LAYOUT_VERSION,
            bump: account::canonical_bump(&self.agent, seeds)?,
            escrow_bump: account::canonical_bump(&self.escrow, &[AgentListed::ESCROW_SEED, agent])?,
            collateral_bump: account::canonical_bump(&self.collateral_vault, &[AgentListed::COLLATERAL_SEED, agent])?,
            escrow: *self.escrow.key,
            ..Zeroable::zeroed()
        };
        listing.set_metadata_uri(&args.metadata_uri)?;
        Ok(listing)
    }

    fn create_accounts(&self, listing: &AgentListed) -> Result<()> {
        let (index, agent) = (listing.index.to_le_bytes(), self.agent.key.as_ref());
        let seeds: &[&[u8]] = &[AgentListed::SEED, listing.creator.as_ref(), &index, &[listing.bump]];
        account::create(&self.creator, &self.agent, AgentListed::SPACE, &ID, seeds)?;
        for (vault, seed, bump) in [
            (&self.escrow, AgentListed::ESCROW_SEED, listing.escrow_bump),
            (&self.collateral_vault, AgentListed::COLLATERAL_SEED, listing.collateral_bump),
        ] {
            let seeds: &[&[u8]] = &[seed, agent, &[bump]];
            account::create(&self.creator, vault, token::TOKEN_ACCOUNT_LEN, &token::TOKEN_PROGRAM_ID, seeds)?;
            token::initialize_account(vault, &self.usdc_mint, self.agent.key)?;
        }
        account::write(&self.agent, listing)
    }

    fn lock_collateral(&self, amount: u64) -> Result<()> {
        let (from, to) = (&self.creator_token, &self.collateral_vault);
        token::transfer(from, &self.usdc_mint, to, &self.creator, amount, &[])
    }
}

/// Rules (docs/specification.md, "Collateral"):
/// - called by the creator, who pays at least the collateral of the price's tier;
/// - refused while new listings are paused, and for an index that the creator used before: an agent that is
///   closed and listed again starts as another agent;
/// - the listing is active as soon as the transaction confirms.
pub(crate) fn handler<'info>(ctx: Context<'info, ListAgent<'info>>, args: ListAgentArgs) -> Result<()> {
    let accounts: &'info ListAgent<'info> = ctx.accounts;
    let now = account::now_unix_s()?;
    let (listing, profile) = accounts.validate(&args, now)?;
    profile::store(&accounts.creator, &accounts.profile, &profile)?;
    accounts.create_accounts(&listing)?;
    accounts.lock_collateral(listing.collateral)?;
    emit_cpi!(ListingCreated {
        agent: *accounts.agent.key,
        creator: listing.creator,
        index: listing.index,
        result_key: listing.result_key,
        price: listing.price,
        timeout_seconds: listing.timeout_seconds,
        binding: args.binding,
        min_cover: args.min_cover,
        collateral: listing.collateral,
        metadata_hash: listing.metadata_hash,
        metadata_uri: args.metadata_uri,
        listed_at_unix_s: now,
    });
    Ok(())
}
