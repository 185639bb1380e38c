//! Starts the parts of a local network in the order in which they need each other, and stops them in the opposite
//! order.

use std::{
    net::Ipv4Addr,
    path::{Path, PathBuf},
    time::Duration,
};

use agent_marketplace::state::MarketParameters;
use anyhow::{Context, anyhow};
use crtx_chain::{ChainClient, Instructions, deployment::COMMITTED_ELF};
use crtx_child::free_port;
use crtx_content::{ContentLocation, ContentStore};
use crtx_postgres::PostgresCluster;
use crtx_protocol::address::Addresses;
use crtx_store::{
    PgPool, Pools,
    api_keys::{self, NewApiKey},
    pools::PoolSizes,
};
use solana_pubkey::Pubkey;
use solana_signer::Signer;
use tokio::{net::TcpListener, sync::mpsc, task::JoinSet};
use tokio_util::sync::CancellationToken;

use crate::{
    align,
    chain::{Chain, ChainOptions},
    data_dir::{self, DataDir, LastPorts},
    demo,
    keys::{CallerWallet, Keys},
    progress::StartProgress,
    server_config,
    setup::{self, ListedAgent, Setup},
    solana::SolanaNetwork,
    validator::{Validator, ValidatorOptions},
};

const RPC_TIMEOUT: Duration = Duration::from_secs(20);
const DATABASE_CONNECTIONS: u32 = 32;
/// How long a stop waits for the demo creator.
const CREATOR_LIMIT: Duration = Duration::from_secs(1);
/// How long a stop waits for connections that are in use.
const POOL_LIMIT: Duration = Duration::from_secs(2);

/// What a local network is made of.
#[derive(Clone, Debug, Default)]
pub struct NetworkOptions {
    /// Agave's `solana-test-validator`, in place of the embedded network.
    pub validator: Option<PathBuf>,
    /// Seconds that settlement may take after an agent's time-out, on a new chain; `None`: the program's default.
    pub settle_grace_s: Option<i64>,
}

/// Everything that runs, for stopping it.
pub struct LocalNetwork {
    data_dir: DataDir,
    cluster: Option<PostgresCluster>,
    pools: Option<Pools>,
    solana: Option<SolanaNetwork>,
    /// Ends the demo creator.
    creator: CancellationToken,
    creator_task: JoinSet<()>,
    /// PostgreSQL ended although nobody stopped it.
    pub database_ended: bool,
    /// Where a part that runs in addition to the network reports its failure.
    pub failure_sender: mpsc::UnboundedSender<anyhow::Error>,
    failures: mpsc::UnboundedReceiver<anyhow::Error>,
}

/// The marketplace on a local network: what a service or a caller needs to use it.
pub struct Marketplace {
    pub keys: Keys,
    pub instructions: Instructions,
    pub rpc_url: String,
    pub ws_url: String,
    pub database_url: String,
    pub pools: Pools,
    pub content_dir: PathBuf,
    /// The file with which a `crtx-server` joins the marketplace.
    pub server_config: PathBuf,
    pub data_dir: PathBuf,
    /// Key pairs of the roles as `Keys::write_wallets` writes them.
    pub wallets: PathBuf,
    pub agents: Vec<ListedAgent>,
}

impl LocalNetwork {
    /// Opens or creates the data directory. `fresh` deletes what an earlier run left in it. Nothing runs yet.
    pub fn open(data_dir: &Path, fresh: bool) -> anyhow::Result<Self> {
        let (failure_sender, failures) = mpsc::unbounded_channel();
        Ok(Self {
            data_dir: DataDir::open(data_dir, fresh)?,
            cluster: None,
            pools: None,
            solana: None,
            creator: CancellationToken::new(),
            creator_task: JoinSet::new(),
            database_ended: false,
            failure_sender,
            failures,
        })
    }

    /// Starts everything. What has started when this fails, or is dropped, is stopped by [`Self::stop`].
    pub async fn start(
        &mut self,
        options: &NetworkOptions,
        progress: &dyn StartProgress,
    ) -> anyhow::Result<Marketplace> {
        let keys = Keys::load_or_create(&self.data_dir.path.join(data_dir::KEYS))?;
        let ports = self.data_dir.ports();

        progress.step("starting PostgreSQL and the Solana network");
        let database_url = self.start_foundations(options, &keys, &ports, progress).await?;
        let pools =
            Pools::connect(&database_url, None, PoolSizes::of(DATABASE_CONNECTIONS)).await.context("the database")?;
        self.pools = Some(pools.clone());
        let pool = &pools.indexer;
        crtx_store::migrate(pool).await.context("the database's schema")?;

        progress.step("setting the marketplace up");
        let network = self.solana.as_ref().context("no chain")?;
        let (rpc_url, ws_url) = (network.rpc_url(), network.ws_url());
        let instructions = Instructions::new(Addresses::new(agent_marketplace::ID), keys.usdc_mint.pubkey());
        let chain = ChainClient::new(&rpc_url, RPC_TIMEOUT);
        let creator_listener = TcpListener::bind((Ipv4Addr::LOCALHOST, free_port(ports.creator)?)).await?;
        let creator_port = creator_listener.local_addr()?.port();
        self.data_dir.save_ports(&LastPorts {
            rpc: Some(network.rpc_port()),
            ws: Some(network.ws_port()),
            creator: Some(creator_port),
        })?;
        let server_config =
            server_config::write(&self.data_dir.path, &database_url, network, &instructions, &keys.gateway_authority)?;
        let content_dir = self.data_dir.path.join(data_dir::CONTENT);
        let content = ContentStore::create(&ContentLocation::Folder(content_dir.clone()))?;
        align::align(pool, network, &chain, progress).await.context("aligning the database with the chain")?;
        setup::fund(network, &chain, &keys).await?;
        let settle_grace_s = options.settle_grace_s.unwrap_or(MarketParameters::DEFAULT.settle_grace_s);
        let parameters = MarketParameters { settle_grace_s, ..MarketParameters::DEFAULT };
        let setup = Setup { chain: &chain, instructions, keys: &keys, content: &content, creator_port, parameters };
        let agents = setup.run().await?;
        store_api_keys(pool, &instructions.addresses, &keys).await?;
        align::show(pool, network, &chain).await.context("the first look at the chain")?;
        if let Some(cluster) = &self.cluster {
            cluster.begin_syncing().await.context("PostgreSQL")?;
        }

        progress.step("starting the demo creator and the services");
        self.serve_creator(creator_listener, &keys);
        Ok(Marketplace {
            wallets: keys.write_wallets(&self.data_dir.path.join(data_dir::WALLETS))?,
            data_dir: self.data_dir.path.to_owned(),
            keys,
            instructions,
            rpc_url,
            ws_url,
            database_url,
            pools,
            content_dir,
            server_config,
            agents,
        })
    }

