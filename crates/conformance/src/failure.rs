//! The checks of an answer `failed`, as the agent gives it to a task that it cannot do.

use crtx_protocol::{
    creator_answer::Fields,
    result_hash::{parse_signature, verify_failure_signature},
};
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::{
    answer::{needs, shown, signature_form_fix, text},
    quote,
    report::{Check, CheckName},
    send::{NoAnswer, ReceivedAnswer, TestRequest},
    subject::TestedEndpoint,
};

const NAME: CheckName = CheckName::FailureForm;
const SIGNATURE: CheckName = CheckName::FailureSignature;

/// Checks the answer to a task that has to fail: its form, and its signature.
pub fn judge(
    subject: &TestedEndpoint,
    request: &TestRequest,
    outcome: &Result<ReceivedAnswer, NoAnswer>,
) -> [Check; 2] {
    let received = match outcome {
        Ok(received) => received,
        Err(NoAnswer::NoTime) => return skipped("the test had no more time to wait for an answer"),
        Err(_) => {
            return no_form(failed("no whole answer", "Answer `failed` before the time-out instead of no answer."));
        }
    };
    if let Some(encoding) = &received.encoding {
        return no_form(failed(&format!("content-encoding: {encoding}"), "Send the answer without compression."));
    }
    match Fields::read(&received.body) {
        Ok(fields) => of_fields(subject, request, &fields),
        Err(problem) => no_form(failed(
            &format!("HTTP {}, {problem}: {}", received.status, quote::bytes(&received.body)),
            "Answer a task that cannot be done with the JSON object of a failure, with any HTTP status.",
        )),
    }
}

/// The same for an answer that was read.
pub fn of_fields(subject: &TestedEndpoint, request: &TestRequest, fields: &Fields<'_>) -> [Check; 2] {
    let form = members(request, fields);
    if form.has_failed() {
        return no_form(form);
    }
    [form, signature(subject, request, fields.failure_signature)]
}

/// There is no failure to check.
pub fn skipped(reason: &str) -> [Check; 2] {
    [NAME, SIGNATURE].map(|name| Check::skipped(name, reason))
}

fn no_form(form: Check) -> [Check; 2] {
    [form, Check::skipped(SIGNATURE, needs(NAME))]
}

/// A failure without a signature breaks no rule. It counts in no rate.
fn signature(subject: &TestedEndpoint, request: &TestRequest, raw: Option<&RawValue>) -> Check {
    let Some(raw) = raw else {
        return Check::skipped(SIGNATURE, "the failure has no `failure_signature`, so it is shown as unproved");
    };
    let written = text(Some(raw)).unwrap_or_default();
    let Ok(signature) = parse_signature(&written) else {
        return Check::failed(SIGNATURE, shown(Some(raw)), signature_form_fix(&written));
    };
    match verify_failure_signature(&subject.result_key.to_bytes(), &request.opening, &signature) {
        Ok(()) => Check::passed(SIGNATURE, format!("for the record {}", request.record())),
        Err(_) => Check::failed(
            SIGNATURE,
            "a signature over another message or by another key",
            "Sign `crtx-failure-v1:`, the 32 bytes that `execution_record` is the base58 form of, `:`, and the 8 bytes \
             of `opened_at_unix_s`, lowest first: 57 bytes. Or leave `failure_signature` out.",
        ),
    }
}

fn members(request: &TestRequest, fields: &Fields<'_>) -> Check {
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
