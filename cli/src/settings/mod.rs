//! Where a command finds the service, the chain and the key pair: flag, environment, `config.toml`, the last
//! `crtx up`, the Solana command line, built-in value, in this order.

mod file;
mod local_run;
mod network;
mod solana_cli;

use std::{
    env,
    path::{Path, PathBuf},
};

pub use crtx_sdk::is_on_this_machine;
use serde::Serialize;
use solana_pubkey::Pubkey;
use url::Url;

use self::file::{Section, address};
pub use self::{
    file::{ConfigFile, FILE_NAME as CONFIG_FILE_NAME},
    local_run::{Keypairs, LocalRun},
    network::{Network, NetworkChoice, parse_name},
};
use crate::{
    output::note,
    usage::{UsageError, http_url},
};

/// Everything that is set, for one network.
#[derive(Clone, Debug)]
pub struct Settings {
    pub folder: PathBuf,
    pub network: Network,
    pub file: ConfigFile,
    /// The network of `crtx up` that is used; only for the network `local`.
    pub local: Option<LocalRun>,
    /// Why that one.
    local_source: Source,
    /// All networks of `crtx up` that are known.
    pub locals: Vec<LocalRun>,
    /// Where values are looked for, in this order.
    places: Vec<(Section, Source)>,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, strum::Display)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    #[strum(to_string = "flag or environment")]
    Given,
    #[strum(to_string = "config.toml")]
    ConfigFile,
    #[strum(to_string = "the last `crtx up`")]
    LocalRun,
    #[strum(to_string = "the `crtx up` of this folder")]
    #[serde(rename = "local_run")]
    ProjectRun,
    #[strum(to_string = "the `crtx up` of that name")]
    #[serde(rename = "local_run")]
    NamedRun,
    #[strum(to_string = "the Solana CLI's configuration")]
    SolanaCli,
    #[strum(to_string = "built in")]
    BuiltIn,
}

/// A value and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sourced<T> {
    pub value: T,
    pub source: Source,
}

/// Who signs. On a local network the key pairs of all roles are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignerRole {
    /// The user's own wallet.
    Wallet,
    Admin,
    Resolver,
}

impl Settings {
    /// Reads the files. `network`: the one that the command line or the environment names.
    pub fn load(network: Option<NetworkChoice>) -> anyhow::Result<Self> {
        let here = env::current_dir().ok();
        let settings = Self::of(find_folder()?, network, solana_cli::read(), here.as_deref())?;
        settings.say_which();
        Ok(settings)
    }

    fn of(
        folder: PathBuf,
        network: Option<NetworkChoice>,
        solana: Section,
        here: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let (file, locals) = (ConfigFile::read(&folder)?, LocalRun::all(&folder)?);
        let choice = network.unwrap_or_else(|| NetworkChoice::Known(file.network.unwrap_or_default()));
        let (network, local, local_source) = match choice {
            NetworkChoice::Run(name) => {
                let run = locals.iter().find(|run| run.name.as_ref() == Some(&name)).cloned();
                let run = run.ok_or_else(|| unknown_run(&name, &locals))?;
                (Network::Local, Some(run), Source::NamedRun)
            }
            NetworkChoice::Known(Network::Local) => match here.and_then(|here| run_of_folder(&locals, here)) {
                Some(run) => (Network::Local, Some(run.clone()), Source::ProjectRun),
                None => (Network::Local, last(&locals).cloned(), Source::LocalRun),
            },
            NetworkChoice::Known(network) => (network, None, Source::LocalRun),
        };
        let mut places = vec![(file.section(network).clone(), Source::ConfigFile)];
        places.extend(local.as_ref().map(|run| (run.section(), local_source)));
        let rpc_url = solana.rpc_url.filter(|_| network != Network::Local);
        places.push((Section { rpc_url, ..solana }, Source::SolanaCli));
        places.push((built_in(network), Source::BuiltIn));
        Ok(Self { folder, network, file, local, local_source, locals, places })
    }

    /// Nothing is set.
    #[cfg(test)]
    pub fn bare(folder: PathBuf) -> Self {
        Self::of(folder, None, Section::default(), None).unwrap_or_else(|error| panic!("{error:#}"))
    }

