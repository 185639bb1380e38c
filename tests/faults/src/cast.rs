//! Who takes part in a campaign: wallets with API keys, creators with agents, and what everybody held at first.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use crtx_protocol::api_key::ApiKey;
use crtx_store::PgPool;
use ed25519_dalek::SigningKey;
use rand::{Rng, SeedableRng, rngs::StdRng};
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use solana_signer::Signer;

use crate::{
    client::Client,
    creator::{Creator, Settler},
    market::{Agent, Caps, Listing, LocalChain, Wallet},
    world::Marketplace,
};

/// What the well-funded wallets start with, in base units.
const PLENTY: u64 = 100_000_000_000;
/// What the poor wallet starts with: a few calls.
const LITTLE: u64 = 400_000;
const UNLIMITED: Caps = Caps { per_call: 1_000_000, total: PLENTY };
/// A key that may spend about ten calls.
const LIMITED: Caps = Caps { per_call: 1_000_000, total: 350_000 };
const LISTED_LIMIT: Duration = Duration::from_secs(30);

/// Agents: name, price in base units, time-out, and whether results are signed for the call. Odd prices show every
/// rounding.
const AGENTS: [(&str, u64, u32, bool); 4] = [
    ("steady", 30_000, 3, true),
    ("changing", 20_000, 2, false),
    ("quick", 10_001, 1, true),
    ("odd", 33_333, 2, false),
];
/// The agent whose price changes during the campaign, and its prices.
pub const CHANGING: usize = 1;
pub const CHANGING_PRICES: [u64; 2] = [20_000, 45_000];

pub struct Cast {
    pub wallets: Vec<Wallet>,
    /// Every API key with the wallet it spends.
    pub keys: Vec<(usize, ApiKey)>,
    pub agents: Vec<Agent>,
    pub creator_wallet: Keypair,
    pub creator: Creator,
    pub opening: Balances,
}

/// USDC base units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Balances {
    pub wallets: Vec<u64>,
    pub creator: u64,
    pub treasury: u64,
    /// In the escrows of all agents together.
    pub escrow: u64,
}

impl Cast {
    /// Makes everybody, with keys that follow from the seed, and waits until the index shows the agents.
    pub async fn assemble(marketplace: &Marketplace, pool: &PgPool, seed: u64) -> Result<Self> {
        let mut random = StdRng::seed_from_u64(seed ^ 0xca57);
        let mut keypair = || Keypair::new_from_array(random.random());
        let chain = marketplace.chain()?;
        let mut wallets = Vec::new();
        for (usdc, caps) in [
            (PLENTY, &[UNLIMITED, UNLIMITED][..]),
            (PLENTY, &[UNLIMITED, UNLIMITED]),
            (PLENTY, &[UNLIMITED, LIMITED]),
            (LITTLE, &[UNLIMITED]),
        ] {
            wallets.push(chain.wallet(pool, keypair(), usdc, caps).await?);
        }
        let creator_wallet = keypair();
        let creator = Creator::start(SigningKey::from_bytes(&random.random()), marketplace.here).await?;
        let agents = list_agents(marketplace, &chain, &creator_wallet, &creator).await?;
        let keys = wallets
            .iter()
            .enumerate()
            .flat_map(|(wallet, owner)| owner.keys.iter().map(move |key| (wallet, key.clone())));
        let keys = keys.collect();
        let opening = Balances { wallets: Vec::new(), creator: 0, treasury: 0, escrow: 0 };
        let mut cast = Self { wallets, keys, agents, creator_wallet, creator, opening };
        cast.creator.set_settler(cast.settler(&chain));
        cast.opening = cast.balances(&chain).await?;
        cast.wait_until_listed(marketplace).await?;
        Ok(cast)
    }

    /// What the creator needs to settle on the chain as it can be reached now.
    pub fn settler(&self, chain: &LocalChain) -> Settler {
        Settler {
            chain: chain.client.clone(),
            build: chain.build,
            wallet: self.creator_wallet.insecure_clone(),
            treasury_owner: chain.treasury_owner,
        }
    }

    /// What everybody holds now.
    pub async fn balances(&self, chain: &LocalChain) -> Result<Balances> {
        let mut wallets = Vec::new();
        for wallet in &self.wallets {
            wallets.push(chain.usdc_of(&wallet.address()).await?);
        }
        let mut escrow = 0;
        for agent in &self.agents {
            escrow += chain.usdc_in(&chain.build.addresses.escrow(&agent.address)).await?;
        }
        Ok(Balances {
            wallets,
            creator: chain.usdc_of(&self.creator_wallet.pubkey()).await?,
            treasury: chain.usdc_of(&chain.treasury_owner).await?,
            escrow,
        })
    }

    /// The wallet with that address.
    pub fn wallet_of(&self, address: &Pubkey) -> Option<usize> {
        self.wallets.iter().position(|wallet| wallet.address() == *address)
    }

    /// An API key of the wallet, in its text form.
    pub fn key_of(&self, wallet: usize) -> String {
        self.wallets[wallet].keys[0].reveal()
    }

    /// Waits until the index shows the agents.
    pub async fn wait_until_listed(&self, marketplace: &Marketplace) -> Result<()> {
        let (client, base_url) = (Client::new()?, marketplace.info()?.base_url);
        let started = Instant::now();
        for agent in &self.agents {
            let url = format!("{base_url}/v1/agents/{}", agent.address);
            while client.get(&url, None, LISTED_LIMIT).await.status() != Some(200) {
                if started.elapsed() > LISTED_LIMIT {
                    bail!("the index does not show the agent {}", agent.name);
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
        Ok(())
    }
}

async fn list_agents(
    marketplace: &Marketplace,
    chain: &LocalChain,
    wallet: &Keypair,
    creator: &Creator,
) -> Result<Vec<Agent>> {
    chain.fund(&wallet.pubkey(), PLENTY).await?;
    let mut agents = Vec::new();
    for (index, (name, price, timeout_seconds, binding)) in (0u32..).zip(AGENTS) {
        let (endpoint, result_key) = (creator.endpoint(name), creator.result_key());
        let listing = Listing { index, name, endpoint: &endpoint, price, timeout_seconds, result_key, binding };
        agents.push(chain.list(wallet, &marketplace.content, &listing).await?);
    }
    Ok(agents)
}
