//! The proof that the holder of an API key registers it for a wallet: a signature of its session key over the wallet and
//! the program. Session public keys are visible on chain, so a grant alone does not say whose key it is.

use ed25519_dalek::Signer;
use solana_pubkey::Pubkey;

use crate::{
    api_key::ApiKey,
    result_hash::{format_signature, parse_signature},
    signature::is_signed_by,
};

/// The text that the session key signs. An opening of an execution is a transaction and never begins like this.
pub fn text(wallet: &Pubkey, program: &Pubkey) -> String {
    format!("crtx-key-v1:{wallet}:{program}")
}

/// What `POST /v1/keys` takes as `proof`.
pub fn sign(key: &ApiKey, wallet: &Pubkey, program: &Pubkey) -> String {
    format_signature(&key.session_signing_key().sign(text(wallet, program).as_bytes()).to_bytes())
}

/// Whether the session key signed for this wallet and program.
pub fn verify(session_public_key: &Pubkey, wallet: &Pubkey, program: &Pubkey, proof: &str) -> bool {
    parse_signature(proof)
        .is_ok_and(|proof| is_signed_by(session_public_key.as_array(), text(wallet, program).as_bytes(), &proof))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api_key::KeyNetwork;

    #[test]
    fn a_proof_is_good_for_its_key_wallet_and_program_alone() {
        let key = ApiKey::from_secret(KeyNetwork::Test, [1; 32]);
        let other = ApiKey::from_secret(KeyNetwork::Test, [2; 32]);
        let (wallet, program) = (Pubkey::new_from_array([3; 32]), Pubkey::new_from_array([4; 32]));
        let public = |key: &ApiKey| Pubkey::new_from_array(key.session_public_key());
        let proof = sign(&key, &wallet, &program);
        assert!(verify(&public(&key), &wallet, &program, &proof));
        assert!(!verify(&public(&other), &wallet, &program, &proof));
        assert!(!verify(&public(&key), &program, &program, &proof));
        assert!(!verify(&public(&key), &wallet, &wallet, &proof));
        for bad in ["", "ed25519:", "ed25519:1", &sign(&other, &wallet, &program)] {
            assert!(!verify(&public(&key), &wallet, &program, bad), "{bad}");
        }
    }

    #[test]
    fn the_text_names_wallet_and_program() {
        let wallet = Pubkey::new_from_array([0; 32]);
        let expected = "crtx-key-v1:11111111111111111111111111111111:11111111111111111111111111111111";
        assert_eq!(text(&wallet, &wallet), expected);
    }
}
