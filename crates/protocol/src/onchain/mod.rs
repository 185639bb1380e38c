//! What the on-chain program uses, too. The bytes of the program depend on every file of this folder.

pub mod call_text;
pub mod failure_text;
pub mod fee;
pub mod plain_text;
pub mod result_text;
pub mod seeds;
pub mod terms;
