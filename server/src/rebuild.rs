//! `crtx-server rebuild`: rebuilds the mirror from the chain, and shows how far it is.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Result;
use crtx_chain::{ChainClient, CommitmentConfig};
use crtx_mirror::{
    IndexerConfig,
    history::Past,
    rebuild::{Rebuild, RebuildStep},
    source::{EndpointUrls, Endpoints},
};
use crtx_store::PgPool;
use parking_lot::Mutex;

const TIMEOUT: Duration = Duration::from_secs(20);
/// Between two lines of progress.
const SHOW_EVERY: Duration = Duration::from_secs(2);

/// Runs to the end, with a line of progress every two seconds on standard error.
pub async fn run(config: &IndexerConfig, pool: &PgPool) -> Result<()> {
    let urls = EndpointUrls::pairs(&config.rpc_urls, &config.ws_url)?;
    let source = Endpoints::new(&urls, None, config.program_id, config.deadlines)?;
    let history = Past(ChainClient::of_urls(&config.rpc_urls, TIMEOUT), CommitmentConfig::finalized());
    let shown: Mutex<Option<(&'static str, Instant)>> = Mutex::default();
    let show = |step: RebuildStep| {
        let mut shown = shown.lock();
        if shown.is_none_or(|(doing, at)| doing != step.doing || at.elapsed() >= SHOW_EVERY) {
            *shown = Some((step.doing, Instant::now()));
            eprintln!("{}", line(step));
        }
    };
    let rebuild =
        Rebuild { source: &source, history: Arc::new(history), pool, program: config.program_id, show: &show };
    let done = rebuild.run().await?;
    eprintln!(
        "rebuilt: {} transactions, {} closed accounts, {} accounts that live",
        done.transactions, done.closings, done.accounts
    );
    Ok(())
}

/// `reading transactions: 1200 of 50000 (2 %), 410 a second, 119 s left`
fn line(step: RebuildStep) -> String {
    let mut text = format!("{}: {}", step.doing, step.done);
    if let Some(percent) = step.done.saturating_mul(100).checked_div(step.total) {
        text += &format!(" of {} ({percent} %)", step.total);
    }
    text += &format!(", {:.0} a second", step.rate());
    if let Some(left) = step.left() {
        text += &format!(", {} s left", left.as_secs());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_progress_has_the_rate_and_the_time_that_is_left() {
        let step = RebuildStep {
            doing: "reading transactions",
            done: 1_200,
            total: 50_000,
            elapsed: Duration::from_secs(2),
            since_start: 800,
        };
        assert_eq!(line(step), "reading transactions: 1200 of 50000 (2 %), 400 a second, 122 s left");
        let unknown = RebuildStep { total: 0, doing: "listing transactions", ..step };
        assert_eq!(line(unknown), "listing transactions: 1200, 400 a second");
    }
}
