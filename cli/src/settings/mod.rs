//! Where a command finds the service, the chain and the key pair: flag, environment, `config.toml`, the last
//! `crtx up`, the Solana command line, built-in value, in this order.

mod file;
mod folder;
mod local_run;
mod network;
mod solana_cli;

use std::{
    fmt,
    path::{Path, PathBuf},
};

use anyhow::Context;
use serde::Serialize;
use solana_pubkey::Pubkey;
use url::{Host, Url};

use self::solana_cli::SolanaCli;
pub use self::{
    file::{ConfigFile, FILE_NAME as CONFIG_FILE_NAME},
    folder::find as find_folder,
    local_run::{Keypairs, LocalRun},
    network::Network,
};
use crate::usage::{UsageError, http_url};

/// Everything that is set, for one network.
#[derive(Clone, Debug)]
pub struct Settings {
    pub folder: PathBuf,
    pub network: Network,
    pub file: ConfigFile,
    /// The last `crtx up`; only for the network `local`.
    pub local: Option<LocalRun>,
    solana: SolanaCli,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A flag, or its environment variable.
    Given,
    ConfigFile,
    /// The last `crtx up` of this machine.
    LocalRun,
    SolanaCli,
    BuiltIn,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Given => "flag or environment",
            Self::ConfigFile => "config.toml",
            Self::LocalRun => "the last crtx up",
            Self::SolanaCli => "the Solana CLI's configuration",
            Self::BuiltIn => "built in",
        })
    }
}

/// A value and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found<T> {
    pub value: T,
    pub source: Source,
}

/// Who signs. On a local network the key pairs of all roles are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The user's own wallet.
    Wallet,
    Admin,
    Resolver,
}

impl Settings {
    /// Reads the files. `network`: the one that the command line or the environment names.
    pub fn load(network: Option<Network>) -> anyhow::Result<Self> {
        Self::of(folder::find()?, network, SolanaCli::read())
    }

    fn of(folder: PathBuf, network: Option<Network>, solana: SolanaCli) -> anyhow::Result<Self> {
        let file = ConfigFile::read(&folder)?;
        let network = network.or(file.network).unwrap_or_default();
        let local = match network {
            Network::Local => LocalRun::read(&folder)?,
            Network::Devnet | Network::Mainnet => None,
        };
        Ok(Self { folder, network, file, local, solana })
    }

    /// Base URL of the API.
    pub fn url(&self, given: Option<&Url>) -> anyhow::Result<Found<Url>> {
        if let Some(url) = given {
            return Ok(Found { value: url.clone(), source: Source::Given });
        }
        let configured = self.file.section(self.network).url.as_deref().map(|url| (url, Source::ConfigFile));
        let local = || Some((self.local.as_ref()?.base_url.as_deref()?, Source::LocalRun));
        let built_in = || self.network.url().map(|url| (url, Source::BuiltIn));
        let (text, source) = configured.or_else(local).or_else(built_in).ok_or_else(|| {
            UsageError::new(format!(
                "No API for {0}. Pass --url, set CRTX_URL, or run `crtx config set {0}.url URL`.",
                self.network
            ))
        })?;
        Ok(Found { value: self.parsed_url(text, source)?, source })
    }

    /// The Solana RPC node that is named anywhere but in the last `crtx up`.
    pub fn rpc_url_chosen(&self, given: Option<&Url>) -> anyhow::Result<Option<Found<Url>>> {
        if let Some(url) = given {
            return Ok(Some(Found { value: url.clone(), source: Source::Given }));
        }
        let configured = self.file.section(self.network).rpc_url.as_deref();
        configured
            .map(|text| {
                let source = Source::ConfigFile;
                Ok(Found { value: self.parsed_url(text, source)?, source })
            })
            .transpose()
    }

