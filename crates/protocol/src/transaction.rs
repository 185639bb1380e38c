//! What becomes of a transaction that was sent: the one answer that chain, database and gateway share.

/// What became of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It landed, is confirmed, and did what it says.
    Confirmed { slot: u64 },
    /// The chain refused it: it landed and failed there, so it changed nothing. `slot` is 0 if the refusal was predicted
    /// by a simulation.
    Rejected { slot: u64, error: String },
    /// It did not land and never will: the finalized height is past its last valid one, and no node's history up to
    /// there has it. Only now may a successor be signed.
    Expired,
    /// Not known yet. Ask again; do not sign another.
    Unknown,
}
