//! What the chain holds of one execution, read at one slot and written to the mirror at once: a client
//! that has its answer finds the same in the read API.

use std::time::Duration;

use agent_marketplace::state::{AgentListing, Config, ExecutionRecord, ExecutionStatus, SpendingGrant};
use crtx_store::{StoreError, executions::Call, mirror};
use solana_pubkey::Pubkey;

use crate::{
    engine::{Clock, EngineError},
    state::Parts,
};

/// A node behind a load balancer may lag behind the one that confirmed.
const LOOKS: u32 = 20;
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    slot: u64,
    record_address: Pubkey,
    listing_address: Pubkey,
    grant_address: Pubkey,
    pub record: Option<ExecutionRecord>,
    pub listing: Option<AgentListing>,
    grant: Option<SpendingGrant>,
    pub config: Option<Config>,
}

impl Parts {
    /// One look at the chain.
    pub(crate) async fn snapshot(&self, call: &Call) -> Result<Snapshot, EngineError> {
        let addresses = &self.instructions.addresses;
        let grant_address = addresses.grant(&call.caller, &call.session_key);
        let read = self.chain.accounts(&[call.record, call.agent, grant_address, addresses.config()]).await?;
        let mut accounts = read.value.into_iter();
        let mut next = || accounts.next().flatten();
        let (record, listing, grant, config) = (next(), next(), next(), next());
        Ok(Snapshot {
            slot: read.slot,
            record_address: call.record,
            listing_address: call.agent,
            grant_address,
            record: self.decode(record.as_ref()),
            listing: self.decode(listing.as_ref()),
            grant: self.decode(grant.as_ref()),
            config: self.decode(config.as_ref()),
        })
    }

    /// The record, which has been confirmed before, and what belongs to it.
    pub(crate) async fn see(&self, call: &Call) -> Result<Snapshot, EngineError> {
        self.see_when(call, |_| true).await
    }

    /// The same once the record has left `Open`, which has been confirmed before; mirrored.
    pub(crate) async fn see_finished(&self, call: &Call, clock: &mut Clock) -> Result<Snapshot, EngineError> {
        let finished = |record: &ExecutionRecord| record.status() != Some(ExecutionStatus::Open);
        let seen = clock.chain(self.see_when(call, finished)).await?;
        self.mirror(&seen).await;
        Ok(seen)
    }

    async fn see_when(&self, call: &Call, ready: impl Fn(&ExecutionRecord) -> bool) -> Result<Snapshot, EngineError> {
        for _ in 0..LOOKS {
            let seen = self.snapshot(call).await?;
            if seen.record.as_ref().is_some_and(&ready) {
                return Ok(seen);
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
        Err(EngineError::Missing("the record in its confirmed state"))
    }

    /// Writes to the mirror what was seen. The chain is what counts: a mirror that lags is the indexer's to mend.
    pub(crate) async fn mirror(&self, seen: &Snapshot) {
        if let Err(error) = self.try_mirror(seen).await {
            tracing::warn!(record = %seen.record_address, %error, "the mirror was not brought up to date");
        }
    }

    async fn try_mirror(&self, seen: &Snapshot) -> Result<(), StoreError> {
        let mut batch = mirror::Batch::default();
        if let Some(record) = &seen.record {
            batch.push(&seen.record_address, seen.slot, record)?;
        }
        if let Some(listing) = &seen.listing {
            batch.push(&seen.listing_address, seen.slot, listing)?;
        }
        if let Some(grant) = &seen.grant {
            batch.push(&seen.grant_address, seen.slot, grant)?;
        }
        let mut transaction = self.executions.begin_relaxed().await?;
        mirror::apply(&mut transaction, &batch).await?;
        Ok(transaction.commit().await?)
    }
}
