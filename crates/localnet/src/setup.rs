//! Sets the marketplace up on the local network with ordinary transactions: mint, configuration, wallets,
//! listings, grants. Every step reads the chain first, so a second run sends only what is missing or has changed.

use std::time::Duration;

use agent_marketplace::{
    instructions::{GrantSpendingArgs, InitializeConfigArgs, ListAgentArgs, MetadataRef, UpdateListingArgs},
    state::{MarketParameters, SpendingGrant},
};
use anyhow::{Context, anyhow, bail};
use crtx_chain::{
    ChainClient, Instructions, Outcome, ProgramAccount, SignedTransaction,
    deployment::{ExpectedCode, Initialization},
    system,
    token::{self, TokenAccount},
};
use crtx_content::ContentStore;
use crtx_protocol::{content::ipfs_uri, result_hash::ResultHash, usdc::BASE_UNITS_PER_USDC};
use solana_instruction::Instruction;
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use solana_signer::Signer;

use crate::{
    demo::{DEMO_AGENTS, DemoAgent},
    keys::{CallerWallet, Keys},
    solana::SolanaNetwork,
};

const PATIENCE: Duration = Duration::from_secs(20);
const SOL: u64 = 1_000_000_000;
const CREATOR_NAME: &str = "crtx demo creator";

/// What the wallets start with.
const DEMO_USDC: u64 = 1_000 * BASE_UNITS_PER_USDC;
const CREATOR_USDC: u64 = 100 * BASE_UNITS_PER_USDC;

/// What an API key of the local network may spend.
const PER_CALL_CAP: u64 = 10 * BASE_UNITS_PER_USDC;
const TOTAL_CAP: u64 = 1_000_000 * BASE_UNITS_PER_USDC;
const GRANT_LIFE_S: i64 = 365 * 24 * 3_600;
/// A grant that ends sooner than this is renewed at start.
const GRANT_RENEWAL_S: i64 = 30 * 24 * 3_600;

/// An agent as it is on chain now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedAgent {
    pub agent_id: Pubkey,
    /// SHA-256 of its metadata document.
    pub metadata_hash: [u8; 32],
    pub name: &'static str,
    /// USDC base units.
    pub price: u64,
    pub endpoint: String,
}

pub struct Setup<'a> {
    pub chain: &'a ChainClient,
    pub instructions: Instructions,
    pub keys: &'a Keys,
    pub content: &'a ContentStore,
    pub creator_port: u16,
    /// Of a new marketplace.
    pub parameters: MarketParameters,
}

/// Gives SOL to each wallet that pays fees or rent and holds less than one. On a validator the admin has all SOL.
pub async fn fund(network: &SolanaNetwork, client: &ChainClient, keys: &Keys) -> anyhow::Result<()> {
    let roles = [&keys.admin, &keys.resolver, &keys.guardian, &keys.gateway_authority, &keys.creator];
    let wallets = roles.into_iter().chain([&keys.demo.wallet, &keys.unfunded.wallet]);
    let wallets: Vec<Pubkey> = wallets.map(Signer::pubkey).collect();
    let accounts = client.accounts(&wallets).await?.value;
    let mut transfers = Vec::new();
    for (wallet, account) in wallets.iter().zip(accounts) {
        if account.is_none_or(|account| account.lamports < SOL) {
            let sol = if *wallet == keys.gateway_authority.pubkey() { 10_000 } else { 100 };
            let lamports = SOL.saturating_mul(sol);
            match network {
                SolanaNetwork::Embedded(chain) => chain.fund(wallet, lamports)?,
                SolanaNetwork::Validator(_) => transfers.push(system::transfer(&keys.admin.pubkey(), wallet, lamports)),
            }
        }
    }
    if transfers.is_empty() { Ok(()) } else { send(client, &transfers, &[&keys.admin]).await }
}

