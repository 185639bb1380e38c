//! What the answers tell a browser about the dashboard's pages: what they may load, and who may frame them.

use axum::http::{HeaderName, HeaderValue, header};
use url::Url;

const PERMISSIONS: HeaderName = HeaderName::from_static("permissions-policy");
const OPENER: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// Nothing inline, no `eval`, no frames. Pictures in `data:` are the icons of wallets. `rpc_url`: the node that the page
/// reads the chain from; its WebSocket counts, too.
pub fn content_security_policy(rpc_url: Option<&str>) -> HeaderValue {
    let node = rpc_url.and_then(|url| Url::parse(url).ok()).filter(|url| matches!(url.scheme(), "http" | "https"));
    let node = node.map(|url| url.origin().ascii_serialization());
    let node = node.map(|origin| format!(" {origin} {}", origin.replacen("http", "ws", 1))).unwrap_or_default();
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
         connect-src 'self'{node}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
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
        let policy = |url| content_security_policy(url).to_str().map(str::to_owned).unwrap_or_default();
        assert!(policy(None).contains("connect-src 'self';"));
        let node = policy(Some("https://rpc.example:8899/key?x=1; script-src *"));
        assert!(node.contains("connect-src 'self' https://rpc.example:8899 wss://rpc.example:8899;"), "{node}");
        assert!(policy(Some("http://127.0.0.1:1")).contains(" http://127.0.0.1:1 ws://127.0.0.1:1;"));
        for url in [None, Some("javascript:alert(1)"), Some("*"), Some("https://x.example")] {
            assert!(!policy(url).contains("unsafe") && !policy(url).contains('*'), "{url:?}");
        }
    }
}