    /// Says which network is used where several run and nothing chooses one.
    fn say_which(&self) {
        let Some(used) = self.local.as_ref().filter(|_| self.local_source == Source::LocalRun) else { return };
        let others: Vec<String> = self
            .locals
            .iter()
            .filter(|run| run.data_dir != used.data_dir && run.is_running())
            .map(ToString::to_string)
            .collect();
        if !others.is_empty() && used.is_running() {
            note!(
                "crtx: several networks run here; this command uses that of the last `crtx up`, {used}; also there: {}; \
                 choose with --network NAME (`crtx up --name NAME`), or work in the folder of one",
                others.join(", ")
            );
        }
    }

    /// Base URL of the API.
    pub fn url(&self, given: Option<&Url>) -> anyhow::Result<Sourced<Url>> {
        let found = self.first(given.cloned(), "URL", |place| &place.url, http_url)?.ok_or_else(|| {
            UsageError::new(format!(
                "No API for {0}. Pass --url, set CRTX_URL, or run `crtx config set {0}.url URL`.",
                self.network
            ))
        });
        Ok(found?)
    }

    /// The Solana RPC node; `None` if nothing names one.
    pub fn rpc_url_if_any(&self, given: Option<&Url>) -> anyhow::Result<Option<Sourced<Url>>> {
        self.first(given.cloned(), "URL", |place| &place.rpc_url, http_url)
    }

    /// The Solana RPC node.
    pub fn rpc_url(&self, given: Option<&Url>) -> anyhow::Result<Sourced<Url>> {
        let none = "No Solana RPC node. Start `crtx up`, set CRTX_RPC_URL or pass --rpc-url.";
        Ok(self.rpc_url_if_any(given)?.ok_or_else(|| UsageError::new(none))?)
    }

    /// Why the local network does not answer at this URL, if it is one of its own and gone.
    pub fn gone(&self, url: &Url) -> Option<String> {
        self.local.as_ref().filter(|run| run.is_at(url))?.gone()
    }

    pub fn program_id(&self, given: Option<Pubkey>) -> anyhow::Result<Sourced<Pubkey>> {
        let found = self.first(given, "program id", |place| &place.program_id, address)?;
        Ok(found.unwrap_or(Sourced { value: agent_marketplace::ID, source: Source::BuiltIn }))
    }

    /// The file with the key pair that signs.
    pub fn keypair(&self, given: Option<&Path>, role: SignerRole) -> anyhow::Result<Sourced<PathBuf>> {
        // The key of the local network's admin is of no use elsewhere, and the user's own wallet is not the admin here.
        let of_role = self.local.as_ref().and_then(|run| match role {
            SignerRole::Wallet => None,
            SignerRole::Admin => Some(&run.keypairs.admin),
            SignerRole::Resolver => Some(&run.keypairs.resolver),
        });
        if let (None, Some(path)) = (given, of_role) {
            return Ok(Sourced { value: path.clone(), source: self.local_source });
        }
        let path = |text: &str| Ok(self.folder.join(text));
        let found = self.first(given.map(Path::to_owned), "key pair", |place| &place.keypair, path)?;
        let none = "No key pair. Pass --keypair FILE, set CRTX_KEYPAIR, or make one with `crtx wallet new`.";
        Ok(found.ok_or_else(|| UsageError::new(none))?)
    }

    /// The value that is given, else that of the first place that has one.
    fn first<T>(
        &self,
        given: Option<T>,
        what: &str,
        of: fn(&Section) -> &Option<String>,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> anyhow::Result<Option<Sourced<T>>> {
        if let Some(value) = given {
            return Ok(Some(Sourced { value, source: Source::Given }));
        }
        let named = self.places.iter().find_map(|(place, source)| Some((of(place).as_deref()?, *source)));
        let Some((text, source)) = named else { return Ok(None) };
        let value = parse(text).map_err(|wrong| {
            UsageError::new(format!("The {what} `{text}` ({source}, {}) cannot be used: {wrong}.", self.network))
        })?;
        Ok(Some(Sourced { value, source }))
    }

    /// The API key. That of the last `crtx up` is sent only to a service on this machine.
    pub fn api_key(&self, given: Option<&str>, url: &Url) -> anyhow::Result<String> {
        let local = || Some(self.local.as_ref().filter(|_| is_on_this_machine(url))?.api_key.as_str());
        let key = given.or_else(local).filter(|key| !key.is_empty()).map(str::to_owned);
        Ok(key.ok_or_else(|| UsageError::new("No API key. Set CRTX_API_KEY or pass --api-key."))?)
    }
}

/// The folder that holds the configuration, the tokens of sessions, and the journal of transactions:
/// `$CRTX_CONFIG_DIR`, else `crtx` in the user's configuration folder.
pub fn find_folder() -> Result<PathBuf, UsageError> {
    let named = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(folder) = named("CRTX_CONFIG_DIR") {
        return Ok(folder);
    }
    // The convention takes relative paths as errors.
    let base = named("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
    let base = base.or_else(|| env::home_dir().map(|home| home.join(".config")));
    base.map(|base| base.join("crtx"))
        .ok_or_else(|| UsageError::new("There is no home folder for the configuration. Set CRTX_CONFIG_DIR."))
}

/// What is known without any configuration.
fn built_in(network: Network) -> Section {
    let (url, rpc_url) = match network {
        // It chooses the port of its node at its first start.
        Network::Local => (Some("http://127.0.0.1:8080"), None),
        Network::Devnet => (None, Some("https://api.devnet.solana.com")),
        Network::Mainnet => (None, Some("https://api.mainnet-beta.solana.com")),
    };
    Section { url: url.map(str::to_owned), rpc_url: rpc_url.map(str::to_owned), ..Section::default() }
}

/// The innermost one whose project holds the folder.
fn run_of_folder<'a>(runs: &'a [LocalRun], here: &Path) -> Option<&'a LocalRun> {
    let depth = |run: &&LocalRun| run.project().components().count();
    runs.iter().filter(|run| here.starts_with(run.project())).max_by_key(depth)
}

