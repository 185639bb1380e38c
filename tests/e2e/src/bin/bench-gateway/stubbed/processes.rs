//! One, two and four processes of the gateway over one database, with the same load. Where processes share the cores of
//! one machine, no throughput shows whether more of them serve more calls. So it is measured what would keep them from
//! it: the processor time of a call, which must not grow, and how long the statements of a call wait for others.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use anyhow::Result;
use crtx_e2e::bench::Row;
use crtx_store::{PgPool, testing::server};

use super::{
    super::load::{Load, milliseconds},
    BUSY_CALLERS, Busy, WARM_UP,
    market::StubbedMarket,
};

const PROCESSES: [usize; 3] = [1, 2, 4];
/// Of the processor time of a call with one process, the part that it may be of one with several.
const EFFICIENCY: f64 = 0.8;
/// Between two looks at what PostgreSQL's sessions wait for.
const LOOK_EVERY: Duration = Duration::from_millis(50);
const CLASSES: [&str; 3] = ["locks", "disk", "latches"];
/// A table that grows less for each call is not shown.
const LEAST_BYTES: f64 = 50.0;

/// `step`: how long each number of processes is kept busy.
pub async fn measure(step: Duration) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut with_one = None;
    for processes in PROCESSES {
        let market = StubbedMarket::start(processes).await?;
        let load = Load::new(market.lanes())?;
        load.closed_loop(BUSY_CALLERS, Duration::ZERO, WARM_UP).await;
        let sizes = server::table_sizes(market.pool()).await?;
        let mut waits = Waits::default();
        let busy = tokio::select! {
            busy = Busy::measure(&market, &load, step) => busy?,
            failed = waits.watch(market.pool()) => return Err(failed),
        };
        eprintln!("{processes} processes: {:.0} calls/s, {:?}", busy.run.completed_per_s(), waits.sessions);
        rows.extend(waits.rows(&busy, processes));
        let ms = milliseconds(busy.gateway + busy.postgres) / busy.calls();
        let efficiency = *with_one.get_or_insert(ms) / ms;
        rows.push(Row::new(format!("scale_efficiency_p{processes}"), efficiency, "").at_least(EFFICIENCY));
        if processes == 1 {
            rows.extend(growth(&sizes, &server::table_sizes(market.pool()).await?, busy.calls()));
        }
        market.stop().await?;
    }
    Ok(rows)
}

/// Bytes by which each table grew for each call, with its indexes.
fn growth(before: &BTreeMap<String, i64>, after: &BTreeMap<String, i64>, calls: f64) -> Vec<Row> {
    let grown = |table: &String, size: i64| (size - before.get(table).copied().unwrap_or_default()) as f64 / calls;
    let row =
        |(table, size): (&String, &i64)| Row::new(format!("table_{table}_per_call"), grown(table, *size), "bytes");
    after.iter().map(row).filter(|row| row.value >= LEAST_BYTES).collect()
}

/// For what another transaction holds; for the disk, or for who writes the log for all; for PostgreSQL's own structures.
fn class_of(wait: &str) -> Option<&'static str> {
    match wait.split_once(':')? {
        ("Lock", _) => Some("locks"),
        ("IO", _) | ("LWLock", "WALWrite") => Some("disk"),
        ("LWLock", _) => Some("latches"),
        _ => None,
    }
}

/// What sessions of PostgreSQL did, look by look.
#[derive(Debug, Default)]
struct Waits {
    looks: i64,
    watched: Duration,
    /// Sessions that were seen in the middle of a statement, by what they waited for.
    sessions: BTreeMap<String, i64>,
}

impl Waits {
    /// Looks until a look fails.
    async fn watch(&mut self, pool: &PgPool) -> anyhow::Error {
        let started = Instant::now();
        loop {
            match server::active_sessions(pool).await {
                Ok(seen) => seen.into_iter().for_each(|(wait, count)| *self.sessions.entry(wait).or_default() += count),
                Err(error) => return error.into(),
            }
            self.looks += 1;
            self.watched = started.elapsed();
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Milliseconds that statements of one call waited for this.
    fn per_call(&self, class: &str, calls: f64) -> f64 {
        let ours = |(wait, _): &(&String, &i64)| class_of(wait) == Some(class);
        let seen: i64 = self.sessions.iter().filter(ours).map(|(_, count)| count).sum();
        seen as f64 / self.looks.max(1) as f64 * milliseconds(self.watched) / calls
    }

    fn rows(&self, busy: &Busy, processes: usize) -> Vec<Row> {
        let calls = busy.calls();
        let row = |name: &str, value, unit| Row::new(format!("scale_{name}_p{processes}"), value, unit);
        let mut rows = vec![
            row("calls_per_s", busy.run.completed_per_s(), "1/s"),
            row("errors", busy.run.failures().len() as f64, "").at_most(0.0),
            row("cpu_gateways_ms_per_call", milliseconds(busy.gateway) / calls, "ms"),
            row("cpu_postgres_ms_per_call", milliseconds(busy.postgres) / calls, "ms"),
            // Each look was one.
            row("commits_per_call", (busy.commits - self.looks) as f64 / calls, ""),
        ];
        rows.extend(busy.wal_bytes.map(|bytes| row("log_bytes_per_call", bytes as f64 / calls, "bytes")));
        let wait = |class| row(&format!("wait_for_{class}_ms_per_call"), self.per_call(class, calls), "ms");
        rows.extend(CLASSES.map(wait));
        rows
    }
}
