//! `cargo xtask reproduce`: the program and the dashboard, built from clean clones in two folders, are bit by bit what is
//! committed.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};

use crate::{npm::Package, program, source_hash, web, workspace};

/// Paths of different lengths, so that a path in the output would be noticed.
const CLONES: [&str; 2] = ["one", "the/other/one"];

/// SHA-256 of each file.
type Hashes = BTreeMap<PathBuf, String>;

pub fn run() -> Result<String> {
    let folder = tempfile::tempdir()?;
    for name in CLONES {
        let clone = folder.path().join(name);
        workspace::run(Command::new("git").args(["clone", "--quiet", "--shared"]).arg(workspace::root()).arg(&clone))?;
        let committed = hashes(&clone)?;
        build(&clone)?;
        let built = hashes(&clone)?;
        let names = committed.keys().chain(built.keys());
        let different: Vec<_> = names.filter(|name| committed.get(*name) != built.get(*name)).collect();
        ensure!(different.is_empty(), "built from {} it is not what is committed: {different:?}", clone.display());
        let lines = built.iter().map(|(file, hash)| format!("{hash}  {}\n", file.display())).collect::<String>();
        let (elf, all) = (built.get(Path::new(program::ELF)).context("the ELF")?, hex::encode(Sha256::digest(lines)));
        println!("{}: ELF {elf}; {} files, with those of the dashboard, {all}", clone.display(), built.len());
    }
    Ok(format!("program and dashboard are the committed bytes, from {} clean clones", CLONES.len()))
}

/// Both in place of the committed ones, which are removed first. Nothing that was compiled before is used but the program's
/// toolchain.
fn build(clone: &Path) -> Result<()> {
    let (elf, dashboard) = (clone.join(program::ELF), clone.join(web::BUILD));
    std::fs::remove_file(&elf)?;
    std::fs::remove_dir_all(&dashboard)?;
    let target = clone.join("target/program");
    let unavailable = program::build_elf(program::recipe_here(), clone, Some(&target), None, &elf)?;
    ensure!(unavailable.is_none(), "the program cannot be built on this machine: {unavailable:?}");
    let app = Package::at(clone.join("app").to_str().context("the path is text")?);
    app.install()?;
    workspace::run(&mut app.npm(&["run", "build", "--silent", "--", "--logLevel=error"]))
}

fn hashes(clone: &Path) -> Result<Hashes> {
    let mut files = workspace::files_below(&clone.join(web::BUILD))?;
    files.insert(clone.join(program::ELF));
    let hash = |file: PathBuf| Ok((file.strip_prefix(clone)?.to_path_buf(), source_hash::of_file(&file)?));
    files.into_iter().map(hash).collect()
}
