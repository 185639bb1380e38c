//! Where clients reach this deployment: its public URL, and what follows from it.

use url::{Position, Url};

/// The session's cookie without TLS, and with it.
pub const SESSION_COOKIE: &str = "crtx_session";
pub const SECURE_SESSION_COOKIE: &str = "__Host-crtx_session";

/// The public address of a deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    url: String,
    origin: String,
    domain: String,
}

impl Site {
    /// `url`: the public URL, checked where it is configured.
    pub fn new(url: &str) -> Self {
        let url = url.trim_end_matches('/');
        let (origin, domain) = Url::parse(url).map_or_else(
            |_| (url.to_owned(), url.to_owned()),
            |url| (url.origin().ascii_serialization(), url[Position::BeforeHost..Position::AfterPort].to_owned()),
        );
        Self { url: url.to_owned(), origin, domain }
    }

    /// The public URL, without a slash at its end.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What a browser sends in `Origin`: scheme, host and port.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Host, and the port if it is not the default one. Wallets show it when someone signs in.
    pub fn domain(&self) -> &str {
        &self.domain
    }

    /// The name of the cookie that holds the token of a browser's session. With the prefix, browsers take it from this
    /// host over TLS alone, so no other host of the domain can set it.
    pub fn session_cookie(&self) -> &'static str {
        if self.is_secure() { SECURE_SESSION_COOKIE } else { SESSION_COOKIE }
    }

    /// Whether cookies must be sent over TLS alone.
    pub fn is_secure(&self) -> bool {
        self.origin.starts_with("https://")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origin_and_domain_are_those_that_browsers_use() {
        let parts = |url: &str| {
            let site = Site::new(url);
            (site.url().to_owned(), site.origin().to_owned(), site.domain().to_owned(), site.is_secure())
        };
        let text = |text: &str| text.to_owned();
        let local = text("http://127.0.0.1:8080");
        assert_eq!(parts("http://127.0.0.1:8080/"), (local.clone(), local, text("127.0.0.1:8080"), false));
        let expected = (text("https://API.example:443/v"), text("https://api.example"), text("api.example"), true);
        assert_eq!(parts("https://API.example:443/v"), expected);
        assert_eq!(Site::new("http://[::1]:80").domain(), "[::1]");
    }
}
