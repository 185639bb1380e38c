//! What the benchmark programs share: the rows they print, and how samples become figures.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use reqwest::header::HeaderMap;
use serde::Serialize;
use serde_json::json;

use crate::market::Market;

/// One result, as `cargo xtask bench` reads it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    pub name: String,
    pub value: f64,
    pub unit: &'static str,
    pub gate: Option<f64>,
    /// The gate is the least that is wanted, not the most that is allowed.
    pub at_least: bool,
}

impl Row {
    /// A figure without a gate, kept to the hundredth.
    pub fn new(name: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self { name: name.into(), value: (value * 100.0).round() / 100.0, unit, gate: None, at_least: false }
    }

    #[must_use]
    pub fn at_most(self, gate: f64) -> Self {
        Self { gate: Some(gate), at_least: false, ..self }
    }

    #[must_use]
    pub fn at_least(self, gate: f64) -> Self {
        Self { gate: Some(gate), at_least: true, ..self }
    }
}

/// Where the time of one call went, in milliseconds, as the service says in its `server-timing` header.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Timing {
    pub gateway: f64,
    pub creator: f64,
    pub chain: f64,
}

impl Timing {
    /// `None` if the header or one of its three entries is missing.
    pub fn read(headers: &HeaderMap) -> Option<Self> {
        let header = headers.get("server-timing")?.to_str().ok()?;
        let entry = |name: &str| {
            let found = header.split(',').find_map(|entry| entry.trim().strip_prefix(name)?.strip_prefix(";dur="));
            found?.parse().ok()
        };
        Some(Self { gateway: entry("gateway")?, creator: entry("creator")?, chain: entry("chain")? })
    }
}

/// Milliseconds of one call of `text-stats`, as the client saw it and as the service split it.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub total: f64,
    pub parts: Timing,
}

impl Call {
    pub async fn make(market: &Market) -> Result<Self> {
        let body = json!({"task": "How long does it take to read this? Not long."});
        let agent = market.agent("text-stats");
        let started = Instant::now();
        let answer = market.execute(&agent, &body).await;
        let total = milliseconds_since(started);
        ensure!(answer.status == 200, "the call failed: {answer:?}");
        let parts = Timing::read(&answer.headers).with_context(|| format!("no server-timing: {answer:?}"))?;
        Ok(Self { total, parts })
    }
}

pub fn milliseconds_since(started: Instant) -> f64 {
    started.elapsed().as_secs_f64() * 1_000.0
}

/// The value that `quantile` of all values do not exceed (nearest rank). 0 if there are none.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "samples are few and not negative"
)]
pub fn percentile(values: &mut [f64], quantile: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let rank = (values.len() as f64 * quantile).ceil() as usize;
    values.get(rank.max(1) - 1).or(values.last()).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_nearest_rank() {
        let mut values = [4.0, 1.0, 3.0, 2.0];
        let ranks = [0.0, 0.25, 0.26, 0.5, 0.99, 1.0].map(|quantile| percentile(&mut values, quantile));
        assert_eq!(ranks, [1.0, 1.0, 2.0, 2.0, 4.0, 4.0]);
        assert_eq!(percentile(&mut [], 0.5), 0.0);
    }

    #[test]
    fn the_timing_header_is_read_whole_or_not_at_all() {
        let read = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert("server-timing", text.parse().expect("a header"));
            Timing::read(&headers)
        };
        let timing = Timing { gateway: 1.5, creator: 2.0, chain: 3.25 };
        assert_eq!(read("gateway;dur=1.500, creator;dur=2.000, chain;dur=3.250"), Some(timing));
        assert_eq!(read("gateway;dur=1.500, chain;dur=3.250"), None);
    }
}
