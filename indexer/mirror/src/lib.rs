//! The mirror of the program's accounts in PostgreSQL.
//!
//! [`run`] keeps the mirror equal to the chain: it applies a stream of changes and regular snapshots, fetches metadata
//! documents, and audits. The read API (`crtx-api`) answers from the database alone, so it can run in another process.
#![forbid(unsafe_code)]

pub mod closings;
pub mod config;
pub mod documents;
pub mod figures;
pub mod history;
mod pauses;
pub mod proof;
pub mod rebuild;
mod rounds;
mod snapshots;
pub mod source;
pub mod sync;

use std::{sync::Arc, time::Duration};

use crtx_chain::{ChainClient, CommitmentConfig};
use crtx_content::ContentStore;
use crtx_store::PgPool;
use tokio_util::sync::CancellationToken;

pub use config::IndexerConfig;

use crate::{
    closings::search::Closer,
    documents::Fetcher,
    figures::Figures,
    history::{History, Past},
    proof::Auditor,
    source::{EndpointUrls, Endpoints},
    sync::Syncer,
};

/// Of reads of past transactions.
const TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
pub enum IndexerError {
    #[error("documents cannot be fetched: {0}")]
    Documents(#[from] std::io::Error),
    #[error(transparent)]
    Source(#[from] source::SourceError),
}

/// Mirrors until shut down. Fails only at the start; later it waits for a lost node or database. The schema must be up
/// to date ([`crtx_store::migrate`]).
pub async fn run(
    config: IndexerConfig,
    pool: PgPool,
    figures: Arc<Figures>,
    shutdown: CancellationToken,
) -> Result<(), IndexerError> {
    let client = ChainClient::of_urls(&config.rpc_urls, TIMEOUT);
    let history: Arc<dyn History> = Arc::new(Past(client.clone(), CommitmentConfig::finalized()));
    let urls = EndpointUrls::pairs(&config.rpc_urls, &config.ws_url)?;
    let yellowstone = config.yellowstone.as_ref();
    let source = Endpoints::new(&urls, yellowstone, config.program_id, config.deadlines)?;
    let source = Arc::new(source);
    let confirmed = Some(Arc::new(Past(client, CommitmentConfig::confirmed())) as Arc<dyn History>);
    let (reader, counted) = (Arc::clone(&source), Arc::clone(&figures));
    let syncer = Syncer::new(reader, pool.clone(), config.program_id, config.sync, confirmed, counted);
    let syncer = Arc::new(syncer);
    let leads = || syncer.leads();
    let content = config.content.store.as_ref().map(ContentStore::open);
    let fetcher = Fetcher::new(pool.clone(), config.outbound, config.content)?;
    let closer = Closer::new(Arc::clone(&history), pool.clone(), config.program_id);
    let mut auditor = Auditor::new(source, pool.clone(), config.program_id);
    (auditor.history, auditor.content, auditor.figures) = (Some(history), content, figures);
    let rounds = rounds::run(pool, config.events_kept);
    let others = async { tokio::join!(closer.run(leads), auditor.run(config.audit_interval, leads), rounds) };
    tokio::join!(
        Arc::clone(&syncer).run(shutdown.clone()),
        Arc::clone(&syncer).heartbeat(shutdown.clone()),
        fetcher.follow(&syncer.listings_changed, &shutdown),
        shutdown.run_until_cancelled(others),
    );
    Ok(())
}
