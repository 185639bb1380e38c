//! The configured RPC nodes of a service: one URL or several, in order of preference.

use std::{fmt, str::FromStr};

use url::Url;

/// Maximum number of nodes.
pub const MAX_NODES: usize = 8;

/// One to eight URLs of nodes of the same network.
#[derive(Clone, PartialEq, Eq)]
pub struct RpcUrls(Vec<String>);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RpcUrlsError {
    #[error("the {0}. of the RPC nodes is not an http or https URL")]
    NotAUrl(usize),
    #[error("no RPC node is named")]
    Empty,
    #[error("more than {MAX_NODES} RPC nodes are named")]
    TooMany,
    #[error("an RPC node is named twice")]
    Repeated,
}

impl RpcUrls {
    /// The URL of the preferred node.
    pub fn first(&self) -> &str {
        self.0.first().map_or("", String::as_str)
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl FromStr for RpcUrls {
    type Err = RpcUrlsError;

    /// Parses URLs separated by commas.
    fn from_str(text: &str) -> Result<Self, RpcUrlsError> {
        let mut urls: Vec<String> = Vec::new();
        for (index, part) in text.split(',').map(str::trim).filter(|part| !part.is_empty()).enumerate() {
            let url = Url::parse(part).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
            if url.is_none() {
                return Err(RpcUrlsError::NotAUrl(index.saturating_add(1)));
            }
            if urls.iter().any(|known| known == part) {
                return Err(RpcUrlsError::Repeated);
            }
            urls.push(part.to_owned());
        }
        match urls.len() {
            0 => Err(RpcUrlsError::Empty),
            1..=MAX_NODES => Ok(Self(urls)),
            _ => Err(RpcUrlsError::TooMany),
        }
    }
}

impl fmt::Debug for RpcUrls {
    /// Prints hosts only, because paths and queries contain providers' keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|url| host(url))).finish()
    }
}

/// Host and port of a URL, for messages, logs and sign-ins. The default port of the scheme is left out.
pub fn host(url: &str) -> String {
    let url = Url::parse(url).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or("?");
    match url.as_ref().and_then(Url::port) {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_separated_by_commas_and_keep_their_order() {
        let urls: RpcUrls = "https://a.example/key, http://127.0.0.1:8899".parse().expect("URLs");
        assert_eq!(urls.first(), "https://a.example/key");
        assert_eq!(urls.iter().count(), 2);
    }

    #[test]
    fn an_invalid_list_of_nodes_is_refused() {
        assert_eq!("".parse::<RpcUrls>(), Err(RpcUrlsError::Empty));
        assert_eq!(" , ".parse::<RpcUrls>(), Err(RpcUrlsError::Empty));
        assert_eq!("https://a.example,ftp://b.example".parse::<RpcUrls>(), Err(RpcUrlsError::NotAUrl(2)));
        assert_eq!("https://a.example,https://a.example".parse::<RpcUrls>(), Err(RpcUrlsError::Repeated));
        let many: Vec<String> = (0..9).map(|n| format!("http://node-{n}")).collect();
        assert_eq!(many.join(",").parse::<RpcUrls>(), Err(RpcUrlsError::TooMany));
    }

    #[test]
    fn keys_in_urls_are_not_shown() {
        let urls: RpcUrls = "https://user:pass@a.example/secret?api-key=secret".parse().expect("a URL");
        assert_eq!(format!("{urls:?}"), r#"["a.example"]"#);
    }
}
