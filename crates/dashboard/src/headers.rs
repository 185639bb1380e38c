//! What the answers tell a browser about the dashboard's pages: what they may load, and who may frame them.

use axum::http::{HeaderName, HeaderValue, header};
use url::Url;

const PERMISSIONS: HeaderName = HeaderName::from_static("permissions-policy");
const OPENER: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// The policies of the pages. Nothing inline, no `eval`, no frames. Pictures in `data:` are the icons of wallets.
#[derive(Clone, Debug)]
pub struct PagePolicies {
    /// Of a page that reads its own service and the node alone.
    pub page: HeaderValue,
    /// Of the proof of an execution, whose reader chooses node and gateway: every host that shows who it is, and those on
    /// the reader's own machine. What a page may run does not change.
    pub proof: HeaderValue,
}

impl PagePolicies {
    /// `rpc_url`: the node that the pages read the chain from; its WebSocket counts, too: at the next port where the URL
    /// names a port, as Solana's tools do.
    pub fn new(rpc_url: Option<&str>) -> Self {
        let node = rpc_url.and_then(|url| Url::parse(url).ok()).filter(|url| matches!(url.scheme(), "http" | "https"));
        let node =
            node.map(|url| format!(" {} {}", url.origin().ascii_serialization(), socket(url))).unwrap_or_default();
        let proof = content_security_policy(&format!("{node} https: http://127.0.0.1:* http://localhost:*"));
        Self { page: content_security_policy(&node), proof }
    }

    /// The policy of the page at this path.
    pub fn at(&self, path: &str) -> &HeaderValue {
        if path.starts_with("/proof/") { &self.proof } else { &self.page }
    }
}

/// `hosts`: what a page may connect to besides its own service.
fn content_security_policy(hosts: &str) -> HeaderValue {
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
         connect-src 'self'{hosts}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
}

/// The origin of a node's WebSocket.
fn socket(mut url: Url) -> String {
    if let Some(port) = url.port() {
        // Fails only for URLs without a host, which no http URL is.
        let _ = url.set_port(port.checked_add(1));
    }
    url.origin().ascii_serialization().replacen("http", "ws", 1)
}

/// What every answer has, in addition to the policy.
pub const FIXED: [(HeaderName, HeaderValue); 5] = [
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (OPENER, HeaderValue::from_static("same-origin")),
    (RESOURCE, HeaderValue::from_static("same-origin")),
    (
        PERMISSIONS,
        HeaderValue::from_static("camera=(), geolocation=(), microphone=(), midi=(), payment=(), serial=(), usb=()"),
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_reaches_its_own_origin_and_the_node_alone() {
        let text = |policy: &HeaderValue| policy.to_str().map(str::to_owned).unwrap_or_default();
        let policy = |url| text(&PagePolicies::new(url).page);
        assert!(policy(None).contains("connect-src 'self';") && policy(None).contains("font-src 'self';"));
        let node = policy(Some("https://rpc.example:8899/key?x=1; script-src *"));
        assert!(node.contains("connect-src 'self' https://rpc.example:8899 wss://rpc.example:8900;"), "{node}");
        assert!(policy(Some("http://127.0.0.1:1")).contains(" http://127.0.0.1:1 ws://127.0.0.1:2;"));
        assert!(policy(Some("https://rpc.example/key")).contains(" https://rpc.example wss://rpc.example;"));
        for url in [None, Some("javascript:alert(1)"), Some("*"), Some("https://x.example")] {
            assert!(!policy(url).contains("unsafe") && !policy(url).contains('*'), "{url:?}");
        }
    }

    #[test]
    fn a_proof_reaches_the_hosts_that_its_reader_names_and_runs_nothing_more() {
        let policies = PagePolicies::new(Some("https://rpc.example"));
        let text = |path: &str| policies.at(path).to_str().map(str::to_owned).unwrap_or_default();
        let hosts = " https: http://127.0.0.1:* http://localhost:*";
        assert_eq!(text("/proof/abc"), text("/").replace("wss://rpc.example", &format!("wss://rpc.example{hosts}")));
        for path in ["/proof", "/proofs/abc", "/agents/proof/x", "/keys"] {
            assert_eq!(text(path), text("/"), "{path}");
        }
    }
}
