//! Where the workspace is, and how other programs are run in it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
};

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;
use walkdir::{DirEntry, WalkDir};

/// Root of the workspace: the folder above this crate's.
pub fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_path_buf()
}

/// The folders of the workspace's packages.
#[cfg(test)]
pub fn members() -> Result<Vec<String>> {
    let manifest: toml::Table = std::fs::read_to_string(root().join("Cargo.toml"))?.parse()?;
    let members = manifest.get("workspace").and_then(|table| table.get("members")).and_then(toml::Value::as_array);
    let members = members.context("the workspace has members")?;
    members.iter().map(|member| member.as_str().map(str::to_owned).context("a member is a path")).collect()
}

/// The files that git tracks or would track, from the root.
pub fn files() -> Result<BTreeSet<String>> {
    let mut git = Command::new("git");
    git.current_dir(root()).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let listed = output(&mut git)?;
    // A file that was deleted may still be in the index.
    let exists = |file: &&str| root().join(file).is_file();
    let files: BTreeSet<_> = listed.split_terminator('\0').filter(exists).map(str::to_owned).collect();
    ensure!(!files.is_empty(), "git lists no files");
    Ok(files)
}

/// The texts of those files that are wanted, by their path from the root.
pub fn texts(wanted: impl Fn(&str) -> bool) -> Result<BTreeMap<String, String>> {
    let read = |file: String| {
        let text = fs::read_to_string(root().join(&file)).with_context(|| format!("cannot read {file}"))?;
        Ok((file, text))
    };
    files()?.into_iter().filter(|file| wanted(file)).map(read).collect()
}

/// A `cargo` of the toolchain that runs this tool, in the root of the workspace. Cargo's variables about the package of
/// this tool are removed: build scripts depend on them, so half of the dependencies would be compiled again whenever a
/// developer and this tool take turns.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    for (name, _) in std::env::vars_os() {
        let about_this_package = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
        if name.to_str().is_some_and(about_this_package) {
            command.env_remove(name);
        }
    }
    command
}

/// The name of a value as the command line has it.
pub fn name_of(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// A program that [`build_binaries`] built.
pub fn binary(name: &str) -> PathBuf {
    target().join("debug").join(name)
}

/// The profile of what is deployed and measured, and cargo's folder for it.
const RELEASE_PROFILE: &str = "services";

/// A program that [`build_release_binaries`] built.
pub fn release_binary(name: &str) -> PathBuf {
    target().join(RELEASE_PROFILE).join(name)
}

/// The build folder.
pub fn target() -> PathBuf {
    root().join(std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from))
}

/// What is built of the workspace. Every command selects the whole workspace, as `cargo run -- up` and `cargo xtask` do, so
/// that all of them use the same features and no dependency is compiled twice.
pub const BUILD: [&str; 4] = ["build", "--workspace", "--bins", "--locked"];

/// Builds the services and the benchmarks.
pub fn build_binaries() -> Result<()> {
    run(cargo().args(BUILD))
}

/// The same, optimised: what is measured.
pub fn build_release_binaries() -> Result<()> {
    run(cargo().args(BUILD).args(["--profile", RELEASE_PROFILE]))
}

/// Runs a command with inherited output; a status other than 0 is an error that shows the command.
pub fn run(command: &mut Command) -> Result<()> {
    let status = status(command)?;
    if !status.success() {
        bail!("`{}` ended with {status}", shown(command));
    }
    Ok(())
}

pub fn status(command: &mut Command) -> Result<ExitStatus> {
    command.status().with_context(|| format!("cannot start `{}`", shown(command)))
}

/// Standard output of a command that must succeed, as text.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start `{}`", shown(command)))?;
    if !output.status.success() {
        bail!("`{}` ended with {}: {}", shown(command), output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{}` printed what is not UTF-8", shown(command)))
}

/// The command line, for messages.
fn shown(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|part| part.to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Fails unless a committed file or folder is the one that was generated now.
pub fn same_files(committed_at: &str, fresh: &Path, command: &str) -> Result<String> {
    let (committed, generated) = (files_in(&root().join(committed_at))?, files_in(fresh)?);
    let names = committed.keys().chain(generated.keys()).collect::<BTreeSet<_>>().into_iter();
    let differing: Vec<_> = names.filter(|name| committed.get(*name) != generated.get(*name)).collect();
    if !differing.is_empty() {
        bail!("{committed_at} is not what its sources give ({differing:?}): run `{command}`");
    }
    Ok(format!("{committed_at} is what its sources give ({} files)", committed.len()))
}

/// Every file below a folder, sorted.
pub fn files_below(folder: &Path) -> Result<BTreeSet<PathBuf>> {
    let entries = WalkDir::new(folder).follow_links(true).into_iter();
    let entries =
        entries.collect::<Result<Vec<_>, _>>().with_context(|| format!("cannot read {}", folder.display()))?;
    Ok(entries.into_iter().filter(|entry| entry.file_type().is_file()).map(DirEntry::into_path).collect())
}

/// Every file below a folder, by its path in it.
fn files_in(folder: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let read = |path: PathBuf| Ok((path.strip_prefix(folder)?.to_path_buf(), fs::read(&path)?));
    files_below(folder)?.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The features of each library and of the version of it.
    fn features(more: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
        let mut command = cargo();
        command.args(BUILD).args(more).args(["--unit-graph", "-Zunstable-options"]);
        // Cargo offers the graph to nightly compilers alone.
        let graph = output(command.env("RUSTC_BOOTSTRAP", "1")).unwrap();
        let graph: serde_json::Value = serde_json::from_str(&graph).unwrap();
        let mut features: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for unit in graph["units"].as_array().unwrap().iter().filter(|unit| unit["mode"] == "build") {
            let library = format!("{} {} {}", unit["pkg_id"], unit["target"]["kind"], unit["platform"]);
            features.entry(library).or_default().insert(unit["features"].to_string());
        }
        features
    }

    /// A feature that only a dev-dependency turns on is compiled twice, with everything that needs its crate.
    #[test]
    fn a_build_with_tests_uses_the_libraries_of_one_without() {
        let (without, with) = (features(&[]), features(&["--tests"]));
        assert!(without.len() > 500, "{}", without.len());
        let differ: Vec<_> = without.iter().filter(|(library, features)| with[*library] != **features).collect();
        assert!(differ.is_empty(), "{differ:?}");
    }
}
