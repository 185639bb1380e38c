//! Watches the database from outside: when a change is there, and what one row's write takes.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::Result;
use crtx_store::{
    PgPool,
    mirror::{self, ExecutionAccount},
    testing::mirror_figures,
};
use tokio::task::JoinHandle;

use super::{
    chain::{address, execution},
    clock::now,
    market::NodeProcess,
    orders::{Told, execution_from},
};

/// What is measured includes this. A look costs the database about 1 ms.
const LOOK_EVERY: Duration = Duration::from_millis(20);
const WRITE_EVERY: Duration = Duration::from_millis(20);

/// When which revision of a probe was first seen.
pub struct Watch {
    stop: Arc<AtomicBool>,
    seen: JoinHandle<HashMap<u32, Vec<(u32, f64)>>>,
}

impl Watch {
    pub fn start(pool: PgPool, probes: Vec<u32>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let seen = tokio::spawn(async move {
            let numbers: HashMap<String, u32> =
                probes.into_iter().map(|number| (address(number).to_string(), number)).collect();
            let addresses: Vec<String> = numbers.keys().cloned().collect();
            let mut seen: HashMap<u32, Vec<(u32, f64)>> = HashMap::new();
            while !stopped.load(Ordering::Relaxed) {
                let revisions = mirror_figures::revisions(&pool, &addresses).await;
                let at = now();
                for (address, revision) in revisions {
                    let known = seen.entry(numbers[&address]).or_default();
                    if known.last().is_none_or(|(last, _)| *last < revision) {
                        known.push((revision, at));
                    }
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
            seen
        });
        Self { stop, seen }
    }

    /// Milliseconds from the time at which each of these changes was due to the time at which it was seen. A change
    /// that was not seen counts as the time until now.
    pub async fn lags_ms(self, told: &[Told]) -> Result<Vec<f64>> {
        self.stop.store(true, Ordering::Relaxed);
        let (seen, end) = (self.seen.await?, now());
        let lag = |told: &Told| {
            let found = seen
                .get(&told.number)
                .and_then(|known| known.iter().find(|(revision, _)| *revision >= told.revision).map(|(_, at)| *at));
            (found.unwrap_or(end) - told.at) * 1_000.0
        };
        Ok(told.iter().map(lag).collect())
    }
}

/// Waits until these revisions are in the database. Returns when they were, in seconds since 1970.
pub async fn until_there(pool: &PgPool, told: &[Told], limit: Duration) -> Option<f64> {
    let wanted: HashMap<String, u32> =
        told.iter().map(|told| (address(told.number).to_string(), told.revision)).collect();
    let addresses: Vec<String> = wanted.keys().cloned().collect();
    let started = Instant::now();
    while started.elapsed() < limit {
        let there = mirror_figures::revisions(pool, &addresses).await;
        let at = now();
        if wanted.iter().all(|(address, revision)| there.get(address).is_some_and(|found| found >= revision)) {
            return Some(at);
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    None
}

/// Writes single rows again and again, as the gateway does after each call, for so long. Each write waits for the locks of
/// others, and like every write of the mirror not for the disk. Returns the milliseconds of each write.
pub async fn write_rows(pool: &PgPool, node: &NodeProcess, accounts: u32, length: Duration) -> Result<Vec<f64>> {
    let (started, mut writes_ms) = (Instant::now(), Vec::new());
    let mut number = accounts / 2;
    while started.elapsed() < length {
        number = execution_from((number + 997) % accounts, accounts);
        // The node knows the change first: the database is never ahead of the chain.
        let changed = execution(number, node.change(number).await?);
        let account = ExecutionAccount { record: changed.record, terms: changed.terms };
        let began = Instant::now();
        let mut batch = mirror::Batch::default();
        batch.push(&address(number), 0, &account)?;
        mirror::apply_changes(pool, &batch, 0).await?;
        writes_ms.push(began.elapsed().as_secs_f64() * 1_000.0);
        tokio::time::sleep(WRITE_EVERY).await;
    }
    Ok(writes_ms)
}
