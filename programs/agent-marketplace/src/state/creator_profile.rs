//! `CreatorProfile`: a creator's display name and verification badge.

use anchor_lang::prelude::*;

use super::{
    invariant::{Violation, claim},
    layout::DISCRIMINATOR_LEN,
    text,
};
use crate::error::{MarketplaceError, Rule, rule};

/// Longest display name in UTF-8 bytes.
pub const MAX_DISPLAY_NAME_BYTES: usize = 32;

/// Seeds: `["creator", wallet]`.
#[account(zero_copy)]
#[derive(Debug)]
pub struct CreatorProfile {
    pub wallet: Pubkey,
    pub revision: u64,
    /// When the admin verified the creator's identity; 0 while unverified.
    pub verified_at_unix_s: i64,
    pub created_at_unix_s: i64,
    pub updated_at_unix_s: i64,
    pub display_name: [u8; MAX_DISPLAY_NAME_BYTES],
    pub display_name_len: u8,
    /// 1: verified.
    pub verified: u8,
    pub version: u8,
    pub bump: u8,
    pub reserved: [u8; 4],
}

impl CreatorProfile {
    pub const SEED: &'static [u8] = crtx_protocol::seeds::CREATOR;
    pub const SPACE: usize = DISCRIMINATOR_LEN + core::mem::size_of::<Self>();

    /// The display name. `None` if the stored bytes are not what the program writes.
    pub fn display_name(&self) -> Option<&str> {
        text::read(&self.display_name, self.display_name_len)
    }

    pub fn set_display_name(&mut self, name: &str) -> Rule {
        self.display_name_len =
            text::write(name, &mut self.display_name).ok_or(MarketplaceError::DisplayNameInvalid)?;
        Ok(())
    }

    pub fn check_display_name(name: &str) -> Rule {
        rule(
            (1..=MAX_DISPLAY_NAME_BYTES).contains(&name.len())
                && !name.starts_with(char::is_whitespace)
                && !name.ends_with(char::is_whitespace)
                && !name.contains(char::is_control),
            MarketplaceError::DisplayNameInvalid,
        )
    }

    /// What holds for every profile that the program writes.
    pub fn invariant(&self) -> core::result::Result<(), Violation> {
        Self::check_display_name(self.display_name().ok_or(MarketplaceError::DisplayNameInvalid)?)?;
        claim(self.verified <= 1, "verified is neither 0 nor 1")?;
        claim((self.verified == 1) == (self.verified_at_unix_s != 0), "verified without a time, or the reverse")
    }
}

const _: () = assert!(core::mem::size_of::<CreatorProfile>() == 104);
