//! The whole system: `crtx up` as users start it, one wallet, and callers that wait for their answers.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use anyhow::Result;
use crtx_e2e::{
    Up,
    bench::{Row, percentile},
    market::Market,
    process,
};

use super::{
    ledger::{Ledger, Moved},
    load::{Lane, Load, Reply, Run, milliseconds},
};

const CALLERS: [usize; 6] = [1, 8, 32, 64, 128, 256];
/// Calls that come at once, and the most that one may cost then.
const BURSTS: [(usize, Option<f64>); 6] = [
    (1, None),
    (4, Some(10_000.0)),
    (8, Some(10_000.0)),
    (20, Some(6_000.0)),
    (32, Some(10_000.0)),
    (64, Some(10_000.0)),
];
const WARM_UP: Duration = Duration::from_secs(1);
/// The number of callers whose processor time is looked at more closely.
const LOOKED_INTO: usize = 64;

pub async fn measure(length: Duration) -> Result<Vec<Row>> {
    let folder = crtx_e2e::folder();
    let mut up = Up::start(folder.path(), &[]).await?;
    let market = Market::new(up.info().clone());
    let info = up.info();
    let lane =
        Lane { base_url: info.base_url.clone(), agent: market.agent("text-stats"), api_key: info.api_key.clone() };
    let load = Load::new(vec![lane])?;
    load.closed_loop(1, Duration::ZERO, Duration::from_secs(1)).await;

    let mut steps = Vec::new();
    for callers in CALLERS {
        steps.push(Step::measure(&up, &market, &load, callers, length).await?);
    }
    let mut rows = rows(&steps);
    for (size, gate) in BURSTS {
        rows.push(fees_of_bursts(&market, &load, size, gate, length).await?);
    }
    up.stop().await?;
    Ok(rows)
}

/// The network fees of a call of one wallet that makes so many at once, as the chain took them from the gateway: the
/// median burst, because a busy machine splits one now and then.
async fn fees_of_bursts(market: &Market, load: &Load, size: usize, gate: Option<f64>, length: Duration) -> Result<Row> {
    let until = Instant::now() + length;
    let mut fees = Vec::new();
    while Instant::now() < until {
        let before = Ledger::settled(market).await?;
        let run = load.burst(size).await;
        let moved = Ledger::settled(market).await?.since(&before, &run, market.price("text-stats"))?;
        fees.push(moved.fee_per_call_lamports());
    }
    let (bursts, most) = (fees.len(), fees.iter().copied().fold(0.0, f64::max));
    let fee = percentile(&mut fees, 0.5);
    eprintln!("{bursts} bursts of {size}: {fee:.0} lamports for a call of the median one, {most:.0} of the dearest");
    let row = Row::new(format!("fee_lamports_per_call_burst{size}"), fee, "lamports");
    Ok(match gate {
        Some(gate) => row.at_most(gate),
        None => row,
    })
}

/// One number of callers.
struct Step {
    callers: usize,
    run: Run,
    moved: Moved,
    peak_memory_mib: f64,
    cpu: Spent,
}

impl Step {
    async fn measure(up: &Up, market: &Market, load: &Load, callers: usize, length: Duration) -> Result<Self> {
        let before = Ledger::settled(market).await?;
        process::forget_peak(up.pid())?;
        let cpu_before = Cpu::now(up.pid());
        let run = load.closed_loop(callers, WARM_UP, length).await;
        let cpu = cpu_before.until(Cpu::now(up.pid()));
        let peak_memory_mib = process::peak_memory_mib(up.pid())?;
        let moved = Ledger::settled(market).await?.since(&before, &run, market.price("text-stats"))?;
        let step = Self { callers, run, moved, peak_memory_mib, cpu };
        step.tell();
        Ok(step)
    }

    /// Prints what happened on stderr.
    fn tell(&self) {
        let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
        for kind in self.run.failures() {
            *kinds.entry(kind).or_default() += 1;
        }
        let (completed, refused) = (self.run.completed_per_s(), self.run.refusals().len());
        eprintln!("{} callers: {completed:.1} calls/s, {:?}, {refused} refused, {kinds:?}", self.callers, self.moved);
        let (cpu, others) = (self.cpu.per_call(self.moved.completed), self.cpu.others_percent());
        eprintln!("  processor time per call, ms: {cpu}; others took {others:.0} % of the machine");
    }

