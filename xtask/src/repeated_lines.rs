//! No run of ten equal lines stands twice. Compared are the lines of hand-written sources without their indentation.
//! Blank lines, lines without a letter or digit (closing brackets), and what every file states at its head do not count:
//! imports, `mod name;` and attributes of the whole file. Two migrations may be alike: a later one that replaces a view or
//! a function repeats what it keeps of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use anyhow::Result;

use crate::{source_hash::files_below, workspace};

/// Equal lines that may stand twice.
const RUN: usize = 10;

/// Folders and files of the repository that hold sources written by hand.
const SOURCES: [&str; 13] = [
    "app/scripts",
    "app/src/chain",
    "app/tests",
    "cli",
    "crates",
    "gateway",
    "indexer",
    "migrations",
    "programs",
    "server",
    "tests",
    "toolchain",
    "xtask",
];
const MIGRATIONS: &str = "migrations/";
const ENDINGS: [&str; 8] = ["rs", "sql", "ts", "tsx", "mjs", "js", "c", "sh"];

/// A line that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    number: usize,
    text: String,
}

fn lines_of(text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    // The end of a statement at the head of a file that goes over several lines.
    let mut until = None;
    for (index, line) in text.lines().map(str::trim).enumerate() {
        until = until.or_else(|| end_of_head(line));
        if let Some(end) = until {
            until = until.filter(|_| !line.ends_with(end));
        } else if line.contains(char::is_alphanumeric) {
            lines.push(Line { number: index.saturating_add(1), text: line.to_owned() });
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

/// The runs that stand twice: both places, and how many lines.
fn repeated(files: &BTreeMap<String, String>) -> Vec<String> {
    let files: Vec<(&str, Vec<Line>)> = files.iter().map(|(name, text)| (name.as_str(), lines_of(text))).collect();
    let mut places: BTreeMap<Vec<&str>, Vec<(usize, usize)>> = BTreeMap::new();
    for (file, (_, lines)) in files.iter().enumerate() {
        for (start, window) in lines.windows(RUN).enumerate() {
            let window = window.iter().map(|line| line.text.as_str()).collect();
            places.entry(window).or_default().push((file, start));
        }
    }
    // Pairs of places, as files with the distance of their lines: neighbours in a pair are one longer run.
    let mut pairs: BTreeMap<(usize, usize, isize), BTreeSet<usize>> = BTreeMap::new();
    for same in places.values() {
        for (index, (file, start)) in same.iter().enumerate() {
            for (other_file, other_start) in same.iter().skip(index.saturating_add(1)) {
                let [here, there] = [file, other_file].map(|file| files.get(*file).map_or("", |(name, _)| *name));
                if here != there && here.starts_with(MIGRATIONS) && there.starts_with(MIGRATIONS) {
                    continue;
                }
                let distance = other_start.cast_signed().saturating_sub(start.cast_signed());
                if file != other_file || distance.unsigned_abs() >= RUN {
                    pairs.entry((*file, *other_file, distance)).or_default().insert(*start);
                }
            }
        }
    }
    let mut found = Vec::new();
    for ((file, other, distance), starts) in pairs {
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for start in starts {
            match runs.last_mut() {
                Some((_, end)) if *end == start => *end = start.saturating_add(1),
                _ => runs.push((start, start.saturating_add(1))),
            }
        }
        let place = |file: usize, start: usize| {
            let (name, lines) = files.get(file)?;
            Some(format!("{name}:{}", lines.get(start)?.number))
        };
        for (start, end) in runs {
            let length = end.saturating_sub(start).saturating_add(RUN).saturating_sub(1);
            let there = start.checked_add_signed(distance).and_then(|start| place(other, start));
            if let (Some(here), Some(there)) = (place(file, start), there) {
                found.push(format!("{here} and {there}: {length} equal lines"));
            }
        }
    }
    found
}

fn sources() -> Result<BTreeMap<String, String>> {
    let root = workspace::root();
    let mut sources = BTreeMap::new();
    for folder in SOURCES {
        for file in files_below(&root.join(folder))? {
            let ending = file.extension().and_then(std::ffi::OsStr::to_str).unwrap_or_default();
            let generated = file.iter().any(|part| part == "target" || part == "node_modules");
            if ENDINGS.contains(&ending) && !generated {
                sources.insert(name_of(&root, &file)?, fs::read_to_string(&file)?);
            }
        }
    }
    Ok(sources)
}

fn name_of(root: &Path, file: &Path) -> Result<String> {
    Ok(file.strip_prefix(root)?.to_string_lossy().into_owned())
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
    }

    #[test]
    fn a_run_of_ten_lines_is_found_in_two_files_whatever_stands_between_them() {
        let indented: String = text("same", 10).lines().map(|line| format!("\n    {line}\n}}\n")).collect();
        let files = [("a.rs", text("one", 3) + &text("same", 10)), ("b.rs", indented)];
        assert_eq!(found(&files), ["a.rs:4 and b.rs:2: 10 equal lines"]);
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
        assert_eq!(found(&files), ["a.rs:1 and a.rs:18: 15 equal lines"]);
    }

    #[test]
    fn equal_lines_in_a_row_do_not_repeat_themselves() {
        assert_eq!(found(&[("a.rs", "same;\n".repeat(19))]), Vec::<String>::new());
    }
}
