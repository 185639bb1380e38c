//! JSON in which no object names a member twice. Readers differ in which of two such members they use,
//! so a document that has them means different things to a gateway, a creator and a verifier.
//!
//! Names are compared as they are read: `"\u0061"` and `"a"` are the same. Time and memory grow with the
//! size of the document. What is no JSON, and what is deeper than 128 levels, is for the parser to refuse.
//!
//! [`check_numbers`] refuses numbers that a double does not hold: their hash would be that of another number.

use std::collections::HashSet;

/// Longest part of a path that an error names.
const MAX_PATH_CHARS: usize = 200;
const MAX_NAME_CHARS: usize = 64;

/// What is wrong with a number that a double does not hold.
pub const INEXACT: &str = "is a number that would be changed when it is read; send it as text";
/// Deeper documents are refused by the parser.
const MAX_DEPTH: usize = 128;
/// 2^53. A double does not hold all whole numbers beyond it.
const MAX_WHOLE: &str = "9007199254740992";

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// The member is given more than once. The path has a `/` before each name and index but the first.
    #[error("`{path}` is given more than once")]
    Duplicate { path: String },
    /// The number has the canonical form of another number, or none.
    #[error("`{path}` {INEXACT}")]
    Inexact { path: String },
    #[error("{0}")]
    Malformed(String),
}

/// Checks that a document has no such members. Builds nothing.
pub fn check(document: &[u8]) -> Result<(), JsonError> {
    walk(document, Rule::NamesOnce)
}

/// Reads a document as a value, if it is one JSON value without such members.
pub fn parse(bytes: &[u8]) -> Result<serde_json::Value, JsonError> {
    check(bytes)?;
    serde_json::from_slice(bytes).map_err(|error| JsonError::Malformed(error.to_string()))
}

/// Checks that no number of a document shares its canonical form (RFC 8785) with a number of another value, and that no
/// whole number that is written without point and exponent is beyond 2^53.
///
/// The canonical form is the shortest decimal that reads as the same double. So a number is accepted if it has exactly
/// the value of that decimal, such as `0.1`, `1.0`, `-0` and `1e300`, and refused otherwise, such as 2^53 + 1 and `1e400`.
pub fn check_numbers(document: &[u8]) -> Result<(), JsonError> {
    walk(document, Rule::ExactNumbers)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    NamesOnce,
    ExactNumbers,
}

/// Walks through the tokens of a document, up to the first place that breaks the rule.
fn walk(document: &[u8], rule: Rule) -> Result<(), JsonError> {
    let mut steps: Vec<Step> = Vec::new();
    let mut text: &[u8] = &[];
    let mut rest = document;
    while let [first, behind @ ..] = rest {
        let token = match first {
            b'"' => string_length(behind).saturating_add(2),
            b'-' | b'0'..=b'9' => behind.iter().take_while(|byte| is_of_number(**byte)).count().saturating_add(1),
            _ => 1,
        };
        let (token, behind) = rest.split_at_checked(token).unwrap_or((rest, &[]));
        rest = behind;
        match (first, steps.last_mut()) {
            (b'{', _) => steps.push(Step::Member { name: String::new(), names: HashSet::new() }),
            (b'[', _) => steps.push(Step::Element(0)),
            (b'}' | b']', _) => drop(steps.pop()),
            (b'"', _) => text = token,
            (b':', Some(Step::Member { name, names })) => {
                *name = unescaped(text);
                if rule == Rule::NamesOnce && !names.insert(name.clone()) {
                    return Err(JsonError::Duplicate { path: path(&steps) });
                }
            }
            (b',', Some(Step::Element(index))) => *index = index.saturating_add(1),
            (b'-' | b'0'..=b'9', _)
                if rule == Rule::ExactNumbers && !std::str::from_utf8(token).is_ok_and(is_exact) =>
            {
                return Err(JsonError::Inexact { path: path(&steps) });
            }
            _ => {}
        }
        if steps.len() > MAX_DEPTH {
            break;
        }
    }
    Ok(())
}

const fn is_of_number(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E')
}

/// Bytes before the closing quotation mark.
fn string_length(text: &[u8]) -> usize {
    let mut is_escaped = false;
    let end = text.iter().position(|byte| match byte {
        _ if std::mem::take(&mut is_escaped) => false,
        b'\\' => {
            is_escaped = true;
            false
        }
        byte => *byte == b'"',
    });
    end.unwrap_or(text.len())
}

/// The name that a quoted text spells.
fn unescaped(quoted: &[u8]) -> String {
    serde_json::from_slice(quoted).unwrap_or_else(|_| String::from_utf8_lossy(quoted).into_owned())
}

fn is_exact(literal: &str) -> bool {
    let Ok(double) = literal.parse::<f64>() else { return true };
    let digits = literal.trim_start_matches('-');
    let is_whole = digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_safe = !is_whole || (digits.len(), digits) <= (MAX_WHOLE.len(), MAX_WHOLE);
    // Not what Rust prints: of two decimals that are equally short and near, RFC 8785 takes the even one.
    let canonical = serde_json_canonicalizer::to_string(&double);
    is_safe && double.is_finite() && canonical.is_ok_and(|canonical| decimal(literal) == decimal(&canonical))
}

