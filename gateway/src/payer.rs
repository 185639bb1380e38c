//! The payer of a call. The wallet of an API key hardly ever changes, so the wallets of recently valid keys are cached.
//! Only the look-up of the key decides.

use crtx_http::{ApiError, Caller, ErrorCode};
use moka::future::Cache;
use solana_pubkey::Pubkey;

/// The wallet that pays for a call, and its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Payer {
    pub wallet: Pubkey,
    pub session_key: Pubkey,
}

impl From<&Caller> for Payer {
    fn from(caller: &Caller) -> Self {
        Self { wallet: caller.wallet, session_key: caller.session_key }
    }
}

/// Number of keys whose wallets are cached.
const MOST_KEYS: u64 = 10_000;

/// The wallets of recently valid keys.
pub(crate) struct KnownPayers(Cache<Pubkey, Pubkey>);

impl Default for KnownPayers {
    fn default() -> Self {
        Self(Cache::new(MOST_KEYS))
    }
}

impl KnownPayers {
    /// Notes what the look-up of a key found. The terms of a key that does not hold any more are not read ahead.
    pub async fn note(&self, session_key: &Pubkey, caller: &Result<Caller, ApiError>) {
        match caller {
            Ok(caller) if self.0.get(session_key).await != Some(caller.wallet) => {
                self.0.insert(*session_key, caller.wallet).await;
            }
            Err(error) if error.code == ErrorCode::Unauthorized => self.0.invalidate(session_key).await,
            _ => {}
        }
    }

    pub async fn find(&self, session_key: &Pubkey) -> Option<Payer> {
        let wallet = self.0.get(session_key).await?;
        Some(Payer { wallet, session_key: *session_key })
    }
}
