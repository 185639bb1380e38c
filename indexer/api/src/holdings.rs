//! Reads from the chain what wallets hold and approve. Anybody may ask for any wallet, and each question costs a request to
//! an RPC node. So the number of questions is limited, and answers are kept for a moment.

use std::{net::IpAddr, time::Duration};

use crtx_chain::{
    ChainClient,
    token::{TokenAccount, associated_token_address},
};
use crtx_http::{
    ApiError,
    allowance::{AddressAllowances, Allowances, Rate},
};
use crtx_protocol::{address::Addresses, usdc::UsdcBase};
use solana_pubkey::Pubkey;
use tokio::{sync::Semaphore, time::timeout};

use crate::{deployment::Deployment, kept::Kept};

/// Longest wait for the chain. The rest of the answer does not need it.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long an answer is kept.
const AGE: Duration = Duration::from_secs(2);
const MAX_KEPT: u64 = 4_096;
/// Requests to the RPC node at a time, and their rate: of one client, and of all.
const AT_ONCE: usize = 8;
const MINUTE: Duration = Duration::from_secs(60);
const PER_CLIENT: Rate = Rate { policy: "balances-per-address", burst: 60, quota: 120, window: MINUTE };
const IN_ALL: Rate = Rate { policy: "balances", burst: 200, quota: 1_200, window: MINUTE };

/// What the associated USDC account of a wallet says. A wallet without one has nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holding {
    pub holding: UsdcBase,
    /// What the wallet's spender address may move.
    pub approved: UsdcBase,
}

/// Reads holdings.
pub struct Holdings {
    chain: ChainClient,
    addresses: Addresses,
    places: Semaphore,
    clients: AddressAllowances,
    all: Allowances<()>,
    kept: Kept<Pubkey, Holding>,
}

impl Holdings {
    pub fn new(deployment: &Deployment) -> Self {
        Self {
            chain: ChainClient::of_urls(&deployment.rpc_urls, PATIENCE),
            addresses: deployment.addresses,
            places: Semaphore::new(AT_ONCE),
            clients: AddressAllowances::new(PER_CLIENT),
            all: Allowances::new(IN_ALL),
            kept: Kept::new(MAX_KEPT),
        }
    }

    /// What a wallet holds of `mint`. `None` if the chain does not answer in time, or is asked too often.
    pub async fn of(&self, wallet: Pubkey, mint: Pubkey, client: Option<IpAddr>) -> Option<Holding> {
        if let Some(holding) = self.kept.known(&wallet).await {
            return Some(holding);
        }
        self.clients.take(client, "balances").and_then(|()| self.all.take((), "balances")).ok()?;
        let read = async {
            let _place = self.places.acquire().await.map_err(ApiError::internal)?;
            self.read(&wallet, &mint).await
        };
        let reading = async {
            let holding = timeout(PATIENCE, read).await.map_err(ApiError::unavailable)??;
            Ok((holding, AGE))
        };
        self.kept.get(wallet, reading).await.ok()
    }

    async fn read(&self, wallet: &Pubkey, mint: &Pubkey) -> Result<Holding, ApiError> {
        let address = associated_token_address(wallet, mint);
        let account = self.chain.account(&address).await.map_err(ApiError::unavailable)?.value;
        let account = account.and_then(|account| TokenAccount::decode(&account).ok()).filter(|a| a.owner == *wallet);
        let spender = self.addresses.spender(wallet);
        let approved = account.and_then(|account| account.delegate).filter(|(delegate, _)| *delegate == spender);
        Ok(Holding {
            holding: UsdcBase(account.map_or(0, |account| account.amount)),
            approved: UsdcBase(approved.map_or(0, |(_, amount)| amount)),
        })
    }
}
