//! The metadata document of a listing: what does not fit an account. Its SHA-256 and URI are on chain;
//! a document that does not match the hash is never shown.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::strict_json;

/// The standard tags of listings. Creators may use others.
pub const STANDARD_TAGS: [&str; 10] =
    ["research", "code", "legal", "finance", "data", "social", "security", "writing", "sql", "monitoring"];
/// Tags per listing.
pub const MAX_TAGS: usize = 5;
/// Largest document that is fetched, in bytes.
pub const MAX_BYTES: usize = 256 * 1024;

/// Most values (objects, arrays, strings, numbers, …) in a document, and their deepest nesting: a small text can
/// be a large tree.
pub const MAX_VALUES: usize = 30_000;
pub const MAX_DEPTH: usize = 100;

pub const MAX_NAME_CHARS: usize = 80;
pub const MAX_TAGLINE_CHARS: usize = 200;
pub const MAX_DESCRIPTION_CHARS: usize = 20_000;
pub const MAX_TAG_CHARS: usize = 32;
pub const MAX_ENDPOINT_CHARS: usize = 2_048;

/// The document of a listing ("Metadata document" in `docs/specification.md`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metadata {
    pub name: String,
    /// One sentence.
    pub tagline: String,
    pub description: String,
    /// 1 to 5 lower-case tags: the standard taxonomy or the creator's own.
    pub tags: Vec<String>,
    /// Where `POST /execute` is answered: the full URL of the creator's execution service.
    pub endpoint: String,
    /// JSON Schema of accepted `parameters`.
    pub input_schema: Value,
    /// JSON Schema of the result structure.
    pub output_schema: Value,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetadataError {
    #[error("the document is {0} bytes long; at most {MAX_BYTES} are read")]
    TooLarge(usize),
    #[error("the document holds more than {MAX_VALUES} values, or more than {MAX_DEPTH} levels")]
    TooManyValues,
    #[error("the document is not JSON of the metadata form: {0}")]
    Form(String),
    #[error("`{field}` {problem}")]
    Field { field: &'static str, problem: String },
}

impl Metadata {
    /// Reads and checks a document.
    pub fn parse(bytes: &[u8]) -> Result<Self, MetadataError> {
        if bytes.len() > MAX_BYTES {
            return Err(MetadataError::TooLarge(bytes.len()));
        }
        let document = strict_json::parse(bytes).map_err(|error| MetadataError::Form(error.to_string()))?;
        Self::from_value(&document)
    }

    /// Reads and checks a document that is JSON already.
    pub fn from_value(document: &Value) -> Result<Self, MetadataError> {
        let metadata = Self::read(document)?;
        problems(document).next().map_or(Ok(metadata), Err)
    }

    /// Reads and checks a document, and finds every problem of its fields.
    pub fn examine(bytes: &[u8]) -> Result<Self, Vec<MetadataError>> {
        if bytes.len() > MAX_BYTES {
            return Err(vec![MetadataError::TooLarge(bytes.len())]);
        }
        let document = strict_json::parse(bytes).map_err(|error| vec![MetadataError::Form(error.to_string())])?;
        let found: Vec<_> = if document.is_object() { problems(&document).collect() } else { vec![] };
        if found.is_empty() { Self::read(&document).map_err(|error| vec![error]) } else { Err(found) }
    }

    fn read(document: &Value) -> Result<Self, MetadataError> {
        if !document.is_object() {
            return Err(MetadataError::Form("it is not an object".to_owned()));
        }
        check_values(document)?;
        Self::deserialize(document).map_err(|error| MetadataError::Form(error.to_string()))
    }
}

/// The fields of a document, and what is wrong with a value.
type Field = (&'static str, fn(&Value) -> Result<(), String>);
const FIELDS: [Field; 7] = [
    ("name", |value| text(value, MAX_NAME_CHARS).map(drop)),
    ("tagline", |value| text(value, MAX_TAGLINE_CHARS).map(drop)),
    ("description", |value| text(value, MAX_DESCRIPTION_CHARS).map(drop)),
    ("endpoint", check_endpoint),
    ("tags", check_tags),
    ("input_schema", check_schema),
    ("output_schema", check_schema),
];

/// Every problem of the fields, in their order.
fn problems(document: &Value) -> impl Iterator<Item = MetadataError> {
    FIELDS.iter().filter_map(|(field, check)| {
        let checked = document.get(field).map_or_else(|| Err("is missing".to_owned()), check);
        checked.err().map(|problem| MetadataError::Field { field, problem })
    })
}

fn text(value: &Value, max_chars: usize) -> Result<&str, String> {
    let text = value.as_str().ok_or("must be a string")?;
    let chars = text.chars().count();
    if text.trim().is_empty() {
        return Err("must not be empty".to_owned());
    }
    if chars > max_chars {
        return Err(format!("is {chars} characters long; at most {max_chars} are accepted"));
    }
    if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t' | '\r')) {
        return Err("must not hold control characters".to_owned());
    }
    Ok(text)
}

fn check_endpoint(value: &Value) -> Result<(), String> {
    let endpoint = text(value, MAX_ENDPOINT_CHARS)?;
    if endpoint.starts_with("https://") || endpoint.starts_with("http://") {
        return Ok(());
    }
    Err("must be an http or https URL".to_owned())
}

fn check_tags(value: &Value) -> Result<(), String> {
    let tags = value.as_array().filter(|tags| tags.iter().all(Value::is_string)).ok_or("must be a list of strings")?;
    if tags.is_empty() || tags.len() > MAX_TAGS {
        return Err(format!("must hold 1 to {MAX_TAGS} tags, not {}", tags.len()));
    }
    let mut unique = HashSet::new();
    for tag in tags {
        let tag = text(tag, MAX_TAG_CHARS)?;
        if !is_tag(tag) {
            return Err(format!("must be lower-case letters, digits, `-` and `_`; `{tag}` is not"));
        }
        unique.insert(tag);
    }
    if unique.len() == tags.len() { Ok(()) } else { Err("must not repeat a tag".to_owned()) }
}

fn check_schema(value: &Value) -> Result<(), String> {
    if value.is_object() { Ok(()) } else { Err("must be a JSON Schema object".to_owned()) }
}

/// Whether a text can be a tag of a listing.
pub fn is_tag(text: &str) -> bool {
    (1..=MAX_TAG_CHARS).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_'))
}

fn check_values(document: &Value) -> Result<(), MetadataError> {
    let mut values = 0_usize;
    let mut left = vec![(document, 1_usize)];
    while let Some((value, depth)) = left.pop() {
        values = values.saturating_add(1);
        if values > MAX_VALUES || depth > MAX_DEPTH {
            return Err(MetadataError::TooManyValues);
        }
        let deeper = depth.saturating_add(1);
        match value {
            Value::Array(items) => left.extend(items.iter().map(|item| (item, deeper))),
            Value::Object(members) => left.extend(members.values().map(|member| (member, deeper))),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn valid() -> Value {
        json!({
            "name": "n", "tagline": "t", "description": "d", "tags": ["data"], "endpoint": "https://a.example/execute",
            "input_schema": {}, "output_schema": {"type": "string"}
        })
    }

    #[test]
    fn a_complete_document_is_read() {
        let bytes = serde_json::to_vec(&valid()).expect("json");
        assert_eq!(Metadata::parse(&bytes).expect("valid").tags, ["data"]);
    }

    #[test]
    fn each_bad_field_is_named() {
        for (field, bad) in [
            ("name", json!("")),
            ("name", json!("x".repeat(81))),
            ("tagline", json!("   ")),
            ("description", json!("a\u{0}b")),
            ("endpoint", json!("ftp://x")),
            ("tags", json!([])),
            ("tags", json!(["a", "b", "c", "d", "e", "f"])),
            ("tags", json!(["Upper"])),
            ("tags", json!(["a", "a"])),
            ("input_schema", json!("x")),
            ("output_schema", json!(1)),
        ] {
            let mut document = valid();
            document[field] = bad;
            let error = Metadata::parse(&serde_json::to_vec(&document).expect("json")).expect_err(field);
            assert!(matches!(&error, MetadataError::Field { field: named, .. } if *named == field), "{error}");
        }
    }

    #[test]
    fn every_problem_of_a_document_is_found_at_once() {
        let bad = json!({
            "name": "", "tagline": "x".repeat(201), "description": 5, "tags": ["Upper"], "endpoint": "ftp://x",
            "input_schema": [],
        });
        let problems = Metadata::examine(&serde_json::to_vec(&bad).expect("json")).expect_err("bad");
        let mut named: Vec<_> = problems
            .iter()
            .map(|problem| match problem {
                MetadataError::Field { field, .. } => *field,
                other => panic!("{other}"),
            })
            .collect();
        named.sort_unstable();
        let all = ["description", "endpoint", "input_schema", "name", "output_schema", "tagline", "tags"];
        assert_eq!(named, all);
        let mut two = valid();
        (two["name"], two["tags"]) = (json!(" "), json!([]));
        let problems = Metadata::examine(&serde_json::to_vec(&two).expect("json")).expect_err("bad");
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(Metadata::examine(&serde_json::to_vec(&valid()).expect("json")).is_ok());
        for bytes in [&b"[]"[..], b"{", &vec![b' '; MAX_BYTES + 1]] {
            assert_eq!(Metadata::examine(bytes).expect_err("bad").len(), 1);
        }
    }

    #[test]
    fn a_member_that_comes_twice_anywhere_is_refused_and_named() {
        for (good, twice) in [("\"name\":\"n\"", "name"), ("\"input_schema\":{}", "input_schema")] {
            let text = valid().to_string().replace(good, &format!("{good},{good}"));
            let error = Metadata::parse(text.as_bytes()).expect_err(twice);
            assert!(error.to_string().contains(&format!("`{twice}`")), "{error}");
        }
        let text = valid().to_string().replace("\"input_schema\":{}", r#""input_schema":{"a":{"b":1,"b":2}}"#);
        assert!(Metadata::parse(text.as_bytes()).expect_err("twice").to_string().contains("input_schema/a/b"));
    }

    #[test]
    fn a_small_text_that_is_a_large_tree_is_refused() {
        let deep = (0..MAX_DEPTH).fold(json!({}), |inner, _| json!({"items": inner}));
        for tree in [json!({"enum": vec![0; MAX_VALUES]}), json!({"examples": vec![json!({}); MAX_VALUES]}), deep] {
            let mut document = valid();
            document["output_schema"] = tree;
            let read = Metadata::parse(&serde_json::to_vec(&document).expect("json"));
            assert_eq!(read, Err(MetadataError::TooManyValues));
        }
        assert!(matches!(Metadata::parse(b"[]"), Err(MetadataError::Form(_))));
    }

    #[test]
    fn a_document_that_is_too_large_or_not_json_is_refused() {
        assert_eq!(Metadata::parse(&vec![b' '; MAX_BYTES + 1]), Err(MetadataError::TooLarge(MAX_BYTES + 1)));
        assert!(matches!(Metadata::parse(b"{}"), Err(MetadataError::Form(_))));
    }
}
