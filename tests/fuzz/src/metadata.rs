//! The metadata document and strict JSON. Input: the bytes of a document.

use std::collections::HashSet;

use crtx_protocol::{
    metadata::{self, Metadata},
    strict_json::{self, JsonError},
};
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

pub fn run(data: &[u8]) {
    numbers(data);
    let value = strict_json::parse(data);
    let repeats = serde_json::from_slice::<Repeats>(data);
    match (&value, repeats) {
        (Ok(value), Ok(Repeats(repeats))) => {
            assert!(!repeats, "a member that comes twice was accepted");
            canonical_form_is_stable(value);
        }
        (Err(JsonError::Duplicate { path }), Ok(Repeats(repeats))) => {
            assert!(repeats, "`{path}` comes once");
            assert!(path.chars().count() <= 201, "an error quotes more than a line");
        }
        (Ok(_), Err(error)) => panic!("not JSON, and accepted: {error}"),
        (Err(error), Ok(_)) => panic!("JSON, and refused: {error}"),
        (Err(_), Err(_)) => {}
    }
    let (read, examined) = (Metadata::parse(data), Metadata::examine(data));
    assert!(examined.as_ref().is_ok_and(|found| read.as_ref() == Ok(found)) || examined.is_err() && read.is_err());
    assert!(examined.as_ref().err().is_none_or(|problems| !problems.is_empty()), "refused for no reason");
    if let (Ok(metadata), Ok(value)) = (read, value) {
        within_bounds(&metadata, &value, data.len());
        let again = serde_json::to_vec(&metadata).expect("it is written");
        // Written again without its spaces it can be longer only if a number is.
        assert!(
            again.len() > metadata::MAX_BYTES || Metadata::parse(&again) == Ok(metadata),
            "it is read as another one"
        );
    }
}

/// What is hashed is the same after it was written and read.
fn canonical_form_is_stable(value: &Value) {
    let first = serde_json_canonicalizer::to_vec(value).expect("a canonical form");
    let read = strict_json::parse(&first).expect("the canonical form is read");
    let second = serde_json_canonicalizer::to_vec(&read).expect("a canonical form");
    assert_eq!(first, second, "another hash");
}

/// A single number that is accepted has the value of its canonical form, digit by digit.
fn numbers(data: &[u8]) {
    let accepted = strict_json::check_numbers(data).is_ok();
    let Ok(literal) = std::str::from_utf8(data) else { return };
    let Ok(Value::Number(number)) = serde_json::from_str(literal) else { return };
    let canonical = serde_json_canonicalizer::to_string(&number).expect("a canonical form");
    // Texts longer than this may name an exponent that no decimal is written out for.
    if accepted && data.len() < 300 {
        assert_eq!(decimal(literal.trim()), decimal(&canonical), "{literal} is hashed as {canonical}");
    }
}

/// The digits of a number without its sign, and the place of its point: `0.digits × 10^point`.
fn decimal(literal: &str) -> Option<(String, i64)> {
    let (number, exponent) = literal.split_once(['e', 'E']).unwrap_or((literal, "0"));
    let (whole, fraction) =
        number.trim_start_matches('-').split_once('.').unwrap_or((number.trim_start_matches('-'), ""));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_start_matches('0');
    let leading = digits.len() - significant.len();
    let digits = significant.trim_end_matches('0').to_owned();
    // Zero, whatever its exponent.
    if digits.is_empty() {
        return Some((digits, 0));
    }
    let point = exponent.parse::<i64>().ok()?.checked_add(whole.len() as i64 - leading as i64)?;
    Some((digits, point))
}

/// The bounds of the specification, each checked in another way than the crate does.
fn within_bounds(metadata: &Metadata, value: &Value, bytes: usize) {
    assert!(bytes <= 262_144 && count(value, 1) <= 30_000);
    let texts =
        [(&metadata.name, 80), (&metadata.tagline, 200), (&metadata.description, 20_000), (&metadata.endpoint, 2_048)];
    for (text, most) in texts {
        let printable = |c: char| !c.is_control() || c == '\n' || c == '\r' || c == '\t';
        assert!(text.chars().nth(most).is_none() && text.chars().any(|c| !c.is_whitespace()));
        assert!(text.chars().all(printable));
    }
    assert!(["http://", "https://"].iter().any(|scheme| metadata.endpoint.strip_prefix(scheme).is_some()));
    let tags: HashSet<_> = metadata.tags.iter().collect();
    assert!((1..=5).contains(&metadata.tags.len()) && tags.len() == metadata.tags.len());
    let of_tag = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
    assert!(tags.iter().all(|tag| (1..=32).contains(&tag.len()) && tag.bytes().all(of_tag)));
    assert!(metadata.input_schema.is_object() && metadata.output_schema.is_object());
}

/// The values of a document, at most 100 levels deep.
fn count(value: &Value, depth: usize) -> usize {
    assert!(depth <= 100, "too deep");
    1 + match value {
        Value::Array(items) => items.iter().map(|item| count(item, depth + 1)).sum(),
        Value::Object(members) => members.values().map(|member| count(member, depth + 1)).sum::<usize>(),
        _ => 0,
    }
}

/// Whether an object anywhere in a document names a member twice, by the JSON parser itself.
struct Repeats(bool);

impl<'de> Deserialize<'de> for Repeats {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Repeats(false))
    }
}

impl<'de> Visitor<'de> for Repeats {
    type Value = Self;

    fn expecting(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.write_str("any JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        let (mut names, mut repeats) = (HashSet::new(), false);
        while let Some((name, Repeats(inside))) = map.next_entry::<String, Self>()? {
            repeats |= inside | !names.insert(name);
        }
        Ok(Self(repeats))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self, A::Error> {
        let mut repeats = false;
        while let Some(Repeats(inside)) = seq.next_element()? {
            repeats |= inside;
        }
        Ok(Self(repeats))
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E: de::Error>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self, E> {
        Ok(self)
    }
}
