//! The notes of callers: every request, every answer, and what the answer claims about the money.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use chrono::{DateTime, Utc};
use crtx_protocol::usdc::UsdcBase;
use uuid::Uuid;

use crate::{
    client::Reply,
    plan::{Call, Fault},
};

/// Faults this long before and after a call are part of its report.
const BEFORE: Duration = Duration::from_secs(3);
const AFTER: Duration = Duration::from_secs(30);
const FAULTS_IN_A_STORY: usize = 16;

/// What an answer claims about the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Delivered and settled.
    Completed { id: Uuid, result: String, hash: String, cost: UsdcBase, url: String },
    /// An asynchronous call; the escrow is open.
    Pending(Uuid),
    /// The result is good; settlement is in progress.
    Running(Uuid),
    /// Failed; the escrow was refunded to the caller.
    Refunded(Uuid),
    /// Failed; the refund of the escrow is in progress.
    RefundUnderWay(Uuid),
    /// No money was charged for this call.
    NothingCharged(Option<Uuid>),
    /// This request created no execution; an earlier one of the same call may have.
    NotCreated,
    /// Any other answer: the caller does not know the outcome.
    Nothing,
}

impl Claim {
    pub const fn execution(&self) -> Option<Uuid> {
        match self {
            Self::Completed { id, .. }
            | Self::Pending(id)
            | Self::Running(id)
            | Self::Refunded(id)
            | Self::RefundUnderWay(id) => Some(*id),
            Self::NothingCharged(id) => *id,
            Self::NotCreated | Self::Nothing => None,
        }
    }

    /// Whether the call has ended for the caller.
    pub const fn is_final(&self) -> bool {
        matches!(self, Self::Completed { .. } | Self::Pending(_) | Self::Running(_) | Self::Refunded(_))
            || matches!(self, Self::RefundUnderWay(_))
    }

    /// The claim of an answer to a call.
    pub fn of(reply: &Reply) -> Self {
        let Reply::Answer { status, body, .. } = reply else { return Self::Nothing };
        match status {
            200 | 202 => Self::of_success(reply).unwrap_or(Self::Nothing),
            _ => Self::of_error(*status, body),
        }
    }

    fn of_success(reply: &Reply) -> Option<Self> {
        let text = |name: &str| reply.get(name)?.as_str().map(str::to_owned);
        let id: Uuid = text("execution_id")?.parse().ok()?;
        Some(match text("status")?.as_str() {
            "completed" => Self::Completed {
                id,
                result: text("result")?,
                hash: text("result_hash")?,
                cost: serde_json::from_value(reply.get("cost_usdc")?.clone()).ok()?,
                url: text("ipfs_url")?,
            },
            "pending" => Self::Pending(id),
            "running" => Self::Running(id),
            _ => return None,
        })
    }

    fn of_error(status: u16, body: &serde_json::Value) -> Self {
        let error = &body["error"];
        let (code, message) = (error["code"].as_str().unwrap_or_default(), error["message"].as_str());
        let message = message.unwrap_or_default();
        let id: Option<Uuid> = error["execution_id"].as_str().and_then(|id| id.parse().ok());
        if message.contains("nothing was charged") {
            return Self::NothingCharged(id);
        }
        match (code, id) {
            ("invalid_request" | "unauthorized" | "insufficient_balance" | "forbidden", _)
            | ("agent_not_found" | "agent_paused" | "agent_unpayable", _) => Self::NothingCharged(id),
            (_, Some(id)) if message.contains("the escrow was refunded") => Self::Refunded(id),
            (_, Some(id)) if message.contains("the refund is under way") => Self::RefundUnderWay(id),
            // `execution_id` is null if no execution was created (`docs/specification.md`, "Error body").
            (_, None) if status >= 400 && error["execution_id"].is_null() && !code.is_empty() => Self::NotCreated,
            _ => Self::Nothing,
        }
    }
}

/// One request and its answer.
#[derive(Clone, Debug)]
pub struct Attempt {
    pub gateway: usize,
    pub sent: Instant,
    pub answered: Instant,
    pub reply: Reply,
    pub claim: Claim,
}

/// All requests that a caller made for one call.
#[derive(Clone, Debug)]
pub struct NotedCall {
    pub call: Call,
    pub attempts: Vec<Attempt>,
}

/// Start and end of a fault.
#[derive(Clone, Copy, Debug)]
pub struct Happened {
    pub fault: Fault,
    pub from: Instant,
    pub until: Instant,
}

/// The notebook that all tasks of a campaign share.
pub struct Notebook {
    began: Instant,
    began_at: DateTime<Utc>,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    noted: BTreeMap<String, NotedCall>,
    happened: Vec<Happened>,
}

