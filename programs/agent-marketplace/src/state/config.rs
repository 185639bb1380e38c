//! `Config`: the one account of a deployment's roles, fee and limits.

use anchor_lang::prelude::*;

use super::{
    agent_listing::MAX_TIMEOUT_S,
    invariant::{Violation, claim},
    layout::DISCRIMINATOR_LEN,
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
    pub usdc_mint: Pubkey,
    /// Announced successor of the resolver; all zeros when there is none.
    pub announced_resolver: Pubkey,
    /// Announced successor of the treasury's owner; all zeros when there is none.
    pub announced_treasury_owner: Pubkey,
    /// First second in which the announced roles can be applied; 0 when none are announced.
    pub roles_apply_from_unix_s: i64,
    /// When the resolver took office. Disputes raised before are decided within narrower bounds.
    pub resolver_since_unix_s: i64,
    pub revision: u64,
    /// Seconds after completion in which a dispute may be raised, for executions opened from now on.
    pub dispute_window_s: i64,
    /// Seconds that settlement may take after a listing's time-out.
    pub settle_grace_s: i64,
    /// Ascending by `max_price`; the last tier holds for every higher price.
    pub collateral_tiers: [CollateralTier; COLLATERAL_TIERS],
    pub fee_bps: u16,
    /// 1: no new listings and openings. Settlement, refund and dispute continue.
    pub paused: u8,
    pub version: u8,
    pub bump: u8,
    pub reserved: [u8; 3],
}

/// Collateral for prices up to `max_price` (both USDC base units).
#[derive(Clone, Copy, Debug, PartialEq, Eq, AnchorSerialize, AnchorDeserialize, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct CollateralTier {
    pub max_price: u64,
    pub collateral: u64,
}

impl Config {
    pub const SEED: &'static [u8] = crtx_protocol::seeds::CONFIG;
    pub const SPACE: usize = DISCRIMINATOR_LEN + core::mem::size_of::<Self>();
    /// Highest fee: 10 %.
    pub const MAX_FEE_BPS: u16 = 1_000;
    pub const DEFAULT_DISPUTE_WINDOW_S: i64 = 72 * 60 * 60;
    pub const DEFAULT_SETTLE_GRACE_S: i64 = 120;
    /// Longest dispute window: 14 days.
    pub const MAX_DISPUTE_WINDOW_S: i64 = 14 * 24 * 60 * 60;
    /// Longest time that settlement may take beyond the time-out: one day.
    pub const MAX_SETTLE_GRACE_S: i64 = 24 * 60 * 60;
    /// Seconds between the announcement of a resolver or treasury owner and the first second in office: 16
    /// days. A creator who rejects the successor delists on the announcement and has the collateral back in
    /// time, whatever windows are configured.
    pub const ROLE_DELAY_S: i64 = 16 * 24 * 60 * 60;
    /// 10 USDC for prices up to 0.10 USDC, 50 up to 1 USDC, 200 up to 10 USDC, 1 000 above.
    pub const DEFAULT_COLLATERAL_TIERS: [CollateralTier; COLLATERAL_TIERS] = [
        CollateralTier { max_price: 100_000, collateral: 10_000_000 },
        CollateralTier { max_price: 1_000_000, collateral: 50_000_000 },
        CollateralTier { max_price: 10_000_000, collateral: 200_000_000 },
        CollateralTier { max_price: u64::MAX, collateral: 1_000_000_000 },
    ];

    /// Collateral that a listing with `price` must hold.
    pub fn required_collateral(&self, price: u64) -> u64 {
        self.collateral_tiers
            .iter()
            .find(|tier| price <= tier.max_price)
            .or_else(|| self.collateral_tiers.last())
            .map_or(u64::MAX, |tier| tier.collateral)
    }

    pub fn check_role(role: &Pubkey) -> Rule {
        rule(*role != Pubkey::default(), MarketplaceError::RoleMissing)
    }

    pub fn check_fee(fee_bps: u16) -> Rule {
        rule(fee_bps <= Self::MAX_FEE_BPS, MarketplaceError::FeeTooHigh)
    }

    pub fn check_dispute_window(seconds: i64) -> Rule {
        rule((1..=Self::MAX_DISPUTE_WINDOW_S).contains(&seconds), MarketplaceError::DurationOutOfRange)
    }

    pub fn check_settle_grace(seconds: i64) -> Rule {
        rule((0..=Self::MAX_SETTLE_GRACE_S).contains(&seconds), MarketplaceError::DurationOutOfRange)
    }

    pub fn check_tiers(tiers: &[CollateralTier; COLLATERAL_TIERS]) -> Rule {
        let ascending = tiers
            .is_sorted_by(|lower, higher| lower.max_price < higher.max_price && lower.collateral <= higher.collateral);
        rule(ascending, MarketplaceError::TiersNotAscending)
    }

    /// What holds for every configuration that the program writes.
    pub fn invariant(&self) -> core::result::Result<(), Violation> {
        for role in [&self.admin, &self.gateway_authority, &self.treasury_owner, &self.usdc_mint] {
            Self::check_role(role)?;
        }
        Self::check_fee(self.fee_bps)?;
        Self::check_dispute_window(self.dispute_window_s)?;
        Self::check_settle_grace(self.settle_grace_s)?;
        Self::check_tiers(&self.collateral_tiers)?;
        let announced =
            self.announced_resolver != Pubkey::default() || self.announced_treasury_owner != Pubkey::default();
        claim(announced == (self.roles_apply_from_unix_s != 0), "roles announced without a date, or the reverse")?;
        claim(self.paused <= 1, "paused is neither 0 nor 1")
    }
}

const _: () = assert!(core::mem::size_of::<Config>() == 368);
// The delay covers the longest dispute window and the longest settlement, and leaves a day to read the news.
const _: () =
    assert!(Config::ROLE_DELAY_S >= Config::MAX_DISPUTE_WINDOW_S + Config::MAX_SETTLE_GRACE_S + MAX_TIMEOUT_S as i64);
