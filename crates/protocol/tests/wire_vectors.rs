//! The wire contract as cases that every library runs: `tests/vectors/wire.json`. What a case expects is what this crate
//! computes or refuses. `CRTX_WRITE_VECTORS=1` writes the file again.
#![cfg(feature = "host")]
#![allow(clippy::expect_used, clippy::arithmetic_side_effects, clippy::indexing_slicing, reason = "test data")]

use std::{fs, path::PathBuf};

use crtx_protocol::{
    api_key::ApiKey,
    call_text::{self, OpeningId},
    content, creator_answer,
    creator_answer::{Answer, AnswerError, Signatory},
    execution_id, failure_text, fee, key_proof, request_hash,
    result_hash::{CallProof, ResultHash, format_signature, parse_signature, sign_failure, verify_failure_signature},
    signed_answer, strict_json,
    strict_json::JsonError,
    usdc::UsdcBase,
};
use curve25519_dalek::{EdwardsPoint, Scalar, edwards::CompressedEdwardsY};
use ed25519_dalek::{Signature, Signer, SigningKey, Verifier, VerifyingKey};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha512};
use solana_pubkey::Pubkey;
use uuid::Uuid;

const ID: Uuid = Uuid::from_u128(0x806e_1eba_133b_4100_9a5e_ddbe_7c57_8906);
/// Order of the base point, lowest byte first.
const ORDER: &str = "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010";

/// A case: its name, what is given, and what comes of it: `expect`, or `refused` with the reason.
fn case(name: &str, given: Value, outcome: Result<Value, impl ToString>) -> Value {
    let mut case = json!({"name": name});
    let members = case.as_object_mut().expect("an object");
    members.append(&mut given.as_object().expect("an object").clone());
    match outcome {
        Ok(expect) => members.insert("expect".to_owned(), expect),
        Err(reason) => members.insert("refused".to_owned(), json!(reason.to_string())),
    };
    case
}

fn group(about: &str, cases: Vec<Value>) -> Value {
    json!({"about": about, "cases": cases})
}

fn key() -> SigningKey {
    SigningKey::from_bytes(&std::array::from_fn(|at| u8::try_from(at + 30).expect("short")))
}

fn public(key: &SigningKey) -> String {
    address(key.verifying_key().to_bytes())
}

fn address(bytes: [u8; 32]) -> String {
    Pubkey::new_from_array(bytes).to_string()
}

fn opening() -> OpeningId {
    OpeningId { record: [9; 32], opened_at_unix_s: 1_790_000_000 }
}

fn opening_json(opening: &OpeningId) -> Value {
    json!({"record": address(opening.record), "opened_at_unix_s": opening.opened_at_unix_s.to_string()})
}

fn result_hashes() -> Value {
    let results = [
        ("the empty result", ""),
        ("ASCII", "hello world"),
        ("accents and a symbol of four bytes", "Grüße 🚀"),
        ("characters that JSON escapes, and U+0000", "a\u{0}b\"\\\n\u{1f}\u{7f}"),
        ("two forms of one letter are two results: composed", "é"),
        ("two forms of one letter are two results: decomposed", "e\u{301}"),
        ("white space at both ends counts", " x\n"),
        ("line separators, and the byte order mark", "\u{feff}\u{2028}\u{2029}"),
        ("the last character of Unicode", "\u{10ffff}"),
    ];
    let cases = results.map(|(name, result)| {
        let hash = ResultHash::of(result.as_bytes());
        let expect = json!({"result_hash": hash, "cid": content::cid_of(&hash), "uri": content::ipfs_uri(&hash)});
        case(name, json!({"result": result}), Ok::<_, String>(expect))
    });
    group(
        "`result_hash` is `sha256:` and the SHA-256 of the result's UTF-8 bytes. `cid` and `uri` name the content by this hash.",
        cases.to_vec(),
    )
}

fn hash_texts() -> Value {
    let good = ResultHash::of(b"x").to_string();
    let texts = [
        ("the one form", good.clone()),
        ("upper-case digits", good.to_uppercase().replace("SHA256", "sha256")),
        ("an upper-case prefix", good.replace("sha256", "SHA256")),
        ("no prefix", good[7..].to_owned()),
        ("another algorithm", good.replace("sha256", "sha512")),
        ("a digit too few", good[..70].to_owned()),
        ("two digits too many", format!("{good}00")),
        ("a space behind it", format!("{good} ")),
        ("`0x` in it", format!("sha256:0x{}", &good[9..])),
        ("a letter that is no digit", good.replace(&good[7..8], "g")),
        ("nothing", String::new()),
    ];
    let cases = texts.map(|(name, text)| {
        let read = text.parse::<ResultHash>().map(|hash| json!({"hash_hex": hex::encode(hash.0)}));
        case(name, json!({"text": text}), read)
    });
    group("The text of a result hash is read in one form only.", cases.to_vec())
}

