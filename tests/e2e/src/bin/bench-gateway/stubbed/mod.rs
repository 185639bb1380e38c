//! The gateway alone: its own process and a durable PostgreSQL, against a chain and a creator that answer
//! at once. What is left of a call's time is what the gateway adds.

mod creator;
mod market;
pub mod processes;

use std::time::Duration;

use anyhow::Result;
use crtx_e2e::{
    bench::{Row, percentile},
    process,
};

use self::market::StubbedMarket;
use super::load::{Load, Run};

const RATE: f64 = 100.0;
const WARM_UP: Duration = Duration::from_secs(2);
const ADDED_P50_MS: f64 = 5.0;
const ADDED_P99_MS: f64 = 20.0;
/// Each rate that is tried is this much above the one before.
const RATE_STEP: f64 = 1.25;
const HIGHEST_RATE: f64 = 5_000.0;
/// Closed-loop callers that keep the gateway busy.
const BUSY_CALLERS: usize = 64;

/// `steady`: how long the gated rate is kept; `step`: how long each rate above it.
pub async fn measure(steady: Duration, step: Duration) -> Result<Vec<Row>> {
    let market = StubbedMarket::start(1).await?;
    let load = Load::new(market.lanes())?;
    load.open_loop(RATE, WARM_UP).await;

    let steady_run = load.open_loop(RATE, steady).await;
    tell(RATE, &steady_run);
    let ceiling = ceiling(&load, step).await;
    let busy = Busy::measure(&market, &load, step).await?;
    let rss_mib = process::peak_memory_mib(market.gateway_pids()[0])?;

    let (mut added, mut gateway, mut total) = (steady_run.added(), steady_run.gateway(), steady_run.latencies());
    let mut rows = vec![
        Row::new("added_p50_ms", percentile(&mut added, 0.50), "ms").at_most(ADDED_P50_MS),
        Row::new("added_p99_ms", percentile(&mut added, 0.99), "ms").at_most(ADDED_P99_MS),
        Row::new("stubbed_not_completed", not_completed(&steady_run) as f64, "").at_most(0.0),
        Row::new("rps_ceiling", ceiling, "1/s"),
        Row::new("rss_mib", rss_mib, "MiB").at_most(250.0),
        Row::new("server_timing_gateway_p50_ms", percentile(&mut gateway, 0.50), "ms"),
        Row::new("server_timing_gateway_p99_ms", percentile(&mut gateway, 0.99), "ms"),
        Row::new("stubbed_call_p50_ms", percentile(&mut total, 0.50), "ms"),
        Row::new("stubbed_call_p99_ms", percentile(&mut total, 0.99), "ms"),
        Row::new("disk_sync_p50_ms", market.disk_sync_ms()?, "ms"),
    ];
    rows.extend(busy.rows());
    market.stop().await?;
    Ok(rows)
}

/// The highest rate that is kept: every call answered with its result, the time added at the 99th
/// percentile within its gate. A rate that fails is tried once more, since one pause of the machine's
/// other work is no limit of the gateway's.
async fn ceiling(load: &Load, step: Duration) -> f64 {
    let mut kept = 0.0;
    let mut rate = RATE;
    while rate < HIGHEST_RATE && (is_kept(load, rate, step).await || is_kept(load, rate, step).await) {
        kept = rate;
        rate = (rate * RATE_STEP).round();
    }
    kept
}

async fn is_kept(load: &Load, rate: f64, step: Duration) -> bool {
    let run = load.open_loop(rate, step).await;
    tell(rate, &run);
    not_completed(&run) == 0 && percentile(&mut run.added(), 0.99) <= ADDED_P99_MS
}

/// Calls that were refused or failed.
fn not_completed(run: &Run) -> usize {
    run.shots.len() - run.completed_ids().count()
}

fn tell(rate: f64, run: &Run) {
    let (mut added, calls) = (run.added(), run.shots.len());
    let [p50, p99] = [0.50, 0.99].map(|quantile| percentile(&mut added, quantile));
    let (refused, failed) = (run.refusals().len(), run.failures().len());
    eprintln!("{rate} calls/s: {calls} calls, added p50 {p50:.2} p99 {p99:.2} ms, {refused} refused, {failed} failed");
    if let Some(kind) = run.failures().first() {
        eprintln!("  the first failure: {kind}");
    }
}

/// As many calls as it can: what each of them costs, and of what.
struct Busy {
    run: Run,
    gateway: Duration,
    postgres: Duration,
    stubs_and_load: Duration,
    commits: i64,
    wal_syncs: Option<i64>,
    wal_bytes: Option<i64>,
    rpc_requests: u64,
}

impl Busy {
    async fn measure(market: &StubbedMarket, load: &Load, length: Duration) -> Result<Self> {
        let own = std::process::id();
        let gateways = || market.gateway_pids().into_iter().map(process::cpu).sum();
        let cpu = || -> [Duration; 3] { [gateways(), process::cpu_of_postgres_below(own), process::cpu(own)] };
        let (work, requests, before) = (market.server_work().await?, market.rpc_requests(), cpu());
        let run = load.closed_loop(BUSY_CALLERS, Duration::ZERO, length).await;
        let after = cpu();
        let worked = market.server_work().await?;
        let [gateway, postgres, stubs_and_load] = [0, 1, 2].map(|part| after[part].saturating_sub(before[part]));
        Ok(Self {
            run,
            gateway,
            postgres,
            stubs_and_load,
            commits: worked.commits - work.commits,
            wal_syncs: worked.wal_syncs.zip(work.wal_syncs).map(|(after, before)| after - before),
            wal_bytes: worked.wal_bytes.zip(work.wal_bytes).map(|(after, before)| after - before),
            rpc_requests: market.rpc_requests() - requests,
        })
    }

    /// Calls that completed.
    fn calls(&self) -> f64 {
        self.run.completed_ids().count().max(1) as f64
    }

    fn rows(&self) -> Vec<Row> {
        let calls = self.calls();
        let ms = |time: Duration| time.as_secs_f64() * 1_000.0 / calls;
        let mut rows = vec![
            Row::new("stubbed_calls_per_s_c64", self.run.completed_per_s(), "1/s"),
            Row::new("stubbed_p99_ms_c64", percentile(&mut self.run.latencies(), 0.99), "ms"),
            Row::new("stubbed_errors_c64", self.run.failures().len() as f64, "").at_most(0.0),
            Row::new("stubbed_refused_c64", self.run.refusals().len() as f64, ""),
            Row::new("cpu_gateway_ms_per_call", ms(self.gateway), "ms"),
            Row::new("cpu_postgres_ms_per_call", ms(self.postgres), "ms"),
            Row::new("cpu_stubs_and_load_ms_per_call", ms(self.stubs_and_load), "ms"),
            Row::new("database_commits_per_call", self.commits as f64 / calls, ""),
        ];
        rows.extend(self.wal_syncs.map(|syncs| Row::new("log_syncs_per_call", syncs as f64 / calls, "")));
        rows.push(Row::new("rpc_requests_per_call", self.rpc_requests as f64 / calls, ""));
        rows
    }
}
