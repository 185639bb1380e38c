//! Callers of one service: closed-loop ones, which wait for their answer before they call again, and an
//! open loop, which keeps a rate whatever the answers do.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use crtx_e2e::bench::Timing;
use futures::future::join_all;
use reqwest::{StatusCode, header};
use serde_json::{Value, json};
use tokio::{runtime::Handle, sync::mpsc, task::JoinSet};
use uuid::Uuid;

/// Longer than any answer may take, so that every call is followed to its end.
const PATIENCE: Duration = Duration::from_secs(120);

/// What one caller calls, and as whom.
#[derive(Clone, Debug)]
pub struct Lane {
    pub base_url: String,
    pub agent: String,
    pub api_key: String,
}

/// What came of one call.
#[derive(Clone, Debug)]
pub enum Reply {
    /// 200, delivered and settled.
    Completed { id: Uuid, timing: Timing },
    /// 429 or 503 before anything began.
    Refused { retry_after: Option<Duration> },
    /// Anything else, by status and error code.
    Failed { kind: String },
}

#[derive(Clone, Debug)]
pub struct Shot {
    pub ended: Instant,
    /// Closed loop: since the request was sent. Open loop: since it was due.
    pub latency: Duration,
    pub reply: Reply,
}

/// The calls of one run, and the part of it that is measured.
#[derive(Debug)]
pub struct Run {
    pub shots: Vec<Shot>,
    from: Instant,
    until: Instant,
}

impl Run {
    /// The calls that began after the warm-up, also those that ended after the last second: leaving them out
    /// would leave out the slowest.
    fn measured(&self) -> impl Iterator<Item = (&Shot, Timing)> {
        let timed = |shot| match shot {
            &Shot { reply: Reply::Completed { timing, .. }, .. } => Some((shot, timing)),
            _ => None,
        };
        self.shots.iter().filter(|shot| shot.ended - shot.latency >= self.from).filter_map(timed)
    }

    /// Milliseconds of each measured call that completed.
    pub fn latencies(&self) -> Vec<f64> {
        self.measured().map(|(shot, _)| milliseconds(shot.latency)).collect()
    }

    /// Calls that completed in each second between the warm-up and the end.
    pub fn completed_per_s(&self) -> f64 {
        let counts = |shot: &&Shot| {
            matches!(shot.reply, Reply::Completed { .. }) && (self.from..=self.until).contains(&shot.ended)
        };
        self.shots.iter().filter(counts).count() as f64 / (self.until - self.from).as_secs_f64()
    }

    /// Milliseconds of each measured call that completed, without what was spent waiting for chain and creator.
    pub fn added(&self) -> Vec<f64> {
        self.measured().map(|(shot, timing)| milliseconds(shot.latency) - timing.creator - timing.chain).collect()
    }

    /// The service's own figure of the same, from its `server-timing` header.
    pub fn gateway(&self) -> Vec<f64> {
        self.measured().map(|(_, timing)| timing.gateway).collect()
    }

    pub fn refusals(&self) -> Vec<&Shot> {
        self.shots.iter().filter(|shot| matches!(shot.reply, Reply::Refused { .. })).collect()
    }

    /// Of each call that came to nothing: its status and error code.
    pub fn failures(&self) -> Vec<&str> {
        let mut kinds = Vec::new();
        for shot in &self.shots {
            if let Reply::Failed { kind } = &shot.reply {
                kinds.push(kind.as_str());
            }
        }
        kinds
    }

    pub fn completed_ids(&self) -> impl Iterator<Item = Uuid> {
        self.shots.iter().filter_map(|shot| match shot.reply {
            Reply::Completed { id, .. } => Some(id),
            _ => None,
        })
    }
}

pub fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

/// Calls over kept-alive connections. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Load {
    http: reqwest::Client,
    lanes: Arc<Vec<Lane>>,
    calls: Arc<AtomicU64>,
}

impl Load {
    pub fn new(lanes: Vec<Lane>) -> reqwest::Result<Self> {
        let http = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build()?;
        Ok(Self { http, lanes: Arc::new(lanes), calls: Arc::default() })
    }

