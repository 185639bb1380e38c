//! Fetches the metadata documents of listings. A document is accepted only if its SHA-256 is the one on chain and its
//! form is valid. Otherwise the reason is stored and the fetch repeated later, at growing intervals.

use std::{sync::Arc, time::Duration};

use crtx_content::{ContentReader, ContentSources, ReadError};
use crtx_download::DownloadError;
use crtx_http::{
    offload::{Offload, OffloadConfig},
    outbound::{Outbound, OutboundError, OutboundPolicy},
};
use crtx_protocol::{
    content::parse_ipfs_uri,
    metadata::{self, Metadata, MetadataError},
    result_hash::ResultHash,
};
use crtx_schema::{Schema, limits};
use crtx_store::{
    PgPool, StoreError,
    metadata::{self as store, Wanted},
};
use futures::StreamExt;
use reqwest::Client;
use serde_json::Value;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::{source::AccountSource, sync::Syncer};

/// Bounds one fetch, from connecting to the last byte.
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);
const CONCURRENT_FETCHES: usize = 8;
const WANTED_PER_ROUND: u32 = 200;
/// Between looks for due retries. Documents of new listings are fetched at once.
const ROUND_INTERVAL: Duration = Duration::from_secs(2);
const FIRST_RETRY: Duration = Duration::from_secs(2);
const LAST_RETRY: Duration = Duration::from_secs(3_600);
/// Documents are not trusted, so they are parsed and their schemas compiled on a thread of their own.
const READING: OffloadConfig =
    OffloadConfig { threads: 1, places: CONCURRENT_FETCHES, stack_bytes: limits::STACK_BYTES };

#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error("the metadata URI is neither ipfs:// with a raw sha2-256 CID nor an allowed URL: {0}")]
    Uri(OutboundError),
    #[error("no configured content source has the document")]
    NotFound,
    #[error(transparent)]
    Download(#[from] DownloadError),
    #[error("no answer in time")]
    Timeout,
    #[error("the document's SHA-256 is {actual}, the listing says {expected}")]
    Mismatch { expected: ResultHash, actual: ResultHash },
    #[error(transparent)]
    Invalid(#[from] MetadataError),
    #[error(transparent)]
    Content(#[from] ReadError),
}

/// Why the fetcher cannot start.
#[derive(Debug, thiserror::Error)]
pub enum FetcherError {
    #[error("the HTTP client cannot be set up: {0}")]
    Client(#[from] reqwest::Error),
    #[error("no thread to read documents: {0}")]
    Threads(#[from] std::io::Error),
}

/// Fetches documents for the listings of one database.
pub struct Fetcher {
    pool: PgPool,
    policy: OutboundPolicy,
    reading: Offload,
    guarded: Client,
    content: ContentReader,
}

impl Fetcher {
    pub fn new(pool: PgPool, policy: OutboundPolicy, sources: ContentSources) -> Result<Self, FetcherError> {
        Ok(Self {
            pool,
            policy,
            reading: Offload::start("documents", READING)?,
            guarded: Outbound::new(policy).client(FETCH_TIMEOUT)?,
            // The operator chose the base URL, so it is not guarded.
            content: ContentReader::new(sources, OutboundPolicy::LOCAL.client(FETCH_TIMEOUT)?),
        })
    }

    /// Fetches documents when listings change and in regular intervals, until shut down.
    pub async fn run<S: AccountSource>(self, syncer: Arc<Syncer<S>>, shutdown: CancellationToken) {
        loop {
            tokio::select! {
                () = shutdown.cancelled() => return,
                () = syncer.listings_changed.notified() => {}
                () = tokio::time::sleep(ROUND_INTERVAL) => {}
            }
            tokio::select! {
                () = shutdown.cancelled() => return,
                round = self.round() => if let Err(error) = round {
                    tracing::warn!(cause = %error, "metadata documents could not be fetched");
                },
            }
        }
    }

    /// Fetches all due documents. Returns how many were stored.
    pub async fn round(&self) -> Result<usize, StoreError> {
        let wanted = store::wanted(&self.pool, WANTED_PER_ROUND).await?;
        let results: Vec<Result<bool, StoreError>> = futures::stream::iter(wanted)
            .map(async |wanted| self.fetch_and_store(&wanted).await)
            .buffer_unordered(CONCURRENT_FETCHES)
            .collect()
            .await;
        let stored: Vec<bool> = results.into_iter().collect::<Result<_, _>>()?;
        Ok(stored.into_iter().filter(|stored| *stored).count())
    }

    /// Fetches and stores one document. True if it was stored.
    async fn fetch_and_store(&self, wanted: &Wanted) -> Result<bool, StoreError> {
        let problem = match self.fetch_checked(wanted).await {
            Ok(bytes) => match self.keep(wanted, bytes).await {
                Ok(()) => return Ok(true),
                Err(problem) => problem,
            },
            Err(error) => error.to_string(),
        };
        let agent = wanted.agent;
        tracing::warn!(%agent, uri = wanted.uri, problem, "a listing's metadata document cannot be shown");
        store::store_failure(&self.pool, wanted, &problem, retry_in(wanted.attempts)).await?;
        Ok(false)
    }

    /// The document's bytes, if their SHA-256 is the one on chain.
    async fn fetch_checked(&self, wanted: &Wanted) -> Result<Vec<u8>, FetchError> {
        let bytes = timeout(FETCH_TIMEOUT, self.fetch(&wanted.uri)).await.map_err(|_| FetchError::Timeout)??;
        let (expected, actual) = (ResultHash(wanted.sha256), ResultHash::of(&bytes));
        if expected == actual { Ok(bytes) } else { Err(FetchError::Mismatch { expected, actual }) }
    }

    async fn keep(&self, wanted: &Wanted, bytes: Vec<u8>) -> Result<(), String> {
        let policy = self.policy;
        let read = self.reading.run(move || read_document(&bytes, policy)).await;
        let (document, metadata) = read.map_err(|error| format!("the document could not be read: {error}"))??;
        store::store_document(&self.pool, wanted, &document, &metadata).await.map_err(|error| error.to_string())
    }

    async fn fetch(&self, uri: &str) -> Result<Vec<u8>, FetchError> {
        if let Ok(hash) = parse_ipfs_uri(uri) {
            return self.content.get(&hash, metadata::MAX_BYTES).await?.ok_or(FetchError::NotFound);
        }
        let url = self.policy.check_url(uri).map_err(FetchError::Uri)?;
        Ok(crtx_download::get(&self.guarded, url.as_str(), metadata::MAX_BYTES).await?)
    }
}

/// Parses a document, and checks that calls with it are possible: a listing that cannot be called is not shown.
fn read_document(bytes: &[u8], policy: OutboundPolicy) -> Result<(Value, Metadata), String> {
    let metadata = Metadata::parse(bytes).map_err(|error| error.to_string())?;
    policy.check_url(&metadata.endpoint).map_err(|error| format!("`endpoint` is not allowed: {error}"))?;
    Schema::compile(&metadata.input_schema).map_err(|error| format!("`input_schema` is not accepted: {error}"))?;
    let document = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    Ok((document, metadata))
}

/// 2 s, 4 s, 8 s … up to an hour.
fn retry_in(attempts: u32) -> Duration {
    FIRST_RETRY.saturating_mul(2u32.saturating_pow(attempts.min(20))).min(LAST_RETRY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_become_rarer_and_never_stop() {
        assert_eq!(retry_in(0), Duration::from_secs(2));
        assert_eq!(retry_in(3), Duration::from_secs(16));
        assert_eq!(retry_in(u32::MAX), LAST_RETRY);
    }
}