async fn send(client: &ChainClient, instructions: &[Instruction], signers: &[&Keypair]) -> anyhow::Result<()> {
    let signed = SignedTransaction::sign(instructions, signers, client.recent_blockhash().await?)?;
    match client.send_and_confirm(&signed, PATIENCE).await {
        Outcome::Confirmed { .. } => Ok(()),
        Outcome::Rejected { error, .. } => Err(anyhow!("the transaction failed: {error}")),
        Outcome::Expired | Outcome::Unknown => bail!("the transaction was not confirmed"),
    }
}

impl Setup<'_> {
    /// Everything, in the order in which it depends on each other.
    pub async fn run(&self) -> anyhow::Result<Vec<ListedAgent>> {
        self.mint().await.context("the local USDC mint")?;
        self.config().await.context("the marketplace's configuration")?;
        self.profile().await.context("the demo creator's profile")?;
        let mut listed = Vec::new();
        for agent in &DEMO_AGENTS {
            listed.push(self.listing(agent).await.with_context(|| format!("the listing of {}", agent.name))?);
        }
        for caller in [&self.keys.demo, &self.keys.unfunded] {
            self.grant(caller).await.context("a spending grant")?;
        }
        Ok(listed)
    }

    /// Mint, token accounts, first balances.
    async fn mint(&self) -> anyhow::Result<()> {
        let (keys, mint) = (self.keys, self.keys.usdc_mint.pubkey());
        if self.chain.account(&mint).await?.value.is_some() {
            return Ok(());
        }
        let payer = keys.admin.pubkey();
        let (rent, bytes) = (self.chain.rent_exemption(token::MINT_LEN).await?, u64::try_from(token::MINT_LEN)?);
        let create = system::create_account(&payer, &mint, rent, bytes, &token::TOKEN_PROGRAM_ID);
        let mut instructions = vec![create, token::initialize_mint(&mint, &payer)];
        for wallet in [&keys.creator, &keys.demo.wallet, &keys.unfunded.wallet] {
            instructions.push(token::create_associated_token_account(&payer, &wallet.pubkey(), &mint));
        }
        for (wallet, amount) in [(&keys.creator, CREATOR_USDC), (&keys.demo.wallet, DEMO_USDC)] {
            let account = self.instructions.usdc_of(&wallet.pubkey());
            instructions.push(token::mint_to(&mint, &account, &payer, amount));
        }
        self.send(&instructions, &[&keys.admin, &keys.usdc_mint]).await
    }

    /// As `crtx admin init` does it.
    async fn config(&self) -> anyhow::Result<()> {
        let keys = self.keys;
        let args = InitializeConfigArgs {
            admin: keys.admin.pubkey(),
            resolver: keys.resolver.pubkey(),
            gateway_authority: keys.gateway_authority.pubkey(),
            treasury_owner: keys.treasury_owner.pubkey(),
            insurance_owner: keys.insurance_owner.pubkey(),
            guardian: keys.guardian.pubkey(),
            parameters: self.parameters,
        };
        let wanted = Initialization { instructions: self.instructions, args };
        if let Some(config) = wanted.found(self.chain).await.context("`crtx up --fresh` starts over")? {
            return match config.usdc_mint == self.instructions.usdc_mint {
                true => Ok(()),
                false => bail!("the chain was set up with another USDC mint; `crtx up --fresh` starts over"),
            };
        }
        let authority = keys.admin.pubkey();
        wanted.check_roles()?;
        wanted.check_chain(self.chain, &authority, &ExpectedCode::Committed).await?;
        self.send(&wanted.all(&authority), &[&keys.admin]).await
    }

    async fn profile(&self) -> anyhow::Result<()> {
        let creator = self.keys.creator.pubkey();
        if self.decoded(&self.instructions.addresses.creator_profile(&creator)).await?.is_some() {
            return Ok(());
        }
        let profile = self.instructions.upsert_creator_profile(&creator, CREATOR_NAME);
        self.send(&[profile], &[&self.keys.creator]).await
    }

    async fn listing(&self, agent: &DemoAgent) -> anyhow::Result<ListedAgent> {
        let creator = self.keys.creator.pubkey();
        let address = self.instructions.addresses.agent(&creator, agent.index);
        // The document is named by its hash, so the chain says which one is meant.
        let document = serde_json::to_vec(&agent.metadata(self.creator_port))?;
        let hash = self.content.put(document).await?;
        let price = match self.decoded(&address).await? {
            None => {
                let list = self.instructions.list_agent(&creator, self.new_listing(agent, &hash));
                self.send(&[list], &[&self.keys.creator]).await?;
                agent.price
            }
            Some(ProgramAccount::AgentListed(listing)) => {
                // The demo creator's port may have changed since the listing was written.
                if listing.metadata_hash != hash.0 {
                    let metadata = Some(MetadataRef { hash: hash.0, uri: ipfs_uri(&hash) });
                    let args = UpdateListingArgs { metadata, ..UpdateListingArgs::default() };
                    let update = self.instructions.update_listing(&creator, &address, args);
                    self.send(&[update], &[&self.keys.creator]).await?;
                }
                listing.price
            }
            Some(_) => bail!("its address holds another kind of account"),
        };
        let endpoint = agent.endpoint(self.creator_port);
        Ok(ListedAgent { agent_id: address, metadata_hash: hash.0, name: agent.name, price, endpoint })
    }

    fn new_listing(&self, agent: &DemoAgent, metadata: &ResultHash) -> ListAgentArgs {
        ListAgentArgs {
            index: agent.index,
            result_key: Pubkey::new_from_array(self.keys.result_key.verifying_key().to_bytes()),
            price: agent.price,
            timeout_seconds: agent.timeout_seconds,
            binding: true,
            min_cover: 1,
            collateral: MarketParameters::DEFAULT.required_collateral(agent.price, 1),
            metadata_hash: metadata.0,
            metadata_uri: ipfs_uri(metadata),
        }
    }

    /// The wallet approves its spender address once, and grants the API key what it may spend.
    async fn grant(&self, caller: &CallerWallet) -> anyhow::Result<()> {
        let wallet = caller.wallet.pubkey();
        let addresses = &self.instructions.addresses;
        let (usdc, spender) = (self.instructions.usdc_of(&wallet), addresses.spender(&wallet));
        let now = self.chain.unix_time().await?.context("the chain has no clock")?;
        let granted = match self.decoded(&addresses.grant(&wallet, &caller.session_key())).await? {
            Some(ProgramAccount::SpendingGrant(grant)) => is_long_lived(&grant, now),
            _ => false,
        };
        let account = self.chain.account(&usdc).await?.value.context("the wallet has no USDC account")?;
        let approved = TokenAccount::decode(&account)?.delegate.is_some_and(|(delegate, _)| delegate == spender);
        if granted && approved {
            return Ok(());
        }
        let args = GrantSpendingArgs {
            session_key: caller.session_key(),
            per_call_cap: PER_CALL_CAP,
            total_cap: TOTAL_CAP,
            daily_cap: 0,
            expires_at_unix_s: now.saturating_add(GRANT_LIFE_S),
            allowed_agents: vec![],
        };
        let approve = token::approve(&usdc, &self.instructions.usdc_mint, &spender, &wallet, TOTAL_CAP);
        self.send(&[approve, self.instructions.grant_spending(&wallet, args)], &[&caller.wallet]).await
    }

    async fn decoded(&self, address: &Pubkey) -> anyhow::Result<Option<ProgramAccount>> {
        let Some(account) = self.chain.account(address).await?.value else { return Ok(None) };
        let decoded = ProgramAccount::decode(&account.data);
        let text = || format!("account {address} is of another version of the program; `crtx up --fresh` starts over");
        Ok(Some(decoded.with_context(text)?))
    }

    async fn send(&self, instructions: &[Instruction], signers: &[&Keypair]) -> anyhow::Result<()> {
        send(self.chain, instructions, signers).await
    }
}

/// Revoked on purpose counts as granted: `up` does not undo what the wallet decided.
fn is_long_lived(grant: &SpendingGrant, now: i64) -> bool {
    grant.revoked == 1 || grant.expires_at_unix_s > now.saturating_add(GRANT_RENEWAL_S)
}