    /// `callers` call again and again, each as soon as it has its answer. Who is refused waits as long as
    /// `Retry-After` says and up to half as long again, so that the refused do not all come back at once.
    pub async fn closed_loop(&self, callers: usize, warm_up: Duration, length: Duration) -> Run {
        let from = Instant::now() + warm_up;
        let until = from + length;
        let mut tasks = JoinSet::new();
        for caller in 0..callers {
            let load = self.clone();
            tasks.spawn(async move { load.call_until(caller, until).await });
        }
        let shots = tasks.join_all().await.into_iter().flatten().collect();
        Run { shots, from, until }
    }

    /// A client with a lot of work: `size` calls at once.
    pub async fn burst(&self, size: usize) -> Run {
        let from = Instant::now();
        let shots = join_all((0..size).map(|_| self.call(0, from))).await;
        Run { shots, from, until: Instant::now() }
    }

    async fn call_until(&self, caller: usize, until: Instant) -> Vec<Shot> {
        let mut shots = Vec::new();
        while Instant::now() < until {
            let shot = self.call(caller, Instant::now()).await;
            if let Reply::Refused { retry_after } = shot.reply {
                let pause = retry_after.unwrap_or(Duration::from_secs(1)).mul_f64(rand::random_range(1.0..1.5));
                tokio::time::sleep(pause.min(until.saturating_duration_since(Instant::now()))).await;
            }
            shots.push(shot);
        }
        shots
    }

    /// `rate` calls a second at equal distances, for `length`; returns when all are answered.
    pub async fn open_loop(&self, rate: f64, length: Duration) -> Run {
        let (sender, mut answered) = mpsc::unbounded_channel();
        let (load, handle, from) = (self.clone(), Handle::current(), Instant::now());
        // A thread of its own: the runtime's timer counts in whole milliseconds.
        let pacing = tokio::task::spawn_blocking(move || {
            let count = (rate * length.as_secs_f64()) as usize;
            for number in 0..count {
                let due = from + Duration::from_secs_f64(number as f64 / rate);
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                let (load, sender) = (load.clone(), sender.clone());
                handle.spawn(async move { sender.send(load.call(number, due).await) });
            }
        });
        let mut shots = Vec::new();
        while let Some(shot) = answered.recv().await {
            shots.push(shot);
        }
        pacing.await.expect("the pacing thread does not panic");
        Run { shots, from, until: Instant::now() }
    }

    /// One call of a task that nobody had before, so that no two results are the same content.
    async fn call(&self, caller: usize, since: Instant) -> Shot {
        let lane = &self.lanes[caller % self.lanes.len()];
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        let task = format!("Call number {number} of {}. How long does it take to read this? Not long.", Uuid::new_v4());
        let request = self
            .http
            .post(format!("{}/v1/agents/{}/execute", lane.base_url, lane.agent))
            .bearer_auth(&lane.api_key)
            .json(&json!({ "task": task }));
        let reply = match request.send().await {
            Ok(response) => read(response).await,
            Err(error) => Reply::Failed { kind: format!("no answer: {}", error.without_url()) },
        };
        let ended = Instant::now();
        Shot { ended, latency: ended.saturating_duration_since(since), reply }
    }
}

async fn read(response: reqwest::Response) -> Reply {
    let (status, headers) = (response.status(), response.headers().clone());
    let Ok(bytes) = response.bytes().await else {
        return Reply::Failed { kind: format!("{} and a broken body", status.as_u16()) };
    };
    let body: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    let id = body["execution_id"].as_str().and_then(|id| id.parse().ok());
    match (status, id) {
        (StatusCode::OK, Some(id)) if body["status"] == "completed" => match Timing::read(&headers) {
            Some(timing) => Reply::Completed { id, timing },
            None => Reply::Failed { kind: "200 without server-timing".to_owned() },
        },
        (StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE, _)
            if body["error"]["execution_id"].is_null() =>
        {
            let seconds = headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
            Reply::Refused { retry_after: seconds.map(Duration::from_secs) }
        }
        _ => Reply::Failed { kind: format!("{} {}", status.as_u16(), body["error"]["code"].as_str().unwrap_or("")) },
    }
}
