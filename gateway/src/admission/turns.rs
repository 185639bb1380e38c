//! How much of one kind of work a wallet, a client and a host may have under way at a time, so that nobody takes the
//! permits of others. Who has as much is refused, or waits for a moment.

use std::{net::IpAddr, time::Duration};

use crtx_http::{ApiError, QuotaUnit, RateLimit, allowance::holder_of};
use solana_pubkey::Pubkey;

use super::permits::{Permit, Permits};

/// For whom, or to whom, the work is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TurnSubject {
    Wallet(Pubkey),
    /// `None`: the address is not known.
    Address(Option<IpAddr>),
    Host(String),
}

/// One kind of work: the name of the limit of each subject, and how much it may have under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policies {
    /// The work, in the plural.
    pub what: &'static str,
    pub wallet: (&'static str, u32),
    pub address: (&'static str, u32),
    pub host: (&'static str, u32),
    /// How long work waits for its turn.
    pub patience: Duration,
    pub retry_after: Duration,
}

/// Long requests of calls. One takes its turn before its body is read, and keeps it until it has been checked, because it
/// takes much more memory once it has been read.
pub(crate) const LARGE_REQUESTS: Policies = Policies {
    what: "large requests",
    wallet: ("large-requests-per-wallet", 4),
    address: ("large-requests-per-address", 8),
    host: ("large-requests-per-host", 0),
    patience: Duration::from_secs(5),
    retry_after: Duration::from_secs(1),
};

/// The turn of its subjects. Ends when it is dropped.
pub(crate) type Turn = Permit<TurnSubject>;

/// Who has work under way.
pub(crate) struct Turns {
    policies: Policies,
    under_way: Permits<TurnSubject>,
}

impl TurnSubject {
    /// The wallet of a request, and its client if it is known: an IPv4 address, or the site of an IPv6 address.
    pub fn of(wallet: Pubkey, client: Option<IpAddr>) -> Vec<Self> {
        let address = client.map(|client| Self::Address(Some(holder_of(client))));
        std::iter::once(Self::Wallet(wallet)).chain(address).collect()
    }
}

impl Turns {
    pub fn new(policies: Policies) -> Self {
        Self { policies, under_way: Permits::default() }
    }

    /// Takes the turn of all subjects, or answers 429 and takes none.
    pub async fn take(&self, subjects: Vec<TurnSubject>) -> Result<Turn, ApiError> {
        let most = |subject: &TurnSubject, _: &_| self.limit(subject).1;
        let turn = self.under_way.wait(self.policies.patience, subjects, most).await;
        turn.map_err(|subject| {
            let ((policy, quota), Policies { what, retry_after, .. }) = (self.limit(&subject), self.policies);
            let whose = match subject {
                TurnSubject::Wallet(_) => "of this wallet",
                TurnSubject::Address(_) => "from this address",
                TurnSubject::Host(_) => "of this host",
            };
            let limit = RateLimit { policy, quota, unit: QuotaUnit::Concurrent };
            let message = format!("{what} {whose} are under way; try again when they have ended");
            ApiError::rate_limited(message, limit, retry_after)
        })
    }

    const fn limit(&self, subject: &TurnSubject) -> (&'static str, u32) {
        match subject {
            TurnSubject::Wallet(_) => self.policies.wallet,
            TurnSubject::Address(_) => self.policies.address,
            TurnSubject::Host(_) => self.policies.host,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    const POLICIES: Policies = Policies {
        what: "tests",
        wallet: ("w", 1),
        address: ("a", 1),
        host: ("h", 1),
        patience: Duration::ZERO,
        retry_after: Duration::from_secs(1),
    };

    fn wallet(number: u8) -> Pubkey {
        Pubkey::new_from_array([number; 32])
    }

    fn policy(refused: Result<Turn, ApiError>) -> Option<&'static str> {
        refused.err().and_then(|error| error.rate_limit).map(|limit| limit.policy)
    }

    #[tokio::test]
    async fn each_subject_has_one_turn_at_a_time_and_a_refusal_takes_none() {
        let turns = Turns::new(POLICIES);
        let ask = async |number, client: &str| {
            turns.take(TurnSubject::of(wallet(number), Some(client.parse().expect("address")))).await
        };
        let first = ask(1, "2001:db8:1:1::1").await.expect("free");
        assert_eq!(policy(ask(1, "192.0.2.1").await), Some("w"));
        assert_eq!(policy(ask(2, "2001:db8:1:2::1").await), Some("a"), "a site has many networks");
        let second = ask(2, "192.0.2.1").await.expect("the refusals took nothing");
        assert!(turns.take(vec![TurnSubject::Host("h".to_owned())]).await.is_ok());
        drop((first, second));
        assert!(ask(1, "192.0.2.1").await.is_ok());
    }

    async fn enter(requests: &Turns, who: u8, from: u8) -> Result<Turn, ApiError> {
        let address = Some(IpAddr::from([192, 0, 2, from]));
        requests.take(vec![TurnSubject::Wallet(wallet(who)), TurnSubject::Address(address)]).await
    }

    #[tokio::test]
    async fn a_wallet_and_an_address_have_their_own_places_and_nobody_takes_those_of_others() {
        let requests = Turns::new(Policies { patience: Duration::from_millis(20), ..LARGE_REQUESTS });
        let mut permits = Vec::new();
        for number in 0..4 {
            permits.push(enter(&requests, 1, number).await.expect("free"));
        }
        assert_eq!(policy(enter(&requests, 1, 9).await), Some("large-requests-per-wallet"));
        for number in 10..18 {
            permits.push(enter(&requests, number, 50).await.expect("free"));
        }
        assert_eq!(policy(enter(&requests, 30, 50).await), Some("large-requests-per-address"));
        assert!(enter(&requests, 30, 51).await.is_ok());
        drop(permits);
        assert_eq!(requests.under_way.count(&TurnSubject::Wallet(wallet(1))), 0);
    }

    #[tokio::test]
    async fn a_request_waits_for_a_place_that_becomes_free() {
        let requests = Arc::new(Turns::new(LARGE_REQUESTS));
        let mut permits = Vec::new();
        for number in 0..4 {
            permits.push(enter(&requests, 1, number).await.expect("free"));
        }
        let waiting = tokio::spawn({
            let requests = Arc::clone(&requests);
            async move { enter(&requests, 1, 9).await.is_ok() }
        });
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!waiting.is_finished());
        permits.pop();
        assert!(waiting.await.expect("joined"));
    }
}
