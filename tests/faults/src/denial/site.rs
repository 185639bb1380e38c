//! A marketplace under attack: real processes, an attacker with a wallet, and a bystander with another one.

use std::path::PathBuf;

use anyhow::{Context, Result};
use crtx_store::PgPool;
use solana_keypair::Keypair;
use solana_signer::Signer;
use tempfile::TempDir;
use tokio::sync::{Mutex, MutexGuard};

use crate::{
    denial::{Bystander, Entrance},
    market::{Caps, LocalChain, Wallet},
    world::World,
};

/// In base units; enough for all calls of an attack.
const PLENTY: u64 = 1_000_000_000_000;

/// Attacks run one after the other, because two at once could not be measured separately.
static ONE_AT_A_TIME: Mutex<()> = Mutex::const_new(());

pub struct Site {
    pub world: World,
    pub chain: LocalChain,
    pub pool: PgPool,
    /// The wallet that pays for attacks.
    pub attacker: Wallet,
    pub attacker_key: String,
    /// A creator that the attacker owns.
    pub creator: Keypair,
    _folder: TempDir,
    _turn: MutexGuard<'static, ()>,
}

impl Site {
    /// Starts `gateways` gateways in addition to that of `crtx up`. `name` is the folder of their logs.
    pub async fn start(name: &str, gateways: usize) -> Result<Self> {
        let turn = ONE_AT_A_TIME.lock().await;
        let folder = crtx_e2e::folder();
        let logs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/denial").join(name);
        let world = World::start(folder.path(), &logs, gateways).await?;
        let chain = world.chain()?;
        let pool = crtx_store::testing::connect(&world.info()?.database_url, 4).await?;
        let caps = [Caps { per_call: 1_000_000, total: PLENTY }];
        let attacker = chain.wallet(&pool, Keypair::new(), PLENTY, &caps).await?;
        let attacker_key = attacker.keys.first().context("a key")?.reveal();
        let creator = Keypair::new();
        chain.fund(&creator.pubkey(), PLENTY).await?;
        Ok(Self { world, chain, pool, attacker, attacker_key, creator, _folder: folder, _turn: turn })
    }

    /// Host and port of the gateway of `crtx up`.
    pub fn address(&self) -> Result<String> {
        Ok(self.base_url()?.trim_start_matches("http://").to_owned())
    }

    /// Both ways to that gateway, which trusts the proxy.
    pub async fn entrances(&self) -> Result<[Entrance; 2]> {
        Entrance::both(&self.base_url()?).await
    }

    pub fn base_url(&self) -> Result<String> {
        Ok(self.world.info()?.base_url)
    }

    /// A bystander with the demo wallet, at the gateway of `crtx up`.
    pub fn bystander(&self) -> Result<Bystander> {
        let info = self.world.info()?;
        let pid = self.world.up.pid().context("crtx up runs")?;
        Ok(Bystander::new(&info.base_url, &info.api_key, &self.honest_agent()?, pid))
    }

    /// A demo agent that answers as listed.
    pub fn honest_agent(&self) -> Result<String> {
        let agents = self.world.info()?.agents;
        let agent = agents.into_iter().find(|agent| agent.name == "text-stats").context("the demo agent")?;
        Ok(agent.agent_id)
    }

    /// Waits a few seconds for the index to show the agents. It never shows an agent that it refuses.
    pub async fn settle_listings(&self) {
        tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    }
}
