//! Every instruction has a file of its own, and its handler writes nothing before its rules passed.
#![expect(clippy::expect_used, reason = "a test: a panic is a failure")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use crtx_program_tests::idl;

/// What a handler may do before `validate`.
const BEFORE: [&str; 2] = ["let accounts", "let now = account::now_unix_s()?"];
/// What writes, creates, pays or closes.
const EFFECTS: [&str; 12] = [
    ".write()",
    "borrow_mut",
    "::create(",
    "::write(",
    "::write_with(",
    "::store(",
    "::shrink(",
    "drop_open_terms",
    "::transfer(",
    "::close",
    ".pay(",
    "emit_cpi!",
];

/// Name and source of every file in `instructions/`.
fn sources() -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/agent-marketplace/src/instructions");
    let entries = fs::read_dir(folder).expect("the folder is there").map(|entry| entry.expect("an entry").path());
    let files = entries.filter(|path| path.is_file() && !path.ends_with("mod.rs"));
    let named = |path: std::path::PathBuf| {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        (name, fs::read_to_string(path).expect("the file is read"))
    };
    files.map(named).collect()
}

/// The text from the start of a function to its end, which has the indentation of its start.
fn function<'a>(source: &'a str, start: &str, end: &str) -> &'a str {
    let (_, rest) = source.split_once(start).expect("the function is there");
    let (body, _) = rest.split_once(end).expect("the function ends");
    body
}

#[test]
fn the_folder_holds_one_file_for_each_instruction_of_the_idl() {
    let files: BTreeSet<String> = sources().into_keys().collect();
    let instructions: BTreeSet<String> = idl::instructions().iter().map(|known| known.name.clone()).collect();
    assert_eq!(files, instructions);
}

#[test]
fn every_handler_calls_validate_before_it_does_anything() {
    for (name, source) in sources() {
        let body = function(&source, "pub(crate) fn handler", "\n}\n");
        let (_, body) = body.split_once("-> Result<()> {\n").expect("a body");
        let statements = body.split_inclusive(";\n").map(str::trim);
        let first = statements.into_iter().find(|line| !BEFORE.iter().any(|allowed| line.starts_with(allowed)));
        assert!(first.is_some_and(|line| line.contains(".validate(")), "{name} begins with {first:?}");
    }
}

#[test]
fn no_validate_writes() {
    for (name, source) in sources() {
        let body = function(&source, "    fn validate(", "\n    }\n");
        let effects: Vec<_> = EFFECTS.iter().filter(|effect| body.contains(**effect)).collect();
        assert!(effects.is_empty(), "{name}: {effects:?}");
    }
}
