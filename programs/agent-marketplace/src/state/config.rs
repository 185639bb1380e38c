//! `Config`: the one account of a deployment's roles, fee and limits.

use anchor_lang::prelude::*;

/// Price tiers, each with the collateral it takes.
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
    /// 1: no new listings and openings. Settlement, refund and dispute go on.
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
    pub const SPACE: usize = super::DISCRIMINATOR_LEN + core::mem::size_of::<Self>();
    pub const DEFAULT_DISPUTE_WINDOW_S: i64 = 72 * 60 * 60;
    pub const DEFAULT_SETTLE_GRACE_S: i64 = 120;
    /// Longest dispute window: 14 days.
    pub const MAX_DISPUTE_WINDOW_S: i64 = 14 * 24 * 60 * 60;
    /// Longest time that settlement may take beyond the time-out: one day.
    pub const MAX_SETTLE_GRACE_S: i64 = 24 * 60 * 60;
    /// Seconds between the announcement of a resolver or treasury owner and its first day in office: 16
    /// days. Whoever does not want to be judged by the successor can delist on the announcement and has
    /// the collateral back in time, however the windows were set.
    pub const ROLE_DELAY_S: i64 = 16 * 24 * 60 * 60;
    /// Up to 0.10 USDC per call 10 USDC, up to 1 50, up to 10 200, above 1 000.
    pub const DEFAULT_COLLATERAL_TIERS: [CollateralTier; COLLATERAL_TIERS] = [
        CollateralTier { max_price: 100_000, collateral: 10_000_000 },
        CollateralTier { max_price: 1_000_000, collateral: 50_000_000 },
        CollateralTier { max_price: 10_000_000, collateral: 200_000_000 },
        CollateralTier { max_price: u64::MAX, collateral: 1_000_000_000 },
    ];

    /// Collateral that a listing at `price` must hold.
    pub fn required_collateral(&self, price: u64) -> u64 {
        self.collateral_tiers
            .iter()
            .find(|tier| price <= tier.max_price)
            .or_else(|| self.collateral_tiers.last())
            .map_or(u64::MAX, |tier| tier.collateral)
    }

    /// What always holds for a configuration the program wrote; else what does not.
    pub fn invariant(&self) -> core::result::Result<(), &'static str> {
        let roles = [self.admin, self.gateway_authority, self.treasury_owner, self.usdc_mint];
        let announced =
            self.announced_resolver != Pubkey::default() || self.announced_treasury_owner != Pubkey::default();
        let ascending = self
            .collateral_tiers
            .is_sorted_by(|lower, higher| lower.max_price < higher.max_price && lower.collateral <= higher.collateral);
        super::all(&[
            (!roles.contains(&Pubkey::default()), "a role is missing"),
            (announced == (self.roles_apply_from_unix_s != 0), "roles announced without a date, or the reverse"),
            (self.fee_bps <= 1_000, "the fee is above 10 %"),
            (self.dispute_window_s > 0 && self.settle_grace_s >= 0, "a duration is out of range"),
            (ascending, "the collateral tiers do not ascend"),
            (self.paused <= 1, "paused is neither 0 nor 1"),
        ])
    }
}

const _: () = assert!(core::mem::size_of::<Config>() == 368);
// What the delay promises. The longest time-out is far below the day that is left to read the news.
const _: () = assert!(
    Config::ROLE_DELAY_S >= Config::MAX_DISPUTE_WINDOW_S + Config::MAX_SETTLE_GRACE_S + super::MAX_TIMEOUT_S as i64
);
