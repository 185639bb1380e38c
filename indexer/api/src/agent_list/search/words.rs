//! Words of a text, in the form in which they are compared: without case, accents and marks.

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

/// Longer words are compared by their first characters.
const MAX_WORD_CHARS: usize = 40;

/// The words of a text, in their order. A word is a run of letters and digits; in scripts without spaces, a character.
pub fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    let mut chars = folded(text).peekable();
    std::iter::from_fn(move || {
        while chars.next_if(|c| !c.is_alphanumeric()).is_some() {}
        let first = chars.next()?;
        let mut word = String::from(first);
        if stands_alone(first) {
            return Some(word);
        }
        let mut length = 1_usize;
        while let Some(c) = chars.next_if(|c| c.is_alphanumeric() && !stands_alone(*c)) {
            if length < MAX_WORD_CHARS {
                word.push(c);
            }
            length = length.saturating_add(1);
        }
        Some(word)
    })
}

fn folded(text: &str) -> impl Iterator<Item = char> + '_ {
    let plain = text.nfkd().filter(|c| !is_combining_mark(*c));
    plain.flat_map(char::to_lowercase).flat_map(|c| {
        let (first, second) = match c {
            'ß' => ('s', Some('s')),
            'ς' => ('σ', None),
            'æ' => ('a', Some('e')),
            'œ' => ('o', Some('e')),
            'ø' => ('o', None),
            'ł' => ('l', None),
            'đ' => ('d', None),
            'ı' => ('i', None),
            other => (other, None),
        };
        std::iter::once(first).chain(second)
    })
}

/// Characters of Chinese and Japanese, which writes no spaces.
const fn stands_alone(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_compared_without_case_accents_and_punctuation() {
        let of = |text| words(text).collect::<Vec<_>>();
        assert_eq!(of("Übersetzer: ENGLISH → Français (v2.1)"), ["ubersetzer", "english", "francais", "v2", "1"]);
        assert_eq!(of("Straße STRASSE ΣΟΦΟΣ σοφος"), ["strasse", "strasse", "σοφοσ", "σοφοσ"]);
        assert_eq!(of("İstanbul ﬁnance ①"), ["istanbul", "finance", "1"]);
        assert_eq!(of("翻訳 agent"), ["翻", "訳", "agent"]);
        assert_eq!(of(" \t—!?"), [""; 0]);
    }

    #[test]
    fn a_long_word_is_cut() {
        let long = "a".repeat(MAX_WORD_CHARS + 30);
        assert_eq!(words(&long).collect::<Vec<_>>(), ["a".repeat(MAX_WORD_CHARS)]);
    }
}
