//! Text that others wrote, prepared for a message or a database.

/// The first characters of a text, with `…` in place of the rest.
pub fn shortened(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

/// The text with a replacement character for each U+0000, which PostgreSQL does not store.
pub fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// The text on one line, with a replacement character for each control character.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters_and_only_if_it_is_too_long() {
        assert_eq!(shortened("äöü", 3), "äöü");
        assert_eq!(shortened("äöü", 2), "äö…");
        assert_eq!(shortened("", 0), "");
    }

    #[test]
    fn a_text_without_nul_stays_as_it_is() {
        assert_eq!(without_nul("a\u{0}b"), "a\u{fffd}b");
        assert_eq!(without_nul("ab"), "ab");
    }

    #[test]
    fn a_printable_text_has_no_control_characters() {
        assert_eq!(printable("a\u{1b}[0m\nb"), "a\u{fffd}[0m\u{fffd}b");
    }
}
