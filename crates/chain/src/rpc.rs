//! The client of the chain: reads at `confirmed`, each with its slot, and the requests that `send` needs. Every
//! request has a deadline and goes to another node if one fails.

use std::{sync::Arc, time::Duration};

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use solana_commitment_config::CommitmentConfig;
use solana_pubkey::Pubkey;
use solana_rpc_client_api::response::RpcPrioritizationFee;
use tokio::time::{Instant, sleep};

pub use crate::error::ChainError;
use crate::{
    blockhash::Blockhashes,
    confirm::Confirmer,
    filter::AccountFilter,
    node::after,
    nodes::{Nodes, Parsed},
    seen::NewestSlot,
    transaction::RecentBlockhash,
    urls::{RpcUrls, RpcUrlsError},
    wire::{AtSlot, FetchedAccount, WireKeyedAccount},
};

/// Maximum number of addresses in one `getMultipleAccounts`.
pub const MAX_ACCOUNTS_PER_READ: usize = 100;

/// Largest answers in bytes, by kind of request. Only the indexer reads whole programs.
const SMALL_ANSWER: usize = 64 * 1024;
const ACCOUNTS_ANSWER: usize = 32 * 1024 * 1024;
/// About 9 000 token accounts. Anybody can make some for any owner, and locks 18 SOL in so many.
const TOKENS_ANSWER: usize = 4 * 1024 * 1024;
const FILTERED_ANSWER: usize = 64 * 1024 * 1024;
const PROGRAM_ANSWER: usize = 2 * 1024 * 1024 * 1024;

/// Pause before nodes that are behind are asked again.
const BEHIND_PAUSE: Duration = Duration::from_millis(50);

/// Cheap to clone: clones share connections, blockhash and confirmation.
#[derive(Clone)]
pub struct ChainClient {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub nodes: Arc<Nodes>,
    /// Longest duration of one read, including all nodes that are asked for it.
    pub timeout: Duration,
    blockhashes: Blockhashes,
    pub confirmer: Confirmer,
    pub seen: NewestSlot,
}

impl ChainClient {
    /// Creates a client of one node, or of several separated by commas, the preferred one first. No request is made
    /// before the first read. An invalid list is an error of every read.
    pub fn new(rpc_urls: &str, request_timeout: Duration) -> Self {
        Self::over(Nodes::new(rpc_urls.parse().map_err(|error: RpcUrlsError| error.to_string())), request_timeout)
    }

    /// Creates a client of validated URLs.
    pub fn of_urls(rpc_urls: &RpcUrls, request_timeout: Duration) -> Self {
        Self::over(Nodes::new(Ok(rpc_urls.clone())), request_timeout)
    }

    fn over(nodes: Nodes, timeout: Duration) -> Self {
        let nodes = Arc::new(nodes);
        let blockhashes = Blockhashes::new(Arc::clone(&nodes), timeout);
        let confirmer = Confirmer::new(Arc::clone(&nodes), timeout);
        Self { shared: Arc::new(Shared { nodes, timeout, blockhashes, confirmer, seen: NewestSlot::default() }) }
    }

    /// One small read from the node that answers first.
    pub(crate) async fn read<T: Parsed>(&self, method: &str, params: &Value, limit: usize) -> Result<T, ChainError> {
        let request = self.shared.nodes.request(method, params, limit);
        self.shared.nodes.ask(&request, after(Instant::now(), self.shared.timeout), |_| Ok(())).await
    }

    /// Makes a request that this client has no method for.
    pub async fn request<T>(&self, method: &str, params: &Value) -> Result<T, ChainError>
    where
        T: DeserializeOwned + Send + 'static,
    {
        self.read(method, params, ACCOUNTS_ANSWER).await
    }

    /// Lamports that an account of so many bytes holds at least.
    pub async fn rent_exemption(&self, bytes: usize) -> Result<u64, ChainError> {
        self.read("getMinimumBalanceForRentExemption", &json!([bytes]), SMALL_ANSWER).await
    }

    /// What was paid for a compute unit by a transaction that wrote to this account, or would have been enough, in
    /// each of the last blocks, in millionths of a lamport.
    pub async fn recent_unit_prices(&self, account: &Pubkey) -> Result<Vec<u64>, ChainError> {
        let params = json!([[account.to_string()]]);
        let blocks: Vec<RpcPrioritizationFee> = self.read("getRecentPrioritizationFees", &params, SMALL_ANSWER).await?;
        Ok(blocks.into_iter().map(|block| block.prioritization_fee).collect())
    }

    /// Returns a blockhash that is not older than a few hundred milliseconds, or a few seconds while no newer one is
    /// available. Concurrent callers share one request and wait for it for at most their time limit.
    pub async fn recent_blockhash(&self) -> Result<RecentBlockhash, ChainError> {
        self.shared.blockhashes.recent().await
    }

    /// Reads at most 100 accounts at `confirmed`, all at one slot, in the given order. The answer includes every
    /// transaction that this client has seen confirmed, from any node.
    pub async fn accounts(&self, addresses: &[Pubkey]) -> Result<AtSlot<Vec<Option<FetchedAccount>>>, ChainError> {
        self.accounts_since(addresses, self.shared.seen.slot(std::time::Instant::now())).await
    }

