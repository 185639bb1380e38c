//! The marketplace as a command sees it on chain: its addresses, its configuration, and its accounts.

use std::time::Duration;

use agent_marketplace::state::{AgentListed, Config, CreatorProfile, Dispute, ExecutionRecord, SpendingGrant};
use anyhow::{Context, bail};
use bytemuck::Zeroable;
use crtx_chain::{AccountFilter, ChainClient, CommitmentConfig, Execution, Instructions, Layout, token::TokenAccount};
use crtx_protocol::{address::Addresses, usdc::UsdcBase};
use solana_pubkey::Pubkey;

use crate::{arguments::ChainArgs, settings::Settings};

const RPC_TIMEOUT: Duration = Duration::from_secs(30);

/// Offsets behind the discriminator.
const FIRST_FIELD: usize = 8;
const FIELD: usize = 32;
const EXECUTION_ID_OFFSET: usize = FIRST_FIELD + std::mem::offset_of!(ExecutionRecord, execution_id);

/// The node answered, and the program has no configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no marketplace of program {0} on this chain; see --program-id and --network, or set one up with: crtx \
     admin init"
)]
pub struct NotSetUp(Pubkey);

/// One deployment of the program, on one chain.
pub struct Market {
    pub chain: ChainClient,
    pub rpc_url: String,
    pub genesis_hash: String,
    pub instructions: Instructions,
    pub config: Config,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsdcHolding {
    /// False: the wallet has no USDC account.
    pub exists: bool,
    pub amount: UsdcBase,
    /// What the spender address of the wallet may take, for its API keys.
    pub approved: UsdcBase,
    /// Another address that the wallet approved. A token account has room for one.
    pub other_delegate: Option<Pubkey>,
}

impl Market {
    /// Connects and reads the configuration. Fails if the node belongs to another network than the one asked for.
    pub async fn connect(settings: &Settings, arguments: &ChainArgs) -> anyhow::Result<Self> {
        let market = Self::with_config(settings, arguments, Config::zeroed()).await?;
        let program_id = market.addresses().program_id();
        let config = market.chain.account(&market.addresses().config()).await?.value;
        let config = config.filter(|account| account.owner == program_id).ok_or(NotSetUp(program_id))?;
        let config = Config::decode(&config.data).context("the configuration is of another version of the program")?;
        Ok(Self { instructions: Instructions::new(*market.addresses(), config.usdc_mint), config, ..market })
    }

    /// The same, but takes `config` for the configuration of the program, which may have none yet.
    pub async fn with_config(settings: &Settings, arguments: &ChainArgs, config: Config) -> anyhow::Result<Self> {
        let found = settings.rpc_url(arguments.rpc_url.as_ref())?;
        let rpc_url = found.value.as_str().trim_end_matches('/').to_owned();
        let addresses = Addresses::new(settings.program_id(arguments.program_id)?.value);
        let chain = ChainClient::new(&rpc_url, RPC_TIMEOUT);
        let genesis_hash = chain.genesis_hash().await;
        let genesis_hash = genesis_hash.with_context(|| match settings.gone(&found.value) {
            Some(gone) => format!("no answer from the Solana RPC node {rpc_url}: {gone}"),
            None => format!("no answer from the Solana RPC node {rpc_url} ({})", found.source),
        })?;
        if settings.network.genesis_hash().is_some_and(|expected| expected != genesis_hash) {
            bail!("the RPC node {rpc_url} does not belong to {}; choose another with --rpc-url", settings.network);
        }
        Ok(Self { chain, rpc_url, genesis_hash, instructions: Instructions::new(addresses, config.usdc_mint), config })
    }

    pub const fn addresses(&self) -> &Addresses {
        &self.instructions.addresses
    }

    /// The chain's time in seconds since 1970.
    pub async fn now(&self) -> anyhow::Result<i64> {
        self.chain.unix_time().await?.context("the chain has no clock")
    }

    /// An account of the program; `None` if there is none at that address.
    pub async fn find<T: Layout>(&self, address: &Pubkey) -> anyhow::Result<Option<T>> {
        let Some(account) = self.chain.account(address).await?.value else { return Ok(None) };
        if account.owner != self.addresses().program_id() {
            bail!("{address} is not an account of the marketplace");
        }
        Ok(Some(T::decode(&account.data).with_context(|| format!("account {address}"))?))
    }

    pub async fn agent(&self, address: &Pubkey) -> anyhow::Result<AgentListed> {
        self.find(address).await?.with_context(|| format!("there is no agent {address} on this chain"))
    }

