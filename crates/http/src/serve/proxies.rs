//! Which client a request comes from. Proxies that the operator trusts name it in `Forwarded` (RFC 7239) or
//! `X-Forwarded-For`; of everybody else these header fields are ignored, because a client can write anything in them.

use std::{
    net::{IpAddr, Ipv6Addr},
    str::FromStr,
    sync::Arc,
};

use axum::http::{HeaderMap, HeaderName, header::FORWARDED};
use ipnet::IpNet;

use super::connections::network_of;

pub(crate) const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const BLANK: [char; 2] = [' ', '\t'];

/// An IP address, or all addresses with the same first bits, such as `192.0.2.0/24`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRange(IpNet);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not an IP address or a range such as `192.0.2.0/24`")]
pub struct NotAnAddressRange;

impl FromStr for AddressRange {
    type Err = NotAnAddressRange;

    fn from_str(text: &str) -> Result<Self, NotAnAddressRange> {
        let address = || text.parse::<IpAddr>().map(IpNet::from);
        let range: IpNet = text.parse().or_else(|_| address()).map_err(|_| NotAnAddressRange)?;
        // `::ffff:192.0.2.1` is the IPv4 address in it.
        let beyond = range.max_prefix_len().saturating_sub(IpNet::from(range.addr().to_canonical()).max_prefix_len());
        let bits = range.prefix_len().checked_sub(beyond);
        let canonical = bits.and_then(|bits| IpNet::new(range.addr().to_canonical(), bits).ok());
        Ok(Self(canonical.unwrap_or(range)))
    }
}

impl std::fmt::Display for AddressRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self(range) = self;
        if range.prefix_len() == range.max_prefix_len() { range.addr().fmt(f) } else { range.fmt(f) }
    }
}

impl AddressRange {
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address.to_canonical())
    }
}

/// The proxies in front of this service. None by default.
#[derive(Clone, Debug, Default)]
pub struct TrustedProxies(Arc<[AddressRange]>);

impl FromIterator<AddressRange> for TrustedProxies {
    fn from_iter<I: IntoIterator<Item = AddressRange>>(ranges: I) -> Self {
        Self(ranges.into_iter().collect())
    }
}

impl TrustedProxies {
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.iter().any(|range| range.contains(address))
    }

    /// The client behind `peer`, which sent these header fields. A proxy that names no client, or that names it in a
    /// form that cannot be read, is the client itself. A proxy writes one of the two fields and may pass the other one
    /// on as a client sent it, so where both are there and name different clients, neither is believed.
    pub fn client_of(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let peer = peer.to_canonical();
        if !self.contains(peer) {
            return peer;
        }
        let forwarded = self.named(peer, headers, &FORWARDED, forwarded);
        let x_forwarded_for = self.named(peer, headers, &X_FORWARDED_FOR, x_forwarded_for);
        match (forwarded, x_forwarded_for) {
            (Some(one), Some(other)) if network_of(one) != network_of(other) => peer,
            (Some(client), _) | (None, Some(client)) => client,
            (None, None) => peer,
        }
    }

    /// Each proxy adds the address that it was called from at the end. So the last one that is not a trusted proxy is
    /// the client, and what stands before it is its own invention.
    fn named(
        &self,
        peer: IpAddr,
        headers: &HeaderMap,
        field: &HeaderName,
        read: fn(&str) -> Option<Vec<Option<IpAddr>>>,
    ) -> Option<IpAddr> {
        let mut lines = headers.get_all(field).iter().rev().peekable();
        lines.peek()?;
        let mut proxy = peer;
        for line in lines {
            let Some(nodes) = line.to_str().ok().and_then(read) else { return Some(proxy) };
            for node in nodes.into_iter().rev() {
                match node {
                    Some(address) if self.contains(address) => proxy = address,
                    Some(address) => return Some(address),
                    None => return Some(proxy),
                }
            }
        }
        Some(proxy)
    }
}

/// The addresses of an `X-Forwarded-For` line; `None` for one that cannot be read.
fn x_forwarded_for(line: &str) -> Option<Vec<Option<IpAddr>>> {
    Some(line.split(',').map(|node| address(node.trim_matches(BLANK))).collect())
}

/// The `for` of each element of a `Forwarded` line: `None` for one without an address. `None` for a line that does not
/// have the form: where its last element begins is not known then.
fn forwarded(line: &str) -> Option<Vec<Option<IpAddr>>> {
    parts(line, ',')?.into_iter().map(client_of_element).collect()
}

fn client_of_element(element: &str) -> Option<Option<IpAddr>> {
    let mut node = None;
    for pair in parts(element, ';')?.into_iter().map(|pair| pair.trim_matches(BLANK)).filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=')?;
        let value = unquoted(value)?;
        if name.is_empty() || !name.bytes().all(is_of_a_token) {
            return None;
        }
        if name.eq_ignore_ascii_case("for") && node.replace(address(&value)).is_some() {
            return None;
        }
    }
    Some(node.flatten())
}

