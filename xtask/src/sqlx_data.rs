//! `.sqlx/`: what the checked queries of `crates/store` know about the schema, written by sqlx's own
//! macros while they compile against a freshly migrated database.

use std::fs;

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::{
    test_database::TestDatabase,
    workspace::{self, files_below},
};

const FOLDER: &str = ".sqlx";

pub fn write() -> Result<()> {
    let generated = generate()?;
    let folder = workspace::root().join(FOLDER);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let files = files_below(generated.path())?;
    for file in &files {
        fs::copy(file, folder.join(file.file_name().unwrap_or_default()))?;
    }
    println!("{FOLDER}: {} queries written", files.len());
    Ok(())
}

pub fn check() -> Result<String> {
    workspace::same_files(FOLDER, generate()?.path(), "cargo xtask sqlx")
}

/// A folder with a file for each query.
fn generate() -> Result<TempDir> {
    let root = workspace::root();
    let database = TestDatabase::start()?;
    database.migrate(&root.join("migrations")).context("the migrations")?;
    let out = tempfile::tempdir()?;
    // The macros write only when the crate is compiled; a target folder of its own, with the crate's own
    // part cleaned, makes sure of that and spares the dependencies.
    let target = root.join("target/sqlx");
    let cargo = || {
        let mut command = workspace::cargo();
        // Linted elsewhere.
        command.env("CARGO_TARGET_DIR", &target).env_remove("RUSTC_WORKSPACE_WRAPPER");
        command
    };
    workspace::run(cargo().args(["clean", "--quiet", "--package", "crtx-store"]))?;
    workspace::run(
        cargo()
            .args(["check", "--quiet", "--locked", "--package", "crtx-store", "--all-features"])
            .env("DATABASE_URL", database.url())
            .env("SQLX_OFFLINE", "false")
            .env("SQLX_OFFLINE_DIR", out.path()),
    )?;
    for file in files_below(out.path())? {
        let text = fs::read_to_string(&file)?;
        fs::write(file, text.trim_end().to_owned() + "\n")?;
    }
    Ok(out)
}