    /// The same, at `min_slot` or later.
    pub async fn accounts_since(
        &self,
        addresses: &[Pubkey],
        min_slot: u64,
    ) -> Result<AtSlot<Vec<Option<FetchedAccount>>>, ChainError> {
        let addresses_text: Vec<String> = addresses.iter().map(Pubkey::to_string).collect();
        let params = json!([addresses_text, confirmed_since(min_slot)]);
        let answer: AtSlot<Vec<_>> = self.read_since("getMultipleAccounts", &params, ACCOUNTS_ANSWER, min_slot).await?;
        if answer.value.len() != addresses.len() {
            return Err(ChainError::Malformed("one entry per account"));
        }
        Ok(answer)
    }

    /// The token accounts of `owner` for `mint` at `confirmed`. The answer includes every transaction that this client
    /// has seen confirmed.
    pub async fn token_accounts(
        &self,
        owner: &Pubkey,
        mint: &Pubkey,
    ) -> Result<Vec<(Pubkey, FetchedAccount)>, ChainError> {
        let min_slot = self.shared.seen.slot(std::time::Instant::now());
        let params = json!([owner.to_string(), {"mint": mint.to_string()}, confirmed_since(min_slot)]);
        let found: AtSlot<Vec<WireKeyedAccount>> =
            self.read_since("getTokenAccountsByOwner", &params, TOKENS_ANSWER, min_slot).await?;
        Ok(found.value.into_iter().map(|WireKeyedAccount { pubkey, account }| (pubkey, account)).collect())
    }

    /// A read at `min_slot` or later. Nodes that are behind are asked again until the deadline.
    async fn read_since<T: DeserializeOwned + Send + 'static>(
        &self,
        method: &str,
        params: &Value,
        limit: usize,
        min_slot: u64,
    ) -> Result<AtSlot<T>, ChainError> {
        let request = self.shared.nodes.request(method, params, limit).since(min_slot);
        let deadline = after(Instant::now(), self.shared.timeout);
        let check = |answer: &AtSlot<T>| answer.at_least(min_slot);
        loop {
            match self.shared.nodes.ask(&request, deadline, check).await {
                // The slot is confirmed, so the nodes reach it soon.
                Err(ChainError::Behind { .. }) if Instant::now() < deadline => sleep(BEHIND_PAUSE).await,
                answer => return answer,
            }
        }
    }

    /// One account at `confirmed`.
    pub async fn account(&self, address: &Pubkey) -> Result<AtSlot<Option<FetchedAccount>>, ChainError> {
        let AtSlot { slot, value } = self.accounts(std::slice::from_ref(address)).await?;
        Ok(AtSlot { slot, value: value.into_iter().next().flatten() })
    }

    /// The accounts that `program` owns and for which every filter holds, as one snapshot.
    pub async fn program_accounts(
        &self,
        program: &Pubkey,
        filters: &[AccountFilter],
        commitment: CommitmentConfig,
    ) -> Result<AtSlot<Vec<(Pubkey, FetchedAccount)>>, ChainError> {
        let filters_json: Vec<_> = filters.iter().map(AccountFilter::to_json).collect();
        let config = json!({
            "encoding": "base64",
            "commitment": commitment.commitment,
            "withContext": true,
            "filters": filters_json,
        });
        let limit = if filters.is_empty() { PROGRAM_ANSWER } else { FILTERED_ANSWER };
        let request = self.shared.nodes.request("getProgramAccounts", &json!([program.to_string(), config]), limit);
        let deadline = after(Instant::now(), self.shared.timeout);
        let answer: AtSlot<Vec<WireKeyedAccount>> = self.shared.nodes.ask_in_turn(&request, deadline).await?;
        let accounts = answer.value.into_iter().map(|WireKeyedAccount { pubkey, account }| (pubkey, account));
        let matches = |account: &FetchedAccount| {
            account.owner == *program && filters.iter().all(|filter| filter.matches(&account.data))
        };
        Ok(AtSlot { slot: answer.slot, value: accounts.filter(|(_, account)| matches(account)).collect() })
    }

    pub async fn block_height(&self, commitment: CommitmentConfig) -> Result<u64, ChainError> {
        let params = json!([{"commitment": commitment.commitment}]);
        self.read("getBlockHeight", &params, SMALL_ANSWER).await
    }

    pub async fn slot(&self, commitment: CommitmentConfig) -> Result<u64, ChainError> {
        let params = json!([{"commitment": commitment.commitment}]);
        self.read("getSlot", &params, SMALL_ANSWER).await
    }

    /// The genesis hash, which identifies the chain.
    pub async fn genesis_hash(&self) -> Result<String, ChainError> {
        self.read("getGenesisHash", &json!([]), SMALL_ANSWER).await
    }

    /// Sends signed bytes to every healthy node, without their preflight check: only the chain decides what a
    /// transaction does. After an error the outcome is unknown.
    pub async fn send_bytes(&self, bytes: &[u8]) -> Result<(), ChainError> {
        let config = json!({
            "encoding": "base64",
            "skipPreflight": true,
            "preflightCommitment": "confirmed",
            // This crate sends again itself, because it knows when to stop.
            "maxRetries": 0,
        });
        let params = json!([BASE64.encode(bytes), config]);
        let request = self.shared.nodes.request("sendTransaction", &params, SMALL_ANSWER);
        self.shared.nodes.send_everywhere(request, after(Instant::now(), self.shared.timeout)).await?;
        Ok(())
    }
}

/// The configuration of a read of accounts.
fn confirmed_since(min_slot: u64) -> Value {
    json!({"encoding": "base64", "commitment": "confirmed", "minContextSlot": (min_slot > 0).then_some(min_slot)})
}
