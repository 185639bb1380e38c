//! Requests to addresses that others chose (creators' endpoints, metadata documents).
//!
//! Such a request must not reach the service's own network. The client built here resolves a name once,
//! refuses it if *any* of its addresses is special-use, and connects to exactly the addresses that were
//! checked. It follows no redirect and uses no proxy. Literal addresses in a URL never pass a resolver, so
//! [`OutboundPolicy::check_url`] must be called for every URL; it also demands https.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use reqwest::{
    Client,
    dns::{Addrs, Name, Resolve, Resolving},
    redirect,
};
use url::{Host, Url};

/// What outbound requests may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutboundPolicy {
    /// For a local network only: plain http and any address.
    pub allow_insecure: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutboundError {
    #[error("`{0}` is not a URL")]
    NotAUrl(String),
    #[error("only https addresses are called")]
    NotHttps,
    #[error("a URL with a user name or password is not called")]
    Credentials,
    #[error("{0} is not an address of the public internet")]
    SpecialUse(IpAddr),
    #[error("the URL names no host")]
    NoHost,
}

#[derive(Debug, thiserror::Error)]
enum ResolveError {
    #[error(transparent)]
    Refused(#[from] OutboundError),
    #[error("the name has no address")]
    Empty,
}

impl OutboundPolicy {
    /// The policy of every network but the local one.
    pub const STRICT: Self = Self { allow_insecure: false };
    /// The policy of the local network.
    pub const LOCAL: Self = Self { allow_insecure: true };

    /// Reads a URL and checks everything that can be told without resolving its name.
    pub fn check_url(self, text: &str) -> Result<Url, OutboundError> {
        let url = Url::parse(text).map_err(|_| OutboundError::NotAUrl(text.chars().take(200).collect()))?;
        match url.scheme() {
            "https" => {}
            "http" if self.allow_insecure => {}
            _ => return Err(OutboundError::NotHttps),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(OutboundError::Credentials);
        }
        match url.host() {
            None => Err(OutboundError::NoHost),
            Some(Host::Domain(_)) => Ok(url),
            Some(Host::Ipv4(address)) => self.check_address(address.into()).map(|()| url),
            Some(Host::Ipv6(address)) => self.check_address(address.into()).map(|()| url),
        }
    }

    /// Refuses special-use addresses, unless the policy allows them.
    pub fn check_address(self, address: IpAddr) -> Result<(), OutboundError> {
        if self.allow_insecure || is_public(address) { Ok(()) } else { Err(OutboundError::SpecialUse(address)) }
    }

