//! `AgentListed`: one agent, its terms, its collateral and its totals.

use anchor_lang::prelude::*;
use crtx_protocol::terms::{MarketTerms, Terms};
use solana_sha256_hasher::hash;

use super::{
    invariant::{Violation, claim},
    layout::{DISCRIMINATOR_LEN, Versioned},
    text,
};
use crate::error::{MarketplaceError, Rule, rule};

/// Longest metadata URI in bytes.
pub const MAX_METADATA_URI_BYTES: usize = 128;

/// Highest price of one call: 1 000 000 USDC.
pub const MAX_PRICE: u64 = 1_000_000_000_000;

/// Seconds that a listing may give the creator's service to answer.
pub const MIN_TIMEOUT_S: u32 = 1;
pub const MAX_TIMEOUT_S: u32 = 900;

/// Seconds that the creator's service gets if the listing names none.
pub const DEFAULT_TIMEOUT_S: u32 = 60;

/// State of a listing (docs/specification.md, "Listing states"). Stored as its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, AnchorSerialize, AnchorDeserialize)]
#[borsh(use_discriminant = false)]
#[repr(u8)]
pub enum AgentStatus {
    Active = 1,
    Paused = 2,
    Delisted = 3,
}

/// Seeds: `["agent", creator, index as u32 little-endian]`. Its base58 address is the API's `agent_id`.
#[account(zero_copy)]
#[derive(Debug)]
pub struct AgentListed {
    pub creator: Pubkey,
    /// Ed25519 public key that signs this agent's results.
    pub result_key: Pubkey,
    /// SHA-256 of the metadata document.
    pub metadata_hash: [u8; 32],
    pub revision: u64,
    /// Price of one call.
    pub price: u64,
    /// Collateral accounted for: deposits minus withdrawals and slashes. The vault may hold more.
    pub collateral: u64,
    pub slashed_total: u64,
    /// Sum of the amounts of all open executions.
    pub open_amount: u64,
    /// Sum of the amounts of all executions with an open dispute: what callers claim.
    pub disputed_amount: u64,
    /// The part of these claims that the collateral covers: each got its part when it was raised, of what earlier ones
    /// had left. At most the collateral.
    pub covered_amount: u64,
    /// Most that the decisions of the open disputes may take of the collateral: the amounts paid, and a penalty for each.
    /// A creator who leaves gets the rest back while they wait.
    pub slashable_amount: u64,
    /// Sum of the bonds of all open disputes. They are in the escrow account.
    pub open_bonds: u64,
    /// Completed and failed executions.
    pub total_executions: u64,
    /// Completed executions without an upheld dispute.
    pub successful_executions: u64,
    /// Executions that failed by the agent: the creator reported or signed it, or the time-out had passed on chain.
    pub failed_executions: u64,
    /// Refunded executions that the gateway alone reported as failed by the agent. They count in no rate.
    pub unproved_failures: u64,
    /// Refunded executions that are no failure of the agent: expired, or given up by the gateway.
    pub expired_executions: u64,
    /// Disputes ever raised.
    pub disputed_executions: u64,
    /// Sum of `execution_time_ms` over the completed executions that the gateway settled: it measured the time.
    pub execution_time_ms_total: u64,
    /// Their number; the mean execution time is the sum divided by it.
    pub timed_executions: u64,
    /// Completed executions, disputed or not.
    pub completed_executions: u64,
    /// What the platform received of completed executions.
    pub platform_fees_total: u64,
    pub created_at_unix_s: i64,
    pub updated_at_unix_s: i64,
    /// When the last open dispute window ends: collateral stays locked until then. 0 before the first completion.
    pub last_dispute_deadline_unix_s: i64,
    pub index: u32,
    pub timeout_seconds: u32,
    pub open_executions: u32,
    pub open_disputes: u32,
    /// [`AgentStatus`].
    pub status: u8,
    /// 1: results are signed for the call.
    pub binding: u8,
    pub version: u8,
    pub bump: u8,
    pub escrow_bump: u8,
    pub collateral_bump: u8,
    pub metadata_uri_len: u8,
    /// The free collateral that the creator promises, in prices of one call. 0: no promise.
    pub min_cover: u8,
    /// 1: the admin or the guardian stopped new openings of this listing.
    pub suspended: u8,
    pub reserved: [u8; 7],
    pub metadata_uri: [u8; MAX_METADATA_URI_BYTES],
    /// The escrow token account. Stored because deriving it again would cost compute units in every payment.
    pub escrow: Pubkey,
}

impl Versioned for AgentListed {
    fn version(&self) -> u8 {
        self.version
    }
}

impl AgentListed {
    pub const SEED: &'static [u8] = crtx_protocol::seeds::AGENT;
    pub const ESCROW_SEED: &'static [u8] = crtx_protocol::seeds::ESCROW;
    pub const COLLATERAL_SEED: &'static [u8] = crtx_protocol::seeds::COLLATERAL;
    pub const SPACE: usize = DISCRIMINATOR_LEN + core::mem::size_of::<Self>();

    /// `None` if the stored number is not one that the program writes.
    pub fn status(&self) -> Option<AgentStatus> {
        match self.status {
            1 => Some(AgentStatus::Active),
            2 => Some(AgentStatus::Paused),
            3 => Some(AgentStatus::Delisted),
            _ => None,
        }
    }

