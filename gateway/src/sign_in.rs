//! Challenges of sign-in with Solana. A challenge is not stored: its nonce carries random bytes and a MAC over the whole
//! text, with a key that all gateways of a deployment derive from their key pair.

use std::{net::IpAddr, time::Duration};

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use crtx_http::{
    ApiError, Site,
    allowance::{AddressAllowances, Allowances, Rate},
};
use crtx_protocol::{
    cluster::Cluster,
    result_hash::parse_signature,
    sign_in::{MAX_BYTES, SignInMessage},
    signature::is_signed_by,
    text::shortened,
};
use hkdf::Hkdf;
use hmac::{Hmac, Mac};
use rand::{TryRngCore, rngs::OsRng};
use sha2::Sha256;
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;

/// HKDF label of the key of the MAC.
const MAC_LABEL: &[u8] = b"crtx sign-in challenge v1";
/// How long a challenge can be used.
const LIFETIME: TimeDelta = TimeDelta::minutes(5);
/// How far the clocks of two gateways may differ.
const CLOCK_SKEW: TimeDelta = TimeDelta::seconds(30);
/// Base58 digits of random bytes and MAC.
const MAX_NONCE_DIGITS: usize = 70;
const MINUTE: Duration = Duration::from_secs(60);
/// Challenges and sign-ins of one client: the network of a company may be one client.
const PER_ADDRESS: Rate = Rate { policy: "sign-ins-per-address", burst: 60, quota: 60, window: MINUTE };
/// The same of one client for one wallet: who repeats them leaves a third of the address's allowance to others.
const PER_WALLET: Rate = Rate { policy: "sign-ins-per-wallet", burst: 40, quota: 40, window: MINUTE };
/// Sessions of one wallet, from all addresses. Counted when the wallet has signed, so nobody else uses them up.
const SESSIONS: Rate = Rate { policy: "sessions-per-wallet", burst: 60, quota: 60, window: MINUTE };

/// Writes and checks challenges.
pub(crate) struct SignIn {
    /// Of each key pair of the gateway, before any text. A process that already signs with the next one may have written
    /// the challenge.
    macs: Vec<Hmac<Sha256>>,
    site: Site,
    cluster: Cluster,
    clients: AddressAllowances,
    /// Of a client and the wallet that it names.
    pairs: Allowances<(Option<IpAddr>, Pubkey)>,
    sessions: Allowances<Pubkey>,
}

/// A wallet or a person reads it; the MAC covers it.
fn written(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}

