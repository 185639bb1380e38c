//! Finds out what an agent hashed if its `result_hash` is wrong.

use std::io;

use crtx_protocol::{creator_answer::fits_in_memory, result_hash::ResultHash};
use serde::Serialize;
use serde_json::{
    Serializer, Value,
    ser::{CompactFormatter, Formatter, PrettyFormatter},
};

use crate::limits::MAX_RESULT_MEMORY;

/// A mistake that explains the hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// What the agent hashed.
    pub of: &'static str,
    pub fix: &'static str,
}

const DECODED: &str = "Hash the string itself, before it is put into the JSON answer.";
const UNCHANGED: &str = "Hash exactly the text that you return: do not trim it and do not add a line end.";
const LINE_ENDS: &str = "Hash and return the same line ends: change them before hashing, or not at all.";
const UTF8: &str = "Encode the result as UTF-8 before you hash it.";
const SAME_TEXT: &str = "Serialise the result once, hash this text, and return this same text.";

/// The mistake that leads to `claimed`, if it is a known one. `raw` is the result as it stands in the JSON answer.
pub fn explain(claimed: &ResultHash, result: &str, raw: &str, task: &str) -> Option<Mistake> {
    let is = |bytes: &Vec<u8>| ResultHash::of(bytes) == *claimed;
    let text = |text: &str| text.as_bytes().to_vec();
    let inner = raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
    let json = as_json(result, CompactFormatter);
    let unix = result.replace("\r\n", "\n");
    let utf16 = |mark: &str, order: fn(u16) -> [u8; 2]| -> Vec<u8> {
        mark.encode_utf16().chain(result.encode_utf16()).flat_map(order).collect()
    };
    let ascii = |other: &str| -> String {
        result.chars().map(|c| if c.is_ascii() { c.to_string() } else { other.to_owned() }).collect()
    };
    let latin = result.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect();
    let once = ResultHash::of(result.as_bytes());
    let known = [
        (
            "the JSON-encoded string with its quotation marks",
            DECODED,
            vec![text(raw), text(&without_unicode(&json)), text(&json)],
        ),
        ("the string with JSON's escape sequences", DECODED, vec![text(inner)]),
        (
            "the result without the white space at its ends",
            UNCHANGED,
            vec![text(result.trim()), text(result.trim_end())],
        ),
        (
            "the result with a line end after it",
            UNCHANGED,
            vec![text(&format!("{result}\n")), text(&format!("{result}\r\n"))],
        ),
        ("the result with LF line ends in place of CR LF", LINE_ENDS, vec![text(&unix)]),
        ("the result with CR LF line ends in place of LF", LINE_ENDS, vec![text(&unix.replace('\n', "\r\n"))]),
        ("the result with LF line ends in place of CR", LINE_ENDS, vec![text(&unix.replace('\r', "\n"))]),
        (
            "the result in UTF-16",
            UTF8,
            ["", "\u{feff}"]
                .into_iter()
                .flat_map(|mark| [utf16(mark, u16::to_le_bytes), utf16(mark, u16::to_be_bytes)])
                .collect(),
        ),
        ("the result with a byte order mark", UTF8, vec![text(&format!("\u{feff}{result}"))]),
        ("the result in Latin-1", UTF8, vec![latin]),
        ("the result without its characters outside of ASCII", UTF8, vec![text(&ascii("?")), text(&ascii(""))]),
        (
            "the hash of the result",
            "Hash the result once, and write this hash in hexadecimal form.",
            vec![once.0.to_vec(), text(&hex::encode(once.0)), once.signed_text().to_vec()],
        ),
        ("the task", "Hash the result, not the task.", vec![text(task)]),
        ("nothing at all", "Hash the result after it is complete.", vec![Vec::new()]),
    ];
    let found = known.into_iter().find(|(_, _, hashed)| hashed.iter().any(is));
    found.map(|(of, fix, _)| Mistake { of, fix }).or_else(|| {
        let is_same = serialised_again(result)?.any(|json| is(&json.into_bytes()));
        is_same.then_some(Mistake { of: "the same JSON in another spelling", fix: SAME_TEXT })
    })
}

/// Writes a result that holds JSON in other spellings, one at a time: each may be many times as long as the result.
fn serialised_again(result: &str) -> Option<impl Iterator<Item = String>> {
    if !fits_in_memory(result, MAX_RESULT_MEMORY) {
        return None;
    }
    let value: Value = serde_json::from_str(result).ok()?;
    let spellings: [fn(&Value) -> String; 6] = [
        |value| as_json(value, CompactFormatter),
        |value| as_json(value, Spaced),
        |value| without_unicode(&as_json(value, CompactFormatter)),
        |value| without_unicode(&as_json(value, Spaced)),
        |value| as_json(value, PrettyFormatter::new()),
        |value| as_json(value, PrettyFormatter::with_indent(b"    ")),
    ];
    Some(spellings.into_iter().map(move |spelled| spelled(&value)))
}

fn as_json(value: &(impl Serialize + ?Sized), formatter: impl Formatter) -> String {
    let mut bytes = Vec::new();
    let written = value.serialize(&mut Serializer::with_formatter(&mut bytes, formatter));
    written.ok().and_then(|()| String::from_utf8(bytes).ok()).unwrap_or_default()
}

/// JSON with escape sequences for all characters outside of ASCII, as several libraries write it.
fn without_unicode(json: &str) -> String {
    let mut ascii = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii() {
            ascii.push(c);
        } else {
            let mut units = [0; 2];
            ascii.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    ascii
}

/// A space after each comma and colon, as Python writes JSON.
struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(result: &str, hashed: impl AsRef<[u8]>) -> &'static str {
        let raw = serde_json::to_string(result).expect("json");
        explain(&ResultHash::of(hashed.as_ref()), result, &raw, "the task").map_or("", |mistake| mistake.of)
    }

    #[test]
    fn each_usual_mistake_is_named() {
        let utf16: Vec<u8> = "zürich".encode_utf16().flat_map(u16::to_le_bytes).collect();
        for (result, hashed, named) in [
            ("a \"b\"", b"\"a \\\"b\\\"\"".to_vec(), "quotation marks"),
            ("é", b"\"\\u00e9\"".to_vec(), "quotation marks"),
            ("a\nb", b"a\\nb".to_vec(), "escape sequences"),
            (" a ", b"a".to_vec(), "white space"),
            ("a", b"a\n".to_vec(), "line end after"),
            ("a\r\nb", b"a\nb".to_vec(), "LF line ends in place of CR LF"),
            ("a\nb", b"a\r\nb".to_vec(), "CR LF line ends in place of LF"),
            ("zürich", utf16, "UTF-16"),
            ("zürich", b"z\xfcrich".to_vec(), "Latin-1"),
            ("東京 x", b" x".to_vec(), "outside of ASCII"),
            ("a", b"\xef\xbb\xbfa".to_vec(), "byte order mark"),
            ("a", ResultHash::of(b"a").to_string().into_bytes(), "hash of the result"),
            ("a", ResultHash::of(b"a").0.to_vec(), "hash of the result"),
            (r#"{"a":[1,2]}"#, br#"{"a": [1, 2]}"#.to_vec(), "another spelling"),
            (r#"{"a": [1, 2]}"#, br#"{"a":[1,2]}"#.to_vec(), "another spelling"),
            ("a", b"the task".to_vec(), "the task"),
            ("a", Vec::new(), "nothing"),
            ("a", b"b".to_vec(), ""),
        ] {
            let of = explained(result, hashed);
            assert!(of.contains(named) && of.is_empty() == named.is_empty(), "{result:?}: `{of}`, not `{named}`");
        }
    }
}
