//! Resumes abandoned executions: after a crash, a transaction with unknown outcome, or a failed dependency. Any
//! number of gateways may run this over one database.
//!
//! Each kind of work has its own workers, so that slow creators delay no settlement and no refund.

use std::{sync::Arc, time::Duration};

use crtx_store::executions::{Claimed, State};
use solana_pubkey::Pubkey;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::{
    admission::places::Places,
    content_backlog,
    engine::Engine,
    fee_payer_poll,
    gateway::Gateway,
    held_content,
    housekeeping::Housekeeping,
    presence::{self, Leadership},
    session_purge,
    sweeper::Sweeper,
};

/// How long shutdown waits for calls in progress. The others are resumed after the next start.
const STOP_PATIENCE: Duration = Duration::from_secs(15);
/// Pause for an execution whose agent has its maximum of resumed executions.
const AGENT_PAUSE: Duration = Duration::from_secs(2);
/// How often the database is searched for results that the content store lacks.
const CONTENT_EVERY: Duration = Duration::from_secs(2);
/// How often held content is kept or dropped.
const TIDY_EVERY: Duration = Duration::from_secs(300);
/// How often sessions that are over are deleted.
const PURGE_EVERY: Duration = Duration::from_secs(60);

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
    tokio::join!(recovering, fee_payer_poll::run(engine, &shutdown));
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
    tokio::join!(
        before_dispatch,
        dispatch,
        settlement,
        refund,
        every(CONTENT_EVERY, shutdown, || content_backlog::write(engine)),
        every(TIDY_EVERY, shutdown, || async {
            shutdown.run_until_cancelled(held_content::tidy(engine)).await;
        }),
        every(PURGE_EVERY, shutdown, || session_purge::purge(engine)),
        sweep(engine, leadership.clone(), shutdown),
        keep_house(engine, leadership, shutdown),
    );
}

/// Refunds overdue executions while this process is the leader.
async fn sweep(engine: &Engine, leadership: Leadership, shutdown: &CancellationToken) {
    let mut sweeper = Sweeper::default();
    while tick(engine.config.limits.sweep_every, shutdown).await {
        if leadership.is_ours() {
            sweeper.sweep(engine, shutdown).await;
        }
    }
}

/// Does the market's housekeeping while this process is the leader.
async fn keep_house(engine: &Engine, leadership: Leadership, shutdown: &CancellationToken) {
    let mut housekeeping = Housekeeping::default();
    while tick(engine.config.limits.housekeeping_every, shutdown).await {
        if leadership.is_ours() {
            housekeeping.round(engine, shutdown).await;
        }
    }
}

/// Waits for `pause`. Returns false if the process stops.
async fn tick(pause: Duration, shutdown: &CancellationToken) -> bool {
    tokio::select! {
        biased;
        () = shutdown.cancelled() => false,
        () = tokio::time::sleep(pause) => true,
    }
}

async fn every<F: Future<Output = ()>>(pause: Duration, shutdown: &CancellationToken, work: impl Fn() -> F) {
    while tick(pause, shutdown).await {
        work().await;
    }
}

impl Lane {
    async fn run(self, engine: &Arc<Engine>, shutdown: &CancellationToken) {
        let slots = Arc::new(Semaphore::new(usize::try_from(self.slots).unwrap_or(1)));
        let busy = Places::default();
        loop {
            self.resume_some(engine, &slots, &busy).await;
            if !tick(engine.config.limits.resume_every, shutdown).await {
                return;
            }
        }
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
