//! Several RPC nodes as one: a request goes to the best node, to the next one if that fails or stalls, and always
//! ends at its deadline.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures::{
    StreamExt,
    future::{BoxFuture, FutureExt},
    stream::FuturesUnordered,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use crate::{
    error::ChainError,
    health::Standing,
    node::{self, Node, RpcRequest},
    urls::RpcUrls,
};

/// After this time a node counts as stalled if there is another node to ask.
const STALLS_AFTER: Duration = Duration::from_millis(400);
/// With a single node, a second connection is tried after this part of the time, but not before `SECOND_TRY_AFTER`:
/// a stalled connection is more likely than a dead node.
const SECOND_TRY: f32 = 0.25;
const SECOND_TRY_AFTER: Duration = Duration::from_secs(1);
/// Once one node has answered, the others get this long to add their answers.
const GRACE: Duration = Duration::from_millis(500);
/// Time limit of the small request that tests a rested node.
const TEST_LIMIT: Duration = Duration::from_secs(2);
/// Longest wait that is proposed to a caller when every node rests.
const LONGEST_HINT: Duration = Duration::from_secs(60);
const SMALL_ANSWER: usize = 64 * 1024;

/// The type of an answer.
pub(crate) trait Parsed: DeserializeOwned + Send + 'static {}
impl<T: DeserializeOwned + Send + 'static> Parsed for T {}

pub(crate) struct Nodes {
    nodes: Vec<Arc<Node>>,
    misconfigured: Option<ChainError>,
    next_id: AtomicU64,
}

impl Nodes {
    /// If the list of URLs is invalid, every request returns that error.
    pub(crate) fn new(urls: Result<RpcUrls, String>) -> Self {
        let nodes = urls.map_err(ChainError::Misconfigured).and_then(|urls| build(&urls));
        let misconfigured = nodes.as_ref().err().cloned();
        Self { nodes: nodes.unwrap_or_default(), misconfigured, next_id: AtomicU64::new(1) }
    }

    pub(crate) fn request(&self, method: &str, params: &Value, answer_limit: usize) -> RpcRequest {
        RpcRequest::new(self.next_id.fetch_add(1, Ordering::Relaxed), method, params, answer_limit)
    }

    /// Asks the best node, and the next one as well if it fails or stalls. Returns the first answer that `check`
    /// accepts.
    pub(crate) async fn ask<T: Parsed>(
        &self,
        request: &RpcRequest,
        deadline: Instant,
        check: impl Fn(&T) -> Result<(), ChainError>,
    ) -> Result<T, ChainError> {
        let race = Race::new(self.candidates()?, request, deadline);
        timeout_at(deadline, race.run(check)).await.unwrap_or(Err(ChainError::TimedOut))
    }

    /// Asks one node after the other, each for its share of the time. For long answers, where two requests at once
    /// would cost more than they save.
    pub(crate) async fn ask_in_turn<T: Parsed>(
        &self,
        request: &RpcRequest,
        deadline: Instant,
    ) -> Result<T, ChainError> {
        let mut last_error = ChainError::TimedOut;
        let mut waiting = VecDeque::from(self.candidates()?);
        while let Some(node) = waiting.pop_front() {
            let left = deadline.saturating_duration_since(Instant::now());
            let shares = u32::try_from(waiting.len()).unwrap_or(u32::MAX).saturating_add(1);
            let share = left.checked_div(shares).unwrap_or(left);
            let asked = node.ask(request, share.mul_f32(0.5));
            match tokio::time::timeout(share, asked).await {
                Ok(Ok(value)) => return Ok(value),
                Ok(Err(error)) => last_error = error,
                Err(_) => last_error = ChainError::TimedOut,
            }
        }
        Err(last_error)
    }

    /// Asks several nodes at once. Returns at least one entry.
    pub(crate) async fn ask_every<T: Parsed>(
        &self,
        request: &RpcRequest,
        deadline: Instant,
        whom: Whom,
    ) -> Vec<Result<(Arc<Node>, T), ChainError>> {
        let nodes = match whom {
            Whom::Healthy => self.candidates(),
            Whom::Everybody => self.misconfigured.clone().map_or_else(|| Ok(self.nodes.clone()), Err),
        };
        let mut running: FuturesUnordered<_> = match nodes {
            Ok(nodes) => nodes.into_iter().map(|node| asked(node, request, STALLS_AFTER)).collect(),
            Err(error) => return vec![Err(error)],
        };
        let (mut answers, mut until) = (Vec::new(), deadline);
        while let Ok(Some((node, result))) = timeout_at(until, running.next()).await {
            if result.is_ok() && whom == Whom::Healthy {
                until = deadline.min(node::after(Instant::now(), GRACE));
            }
            note(&node, &result);
            answers.push(result.map(|value| (node, value)));
        }
        if answers.is_empty() {
            answers.push(Err(ChainError::TimedOut));
        }
        answers
    }

