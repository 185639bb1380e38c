//! Measures paid calls under load, twice: through all of `crtx up`, and through a gateway whose chain and
//! creator are stubs. Prints one JSON object for `cargo xtask bench gateway`, progress on stderr. With the argument
//! `scale` it measures several gateways over one database, for `cargo xtask bench scale`.
//!
//! `CRTX_BENCH_SECONDS` shortens or prolongs each step; 5 if not set.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a measuring program may stop at the first surprise"
)]

mod ledger;
mod load;
mod signatures;
mod stubbed;
mod whole;

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::json;

const DEFAULT_SECONDS: u64 = 5;
/// The rate that is gated is kept this many times longer than the other steps.
const STEADY_STEPS: u32 = 4;

#[tokio::main]
async fn main() -> Result<()> {
    let seconds = match std::env::var("CRTX_BENCH_SECONDS") {
        Ok(text) => text.parse().context("CRTX_BENCH_SECONDS is a whole number")?,
        Err(_) => DEFAULT_SECONDS,
    };
    let step = Duration::from_secs(seconds);
    let rows = if std::env::args().nth(1).is_some_and(|argument| argument == "scale") {
        stubbed::processes::measure(step * STEADY_STEPS).await?
    } else {
        let mut rows = stubbed::measure(step * STEADY_STEPS, step).await?;
        rows.extend(whole::measure(step).await?);
        rows.push(signatures::measure());
        rows
    };
    println!("{}", json!({ "results": rows }));
    Ok(())
}