/// The parts between separators outside of quotation marks. `None` if a quotation does not end.
fn parts(text: &str, separator: char) -> Option<Vec<&str>> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let parts = text
        .split(|c| {
            let is_end = c == separator && !is_quoted;
            is_quoted ^= c == '"' && !is_escaped;
            is_escaped = c == '\\' && is_quoted && !is_escaped;
            is_end
        })
        .collect();
    (!is_quoted).then_some(parts)
}

/// A value without its quotation marks, if it has some.
fn unquoted(value: &str) -> Option<String> {
    let Some(quoted) = value.strip_prefix('"') else {
        return (!value.is_empty() && !value.contains(['"', ' ', '\t'])).then(|| value.to_owned());
    };
    let mut text = String::new();
    let mut characters = quoted.chars();
    loop {
        match characters.next()? {
            '"' => return characters.as_str().is_empty().then_some(text),
            '\\' => text.push(characters.next()?),
            character => text.push(character),
        }
    }
}

const fn is_of_a_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~')
}

/// An address with or without a port, that of IPv6 with or without brackets. `None` for `unknown`, for an identifier that
/// hides the address, and for anything else.
fn address(node: &str) -> Option<IpAddr> {
    if let Some(bracketed) = node.strip_prefix('[') {
        let (address, port) = bracketed.split_once(']')?;
        let address: Ipv6Addr = address.parse().ok()?;
        let is_whole = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
        return is_whole.then(|| IpAddr::V6(address).to_canonical());
    }
    match node.split_once(':') {
        Some((address, port)) if is_port(port) && address.contains('.') => Some(IpAddr::V4(address.parse().ok()?)),
        _ => node.parse().ok().map(|address: IpAddr| address.to_canonical()),
    }
}

