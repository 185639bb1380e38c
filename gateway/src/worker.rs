//! Resumes abandoned executions: after a crash, a transaction with unknown outcome, or a failed dependency. Any
//! number of gateways may run this over one database.
//!
//! Each kind of work has its own workers, so that slow creators delay no settlement and no refund.

use std::{sync::Arc, time::Duration};

use agent_marketplace::state::ExecutionRecord;
use crtx_store::{
    admission,
    executions::{Claimed, State},
    fee_payers, sessions,
};
use solana_pubkey::Pubkey;
use solana_signer::Signer;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::{
    admission::places::Places,
    engine::{Engine, EngineError},
    gateway::Gateway,
    held_content,
    housekeeping::{self, Pauses, sweep::sweep},
    presence::{self, Leadership},
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
/// How often sessions that are over are deleted, and how many rows of each kind at once: more sign-ins than that within
/// a minute do not happen for long.
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
    let leadership = (recovery == Recovery::Here).then(Leadership::default);
    let gone = CancellationToken::new();
    let shown =
        tokio::spawn(presence::show(engine.executions.clone(), gateway.authority(), leadership.clone(), gone.clone()));
    let recovering = async {
        if let Some(leadership) = leadership {
            recover(engine, leadership, &shutdown).await;
        }
    };
    let poll_every = engine.config.limits.fee_poll_every;
    tokio::join!(recovering, every(poll_every, &shutdown, || poll_fee_payer(engine, &shutdown)));
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

async fn recover(engine: &Arc<Engine>, leadership: Leadership, shutdown: &CancellationToken) {
    let [before_dispatch, dispatch, settlement, refund] = LANES.map(|lane| lane.run(engine, shutdown));
    let (sweeps, chores) = (Pauses::default(), Pauses::default());
    let limits = engine.config.limits;
    tokio::join!(
        before_dispatch,
        dispatch,
        settlement,
        refund,
        every(CONTENT_EVERY, shutdown, || write_missing_content(engine)),
        every(TIDY_EVERY, shutdown, || async {
            shutdown.run_until_cancelled(held_content::tidy(engine)).await;
        }),
        every(PURGE_EVERY, shutdown, || purge_sessions(engine)),
        every(limits.sweep_every, shutdown, || async {
            if leadership.is_ours() {
                sweep(engine, &sweeps, shutdown).await;
            }
        }),
        every(limits.housekeeping_every, shutdown, || async {
            if leadership.is_ours() {
                housekeeping::round(engine, &chores, shutdown).await;
            }
        }),
    );
}

/// Works now, and again after each pause until the process stops.
async fn every<F: Future<Output = ()>>(pause: Duration, shutdown: &CancellationToken, work: impl Fn() -> F) {
    loop {
        work().await;
        if shutdown.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
            return;
        }
    }
}

impl Lane {
    async fn run(self, engine: &Arc<Engine>, shutdown: &CancellationToken) {
        let slots = Arc::new(Semaphore::new(usize::try_from(self.slots).unwrap_or(1)));
        let busy = Places::default();
        let resume_every = engine.config.limits.resume_every;
        every(resume_every, shutdown, || self.resume_some(engine, &slots, &busy)).await;
    }

    async fn resume_some(&self, engine: &Arc<Engine>, slots: &Arc<Semaphore>, busy: &Places<Pubkey>) {
        let free = u32::try_from(slots.available_permits()).unwrap_or(self.slots);
        if free == 0 {
            return;
        }
        let executions = &engine.executions;
        let claimed = match executions.claim(self.states, free).await {
            Ok(claimed) => claimed,
            Err(error) => {
                tracing::warn!(%error, "no executions could be claimed");
                return;
            }
        };
        for Claimed { lease, agent } in claimed {
            let Ok(place) = busy.take(vec![agent], |_, _| self.slots_per_agent) else {
                if let Err(error) = executions.postpone(lease, AGENT_PAUSE).await {
                    tracing::warn!(record = %lease.record, %error, "the lease could not be released; it expires later");
                }
                continue;
            };
            let Ok(slot) = Arc::clone(slots).try_acquire_owned() else { return };
            let worker = Arc::clone(engine);
            engine.tasks.spawn(async move {
                worker.resume(lease).await;
                drop((slot, place));
            });
        }
    }
}

/// Copies results that only the database has to the content store.
async fn write_missing_content(engine: &Engine) {
    let missing = match engine.executions.without_content(RESULTS_AT_ONCE).await {
        Ok(missing) => missing,
        Err(error) => {
            tracing::debug!(%error, "the results that the content store lacks could not be read");
            return;
        }
    };
    for (record, result) in missing {
        if !engine.content.try_put(result).await {
            return;
        }
        if let Err(error) = engine.executions.content_stored(&record).await {
            tracing::debug!(%record, %error, "the content is stored, but its row could not be updated");
        }
    }
}

/// Deletes sessions that are over, and challenges that no clock accepts any more.
async fn purge_sessions(engine: &Engine) {
    match sessions::purge(engine.executions.pool(), MOST_SESSIONS).await {
        Ok(0) => {}
        Ok(rows) => tracing::debug!(rows, "sessions and challenges that are over were deleted"),
        Err(error) => tracing::warn!(%error, "sessions that are over could not be deleted"),
    }
}

/// Reads the balance of the fee payer, for `/v1/status` and the log.
async fn poll_fee_payer(engine: &Engine, shutdown: &CancellationToken) {
    let poll = async {
        let pool = engine.executions.pool();
        // Old counts of failures are deleted here, because this task runs in every process.
        admission::forget_old_failures(pool).await?;
        let rent = engine.chain.rent_exemption(ExecutionRecord::OPEN_SPACE).await?;
        let address = engine.config.keypair.pubkey();
        let [account] = engine.read([address]).await?;
        let payer = engine.fee_payer.note(address, account.map_or(0, |account| account.lamports), rent);
        Ok::<_, EngineError>(fee_payers::store(pool, &payer).await?)
    };
    if let Some(Err(error)) = shutdown.run_until_cancelled(poll).await {
        tracing::warn!(%error, "the fee payer's balance could not be read");
    }
}
