//! Limits how many long requests of one wallet and of one client address are received at the same time. A long request
//! takes its place before its body is read, and keeps it until it has been checked, because it takes much more memory
//! once it has been read.
//!
//! Nobody waits for the place of another wallet at another address.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crtx_http::{ApiError, QuotaUnit, RateLimit};
use solana_pubkey::Pubkey;
use tokio::sync::Notify;

const OF_WALLET: u32 = 4;
const OF_ADDRESS: u32 = 8;
/// How long a request waits for a place.
const PATIENCE: Duration = Duration::from_secs(5);
const RETRY_AFTER: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Holder {
    Wallet(Pubkey),
    /// `None`: the address is not known.
    Address(Option<IpAddr>),
}

impl Holder {
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

/// The long requests that this process receives.
pub(crate) struct LargeRequests {
    places: Arc<Places>,
    patience: Duration,
}

impl Default for LargeRequests {
    fn default() -> Self {
        Self { places: Arc::default(), patience: PATIENCE }
    }
}

#[derive(Default)]
struct Places {
    /// At most two entries for each request.
    held: Mutex<HashMap<Holder, u32>>,
    freed: Notify,
}

/// The place of one request. Dropping it frees the place.
pub(crate) struct LargePlace {
    places: Arc<Places>,
    holders: [Holder; 2],
}

impl LargeRequests {
    /// Waits for a place, and answers 429 if none is free in time.
    pub async fn enter(&self, wallet: &Pubkey, address: Option<IpAddr>) -> Result<LargePlace, ApiError> {
        let holders = [Holder::Wallet(*wallet), Holder::Address(address)];
        let turn = async {
            loop {
                let mut freed = std::pin::pin!(self.places.freed.notified());
                freed.as_mut().enable();
                match self.try_enter(holders) {
                    Ok(place) => return place,
                    Err(_) => freed.await,
                }
            }
        };
        match tokio::time::timeout(self.patience, turn).await {
            Ok(place) => Ok(place),
            Err(_) => self.try_enter(holders).map_err(Holder::too_many),
        }
    }

    fn try_enter(&self, holders: [Holder; 2]) -> Result<LargePlace, Holder> {
        let mut held = self.places.lock();
        let full = |holder: &Holder| held.get(holder).is_some_and(|count| *count >= holder.most());
        if let Some(full) = holders.into_iter().find(full) {
            return Err(full);
        }
        for holder in holders {
            let count = held.entry(holder).or_default();
            *count = count.saturating_add(1);
        }
        Ok(LargePlace { places: Arc::clone(&self.places), holders })
    }
}

impl Places {
    /// A panic cannot leave the counts half changed, so poisoning is ignored.
    fn lock(&self) -> MutexGuard<'_, HashMap<Holder, u32>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for LargePlace {
    fn drop(&mut self) {
        let mut held = self.places.lock();
        for holder in self.holders {
            if let Some(count) = held.get_mut(&holder) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    held.remove(&holder);
                }
            }
        }
        drop(held);
        self.places.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
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
        assert!(requests.places.lock().is_empty());
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
