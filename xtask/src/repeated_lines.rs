//! No run of ten equal lines stands twice. Compared are the lines of hand-written sources without their indentation.
//! Blank lines, lines without a letter or digit (closing brackets), and what every file states at its head do not count:
//! imports, `mod name;` and attributes of the whole file. Two migrations may be alike: a later one that replaces a view or
//! a function repeats what it keeps of it.

use std::collections::{BTreeMap, HashMap};

use anyhow::Result;

use crate::workspace;

/// Equal lines that may stand twice.
const RUN: usize = 10;

/// Folders of the repository that hold sources written by hand.
const SOURCES: [&str; 13] = [
    "app/scripts/",
    "app/src/chain/",
    "app/tests/",
    "cli/",
    "crates/",
    "gateway/",
    "indexer/",
    "migrations/",
    "programs/",
    "server/",
    "tests/",
    "toolchain/",
    "xtask/",
];
const MIGRATIONS: &str = "migrations/";
const ENDINGS: [&str; 8] = ["rs", "sql", "ts", "tsx", "mjs", "js", "c", "sh"];

/// The lines that count, with their numbers.
fn lines_of(text: &str) -> Vec<(usize, &str)> {
    let mut lines = Vec::new();
    // The end of a statement at the head of a file that goes over several lines.
    let mut until = None;
    for (index, line) in text.lines().map(str::trim).enumerate() {
        until = until.or_else(|| end_of_head(line));
        if let Some(end) = until {
            until = until.filter(|_| !line.ends_with(end));
        } else if line.contains(char::is_alphanumeric) {
            lines.push((index.saturating_add(1), line));
        }
    }
    lines
}

/// How a statement at the head of a file ends, if one begins in this line.
fn end_of_head(line: &str) -> Option<char> {
    let words: Vec<&str> = line.split(' ').collect();
    match words.as_slice() {
        ["use" | "import", ..] => Some(';'),
        [visibility, "use", ..] if visibility.starts_with("pub") => Some(';'),
        ["mod", name] | [_, "mod", name] if name.ends_with(';') => Some(';'),
        _ => line.starts_with("#![").then_some(']'),
    }
}

/// The runs that stand twice: where each first one begins and begins again. A longer run is one finding.
fn repeated(files: &BTreeMap<String, String>) -> Vec<String> {
    let lines = files.iter().map(|(name, text)| (name.as_str(), lines_of(text)));
    // Where each run stands first: file, index of its first line among those that count, number of that line.
    let mut first: HashMap<Vec<&str>, (&str, usize, usize)> = HashMap::new();
    let (mut found, mut continues) = (Vec::new(), None);
    for (name, lines) in lines {
        for (start, window) in lines.windows(RUN).enumerate() {
            let number = window.first().map_or(0, |(number, _)| *number);
            let texts = window.iter().map(|(_, text)| *text).collect();
            let place = first.entry(texts).or_insert((name, start, number));
            let (file, before, first_number) = *place;
            if file != name && file.starts_with(MIGRATIONS) && name.starts_with(MIGRATIONS) {
                // It may repeat the earlier one, but not itself.
                *place = (name, start, number);
                continue;
            }
            if file == name && start.saturating_sub(before) < RUN {
                continue;
            }
            if continues != Some((file, before, name, start)) {
                found.push(format!("{file}:{first_number} and {name}:{number}"));
            }
            continues = Some((file, before.saturating_add(1), name, start.saturating_add(1)));
        }
    }
    found
}

fn sources() -> Result<BTreeMap<String, String>> {
    workspace::texts(|file| {
        let ending = file.rsplit_once('.').map_or("", |(_, ending)| ending);
        ENDINGS.contains(&ending) && SOURCES.iter().any(|folder| file.starts_with(folder))
    })
}

#[test]
fn no_run_of_ten_equal_lines_stands_twice() {
    let found = sources().map_or_else(|error| vec![format!("{error:#}")], |sources| repeated(&sources));
    assert!(found.is_empty(), "lines that stand twice:\n{}", found.join("\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, String)]) -> Vec<String> {
        repeated(&files.iter().map(|(name, text)| ((*name).to_owned(), text.clone())).collect())
    }

    /// `count` lines that differ from each other.
    fn text(name: &str, count: usize) -> String {
        (0..count).map(|line| format!("{name} {line};\n")).collect()
    }

    #[test]
    fn a_migration_may_repeat_what_it_keeps_of_an_earlier_one() {
        let files = |second: &'static str| [("migrations/1.sql", text("same", 10)), (second, text("same", 10))];
        assert!(found(&files("migrations/2.sql")).is_empty());
        assert_eq!(found(&files("other.sql")).len(), 1);
        let twice = text("same", 10) + &text("other", 2) + &text("same", 10);
        let of_itself = found(&[("migrations/1.sql", text("same", 10)), ("migrations/2.sql", twice)]);
        assert_eq!(of_itself, ["migrations/2.sql:1 and migrations/2.sql:13"]);
    }

    #[test]
    fn a_run_of_ten_lines_is_found_in_two_files_whatever_stands_between_them() {
        let indented: String = text("same", 10).lines().map(|line| format!("\n    {line}\n}}\n")).collect();
        let files = [("a.rs", text("one", 3) + &text("same", 10)), ("b.rs", indented)];
        assert_eq!(found(&files), ["a.rs:4 and b.rs:2"]);
    }

    #[test]
    fn nine_lines_and_the_heads_of_files_may_be_equal() {
        let names = text("name", 20).replace(';', ",");
        let imports = format!("#![allow(\n{names})]\nuse a::{{\n{names}}};\npub(crate) use b::c;\nmod d;\n");

        let files =
            [("a.rs", format!("{imports}{}", text("same", 9))), ("b.rs", format!("{imports}{}", text("same", 9)))];
        assert_eq!(found(&files), Vec::<String>::new());
    }

    #[test]
    fn a_longer_run_is_one_finding_and_a_file_may_repeat_itself() {
        let files = [("a.rs", text("same", 15) + &text("other", 2) + &text("same", 15))];
        assert_eq!(found(&files), ["a.rs:1 and a.rs:18"]);
    }

    #[test]
    fn equal_lines_in_a_row_do_not_repeat_themselves() {
        assert_eq!(found(&[("a.rs", "same;\n".repeat(19))]), Vec::<String>::new());
    }
}
