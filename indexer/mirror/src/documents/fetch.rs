//! One fetch of a document: where it is read, its deadlines, and why it failed.

use std::time::Duration;

use crtx_content::{ContentReader, ContentSources, ReadError};
use crtx_download::{DownloadError, Pace, PacedError};
use crtx_http::outbound::{Outbound, OutboundError, OutboundPolicy};
use crtx_protocol::{
    metadata,
    result_hash::ResultHash,
    text::{printable, shortened},
};
use crtx_store::metadata::FailureKind;
use reqwest::Client;

use super::place::Place;

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
    Content(#[from] ReadError),
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
    Elsewhere(Place),
}

/// The ways to the places.
pub struct Ways {
    guarded: Client,
    content: ContentReader,
    /// The operator chose the base URL, so it is not guarded.
    base: Client,
}

impl Ways {
    pub fn new(policy: OutboundPolicy, sources: ContentSources) -> reqwest::Result<Self> {
        let base = Outbound::new(OutboundPolicy::LOCAL).client(PACE.whole)?;
        let guarded = Outbound::new(policy).client(PACE.whole)?;
        Ok(Self { guarded, content: ContentReader::new(sources, base.clone()), base })
    }

    /// The document's bytes, if their SHA-256 is `expected`.
    pub async fn fetch(&self, place: &Place, expected: [u8; 32]) -> Result<Fetched, FetchError> {
        let whole = tokio::time::timeout(PACE.whole, self.read(place));
        let bytes = match whole.await.map_err(|_| FetchError::Timeout)?? {
            Fetched::Document(bytes) => bytes,
            elsewhere @ Fetched::Elsewhere(_) => return Ok(elsewhere),
        };
        let (expected, actual) = (ResultHash(expected), ResultHash::of(&bytes));
        if expected == actual { Ok(Fetched::Document(bytes)) } else { Err(FetchError::Mismatch { expected, actual }) }
    }

    async fn read(&self, place: &Place) -> Result<Fetched, FetchError> {
        let (client, url) = match place {
            Place::Store(hash) => return self.stored(hash).await,
            Place::Base(hash) => (&self.base, self.content.url_of(hash).ok_or(FetchError::NotFound)?),
            Place::Url(url) => (&self.guarded, url.to_string()),
        };
        Ok(Fetched::Document(crtx_download::get_paced(client, &url, metadata::MAX_BYTES, PACE).await?))
    }

    async fn stored(&self, hash: &ResultHash) -> Result<Fetched, FetchError> {
        let stored = self.content.get_stored(hash, metadata::MAX_BYTES).await;
        match stored.inspect_err(|error| tracing::warn!(cause = %error, "the content store cannot be read"))? {
            Some(bytes) => Ok(Fetched::Document(bytes)),
            None if self.content.url_of(hash).is_some() => Ok(Fetched::Elsewhere(Place::Base(*hash))),
            None => Err(FetchError::NotFound),
        }
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
}
