//! Wallets, API keys, creators and agents of a test, made on the local network through real transactions and
//! with the keys that lie in its data directory.

use std::{path::Path, time::Duration};

use agent_marketplace::{
    instructions::{GrantSpendingArgs, ListAgentArgs, MetadataRef, UpdateListingArgs},
    state::MarketParameters,
};
use anyhow::{Context, Result, bail};
use crtx_chain::{
    ChainClient, Instructions, Layout, Outcome, SignedTransaction,
    token::{self, TokenAccount},
};
use crtx_content::ContentStore;
use crtx_e2e::Info;
use crtx_protocol::{
    address::Addresses,
    api_key::{ApiKey, KeyNetwork},
    content::cid_of,
    metadata::Metadata,
    result_hash::ResultHash,
};
use crtx_store::{
    PgPool,
    api_keys::{self, NewApiKey},
};
use serde_json::{Value, json};
use solana_instruction::{AccountMeta, Instruction};
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use solana_sdk_ids::system_program;
use solana_signer::Signer;

const PATIENCE: Duration = Duration::from_secs(30);
const SOL: u64 = 1_000_000_000;

/// The chain of a local network, with the keys of its roles.
pub struct LocalChain {
    pub client: ChainClient,
    pub build: Instructions,
    pub admin: Keypair,
    pub gateway_authority: Keypair,
    pub treasury_owner: Pubkey,
}

/// A wallet with USDC, and the API keys that may spend it.
pub struct Wallet {
    pub keypair: Keypair,
    pub keys: Vec<ApiKey>,
}

impl Wallet {
    pub fn address(&self) -> Pubkey {
        self.keypair.pubkey()
    }
}

/// What an API key may spend, in base units.
#[derive(Clone, Copy, Debug)]
pub struct Caps {
    pub per_call: u64,
    pub total: u64,
}

/// A listed agent.
#[derive(Clone, Debug)]
pub struct Agent {
    pub address: Pubkey,
    pub name: String,
    pub creator: Pubkey,
    /// Base units, as it was listed.
    pub price: u64,
    pub timeout_seconds: u32,
}

/// What an agent is listed with.
#[derive(Clone, Debug)]
pub struct Listing<'a> {
    pub index: u32,
    pub name: &'a str,
    pub endpoint: &'a str,
    pub price: u64,
    pub timeout_seconds: u32,
    pub result_key: Pubkey,
    /// Whether results are signed for the call.
    pub binding: bool,
}

impl LocalChain {
    /// The chain behind a running `crtx up`.
    pub fn of(info: &Info, data_dir: &Path) -> Result<Self> {
        let keys: Value = serde_json::from_slice(&std::fs::read(data_dir.join("keys.json"))?)?;
        let key = |name: &str| -> Result<Keypair> {
            let seed = bs58::decode(keys[name].as_str().context("a key")?).into_vec()?;
            Ok(Keypair::new_from_array(seed.try_into().ok().context("32 bytes")?))
        };
        let addresses = Addresses::new(info.program_id.parse()?);
        Ok(Self {
            client: ChainClient::new(&info.rpc_url, PATIENCE),
            build: Instructions::new(addresses, info.usdc_mint.parse()?),
            admin: key("admin")?,
            gateway_authority: key("gateway_authority")?,
            treasury_owner: key("treasury_owner")?.pubkey(),
        })
    }

    /// Sends with the admin as fee payer, and waits for the confirmation.
    pub async fn send(&self, instructions: &[Instruction], signers: &[&Keypair]) -> Result<()> {
        let blockhash = self.client.recent_blockhash().await?;
        let others = signers.iter().filter(|signer| signer.pubkey() != self.admin.pubkey());
        let all: Vec<&Keypair> = std::iter::once(&self.admin).chain(others.copied()).collect();
        let transaction = SignedTransaction::sign(instructions, &all, blockhash)?;
        match self.client.send_and_confirm(&transaction, PATIENCE).await {
            Outcome::Confirmed { .. } => Ok(()),
            outcome => bail!("a transaction of the set-up did not go through: {outcome:?}"),
        }
    }

    /// Gives a wallet SOL, a USDC account and `usdc` base units.
    pub async fn fund(&self, wallet: &Pubkey, usdc: u64) -> Result<()> {
        let (admin, mint) = (self.admin.pubkey(), self.build.usdc_mint);
        let instructions = [
            transfer(&admin, wallet, SOL / 2),
            token::create_associated_token_account(&admin, wallet, &mint),
            token::mint_to(&mint, &self.build.usdc_of(wallet), &admin, usdc),
        ];
        self.send(&instructions, &[]).await
    }

