//! `cargo xtask mutants`: plants one fault after the other in the program's source, builds each, and runs
//! the program's test suite against it. A fault that no test notices shows that a test is missing.
//!
//! The faults are in `xtask/mutants.toml`. The text of each must occur exactly once in its file, so a fault
//! that does not apply any more stops the run instead of counting as caught.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    figures::{self, Grid},
    program,
    suites::{self, TestBinary},
    workspace,
};

const FAULTS: &str = "xtask/mutants.toml";
/// Fewer faults than this stop the run.
const AT_LEAST: usize = 15;

#[derive(Deserialize)]
struct Faults {
    mutant: Vec<Mutant>,
}

/// One planted fault: a sentence, and the edits that make it true.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mutant {
    name: String,
    edit: Vec<Edit>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    /// Path from the workspace's root.
    file: String,
    find: String,
    replace: String,
}

/// A mutant, and the test program and test that noticed it, or what went wrong.
type Outcome<'a> = (&'a Mutant, Result<String, &'static str>);

/// No test noticed the fault.
const SURVIVED: &str = "**SURVIVED**";
/// The text of the fault does not fit the source any more.
const UNBUILT: &str = "**DOES NOT BUILD**";

fn grid(outcomes: &[Outcome<'_>]) -> Grid {
    let row = |(mutant, caught_by): &Outcome<'_>| {
        let by = caught_by.as_ref().map_or_else(|wrong| (*wrong).to_owned(), |test| format!("`{test}`"));
        vec![json!(mutant.name), json!(format!("`{}`", mutant.file())), json!(by)]
    };
    let columns = ["fault", "where", "caught by"].map(str::to_owned).to_vec();
    Grid { columns, rows: outcomes.iter().map(row).collect() }
}

pub fn list() -> Result<()> {
    for mutant in &read()? {
        println!("{}", mutant.name);
    }
    Ok(())
}

/// Runs the named mutants, or all; the report is written after a run of all.
pub fn run(names: &[String]) -> Result<()> {
    let mutants = read()?;
    let unknown: Vec<_> = names.iter().filter(|name| mutants.iter().all(|mutant| mutant.name != **name)).collect();
    ensure!(unknown.is_empty(), "no such mutants: {unknown:?}");
    let wanted: Vec<_> = mutants.iter().filter(|mutant| names.is_empty() || names.contains(&mutant.name)).collect();

    let trees = (0..thread::available_parallelism()?.get()).map(Tree::export).collect::<Result<Vec<_>>>()?;
    // So that a later failure to build is the fault's, and not the machine's.
    trees.iter().try_for_each(Tree::build).context("the unchanged program does not build")?;
    let binaries = timed_baseline(trees.first().context("a machine has a core")?)?;
    let outcomes = outcomes(&trees, &wanted, &binaries)?;

    let caught = grid(&outcomes);
    let table = caught.table();
    println!("\n{table}");
    if names.is_empty() {
        figures::keep("mutants", "Faults planted in the program and the test that notices each", &caught, &table)?;
    }
    let missed: Vec<_> =
        outcomes.iter().filter(|(_, test)| test.is_err()).map(|(mutant, _)| mutant.name.as_str()).collect();
    ensure!(missed.is_empty(), "not caught: {}", missed.join(", "));
    Ok(())
}

/// By the name of the fault: the test program that noticed it in the last run of all.
fn last_catchers() -> Result<BTreeMap<String, String>> {
    let Grid { rows, .. } = figures::committed("mutants")?;
    let catcher = |row: Vec<Value>| {
        let (name, test) = (row.first()?.as_str()?, row.get(2)?.as_str()?);
        let program = test.trim_start_matches('`').split("::").next()?;
        Some((name.to_owned(), program.to_owned()))
    };
    Ok(rows.into_iter().filter_map(catcher).collect())
}

