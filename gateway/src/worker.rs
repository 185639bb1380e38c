//! Resumes abandoned executions: after a crash, a transaction with unknown outcome, or a failed dependency. Any
//! number of gateways may run this over one database.
//!
//! Each kind of work has its own workers, so that slow creators delay no settlement and no refund.

use std::{sync::Arc, time::Duration};

use agent_marketplace::state::{Config, ExecutionRecord};
use crtx_store::{
    admission,
    executions::{ClaimedLease, State},
    fee_payers, sessions,
};
use solana_pubkey::Pubkey;
use solana_signer::Signer;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::{
    admission::permits::Permits,
    engine::{Engine, EngineError},
    gateway::Gateway,
    held_content,
    housekeeping::{self, Pauses, sweep::sweep},
    presence::{self, LeaderWatch},
    webhooks,
};

/// How long shutdown waits for calls in progress. The others are resumed after the next start.
const STOP_PATIENCE: Duration = Duration::from_secs(15);
/// Pause for an execution whose agent has its maximum of resumed executions.
const AGENT_PAUSE: Duration = Duration::from_secs(2);
/// How often the database is searched for results that the content store lacks, and how many are written at once.
const CONTENT_EVERY: Duration = Duration::from_secs(2);
const RESULTS_AT_ONCE: u32 = 16;
/// How often held content is kept or dropped.
const TIDY_EVERY: Duration = Duration::from_secs(300);
/// How often sessions that are over are deleted, and how many rows of each kind at once.
const PURGE_EVERY: Duration = Duration::from_secs(60);
const MOST_SESSIONS: i64 = 10_000;

/// One kind of work.
struct Lane {
    states: &'static [State],
    /// Executions that are resumed at the same time.
    slots: u32,
    /// Executions of one agent at the same time: a slow creator delays only its own callers.
    slots_per_agent: u32,
}

const LANES: [Lane; 4] = [
    Lane { states: &State::BEFORE_DISPATCH, slots: 64, slots_per_agent: 64 },
    // These executions wait for creators and cost little while they wait.
    Lane { states: &State::DISPATCH, slots: 512, slots_per_agent: 64 },
    Lane { states: &State::SETTLEMENT, slots: 64, slots_per_agent: 64 },
    Lane { states: &State::REFUND, slots: 32, slots_per_agent: 32 },
];

/// Which process resumes abandoned executions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// This process.
    Here,
    /// Other processes over the same database; this process only accepts calls.
    Elsewhere,
}

/// Works until `shutdown`, then waits for the calls in progress.
pub async fn run(gateway: Gateway, recovery: Recovery, shutdown: CancellationToken) {
    let engine = &gateway.engine;
    let gone = CancellationToken::new();
    let shown = tokio::spawn(presence::show(engine.executions.clone(), gone.clone()));
    let recovering = async {
        if recovery == Recovery::Here {
            recover(&gateway, &shutdown).await;
        }
    };
    let poll_every = engine.config.limits.fee_poll_every;
    let unread = "the fee payer's balance could not be read";
    tokio::join!(recovering, every(poll_every, &shutdown, unread, || poll_fee_payer(engine, &shutdown)));
    let tasks = &engine.tasks;
    tasks.close();
    if tokio::time::timeout(STOP_PATIENCE, tasks.wait()).await.is_err() {
        tracing::warn!(calls = tasks.len(), "stopping while calls are in progress; they are resumed later");
    }
    gone.cancel();
    if let Err(error) = shown.await {
        tracing::error!(%error, "the task that shows this process alive panicked");
    }
}

async fn recover(gateway: &Gateway, shutdown: &CancellationToken) {
    let engine = &gateway.engine;
    let leadership = LeaderWatch::default();
    let (sweeps, chores) = (Pauses::default(), Pauses::default());
    let limits = engine.config.limits;
    tokio::join!(
        leadership.seek(gateway.pool(), gateway.authority(), shutdown),
        futures::future::join_all(LANES.map(|lane| lane.run(engine, shutdown))),
        webhooks::deliver(Arc::clone(engine), Arc::clone(&gateway.webhooks), shutdown),
        every(CONTENT_EVERY, shutdown, "results could not be copied to the content store", || {
            write_missing_content(engine)
        }),
        every(TIDY_EVERY, shutdown, "held content could not be looked through", || async {
            shutdown.run_until_cancelled(held_content::tidy(engine)).await;
            Ok(())
        }),
        every(PURGE_EVERY, shutdown, "sessions that are over could not be deleted", || purge_sessions(engine)),
        every(limits.sweep_every, shutdown, "the chain could not be searched for overdue executions", || async {
            if leadership.is_ours() { sweep(engine, &sweeps, shutdown).await } else { Ok(()) }
        }),
        every(limits.housekeeping_every, shutdown, "housekeeping could not be done", || async {
            if leadership.is_ours() { housekeeping::round(engine, &chores, shutdown).await } else { Ok(()) }
        }),
    );
}

