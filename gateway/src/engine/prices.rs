//! What is offered for a compute unit, in millionths of a lamport: the setting on a quiet network, on a busy one what
//! others paid of late. A settlement offers more the nearer its deadline is, because a result that is not settled by
//! then is lost for its creator. Nothing offers more than the setting allows, whatever a node says.
//!
//! A task of its own asks the node. No call waits for the answer, and the setting counts until there is one.

use std::{sync::Arc, time::Duration};

use chrono::Utc;
use crtx_chain::ChainClient;
use moka::sync::Cache;
use solana_pubkey::Pubkey;
use solana_signer::Signer;
use tokio::{sync::Semaphore, time::timeout};

use super::Engine;
use crate::config::Limits;

/// A node is asked about one account at most so often.
const ASK_AGAIN_AFTER: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(2);
/// How long an answer counts if no newer one comes.
const COUNTS_FOR: Duration = Duration::from_secs(30);
/// Requests at the same time. Callers decide which agents are asked about; with more of them, the setting counts for
/// some.
const AT_ONCE: usize = 4;
const ACCOUNTS: u64 = 10_000;
/// In so many of a hundred blocks a transaction got in for the offered price.
const PERCENT: usize = 75;
/// So long before its deadline a settlement begins to offer more, up to the most. It is longer than a transaction needs
/// to expire, so that the last one that is signed in time offers much more.
const HURRY_S: u64 = 100;

pub(crate) struct Prices {
    least: u64,
    most: u64,
    /// What was paid of late, by the account that the transactions write to.
    paid: Cache<Pubkey, u64>,
    asked: Cache<Pubkey, ()>,
    requests: Arc<Semaphore>,
}

impl Prices {
    pub fn new(limits: &Limits) -> Self {
        Self {
            least: limits.compute_unit_price,
            most: limits.highest_unit_price(),
            paid: Cache::builder().max_capacity(ACCOUNTS).time_to_live(COUNTS_FOR).build(),
            asked: Cache::builder().max_capacity(ACCOUNTS).time_to_live(ASK_AGAIN_AFTER).build(),
            requests: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }

    /// Asks a node what was paid for writing to this account, unless it was asked a moment ago.
    fn look(&self, chain: &ChainClient, account: Pubkey) {
        if self.least == self.most || !self.asked.entry(account).or_insert(()).is_fresh() {
            return;
        }
        let Ok(permit) = Arc::clone(&self.requests).try_acquire_owned() else { return };
        let (chain, paid) = (chain.clone(), self.paid.clone());
        tokio::spawn(async move {
            let _permit = permit;
            if let Ok(Ok(prices)) = timeout(PATIENCE, chain.recent_unit_prices(&account)).await {
                let offered = paid.get(&account).unwrap_or(0);
                paid.insert(account, next_offer(offered, usual(prices)));
            }
        });
    }

    /// `seconds_left`: until a deadline.
    fn offer(&self, accounts: [&Pubkey; 2], seconds_left: Option<i64>) -> u64 {
        let paid = accounts.into_iter().filter_map(|account| self.paid.get(account)).max();
        let usual = paid.unwrap_or(0).clamp(self.least, self.most);
        let left = seconds_left.map_or(HURRY_S, |left| u64::try_from(left).unwrap_or(0).min(HURRY_S));
        let hurry = HURRY_S.saturating_sub(left);
        usual.saturating_add(self.most.saturating_sub(usual).saturating_mul(hurry).div_ceil(HURRY_S)).min(self.most)
    }
}

/// What was enough in most blocks.
fn usual(mut prices: Vec<u64>) -> u64 {
    prices.sort_unstable();
    let at = prices.len().saturating_mul(PERCENT).div_ceil(100).saturating_sub(1);
    prices.get(at).copied().unwrap_or(0)
}

/// An answer that is no higher than the last offer may show nothing but this gateway's own transactions. So the offer
/// falls until others pay more.
fn next_offer(offered: u64, paid: u64) -> u64 {
    if paid > offered { paid } else { paid.min(offered.saturating_sub(offered.div_ceil(8))) }
}

impl Engine {
    /// The offer of a transaction about this agent. `deadline_unix_s`: until when it has to land.
    pub(crate) fn unit_price(&self, agent: &Pubkey, deadline_unix_s: Option<i64>) -> u64 {
        self.prices.look(&self.chain, *agent);
        // This machine's clock decides about no more than a fee.
        let left = deadline_unix_s.map(|deadline| deadline.saturating_sub(Utc::now().timestamp()));
        self.prices.offer([agent, &self.config.keypair.pubkey()], left)
    }

