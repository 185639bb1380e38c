//! Who may have a document examined before it is published. Its schemas are work that a stranger defines, and wallets are
//! free, so the allowance is taken before the work, whatever becomes of the document.

use std::{net::IpAddr, time::Duration};

use crtx_http::{
    ApiError,
    allowance::{AddressAllowances, Allowances, Rate},
};
use solana_pubkey::Pubkey;

use crate::admission::turns::{Policies, Turn, TurnSubject, Turns};

const MINUTE: Duration = Duration::from_secs(60);
/// Documents of one wallet, and of one client address, in one process.
const PER_WALLET: Rate = Rate { policy: "documents-per-wallet", burst: 30, quota: 30, window: MINUTE };
const PER_ADDRESS: Rate = Rate { policy: "documents-per-address", burst: 60, quota: 60, window: MINUTE };
const ONE_AT_A_TIME: Policies = Policies {
    what: "examinations of documents",
    wallet: ("documents-at-once-per-wallet", 1),
    address: ("documents-at-once-per-address", 1),
    host: ("documents-at-once-per-host", 1),
    patience: Duration::ZERO,
    retry_after: Duration::from_secs(1),
};

/// Admits documents.
pub(crate) struct Examinations {
    turns: Turns,
    wallets: Allowances<Pubkey>,
    addresses: AddressAllowances,
}

impl Examinations {
    pub fn new() -> Self {
        Self {
            turns: Turns::new(ONE_AT_A_TIME),
            wallets: Allowances::new(PER_WALLET),
            addresses: AddressAllowances::new(PER_ADDRESS),
        }
    }

    /// Takes one document of the wallet and the client, before it is read, or answers 429.
    pub fn admit(&self, wallet: Pubkey, client: Option<IpAddr>) -> Result<(), ApiError> {
        self.wallets.take(wallet, "documents of this wallet")?;
        self.addresses.take(client, "documents from this address")
    }

    /// Takes their turn for a document that is there, or answers 429.
    pub async fn begin(&self, wallet: Pubkey, client: Option<IpAddr>) -> Result<Turn, ApiError> {
        self.turns.take(TurnSubject::of(wallet, client)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy<T>(refused: Result<T, ApiError>) -> Option<&'static str> {
        refused.err().and_then(|error| error.rate_limit).map(|limit| limit.policy)
    }

    #[tokio::test]
    async fn a_wallet_and_an_address_have_one_document_at_a_time_and_few_in_a_minute() {
        let examinations = Examinations::new();
        let wallet = |number| Pubkey::new_from_array([number; 32]);
        let client = |number: u32| Some(IpAddr::V4(number.into()));
        let first = examinations.begin(wallet(0), client(0)).await.expect("free");
        assert_eq!(policy(examinations.begin(wallet(0), client(1)).await), Some(ONE_AT_A_TIME.wallet.0));
        for free in 1..5 {
            assert_eq!(policy(examinations.begin(wallet(free), client(0)).await), Some(ONE_AT_A_TIME.address.0));
        }
        assert!(examinations.begin(wallet(1), client(1)).await.is_ok(), "others are not stopped");
        drop(first);
        let of_wallet = (0..200).filter(|number| examinations.admit(wallet(2), client(100 + number)).is_ok()).count();
        assert!((30..40).contains(&of_wallet), "{of_wallet}");
        let of_client = (10..200).filter(|number| examinations.admit(wallet(*number), client(2)).is_ok()).count();
        assert!((60..70).contains(&of_client), "{of_client}");
    }
}
