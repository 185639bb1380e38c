//! Collects what the checks look at: content over HTTP, accounts and the settling transaction over RPC.

use std::time::Duration;

use agent_marketplace::state::{AgentListing, Config, ExecutionRecord};
use anchor_lang::Discriminator;
use anyhow::{Context, bail};
use base64::{Engine, prelude::BASE64_STANDARD};
use crtx_chain::{ChainClient, ProgramAccount};
use crtx_protocol::address::Addresses;
use serde::Deserialize;
use serde_json::json;
use solana_pubkey::Pubkey;
use solana_rpc_client_api::request::RpcRequest;
use solana_transaction::versioned::VersionedTransaction;

use super::claims::Claims;

/// Larger than any result that a marketplace stores by default, small enough to hold in memory.
const MAX_CONTENT_BYTES: usize = 64 * 1024 * 1024;
const HTTP_TIMEOUT: Duration = Duration::from_secs(30);
const RPC_TIMEOUT: Duration = Duration::from_secs(30);

/// Places among the accounts of `complete_execution`.
const RECORD_POSITION: usize = 3;
const CREATOR_TOKEN_POSITION: usize = 5;
const TREASURY_TOKEN_POSITION: usize = 6;

/// Everything that was found. What was not found says why.
#[derive(Clone, Debug)]
pub struct Evidence {
    pub claims: Claims,
    pub program_id: Pubkey,
    pub record_address: Pubkey,
    pub content: Result<Content, String>,
    pub record: Result<ExecutionRecord, String>,
    pub listing: Result<AgentListing, String>,
    pub config: Result<Config, String>,
    pub settlement: Result<Settlement, String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    pub bytes: Vec<u8>,
    /// Where it came from, for the report.
    pub source: String,
}

/// The transaction that completed the execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settlement {
    pub signature: String,
    /// Top-level instructions.
    pub instructions: Vec<PlainInstruction>,
    /// Which of them is `complete_execution` of the record.
    pub complete_at: usize,
    pub token_changes: Vec<TokenChange>,
}

/// The token accounts that a settlement pays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payees {
    pub creator: Pubkey,
    pub treasury: Pubkey,
}