impl Default for Notebook {
    fn default() -> Self {
        Self { began: Instant::now(), began_at: Utc::now(), inner: Mutex::default() }
    }
}

impl Notebook {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Time since the campaign began.
    pub fn at(&self, moment: Instant) -> Duration {
        moment.saturating_duration_since(self.began)
    }

    pub fn meant(&self, call: &Call) {
        self.lock().noted.insert(call.task.clone(), NotedCall { call: call.clone(), attempts: Vec::new() });
    }

    pub fn answered(&self, task: &str, attempt: Attempt) {
        if let Some(noted) = self.lock().noted.get_mut(task) {
            noted.attempts.push(attempt);
        }
    }

    pub fn happened(&self, happened: Happened) {
        self.lock().happened.push(happened);
    }

    pub fn calls(&self) -> Vec<NotedCall> {
        self.lock().noted.values().cloned().collect()
    }

    pub fn faults(&self) -> Vec<Happened> {
        self.lock().happened.clone()
    }

    /// Describes the call and the faults at the same time, to find the cause.
    pub fn details(&self, noted: &NotedCall) -> String {
        let call = &noted.call;
        let mut text = format!(
            "call {}: key {}, agent {}, creator {} after {} ms{}{}{}\n",
            call.task,
            call.key,
            call.agent,
            call.behaviour.name(),
            call.delay_ms,
            if call.is_async { ", async" } else { "" },
            if call.twin { ", sent twice at once" } else { "" },
            call.idempotency_key.as_ref().map_or_else(String::new, |key| format!(", Idempotency-Key {key}")),
        );
        for attempt in &noted.attempts {
            let (sent, answered) = (self.at(attempt.sent).as_secs_f64(), self.at(attempt.answered).as_secs_f64());
            let _ = writeln!(text, "  {sent:8.2}–{answered:.2} s gateway {}: {:?}", attempt.gateway, attempt.reply);
        }
        let (Some(first), Some(last)) = (noted.attempts.first(), noted.attempts.last()) else { return text };
        let (from, until) = (first.sent.checked_sub(BEFORE).unwrap_or(first.sent), last.answered + AFTER);
        let around = self.faults().into_iter().filter(|happened| happened.from < until && happened.until > from);
        for happened in around.take(FAULTS_IN_A_STORY) {
            text += &self.line(&happened);
        }
        text
    }

    /// One line about a fault, with the wall-clock time first, to find it in the logs.
    pub fn line(&self, happened: &Happened) -> String {
        let (from, until) = (self.at(happened.from), self.at(happened.until));
        let clock = self.began_at + from;
        format!(
            "  {} {:8.2}–{:.2} s fault {}: {} (gateway {})\n",
            clock.format("%H:%M:%S%.3f"),
            from.as_secs_f64(),
            until.as_secs_f64(),
            happened.fault.number,
            happened.fault.kind.name(),
            happened.fault.target + 1,
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn claim(status: u16, body: serde_json::Value) -> Claim {
        Claim::of(&Reply::Answer { status, retry_after: None, body })
    }

    #[test]
    fn an_answer_claims_what_it_says_about_the_money() {
        let id = Uuid::from_u128(5);
        let error = |code: &str, message: &str, id: Option<Uuid>| json!({"error": {"code": code, "message": message, "execution_id": id}});
        assert_eq!(claim(200, json!({"execution_id": id, "status": "pending"})), Claim::Pending(id));
        assert_eq!(claim(202, json!({"execution_id": id, "status": "running"})), Claim::Running(id));
        let done = json!({"execution_id": id, "status": "completed", "result": "r", "result_hash": "h", "cost_usdc": 0.03, "ipfs_url": "u"});
        assert!(matches!(claim(200, done), Claim::Completed { cost: UsdcBase(30_000), .. }));
        let refunded = error("execution_timeout", "no answer; the escrow was refunded", Some(id));
        assert_eq!(claim(408, refunded), Claim::Refunded(id));
        let nothing = error("unavailable", "…; nothing was charged, try again", Some(id));
        assert_eq!(claim(503, nothing), Claim::NothingCharged(Some(id)));
        assert_eq!(claim(402, error("insufficient_balance", "m", None)), Claim::NothingCharged(None));
        assert_eq!(claim(503, error("unavailable", "try again", None)), Claim::NotCreated);
        assert_eq!(claim(503, error("unavailable", "poll the execution", Some(id))), Claim::Nothing);
        assert_eq!(claim(409, error("conflict", "in progress", Some(id))), Claim::Nothing);
        assert_eq!(claim(502, serde_json::Value::Null), Claim::Nothing);
    }
}
