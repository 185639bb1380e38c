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

    /// The parser of the command line explains itself on several lines. The first part says what is wrong.
    pub fn of_parser(text: &str) -> Self {
        let what = text.split("\n\nUsage:").next().unwrap_or(text);
        let what = what.split("\n\nFor more information").next().unwrap_or(what);
        let words: Vec<&str> = what.trim_start_matches("error: ").split_whitespace().collect();
        Self(format!("{}; `--help` explains the command", words.join(" ")))
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
    fn what_the_parser_says_becomes_one_sentence() {
        let text = "error: the following required arguments were not provided:\n  --task <TEXT>\n\nUsage: crtx execute \
                    --task <TEXT> <AGENT_ID>\n\nFor more information, try '--help'.\n";
        let expected =
            "the following required arguments were not provided: --task <TEXT>; `--help` explains the command";
        assert_eq!(UsageError::of_parser(text).0, expected);
    }

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