    /// The metadata URI. `None` if the stored bytes are not what the program writes.
    pub fn metadata_uri(&self) -> Option<&str> {
        text::read(&self.metadata_uri, self.metadata_uri_len)
    }

    pub fn set_metadata_uri(&mut self, uri: &str) -> Rule {
        self.metadata_uri_len = text::write(uri, &mut self.metadata_uri).ok_or(MarketplaceError::MetadataUriInvalid)?;
        Ok(())
    }

    /// What no open dispute claims of the collateral.
    pub fn free_collateral(&self) -> u64 {
        self.collateral.saturating_sub(self.disputed_amount)
    }

    /// What the claims of others leave of the collateral for one claim. `covered`: what it has of the cover; 0 before it
    /// is raised.
    pub fn left_by_others(&self, covered: u64) -> core::result::Result<u64, MarketplaceError> {
        let others = self.covered_amount.checked_sub(covered).ok_or(MarketplaceError::OutOfRange)?;
        self.collateral.checked_sub(others).ok_or(MarketplaceError::OutOfRange)
    }

    /// A caller asks for free collateral of at least `min_cover` times the price. 0 asks for nothing.
    #[inline(always)]
    pub fn check_cover(&self, min_cover: u8) -> Rule {
        let wanted = self.price.checked_mul(u64::from(min_cover)).ok_or(MarketplaceError::OutOfRange)?;
        rule(self.free_collateral() >= wanted, MarketplaceError::CoverTooLow)
    }

    /// What open disputes can no longer take: a creator who left gets it.
    pub fn unslashable_collateral(&self) -> u64 {
        self.collateral.saturating_sub(self.slashable_amount)
    }

    /// The terms that an opening can name by their hash. `market`: what it copies from the parameters.
    pub fn terms(&self, market: MarketTerms) -> Terms {
        Terms {
            price: self.price,
            timeout_seconds: self.timeout_seconds,
            binding: self.binding == 1,
            min_cover: self.min_cover,
            result_key: self.result_key.to_bytes(),
            metadata_hash: self.metadata_hash,
            market,
        }
    }

    /// The SHA-256 of the present terms.
    pub fn terms_hash(&self, market: MarketTerms) -> [u8; 32] {
        hash(&self.terms(market).bytes()).to_bytes()
    }

    /// The configuration may ask for a higher minimum.
    pub fn check_price(price: u64) -> Rule {
        rule((1..=MAX_PRICE).contains(&price), MarketplaceError::PriceOutOfRange)
    }

    pub fn check_timeout(seconds: u32) -> Rule {
        rule((MIN_TIMEOUT_S..=MAX_TIMEOUT_S).contains(&seconds), MarketplaceError::TimeoutOutOfRange)
    }

    pub fn check_result_key(key: &Pubkey) -> Rule {
        rule(*key != Pubkey::default(), MarketplaceError::ResultKeyMissing)
    }

    pub fn check_metadata_uri(uri: &str) -> Rule {
        rule(
            (1..=MAX_METADATA_URI_BYTES).contains(&uri.len()) && text::is_visible_ascii(uri),
            MarketplaceError::MetadataUriInvalid,
        )
    }

    /// What holds for every listing that the program writes.
    pub fn invariant(&self) -> core::result::Result<(), Violation> {
        Self::check_price(self.price)?;
        Self::check_timeout(self.timeout_seconds)?;
        Self::check_result_key(&self.result_key)?;
        Self::check_metadata_uri(self.metadata_uri().ok_or(MarketplaceError::MetadataUriInvalid)?)?;
        let finished = self.completed_executions.checked_add(self.failed_executions);
        claim(self.status().is_some(), "an unknown status")?;
        claim(self.binding <= 1, "binding is neither 0 nor 1")?;
        claim(self.suspended <= 1, "suspended is neither 0 nor 1")?;
        claim(self.timed_executions <= self.completed_executions, "more timed than completed")?;
        claim(finished == Some(self.total_executions), "completed and failed do not add up to the total")?;
        claim(self.successful_executions <= self.completed_executions, "more successful than completed")?;
        claim(self.disputed_executions <= self.completed_executions, "more disputed than completed")?;
        claim(u64::from(self.open_disputes) <= self.disputed_executions, "more open disputes than disputes")?;
        claim((self.open_disputes == 0) == (self.disputed_amount == 0), "open disputes and disputed amount disagree")?;
        claim(self.covered_amount <= self.disputed_amount, "more is covered than is claimed")?;
        claim(self.covered_amount <= self.collateral, "more is covered than there is")?;
        claim(self.disputed_amount <= self.slashable_amount, "less can be taken than is claimed")?;
        claim(self.open_disputes > 0 || self.slashable_amount == 0, "something can be taken without a dispute")?;
        claim(self.open_disputes > 0 || self.open_bonds == 0, "a bond without a dispute")?;
        claim((self.open_executions == 0) == (self.open_amount == 0), "open executions and open amount disagree")
    }
}

const _: () = assert!(core::mem::size_of::<AgentListed>() == 464);
