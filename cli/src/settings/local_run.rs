//! The networks of `crtx up` on this machine: where each is. Commands for the network `local` find everything there, so
//! nothing has to be exported.
//!
//! Only what `crtx up` wrote into the user's own folder counts: a file in a project could be of a stranger.

use std::{
    fmt,
    net::{TcpStream, ToSocketAddrs},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context;
use crtx_chain::urls;
use crtx_protocol::result_hash::ResultHash;
use serde::{Deserialize, Serialize};
use url::Url;

use super::file::Section;
use crate::{output::shell_word, private_file};

/// The last `crtx up`.
pub const FILE_NAME: &str = "local.json";
/// One file for each data directory.
const FOLDER_NAME: &str = "networks";
/// The default name of a data directory, which lies in the folder of its project.
const PROJECT_DATA_DIR: &str = ".crtx";
/// A port of this machine answers at once, or nobody listens.
const CONNECT_LIMIT: Duration = Duration::from_millis(300);

/// What `crtx up` writes when it is ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalRun {
    /// Its owner's choice.
    pub name: Option<String>,
    /// Seconds since 1970.
    #[serde(default)]
    pub started_at: i64,
    /// Null without services.
    pub base_url: Option<String>,
    pub rpc_url: String,
    pub ws_url: String,
    pub program_id: String,
    pub usdc_mint: String,
    pub data_dir: PathBuf,
    /// Key of the demo wallet.
    pub api_key: String,
    pub keypairs: Keypairs,
}

/// Files with the key pairs of the local network's roles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keypairs {
    /// Wallet of the API key.
    pub demo: PathBuf,
    pub creator: PathBuf,
    pub admin: PathBuf,
    pub resolver: PathBuf,
}

impl LocalRun {
    /// All that are known, the one that was started last at the end. A file of another version is as good as none.
    pub fn all(folder: &Path) -> anyhow::Result<Vec<Self>> {
        let read = |path: &Path| -> anyhow::Result<Option<Self>> {
            let bytes = private_file::read(path).with_context(|| format!("cannot read {}", path.display()))?;
            Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
        };
        let mut all: Vec<Self> = Vec::new();
        let networks = folder.join(FOLDER_NAME);
        let files = private_file::json_files(&networks);
        for path in files.with_context(|| format!("cannot read {}", networks.display()))? {
            all.extend(read(&path)?);
        }
        all.sort_by_key(|run| run.started_at);
        if let Some(last) = read(&folder.join(FILE_NAME))? {
            all.retain(|run| run.data_dir != last.data_dir);
            all.push(last);
        }
        Ok(all)
    }

    /// Notes it as the last one. A name belongs to one network: an older one loses it.
    pub fn write(&self, folder: &Path) -> anyhow::Result<()> {
        for mut other in Self::all(folder)? {
            if other.data_dir != self.data_dir && other.name.is_some() && other.name == self.name {
                other.name = None;
                other.write_to(&other.path(folder))?;
            }
        }
        self.write_to(&self.path(folder))?;
        self.write_to(&folder.join(FILE_NAME))
    }

    fn write_to(&self, path: &Path) -> anyhow::Result<()> {
        let bytes = serde_json::to_vec_pretty(self)?;
        private_file::write(path, &bytes).with_context(|| format!("cannot write {}", path.display()))
    }

    fn path(&self, folder: &Path) -> PathBuf {
        let hash = ResultHash::of(self.data_dir.as_os_str().as_encoded_bytes()).0;
        folder.join(FOLDER_NAME).join(format!("{}.json", hex::encode(hash.first_chunk::<8>().unwrap_or(&[0; 8]))))
    }

    /// The folder in which commands use it: the one that holds `.crtx`, else the data directory itself.
    pub fn project(&self) -> &Path {
        let is_inside = self.data_dir.file_name().is_some_and(|name| name == PROJECT_DATA_DIR);
        self.data_dir.parent().filter(|_| is_inside).unwrap_or(&self.data_dir)
    }

    /// What commands find there.
    pub fn section(&self) -> Section {
        Section {
            url: self.base_url.clone(),
            rpc_url: Some(self.rpc_url.clone()),
            program_id: Some(self.program_id.clone()),
            keypair: self.keypairs.demo.to_str().map(str::to_owned),
        }
    }

    /// Whether somebody listens where its Solana node was.
    pub fn is_running(&self) -> bool {
        Url::parse(&self.rpc_url).is_ok_and(|url| listens(&url))
    }

    /// Whether this is the URL of its services or of its Solana node.
    pub fn is_at(&self, url: &Url) -> bool {
        let own = [self.base_url.as_deref(), Some(self.rpc_url.as_str())];
        own.into_iter().flatten().filter_map(|own| Url::parse(own).ok()).any(|own| own == *url)
    }

    /// Why it does not answer, if it is not there any more.
    pub fn gone(&self) -> Option<String> {
        if self.is_running() {
            return None;
        }
        let name = self.name.as_ref().map(|name| format!(" --name {name}")).unwrap_or_default();
        Some(format!(
            "the network of {} (started {}) is not running any more; start it with: crtx up --data-dir {}{name}",
            self.data_dir.display(),
            crate::output::time(self.started_at),
            shell_word(&self.data_dir.to_string_lossy())
        ))
    }
}

/// For lists of networks: `dev (127.0.0.1:8080, /home/a/.crtx)`.
impl fmt::Display for LocalRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.as_deref().unwrap_or("without a name");
        let host = urls::host(self.base_url.as_ref().unwrap_or(&self.rpc_url));
        write!(f, "{name} ({host}, {})", self.data_dir.display())
    }
}

fn listens(url: &Url) -> bool {
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else { return false };
    let addresses = (host.trim_matches(['[', ']']), port).to_socket_addrs();
    addresses.is_ok_and(|mut all| all.any(|address| TcpStream::connect_timeout(&address, CONNECT_LIMIT).is_ok()))
}
