//! What the chain holds of one execution, read at one slot and written to the mirror at once: a client
//! that has its answer finds the same in the read API.

use std::time::Duration;

use agent_marketplace::state::{AgentListing, Config, ExecutionRecord, ExecutionStatus, SpendingGrant};
use crtx_store::{executions::Call, mirror};

use crate::{
    engine::{Clock, EngineError},
    state::Parts,
};

/// A node behind a load balancer may lag behind the one that confirmed.
const LOOKS: u32 = 20;
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub slot: u64,
    pub record: Option<ExecutionRecord>,
    pub listing: Option<AgentListing>,
    pub grant: Option<SpendingGrant>,
    pub config: Option<Config>,
}

impl Parts {
    /// One look at the chain.
    pub(crate) async fn snapshot(&self, call: &Call) -> Result<Snapshot, EngineError> {
        let addresses = &self.instructions.addresses;
        let wanted = [call.record, call.agent, addresses.grant(&call.caller, &call.session_key), addresses.config()];
        let read = self.chain.accounts(&wanted).await?;
        let mut accounts = read.value.into_iter();
        let mut next = || accounts.next().flatten();
        let (record, listing, grant, config) = (next(), next(), next(), next());
        Ok(Snapshot {
            slot: read.slot,
            record: self.decode(record.as_ref()),
            listing: self.decode(listing.as_ref()),
            grant: self.decode(grant.as_ref()),
            config: self.decode(config.as_ref()),
        })
    }

    /// The open or finished record and what belongs to it, mirrored.
    pub(crate) async fn see(&self, call: &Call) -> Result<Snapshot, EngineError> {
        self.see_when(call, |_| true).await
    }

    /// The same once the record has left `Open`, which has been confirmed before.
    pub(crate) async fn see_finished(&self, call: &Call, clock: &mut Clock) -> Result<Snapshot, EngineError> {
        let started = std::time::Instant::now();
        let seen = self.see_when(call, |record| record.status() != Some(ExecutionStatus::Open)).await;
        clock.chain = clock.chain.saturating_add(started.elapsed());
        seen
    }

    async fn see_when(&self, call: &Call, ready: impl Fn(&ExecutionRecord) -> bool) -> Result<Snapshot, EngineError> {
        for _ in 0..LOOKS {
            let seen = self.snapshot(call).await?;
            if seen.record.as_ref().is_some_and(&ready) {
                // The chain is what counts; a mirror that lags is the indexer's to mend.
                if let Err(error) = self.mirror(call, &seen).await {
                    tracing::warn!(record = %call.record, %error, "the mirror was not brought up to date");
                }
                return Ok(seen);
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
        Err(EngineError::Missing("the record in its confirmed state"))
    }

    async fn mirror(&self, call: &Call, seen: &Snapshot) -> Result<(), EngineError> {
        let mut batch = mirror::Batch::default();
        if let Some(record) = &seen.record {
            batch.push(&call.record, seen.slot, record)?;
        }
        if let Some(listing) = &seen.listing {
            batch.push(&call.agent, seen.slot, listing)?;
        }
        if let Some(grant) = &seen.grant {
            let address = self.instructions.addresses.grant(&call.caller, &call.session_key);
            batch.push(&address, seen.slot, grant)?;
        }
        let mut transaction = self.executions.pool().begin().await.map_err(crtx_store::StoreError::from)?;
        mirror::apply(&mut transaction, &batch).await?;
        transaction.commit().await.map_err(crtx_store::StoreError::from)?;
        Ok(())
    }
}
