//! What the demo agent `text-stats` does: counts what is in a text.

use std::collections::HashMap;

use serde::Serialize;

/// Words an adult reads in a minute, the usual mean for English non-fiction.
const WORDS_PER_MINUTE: usize = 238;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TextStats {
    pub characters: usize,
    pub words: usize,
    pub sentences: usize,
    /// Rounded up.
    pub reading_time_seconds: usize,
    /// Most frequent first, then in alphabetical order.
    pub top_words: Vec<WordCount>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WordCount {
    pub word: String,
    pub count: usize,
}

/// Counts `text`; `top` is how many of its most frequent words are named.
pub fn count(text: &str, top: usize) -> TextStats {
    let words: Vec<String> = words(text).collect();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for word in &words {
        let count = counts.entry(word).or_default();
        *count = count.saturating_add(1);
    }
    let mut top_words: Vec<WordCount> =
        counts.into_iter().map(|(word, count)| WordCount { word: word.to_owned(), count }).collect();
    top_words.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.word.cmp(&b.word)));
    top_words.truncate(top);
    TextStats {
        characters: text.chars().count(),
        words: words.len(),
        sentences: sentences(text),
        reading_time_seconds: words.len().saturating_mul(60).div_ceil(WORDS_PER_MINUTE),
        top_words,
    }
}

/// Runs of letters and digits, lower-case; an apostrophe or hyphen inside belongs to the word.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '’' | '-'))
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

/// Stretches with at least one letter or digit that end with `.`, `!`, `?`, `…` or the text. A mark
/// inside a number or an address, such as in `3.14`, ends nothing.
fn sentences(text: &str) -> usize {
    let mut sentences = 0usize;
    let mut open = false;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if character.is_alphanumeric() {
            open = true;
        } else if open
            && matches!(character, '.' | '!' | '?' | '…' | '。' | '！' | '？')
            && characters.peek().is_none_or(|next| !next.is_alphanumeric())
        {
            sentences = sentences.saturating_add(1);
            open = false;
        }
    }
    sentences.saturating_add(usize::from(open))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_sentences_and_time_are_counted() {
        let stats = count("One two three. Two three three!", 2);
        assert_eq!((stats.words, stats.sentences, stats.characters), (6, 2, 31));
        assert_eq!(stats.reading_time_seconds, 2);
        let top = [("three", 3), ("two", 2)].map(|(word, count)| WordCount { word: word.to_owned(), count });
        assert_eq!(stats.top_words, top);
    }

    #[test]
    fn numbers_apostrophes_and_ellipses_do_not_split() {
        let stats = count("It's 3.14 well-known… isn't it?! Yes", 10);
        assert_eq!((stats.words, stats.sentences), (7, 3));
        assert_eq!(count("e.g. this", 1).sentences, 2, "an abbreviation looks like an end");
    }

    #[test]
    fn an_empty_text_has_nothing_in_it() {
        for text in ["", "   ", "...", "-- ' --"] {
            let stats = count(text, 5);
            assert_eq!((stats.words, stats.sentences, stats.reading_time_seconds), (0, 0, 0), "{text:?}");
            assert!(stats.top_words.is_empty());
        }
    }

    #[test]
    fn other_scripts_count_too() {
        assert_eq!(count("Привет мир. Καλημέρα!", 5).words, 3);
    }
}
