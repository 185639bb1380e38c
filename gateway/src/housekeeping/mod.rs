//! What the worker does for the market beside its own calls, so that nothing stays open: it refunds what expired, closes
//! records after their window, ends disputes that nobody decided, and applies what was announced and is due. Anybody
//! could do all of it; this service does it so that nobody has to.
//!
//! Candidates come from the mirror, decisions from the chain. Each round is limited. Work whose rent is not this
//! gateway's own has a daily limit of fees, because strangers decide how much of it there is.

mod closings;
mod refunds;
mod send;
pub(crate) mod sweep;

use agent_marketplace::state::{Config, Dispute, DisputeOutcome};
use chrono::{DateTime, Utc};
use crtx_chain::Layout;
use crtx_store::housekeeping::{self as store, Chore};
use solana_pubkey::Pubkey;
use solana_signer::Signer;
use tokio_util::sync::CancellationToken;

use self::send::{Job, Pauses};
use crate::engine::{Engine, EngineError};

/// Own records that are closed in one round.
const OWN_PER_ROUND: i64 = 1_000;
/// Actions for others in one round, of each kind.
const OTHERS_PER_ROUND: i64 = 20;
/// For this long after a deadline, the refund is left to who opened the execution.
const AFTER_DEADLINE_S: i64 = 60;
/// Compute units that ending a dispute, or applying an announcement, may use.
const UNITS: u32 = 10_000;

/// Does the work, and remembers what the chain refused.
#[derive(Debug, Default)]
pub(crate) struct Housekeeping {
    pauses: Pauses,
}

impl Housekeeping {
    /// One round. Errors are logged, and the next round tries again.
    pub async fn round(&self, engine: &Engine, shutdown: &CancellationToken) {
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
        report("announcements could not be applied", self.apply_announcements(engine, now).await);
        report("own records could not be closed", self.close_own(engine, now, shutdown).await);
        report("work for others could not be done", self.serve_others(engine, now, shutdown).await);
    }

    /// Applies roles and parameters that were announced and are due by the chain's clock, so that nobody can choose the
    /// moment within the week in which an announcement can be applied.
    async fn apply_announcements(&self, engine: &Engine, now_unix_s: i64) -> Result<(), EngineError> {
        let address = engine.instructions.addresses.config();
        let account = engine.chain.account(&address).await?.value;
        let Some(config) = engine.decode::<Config>(account.as_ref()) else { return Ok(()) };
        let is_due = |apply_from: i64| Config::check_due(apply_from, now_unix_s).is_ok();
        let roles = is_due(config.roles_apply_from_unix_s).then(|| engine.instructions.apply_roles());
        let parameters = is_due(config.parameters_apply_from_unix_s).then(|| engine.instructions.apply_parameters());
        for instruction in roles.into_iter().chain(parameters) {
            if self.pauses.allow(&address) {
                let instructions = [engine.budget(UNITS), vec![instruction]].concat();
                let job = Job::of(Chore::ApplyAnnouncement, true, address, instructions, UNITS);
                job.send(engine, &self.pauses).await?;
            }
        }
        Ok(())
    }

    async fn close_own(
        &self,
        engine: &Engine,
        now_unix_s: i64,
        shutdown: &CancellationToken,
    ) -> Result<(), EngineError> {
        let own = engine.config.keypair.pubkey();
        let records = store::closable(engine.executions.pool(), time(now_unix_s)?, &own, true, OWN_PER_ROUND).await?;
        closings::close(engine, &self.pauses, &records, true, now_unix_s, shutdown).await
    }

    /// As long as the day's limit lasts. It is checked before each kind of work, so it is exceeded by at most the fees
    /// of one kind in one round.
    async fn serve_others(
        &self,
        engine: &Engine,
        now_unix_s: i64,
        shutdown: &CancellationToken,
    ) -> Result<(), EngineError> {
        let pool = engine.executions.pool();
        let own = engine.config.keypair.pubkey();
        if !may_spend(engine).await? {
            return Ok(());
        }
        let late = time(now_unix_s.saturating_sub(AFTER_DEADLINE_S))?;
        let overdue = store::overdue_of_others(pool, late, &own, OTHERS_PER_ROUND).await?;
        refunds::refund(engine, &self.pauses, &overdue, now_unix_s).await?;
        if !may_spend(engine).await? {
            return Ok(());
        }
        let raised_before = time(now_unix_s.saturating_sub(Dispute::LIMIT_S))?;
        let undecided = store::undecided(pool, raised_before, OTHERS_PER_ROUND).await?;
        self.expire_disputes(engine, &undecided, now_unix_s).await?;
        if !may_spend(engine).await? {
            return Ok(());
        }
        let closable = store::closable(pool, time(now_unix_s)?, &own, false, OTHERS_PER_ROUND).await?;
        closings::close(engine, &self.pauses, &closable, false, now_unix_s, shutdown).await
    }

    /// Ends the disputes about those of `records` that the resolver did not decide in time by the chain's clock, so that
    /// no collateral stays locked.
    async fn expire_disputes(&self, engine: &Engine, records: &[Pubkey], now_unix_s: i64) -> Result<(), EngineError> {
        for record in records {
            let address = engine.instructions.addresses.dispute(record);
            if !self.pauses.allow(&address) {
                continue;
            }
            let account = engine.chain.account(&address).await?.value;
            let Some(dispute) = account.and_then(|account| Dispute::decode(&account.data).ok()) else { continue };
            let over = dispute.decidable_until_unix_s().is_some_and(|until| now_unix_s > until);
            if dispute.outcome() == Some(DisputeOutcome::Open) && over {
                let instruction = engine.instructions.expire_dispute(&dispute.agent, record);
                let instructions = [engine.budget(UNITS), vec![instruction]].concat();
                let job = Job::of(Chore::ExpireDispute, false, address, instructions, UNITS);
                job.send(engine, &self.pauses).await?;
            }
        }
        Ok(())
    }
}

fn time(unix_s: i64) -> Result<DateTime<Utc>, EngineError> {
    DateTime::from_timestamp(unix_s, 0).ok_or(EngineError::Missing("a time on chain"))
}

async fn may_spend(engine: &Engine) -> Result<bool, EngineError> {
    let spent = store::spent_for_others_today(engine.executions.pool()).await?;
    Ok(spent < engine.config.limits.lamports_for_others_per_day)
}
