//! The answer of a creator's service ("Answer of the creator" in `docs/specification.md`). It is read in one pass
//! without building a tree: megabytes of brackets cost only the time to skip them. Then it is checked against the
//! contract and the result key in the record. The gateway accepts what [`Answer::check`] accepts, and nothing else.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Value, value::RawValue};
use solana_pubkey::Pubkey;
use uuid::Uuid;

use crate::{
    call_text::OpeningId,
    result_hash::{CallProof, ResultHash, ResultProofError, parse_signature, verify_failure_signature},
    text::{shortened, without_nul},
};

/// Largest answer: a result of control characters is six times as long in JSON, and there may be steps.
pub const MAX_ANSWER_BYTES: usize = 7 * 1024 * 1024;
/// Largest result, in bytes of UTF-8.
pub const MAX_RESULT_BYTES: usize = 1024 * 1024;
/// Longest result as JSON: each byte may be escaped, plus two quotation marks.
const MAX_RAW_RESULT_BYTES: usize = MAX_RESULT_BYTES * 6 + 2;
/// Largest reasoning trace, as JSON. The trace is only displayed, so a larger one is dropped.
pub const MAX_STEPS_BYTES: usize = 256 * 1024;
/// Most tokens that a creator may report: what the program stores.
pub const MAX_TOKENS_USED: u64 = 1_000_000_000;
/// Approximate memory limit of a trace. Tiny objects take a hundred times the length of their text.
pub const MAX_STEPS_MEMORY: usize = 1024 * 1024;
/// Longest value of a small field, as JSON.
const MAX_SMALL_BYTES: usize = 1_024;
/// Longest error text of a creator that callers get.
const MAX_ERROR_CHARS: usize = 500;

/// Why an answer brings no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// `signature`: of the agent over this failure, if it gave one.
    #[error("the agent reported failure: {error}")]
    Reported { error: String, signature: Option<[u8; 64]> },
    #[error("{0}")]
    Invalid(String),
}

/// A result that its creator signed as the record demands.
#[derive(Clone, Debug, PartialEq)]
pub struct SignedResult {
    pub result: String,
    pub hash: ResultHash,
    pub signature: [u8; 64],
    /// Only if the result has to be signed for the call.
    pub call_signature: Option<[u8; 64]>,
    pub tokens_used: Option<u64>,
    /// None as well if the trace is too large to be displayed.
    pub steps: Option<Value>,
}

/// An answer that was read but not verified yet.
#[derive(Clone, Debug)]
pub struct Answer {
    execution_id: Option<Uuid>,
    /// The result, or what the answer says or does wrong instead.
    report: Result<Box<Completed>, AnswerError>,
}

/// A result whose hash equals the hash in the answer. Its signatures are not verified yet.
#[derive(Clone, Debug)]
struct Completed {
    signed: SignedResult,
    /// An error counts only if the call demands the signature.
    call_signature: Option<Result<[u8; 64], ResultProofError>>,
}

/// Who has to sign an answer, and for what. It comes from the on-chain record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signatory {
    pub result_key: Pubkey,
    pub opening: OpeningId,
    /// Whether the result has to be signed for the call.
    pub binding: bool,
}

/// The fields as raw text, without those that are null. Other fields are skipped.
#[derive(Debug, Deserialize)]
pub struct Fields<'a> {
    #[serde(borrow, default)]
    pub execution_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub status: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub result_hash: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub signature: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub call_signature: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub failure_signature: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub tokens_used: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub steps: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub error: Option<&'a RawValue>,
}

impl<'a> Fields<'a> {
    /// Takes time linear in the length of the answer, so it must not run on a thread of the runtime.
    pub fn read(body: &'a [u8]) -> Result<Self, AnswerError> {
        // A derived reader would accept an array of the fields in their order.
        let first = body.iter().find(|byte| !byte.is_ascii_whitespace());
        if first.is_some_and(|byte| matches!(byte, b'[' | b'"')) {
            return Err(invalid("it is not a JSON object"));
        }
        serde_json::from_slice(body).map_err(|error| match error.to_string() {
            twice if twice.starts_with("duplicate field") => invalid("it holds a field twice"),
            _ => invalid("it is not a JSON object"),
        })
    }
}

