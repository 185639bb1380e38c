//! The accounts of one execution on chain, read at one slot.

use std::time::Duration;

use agent_marketplace::state::{AgentListing, Config, ExecutionRecord};
use crtx_chain::clock::unix_timestamp;
use crtx_http::{ApiError, ErrorCode};
use crtx_protocol::usdc::UsdcBase;
use crtx_store::executions::{Call, Charged, Reported, SettledElsewhere};
use solana_pubkey::Pubkey;
use solana_sdk_ids::sysvar;

use super::{Engine, error::EngineError};
use crate::wall_clock::now_unix_s;

/// A node behind a load balancer may lag behind the one that confirmed.
const READS: u32 = 20;
const BETWEEN_READS: Duration = Duration::from_millis(100);

#[derive(Clone, Debug)]
pub(crate) struct ChainView {
    pub record: Option<ExecutionRecord>,
    pub listing: Option<AgentListing>,
    pub config: Option<Config>,
    /// The time that the program uses.
    pub now_unix_s: i64,
}

impl ChainView {
    pub fn record(&self) -> Result<&ExecutionRecord, EngineError> {
        self.record.as_ref().ok_or(EngineError::Missing("the record"))
    }
}

impl Engine {
    /// Reads the chain once.
    pub(super) async fn view(&self, call: &Call) -> Result<ChainView, EngineError> {
        let config = self.instructions.addresses.config();
        let read = self.chain.accounts(&[call.record, call.agent, config, sysvar::clock::ID]).await?;
        let mut accounts = read.value.into_iter();
        let mut next = || accounts.next().flatten();
        let (record, listing, config, clock) = (next(), next(), next(), next());
        Ok(ChainView {
            record: self.decode(record.as_ref()),
            listing: self.decode(listing.as_ref()),
            config: self.decode(config.as_ref()),
            now_unix_s: clock.and_then(|clock| unix_timestamp(&clock.data)).unwrap_or_else(now_unix_s),
        })
    }

    /// Reads the record, which was confirmed before, and the accounts that belong to it.
    pub(super) async fn view_of_open(&self, call: &Call) -> Result<ChainView, EngineError> {
        for _ in 0..READS {
            let seen = self.view(call).await?;
            if seen.record.is_some() {
                return Ok(seen);
            }
            tokio::time::sleep(BETWEEN_READS).await;
        }
        Err(EngineError::Missing("the record in its confirmed state"))
    }

    /// The time of the chain's clock, in seconds since 1970.
    pub(crate) async fn chain_now_unix_s(&self) -> Result<i64, EngineError> {
        Ok(self.chain.unix_time().await?.unwrap_or_else(now_unix_s))
    }

    /// Addresses whose mirror rows change when the execution does.
    pub(crate) fn mirrored_accounts(&self, call: &Call) -> [Pubkey; 3] {
        [call.record, call.agent, self.instructions.addresses.grant(&call.caller, &call.session_key)]
    }
}

/// 409 `conflict` if the record belongs to another call with the same execution id.
pub(super) fn check_is_of(record: &ExecutionRecord, call: &Call) -> Result<(), ApiError> {
    if record.request_hash == call.request_hash && record.agent == call.agent {
        return Ok(());
    }
    Err(ApiError::new(ErrorCode::Conflict, "the chain has another call under this execution id"))
}

/// The amounts that a record charges.
pub(crate) fn charged(record: &ExecutionRecord) -> Charged {
    Charged {
        amount: UsdcBase(record.amount),
        creator_amount: UsdcBase(record.creator_amount),
        platform_amount: UsdcBase(record.platform_amount),
    }
}

/// What a completed record reports about the work. The party that settled it chose these values.
pub(crate) fn reported(record: &ExecutionRecord) -> Reported {
    Reported {
        tokens_used: (record.tokens_reported == 1).then_some(record.tokens_used),
        execution_time_ms: record.execution_time_ms,
    }
}

/// What a completed record says about a result that this gateway does not have.
pub(crate) fn settled_elsewhere(record: &ExecutionRecord) -> SettledElsewhere {
    SettledElsewhere { charged: charged(record), result_hash: record.result_hash, reported: reported(record) }
}
