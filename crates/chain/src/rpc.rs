//! The client of the chain: reads at `confirmed`, each with its slot, and the requests that `send` needs. Every
//! request has a deadline and goes to another node if one fails.

use std::{sync::Arc, time::Duration};

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use solana_commitment_config::CommitmentConfig;
use solana_pubkey::Pubkey;
use solana_signature::Signature;
use solana_transaction_status_client_types::TransactionStatus;
use tokio::time::{Instant, sleep};

use crate::{
    blockhash::Blockhashes,
    confirm::Confirmer,
    fetched::{AtSlot, FetchedAccount},
    filter::AccountFilter,
    nodes::{Nodes, Parsed},
    seen::Seen,
    statuses,
    transaction::RecentBlockhash,
    urls::{RpcUrls, RpcUrlsError},
    wire::{WireAccount, WireKeyedAccount, WithContext},
};
pub use crate::{
    error::{ChainError, NodeError},
    statuses::MAX_SIGNATURES_PER_READ,
};

/// Maximum number of addresses in one `getMultipleAccounts`.
pub const MAX_ACCOUNTS_PER_READ: usize = 100;

/// Largest answers in bytes, by kind of request. Only the indexer reads whole programs.
const SMALL_ANSWER: usize = 64 * 1024;
const ACCOUNTS_ANSWER: usize = 32 * 1024 * 1024;
const FILTERED_ANSWER: usize = 64 * 1024 * 1024;
const PROGRAM_ANSWER: usize = 2 * 1024 * 1024 * 1024;

/// Pause before nodes that are behind are asked again.
const BEHIND_PAUSE: Duration = Duration::from_millis(50);

/// Cheap to clone: clones share connections, blockhash and confirmation.
#[derive(Clone)]
pub struct ChainClient {
    shared: Arc<Shared>,
}

