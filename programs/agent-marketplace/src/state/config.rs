//! `Config`: the one account of a deployment's roles and parameters.

use anchor_lang::prelude::*;
use bytemuck::Zeroable;
use crtx_protocol::{fee, terms::MarketTerms};

use super::{
    agent_listed::{AgentListed, MAX_PRICE, MAX_TIMEOUT_S},
    invariant::{Violation, claim},
    layout::{DISCRIMINATOR_LEN, Versioned},
};
use crate::error::{MarketplaceError, Rule, rule};

/// Price tiers, each with the collateral that it requires.
pub const COLLATERAL_TIERS: usize = 4;

/// Seeds: `["config"]`.
#[account(zero_copy)]
#[derive(Debug)]
pub struct Config {
    pub admin: Pubkey,
    /// Nominated successor of the admin; all zeros when there is none.
    pub pending_admin: Pubkey,
    /// Who resolves disputes; all zeros when the admin removed the last one and no successor is due yet.
    pub resolver: Pubkey,
    /// The gateway's settlement key: may submit signed results and failures, and nothing else.
    pub gateway_authority: Pubkey,
    /// Owner of the token account that receives the platform's part.
    pub treasury_owner: Pubkey,
    /// Owner of the token account that receives penalties. Neither the treasury's owner nor the resolver.
    pub insurance_owner: Pubkey,
    pub usdc_mint: Pubkey,
    /// May stop listings and openings, and suspend a listing; only the admin resumes. All zeros when there is none.
    pub guardian: Pubkey,
    /// Announced successor of the resolver; all zeros when there is none.
    pub announced_resolver: Pubkey,
    /// Announced successor of the treasury's owner; all zeros when there is none.
    pub announced_treasury_owner: Pubkey,
    /// Announced successor of the insurance's owner; all zeros when there is none.
    pub announced_insurance_owner: Pubkey,
    /// First second in which the announced roles can be applied; 0 when none are announced.
    pub roles_apply_from_unix_s: i64,
    /// When the resolver took office. Disputes raised before are decided within narrower bounds.
    pub resolver_since_unix_s: i64,
    /// First second in which the announced parameters can be applied; 0 when none are announced.
    pub parameters_apply_from_unix_s: i64,
    pub revision: u64,
    pub parameters: MarketParameters,
    /// All zeros when none are announced.
    pub announced_parameters: MarketParameters,
    /// 1: no new openings. Settlement, refund and dispute continue.
    pub openings_paused: u8,
    /// 1: no new listings.
    pub listings_paused: u8,
    pub version: u8,
    pub bump: u8,
    pub reserved: [u8; 4],
}

/// Fee, prices, times and collateral of the market. They hold for executions that are opened, and for listings that
/// are made or changed, from the moment they apply. Amounts are USDC base units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, AnchorSerialize, AnchorDeserialize, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct MarketParameters {
    /// Lowest price of one call. The fee of this price is at least one base unit, unless there is no fee.
    pub min_price: u64,
    /// What a caller deposits to raise a dispute. Returned, unless the resolver calls the dispute abusive.
    pub dispute_bond: u64,
    /// Seconds after completion in which a dispute may be raised.
    pub dispute_window_s: i64,
    /// Seconds that settlement may take after a listing's time-out.
    pub settle_grace_s: i64,
    /// Ascending by `max_price`; the last tier holds for every higher price.
    pub collateral_tiers: [CollateralTier; COLLATERAL_TIERS],
    /// The platform's part of a payment, in basis points.
    pub fee_bps: u32,
    /// Most that a slash may take beyond the compensation, in multiples of the amount paid.
    pub max_penalty_multiple: u32,
}

/// Collateral for prices up to `max_price` (both USDC base units).
#[derive(Clone, Copy, Debug, PartialEq, Eq, AnchorSerialize, AnchorDeserialize, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct CollateralTier {
    pub max_price: u64,
    pub collateral: u64,
}