/// A number, or an identifier that hides it.
fn is_port(text: &str) -> bool {
    let is_of_an_identifier = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    match text.strip_prefix('_') {
        Some(hidden) => !hidden.is_empty() && hidden.bytes().all(is_of_an_identifier),
        None => text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok(),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    const PROXY: &str = "10.0.0.1";

    fn ip(text: &str) -> IpAddr {
        text.parse().expect(text)
    }

    fn proxies() -> TrustedProxies {
        ["10.0.0.0/24", "2001:db8:1::/48"]
            .map(|range| range.parse::<AddressRange>().expect(range))
            .into_iter()
            .collect()
    }

    fn client(peer: &str, fields: &[(&'static str, &str)]) -> String {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(*name, HeaderValue::from_bytes(value.as_bytes()).expect(value));
        }
        proxies().client_of(ip(peer), &headers).to_string()
    }

    fn behind(name: &'static str, lines: &[&str]) -> String {
        let fields: Vec<_> = lines.iter().map(|line| (name, *line)).collect();
        client(PROXY, &fields)
    }

    #[test]
    fn a_client_that_is_no_trusted_proxy_names_nobody() {
        for peer in ["192.0.2.1", "10.0.1.1", "2001:db8:2::1"] {
            let named = client(peer, &[("x-forwarded-for", "192.0.2.9"), ("forwarded", "for=192.0.2.9")]);
            assert_eq!(named, peer);
        }
        let nobody = TrustedProxies::default();
        let headers = HeaderMap::from_iter([(X_FORWARDED_FOR, HeaderValue::from_static("192.0.2.9"))]);
        assert_eq!(nobody.client_of(ip("127.0.0.1"), &headers), ip("127.0.0.1"));
    }

    #[test]
    fn a_trusted_proxy_without_either_field_is_the_client() {
        assert_eq!(client(PROXY, &[]), PROXY);
        assert_eq!(client("::ffff:10.0.0.1", &[]), PROXY);
    }

    #[test]
    fn the_last_address_that_is_no_trusted_proxy_is_the_client() {
        for (lines, expected) in [
            (&["192.0.2.1"][..], "192.0.2.1"),
            (&["198.51.100.7, 192.0.2.1"], "192.0.2.1"),
            (&["198.51.100.7,192.0.2.1 ,\t10.0.0.2"], "192.0.2.1"),
            (&["garbage, 192.0.2.1"], "192.0.2.1"),
            (&["198.51.100.7", "192.0.2.1"], "192.0.2.1"),
            (&["192.0.2.1", "10.0.0.3, 10.0.0.2"], "192.0.2.1"),
            (&["192.0.2.1:4711"], "192.0.2.1"),
            (&["2001:db8::7"], "2001:db8::7"),
            (&["[2001:db8::7]"], "2001:db8::7"),
            (&["[2001:db8::7]:443"], "2001:db8::7"),
            (&["::ffff:192.0.2.1"], "192.0.2.1"),
            (&["192.0.2.1, 2001:db8:1::5"], "192.0.2.1"),
            // Nobody but proxies: the first of them.
            (&["10.0.0.9, 10.0.0.2"], "10.0.0.9"),
        ] {
            assert_eq!(behind("x-forwarded-for", lines), expected, "{lines:?}");
        }
    }

    #[test]
    fn the_elements_of_forwarded_are_read_as_rfc_7239_writes_them() {
        for (lines, expected) in [
            (&["for=192.0.2.1"][..], "192.0.2.1"),
            (&["For=192.0.2.1;proto=https;by=10.0.0.1"], "192.0.2.1"),
            (&[r#"for="192.0.2.1:4711""#], "192.0.2.1"),
            (&[r#"for="192.0.2.1:_port""#], "192.0.2.1"),
            (&[r#"proto=https; for="[2001:db8::7]""#], "2001:db8::7"),
            (&[r#"for="[2001:db8::7]:443" ; host="a,b;c\"for=198.51.100.7""#], "2001:db8::7"),
            (&["for=198.51.100.7, for=192.0.2.1"], "192.0.2.1"),
            (&["for=198.51.100.7, for=192.0.2.1;, for=10.0.0.2"], "192.0.2.1"),
            (&["for=198.51.100.7", "for=192.0.2.1"], "192.0.2.1"),
            (&[r#"for="open"#, "for=192.0.2.1"], "192.0.2.1"),
        ] {
            assert_eq!(behind("forwarded", lines), expected, "{lines:?}");
        }
    }

    #[test]
    fn what_a_proxy_writes_and_nobody_can_read_stands_for_the_proxy_itself() {
        for line in [
            "",
            " ",
            "unknown",
            "192.0.2",
            "192.0.2.1:",
            "192.0.2.1:99999",
            "192.0.2.1:+80",
            "192.0.2.1:80:80",
            "[2001:db8::7",
            "[2001:db8::7]443",
            "[192.0.2.1]",
            "2001:db8::7%eth0",
            "192.0.2.1,",
            "198.51.100.7, _hidden",
            "192.0.2.1 10.0.0.2",
            "192.0.2.1, \u{e9}",
        ] {
            assert_eq!(behind("x-forwarded-for", &[line]), PROXY, "{line}");
        }
        assert_eq!(behind("x-forwarded-for", &["192.0.2.1, unknown, 10.0.0.2"]), "10.0.0.2");
        for line in [
            "",
            "for=",
            "for",
            "for=unknown",
            "for=_hidden",
            "for=\"_hidden:80\"",
            "proto=https",
            "for=192.0.2.1,",
            "for=192.0.2.1;for=192.0.2.2",
            "for =192.0.2.1",
            "for=\"192.0.2.1",
            "for=\"192.0.2.1\"x",
            "for=19\"2.0.2.1",
            "=192.0.2.1",
            "for=192.0.2.1 for=192.0.2.2",
            "192.0.2.1",
            // A client opens a quotation that swallows what the proxy adds.
            r#"for=192.0.2.1;x=", for=198.51.100.7"#,
            r#"for=192.0.2.1;x=", for="[2001:db8::7]""#,
        ] {
            assert_eq!(behind("forwarded", &[line]), PROXY, "{line}");
        }
    }

    #[test]
    fn two_fields_that_name_different_clients_name_none() {
        let both =
            |forwarded: &str, other: &str| client(PROXY, &[("forwarded", forwarded), ("x-forwarded-for", other)]);
        assert_eq!(both("for=192.0.2.1", "192.0.2.1"), "192.0.2.1");
        assert_eq!(both("for=192.0.2.1", "192.0.2.1, 10.0.0.2"), "192.0.2.1");
        assert_eq!(both("for=192.0.2.1", "192.0.2.2"), PROXY);
        assert_eq!(both("for=_hidden", "192.0.2.2"), PROXY);
        assert_eq!(both("for=192.0.2.1", "unknown"), PROXY);
    }

    #[test]
    fn a_range_has_the_addresses_with_the_same_first_bits() {
        let contains = |range: &str, address: &str| range.parse::<AddressRange>().expect(range).contains(ip(address));
        assert!(contains("192.0.2.1", "192.0.2.1") && !contains("192.0.2.1", "192.0.2.2"));
        assert!(contains("192.0.2.77/24", "192.0.2.255") && !contains("192.0.2.0/24", "192.0.3.0"));
        assert!(contains("0.0.0.0/0", "255.0.0.1") && !contains("0.0.0.0/0", "::1"));
        assert!(contains("::/0", "2001:db8::1") && !contains("::/0", "192.0.2.1"));
        assert!(contains("2001:db8::/33", "2001:db8:7fff::1") && !contains("2001:db8::/33", "2001:db8:8000::"));
        assert!(contains("192.0.2.0/24", "::ffff:192.0.2.9") && contains("::ffff:192.0.2.0/120", "192.0.2.9"));
        for bad in ["", "192.0.2.0/33", "192.0.2/24", "2001:db8::/129", "192.0.2.0/", "a.example", "192.0.2.0/-1"] {
            assert_eq!(bad.parse::<AddressRange>(), Err(NotAnAddressRange), "{bad}");
        }
        for text in ["192.0.2.1", "192.0.2.0/24", "2001:db8::/32", "::1"] {
            assert_eq!(text.parse::<AddressRange>().expect(text).to_string(), text);
        }
    }
}
