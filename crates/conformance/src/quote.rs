//! Texts and bytes of strangers, short and printable.

use crate::limits::{MAX_HEX_BYTES, MAX_QUOTE_CHARS};

/// The text with control and invisible characters escaped, cut to [`MAX_QUOTE_CHARS`].
pub fn text(text: &str) -> String {
    let mut quoted: String = text.chars().take(MAX_QUOTE_CHARS).map(shown).collect();
    if text.chars().nth(MAX_QUOTE_CHARS).is_some() {
        quoted.push('…');
    }
    quoted
}

/// Bytes that should be text.
pub fn bytes(bytes: &[u8]) -> String {
    // A character has at most four bytes.
    let start = bytes.get(..MAX_QUOTE_CHARS.saturating_mul(4)).unwrap_or(bytes);
    text(&String::from_utf8_lossy(start))
}

/// The number of bytes, and the first of them in hexadecimal form.
pub fn hexadecimal(bytes: &[u8]) -> String {
    let shown = bytes.get(..MAX_HEX_BYTES).unwrap_or(bytes);
    let more = if shown.len() < bytes.len() { "…" } else { "" };
    match bytes.len() {
        0 => "0 bytes".to_owned(),
        length => format!("{length} bytes {}{more}", hex::encode(shown)),
    }
}

fn shown(c: char) -> String {
    let plain = c == ' ' || c.is_alphanumeric() || c.is_ascii_graphic() || (!c.is_ascii() && !c.is_control());
    let hidden = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    if plain && !hidden { c.to_string() } else { c.escape_default().to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_or_a_reader_would_not_show_is_escaped_and_the_rest_is_cut() {
        assert_eq!(text("a\r\n\u{1b}[31m\u{feff}é 東"), "a\\r\\n\\u{1b}[31m\\u{feff}é 東");
        let long = text(&"x".repeat(100_000));
        assert_eq!(long.chars().count(), MAX_QUOTE_CHARS + 1);
        assert_eq!(bytes(b"a\xff\0"), "a\u{fffd}\\u{0}");
        assert_eq!(hexadecimal(b"abc"), "3 bytes 616263");
        assert_eq!(hexadecimal(b""), "0 bytes");
        assert!(hexadecimal(&[0; 1_000]).starts_with("1000 bytes 0000"));
    }
}