/// A number without its sign: its digits, which neither begin nor end with zero, and the power of ten behind them.
fn decimal(literal: &str) -> (String, i64) {
    let (number, exponent) = literal.split_once(['e', 'E']).unwrap_or((literal, "0"));
    let beyond = if exponent.starts_with('-') { i64::MIN } else { i64::MAX };
    let exponent = exponent.parse::<i64>().unwrap_or(beyond);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let all = [whole.trim_start_matches('-'), fraction].concat();
    let digits = all.trim_end_matches('0');
    let length = |text: &str| i64::try_from(text.len()).unwrap_or(i64::MAX);
    let zeros = length(&all).saturating_sub(length(digits)).saturating_sub(length(fraction));
    let digits = digits.trim_start_matches('0').to_owned();
    let exponent = if digits.is_empty() { 0 } else { exponent.saturating_add(zeros) };
    (digits, exponent)
}

/// A place in an object or in an array.
enum Step {
    Member {
        name: String,
        /// Of this object, up to here.
        names: HashSet<String>,
    },
    Element(usize),
}

fn path(steps: &[Step]) -> String {
    let names = steps.iter().map(|step| match step {
        Step::Member { name, .. } => shortened(name, MAX_NAME_CHARS),
        Step::Element(index) => index.to_string(),
    });
    shortened(&names.collect::<Vec<_>>().join("/"), MAX_PATH_CHARS)
}

/// The end of a path is the most useful part.
fn shortened(text: &str, limit: usize) -> String {
    let count = text.chars().count();
    if count <= limit {
        return text.to_owned();
    }
    std::iter::once('…').chain(text.chars().skip(count.saturating_sub(limit))).collect()
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
            assert!(matches!(parse(json.as_bytes()), Err(JsonError::Malformed(_))), "{:.20}", json);
        }
        assert!(matches!(parse(b"{\"\xff\":1}"), Err(JsonError::Malformed(_))));
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

    #[derive(serde::Deserialize)]
    struct Numbers {
        exact: Vec<String>,
        changed: Vec<String>,
    }

    /// The dashboard reads the same file.
    fn numbers() -> Numbers {
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/numbers.json");
        serde_json::from_slice(&std::fs::read(file).expect("vectors")).expect("JSON")
    }

    fn canonical(literal: &str) -> String {
        let value: serde_json::Value = serde_json::from_str(literal).expect("a number");
        String::from_utf8(serde_json_canonicalizer::to_vec(&value).expect("canonical")).expect("text")
    }

    #[test]
    fn a_number_is_accepted_if_it_has_the_value_of_its_canonical_form() {
        let Numbers { exact, changed } = numbers();
        for literal in exact {
            assert_eq!(check_numbers(literal.as_bytes()), Ok(()), "{literal}");
            let canonical = canonical(&literal);
            assert_eq!(decimal(&canonical), decimal(&literal), "{literal} is hashed as {canonical}");
        }
        for literal in changed {
            let refused = check_numbers(literal.as_bytes());
            assert_eq!(refused, Err(JsonError::Inexact { path: String::new() }), "{literal}");
        }
    }

    proptest::proptest! {
        #[test]
        fn two_accepted_numbers_with_one_canonical_form_have_one_value(
            digits in proptest::string::string_regex("-?(0|[1-9][0-9]{0,19})(\\.[0-9]{1,20})?(e-?[0-9]{1,2})?").expect("a pattern"),
            step in 1_u32..9,
        ) {
            let accepted = |literal: &str| check_numbers(literal.as_bytes()).is_ok();
            if accepted(&digits) {
                proptest::prop_assert_eq!(decimal(&canonical(&digits)), decimal(&digits));
                // A digit more makes another number: it has another form, or is refused.
                let (number, exponent) = digits.split_once('e').unwrap_or((&digits, "0"));
                let point = if number.contains('.') { "" } else { "." };
                let other = format!("{number}{point}00000{step}e{exponent}");
                proptest::prop_assert!(!accepted(&other) || canonical(&other) != canonical(&digits));
            }
        }

        #[test]
        fn every_double_is_accepted_in_its_canonical_form(double in proptest::num::f64::NORMAL) {
            let printed = canonical(&format!("{double:e}"));
            // With an exponent, a whole number beyond 2^53 may be accepted too.
            let exponent = if printed.contains('e') { "" } else { "e0" };
            proptest::prop_assert_eq!(check_numbers(format!("{printed}{exponent}").as_bytes()), Ok(()));
        }

        #[test]
        fn any_bytes_are_looked_at_without_a_fault(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let _ = check_numbers(&bytes);
        }
    }

    #[test]
    fn a_number_that_would_be_changed_is_named_with_its_path() {
        for (json, at) in [
            (r#"{"parameters":{"a":[1,{"b\u0022":9007199254740993}]}}"#, "parameters/a/1/b\""),
            (r#"{"a":"9007199254740993 \\","b":{"c":1},"d":1e400}"#, "d"),
            (r#"[[1,2],[3],-9007199254740993]"#, "2"),
            (r#"{"a":{"9007199254740993":[]},"é":[0,[0.1000000000000000055511151231257827]]}"#, "é/1/0"),
        ] {
            assert_eq!(check_numbers(json.as_bytes()), Err(JsonError::Inexact { path: at.to_owned() }), "{json}");
        }
        for fine in [r#"{"a":"9007199254740993","9007199254740993":"\"1e400"}"#, "", "[", "\"", "}", "1-", "nul"] {
            assert_eq!(check_numbers(fine.as_bytes()), Ok(()), "{fine}");
        }
    }

    #[test]
    fn a_value_is_read_as_it_would_be_read_otherwise() {
        let json = r#"{"a":[1,2.5,"x",null,{"b":true}]}"#;
        assert_eq!(parse(json.as_bytes()).ok(), serde_json::from_str(json).ok());
        assert!(parse(br#"{"a":1,"a":1}"#).is_err());
    }
}
