//! Denial of service: attacks on a marketplace, and what its other users observe.
//!
//! A [`Bystander`] makes paid calls with its own wallet and requests `/healthz`, first without an attack and then
//! under each attack. [`Bystander::compare`] decides whether it was harmed.

pub mod bombs;
pub mod bystander;
pub mod entrance;
pub mod site;
pub mod sockets;
pub mod trial;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::body::Bytes;
use serde_json::Value;
use tokio::task::JoinSet;

use crate::client::Client;

pub use bystander::{Bystander, Measured};
pub use entrance::Entrance;
pub use site::Site;
pub use trial::{Trial, WARM_UP};

/// Longest wait of an attacker for an answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// An attack in progress. Dropping it ends the attack.
pub struct Attack {
    _clients: JoinSet<()>,
    /// How often the attackers got each status.
    answers: Arc<Answers>,
}

type Answers = Mutex<BTreeMap<String, u64>>;

impl Attack {
    /// Starts `clients` clients. Each of them repeats `work`.
    pub fn of<F, W>(clients: usize, work: F) -> Self
    where
        F: Fn(usize) -> W + Clone + Send + 'static,
        W: Future<Output = ()> + Send + 'static,
    {
        let mut tasks = JoinSet::new();
        for client in 0..clients {
            let work = work.clone();
            tasks.spawn(async move {
                loop {
                    work(client).await;
                    // The pause stands for the network between a client and the service.
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            });
        }
        Self { _clients: tasks, answers: Arc::default() }
    }

    /// Calls agents repeatedly.
    pub fn calls(clients: usize, base_url: &str, api_key: &str, calls: Vec<(String, Value)>) -> Self {
        let http = Client::new().expect("a client");
        let call = |(agent, body): (String, Value)| {
            (format!("{base_url}/v1/agents/{agent}/execute"), Bytes::from(body.to_string()))
        };
        let (api_key, calls): (Arc<str>, Arc<[_]>) = (api_key.into(), calls.into_iter().map(call).collect());
        let answers = Arc::<Answers>::default();
        let counted = Arc::clone(&answers);
        let attack = Self::of(clients, move |client| {
            let (http, api_key, calls, counted) =
                (http.clone(), Arc::clone(&api_key), Arc::clone(&calls), Arc::clone(&counted));
            async move {
                let (url, body) = &calls[client % calls.len()];
                count(&counted, http.discard(url, Some(&api_key), Some(body.clone()), PATIENCE).await);
            }
        });
        Self { answers, ..attack }
    }

    /// Requests URLs repeatedly; each client requests one of them.
    pub fn reads(clients: usize, urls: Vec<(String, Option<String>)>) -> Self {
        let http = Client::new().expect("a client");
        let urls: Arc<[_]> = urls.into();
        let answers = Arc::<Answers>::default();
        let counted = Arc::clone(&answers);
        let attack = Self::of(clients, move |client| {
            let (http, urls, counted) = (http.clone(), Arc::clone(&urls), Arc::clone(&counted));
            async move {
                let (url, api_key) = &urls[client % urls.len()];
                count(&counted, http.discard(url, api_key.as_deref(), None, PATIENCE).await);
            }
        });
        Self { answers, ..attack }
    }

    /// The statuses that the attackers got, and how often. Empty if the attack sends no complete requests.
    pub fn answers(&self) -> String {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.iter().map(|(status, times)| format!("{status} × {times}")).collect::<Vec<_>>().join(", ")
    }
}

fn count(answers: &Answers, status: Option<u16>) {
    let status = status.map_or_else(|| "no answer".to_owned(), |status| status.to_string());
    let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
    let times = answers.entry(status).or_default();
    *times = times.saturating_add(1);
}
