//! `crtx agent init`: writes a folder with an example agent that works.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, bail};
use serde_json::json;
use solana_signer::Signer;

use super::manifest;
use crate::{arguments::OutputArgs, keypair_file, output, usage::UsageError};

/// Files of the example. `{{NAME}}` stands for the agent's name.
const FILES: [(&str, &str); 4] = [
    (manifest::FILE_NAME, include_str!("template/agent.toml")),
    ("service.mjs", include_str!("template/service.mjs")),
    ("README.md", include_str!("template/readme.txt")),
    (".gitignore", "result-key.json\n"),
];
const MAX_NAME_CHARS: usize = 80;
const KEY_FILE: &str = "result-key.json";

/// Arguments of `crtx agent init`.
#[derive(Clone, Debug, clap::Args)]
pub struct InitArgs {
    /// The folder to make; its name becomes the agent's name
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Writes the folder. A file that exists is kept; so an interrupted run can be repeated.
pub fn run(arguments: &InitArgs) -> anyhow::Result<ExitCode> {
    let folder = &arguments.folder;
    let name = folder.file_name().and_then(|name| name.to_str()).context("the folder needs a name")?;
    if !is_plain(name) {
        let problem =
            format!("`{name}` cannot be the name of an agent; use letters, digits, `-`, `_`, `.` and spaces.");
        return Err(UsageError::new(problem).into());
    }
    if folder.join(manifest::FILE_NAME).exists() && folder.join(KEY_FILE).exists() {
        bail!("{} is an agent already", folder.display());
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    if !folder.join(KEY_FILE).exists() {
        keypair_file::create(&folder.join(KEY_FILE))?;
    }
    let result_key = keypair_file::read(&folder.join(KEY_FILE))?.pubkey();
    // `agent.toml` comes last: a folder that has it is complete.
    for (file, text) in FILES.iter().rev() {
        write_new(&folder.join(file), &text.replace("{{NAME}}", name))?;
    }
    if arguments.output.json {
        output::json(&json!({"folder": folder, "name": name, "result_key": result_key.to_string()}))?;
        return Ok(ExitCode::SUCCESS);
    }
    println!("{} has an example agent. Next steps:", folder.display());
    println!();
    println!("  cd {}", folder.display());
    println!("  node service.mjs &");
    println!("  crtx agent test");
    println!("  crtx agent publish");
    Ok(ExitCode::SUCCESS)
}

/// A name that needs no quoting in the files. It can be changed in `agent.toml` to any other one.
fn is_plain(name: &str) -> bool {
    name.chars().count() <= MAX_NAME_CHARS
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' '))
}

/// Writes a file that does not exist yet; one that exists stays.
fn write_new(path: &Path, text: &str) -> anyhow::Result<()> {
    match fs::File::create_new(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        created => created
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .with_context(|| format!("cannot write {}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::private_file;

    #[test]
    fn the_folder_is_a_good_agent_with_a_private_key_file() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = parent.path().join("word-count");
        let arguments = InitArgs { folder: folder.clone(), output: OutputArgs { json: true } };
        run(&arguments).expect("written");
        assert_eq!(manifest::Manifest::read(&folder).expect("good").metadata.name, "word-count");
        assert!(!private_file::is_open_to_others(&folder.join(KEY_FILE)).expect("written"));
        assert!(run(&arguments).expect_err("twice").to_string().contains("is an agent already"));
    }

    #[test]
    fn an_interrupted_run_is_completed_without_a_new_key() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = parent.path().join("word-count");
        let arguments = InitArgs { folder: folder.clone(), output: OutputArgs { json: true } };
        run(&arguments).expect("written");
        let key = fs::read(folder.join(KEY_FILE)).expect("written");
        fs::remove_file(folder.join(manifest::FILE_NAME)).expect("removed");
        run(&arguments).expect("completed");
        assert_eq!(fs::read(folder.join(KEY_FILE)).expect("kept"), key);
        assert!(manifest::Manifest::read(&folder).is_ok());
    }
}