/// Each tree takes the next fault as soon as it is done with its last one.
fn outcomes<'a>(trees: &[Tree], wanted: &[&'a Mutant], binaries: &[TestBinary]) -> Result<Vec<Outcome<'a>>> {
    let last = last_catchers()?;
    let next = AtomicUsize::new(0);
    let caught = Mutex::new(BTreeMap::new());
    let work = |tree: &Tree| -> Result<()> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(mutant) = wanted.get(number) else { return Ok(()) };
            let started = Instant::now();
            let caught_by = tree.with(mutant, || match tree.build() {
                Ok(()) => Ok(first_failure(binaries, last.get(&mutant.name), tree)?.ok_or(SURVIVED)),
                Err(_) => Ok(Err(UNBUILT)),
            })?;
            let (shown, of) = (number.saturating_add(1), wanted.len());
            let verdict = caught_by.as_deref().unwrap_or_else(|wrong| wrong);
            println!("{shown}/{of} {}: {verdict} ({} s)", mutant.name, started.elapsed().as_secs());
            caught.lock().unwrap_or_else(PoisonError::into_inner).insert(number, (*mutant, caught_by));
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = trees.iter().map(|tree| scope.spawn(|| work(tree))).collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| anyhow!("a worker panicked"))?)
    })?;
    Ok(caught.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect())
}

/// The faults, each of which must still apply.
fn read() -> Result<Vec<Mutant>> {
    let root = workspace::root();
    let text = fs::read_to_string(root.join(FAULTS)).with_context(|| format!("cannot read {FAULTS}"))?;
    let Faults { mutant: mutants } = toml::from_str(&text).context(FAULTS)?;
    ensure!(mutants.len() >= AT_LEAST, "{FAULTS} has {} faults, at least {AT_LEAST} are wanted", mutants.len());
    let mut names = BTreeSet::new();
    for mutant in &mutants {
        ensure!(names.insert(&mutant.name), "{FAULTS} has two faults `{}`", mutant.name);
        mutant.applied(&root)?;
    }
    Ok(mutants)
}

impl Mutant {
    /// Each edited file and its text with the fault in it.
    fn applied(&self, root: &Path) -> Result<BTreeMap<PathBuf, String>> {
        ensure!(!self.edit.is_empty(), "mutant `{}` edits nothing", self.name);
        let mut texts = BTreeMap::new();
        for Edit { file, find, replace } in &self.edit {
            let path = root.join(file);
            let text = match texts.remove(&path) {
                Some(text) => text,
                None => fs::read_to_string(&path).with_context(|| format!("cannot read {file}"))?,
            };
            let found = text.matches(find).count();
            ensure!(found == 1, "mutant `{}`: its text occurs {found} times in {file}, not once", self.name);
            ensure!(find != replace, "mutant `{}` changes nothing", self.name);
            texts.insert(path, text.replace(find, replace));
        }
        Ok(texts)
    }

    /// Name of the first edited file.
    fn file(&self) -> &str {
        self.edit.first().and_then(|edit| edit.file.rsplit('/').next()).unwrap_or_default()
    }
}

/// A copy of the workspace below `target/`, in which the faults are planted.
struct Tree {
    folder: PathBuf,
    target: PathBuf,
    elf: PathBuf,
    /// What the recipe sets up once. The first tree uses what every build uses.
    home: Option<PathBuf>,
}

impl Tree {
    /// Copies every file that git tracks or would track. Equal files keep their time, so nothing is rebuilt for them.
    fn export(number: usize) -> Result<Self> {
        let root = workspace::root();
        let base = root.join("target/mutants").join(number.to_string());
        let home = (number > 0).then(|| base.join("home"));
        let (folder, target, elf) = (base.join("tree"), base.join("sbf"), base.join("mutant.so"));
        let tree = Self { folder, target, elf, home };
        let mut wanted = BTreeSet::new();
        for name in workspace::files()? {
            let (from, to) = (root.join(&name), tree.folder.join(&name));
            let bytes = fs::read(&from)?;
            if fs::read(&to).ok().as_deref() != Some(&bytes) {
                fs::create_dir_all(to.parent().context("a file lies in a folder")?)?;
                fs::copy(&from, &to)?;
            }
            wanted.insert(to);
        }
        for old in workspace::files_below(&tree.folder)?.difference(&wanted) {
            fs::remove_file(old)?;
        }
        Ok(tree)
    }

    fn build(&self) -> Result<()> {
        let (recipe, home) = (program::recipe_here(), self.home.as_deref());
        if let Some(why) = program::build_elf(recipe, &self.folder, Some(&self.target), home, &self.elf)? {
            bail!("the program cannot be built on this machine: {why}");
        }
        Ok(())
    }