fn cids() -> Value {
    let good = content::cid_of(&ResultHash::of(b"hello world"));
    let texts = [
        ("base32 of version 1, raw, SHA-256", good.clone()),
        ("version 0", "QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG".to_owned()),
        ("another codec", "bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi".to_owned()),
        ("a digit too few", good[..good.len() - 1].to_owned()),
        ("a path", "../../etc/passwd".to_owned()),
        ("nothing", String::new()),
    ];
    let read = |text: &str| content::parse_cid(text).map(|hash| json!({"hash_hex": hex::encode(hash.0)}));
    let cases = texts.map(|(name, text)| case(name, json!({"cid": text}), read(&text)));
    group("A content address carries the hash and nothing else.", cases.to_vec())
}

fn addresses() -> Value {
    let text = address([9; 32]);
    let texts = [
        ("32 bytes", text.clone()),
        ("32 bytes of zero are 32 digits `1`", address([0; 32])),
        ("zeros at the beginning", address(std::array::from_fn(|at| u8::from(at == 31)))),
        ("the largest one", address([255; 32])),
        ("31 bytes", bs58::encode([9; 31]).into_string()),
        ("33 bytes", bs58::encode([9; 33]).into_string()),
        ("a zero too many at the beginning", format!("1{text}")),
        ("a letter that base58 does not have", text.replacen(&text[3..4], "0", 1)),
        ("a space behind it", format!("{text} ")),
        ("nothing", String::new()),
    ];
    let cases = texts.map(|(name, text)| {
        let read = text.parse::<Pubkey>().map(|key| json!({"bytes_hex": hex::encode(key.to_bytes())}));
        case(name, json!({"text": text}), read.map_err(|_| "an address is the base58 form of 32 bytes"))
    });
    group("Addresses and public keys: base58 of exactly 32 bytes.", cases.to_vec())
}

fn signature_texts() -> Value {
    let signature = key().sign(b"x").to_bytes();
    let good = format_signature(&signature);
    let with_zeros = std::array::from_fn(|at| if at < 3 { 0 } else { signature[at] });
    let texts = [
        ("64 bytes", good.clone()),
        ("zeros at the beginning", format_signature(&with_zeros)),
        ("no prefix", good[8..].to_owned()),
        ("another algorithm", good.replace("ed25519", "secp256k1")),
        ("an upper-case prefix", good.replace("ed25519", "ED25519")),
        ("hexadecimal", format!("ed25519:{}", hex::encode(signature))),
        ("63 bytes", format!("ed25519:{}", bs58::encode(&signature[..63]).into_string())),
        ("65 bytes", format!("ed25519:{}", bs58::encode([&signature[..], &[1]].concat()).into_string())),
        ("a letter that base58 does not have", format!("{}0", &good[..good.len() - 1])),
        ("a space behind it", format!("{good} ")),
        ("10 000 digits", format!("ed25519:{}", "1".repeat(10_000))),
        ("only the prefix", "ed25519:".to_owned()),
        ("nothing", String::new()),
    ];
    let cases = texts.map(|(name, text)| {
        let read = parse_signature(&text).map(|bytes| json!({"signature_hex": hex::encode(bytes)}));
        case(name, json!({"text": text}), read)
    });
    group("The text of a signature: `ed25519:` and the base58 form of 64 bytes.", cases.to_vec())
}

fn signed_messages() -> Value {
    let hash = ResultHash::of(b"hello world");
    let seconds = [
        ("a second of today", 1_790_000_000),
        ("the second 0", 0),
        ("a second before 1970", -2),
        ("a second beyond 2^53", (1 << 53) + 1),
        ("the last second", i64::MAX),
    ];
    let given = |kind: &str, more: Value| {
        let mut given = json!({"kind": kind, "seed_hex": hex::encode(key().to_bytes()), "result_key": public(&key())});
        given.as_object_mut().expect("an object").append(&mut more.as_object().expect("an object").clone());
        given
    };
    let expect = |message: &[u8]| {
        let signature = format_signature(&key().sign(message).to_bytes());
        Ok::<_, String>(json!({"message_hex": hex::encode(message), "signature": signature}))
    };
    let mut cases = vec![case("a result", given("result", json!({"result_hash": hash})), expect(&hash.signed_text()))];
    for (name, opened_at_unix_s) in seconds {
        let opening = OpeningId { opened_at_unix_s, ..opening() };
        let inputs = json!({"result_hash": hash, "opening": opening_json(&opening)});
        cases.push(case(
            &format!("a result of a call: {name}"),
            given("call", inputs),
            expect(&call_text::of(&opening, &hash.0)),
        ));
        let inputs = json!({"opening": opening_json(&opening)});
        cases.push(case(&format!("a failure: {name}"), given("failure", inputs), expect(&failure_text::of(&opening))));
    }
    group(
        "What a result key signs: `result` the text of the hash, `call` `crtx-call-v2:`, record, `:`, second, `:`, text of the \
         hash, `failure` `crtx-failure-v1:`, record, `:`, second. Records are 32 bytes, seconds 8 bytes with the lowest first.",
        cases,
    )
}

