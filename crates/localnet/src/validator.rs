//! Agave's `solana-test-validator` as the network of `crtx up --validator`: a process of its own, with real slots,
//! preflight, block hashes that expire, and finality.

use std::{
    fs::{self, TryLockError},
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use anyhow::{Context, anyhow, bail, ensure};
use crtx_chain::{ChainClient, CommitmentConfig};
use crtx_child::{ValidatorPorts, supervised};
use solana_pubkey::Pubkey;
use tokio::{process::ChildStdin, sync::mpsc, task::JoinHandle};

use crate::chain::StartedFrom;

const START_LIMIT: Duration = Duration::from_secs(90);
const STOP_LIMIT: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(100);
const REQUEST_LIMIT: Duration = Duration::from_secs(5);

/// What the validator keeps of its history, so that the disk does not fill up: every slot has shreds, also an empty one.
/// Transactions that are older are gone, and `crtx verify` cannot read them.
const LEDGER_SHREDS: &str = "1000000";

const LEDGER: &str = "ledger";
/// In the ledger; the validator holds it.
const LOCK: &str = "ledger.lock";
const LOG: &str = "validator.log";
const PROGRAM: &str = "program.so";

/// How a validator is started.
pub struct ValidatorOptions<'a> {
    /// The program `solana-test-validator`.
    pub program: &'a Path,
    /// Of the ledger, the log, and the ELF.
    pub folder: PathBuf,
    /// The preferred first port.
    pub port: Option<u16>,
    pub program_id: Pubkey,
    pub program_elf: &'static [u8],
    /// Holds all SOL at first, and may upgrade the program.
    pub authority: Pubkey,
}

/// A running validator. It ends when this is dropped, and when this process ends.
pub struct Validator {
    pub ports: ValidatorPorts,
    pub started_from: StartedFrom,
    pub genesis_hash: String,
    leash: ChildStdin,
    ended: JoinHandle<()>,
}

impl Validator {
    /// Starts a validator, which continues its ledger if there is one. Its unexpected end is sent to `failures`.
    pub async fn start(
        options: &ValidatorOptions<'_>,
        failures: mpsc::UnboundedSender<anyhow::Error>,
    ) -> anyhow::Result<Self> {
        let folder = &options.folder;
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let is_new = !folder.join(LEDGER).exists();
        wait_for_predecessor(&folder.join(LEDGER).join(LOCK)).await?;
        write_program(&folder.join(PROGRAM), options.program_elf, is_new)?;
        let ports = ValidatorPorts::free(options.port)?;
        let log = fs::OpenOptions::new().create(true).append(true).open(folder.join(LOG)).context("its log")?;
        let authority = options.authority.to_string();
        let mut child = supervised(["TERM", "KILL"], options.program)
            .args(["--ledger", LEDGER, "--quiet", "--bind-address", "127.0.0.1"])
            .args(["--limit-ledger-size", LEDGER_SHREDS, "--mint", &authority])
            .args(["--upgradeable-program", &options.program_id.to_string(), PROGRAM, &authority])
            .args(ports.arguments())
            .current_dir(folder)
            .stdout(log.try_clone()?)
            .stderr(Stdio::from(log))
            .spawn()
            .with_context(|| format!("cannot start {}", options.program.display()))?;
        let leash = child.stdin.take().context("its standard input is a pipe")?;
        let client = ChainClient::new(&format!("http://127.0.0.1:{}", ports.rpc()), REQUEST_LIMIT);
        let log = folder.join(LOG);
        let started = Instant::now();
        // Programs of the genesis work from the second slot on.
        while !client.slot(CommitmentConfig::confirmed()).await.is_ok_and(|slot| slot > 0) {
            if let Some(status) = child.try_wait()? {
                bail!("the validator ended with {status}; see {}", log.display());
            }
            ensure!(started.elapsed() < START_LIMIT, "the validator does not answer; see {}", log.display());
            tokio::time::sleep(POLL).await;
        }
        let ended = tokio::spawn(async move {
            let status = child.wait().await.map_or_else(|error| error.to_string(), |status| status.to_string());
            // Nobody listens any more when the process is stopping.
            let _ = failures.send(anyhow!("the validator ended with {status}; see {}", log.display()));
        });
        let started_from = if is_new { StartedFrom::Nothing } else { StartedFrom::Ledger };
        Ok(Self { ports, started_from, genesis_hash: client.genesis_hash().await?, leash, ended })
    }

    pub async fn stop(self) -> anyhow::Result<()> {
        drop(self.leash);
        tokio::time::timeout(STOP_LIMIT, self.ended).await.context("the validator does not end")?.map_err(Into::into)
    }
}

/// A killed `crtx up` leaves a validator that is about to end.
async fn wait_for_predecessor(lock: &Path) -> anyhow::Result<()> {
    let started = Instant::now();
    while fs::File::open(lock).is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock))) {
        ensure!(started.elapsed() < STOP_LIMIT, "another validator uses {}; stop it first", lock.display());
        tokio::time::sleep(POLL).await;
    }
    Ok(())
}

/// The validator reads the ELF when it makes its ledger, and never again.
fn write_program(path: &Path, elf: &[u8], is_new: bool) -> anyhow::Result<()> {
    match is_new {
        true => fs::write(path, elf).with_context(|| format!("cannot write {}", path.display())),
        false if fs::read(path).is_ok_and(|bytes| bytes == elf) => Ok(()),
        false => bail!("the ledger has another build of the program; `crtx up --fresh` starts over"),
    }
}
