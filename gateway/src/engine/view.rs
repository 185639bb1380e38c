//! What the chain holds of one execution, read at one slot.

use std::time::Duration;

use agent_marketplace::state::{AgentListing, Config, ExecutionRecord};
use crtx_chain::clock::unix_timestamp;
use crtx_protocol::usdc::UsdcBase;
use crtx_store::executions::{Call, Charged, Reported, SettledElsewhere};
use solana_pubkey::Pubkey;
use solana_sdk_ids::sysvar;

use super::{Engine, error::EngineError};
use crate::wall_clock::now_unix_s;

/// A node behind a load balancer may lag behind the one that confirmed.
const LOOKS: u32 = 20;
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

#[derive(Clone, Debug)]
pub(crate) struct ChainView {
    pub record: Option<ExecutionRecord>,
    pub listing: Option<AgentListing>,
    pub config: Option<Config>,
    /// The time that the program goes by.
    pub now_unix_s: i64,
}

impl ChainView {
    pub fn record(&self) -> Result<&ExecutionRecord, EngineError> {
        self.record.as_ref().ok_or(EngineError::Missing("the record"))
    }
}

impl Engine {
    /// One look at the chain.
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

    /// The record, which has been confirmed before, and what belongs to it.
    pub(super) async fn view_of_open(&self, call: &Call) -> Result<ChainView, EngineError> {
        for _ in 0..LOOKS {
            let seen = self.view(call).await?;
            if seen.record.is_some() {
                return Ok(seen);
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
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

/// What a record charges.
pub(crate) fn charged(record: &ExecutionRecord) -> Charged {
    Charged {
        amount: UsdcBase(record.amount),
        creator_amount: UsdcBase(record.creator_amount),
        platform_amount: UsdcBase(record.platform_amount),
    }
}

/// What a completed record says of the work. Who settled it decided what it says.
pub(crate) fn reported(record: &ExecutionRecord) -> Reported {
    Reported {
        tokens_used: (record.tokens_reported == 1).then_some(record.tokens_used),
        execution_time_ms: record.execution_time_ms,
    }
}

/// What a completed record says of a result that this gateway does not have.
pub(crate) fn settled_elsewhere(record: &ExecutionRecord) -> SettledElsewhere {
    SettledElsewhere { charged: charged(record), result_hash: record.result_hash, reported: reported(record) }
}