    /// The Solana RPC node; `None` if nothing names one.
    pub fn rpc_url_if_any(&self, given: Option<&Url>) -> anyhow::Result<Option<Found<Url>>> {
        if let Some(chosen) = self.rpc_url_chosen(given)? {
            return Ok(Some(chosen));
        }
        let local = self.local.as_ref().map(|local| (local.rpc_url.as_str(), Source::LocalRun));
        let solana = match self.network {
            Network::Local => None,
            _ => self.solana.json_rpc_url.as_deref().map(|url| (url, Source::SolanaCli)),
        };
        let built_in = self.network.rpc_url().map(|url| (url, Source::BuiltIn));
        let found = local.or(solana).or(built_in);
        found.map(|(text, source)| Ok(Found { value: self.parsed_url(text, source)?, source })).transpose()
    }

    /// The Solana RPC node.
    pub fn rpc_url(&self, given: Option<&Url>) -> anyhow::Result<Found<Url>> {
        let none = "No Solana RPC node. Start `crtx up`, set CRTX_RPC_URL or pass --rpc-url.";
        Ok(self.rpc_url_if_any(given)?.ok_or_else(|| UsageError::new(none))?)
    }

    fn parsed_url(&self, text: &str, source: Source) -> anyhow::Result<Url> {
        http_url(text).map_err(|what| {
            UsageError::new(format!("The URL `{text}` ({source}, {}) cannot be used: {what}.", self.network)).into()
        })
    }

    pub fn program_id(&self, given: Option<Pubkey>) -> anyhow::Result<Found<Pubkey>> {
        if let Some(value) = given {
            return Ok(Found { value, source: Source::Given });
        }
        let configured = self.file.section(self.network).program_id.as_deref().map(|id| (id, Source::ConfigFile));
        let local = self.local.as_ref().map(|local| (local.program_id.as_str(), Source::LocalRun));
        match configured.or(local) {
            Some((text, source)) => {
                let value = text.parse().map_err(|_| {
                    UsageError::new(format!("`{text}` ({source}, {}) is not the address of a program.", self.network))
                })?;
                Ok(Found { value, source })
            }
            None => Ok(Found { value: agent_marketplace::ID, source: Source::BuiltIn }),
        }
    }

    /// The file with the key pair that signs.
    pub fn keypair(&self, given: Option<&Path>, role: Role) -> anyhow::Result<Found<PathBuf>> {
        if let Some(path) = given {
            return Ok(Found { value: path.to_owned(), source: Source::Given });
        }
        let configured = self.file.section(self.network).keypair.as_deref();
        let configured = configured.map(|path| (self.folder.join(path), Source::ConfigFile));
        let local = self.local.as_ref().map(|local| {
            let path = match role {
                Role::Wallet => &local.keypairs.demo,
                Role::Admin => &local.keypairs.admin,
                Role::Resolver => &local.keypairs.resolver,
            };
            (path.clone(), Source::LocalRun)
        });
        // The key of the local network's admin is of no use elsewhere, and the user's own wallet is not the admin here.
        let found = if role == Role::Wallet { configured.or(local) } else { local.or(configured) };
        let solana = || self.solana.keypair_path.clone().map(|path| (path, Source::SolanaCli));
        let (value, source) = found.or_else(solana).ok_or_else(|| {
            UsageError::new("No key pair. Pass --keypair FILE, set CRTX_KEYPAIR, or make one with `crtx wallet new`.")
        })?;
        Ok(Found { value, source })
    }

    /// The API key. That of the last `crtx up` is sent only to a service on this machine.
    pub fn api_key(&self, given: Option<&str>, url: &Url) -> anyhow::Result<String> {
        if let Some(key) = given {
            let key = Some(key.to_owned()).filter(|key| !key.is_empty());
            return key.context("").map_err(|_| Self::no_api_key());
        }
        let local = self.local.as_ref().filter(|_| is_on_this_machine(url)).map(|local| local.api_key.clone());
        local.ok_or_else(Self::no_api_key)
    }

    fn no_api_key() -> anyhow::Error {
        UsageError::new("No API key. Set CRTX_API_KEY or pass --api-key.").into()
    }
}