    pub async fn execution(&self, address: &Pubkey) -> anyhow::Result<Execution> {
        self.find(address).await?.with_context(|| format!("there is no execution record {address} on this chain"))
    }

    pub async fn profile(&self, creator: &Pubkey) -> anyhow::Result<Option<CreatorProfile>> {
        self.find(&self.addresses().creator_profile(creator)).await
    }

    /// All agents of a creator, by index.
    pub async fn agents_of(&self, creator: &Pubkey) -> anyhow::Result<Vec<(Pubkey, AgentListed)>> {
        let mut agents: Vec<(Pubkey, AgentListed)> = self.accounts(AgentListed::SPACE, Some((0, creator))).await?;
        agents.sort_by_key(|(_, agent)| agent.index);
        Ok(agents)
    }

    pub async fn grants_of(&self, wallet: &Pubkey) -> anyhow::Result<Vec<SpendingGrant>> {
        let grants = self.accounts(SpendingGrant::SPACE, Some((0, wallet))).await?;
        Ok(grants.into_iter().map(|(_, grant)| grant).collect())
    }

    pub async fn disputes(&self) -> anyhow::Result<Vec<(Pubkey, Dispute)>> {
        self.accounts(Dispute::SPACE, None).await
    }

    pub async fn disputes_about(&self, agent: &Pubkey) -> anyhow::Result<Vec<(Pubkey, Dispute)>> {
        self.accounts(Dispute::SPACE, Some((1, agent))).await
    }

    pub async fn disputes_by(&self, caller: &Pubkey) -> anyhow::Result<Vec<(Pubkey, Dispute)>> {
        self.accounts(Dispute::SPACE, Some((2, caller))).await
    }

    /// The executions with that id that are on chain, of all wallets.
    pub async fn executions_with_id(&self, id: &[u8; 16]) -> anyhow::Result<Vec<(Pubkey, Execution)>> {
        self.filtered(&[AccountFilter::Bytes { offset: EXECUTION_ID_OFFSET, bytes: id.to_vec() }]).await
    }

    /// All accounts of that length, or only those that have this address in the field of that number. The first fields
    /// of all accounts are addresses.
    async fn accounts<T: Layout>(
        &self,
        length: usize,
        field: Option<(usize, &Pubkey)>,
    ) -> anyhow::Result<Vec<(Pubkey, T)>> {
        let mut filters = vec![AccountFilter::DataSize(u64::try_from(length)?)];
        filters.extend(field.map(|(number, address)| {
            let offset = number.saturating_mul(FIELD).saturating_add(FIRST_FIELD);
            AccountFilter::Bytes { offset, bytes: address.to_bytes().to_vec() }
        }));
        self.filtered(&filters).await
    }

    async fn filtered<T: Layout>(&self, filters: &[AccountFilter]) -> anyhow::Result<Vec<(Pubkey, T)>> {
        let program = self.addresses().program_id();
        let confirmed = CommitmentConfig::confirmed();
        let found = self.chain.program_accounts(&program, filters, confirmed).await?.value;
        Ok(found.into_iter().filter_map(|(address, account)| Some((address, T::decode(&account.data).ok()?))).collect())
    }

    /// What a wallet holds in its associated USDC account.
    pub async fn usdc_of(&self, wallet: &Pubkey) -> anyhow::Result<UsdcHolding> {
        let account = self.chain.account(&self.instructions.usdc_of(wallet)).await?.value;
        let Some(account) = account.and_then(|account| TokenAccount::decode(&account).ok()) else {
            return Ok(UsdcHolding::default());
        };
        let spender = self.addresses().spender(wallet);
        let (approved, other_delegate) = match account.delegate {
            Some((delegate, amount)) if delegate == spender => (amount, None),
            other => (0, other.map(|(delegate, _)| delegate)),
        };
        let (amount, approved) = (UsdcBase(account.amount), UsdcBase(approved));
        Ok(UsdcHolding { exists: true, amount, approved, other_delegate })
    }

    /// Lamports of an account; 0 if there is none.
    pub async fn lamports_of(&self, address: &Pubkey) -> anyhow::Result<u64> {
        Ok(self.chain.account(address).await?.value.map_or(0, |account| account.lamports))
    }

    pub async fn exists(&self, address: &Pubkey) -> anyhow::Result<bool> {
        Ok(self.chain.account(address).await?.value.is_some())
    }
}
