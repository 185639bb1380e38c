//! Every answer that a caller got, against the chain: what was acknowledged is there, what was denied is not.

use std::time::Duration;

use agent_marketplace::state::{ExecutionStatus, FailureReason};
use crtx_protocol::{result_hash::ResultHash, usdc::UsdcBase};
use futures::StreamExt;
use solana_pubkey::Pubkey;
use uuid::Uuid;

use super::{Checker, Facts, Violation, facts::OpenedRecord};
use crate::{
    creator::Behaviour,
    notes::{Claim, NotedCall},
};

const CONTENT_LIMIT: Duration = Duration::from_secs(10);
/// Contents that are fetched at a time.
const AT_ONCE: usize = 4;
/// An answer that came this long before the time-out came in time.
const IN_TIME_BY: Duration = Duration::from_millis(400);

type Found<'a> = Vec<(&'a Pubkey, &'a OpenedRecord)>;

impl Checker<'_> {
    pub async fn check_answers(&self, facts: &Facts) -> Vec<Violation> {
        let mut violations = Vec::new();
        for noted in facts.calls() {
            let found = facts.of_call(&self.wallet_of(&noted.call), &noted.call);
            violations.extend(self.one_charge_each(noted, &found));
            violations.extend(self.denials_are_true(noted, &found));
            for attempt in &noted.attempts {
                violations.extend(self.claim_is_true(noted, &attempt.claim, facts));
            }
        }
        for record in facts.records.values() {
            violations.extend(self.record_makes_sense(facts, record));
        }
        violations.extend(self.content_is_served(facts).await);
        violations
    }

    fn violation(&self, rule: &'static str, what: &str, noted: &NotedCall, found: &Found<'_>) -> Violation {
        let mut details = format!("{what}\n");
        for (address, record) in found {
            details += &format!("  record {address}\n{}", self.report_of(record));
        }
        if found.is_empty() {
            details += &self.notebook.details(noted);
        }
        Violation { rule, details }
    }

    /// With an idempotency key a call has one record, however often it was sent; without, one for each request.
    fn one_charge_each(&self, noted: &NotedCall, found: &Found<'_>) -> Option<Violation> {
        let most = if noted.call.idempotency_key.is_some() { 1 } else { noted.attempts.len() };
        let what = format!("{} records for one call, sent {} times", found.len(), noted.attempts.len());
        (found.len() > most).then(|| self.violation("no key is charged twice", &what, noted, found))
    }

    /// If no answer leaves the outcome open, and none says that an execution was made, there is no record. The
    /// same if every request was answered, and the last answer is that nothing was charged.
    fn denials_are_true(&self, noted: &NotedCall, found: &Found<'_>) -> Option<Violation> {
        let denied = |claim: &Claim| matches!(claim, Claim::NothingCharged(_) | Claim::NotCreated);
        let all = !noted.attempts.is_empty() && noted.attempts.iter().all(|attempt| denied(&attempt.claim));
        // A request without an answer may still be on its way to a gateway that stands still.
        let answered = noted.attempts.iter().all(|attempt| attempt.reply.status().is_some());
        let last = answered
            && !noted.call.twin
            && noted.attempts.last().is_some_and(|attempt| matches!(attempt.claim, Claim::NothingCharged(_)));
        let rule = "every `nothing was charged` is true on the chain";
        let what = if all { "every answer denies a charge" } else { "the last answer denies a charge" };
        ((all || last) && !found.is_empty()).then(|| self.violation(rule, what, noted, found))
    }

    fn claim_is_true(&self, noted: &NotedCall, claim: &Claim, facts: &Facts) -> Option<Violation> {
        let id = match claim {
            Claim::NothingCharged(_) | Claim::NotCreated | Claim::Nothing => return None,
            claim => claim.execution()?,
        };
        let record = facts
            .records
            .iter()
            .find(|(_, record)| record.execution_id == *id.as_bytes() && record.caller == self.wallet_of(&noted.call));
        let rule = "nothing that was acknowledged is lost";
        let Some((address, record)) = record else {
            let what = format!("execution {id} was acknowledged ({claim:?}) and has no record");
            return Some(self.violation(rule, &what, noted, &Vec::new()));
        };
        let problem = contradiction(claim, record)?;
        Some(self.violation(rule, &format!("{problem}: {claim:?}"), noted, &vec![(address, record)]))
    }

    /// What holds for each record by itself.
    fn record_makes_sense(&self, facts: &Facts, record: &OpenedRecord) -> Option<Violation> {
        let violation = |rule, what: &str| {
            let details = format!("{what}\n{}", self.report_of(record));
            Some(Violation { rule, details })
        };
        let Some(noted) = facts.call_of(record) else {
            return violation("nobody is charged for what nobody asked", "a record without a call");
        };
        let notes = self.cast.creator.notes(Uuid::from_bytes(record.execution_id));
        let limit = Duration::from_secs(u64::from(record.timeout_seconds)).saturating_sub(IN_TIME_BY);
        let in_time = notes.delivered.iter().any(|(_, took)| *took < limit);
        let reason = record.failure_reason();
        if noted.call.behaviour == Behaviour::CutOff && is_the_agents(reason) {
            return None;
        }
        if notes.asked.is_empty() && is_the_agents(reason) {
            let rule = "an agent that was never asked did not fail";
            return violation(rule, "booked as a failure of the agent");
        }
        if !notes.asked.is_empty() && record.status() == Some(ExecutionStatus::Expired) {
            let rule = "what the agent was asked does not expire";
            return violation(rule, "the gateways let it expire instead of reporting how it ended");
        }
        let blamed = reason == Some(FailureReason::Timeout);
        if blamed && (in_time || notes.asked.is_empty()) && !noted.call.behaviour.times_out() {
            let rule = "an interruption is not booked as the creator's time-out";
            return violation(rule, "booked as a time-out; the creator answered in time, or was never asked");
        }
        if record.status() == Some(ExecutionStatus::Completed) {
            let hash = |result: &String| ResultHash::of(result.as_bytes()).0 == record.result_hash;
            let sent = notes.delivered.iter().map(|(result, _)| result).chain(&notes.settled).any(hash);
            if !sent {
                return violation("what is settled is what the creator delivered", "settled with another result");
            }
        }
        None
    }

    async fn content_is_served(&self, facts: &Facts) -> Vec<Violation> {
        let claims = facts.calls().flat_map(|noted| noted.attempts.iter().map(move |attempt| (noted, &attempt.claim)));
        let completed = claims.filter_map(|(noted, claim)| match claim {
            Claim::Completed { result, url, .. } => Some((noted, result, url)),
            _ => None,
        });
        let checks = completed.map(async |(noted, result, url)| {
            let served = self.client.bytes(url, CONTENT_LIMIT).await;
            let good = served.as_deref() == Some(result.as_bytes());
            let what = format!("{url} serves {:?}", served.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()));
            let rule = "the content of every acknowledged result is served";
            (!good).then(|| self.violation(rule, &what, noted, &Vec::new()))
        });
        // Collected first: a stream of borrowing closures is not general enough otherwise.
        let checks: Vec<_> = checks.collect();
        futures::stream::iter(checks).buffer_unordered(AT_ONCE).filter_map(async |found| found).collect().await
    }
}

/// Whether a refund for this reason counts as a failure of the agent.
pub const fn is_the_agents(reason: Option<FailureReason>) -> bool {
    use FailureReason::{CreatorFailed, InvalidResponse, Timeout};
    matches!(reason, Some(CreatorFailed | Timeout | InvalidResponse))
}

/// How the record contradicts the answer.
fn contradiction(claim: &Claim, record: &OpenedRecord) -> Option<&'static str> {
    let completed = record.status() == Some(ExecutionStatus::Completed);
    let refunded = matches!(record.status(), Some(ExecutionStatus::Failed | ExecutionStatus::Expired));
    match claim {
        Claim::Completed { hash, cost, result, .. } => {
            if !completed {
                Some("answered as completed, but the record is not")
            } else if ResultHash(record.result_hash).to_string() != *hash
                || ResultHash::of(result.as_bytes()).0 != record.result_hash
            {
                Some("the answer has another result than the record")
            } else if *cost != UsdcBase(record.amount) {
                Some("the answer has another cost than the record")
            } else {
                None
            }
        }
        Claim::Refunded(_) if !refunded => Some("answered as refunded, but the record is not"),
        _ => None,
    }
}
