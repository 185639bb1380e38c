//! What is asked after the example was answered well: texts that are often hashed or signed wrongly, additional
//! members, a repeated call.

use crate::{
    answer::Judged,
    report::{Check, CheckName},
    subject::Example,
};

/// The example with characters of two, three and four bytes, a combining accent, and a line separator.
pub fn unicode(example: &Example) -> Example {
    with(example, " Zürich, cafe\u{301}, 東京, 🦀, \u{2028}end")
}

/// The example with lines that end in CR LF.
pub fn crlf(example: &Example) -> Example {
    with(example, "\r\nsecond line\r\n\r\nfourth line\r\n")
}

/// The shortest task that leads to an empty result, if any does: the marketplace refuses empty tasks.
pub fn empty(example: &Example) -> Example {
    Example { task: " ".to_owned(), parameters: example.parameters.clone() }
}

pub fn with(example: &Example, end: &str) -> Example {
    Example { task: format!("{}{end}", example.task), parameters: example.parameters.clone() }
}

/// The check of an answer to a changed task. The agent may return any result, if it hashes and signs this result
/// correctly. `exercises` says whether a result has what the check is about; `ignored` names the checks that the
/// example failed.
pub fn changed_task(
    name: CheckName,
    judged: &Judged,
    ignored: &[CheckName],
    exercises: fn(&str) -> bool,
    unexercised: &str,
) -> Check {
    if let Some(reason) = &judged.failed {
        return Check::skipped(name, format!("the agent answers the task of this check with `failed`: {reason}"));
    }
    if let Some(check) = not_good(name, judged, ignored) {
        return check;
    }
    let result = judged.result.as_deref().unwrap_or_default();
    if exercises(result) {
        Check::passed(name, format!("hash and signature of {} bytes are right", result.len()))
    } else {
        Check::skipped(name, unexercised)
    }
}

/// The check of an answer to a request with members that the agent does not know.
pub fn unknown_fields(judged: &Judged, ignored: &[CheckName]) -> Check {
    const NAME: CheckName = CheckName::UnknownFields;
    match not_good(NAME, judged, ignored) {
        None => Check::passed(NAME, "completed"),
        Some(check) if check.has_failed() => {
            let fix = "Ignore members of the request that the agent does not know: later versions may add some.";
            Check { fix: Some(fix.to_owned()), ..check }
        }
        Some(skipped) => skipped,
    }
}

/// The check of the answer to a repeated request.
pub fn repeated(first: &Judged, again: &Judged, ignored: &[CheckName]) -> Check {
    const NAME: CheckName = CheckName::RepeatedId;
    if let Some(reason) = &again.failed {
        return Check::passed(NAME, format!("refused: {reason}"));
    }
    if let Some(status @ 400..=499) = again.http_status {
        return Check::passed(NAME, format!("refused with HTTP {status}"));
    }
    if let Some(check) = not_good(NAME, again, ignored) {
        return check;
    }
    if first.result == again.result {
        return Check::passed(NAME, "the same result");
    }
    Check::failed(
        NAME,
        "another result",
        "Keep the answer of each `execution_id` for the time-out of the call and send it again, or refuse: the \
         marketplace repeats a call that was interrupted.",
    )
}

/// The check, if the answer is not a good one.
pub fn not_good(name: CheckName, judged: &Judged, ignored: &[CheckName]) -> Option<Check> {
    if judged.no_time {
        return Some(Check::skipped(name, "the test had no more time to wait for an answer"));
    }
    judged.problem(ignored).map(|problem| {
        let received = format!("`{}`: {}", problem.name, problem.received.as_deref().unwrap_or_default());
        Check::failed(name, received, problem.fix.clone().unwrap_or_default())
    })
}
