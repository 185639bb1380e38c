//! One name has one meaning, and one place decides whether a credential is valid. Both checks read the production sources
//! and compare them with what is known: a new homonym, or a new reader of a column, fails until it is renamed, moved, or
//! listed here with its reason.
#![allow(clippy::arithmetic_side_effects, clippy::expect_used, clippy::string_slice, reason = "tests")]

use std::collections::BTreeMap;

use crate::workspace;

type Counts = BTreeMap<String, usize>;

/// Types that share a name and its meaning: arguments of commands and instructions, and one message read by two programs.
const SAME_MEANING: &str = "AnnounceRolesArgs 2, CreatorRequest 2, ListArgs 3";

/// Words that say whether an API key or a session is valid.
const VALIDITY: [&str; 3] = ["revoked_at", "ended_at", "expires_at"];

/// How often each file has these words, and why.
const READERS: [(&str, usize, &str); 11] = [
    ("cli/src/case.rs", 1, "shows it"),
    ("cli/src/keys/registry.rs", 2, "shows it"),
    ("crates/http/src/auth.rs", 1, "the rule for keys"),
    ("crates/store/src/api_keys.rs", 12, "the columns of the rule for keys"),
    ("crates/store/src/sessions.rs", 21, "the columns of the rule for sessions; shows it"),
    ("gateway/src/api/keys.rs", 4, "shows it"),
    ("gateway/src/api/sign_in.rs", 3, "shows it"),
    ("crates/store/src/reads/disputes.rs", 1, "of a dispute, not of a credential"),
    ("indexer/api/src/disputes.rs", 1, "of a dispute, not of a credential"),
    ("migrations/0006_identity.sql", 6, "the columns"),
    ("migrations/0020_events.sql", 4, "logs that it was revoked"),
];

/// Production sources by their path. What begins with `#[cfg(test)]` at the left margin is the end of one.
fn sources() -> BTreeMap<String, String> {
    let mut sources = workspace::texts(|file| {
        let of_tests = file.split('/').any(|part| ["tests", "testing", "tests.rs"].contains(&part));
        let folder = file.split('/').next().unwrap_or_default();
        let is_source = ["cli", "crates", "gateway", "indexer", "migrations", "programs", "server"].contains(&folder);
        is_source && !of_tests && (file.ends_with(".rs") || file.ends_with(".sql"))
    })
    .expect("the sources");
    sources.values_mut().for_each(|text| text.truncate(text.find("\n#[cfg(test)]\nmod tests {").unwrap_or(text.len())));
    sources
}

/// Names that several types have.
fn homonyms(sources: &BTreeMap<String, String>) -> Counts {
    let mut types = Counts::new();
    for line in sources.values().flat_map(|text| text.lines()) {
        let mut words = line
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .skip_while(|word| word.is_empty() || ["pub", "crate", "super"].contains(word));
        if !line.starts_with(' ') && words.next().is_some_and(|word| ["struct", "enum", "trait"].contains(&word)) {
            *types.entry(words.next().unwrap_or_default().to_owned()).or_default() += 1;
        }
    }
    types.retain(|_, count| *count > 1);
    types
}

/// Files with words that say whether a credential is valid, and how often. Comments do not count.
fn readers(sources: &BTreeMap<String, String>) -> Counts {
    let is_of_a_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let count = |text: &str| {
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
        let is_whole = |word: &str, at: usize| {
            !is_of_a_word(code[..at].chars().next_back()) && !is_of_a_word(code[at + word.len()..].chars().next())
        };
        VALIDITY.iter().map(|word| code.match_indices(word).filter(|(at, _)| is_whole(word, *at)).count()).sum()
    };
    let counts = sources.iter().map(|(file, text)| (file.clone(), count(text)));
    counts.filter(|(_, count)| *count > 0).collect()
}

/// What there is more of than is known.
fn new(found: &Counts, known: &Counts) -> Vec<String> {
    let is_new = |(name, count): &(&String, &usize)| known.get(*name).is_none_or(|known| *count > known);
    found.iter().filter(is_new).map(|(name, count)| format!("{name} {count}")).collect()
}

fn known_homonyms() -> Counts {
    let entry =
        |entry: &str| entry.split_once(' ').and_then(|(name, count)| Some((name.to_owned(), count.parse().ok()?)));
    SAME_MEANING.split(", ").filter_map(entry).collect()
}

fn known_readers() -> Counts {
    READERS.iter().map(|(file, count, _)| ((*file).to_owned(), *count)).collect()
}

#[test]
fn no_two_types_have_one_name() {
    let mut sources = sources();
    assert_eq!(new(&homonyms(&sources), &known_homonyms()), Vec::<String>::new());
    sources.insert("planted.rs".to_owned(), "pub(crate) struct ApiKey;\n".to_owned());
    assert_eq!(new(&homonyms(&sources), &known_homonyms()), ["ApiKey 2"], "a planted one is found");
}

#[test]
fn one_place_decides_whether_a_credential_is_valid() {
    let mut sources = sources();
    assert_eq!(new(&readers(&sources), &known_readers()), Vec::<String>::new());
    sources.insert("planted.rs".to_owned(), "\"JOIN api_keys k ON k.revoked_at IS NULL\"".to_owned());
    sources.get_mut("crates/http/src/auth.rs").expect("it is there").push_str("if row.revoked_at.is_none() {}");
    let found = new(&readers(&sources), &known_readers());
    assert_eq!(found.len(), 2, "planted ones are found: {found:?}");
}
