//! Everything that is generated and committed, checked against its source.

use std::{fs, process::Command};

use anyhow::{Context, Result, ensure};

use crate::{bench, idl, program, sqlx_data, web, workspace};

type Check = fn() -> Result<String>;

/// Name of each generated thing and how it is checked; a check tells what it found.
pub const CHECKS: [(&str, Check); 6] = [
    ("idl", idl::check),
    ("client", web::check_client),
    ("openapi", openapi),
    ("sqlx", sqlx_data::check),
    ("cu", bench::check_cu),
    ("program", || program::check().map(|verdict| verdict.to_string())),
];

pub fn check_all() -> Result<()> {
    for (name, check) in CHECKS {
        eprintln!("checking {name} …");
        println!("{}", check()?);
    }
    Ok(())
}

/// The OpenAPI document is written by the binary that serves it.
fn openapi() -> Result<String> {
    const PATH: &str = "docs/openapi.json";
    let root = workspace::root();
    workspace::build_binaries()?;
    let served = workspace::output(Command::new(workspace::binary("crtx")).arg("openapi"))?;
    let committed = fs::read_to_string(root.join(PATH)).with_context(|| format!("cannot read {PATH}"))?;
    ensure!(
        served.trim_end() == committed.trim_end(),
        "{PATH} is not what the services serve: run `cargo run -- openapi > {PATH}`"
    );
    Ok(format!("openapi: {PATH} is the one of the handlers"))
}
