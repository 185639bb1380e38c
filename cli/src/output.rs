//! What commands print: lines and tables for people, one JSON value for scripts, and the forms of amounts and times.
//!
//! Nothing else in this crate writes to standard output or standard error (`clippy::print_stdout` and `print_stderr`
//! refuse it), so the text of a service, a node or a record cannot control the terminal or make a line of its own.

use std::{fmt, io};

use crtx_protocol::plain_text::is_plain;
use serde::Serialize;
use serde_json::{Value, ser::Formatter};

pub const LAMPORTS_PER_SOL: u64 = 1_000_000_000;
/// In front of each line of a text that has several.
const QUOTE: &str = "  | ";

/// A command has printed what is wrong, and ends with the status of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("something is wrong, as printed")]
pub struct AlreadySaid;

/// Prints one line to standard output, in the form of `format!`.
macro_rules! say {
    ($($text:tt)*) => { $crate::output::line(format_args!($($text)*)) };
}

/// Prints one line to standard error, in the form of `format!`.
macro_rules! note {
    ($($text:tt)*) => { $crate::output::error_line(format_args!($($text)*)) };
}

pub(crate) use {note, say};

pub fn line(text: fmt::Arguments<'_>) {
    put(&printable(&text.to_string()));
}

/// Ends the process if standard output is closed, as behind `head`: nobody reads the rest.
fn put(text: &str) {
    if bytes(format!("{text}\n").as_bytes()).is_err() {
        std::process::exit(1);
    }
}

#[allow(clippy::print_stderr, reason = "the one place that does")]
pub fn error_line(text: fmt::Arguments<'_>) {
    eprintln!("{}", printable(&text.to_string()));
}

/// Prints several lines to standard output, such as a table. The caller has put each text of others on one line.
pub fn page(text: &str) {
    put(&printable_lines(text));
}

/// The same on standard error.
#[allow(clippy::print_stderr, reason = "the one place that does")]
pub fn notes(text: &str) {
    eprintln!("{}", printable_lines(text));
}

/// Standard output as it is.
pub fn bytes(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    io::Write::write_all(&mut out, bytes)?;
    io::Write::flush(&mut out)
}

/// A question on standard error; the answer follows on the same line.
#[allow(clippy::print_stderr, reason = "the one place that does")]
pub fn question(text: &str) -> io::Result<()> {
    eprint!("{text}");
    io::Write::flush(&mut io::stderr())
}

pub fn json(value: &impl Serialize) -> anyhow::Result<()> {
    line(format_args!("{}", json_text(value)?));
    Ok(())
}

/// One JSON value on one line. What is not plainly visible in a string is escaped, so that the value stays the same.
pub fn json_text(value: &impl Serialize) -> serde_json::Result<String> {
    let mut bytes = Vec::new();
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, Plain))?;
    String::from_utf8(bytes).map_err(serde::ser::Error::custom)
}

/// JSON whose strings show nothing but plain characters, and whose numbers have no exponents.
struct Plain;

impl Formatter for Plain {
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        for c in fragment.chars() {
            let mut units = [0; 2];
            match is_plain(c) {
                true => write!(writer, "{c}")?,
                false => c.encode_utf16(&mut units).iter().try_for_each(|unit| write!(writer, "\\u{unit:04x}"))?,
            }
        }
        Ok(())
    }

    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        write!(writer, "{value}")
    }
}

/// A value of JSON as text: a string as it is.
pub fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| json_text(value).unwrap_or_default(), str::to_owned)
}

/// A member of an object as text; `none` if it is missing.
pub fn cell(object: &Value, name: &str, none: &str) -> String {
    object.get(name).filter(|value| !value.is_null()).map_or_else(|| none.to_owned(), text_of)
}

/// Lines of a name and a value, the values below each other.
pub fn pairs(rows: &[(&str, String)]) -> String {
    let rows: Vec<Vec<String>> = rows.iter().map(|(name, value)| vec![(*name).to_owned(), value.clone()]).collect();
    aligned(&rows)
}

pub fn table(headings: &[&str], rows: Vec<Vec<String>>) -> String {
    let heading = headings.iter().map(|heading| heading.to_uppercase()).collect();
    let rows: Vec<Vec<String>> = std::iter::once(heading).chain(rows).collect();
    aligned(&rows)
}

fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| Some(row.get(column)?.chars().count())).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| {
                // Text of strangers, such as names, must not control the terminal.
                let cell = printable(cell);
                format!("{cell:<width$}")
            })
            .collect();
        cells.join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The text on one line, without characters that control a terminal, turn the text around, or are not seen.
pub fn printable(text: &str) -> String {
    text.chars().map(shown).collect()
}

/// The same for a text of several lines.
pub fn printable_lines(text: &str) -> String {
    text.split('\n').map(printable).collect::<Vec<_>>().join("\n")
}

fn shown(c: char) -> char {
    match c {
        _ if is_plain(c) => c,
        // Spaces of other widths.
        _ if c.is_whitespace() && !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}') => ' ',
        _ => '\u{fffd}',
    }
}

