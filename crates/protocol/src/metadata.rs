//! The metadata document of a listing: what does not fit an account. Its SHA-256 and URI are on chain;
//! a document that does not match the hash is never shown.

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
        metadata.validate()?;
        Ok(metadata)
    }

    /// Reads and checks a document, and finds every problem of its fields.
    pub fn examine(bytes: &[u8]) -> Result<Self, Vec<MetadataError>> {
        if bytes.len() > MAX_BYTES {
            return Err(vec![MetadataError::TooLarge(bytes.len())]);
        }
        let document = strict_json::parse(bytes).map_err(|error| vec![MetadataError::Form(error.to_string())])?;
        let mut problems = missing_or_of_another_kind(&document);
        if !problems.is_empty() {
            problems.extend(known_problems(&document));
            return Err(problems);
        }
        let metadata = Self::read(&document).map_err(|error| vec![error])?;
        let problems = metadata.problems();
        if problems.is_empty() { Ok(metadata) } else { Err(problems) }
    }

    fn read(document: &Value) -> Result<Self, MetadataError> {
        if !document.is_object() {
            return Err(MetadataError::Form("it is not an object".to_owned()));
        }
        check_values(document)?;
        Self::deserialize(document).map_err(|error| MetadataError::Form(error.to_string()))
    }

    pub fn validate(&self) -> Result<(), MetadataError> {
        self.problems().into_iter().next().map_or(Ok(()), Err)
    }

    /// Every problem of the fields, in their order.
    pub fn problems(&self) -> Vec<MetadataError> {
        let texts = [
            text("name", &self.name, MAX_NAME_CHARS),
            text("tagline", &self.tagline, MAX_TAGLINE_CHARS),
            text("description", &self.description, MAX_DESCRIPTION_CHARS),
            text("endpoint", &self.endpoint, MAX_ENDPOINT_CHARS).and_then(|()| check_scheme(&self.endpoint)),
        ];
        let schemas = [schema("input_schema", &self.input_schema), schema("output_schema", &self.output_schema)];
        texts.into_iter().chain([check_tags(&self.tags)]).chain(schemas).filter_map(Result::err).collect()
    }
}

/// The fields of a document, and whether a value is of their kind.
type Kind = (&'static str, fn(&Value) -> bool, &'static str);
const FIELDS: [Kind; 7] = [
    ("name", Value::is_string, "must be a string"),
    ("tagline", Value::is_string, "must be a string"),
    ("description", Value::is_string, "must be a string"),
    ("tags", is_list_of_texts, "must be a list of strings"),
    ("endpoint", Value::is_string, "must be a string"),
    ("input_schema", Value::is_object, "must be a JSON Schema object"),
    ("output_schema", Value::is_object, "must be a JSON Schema object"),
];

fn is_list_of_texts(value: &Value) -> bool {
    value.as_array().is_some_and(|items| items.iter().all(Value::is_string))
}

fn missing_or_of_another_kind(document: &Value) -> Vec<MetadataError> {
    let Some(members) = document.as_object() else {
        return vec![MetadataError::Form("it is not an object".to_owned())];
    };
    let wrong = |(field, is_kind, expected): &Kind| match members.get(*field) {
        None => Some(problem(field, "is missing")),
        Some(value) if !is_kind(value) => Some(problem(field, *expected)),
        Some(_) => None,
    };
    FIELDS.iter().filter_map(wrong).collect()
}

/// The problems of those fields that are of the right kind, in a document that lacks others.
fn known_problems(document: &Value) -> Vec<MetadataError> {
    let of = |field: &str, max_chars, name| match document.get(field) {
        Some(Value::String(value)) => text(name, value, max_chars).err(),
        _ => None,
    };
    let endpoint = match document.get("endpoint") {
        Some(Value::String(value)) => {
            text("endpoint", value, MAX_ENDPOINT_CHARS).and_then(|()| check_scheme(value)).err()
        }
        _ => None,
    };
    let tags = document.get("tags").and_then(|tags| Vec::<String>::deserialize(tags).ok());
    [
        of("name", MAX_NAME_CHARS, "name"),
        of("tagline", MAX_TAGLINE_CHARS, "tagline"),
        of("description", MAX_DESCRIPTION_CHARS, "description"),
        endpoint,
        tags.and_then(|tags| check_tags(&tags).err()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn check_scheme(endpoint: &str) -> Result<(), MetadataError> {
    if endpoint.starts_with("https://") || endpoint.starts_with("http://") {
        return Ok(());
    }
    Err(problem("endpoint", "must be an http or https URL"))
}

fn check_tags(tags: &[String]) -> Result<(), MetadataError> {
    if tags.is_empty() || tags.len() > MAX_TAGS {
        return Err(problem("tags", format!("must hold 1 to {MAX_TAGS} tags, not {}", tags.len())));
    }
    for tag in tags {
        text("tags", tag, MAX_TAG_CHARS)?;
        if !is_tag(tag) {
            return Err(problem("tags", format!("must be lower-case letters, digits, `-` and `_`; `{tag}` is not")));
        }
    }
    let mut unique = tags.to_vec();
    unique.sort();
    unique.dedup();
    if unique.len() == tags.len() { Ok(()) } else { Err(problem("tags", "must not repeat a tag")) }
}

fn schema(field: &'static str, value: &Value) -> Result<(), MetadataError> {
    if value.is_object() { Ok(()) } else { Err(problem(field, "must be a JSON Schema object")) }
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

fn problem(field: &'static str, problem: impl Into<String>) -> MetadataError {
    MetadataError::Field { field, problem: problem.into() }
}

fn text(field: &'static str, value: &str, max_chars: usize) -> Result<(), MetadataError> {
    let chars = value.chars().count();
    if value.trim().is_empty() {
        return Err(problem(field, "must not be empty"));
    }
    if chars > max_chars {
        return Err(problem(field, format!("is {chars} characters long; at most {max_chars} are accepted")));
    }
    if value.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t' | '\r')) {
        return Err(problem(field, "must not hold control characters"));
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