impl Answer {
    /// Parses an answer. Takes time linear in its length, so it must not run on a thread of the runtime.
    pub fn read(body: &[u8]) -> Result<Self, AnswerError> {
        let fields = Fields::read(body)?;
        let execution_id = small_text("execution_id", fields.execution_id)?.parse().ok();
        Ok(Self { execution_id, report: report(&fields).map(Box::new) })
    }

    /// Whether it says that the agent failed.
    pub const fn reports_failure(&self) -> bool {
        matches!(self.report, Err(AnswerError::Reported { .. }))
    }

    /// Returns the result if the answer keeps the contract and `signatory` signed it.
    pub fn check(self, id: Uuid, signatory: &Signatory) -> Result<SignedResult, AnswerError> {
        match self.execution_id {
            Some(named) if named == id => {}
            _ => return Err(invalid("`execution_id` is not the one of the request")),
        }
        let key = signatory.result_key.to_bytes();
        let Completed { mut signed, call_signature } = match self.report {
            Ok(completed) => *completed,
            // A failure counts without a signature too. One that does not verify proves nothing, and is dropped.
            Err(AnswerError::Reported { error, signature }) => {
                let verifies =
                    |signature: &[u8; 64]| verify_failure_signature(&key, &signatory.opening, signature).is_ok();
                return Err(AnswerError::Reported { error, signature: signature.filter(verifies) });
            }
            Err(invalid) => return Err(invalid),
        };
        // Whatever an unbound answer has there is not looked at.
        if signatory.binding {
            signed.call_signature = call_signature.transpose().map_err(proof_error)?;
        }
        let proof = CallProof { signature: signed.signature, call_signature: signed.call_signature };
        let bound_to = signatory.binding.then_some(&signatory.opening);
        proof.verify(&key, &signed.hash, bound_to).map_err(proof_error)?;
        Ok(signed)
    }
}

fn report(fields: &Fields<'_>) -> Result<Completed, AnswerError> {
    match small_text("status", fields.status)?.as_str() {
        "completed" => {}
        "failed" => {
            let signature = call_signature(fields.failure_signature).and_then(Result::ok);
            return Err(AnswerError::Reported { error: reported_error(fields.error), signature });
        }
        _ => return Err(invalid("`status` is neither `completed` nor `failed`")),
    }
    let too_large = || invalid(&format!("`result` is larger than {MAX_RESULT_BYTES} bytes"));
    if fields.result.is_some_and(|raw| raw.get().len() > MAX_RAW_RESULT_BYTES) {
        return Err(too_large());
    }
    let result = text("result", fields.result)?;
    if result.len() > MAX_RESULT_BYTES {
        return Err(too_large());
    }
    let hash: ResultHash = small_text("result_hash", fields.result_hash)?.parse().map_err(proof_error)?;
    if hash != ResultHash::of(result.as_bytes()) {
        return Err(proof_error(ResultProofError::HashMismatch));
    }
    let signature = parse_signature(&small_text("signature", fields.signature)?).map_err(proof_error)?;
    let (tokens_used, steps) = (tokens_used(fields.tokens_used)?, steps(fields.steps)?);
    let signed = SignedResult { result, hash, signature, call_signature: None, tokens_used, steps };
    Ok(Completed { signed, call_signature: call_signature(fields.call_signature) })
}

fn invalid(problem: &str) -> AnswerError {
    AnswerError::Invalid(problem.to_owned())
}

fn proof_error(error: ResultProofError) -> AnswerError {
    AnswerError::Invalid(error.to_string())
}

fn text(field: &str, raw: Option<&RawValue>) -> Result<String, AnswerError> {
    let text = raw.and_then(|raw| serde_json::from_str(raw.get()).ok());
    text.ok_or_else(|| invalid(&format!("`{field}` is not a string")))
}

