//! What commands print: tables for people, one JSON value for scripts, and the forms of amounts and times.

use std::io::IsTerminal;

use serde::Serialize;

const LAMPORTS_DIGITS: usize = 9;
const LAMPORTS_PER_SOL: u64 = 1_000_000_000;

/// Prints one JSON value to standard output.
pub fn json(value: &impl Serialize) -> anyhow::Result<()> {
    println!("{}", serde_json::to_string(value)?);
    Ok(())
}

/// Lines of a name and a value, the values below each other.
pub fn pairs(rows: &[(&str, String)]) -> String {
    let rows: Vec<Vec<String>> = rows.iter().map(|(name, value)| vec![(*name).to_owned(), value.clone()]).collect();
    aligned(&rows)
}

/// A table with a line of headings.
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

/// The text without characters that control a terminal or turn the text around.
pub fn printable(text: &str) -> String {
    text.chars().map(shown).collect()
}

/// The same for a text of several lines.
pub fn printable_lines(text: &str) -> String {
    text.chars().map(|c| if matches!(c, '\n' | '\t') { c } else { shown(c) }).collect()
}

fn shown(c: char) -> char {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if turns || c.is_control() { '\u{fffd}' } else { c }
}

/// A stranger's text on standard output: as it is for a program that reads it, without control on a terminal.
pub fn stranger(text: &str) -> String {
    if std::io::stdout().is_terminal() { printable_lines(text) } else { text.to_owned() }
}

/// SOL without trailing zeros: `0.000005`.
pub fn sol(lamports: u64) -> String {
    let (whole, fraction) = (lamports / LAMPORTS_PER_SOL, lamports % LAMPORTS_PER_SOL);
    let digits = format!("{fraction:0LAMPORTS_DIGITS$}");
    match digits.trim_end_matches('0') {
        "" => whole.to_string(),
        digits => format!("{whole}.{digits}"),
    }
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
        assert_eq!(printable("a\u{202e}b\nc"), "a\u{fffd}b\u{fffd}c");
        assert_eq!(printable_lines("a\tb\r\n\u{1b}]0;c\u{9b}d"), "a\tb\u{fffd}\n\u{fffd}]0;c\u{fffd}d");
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
