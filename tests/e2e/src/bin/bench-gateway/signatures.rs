//! What the signatures of one paid call take, without anything around them.

use std::{hint::black_box, time::Instant};

use crtx_e2e::bench::Row;
use crtx_protocol::{
    api_key::{ApiKey, KeyNetwork},
    call_text::OpeningId,
    result_hash::{CallProof, ResultHash},
};
use ed25519_dalek::{Signer, SigningKey};

use super::load::milliseconds;

const ROUNDS: u32 = 500;

/// In the gateway: the session key is derived, gateway and session key sign the opening, both signatures of the
/// creator are checked, the gateway signs the settlement.
pub fn measure() -> Row {
    let key = ApiKey::from_secret(KeyNetwork::Test, [13; 32]);
    let creator = SigningKey::from_bytes(&[7; 32]);
    let hash = ResultHash::of(b"result");
    let opening = OpeningId { record: [6; 32], opened_at_unix_s: 1_700_000_000 };
    let proof = CallProof::sign(&creator, &opening, &hash);
    let transaction = [5u8; 650];
    let started = Instant::now();
    for _ in 0..ROUNDS {
        let session = black_box(&key).session_signing_key();
        black_box(session.sign(black_box(&transaction)));
        black_box(creator.sign(black_box(&transaction)));
        let checked = proof.verify(black_box(creator.verifying_key().as_bytes()), &hash, Some(&opening));
        checked.expect("good signatures");
        black_box(creator.sign(black_box(&transaction)));
    }
    Row::new("signatures_ms_per_call", milliseconds(started.elapsed() / ROUNDS), "ms")
}
