//! One fetch of a document: where it is read, its deadlines, and why it failed.

use std::time::Duration;

use crtx_content::{ContentError, ContentSources, ContentStore};
use crtx_download::{DownloadError, Pace, PacedError};
use crtx_http::outbound::{Outbound, OutboundError, OutboundPolicy};
use crtx_protocol::{
    content::{content_url, parse_ipfs_uri},
    metadata,
    result_hash::ResultHash,
    text::{printable, shortened},
};
use crtx_store::metadata::FailureKind;
use reqwest::Client;
use url::Url;

/// A fetch ends after `whole`, whatever arrives. A server that sends less than the rate is left earlier: a document
/// that arrives at this rate is there in time, if it has the usual few KiB.
pub const PACE: Pace = Pace {
    first_byte: Duration::from_secs(3),
    whole: Duration::from_secs(5),
    grace: Duration::from_secs(1),
    bytes_per_second: 8 * 1024,
};
/// Longest reason that is stored and shown.
const MAX_REASON_CHARS: usize = 300;

/// Fetches at once on one host.
const FETCHES_PER_HOST: usize = 4;
/// The same at places that the operator has chosen.
const FETCHES_OF_CONTENT: usize = 16;

/// Where a document is read next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DocumentSource {
    /// The content store of this deployment; what it does not have is read at the content base URL.
    Store(ResultHash),
    /// The content base URL, which the operator has chosen.
    Base(ResultHash),
    /// A URL that the creator has chosen.
    Url(Url),
}

impl DocumentSource {
    pub fn of(uri: &str, policy: OutboundPolicy) -> Result<Self, OutboundError> {
        match parse_ipfs_uri(uri) {
            Ok(hash) => Ok(Self::Store(hash)),
            Err(_) => policy.check_url(uri).map(Self::Url),
        }
    }

    /// Whom a fetch asks: places with the same host share one limit. A named host has its port.
    pub fn host(&self) -> String {
        match self {
            Self::Store(_) => "store".to_owned(),
            Self::Base(_) => "base".to_owned(),
            Self::Url(url) => {
                let port = url.port_or_known_default().unwrap_or(0);
                format!("{}:{port}", url.host_str().unwrap_or_default().trim_end_matches('.'))
            }
        }
    }

