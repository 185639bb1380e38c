//! The embedded Solana network: Surfpool, offline, with the marketplace program deployed, blocks made
//! when there is something to put into them, and a chain that survives its process.

mod blocks;
mod database;
mod history;
mod owner_index;
mod program;
mod rpc;

use std::{
    path::PathBuf,
    sync::{Arc, atomic::AtomicBool},
    thread::JoinHandle,
    time::Duration,
};

use anyhow::{Context, anyhow, bail};
use crossbeam_channel::{Receiver, Sender};
use crtx_chain::VERSION_1_FEATURE;
use crtx_child::free_port;
use solana_account::Account;
use solana_pubkey::Pubkey;
use surfpool_core::{
    jsonrpc_http_server::Server,
    runloops::start_local_surfnet_runloop,
    surfnet::{
        BlockIdentifier, GeyserEvent,
        locker::SurfnetSvmLocker,
        svm::{SurfnetSvm, SurfnetSvmConfig},
    },
    types::SyntheticBlockhash,
};
use surfpool_types::{
    BlockProductionMode, RpcConfig, SimnetCommand, SimnetConfig, SimnetEvent, SurfpoolConfig, SvmFeatureConfig,
};
use tokio::sync::mpsc;

use self::{
    blocks::Blocks,
    database::{ChainDatabase, ChainState, Position},
    history::{Headers, Transactions},
    owner_index::{OwnerIndex, executing_transactions},
};

pub use self::blocks::now_unix_ms;

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
    Saved,
    /// The ledger of a validator, which does not say how it was stopped and may have lost its last blocks.
    Ledger,
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
    /// Identifies this chain, and stays the same from run to run.
    pub genesis_hash: String,
    database: Arc<ChainDatabase>,
    rpc: Server,
    locker: SurfnetSvmLocker,
    commands: Sender<SimnetCommand>,
    stopping: Arc<AtomicBool>,
    driver: Option<JoinHandle<Blocks>>,
}

impl Chain {
    /// Starts the network and continues the saved chain, if any. Blocking; takes well below a second
    /// for a fresh chain. Failures after the start are sent to `failures`.
    pub fn start(options: &ChainOptions, failures: mpsc::UnboundedSender<anyhow::Error>) -> anyhow::Result<Self> {
        std::fs::create_dir_all(&options.dir).with_context(|| format!("cannot make {}", options.dir.display()))?;
        let database = Arc::new(ChainDatabase::open(&options.dir)?);
        let (mut svm, events, geyser_events) = new_network(options, &database)?;
        let owners = OwnerIndex::from(&*svm.accounts_by_owner)?;
        svm.accounts_by_owner = Box::new(owners.clone());
        let (state, started_from) = match database.state()? {
            None => (new_state(&svm), StartedFrom::Nothing),
            Some(saved) => restore(&mut svm, saved, &database)?,
        };
        svm.cached_genesis_hash = Some(state.genesis_hash.parse().context("the saved genesis hash is damaged")?);
        let genesis_hash = state.genesis_hash.clone();

        let locker = SurfnetSvmLocker::new(svm);
        let blocks = Blocks::new(locker.clone(), Arc::clone(&database), state, owners)?;
        let (rpc_port, ws_port) = (free_port(options.rpc_port)?, free_port(options.ws_port)?);
        let (commands, commands_rx) = crossbeam_channel::unbounded();
        spawn_surfpool(locker.clone(), ws_port, commands.clone(), commands_rx, geyser_events, failures.clone())?;
        wait_until_started(&events)?;
        let rpc = rpc::serve(rpc_port, ws_port, &locker, &commands, &database)?;

        let stopping = Arc::new(AtomicBool::new(false));
        let driver = Some(blocks.spawn(events, commands.clone(), Arc::clone(&stopping), failures)?);
        Ok(Self { rpc_port, ws_port, started_from, genesis_hash, database, rpc, locker, commands, stopping, driver })
    }

