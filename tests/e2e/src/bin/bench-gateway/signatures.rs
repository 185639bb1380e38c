//! What the signatures of one paid call take, without anything around them.

use std::{hint::black_box, time::Instant};

use crtx_e2e::bench::Row;
use crtx_protocol::{
    api_key::{ApiKey, KeyNetwork},
    result_hash::{ResultHash, verify_signature},
};
use ed25519_dalek::{Signer, SigningKey};

use super::load::milliseconds;

const ROUNDS: u32 = 500;

/// In the gateway: the session key is derived, gateway and session key sign the opening, the creator's
/// signature is checked, the gateway signs the settlement.
pub fn measure() -> Row {
    let key = ApiKey::from_secret(KeyNetwork::Test, [13; 32]);
    let creator = SigningKey::from_bytes(&[7; 32]);
    let hash = ResultHash::of(b"result");
    let signature = creator.sign(&hash.signed_text()).to_bytes();
    let transaction = [5u8; 650];
    let started = Instant::now();
    for _ in 0..ROUNDS {
        let session = black_box(&key).session_signing_key();
        black_box(session.sign(black_box(&transaction)));
        black_box(creator.sign(black_box(&transaction)));
        let checked = verify_signature(black_box(creator.verifying_key().as_bytes()), &hash, &signature);
        checked.expect("a good signature");
        black_box(creator.sign(black_box(&transaction)));
    }
    Row::new("signatures_ms_per_call", milliseconds(started.elapsed() / ROUNDS), "ms")
}