impl SignIn {
    #[expect(clippy::expect_used, reason = "HKDF-SHA256 can give 32 bytes, and HMAC takes keys of any length")]
    pub fn new<'a>(keypairs: impl Iterator<Item = &'a Keypair>, site: Site, cluster: Cluster) -> Self {
        let mac = |keypair: &Keypair| {
            let mut mac_key = [0; 32];
            Hkdf::<Sha256>::new(None, keypair.secret_bytes())
                .expand(MAC_LABEL, &mut mac_key)
                .expect("32 bytes are a valid output length");
            Hmac::new_from_slice(&mac_key).expect("a key of any length")
        };
        Self {
            macs: keypairs.map(mac).collect(),
            site,
            cluster,
            clients: AddressAllowances::new(PER_ADDRESS),
            pairs: Allowances::new(PER_WALLET),
            sessions: Allowances::new(SESSIONS),
        }
    }

    /// Counts a request of a client for a wallet: 429 beyond the rate of either. Other clients have their own allowance
    /// for the same wallet, so a stranger cannot keep its owner out.
    pub fn admit(&self, client: Option<IpAddr>, wallet: Option<Pubkey>) -> Result<(), ApiError> {
        let pair = wallet.map(|wallet| (client, wallet));
        if let Some(pair) = pair {
            self.pairs.check(pair, "sign-ins of this wallet from this address")?;
        }
        self.clients.take(client, "sign-ins from this address")?;
        if let Some(pair) = pair {
            self.pairs.charge(pair, 1);
        }
        Ok(())
    }

    /// Counts a sign-in that the wallet has signed.
    pub fn admit_session(&self, wallet: Pubkey) -> Result<(), ApiError> {
        self.sessions.take(wallet, "sign-ins of this wallet")
    }

    /// A new challenge for a wallet.
    pub fn challenge(&self, address: Pubkey, now: DateTime<Utc>) -> Result<SignInMessage, ApiError> {
        let mut random = [0; 16];
        OsRng.try_fill_bytes(&mut random).map_err(ApiError::internal)?;
        let expires = now.checked_add_signed(LIFETIME).unwrap_or(now);
        let mut message = SignInMessage {
            domain: self.site.domain().to_owned(),
            address,
            uri: self.site.url().to_owned(),
            cluster: self.cluster,
            nonce: bs58::encode(random).into_string(),
            issued_at: written(now),
            expiration_time: written(expires),
        };
        let mac = self.over(&message).next().ok_or_else(|| ApiError::internal("no key pair"))?.finalize().into_bytes();
        message.nonce = bs58::encode([random.as_slice(), mac.as_slice()].concat()).into_string();
        Ok(message)
    }

    /// Checks a signed challenge: its wallet has signed in if nobody has used the challenge before. Every refusal is 401.
    pub fn check(&self, text: &str, signature: &str, now: DateTime<Utc>) -> Result<(Pubkey, [u8; 16]), ApiError> {
        let refused = |problem: String| ApiError::unauthorized(format!("`message` {problem}"));
        let message: SignInMessage = text.parse().map_err(|error| refused(format!("{error}")))?;
        if message.domain != self.site.domain() || message.uri != self.site.url() {
            let domain = shortened(&message.domain, 64);
            return Err(refused(format!("is for `{domain}`, and this is `{}`", self.site.domain())));
        }
        if message.cluster != self.cluster {
            let (theirs, ours) = (message.cluster.chain_id(), self.cluster.chain_id());
            return Err(refused(format!("is for the network `{theirs}`, and this is `{ours}`")));
        }
        let foreign = || refused("is not a challenge of this service, or was altered".to_owned());
        let nonce = self.authentic_nonce(&message).ok_or_else(foreign)?;
        let time = |text: &str| DateTime::parse_from_rfc3339(text).map(|time| time.to_utc()).map_err(|_| foreign());
        let (issued, expires) = (time(&message.issued_at)?, time(&message.expiration_time)?);
        if issued.signed_duration_since(now) > CLOCK_SKEW {
            return Err(refused("was issued in the future".to_owned()));
        }
        if now.signed_duration_since(expires) > CLOCK_SKEW {
            return Err(refused("has expired; ask for a new challenge".to_owned()));
        }
        let signature = parse_signature(signature)
            .map_err(|_| ApiError::unauthorized("`signature` must be `ed25519:` and the base58 form of 64 bytes"))?;
        if !is_signed_by(&message.address.to_bytes(), text.as_bytes(), &signature) {
            return Err(ApiError::unauthorized("`signature` is not one of the wallet over `message`"));
        }
        Ok((message.address, nonce))
    }

    /// The random part of the nonce, if the MAC belongs to the message.
    fn authentic_nonce(&self, message: &SignInMessage) -> Option<[u8; 16]> {
        if message.nonce.len() > MAX_NONCE_DIGITS {
            return None;
        }
        let bytes = bs58::decode(&message.nonce).into_vec().ok()?;
        let (random, mac) = bytes.split_first_chunk::<16>()?;
        let unsigned = SignInMessage { nonce: bs58::encode(random).into_string(), ..message.clone() };
        self.over(&unsigned).any(|own| own.verify_slice(mac).is_ok()).then_some(*random)
    }

    /// Over the text, whose nonce has only the random part.
    fn over(&self, message: &SignInMessage) -> impl Iterator<Item = Hmac<Sha256>> {
        let text = message.to_string();
        self.macs.iter().map(move |mac| mac.clone().chain_update(&text))
    }
}

/// Longest body of a sign-in: the text, its signature, and the escapes of JSON.
pub(crate) const MAX_BODY_BYTES: usize = 4 * MAX_BYTES;

#[cfg(test)]
mod tests {
    use ed25519_dalek::{Signer, SigningKey};

    use super::*;

    fn service(url: &str, cluster: Cluster, keypair: u8) -> SignIn {
        SignIn::new([&Keypair::new_from_array([keypair; 32])].into_iter(), Site::new(url), cluster)
    }

    fn here() -> SignIn {
        service("https://api.example", Cluster::Devnet, 1)
    }

    fn signer() -> SigningKey {
        SigningKey::from_bytes(&[9; 32])
    }

    fn wallet() -> Pubkey {
        Pubkey::new_from_array(signer().verifying_key().to_bytes())
    }

    fn signed(text: &str) -> String {
        crtx_protocol::result_hash::format_signature(&signer().sign(text.as_bytes()).to_bytes())
    }

    fn check_at(service: &SignIn, text: &str, now: DateTime<Utc>) -> Result<Pubkey, String> {
        let checked = service.check(text, &signed(text), now);
        checked.map(|(wallet, _)| wallet).map_err(|error| {
            assert_eq!(error.code, crtx_http::ErrorCode::Unauthorized);
            error.message
        })
    }

    fn client(number: u32) -> Option<IpAddr> {
        Some(IpAddr::V4(number.into()))
    }