/// Works now, and again after each pause until the process stops. An error is logged with `problem`.
async fn every<F: Future<Output = Result<(), EngineError>>>(
    pause: Duration,
    shutdown: &CancellationToken,
    problem: &str,
    work: impl Fn() -> F,
) {
    loop {
        if let Err(error) = work().await {
            tracing::warn!(%error, "{problem}");
        }
        if shutdown.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
            return;
        }
    }
}

impl Lane {
    async fn run(self, engine: &Arc<Engine>, shutdown: &CancellationToken) {
        let slots = Arc::new(Semaphore::new(usize::try_from(self.slots).unwrap_or(1)));
        let busy = Permits::default();
        let resume_every = engine.config.limits.resume_every;
        let unclaimed = "no executions could be claimed";
        every(resume_every, shutdown, unclaimed, || self.resume_some(engine, &slots, &busy)).await;
    }

    async fn resume_some(
        &self,
        engine: &Arc<Engine>,
        slots: &Arc<Semaphore>,
        busy: &Permits<Pubkey>,
    ) -> Result<(), EngineError> {
        let free = u32::try_from(slots.available_permits()).unwrap_or(self.slots);
        if free == 0 {
            return Ok(());
        }
        let executions = &engine.executions;
        let claimed = executions.claim(self.states, free).await?;
        for ClaimedLease { lease, agent } in claimed {
            let Ok(permit) = busy.take(vec![agent], |_, _| self.slots_per_agent) else {
                if let Err(error) = executions.postpone(lease, AGENT_PAUSE).await {
                    tracing::warn!(record = %lease.record, %error, "the lease could not be released; it expires later");
                }
                continue;
            };
            let Ok(slot) = Arc::clone(slots).try_acquire_owned() else { break };
            let worker = Arc::clone(engine);
            engine.tasks.spawn(async move {
                worker.resume(lease).await;
                drop((slot, permit));
            });
        }
        Ok(())
    }
}

/// Copies results that only the database has to the content store.
async fn write_missing_content(engine: &Engine) -> Result<(), EngineError> {
    for (record, result) in engine.executions.without_content(RESULTS_AT_ONCE).await? {
        if !engine.content.try_put(result).await {
            break;
        }
        engine.executions.content_stored(&record).await?;
    }
    Ok(())
}

/// Deletes sessions that are over, and challenges that no clock accepts any more.
async fn purge_sessions(engine: &Engine) -> Result<(), EngineError> {
    let rows = sessions::purge(engine.executions.pool(), MOST_SESSIONS).await?;
    tracing::debug!(rows, "sessions and challenges that are over were deleted");
    Ok(())
}

/// Reads the balance of the fee payer and the treasury's account, for `/v1/status` and the log.
async fn poll_fee_payer(engine: &Engine, shutdown: &CancellationToken) -> Result<(), EngineError> {
    let poll = async {
        let pool = engine.executions.pool();
        // Old counts of failures are deleted here, because this task runs in every process.
        admission::forget_old_failures(pool).await?;
        let rent = engine.chain.rent_exemption(ExecutionRecord::OPEN_SPACE).await?;
        let address = engine.config.keypair.pubkey();
        let [account, config] = engine.read([address, engine.instructions.addresses.config()]).await?;
        let lamports = account.map_or(0, |account| account.lamports);
        let mut payer = engine.fee_payer.note(address, lamports, rent, engine.general_unit_price());
        let config = engine.decode::<Config>(config.as_ref());
        config.as_ref().map(|config| engine.config.keypair.follow(&config.gateway_authority));
        if let Some(config) = config.filter(|config| config.parameters.fee_bps > 0) {
            payer.treasury_problem = engine.treasurys_problem(&config.treasury_owner).await?;
        }
        Ok(fee_payers::store(pool, &payer).await?)
    };
    shutdown.run_until_cancelled(poll).await.unwrap_or(Ok(()))
}
