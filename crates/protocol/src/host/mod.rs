//! Parts that only programs off chain use and that belong together in a folder.

pub mod mirror_digest;
pub mod signed_answer;
pub mod webhook;
