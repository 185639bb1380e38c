//! What an endpoint is asked over HTTP: JSON-RPC requests with a deadline and a bounded answer, answers that are read as
//! a stream, and small reads: accounts, slots, the genesis hash, and the program's transactions.

use std::sync::atomic::Ordering;

use crtx_chain::{
    AtSlot,
    past::{MAX_SIGNATURES_PER_PAGE, SignatureInfo},
    wire::{JsonRpcError, JsonRpcResponse},
};
use crtx_protocol::text::shortened;
use reqwest::{Response, StatusCode, header::CONTENT_TYPE};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use solana_pubkey::Pubkey;

use super::{
    At, MAX_TRANSACTIONS, Read,
    deadlines::within,
    endpoint::Endpoint,
    error::{MAX_REASON_CHARS, SourceError},
};

/// Longest answer with an error. Also the longest answer of a request without accounts.
const SMALL_ANSWER: usize = 64 * 1024;
/// JSON-RPC error of a method that a node does not have.
pub(super) const METHOD_NOT_FOUND: i64 = -32_601;

/// Largest answers, in bytes: accounts of a read, and a page of transactions with a memo each.
const ACCOUNTS_ANSWER: usize = 32 * 1024 * 1024;
const TRANSACTIONS_ANSWER: usize = 2 * 1024 * 1024;
/// One transaction, its logs and balances.
const TRANSACTION_ANSWER: usize = 1024 * 1024;
/// JSON-RPC error of a node that keeps no history of transactions.
const NO_HISTORY: i64 = -32_011;

/// A request that a node can be asked.
#[derive(Clone, Debug)]
pub(super) struct Question {
    pub method: &'static str,
    pub params: Value,
    /// The slot that the answer must include. 0: any.
    pub min_slot: u64,
}

impl Endpoint {
    /// Asks once. An answer of more than `limit` bytes is an error.
    pub(super) async fn ask<T: DeserializeOwned>(&self, question: &Question, limit: usize) -> Result<T, SourceError> {
        let asked = async {
            let response = self.send(question).await?;
            self.body(response, limit).await
        };
        let body = within(&self.name, question.method, self.deadlines.answer, asked).await?;
        let malformed = || SourceError::Malformed { node: self.name.clone(), what: question.method };
        let answer: JsonRpcResponse<T> = serde_json::from_slice(&body).map_err(|_| malformed())?;
        match answer {
            JsonRpcResponse { error: Some(refusal), .. } => Err(self.refused(question, refusal)),
            JsonRpcResponse { result, .. } => result.ok_or_else(malformed),
        }
    }

