//! Everything that is generated and committed, checked against its source.

use std::{fs, process::Command};

use anyhow::{Context, Result, ensure};

use crate::{adr, bench, documents, idl, program, sqlx_data, web, workspace};

pub type Check = fn() -> Result<String>;

/// Name of each generated thing and how it is checked; a check returns what it found. The documents are not generated,
/// but they repeat what the programs and the benchmarks say.
pub const CHECKS: [(&str, Check); 12] = [
    ("idl", idl::check),
    ("client", || web::check_script("generate-client.mjs", "app/src/generated", "npm run generate")),
    ("api types", || web::check_script("generate-api.mjs", "app/src/shared/api/schema.d.ts", "npm run generate:api")),
    ("dashboard", web::check_build),
    ("openapi", || same("docs/openapi.json", "crtx openapi", "cargo run -- openapi")),
    ("configuration", || {
        same("docs/configuration.md", "crtx-server config docs", "cargo run -p crtx-server -- config docs")
    }),
    ("sqlx", sqlx_data::check),
    ("cu", bench::check_cu),
    ("records", adr::check),
    ("documents", documents::check),
    ("figures", bench::older_code),
    ("program", program::check),
];

pub fn check_all() -> Result<()> {
    for (name, check) in CHECKS {
        eprintln!("checking {name} …");
        println!("{}", check()?);
    }
    Ok(())
}

/// Compares a committed file with what a program of the workspace prints.
fn same(path: &str, program: &str, command: &str) -> Result<String> {
    workspace::build_binaries()?;
    let (binary, arguments) = program.split_once(' ').context("a program has arguments")?;
    let printed = workspace::output(Command::new(workspace::binary(binary)).args(arguments.split(' ')))?;
    let committed = fs::read_to_string(workspace::root().join(path)).with_context(|| format!("cannot read {path}"))?;
    ensure!(
        printed.trim_end() == committed.trim_end(),
        "{path} differs from what `{binary}` prints: run `{command} > {path}`"
    );
    Ok(format!("{path} is up to date"))
}
