//! JSON in which no object names a member twice. Readers differ in which of two such members they use,
//! so a document that has them means different things to a gateway, a creator and a verifier.
//!
//! Names are compared as they are read: `"\u0061"` and `"a"` are the same. Time and memory grow with the
//! size of the document; depth is bounded by the parser (128 levels).

use std::{borrow::Cow, collections::HashSet, fmt};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Longest part of a path that an error names.
const MAX_PATH_CHARS: usize = 200;
const MAX_NAME_CHARS: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// The member is given more than once. The path has a `/` before each name and index but the first.
    #[error("`{path}` is given more than once")]
    Duplicate { path: String },
    #[error("{0}")]
    Malformed(String),
}

/// Checks that the bytes are one JSON value without such members. Builds nothing.
pub fn check(bytes: &[u8]) -> Result<(), JsonError> {
    let mut walk = Walk::default();
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let walked = Value(&mut walk).deserialize(&mut deserializer).and_then(|()| deserializer.end());
    match (walked, walk.duplicate) {
        (_, true) => Err(JsonError::Duplicate { path: walk.path() }),
        (Err(error), false) => Err(JsonError::Malformed(error.to_string())),
        (Ok(()), false) => Ok(()),
    }
}

/// Reads a document as a value, if it is one JSON value without such members.
pub fn parse(bytes: &[u8]) -> Result<serde_json::Value, JsonError> {
    check(bytes)?;
    serde_json::from_slice(bytes).map_err(|error| JsonError::Malformed(error.to_string()))
}

enum Step {
    Member(String),
    Element(usize),
}

/// Where in the document the reader is; where it stopped, once it has.
#[derive(Default)]
struct Walk {
    steps: Vec<Step>,
    duplicate: bool,
}

impl Walk {
    fn path(&self) -> String {
        let steps: Vec<String> = self
            .steps
            .iter()
            .map(|step| match step {
                Step::Member(name) => shortened(name, MAX_NAME_CHARS),
                Step::Element(index) => index.to_string(),
            })
            .collect();
        shortened(&steps.join("/"), MAX_PATH_CHARS)
    }
}

/// The end of a path is the most useful part.
fn shortened(text: &str, limit: usize) -> String {
    let count = text.chars().count();
    if count <= limit {
        return text.to_owned();
    }
    std::iter::once('…').chain(text.chars().skip(count.saturating_sub(limit))).collect()
}

struct Value<'a>(&'a mut Walk);

impl<'de> DeserializeSeed<'de> for Value<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let walk = self.0;
        for index in 0.. {
            walk.steps.push(Step::Element(index));
            if elements.next_element_seed(Value(walk))?.is_none() {
                walk.steps.pop();
                break;
            }
            walk.steps.pop();
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let walk = self.0;
        let mut names: HashSet<Cow<'de, str>> = HashSet::new();
        while let Some(name) = members.next_key_seed(Name)? {
            let text = name.clone().into_owned();
            walk.steps.push(Step::Member(text));
            if !names.insert(name) {
                walk.duplicate = true;
                return Err(A::Error::custom("a member is given more than once"));
            }
            members.next_value_seed(Value(walk))?;
            walk.steps.pop();
        }
        Ok(())
    }
}

/// A member's name, borrowed where the document spells it without escapes.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Cow<'de, str>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member's name")
    }

    fn visit_borrowed_str<E: Error>(self, name: &'de str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Borrowed(name))
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Owned(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn duplicate(json: &str) -> String {
        match check(json.as_bytes()) {
            Err(JsonError::Duplicate { path }) => path,
            other => panic!("{json} has a duplicate member, not {other:?}"),
        }
    }

    #[test]
    fn a_member_that_is_given_twice_is_named_with_its_path_at_any_depth_and_spelling() {
        assert_eq!(duplicate(r#"{"task":"t","task":"u"}"#), "task");
        assert_eq!(duplicate(r#"{"task":"t","\u0074ask":"t"}"#), "task");
        assert_eq!(duplicate(r#"{"parameters":{"x":[1,{"a":1,"b":{},"a":1}]}}"#), "parameters/x/1/a");
        assert_eq!(duplicate(r#"[[],[{"é":1,"\u00e9":2}]]"#), "1/0/é");
        assert_eq!(duplicate(r#"{"😀":1,"\ud83d\ude00":2}"#), "😀");
        assert_eq!(duplicate(r#"{"":1,"":2}"#), "");
    }

    #[test]
    fn the_same_name_in_different_objects_is_no_duplicate() {
        for json in [
            r#"{"a":{"a":{"a":[{"a":1},{"a":1}]}},"A":1,"a ":1}"#,
            "[]",
            "null",
            r#" {"a":-1.5e3,"b":18446744073709551615,"c":-9223372036854775808,"d":"x\ny","e":[true,false,null]} "#,
            r#"{"e\u0301":1,"é":2}"#,
        ] {
            assert_eq!(check(json.as_bytes()), Ok(()), "{json}");
        }
    }

    #[test]
    fn what_is_not_one_json_value_is_malformed() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let nested = r#"{"a":"#.repeat(100_000);
        for json in ["", "{", r#"{"a":1,}"#, r#"{"a":1} {}"#, "{1:2}", "nul", r#"{"\ud800":1}"#, &deep, &nested] {
            assert!(matches!(check(json.as_bytes()), Err(JsonError::Malformed(_))), "{:.20}", json);
        }
        assert!(matches!(check(b"{\"\xff\":1}"), Err(JsonError::Malformed(_))));
    }

    #[test]
    fn a_duplicate_before_the_place_where_the_document_breaks_is_named() {
        assert_eq!(duplicate(r#"{"a":1,"a":2, this is not json"#), "a");
    }

    #[test]
    fn an_error_quotes_no_more_than_a_line_of_the_document() {
        let long = "x".repeat(100_000);
        assert!(duplicate(&format!(r#"{{"{long}":1,"{long}":2}}"#)).chars().count() <= MAX_NAME_CHARS + 1);
        let deep = format!(r#"{}{{"a":1,"a":2}}{}"#, r#"{"member":"#.repeat(100), "}".repeat(100));
        let path = duplicate(&deep);
        assert!(path.chars().count() <= MAX_PATH_CHARS + 1 && path.ends_with("/a"), "{path}");
    }

    #[test]
    fn a_value_is_read_as_it_would_be_read_otherwise() {
        let json = r#"{"a":[1,2.5,"x",null,{"b":true}]}"#;
        assert_eq!(parse(json.as_bytes()).ok(), serde_json::from_str(json).ok());
        assert!(parse(br#"{"a":1,"a":1}"#).is_err());
    }
}