    #[test]
    fn one_client_stops_neither_the_sign_ins_of_others_nor_of_the_wallet_that_it_names() {
        let service = here();
        let refused = (0..1_000).filter(|_| service.admit(client(1), Some(wallet())).is_err()).count();
        assert!(refused > 900, "{refused}");
        let error = service.admit(client(1), Some(wallet())).expect_err("too many");
        assert_eq!(error.rate_limit.expect("a limit").policy, PER_WALLET.policy);
        assert_eq!(service.admit(client(2), Some(wallet())), Ok(()), "its owner, elsewhere");
        // Other wallets at the same address have the rest of the address's allowance.
        let other = |number: u8| Pubkey::new_from_array([number; 32]);
        let admitted = (0..200).filter(|number| service.admit(client(1), Some(other(*number))).is_ok()).count();
        assert!((19..=30).contains(&admitted), "{admitted}");
        assert_eq!(service.admit(client(3), Some(other(1))), Ok(()));
    }

    #[test]
    fn the_sessions_of_a_wallet_are_counted_for_the_wallet_alone() {
        let service = here();
        let opened = (0..200).filter(|_| service.admit_session(wallet()).is_ok()).count();
        assert!((60..=70).contains(&opened), "{opened}");
        assert_eq!(service.admit_session(Pubkey::new_from_array([3; 32])), Ok(()));
    }

    #[test]
    fn every_gateway_of_a_deployment_accepts_a_signed_challenge() {
        let now = Utc::now();
        let text = here().challenge(wallet(), now).expect("a challenge").to_string();
        assert_eq!(check_at(&here(), &text, now), Ok(wallet()));
        let again = here().challenge(wallet(), now).expect("a challenge").to_string();
        assert_ne!(text, again, "no two challenges are the same");
    }

    #[test]
    fn a_challenge_of_another_domain_network_or_service_is_refused() {
        let now = Utc::now();
        for (other, expected) in [
            (service("https://evil.example", Cluster::Devnet, 1), "is for `evil.example`"),
            (service("http://api.example", Cluster::Devnet, 1), "is for `api.example`"),
            (service("https://api.example", Cluster::Mainnet, 1), "is for the network `solana:mainnet`"),
            (service("https://api.example", Cluster::Devnet, 2), "is not a challenge of this service"),
        ] {
            let text = other.challenge(wallet(), now).expect("a challenge").to_string();
            let refused = check_at(&here(), &text, now).expect_err("refused");
            assert!(refused.contains(expected), "{refused}");
        }
    }

    #[test]
    fn a_challenge_holds_for_five_minutes() {
        let issued = Utc::now();
        let text = here().challenge(wallet(), issued).expect("a challenge").to_string();
        let at = |offset: TimeDelta| check_at(&here(), &text, issued + offset);
        assert!(at(LIFETIME + CLOCK_SKEW / 2).is_ok());
        assert!(at(-CLOCK_SKEW / 2).is_ok());
        assert!(at(LIFETIME + CLOCK_SKEW * 2).expect_err("late").contains("has expired"));
        assert!(at(-CLOCK_SKEW * 2).expect_err("early").contains("in the future"));
    }

    #[test]
    fn a_field_that_the_service_did_not_write_is_refused() {
        let now = Utc::now();
        let challenge = here().challenge(wallet(), now).expect("a challenge");
        let later = written(now + TimeDelta::days(1));
        let other = Pubkey::new_from_array([3; 32]);
        for altered in [
            SignInMessage { expiration_time: later.clone(), ..challenge.clone() },
            SignInMessage { issued_at: later, ..challenge.clone() },
            SignInMessage { address: other, ..challenge.clone() },
            SignInMessage { nonce: "abcdefgh12345678".to_owned(), ..challenge.clone() },
            SignInMessage { nonce: String::new(), ..challenge.clone() },
            SignInMessage { nonce: "1".repeat(1_000), ..challenge.clone() },
        ] {
            let refused = check_at(&here(), &altered.to_string(), now).expect_err("refused");
            assert!(refused.contains("is not a challenge of this service"), "{refused}");
        }
        let text = challenge.to_string();
        for altered in [text.replace("no money", "money"), format!("{text}\nResources:\n- x"), text.replace('\n', " ")]
        {
            assert!(check_at(&here(), &altered, now).is_err(), "{altered}");
        }
    }

    #[test]
    fn only_the_wallet_of_the_challenge_signs_it() {
        let now = Utc::now();
        let text = here().challenge(wallet(), now).expect("a challenge").to_string();
        let stranger = SigningKey::from_bytes(&[8; 32]).sign(text.as_bytes()).to_bytes();
        let stranger = crtx_protocol::result_hash::format_signature(&stranger);
        for bad in [&*stranger, "", "ed25519:", "ed25519:111", &signed("another text")] {
            let error = here().check(&text, bad, now).expect_err("refused");
            assert!(error.message.contains("`signature`"), "{bad}: {error}");
        }
        // A point of small order is no wallet, whatever it "signs".
        let mut identity = [0; 32];
        identity[0] = 1;
        let text = here().challenge(Pubkey::new_from_array(identity), now).expect("a challenge").to_string();
        let mut forged = [0; 64];
        forged[0] = 1;
        let forged = crtx_protocol::result_hash::format_signature(&forged);
        assert!(here().check(&text, &forged, now).is_err());
    }
}