    /// Whether any transaction on the chain names the address.
    pub fn knows(&self, address: &Pubkey) -> anyhow::Result<bool> {
        Ok(!self.database.about(address, None, None, 1)?.is_empty())
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
        self.rpc.close();
        blocks.save_and_mark_stopped()?;
        self.commands.send(SimnetCommand::Terminate(None)).map_err(|_| anyhow!("the embedded network is gone"))?;
        blocks.wait_until_closed(STOP_LIMIT);
        Ok(())
    }
}

/// A network with the program, whose transactions and headers are those of the database.
fn new_network(options: &ChainOptions, database: &Arc<ChainDatabase>) -> anyhow::Result<Network> {
    let config = SurfnetSvmConfig {
        slot_time: blocks::SLOT_TIME_MS,
        instruction_profiling_enabled: false,
        max_profiles: 16,
        feature_config: SvmFeatureConfig { enable: vec![VERSION_1_FEATURE], ..SvmFeatureConfig::default() },
        ..SurfnetSvmConfig::default()
    };
    let (mut svm, events, geyser_events) =
        SurfnetSvm::new(config).map_err(|error| anyhow!("the embedded network does not start: {error}"))?;
    svm.transactions = Box::new(Transactions::new(Arc::clone(database)));
    svm.blocks = Box::new(Headers(Arc::clone(database)));
    program::deploy(&mut svm, &options.program_id, &options.upgrade_authority, options.program_elf)?;
    Ok((svm, events, geyser_events))
}

type Network = (SurfnetSvm, Receiver<SimnetEvent>, Receiver<GeyserEvent>);

/// Runs Surfpool on a thread with a runtime of its own: it blocks while it waits for commands. Its own RPC server
/// gets any free port; [`rpc::serve`] is the one that is used.
fn spawn_surfpool(
    locker: SurfnetSvmLocker,
    ws_port: u16,
    commands: Sender<SimnetCommand>,
    commands_rx: Receiver<SimnetCommand>,
    geyser_events: Receiver<GeyserEvent>,
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
        rpc: RpcConfig { bind_host: "127.0.0.1".to_owned(), bind_port: 0, ws_port, ..RpcConfig::default() },
        ..SurfpoolConfig::default()
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("surfpool")
        .enable_all()
        .build()
        .context("no runtime for the embedded network")?;
    let run = move || {
        let running = start_local_surfnet_runloop(locker, config, commands, commands_rx, geyser_events);
        let ended = executing_transactions(|| runtime.block_on(running));
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

fn new_state(svm: &SurfnetSvm) -> ChainState {
    let mut hash = [0u8; 32];
    rand::RngCore::fill_bytes(&mut rand::rng(), &mut hash);
    let genesis_hash = solana_hash::Hash::new_from_array(hash).to_string();
    ChainState { genesis_hash, position: blocks::position(svm, svm.updated_at), clean: false }
}

/// Puts the saved accounts back and sets the chain's position.
fn restore(
    svm: &mut SurfnetSvm,
    saved: ChainState,
    database: &ChainDatabase,
) -> anyhow::Result<(ChainState, StartedFrom)> {
    set_position(svm, &saved.position, if saved.clean { 0 } else { UNCLEAN_SLOT_GAP });
    let mut accounts = database.accounts()?.into_iter();
    executing_transactions(|| accounts.try_for_each(|(address, account)| restore_account(svm, address, &account)))?;
    let Position { slot, clock_unix_ms, saved_at_unix_ms, .. } = saved.position;
    let started_from = if saved.clean { StartedFrom::Saved } else { StartedFrom::Recovered { slot, saved_at_unix_ms } };
    let position = Position { clock_unix_ms, saved_at_unix_ms, ..blocks::position(svm, 0) };
    Ok((ChainState { position, clean: false, ..saved }, started_from))
}

/// Accounts are indexed as a transaction does it. Surfpool's own way to set an account also tells subscribers.
fn restore_account(svm: &mut SurfnetSvm, address: Pubkey, account: &Account) -> anyhow::Result<()> {
    let failed = |error: String| anyhow!("saved account {address}: {error}");
    svm.inner.set_account(address, account.clone()).map_err(|error| failed(error.to_string()))?;
    svm.update_account_registries(&address, None, account).map_err(|error| failed(error.to_string()))
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

#[cfg(test)]
mod tests;
