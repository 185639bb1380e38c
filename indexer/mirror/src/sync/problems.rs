//! What is wrong now, in words, for the status.

use std::{collections::BTreeMap, time::Duration};

use crtx_store::indexer_status::Problem;
use parking_lot::Mutex;
use tokio::time::Instant;

/// Longest message that is shown. Parts of messages come from nodes.
pub const MAX_MESSAGE: usize = 500;

/// The present problems, one for each code.
#[derive(Debug, Default)]
pub struct SyncProblems(Mutex<BTreeMap<&'static str, ShownProblem>>);

#[derive(Debug)]
struct ShownProblem {
    message: String,
    until: Option<Instant>,
}

impl SyncProblems {
    /// Shows a problem until it is cleared.
    pub fn set(&self, code: &'static str, message: impl ToString) {
        self.show(code, message.to_string(), None);
    }

    /// Shows a problem that is over, so that a reader can notice it.
    pub fn set_for(&self, code: &'static str, message: impl ToString, time: Duration) {
        self.show(code, message.to_string(), Instant::now().checked_add(time));
    }

    fn show(&self, code: &'static str, message: String, until: Option<Instant>) {
        let message: String = message.chars().take(MAX_MESSAGE).collect();
        let mut problems = self.0.lock();
        if problems.get(code).is_none_or(|shown| shown.message != message) {
            tracing::warn!(code, message, "the mirror has a problem");
        }
        problems.insert(code, ShownProblem { message, until });
    }

    /// Shows a problem as long as there is a message about it.
    pub fn show_while(&self, code: &'static str, message: Option<impl ToString>) {
        match message {
            Some(message) => self.set(code, message),
            None => self.clear(&[code]),
        }
    }

    pub fn clear(&self, codes: &[&str]) {
        let mut problems = self.0.lock();
        problems.retain(|code, shown| shown.until.is_some() || !codes.contains(code));
    }

    pub fn list(&self) -> Vec<Problem> {
        let mut problems = self.0.lock();
        let now = Instant::now();
        problems.retain(|_, shown| shown.until.is_none_or(|until| until > now));
        let problem = |(code, shown): (&&str, &ShownProblem)| Problem {
            code: (*code).to_owned(),
            message: shown.message.clone(),
        };
        problems.iter().map(problem).collect()
    }
}
