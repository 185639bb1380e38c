//! The check of several calls at the same time.

use crate::{
    answer::Judged,
    limits::PARALLEL_REQUESTS,
    probes::{not_good, with},
    report::{Check, CheckName},
    subject::Example,
};

const NAME: CheckName = CheckName::ParallelCalls;

/// The examples to send. If the agent completes changed tasks, each has its own, so that its result shows it.
pub fn examples(example: &Example, changeable: bool) -> Vec<Example> {
    let each = (1..=PARALLEL_REQUESTS).map(mark);
    each.map(|mark| if changeable { with(example, &format!("\n{mark}")) } else { example.clone() }).collect()
}

/// Text that only one of the tasks has.
fn mark(number: u32) -> String {
    format!("(parallel request {number} of {PARALLEL_REQUESTS})")
}

pub fn judge(answers: &[Judged], ignored: &[CheckName]) -> Check {
    if let Some(check) = answers.iter().find_map(|judged| not_good(NAME, judged, ignored)) {
        let good = answers.iter().filter(|judged| not_good(NAME, judged, ignored).is_none()).count();
        let received = check.received.map(|received| format!("{good} of {} good answers. {received}", answers.len()));
        return Check { received, ..check };
    }
    for (number, judged) in (1..).zip(answers) {
        let result = judged.result.as_deref().unwrap_or_default();
        let other = (1..=PARALLEL_REQUESTS).find(|other| *other != number && result.contains(&mark(*other)));
        if let Some(other) = other.filter(|_| !result.contains(&mark(number))) {
            return Check::failed(
                NAME,
                format!("the answer to request {number} has the result of request {other}"),
                "Keep nothing of a call where another call can change it: answers of parallel calls are mixed up.",
            );
        }
    }
    Check::passed(NAME, format!("{} good answers", answers.len()))
}