impl MarketParameters {
    /// Highest fee: 5 %.
    pub const MAX_FEE_BPS: u32 = 500;
    /// Shortest dispute window: 72 hours.
    pub const MIN_DISPUTE_WINDOW_S: i64 = 72 * 60 * 60;
    /// Longest dispute window: 14 days.
    pub const MAX_DISPUTE_WINDOW_S: i64 = 14 * 24 * 60 * 60;
    /// Longest time that settlement may take beyond the time-out: one day.
    pub const MAX_SETTLE_GRACE_S: i64 = 24 * 60 * 60;
    /// Highest bond of a dispute: 1 USDC. A higher one would keep callers of cheap calls from disputing them.
    pub const MAX_DISPUTE_BOND: u64 = 1_000_000;
    /// Highest limit of a penalty, in multiples of the amount paid.
    pub const MAX_PENALTY_MULTIPLE: u32 = 100;
    /// The parameters that a market begins with. Collateral: 10 USDC for prices up to 0.10 USDC, 50 up to 1 USDC, 200 up
    /// to 10 USDC, 1 000 above.
    pub const DEFAULT: Self = Self {
        min_price: 10_000,
        dispute_bond: 100_000,
        dispute_window_s: Self::MIN_DISPUTE_WINDOW_S,
        settle_grace_s: 120,
        collateral_tiers: [
            CollateralTier { max_price: 100_000, collateral: 10_000_000 },
            CollateralTier { max_price: 1_000_000, collateral: 50_000_000 },
            CollateralTier { max_price: 10_000_000, collateral: 200_000_000 },
            CollateralTier { max_price: u64::MAX, collateral: 1_000_000_000 },
        ],
        fee_bps: fee::DEFAULT_FEE_BPS,
        max_penalty_multiple: 20,
    };

    /// Collateral that a listing with `price` must hold: its tier, and never less than one call costs, or than the
    /// `min_cover` calls that its creator promises.
    pub fn required_collateral(&self, price: u64, min_cover: u8) -> u64 {
        self.collateral_tiers
            .iter()
            .find(|tier| price <= tier.max_price)
            .or_else(|| self.collateral_tiers.last())
            .map_or(u64::MAX, |tier| tier.collateral)
            .max(price.saturating_mul(u64::from(min_cover.max(1))))
    }

    /// What an execution copies when it opens.
    pub fn market_terms(&self) -> MarketTerms {
        MarketTerms {
            fee_bps: self.fee_bps,
            max_penalty_multiple: self.max_penalty_multiple,
            dispute_window_s: self.dispute_window_s,
            settle_grace_s: self.settle_grace_s,
        }
    }

    /// A price that a listing may have.
    pub fn check_price(&self, price: u64) -> Rule {
        rule(price >= self.min_price, MarketplaceError::PriceOutOfRange)?;
        AgentListed::check_price(price)
    }

    /// What holds for all parameters that the program accepts.
    pub fn check(&self) -> Rule {
        rule(self.fee_bps <= Self::MAX_FEE_BPS, MarketplaceError::FeeTooHigh)?;
        let smallest_fee = fee::split(self.min_price, self.fee_bps).map_or(0, |split| split.platform);
        rule(
            (1..=MAX_PRICE).contains(&self.min_price) && (self.fee_bps == 0 || smallest_fee > 0),
            MarketplaceError::MinPriceOutOfRange,
        )?;
        rule(
            (Self::MIN_DISPUTE_WINDOW_S..=Self::MAX_DISPUTE_WINDOW_S).contains(&self.dispute_window_s)
                && (0..=Self::MAX_SETTLE_GRACE_S).contains(&self.settle_grace_s),
            MarketplaceError::DurationOutOfRange,
        )?;
        rule(
            (1..=Self::MAX_PENALTY_MULTIPLE).contains(&self.max_penalty_multiple),
            MarketplaceError::PenaltyMultipleOutOfRange,
        )?;
        rule(self.dispute_bond <= Self::MAX_DISPUTE_BOND, MarketplaceError::DisputeBondTooHigh)?;
        let ascending = self
            .collateral_tiers
            .is_sorted_by(|lower, higher| lower.max_price < higher.max_price && lower.collateral <= higher.collateral);
        rule(ascending, MarketplaceError::TiersNotAscending)
    }
}

impl Versioned for Config {
    fn version(&self) -> u8 {
        self.version
    }
}

