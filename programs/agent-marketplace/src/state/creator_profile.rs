//! `CreatorProfile`: what the marketplace says about a creator.

use anchor_lang::prelude::*;

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
    pub const SPACE: usize = super::DISCRIMINATOR_LEN + core::mem::size_of::<Self>();

    /// The display name. `None` if the stored bytes are not what the program writes.
    pub fn display_name(&self) -> Option<&str> {
        let bytes = self.display_name.get(..usize::from(self.display_name_len))?;
        core::str::from_utf8(bytes).ok()
    }

    /// What always holds for a profile the program wrote; else what does not.
    pub fn invariant(&self) -> core::result::Result<(), &'static str> {
        super::all(&[
            (self.display_name().is_some_and(|name| !name.is_empty()), "there is no display name"),
            (self.verified <= 1, "verified is neither 0 nor 1"),
            ((self.verified == 1) == (self.verified_at_unix_s != 0), "verified without a time, or the reverse"),
        ])
    }
}

const _: () = assert!(core::mem::size_of::<CreatorProfile>() == 104);
