//! An RPC node with moods, in front of the real one: what it does to requests can be changed at any time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::Result;
use axum::{
    Json, Router,
    body::Bytes,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};

/// Longest body that is passed on: a snapshot of a whole test network.
const MAX_BODY_BYTES: usize = 64 << 20;

/// What the node does with requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    /// Passes them on.
    Healthy,
    /// Takes them and never answers, not even when it is healthy again; the connection is closed then.
    Hangs,
    /// Answers 500 to each.
    Fails,
    /// Answers 429 with `Retry-After: 20`.
    TooManyRequests,
    /// Passes each on, and then answers 502 in place of the real answer: what was sent may have landed.
    LosesAnswers,
    /// Answers each transaction as if it were sent, and throws it away: it never lands. Passes the rest on.
    DropsTransactions,
    /// Passes each on after this time.
    Slow(Duration),
}

/// The node. It ends when this is dropped.
pub struct RpcProxy {
    url: String,
    mood: watch::Sender<Mood>,
    upstream: watch::Sender<String>,
    requests: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

struct Shared {
    mood: watch::Receiver<Mood>,
    upstream: watch::Receiver<String>,
    requests: Arc<AtomicU64>,
    http: reqwest::Client,
}

impl RpcProxy {
    /// Starts a healthy node in front of the one at `upstream`, on a port of its own.
    pub async fn start(upstream: &str) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let (mood, upstream) = (watch::Sender::new(Mood::Healthy), watch::Sender::new(upstream.to_owned()));
        let http = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(60)).build()?;
        let requests = Arc::<AtomicU64>::default();
        let counted = Arc::clone(&requests);
        let shared = Shared { mood: mood.subscribe(), upstream: upstream.subscribe(), requests: counted, http };
        let router = Router::new()
            .fallback(answer)
            .layer(axum::extract::DefaultBodyLimit::max(MAX_BODY_BYTES))
            .with_state(Arc::new(shared));
        let task = tokio::spawn(async move {
            // Ends with the test.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { url, mood, upstream, requests, task })
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Requests that it got so far.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    pub fn set(&self, mood: Mood) {
        self.mood.send_replace(mood);
    }

    /// Where healthy requests go from now on.
    pub fn set_upstream(&self, url: &str) {
        self.upstream.send_replace(url.to_owned());
    }
}

impl Drop for RpcProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(State(shared): State<Arc<Shared>>, body: Bytes) -> Response {
    shared.requests.fetch_add(1, Ordering::Relaxed);
    let mood = *shared.mood.borrow();
    match mood {
        Mood::Healthy => pass_on(&shared, body).await,
        Mood::Hangs => {
            let mut mood = shared.mood.clone();
            let _ = mood.wait_for(|mood| *mood != Mood::Hangs).await;
            (StatusCode::BAD_GATEWAY, [(header::CONNECTION, "close")]).into_response()
        }
        Mood::Fails => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        Mood::TooManyRequests => (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, "20")]).into_response(),
        Mood::LosesAnswers => {
            pass_on(&shared, body).await;
            StatusCode::BAD_GATEWAY.into_response()
        }
        Mood::DropsTransactions => match serde_json::from_slice::<Value>(&body) {
            Ok(request) if request["method"] == "sendTransaction" => {
                Json(json!({"jsonrpc": "2.0", "id": request["id"], "result": "dropped"})).into_response()
            }
            _ => pass_on(&shared, body).await,
        },
        Mood::Slow(pause) => {
            tokio::time::sleep(pause).await;
            pass_on(&shared, body).await
        }
    }
}

async fn pass_on(shared: &Shared, body: Bytes) -> Response {
    let url = shared.upstream.borrow().clone();
    let request = shared.http.post(url).header(header::CONTENT_TYPE, "application/json").body(body);
    let answered = async {
        let response = request.send().await?;
        let status = response.status();
        Ok::<_, reqwest::Error>((status, response.bytes().await?))
    };
    match answered.await {
        Ok((status, bytes)) => (status, [(header::CONTENT_TYPE, "application/json")], bytes).into_response(),
        Err(error) => (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    }
}
