//! `cargo xtask test`: builds once, runs every suite, counts what ran, and ends with one line per suite.

use std::{
    cmp::Reverse,
    collections::BTreeMap,
    fmt::Write as _,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::ValueEnum;
use parking_lot::Mutex;
use serde::Deserialize;

use crate::{
    api, browser, generated, release, sdk,
    tally::{Tally, number_before},
    test_database::TestDatabase,
    validator, web, workspace,
};

/// The suites, in the order in which the summary names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Suite {
    /// Tests of each crate by itself, those against a real PostgreSQL included.
    Unit,
    /// The committed ELF in LiteSVM, and the inputs of the fuzz targets.
    Program,
    /// `crtx up` and everything behind it: Surfpool, PostgreSQL, HTTP.
    E2e,
    /// The same while it breaks: crashes, pauses, a database that dies.
    Faults,
    /// The same under attack: hostile clients and hung dependencies, and what others notice of them.
    Denial,
    /// The description of the API against a running service, by schemathesis.
    Api,
    /// The TypeScript of `app/`: types, tests, size.
    Web,
    /// The libraries in `sdk/` for Python and TypeScript: types, tests, packages, and calls through a `crtx up`.
    Sdk,
    /// The dashboard in Chromium, against a `crtx up` of its own.
    Browser,
    /// Committed files that are generated, against their sources.
    Generated,
    /// `crtx up` and everything behind it on Agave's validator. Takes long, and runs only where it is named.
    RealNetwork,
    /// Hosts and databases on several machines, of which each may die. Runs as root, and only where it is named.
    Machines,
    /// What is handed out: clean builds, packages, image, chart, and what is known about the dependencies. Its answers depend
    /// on the date, so it runs only where it is named.
    Release,
}

impl Suite {
    fn name(self) -> String {
        workspace::name_of(&self)
    }

    /// How many of its programs run at the same time. Most of the time of `unit` and `e2e` they wait: for leases, deadlines,
    /// streams.
    const fn programs_at_once(self) -> usize {
        match self {
            Self::Unit | Self::E2e => 4,
            _ => 1,
        }
    }

    /// Whether some of its tests wait in real time: for leases, deadlines and streams, or for whole systems. On a machine
    /// that is busy with other work, such a test can be late for no fault of ours, so each one that fails runs once more
    /// after all others of its suite, and the summary names it. The browser suite does the same by itself.
    const fn depends_on_time(self) -> bool {
        matches!(self, Self::Unit | Self::E2e | Self::Faults | Self::Denial | Self::Api | Self::RealNetwork)
    }

    fn of_package(folder: &Path) -> Self {
        match folder.strip_prefix(workspace::root().join("tests")).ok().and_then(Path::to_str) {
            Some("program" | "fuzz") => Self::Program,
            Some("e2e") => Self::E2e,
            Some("faults") => Self::Faults,
            _ => Self::Unit,
        }
    }
}

/// The test programs that `real-network` runs: its own, and those of other suites that compare what users see, whatever the
/// network is.
const ON_A_VALIDATOR: [&str; 13] = [
    REAL_NETWORK,
    "campaign",
    "command_line",
    "deploy",
    "deploy_program",
    "from_an_empty_wallet",
    "identity",
    "interrupted_commands",
    "paid_call",
    "proofs",
    "roles",
    "roles_by_command_line",
    "two_machines",
];
const REAL_NETWORK: &str = "real_network";
const MACHINES: &str = "machines";
/// Their tests that set the clock of the chain ahead, which only the embedded network can do.
const WITH_A_CLOCK_TO_SET: [&str; 6] = [
    "a_creator_pauses_resumes_tops_up_rotates_leaves_and_gets_everything_back",
    "a_refund_an_upheld_dispute_and_a_closed_record_are_proved_from_the_chain",
    "an_agent_lives_from_an_empty_wallet_to_its_closing_by_the_command_line_alone",
    "an_execution_that_is_opened_again_has_nothing_of_its_first_opening",
    "the_admin_pauses_verifies_and_changes_parameters_and_roles_by_announcement",
    "without_a_gateway_the_creator_settles_and_anybody_refunds",
];
const FAULTS_ON_A_VALIDATOR: &str = "50";

/// The suites in the order in which they run after the build; those of one line at the same time. A suite that mostly waits leaves the
/// machine to another one, and so does one that uses a single core. `denial` measures what an attack takes from others, so
/// it has the machine for itself.
const TOGETHER: [&[Suite]; 8] = [
    &[Suite::Unit],
    &[Suite::Program, Suite::Api, Suite::Sdk, Suite::Generated],
    &[Suite::E2e, Suite::Faults],
    &[Suite::Denial],
    &[Suite::Browser],
    &[Suite::RealNetwork],
    &[Suite::Machines],
    &[Suite::Release],
];

