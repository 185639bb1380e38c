//! A market around one or several gateway processes: wallets with keys and grants, agents, a scripted node that holds
//! them, a creator, and a private PostgreSQL that loses nothing it has committed.

use std::{
    fs,
    io::Write,
    time::{Duration, Instant},
};

use agent_marketplace::state::{AgentListed, AgentStatus, Config, MarketParameters, SpendingGrant};
use anyhow::{Result, ensure};
use bytemuck::Zeroable;
use crtx_chain::{
    FetchedAccount, Instructions,
    testing::{
        FakeRpc,
        program::{self, Accounts, program_account},
    },
    token::{TOKEN_PROGRAM_ID, TokenAccount},
};
use crtx_e2e::{
    alone::{Alone, Settings},
    bench::percentile,
};
use crtx_postgres::PostgresCluster;
use crtx_protocol::{
    address::Addresses,
    api_key::{ApiKey, KeyNetwork},
    metadata::Metadata,
};
use crtx_store::{
    PgPool,
    api_keys::{self, NewApiKey},
    metadata::{self, WantedDocument},
    testing::server::{self, ServerWork},
};
use ed25519_dalek::SigningKey;
use serde_json::json;
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use solana_signer::Signer;
use tokio::runtime::{Handle, Runtime};

use super::{
    super::load::{Lane, milliseconds},
    creator,
};

const WALLETS: u8 = 16;
const AGENTS: u8 = 4;
const PRICE: u64 = 10_000;
/// Of all agents.
const CREATOR: Pubkey = Pubkey::new_from_array([16; 32]);
const HOLDING: u64 = 1_000_000_000_000;

/// Everything that runs, and where.
pub struct StubbedMarket {
    folder: tempfile::TempDir,
    cluster: PostgresCluster,
    pool: PgPool,
    node: FakeRpc,
    gateways: Vec<Alone>,
    /// Where chain and creator run.
    _stubs: Stubs,
}

/// Threads of their own for chain and creator, so that the load does not hold them up.
struct Stubs(Option<Runtime>);

impl Stubs {
    fn new() -> Result<Self> {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        Ok(Self(Some(builder.worker_threads(2).thread_name("stubs").enable_all().build()?)))
    }

    fn handle(&self) -> &Handle {
        self.0.as_ref().expect("lives until it is dropped").handle()
    }
}

impl Drop for Stubs {
    /// A runtime must not wait for its tasks inside another one.
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

struct Wallet {
    address: Pubkey,
    key: ApiKey,
}

fn wallets() -> impl Iterator<Item = Wallet> {
    (0..WALLETS).map(|number| Wallet {
        address: Pubkey::new_from_array([100 + number; 32]),
        key: ApiKey::from_secret(KeyNetwork::Test, [150 + number; 32]),
    })
}

fn agents() -> impl Iterator<Item = Pubkey> {
    (0..AGENTS).map(|number| Pubkey::new_from_array([50 + number; 32]))
}

fn instructions() -> Instructions {
    Instructions::new(Addresses::new(agent_marketplace::ID), Pubkey::new_from_array([6; 32]))
}

impl Wallet {
    fn session_key(&self) -> Pubkey {
        Pubkey::new_from_array(self.key.session_public_key())
    }

    fn grant(&self) -> Pubkey {
        instructions().addresses.grant(&self.address, &self.session_key())
    }
}

impl StubbedMarket {
    pub async fn start(processes: usize) -> Result<Self> {
        let folder = crtx_e2e::folder();
        let cluster = PostgresCluster::start(folder.path(), &|text| eprintln!("{text}")).await?;
        cluster.begin_syncing().await?;
        let pool = crtx_store::testing::connect(&cluster.url(), 4).await?;
        crtx_store::migrate(&pool).await?;
        let undurable = server::undurable_settings(&pool).await?;
        ensure!(undurable.is_empty(), "the database would lose what it committed: {undurable:?}");

        let stubs = Stubs::new()?;
        let result_key = SigningKey::from_bytes(&[7; 32]);
        let authority = Keypair::new_from_array([14; 32]);
        let endpoint = stubs.handle().spawn(creator::start(result_key.clone())).await??;
        let node = stubs.handle().spawn(FakeRpc::start()).await?;
        publish(&pool, &endpoint).await?;
        fill(&mut node.script().accounts, &authority.pubkey(), &result_key);
        node.script().effect = Box::new(program::execute);

        let mut gateways = Vec::new();
        for process in 0..processes {
            let settings = Settings {
                name: &format!("gateway{process}"),
                roles: "api,worker",
                folder: folder.path().to_owned(),
                database_url: cluster.url(),
                rpc_url: node.url().to_owned(),
                ws_url: None,
                usdc_mint: instructions().usdc_mint,
                authority: &authority,
                more: Vec::new(),
            };
            gateways.push(settings.start().await?);
        }
        Ok(Self { folder, cluster, pool, node, gateways, _stubs: stubs })
    }

