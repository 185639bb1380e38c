//! The payer of a call. The wallet of an API key hardly ever changes, so the wallets of recently valid keys are cached.
//! Only the look-up of the key decides.

use crtx_http::Caller;
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
    pub async fn remember(&self, caller: &Caller) {
        // A key that was only used may be registered for another wallet.
        if self.0.get(&caller.session_key).await != Some(caller.wallet) {
            self.0.insert(caller.session_key, caller.wallet).await;
        }
    }

    pub async fn find(&self, session_key: &Pubkey) -> Option<Payer> {
        let wallet = self.0.get(session_key).await?;
        Some(Payer { wallet, session_key: *session_key })
    }
}