/// How many tests the summary names for their time.
const SLOWEST: usize = 10;

/// One built test program.
pub struct TestBinary {
    suite: Suite,
    pub executable: PathBuf,
    pub folder: PathBuf,
}

pub fn run(wanted: &[Suite]) -> Result<()> {
    let mut usual = Suite::value_variants().to_vec();
    usual.retain(|suite| !matches!(suite, Suite::RealNetwork | Suite::Machines | Suite::Release));
    let wanted = if wanted.is_empty() { &usual } else { wanted };
    let without = [Suite::Web, Suite::Sdk, Suite::Browser, Suite::Generated, Suite::Release];
    let rust = wanted.iter().any(|suite| !without.contains(suite));
    let build = || -> Result<Vec<TestBinary>> {
        if !rust && wanted.iter().any(|suite| matches!(suite, Suite::Browser | Suite::Sdk)) {
            workspace::build_binaries()?;
        }
        if rust { test_binaries() } else { Ok(Vec::new()) }
    };
    // `web` needs nothing that is built, and the last crates of a build are compiled one after the other.
    let beside_the_build: Vec<_> = wanted.iter().copied().filter(|suite| *suite == Suite::Web).collect();
    let (mut tallies, binaries) = thread::scope(|scope| {
        let web = scope.spawn(|| run_together(&beside_the_build, &[]));
        let binaries = build()?;
        anyhow::Ok((web.join().map_err(|_| anyhow!("a thread panicked"))??, binaries))
    })?;
    for together in TOGETHER {
        let together: Vec<_> = together.iter().copied().filter(|suite| wanted.contains(suite)).collect();
        tallies.extend(run_together(&together, &binaries)?);
    }
    summarise(&tallies)
}

/// Runs some suites at the same time.
fn run_together(suites: &[Suite], binaries: &[TestBinary]) -> Result<BTreeMap<Suite, Tally>> {
    let started = Instant::now();
    let run = |suite: Suite| -> Result<Tally> {
        eprintln!("\n=== suite {}", suite.name());
        let tally = match suite {
            Suite::Generated => run_checks(suite, &generated::CHECKS),
            Suite::Release => run_checks(suite, &release::CHECKS),
            Suite::Web => web::test()?,
            Suite::Sdk => sdk::test()?,
            Suite::Browser => browser::test()?,
            Suite::Unit
            | Suite::Program
            | Suite::E2e
            | Suite::Faults
            | Suite::Denial
            | Suite::Api
            | Suite::RealNetwork
            | Suite::Machines => run_binaries(suite, binaries)?,
        };
        Ok(Tally { took: started.elapsed(), ..tally })
    };
    thread::scope(|scope| {
        let running: Vec<_> = suites.iter().map(|suite| (*suite, scope.spawn(|| run(*suite)))).collect();
        let join = |(suite, thread): (Suite, thread::ScopedJoinHandle<'_, Result<Tally>>)| {
            Ok((suite, thread.join().map_err(|_| anyhow!("a thread panicked"))??))
        };
        running.into_iter().map(join).collect()
    })
}

/// The test programs of the `program` suite, built with the features of a whole test run.
pub fn program_tests() -> Result<Vec<TestBinary>> {
    let mut binaries = test_binaries()?;
    binaries.retain(|binary| binary.suite == Suite::Program);
    Ok(binaries)
}

/// Builds the services and every test program, all with one set of features, so that nothing is built twice, and at the
/// same time, so that no core waits.
fn test_binaries() -> Result<Vec<TestBinary>> {
    eprintln!("=== building");
    let mut child = workspace::cargo()
        .args(workspace::BUILD)
        .args(["--tests", "--message-format=json-render-diagnostics"])
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start cargo")?;
    let mut binaries = Vec::new();
    for line in BufReader::new(child.stdout.take().context("cargo's output is piped")?).lines() {
        if let Some(binary) = test_binary(&line?) {
            binaries.push(binary);
        }
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("the tests do not build ({status})");
    }
    Ok(binaries)
}

impl TestBinary {
    /// The one program with a harness of its own (`tests/e2e/Cargo.toml`), which does not report times.
    fn has_own_harness(&self) -> bool {
        self.suite == Suite::E2e && self.name() == "paid_call"
    }

    fn runs_in(&self, suite: Suite) -> bool {
        match suite {
            Suite::RealNetwork => ON_A_VALIDATOR.contains(&self.name().as_str()),
            suite => self.suite == suite,
        }
    }

    /// File name without the hash that cargo puts behind it.
    pub fn name(&self) -> String {
        let file = self.executable.file_name().unwrap_or_default().to_string_lossy();
        file.rsplit_once('-').map_or(&*file, |(name, _)| name).to_owned()
    }
}

