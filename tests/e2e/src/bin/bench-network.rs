//! Times paid calls and single confirmations on Agave's validator, which `CRTX_VALIDATOR` names.
//! Prints one JSON object for `cargo xtask bench network`, progress on stderr.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_precision_loss,
    reason = "a measuring program may stop at the first surprise"
)]

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use crtx_chain::system;
use crtx_e2e::{
    Up,
    bench::{Call, Row, milliseconds_since, percentile},
    chain::Chain,
    market::Market,
};
use futures::future::try_join_all;
use serde_json::json;
use solana_signer::Signer;

/// Calls and confirmations that are timed, one after the other.
const CALLS: usize = 60;
const CALLERS: [usize; 4] = [1, 4, 16, 64];
/// How long each number of callers calls.
const STEP: Duration = Duration::from_secs(20);

#[tokio::main]
async fn main() -> Result<()> {
    ensure!(std::env::var_os("CRTX_VALIDATOR").is_some(), "CRTX_VALIDATOR names no validator");
    let folder = crtx_e2e::folder();
    let mut up = Up::start(folder.path(), &[]).await?;
    let ready_ms = up.info().ready_ms as f64;
    let market = Market::new(up.info().clone());
    let chain = Chain::of(&market, folder.path());
    let (mut calls, mut confirmations) = (Vec::new(), Vec::new());
    Call::make(&market).await?;
    // In turns, so that both see the same network.
    for number in 0..CALLS {
        let payer = chain.admin.pubkey();
        let started = Instant::now();
        chain.send(system::transfer(&payer, &chain.creator.pubkey(), 1 + number as u64), &[]).await;
        confirmations.push(milliseconds_since(started));
        calls.push(Call::make(&market).await?);
    }
    let mut rows = vec![
        Row::new("network_up_ready_ms", ready_ms, "ms"),
        Row::new("network_confirmation_p50_ms", percentile(&mut confirmations, 0.50), "ms"),
        Row::new("network_confirmation_p99_ms", percentile(&mut confirmations, 0.99), "ms"),
    ];
    let at =
        |part: fn(&Call) -> f64, quantile: f64| percentile(&mut calls.iter().map(part).collect::<Vec<_>>(), quantile);
    rows.extend([
        Row::new("network_call_p50_ms", at(|c| c.total, 0.50), "ms"),
        Row::new("network_call_p99_ms", at(|c| c.total, 0.99), "ms"),
        Row::new("network_gateway_p50_ms", at(|c| c.parts.gateway, 0.50), "ms"),
        Row::new("network_creator_p50_ms", at(|c| c.parts.creator, 0.50), "ms"),
        Row::new("network_chain_p50_ms", at(|c| c.parts.chain, 0.50), "ms"),
    ]);
    let two = 2.0 * percentile(&mut confirmations, 0.50);
    rows.push(Row::new("network_call_by_two_confirmations", at(|c| c.total, 0.50) / two, "").at_most(1.15));
    for callers in CALLERS {
        rows.push(Row::new(format!("network_calls_per_s_c{callers}"), throughput(&market, callers).await?, "1/s"));
        eprintln!("{:?}", rows.last());
    }
    up.stop().await?;
    println!("{}", json!({ "results": rows }));
    Ok(())
}

/// Calls per second of so many callers, each of whom calls again as soon as it has its answer.
async fn throughput(market: &Market, callers: usize) -> Result<f64> {
    let started = Instant::now();
    let caller = async |_| -> Result<usize> {
        let mut done = 0;
        while started.elapsed() < STEP {
            Call::make(market).await?;
            done += 1;
        }
        Ok(done)
    };
    let done: usize = try_join_all((0..callers).map(caller)).await?.into_iter().sum();
    Ok(done as f64 / started.elapsed().as_secs_f64())
}
