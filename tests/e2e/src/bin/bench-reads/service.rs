//! What is measured: a private PostgreSQL with a seeded market, a node that holds only the configuration, and one
//! `crtx-server` with the role `api`.

use std::time::{Duration, Instant};

use agent_marketplace::state::{Config, MarketParameters};
use anyhow::{Context, Result, ensure};
use bytemuck::Zeroable;
use chrono::Utc;
use crtx_chain::{
    FetchedAccount,
    testing::{FakeRpc, program::program_account},
};
use crtx_e2e::{
    alone::{Alone, Settings},
    process,
};
use crtx_postgres::PostgresCluster;
use crtx_protocol::address::Addresses;
use crtx_store::{
    PgPool,
    testing::market::{self, Size},
};
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use solana_signer::Signer;
use tokio::task::JoinHandle;

/// A sign of life of the indexer that is not there.
const BEAT: Duration = Duration::from_secs(2);
/// How long the first list may take.
const START_LIMIT: Duration = Duration::from_secs(180);

pub struct Service {
    pub size: Size,
    pub pool: PgPool,
    pub seed_s: f64,
    /// From the start of the process to its first list of agents.
    pub first_list_ms: f64,
    api: Alone,
    beats: JoinHandle<()>,
    _node: FakeRpc,
    /// The PostgreSQL server whose processor time counts.
    pub postgres_pid: u32,
    /// `None`: the database is somebody else's.
    cluster: Option<PostgresCluster>,
    _folder: tempfile::TempDir,
}

impl Service {
    pub async fn start(agents: u32, executions: u32, database_url: Option<String>) -> Result<Self> {
        let folder = crtx_e2e::folder();
        let cluster = match database_url {
            Some(_) => None,
            None => Some(PostgresCluster::start(folder.path(), &|text| eprintln!("{text}")).await?),
        };
        let database_url = database_url.or(cluster.as_ref().map(PostgresCluster::url)).context("no database")?;
        let pool = crtx_store::testing::connect(&database_url, 4).await?;
        crtx_store::migrate(&pool).await?;
        let size = Size { agents, executions, now: Utc::now() };
        let started = Instant::now();
        if market::is_empty(&pool).await {
            market::fill(&pool, &size, &|text| eprintln!("seeding: {text}")).await;
        }
        let seed_s = started.elapsed().as_secs_f64();
        if let Some(cluster) = &cluster {
            cluster.begin_syncing().await?;
        }
        let postgres_pid = process::parent(market::backend_pid(&pool).await).context("the server of this database")?;

        let authority = Keypair::new_from_array([14; 32]);
        let usdc_mint = Pubkey::new_from_array([6; 32]);
        let node = node(&authority.pubkey(), &usdc_mint).await;
        let settings = Settings {
            name: "api",
            roles: "api",
            folder: folder.path().to_owned(),
            database_url,
            rpc_url: node.url().to_owned(),
            ws_url: None,
            usdc_mint,
            authority: &authority,
            more: Vec::new(),
        };
        let beats = tokio::spawn(beat(pool.clone()));
        let started = Instant::now();
        let api = settings.start().await?;
        let first = format!("{}/v1/agents", api.base_url);
        while reqwest::get(&first).await?.status() != 200 {
            ensure!(started.elapsed() < START_LIMIT, "{first} is never 200");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let first_list_ms = started.elapsed().as_secs_f64() * 1_000.0;
        eprintln!("seeded in {seed_s:.0} s, first list after {first_list_ms:.0} ms");
        Ok(Self { size, pool, seed_s, first_list_ms, api, beats, _node: node, postgres_pid, cluster, _folder: folder })
    }

    pub fn base_url(&self) -> &str {
        &self.api.base_url
    }

    pub fn api_pid(&self) -> u32 {
        self.api.pid()
    }

    pub async fn stop(self) -> Result<()> {
        self.beats.abort();
        self.api.stop().await?;
        self.pool.close().await;
        if let Some(cluster) = self.cluster {
            cluster.stop().await?;
        }
        Ok(())
    }
}

async fn beat(pool: PgPool) {
    loop {
        market::stay_live(&pool).await;
        tokio::time::sleep(BEAT).await;
    }
}

/// A node with the configuration that the service compares its own with, and a rich fee payer.
async fn node(authority: &Pubkey, usdc_mint: &Pubkey) -> FakeRpc {
    let mut config = Config::zeroed();
    config.gateway_authority = *authority;
    config.treasury_owner = Pubkey::new_from_array([15; 32]);
    config.usdc_mint = *usdc_mint;
    config.parameters = MarketParameters::DEFAULT;
    config.revision = 1;
    let node = FakeRpc::start().await;
    let system = FetchedAccount { owner: Pubkey::default(), lamports: 10_000_000_000_000, data: Vec::new() };
    let config_address = Addresses::new(agent_marketplace::ID).config();
    node.script().accounts.extend([(config_address, program_account(&config)), (*authority, system)]);
    node
}
