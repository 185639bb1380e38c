//! Every secret of the local network, made once and kept in one file that only its owner may read.

use std::{
    collections::BTreeMap,
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow};
use crtx_protocol::api_key::{ApiKey, KeyNetwork};
use rand::{TryRngCore, rngs::OsRng};
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;

/// Keys of all roles on the local network.
pub struct Keys {
    /// Upgrade authority, admin, and mint authority of the local USDC.
    pub admin: Keypair,
    /// Decides disputes.
    pub resolver: Keypair,
    /// May stop the market, but not resume it.
    pub guardian: Keypair,
    pub gateway_authority: Keypair,
    pub treasury_owner: Keypair,
    /// Receives penalties.
    pub insurance_owner: Keypair,
    pub usdc_mint: Keypair,
    /// The demo creator's wallet.
    pub creator: Keypair,
    /// Signs the demo creator's results.
    pub result_key: ed25519_dalek::SigningKey,
    pub demo: CallerWallet,
    pub unfunded: CallerWallet,
}

/// A wallet that calls agents, and its API key.
pub struct CallerWallet {
    pub wallet: Keypair,
    pub api_key: ApiKey,
}

impl CallerWallet {
    pub fn session_key(&self) -> Pubkey {
        Pubkey::new_from_array(self.api_key.session_public_key())
    }
}

impl Keys {
    /// Reads the file, or makes new keys and writes it.
    pub fn load_or_create(path: &Path) -> anyhow::Result<Self> {
        let saved = match fs::read(path) {
            Ok(bytes) => {
                fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
                Some(bytes)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
        };
        let is_new = saved.is_none();
        let secrets = saved.map_or_else(|| Ok(BTreeMap::new()), |bytes| serde_json::from_slice(&bytes));
        let mut file = KeyFile { secrets: secrets.unwrap_or_default(), is_new };
        let keys = Self::of(&mut file).with_context(|| {
            format!("{} is damaged, or of an earlier version of crtx; `crtx up --fresh` starts over", path.display())
        })?;
        if is_new {
            write_private(path, &serde_json::to_vec_pretty(&file.secrets)?)
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(keys)
    }

    /// Writes key pairs into a folder, each as a file with the name of its role, in the format of the Solana command line:
    /// the roles' commands read them.
    pub fn write_wallets(&self, folder: &Path) -> anyhow::Result<PathBuf> {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let roles = [("demo", &self.demo.wallet), ("creator", &self.creator), ("admin", &self.admin)];
        for (name, keypair) in roles.into_iter().chain([("resolver", &self.resolver), ("guardian", &self.guardian)]) {
            write_keypair(&folder.join(format!("{name}.json")), keypair)?;
        }
        Ok(folder.to_owned())
    }

    fn of(file: &mut KeyFile) -> anyhow::Result<Self> {
        Ok(Self {
            admin: file.keypair("admin")?,
            resolver: file.keypair("resolver")?,
            guardian: file.keypair("guardian")?,
            gateway_authority: file.keypair("gateway_authority")?,
            treasury_owner: file.keypair("treasury_owner")?,
            insurance_owner: file.keypair("insurance_owner")?,
            usdc_mint: file.keypair("usdc_mint")?,
            creator: file.keypair("creator")?,
            result_key: ed25519_dalek::SigningKey::from_bytes(&file.seed("result_key")?),
            demo: file.caller("wallet", "api_key")?,
            unfunded: file.caller("unfunded_wallet", "unfunded_api_key")?,
        })
    }
}

/// What the file holds by name: base58 of each 32-byte seed, API keys in their own form.
struct KeyFile {
    secrets: BTreeMap<String, String>,
    /// There is no file yet, so each secret is made when it is asked for.
    is_new: bool,
}

impl KeyFile {
    fn secret(&mut self, name: &str, make: fn() -> anyhow::Result<String>) -> anyhow::Result<String> {
        if self.is_new {
            self.secrets.insert(name.to_owned(), make()?);
        }
        self.secrets.get(name).cloned().with_context(|| format!("no {name}"))
    }

    fn seed(&mut self, name: &str) -> anyhow::Result<[u8; 32]> {
        let text = self.secret(name, || {
            let mut seed = [0u8; 32];
            OsRng.try_fill_bytes(&mut seed).context("the system has no randomness")?;
            Ok(bs58::encode(seed).into_string())
        })?;
        bs58::decode(text).into_vec()?.try_into().map_err(|_| anyhow!("a key is not 32 bytes long"))
    }

    fn keypair(&mut self, name: &str) -> anyhow::Result<Keypair> {
        Ok(Keypair::new_from_array(self.seed(name)?))
    }

    fn caller(&mut self, wallet: &str, api_key: &str) -> anyhow::Result<CallerWallet> {
        let api_key = self.secret(api_key, || Ok(ApiKey::generate(KeyNetwork::Test)?.reveal()))?;
        Ok(CallerWallet { wallet: self.keypair(wallet)?, api_key: api_key.parse()? })
    }
}

/// Writes a key pair in the format of the Solana command line, readable by its owner alone.
pub fn write_keypair(path: &Path, keypair: &Keypair) -> anyhow::Result<()> {
    write_private(path, &serde_json::to_vec(&keypair.to_bytes().to_vec())?)
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Writes a file that only its owner can read, from its first byte on. It is never half written.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension("new");
    let _ = fs::remove_file(&temporary);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&temporary, path)
}

#[cfg(test)]
mod tests {
    use solana_signer::Signer;

    use super::*;

    #[test]
    fn the_second_run_has_the_same_keys() {
        let dir = tempfile::tempdir().expect("dir");
        let path = dir.path().join("keys.json");
        let first = Keys::load_or_create(&path).expect("makes");
        let second = Keys::load_or_create(&path).expect("reads");
        assert_eq!(first.creator.pubkey(), second.creator.pubkey());
        assert_eq!(first.demo.api_key.reveal(), second.demo.api_key.reveal());
        assert_ne!(first.demo.wallet.pubkey(), first.unfunded.wallet.pubkey());
    }

    #[test]
    fn only_the_owner_may_read_the_file() {
        let dir = tempfile::tempdir().expect("dir");
        let path = dir.path().join("keys.json");
        Keys::load_or_create(&path).expect("makes");
        assert_eq!(fs::metadata(&path).expect("file").permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("chmod");
        Keys::load_or_create(&path).expect("reads");
        assert_eq!(fs::metadata(&path).expect("file").permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_file_of_an_earlier_version_is_refused_with_the_way_out_and_not_replaced() {
        let dir = tempfile::tempdir().expect("dir");
        let path = dir.path().join("keys.json");
        Keys::load_or_create(&path).expect("makes");
        let mut file: serde_json::Value = serde_json::from_slice(&fs::read(&path).expect("file")).expect("json");
        file.as_object_mut().expect("an object").remove("insurance_owner");
        fs::write(&path, file.to_string()).expect("file");
        let error = Keys::load_or_create(&path).err().expect("refused").to_string();
        assert!(error.contains("earlier version") && error.contains("--fresh"), "{error}");
        assert_eq!(fs::read_to_string(&path).expect("file"), file.to_string());
    }

    #[test]
    fn a_damaged_file_is_an_error_and_not_replaced() {
        let dir = tempfile::tempdir().expect("dir");
        let path = dir.path().join("keys.json");
        fs::write(&path, "{}").expect("file");
        assert!(Keys::load_or_create(&path).is_err());
        assert_eq!(fs::read_to_string(&path).expect("file"), "{}");
    }
}
