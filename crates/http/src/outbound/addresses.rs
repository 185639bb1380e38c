//! Which addresses belong to the public internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

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
        }
        for good in
            ["1.1.1.1", "8.8.8.8", "172.32.0.1", "100.128.0.1", "192.0.1.1", "2606:4700::1111", "64:ff9b::808:808"]
        {
            assert!(is_public(good.parse().expect("an address")), "{good}");
        }
    }
}
