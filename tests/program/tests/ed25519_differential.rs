//! Off chain `ed25519-dalek`'s `verify_strict` decides whether a result is paid for, on chain the Ed25519
//! program does. They have to agree on every signature, the malicious ones above all: else a creator
//! could get the answer "valid" and not be paid, or the reverse.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::expect_used,
    reason = "a test: a panic is a failure"
)]

use crtx_program_tests::*;
use crtx_protocol::{
    call_text::{self, OpeningId},
    failure_text, result_text,
};
use curve25519_dalek::{
    constants::{ED25519_BASEPOINT_POINT, EIGHT_TORSION},
    edwards::EdwardsPoint,
    scalar::Scalar,
};
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use sha2::{Digest, Sha512};

/// 2^255 - 19 and the order of the base point, little-endian.
const FIELD_PRIME: [u8; 32] = hex32("edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f");
const GROUP_ORDER: [u8; 32] = hex32("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");

struct Vector {
    what: String,
    key: [u8; 32],
    signature: [u8; 64],
    message: Vec<u8>,
}

const fn digit(byte: u8) -> u8 {
    if byte.is_ascii_digit() { byte - b'0' } else { byte - b'a' + 10 }
}

const fn hex32(text: &str) -> [u8; 32] {
    let text = text.as_bytes();
    let mut bytes = [0; 32];
    let mut i = 0;
    while i < 32 {
        bytes[i] = digit(text[2 * i]) * 16 + digit(text[2 * i + 1]);
        i += 1;
    }
    bytes
}

fn unhex(text: &str) -> Vec<u8> {
    text.as_bytes().chunks(2).map(|pair| digit(pair[0]) * 16 + digit(pair[1])).collect()
}

/// Little-endian sum; the carry beyond 256 bits is lost.
fn add(a: &[u8; 32], b: &[u8; 32]) -> [u8; 32] {
    let mut carry = 0u16;
    std::array::from_fn(|i| {
        carry += u16::from(a[i]) + u16::from(b[i]);
        let byte = (carry & 0xff) as u8;
        carry >>= 8;
        byte
    })
}

fn challenge(r: &[u8; 32], key: &[u8; 32], message: &[u8]) -> Scalar {
    let hash = Sha512::new().chain_update(r).chain_update(key).chain_update(message).finalize();
    Scalar::from_bytes_mod_order_wide(&hash.into())
}

fn scalar(seed: u64) -> Scalar {
    let hash = Sha512::new().chain_update(b"differential").chain_update(seed.to_le_bytes()).finalize();
    Scalar::from_bytes_mod_order_wide(&hash.into())
}

fn encode(point: &EdwardsPoint) -> [u8; 32] {
    point.compress().to_bytes()
}

fn join(r: &[u8; 32], s: &[u8; 32]) -> [u8; 64] {
    let mut signature = [0; 64];
    signature[..32].copy_from_slice(r);
    signature[32..].copy_from_slice(s);
    signature
}

/// RFC 8032, section 7.1.
fn rfc_8032() -> Vec<Vector> {
    let rows = [
        (
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
        ),
        (
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            "72",
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
        ),
        (
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
            "af82",
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
        ),
        (
            "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
            "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704",
        ),
    ];
    rows.into_iter()
        .map(|(key, message, signature)| Vector {
            what: "RFC 8032".to_owned(),
            key: hex32(key),
            signature: unhex(signature).try_into().expect("64 bytes"),
            message: unhex(message),
        })
        .collect()
}

/// What is signed: the text of a result, of a call, or of a failure.
fn message_of(seed: u8, hash: &[u8; 32]) -> Vec<u8> {
    match seed % 3 {
        0 => result_text::of(hash).to_vec(),
        1 => call_text::of(&opening_of(seed), hash).to_vec(),
        _ => failure_text::of(&opening_of(seed)).to_vec(),
    }
}

