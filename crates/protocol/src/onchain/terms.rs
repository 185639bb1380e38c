//! The terms of a listing that a caller agrees to, as the bytes that are hashed (docs/specification.md, "Terms
//! hash"). A caller passes the SHA-256 of the terms that it saw; the program refuses an opening on other terms.

const DOMAIN: &[u8; 14] = b"crtx-terms-v2:";

/// Length of the hashed bytes.
pub const LEN: usize = DOMAIN.len() + 8 + 4 + 1 + 1 + 32 + 32;

/// The terms of a listing.
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
}

impl Terms {
    /// `crtx-terms-v2:`, price (u64), time-out (u32), binding (0 or 1), cover (u8), result key, metadata hash; numbers
    /// are little-endian. The terms hash is the SHA-256 of these bytes.
    pub fn bytes(&self) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        bytes[..14].copy_from_slice(DOMAIN);
        bytes[14..22].copy_from_slice(&self.price.to_le_bytes());
        bytes[22..26].copy_from_slice(&self.timeout_seconds.to_le_bytes());
        bytes[26] = self.binding as u8;
        bytes[27] = self.min_cover;
        bytes[28..60].copy_from_slice(&self.result_key);
        bytes[60..].copy_from_slice(&self.metadata_hash);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: Terms = Terms {
        price: 50_000,
        timeout_seconds: 60,
        binding: true,
        min_cover: 1,
        result_key: [1; 32],
        metadata_hash: [2; 32],
    };

    #[test]
    fn every_term_changes_the_bytes() {
        assert_eq!(LEN, 92);
        for other in [
            Terms { price: 50_001, ..TERMS },
            Terms { timeout_seconds: 61, ..TERMS },
            Terms { binding: false, ..TERMS },
            Terms { min_cover: 2, ..TERMS },
            Terms { result_key: [3; 32], ..TERMS },
            Terms { metadata_hash: [3; 32], ..TERMS },
        ] {
            assert_ne!(other.bytes(), TERMS.bytes(), "{other:?}");
        }
    }
}
