//! The accounts of one execution on chain, read at one slot.

use std::time::Duration;

use agent_marketplace::state::{AgentListed, Config, ExecutionRecord, ExecutionStatus, OpenTerms};
use chrono::Utc;
use crtx_chain::{ChainError, Execution, FetchedAccount, clock::unix_timestamp};
use crtx_http::{ApiError, ErrorCode};
use crtx_protocol::{call_text::OpeningId, creator_answer::Signatory, usdc::UsdcBase};
use crtx_store::executions::{Call, Charged, Reported, SettledElsewhere};
use solana_pubkey::Pubkey;
use solana_sdk_ids::sysvar;

use super::{Engine, ended::EngineError};

/// A node behind a load balancer may lag behind the one that confirmed.
const READS: u32 = 20;
const BETWEEN_READS: Duration = Duration::from_millis(100);

#[derive(Clone, Debug)]
pub(crate) struct ChainView {
    pub record: Option<Execution>,
    pub listing: Option<AgentListed>,
    pub config: Option<Config>,
    /// The time that the program uses.
    pub now_unix_s: i64,
}

impl ChainView {
    pub fn record(&self) -> Result<&Execution, EngineError> {
        self.record.as_ref().ok_or(EngineError::Missing("the record"))
    }

    /// The terms of the record, which is open.
    pub fn terms(&self) -> Result<&OpenTerms, EngineError> {
        self.record()?.terms.as_ref().ok_or(EngineError::Missing("the terms of an open record"))
    }

    pub fn is_open(&self) -> bool {
        self.record.is_some_and(|record| record.status() == Some(ExecutionStatus::Open))
    }

    /// Who is paid: the creator and the treasury's owner.
    pub fn payees(&self) -> Result<[&Pubkey; 2], EngineError> {
        let listing = self.listing.as_ref().ok_or(EngineError::Missing("the listing"))?;
        let config = self.config.as_ref().ok_or(EngineError::Missing("the configuration"))?;
        Ok([&listing.creator, &config.treasury_owner])
    }

    /// Who has to sign the result of the call.
    ///
    /// A record that somebody else ended in the meantime does not have the key any more. Then the listing's present
    /// key is used: nothing is settled with the result, and the chain's result hash decides whether it counts.
    pub fn signatory(&self, address: &Pubkey) -> Result<Signatory, EngineError> {
        let record = self.record()?;
        let result_key = match &record.terms {
            Some(terms) => terms.result_key,
            None => self.listing.ok_or(EngineError::Missing("the listing"))?.result_key,
        };
        let opening = OpeningId { record: address.to_bytes(), opened_at_unix_s: record.opened_at_unix_s };
        Ok(Signatory { result_key, opening, binding: record.binding == 1 })
    }
}

impl Engine {
    /// Reads the chain once.
    pub(super) async fn view(&self, call: &Call) -> Result<ChainView, EngineError> {
        let config = self.instructions.addresses.config();
        let addresses = [call.record, call.agent, config, sysvar::clock::ID];
        let [record, listing, config, clock] = self.read(addresses).await?;
        let config: Option<Config> = self.decode(config.as_ref());
        config.as_ref().map(|config| self.config.keypair.follow(&config.gateway_authority));
        Ok(ChainView {
            record: self.decode(record.as_ref()),
            listing: self.decode(listing.as_ref()),
            config,
            now_unix_s: time_of(clock.as_ref()),
        })
    }

    /// Reads the record, which was confirmed before, and the accounts that belong to it.
    pub(super) async fn view_of_open(&self, call: &Call) -> Result<ChainView, EngineError> {
        self.view_with(call, "the record in its confirmed state", |_| true).await
    }

    /// Reads until the chain has such a record.
    pub(super) async fn view_with(
        &self,
        call: &Call,
        what: &'static str,
        is_it: impl Fn(&Execution) -> bool,
    ) -> Result<ChainView, EngineError> {
        for _ in 0..READS {
            let seen = self.view(call).await?;
            if seen.record.as_ref().is_some_and(&is_it) {
                return Ok(seen);
            }
            tokio::time::sleep(BETWEEN_READS).await;
        }
        Err(EngineError::Missing(what))
    }

    /// Reads these accounts, all at one slot.
    pub(crate) async fn read<const N: usize>(
        &self,
        addresses: [Pubkey; N],
    ) -> Result<[Option<FetchedAccount>; N], ChainError> {
        let accounts = self.chain.accounts(&addresses).await?.value;
        accounts.try_into().map_err(|_| ChainError::Malformed("one entry per account"))
    }

    /// The time of the chain's clock, in seconds since 1970.
    pub(crate) async fn chain_now_unix_s(&self) -> Result<i64, EngineError> {
        let [clock] = self.read([sysvar::clock::ID]).await?;
        Ok(time_of(clock.as_ref()))
    }
}

/// The time of the clock's account, or of this machine if the chain has none.
pub(crate) fn time_of(clock: Option<&FetchedAccount>) -> i64 {
    clock.and_then(|clock| unix_timestamp(&clock.data)).unwrap_or_else(|| Utc::now().timestamp())
}

/// 409 `conflict` if the record belongs to another call with the same execution id. Caller and execution id are in the
/// record's address. A record that ended does not have its request any more, so the agent decides alone.
pub(super) fn check_is_of(record: &Execution, call: &Call) -> Result<(), ApiError> {
    let same_request = record.terms.is_none_or(|terms| terms.request_hash == call.request_hash);
    if same_request && record.agent == call.agent {
        return Ok(());
    }
    Err(ApiError::new(ErrorCode::Conflict, "the chain has another call under this execution id"))
}

/// The amounts that a record charges. `None` if it has a fee that the program never writes.
pub(crate) fn charged(record: &ExecutionRecord) -> Option<Charged> {
    let split = record.split()?;
    Some(Charged {
        amount: UsdcBase(record.amount),
        creator_amount: UsdcBase(split.creator),
        platform_amount: UsdcBase(split.platform),
    })
}

/// What a completed record reports about the work. The party that settled it chose these values.
pub(crate) fn reported(record: &ExecutionRecord) -> Reported {
    Reported { tokens_used: record.reported_tokens(), execution_time_ms: u64::from(record.execution_time_ms) }
}

/// What a completed record says about a result that this gateway does not have.
pub(crate) fn settled_elsewhere(record: &ExecutionRecord) -> Result<SettledElsewhere, EngineError> {
    let charged = charged(record).ok_or(EngineError::Missing("the parts of the amount"))?;
    Ok(SettledElsewhere { charged, result_hash: record.result_hash, reported: reported(record) })
}