impl Settlement {
    /// As the settling instruction names them.
    pub fn payees(&self) -> Option<Payees> {
        let accounts = &self.instructions.get(self.complete_at)?.accounts;
        let at = |position: usize| accounts.get(position).copied();
        Some(Payees { creator: at(CREATOR_TOKEN_POSITION)?, treasury: at(TREASURY_TOKEN_POSITION)? })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainInstruction {
    pub program_id: Pubkey,
    pub accounts: Vec<Pubkey>,
    pub data: Vec<u8>,
}

/// What a transaction did to one token account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenChange {
    pub account: Pubkey,
    pub owner: Pubkey,
    pub mint: Pubkey,
    /// Base units; negative where they left.
    pub change: i128,
}

/// Where the content comes from.
#[derive(Clone, Debug)]
pub enum ContentSource {
    /// The record's `ipfs_url`.
    Url,
    /// The same, or the result that the saved record holds where nobody serves that URL any more.
    UrlOrStatedResult,
    /// A copy that the user has.
    Copy(Content),
}

/// Looks at everything that `claims` point to.
pub async fn collect(
    claims: Claims,
    program_id: Pubkey,
    rpc_url: &str,
    source: ContentSource,
) -> anyhow::Result<Evidence> {
    let record_address = claims.record_address()?;
    let chain = ChainClient::new(rpc_url, RPC_TIMEOUT);
    let content = find_content(&claims, source).await.map_err(|error| format!("{error:#}"));
    let record = account(&chain, &program_id, &record_address).await.and_then(|account| match account {
        ProgramAccount::ExecutionRecord(record) => Ok(*record),
        _ => bail!("{record_address} is not an execution record"),
    });
    let listing = match &record {
        Ok(record) => account(&chain, &program_id, &record.agent).await.and_then(|account| match account {
            ProgramAccount::AgentListing(listing) => Ok(*listing),
            _ => bail!("the record's agent is not a listing"),
        }),
        Err(_) => Err(anyhow::anyhow!("there is no record that names it")),
    };
    let config =
        account(&chain, &program_id, &Addresses::new(program_id).config()).await.and_then(|account| match account {
            ProgramAccount::Config(config) => Ok(*config),
            _ => bail!("the configuration's address holds something else"),
        });
    let settlement = find_settlement(&chain, &program_id, &record_address).await;
    let text = |error: anyhow::Error| format!("{error:#}");
    Ok(Evidence {
        claims,
        program_id,
        record_address,
        content,
        record: record.map_err(text),
        listing: listing.map_err(text),
        config: config.map_err(text),
        settlement: settlement.map_err(text),
    })
}

async fn find_content(claims: &Claims, source: ContentSource) -> anyhow::Result<Content> {
    let error = match source {
        ContentSource::Copy(content) => return Ok(content),
        ContentSource::Url => return fetch_content(claims).await,
        ContentSource::UrlOrStatedResult => match fetch_content(claims).await {
            Ok(content) => return Ok(content),
            Err(error) => error,
        },
    };
    let result = claims.result.as_ref().ok_or(error)?;
    Ok(Content {
        bytes: result.clone().into_bytes(),
        source: "the saved result (its URL cannot be fetched)".to_owned(),
    })
}

async fn fetch_content(claims: &Claims) -> anyhow::Result<Content> {
    let url = claims.ipfs_url.as_deref().context("the record names no content")?;
    let client = reqwest::Client::builder().timeout(HTTP_TIMEOUT).build()?;
    let mut response = client.get(url).send().await?.error_for_status()?;
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if bytes.len().saturating_add(chunk.len()) > MAX_CONTENT_BYTES {
            bail!("the content is larger than {MAX_CONTENT_BYTES} bytes");
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(Content { bytes, source: url.to_owned() })
}

/// An account of the program, owner checked.
async fn account(chain: &ChainClient, program_id: &Pubkey, address: &Pubkey) -> anyhow::Result<ProgramAccount> {
    let found = chain.account(address).await?.value.with_context(|| format!("{address} is not on the chain"))?;
    if found.owner != *program_id {
        bail!("{address} is owned by {}, not by the marketplace program {program_id}", found.owner);
    }
    Ok(ProgramAccount::decode(&found.data)?)
}

/// Newest first, the successful transactions that touched the record, until one completes it.
async fn find_settlement(chain: &ChainClient, program_id: &Pubkey, record: &Pubkey) -> anyhow::Result<Settlement> {
    #[derive(Deserialize)]
    struct Found {
        signature: String,
        err: Option<serde_json::Value>,
    }
    let config = json!({"commitment": "confirmed"});
    let found: Vec<Found> =
        chain.rpc().send(RpcRequest::GetSignaturesForAddress, json!([record.to_string(), config])).await?;
    for candidate in found.iter().filter(|found| found.err.is_none()) {
        if let Some(settlement) = read_settlement(chain, program_id, record, &candidate.signature).await? {
            return Ok(settlement);
        }
    }
    bail!("the RPC node has no successful transaction that completes this record (of {} about it)", found.len())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RpcTransaction {
    transaction: (String, String),
    meta: Option<RpcMeta>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RpcMeta {
    err: Option<serde_json::Value>,
    pre_token_balances: Option<Vec<RpcTokenBalance>>,
    post_token_balances: Option<Vec<RpcTokenBalance>>,
    loaded_addresses: Option<RpcLoadedAddresses>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RpcTokenBalance {
    account_index: usize,
    mint: String,
    owner: String,
    ui_token_amount: RpcAmount,
}

#[derive(Deserialize)]
struct RpcAmount {
    amount: String,
}

#[derive(Default, Deserialize)]
struct RpcLoadedAddresses {
    writable: Vec<String>,
    readonly: Vec<String>,
}

async fn read_settlement(
    chain: &ChainClient,
    program_id: &Pubkey,
    record: &Pubkey,
    signature: &str,
) -> anyhow::Result<Option<Settlement>> {
    let config = json!({"encoding": "base64", "commitment": "confirmed", "maxSupportedTransactionVersion": 1});
    let answer: Option<RpcTransaction> =
        chain.rpc().send(RpcRequest::GetTransaction, json!([signature, config])).await?;
    let answer = answer.with_context(|| format!("the RPC node lists {signature} but does not have it"))?;
    let meta = answer.meta.context("the RPC node gives no metadata")?;
    if meta.err.is_some() {
        return Ok(None);
    }
    let bytes = BASE64_STANDARD.decode(&answer.transaction.0).context("the transaction is not base64")?;
    let transaction: VersionedTransaction =
        wincode::deserialize(&bytes).map_err(|error| anyhow::anyhow!("the transaction cannot be read: {error}"))?;
    let keys = account_keys(&transaction, meta.loaded_addresses.as_ref())?;
    let instructions = plain_instructions(&transaction, &keys)?;
    let Some(complete_at) = instructions.iter().position(|instruction| completes(instruction, program_id, record))
    else {
        return Ok(None);
    };
    let before = meta.pre_token_balances.unwrap_or_default();
    let after = meta.post_token_balances.unwrap_or_default();
    let token_changes = token_changes(&keys, &before, &after)?;
    Ok(Some(Settlement { signature: signature.to_owned(), instructions, complete_at, token_changes }))
}

fn account_keys(
    transaction: &VersionedTransaction,
    loaded: Option<&RpcLoadedAddresses>,
) -> anyhow::Result<Vec<Pubkey>> {
    let mut keys = transaction.message.static_account_keys().to_vec();
    for address in loaded.iter().flat_map(|loaded| loaded.writable.iter().chain(&loaded.readonly)) {
        keys.push(address.parse().context("a loaded address")?);
    }
    Ok(keys)
}

fn plain_instructions(transaction: &VersionedTransaction, keys: &[Pubkey]) -> anyhow::Result<Vec<PlainInstruction>> {
    let key = |index: u8| keys.get(usize::from(index)).copied().context("an account index out of range");
    let instructions = transaction.message.instructions().iter().map(|instruction| {
        Ok(PlainInstruction {
            program_id: key(instruction.program_id_index)?,
            accounts: instruction.accounts.iter().map(|index| key(*index)).collect::<anyhow::Result<_>>()?,
            data: instruction.data.clone(),
        })
    });
    instructions.collect()
}

fn completes(instruction: &PlainInstruction, program_id: &Pubkey, record: &Pubkey) -> bool {
    instruction.program_id == *program_id
        && instruction.data.starts_with(agent_marketplace::instruction::CompleteExecution::DISCRIMINATOR)
        && instruction.accounts.get(RECORD_POSITION) == Some(record)
}

/// An account that is missing on one side had nothing there.
fn token_changes(
    keys: &[Pubkey],
    before: &[RpcTokenBalance],
    after: &[RpcTokenBalance],
) -> anyhow::Result<Vec<TokenChange>> {
    let mut changes: Vec<TokenChange> = Vec::new();
    for (balances, sign) in [(before, -1), (after, 1)] {
        for balance in balances {
            let account = *keys.get(balance.account_index).context("a balance of no account")?;
            let amount: u64 = balance.ui_token_amount.amount.parse().context("a balance")?;
            let signed = i128::from(amount).saturating_mul(sign);
            match changes.iter_mut().find(|change| change.account == account) {
                Some(change) => change.change = change.change.saturating_add(signed),
                None => changes.push(TokenChange {
                    account,
                    owner: balance.owner.parse().context("a balance's owner")?,
                    mint: balance.mint.parse().context("a balance's mint")?,
                    change: signed,
                }),
            }
        }
    }
    Ok(changes)
}
