//! `docs/INVARIANTS.md` names tests that exist, and lists every invariant that is asserted.
#![expect(clippy::expect_used, reason = "a test: a panic is a failure")]

use std::{collections::BTreeSet, fs, path::Path};

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The source of a test program of one file, or of several in a folder. Tests of the services are named by their path
/// from the root.
fn source_of(test_program: &str) -> String {
    if test_program.contains('/') {
        return read(&format!("../../{test_program}.rs"));
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(test_program);
    let Ok(files) = fs::read_dir(folder) else { return read(&format!("tests/{test_program}.rs")) };
    files.map(|file| fs::read_to_string(file.expect("an entry").path()).expect("a file is read")).collect()
}

/// Id and `file::test` names of each row.
fn rows() -> Vec<(String, Vec<(String, String)>)> {
    let text = read("../../docs/INVARIANTS.md");
    let rows = text.lines().filter(|line| line.starts_with("| INV-") || line.starts_with("| SVC-"));
    rows.map(|row| {
        let mut cells = row.trim_matches('|').split(" | ").map(str::trim);
        let id = cells.next().expect("an id").to_owned();
        let proofs = cells.last().expect("a proof").split('`');
        let proofs =
            proofs.filter_map(|name| name.split_once("::")).map(|(file, test)| (file.to_owned(), test.to_owned()));
        (id, proofs.collect())
    })
    .collect()
}

#[test]
fn every_named_test_exists() {
    let rows = rows();
    assert!(rows.len() >= 28, "the table was not read");
    for (id, proofs) in rows {
        assert!(!proofs.is_empty(), "{id} names no test");
        for (file, test) in proofs {
            let source = source_of(&file);
            let declared = source.contains(&format!("fn {test}("));
            assert!(declared, "{id}: {file}::{test} does not exist");
        }
    }
}

#[test]
fn ids_are_unique_and_every_asserted_invariant_is_listed() {
    let rows = rows();
    let ids: BTreeSet<_> = rows.iter().map(|(id, _)| id.clone()).collect();
    assert_eq!(ids.len(), rows.len(), "an id is used twice");
    let source = read("src/invariants.rs");
    let asserted: BTreeSet<_> = source
        .match_indices("INV-")
        .filter_map(|(at, _)| source.get(at..at.checked_add(6)?))
        .map(str::to_owned)
        .collect();
    assert!(asserted.len() >= 9, "the assertions were not read");
    let unlisted: Vec<_> = asserted.difference(&ids).collect();
    assert!(unlisted.is_empty(), "asserted but not listed: {unlisted:?}");
}
