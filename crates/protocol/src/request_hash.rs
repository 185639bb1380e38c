//! Hash of what a caller asked for: SHA-256 of the RFC 8785 form of `{task, parameters}`. It is written
//! into the on-chain record at opening, so what was asked cannot be changed afterwards.

use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

#[derive(Serialize)]
struct Request<'a> {
    parameters: &'a Map<String, Value>,
    task: &'a str,
}

/// Hash of one request. A request without `parameters` is hashed with an empty object.
/// Fails only for numbers that JSON canonicalisation cannot express.
pub fn of(task: &str, parameters: &Map<String, Value>) -> Result<[u8; 32], serde_json::Error> {
    let canonical = serde_json_canonicalizer::to_vec(&Request { parameters, task })?;
    Ok(Sha256::digest(canonical).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn member_order_and_number_spelling_do_not_matter() {
        let a: Map<String, Value> = serde_json::from_str(r#"{"b":1.0,"a":"\u0041"}"#).expect("json");
        let b: Map<String, Value> = serde_json::from_str(r#"{"a":"A","b":1}"#).expect("json");
        assert_eq!(of("t", &a).expect("hash"), of("t", &b).expect("hash"));
        assert_ne!(of("t", &a).expect("hash"), of("u", &a).expect("hash"));
    }

    #[test]
    fn the_hash_is_of_the_canonical_text() {
        let expected: [u8; 32] = Sha256::digest(br#"{"parameters":{},"task":"hi"}"#).into();
        assert_eq!(of("hi", &Map::new()).expect("hash"), expected);
    }
}
