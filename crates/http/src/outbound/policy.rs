//! Which outbound requests are allowed, as far as the URL alone says it.

use std::net::IpAddr;

use crtx_protocol::text::shortened;
use url::{Host, Url};

use super::addresses::is_public;

/// Longest part of a URL that an error quotes, in characters.
const MAX_QUOTE_CHARS: usize = 200;

/// What outbound requests may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutboundPolicy {
    /// For a local network only: plain http and any address.
    pub allow_insecure: bool,
    /// Ports that are connected to. `None`: all.
    pub ports: Option<&'static [u16]>,
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
    pub const STRICT: Self = Self { allow_insecure: false, ports: Some(&[443]) };
    /// The policy of the local network.
    pub const LOCAL: Self = Self { allow_insecure: true, ports: None };

    /// The same policy with other ports. Meant for a process's start: the list stays in memory.
    #[must_use]
    pub fn with_ports(self, ports: Vec<u16>) -> Self {
        Self { ports: Some(ports.leak()), ..self }
    }

    /// Reads a URL and checks everything that can be known without resolving its name.
    pub fn check_url(self, text: &str) -> Result<Url, OutboundError> {
        let url = Url::parse(text).map_err(|_| OutboundError::NotAUrl(shortened(text, MAX_QUOTE_CHARS)))?;
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
        let port = url.port_or_known_default().unwrap_or_default();
        if self.ports.is_none_or(|ports| ports.contains(&port)) { Ok(url) } else { Err(OutboundError::Port(port)) }
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
            Err(OutboundError::PrivateName(shortened(name, MAX_QUOTE_CHARS)))
        }
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
}
