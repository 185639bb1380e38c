//! One RPC client for the services: reads at `confirmed`, each with the slot it was read at, and the
//! sending half of [`crate::send`].

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use serde_json::json;
use solana_account_decoder_client_types::{UiAccount, UiAccountEncoding};
use solana_commitment_config::{CommitmentConfig, CommitmentLevel};
use solana_pubkey::Pubkey;
use solana_rpc_client::nonblocking::rpc_client::RpcClient;
use solana_rpc_client_api::{
    config::{RpcAccountInfoConfig, RpcSendTransactionConfig},
    request::RpcRequest,
    response::{OptionalContext, Response, RpcKeyedAccount},
};
use solana_signature::Signature;
use solana_transaction_status_client_types::{TransactionStatus, UiTransactionEncoding};
use tokio::sync::Mutex;

use crate::{filter::AccountFilter, send::Confirmer, transaction::RecentBlockhash};

/// How long a blockhash is used before a newer one is asked for: short against its life of 150 blocks,
/// long against a burst of calls.
const BLOCKHASH_MAX_AGE: Duration = Duration::from_millis(300);

/// Most addresses one `getMultipleAccounts` takes.
pub const MAX_ACCOUNTS_PER_READ: usize = 100;

/// Most signatures one `getSignatureStatuses` takes.
pub const MAX_SIGNATURES_PER_READ: usize = 256;

#[derive(Debug, thiserror::Error)]
pub enum ChainError {
    /// The node could not be reached, or refused. Says nothing about a transaction that was sent.
    #[error("the RPC node did not answer as asked: {0}")]
    Rpc(#[from] Box<solana_rpc_client_api::client_error::Error>),
    #[error("the RPC node answered with something else than {0}")]
    Malformed(&'static str),
}

impl From<solana_rpc_client_api::client_error::Error> for ChainError {
    fn from(error: solana_rpc_client_api::client_error::Error) -> Self {
        Self::Rpc(Box::new(error))
    }
}

/// An account as the chain holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedAccount {
    pub owner: Pubkey,
    pub lamports: u64,
    pub data: Vec<u8>,
}

/// A value and the slot at which the node read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtSlot<T> {
    pub slot: u64,
    pub value: T,
}

/// Cheap to clone: clones share connection, blockhash and confirmation.
#[derive(Clone)]
pub struct ChainClient {
    shared: Arc<Shared>,
}

struct Shared {
    rpc: Arc<RpcClient>,
    blockhash: Mutex<Option<(RecentBlockhash, Instant)>>,
    confirmer: Confirmer,
}

impl ChainClient {
    /// A client of the node at `rpc_url`. No request is made before the first read.
    pub fn new(rpc_url: &str, request_timeout: Duration) -> Self {
        let rpc = Arc::new(RpcClient::new_with_timeout_and_commitment(
            rpc_url.to_owned(),
            request_timeout,
            CommitmentConfig::confirmed(),
        ));
        let confirmer = Confirmer::new(Arc::clone(&rpc));
        Self { shared: Arc::new(Shared { rpc, blockhash: Mutex::new(None), confirmer }) }
    }

    /// The client underneath, for the rare request this one does not name.
    pub fn rpc(&self) -> &RpcClient {
        &self.shared.rpc
    }

    pub(crate) fn confirmer(&self) -> &Confirmer {
        &self.shared.confirmer
    }

    /// A blockhash not older than a few hundred milliseconds. Concurrent callers share one request.
    pub async fn recent_blockhash(&self) -> Result<RecentBlockhash, ChainError> {
        let mut cached = self.shared.blockhash.lock().await;
        if let Some((blockhash, at)) = *cached
            && at.elapsed() < BLOCKHASH_MAX_AGE
        {
            return Ok(blockhash);
        }
        let (hash, last_valid_block_height) =
            self.shared.rpc.get_latest_blockhash_with_commitment(CommitmentConfig::confirmed()).await?;
        let blockhash = RecentBlockhash { hash, last_valid_block_height };
        *cached = Some((blockhash, Instant::now()));
        Ok(blockhash)
    }

