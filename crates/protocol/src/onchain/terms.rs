//! The terms that a caller agrees to, those of the listing and those of the market, as the bytes that are hashed
//! (docs/specification.md, "Terms hash"). A caller passes the SHA-256 of the terms that it saw; the program refuses an
//! opening on other terms.

const DOMAIN: &[u8; 14] = b"crtx-terms-v3:";

/// Length of the hashed bytes.
pub const LEN: usize = DOMAIN.len() + 8 + 4 + 1 + 1 + 32 + 32 + 4 + 4 + 8 + 8;

/// What an opening is agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// USDC base units per call.
    pub price: u64,
    pub timeout_seconds: u32,
    /// Whether results are signed for the call.
    pub binding: bool,
    /// The free collateral that the creator promises, in prices of one call.
    pub min_cover: u8,
    /// Ed25519 public key that signs results.
    pub result_key: [u8; 32],
    /// SHA-256 of the metadata document.
    pub metadata_hash: [u8; 32],
    pub market: MarketTerms,
}

/// What an execution copies from the market's parameters when it opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarketTerms {
    /// The platform's part of a payment, in basis points.
    pub fee_bps: u32,
    /// Most that a slash may take beyond the compensation, in multiples of the amount.
    pub max_penalty_multiple: u32,
    /// Seconds after completion in which a dispute may be raised.
    pub dispute_window_s: i64,
    /// Seconds that settlement may take after the time-out.
    pub settle_grace_s: i64,
}

impl Terms {
    /// `crtx-terms-v3:`, price (u64), time-out (u32), binding (0 or 1), cover (u8), result key, metadata hash, fee (u32),
    /// limit of penalties (u32), dispute window (i64), grace (i64); numbers are little-endian. The terms hash is the
    /// SHA-256 of these bytes.
    pub fn bytes(&self) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        bytes[..14].copy_from_slice(DOMAIN);
        bytes[14..22].copy_from_slice(&self.price.to_le_bytes());
        bytes[22..26].copy_from_slice(&self.timeout_seconds.to_le_bytes());
        bytes[26] = self.binding as u8;
        bytes[27] = self.min_cover;
        bytes[28..60].copy_from_slice(&self.result_key);
        bytes[60..92].copy_from_slice(&self.metadata_hash);
        bytes[92..96].copy_from_slice(&self.market.fee_bps.to_le_bytes());
        bytes[96..100].copy_from_slice(&self.market.max_penalty_multiple.to_le_bytes());
        bytes[100..108].copy_from_slice(&self.market.dispute_window_s.to_le_bytes());
        bytes[108..].copy_from_slice(&self.market.settle_grace_s.to_le_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKET: MarketTerms =
        MarketTerms { fee_bps: 100, max_penalty_multiple: 20, dispute_window_s: 259_200, settle_grace_s: 120 };
    const TERMS: Terms = Terms {
        price: 50_000,
        timeout_seconds: 60,
        binding: true,
        min_cover: 1,
        result_key: [1; 32],
        metadata_hash: [2; 32],
        market: MARKET,
    };

    #[test]
    fn every_term_changes_the_bytes() {
        assert_eq!(LEN, 116);
        for other in [
            Terms { price: 50_001, ..TERMS },
            Terms { timeout_seconds: 61, ..TERMS },
            Terms { binding: false, ..TERMS },
            Terms { min_cover: 2, ..TERMS },
            Terms { result_key: [3; 32], ..TERMS },
            Terms { metadata_hash: [3; 32], ..TERMS },
            Terms { market: MarketTerms { fee_bps: 101, ..MARKET }, ..TERMS },
            Terms { market: MarketTerms { max_penalty_multiple: 21, ..MARKET }, ..TERMS },
            Terms { market: MarketTerms { dispute_window_s: 259_201, ..MARKET }, ..TERMS },
            Terms { market: MarketTerms { settle_grace_s: 121, ..MARKET }, ..TERMS },
        ] {
            assert_ne!(other.bytes(), TERMS.bytes(), "{other:?}");
        }
    }
}
