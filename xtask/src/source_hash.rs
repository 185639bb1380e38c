//! One hash over everything that the program's bytes depend on: its sources, the recipe that builds them, and
//! the exact versions of its dependencies.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::workspace::{self, files_below};

const PACKAGE: &str = "agent-marketplace";
/// Every file below these folders counts, so a new file cannot be forgotten.
const FOLDERS: [&str; 3] = ["programs/agent-marketplace", "crates/protocol/src/onchain", "toolchain"];
/// Endings of files with code.
const CODE: [&str; 6] = ["rs", "sql", "ts", "tsx", "css", "so"];
/// The result of the build, which is not a source.
const ARTIFACTS: &str = "programs/agent-marketplace/artifacts";

/// Hexadecimal SHA-256 over the sorted list of inputs.
pub fn of_program() -> Result<String> {
    let root = workspace::root();
    let mut hash = Sha256::new();
    for file in &sources(&root)? {
        let name = file.strip_prefix(&root)?.to_string_lossy();
        let bytes = fs::read(file).with_context(|| format!("cannot read {name}"))?;
        hash.update(format!("{name} {}\n", hex::encode(Sha256::digest(&bytes))));
    }
    for package in built_from(PACKAGE, &fs::read_to_string(root.join("Cargo.lock"))?)? {
        hash.update(format!("{package}\n"));
    }
    Ok(hex::encode(hash.finalize()))
}

/// The files of the program and of its recipe, without artifacts and documents.
fn sources(root: &Path) -> Result<BTreeSet<PathBuf>> {
    let mut files = BTreeSet::new();
    for folder in FOLDERS {
        files.extend(files_below(&root.join(folder))?);
    }
    let artifacts = root.join(ARTIFACTS);
    files.retain(|file| !file.starts_with(&artifacts) && file.extension().is_none_or(|ending| ending != "md"));
    Ok(files)
}

/// The first digits of a SHA-256 over the code below these folders, without its tests, and over the versions of all
/// dependencies.
pub fn of_code(folders: &[&str]) -> Result<String> {
    let root = workspace::root();
    let mut files = BTreeSet::from([root.join("Cargo.lock")]);
    for folder in folders {
        let found = files_below(&root.join(folder))?;
        files.extend(found.into_iter().filter(|file| {
            let is_code = file.extension().is_some_and(|ending| CODE.iter().any(|code| ending == *code));
            is_code && !file.components().any(|part| part.as_os_str() == "tests" || part.as_os_str() == "node_modules")
        }));
    }
    let mut hash = Sha256::new();
    for file in files {
        hash.update(format!("{} {}\n", file.strip_prefix(&root)?.display(), of_file(&file)?));
    }
    Ok(hex::encode(hash.finalize()).chars().take(12).collect())
}

/// SHA-256 of a file, in hexadecimal.
pub fn of_file(path: &Path) -> Result<String> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(hex::encode(Sha256::digest(&bytes)))
}

#[derive(Deserialize)]
struct Lock {
    package: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    checksum: Option<String>,
    #[serde(default)]
    dependencies: Vec<String>,
}

/// `name version checksum` of every package that this one can reach in the lock file, sorted.
pub fn built_from(package: &str, lock: &str) -> Result<BTreeSet<String>> {
    let lock: Lock = toml::from_str(lock).context("Cargo.lock")?;
    let mut by_name: BTreeMap<&str, Vec<&Package>> = BTreeMap::new();
    for package in &lock.package {
        by_name.entry(&package.name).or_default().push(package);
    }
    let mut seen = BTreeSet::new();
    let mut open: Vec<String> = vec![package.to_owned()];
    while let Some(wanted) = open.pop() {
        // A dependency is written `name`, or `name version` where the lock holds several.
        let (name, version) =
            wanted.split_once(' ').map_or((wanted.as_str(), None), |(name, version)| (name, Some(version)));
        let candidates = by_name.get(name).map(Vec::as_slice).unwrap_or_default();
        let named = |package: &&&Package| version.is_none_or(|v| v.split(' ').next() == Some(&package.version));
        if let Some(package) = candidates.iter().find(named) {
            let line =
                format!("{} {} {}", package.name, package.version, package.checksum.as_deref().unwrap_or("workspace"));
            if seen.insert(line) {
                open.extend(package.dependencies.iter().cloned());
            }
        }
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = r#"
        [[package]]
        name = "agent-marketplace"
        version = "0.1.0"
        dependencies = ["a", "b 2.0.0"]
        [[package]]
        name = "a"
        version = "1.0.0"
        checksum = "aa"
        [[package]]
        name = "b"
        version = "1.0.0"
        checksum = "b1"
        [[package]]
        name = "b"
        version = "2.0.0"
        checksum = "b2"
        dependencies = ["a"]
        [[package]]
        name = "unrelated"
        version = "1.0.0"
        checksum = "cc"
    "#;

    #[test]
    fn every_file_that_the_program_is_compiled_from_counts() {
        let root = workspace::root();
        let sources = sources(&root).expect("the folders are read");
        for file in [
            "programs/agent-marketplace/Cargo.toml",
            "programs/agent-marketplace/src/instructions/shared/escrow.rs",
            "programs/agent-marketplace/src/state/config.rs",
            "crates/protocol/src/onchain/fee.rs",
            "toolchain/build-sbf.sh",
        ] {
            assert!(sources.contains(&root.join(file)), "{file}");
        }
        assert!(sources.iter().all(|file| !file.starts_with(root.join(ARTIFACTS))));
        // The program links the protocol crate without its feature `host`: what is not below `onchain` needs it.
        let protocol = fs::read_to_string(root.join("crates/protocol/src/lib.rs")).expect("the crate is there");
        let modules: Vec<&str> = protocol.lines().collect();
        for pair in modules.windows(2).filter(|pair| pair[1].starts_with("pub mod ")) {
            assert_eq!(pair[0], r#"#[cfg(feature = "host")]"#, "{}", pair[1]);
        }
    }

    #[test]
    fn only_what_the_program_reaches_counts() {
        let found: Vec<String> = built_from(PACKAGE, LOCK).expect("lock").into_iter().collect();
        assert_eq!(found, ["a 1.0.0 aa", "agent-marketplace 0.1.0 workspace", "b 2.0.0 b2"]);
    }
}