    /// The offer of a transaction about an agent that nobody asked about yet. Asks about this gateway's own account.
    pub(crate) fn general_unit_price(&self) -> u64 {
        let payer = self.config.keypair.pubkey();
        self.unit_price(&payer, None)
    }
}

#[cfg(test)]
mod tests {
    use crtx_chain::testing::{FakeRpc, Fault};

    use super::*;

    const AGENT: Pubkey = Pubkey::new_from_array([1; 32]);
    const PAYER: Pubkey = Pubkey::new_from_array([2; 32]);

    fn prices(least: u64, most: u64) -> Prices {
        Prices::new(&Limits { compute_unit_price: least, max_compute_unit_price: most, ..Limits::default() })
    }

    #[test]
    fn the_offer_is_what_others_paid_but_at_least_one_setting_and_at_most_the_other() {
        let prices = prices(10, 1_000);
        let offer = || prices.offer([&AGENT, &PAYER], None);
        assert_eq!(offer(), 10);
        prices.paid.insert(PAYER, 200);
        assert_eq!(offer(), 200, "what was paid for the agent is not known yet");
        for (paid, offered) in [(300, 300), (100, 200), (u64::MAX, 1_000)] {
            prices.paid.insert(AGENT, paid);
            assert_eq!(offer(), offered);
        }
    }

    #[test]
    fn a_settlement_offers_more_the_nearer_its_deadline_is_up_to_the_most() {
        let prices = prices(0, 6_000);
        prices.paid.insert(AGENT, 600);
        let offer = |left| prices.offer([&AGENT, &PAYER], Some(left));
        let offers = [i64::MAX, 120, 100, 50, 10, 0, -5, i64::MIN].map(offer);
        assert_eq!(offers, [600, 600, 600, 3_300, 5_460, 6_000, 6_000, 6_000]);
    }

    #[tokio::test]
    async fn a_node_is_asked_once_in_a_while_and_while_it_is_silent_the_setting_counts_and_nobody_waits() {
        let node = FakeRpc::start().await;
        node.script().fault = Some(Fault::Hang);
        let chain = ChainClient::new(node.url(), Duration::from_secs(10));
        let prices = prices(10, 1_000);
        (0..100).for_each(|_| prices.look(&chain, AGENT));
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(node.script().asked(), 1);
        assert_eq!(prices.offer([&AGENT, &PAYER], None), 10);
        (0..100).for_each(|number| prices.look(&chain, Pubkey::new_from_array([number; 32])));
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(usize::try_from(node.script().asked()), Ok(AT_ONCE), "strangers choose the agents");
    }

    #[tokio::test]
    async fn no_node_is_asked_if_there_is_only_one_price() {
        let node = FakeRpc::start().await;
        let chain = ChainClient::new(node.url(), Duration::from_secs(10));
        prices(500, 0).look(&chain, AGENT);
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(node.script().asked(), 0);
    }

    #[test]
    fn the_setting_counts_if_the_most_is_less() {
        let prices = prices(500, 0);
        prices.paid.insert(AGENT, 9_000);
        assert_eq!(prices.offer([&AGENT, &PAYER], Some(0)), 500);
    }

    #[test]
    fn three_of_four_blocks_let_the_usual_price_in() {
        assert_eq!(usual(vec![]), 0);
        assert_eq!(usual(vec![7]), 7);
        assert_eq!(usual((1..=100).rev().collect()), 75);
        assert_eq!(usual([vec![0; 75], vec![u64::MAX; 25]].concat()), 0);
    }

    #[test]
    fn an_offer_that_nobody_else_reaches_falls() {
        let mut offered = 100_000;
        for _ in 0..100 {
            offered = next_offer(offered, offered);
        }
        assert_eq!(offered, 0);
        assert_eq!((next_offer(800, 800), next_offer(700, 800), next_offer(800, 5)), (700, 800, 5));
    }
}