/// Ordinary signatures over the texts of results, calls and failures, and the same with one bit turned.
fn ordinary() -> Vec<Vector> {
    let mut vectors = Vec::new();
    for seed in 0..24u8 {
        let key = SigningKey::from_bytes(&[seed; 32]);
        let hash = [seed ^ 0x5a; 32];
        let message = message_of(seed, &hash);
        let good = Vector {
            what: format!("ordinary {seed}"),
            key: key.verifying_key().to_bytes(),
            signature: key.sign(&message).to_bytes(),
            message,
        };
        for (part, at) in [("key", 3), ("R", 7), ("S", 40), ("S's top", 63), ("message", 9)] {
            let (mut key, mut signature, mut message) = (good.key, good.signature, good.message.clone());
            match part {
                "key" => key[at] ^= 1,
                "message" => message[at] ^= 1,
                _ => signature[at] ^= 1 << (seed % 8),
            }
            vectors.push(Vector { what: format!("{part} of {seed} bent"), key, signature, message });
        }
        vectors.push(good);
    }
    vectors
}

/// S + L: the same signature to a verifier that reduces S.
fn malleated() -> Vec<Vector> {
    ordinary()
        .into_iter()
        .filter(|vector| vector.what.starts_with("ordinary"))
        .map(|mut vector| {
            let s: [u8; 32] = vector.signature[32..].try_into().expect("32 bytes");
            vector.signature[32..].copy_from_slice(&add(&s, &GROUP_ORDER));
            vector.what = format!("{} with S + L", vector.what);
            vector
        })
        .collect()
}

/// Keys and nonces of small order, in every encoding that decodes: they "sign" anything.
fn small_order() -> Vec<Vector> {
    (3..6).flat_map(|seed| small_order_over(&message_of(seed, &[1; 32]))).collect()
}

fn small_order_over(message: &[u8]) -> Vec<Vector> {
    let mut points: Vec<[u8; 32]> = EIGHT_TORSION.iter().map(encode).collect();
    // The encodings of y and y + p with both signs: canonical or not, decoders differ in what they take.
    for y in [0u8, 1] {
        let mut small = [0; 32];
        small[0] = y;
        for encoding in [small, add(&small, &FIELD_PRIME)] {
            let mut negative = encoding;
            negative[31] |= 0x80;
            points.extend([encoding, negative]);
        }
    }
    let a = scalar(1);
    let key = encode(&(a * ED25519_BASEPOINT_POINT));
    let mut vectors = Vec::new();
    for (index, point) in points.iter().enumerate() {
        // The point as R, S made to fit; the point as key, S fitting where the cofactor is multiplied in.
        let s = challenge(point, &key, message) * a;
        let r = scalar(2);
        for (what, key, signature) in [
            ("R", key, join(point, s.as_bytes())),
            ("key", *point, join(&encode(&(r * ED25519_BASEPOINT_POINT)), r.as_bytes())),
            ("key and R", *point, join(point, &[0; 32])),
        ] {
            vectors.push(Vector {
                what: format!("small order {index} as {what}"),
                key,
                signature,
                message: message.to_vec(),
            });
        }
    }
    vectors
}

/// Keys and nonces with a part of small order: valid with the cofactor always, without it one time in eight.
fn mixed_order() -> Vec<Vector> {
    let a = scalar(3);
    let mut vectors = Vec::new();
    for (index, torsion) in EIGHT_TORSION.iter().enumerate() {
        for round in 0..8u8 {
            let message = message_of(round, &[round; 32]);
            let r = scalar(100 + u64::from(round));
            let plain = (encode(&(a * ED25519_BASEPOINT_POINT)), encode(&(r * ED25519_BASEPOINT_POINT)));
            let mixed_key = encode(&(a * ED25519_BASEPOINT_POINT + torsion));
            let mixed_r = encode(&(r * ED25519_BASEPOINT_POINT + torsion));
            for (what, key, nonce) in
                [("key", mixed_key, plain.1), ("R", plain.0, mixed_r), ("both", mixed_key, mixed_r)]
            {
                let s = r + challenge(&nonce, &key, &message) * a;
                vectors.push(Vector {
                    what: format!("mixed order {index} in {what}, round {round}"),
                    key,
                    signature: join(&nonce, s.as_bytes()),
                    message: message.clone(),
                });
            }
        }
    }
    vectors
}

