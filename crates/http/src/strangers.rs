//! What credentials cost that are unknown or hold no longer. Each look-up reads the database, and anybody can make up
//! credentials, so a client has a rate of look-ups that find nothing. A credential that was good a moment ago is outside of
//! that rate: its owner is not stopped by others at the same address. A credential that was refused a moment ago is refused
//! again without a look-up.

use std::{net::IpAddr, time::Duration};

use crtx_protocol::api_key::KeyNetwork;
use crtx_store::sessions::SessionKind;
use moka::sync::Cache;
use solana_pubkey::Pubkey;

use crate::{
    allowance::{AddressAllowances, Allowances, Rate},
    error::{ApiError, ErrorCode},
};

/// Credentials that are remembered, of each kind.
const MOST: u64 = 10_000;
/// How long a refusal is repeated. A key that another process registers in this time works a moment later.
const REFUSED_FOR: Duration = Duration::from_secs(1);
const GOOD_FOR: Duration = Duration::from_secs(3_600);
const MINUTE: Duration = Duration::from_secs(60);
/// Look-ups of credentials that are not known to be good: of one client, and of all.
const PER_ADDRESS: Rate = Rate { policy: "unknown-credentials-per-address", burst: 100, quota: 600, window: MINUTE };
const IN_ALL: Rate = Rate { policy: "unknown-credentials", burst: 2_000, quota: 30_000, window: MINUTE };
const WHAT: &str = "requests from this address with credentials that are not known";

/// A credential without its secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CredentialName {
    /// A key of that network.
    Key {
        session_public_key: Pubkey,
        network: KeyNetwork,
    },
    Session {
        token_hash: [u8; 32],
        kind: SessionKind,
    },
}

/// The credentials that clients presented lately, in this process.
pub struct Strangers {
    good: Cache<CredentialName, ()>,
    refused: Cache<CredentialName, ApiError>,
    addresses: AddressAllowances,
    all: Allowances<()>,
}

impl Default for Strangers {
    fn default() -> Self {
        Self {
            good: Cache::builder().max_capacity(MOST).time_to_live(GOOD_FOR).build(),
            refused: Cache::builder().max_capacity(MOST).time_to_live(REFUSED_FOR).build(),
            addresses: AddressAllowances::new(PER_ADDRESS),
            all: Allowances::new(IN_ALL),
        }
    }
}

impl Strangers {
    /// Whether the credential may be looked up: 429 if the client has presented too many that are not known, and the
    /// refusal of a moment ago.
    pub fn admit(&self, credential: &CredentialName, client: Option<IpAddr>) -> Result<(), ApiError> {
        if let Some(refusal) = self.refused.get(credential) {
            return Err(refusal);
        }
        if self.good.contains_key(credential) {
            return Ok(());
        }
        self.addresses.take(client, WHAT)?;
        self.all.take((), "requests with credentials that are not known")
    }

    /// Notes what a look-up found.
    pub fn note<T>(&self, credential: &CredentialName, found: &Result<T, ApiError>) {
        match found {
            Ok(_) if !self.good.contains_key(credential) => self.good.insert(*credential, ()),
            Err(error) if error.code == ErrorCode::Unauthorized => {
                self.good.invalidate(credential);
                self.refused.insert(*credential, error.clone());
            }
            _ => {}
        }
    }

    /// The credential may be good from now on.
    pub fn forget(&self, credential: &CredentialName) {
        self.refused.invalidate(credential);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(number: u32) -> CredentialName {
        let mut bytes = [0; 32];
        bytes[..4].copy_from_slice(&number.to_be_bytes());
        CredentialName::Session { token_hash: bytes, kind: SessionKind::Bearer }
    }

    fn client(number: u32) -> Option<IpAddr> {
        Some(IpAddr::V4(number.into()))
    }

    fn refusal() -> Result<(), ApiError> {
        Err(ApiError::unauthorized("the API key is not known"))
    }

    /// Presents a credential that a look-up does not find; whether it was looked up.
    fn present(strangers: &Strangers, number: u32, from: u32) -> bool {
        let admitted = strangers.admit(&name(number), client(from)).is_ok();
        if admitted {
            strangers.note(&name(number), &refusal());
        }
        admitted
    }

    #[test]
    fn a_credential_that_was_refused_is_not_looked_up_again_for_a_moment() {
        let strangers = Strangers::default();
        assert!(present(&strangers, 1, 1));
        for _ in 0..1_000 {
            assert_eq!(strangers.admit(&name(1), client(1)), refusal(), "a refusal from memory costs nothing");
        }
        assert_eq!(strangers.admit(&name(2), client(1)), Ok(()), "another credential is looked up");
        strangers.forget(&name(1));
        assert_eq!(strangers.admit(&name(1), client(1)), Ok(()), "a key that is registered works at once");
    }

    #[test]
    fn a_client_with_many_unknown_credentials_is_limited_and_stops_no_good_one() {
        let strangers = Strangers::default();
        assert_eq!(strangers.admit(&name(0), client(1)), Ok(()));
        strangers.note(&name(0), &Ok(()));
        let looked_up = (1..2_000).filter(|number| present(&strangers, *number, 1)).count();
        assert!((99..150).contains(&looked_up), "{looked_up}");
        let error = strangers.admit(&name(9_999), client(1)).expect_err("refused");
        assert_eq!(
            (error.code, error.rate_limit.expect("a limit").policy),
            (ErrorCode::RateLimited, PER_ADDRESS.policy)
        );
        assert!(error.retry_after.is_some());
        assert_eq!(strangers.admit(&name(0), client(1)), Ok(()), "a good key at the same address");
        assert_eq!(strangers.admit(&name(9_999), client(2)), Ok(()), "another address");
    }

    #[test]
    fn many_addresses_together_are_limited_too() {
        let strangers = Strangers::default();
        let looked_up = (0..20_000).filter(|number| present(&strangers, *number, number / 50)).count();
        assert!((2_000..6_000).contains(&looked_up), "{looked_up}");
    }

    #[test]
    fn a_key_that_is_revoked_is_no_good_one_any_more() {
        let strangers = Strangers::default();
        strangers.note(&name(1), &Ok(()));
        strangers.note(&name(1), &refusal());
        assert_eq!(strangers.admit(&name(1), client(1)), refusal());
        strangers.note::<()>(&name(2), &Err(ApiError::unavailable("no database")));
        assert_eq!(strangers.admit(&name(2), client(1)), Ok(()), "an outage refuses nobody");
    }
}