/// Reads one message of cargo's; `Some` if it announces a test program.
fn test_binary(line: &str) -> Option<TestBinary> {
    #[derive(Deserialize)]
    struct Artifact {
        executable: Option<PathBuf>,
        manifest_path: PathBuf,
        profile: Profile,
    }
    #[derive(Deserialize)]
    struct Profile {
        test: bool,
    }
    let artifact: Artifact = serde_json::from_str(line).ok()?;
    let executable = artifact.executable.filter(|_| artifact.profile.test)?;
    let folder = artifact.manifest_path.parent()?.to_path_buf();
    let mut binary = TestBinary { suite: Suite::of_package(&folder), executable, folder };
    if binary.name() == api::TEST {
        binary.suite = Suite::Api;
    } else if binary.name() == REAL_NETWORK {
        binary.suite = Suite::RealNetwork;
    } else if binary.name() == MACHINES {
        binary.suite = Suite::Machines;
    } else if binary.name().starts_with("denial_") {
        binary.suite = Suite::Denial;
    }
    Some(binary)
}

fn run_binaries(suite: Suite, binaries: &[TestBinary]) -> Result<Tally> {
    let database = if suite == Suite::Unit { Some(TestDatabase::start()?) } else { None };
    let validator = match suite {
        Suite::RealNetwork => Some(validator::installed(None)?),
        Suite::E2e => validator::found()?,
        _ => None,
    };
    let plugin = if suite == Suite::RealNetwork { Some(validator::plugin()?) } else { None };
    let schemathesis = if suite == Suite::Api { Some(api::install()?) } else { None };
    let command = |binary: &TestBinary| {
        let mut command = Command::new(&binary.executable);
        command
            .current_dir(&binary.folder)
            .env("CARGO_MANIFEST_DIR", &binary.folder)
            .env("CRTX_BIN", workspace::binary("crtx"));
        if !binary.has_own_harness() {
            // libtest offers the time of each test to nightly compilers alone.
            command.env("RUSTC_BOOTSTRAP", "1").args(["-Zunstable-options", "--report-time"]);
        }
        if let Some(database) = &database {
            command.env("CRTX_TEST_DATABASE_URL", database.url());
        }
        if let Some(validator) = &validator {
            command.env(validator::VARIABLE, validator);
        }
        if let (Some(plugin), Some(validator)) = (&plugin, &validator) {
            command.env(validator::UP_VARIABLE, validator).env(validator::PLUGIN_VARIABLE, plugin);
            command.env("CRTX_CHAOS_FAULTS", FAULTS_ON_A_VALIDATOR);
            // Each of them has a validator, which needs a core to keep its pace.
            command.args(["--test-threads", "1"]);
            command.args(WITH_A_CLOCK_TO_SET.iter().flat_map(|test| ["--skip", test]));
        }
        if let Some(schemathesis) = &schemathesis {
            command.env(api::VARIABLE, schemathesis).arg("--nocapture");
        }
        command
    };
    // Long programs have most tests. If one of them began last, it would run alone in the end.
    let mut queue: Vec<_> = binaries.iter().filter(|binary| binary.runs_in(suite)).collect();
    queue.sort_by_cached_key(|binary| Reverse(binary.executable.metadata().map_or(0, |file| file.len())));
    let queue = Mutex::new(queue.into_iter());
    let next = || queue.lock().next();
    let work = || -> Result<Vec<(&TestBinary, Tally)>> {
        let mut ran = Vec::new();
        while let Some(binary) = next() {
            ran.push((binary, run_program(&mut command(binary), &binary.name())?));
        }
        Ok(ran)
    };
    let ran = thread::scope(|scope| {
        let workers: Vec<_> = (0..suite.programs_at_once()).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().map_err(|_| anyhow!("a thread panicked"))?)
            .collect::<Result<Vec<_>>>()
    })?;
    let mut tally = Tally::default();
    for (binary, mut ran) in ran.into_iter().flatten() {
        if suite.depends_on_time() && !ran.is_success() {
            eprintln!("--- once more: what failed in {}", binary.name());
            let again =
                run_program(command(binary).arg("--exact").args(names_in_program(&ran.failed)), &binary.name())?;
            ran = ran.after(again);
        }
        tally = tally.and(ran);
    }
    Ok(tally)
}

