//! `update_listing`: a creator edits an agent without relisting it.

use anchor_lang::prelude::*;

use super::shared::text_argument;
use crate::{
    account::{self, Current},
    error::{MarketplaceError, ensure},
    state::{AgentListed, AgentStatus, Config},
};

/// `None` keeps the present value.
#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug, Default)]
pub struct UpdateListingArgs {
    /// USDC base units.
    pub price: Option<u64>,
    pub timeout_seconds: Option<u32>,
    pub result_key: Option<Pubkey>,
    /// Whether the creator's service signs each result for its call.
    pub binding: Option<bool>,
    /// The free collateral that the creator promises, in prices of one call; 0: no promise.
    pub min_cover: Option<u8>,
    pub metadata: Option<MetadataRef>,
}

/// Where a metadata document is and what it hashes to.
#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug)]
pub struct MetadataRef {
    /// SHA-256 of the document.
    pub hash: [u8; 32],
    #[cfg_attr(not(feature = "idl-build"), borsh(deserialize_with = "text_argument::read"))]
    pub uri: String,
}

#[derive(Accounts)]
pub struct UpdateListing<'info> {
    pub creator: Signer<'info>,
    pub config: AccountLoader<'info, Config>,
    #[account(mut)]
    pub agent: AccountLoader<'info, AgentListed>,
}

impl UpdateListing<'_> {
    fn validate(&self, args: &UpdateListingArgs) -> Result<()> {
        let agent = self.agent.read()?;
        ensure(agent.creator == *self.creator.key, MarketplaceError::NotCreator)?;
        ensure(agent.status != AgentStatus::Delisted as u8, MarketplaceError::AgentDelisted)?;
        let parameters = &self.config.read()?.parameters;
        args.price.map_or(Ok(()), |price| parameters.check_price(price))?;
        let (price, min_cover) = (args.price.unwrap_or(agent.price), args.min_cover.unwrap_or(agent.min_cover));
        ensure(price <= agent.price || agent.open_disputes == 0, MarketplaceError::PriceRiseWhileDisputed)?;
        if price > agent.price || min_cover > agent.min_cover {
            let required = parameters.required_collateral(price, min_cover);
            ensure(agent.free_collateral() >= required, MarketplaceError::CollateralTooLow)?;
        }
        args.timeout_seconds.map_or(Ok(()), AgentListed::check_timeout)?;
        args.result_key.as_ref().map_or(Ok(()), AgentListed::check_result_key)?;
        args.metadata.as_ref().map_or(Ok(()), |metadata| AgentListed::check_metadata_uri(&metadata.uri))?;
        let nothing = args.price.is_none()
            && args.timeout_seconds.is_none()
            && args.result_key.is_none()
            && args.binding.is_none()
            && args.min_cover.is_none()
            && args.metadata.is_none();
        ensure(!nothing, MarketplaceError::NothingToChange)
    }
}

/// Rules (docs/specification.md, "Listing on chain"):
/// - called by the creator; open executions keep what they were opened with;
/// - a price that reaches a higher tier needs the collateral of that tier first, a higher promise of cover its own;
/// - the price does not rise while disputes are open: calls at a higher price would claim what earlier ones are owed.
pub(crate) fn handler(ctx: Context<UpdateListing>, args: UpdateListingArgs) -> Result<()> {
    ctx.accounts.validate(&args)?;
    let mut agent = ctx.accounts.agent.write()?;
    if let Some(price) = args.price {
        agent.price = price;
    }
    if let Some(timeout_seconds) = args.timeout_seconds {
        agent.timeout_seconds = timeout_seconds;
    }
    if let Some(result_key) = args.result_key {
        agent.result_key = result_key;
    }
    if let Some(binding) = args.binding {
        agent.binding = u8::from(binding);
    }
    if let Some(min_cover) = args.min_cover {
        agent.min_cover = min_cover;
    }
    if let Some(metadata) = args.metadata {
        agent.metadata_hash = metadata.hash;
        agent.set_metadata_uri(&metadata.uri)?;
    }
    agent.updated_at_unix_s = account::now_unix_s()?;
    agent.revision = account::next_revision(agent.revision)?;
    Ok(())
}