/// Bytes that are no point at all, and extreme scalars.
fn junk() -> Vec<Vector> {
    let key = SigningKey::from_bytes(&[9; 32]);
    let message = result_text::of(&[2; 32]).to_vec();
    let good = key.sign(&message).to_bytes();
    let r: [u8; 32] = good[..32].try_into().expect("32 bytes");
    let mut vectors = Vec::new();
    for (what, bytes) in [
        ("zeros", [0; 32]),
        ("ones", [0xff; 32]),
        ("p", FIELD_PRIME),
        (
            "two",
            add(&[0; 32], &{
                let mut two = [0; 32];
                two[0] = 2;
                two
            }),
        ),
    ] {
        let key_bytes = key.verifying_key().to_bytes();
        for (part, key, signature) in [
            ("key", bytes, good),
            ("R", key_bytes, join(&bytes, good[32..].try_into().expect("32 bytes"))),
            ("S", key_bytes, join(&r, &bytes)),
        ] {
            vectors.push(Vector { what: format!("{what} as {part}"), key, signature, message: message.clone() });
        }
    }
    vectors
}

fn off_chain(vector: &Vector) -> bool {
    VerifyingKey::from_bytes(&vector.key)
        .and_then(|key| key.verify_strict(&vector.message, &Signature::from_bytes(&vector.signature)))
        .is_ok()
}

fn on_chain(world: &mut World, vector: &Vector) -> bool {
    let mut proof = Proof::of_message(&SigningKey::from_bytes(&[1; 32]), &vector.message);
    proof.payload[..32].copy_from_slice(&vector.key);
    proof.payload[32..96].copy_from_slice(&vector.signature);
    world.send(&[proof.instruction()], &[]).is_ok()
}

#[test]
fn the_chain_and_verify_strict_agree_on_every_vector() {
    let groups = [rfc_8032(), ordinary(), malleated(), small_order(), mixed_order(), junk()];
    let mut world = World::bare(0);
    let (mut accepted, mut refused) = (0, 0);
    for vector in groups.iter().flatten() {
        let here = off_chain(vector);
        assert_eq!(on_chain(&mut world, vector), here, "{}", vector.what);
        *if here { &mut accepted } else { &mut refused } += 1;
    }
    assert!(accepted + refused >= 100, "{} vectors", accepted + refused);
    assert!(accepted >= 20, "only {accepted} accepted: the vectors do not test acceptance");
    assert!(rfc_8032().iter().all(off_chain) && ordinary().iter().filter(|v| v.what.starts_with("ord")).all(off_chain));
    assert!(!malleated().iter().any(off_chain) && !small_order().iter().any(off_chain));
}

/// What the gateway checks before it shows a result is the same function.
#[test]
fn the_protocol_crate_decides_as_verify_strict_does() {
    for vector in [ordinary(), malleated(), small_order(), mixed_order(), junk()].iter().flatten() {
        let Some(hash) = (0..=u8::MAX).map(|byte| [byte; 32]).find(|hash| result_text::of(hash) == *vector.message)
        else {
            continue;
        };
        let hash = crtx_protocol::result_hash::ResultHash(hash);
        let protocol = crtx_protocol::result_hash::verify_signature(&vector.key, &hash, &vector.signature);
        assert_eq!(protocol.is_ok(), off_chain(vector), "{}", vector.what);
    }
}

fn opening_of(record: u8) -> OpeningId {
    OpeningId { record: [record; 32], opened_at_unix_s: i64::from(record) }
}
