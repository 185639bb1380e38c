//! `cargo xtask adr`: the list of the decision records, written from the records themselves.

use std::{collections::BTreeMap, fs};

use anyhow::{Context, Result, bail, ensure};

use crate::{markdown, workspace};

const FOLDER: &str = "docs/adr";
const INDEX: &str = "README.md";
/// The text of the index before this line is written by hand.
const MARKER: &str = "<!-- `cargo xtask adr` writes what follows -->\n";

/// What the index says of one record.
#[derive(Debug, PartialEq, Eq)]
struct Record {
    title: String,
    status: String,
}

/// Reads the first heading, `# N. Title`, and the paragraph that begins with `Status:`.
fn record(text: &str) -> Option<Record> {
    let (_, title) = text.lines().next()?.strip_prefix("# ")?.split_once(". ")?;
    let status = text.split("\n\n").find_map(|paragraph| paragraph.trim_start().strip_prefix("Status: "))?;
    let status = status.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(Record { title: title.to_owned(), status: status.trim_end_matches('.').to_owned() })
}

/// The index, and every record by its file.
fn read() -> Result<(String, BTreeMap<String, Record>)> {
    let folder = workspace::root().join(FOLDER);
    let mut records = BTreeMap::new();
    for entry in fs::read_dir(&folder).context(FOLDER)? {
        let file = entry?.file_name().to_string_lossy().into_owned();
        if file != INDEX {
            let text = fs::read_to_string(folder.join(&file)).with_context(|| file.clone())?;
            let record = record(&text).with_context(|| format!("{file} has no title `# N. Title` or no `Status:`"))?;
            records.insert(file, record);
        }
    }
    Ok((fs::read_to_string(folder.join(INDEX)).context(INDEX)?, records))
}

/// The index with its list as the records say it.
fn with_list(index: &str, records: &BTreeMap<String, Record>) -> Result<String> {
    let Some((by_hand, _)) = index.split_once(MARKER) else { bail!("{FOLDER}/{INDEX} has no line {MARKER}") };
    let line = |(file, Record { title, status }): (&String, &Record)| {
        format!("| {} | [{title}]({file}) | {status} |\n", file.split('-').next().unwrap_or_default())
    };
    let list: String = records.iter().map(line).collect();
    Ok(format!("{by_hand}{MARKER}\n| Number | Decision | Status |\n|---|---|---|\n{list}"))
}

/// Records whose status names another one that does not name them. A reader of the older one must find the newer one.
fn one_sided(records: &BTreeMap<String, Record>) -> Vec<String> {
    let named = |record: &Record| markdown::read(&record.status).links.into_iter().map(|(_, file)| file);
    let mut complaints = Vec::new();
    for (file, record) in records {
        for other in named(record) {
            if !records.get(&other).is_some_and(|other| named(other).any(|back| back == *file)) {
                complaints.push(format!("the status of {file} names {other}, whose status does not name it"));
            }
        }
    }
    complaints
}

pub fn write() -> Result<()> {
    let (index, records) = read()?;
    fs::write(workspace::root().join(FOLDER).join(INDEX), with_list(&index, &records)?).context(INDEX)
}

pub fn check() -> Result<String> {
    let (index, records) = read()?;
    ensure!(index == with_list(&index, &records)?, "{FOLDER}/{INDEX} is old: run `cargo xtask adr`");
    let one_sided = one_sided(&records);
    ensure!(one_sided.is_empty(), "{}", one_sided.join("\n"));
    Ok(format!("{FOLDER}/{INDEX} lists {} records", records.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(statuses: [(&str, &str); 2]) -> BTreeMap<String, Record> {
        let read = |(file, status): (&str, &str)| {
            let text = format!("# 1. Of {file}\n\nStatus: {status}.\n\n## Context\n");
            (file.to_owned(), record(&text).expect("a record"))
        };
        statuses.map(read).into()
    }

    #[test]
    fn the_list_of_records_is_up_to_date() {
        check().expect("the list is that of the records");
    }

    #[test]
    fn the_list_is_sorted_and_replaces_the_one_before() {
        let records = records([("0002-b.md", "accepted"), ("0001-a.md", "accepted;\ncontinued by [2](0002-b.md)")]);
        let list = "\n| Number | Decision | Status |\n|---|---|---|\n\
                    | 0001 | [Of 0001-a.md](0001-a.md) | accepted; continued by [2](0002-b.md) |\n\
                    | 0002 | [Of 0002-b.md](0002-b.md) | accepted |\n";
        let written = with_list(&format!("Text.\n{MARKER}\nold\n"), &records).expect("written");
        assert_eq!(written, format!("Text.\n{MARKER}{list}"));
        assert!(with_list("no marker", &records).is_err());
    }

    #[test]
    fn a_status_names_what_names_it() {
        let both = [("0001-a.md", "accepted; continued by [2](0002-b.md)"), ("0002-b.md", "continues [1](0001-a.md)")];
        assert_eq!(one_sided(&records(both)), Vec::<String>::new());
        let one = [("0001-a.md", "accepted"), ("0002-b.md", "accepted; continues [1](0001-a.md)")];
        assert_eq!(
            one_sided(&records(one)),
            ["the status of 0002-b.md names 0001-a.md, whose status does not name it"]
        );
    }

    #[test]
    fn a_record_needs_title_and_status() {
        assert_eq!(record("# 1. Title\n\n## Context\n"), None);
        assert_eq!(record("Title\n\nStatus: accepted\n"), None);
    }
}
