//! What is searched of an agent: its words, and the fields in which they occur.

use std::collections::HashMap;

use super::words::words;

/// Different words of a description that are searched. Later ones are not.
const MAX_DESCRIPTION_WORDS: usize = 256;
/// Begins the entry of a tag as a whole. No word contains it.
const TAG: char = '\u{1}';

/// The fields of an agent that are searched, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    Name,
    Tags,
    Tagline,
    Description,
}

impl Field {
    pub const ALL: [Self; 4] = [Self::Name, Self::Tags, Self::Tagline, Self::Description];

    /// One bit for each field, the highest for the best.
    pub const fn bit(self) -> u32 {
        match self {
            Self::Name => 8,
            Self::Tags => 4,
            Self::Tagline => 2,
            Self::Description => 1,
        }
    }

    /// The best of the fields in a mask.
    pub fn best_of(mask: u32) -> Self {
        Self::ALL.into_iter().find(|field| mask & field.bit() != 0).unwrap_or(Self::Description)
    }
}

/// The texts of an agent.
#[derive(Clone, Copy, Debug)]
pub struct Document<'a> {
    pub name: &'a str,
    pub tagline: &'a str,
    pub tags: &'a [String],
    pub description: &'a str,
}

/// The entry of a tag as a whole, for the filter by tags.
pub fn tag_entry(tag: &str) -> String {
    format!("{TAG}{tag}")
}

/// Whether an entry is a word, and not a whole tag.
pub fn is_word(entry: &str) -> bool {
    !entry.starts_with(TAG)
}

impl Document<'_> {
    /// The entries of this document, each with the mask of its fields.
    pub fn entries(&self) -> HashMap<String, u32> {
        let mut entries = HashMap::new();
        let mut add = |entry: String, field: Field| *entries.entry(entry).or_default() |= field.bit();
        words(self.name).for_each(|word| add(word, Field::Name));
        words(self.tagline).for_each(|word| add(word, Field::Tagline));
        for tag in self.tags {
            words(tag).for_each(|word| add(word, Field::Tags));
            add(tag_entry(tag), Field::Tags);
        }
        let most = entries.len().saturating_add(MAX_DESCRIPTION_WORDS);
        for word in words(self.description) {
            if entries.len() < most || entries.contains_key(&word) {
                *entries.entry(word).or_default() |= Field::Description.bit();
            }
        }
        entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_has_a_bounded_number_of_words() {
        let long: Vec<String> = (0..2_000).map(|number| format!("word{number}")).collect();
        let tags = ["data".to_owned()];
        let document =
            Document { name: "A name", tagline: "", tags: &tags, description: &format!("name {}", long.join(" ")) };
        let entries = document.entries();
        assert!(entries.len() <= 4 + MAX_DESCRIPTION_WORDS, "{}", entries.len());
        assert!(entries.contains_key("word255") && !entries.contains_key("word256"));
        assert_eq!(entries["name"], Field::Name.bit() | Field::Description.bit());
        assert_eq!(entries["a"], Field::Name.bit());
        assert_eq!(entries[&tag_entry("data")], Field::Tags.bit());
    }
}
