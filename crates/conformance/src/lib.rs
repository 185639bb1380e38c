//! The test of a creator's endpoint. [`run`] sends synthetic requests in the form that the gateway uses, without any
//! transaction, and returns one [`Check`] for each rule of the contract ("Creator service protocol" in
//! `docs/specification.md`): what was expected, what was received, and how to fix it. The API, the command line and
//! the dashboard use this one implementation.
//!
//! A creator decides how long and how slowly it answers, so everything is bounded by [`limits`].
#![forbid(unsafe_code)]

mod answer;
mod failure;
mod hash_mistakes;
pub mod limits;
mod parallel;
mod probes;
mod quote;
mod report;
mod run;
mod schemas;
mod send;
mod signature_mistakes;
mod subject;

pub use report::{Check, CheckName, Report};
pub use run::{CannotTest, run};
pub use subject::{Example, TestedEndpoint};
