//! The configuration of the Solana command line, whose key pair and RPC node serve where nothing else is set.

use std::{env, path::Path};

use super::file::Section;
use crate::private_file;

const CONFIG: &str = ".config/solana/cli/config.yml";
const DEFAULT_KEYPAIR: &str = ".config/solana/id.json";

/// Empty if the Solana command line was never set up here.
pub fn read() -> Section {
    env::home_dir().map(|home| read_in(&home)).unwrap_or_default()
}

fn read_in(home: &Path) -> Section {
    let file = private_file::read(&home.join(CONFIG)).ok().flatten();
    let text = file.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    let default = Some(home.join(DEFAULT_KEYPAIR)).filter(|path| path.exists());
    let default = default.and_then(|path| path.into_os_string().into_string().ok());
    Section {
        keypair: value(&text, "keypair_path").or(default),
        rpc_url: value(&text, "json_rpc_url"),
        ..Section::default()
    }
}

/// A value of the file's top level. The file is written by a program and holds one value a line.
fn value(text: &str, key: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?.trim();
    let bare = ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote)).unwrap_or(value);
    (!bare.is_empty() && bare != "~").then(|| bare.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_pair_and_node_are_read_from_the_file_of_the_solana_command_line() {
        let home = tempfile::tempdir().expect("folder");
        assert_eq!(read_in(home.path()), Section::default());
        let text = "---\njson_rpc_url: https://api.devnet.solana.com\nwebsocket_url: ''\nkeypair_path: \"/home/a/id.json\"\n\
                    address_labels:\n  '11111111111111111111111111111111': System Program\n";
        private_file::write(&home.path().join(CONFIG), text.as_bytes()).expect("writes");
        let read = read_in(home.path());
        assert_eq!(read.keypair.as_deref(), Some("/home/a/id.json"));
        assert_eq!(read.rpc_url.as_deref(), Some("https://api.devnet.solana.com"));
        assert_eq!(value(text, "websocket_url"), None);
    }
}
