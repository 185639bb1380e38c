//! Execution ids. Without an `Idempotency-Key` they are random; with one they follow from wallet and
//! key, so that the chain itself refuses to open the same call twice.

use solana_pubkey::Pubkey;
use uuid::Uuid;

/// Namespace of ids derived from an idempotency key.
const NAMESPACE: Uuid = Uuid::from_u128(0x6372_7478_2d69_4465_8d70_6f74_656e_6379);

const MAX_IDEMPOTENCY_KEY_BYTES: usize = 255;

/// Whether the value of the header can be an idempotency key: 1 to 255 visible ASCII characters.
pub fn is_idempotency_key(value: &[u8]) -> bool {
    (1..=MAX_IDEMPOTENCY_KEY_BYTES).contains(&value.len()) && value.iter().all(u8::is_ascii_graphic)
}

pub fn random() -> Uuid {
    Uuid::new_v4()
}

/// UUIDv5 of wallet and idempotency key.
pub fn from_idempotency_key(wallet: &Pubkey, key: &str) -> Uuid {
    let mut name = wallet.to_bytes().to_vec();
    name.extend_from_slice(key.as_bytes());
    Uuid::new_v5(&NAMESPACE, &name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_key_of_the_same_wallet_gives_the_same_id() {
        let (a, b) = (Pubkey::new_from_array([1; 32]), Pubkey::new_from_array([2; 32]));
        assert_eq!(from_idempotency_key(&a, "k"), from_idempotency_key(&a, "k"));
        assert_ne!(from_idempotency_key(&a, "k"), from_idempotency_key(&b, "k"));
        assert_ne!(from_idempotency_key(&a, "k"), from_idempotency_key(&a, "l"));
    }
}