/// `signature` with the order of the base point added to its second half: it verifies wherever `S` is not bounded.
fn with_order_added(signature: &[u8; 64]) -> [u8; 64] {
    let order = hex::decode(ORDER).expect("hexadecimal");
    let mut out = *signature;
    let mut carry = 0_u16;
    for at in 0..32 {
        let sum = u16::from(out[32 + at]) + u16::from(order[at]) + carry;
        out[32 + at] = sum.to_le_bytes()[0];
        carry = sum >> 8;
    }
    out
}

/// Of the owner of `key`, with the neutral point in place of its first half: it verifies wherever small order is allowed.
fn with_small_order(key: &SigningKey, message: &[u8]) -> [u8; 64] {
    let neutral = CompressedEdwardsY([[1].as_slice(), &[0; 31]].concat().try_into().expect("32 bytes"));
    let hashed = Sha512::new().chain_update(neutral.0).chain_update(key.verifying_key()).chain_update(message);
    let challenge = Scalar::from_bytes_mod_order_wide(&hashed.finalize().into());
    let s = challenge * key.to_scalar();
    [neutral.0, s.to_bytes()].concat().try_into().expect("64 bytes")
}

/// Whether a verifier accepts it that looks neither at the order of the key nor at that of the signature's first half.
fn verifies_loosely(key: &[u8; 32], message: &[u8], signature: &[u8; 64]) -> bool {
    VerifyingKey::from_bytes(key).is_ok_and(|key| key.verify(message, &Signature::from_bytes(signature)).is_ok())
}

/// Keys of small order with a signature that a loose verifier accepts for `message`.
fn small_order_proofs(message: &[u8]) -> Vec<([u8; 32], [u8; 64])> {
    let points = curve25519_dalek::constants::EIGHT_TORSION;
    let candidates = points.iter().flat_map(|key| points.iter().map(move |first| (key, first)));
    let proofs = candidates.map(|(key, first): (&EdwardsPoint, &EdwardsPoint)| {
        (key.compress().0, [first.compress().0, [0; 32]].concat().try_into().expect("64 bytes"))
    });
    let mut accepted: Vec<_> = proofs.filter(|(key, signature)| verifies_loosely(key, message, signature)).collect();
    accepted.dedup_by_key(|(key, _)| *key);
    accepted
}

/// Name, key, hash, the opening of a bound call, signatures.
type Given<'a> = (String, [u8; 32], ResultHash, Option<&'a OpeningId>, CallProof);