struct Shared {
    nodes: Arc<Nodes>,
    /// Longest duration of one read, including all nodes that are asked for it.
    timeout: Duration,
    blockhashes: Blockhashes,
    confirmer: Confirmer,
    seen: Seen,
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
        Self { shared: Arc::new(Shared { nodes, timeout, blockhashes, confirmer, seen: Seen::default() }) }
    }

    pub(crate) fn nodes(&self) -> &Nodes {
        &self.shared.nodes
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.shared.timeout
    }

    pub(crate) fn confirmer(&self) -> &Confirmer {
        &self.shared.confirmer
    }

    pub(crate) fn seen(&self) -> &Seen {
        &self.shared.seen
    }

    pub(crate) fn deadline(&self, timeout: Duration) -> Instant {
        let now = Instant::now();
        now.checked_add(timeout).unwrap_or(now)
    }

    /// One small read from the node that answers first.
    pub(crate) async fn read<T: Parsed>(&self, method: &str, params: &Value, limit: usize) -> Result<T, NodeError> {
        let request = self.nodes().request(method, params, limit);
        self.nodes().ask(&request, self.deadline(self.timeout()), |_| Ok(())).await
    }

    /// Makes a request that this client has no method for.
    pub async fn request<T>(&self, method: &str, params: &Value) -> Result<T, ChainError>
    where
        T: DeserializeOwned + Send + 'static,
    {
        Ok(self.read(method, params, ACCOUNTS_ANSWER).await?)
    }

    /// Lamports that an account of so many bytes holds at least.
    pub async fn rent_exemption(&self, bytes: usize) -> Result<u64, ChainError> {
        Ok(self.read("getMinimumBalanceForRentExemption", &json!([bytes]), SMALL_ANSWER).await?)
    }

    /// Returns a blockhash that is not older than a few hundred milliseconds, or a few seconds while no newer one is
    /// available. Concurrent callers share one request and wait for it for at most their time limit.
    pub async fn recent_blockhash(&self) -> Result<RecentBlockhash, ChainError> {
        Ok(self.shared.blockhashes.recent().await?)
    }

    /// Reads at most 100 accounts at `confirmed`, all at one slot, in the given order. The answer includes every
    /// transaction that this client has seen confirmed, from any node.
    pub async fn accounts(&self, addresses: &[Pubkey]) -> Result<AtSlot<Vec<Option<FetchedAccount>>>, ChainError> {
        self.accounts_since(addresses, self.seen().slot(std::time::Instant::now())).await
    }

    /// The same, at `min_slot` or later. Nodes that are behind are asked again until the deadline.
    pub async fn accounts_since(
        &self,
        addresses: &[Pubkey],
        min_slot: u64,
    ) -> Result<AtSlot<Vec<Option<FetchedAccount>>>, ChainError> {
        let addresses_text: Vec<String> = addresses.iter().map(Pubkey::to_string).collect();
        let config = json!({
            "encoding": "base64",
            "commitment": "confirmed",
            "minContextSlot": (min_slot > 0).then_some(min_slot),
        });
        let params = json!([addresses_text, config]);
        let request = self.nodes().request("getMultipleAccounts", &params, ACCOUNTS_ANSWER).since(min_slot);
        let deadline = self.deadline(self.timeout());
        let check = |answer: &WithContext<Vec<Option<WireAccount>>>| answer.at_least(min_slot);
        let answer = loop {
            match self.nodes().ask(&request, deadline, check).await {
                // The slot is confirmed, so the nodes reach it soon.
                Err(NodeError::Behind { .. }) if Instant::now() < deadline => sleep(BEHIND_PAUSE).await,
                answer => break answer?,
            }
        };
        if answer.value.len() != addresses.len() {
            return Err(ChainError::Malformed("one entry per account"));
        }
        let value = answer.value.into_iter().map(|account| account.map(|WireAccount(account)| account)).collect();
        Ok(AtSlot { slot: answer.context.slot, value })
    }

    /// One account at `confirmed`.
    pub async fn account(&self, address: &Pubkey) -> Result<AtSlot<Option<FetchedAccount>>, ChainError> {
        let AtSlot { slot, value } = self.accounts(std::slice::from_ref(address)).await?;
        Ok(AtSlot { slot, value: value.into_iter().next().flatten() })
    }

    /// Every account that `program` owns, as one snapshot.
    pub async fn program_accounts(
        &self,
        program: &Pubkey,
        commitment: CommitmentConfig,
    ) -> Result<AtSlot<Vec<(Pubkey, FetchedAccount)>>, ChainError> {
        let config = json!({"encoding": "base64", "commitment": commitment.commitment, "withContext": true});
        self.accounts_of_program(program, &config, PROGRAM_ANSWER).await
    }

    /// The accounts of `program` for which every filter holds, as one snapshot.
    pub async fn program_accounts_filtered(
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
        let mut accounts = self.accounts_of_program(program, &config, FILTERED_ANSWER).await?;
        accounts.value.retain(|(_, account)| {
            account.owner == *program && filters.iter().all(|filter| filter.matches(&account.data))
        });
        Ok(accounts)
    }

    async fn accounts_of_program(
        &self,
        program: &Pubkey,
        config: &Value,
        limit: usize,
    ) -> Result<AtSlot<Vec<(Pubkey, FetchedAccount)>>, ChainError> {
        let params = json!([program.to_string(), config]);
        let request = self.nodes().request("getProgramAccounts", &params, limit);
        let deadline = self.deadline(self.timeout());
        let answer: WithContext<Vec<WireKeyedAccount>> = self.nodes().ask_in_turn(&request, deadline).await?;
        Ok(AtSlot { slot: answer.context.slot, value: keyed(answer.value) })
    }

    pub async fn block_height(&self, commitment: CommitmentConfig) -> Result<u64, ChainError> {
        let params = json!([{"commitment": commitment.commitment}]);
        Ok(self.read("getBlockHeight", &params, SMALL_ANSWER).await?)
    }

    pub async fn slot(&self, commitment: CommitmentConfig) -> Result<u64, ChainError> {
        let params = json!([{"commitment": commitment.commitment}]);
        Ok(self.read("getSlot", &params, SMALL_ANSWER).await?)
    }

    /// The genesis hash, which identifies the chain.
    pub async fn genesis_hash(&self) -> Result<String, ChainError> {
        Ok(self.read("getGenesisHash", &json!([]), SMALL_ANSWER).await?)
    }

    /// Statuses of at most 256 signatures, merged from all nodes. With `history`, the nodes also search beyond their
    /// recent cache. "Not found" alone does not mean expired; [`Self::confirm`] detects expiry.
    pub async fn signature_statuses(
        &self,
        signatures: &[Signature],
        history: bool,
    ) -> Result<Vec<Option<TransactionStatus>>, ChainError> {
        let deadline = self.deadline(self.timeout());
        Ok(statuses::of_several(self.nodes(), signatures, history, deadline).await?)
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
        let request = self.nodes().request("sendTransaction", &params, SMALL_ANSWER);
        self.nodes().send_everywhere(request, self.deadline(self.timeout())).await?;
        Ok(())
    }
}

fn keyed(accounts: Vec<WireKeyedAccount>) -> Vec<(Pubkey, FetchedAccount)> {
    accounts.into_iter().map(|WireKeyedAccount { pubkey, account: WireAccount(account) }| (pubkey, account)).collect()
}
