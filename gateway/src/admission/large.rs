//! Limits how many long requests of one wallet and of one client address are received at the same time. A long request
//! takes its place before its body is read, and keeps it until it has been checked, because it takes much more memory
//! once it has been read.
//!
//! Nobody waits for the place of another wallet at another address.

use std::{net::IpAddr, time::Duration};

use crtx_http::{ApiError, QuotaUnit, RateLimit};
use solana_pubkey::Pubkey;

use super::places::{Place, Places};

const OF_WALLET: u32 = 4;
const OF_ADDRESS: u32 = 8;
/// How long a request waits for a place.
const PATIENCE: Duration = Duration::from_secs(5);
const RETRY_AFTER: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LargeHolder {
    Wallet(Pubkey),
    /// `None`: the address is not known.
    Address(Option<IpAddr>),
}

impl LargeHolder {
    const fn most(self) -> u32 {
        match self {
            Self::Wallet(_) => OF_WALLET,
            Self::Address(_) => OF_ADDRESS,
        }
    }

    fn too_many(self) -> ApiError {
        let (whose, policy) = match self {
            Self::Wallet(_) => ("of this wallet", "large-requests-per-wallet"),
            Self::Address(_) => ("from this address", "large-requests-per-address"),
        };
        let limit = RateLimit { policy, quota: self.most(), unit: QuotaUnit::Concurrent };
        let message = format!("too many large requests {whose} arrive at the same time; try again later");
        ApiError::rate_limited(message, limit, RETRY_AFTER)
    }
}

/// The place of one request. Dropping it frees the place.
pub(crate) type LargePlace = Place<LargeHolder>;

/// The long requests that this process receives.
pub(crate) struct LargeRequests {
    places: Places<LargeHolder>,
    patience: Duration,
}

impl Default for LargeRequests {
    fn default() -> Self {
        Self { places: Places::default(), patience: PATIENCE }
    }
}

impl LargeRequests {
    /// Waits for a place, and answers 429 if none is free in time.
    pub async fn enter(&self, wallet: &Pubkey, address: Option<IpAddr>) -> Result<LargePlace, ApiError> {
        let holders = vec![LargeHolder::Wallet(*wallet), LargeHolder::Address(address)];
        let place = self.places.wait(self.patience, holders, |holder, _| holder.most()).await;
        place.map_err(LargeHolder::too_many)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn wallet(number: u8) -> Pubkey {
        Pubkey::new_from_array([number; 32])
    }

    fn address(number: u8) -> Option<IpAddr> {
        Some(IpAddr::from([192, 0, 2, number]))
    }

    async fn enter(requests: &LargeRequests, who: u8, from: u8) -> Result<LargePlace, ApiError> {
        requests.enter(&wallet(who), address(from)).await
    }

    #[tokio::test]
    async fn a_wallet_and_an_address_have_their_own_places_and_nobody_takes_those_of_others() {
        let requests = LargeRequests { patience: Duration::from_millis(20), ..LargeRequests::default() };
        let mut places = Vec::new();
        for number in 0..4 {
            places.push(enter(&requests, 1, number).await.expect("free"));
        }
        let refused = enter(&requests, 1, 9).await.err().expect("the wallet has four");
        assert_eq!(refused.code, crtx_http::ErrorCode::RateLimited);
        assert_eq!(refused.rate_limit.expect("a limit").policy, "large-requests-per-wallet");
        for number in 10..18 {
            places.push(enter(&requests, number, 50).await.expect("free"));
        }
        let refused = enter(&requests, 30, 50).await.err().expect("the address has eight");
        assert_eq!(refused.rate_limit.expect("a limit").policy, "large-requests-per-address");
        assert!(enter(&requests, 30, 51).await.is_ok());
        drop(places);
        assert_eq!(requests.places.count(&LargeHolder::Wallet(wallet(1))), 0);
    }

    #[tokio::test]
    async fn a_request_waits_for_a_place_that_becomes_free() {
        let requests = Arc::new(LargeRequests::default());
        let mut places = Vec::new();
        for number in 0..4 {
            places.push(enter(&requests, 1, number).await.expect("free"));
        }
        let waiting = tokio::spawn({
            let requests = Arc::clone(&requests);
            async move { enter(&requests, 1, 9).await.is_ok() }
        });
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!waiting.is_finished());
        places.pop();
        assert!(waiting.await.expect("joined"));
    }
}