    /// Sends a request to every healthy node and returns when the first one accepts it. The other nodes get it too,
    /// even if the caller has left.
    pub(crate) async fn send_everywhere(&self, request: RpcRequest, deadline: Instant) -> Result<Value, ChainError> {
        let request = Arc::new(request);
        let mut handed: FuturesUnordered<_> = self
            .candidates()?
            .into_iter()
            .map(|node| {
                let request = Arc::clone(&request);
                let sent = async move { node.ask::<Value>(&request, SECOND_TRY_AFTER).await };
                tokio::spawn(async move { timeout_at(deadline, sent).await.unwrap_or(Err(ChainError::TimedOut)) })
            })
            .collect();
        let mut last_error = ChainError::TimedOut;
        while let Some(ended) = handed.next().await {
            match ended.unwrap_or(Err(ChainError::TimedOut)) {
                Ok(answer) => return Ok(answer),
                Err(error) => last_error = error,
            }
        }
        Err(last_error)
    }

    /// The nodes to ask, best first. Rested nodes are tested on the way.
    fn candidates(&self) -> Result<Vec<Arc<Node>>, ChainError> {
        if let Some(error) = &self.misconfigured {
            return Err(error.clone());
        }
        let now = std::time::Instant::now();
        let (mut ready, mut due, mut shortest_rest) = (Vec::new(), Vec::new(), Duration::MAX);
        for node in &self.nodes {
            match node.health.standing(now) {
                Standing::Ready => ready.push(Arc::clone(node)),
                Standing::Due if node.health.begin_test(now) => due.push(Arc::clone(node)),
                Standing::Due => {}
                Standing::Resting(rest) => shortest_rest = shortest_rest.min(rest),
            }
        }
        if ready.is_empty() {
            let retry_after = shortest_rest.min(LONGEST_HINT);
            return if due.is_empty() { Err(ChainError::Resting { retry_after }) } else { Ok(due) };
        }
        due.into_iter().for_each(|node| self.test(node));
        ready.sort_by_key(|node| node.health.rank(now));
        Ok(ready)
    }

    fn test(&self, node: Arc<Node>) {
        let request = self.request("getSlot", &json!([]), SMALL_ANSWER);
        tokio::spawn(async move {
            let tested = node.ask::<u64>(&request, STALLS_AFTER);
            if let Ok(Ok(slot)) = tokio::time::timeout(TEST_LIMIT, tested).await {
                tracing::info!(node = %node.name, slot, "an RPC node answers again");
            }
        });
    }
}

fn build(urls: &RpcUrls) -> Result<Vec<Arc<Node>>, ChainError> {
    let http =
        node::http_client(node::CONNECT_TIMEOUT).map_err(|error| ChainError::Misconfigured(error.to_string()))?;
    urls.iter().map(|url| Node::new(url, http.clone()).map(Arc::new)).collect()
}

/// Which nodes [`Nodes::ask_every`] asks and waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whom {
    /// The nodes that do not rest. Once one has answered, the others have a short time left.
    Healthy,
    /// All nodes, until the deadline.
    Everybody,
}

type Asked<'a, T> = BoxFuture<'a, (Arc<Node>, Result<T, ChainError>)>;

fn asked<T: Parsed>(node: Arc<Node>, request: &RpcRequest, stalls_after: Duration) -> Asked<'_, T> {
    async move {
        let result = node.ask(request, stalls_after).await;
        (node, result)
    }
    .boxed()
}

/// A node that has not reached the requested slot is asked last for a while.
fn note<T>(node: &Node, result: &Result<T, ChainError>) {
    if let Err(error @ ChainError::Behind { .. }) = result {
        node.health.failed(error, std::time::Instant::now());
    }
}

/// One request in progress at one node or several.
struct Race<'a, T> {
    request: &'a RpcRequest,
    waiting: VecDeque<Arc<Node>>,
    running: FuturesUnordered<Asked<'a, T>>,
    stalls_after: Duration,
    /// There is only one node, so it is in `waiting` a second time.
    alone: bool,
}

impl<'a, T: Parsed> Race<'a, T> {
    fn new(nodes: Vec<Arc<Node>>, request: &'a RpcRequest, deadline: Instant) -> Self {
        let mut waiting = VecDeque::from(nodes);
        let alone = waiting.len() == 1;
        waiting.extend(waiting.front().filter(|_| alone).cloned());
        let left = deadline.saturating_duration_since(Instant::now());
        let stalls_after = if alone { left.mul_f32(SECOND_TRY).max(SECOND_TRY_AFTER) } else { STALLS_AFTER };
        Self { request, waiting, running: FuturesUnordered::new(), stalls_after, alone }
    }

    async fn run(mut self, check: impl Fn(&T) -> Result<(), ChainError>) -> Result<T, ChainError> {
        let mut last_error = ChainError::TimedOut;
        self.ask_next();
        loop {
            tokio::select! {
                biased;
                Some((node, result)) = self.running.next() => {
                    let result = result.and_then(|value| check(&value).map(|()| value));
                    note(&node, &result);
                    match result {
                        Ok(value) => return Ok(value),
                        Err(error) => last_error = self.after(error),
                    }
                    self.ask_next();
                }
                () = tokio::time::sleep(self.stalls_after), if !self.waiting.is_empty() => self.ask_next(),
                else => return Err(last_error),
            }
        }
    }

    fn ask_next(&mut self) {
        if let Some(node) = self.waiting.pop_front() {
            self.running.push(asked(node, self.request, self.stalls_after));
        }
    }

    /// A single node is asked a second time only if the connection was lost or stalls: repeating a request does not
    /// change an error of the node itself.
    fn after(&mut self, error: ChainError) -> ChainError {
        if self.alone && !matches!(error, ChainError::Unreachable(_)) {
            self.waiting.clear();
        }
        error
    }
}
