//! The session public keys of API keys that were presented lately.
//!
//! A public key is derived from an API key by a multiplication on the curve. That costs more than most reads, and a
//! client sends the same key with each request.

use std::sync::LazyLock;

use crtx_protocol::api_key::ApiKey;
use moka::sync::Cache;
use solana_pubkey::Pubkey;

/// Keys that are remembered: about 1 MB. A stranger who sends many different keys gains nothing: each costs its
/// derivation, and keys that are used often stay.
const MOST: u64 = 10_000;

/// By fingerprint, so that no secret is kept.
type Derived = Cache<[u8; 32], Pubkey>;

static DERIVED: LazyLock<Derived> = LazyLock::new(|| Cache::new(MOST));

/// The session public key of an API key.
pub fn of(key: &ApiKey) -> Pubkey {
    of_key(&DERIVED, key)
}

fn of_key(derived: &Derived, key: &ApiKey) -> Pubkey {
    derived.get_with(key.fingerprint(), || Pubkey::new_from_array(key.session_public_key()))
}

#[cfg(test)]
mod tests {
    use crtx_protocol::api_key::KeyNetwork;

    use super::*;

    fn derived(key: &ApiKey) -> Pubkey {
        Pubkey::new_from_array(key.session_public_key())
    }

    #[test]
    fn a_remembered_key_is_the_derived_one() {
        let keys = Derived::new(MOST);
        let key = ApiKey::from_secret(KeyNetwork::Test, [7; 32]);
        assert_eq!(of_key(&keys, &key), derived(&key));
        assert_eq!(of_key(&keys, &key), derived(&key));
        keys.run_pending_tasks();
        assert_eq!(keys.entry_count(), 1);
    }

    #[test]
    fn one_secret_on_two_networks_and_secrets_that_differ_in_one_bit_have_their_own_keys() {
        let keys = Derived::new(MOST);
        let mut one_bit = [7; 32];
        one_bit[31] ^= 1;
        let known = [
            ApiKey::from_secret(KeyNetwork::Test, [7; 32]),
            ApiKey::from_secret(KeyNetwork::Live, [7; 32]),
            ApiKey::from_secret(KeyNetwork::Test, one_bit),
        ];
        for key in known.iter().chain(&known) {
            assert_eq!(of_key(&keys, key), derived(key));
        }
    }

    #[test]
    fn many_keys_of_strangers_do_not_make_the_memory_grow() {
        let keys = Derived::new(10);
        for number in 0..100_u8 {
            of_key(&keys, &ApiKey::from_secret(KeyNetwork::Test, [number; 32]));
        }
        keys.run_pending_tasks();
        assert!(keys.entry_count() <= 10, "{}", keys.entry_count());
    }

    #[test]
    fn no_secret_is_remembered() {
        let keys = Derived::new(MOST);
        let secret = [7; 32];
        of_key(&keys, &ApiKey::from_secret(KeyNetwork::Test, secret));
        assert!(keys.iter().all(|(fingerprint, _)| *fingerprint != secret));
    }
}
