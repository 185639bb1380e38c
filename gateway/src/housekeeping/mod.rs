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
use solana_instruction::Instruction;
use solana_pubkey::Pubkey;
use solana_signer::Signer;
use tokio_util::sync::CancellationToken;

use self::send::ChoreTransaction;
pub(crate) use self::send::Pauses;
use crate::engine::{Engine, EngineError};

/// Own records that are closed in one round.
const OWN_PER_ROUND: i64 = 1_000;
/// Actions for others in one round, of each kind.
const OTHERS_PER_ROUND: i64 = 20;
/// For this long after a deadline, the refund is left to who opened the execution.
const AFTER_DEADLINE_S: i64 = 60;
/// Compute units that ending a dispute, or applying an announcement, may use.
const UNITS: u32 = 30_000;

/// One round of the work, by the chain's clock.
struct Round<'a> {
    engine: &'a Engine,
    pauses: &'a Pauses,
    now_unix_s: i64,
    shutdown: &'a CancellationToken,
}

/// Makes one round. An error ends one kind of work; the next round tries again. `pauses` remembers what the chain refused.
pub(crate) async fn round(engine: &Engine, pauses: &Pauses, shutdown: &CancellationToken) -> Result<(), EngineError> {
    let now_unix_s = engine.chain_now_unix_s().await?;
    let round = Round { engine, pauses, now_unix_s, shutdown };
    let report = |what: &str, done: Result<(), EngineError>| {
        if let Err(error) = done {
            tracing::warn!(%error, "{what}");
        }
    };
    report("announcements could not be applied", round.apply_announcements().await);
    report("own records could not be closed", round.close_own().await);
    report("work for others could not be done", round.serve_others().await);
    Ok(())
}

impl Round<'_> {
    /// Applies announced roles and parameters that are due, so that nobody can choose the moment within the week for it.
    async fn apply_announcements(&self) -> Result<(), EngineError> {
        let instructions = &self.engine.instructions;
        let address = instructions.addresses.config();
        let [account] = self.engine.read([address]).await?;
        let Some(config) = self.engine.decode::<Config>(account.as_ref()) else { return Ok(()) };
        let is_due = |apply_from: i64| Config::check_due(apply_from, self.now_unix_s).is_ok();
        let roles = is_due(config.roles_apply_from_unix_s).then(|| instructions.apply_roles());
        let parameters = is_due(config.parameters_apply_from_unix_s).then(|| instructions.apply_parameters());
        for instruction in roles.into_iter().chain(parameters) {
            self.act(Chore::ApplyAnnouncement, true, address, instruction).await?;
        }
        Ok(())
    }

    async fn close_own(&self) -> Result<(), EngineError> {
        let own = self.engine.config.keypair.pubkey();
        let pool = self.engine.executions.pool();
        self.close(&store::closable(pool, time(self.now_unix_s)?, &own, true, OWN_PER_ROUND).await?, true).await
    }

    /// As long as the day's limit lasts. It is exceeded by at most the fees of one kind of work in one round.
    async fn serve_others(&self) -> Result<(), EngineError> {
        let pool = self.engine.executions.pool();
        let own = self.engine.config.keypair.pubkey();
        if !self.may_spend().await? {
            return Ok(());
        }
        let late = time(self.now_unix_s.saturating_sub(AFTER_DEADLINE_S))?;
        self.refund(&store::overdue_of_others(pool, late, &own, OTHERS_PER_ROUND).await?).await?;
        if !self.may_spend().await? {
            return Ok(());
        }
        let raised_before = time(self.now_unix_s.saturating_sub(Dispute::LIMIT_S))?;
        self.expire_disputes(&store::undecided(pool, raised_before, OTHERS_PER_ROUND).await?).await?;
        if !self.may_spend().await? {
            return Ok(());
        }
        self.close(&store::closable(pool, time(self.now_unix_s)?, &own, false, OTHERS_PER_ROUND).await?, false).await
    }

    async fn may_spend(&self) -> Result<bool, EngineError> {
        let spent = store::spent_for_others_today(self.engine.executions.pool()).await?;
        Ok(spent < self.engine.config.limits.lamports_for_others_per_day)
    }

    /// Ends disputes that the resolver did not decide in time, so that no collateral stays locked.
    async fn expire_disputes(&self, records: &[Pubkey]) -> Result<(), EngineError> {
        for record in records {
            let address = self.engine.instructions.addresses.dispute(record);
            if !self.pauses.allow(&address) {
                continue;
            }
            let [account] = self.engine.read([address]).await?;
            let Some(dispute) = account.and_then(|account| Dispute::decode(&account.data).ok()) else { continue };
            let over = dispute.decidable_until_unix_s().is_some_and(|until| self.now_unix_s > until);
            if dispute.outcome() == Some(DisputeOutcome::Open) && over {
                let (build, caller) = (&self.engine.instructions, &dispute.raised_by);
                // Gets the bond. Without a usable account the chain refuses, and this is tried again later.
                let account = self.engine.usable_account(caller, true).await?;
                let account = account.unwrap_or_else(|| build.usdc_of(caller));
                let instruction = build.expire_dispute(&dispute.agent, record, &account);
                self.act(Chore::ExpireDispute, false, address, instruction).await?;
            }
        }
        Ok(())
    }

    /// Sends one instruction, which works on one address and returns no rent.
    async fn act(&self, chore: Chore, own: bool, address: Pubkey, instruction: Instruction) -> Result<(), EngineError> {
        if !self.pauses.allow(&address) {
            return Ok(());
        }
        let instructions = [self.engine.patient_budget(UNITS), vec![instruction]].concat();
        let job =
            ChoreTransaction { chore, own, addresses: vec![address], instructions, units: UNITS, rent_lamports: 0 };
        job.send(self.engine, self.pauses).await
    }
}

fn time(unix_s: i64) -> Result<DateTime<Utc>, EngineError> {
    DateTime::from_timestamp(unix_s, 0).ok_or(EngineError::Missing("a time on chain"))
}
