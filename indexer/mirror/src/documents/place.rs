//! Where a document is read, as its URI says.

use crtx_http::outbound::{OutboundError, OutboundPolicy};
use crtx_protocol::{content::parse_ipfs_uri, result_hash::ResultHash};
use url::Url;

/// Fetches at once on one host.
const FETCHES_PER_HOST: usize = 4;
/// The same at places that the operator has chosen.
const FETCHES_OF_CONTENT: usize = 16;

/// Where a document is read next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The content store of this deployment; what it does not have is read at the content base URL.
    Store(ResultHash),
    /// The content base URL, which the operator has chosen.
    Base(ResultHash),
    /// A URL that the creator has chosen.
    Url(Url),
}

impl Place {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_to_write_a_host_are_one_host() {
        let host = |uri| Place::of(uri, OutboundPolicy::LOCAL).expect("allowed").host();
        let expected = "a.example:443";
        for uri in ["https://a.example/x", "https://A.Example:443/y?z", "https://a.example./", "https://%61.example/"] {
            assert_eq!(host(uri), expected, "{uri}");
        }
        assert_ne!(host("https://b.example/x"), expected);
    }
}
