//! Command lines as documents contain them: which program each asks for, and whether it can be right.

use std::fs;

use anyhow::Result;

use crate::workspace;

/// Programs whose commands are not checked.
const FOREIGN_PROGRAMS: [&str; 38] = [
    "pip",
    "pytest",
    "git",
    "node",
    "npx",
    "cd",
    "curl",
    "rustup",
    "export",
    "mkdir",
    "chmod",
    "cat",
    "cmp",
    "sed",
    "until",
    "solana",
    "solana-test-validator",
    "solana-verify",
    "squads-multisig-cli",
    "promtool",
    "psql",
    "pg_isready",
    "systemctl",
    "journalctl",
    "df",
    "apt-get",
    "cp",
    "pg_dump",
    "pg_restore",
    "tar",
    "apt",
    "chown",
    "docker",
    "helm",
    "kubectl",
    "openssl",
    "printf",
    "skopeo",
];

/// What a variable of a shell stands for, if [`VALUES`] does not know its name: most are addresses.
const VARIABLE: &str = "11111111111111111111111111111111";

/// A stand-in of the documents for a value, and a value that the commands accept.
const VALUES: [(&str, &str); 8] = [
    ("AGENT_ID", "11111111111111111111111111111111"),
    ("WALLET", "11111111111111111111111111111111"),
    ("EXECUTION_ID", "00000000-0000-0000-0000-000000000000"),
    ("WEBHOOK_ID", "00000000-0000-0000-0000-000000000000"),
    ("JSON", "{}"),
    ("URL", "http://127.0.0.1"),
    ("N", "1"),
    ("S", "1"),
];

/// What a command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub enum Asked {
    /// A program of this repository, with its arguments.
    Program(&'static str, Vec<String>),
    Xtask(Vec<String>),
    /// Another command of cargo's.
    Cargo(Vec<String>),
    Npm(Vec<String>),
    /// A file of the repository.
    Script(String),
    Foreign,
    Unknown,
}

/// Splits a command line as a shell does, as far as the documents need it, and puts values for stand-ins.
fn words(command: &str) -> Vec<String> {
    let command = command.split(" > ").next().unwrap_or(command);
    // A variable that gets what a command prints.
    let printed = command.split_once("=$(").and_then(|(_, rest)| rest.strip_suffix(')'));
    let command = printed.unwrap_or(command);
    // What a shell does not understand is an unknown program.
    let mut words = shlex::split(command).unwrap_or_else(|| vec![command.to_owned()]);
    let stands_for_more = |word: &String| word.is_empty() || word.contains('…') || word.starts_with(['<', '[']);
    words.retain(|word| !stands_for_more(word));
    for word in &mut words {
        if let Some(name) = word.strip_prefix('$') {
            let known = VALUES.iter().any(|(value, _)| *value == name);
            *word = if known { name.to_owned() } else { VARIABLE.to_owned() };
        }
        if let Some((_, value)) = VALUES.iter().find(|(name, _)| name == word) {
            *word = (*value).to_owned();
        }
    }
    let assigned = words.iter().take_while(|word| word.split_once('=').is_some_and(|(name, _)| !name.starts_with('-')));
    words.split_off(assigned.count())
}

pub fn asked(command: &str) -> Asked {
    let mut words = words(command).into_iter();
    let Some(program) = words.next() else { return Asked::Foreign };
    let arguments: Vec<String> = words.collect();
    match program.as_str() {
        "crtx" => Asked::Program("crtx", arguments),
        "crtx-server" => Asked::Program("crtx-server", arguments),
        "cargo" => of_cargo(arguments),
        "npm" => Asked::Npm(arguments),
        name if FOREIGN_PROGRAMS.contains(&name) => Asked::Foreign,
        name if name.contains('/') => Asked::Script(name.to_owned()),
        _ => Asked::Unknown,
    }
}

fn of_cargo(arguments: Vec<String>) -> Asked {
    if let Some(("xtask", rest)) = arguments.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return Asked::Xtask(rest.to_vec());
    }
    let mut parts = arguments.splitn(2, |word| word == "--");
    let (own, passed) = (parts.next().unwrap_or_default(), parts.next());
    match (own.first().map(String::as_str), passed) {
        (Some("run"), Some(passed)) => {
            let server = own.iter().any(|word| word == "crtx-server");
            Asked::Program(if server { "crtx-server" } else { "crtx" }, passed.to_vec())
        }
        _ => Asked::Cargo(arguments),
    }
}