/// Runs one test program, shows what it printed once it has ended, and reads its lines of results.
fn run_program(command: &mut Command, name: &str) -> Result<Tally> {
    let started = Instant::now();
    let mut child = command.stdout(Stdio::piped()).spawn().context("cannot start a test program")?;
    let (mut tally, mut failed, mut printed) = (Tally::default(), 0, format!("--- {name}\n"));
    for line in BufReader::new(child.stdout.take().context("the output is piped")?).lines() {
        let line = line?;
        if let Some(result) = line.strip_prefix("test result: ") {
            tally.passed = number_before(result, " passed");
            failed = number_before(result, " failed");
        } else if let Some((test, passed, took)) = ended_test(&line) {
            let test = format!("{name}: {test}");
            tally.times.push((took, test.clone()));
            if !passed {
                tally.failed.push(test);
            }
        }
        writeln!(printed, "{line}")?;
    }
    let success = child.wait()?.success();
    println!("{printed}--- {name} took {} s", started.elapsed().as_secs());
    // Output of the test itself can hide the line with its name.
    while u64::try_from(tally.failed.len())? < failed {
        tally.failed.push(format!("{name}: a test without a name"));
    }
    // A program that dies without a line of results has failed as well.
    if !success && tally.is_success() {
        tally.failed.push(format!("{name} ended without a result"));
    }
    Ok(tally)
}

/// The tests as the program itself calls them, of names such as `program: test`.
fn names_in_program(failed: &[String]) -> impl Iterator<Item = &str> {
    failed.iter().filter_map(|test| test.split_once(": ")).map(|(_, test)| test)
}

/// The name of the test that a line reports as ended, whether it passed, and how long it took.
fn ended_test(line: &str) -> Option<(&str, bool, Duration)> {
    let (test, result) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let (word, time) = result.split_once(' ').unwrap_or((result, ""));
    let seconds = time.trim_matches(['<', '>', 's']).parse().unwrap_or(0.0);
    let took = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    matches!(word, "ok" | "FAILED").then_some((test, word == "ok", took))
}

fn run_checks(suite: Suite, checks: &[(&str, generated::Check)]) -> Tally {
    let of = |(name, check): &(&str, generated::Check)| {
        let started = Instant::now();
        let tally = match check() {
            Ok(verdict) => {
                println!("{verdict}");
                Tally::passed(1)
            }
            Err(error) => {
                println!("{name}: {error:#}");
                Tally::failed(*name)
            }
        };
        Tally { times: vec![(started.elapsed(), format!("{}: {name}", suite.name()))], ..tally }
    };
    checks.iter().map(of).sum()
}

/// The names of what failed, then one line per suite, last of all; an error if a suite failed or ran nothing.
fn summarise(tallies: &BTreeMap<Suite, Tally>) -> Result<()> {
    println!("\n=== summary");
    for (suite, tally) in tallies {
        eprintln!("{} took {} s", suite.name(), tally.took.as_secs());
    }
    let mut times: Vec<_> = tallies.values().flat_map(|tally| &tally.times).collect();
    times.sort_unstable_by(|one, other| other.cmp(one));
    for (took, test) in times.into_iter().take(SLOWEST) {
        println!("{:6.1} s: {test}", took.as_secs_f64());
    }
    let second: usize = tallies.values().map(|tally| tally.second.len()).sum();
    println!("{second} tests passed only at a second attempt");
    for (suite, tally) in tallies {
        for test in &tally.second {
            println!("passed only at a second attempt in {}: {test}", suite.name());
        }
        for test in &tally.failed {
            println!("failed in {}: {test}", suite.name());
        }
    }
    for (suite, tally) in tallies {
        println!("{}: {} passed, {} failed", suite.name(), tally.passed, tally.failed.len());
    }
    let names = |of: fn(&Tally) -> bool| {
        tallies.iter().filter(|(_, tally)| of(tally)).map(|(suite, _)| suite.name()).collect::<Vec<_>>().join(", ")
    };
    let (empty, failed) = (names(Tally::ran_nothing), names(|tally| !tally.is_success()));
    ensure!(empty.is_empty(), "ran no test: {empty}");
    ensure!(failed.is_empty(), "there are failures: {failed}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_result_and_time_of_a_test_are_read() {
        let name = "api::lists_are_exact";
        let took = Duration::from_millis(1_250);
        assert_eq!(ended_test("test api::lists_are_exact ... FAILED <1.250s>"), Some((name, false, took)));
        assert_eq!(ended_test("test api::lists_are_exact ... ok <1.250s>"), Some((name, true, took)));
        assert_eq!(ended_test("test api::lists_are_exact ... ok"), Some((name, true, Duration::ZERO)));
        assert_eq!(ended_test("test api::lists_are_exact ... ignored"), None);
        assert_eq!(ended_test("test result: FAILED. 1 passed; 1 failed"), None);
    }

    #[test]
    fn other_messages_of_cargo_are_passed_over() {
        assert!(test_binary("not json").is_none());
        assert!(test_binary(r#"{"reason":"build-finished","success":true}"#).is_none());
    }
}