/// The last one that runs, else the last one.
fn last(runs: &[LocalRun]) -> Option<&LocalRun> {
    runs.iter().rev().find(|run| run.is_running()).or(runs.last())
}

fn unknown_run(name: &str, runs: &[LocalRun]) -> UsageError {
    let known = match runs {
        [] => "no `crtx up` ran here yet".to_owned(),
        runs => format!("known are {}", runs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    };
    UsageError::new(format!(
        "There is no network {name}: it is not local, devnet or mainnet, and {known}. `crtx up --name {name}` starts one."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local_run() -> LocalRun {
        let path = |name: &str| PathBuf::from(format!("/data/{name}.json"));
        LocalRun {
            name: None,
            started_at: 1_000,
            base_url: Some("http://127.0.0.1:4000".to_owned()),
            // Nobody listens on port 1.
            rpc_url: "http://127.0.0.1:1".to_owned(),
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

    fn settings(network: Network, solana: Section, prepare: impl FnOnce(&Path)) -> Settings {
        let folder = tempfile::tempdir().expect("folder");
        prepare(folder.path());
        Settings::of(folder.path().to_owned(), Some(NetworkChoice::Known(network)), solana, None).expect("loads")
    }

    #[test]
    fn every_source_gives_way_to_those_before_it() {
        let flag = Url::parse("http://flag.example").expect("url");
        let solana = Section {
            keypair: Some("/solana/id.json".to_owned()),
            rpc_url: Some("https://solana.example".to_owned()),
            ..Section::default()
        };
        let bare = settings(Network::Local, solana.clone(), |_| {});
        assert_eq!(bare.url(None).expect("url").source, Source::BuiltIn);
        assert_eq!(bare.rpc_url_if_any(None).expect("no error"), None, "the Solana CLI has no local network of ours");
        assert_eq!(bare.keypair(None, SignerRole::Wallet).expect("file").source, Source::SolanaCli);
        let after_up = settings(Network::Local, solana.clone(), |folder| local_run().write(folder).expect("writes"));
        assert_eq!(after_up.url(None).expect("url").value.as_str(), "http://127.0.0.1:4000/");
        assert_eq!(after_up.rpc_url(None).expect("url").source, Source::LocalRun);
        assert_eq!(after_up.keypair(None, SignerRole::Wallet).expect("file").value, Path::new("/data/demo.json"));
        assert_eq!(after_up.keypair(None, SignerRole::Admin).expect("file").value, Path::new("/data/admin.json"));
        let configured = settings(Network::Local, solana.clone(), |folder| {
            local_run().write(folder).expect("writes");
            let mut file = ConfigFile::default();
            file.set("local.rpc_url", "http://set.example", Network::Local).expect("sets");
            file.set("local.keypair", "own.json", Network::Local).expect("sets");
            file.write(folder).expect("writes");
        });
        assert_eq!(configured.rpc_url(None).expect("url").source, Source::ConfigFile);
        assert!(configured.keypair(None, SignerRole::Wallet).expect("file").value.ends_with("own.json"));
        assert_eq!(configured.rpc_url(Some(&flag)).expect("url"), Sourced { value: flag, source: Source::Given });
        let devnet = settings(Network::Devnet, solana, |folder| local_run().write(folder).expect("writes"));
        assert_eq!(devnet.rpc_url(None).expect("url").source, Source::SolanaCli);
        assert!(devnet.local.is_none() && devnet.url(None).is_err(), "what `crtx up` wrote is for `local` alone");
        assert_eq!(devnet.program_id(None).expect("id").value, agent_marketplace::ID);
    }

    /// The network of a data directory, and where it listens.
    fn run_in(data_dir: &str, name: Option<&str>, started_at: i64) -> (LocalRun, std::net::TcpListener) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let rpc_url = format!("http://{}", listener.local_addr().expect("bound"));
        let (data_dir, name) = (PathBuf::from(data_dir), name.map(str::to_owned));
        (LocalRun { name, started_at, rpc_url, data_dir, ..local_run() }, listener)
    }

    fn load(folder: &Path, choice: &str, here: &str) -> anyhow::Result<Settings> {
        let choice = NetworkChoice::parse(choice).expect("a choice");
        Settings::of(folder.to_owned(), Some(choice), Section::default(), Some(Path::new(here)))
    }

    #[test]
    fn commands_in_the_folder_of_a_network_use_that_one_and_others_the_last() {
        let folder = tempfile::tempdir().expect("folder");
        let (first, _open) = run_in("/work/a/.crtx", Some("one"), 1);
        let (second, other) = run_in("/elsewhere/data", None, 2);
        first.write(folder.path()).expect("writes");
        second.write(folder.path()).expect("writes");
        let used = |choice: &str, here: &str| load(folder.path(), choice, here).expect("loads");
        for here in ["/work/a", "/work/a/my-agent", "/work/a/.crtx/wallets"] {
            assert_eq!(used("local", here).local.as_ref(), Some(&first), "{here}");
            assert_eq!(used("local", here).rpc_url(None).expect("a node").source, Source::ProjectRun);
        }
        for here in ["/work", "/work/ab", "/", "/elsewhere/data/x"] {
            assert_eq!(used("local", here).local.as_ref(), Some(&second), "{here}");
        }
        assert_eq!(used("local", "/").url(None).expect("a service").source, Source::LocalRun);
        assert_eq!(used("one", "/elsewhere/data").local.as_ref(), Some(&first), "a name wins");
        assert!(used("devnet", "/work/a").local.is_none());
        drop(other);
        assert_eq!(used("local", "/").local.as_ref(), Some(&first), "the last one that runs");
        let gone = used("local", "/elsewhere/data").local.expect("known").gone().expect("gone");
        assert!(gone.contains("/elsewhere/data") && gone.contains("not running any more"), "{gone}");
    }

    #[test]
    fn a_name_that_nothing_has_is_refused_with_those_that_are_known() {
        let folder = tempfile::tempdir().expect("folder");
        run_in("/work/a/.crtx", Some("one"), 1).0.write(folder.path()).expect("writes");
        let error = load(folder.path(), "moonnet", "/").expect_err("refused");
        assert!(error.is::<UsageError>() && error.to_string().contains("one (127.0.0.1:"), "{error}");
        for bad in ["", "local", "mainnet", "Dev", "a b", "-a", "a/b", "\u{1b}[2J", &"x".repeat(33)] {
            assert!(parse_name(bad).is_err(), "{bad}");
        }
        // The same name again is the newer one's.
        let (newer, _open) = run_in("/work/b/.crtx", Some("one"), 2);
        newer.write(folder.path()).expect("writes");
        assert_eq!(load(folder.path(), "one", "/").expect("loads").local, Some(newer));
        assert_eq!(LocalRun::all(folder.path()).expect("reads").len(), 2);
    }

    #[test]
    fn the_key_of_the_local_network_is_not_sent_to_another_machine() {
        let settings =
            settings(Network::Local, Section::default(), |folder| local_run().write(folder).expect("writes"));
        let url = |text: &str| Url::parse(text).expect("url");
        assert_eq!(settings.api_key(None, &url("http://127.0.0.1:9")).expect("a key"), "crtx_test_x");
        assert!(settings.api_key(None, &url("https://api.example")).is_err());
        assert_eq!(settings.api_key(Some("k"), &url("https://api.example")).expect("a key"), "k");
        assert!(settings.api_key(Some(""), &url("http://127.0.0.1:9")).is_err(), "an empty key is none");
    }
}
