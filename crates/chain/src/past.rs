//! What a past transaction called, its inner instructions among them: events are instructions of the program to itself.

use std::collections::HashSet;

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use serde::{Deserialize, Deserializer, de::IgnoredAny};
use serde_json::{Value, json};
use solana_commitment_config::CommitmentConfig;
use solana_pubkey::Pubkey;
use solana_transaction::versioned::VersionedTransaction;

use crate::{error::ChainError, rpc::ChainClient};

/// Largest answer in bytes: one transaction, its logs and balances.
const ANSWER: usize = 1024 * 1024;
/// Most signatures in one page.
pub const MAX_SIGNATURES_PER_PAGE: usize = 1_000;
/// Largest page in bytes: that many lines with a memo each.
const PAGE: usize = 2 * 1024 * 1024;

/// A line of a node's list of transactions.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SignatureInfo {
    /// Base58.
    pub signature: String,
    pub slot: u64,
    /// Estimated time of its block, in seconds since 1970.
    pub block_time: Option<i64>,
    #[serde(rename = "err", deserialize_with = "is_some")]
    pub failed: bool,
}

fn is_some<'de, D: Deserializer<'de>>(error: D) -> Result<bool, D::Error> {
    Ok(Option::<IgnoredAny>::deserialize(error)?.is_some())
}

/// An instruction of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CalledInstruction {
    pub program_id: Pubkey,
    pub accounts: Vec<Pubkey>,
    pub data: Vec<u8>,
    /// What a top-level instruction called, in order.
    pub called: Vec<Self>,
}

/// A transaction that is in a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastTransaction {
    pub slot: u64,
    /// Estimated time of its block, in seconds since 1970.
    pub block_time: Option<i64>,
    pub failed: bool,
    /// The top-level instructions, each with those that it called.
    pub instructions: Vec<CalledInstruction>,
    pub token_changes: Vec<TokenChange>,
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

