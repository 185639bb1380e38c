//! Denial of service: what strangers do to a marketplace, and what its other users notice meanwhile.
//!
//! A [`Bystander`] makes paid calls with a wallet of its own and asks for `/healthz`, first while nothing
//! else happens and then under each attack; [`Bystander::compare`] says whether it was harmed.

pub mod bombs;
pub mod bystander;
pub mod site;
pub mod sockets;

use std::{sync::Arc, time::Duration};

use serde_json::Value;
use tokio::task::JoinSet;

use crate::client::{Client, Execute, Reply};

pub use bystander::{Bystander, Measured};
pub use site::Site;

/// An attack under way. It ends when this is dropped.
pub struct Attack {
    _clients: JoinSet<()>,
}

impl Attack {
    /// `clients` of them at once, each doing `work` again and again.
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
                    // A client that is refused at once still has a network between it and the service.
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            });
        }
        Self { _clients: tasks }
    }

    /// Calls agents again and again.
    pub fn calls(clients: usize, base_url: &str, api_key: &str, calls: Vec<(String, Value)>) -> Self {
        let http = Client::new().expect("a client");
        let (base_url, api_key, calls): (Arc<str>, Arc<str>, Arc<[_]>) =
            (base_url.into(), api_key.into(), calls.into());
        Self::of(clients, move |client| {
            let (http, base_url, api_key, calls) =
                (http.clone(), Arc::clone(&base_url), Arc::clone(&api_key), Arc::clone(&calls));
            async move {
                let (agent, body) = &calls[client % calls.len()];
                let call = Execute {
                    base_url: &base_url,
                    api_key: &api_key,
                    agent,
                    body,
                    idempotency_key: None,
                    patience: Duration::from_secs(30),
                };
                let _: Reply = http.execute(&call).await;
            }
        })
    }

    /// Asks for URLs again and again, each client for one of them.
    pub fn reads(clients: usize, urls: Vec<(String, Option<String>)>) -> Self {
        let http = Client::new().expect("a client");
        let urls: Arc<[_]> = urls.into();
        Self::of(clients, move |client| {
            let (http, urls) = (http.clone(), Arc::clone(&urls));
            async move {
                let (url, api_key) = &urls[client % urls.len()];
                let _: Reply = http.get(url, api_key.as_deref(), Duration::from_secs(30)).await;
            }
        })
    }
}
