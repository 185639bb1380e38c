//! Paying the creator for a good result.

use agent_marketplace::state::ExecutionStatus;
use crtx_chain::{SignedTransaction, instructions::Settlement};
use crtx_protocol::result_hash::ResultHash;
use crtx_store::executions::{Failure, State, TransactionKind};
use solana_signer::Signer;

use super::{
    Ended, EngineError, MAX_REJECTIONS, SETTLE_UNITS, Work, failed, note_unseen, settled_elsewhere,
    transactions::{Landed, stored},
};
use crate::{state::Parts, terms::now_unix_s};

/// Whether a result can still be settled.
enum Settling {
    Open,
    /// Somebody else has settled this very result.
    Settled,
    Lost(Failure),
}

impl Parts {
    /// Settles the stored result. `None`: the state has changed, look again.
    pub(super) async fn settle(&self, work: &mut Work) -> Result<Option<Ended>, EngineError> {
        if !work.fresh {
            // The worker before may have died between the row and the content.
            self.content.put(work.delivered()?.result.clone()).await?;
        }
        for _ in 0..MAX_REJECTIONS {
            match self.resolve(work, TransactionKind::Complete).await? {
                Landed::Yes => return self.completed(work).await,
                Landed::No => {}
                Landed::Unknown => return self.leave(work, Ended::StillSettling).await,
            }
            match self.look_before_settling(work).await? {
                Settling::Open => {}
                Settling::Settled => return self.completed(work).await,
                Settling::Lost(failure) => return self.give_up(work, &failure).await.map(|()| None),
            }
            let transaction = self.sign_settlement(work).await?;
            self.executions.settling(work.lease, &stored(&transaction)).await?;
            work.state = State::Settling;
            match self.send(work, &transaction, self.config.limits.settle_patience).await? {
                Landed::Yes => return self.completed(work).await,
                Landed::No => self.after_rejection(work).await,
                Landed::Unknown => return self.leave(work, Ended::StillSettling).await,
            }
        }
        let failure = failed("the result was good but the chain would not settle it");
        self.give_up(work, &failure).await?;
        Ok(None)
    }

    /// Looks whether the record is still open, unless this worker opened it a moment ago.
    async fn look_before_settling(&self, work: &mut Work) -> Result<Settling, EngineError> {
        if work.fresh && work.seen.is_some() {
            return Ok(Settling::Open);
        }
        work.seen = Some(self.see(&work.call).await?);
        let record = work.record()?;
        let in_time = now_unix_s() <= record.deadline_unix_s;
        match record.status() {
            Some(ExecutionStatus::Open) if in_time => Ok(Settling::Open),
            Some(ExecutionStatus::Open) => {
                Ok(Settling::Lost(failed("the result could not be settled before the deadline")))
            }
            Some(ExecutionStatus::Completed | ExecutionStatus::Disputed)
                if record.result_hash == work.delivered()?.hash =>
            {
                Ok(Settling::Settled)
            }
            _ => Ok(Settling::Lost(settled_elsewhere())),
        }
    }

    async fn sign_settlement(&self, work: &mut Work) -> Result<SignedTransaction, EngineError> {
        let seen = work.seen.as_ref().ok_or(EngineError::Missing("the record"))?;
        let record = seen.record.as_ref().ok_or(EngineError::Missing("the record"))?;
        let delivered = work.delivered()?;
        let settlement = Settlement {
            agent: work.call.agent,
            record: work.lease.record,
            creator: seen.listing.ok_or(EngineError::Missing("the listing"))?.creator,
            treasury_owner: seen.config.ok_or(EngineError::Missing("the configuration"))?.treasury_owner,
            result_key: record.result_key,
            result_hash: ResultHash(delivered.hash),
            signature: delivered.signature,
            execution_time_ms: delivered.execution_time_ms,
            tokens_used: delivered.tokens_used,
        };
        let gateway = &*self.config.keypair;
        let blockhash = work.clock.chain(self.chain.recent_blockhash()).await?;
        // Nothing may come between the proof and the settlement, so the budget stands first.
        let mut instructions = self.budget(SETTLE_UNITS);
        instructions.extend(self.instructions.complete_execution(&gateway.pubkey(), &settlement));
        Ok(SignedTransaction::sign(&instructions, &[gateway], blockhash)?)
    }

    async fn completed(&self, work: &mut Work) -> Result<Option<Ended>, EngineError> {
        let (stored, seen) =
            tokio::join!(self.executions.completed(work.lease), self.see_finished(&work.call, &mut work.clock));
        stored?;
        note_unseen(seen);
        work.state = State::Completed;
        Ok(None)
    }
}