    /// Database and chain, at the same time.
    async fn start_foundations(
        &mut self,
        options: &NetworkOptions,
        keys: &Keys,
        ports: &LastPorts,
        progress: &dyn StartProgress,
    ) -> anyhow::Result<String> {
        let solana = self.start_solana(options.validator.as_deref(), keys.admin.pubkey(), ports);
        let own_database = std::env::var("DATABASE_URL").ok().filter(|url| !url.is_empty());
        let say = |text: &str| progress.say(text);
        let cluster = async {
            match own_database {
                Some(_) => Ok(None),
                None => PostgresCluster::start(&self.data_dir.path, &say).await.map(Some),
            }
        };
        let (solana, cluster) = tokio::join!(solana, cluster);
        // Both are kept even if the other failed, so that both are stopped.
        let solana = solana.map(|solana| self.solana = Some(solana));
        self.cluster = cluster.context("PostgreSQL")?;
        solana.context("the Solana network")?;
        own_database.or_else(|| self.cluster.as_ref().map(PostgresCluster::url)).context("no database")
    }

    async fn start_solana(
        &self,
        validator: Option<&Path>,
        upgrade_authority: Pubkey,
        ports: &LastPorts,
    ) -> anyhow::Result<SolanaNetwork> {
        let failures = self.failure_sender.clone();
        if let Some(program) = validator {
            let options = ValidatorOptions {
                program,
                folder: self.data_dir.network(data_dir::VALIDATOR)?,
                port: ports.rpc,
                program_id: agent_marketplace::ID,
                program_elf: COMMITTED_ELF,
                authority: upgrade_authority,
            };
            return Validator::start(&options, failures).await.map(SolanaNetwork::Validator);
        }
        let options = ChainOptions {
            dir: self.data_dir.network(data_dir::CHAIN)?,
            rpc_port: ports.rpc,
            ws_port: ports.ws,
            program_id: agent_marketplace::ID,
            program_elf: COMMITTED_ELF,
            upgrade_authority,
        };
        let chain = tokio::task::spawn_blocking(move || Chain::start(&options, failures)).await?;
        Ok(SolanaNetwork::Embedded(Box::new(chain?)))
    }

    fn serve_creator(&mut self, listener: TcpListener, keys: &Keys) {
        let (key, shutdown, failures) = (keys.result_key.clone(), self.creator.clone(), self.failure_sender.clone());
        self.creator_task.spawn(async move {
            if let Err(error) = demo::serve(listener, key, shutdown).await {
                let _ = failures.send(anyhow!(error).context("the demo creator"));
            }
        });
    }

    /// Waits until something that should run on has ended.
    pub async fn first_failure(&mut self) -> anyhow::Error {
        let database = async {
            match &mut self.cluster {
                Some(cluster) => cluster.ended().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            error = database => {
                self.database_ended = true;
                error
            }
            error = self.failures.recv() => error.unwrap_or_else(|| anyhow!("everything has ended")),
        }
    }

    /// Stops the demo creator first, then the chain, then PostgreSQL. Services have to be stopped before.
    pub async fn stop(mut self) -> anyhow::Result<()> {
        self.creator.cancel();
        let creator_ended = async { while self.creator_task.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(CREATOR_LIMIT, creator_ended).await;
        let solana = match self.solana.take() {
            Some(solana) => solana.stop().await,
            None => Ok(()),
        };
        if let Some(pools) = self.pools.take() {
            let _ = tokio::time::timeout(POOL_LIMIT, pools.close()).await;
        }
        let cluster = match self.cluster.take() {
            Some(cluster) => cluster.stop().await.map(drop),
            None => Ok(()),
        };
        solana.context("stopping the network").and(cluster.context("stopping PostgreSQL"))
    }
}

async fn store_api_keys(pool: &PgPool, addresses: &Addresses, keys: &Keys) -> anyhow::Result<()> {
    for (name, CallerWallet { wallet, api_key }) in [("demo", &keys.demo), ("unfunded", &keys.unfunded)] {
        let session_public_key = Pubkey::new_from_array(api_key.session_public_key());
        let wallet = wallet.pubkey();
        let grant = addresses.grant(&wallet, &session_public_key);
        let key = NewApiKey { session_public_key, wallet, grant, name, last_four: &api_key.last_four() };
        api_keys::register(pool, &key).await?;
    }
    Ok(())
}