/// Reads a string that is short in every valid answer.
fn small_text(field: &str, raw: Option<&RawValue>) -> Result<String, AnswerError> {
    if raw.is_some_and(|raw| raw.get().len() > MAX_SMALL_BYTES) {
        return Err(invalid(&format!("`{field}` is too long")));
    }
    text(field, raw)
}

fn reported_error(raw: Option<&RawValue>) -> String {
    let text: String = raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    let text = text.trim();
    if text.is_empty() {
        return "it gave no reason".to_owned();
    }
    let printable = |c: char| if c.is_control() && c != '\n' { '\u{fffd}' } else { c };
    shortened(text, MAX_ERROR_CHARS).chars().map(printable).collect()
}

/// The call-bound signature. Anything but a short string in the right form is a [`ResultProofError`].
fn call_signature(raw: Option<&RawValue>) -> Option<Result<[u8; 64], ResultProofError>> {
    let read = |raw| parse_signature(&small_text("call_signature", Some(raw)).ok()?).ok();
    raw.map(|raw| read(raw).ok_or(ResultProofError::CallSignatureForm))
}

fn tokens_used(raw: Option<&RawValue>) -> Result<Option<u64>, AnswerError> {
    let Some(raw) = raw else { return Ok(None) };
    match serde_json::from_str::<u64>(raw.get()) {
        Ok(tokens) if tokens <= MAX_TOKENS_USED => Ok(Some(tokens)),
        _ => Err(invalid(&format!("`tokens_used` is not a whole number from 0 to {MAX_TOKENS_USED}"))),
    }
}

/// Returns the trace if it is small enough to be displayed.
fn steps(raw: Option<&RawValue>) -> Result<Option<Value>, AnswerError> {
    let Some(raw) = raw.map(RawValue::get) else { return Ok(None) };
    if !raw.starts_with('[') {
        return Err(invalid("`steps` is not an array"));
    }
    let small = raw.len() <= MAX_STEPS_BYTES && fits_in_memory(raw, MAX_STEPS_MEMORY);
    Ok(small.then(|| serde_json::from_str(raw).ok()).flatten().map(storable))
}

/// Whether a text is JSON that takes at most about so many bytes as a tree.
pub fn fits_in_memory(text: &str, bytes: usize) -> bool {
    let mut left = bytes;
    Weigh { left: &mut left }.deserialize(&mut serde_json::Deserializer::from_str(text)).is_ok()
}

/// Subtracts the memory that a value needs from `left`, without building the value.
struct Weigh<'l> {
    left: &'l mut usize,
}

impl Weigh<'_> {
    fn take<E: de::Error>(&mut self, bytes: usize) -> Result<(), E> {
        *self.left = self.left.checked_sub(bytes).ok_or_else(|| E::custom("too much"))?;
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Weigh<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Weigh<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E: de::Error>(mut self) -> Result<(), E> {
        self.take(32)
    }

    fn visit_bool<E: de::Error>(mut self, _: bool) -> Result<(), E> {
        self.take(32)
    }

    fn visit_i64<E: de::Error>(mut self, _: i64) -> Result<(), E> {
        self.take(32)
    }

    fn visit_u64<E: de::Error>(mut self, _: u64) -> Result<(), E> {
        self.take(32)
    }

    fn visit_f64<E: de::Error>(mut self, _: f64) -> Result<(), E> {
        self.take(32)
    }

    fn visit_str<E: de::Error>(mut self, text: &str) -> Result<(), E> {
        self.take(text.len().saturating_add(48))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        self.take(96)?;
        while items.next_element_seed(Weigh { left: &mut *self.left })?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        // A map allocates room for eleven members with its first one.
        self.take(700)?;
        while members.next_key_seed(Weigh { left: &mut *self.left })?.is_some() {
            members.next_value_seed(Weigh { left: &mut *self.left })?;
        }
        Ok(())
    }
}

/// Removes NUL characters, which PostgreSQL does not store.
fn storable(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(without_nul(&text)),
        Value::Array(items) => Value::Array(items.into_iter().map(storable).collect()),
        Value::Object(members) => {
            Value::Object(members.into_iter().map(|(name, value)| (without_nul(&name), storable(value))).collect())
        }
        other => other,
    }
}

