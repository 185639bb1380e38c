//! Transactions as an RPC node returns them: those about an account, what each called and which tokens it moved.

use anyhow::{Context, bail};
use base64::{Engine, prelude::BASE64_STANDARD};
use crtx_chain::ChainClient;
use serde::Deserialize;
use serde_json::json;
use solana_pubkey::Pubkey;
use solana_rpc_client_api::request::RpcRequest;
use solana_transaction::versioned::VersionedTransaction;

/// Most signatures in the answer to one request.
const PAGE: usize = 1_000;
/// Successful transactions about one account that are looked at.
const MOST: usize = 10_000;

/// One transaction that went through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainTransaction {
    pub signature: String,
    /// Top-level instructions.
    pub instructions: Vec<PlainInstruction>,
    /// What those called, in order.
    pub inner_instructions: Vec<PlainInstruction>,
    pub token_changes: Vec<TokenChange>,
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

/// Signatures of the successful transactions that touched an account, newest first.
async fn signatures_about(chain: &ChainClient, address: &Pubkey) -> anyhow::Result<Vec<String>> {
    #[derive(Deserialize)]
    struct Found {
        signature: String,
        err: Option<serde_json::Value>,
    }
    let mut signatures = Vec::new();
    let mut before: Option<String> = None;
    loop {
        let config = json!({"commitment": "confirmed", "limit": PAGE, "before": before});
        let page: Vec<Found> =
            chain.rpc().send(RpcRequest::GetSignaturesForAddress, json!([address.to_string(), config])).await?;
        let (last, full) = (page.last().map(|found| found.signature.clone()), page.len() >= PAGE);
        let succeeded = page.into_iter().filter(|found| found.err.is_none());
        signatures.extend(succeeded.map(|found| found.signature));
        if !full || signatures.len() >= MOST {
            return Ok(signatures);
        }
        before = last;
    }
}

/// The first result of `look` for the successful transactions that touched an account, newest first; else the number
/// of these transactions.
pub async fn first_about<T>(
    chain: &ChainClient,
    address: &Pubkey,
    look: impl Fn(PlainTransaction) -> Option<T>,
) -> anyhow::Result<Result<T, usize>> {
    let signatures = signatures_about(chain, address).await?;
    for signature in &signatures {
        if let Some(seen) = PlainTransaction::read(chain, signature).await?.and_then(&look) {
            return Ok(Ok(seen));
        }
    }
    Ok(Err(signatures.len()))
}

#[derive(Deserialize)]
struct RpcTransaction {
    transaction: (String, String),
    meta: Option<RpcMeta>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RpcMeta {
    err: Option<serde_json::Value>,
    pre_token_balances: Option<Vec<RpcTokenBalance>>,
    post_token_balances: Option<Vec<RpcTokenBalance>>,
    loaded_addresses: Option<RpcLoadedAddresses>,
    inner_instructions: Option<Vec<RpcInnerInstructions>>,
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

#[derive(Deserialize)]
struct RpcInnerInstructions {
    instructions: Vec<RpcInstruction>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RpcInstruction {
    program_id_index: u8,
    accounts: Vec<u8>,
    /// Base58.
    data: String,
}

impl PlainTransaction {
    /// `None` if it failed.
    async fn read(chain: &ChainClient, signature: &str) -> anyhow::Result<Option<Self>> {
        let config = json!({"encoding": "base64", "commitment": "confirmed", "maxSupportedTransactionVersion": 1});
        let answer: Option<RpcTransaction> =
            chain.rpc().send(RpcRequest::GetTransaction, json!([signature, config])).await?;
        let answer = answer.with_context(|| format!("the RPC node lists {signature} but does not have it"))?;
        Self::from_answer(signature, answer)
    }

    fn from_answer(signature: &str, answer: RpcTransaction) -> anyhow::Result<Option<Self>> {
        let meta = answer.meta.context("the RPC node gives no metadata")?;
        if meta.err.is_some() {
            return Ok(None);
        }
        let bytes = BASE64_STANDARD.decode(&answer.transaction.0).context("the transaction is not base64")?;
        let transaction: VersionedTransaction =
            wincode::deserialize(&bytes).map_err(|error| anyhow::anyhow!("the transaction cannot be read: {error}"))?;
        let keys = account_keys(&transaction, meta.loaded_addresses.as_ref())?;
        let top = transaction.message.instructions().iter();
        let instructions = top.map(|i| plain(&keys, i.program_id_index, &i.accounts, i.data.clone()));
        let inner = meta.inner_instructions.iter().flatten().flat_map(|inner| &inner.instructions);
        let inner_instructions = inner.map(|i| {
            let data = bs58::decode(&i.data).into_vec().context("an inner instruction's data")?;
            plain(&keys, i.program_id_index, &i.accounts, data)
        });
        let before = meta.pre_token_balances.as_deref().unwrap_or_default();
        let after = meta.post_token_balances.as_deref().unwrap_or_default();
        Ok(Some(Self {
            signature: signature.to_owned(),
            instructions: instructions.collect::<anyhow::Result<_>>()?,
            inner_instructions: inner_instructions.collect::<anyhow::Result<_>>()?,
            token_changes: token_changes(&keys, before, after)?,
        }))
    }
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

fn plain(keys: &[Pubkey], program: u8, accounts: &[u8], data: Vec<u8>) -> anyhow::Result<PlainInstruction> {
    let key = |index: u8| keys.get(usize::from(index)).copied().context("an account index out of range");
    Ok(PlainInstruction {
        program_id: key(program)?,
        accounts: accounts.iter().map(|index| key(*index)).collect::<anyhow::Result<_>>()?,
        data,
    })
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
            let Some(account) = keys.get(balance.account_index).copied() else {
                bail!("a balance of no account");
            };
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
