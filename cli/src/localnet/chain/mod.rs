//! The embedded Solana network: Surfpool, offline, with the marketplace program deployed, blocks made
//! when there is something to put into them, and a chain that survives its process.

mod blocks;
mod program;
mod store;

use std::{
    net::TcpListener,
    path::PathBuf,
    sync::{Arc, atomic::AtomicBool},
    thread::JoinHandle,
    time::Duration,
};

use anyhow::{Context, anyhow, bail};
use crossbeam_channel::{Receiver, Sender};
use solana_account::Account;
use solana_pubkey::Pubkey;
use surfpool_core::{
    surfnet::{
        BlockIdentifier,
        locker::SurfnetSvmLocker,
        svm::{SurfnetSvm, SurfnetSvmConfig},
    },
    types::SyntheticBlockhash,
};
use surfpool_types::{BlockProductionMode, RpcConfig, SimnetCommand, SimnetConfig, SimnetEvent, SurfpoolConfig};
use tokio::sync::mpsc;

use self::{
    blocks::Blocks,
    store::{ChainDir, Position, SavedChain},
};

pub use self::{blocks::now_unix_ms, store::replace as replace_file};

const START_LIMIT: Duration = Duration::from_secs(20);
const STOP_LIMIT: Duration = Duration::from_secs(5);

/// Slots that an unclean stop can have used beyond the last one on disk: they are skipped, so that no
/// slot number and no block hash of the lost moments comes twice.
const UNCLEAN_SLOT_GAP: u64 = 10_000;

/// How a network is started.
pub struct ChainOptions {
    pub dir: PathBuf,
    /// Preferred ports; others are taken when these are in use.
    pub rpc_port: Option<u16>,
    pub ws_port: Option<u16>,
    pub program_id: Pubkey,
    pub program_elf: &'static [u8],
    pub upgrade_authority: Pubkey,
}

/// What the chain continues from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartedFrom {
    Nothing,
    /// A run that stopped cleanly.
    Saved {
        slot: u64,
    },
    /// A run that was killed: everything up to the last block on disk.
    Recovered {
        slot: u64,
        saved_at_unix_ms: u64,
    },
}

/// A running network. [`Chain::stop`] saves it; dropping it does not.
pub struct Chain {
    pub rpc_port: u16,
    pub ws_port: u16,
    pub started_from: StartedFrom,
    locker: SurfnetSvmLocker,
    commands: Sender<SimnetCommand>,
    stopping: Arc<AtomicBool>,
    driver: Option<JoinHandle<Blocks>>,
}

impl Chain {
    pub fn rpc_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.rpc_port)
    }

    pub fn ws_url(&self) -> String {
        format!("ws://127.0.0.1:{}", self.ws_port)
    }

    /// Starts the network and continues the saved chain, if any. Blocking; takes well below a second
    /// for a fresh chain. Failures after the start are sent to `failures`.
    pub fn start(options: &ChainOptions, failures: mpsc::UnboundedSender<anyhow::Error>) -> anyhow::Result<Self> {
        let dir = ChainDir::new(options.dir.clone())?;
        let saved = dir.load()?;
        let svm_config = SurfnetSvmConfig {
            slot_time: blocks::SLOT_TIME_MS,
            instruction_profiling_enabled: false,
            max_profiles: 16,
            ..SurfnetSvmConfig::default()
        };
        let (mut svm, events, geyser_events) =
            SurfnetSvm::new(svm_config).map_err(|error| anyhow!("the embedded network does not start: {error}"))?;
        program::deploy(&mut svm, &options.program_id, &options.upgrade_authority, options.program_elf)?;
        let started_from = match &saved {
            None => StartedFrom::Nothing,
            Some(saved) => restore(&mut svm, saved)?,
        };

        let (rpc_port, ws_port) = (free_port(options.rpc_port)?, free_port(options.ws_port)?);
        let locker = SurfnetSvmLocker::new(svm);
        let (commands, commands_rx) = crossbeam_channel::unbounded();
        spawn_surfpool(
            locker.clone(),
            rpc_port,
            ws_port,
            commands.clone(),
            commands_rx,
            geyser_events,
            failures.clone(),
        )?;
        wait_until_started(&events)?;

        let clock_offset_ms = saved.as_ref().map_or(0, |saved| {
            i64::try_from(saved.position.clock_unix_ms.saturating_sub(saved.position.saved_at_unix_ms))
                .unwrap_or_default()
        });
        let blocks = Blocks::new(locker.clone(), dir, clock_offset_ms)?;
        let stopping = Arc::new(AtomicBool::new(false));
        let driver = blocks.spawn(events, Arc::clone(&stopping), failures)?;
        Ok(Self { rpc_port, ws_port, started_from, locker, commands, stopping, driver: Some(driver) })
    }

    /// Puts lamports into an account, as an airdrop does on other networks.
    pub fn fund(&self, address: &Pubkey, lamports: u64) -> anyhow::Result<()> {
        let account = Account { lamports, ..Account::default() };
        let address = *address;
        self.locker
            .with_svm_writer(move |svm| svm.set_account(&address, account).map_err(|error| error.to_string()))
            .map_err(|error| anyhow!("{address} could not be funded: {error}"))
    }

    /// Stops making blocks, saves the chain, closes the ports. Blocking.
    pub fn stop(mut self) -> anyhow::Result<()> {
        self.stopping.store(true, std::sync::atomic::Ordering::SeqCst);
        let driver = self.driver.take().context("the network was stopped before")?;
        let mut blocks = driver.join().map_err(|_| anyhow!("the block maker panicked"))?;
        blocks.save_and_mark_stopped()?;
        self.commands.send(SimnetCommand::Terminate(None)).map_err(|_| anyhow!("the embedded network is gone"))?;
        blocks.wait_until_closed(STOP_LIMIT);
        Ok(())
    }
}