/// What is wrong with a command line, as far as it is known without the programs of this repository. `exists` knows the
/// files of the repository.
pub fn wrong(command: &str, exists: impl Fn(&str) -> bool) -> Result<Option<String>> {
    let wrong = match asked(command) {
        Asked::Program(..) | Asked::Xtask(_) | Asked::Foreign => None,
        Asked::Unknown => Some(format!("`{command}`: unknown program")),
        Asked::Script(path) => (!exists(&path)).then(|| format!("`{command}`: there is no `{path}`")),
        Asked::Npm(arguments) => match arguments.as_slice() {
            [run, script, ..] if run == "run" => {
                let manifest = fs::read_to_string(workspace::root().join("app/package.json"))?;
                let manifest: serde_json::Value = serde_json::from_str(&manifest)?;
                let known = manifest.pointer("/scripts").and_then(|scripts| scripts.get(script)).is_some();
                (!known).then(|| format!("`{command}`: app/package.json has no script `{script}`"))
            }
            [install, ..] if ["ci", "install", "test", "audit"].contains(&install.as_str()) => None,
            _ => Some(format!("`{command}`: unknown command of npm")),
        },
        Asked::Cargo(arguments) => wrong_cargo(&arguments)?.map(|what| format!("`{command}`: {what}")),
    };
    Ok(wrong)
}

/// Packages and profiles that the workspace does not have.
fn wrong_cargo(arguments: &[String]) -> Result<Option<String>> {
    // `build-sbf` is a tool of Anza's.
    const COMMANDS: [&str; 11] =
        ["build", "test", "run", "check", "clippy", "fmt", "install", "deny", "audit", "auditable", "build-sbf"];
    let command = arguments.first().map(String::as_str).unwrap_or_default();
    if !COMMANDS.contains(&command) {
        return Ok(Some("unknown command of cargo".to_owned()));
    }
    let lock = fs::read_to_string(workspace::root().join("Cargo.lock"))?;
    let manifest: toml::Table = fs::read_to_string(workspace::root().join("Cargo.toml"))?.parse()?;
    for (flag, value) in arguments.iter().zip(arguments.iter().skip(1)) {
        let known = match flag.as_str() {
            "-p" | "--package" => lock.contains(&format!("name = \"{value}\"")),
            "--profile" => manifest.get("profile").is_some_and(|profiles| profiles.get(value).is_some()),
            _ => true,
        };
        if !known {
            return Ok(Some(format!("the workspace has no `{value}`")));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_are_recognised() {
        let program =
            |name, arguments: &[&str]| Asked::Program(name, arguments.iter().map(|word| (*word).to_owned()).collect());
        let xtask = |arguments: &[&str]| Asked::Xtask(arguments.iter().map(|word| (*word).to_owned()).collect());
        assert_eq!(asked("cargo run -- up --fresh"), program("crtx", &["up", "--fresh"]));
        assert_eq!(
            asked("A=b cargo run -p crtx-server -- config docs > c.md"),
            program("crtx-server", &["config", "docs"])
        );
        assert_eq!(asked("crtx execute AGENT_ID --task 'a b'"), {
            program("crtx", &["execute", "11111111111111111111111111111111", "--task", "a b"])
        });
        assert_eq!(asked("cargo xtask bench <name>"), xtask(&["bench"]));
        assert_eq!(asked("ID=$(crtx wallet show \"$WALLET\")"), program("crtx", &["wallet", "show", VARIABLE]));
        assert_eq!(asked("export A=b"), Asked::Foreign);
        assert_eq!(asked("git pull"), Asked::Foreign);
        assert_eq!(asked(".ci/run"), Asked::Script(".ci/run".to_owned()));
        assert_eq!(asked("frobnicate"), Asked::Unknown);
    }

    #[test]
    fn commands_that_the_repository_does_not_have_are_found() {
        let found =
            |command: &str| wrong(command, |path| path == "app/here.sh").expect("the manifests are read").is_some();
        for right in
            ["cargo build -p xtask", "cargo test --profile services", "npm run generate", "app/here.sh", "git pull"]
        {
            assert!(!found(right), "{right}");
        }
        let gone =
            ["cargo build -p gone", "cargo run --profile gone", "cargo gone", "npm run gone", "app/gone.sh", "gone"];
        for wrong in gone {
            assert!(found(wrong), "{wrong}");
        }
    }
}
