//! What a transaction is about, in words and amounts: what is shown before anybody signs.

use std::fmt::{Display, Write};

use crtx_protocol::usdc::UsdcBase;
use solana_instruction::Instruction;

use crate::output::{printable, sol};

/// A transaction that is not signed yet.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What it does, as an order: `Pause the agent …`.
    pub title: String,
    pub instructions: Vec<Instruction>,
    /// What happens on chain because of it, one sentence each.
    effects: Vec<String>,
    /// USDC that moves: how much, from whom and to whom.
    moves: Vec<String>,
    /// Accounts whose rent the wallet pays, each with the length of its data.
    pub new_accounts: Vec<(&'static str, usize)>,
}

/// What a transaction costs in SOL, in lamports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionCost {
    /// `None` if the node does not say.
    pub fee: Option<u64>,
    pub rent: u64,
}

impl Plan {
    pub fn new(title: impl Into<String>, instructions: Vec<Instruction>) -> Self {
        Self { title: title.into(), instructions, effects: vec![], moves: vec![], new_accounts: vec![] }
    }

    #[must_use]
    pub fn effect(mut self, sentence: impl Into<String>) -> Self {
        self.effects.push(sentence.into());
        self
    }

    #[must_use]
    pub fn effects(mut self, sentences: impl IntoIterator<Item = String>) -> Self {
        self.effects.extend(sentences);
        self
    }

    /// USDC base units that move.
    #[must_use]
    pub fn moves(mut self, amount: u64, from: impl Display, to: impl Display) -> Self {
        if amount > 0 {
            self.moves.push(format!("{} from {from} to {to}", UsdcBase(amount)));
        }
        self
    }

    #[must_use]
    pub fn creates(mut self, what: &'static str, bytes: usize) -> Self {
        self.new_accounts.push((what, bytes));
        self
    }

    /// The page that is shown. `signer`: who signs and pays the fee, and where.
    pub fn summary(&self, cost: &TransactionCost, signer: &str) -> String {
        let mut page = printable(&self.title);
        let mut line = |name: &str, text: &str| {
            // Writing to a String cannot fail.
            let _ = write!(page, "\n  {name:<12} {}", printable(text));
        };
        for effect in &self.effects {
            line("what happens", effect);
        }
        if self.moves.is_empty() {
            line("USDC", "nothing moves");
        }
        for amount in &self.moves {
            line("USDC", amount);
        }
        let fee = cost.fee.map_or_else(|| "not known".to_owned(), |fee| format!("{} SOL", sol(fee)));
        line("network fee", &fee);
        if !self.new_accounts.is_empty() {
            let accounts: Vec<&str> = self.new_accounts.iter().map(|(what, _)| *what).collect();
            line("rent", &format!("{} SOL for {}", sol(cost.rent), accounts.join(", ")));
        }
        line("signed by", signer);
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_says_what_moves_what_it_costs_and_who_signs() {
        let plan = Plan::new("Add collateral to X", vec![])
            .effect("The collateral of the agent rises to 20 USDC.")
            .moves(10_000_000, "your wallet", "the collateral of X")
            .moves(0, "nowhere", "nowhere")
            .creates("your USDC account", 165);
        let page = plan.summary(&TransactionCost { fee: Some(5_000), rent: 2_039_280 }, "W on local");
        let expected = "Add collateral to X\n  what happens The collateral of the agent rises to 20 USDC.\n  \
                        USDC         10 from your wallet to the collateral of X\n  network fee  0.000005 SOL\n  \
                        rent         0.00203928 SOL for your USDC account\n  signed by    W on local";
        assert_eq!(page, expected);
        let bare = Plan::new("Pause \u{1b}[2J", vec![]).summary(&TransactionCost { fee: None, rent: 0 }, "W");
        assert!(bare.contains("nothing moves") && bare.contains("not known") && !bare.contains('\u{1b}'), "{bare}");
    }
}