    /// A client under this policy. `timeout` bounds the whole request, from connecting to the last byte.
    pub fn client(self, timeout: Duration) -> reqwest::Result<Client> {
        Client::builder()
            .dns_resolver(Arc::new(CheckedResolver { policy: self }))
            .redirect(redirect::Policy::none())
            .referer(false)
            .no_proxy()
            .https_only(!self.allow_insecure)
            .connect_timeout(timeout.min(Duration::from_secs(5)))
            .timeout(timeout)
            .user_agent(concat!("crtx/", env!("CARGO_PKG_VERSION")))
            .build()
    }
}

/// Resolves with the system's resolver and hands on checked addresses only.
struct CheckedResolver {
    policy: OutboundPolicy,
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let policy = self.policy;
        Box::pin(async move {
            let addresses: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            check_all(policy, &addresses)?;
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

/// One bad address among good ones refuses the name: which of them is used is not ours to choose.
fn check_all(policy: OutboundPolicy, addresses: &[SocketAddr]) -> Result<(), ResolveError> {
    if addresses.is_empty() {
        return Err(ResolveError::Empty);
    }
    addresses.iter().try_for_each(|address| policy.check_address(address.ip())).map_err(ResolveError::from)
}

/// Whether an address belongs to the public internet: not in the special-purpose registries of IANA
/// (RFC 6890 and its updates), not multicast, not reserved.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !matches!(
        (a, b, c),
        (0 | 10 | 127, _, _)                 // this network, private, loopback
            | (100, 64..=127, _)             // shared between carrier and customer
            | (169, 254, _)                  // link-local, among it cloud metadata services
            | (172, 16..=31, _)              // private
            | (192, 0, 0 | 2)                // protocol assignments, documentation
            | (192, 31, 196) | (192, 52, 193) | (192, 175, 48) // AS112, AMT
            | (192, 88, 99)                  // 6to4 relays
            | (192, 168, _)                  // private
            | (198, 18..=19, _)              // benchmarking
            | (198, 51, 100) | (203, 0, 113) // documentation
            | (224..=255, _, _) // multicast, reserved, broadcast
    )
}

/// Global unicast is 2000::/3; parts of it and everything outside are special.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, ..] = address.segments();
    if let Some(embedded) = embedded_v4(address) {
        return is_public_v4(embedded);
    }
    (0x2000..=0x3fff).contains(&a)
        && !matches!(
            (a, b, c),
            (0x2001, 0..=0x1ff, _)            // protocol assignments, Teredo, ORCHID, benchmarking
                | (0x2001, 0xdb8, _)          // documentation
                | (0x2002, _, _)              // 6to4
                | (0x2620, 0x4f, 0x8000)      // AS112
                | (0x3fff, 0..=0xfff, _) // documentation
        )
}

/// The IPv4 address behind one written in NAT64's well-known prefix: it leads to that address.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, high, low] = address.segments();
    ((a, b, c, d, e, f) == (0x64, 0xff9b, 0, 0, 0, 0)).then(|| {
        let [h0, h1] = high.to_be_bytes();
        let [l0, l1] = low.to_be_bytes();
        Ipv4Addr::new(h0, h1, l0, l1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_use_addresses_are_refused() {
        for bad in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.9",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
            "2002:7f00:1::",
            "100::1",
            "3fff::1",
        ] {
            let address: IpAddr = bad.parse().expect("an address");
            assert!(!is_public(address), "{bad}");
            assert!(OutboundPolicy::STRICT.check_address(address).is_err());
            assert!(OutboundPolicy::LOCAL.check_address(address).is_ok());
        }
        for good in
            ["1.1.1.1", "8.8.8.8", "172.32.0.1", "100.128.0.1", "192.0.1.1", "2606:4700::1111", "64:ff9b::808:808"]
        {
            assert!(is_public(good.parse().expect("an address")), "{good}");
        }
    }

    #[test]
    fn literal_addresses_are_checked_in_every_spelling() {
        for bad in [
            "https://127.0.0.1/",
            "https://2130706433/",
            "https://0x7f.1/",
            "https://0177.0.0.1/",
            "https://127.1/x",
            "https://[::1]/",
            "https://[::ffff:10.0.0.1]/",
            "https://[fe80::1]:8443/",
            "https://169.254.169.254/latest",
        ] {
            assert!(
                matches!(OutboundPolicy::STRICT.check_url(bad), Err(OutboundError::SpecialUse(_))),
                "{bad}: {:?}",
                OutboundPolicy::STRICT.check_url(bad)
            );
        }
    }

    #[test]
    fn only_https_without_credentials_is_called() {
        let strict = OutboundPolicy::STRICT;
        assert_eq!(strict.check_url("http://a.example/"), Err(OutboundError::NotHttps));
        assert_eq!(strict.check_url("file:///etc/passwd"), Err(OutboundError::NotHttps));
        assert_eq!(strict.check_url("https://u:p@a.example/"), Err(OutboundError::Credentials));
        assert!(matches!(strict.check_url("nonsense"), Err(OutboundError::NotAUrl(_))));
        assert!(strict.check_url("https://a.example/execute").is_ok());
        assert!(OutboundPolicy::LOCAL.check_url("http://127.0.0.1:9/execute").is_ok());
    }

    #[test]
    fn one_special_address_among_public_ones_refuses_the_name() {
        let public: SocketAddr = "8.8.8.8:0".parse().expect("address");
        let private: SocketAddr = "10.0.0.1:0".parse().expect("address");
        assert!(check_all(OutboundPolicy::STRICT, &[public]).is_ok());
        assert!(check_all(OutboundPolicy::STRICT, &[public, private]).is_err());
        assert!(check_all(OutboundPolicy::STRICT, &[]).is_err());
    }

    #[tokio::test]
    async fn a_name_that_leads_home_is_not_connected_to() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let client = OutboundPolicy::STRICT.client(Duration::from_secs(2)).expect("client");
        assert!(client.get(format!("https://localhost:{port}/")).send().await.is_err());
        let nobody_came = tokio::time::timeout(Duration::from_millis(50), listener.accept()).await;
        assert!(nobody_came.is_err(), "a connection was made");
    }
}