    /// Every wallet with every agent. Each wallet and each agent uses all processes.
    pub fn lanes(&self) -> Vec<Lane> {
        let lane = |(at, wallet): (usize, Wallet)| {
            let key = wallet.key.reveal();
            agents().enumerate().map(move |(and, agent)| {
                let base_url = self.gateways[(at + and) % self.gateways.len()].base_url.clone();
                Lane { base_url, agent: agent.to_string(), api_key: key.clone() }
            })
        };
        wallets().enumerate().flat_map(lane).collect()
    }

    pub fn gateway_pids(&self) -> Vec<u32> {
        self.gateways.iter().map(Alone::pid).collect()
    }

    pub const fn pool(&self) -> &PgPool {
        &self.pool
    }

    pub async fn server_work(&self) -> Result<ServerWork> {
        // Sessions report what they did up to a second late.
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        Ok(server::work(&self.pool).await?)
    }

    pub fn rpc_requests(&self) -> u64 {
        self.node.script().requests.values().sum()
    }

    /// What one small write to the disk under the database takes until it is there.
    pub fn disk_sync_ms(&self) -> Result<f64> {
        let mut file = fs::File::create(self.folder.path().join("sync"))?;
        let mut samples = Vec::new();
        for _ in 0..100 {
            file.write_all(&[1; 8_192])?;
            let started = Instant::now();
            file.sync_data()?;
            samples.push(milliseconds(started.elapsed()));
        }
        Ok(percentile(&mut samples, 0.50))
    }

    pub async fn stop(self) -> Result<()> {
        for gateway in self.gateways {
            gateway.stop().await?;
        }
        self.pool.close().await;
        self.cluster.stop().await?;
        Ok(())
    }
}

/// The keys' rows and the agents' documents, as the indexer would have stored them.
async fn publish(pool: &PgPool, endpoint: &str) -> Result<()> {
    for wallet in wallets() {
        let key = NewApiKey {
            session_public_key: wallet.session_key(),
            wallet: wallet.address,
            grant: wallet.grant(),
            name: "bench",
            last_four: "abcd",
        };
        api_keys::register(pool, &key).await?;
    }
    let document = json!({
        "name": "stub", "tagline": "t", "description": "d", "tags": ["data"], "endpoint": endpoint,
        "input_schema": {"type": "object"}, "output_schema": {"type": "string"},
    });
    let parsed: Metadata = serde_json::from_value(document.clone())?;
    for agent in agents() {
        let wanted =
            WantedDocument { agent, creator: CREATOR, sha256: [1; 32], uri: "ipfs://x".to_owned(), attempts: 0 };
        metadata::store_document(pool, &wanted, document.to_string().as_bytes(), &document, &parsed).await?;
    }
    Ok(())
}

/// The accounts that the program would have.
fn fill(accounts: &mut Accounts, authority: &Pubkey, result_key: &SigningKey) {
    let instructions = instructions();
    let mut config = Config::zeroed();
    config.gateway_authority = *authority;
    config.treasury_owner = Pubkey::new_from_array([15; 32]);
    config.usdc_mint = instructions.usdc_mint;
    config.parameters = MarketParameters::DEFAULT;
    config.revision = 1;
    accounts.insert(instructions.addresses.config(), program_account(&config));
    let usdc_of = |owner, amount, delegate| {
        let account = TokenAccount { mint: instructions.usdc_mint, owner, amount, delegate, frozen: false };
        let account = FetchedAccount { owner: TOKEN_PROGRAM_ID, lamports: 1, data: account.encode() };
        (instructions.usdc_of(&owner), account)
    };
    accounts.extend([CREATOR, config.treasury_owner].map(|owner| usdc_of(owner, 0, None)));
    let system = FetchedAccount { owner: Pubkey::default(), lamports: 10_000_000_000_000, data: Vec::new() };
    accounts.insert(*authority, system);
    for agent in agents() {
        let mut listing = AgentListed::zeroed();
        listing.creator = CREATOR;
        listing.result_key = Pubkey::new_from_array(result_key.verifying_key().to_bytes());
        listing.metadata_hash = [1; 32];
        listing.price = PRICE;
        listing.timeout_seconds = 60;
        listing.status = AgentStatus::Active as u8;
        listing.binding = 1;
        listing.revision = 1;
        accounts.insert(agent, program_account(&listing));
    }
    for wallet in wallets() {
        let mut grant = SpendingGrant::zeroed();
        grant.wallet = wallet.address;
        grant.session_key = wallet.session_key();
        grant.per_call_cap = PRICE;
        grant.total_cap = HOLDING;
        grant.expires_at_unix_s = i64::MAX;
        grant.revision = 1;
        accounts.insert(wallet.grant(), program_account(&grant));
        let delegate = Some((instructions.addresses.spender(&wallet.address), HOLDING));
        accounts.extend([usdc_of(wallet.address, HOLDING, delegate)]);
    }
}
