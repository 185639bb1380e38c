//! Errors of usage. The process prints them and exits with status 2, as the parser of the command line does.

use url::Url;

/// The command line or its environment variables are incomplete or contradictory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

impl UsageError {
    pub fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

/// Reads the base URL of an HTTP service.
pub fn http_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("not a URL: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err("not an http:// or https:// URL".to_owned());
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_urls_of_http_services_are_taken() {
        for good in ["http://127.0.0.1:8080", "https://example.com/base/"] {
            assert_eq!(
                http_url(good).map(|url| url.to_string()).ok().as_deref(),
                Some(Url::parse(good).unwrap().as_str())
            );
        }
        for bad in ["", "nonsense", "localhost:8080", "ftp://example.com", "file:///etc/passwd", "http://"] {
            assert!(http_url(bad).is_err(), "{bad}");
        }
    }
}
