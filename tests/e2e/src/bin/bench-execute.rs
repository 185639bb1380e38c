//! Times paid calls on the local network and splits the time into gateway, creator and chain. Times the start and
//! the first call again where each sync of the disk takes 15 ms longer.
//! Prints one JSON object for `cargo xtask bench execute`.

#![allow(clippy::cast_precision_loss, reason = "a measuring program may stop at the first surprise")]

use std::time::Duration;

use anyhow::Result;
use crtx_e2e::{
    Up,
    bench::{Call, Row, percentile},
    market::Market,
    slow_disk::SlowDisk,
};
use serde_json::json;

const WARM_UP_CALLS: usize = 20;
const CALLS: usize = 300;
/// What each sync takes longer on the slow disk.
const SLOW_SYNC: Duration = Duration::from_millis(15);

#[tokio::main]
async fn main() -> Result<()> {
    let folder = crtx_e2e::folder();
    let mut up = Up::start(folder.path(), &[]).await?;
    let market = Market::new(up.info().clone());
    let first = Call::make(&market).await?;
    for _ in 0..WARM_UP_CALLS {
        Call::make(&market).await?;
    }
    let mut calls = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        calls.push(Call::make(&market).await?);
    }
    let ready_ms = up.info().ready_ms as f64;
    up.stop().await?;
    let (slow_ready_ms, slow_first_ms) = on_a_slow_disk().await?;

    let at =
        |part: fn(&Call) -> f64, quantile: f64| percentile(&mut calls.iter().map(part).collect::<Vec<_>>(), quantile);
    let results = [
        Row::new("call_p50_ms", at(|c| c.total, 0.50), "ms").at_most(150.0),
        Row::new("call_p95_ms", at(|c| c.total, 0.95), "ms"),
        Row::new("call_p99_ms", at(|c| c.total, 0.99), "ms"),
        Row::new("gateway_p50_ms", at(|c| c.parts.gateway, 0.50), "ms"),
        Row::new("creator_p50_ms", at(|c| c.parts.creator, 0.50), "ms"),
        Row::new("chain_p50_ms", at(|c| c.parts.chain, 0.50), "ms"),
        Row::new("up_ready_ms", ready_ms, "ms").at_most(10_000.0),
        Row::new("first_call_ms", first.total, "ms").at_most(2_000.0),
        Row::new("up_ready_slow_disk_ms", slow_ready_ms, "ms").at_most(3_000.0),
        Row::new("first_call_slow_disk_ms", slow_first_ms, "ms").at_most(2_000.0),
    ];
    println!("{}", json!({ "results": results }));
    Ok(())
}

/// Milliseconds of `crtx up --fresh` and of the first call, on a disk that is slow to sync.
async fn on_a_slow_disk() -> Result<(f64, f64)> {
    let folder = crtx_e2e::folder();
    let disk = SlowDisk::build(folder.path(), SLOW_SYNC)?;
    let mut up = Up::start_on(&disk, &folder.path().join("data"), &["--fresh"]).await?;
    let first = Call::make(&Market::new(up.info().clone())).await?;
    let ready_ms = up.info().ready_ms as f64;
    up.stop().await?;
    Ok((ready_ms, first.total))
}