    /// Sends a request and returns its answer with the body still to be read.
    pub(super) async fn send(&self, question: &Question) -> Result<Response, SourceError> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let body = json!({"jsonrpc": "2.0", "id": id, "method": question.method, "params": question.params});
        let post = self.client.post(self.url.clone()).header(CONTENT_TYPE, "application/json");
        let unreachable = |error| SourceError::unreachable(&self.name, cause(error));
        let response = post.body(body.to_string()).send().await.map_err(unreachable)?;
        let status = response.status();
        if status == StatusCode::OK { Ok(response) } else { Err(self.refused_by_status(question, response).await) }
    }

    /// Providers send the errors of JSON-RPC with other statuses than 200 as well.
    async fn refused_by_status(&self, question: &Question, response: Response) -> SourceError {
        let status = response.status();
        let body = self.body(response, SMALL_ANSWER).await.unwrap_or_default();
        let by_status = || JsonRpcError { code: i64::from(status.as_u16()), message: format!("HTTP status {status}") };
        let answer = serde_json::from_slice::<JsonRpcResponse<Value>>(&body).ok();
        self.refused(question, answer.and_then(|answer| answer.error).unwrap_or_else(by_status))
    }

    async fn body(&self, response: Response, limit: usize) -> Result<Vec<u8>, SourceError> {
        crtx_download::read(response, limit).await.map_err(|error| match error {
            crtx_download::DownloadError::Request(error) => SourceError::unreachable(&self.name, cause(error)),
            _ => SourceError::TooLarge { node: self.name.clone(), what: "an answer", limit },
        })
    }

    /// The error for a refused request.
    pub(super) fn refused(&self, question: &Question, refusal: JsonRpcError) -> SourceError {
        let node = self.name.clone();
        if refusal.is_behind() {
            return SourceError::Behind { node, wanted: question.min_slot };
        }
        let reason = shortened(&refusal.message, MAX_REASON_CHARS);
        SourceError::Refused { node, what: question.method, code: refusal.code, reason }
    }

    /// The answer is for a slot before the one that was asked for: the node ignores `minContextSlot`.
    pub(super) fn check_slot(&self, slot: u64, min_slot: u64) -> Result<(), SourceError> {
        let behind = || SourceError::Behind { node: self.name.clone(), wanted: min_slot };
        if slot < min_slot { Err(behind()) } else { Ok(()) }
    }

    /// Accounts at one slot, in the order asked for.
    pub(super) async fn accounts(&self, addresses: &[Pubkey], at: At, min_slot: u64) -> Result<Read, SourceError> {
        let addresses_text: Vec<String> = addresses.iter().map(Pubkey::to_string).collect();
        let config = json!({"encoding": "base64", "commitment": at, "minContextSlot": named(min_slot)});
        let method = "getMultipleAccounts";
        let question = Question { method, params: json!([addresses_text, config]), min_slot };
        let answer: Read = self.ask(&question, ACCOUNTS_ANSWER).await?;
        self.check_slot(answer.slot, min_slot)?;
        if answer.value.len() != addresses.len() {
            return Err(SourceError::Malformed { node: self.name.clone(), what: method });
        }
        Ok(answer)
    }

    /// The newest slot.
    pub(super) async fn slot(&self, at: At) -> Result<u64, SourceError> {
        let params = json!([{"commitment": at}]);
        self.ask(&Question { method: "getSlot", params, min_slot: 0 }, SMALL_ANSWER).await
    }

    /// Identifies the chain. What the node says is remembered.
    pub(super) async fn genesis_hash(&self) -> Result<String, SourceError> {
        let question = Question { method: "getGenesisHash", params: json!([]), min_slot: 0 };
        let genesis: String = self.ask(&question, SMALL_ANSWER).await?;
        *self.genesis.lock() = Some(genesis.clone());
        Ok(genesis)
    }

    /// Whether a blockhash is one of the newest.
    pub(super) async fn knows_blockhash(&self, blockhash: &str) -> Result<bool, SourceError> {
        let params = json!([blockhash, {"commitment": "confirmed"}]);
        let question = Question { method: "isBlockhashValid", params, min_slot: 0 };
        Ok(self.ask::<AtSlot<bool>>(&question, SMALL_ANSWER).await?.value)
    }

    /// Transactions that name the program, newest first, up to `after` or [`MAX_TRANSACTIONS`].
    pub(super) async fn transactions_after(
        &self,
        after: Option<&str>,
        min_slot: u64,
    ) -> Result<Option<Vec<SignatureInfo>>, SourceError> {
        // The answer does not say its slot, so the node says first which it has reached.
        if min_slot > 0 {
            self.check_slot(self.slot(At::Confirmed).await?, min_slot)?;
        }
        let mut all: Vec<SignatureInfo> = Vec::new();
        while all.len() < MAX_TRANSACTIONS {
            let config = json!({
                "commitment": "confirmed",
                "limit": MAX_SIGNATURES_PER_PAGE,
                "until": after,
                "before": all.last().map(|listed| &listed.signature),
                "minContextSlot": named(min_slot),
            });
            let params = json!([self.program.to_string(), config]);
            let question = Question { method: "getSignaturesForAddress", params, min_slot };
            let page: Vec<SignatureInfo> = match self.ask(&question, TRANSACTIONS_ANSWER).await {
                Err(SourceError::Refused { code: METHOD_NOT_FOUND | NO_HISTORY, .. }) => return Ok(None),
                page => page?,
            };
            let last = page.len() < MAX_SIGNATURES_PER_PAGE;
            all.extend(page.into_iter().take(MAX_SIGNATURES_PER_PAGE));
            if last {
                break;
            }
        }
        Ok(Some(all))
    }

    /// The accounts that a transaction may have written. `None`: the node does not have it, or keeps no history.
    pub(super) async fn written_by(&self, signature: &str) -> Result<Option<Vec<Pubkey>>, SourceError> {
        let config = json!({"encoding": "base64", "commitment": "confirmed", "maxSupportedTransactionVersion": 1});
        let method = "getTransaction";
        let question = Question { method, params: json!([signature, config]), min_slot: 0 };
        let answer: Option<Value> = match self.ask(&question, TRANSACTION_ANSWER).await {
            Err(SourceError::Refused { .. }) => return Ok(None),
            answer => answer?,
        };
        Ok(answer.and_then(|answer| crtx_chain::past::written_accounts(&answer)))
    }
}

/// The slot that a node must have reached, if it must.
pub(super) fn named(min_slot: u64) -> Option<u64> {
    (min_slot > 0).then_some(min_slot)
}

/// Why a request failed on the way. It does not show the URL, which may carry a provider's key.
pub(super) fn cause(error: reqwest::Error) -> String {
    crtx_download::root_cause(&error.without_url())
}