    pub const fn fetches_at_once(&self) -> usize {
        match self {
            Self::Store(_) | Self::Base(_) => FETCHES_OF_CONTENT,
            Self::Url(_) => FETCHES_PER_HOST,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error("its URI is neither ipfs:// with a raw sha2-256 CID nor an allowed URL: {0}")]
    Uri(#[from] OutboundError),
    #[error("no configured content source has it")]
    NotFound,
    #[error("{}", of_download(.0))]
    Download(#[from] PacedError),
    #[error("no answer in time")]
    Timeout,
    #[error("its SHA-256 is {actual}, the listing says {expected}")]
    Mismatch { expected: ResultHash, actual: ResultHash },
    #[error("{0}")]
    Invalid(String),
    /// The cause is the operator's, and goes to the log.
    #[error("the content store cannot be read")]
    Content(#[from] ContentError),
}

impl FetchError {
    pub const fn kind(&self) -> FailureKind {
        match self {
            Self::Mismatch { .. } => FailureKind::Mismatch,
            Self::Invalid(_) | Self::Download(PacedError::Download(DownloadError::TooLarge { .. })) => {
                FailureKind::Invalid
            }
            Self::Uri(_) | Self::NotFound | Self::Download(_) | Self::Timeout | Self::Content(_) => {
                FailureKind::Unavailable
            }
        }
    }

    /// For the creator: hosts and documents write parts of it, so it is short and has no control characters.
    pub fn reason(&self) -> String {
        shortened(&printable(&self.to_string()), MAX_REASON_CHARS)
    }
}

/// What went wrong at the bottom, without the URL, which the creator knows.
fn of_download(error: &PacedError) -> String {
    let PacedError::Download(DownloadError::Request(request)) = error else { return error.to_string() };
    if request.is_timeout() {
        return "no answer in time".to_owned();
    }
    let what = if request.is_connect() { "no connection" } else { "no complete answer" };
    format!("{what}: {}", crtx_download::root_cause(request))
}

/// What a fetch found.
pub enum Fetched {
    Document(Vec<u8>),
    /// Not here; to be read there.
    Elsewhere(DocumentSource),
}

/// The ways to the places.
pub struct Ways {
    guarded: Client,
    store: Option<ContentStore>,
    base_url: Option<String>,
    /// The operator chose the base URL, so it is not guarded.
    base: Client,
}

impl Ways {
    pub fn new(policy: OutboundPolicy, sources: ContentSources) -> reqwest::Result<Self> {
        let base = Outbound::new(OutboundPolicy::LOCAL).client(PACE.whole)?;
        let guarded = Outbound::new(policy).client(PACE.whole)?;
        let store = sources.store.as_ref().map(ContentStore::open);
        Ok(Self { guarded, store, base_url: sources.base_url, base })
    }

    /// The document's bytes, if their SHA-256 is `expected`.
    pub async fn fetch(&self, source: &DocumentSource, expected: [u8; 32]) -> Result<Fetched, FetchError> {
        let whole = tokio::time::timeout(PACE.whole, self.read(source));
        let bytes = match whole.await.map_err(|_| FetchError::Timeout)?? {
            Fetched::Document(bytes) => bytes,
            elsewhere @ Fetched::Elsewhere(_) => return Ok(elsewhere),
        };
        let (expected, actual) = (ResultHash(expected), ResultHash::of(&bytes));
        if expected == actual { Ok(Fetched::Document(bytes)) } else { Err(FetchError::Mismatch { expected, actual }) }
    }

    async fn read(&self, source: &DocumentSource) -> Result<Fetched, FetchError> {
        let (client, url) = match source {
            DocumentSource::Store(hash) => return self.stored(hash).await,
            DocumentSource::Base(hash) => (&self.base, self.url_of(hash).ok_or(FetchError::NotFound)?),
            DocumentSource::Url(url) => (&self.guarded, url.to_string()),
        };
        Ok(Fetched::Document(crtx_download::get_paced(client, &url, metadata::MAX_BYTES, PACE).await?))
    }

    async fn stored(&self, hash: &ResultHash) -> Result<Fetched, FetchError> {
        let stored = match &self.store {
            Some(store) => store.get_up_to(hash, metadata::MAX_BYTES).await,
            None => Ok(None),
        };
        match stored.inspect_err(|error| tracing::warn!(cause = %error, "the content store cannot be read"))? {
            Some(bytes) => Ok(Fetched::Document(bytes.into())),
            None if self.url_of(hash).is_some() => Ok(Fetched::Elsewhere(DocumentSource::Base(*hash))),
            None => Err(FetchError::NotFound),
        }
    }

    /// Where content is that the store does not have.
    fn url_of(&self, hash: &ResultHash) -> Option<String> {
        self.base_url.as_ref().map(|base| content_url(base, hash))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_short_and_has_no_control_characters() {
        let reason = FetchError::Invalid(format!("`a\u{1b}[31m\n{}`", "x".repeat(10_000))).reason();
        assert!(reason.chars().count() <= MAX_REASON_CHARS + 1, "{reason}");
        assert!(!reason.chars().any(char::is_control), "{reason:?}");
    }

    #[test]
    fn ways_to_write_a_host_are_one_host() {
        let host = |uri| DocumentSource::of(uri, OutboundPolicy::LOCAL).expect("allowed").host();
        let expected = "a.example:443";
        for uri in ["https://a.example/x", "https://A.Example:443/y?z", "https://a.example./", "https://%61.example/"] {
            assert_eq!(host(uri), expected, "{uri}");
        }
        assert_ne!(host("https://b.example/x"), expected);
    }
}