    /// Makes a wallet with `usdc` base units and one API key for each entry of `caps`.
    pub async fn wallet(&self, pool: &PgPool, keypair: Keypair, usdc: u64, caps: &[Caps]) -> Result<Wallet> {
        let wallet = keypair.pubkey();
        self.fund(&wallet, usdc).await?;
        let addresses = self.build.addresses;
        let (account, spender) = (self.build.usdc_of(&wallet), addresses.spender(&wallet));
        let mut instructions = vec![token::approve(&account, &self.build.usdc_mint, &spender, &wallet, u64::MAX / 2)];
        let mut keys = Vec::new();
        for caps in caps {
            let key = ApiKey::generate(KeyNetwork::Test)?;
            let args = GrantSpendingArgs {
                session_key: Pubkey::new_from_array(key.session_public_key()),
                per_call_cap: caps.per_call,
                total_cap: caps.total,
                daily_cap: 0,
                expires_at_unix_s: i64::MAX / 4,
                allowed_agents: vec![],
            };
            instructions.push(self.build.grant_spending(&wallet, args));
            keys.push(key);
        }
        self.send(&instructions, &[&keypair]).await?;
        for (number, key) in keys.iter().enumerate() {
            let session_public_key = Pubkey::new_from_array(key.session_public_key());
            let name = format!("key {number}");
            let grant = addresses.grant(&wallet, &session_public_key);
            let row = NewApiKey { session_public_key, wallet, grant, name: &name, last_four: "abcd" };
            api_keys::register(pool, &row).await?;
        }
        Ok(Wallet { keypair, keys })
    }

    /// Lists an agent. Its document is put into the content store, from where the indexer fetches it.
    pub async fn list(&self, creator: &Keypair, content: &ContentStore, listing: &Listing<'_>) -> Result<Agent> {
        let args = ListAgentArgs {
            index: listing.index,
            result_key: listing.result_key,
            price: listing.price,
            timeout_seconds: listing.timeout_seconds,
            binding: listing.binding,
            min_cover: 0,
            collateral: MarketParameters::DEFAULT.required_collateral(listing.price, 0),
            metadata_hash: [0; 32],
            metadata_uri: String::new(),
        };
        let metadata = store_document(content, listing).await?;
        let args = ListAgentArgs { metadata_hash: metadata.hash, metadata_uri: metadata.uri, ..args };
        let creator_address = creator.pubkey();
        self.send(&[self.build.list_agent(&creator_address, args)], &[creator]).await?;
        Ok(Agent {
            address: self.build.addresses.agent(&creator_address, listing.index),
            name: listing.name.to_owned(),
            creator: creator_address,
            price: listing.price,
            timeout_seconds: listing.timeout_seconds,
        })
    }

    pub async fn set_price(&self, creator: &Keypair, agent: &Pubkey, price: u64) -> Result<()> {
        let args = UpdateListingArgs { price: Some(price), ..UpdateListingArgs::default() };
        self.send(&[self.build.update_listing(&creator.pubkey(), agent, args)], &[creator]).await
    }

    /// Base units in the wallet's own USDC account.
    pub async fn usdc_of(&self, wallet: &Pubkey) -> Result<u64> {
        self.usdc_in(&self.build.usdc_of(wallet)).await
    }

    /// Base units in a token account.
    pub async fn usdc_in(&self, account: &Pubkey) -> Result<u64> {
        let account = self.client.account(account).await?.value.context("there is no such token account")?;
        Ok(TokenAccount::decode(&account)?.amount)
    }

    /// An account of the program.
    pub async fn read<A: Layout>(&self, address: &Pubkey) -> Result<Option<A>> {
        let account = self.client.account(address).await?.value;
        account.map(|account| Ok(A::decode(&account.data)?)).transpose()
    }
}

async fn store_document(content: &ContentStore, listing: &Listing<'_>) -> Result<MetadataRef> {
    let metadata = Metadata {
        name: listing.name.to_owned(),
        tagline: "Behaves as each call asks.".to_owned(),
        description: "A creator of the fault tests: `behaviour` and `delay_ms` say how it answers.".to_owned(),
        tags: vec!["monitoring".to_owned()],
        endpoint: listing.endpoint.to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": {"behaviour": {"type": "string"}, "delay_ms": {"type": "integer", "minimum": 0}},
        }),
        output_schema: json!({"type": "string"}),
    };
    let document = serde_json::to_vec(&metadata)?;
    let hash = ResultHash::of(&document);
    content.put(document).await?;
    Ok(MetadataRef { hash: hash.0, uri: format!("ipfs://{}", cid_of(&hash)) })
}

fn transfer(from: &Pubkey, to: &Pubkey, lamports: u64) -> Instruction {
    let mut data = 2u32.to_le_bytes().to_vec();
    data.extend_from_slice(&lamports.to_le_bytes());
    let accounts = vec![AccountMeta::new(*from, true), AccountMeta::new(*to, false)];
    Instruction { program_id: system_program::ID, accounts, data }
}
