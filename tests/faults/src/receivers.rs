//! Receivers of events: each follows the log of one wallet whatever breaks meanwhile, and proves by itself that nothing is
//! missing.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use serde_json::Value;

use crate::{cast::Cast, client::Client};

const EVERY: Duration = Duration::from_millis(200);
const PATIENCE: Duration = Duration::from_secs(3);
const PAGE: usize = 200;

pub struct Receivers(pub Vec<Receiver>);

pub struct Receiver {
    /// Of the cast.
    pub wallet: usize,
    key: String,
    received: Mutex<Received>,
}

/// What one receiver has.
#[derive(Clone, Debug, Default)]
pub struct Received {
    pub events: Vec<Value>,
    /// What breaks the promise of the log.
    pub problems: Vec<String>,
}

impl Receivers {
    /// One for each wallet.
    pub fn of(cast: &Cast) -> Self {
        let receiver = |wallet| Receiver { wallet, key: cast.key_of(wallet), received: Mutex::default() };
        Self((0..cast.wallets.len()).map(receiver).collect())
    }

    /// Reads what is new, again and again. Never returns.
    pub async fn follow(&self, client: &Client, base_urls: &[String]) {
        for round in 0.. {
            for (number, receiver) in self.0.iter().enumerate() {
                receiver.read(client, &base_urls[(round + number) % base_urls.len()]).await;
            }
            tokio::time::sleep(EVERY).await;
        }
    }
}

impl Receiver {
    /// Reads one page of what is new. Whether there was something.
    pub async fn read(&self, client: &Client, base_url: &str) -> bool {
        let after = self.received.lock().unwrap_or_else(PoisonError::into_inner).events.len();
        let page = self.page(client, base_url, after).await;
        let mut received = self.received.lock().unwrap_or_else(PoisonError::into_inner);
        for event in page.iter().flatten() {
            received.take(event.clone());
        }
        page.is_some_and(|events| !events.is_empty())
    }

    /// The events after that number; `None` if the service did not answer.
    pub async fn page(&self, client: &Client, base_url: &str, after: usize) -> Option<Vec<Value>> {
        let url = format!("{base_url}/v1/events?after={after}&limit={PAGE}");
        let reply = client.get(&url, Some(&self.key), PATIENCE).await;
        if reply.status() == Some(400) {
            let mut received = self.received.lock().unwrap_or_else(PoisonError::into_inner);
            received.problems.push(format!("the log lost what a receiver has: {reply:?}"));
        }
        reply.get("events").and_then(Value::as_array).cloned().filter(|_| reply.status() == Some(200))
    }

    pub fn received(&self) -> Received {
        self.received.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Received {
    /// What a receiver checks of each event.
    pub fn take(&mut self, event: Value) {
        let last = self.events.last().map_or(&Value::Null, |last| &last["id"]);
        if event["sequence"].as_u64() != u64::try_from(self.events.len() + 1).ok() || event["previous"] != *last {
            self.problems.push(format!("after {} events, the last one {last}, came {event}", self.events.len()));
        }
        self.events.push(event);
    }
}
