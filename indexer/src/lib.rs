//! The indexer: mirrors the program's accounts into PostgreSQL and serves the read API over the mirror.
//!
//! [`run`] keeps the mirror equal to the chain: it applies a stream of changes and regular snapshots, fetches metadata
//! documents, and audits. [`api::router`] answers from the database alone, so it can run in another process.
#![forbid(unsafe_code)]

pub mod api;
pub mod audit;
pub mod config;
pub mod documents;
pub mod source;
pub mod sync;

use std::{sync::Arc, time::Duration};

use crtx_chain::{ChainClient, Timeouts};
use crtx_store::PgPool;
use tokio_util::sync::CancellationToken;

pub use config::IndexerConfig;

use crate::{audit::Auditor, documents::Fetcher, source::RpcSource, sync::Syncer};

/// Only a snapshot of a million accounts takes long.
const TIMEOUTS: Timeouts = Timeouts { request: Duration::from_secs(10), snapshot: Duration::from_secs(120) };

#[derive(Debug, thiserror::Error)]
pub enum IndexerError {
    #[error(transparent)]
    Fetcher(#[from] documents::FetcherError),
}

/// Mirrors until shut down. Fails only at the start; later it waits for a lost node or database. The schema must be up
/// to date ([`crtx_store::migrate`]).
pub async fn run(config: IndexerConfig, pool: PgPool, shutdown: CancellationToken) -> Result<(), IndexerError> {
    let chain = ChainClient::with_timeouts(&config.rpc_urls, TIMEOUTS);
    let source = Arc::new(RpcSource::new(chain, &config.ws_url, config.program_id));
    let syncer = Arc::new(Syncer::new(Arc::clone(&source), pool.clone(), config.program_id, config.resync_interval));
    let fetcher = Fetcher::new(pool.clone(), config.outbound, config.content)?;
    let auditor = Auditor::new(source, pool, config.program_id);
    tokio::join!(
        Arc::clone(&syncer).run(shutdown.clone()),
        Arc::clone(&syncer).heartbeat(shutdown.clone()),
        fetcher.run(syncer, shutdown.clone()),
        auditor.run(config.audit_interval, shutdown),
    );
    Ok(())
}
