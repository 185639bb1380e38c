//! Numbers that look random and are the same in every run (SplitMix64).

use solana_pubkey::Pubkey;
use uuid::Uuid;

pub struct Random(u64);

impl Random {
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// 0 to 1, without 1.
    #[allow(clippy::cast_precision_loss, reason = "53 bits are a number of f64")]
    pub fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Below `limit`. Low numbers are more frequent, as if the cube of a share picked them: a few are very frequent.
    pub fn skewed(&mut self, limit: u32) -> u32 {
        let share = self.share();
        ((share * share * share * f64::from(limit)) as u32).min(limit.saturating_sub(1))
    }

    /// Below `limit`, each number as often.
    pub fn below(&mut self, limit: u32) -> u32 {
        ((self.share() * f64::from(limit)) as u32).min(limit.saturating_sub(1))
    }

    /// True for that many of a hundred.
    pub fn percent(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }

    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len() as u32) as usize]
    }

    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        for part in bytes.chunks_mut(8) {
            part.copy_from_slice(&self.next().to_le_bytes()[..part.len()]);
        }
        bytes
    }

    pub fn address(&mut self) -> Pubkey {
        Pubkey::new_from_array(self.bytes())
    }

    pub fn uuid(&mut self) -> Uuid {
        Uuid::from_bytes(self.bytes())
    }
}

/// The address with that number, of a kind.
pub fn numbered(kind: u64, number: u32) -> Pubkey {
    Random::new(kind << 40 | u64::from(number)).address()
}