fn result_proofs() -> Value {
    let (key, opening, hash) = (key(), opening(), ResultHash::of(b"hello world"));
    let good = CallProof::sign(&key, &opening, &hash);
    let call = good.call_signature.expect("signed");
    let other_key = SigningKey::from_bytes(&[8; 32]);
    let (plain, bound) = (None, Some(&opening));
    let other_record = OpeningId { record: [10; 32], ..opening };
    let other_second = OpeningId { opened_at_unix_s: opening.opened_at_unix_s + 1, ..opening };
    let flipped = |signature: [u8; 64], at: usize| std::array::from_fn(|i| signature[i] ^ u8::from(i == at));
    let own = key.verifying_key().to_bytes();
    let with = |call_signature| CallProof { call_signature, ..good };
    let text = hash.signed_text();
    let mut proofs: Vec<Given<'_>> = vec![
        ("a result".into(), own, hash, plain, with(None)),
        ("a result of a call".into(), own, hash, bound, good),
        ("without binding the call signature is not looked at".into(), own, hash, plain, with(Some([0; 64]))),
        ("another result".into(), own, ResultHash::of(b"hello world."), bound, good),
        ("another key".into(), other_key.verifying_key().to_bytes(), hash, bound, good),
        (
            "a bit of the first half".into(),
            own,
            hash,
            plain,
            CallProof { signature: flipped(good.signature, 0), ..good },
        ),
        (
            "a bit of the second half".into(),
            own,
            hash,
            plain,
            CallProof { signature: flipped(good.signature, 32), ..good },
        ),
        ("no call signature".into(), own, hash, bound, with(None)),
        ("a call signature for another record".into(), own, hash, Some(&other_record), good),
        ("a call signature for another second".into(), own, hash, Some(&other_second), good),
        ("the plain signature in place of the one for the call".into(), own, hash, bound, with(Some(good.signature))),
        (
            "the signature for the call in place of the plain one".into(),
            own,
            hash,
            plain,
            CallProof { signature: call, ..good },
        ),
        (
            "a call signature of another key".into(),
            own,
            hash,
            bound,
            with(CallProof::sign(&other_key, &opening, &hash).call_signature),
        ),
        ("zeros".into(), own, hash, plain, CallProof { signature: [0; 64], ..good }),
        (
            "S + L in place of S".into(),
            own,
            hash,
            plain,
            CallProof { signature: with_order_added(&good.signature), ..good },
        ),
        ("S + L in place of S in the call signature".into(), own, hash, bound, with(Some(with_order_added(&call)))),
        (
            "a first half of small order".into(),
            own,
            hash,
            plain,
            CallProof { signature: with_small_order(&key, &text), ..good },
        ),
        (
            "a first half of small order in the call signature".into(),
            own,
            hash,
            bound,
            with(Some(with_small_order(&key, &call_text::of(&opening, &hash.0)))),
        ),
    ];
    assert!(verifies_loosely(&own, &text, &with_small_order(&key, &text)), "or the case shows nothing");
    let small = small_order_proofs(&text);
    assert!(small.len() >= 4, "or the cases show little: {small:?}");
    for (small_key, signature) in small {
        let name = format!("a key of small order, {}", hex::encode(small_key));
        proofs.push((name, small_key, hash, plain, CallProof { signature, call_signature: None }));
    }
    let cases = proofs.into_iter().map(|(name, key, hash, bound, proof)| {
        let given = json!({
            "result_key": address(key), "result_hash": hash, "opening": bound.map(opening_json),
            "signature": format_signature(&proof.signature),
            "call_signature": proof.call_signature.as_ref().map(format_signature),
        });
        case(&name, given, proof.verify(&key, &hash, bound).map(|()| json!(true)))
    });
    group(
        "Signatures of a result. With an `opening` the call is bound and both must verify; with null only `signature` counts. \
         Ed25519 is checked as strictly as the chain does: S below the group order, neither key nor first half of small order.",
        cases.collect(),
    )
}

fn failure_proofs() -> Value {
    let (key, at) = (key(), opening());
    let good = sign_failure(&key, &at);
    let proofs = [
        ("a failure", at, good),
        ("of another record", OpeningId { record: [10; 32], ..at }, good),
        ("of another second", OpeningId { opened_at_unix_s: 0, ..at }, good),
        (
            "a signature of a result",
            at,
            CallProof::sign(&key, &at, &ResultHash::of(b"x")).call_signature.expect("signed"),
        ),
        ("S + L in place of S", at, with_order_added(&good)),
    ];
    let cases = proofs.map(|(name, opening, signature)| {
        let given = json!({
            "result_key": public(&key), "opening": opening_json(&opening), "failure_signature": format_signature(&signature),
        });
        let verified = verify_failure_signature(key.verifying_key().as_bytes(), &opening, &signature);
        case(name, given, verified.map(|()| json!(true)))
    });
    group("The signature of a failure.", cases.to_vec())
}

/// What the gateway reads of a request: an object with `task` and perhaps `parameters`.
fn read_request(text: &str) -> Result<(String, Map<String, Value>), JsonError> {
    let value = strict_json::parse(text.as_bytes())?;
    strict_json::check_numbers(text.as_bytes())?;
    let task = value["task"].as_str().expect("the cases have a task").to_owned();
    Ok((task, value.get("parameters").map_or_else(Map::new, |it| it.as_object().expect("an object").clone())))
}

