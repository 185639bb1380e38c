//! What the worker does for the market beside its own calls, so that nothing stays open: it refunds what expired, closes
//! records after their window, ends disputes that nobody decided, and applies what was announced and is due. Anybody
//! could do all of it; this service does it so that nobody has to.
//!
//! Candidates come from the mirror, decisions from the chain. Each round is limited. Work whose rent is not this
//! gateway's own has a daily limit of fees, because strangers decide how much of it there is.

mod announcements;
mod closings;
mod disputes;
mod refunds;
mod send;

use agent_marketplace::state::Dispute;
use chrono::DateTime;
use crtx_store::housekeeping as store;
use solana_signer::Signer;
use tokio_util::sync::CancellationToken;

use crate::{
    engine::{Engine, EngineError},
    pauses::Pauses,
};

/// Own records that are closed in one round.
const OWN_PER_ROUND: i64 = 1_000;
/// Actions for others in one round, of each kind.
const OTHERS_PER_ROUND: i64 = 20;
/// For this long after a deadline, the refund is left to who opened the execution.
const AFTER_DEADLINE_S: i64 = 60;

/// Does the work, and remembers what the chain refused.
#[derive(Debug, Default)]
pub(crate) struct Housekeeping {
    pauses: Pauses,
}

impl Housekeeping {
    /// One round. Errors are logged, and the next round tries again.
    pub async fn round(&mut self, engine: &Engine, shutdown: &CancellationToken) {
        let now = match engine.chain_now_unix_s().await {
            Ok(now) => now,
            Err(error) => {
                tracing::warn!(%error, "the chain's time could not be read; housekeeping waits");
                return;
            }
        };
        let report = |what: &str, done: Result<(), EngineError>| {
            if let Err(error) = done {
                tracing::warn!(%error, "{what}");
            }
        };
        let applied = announcements::apply(engine, &mut self.pauses, now).await;
        report("announcements could not be applied", applied);
        report("own records could not be closed", self.close_own(engine, now, shutdown).await);
        report("work for others could not be done", self.serve_others(engine, now, shutdown).await);
    }

    async fn close_own(
        &mut self,
        engine: &Engine,
        now_unix_s: i64,
        shutdown: &CancellationToken,
    ) -> Result<(), EngineError> {
        let Some(now) = DateTime::from_timestamp(now_unix_s, 0) else { return Ok(()) };
        let own = engine.config.keypair.pubkey();
        let records = store::closable(engine.executions.pool(), now, &own, true, OWN_PER_ROUND).await?;
        closings::close(engine, &mut self.pauses, &records, true, now_unix_s, shutdown).await
    }

    /// As long as the day's limit lasts. It is checked before each kind of work, so it is exceeded by at most the fees
    /// of one kind in one round.
    async fn serve_others(
        &mut self,
        engine: &Engine,
        now_unix_s: i64,
        shutdown: &CancellationToken,
    ) -> Result<(), EngineError> {
        let pool = engine.executions.pool();
        let own = engine.config.keypair.pubkey();
        let time = |unix_s: i64| DateTime::from_timestamp(unix_s, 0).ok_or(EngineError::Missing("a time on chain"));
        if !may_spend(engine).await? {
            return Ok(());
        }
        let late = time(now_unix_s.saturating_sub(AFTER_DEADLINE_S))?;
        let overdue = store::overdue_of_others(pool, late, &own, OTHERS_PER_ROUND).await?;
        refunds::refund(engine, &mut self.pauses, &overdue, now_unix_s).await?;
        if !may_spend(engine).await? {
            return Ok(());
        }
        let raised_before = time(now_unix_s.saturating_sub(Dispute::LIMIT_S))?;
        let undecided = store::undecided(pool, raised_before, OTHERS_PER_ROUND).await?;
        disputes::expire(engine, &mut self.pauses, &undecided, now_unix_s).await?;
        if !may_spend(engine).await? {
            return Ok(());
        }
        let closable = store::closable(pool, time(now_unix_s)?, &own, false, OTHERS_PER_ROUND).await?;
        closings::close(engine, &mut self.pauses, &closable, false, now_unix_s, shutdown).await
    }
}

async fn may_spend(engine: &Engine) -> Result<bool, EngineError> {
    let spent = store::spent_for_others_today(engine.executions.pool()).await?;
    Ok(spent < engine.config.limits.lamports_for_others_per_day)
}