/// Runs Surfpool on a thread with a runtime of its own: it blocks while it waits for commands.
fn spawn_surfpool(
    locker: SurfnetSvmLocker,
    rpc_port: u16,
    ws_port: u16,
    commands: Sender<SimnetCommand>,
    commands_rx: Receiver<SimnetCommand>,
    geyser_events: Receiver<surfpool_core::surfnet::GeyserEvent>,
    failures: mpsc::UnboundedSender<anyhow::Error>,
) -> anyhow::Result<()> {
    let config = SurfpoolConfig {
        simnets: vec![SimnetConfig {
            offline_mode: true,
            remote_rpc_url: None,
            slot_time: blocks::SLOT_TIME_MS,
            // Surfpool's own modes either wait for the next tick or run 31 blocks ahead of the clock
            // after every transaction; `Blocks` makes one block as soon as it has content.
            block_production_mode: BlockProductionMode::Manual,
            instruction_profiling_enabled: false,
            ..SimnetConfig::default()
        }],
        rpc: RpcConfig { bind_host: "127.0.0.1".to_owned(), bind_port: rpc_port, ws_port, ..RpcConfig::default() },
        ..SurfpoolConfig::default()
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("surfpool")
        .enable_all()
        .build()
        .context("no runtime for the embedded network")?;
    let run = move || {
        let ended = runtime.block_on(surfpool_core::runloops::start_local_surfnet_runloop(
            locker,
            config,
            commands,
            commands_rx,
            geyser_events,
        ));
        if let Err(error) = ended {
            // Nobody listens any more when the process is stopping.
            let _ = failures.send(anyhow!("the embedded network stopped: {error}"));
        }
    };
    std::thread::Builder::new().name("surfpool".to_owned()).spawn(run).context("no thread for the embedded network")?;
    Ok(())
}

fn wait_until_started(events: &Receiver<SimnetEvent>) -> anyhow::Result<()> {
    let started = std::time::Instant::now();
    while let Some(rest) = START_LIMIT.checked_sub(started.elapsed()) {
        match events.recv_timeout(rest) {
            Ok(SimnetEvent::CoreStarted(_)) => return Ok(()),
            Ok(SimnetEvent::Aborted(error)) => bail!("the embedded network does not start: {error}"),
            Ok(SimnetEvent::ErrorLog(_, error)) => tracing::warn!(%error, "embedded network"),
            Ok(_) => {}
            Err(crossbeam_channel::RecvTimeoutError::Timeout) => break,
            Err(error) => bail!("the embedded network does not start: {error}"),
        }
    }
    bail!("the embedded network did not start within {} seconds", START_LIMIT.as_secs())
}

/// Puts the saved accounts, blocks and transactions back and sets the chain's position.
fn restore(svm: &mut SurfnetSvm, saved: &SavedChain) -> anyhow::Result<StartedFrom> {
    set_position(svm, &saved.position, if saved.clean { 0 } else { UNCLEAN_SLOT_GAP });
    for (address, account) in &saved.accounts {
        let account = account.to_account().with_context(|| format!("saved account {address} is damaged"))?;
        let pubkey: Pubkey = address.parse().with_context(|| format!("saved account {address} has no address"))?;
        svm.set_account(&pubkey, account).map_err(|error| anyhow!("saved account {address}: {error}"))?;
    }
    for line in &saved.history {
        svm.blocks.store(line.slot, line.block.clone()).map_err(|error| anyhow!("saved block: {error}"))?;
        for (signature, status) in &line.transactions {
            svm.transactions
                .store(signature.clone(), status.clone())
                .map_err(|error| anyhow!("saved transaction: {error}"))?;
        }
    }
    let slot = saved.position.slot;
    Ok(match saved.clean {
        true => StartedFrom::Saved { slot },
        false => StartedFrom::Recovered { slot, saved_at_unix_ms: saved.position.saved_at_unix_ms },
    })
}

fn set_position(svm: &mut SurfnetSvm, position: &Position, gap: u64) {
    let slot = position.slot.saturating_add(gap);
    // Surfpool's block hashes follow from their number: the tip's is one below its index.
    let index = position.tip_index.saturating_add(gap);
    let hash = SyntheticBlockhash::new(index.saturating_sub(1)).to_string();
    svm.chain_tip = BlockIdentifier { index, hash };
    let info = &mut svm.latest_epoch_info;
    info.absolute_slot = slot;
    info.block_height = position.block_height.saturating_add(gap);
    info.epoch = slot.checked_div(info.slots_in_epoch).unwrap_or_default();
    info.slot_index = slot.checked_rem(info.slots_in_epoch).unwrap_or_default();
    let now = blocks::now_unix_ms().max(position.clock_unix_ms);
    let since_genesis = slot.saturating_sub(svm.genesis_slot).saturating_mul(svm.slot_time);
    svm.updated_at = now;
    svm.genesis_updated_at = now.saturating_sub(since_genesis);
    svm.reconstruct_sysvars();
}

/// `preferred` if it is free, else one that the system picks.
pub fn free_port(preferred: Option<u16>) -> anyhow::Result<u16> {
    let listener = preferred
        .and_then(|port| TcpListener::bind(("127.0.0.1", port)).ok())
        .map_or_else(|| TcpListener::bind(("127.0.0.1", 0)), Ok)
        .context("no free port on 127.0.0.1")?;
    Ok(listener.local_addr()?.port())
}

#[cfg(test)]
mod tests;
