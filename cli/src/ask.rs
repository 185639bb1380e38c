//! Questions to the person at the terminal.

use std::io::IsTerminal;

use anyhow::bail;

use crate::{output, usage::UsageError};

/// How a command knows that it may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// `--yes`.
    Given,
    /// Somebody can be asked.
    Ask,
}

impl Consent {
    /// Fails where neither `--yes` nor a terminal is there.
    pub fn of(yes: bool) -> Result<Self, UsageError> {
        let asks = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        match (yes, asks) {
            (true, _) => Ok(Self::Given),
            (false, true) => Ok(Self::Ask),
            (false, false) => {
                Err(UsageError::new("There is no terminal to confirm the transaction on; pass --yes to send it."))
            }
        }
    }

    /// Goes on, or fails if the person says no.
    pub fn confirm(self) -> anyhow::Result<()> {
        if self == Self::Given {
            return Ok(());
        }
        output::question("Continue? [y/N] ")?;
        let mut answer = String::new();
        std::io::stdin().read_line(&mut answer)?;
        match answer.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => Ok(()),
            _ => bail!("not confirmed; nothing was signed and nothing was sent"),
        }
    }
}