#[cfg(test)]
mod testing {
    use crate::{
        call_text::OpeningId,
        result_hash::{CallProof, ResultHash, format_signature},
    };
    use ed25519_dalek::SigningKey;
    use serde_json::{Value, json};
    use solana_pubkey::Pubkey;
    use uuid::Uuid;

    use super::Signatory;

    pub const ID: Uuid = Uuid::from_u128(42);

    fn signing_key() -> SigningKey {
        SigningKey::from_bytes(&[7; 32])
    }

    /// Of a call whose results are not signed for the call.
    pub fn signatory() -> Signatory {
        let result_key = Pubkey::new_from_array(signing_key().verifying_key().to_bytes());
        Signatory { result_key, opening: OPENING, binding: false }
    }

    pub const OPENING: OpeningId = OpeningId { record: [3; 32], opened_at_unix_s: 1_700_000_000 };

    pub fn call_signature(opening: &OpeningId, result: &str) -> String {
        let proof = CallProof::sign(&signing_key(), opening, &ResultHash::of(result.as_bytes()));
        format_signature(&proof.call_signature.expect("signed"))
    }

    pub fn good(result: &str) -> Value {
        let hash = ResultHash::of(result.as_bytes());
        let signature = CallProof::sign(&signing_key(), &OPENING, &hash).signature;
        json!({
            "execution_id": ID, "status": "completed", "result": result, "result_hash": hash.to_string(),
            "signature": format_signature(&signature), "tokens_used": 12, "steps": [{"thought": "hm"}],
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::result_hash::{format_signature, verify_call_signature};
    use ed25519_dalek::{Signer, SigningKey};
    use proptest::prelude::*;
    use serde_json::json;

    use super::{
        testing::{ID, OPENING, call_signature, good, signatory},
        *,
    };

    fn checked(answer: &Value) -> Result<SignedResult, AnswerError> {
        check(answer.to_string().as_bytes())
    }

    fn check(body: &[u8]) -> Result<SignedResult, AnswerError> {
        Answer::read(body)?.check(ID, &signatory())
    }

    /// Checks the answer of a call whose result has to be signed for the call.
    fn checked_bound(answer: &Value) -> Result<SignedResult, AnswerError> {
        let answer = Answer::read(answer.to_string().as_bytes())?;
        answer.check(ID, &Signatory { binding: true, ..signatory() })
    }

    #[test]
    fn a_bound_call_is_delivered_with_the_signature_that_settles_it() {
        let mut answer = good("x");
        answer["call_signature"] = json!(call_signature(&OPENING, "x"));
        let delivered = checked_bound(&answer).expect("good");
        let signature = delivered.call_signature.expect("kept");
        let hash = ResultHash::of(b"x");
        let key = signatory().result_key.to_bytes();
        assert_eq!(verify_call_signature(&key, &OPENING, &hash, &signature), Ok(()));
    }

    #[test]
    fn a_bound_call_refuses_an_old_signature_and_every_signature_of_another_call_result_or_key() {
        let plain = good("x")["signature"].clone();
        for (call_signature, named) in [
            (Value::Null, "call_signature is missing"),
            (plain, "call_signature is not one"),
            (json!(call_signature(&OpeningId { record: [4; 32], ..OPENING }, "x")), "call_signature is not one"),
            (json!(call_signature(&OpeningId { opened_at_unix_s: 9, ..OPENING }, "x")), "call_signature is not one"),
            (json!(call_signature(&OPENING, "y")), "call_signature is not one"),
            (json!("ed25519:111"), "call_signature must be"),
            (json!(7), "call_signature must be"),
            (json!("x".repeat(100_000)), "call_signature must be"),
        ] {
            let mut answer = good("x");
            answer["call_signature"] = call_signature;
            let error = checked_bound(&answer).expect_err(named);
            assert!(error.to_string().contains(named), "{error}");
        }
        let mut swapped = good("x");
        swapped["call_signature"] = json!(call_signature(&OPENING, "x"));
        swapped["signature"] = swapped["call_signature"].clone();
        assert!(checked_bound(&swapped).is_err(), "a call signature does not replace the other one");
    }

    #[test]
    fn an_unbound_call_does_not_look_at_the_call_signature() {
        for anything in [json!("junk"), json!([1, 2]), json!(call_signature(&OPENING, "y")), Value::Null] {
            let mut answer = good("x");
            answer["call_signature"] = anything;
            assert_eq!(checked(&answer).expect("good").call_signature, None);
        }
    }

    #[test]
    fn tokens_above_what_the_chain_stores_are_refused_with_the_bound() {
        let mut answer = good("x");
        answer["tokens_used"] = json!(MAX_TOKENS_USED);
        assert_eq!(checked(&answer).expect("good").tokens_used, Some(1_000_000_000));
        answer["tokens_used"] = json!(MAX_TOKENS_USED + 1);
        let error = checked(&answer).expect_err("too many");
        assert!(error.to_string().contains("`tokens_used` is not a whole number from 0 to 1000000000"), "{error}");
    }

    #[test]
    fn a_good_answer_is_delivered_with_everything_in_it() {
        let delivered = checked(&good("done \u{0} ✓")).expect("good");
        assert_eq!(delivered.result, "done \u{0} ✓");
        assert_eq!(delivered.hash, ResultHash::of("done \u{0} ✓".as_bytes()));
        assert_eq!(delivered.tokens_used, Some(12));
        assert_eq!(delivered.steps, Some(json!([{"thought": "hm"}])));
    }

    #[test]
    fn an_answer_without_optional_fields_is_good() {
        let mut answer = good("x");
        answer.as_object_mut().expect("object").retain(|name, _| !["tokens_used", "steps"].contains(&name.as_str()));
        assert!(checked(&answer).is_ok());
        answer["tokens_used"] = Value::Null;
        answer["steps"] = Value::Null;
        answer["error"] = Value::Null;
        assert!(checked(&answer).is_ok());
    }

    #[test]
    fn every_break_of_the_contract_is_refused_and_named() {
        let other = good("other");
        let foreign_key = SigningKey::from_bytes(&[8; 32]);
        let foreign = format_signature(&foreign_key.sign(&ResultHash::of(b"x").signed_text()).to_bytes());
        let upper = good("x")["result_hash"].as_str().expect("text").to_uppercase();
        let oversize = "x".repeat(MAX_RESULT_BYTES + 1);
        for (field, value, named) in [
            ("execution_id", json!(Uuid::from_u128(43)), "execution_id"),
            ("execution_id", json!("nonsense"), "execution_id"),
            ("execution_id", Value::Null, "execution_id"),
            ("status", json!("done"), "status"),
            ("status", json!(true), "status"),
            ("result", Value::Null, "`result`"),
            ("result", json!({"a": 1}), "`result`"),
            ("result", json!("y"), "SHA-256"),
            ("result", json!(oversize), "larger"),
            ("result_hash", other["result_hash"].clone(), "SHA-256"),
            ("result_hash", json!(upper), "result_hash"),
            ("result_hash", Value::Null, "result_hash"),
            ("signature", other["signature"].clone(), "signature"),
            ("signature", json!(foreign), "signature"),
            ("signature", json!("ed25519:111"), "signature"),
            ("signature", json!("base64:AAAA"), "signature"),
            ("signature", Value::Null, "signature"),
            ("tokens_used", json!(-1), "tokens_used"),
            ("tokens_used", json!(1.5), "tokens_used"),
            ("tokens_used", json!(u64::MAX), "tokens_used"),
            ("steps", json!("text"), "steps"),
        ] {
            let mut answer = good("x");
            answer[field] = value;
            let error = checked(&answer).expect_err(field);
            assert!(matches!(error, AnswerError::Invalid(_)), "{field}: {error}");
            assert!(error.to_string().contains(named), "{field}: {error}");
        }
    }

    #[test]
    fn what_is_not_a_json_object_is_refused() {
        for body in [&b""[..], b"not json", b"[]", b"\"x\"", b"\xff\xfe", b"{\"a\":"] {
            assert!(matches!(check(body), Err(AnswerError::Invalid(_))), "{body:?}");
        }
    }

    #[test]
    fn a_reported_failure_carries_the_creators_words_within_bounds() {
        let report = |error: Value| {
            let answer = json!({
                "execution_id": ID, "status": "failed", "result": null, "result_hash": null, "signature": null,
                "error": error,
            });
            checked(&answer).expect_err("failed").to_string()
        };
        assert!(report(json!("model overloaded")).contains("model overloaded"));
        assert!(report(Value::Null).contains("no reason"));
        assert!(report(json!("x".repeat(100_000))).len() < 1_000);
        assert!(!report(json!("a\u{0}b\u{1b}[31m")).contains(['\u{0}', '\u{1b}']));
    }

    #[test]
    fn a_trace_that_is_too_long_is_left_out_and_nul_characters_are_removed() {
        let mut answer = good("x");
        answer["steps"] = json!(["y".repeat(MAX_STEPS_BYTES)]);
        assert_eq!(checked(&answer).expect("good").steps, None);
        answer["steps"] = json!([{"a\u{0}": "b\u{0}"}]);
        assert_eq!(checked(&answer).expect("good").steps, Some(json!([{"a\u{fffd}": "b\u{fffd}"}])));
    }

    /// The answer `text` with additional members.
    fn with_raw(member: &str, raw: &str) -> Vec<u8> {
        let text = good("x").to_string();
        format!("{}, \"{member}\": {raw}}}", text.strip_suffix('}').expect("an object")).into_bytes()
    }

    fn brackets(levels: usize) -> String {
        format!("{}{}", "[".repeat(levels), "]".repeat(levels))
    }

    #[test]
    fn unknown_fields_are_skipped_however_large_and_deep() {
        for raw in [
            brackets(1_000_000),
            format!("{}1{}", "{\"a\":".repeat(300_000), "}".repeat(300_000)),
            format!("[{}0]", "0,".repeat(1_500_000)),
            format!("[{}{{}}]", "{},".repeat(700_000)),
            format!("\"{}\"", "x".repeat(3_000_000)),
        ] {
            assert_eq!(check(&with_raw("more", &raw)).expect("good").result, "x");
        }
    }

    #[test]
    fn a_trace_that_would_be_a_large_tree_is_left_out() {
        for raw in [
            brackets(10_000),
            format!("[{}{{}}]", "{},".repeat(2_000)),
            format!("[{}[]]", "[],".repeat(20_000)),
            format!("[{}0]", "0,".repeat(100_000)),
            format!("[{}0]", "0,".repeat(3_000_000)),
        ] {
            let mut answer = good("x");
            answer.as_object_mut().expect("object").remove("steps");
            let text = answer.to_string();
            let body = format!("{}, \"steps\": {raw}}}", text.strip_suffix('}').expect("an object"));
            assert_eq!(check(body.as_bytes()).expect("good").steps, None);
        }
        let mut answer = good("x");
        let steps: Vec<Value> =
            (0..200).map(|n| json!({"thought": "w".repeat(500), "tool": "search", "n": n})).collect();
        answer["steps"] = json!(steps);
        assert_eq!(checked(&answer).expect("good").steps, Some(json!(steps)));
    }

    #[test]
    fn a_field_that_is_a_large_tree_is_refused_by_its_name() {
        for field in ["execution_id", "status", "result", "result_hash", "signature", "tokens_used"] {
            let mut answer = good("x");
            answer[field] = json!("HERE");
            let body = answer.to_string().replace("\"HERE\"", &brackets(500_000));
            let error = check(body.as_bytes()).expect_err(field);
            assert!(error.to_string().contains(field), "{field}: {error}");
        }
    }

    #[test]
    fn a_duplicate_field_is_refused() {
        let error = check(&with_raw("status", "\"failed\"")).expect_err("twice");
        assert!(error.to_string().contains("twice"), "{error}");
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic_and_never_pass(body in proptest::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(check(&body).is_err());
        }
    }
}