/// Whether the URL names a loopback address.
pub fn is_on_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local_run() -> LocalRun {
        let path = |name: &str| PathBuf::from(format!("/data/{name}.json"));
        LocalRun {
            base_url: Some("http://127.0.0.1:4000".to_owned()),
            rpc_url: "http://127.0.0.1:4001".to_owned(),
            ws_url: "ws://127.0.0.1:4002".to_owned(),
            program_id: Pubkey::new_from_array([4; 32]).to_string(),
            usdc_mint: Pubkey::new_from_array([5; 32]).to_string(),
            data_dir: PathBuf::from("/data"),
            api_key: "crtx_test_x".to_owned(),
            keypairs: Keypairs {
                demo: path("demo"),
                creator: path("creator"),
                admin: path("admin"),
                resolver: path("resolver"),
            },
        }
    }

    fn settings(network: Network, solana: SolanaCli, prepare: impl FnOnce(&Path)) -> Settings {
        let folder = tempfile::tempdir().expect("folder");
        prepare(folder.path());
        Settings::of(folder.path().to_owned(), Some(network), solana).expect("loads")
    }

    #[test]
    fn every_source_gives_way_to_those_before_it() {
        let flag = Url::parse("http://flag.example").expect("url");
        let solana = SolanaCli {
            keypair_path: Some(PathBuf::from("/solana/id.json")),
            json_rpc_url: Some("https://solana.example".to_owned()),
        };
        let bare = settings(Network::Local, solana.clone(), |_| {});
        assert_eq!(bare.url(None).expect("url").source, Source::BuiltIn);
        assert_eq!(bare.rpc_url_if_any(None).expect("no error"), None, "the Solana CLI has no local network of ours");
        assert_eq!(bare.keypair(None, Role::Wallet).expect("file").source, Source::SolanaCli);
        let after_up = settings(Network::Local, solana.clone(), |folder| local_run().write(folder).expect("writes"));
        assert_eq!(after_up.url(None).expect("url").value.as_str(), "http://127.0.0.1:4000/");
        assert_eq!(after_up.rpc_url(None).expect("url").source, Source::LocalRun);
        assert_eq!(after_up.keypair(None, Role::Wallet).expect("file").value, Path::new("/data/demo.json"));
        assert_eq!(after_up.keypair(None, Role::Admin).expect("file").value, Path::new("/data/admin.json"));
        assert_eq!(after_up.rpc_url_chosen(None).expect("no error"), None);
        let configured = settings(Network::Local, solana.clone(), |folder| {
            local_run().write(folder).expect("writes");
            let mut file = ConfigFile::default();
            file.set("local.rpc_url", "http://set.example", Network::Local).expect("sets");
            file.set("local.keypair", "own.json", Network::Local).expect("sets");
            file.write(folder).expect("writes");
        });
        assert_eq!(configured.rpc_url(None).expect("url").source, Source::ConfigFile);
        assert!(configured.keypair(None, Role::Wallet).expect("file").value.ends_with("own.json"));
        assert_eq!(configured.rpc_url(Some(&flag)).expect("url"), Found { value: flag, source: Source::Given });
        let devnet = settings(Network::Devnet, solana, |folder| local_run().write(folder).expect("writes"));
        assert_eq!(devnet.rpc_url(None).expect("url").source, Source::SolanaCli);
        assert!(devnet.local.is_none() && devnet.url(None).is_err(), "what `crtx up` wrote is for `local` alone");
        assert_eq!(devnet.program_id(None).expect("id").value, agent_marketplace::ID);
    }

    #[test]
    fn the_key_of_the_local_network_is_not_sent_to_another_machine() {
        let settings =
            settings(Network::Local, SolanaCli::default(), |folder| local_run().write(folder).expect("writes"));
        let url = |text: &str| Url::parse(text).expect("url");
        assert_eq!(settings.api_key(None, &url("http://127.0.0.1:9")).expect("a key"), "crtx_test_x");
        assert!(settings.api_key(None, &url("https://api.example")).is_err());
        assert_eq!(settings.api_key(Some("k"), &url("https://api.example")).expect("a key"), "k");
        assert!(settings.api_key(Some(""), &url("http://127.0.0.1:9")).is_err(), "an empty key is none");
    }
}
