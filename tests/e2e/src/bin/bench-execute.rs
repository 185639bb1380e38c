//! Times paid calls on the local network and splits the time into gateway, creator and chain.
//! Prints one JSON object for `cargo xtask bench execute`.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_precision_loss,
    reason = "a measuring program may stop at the first surprise"
)]

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use crtx_e2e::{
    Up,
    market::{Answer, Market},
};
use serde_json::{Value, json};

const WARM_UP_CALLS: usize = 20;
const CALLS: usize = 300;

/// Milliseconds of one call, as the client saw it and as the service split it.
#[derive(Clone, Copy)]
struct Call {
    total: f64,
    gateway: f64,
    creator: f64,
    chain: f64,
}

#[tokio::main]
async fn main() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut up = Up::start(folder.path(), &[]).await?;
    let market = Market::new(up.info().clone());
    let first = call(&market).await?;
    for _ in 0..WARM_UP_CALLS {
        call(&market).await?;
    }
    let mut calls = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        calls.push(call(&market).await?);
    }
    let ready_ms = up.info().ready_ms as f64;
    up.stop().await?;

    let at = |part: fn(&Call) -> f64, quantile: f64| percentile(calls.iter().map(part).collect(), quantile);
    let results = [
        row("call_p50_ms", at(|c| c.total, 0.50), Some(150.0)),
        row("call_p95_ms", at(|c| c.total, 0.95), None),
        row("call_p99_ms", at(|c| c.total, 0.99), None),
        row("gateway_p50_ms", at(|c| c.gateway, 0.50), None),
        row("creator_p50_ms", at(|c| c.creator, 0.50), None),
        row("chain_p50_ms", at(|c| c.chain, 0.50), None),
        row("up_ready_ms", ready_ms, Some(10_000.0)),
        row("first_call_ms", first.total, Some(2_000.0)),
    ];
    println!("{}", json!({ "results": results }));
    Ok(())
}

/// One result in milliseconds, to the hundredth.
fn row(name: &str, value: f64, gate: Option<f64>) -> Value {
    let value = (value * 100.0).round() / 100.0;
    json!({"name": name, "value": value, "unit": "ms", "gate": gate})
}

async fn call(market: &Market) -> Result<Call> {
    let body = json!({"task": "How long does it take to read this? Not long."});
    let agent = market.agent("text-stats");
    let started = Instant::now();
    let answer = market.execute(&agent, &body).await;
    let total = started.elapsed().as_secs_f64() * 1_000.0;
    ensure!(answer.status == 200, "the call failed: {answer:?}");
    Ok(Call {
        total,
        gateway: timing(&answer, "gateway")?,
        creator: timing(&answer, "creator")?,
        chain: timing(&answer, "chain")?,
    })
}

/// Milliseconds of one entry of the `server-timing` header.
fn timing(answer: &Answer, name: &str) -> Result<f64> {
    let header = answer.headers.get("server-timing").context("the answer has no server-timing")?.to_str()?;
    let entry = header.split(',').find_map(|entry| entry.trim().strip_prefix(name)?.strip_prefix(";dur="));
    entry.with_context(|| format!("no `{name}` in {header}"))?.parse().with_context(|| format!("`{name}` in {header}"))
}

/// The value that `quantile` of all values do not exceed (nearest rank).
fn percentile(mut values: Vec<f64>, quantile: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let rank = (values.len() as f64 * quantile).ceil() as usize;
    values[rank.clamp(1, values.len()) - 1]
}