    /// Accounts at `confirmed`, all read at one slot, in the order asked for. At most 100.
    pub async fn accounts(&self, addresses: &[Pubkey]) -> Result<AtSlot<Vec<Option<FetchedAccount>>>, ChainError> {
        let config = account_config(CommitmentConfig::confirmed());
        let response = self.shared.rpc.get_multiple_ui_accounts_with_config(addresses, config).await?;
        if response.value.len() != addresses.len() {
            return Err(ChainError::Malformed("one entry per account"));
        }
        let accounts = response.value.iter().map(|account| account.as_ref().map(fetched).transpose());
        Ok(AtSlot { slot: response.context.slot, value: accounts.collect::<Result<_, _>>()? })
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
        self.program_accounts_filtered(program, &[], commitment).await
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
            "filters": (!filters_json.is_empty()).then_some(filters_json),
        });
        let answer: OptionalContext<Vec<RpcKeyedAccount>> =
            self.shared.rpc.send(RpcRequest::GetProgramAccounts, json!([program.to_string(), config])).await?;
        let OptionalContext::Context(Response { context, value }) = answer else {
            return Err(ChainError::Malformed("accounts with the slot they were read at"));
        };
        let mut accounts = Vec::with_capacity(value.len());
        for keyed in value {
            let address = keyed.pubkey.parse().map_err(|_| ChainError::Malformed("an address"))?;
            let account = fetched(&keyed.account)?;
            if filters.iter().all(|filter| filter.matches(&account.data)) {
                accounts.push((address, account));
            }
        }
        Ok(AtSlot { slot: context.slot, value: accounts })
    }

    pub async fn block_height(&self, commitment: CommitmentConfig) -> Result<u64, ChainError> {
        Ok(self.shared.rpc.get_block_height_with_commitment(commitment).await?)
    }

    pub async fn slot(&self, commitment: CommitmentConfig) -> Result<u64, ChainError> {
        Ok(self.shared.rpc.get_slot_with_commitment(commitment).await?)
    }

    /// Statuses of at most 256 signatures. `history`: look beyond the node's recent cache, too; only then
    /// does "not found" mean anything.
    pub async fn signature_statuses(
        &self,
        signatures: &[Signature],
        history: bool,
    ) -> Result<Vec<Option<TransactionStatus>>, ChainError> {
        signature_statuses(&self.shared.rpc, signatures, history).await
    }

    /// Hands signed bytes to the node, without its preflight check: what a transaction does is learnt
    /// from the chain alone. An error leaves the outcome unknown.
    pub async fn send_bytes(&self, bytes: &[u8]) -> Result<(), ChainError> {
        send_bytes(&self.shared.rpc, bytes).await
    }
}

pub(crate) async fn send_bytes(rpc: &RpcClient, bytes: &[u8]) -> Result<(), ChainError> {
    let config = RpcSendTransactionConfig {
        skip_preflight: true,
        preflight_commitment: Some(CommitmentLevel::Confirmed),
        encoding: Some(UiTransactionEncoding::Base64),
        // Sending again is this crate's business, which knows when to stop.
        max_retries: Some(0),
        min_context_slot: None,
    };
    let _signature: String = rpc.send(RpcRequest::SendTransaction, json!([BASE64.encode(bytes), config])).await?;
    Ok(())
}

pub(crate) async fn signature_statuses(
    rpc: &RpcClient,
    signatures: &[Signature],
    history: bool,
) -> Result<Vec<Option<TransactionStatus>>, ChainError> {
    let response = if history {
        rpc.get_signature_statuses_with_history(signatures).await?
    } else {
        rpc.get_signature_statuses(signatures).await?
    };
    if response.value.len() != signatures.len() {
        return Err(ChainError::Malformed("one entry per signature"));
    }
    Ok(response.value)
}

fn account_config(commitment: CommitmentConfig) -> RpcAccountInfoConfig {
    RpcAccountInfoConfig {
        encoding: Some(UiAccountEncoding::Base64),
        data_slice: None,
        commitment: Some(commitment),
        min_context_slot: None,
    }
}

fn fetched(account: &UiAccount) -> Result<FetchedAccount, ChainError> {
    let data = account.data.decode().ok_or(ChainError::Malformed("account data in base64"))?;
    let owner = account.owner.parse().map_err(|_| ChainError::Malformed("an owner's address"))?;
    Ok(FetchedAccount { owner, lamports: account.lamports, data })
}

impl ChainClient {
    pub async fn token_accounts_by_owner(
        &self,
        owner: &Pubkey,
        mint: &Pubkey,
    ) -> Result<AtSlot<Vec<(Pubkey, crate::token::TokenAccount)>>, ChainError> {
        let params =
            json!([owner.to_string(), {"mint": mint.to_string()}, {"encoding": "base64", "commitment": "confirmed"}]);
        let answer: Response<Vec<RpcKeyedAccount>> =
            self.shared.rpc.send(RpcRequest::GetTokenAccountsByOwner, params).await?;
        let mut held = Vec::new();
        for keyed in answer.value {
            let address: Pubkey = keyed.pubkey.parse().map_err(|_| ChainError::Malformed("an address"))?;
            if let Ok(account) = crate::token::TokenAccount::decode(&fetched(&keyed.account)?) {
                held.push((address, account));
            }
        }
        Ok(AtSlot { slot: answer.context.slot, value: held })
    }
}
