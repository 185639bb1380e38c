//! Webhooks: sends the events of wallets to the targets that they name, by Standard Webhooks 1.0.

mod deliver;
mod seals;
mod send;

use std::{future::Future, time::Duration};

use crtx_http::{
    allowance::{Allowances, Rate},
    outbound::Outbound,
};
use moka::sync::Cache;
use reqwest::Client;
use solana_pubkey::Pubkey;
use tokio::sync::Semaphore;

pub(crate) use self::{deliver::deliver, seals::Seals};
use crate::{admission::permits::Permits, error::GatewayError, keys::GatewayKeys};

const MINUTE: Duration = Duration::from_secs(60);
/// Requests of one wallet about its webhooks.
const REQUESTS: Rate = Rate { policy: "webhook-requests-per-wallet", burst: 60, quota: 120, window: MINUTE };
/// Of those, requests that send something, or that look through the log.
const TESTS: Rate = Rate { policy: "webhook-tests-per-wallet", burst: 10, quota: 20, window: MINUTE };
/// Tests that this process sends at the same time.
const TESTS_AT_ONCE: usize = 64;
/// Connections to the database that deliveries use: calls need the others.
const CONNECTIONS: usize = 2;
/// Hosts that answered well of late.
const KNOWN_HOSTS: u64 = 10_000;
const KNOWN_FOR: Duration = Duration::from_secs(600);

/// What deliveries need.
pub(crate) struct Webhooks {
    pub outbound: Outbound,
    pub seals: Seals,
    pub requests: Allowances<Pubkey>,
    pub tests: Allowances<Pubkey>,
    pub tests_at_once: Semaphore,
    http: Client,
    /// The circuit breaker: a host whose last answer was a success. A webhook sends one event at a time to any other.
    good: Cache<String, ()>,
    /// What is on its way to each host.
    hosts: Permits<String>,
    connections: Semaphore,
}

impl Webhooks {
    pub fn new(outbound: Outbound, keys: GatewayKeys) -> Result<Self, GatewayError> {
        Ok(Self {
            http: outbound.client(send::TIMEOUT)?,
            outbound,
            seals: Seals::new(keys),
            requests: Allowances::new(REQUESTS),
            tests: Allowances::new(TESTS),
            tests_at_once: Semaphore::new(TESTS_AT_ONCE),
            good: Cache::builder().max_capacity(KNOWN_HOSTS).time_to_live(KNOWN_FOR).build(),
            hosts: Permits::default(),
            connections: Semaphore::new(CONNECTIONS),
        })
    }

    /// Asks the database when it is this question's turn.
    async fn ask<T>(&self, question: impl Future<Output = T>) -> T {
        let _turn = self.connections.acquire().await;
        question.await
    }
}