/// A stranger's text of any length, such as a result. If it has several lines, each is marked, so that none looks like
/// a line of this program.
pub fn quoted(text: &str) -> String {
    match text.trim_end_matches(['\n', '\r']) {
        one if !one.contains('\n') => printable(one),
        several => several
            .lines()
            .map(|line| format!("{QUOTE}{}", printable(&line.replace('\t', "    "))))
            .collect::<Vec<_>>()
            .join("\n"),
    }
}

/// A word that a shell reads as it is: quoted if it has other characters than names and paths usually have.
pub fn shell_word(text: &str) -> String {
    let safe =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':' | ',' | '+' | '@' | '%' | '=');
    if !text.is_empty() && text.chars().all(safe) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// SOL without trailing zeros: `0.000005`.
pub fn sol(lamports: u64) -> String {
    let text = format!("{}.{:09}", lamports / LAMPORTS_PER_SOL, lamports % LAMPORTS_PER_SOL);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Seconds since 1970 as `2026-11-22 16:10:42 UTC`.
pub fn time(unix_s: i64) -> String {
    chrono::DateTime::from_timestamp(unix_s, 0)
        .map_or_else(|| format!("{unix_s} s after 1970"), |time| time.format("%Y-%m-%d %H:%M:%S UTC").to_string())
}

/// The same in the form of the API; null for 0, which stands for "never".
pub fn json_time(unix_s: i64) -> Option<String> {
    let time = chrono::DateTime::from_timestamp(unix_s, 0).filter(|_| unix_s != 0)?;
    Some(time.format("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// A number of seconds in the largest units that say it well: `3 days 2 hours`.
pub fn duration(seconds: i64) -> String {
    let units = [("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1)];
    let mut rest = seconds.max(0);
    let mut parts = Vec::new();
    for (name, length) in units {
        let count = rest.checked_div(length).unwrap_or(0);
        rest = rest.checked_rem(length).unwrap_or(0);
        if count > 0 {
            parts.push(format!("{count} {name}{}", if count == 1 { "" } else { "s" }));
        }
    }
    parts.truncate(2);
    if parts.is_empty() { "0 seconds".to_owned() } else { parts.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_columns_below_each_other() {
        let rows = vec![vec!["a".to_owned(), "1".to_owned()], vec!["longer".to_owned(), "2".to_owned()]];
        assert_eq!(table(&["name", "n"], rows), "NAME    N\na       1\nlonger  2");
        assert_eq!(pairs(&[("x", "1".to_owned()), ("long", "2".to_owned())]), "x     1\nlong  2");
    }

    #[test]
    fn a_name_cannot_control_the_terminal() {
        let row = vec!["\u{1b}[31mred\r\n".to_owned()];
        assert!(!table(&["name"], vec![row]).contains('\u{1b}'));
        assert_eq!(printable("a\u{202e}b\nc\u{200b}\u{2028}d\u{a0}e"), "a\u{fffd}b\u{fffd}c\u{fffd}\u{fffd}d e");
        assert_eq!(printable_lines("a\tb\r\n\u{1b}]0;c\u{9b}d"), "a\u{fffd}b\u{fffd}\n\u{fffd}]0;c\u{fffd}d");
    }

    #[test]
    fn a_result_of_several_lines_cannot_look_like_a_line_of_this_program() {
        assert_eq!(quoted("{\"words\": 3}\n"), "{\"words\": 3}");
        assert_eq!(quoted("a\r\nok    signature\u{1b}\tb"), "  | a\n  | ok    signature\u{fffd}    b");
    }

    #[test]
    fn json_keeps_every_string_and_shows_no_control() {
        let value =
            serde_json::json!({"\u{1b}k": "a\u{1b}]0;x\u{7}\u{9b}\r\n\t\u{202e}\u{200b}\u{2028}\u{e0041}\u{7f}ä\\\""});
        let text = json_text(&value).expect("json");
        assert!(text.chars().all(is_plain), "{text:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).expect("valid"), value);
        assert!(text.contains('ä') && text.contains("\\u009b") && text.contains("\\udb40"), "{text}");
    }

    #[test]
    fn a_word_for_a_shell_is_one_word() {
        assert_eq!(shell_word("/home/a/.crtx"), "/home/a/.crtx");
        assert_eq!(shell_word("it's $(rm)"), r"'it'\''s $(rm)'");
        assert_eq!(shell_word(""), "''");
    }

    #[test]
    fn amounts_and_times_read_as_people_write_them() {
        assert_eq!(sol(5_000), "0.000005");
        assert_eq!(sol(2_000_000_000), "2");
        assert_eq!(time(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(json_time(1_790_000_000).as_deref(), Some("2026-09-21T14:13:20Z"));
        assert_eq!(json_time(0), None);
        assert_eq!(duration(3 * 86_400 + 2 * 3_600 + 5), "3 days 2 hours");
        assert_eq!(duration(61), "1 minute 1 second");
        assert_eq!(duration(-5), "0 seconds");
    }
}
