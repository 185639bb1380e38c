//! One thing that was looked at.

use serde::Serialize;

use crate::output::printable;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Ok,
    /// Not wrong, and good to know.
    Note,
    Wrong,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub name: &'static str,
    pub state: State,
    pub detail: String,
    /// What to do about it.
    pub fix: Option<String>,
}

impl Finding {
    pub fn ok(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, state: State::Ok, detail: detail.into(), fix: None }
    }

    pub fn note(name: &'static str, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { name, state: State::Note, detail: detail.into(), fix: Some(fix.into()) }
    }

    pub fn wrong(name: &'static str, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { name, state: State::Wrong, detail: detail.into(), fix: Some(fix.into()) }
    }

    pub fn lines(&self) -> String {
        let word = match self.state {
            State::Ok => "ok   ",
            State::Note => "note ",
            State::Wrong => "WRONG",
        };
        let fix = self.fix.as_deref().map(|fix| format!("\n{:17}→ {}", "", printable(fix)));
        format!("{word}  {:<9} {}{}", self.name, printable(&self.detail), fix.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_shown_with_what_to_do() {
        let lines = Finding::wrong("rpc", "does not answer", "start it").lines();
        assert_eq!(lines, "WRONG  rpc       does not answer\n                 → start it");
        assert_eq!(Finding::ok("rpc", "answers").lines(), "ok     rpc       answers");
    }
}
