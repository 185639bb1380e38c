//! JSON Schemas that others wrote. A listing's schema is a program that runs on the gateway's threads before any
//! money moves, so it has a budget: [`Schema::compile`] accepts only what [`limits`] allows, and
//! [`Schema::check`] counts what an evaluation may cost at most, before it evaluates anything.
//!
//! Nothing here is asynchronous: the caller decides which thread pays for the work. Everything a schema can
//! cause is bounded by the constants of [`limits`], so every call returns.
#![forbid(unsafe_code)]

mod cost;
mod error;
mod graph;
pub mod limits;
mod patterns;
mod scan;
mod schema;

pub use cost::EvaluationCost;
pub use error::{CheckError, SchemaError};
pub use schema::Schema;
