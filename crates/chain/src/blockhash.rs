//! A recent blockhash that all callers share. One request at a time refreshes it, no lock is held during the request,
//! and a stalled refresh delays no caller while the last blockhash is young enough.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::json;
use tokio::{
    sync::watch,
    time::{Instant, timeout, timeout_at},
};

use crate::{
    error::ChainError,
    node::after,
    nodes::{Nodes, Whom},
    transaction::RecentBlockhash,
    wire::AtSlot,
};

/// How long a blockhash is used before it is refreshed: short compared with its life of 150 blocks, long compared
/// with a burst of calls.
const FRESH: Duration = Duration::from_millis(300);
/// How long it is used if no newer one is available: short compared with the 30 s that 150 blocks take.
const USABLE: Duration = Duration::from_secs(5);
/// How long callers wait for a refresh while the last blockhash is still usable.
const REFRESH_PATIENCE: Duration = Duration::from_millis(250);
/// After this time, the next caller may start another refresh.
const REFRESH_STALLS_AFTER: Duration = Duration::from_secs(2);
/// Nodes this many slots behind the best one are asked last.
const MAX_LAG_SLOTS: u64 = 50;
const ANSWER_LIMIT: usize = 64 * 1024;

pub(crate) struct Blockhashes {
    nodes: Arc<Nodes>,
    /// Limits one refresh, and how long a caller waits for it.
    limit: Duration,
    state: Arc<Mutex<BlockhashState>>,
}

#[derive(Default)]
struct BlockhashState {
    last: Option<Aged>,
    refresh: Option<Refresh>,
}

#[derive(Clone, Copy)]
struct Aged {
    blockhash: RecentBlockhash,
    /// The time of the request, which is before the node's answer.
    since: Instant,
}

/// A request in a task of its own, so that the caller that started it may leave.
#[derive(Clone)]
struct Refresh {
    since: Instant,
    outcome: watch::Receiver<Option<Result<RecentBlockhash, ChainError>>>,
}

impl Blockhashes {
    pub(crate) fn new(nodes: Arc<Nodes>, limit: Duration) -> Self {
        Self { nodes, limit, state: Arc::default() }
    }

    pub(crate) async fn recent(&self) -> Result<RecentBlockhash, ChainError> {
        let (fresh, usable) = {
            let state = self.state.lock();
            (state.younger_than(FRESH), state.younger_than(USABLE))
        };
        if let Some(fresh) = fresh {
            return Ok(fresh);
        }
        let patience = if usable.is_some() { REFRESH_PATIENCE.min(self.limit) } else { self.limit };
        let refreshed = match timeout(patience, self.refreshed()).await {
            Ok(refreshed) => refreshed,
            Err(_elapsed) => Err(ChainError::TimedOut),
        };
        // Another refresh may have succeeded in the meantime.
        refreshed.or_else(|error| self.state.lock().younger_than(USABLE).ok_or(error))
    }

    /// The outcome of the refresh in progress, or of the next one if that stalls.
    async fn refreshed(&self) -> Result<RecentBlockhash, ChainError> {
        loop {
            let mut refresh = self.join_or_start();
            let outcome = refresh.outcome.wait_for(Option::is_some);
            match timeout_at(after(refresh.since, REFRESH_STALLS_AFTER), outcome).await {
                Ok(Ok(outcome)) => return outcome.clone().unwrap_or(Err(ChainError::TimedOut)),
                Ok(Err(_abandoned)) => return Err(ChainError::Unreachable("the request was abandoned".to_owned())),
                Err(_stalled) => {}
            }
        }
    }

    fn join_or_start(&self) -> Refresh {
        let mut state = self.state.lock();
        let under_way = state.refresh.as_ref().filter(|refresh| {
            let ended = refresh.outcome.borrow().is_some() || refresh.outcome.has_changed().is_err();
            !ended && refresh.since.elapsed() < REFRESH_STALLS_AFTER
        });
        if let Some(refresh) = under_way {
            return refresh.clone();
        }
        let (sender, outcome) = watch::channel(None);
        let refresh = Refresh { since: Instant::now(), outcome };
        state.refresh = Some(refresh.clone());
        drop(state);
        let (nodes, state, limit) = (Arc::clone(&self.nodes), Arc::clone(&self.state), self.limit);
        tokio::spawn(async move {
            let since = Instant::now();
            let result = fetch(&nodes, after(since, limit)).await;
            if let Ok(blockhash) = result {
                state.lock().keep(Aged { blockhash, since });
            }
            sender.send_replace(Some(result));
        });
        refresh
    }
}

impl BlockhashState {
    fn younger_than(&self, age: Duration) -> Option<RecentBlockhash> {
        self.last.filter(|last| last.since.elapsed() < age).map(|last| last.blockhash)
    }

    /// A lagging node answers with an older blockhash than the known one, which then stays.
    fn keep(&mut self, new: Aged) {
        let older = self.last.is_some_and(|last| {
            new.blockhash.last_valid_block_height < last.blockhash.last_valid_block_height
                && last.since.elapsed() < USABLE
        });
        if !older {
            self.last = Some(new);
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Latest {
    blockhash: String,
    last_valid_block_height: u64,
}

/// Asks every healthy node and uses the newest answer, so that a node that stands still decides nothing. Such a node
/// is asked last for other requests too.
async fn fetch(nodes: &Nodes, deadline: Instant) -> Result<RecentBlockhash, ChainError> {
    let request = nodes.request("getLatestBlockhash", &json!([{"commitment": "confirmed"}]), ANSWER_LIMIT);
    let answers = nodes.ask_every::<AtSlot<Latest>>(&request, deadline, Whom::Healthy).await;
    let newest_slot = answers.iter().flatten().map(|(_, answer)| answer.slot).max().unwrap_or(0);
    let (mut newest, mut error) = (None::<Latest>, ChainError::TimedOut);
    for answer in answers {
        match answer {
            Ok((node, answer)) => {
                if newest_slot.saturating_sub(answer.slot) > MAX_LAG_SLOTS {
                    node.health.lags(std::time::Instant::now());
                }
                let height = |value: &Latest| value.last_valid_block_height;
                if newest.as_ref().is_none_or(|newest| height(newest) < height(&answer.value)) {
                    newest = Some(answer.value);
                }
            }
            Err(failure) => error = failure,
        }
    }
    let newest = newest.ok_or(error)?;
    let hash = newest.blockhash.parse().map_err(|_| ChainError::Malformed("a blockhash"))?;
    Ok(RecentBlockhash { hash, last_valid_block_height: newest.last_valid_block_height })
}
