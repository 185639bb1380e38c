//! The check of the answer to a task that the agent cannot do.

use crtx_protocol::creator_answer::Fields;
use uuid::Uuid;

use crate::{
    answer::{shown, text},
    quote,
    report::{Check, CheckName},
    send::{NoAnswer, Received, Request},
};

const NAME: CheckName = CheckName::FailureForm;

pub fn judge(request: &Request, outcome: &Result<Received, NoAnswer>) -> Check {
    let received = match outcome {
        Ok(received) => received,
        Err(NoAnswer::NoTime) => return Check::skipped(NAME, "the test had no more time to wait for an answer"),
        Err(_) => return failed("no whole answer", "Answer `failed` before the time-out instead of no answer."),
    };
    if let Some(encoding) = &received.encoding {
        return failed(&format!("content-encoding: {encoding}"), "Send the answer without compression.");
    }
    match Fields::read(&received.body) {
        Ok(fields) => members(request, &fields),
        Err(problem) => failed(
            &format!("HTTP {}, {problem}: {}", received.status, quote::bytes(&received.body)),
            "Answer a task that cannot be done with the JSON object of a failure, with any HTTP status.",
        ),
    }
}

fn members(request: &Request, fields: &Fields<'_>) -> Check {
    let status = text(fields.status);
    if status.as_deref() != Some("failed") {
        let fix = "Answer `\"status\": \"failed\"`, or name a task that the agent must refuse.";
        return failed(&format!("`status` is {}", shown(fields.status)), fix);
    }
    let named: Option<Uuid> = text(fields.execution_id).and_then(|text| text.parse().ok());
    if named != Some(request.execution_id) {
        let fix = "Copy `execution_id` from the request into the answer, also when the agent fails.";
        return failed(&format!("`execution_id` is {}", shown(fields.execution_id)), fix);
    }
    let members = [("result", fields.result), ("result_hash", fields.result_hash), ("signature", fields.signature)];
    if let Some((member, value)) = members.into_iter().find(|(_, value)| value.is_some()) {
        let fix = "Set `result`, `result_hash` and `signature` to null when the agent fails: sign nothing.";
        return failed(&format!("`{member}` is {}", shown(value)), fix);
    }
    match text(fields.error).filter(|error| !error.trim().is_empty()) {
        Some(error) => Check::passed(NAME, format!("failed: {}", quote::text(&error))),
        None => failed(&format!("`error` is {}", shown(fields.error)), "Say in `error` why the agent failed."),
    }
}

fn failed(received: &str, fix: &str) -> Check {
    Check::failed(NAME, received, fix)
}
