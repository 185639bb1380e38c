//! Rules for names that people read.

use crtx_protocol::plain_text::is_plain;
use unicode_normalization::char::is_combining_mark;

/// Combining marks in a row. No language needs more on one letter, and a tower of them covers the lines above and below.
const MAX_MARKS: usize = 2;

/// Visible characters and the plain space, with few marks on a letter, the first character none.
pub fn is_plain_name(name: &str) -> bool {
    let mut marks = MAX_MARKS;
    name.chars().all(|c| {
        marks = if is_combining_mark(c) { marks.saturating_add(1) } else { 0 };
        marks <= MAX_MARKS && is_plain(c)
    })
}

/// Scripts whose letters look alike, and all others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    Latin,
    Greek,
    Cyrillic,
    Armenian,
    Cherokee,
    /// Another letter in another style: full-width, circled, mathematical.
    Styled,
    Other,
}

impl Script {
    /// `None`: not a letter. The index compares shapes by all of Unicode's tables (`confusable` names); here the few
    /// scripts count that names are forged with, because the tables are larger than the rest of the program.
    fn of(c: char) -> Option<Self> {
        let script = match c as u32 {
            0x0041..=0x024f | 0x1e00..=0x1eff | 0x2c60..=0x2c7f | 0xa720..=0xa7ff | 0xfb00..=0xfb06 => Self::Latin,
            0x0370..=0x03ff | 0x1f00..=0x1fff => Self::Greek,
            0x0400..=0x052f | 0x1c80..=0x1c8f | 0x2de0..=0x2dff | 0xa640..=0xa69f => Self::Cyrillic,
            0x0530..=0x058f => Self::Armenian,
            0x13a0..=0x13ff | 0xab70..=0xabbf => Self::Cherokee,
            0x2100..=0x214f | 0x24b6..=0x24e9 | 0xff21..=0xff5a | 0x1_d400..=0x1_d7ff | 0x1_f130..=0x1_f189 => {
                Self::Styled
            }
            _ => Self::Other,
        };
        c.is_alphabetic().then_some(script)
    }
}

/// Whether all letters are of one script, as far as scripts look alike, and in their plain style.
pub fn has_one_script(name: &str) -> bool {
    let mut scripts = name.chars().filter_map(Script::of);
    let first = scripts.next();
    first != Some(Script::Styled) && scripts.all(|script| Some(script) == first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_few_marks_on_a_letter_and_none_in_front() {
        for name in ["Jose\u{301}", "Vie\u{323}\u{302}t", "हिन्दी", "ก็ได้", "עִבְרִית"] {
            assert!(is_plain_name(name), "{name}");
        }
        for name in ["e\u{301}\u{302}\u{303}", "ก็็็", "\u{301}e", "a\u{200b}"] {
            assert!(!is_plain_name(name), "{name}");
        }
    }

    #[test]
    fn letters_of_two_scripts_are_not_one_script() {
        for name in ["Ada Lovelace 7", "Café Ä", "Жанна", "東京タワー です", "서울 大學", "αβγ", "★ 12", ""]
        {
            assert!(has_one_script(name), "{name}");
        }
        for name in [
            "\u{430}pple",
            "Ρaypal",
            "Ada Жанна",
            "аррlе",
            "Tαu",
            "Аthens Α",
            "\u{13aa}pple",
            "\u{ff21}da",
            "\u{ff21}\u{ff44}\u{ff41}",
            "\u{1d400}\u{1d41d}",
        ] {
            assert!(!has_one_script(name), "{name}");
        }
    }
}