fn request_hashes() -> Value {
    let requests = [
        ("no parameters count as an empty object", r#"{"task":"hi"}"#),
        ("empty parameters", r#"{"task":"hi","parameters":{}}"#),
        ("members in any order", r#"{"parameters":{"b":1,"a":{"d":[2,1],"c":null}},"task":"t"}"#),
        (
            "numbers in other spellings",
            r#"{"task":"t","parameters":{"a":1.0,"b":10e-1,"c":-0,"d":1e21,"e":1e-7,"f":0.10}}"#,
        ),
        ("the largest whole numbers", r#"{"task":"t","parameters":{"a":9007199254740992,"b":-9007199254740992}}"#),
        ("escapes that are not needed", r#"{"task":"\u0041\/\u00e9","parameters":{}}"#),
        ("escapes that are needed", r#"{"task":"\u0000\u0001\b\t\n\u000b\f\r\u001f\"\\","parameters":{}}"#),
        ("characters that stay as they are", "{\"task\":\"\u{7f}\u{80}\u{2028}\u{feff}é🚀<>&'\"}"),
        ("a surrogate pair is one character", r#"{"task":"\ud83d\ude80"}"#),
        (
            "members are ordered by UTF-16 code units",
            r#"{"task":"t","parameters":{"\ufb33":1,"\ud83d\ude00":2,"a":3,"A":4,"":5,"é":6}}"#,
        ),
        (
            "names that objects of a language have",
            r#"{"task":"t","parameters":{"__proto__":1,"constructor":2,"toString":3}}"#,
        ),
        ("white space around everything", " {\n\"task\" :\t\"t\" , \"parameters\" : { \"a\" : [ ] } } "),
        ("white space inside a text counts", r#"{"task":" t "}"#),
        ("a lone high surrogate", r#"{"task":"\ud800"}"#),
        ("a lone low surrogate", r#"{"task":"\udc00x"}"#),
        ("a surrogate pair in the wrong order", r#"{"task":"\udc00\ud800"}"#),
        ("a lone surrogate in a name", r#"{"task":"t","parameters":{"\ud800":1}}"#),
        ("NaN", r#"{"task":"t","parameters":{"a":NaN}}"#),
        ("Infinity", r#"{"task":"t","parameters":{"a":Infinity}}"#),
        ("minus Infinity", r#"{"task":"t","parameters":{"a":-Infinity}}"#),
        ("a number beyond every double", r#"{"task":"t","parameters":{"a":1e400}}"#),
        ("a whole number beyond 2^53", r#"{"task":"t","parameters":{"a":9007199254740993}}"#),
        ("a number with more digits than a double", r#"{"task":"t","parameters":{"a":[0.12345678901234567890]}}"#),
        ("a zero at the beginning of a number", r#"{"task":"t","parameters":{"a":01}}"#),
        ("a plus before a number", r#"{"task":"t","parameters":{"a":+1}}"#),
        ("a number that ends with its point", r#"{"task":"t","parameters":{"a":1.}}"#),
        ("a member twice", r#"{"task":"t","task":"t"}"#),
        ("a member twice in other spellings", r#"{"task":"t","parameters":{"x":[1,{"a":1,"\u0061":1}]}}"#),
        ("a comma at the end", r#"{"task":"t",}"#),
        ("single quotes", "{'task':'t'}"),
        ("a comment", "{\"task\":\"t\"}//"),
        ("a raw line break in a text", "{\"task\":\"a\nb\"}"),
        ("something behind the document", r#"{"task":"t"}{}"#),
        ("nothing", ""),
    ];
    let cases = requests.map(|(name, request)| {
        let hashed = read_request(request).map(|(task, parameters)| {
            let canonical = serde_json_canonicalizer::to_string(&json!({"parameters": parameters, "task": task}));
            let hash = request_hash::of(&task, &parameters).expect("exact numbers");
            json!({"canonical": canonical.expect("exact numbers"), "request_hash_hex": hex::encode(hash)})
        });
        let reason = |error: JsonError| match error {
            JsonError::Malformed(_) => "it is not JSON".to_owned(),
            other => other.to_string(),
        };
        case(name, json!({"request": request}), hashed.map_err(reason))
    });
    group(
        "`request` is the JSON text of a call. Its hash is the SHA-256 of the RFC 8785 form of `{parameters, task}`. What is \
         refused here is 400 at the service. `numbers.json` has more numbers.",
        cases.to_vec(),
    )
}

fn api_keys() -> Value {
    let secret: [u8; 32] = std::array::from_fn(|at| u8::try_from(at + 1).expect("short"));
    let encoded = bs58::encode(secret).into_string();
    let texts = [
        ("a test key", format!("crtx_test_{encoded}")),
        ("a live key with the same secret is another key pair", format!("crtx_live_{encoded}")),
        ("a secret of zeros", format!("crtx_test_{}", bs58::encode([0; 32]).into_string())),
        (
            "a secret with a zero at the beginning",
            format!("crtx_test_{}", bs58::encode([[0].as_slice(), &secret[1..]].concat()).into_string()),
        ),
        ("no prefix", encoded.clone()),
        ("a prefix of another service", format!("sk_test_{encoded}")),
        ("an upper-case prefix", format!("CRTX_TEST_{encoded}")),
        ("a session is no key", format!("crtx_session_{encoded}")),
        ("31 bytes", format!("crtx_test_{}", bs58::encode(&secret[..31]).into_string())),
        ("33 bytes", format!("crtx_test_{}", bs58::encode([&secret[..], &[1]].concat()).into_string())),
        ("a letter that base58 does not have", format!("crtx_test_{}0", &encoded[..encoded.len() - 1])),
        ("a space before it", format!(" crtx_test_{encoded}")),
        ("a line break behind it", format!("crtx_test_{encoded}\n")),
        ("only the prefix", "crtx_test_".to_owned()),
        ("nothing", String::new()),
    ];
    let (wallet, program) = (Pubkey::new_from_array([3; 32]), Pubkey::new_from_array([4; 32]));
    let cases = texts.map(|(name, text)| {
        let read = text.parse::<ApiKey>().map(|key| {
            json!({
                "prefix": key.network().prefix(),
                "session_seed_hex": hex::encode(key.session_signing_key().to_bytes()),
                "session_public_key": address(key.session_public_key()), "last_four": key.last_four(),
                "proof": key_proof::sign(&key, &wallet, &program),
            })
        });
        case(name, json!({"api_key": text, "wallet": wallet.to_string(), "program": program.to_string()}), read)
    });
    group(
        "An API key derives its session key pair: HKDF-SHA256 of the 32 bytes, salt = prefix, info = `crtx session key v1`. \
         `proof` is the session key's signature over `crtx-key-v1:<wallet>:<program>`.",
        cases.to_vec(),
    )
}

fn execution_ids() -> Value {
    let (one, other) = (Pubkey::new_from_array([1; 32]), Pubkey::new_from_array([2; 32]));
    let keys = [
        ("a key", one, "order-1".to_owned()),
        ("the same key of another wallet", other, "order-1".to_owned()),
        ("a UUID", one, "806e1eba-133b-4100-9a5e-ddbe7c578906".to_owned()),
        ("the shortest key", one, "!".to_owned()),
        ("the longest key", one, "~".repeat(255)),
        ("an empty key", one, String::new()),
        ("a key that is too long", one, "a".repeat(256)),
        ("a space", one, "order 1".to_owned()),
        ("a line break", one, "order\n1".to_owned()),
        ("another letter than ASCII", one, "größe".to_owned()),
    ];
    let cases = keys.map(|(name, wallet, key)| {
        let derived = execution_id::is_idempotency_key(key.as_bytes())
            .then(|| json!({"execution_id": execution_id::from_idempotency_key(&wallet, &key)}));
        let reason = "an idempotency key is 1 to 255 visible ASCII characters";
        case(name, json!({"wallet": wallet.to_string(), "idempotency_key": key}), derived.ok_or(reason))
    });
    group(
        "The id of an execution with an `Idempotency-Key`: UUID version 5 of the 32 bytes of the wallet and the key, in the \
         namespace 63727478-2d69-4465-8d70-6f74656e6379. Record addresses are in `addresses.json`.",
        cases.to_vec(),
    )
}

fn amounts() -> Value {
    let json_cases = [
        "0",
        "1",
        "12",
        "0.05",
        "0.000001",
        "18446744073709.551615",
        "1e-6",
        "1.5e-5",
        "1e3",
        "0.0500000000",
        "5.0",
        "0e9",
        "0.0000001",
        "1e-7",
        "1.5e-6",
        "-1",
        "-0",
        "-0.000001",
        "18446744073709.551616",
        "1e14",
        "1e99999999999",
        "007",
        "+1",
        ".5",
        "1.",
        "0x10",
        "1,0",
        "NaN",
        "Infinity",
        "\"1\"",
        "null",
        "true",
    ];
    let texts = [
        "0",
        "12",
        "0.05",
        "0.000001",
        "1.10",
        "18446744073709.551615",
        "",
        " ",
        ".",
        "1.",
        ".5",
        "-1",
        "+1",
        "1e3",
        "0.0000001",
        "18446744073709.551616",
        "1,0",
        "1_000",
        "0x10",
        "NaN",
        "Infinity",
        "1.2.3",
        "٣",
        "$1",
    ];
    let reason = "an amount in USDC is a number from 0 to 18446744073709.551615 with at most six decimals";
    let base = |amount: UsdcBase| json!({"base_units": amount.0.to_string()});
    let of_json = json_cases.map(|text| {
        let read = serde_json::from_str::<UsdcBase>(text).map(base);
        case(&format!("the JSON value {text}"), json!({"json": text}), read.map_err(|_| reason))
    });
    let of_text =
        texts.map(|text| case(&format!("the text “{text}”"), json!({"text": text}), UsdcBase::parse(text).map(base)));
    let printed = [0, 1, 10, 50_000, 999_999, 1_000_000, 1_000_001, 1_100_000, 12_000_000, (1 << 53) + 1, u64::MAX];
    let printed = printed.map(|base| {
        let expect = Ok::<_, String>(json!({"text": UsdcBase(base).to_string()}));
        case(&format!("{base} base units"), json!({"base_units": base.to_string()}), expect)
    });
    let cases = of_json.into_iter().chain(of_text).chain(printed).collect();
    group(
        "Amounts of USDC in base units (a millionth). `json`: a JSON value as the API has it. `text`: what a person writes. \
         `base_units`: how an amount is printed, as text and as the number of a JSON document.",
        cases,
    )
}

fn splits() -> Value {
    let cases = [("more than the whole", 100_000, 10_001), ("the largest fee that is stored", 1, u32::MAX)];
    let cases = cases.map(|(name, amount, fee_bps): (_, u64, u32)| {
        let split = fee::split(amount, fee_bps);
        let split = split.map(|it| json!({"creator": it.creator.to_string(), "platform": it.platform.to_string()}));
        let given = json!({"amount": amount.to_string(), "fee_bps": fee_bps});
        case(name, given, split.ok_or("a fee is at most 10 000 basis points"))
    });
    group("How a payment is divided. The divisions themselves are in `fees.json`.", cases.to_vec())
}

fn seller_answers() -> Value {
    let (key, opening) = (key(), opening());
    let given = |more: Value| {
        let mut given = json!({
            "seed_hex": hex::encode(key.to_bytes()), "execution_id": ID, "execution_record": address(opening.record),
            "opened_at_unix_s": opening.opened_at_unix_s.to_string(),
        });
        given.as_object_mut().expect("an object").append(&mut more.as_object().expect("an object").clone());
        given
    };
    let completed = |result: &str| signed_answer::completed(&key, ID, &opening, result).expect("signed");
    let mut full = completed("Grüße 🚀");
    full["tokens_used"] = json!(42);
    full["steps"] = json!([{"step": 1, "description": "did as asked"}]);
    let failed = signed_answer::failed(&key, ID, &opening, "the text is too long").expect("signed");
    let tokens = json!({"result": "Grüße 🚀", "tokens_used": 42, "steps": full["steps"]});
    for answer in [&full, &completed(""), &failed] {
        let read = Answer::read(answer.to_string().as_bytes()).expect("JSON").check(ID, &signatory(true));
        match read {
            Ok(_) => assert_eq!(answer["status"], "completed"),
            Err(AnswerError::Reported { signature, .. }) => {
                assert!(signature.is_some() && answer["status"] == "failed")
            }
            Err(other) => panic!("{answer}: {other}"),
        }
    }
    group(
        "What a seller's service answers (status 200): members in any order, and a null may be left out.",
        vec![
            case("a result with tokens and steps", given(tokens), Ok::<_, String>(full)),
            case("the empty result", given(json!({"result": ""})), Ok::<_, String>(completed(""))),
            case("a failure", given(json!({"error": "the text is too long"})), Ok::<_, String>(failed)),
        ],
    )
}

fn signatory(binding: bool) -> Signatory {
    Signatory { result_key: Pubkey::new_from_array(key().verifying_key().to_bytes()), opening: opening(), binding }
}

fn read_answers() -> Value {
    let good = signed_answer::completed(&key(), ID, &opening(), "hello world").expect("signed");
    let failed = signed_answer::failed(&key(), ID, &opening(), "no").expect("signed");
    let changed = |base: &Value, changes: Value| {
        let mut answer = base.clone();
        answer.as_object_mut().expect("an object").append(&mut changes.as_object().expect("an object").clone());
        answer.to_string()
    };
    let one = |changes: Value| changed(&good, changes);
    let too_long = "x".repeat(600);
    let answers = [
        ("a result of a bound call", true, good.to_string()),
        ("a result of an unbound call without a call signature", false, one(json!({"call_signature": null}))),
        ("unknown members are skipped", true, one(json!({"note": {"a": [1]}}))),
        ("tokens and steps", true, one(json!({"tokens_used": 1_000_000_000, "steps": []}))),
        ("a bound call without a call signature", true, one(json!({"call_signature": null}))),
        ("another execution", true, one(json!({"execution_id": Uuid::from_u128(1)}))),
        ("no execution", true, one(json!({"execution_id": null}))),
        ("an unknown status", true, one(json!({"status": "done"}))),
        ("a result that is no text", true, one(json!({"result": {"words": 1}}))),
        ("a result that was changed", true, one(json!({"result": "hello world."}))),
        (
            "a hash without its prefix",
            true,
            one(json!({"result_hash": ResultHash::of(b"hello world").to_string()[7..]})),
        ),
        ("a signature in hexadecimal", true, one(json!({"signature": "ed25519:00"}))),
        ("tokens below zero", true, one(json!({"tokens_used": -1}))),
        ("too many tokens", true, one(json!({"tokens_used": 1_000_000_001}))),
        ("tokens with a fraction", true, one(json!({"tokens_used": 1.5}))),
        ("steps that are no array", true, one(json!({"steps": {}}))),
        ("a member twice", true, good.to_string().replacen('{', "{\"status\":\"completed\",", 1)),
        ("an array", true, format!("[{good}]")),
        ("a lone surrogate", true, good.to_string().replace("hello world", "\\ud800")),
        ("no JSON", true, "hello".to_owned()),
        ("a signed failure", true, failed.to_string()),
        ("a failure without a signature", true, changed(&failed, json!({"failure_signature": null}))),
        (
            "a failure with a signature of another call",
            true,
            changed(&failed, json!({"failure_signature": good["signature"]})),
        ),
        ("a failure without a reason", true, changed(&failed, json!({"error": null}))),
        ("a reason that is too long", true, changed(&failed, json!({"error": too_long}))),
    ];
    let cases = answers.map(|(name, binding, answer)| {
        let signatory = signatory(binding);
        let given = json!({
            "execution_id": ID, "result_key": signatory.result_key.to_string(), "binding": binding,
            "opening": opening_json(&signatory.opening), "answer": answer,
        });
        let read = Answer::read(answer.as_bytes()).and_then(|read| read.check(ID, &signatory));
        let outcome = match read {
            Ok(signed) => Ok(json!({
                "result": signed.result, "result_hash": signed.hash, "tokens_used": signed.tokens_used, "steps": signed.steps,
            })),
            Err(AnswerError::Reported { error, signature }) => Ok(json!({"failure": error, "signed": signature.is_some()})),
            Err(AnswerError::Invalid(why)) => Err(why),
        };
        case(name, given, outcome)
    });
    group(
        &format!(
            "How the service reads a seller's answer (`answer` is the text of the body, at most {} bytes).",
            creator_answer::MAX_ANSWER_BYTES
        ),
        cases.to_vec(),
    )
}

fn wire() -> Value {
    json!({
        "about": "The wire contract, written by crates/protocol/tests/wire_vectors.rs. Each case has a `name`, what is given, and \
            `expect` (what comes of it) or `refused` (why it is no good; the words are free). Texts are UTF-8; names that end in \
            `_hex` are bytes in hexadecimal form; addresses and keys are base58; whole numbers that may exceed 2^53 are decimal \
            text here (`opened_at_unix_s`, which is a JSON number on the wire, and amounts). Also see fees.json, numbers.json, \
            addresses.json, terms.json and proofs.json.",
        "addresses": addresses(),
        "amounts": amounts(),
        "answers": read_answers(),
        "api_keys": api_keys(),
        "cids": cids(),
        "execution_ids": execution_ids(),
        "failure_proofs": failure_proofs(),
        "hash_texts": hash_texts(),
        "request_hashes": request_hashes(),
        "result_hashes": result_hashes(),
        "result_proofs": result_proofs(),
        "seller_answers": seller_answers(),
        "signature_texts": signature_texts(),
        "signed_messages": signed_messages(),
        "splits": splits(),
    })
}

#[test]
fn the_vectors_of_the_wire_are_what_this_crate_computes_and_refuses() {
    let wire = wire();
    let groups = wire.as_object().expect("an object").values();
    let cases: Vec<_> = groups.filter_map(|group| group["cases"].as_array()).flatten().collect();
    let refused = cases.iter().filter(|case| case.get("refused").is_some()).count();
    assert!(cases.len() >= 80 && refused >= 40, "{} cases, {refused} of them refused", cases.len());
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/wire.json");
    let wanted = serde_json::to_string_pretty(&wire).expect("JSON") + "\n";
    if std::env::var_os("CRTX_WRITE_VECTORS").is_some() {
        fs::write(&path, wanted).expect("written");
        return;
    }
    let kept = fs::read_to_string(&path).expect("the vectors are committed");
    assert!(kept == wanted, "tests/vectors/wire.json is not what this crate computes: run with CRTX_WRITE_VECTORS=1");
}