    fn rows(&self) -> Vec<Row> {
        let name = |figure: &str| format!("{figure}_c{}", self.callers);
        let mut latencies = self.run.latencies();
        let throughput = Row::new(name("calls_per_s"), self.run.completed_per_s(), "1/s");
        let p99 = Row::new(name("p99_ms"), percentile(&mut latencies, 0.99), "ms");
        vec![
            if self.callers >= 8 { throughput.at_least(120.0) } else { throughput },
            Row::new(name("p50_ms"), percentile(&mut latencies, 0.50), "ms"),
            if self.callers == 64 { p99.at_most(600.0) } else { p99 },
            Row::new(name("errors"), self.run.failures().len() as f64, "").at_most(0.0),
            Row::new(name("refused"), self.run.refusals().len() as f64, ""),
            Row::new(name("fee_lamports_per_call"), self.moved.fee_per_call_lamports(), "lamports"),
        ]
    }
}

fn rows(steps: &[Step]) -> Vec<Row> {
    let mut rows: Vec<Row> = steps.iter().flat_map(Step::rows).collect();
    let refused: Vec<_> = steps.iter().flat_map(|step| step.run.refusals()).collect();
    let hasty = refused.iter().filter(|shot| matches!(shot.reply, Reply::Refused { retry_after: None })).count();
    let mut refusal_ms: Vec<f64> = refused.iter().map(|shot| milliseconds(shot.latency)).collect();
    let refunded: usize = steps.iter().map(|step| step.moved.refunded).sum();
    let peak = steps.iter().map(|step| step.peak_memory_mib).fold(0.0, f64::max);
    rows.push(Row::new("refunded_good_results", refunded as f64, "").at_most(0.0));
    rows.push(Row::new("refused_without_retry_after", hasty as f64, "").at_most(0.0));
    rows.push(Row::new("refusal_p99_ms", percentile(&mut refusal_ms, 0.99), "ms"));
    rows.push(Row::new("up_rss_mib", peak, "MiB"));
    for step in steps.iter().filter(|step| step.callers == LOOKED_INTO) {
        rows.extend(step.cpu.rows(step.moved.completed, LOOKED_INTO));
    }
    rows
}

/// Processor time by part of the system.
#[derive(Clone, Copy, Debug)]
struct Cpu {
    network: Duration,
    services: Duration,
    postgres: Duration,
    load: Duration,
    machine: Duration,
    at: Instant,
}

impl Cpu {
    fn now(up: u32) -> Self {
        let network = process::cpu_of_threads(up, is_of_the_network);
        Self {
            network,
            services: process::cpu(up).saturating_sub(network),
            postgres: process::cpu_of_postgres_below(up),
            load: process::cpu(std::process::id()),
            machine: process::cpu_of_the_machine(),
            at: Instant::now(),
        }
    }

    fn until(self, after: Self) -> Spent {
        Spent {
            network: after.network.saturating_sub(self.network),
            services: after.services.saturating_sub(self.services),
            postgres: after.postgres.saturating_sub(self.postgres),
            load: after.load.saturating_sub(self.load),
            machine: after.machine.saturating_sub(self.machine),
            elapsed: after.at.saturating_duration_since(self.at),
        }
    }
}

/// Processor time spent between two moments.
#[derive(Clone, Copy, Debug)]
struct Spent {
    network: Duration,
    services: Duration,
    postgres: Duration,
    load: Duration,
    machine: Duration,
    elapsed: Duration,
}

impl Spent {
    fn parts(self) -> [(&'static str, Duration); 4] {
        [("network", self.network), ("services", self.services), ("postgres", self.postgres), ("load", self.load)]
    }

    fn per_call(self, calls: usize) -> String {
        self.parts().map(|(name, time)| format!("{name} {:.2}", milliseconds(time) / calls.max(1) as f64)).join(", ")
    }

    fn rows(self, calls: usize, callers: usize) -> Vec<Row> {
        let row = |(name, time): (&str, Duration)| {
            Row::new(format!("cpu_{name}_ms_per_call_c{callers}"), milliseconds(time) / calls.max(1) as f64, "ms")
        };
        let mut rows: Vec<Row> = self.parts().map(row).into();
        rows.push(Row::new("other_cpu_percent", self.others_percent(), "%"));
        rows
    }

    /// Share of the machine that went to what is not measured here.
    fn others_percent(self) -> f64 {
        let ours: Duration = self.parts().map(|(_, time)| time).into_iter().sum();
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let machine = self.elapsed.as_secs_f64() * cores as f64;
        self.machine.saturating_sub(ours).as_secs_f64() / machine * 100.0
    }
}

/// Threads of the embedded chain: Surfpool's runtime and RPC servers, and the maker of blocks.
fn is_of_the_network(thread: &str) -> bool {
    ["surfpool", "blocks", "jsonrpc", "http.worker", "ws.", "geyser"].iter().any(|name| thread.starts_with(name))
}