impl PastTransaction {
    /// All instructions in the order of their execution: each before those that it called.
    pub fn calls(&self) -> impl Iterator<Item = &CalledInstruction> {
        self.instructions.iter().flat_map(|top| std::iter::once(top).chain(&top.called))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WirePast {
    slot: u64,
    block_time: Option<i64>,
    transaction: (String, String),
    meta: Option<WireMeta>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireMeta {
    err: Option<Value>,
    inner_instructions: Option<Vec<WireInner>>,
    loaded_addresses: Option<WireLoaded>,
    pre_token_balances: Option<Vec<WireTokenBalance>>,
    post_token_balances: Option<Vec<WireTokenBalance>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireTokenBalance {
    account_index: usize,
    mint: String,
    #[serde(default)]
    owner: String,
    ui_token_amount: WireAmount,
}

#[derive(Deserialize)]
struct WireAmount {
    amount: String,
}

#[derive(Deserialize)]
struct WireInner {
    index: usize,
    instructions: Vec<WireCall>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireCall {
    program_id_index: u8,
    accounts: Vec<u8>,
    data: String,
}

#[derive(Default, Deserialize)]
struct WireLoaded {
    writable: Vec<String>,
    readonly: Vec<String>,
}

impl ChainClient {
    /// The newest transactions that name an address, newest first, at most `limit` of them and never more than
    /// [`MAX_SIGNATURES_PER_PAGE`]. `before`: older than this signature.
    pub async fn transactions_about(
        &self,
        commitment: CommitmentConfig,
        address: &Pubkey,
        before: Option<&str>,
        limit: usize,
    ) -> Result<Vec<SignatureInfo>, ChainError> {
        let limit = limit.min(MAX_SIGNATURES_PER_PAGE);
        let config = json!({"commitment": commitment.commitment, "limit": limit, "before": before});
        let mut page: Vec<SignatureInfo> =
            self.read("getSignaturesForAddress", &json!([address.to_string(), config]), PAGE).await?;
        page.truncate(limit);
        Ok(page)
    }

    /// A transaction at this commitment; `None` if the node does not have it.
    pub async fn past_transaction(
        &self,
        commitment: CommitmentConfig,
        signature: &str,
    ) -> Result<Option<PastTransaction>, ChainError> {
        let commitment = commitment.commitment;
        let config = json!({"encoding": "base64", "commitment": commitment, "maxSupportedTransactionVersion": 1});
        let found: Option<WirePast> = self.read("getTransaction", &json!([signature, config]), ANSWER).await?;
        found.map(|found| past(found).ok_or(ChainError::Malformed("a transaction"))).transpose()
    }
}

/// The accounts that a transaction may have written, from an answer of `getTransaction` in base64.
pub fn written_accounts(answer: &Value) -> Option<Vec<Pubkey>> {
    let bytes = BASE64.decode(answer.pointer("/transaction/0")?.as_str()?).ok()?;
    let transaction: VersionedTransaction = wincode::deserialize(&bytes).ok()?;
    let keys = transaction.message.static_account_keys().iter().enumerate();
    let writable = keys.filter(|(index, _)| {
        transaction.message.is_maybe_writable_with_reserved_addresses(*index, None::<&HashSet<Pubkey>>)
    });
    let mut written: Vec<Pubkey> = writable.map(|(_, key)| *key).collect();
    let meta = answer.get("meta").filter(|meta| !meta.is_null())?;
    for address in meta.pointer("/loadedAddresses/writable").and_then(Value::as_array).into_iter().flatten() {
        written.push(address.as_str()?.parse().ok()?);
    }
    Some(written)
}

fn past(found: WirePast) -> Option<PastTransaction> {
    let WirePast { slot, block_time, transaction, meta } = found;
    let transaction: VersionedTransaction = wincode::deserialize(&BASE64.decode(transaction.0).ok()?).ok()?;
    let meta = meta?;
    let mut keys = transaction.message.static_account_keys().to_vec();
    let loaded = meta.loaded_addresses.unwrap_or_default();
    for address in loaded.writable.iter().chain(&loaded.readonly) {
        keys.push(address.parse().ok()?);
    }
    let mut instructions = Vec::new();
    let inner = meta.inner_instructions.unwrap_or_default();
    for (index, top) in transaction.message.instructions().iter().enumerate() {
        let mut top = call(&keys, top.program_id_index, &top.accounts, top.data.clone())?;
        for called in inner.iter().filter(|inner| inner.index == index).flat_map(|inner| &inner.instructions) {
            let data = bs58::decode(&called.data).into_vec().ok()?;
            top.called.push(call(&keys, called.program_id_index, &called.accounts, data)?);
        }
        instructions.push(top);
    }
    let before = meta.pre_token_balances.unwrap_or_default();
    let token_changes = token_changes(&keys, &before, &meta.post_token_balances.unwrap_or_default());
    Some(PastTransaction { slot, block_time, failed: meta.err.is_some(), instructions, token_changes })
}

/// An account that is missing on one side had nothing there. What cannot be read counts as no change.
fn token_changes(keys: &[Pubkey], before: &[WireTokenBalance], after: &[WireTokenBalance]) -> Vec<TokenChange> {
    let mut changes: Vec<TokenChange> = Vec::new();
    for (balances, sign) in [(before, -1), (after, 1)] {
        for WireTokenBalance { account_index, mint, owner, ui_token_amount } in balances {
            let (Some(account), Ok(amount)) = (keys.get(*account_index), ui_token_amount.amount.parse::<u64>()) else {
                continue;
            };
            let (Ok(owner), Ok(mint)) = (owner.parse(), mint.parse()) else { continue };
            let signed = i128::from(amount).saturating_mul(sign);
            match changes.iter_mut().find(|change| change.account == *account) {
                Some(change) => change.change = change.change.saturating_add(signed),
                None => changes.push(TokenChange { account: *account, owner, mint, change: signed }),
            }
        }
    }
    changes
}

fn call(keys: &[Pubkey], program: u8, accounts: &[u8], data: Vec<u8>) -> Option<CalledInstruction> {
    let key = |index: &u8| keys.get(usize::from(*index)).copied();
    Some(CalledInstruction {
        program_id: key(&program)?,
        accounts: accounts.iter().map(key).collect::<Option<_>>()?,
        data,
        called: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn balance(account_index: usize, amount: &str) -> WireTokenBalance {
        let key = Pubkey::new_from_array([9; 32]).to_string();
        let ui_token_amount = WireAmount { amount: amount.to_owned() };
        WireTokenBalance { account_index, mint: key.clone(), owner: key, ui_token_amount }
    }

    #[test]
    fn an_account_that_is_missing_on_one_side_had_nothing_there() {
        let keys = [1, 2, 3].map(|seed| Pubkey::new_from_array([seed; 32]));
        let before = [balance(0, "50"), balance(1, "7")];
        let after = [balance(0, "20"), balance(2, "30"), balance(9, "1"), balance(2, "x")];
        let changes = token_changes(&keys, &before, &after).into_iter();
        let changes: Vec<(Pubkey, i128)> = changes.map(|change| (change.account, change.change)).collect();
        assert_eq!(changes, [(keys[0], -30), (keys[1], -7), (keys[2], 30)]);
    }
}
