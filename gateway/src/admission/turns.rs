//! Work that strangers ask for and that has few places: for each wallet, client and host one at a time, so that nobody
//! takes the places of others.

use std::{net::IpAddr, time::Duration};

use crtx_http::{ApiError, QuotaUnit, RateLimit, allowance::holder_of};
use solana_pubkey::Pubkey;

use super::places::{Place, Places};

/// For whom, or to whom, the work is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Subject {
    Wallet(Pubkey),
    /// An IPv4 address, or the site of an IPv6 address.
    Address(IpAddr),
    Host(String),
}

/// Names of the limits in answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policies {
    /// The work, such as "a test".
    pub what: &'static str,
    pub wallet: &'static str,
    pub address: &'static str,
    pub host: &'static str,
    pub retry_after: Duration,
}

/// The turn of its subjects. Ends when it is dropped.
pub(crate) type Turn = Place<Subject>;

/// Who has work under way.
pub(crate) struct Turns {
    policies: Policies,
    under_way: Places<Subject>,
}

impl Subject {
    /// The wallet and the client of a request.
    pub fn of(wallet: Pubkey, client: Option<IpAddr>) -> Vec<Self> {
        let address = client.map(|client| Self::Address(holder_of(client)));
        std::iter::once(Self::Wallet(wallet)).chain(address).collect()
    }
}

impl Turns {
    pub fn new(policies: Policies) -> Self {
        Self { policies, under_way: Places::default() }
    }

    /// Takes the turn of all subjects, or answers 429 and takes none.
    pub fn take(&self, subjects: Vec<Subject>) -> Result<Turn, ApiError> {
        self.under_way.take(subjects, |_, _| 1).map_err(|subject| self.busy(&subject))
    }

    fn busy(&self, subject: &Subject) -> ApiError {
        let Policies { what, wallet, address, host, retry_after } = self.policies;
        let (policy, whose) = match subject {
            Subject::Wallet(_) => (wallet, "of this wallet"),
            Subject::Address(_) => (address, "from this address"),
            Subject::Host(_) => (host, "of this host"),
        };
        let limit = RateLimit { policy, quota: 1, unit: QuotaUnit::Concurrent };
        let message = format!("{what} {whose} is under way; try again when it has ended");
        ApiError::rate_limited(message, limit, retry_after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICIES: Policies =
        Policies { what: "a test", wallet: "w", address: "a", host: "h", retry_after: Duration::from_secs(1) };

    #[test]
    fn each_subject_has_one_turn_at_a_time_and_a_refusal_takes_none() {
        let turns = Turns::new(POLICIES);
        let wallet = |number| Pubkey::new_from_array([number; 32]);
        let ask =
            |number, client: &str| turns.take(Subject::of(wallet(number), Some(client.parse().expect("address"))));
        let policy =
            |refused: Result<Turn, ApiError>| refused.err().and_then(|error| error.rate_limit).map(|l| l.policy);
        let first = ask(1, "2001:db8:1:1::1").expect("free");
        assert_eq!(policy(ask(1, "192.0.2.1")), Some("w"));
        assert_eq!(policy(ask(2, "2001:db8:1:2::1")), Some("a"), "a site has many networks");
        let second = ask(2, "192.0.2.1").expect("the refusals took nothing");
        assert!(turns.take(vec![Subject::Host("h".to_owned())]).is_ok());
        drop((first, second));
        assert!(ask(1, "192.0.2.1").is_ok());
    }
}
