//! What a wallet signs to sign in, and where its secrets may go.

use anyhow::bail;
use chrono::{DateTime, Utc};
use crtx_chain::urls;
use crtx_protocol::{cluster::Cluster, sign_in::SignInMessage};
use solana_pubkey::Pubkey;
use url::{Host, Url};

/// Challenges live for five minutes.
const LONGEST_CHALLENGE_S: i64 = 10 * 60;
/// Between the clocks of this machine and of the service.
const MAX_SKEW_S: i64 = 10 * 60;

/// Whether nobody else is on the way to a service.
pub fn is_on_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// A service chooses the text that is signed, so only a challenge of the known form is signed, for this wallet at this
/// service on this network, and for a short time: no transaction, no text for another service, nothing that the form has
/// no place for.
pub fn check_sign_in(
    message: &str,
    base_url: &str,
    wallet: &Pubkey,
    cluster: Cluster,
    now: DateTime<Utc>,
) -> anyhow::Result<()> {
    let parsed: Result<SignInMessage, _> = message.parse();
    let Some(message) = parsed.ok().filter(|message| message.address == *wallet) else {
        bail!("{base_url} asks to sign something else than a sign-in of {wallet}; nothing was signed");
    };
    // The address as a whole: scheme, host, port and path. It has no user name, query or fragment.
    let here = Url::parse(base_url)?;
    let same = |text: &str| {
        let url = Url::parse(text).ok();
        url.is_some_and(|url| url.as_str().trim_end_matches('/') == here.as_str().trim_end_matches('/'))
    };
    if message.domain != urls::host(base_url) || !same(&message.uri) {
        bail!("{base_url} asks to sign in at another place ({}, {}); nothing was signed", message.domain, message.uri);
    }
    if message.cluster != cluster {
        bail!(
            "{base_url} asks to sign in on {}, and the network that was chosen is {}; nothing was signed",
            message.cluster.chain_id(),
            cluster.chain_id()
        );
    }
    let time = |text: &str| DateTime::parse_from_rfc3339(text).map(|time| time.timestamp()).ok();
    let (Some(issued), Some(expires)) = (time(&message.issued_at), time(&message.expiration_time)) else {
        bail!("{base_url} asks to sign in at no time; nothing was signed");
    };
    let (life, age) = (expires.saturating_sub(issued), now.timestamp().saturating_sub(issued));
    if !(1..=LONGEST_CHALLENGE_S).contains(&life)
        || age.saturating_abs() > MAX_SKEW_S
        || age > life.saturating_add(MAX_SKEW_S)
    {
        bail!(
            "{base_url} asks to sign in from {} to {}, which is too long or not now; nothing was signed (is the clock of \
             this machine right?)",
            message.issued_at,
            message.expiration_time
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_sign_in_at_this_service_is_signed() {
        let wallet = Pubkey::new_from_array([7; 32]);
        let message = |domain: &str, address: &Pubkey| SignInMessage {
            domain: domain.to_owned(),
            address: *address,
            uri: format!("https://{domain}"),
            cluster: Cluster::Devnet,
            nonce: "abc".to_owned(),
            issued_at: "2026-11-21T10:00:00.000Z".to_owned(),
            expiration_time: "2026-11-21T10:05:00.000Z".to_owned(),
        };
        let now = "2026-11-21T10:00:02Z".parse().expect("a time");
        let check = |text: &str, url: &str| check_sign_in(text, url, &wallet, Cluster::Devnet, now).is_ok();
        let good = message("api.example", &wallet).to_string();
        assert!(check(&good, "https://api.example"));
        let local = SignInMessage { uri: "http://127.0.0.1:8080".to_owned(), ..message("127.0.0.1:8080", &wallet) };
        assert!(check(&local.to_string(), "http://127.0.0.1:8080"));
        assert!(!check(&local.to_string(), "https://127.0.0.1:8080"), "another scheme");
        assert!(!check(&message("127.0.0.1", &wallet).to_string(), "http://127.0.0.1:8080"), "another port");
        assert!(!check(&message("bank.example", &wallet).to_string(), "https://api.example"), "another service");
        let elsewhere = SignInMessage { uri: "https://bank.example".to_owned(), ..message("api.example", &wallet) };
        assert!(!check(&elsewhere.to_string(), "https://api.example"), "another service");
        let below = SignInMessage { uri: "https://api.example/market".to_owned(), ..message("api.example", &wallet) };
        assert!(check(&below.to_string(), "https://api.example/market/"));
        assert!(!check(&below.to_string(), "https://api.example"), "another path");
        assert!(!check(&good, "https://api.example/market"), "another path");
        for uri in ["https://api.example/?a=b", "https://api.example/#a", "https://u:p@api.example", "api.example", ""]
        {
            let other = SignInMessage { uri: uri.to_owned(), ..message("api.example", &wallet) };
            assert!(!check(&other.to_string(), "https://api.example"), "{uri}");
        }
        for cluster in [Cluster::Mainnet, Cluster::Localnet] {
            let other = SignInMessage { cluster, ..message("api.example", &wallet) };
            assert!(!check(&other.to_string(), "https://api.example"), "another network");
        }
        for (issued_at, expiration_time) in [
            ("2026-11-21T10:00:00Z", "2027-11-21T10:00:00Z"),
            ("2026-11-21T10:00:00Z", "2026-11-21T10:00:00Z"),
            ("2026-11-21T10:05:00Z", "2026-11-21T10:00:00Z"),
            ("2026-11-21T09:00:00Z", "2026-11-21T09:05:00Z"),
            ("2026-11-21T11:00:00Z", "2026-11-21T11:05:00Z"),
            ("now", "2026-11-21T10:05:00Z"),
            ("2026-11-21T10:00:00Z", ""),
        ] {
            let (issued_at, expiration_time) = (issued_at.to_owned(), expiration_time.to_owned());
            let other = SignInMessage { issued_at, expiration_time, ..message("api.example", &wallet) };
            assert!(!check(&other.to_string(), "https://api.example"), "other times: {other}");
        }
        let other = Pubkey::new_from_array([8; 32]);
        assert!(!check(&message("api.example", &other).to_string(), "https://api.example"), "another wallet");
        assert!(!check("\u{1}\u{0}\u{1}", "https://api.example"), "a transaction");
        let more = format!("{good}\nResources:\n- https://bank.example/pay");
        assert!(!check(&more, "https://api.example"), "more than a sign-in");
        assert!(!check(&good.replace("Sign in to", "Pay"), "https://api.example"), "another statement");
    }
}
