//! `cargo xtask …`: tests, benchmarks, the program's ELF and everything generated.

mod adr;
mod api;
mod bench;
mod browser;
mod chaos;
mod command_lines;
mod documents;
mod figures;
mod fuzz;
mod generated;
mod growth;
mod idl;
mod idl_additions;
#[cfg(test)]
mod layers;
mod load_generator;
mod markdown;
mod mutants;
mod npm;
#[cfg(test)]
mod one_meaning;
mod program;
mod release;
#[cfg(test)]
mod repeated_lines;
mod reproduce;
mod sdk;
mod source_hash;
mod specification;
mod sqlx_data;
mod suites;
mod tally;
mod test_database;
mod validator;
mod web;
mod workspace;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The project's own commands")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build what is missing and run every suite and check; ends with one summary line per suite.
    Test {
        /// Run only these suites (unit, program, e2e, faults, denial, api, web, browser, generated, real-network,
        /// release). Without names all run but the last two, which take long.
        suites: Vec<suites::Suite>,
    },
    /// Measure. Without `--json` a table is printed and docs/benchmarks.md is updated.
    Bench {
        name: bench::Name,
        #[command(flatten)]
        size: bench::Size,
        /// Print one JSON object on stdout and nothing else there.
        #[arg(long)]
        json: bool,
        /// `reads` at 10 000, 100 000 and 1 000 000 agents and executions: a table.
        #[arg(long, conflicts_with_all = ["json", "agents", "executions", "accounts"])]
        growth: bool,
    },
    /// Print the path of Agave's `solana-test-validator`, after building it if there is none yet.
    Validator {
        /// A program to use instead, packed with `xz` or not.
        path: Option<std::path::PathBuf>,
    },
    /// Build the program's ELF and the record of the build next to it.
    BuildProgram {
        /// Rebuild with the recorded toolchain and fail unless the bytes are the committed ones.
        #[arg(long)]
        check: bool,
    },
    /// Build the program and the dashboard from two clean clones of the last commit, and fail unless both are bit by bit
    /// what is committed.
    Reproduce,
    /// Plant faults in the program and see that the program suite notices each; exit 1 if one survives.
    Mutants {
        /// Run only these (see `--list`); the report is written after a run of all.
        names: Vec<String>,
        /// Print the planted faults, after checking that each still applies.
        #[arg(long)]
        list: bool,
    },
    /// Attack the program with random sequences of instructions, checking every invariant after each step; or attack one
    /// target with inputs that reach new code.
    Fuzz {
        /// Run this target under libFuzzer.
        target: Option<fuzz::Target>,
        /// How long the target runs.
        #[arg(long, default_value_t = 5)]
        minutes: u32,
        /// Without a target: sequences.
        #[arg(long, default_value_t = 10_000, conflicts_with = "target")]
        cases: u32,
        /// Without a target: instructions in each.
        #[arg(long, default_value_t = 50, conflicts_with = "target")]
        steps: u32,
    },
    /// Visit every state that a few calls, their disputes and the collateral can reach, and check each.
    Model {
        /// Calls. Three take hours.
        #[arg(long, default_value_t = 2)]
        calls: u32,
    },
    /// Break a running marketplace again and again while it is used, and check that nobody lost anything.
    Chaos {
        /// Faults in all.
        #[arg(long, default_value_t = 200)]
        faults: usize,
        /// Break what writes, numbers and delivers events instead: so many events, one kill for every thousand.
        #[arg(long, conflicts_with = "faults", num_args = 0..=1, default_missing_value = "1000000")]
        events: Option<u64>,
        /// The same seed gives the same plan. Left out: a new one, which is printed.
        #[arg(long)]
        seed: Option<u64>,
    },
    /// Write the IDL of the program.
    Idl {
        /// Fail unless the committed IDL is the one of the source.
        #[arg(long)]
        check: bool,
        /// Print it instead (used by this tool on itself).
        #[arg(long, hide = true)]
        print: bool,
    },
    /// Write `.sqlx/`, what the checked queries know about the schema.
    Sqlx {
        /// Fail unless the committed data is the one of the queries.
        #[arg(long)]
        check: bool,
    },
    /// Write the list of the decision records in docs/adr/README.md.
    Adr,
    /// Fail unless every generated file is what its source says.
    CheckGenerated,
    /// Check licences, advisories and sources of all dependencies, as deny.toml says.
    Deny,
}

/// Errors are told in one line, without the stack of this tool: most are failures of what it ran.
fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<()> {
    match command {
        Command::Test { suites } => suites::run(&suites),
        Command::Bench { name, growth: true, .. } => growth::run(name),
        Command::Bench { name, size, json, growth: false } => bench::run(name, &size, json),
        Command::BuildProgram { check: false } => program::build(),
        Command::BuildProgram { check: true } => program::check().map(|verdict| println!("{verdict}")),
        Command::Reproduce => reproduce::run().map(|verdict| println!("{verdict}")),
        Command::Mutants { list: true, .. } => mutants::list(),
        Command::Mutants { names, list: false } => mutants::run(&names),
        Command::Fuzz { target: Some(target), minutes, .. } => fuzz::run_target(target, minutes),
        Command::Fuzz { target: None, cases, steps, .. } => fuzz::run(cases, steps),
        Command::Model { calls } => fuzz::model(calls),
        Command::Chaos { faults, events, seed } => chaos::run(faults, events, seed),
        Command::Idl { print: true, .. } => idl::print(),
        Command::Idl { check: true, .. } => idl::check().map(|verdict| println!("{verdict}")),
        Command::Idl { .. } => idl::write(),
        Command::Sqlx { check: true } => sqlx_data::check().map(|verdict| println!("{verdict}")),
        Command::Sqlx { check: false } => sqlx_data::write(),
        Command::Adr => adr::write(),
        Command::CheckGenerated => generated::check_all(),
        Command::Deny => release::deny().map(|verdict| println!("{verdict}")),
        Command::Validator { path } => validator::installed(path).map(|program| println!("{}", program.display())),
    }
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;

    use super::*;

    #[test]
    fn every_command_line_of_xtask_in_the_documents_parses() {
        let lines = documents::xtask_command_lines().expect("the documents are read");
        assert!(lines.len() > 10, "the commands were not read");
        for (place, arguments) in lines {
            // With `--help` at the end the whole line is read, and values that a document leaves out are not missed.
            let words = ["xtask".to_owned()].into_iter().chain(arguments).chain(["--help".to_owned()]);
            let error = Cli::try_parse_from(words).err().map(|error| (error.kind(), error.to_string()));
            assert!(error.as_ref().is_some_and(|(kind, _)| *kind == ErrorKind::DisplayHelp), "{place}: {error:?}");
        }
    }
}
