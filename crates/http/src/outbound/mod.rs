//! Requests to addresses that others chose (creators' endpoints, metadata documents).
//!
//! Such a request must not reach the service's own network. A name is resolved by [`names`], refused if *any* of
//! its addresses is special-use, and connected to at exactly the addresses that were checked. No redirect is
//! followed and no proxy used. Literal addresses in a URL never pass a resolver, so [`OutboundPolicy::check_url`]
//! must be called for every URL; it also demands https and an allowed port. [`Outbound::check_reachable`] says
//! beforehand whether a request could be made at all.

mod addresses;
mod names;

use std::{fmt, net::IpAddr, sync::Arc, time::Duration};

use reqwest::{Client, redirect};
use url::{Host, Url};

pub use self::addresses::is_public;
use self::names::{Names, PATIENCE, SystemLookup};

/// What outbound requests may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutboundPolicy {
    /// For a local network only: plain http and any address.
    pub allow_insecure: bool,
    pub ports: Ports,
}

/// Ports that are connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ports {
    Any,
    Only(&'static [u16]),
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
    #[error("`{0}` is a name of private networks")]
    PrivateName(String),
    #[error("port {0} is not called")]
    Port(u16),
    #[error("the URL names no host")]
    NoHost,
    #[error("the name `{0}` has no address")]
    NoAddress(String),
    #[error("the name `{0}` was not resolved in time")]
    SlowName(String),
    #[error("too many names are being resolved; try again")]
    Busy,
}

/// Last labels of names that private networks use (RFC 6761, 6762, 8375, 7686, and ICANN's `internal`).
const PRIVATE_SUFFIXES: [&str; 6] = ["localhost", "local", "internal", "home.arpa", "onion", "localdomain"];

impl OutboundPolicy {
    /// The policy of every network but the local one.
    pub const STRICT: Self = Self { allow_insecure: false, ports: Ports::Only(&[443]) };
    /// The policy of the local network.
    pub const LOCAL: Self = Self { allow_insecure: true, ports: Ports::Any };

    /// The same policy with other ports. Meant for a process's start: the list stays in memory.
    #[must_use]
    pub fn with_ports(self, ports: Vec<u16>) -> Self {
        Self { ports: Ports::Only(ports.leak()), ..self }
    }

    /// Reads a URL and checks everything that can be known without resolving its name.
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
            None => return Err(OutboundError::NoHost),
            Some(Host::Domain(name)) => self.check_name(name)?,
            Some(Host::Ipv4(address)) => self.check_address(address.into())?,
            Some(Host::Ipv6(address)) => self.check_address(address.into())?,
        }
        match (self.ports, url.port_or_known_default()) {
            (Ports::Any, _) => Ok(url),
            (Ports::Only(ports), Some(port)) if ports.contains(&port) => Ok(url),
            (Ports::Only(_), port) => Err(OutboundError::Port(port.unwrap_or_default())),
        }
    }

    /// Refuses special-use addresses, unless the policy allows them.
    pub fn check_address(self, address: IpAddr) -> Result<(), OutboundError> {
        if self.allow_insecure || is_public(address) { Ok(()) } else { Err(OutboundError::SpecialUse(address)) }
    }

    /// Refuses names that only a private network can resolve: those without a dot, and reserved ones.
    fn check_name(self, name: &str) -> Result<(), OutboundError> {
        let bare = name.trim_end_matches('.').to_ascii_lowercase();
        let reserved = PRIVATE_SUFFIXES
            .iter()
            .any(|suffix| bare.strip_suffix(suffix).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')));
        if self.allow_insecure || (bare.contains('.') && !reserved) {
            Ok(())
        } else {
            Err(OutboundError::PrivateName(name.chars().take(253).collect()))
        }
    }

    /// A client under this policy, with a resolver of its own. [`Outbound`] shares one between clients.
    pub fn client(self, timeout: Duration) -> reqwest::Result<Client> {
        Outbound::new(self).client(timeout)
    }
}