impl Config {
    pub const SEED: &'static [u8] = crtx_protocol::seeds::CONFIG;
    pub const SPACE: usize = DISCRIMINATOR_LEN + core::mem::size_of::<Self>();
    /// Seconds between the announcement of a role's successor and the first second in office: 16 days. A creator
    /// who rejects the successor delists on the announcement and has the collateral back in time, whatever windows
    /// are configured.
    pub const ROLE_DELAY_S: i64 = 16 * 24 * 60 * 60;
    /// Seconds between the announcement of parameters and the first second in which they apply: 7 days.
    pub const PARAMETERS_DELAY_S: i64 = 7 * 24 * 60 * 60;
    /// Seconds in which a due announcement can be applied: 7 days. Then it lapses, so nobody can keep one in store
    /// for agents that are listed later.
    pub const ANNOUNCEMENT_LIFE_S: i64 = 7 * 24 * 60 * 60;

    pub fn check_role(role: &Pubkey) -> Rule {
        rule(*role != Pubkey::default(), MarketplaceError::RoleMissing)
    }

    /// No key has two of the roles that check each other. A role that nobody has does not count.
    pub fn check_roles_apart(&self) -> Rule {
        let roles = [&self.admin, &self.resolver, &self.gateway_authority, &self.treasury_owner, &self.guardian];
        let mut later = roles.iter();
        while let Some(role) = later.next() {
            let taken = **role != Pubkey::default() && later.as_slice().contains(role);
            rule(!taken, MarketplaceError::RolesNotApart)?;
        }
        Ok(())
    }

    /// The admin may stop and resume, the guardian only stop.
    pub fn check_stopper(&self, signer: &Pubkey, resumes: bool) -> Rule {
        let guards = *signer == self.guardian && !resumes;
        rule(guards || *signer == self.admin, MarketplaceError::NotGuardian)
    }

    /// Who decides about penalties, and the treasury, do not receive them.
    pub fn check_insurance(insurance_owner: &Pubkey, treasury_owner: &Pubkey, resolver: &Pubkey) -> Rule {
        rule(
            insurance_owner != treasury_owner && insurance_owner != resolver,
            MarketplaceError::InsuranceNotIndependent,
        )
    }

    /// Whether something that was announced for `apply_from_unix_s` can be applied. 0: nothing was announced.
    pub fn check_due(apply_from_unix_s: i64, now_unix_s: i64) -> Rule {
        rule(apply_from_unix_s != 0, MarketplaceError::NothingAnnounced)?;
        rule(now_unix_s >= apply_from_unix_s, MarketplaceError::AnnouncementNotDue)?;
        let lapses = apply_from_unix_s.checked_add(Self::ANNOUNCEMENT_LIFE_S).ok_or(MarketplaceError::OutOfRange)?;
        rule(now_unix_s <= lapses, MarketplaceError::AnnouncementLapsed)
    }

    /// What holds for every configuration that the program writes.
    pub fn invariant(&self) -> core::result::Result<(), Violation> {
        for role in [&self.admin, &self.gateway_authority, &self.treasury_owner, &self.insurance_owner, &self.usdc_mint]
        {
            Self::check_role(role)?;
        }
        Self::check_insurance(&self.insurance_owner, &self.treasury_owner, &self.resolver)?;
        self.check_roles_apart()?;
        self.parameters.check()?;
        let announced = [self.announced_resolver, self.announced_treasury_owner, self.announced_insurance_owner]
            .iter()
            .any(|role| *role != Pubkey::default());
        claim(announced == (self.roles_apply_from_unix_s != 0), "roles announced without a date, or the reverse")?;
        if self.parameters_apply_from_unix_s == 0 {
            claim(self.announced_parameters == Zeroable::zeroed(), "parameters announced without a date")?;
        } else {
            self.announced_parameters.check()?;
        }
        claim(self.openings_paused <= 1 && self.listings_paused <= 1, "paused is neither 0 nor 1")
    }
}

const _: () = assert!(core::mem::size_of::<MarketParameters>() == 104);
const _: () = assert!(core::mem::size_of::<Config>() == 600);
// The delay covers the longest dispute window and the longest settlement, and leaves a day to read the news.
const _: () = assert!(
    Config::ROLE_DELAY_S
        >= MarketParameters::MAX_DISPUTE_WINDOW_S + MarketParameters::MAX_SETTLE_GRACE_S + MAX_TIMEOUT_S as i64
);