    /// Plants a fault, does `work`, and removes the fault again, whatever the result is.
    fn with<T>(&self, mutant: &Mutant, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let mut originals = Vec::new();
        for (path, text) in mutant.applied(&self.folder)? {
            originals.push((path.clone(), fs::read(&path)?));
            fs::write(path, text)?;
        }
        let result = work();
        for (path, original) in originals {
            fs::write(path, original)?;
        }
        result
    }
}

/// Builds the test programs and runs them against the unchanged program. They must pass, else their results
/// for a mutant mean nothing. Returns the quick ones first.
fn timed_baseline(tree: &Tree) -> Result<Vec<TestBinary>> {
    let mut timed = Vec::new();
    let built = suites::program_tests()?;
    for binary in kept(built, &tree.folder.with_file_name("tests"))? {
        let started = Instant::now();
        if let Some(test) = failing_test(&binary, tree)? {
            bail!("{test} fails for the program as it is");
        }
        timed.push((started.elapsed(), binary));
    }
    timed.sort_by_key(|(took, _)| *took);
    let all: Duration = timed.iter().map(|(took, _)| *took).sum();
    eprintln!("the suite passes for the unchanged program, in {} s", all.as_secs());
    Ok(timed.into_iter().map(|(_, binary)| binary).collect())
}

/// Tests of what the program costs, which may notice that a fault changed something but not what, and tests of
/// the workspace's files.
const NO_TESTS_OF_BEHAVIOUR: [&str; 4] =
    ["costs", "every_error_has_a_test", "handlers_validate_first", "invariants_are_proved"];

/// Copies of the test programs, which builds during the run do not change.
fn kept(mut binaries: Vec<TestBinary>, folder: &Path) -> Result<Vec<TestBinary>> {
    fs::create_dir_all(folder)?;
    binaries.retain(|binary| !NO_TESTS_OF_BEHAVIOUR.contains(&binary.name().as_str()));
    for binary in &mut binaries {
        let kept = folder.join(binary.executable.file_name().context("a file has a name")?);
        fs::copy(&binary.executable, &kept)?;
        binary.executable = kept;
    }
    Ok(binaries)
}

/// `likely`: the test program that is tried first.
fn first_failure(binaries: &[TestBinary], likely: Option<&String>, tree: &Tree) -> Result<Option<String>> {
    let mut binaries: Vec<_> = binaries.iter().collect();
    binaries.sort_by_key(|binary| Some(&binary.name()) != likely);
    binaries.into_iter().find_map(|binary| failing_test(binary, tree).transpose()).transpose()
}

/// Runs one test program until its first failing test.
fn failing_test(binary: &TestBinary, tree: &Tree) -> Result<Option<String>> {
    let program = binary.name();
    let mut child = Command::new(&binary.executable)
        // In the copy, so that failures that property tests record do not reach the workspace.
        .current_dir(tree.folder.join("tests/program"))
        .env("CRTX_PROGRAM_ELF", &tree.elf)
        .env("PROPTEST_MAX_SHRINK_ITERS", "0")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot start {program}"))?;
    for line in BufReader::new(child.stdout.take().context("the output is piped")?).lines() {
        let line = line?;
        let failed = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED"));
        if let Some(test) = failed {
            child.kill()?;
            child.wait()?;
            return Ok(Some(format!("{program}::{test}")));
        }
    }
    let status = child.wait()?;
    Ok((!status.success()).then(|| format!("{program} ({status})")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_that_no_test_notices_is_shown() {
        let edit = vec![Edit { file: "src/a.rs".to_owned(), find: String::new(), replace: String::new() }];
        let mutant = &Mutant { name: "no check".to_owned(), edit };
        let outcomes = [Ok("t::works".to_owned()), Err(SURVIVED)].map(|caught_by| (mutant, caught_by));
        let table = grid(&outcomes).table();
        assert!(
            table.contains("| no check | `a.rs` | `t::works` |\n| no check | `a.rs` | **SURVIVED** |\n"),
            "{table}"
        );
    }

    #[test]
    fn every_fault_still_applies_exactly_once() {
        read().expect("xtask/mutants.toml fits the source");
    }
}