/// A policy and the names that were resolved under it. Cheap to clone.
#[derive(Clone)]
pub struct Outbound {
    policy: OutboundPolicy,
    names: Names,
}

impl Outbound {
    pub fn new(policy: OutboundPolicy) -> Self {
        Self { policy, names: Names::new(policy, Arc::new(SystemLookup::new(policy)), PATIENCE) }
    }

    pub const fn policy(&self) -> OutboundPolicy {
        self.policy
    }

    /// A client under the policy. `timeout` bounds the whole request, from connecting to the last byte.
    pub fn client(&self, timeout: Duration) -> reqwest::Result<Client> {
        Client::builder()
            .dns_resolver(Arc::new(self.names.clone()))
            .redirect(redirect::Policy::none())
            .referer(false)
            .no_proxy()
            .https_only(!self.policy.allow_insecure)
            .connect_timeout(timeout.min(Duration::from_secs(5)))
            .timeout(timeout)
            .user_agent(concat!("crtx/", env!("CARGO_PKG_VERSION")))
            .build()
    }

    /// Whether a request to this URL could be made now: the policy allows the URL, and its name has addresses
    /// that the policy allows too. Takes a few seconds at most; repeated questions are answered from memory.
    pub async fn check_reachable(&self, text: &str) -> Result<Url, OutboundError> {
        let url = self.policy.check_url(text)?;
        if let Some(Host::Domain(name)) = url.host() {
            self.names.addresses(name).await?;
        }
        Ok(url)
    }
}

impl fmt::Debug for Outbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbound").field("policy", &self.policy).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            "https://[64:ff9b::7f00:1]/",
            "https://[2002:7f00:1::]/",
            "https://127.0.0.1./",
            "https://１２７.0.0.1/",
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
    fn names_of_private_networks_are_refused_in_every_spelling() {
        for name in [
            "localhost",
            "localhost.",
            "LOCALHOST",
            "a.localhost",
            "printer.local",
            "db.internal",
            "db.internal.",
            "router.home.arpa",
            "intranet",
            "intranet.",
            "x.onion",
            "a.localdomain",
            "ｌｏｃａｌｈｏｓｔ",
        ] {
            let refused = OutboundPolicy::STRICT.check_url(&format!("https://{name}/x"));
            assert!(matches!(refused, Err(OutboundError::PrivateName(_))), "{name}: {refused:?}");
            assert!(OutboundPolicy::LOCAL.check_url(&format!("http://{name}:1/x")).is_ok(), "{name}");
        }
        for name in ["a.example", "notlocal.example", "mylocalhost.example", "xn--bcher-kva.example", "bücher.example"]
        {
            assert!(OutboundPolicy::STRICT.check_url(&format!("https://{name}/x")).is_ok(), "{name}");
        }
    }

    #[test]
    fn only_the_configured_ports_are_called() {
        let strict = OutboundPolicy::STRICT;
        assert!(strict.check_url("https://a.example:443/").is_ok());
        for port in [0, 22, 25, 80, 444, 5432, 8443] {
            assert_eq!(strict.check_url(&format!("https://a.example:{port}/")), Err(OutboundError::Port(port)));
        }
        let more = strict.with_ports(vec![443, 8443]);
        assert!(more.check_url("https://a.example:8443/").is_ok());
        assert_eq!(more.check_url("https://a.example:8444/"), Err(OutboundError::Port(8444)));
        assert!(OutboundPolicy::LOCAL.check_url("http://a.example:1/").is_ok());
    }

    #[tokio::test]
    async fn a_literal_address_is_reachable_without_a_resolver() {
        let local = Outbound::new(OutboundPolicy::LOCAL);
        assert!(local.check_reachable("http://127.0.0.1:9/execute").await.is_ok());
        let strict = Outbound::new(OutboundPolicy::STRICT);
        assert!(strict.check_reachable("https://8.8.8.8/").await.is_ok());
        assert!(strict.check_reachable("https://10.0.0.1/").await.is_err());
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
