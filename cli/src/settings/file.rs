//! `config.toml`: what the user sets for each network.

use std::{collections::BTreeMap, path::Path, str::FromStr};

use anyhow::Context;
use serde::{Deserialize, Serialize};
use solana_pubkey::Pubkey;

use super::network::Network;
use crate::{
    private_file,
    usage::{UsageError, http_url},
};

pub const FILE_NAME: &str = "config.toml";

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigFile {
    /// The network that commands use if none is named.
    pub network: Option<Network>,
    /// What is set for each network. Other keys of the file name no network, so they are errors.
    #[serde(flatten)]
    sections: BTreeMap<Network, Section>,
}

/// One network. All fields are text here and checked when they are set and when they are used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section {
    pub url: Option<String>,
    pub rpc_url: Option<String>,
    pub program_id: Option<String>,
    pub keypair: Option<String>,
}

impl ConfigFile {
    /// An empty configuration if there is no file.
    pub fn read(folder: &Path) -> anyhow::Result<Self> {
        let path = folder.join(FILE_NAME);
        let bytes = private_file::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let Some(bytes) = bytes else { return Ok(Self::default()) };
        let text = String::from_utf8(bytes).with_context(|| format!("{} is not text", path.display()))?;
        let parsed: Result<Self, toml::de::Error> = toml::from_str(&text);
        parsed.map_err(|error| {
            let error = error.to_string();
            // The parser shows the place in several lines.
            let what: Vec<&str> = error.split_whitespace().collect();
            UsageError::new(format!("{} cannot be used: {}", path.display(), what.join(" "))).into()
        })
    }

    pub fn write(&self, folder: &Path) -> anyhow::Result<()> {
        let path = folder.join(FILE_NAME);
        let text = toml::to_string(self)?;
        private_file::write(&path, text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
    }

    pub fn section(&self, network: Network) -> &Section {
        const EMPTY: &Section = &Section { url: None, rpc_url: None, program_id: None, keypair: None };
        self.sections.get(&network).unwrap_or(EMPTY)
    }

    /// Sets `network`, or `url`, `rpc_url`, `program_id` or `keypair` of a network (`devnet.url`; without its name, of
    /// `current`). An empty value removes the setting.
    pub fn set(&mut self, key: &str, value: &str, current: Network) -> Result<(), UsageError> {
        if key == "network" {
            self.network = match value {
                "" => None,
                name => Some(Network::from_str(name).map_err(|_| {
                    UsageError::new(format!("`{name}` is no network; choose local, devnet or mainnet."))
                })?),
            };
            return Ok(());
        }
        let (network, field) = match key.split_once('.') {
            Some((name, field)) => (Network::from_str(name).map_err(|_| unknown(key))?, field),
            None => (current, key),
        };
        let mut section = self.section(network).clone();
        let (place, checked) = match field {
            "url" => (&mut section.url, http_url(value).map(drop)),
            "rpc_url" => (&mut section.rpc_url, http_url(value).map(drop)),
            "program_id" => (&mut section.program_id, address(value).map(drop)),
            "keypair" => (&mut section.keypair, Ok(())),
            _ => return Err(unknown(key)),
        };
        if !value.is_empty() {
            checked.map_err(|what| UsageError::new(format!("`{value}` cannot be the {field}: {what}.")))?;
        }
        *place = Some(value.to_owned()).filter(|value| !value.is_empty());
        self.sections.insert(network, section);
        self.sections.retain(|_, section| *section != Section::default());
        Ok(())
    }
}

/// Reads the address of a program.
pub fn address(text: &str) -> Result<Pubkey, String> {
    text.parse().map_err(|_| "not an address".to_owned())
}

fn unknown(key: &str) -> UsageError {
    UsageError::new(format!(
        "There is no setting `{key}`; the settings are network, and url, rpc_url, program_id and keypair of local, \
         devnet and mainnet (such as devnet.url)."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_is_read_back_and_an_empty_value_removes_it() {
        let folder = tempfile::tempdir().expect("folder");
        let mut file = ConfigFile::default();
        file.set("devnet.url", "https://api.example", Network::Local).expect("sets");
        file.set("keypair", "/keys/id.json", Network::Mainnet).expect("sets");
        file.set("network", "devnet", Network::Local).expect("sets");
        file.write(folder.path()).expect("writes");
        let read = ConfigFile::read(folder.path()).expect("reads");
        assert_eq!(read, file);
        assert_eq!(read.section(Network::Devnet).url.as_deref(), Some("https://api.example"));
        assert_eq!(read.section(Network::Mainnet).keypair.as_deref(), Some("/keys/id.json"));
        assert_eq!(read.network, Some(Network::Devnet));
        file.set("devnet.url", "", Network::Local).expect("removes");
        assert_eq!(file.section(Network::Devnet), &Section::default());
    }

    #[test]
    fn settings_that_do_not_exist_and_values_that_cannot_be_are_refused() {
        let mut file = ConfigFile::default();
        for (key, value) in [
            ("nonsense", "x"),
            ("moonnet.url", "https://a.example"),
            ("devnet.nonsense", "x"),
            ("url", "nonsense"),
            ("rpc_url", "ftp://a.example"),
            ("program_id", "x"),
            ("network", "moonnet"),
        ] {
            assert!(file.set(key, value, Network::Local).is_err(), "{key} {value}");
        }
        assert_eq!(file, ConfigFile::default());
    }

    #[test]
    fn a_file_with_unknown_settings_is_refused_in_one_sentence() {
        let folder = tempfile::tempdir().expect("folder");
        std::fs::write(folder.path().join(FILE_NAME), "[local]\nurll = \"x\"\n").expect("writes");
        let error = ConfigFile::read(folder.path()).expect_err("refused");
        assert!(error.is::<UsageError>());
        let text = error.to_string();
        assert!(text.contains("config.toml") && text.contains("urll") && !text.contains('\n'), "{text}");
    }
}
