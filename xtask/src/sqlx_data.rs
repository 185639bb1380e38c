//! `.sqlx/`: what the checked queries of `crates/store` know about the schema, written by sqlx's own
//! macros while they compile against a freshly migrated database.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result, bail};

use crate::{test_database::TestDatabase, workspace};

const FOLDER: &str = ".sqlx";

pub fn write() -> Result<()> {
    let generated = generate()?;
    let folder = workspace::root().join(FOLDER);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    for (name, text) in &generated {
        fs::write(folder.join(name), text)?;
    }
    println!("{FOLDER}: {} queries written", generated.len());
    Ok(())
}

pub fn check() -> Result<String> {
    let (committed, generated) = (read(&workspace::root().join(FOLDER))?, generate()?);
    if committed != generated {
        let stale = committed.keys().filter(|name| !generated.contains_key(*name)).count();
        let missing = generated.iter().filter(|(name, text)| committed.get(*name) != Some(*text)).count();
        bail!(
            "{FOLDER} is not what the queries need ({missing} missing or changed, {stale} left over): run `cargo xtask sqlx`"
        );
    }
    Ok(format!("sqlx: {FOLDER} is the one of {} queries", committed.len()))
}

/// File name and text of every query's data.
fn generate() -> Result<BTreeMap<String, String>> {
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
    read(out.path())
}

fn read(folder: &Path) -> Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        files.insert(name, fs::read_to_string(&path)?.trim_end().to_owned() + "\n");
    }
    Ok(files)
}
