//! Transactions as an RPC node returns them: those about an account, what each called and which tokens it moved.

use std::collections::HashMap;

use anyhow::{Context, bail};
use base64::{Engine, prelude::BASE64_STANDARD};
use crtx_chain::ChainClient;
use serde::Deserialize;
use serde_json::json;
use solana_pubkey::Pubkey;
use solana_rpc_client_api::request::RpcRequest;
use solana_transaction::versioned::VersionedTransaction;
use tokio::task::JoinSet;

/// Most signatures in the answer to one request.
const PAGE: usize = 1_000;
/// Pages that are listed of one account.
const MOST_PAGES: usize = 100;
/// Transactions about one account that one search reads.
const MOST_READ: usize = 1_000;
/// Transactions that are read at the same time.
const AT_ONCE: usize = 8;
/// The clock of the program and the times of blocks differ by less.
const SLACK_S: i64 = 60;

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

/// The successful transactions about one account. Anybody can add some for a fraction of a cent, so what is looked for is
/// looked for next to the time at which it happened, and the work is bounded. Each page and each transaction is read once.
pub struct History<'a> {
    chain: &'a ChainClient,
    pub address: Pubkey,
    /// Newest first.
    listed: Vec<Listed>,
    pages: usize,
    /// The node has no older ones.
    is_whole: bool,
    read: HashMap<String, Option<PlainTransaction>>,
}

#[derive(Clone, Debug)]
struct Listed {
    signature: String,
    /// Seconds since 1970.
    time: Option<i64>,
}

/// What was looked for, and when it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen<T> {
    pub what: T,
    pub time: Option<i64>,
}

/// Nothing was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotFound {
    #[error("of {0}")]
    None(usize),
    #[error(
        "looked at {read} of at least {listed}, those next to the known time first; the rest was not looked at, because \
         strangers can add any number"
    )]
    Bound { read: usize, listed: usize },
}

impl<'a> History<'a> {
    pub fn new(chain: &'a ChainClient, address: Pubkey) -> Self {
        Self { chain, address, listed: Vec::new(), pages: 0, is_whole: false, read: HashMap::new() }
    }

    /// The first result of `look`: for the transactions next to one of these times, else for the newest ones. Times are
    /// in seconds since 1970, and only say where to begin.
    pub async fn first<T>(
        &mut self,
        times: &[i64],
        look: impl Fn(&PlainTransaction) -> Option<T>,
    ) -> anyhow::Result<Result<Seen<T>, NotFound>> {
        let mut left = MOST_READ;
        if let Some(oldest) = times.iter().min() {
            self.list(oldest.saturating_sub(SLACK_S)).await?;
            if let Some(seen) = self.look(times, &mut left, &look).await? {
                return Ok(Ok(seen));
            }
        }
        // The node gives no times, or others.
        self.list(i64::MIN).await?;
        if let Some(seen) = self.look(times, &mut left, &look).await? {
            return Ok(Ok(seen));
        }
        let (read, listed) = (MOST_READ.saturating_sub(left), self.listed.len());
        let all = self.is_whole && read == listed;
        Ok(Err(if all { NotFound::None(listed) } else { NotFound::Bound { read, listed } }))
    }

    /// Lists the transactions since that time, as far as the bound allows.
    async fn list(&mut self, since: i64) -> anyhow::Result<()> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Found {
            signature: String,
            err: Option<serde_json::Value>,
            block_time: Option<i64>,
        }
        let mut before: Option<String> = self.listed.last().map(|listed| listed.signature.clone());
        let mut oldest = self.listed.last().and_then(|listed| listed.time);
        while !self.is_whole && self.pages < MOST_PAGES && oldest.is_none_or(|oldest| oldest >= since) {
            let config = json!({"commitment": "confirmed", "limit": PAGE, "before": before});
            let params = json!([self.address.to_string(), config]);
            let page: Vec<Found> = self.chain.rpc().send(RpcRequest::GetSignaturesForAddress, params).await?;
            self.pages = self.pages.saturating_add(1);
            self.is_whole = page.len() < PAGE;
            let Some(last) = page.last() else { break };
            (before, oldest) = (Some(last.signature.clone()), last.block_time);
            let succeeded = page.into_iter().filter(|found| found.err.is_none());
            self.listed.extend(succeeded.map(|found| Listed { signature: found.signature, time: found.block_time }));
        }
        Ok(())
    }

    /// Looks at the listed transactions, several at a time, while `left` lasts.
    async fn look<T>(
        &mut self,
        times: &[i64],
        left: &mut usize,
        look: &impl Fn(&PlainTransaction) -> Option<T>,
    ) -> anyhow::Result<Option<Seen<T>>> {
        let distance = |listed: &Listed| {
            let of = |time: i64| times.iter().map(move |known| known.abs_diff(time)).min();
            listed.time.and_then(of).unwrap_or(u64::MAX)
        };
        let mut nearest = self.listed.clone();
        nearest.sort_by_key(distance);
        nearest.truncate(MOST_READ);
        // The first is most often the one.
        let (first, rest) = nearest.split_at(nearest.len().min(1));
        for some in std::iter::once(first).chain(rest.chunks(AT_ONCE)) {
            self.read_all(some, left).await?;
            for Listed { signature, time } in some {
                let Some(known) = self.read.get(signature) else { return Ok(None) };
                if let Some(what) = known.as_ref().and_then(look) {
                    return Ok(Some(Seen { what, time: *time }));
                }
            }
        }
        Ok(None)
    }

    /// Reads those that are not known yet.
    async fn read_all(&mut self, some: &[Listed], left: &mut usize) -> anyhow::Result<()> {
        let mut reading = JoinSet::new();
        for Listed { signature, .. } in some.iter().filter(|listed| !self.read.contains_key(&listed.signature)) {
            let Some(rest) = left.checked_sub(1) else { break };
            *left = rest;
            let (chain, signature) = (self.chain.clone(), signature.clone());
            reading.spawn(async move {
                let transaction = PlainTransaction::read(&chain, &signature).await;
                transaction.map(|transaction| (signature, transaction))
            });
        }
        while let Some(read) = reading.join_next().await {
            let (signature, transaction) = read??;
            self.read.insert(signature, transaction);
        }
        Ok(())
    }
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

#[cfg(test)]
mod tests;
