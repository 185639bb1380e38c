//! The only crate with SQL. It owns the schema (`migrations/`), the mirror of the program's accounts, the
//! queries behind the read API, API keys, sessions, and the gateway's durable executions.
//!
//! The compiler checks every query against the schema, with the data in `.sqlx/`.
#![forbid(unsafe_code)]

pub mod admission;
pub mod api_keys;
pub mod audit;
pub mod clocks;
pub mod closings;
mod columns;
mod convert;
mod database;
pub mod error;
pub mod events;
pub mod execution_list;
pub mod executions;
pub mod fee_payers;
pub mod held_content;
pub mod housekeeping;
pub mod indexer_status;
pub mod leadership;
pub mod local_network;
pub mod metadata;
pub mod metrics;
pub mod mirror;
pub mod pools;
pub mod processes;
pub mod reads;
pub mod rebuild;
pub mod sessions;
#[cfg(feature = "testing")]
pub mod testing;
pub mod transaction;
pub mod webhooks;

pub use database::migrate;
pub(crate) use error::Result;
pub use error::StoreError;
pub use pools::{Pools, ReadPools};
pub use sqlx::{PgConnection, PgExecutor, PgPool, types::Json};
