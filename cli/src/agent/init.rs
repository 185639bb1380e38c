//! `crtx agent init`: writes a folder with an example agent that works.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Write},
    net::{Ipv4Addr, TcpListener},
    ops::RangeInclusive,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use serde_json::json;
use solana_signer::Signer;

use super::manifest;
use crate::{
    arguments::OutputArgs,
    keypair_file,
    output::{self, say, shell_word},
    private_file,
    usage::UsageError,
};

/// Files of the example. `{{NAME}}` stands for the agent's name, `{{PORT}}` for the port of its service.
const FILES: [(&str, &str); 4] = [
    (manifest::FILE_NAME, include_str!("template/agent.toml")),
    ("service.mjs", include_str!("template/service.mjs")),
    ("README.md", include_str!("template/readme.txt")),
    (".gitignore", "result-key.json\n"),
];
const MAX_NAME_CHARS: usize = 80;
const KEY_FILE: &str = "result-key.json";
/// In the configuration folder: which port belongs to which agent on this machine.
const PORTS_FILE: &str = "agent-ports.json";
const PORTS: RangeInclusive<u16> = 4021..=4999;

/// Writes the folder. A file that exists is kept; so an interrupted run can be repeated.
pub fn run(folder: &Path, output: OutputArgs, config: &Path) -> anyhow::Result<()> {
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
    let port = free_port(config, &std::path::absolute(folder)?)?;
    // `agent.toml` comes last: a folder that has it is complete.
    for (file, text) in FILES.iter().rev() {
        write_new(&folder.join(file), &text.replace("{{NAME}}", name).replace("{{PORT}}", &port.to_string()))?;
    }
    if output.json {
        return output::json(
            &json!({"folder": folder, "name": name, "port": port, "result_key": result_key.to_string()}),
        );
    }
    say!("{} has an example agent. Its service listens on port {port}. Next steps:", folder.display());
    say!("");
    say!("  cd {}", shell_word(&folder.to_string_lossy()));
    say!("  node service.mjs &");
    say!("  crtx agent test");
    say!("  crtx agent publish");
    Ok(())
}

/// A port that no other agent of this machine got, and on which nobody listens. The same folder gets the same port again.
fn free_port(config: &Path, folder: &Path) -> anyhow::Result<u16> {
    let path = config.join(PORTS_FILE);
    let bytes = private_file::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut taken: BTreeMap<u16, PathBuf> = bytes.and_then(|it| serde_json::from_slice(&it).ok()).unwrap_or_default();
    // An agent that was deleted needs its port no more.
    taken.retain(|_, other| other == folder || other.join(manifest::FILE_NAME).exists());
    if let Some((port, _)) = taken.iter().find(|(_, other)| *other == folder) {
        return Ok(*port);
    }
    let is_free = |port: &u16| !taken.contains_key(port) && TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    let port = PORTS.into_iter().find(is_free).context("no port from 4021 to 4999 is free")?;
    taken.insert(port, folder.to_owned());
    private_file::write(&path, &serde_json::to_vec(&taken)?)
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(port)
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

    const JSON: OutputArgs = OutputArgs { json: true };

    #[test]
    fn the_folder_is_a_good_agent_with_a_private_key_file() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = parent.path().join("word-count");
        run(&folder, JSON, parent.path()).expect("written");
        assert_eq!(manifest::Manifest::read(&folder).expect("good").metadata.name, "word-count");
        assert!(!private_file::is_open_to_others(&folder.join(KEY_FILE)).expect("written"));
        assert!(run(&folder, JSON, parent.path()).expect_err("twice").to_string().contains("is an agent already"));
    }

    #[test]
    fn two_agents_of_one_machine_get_two_ports_and_an_occupied_one_is_left_out() {
        let parent = tempfile::tempdir().expect("a folder");
        let make = |name: &str| {
            let folder = parent.path().join(name);
            run(&folder, JSON, parent.path()).expect("written");
            let endpoint = manifest::Manifest::read(&folder).expect("good").metadata.endpoint;
            let port = url::Url::parse(&endpoint).expect("a URL").port().expect("a port");
            let service = fs::read_to_string(folder.join("service.mjs")).expect("written");
            assert!(service.contains(&format!("process.env.PORT ?? '{port}')")), "the service has the same port");
            port
        };
        let (first, second) = (make("one"), make("two"));
        assert_ne!(first, second);
        let next =
            PORTS.into_iter().find(|port| *port > second && TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok());
        let occupied = TcpListener::bind((Ipv4Addr::LOCALHOST, next.expect("a port"))).expect("free");
        assert_ne!(make("three"), occupied.local_addr().expect("bound").port());
        fs::remove_dir_all(parent.path().join("one")).expect("removed");
        assert_eq!(make("four"), first, "the port of an agent that is gone");
    }

    #[test]
    fn an_interrupted_run_is_completed_without_a_new_key() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = parent.path().join("word-count");
        run(&folder, JSON, parent.path()).expect("written");
        let key = fs::read(folder.join(KEY_FILE)).expect("written");
        fs::remove_file(folder.join(manifest::FILE_NAME)).expect("removed");
        run(&folder, JSON, parent.path()).expect("completed");
        assert_eq!(fs::read(folder.join(KEY_FILE)).expect("kept"), key);
        assert!(manifest::Manifest::read(&folder).is_ok());
    }
}
