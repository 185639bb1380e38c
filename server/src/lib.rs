//! The services of a marketplace in one process: [`Service`] puts the HTTP API, the indexer and the worker together,
//! as [`Role`]s say, and [`config`] reads what an operator sets. `crtx-server` and `crtx up` run the same wiring.
#![forbid(unsafe_code)]

pub mod command_line;
pub mod config;
mod metrics;
pub mod openapi;
pub mod process;
mod readiness;
pub mod rebuild;
mod role;
mod service;
pub mod traces;

/// Of every program that contains the services. The list of agents in memory leaves gaps of all sizes between its parts,
/// and the allocator of glibc searches them for each request: a read took the service a third more processor time.
/// jemalloc also gives unused memory back, so 200 clients that hold half-sent bodies cost tens of MiB.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

pub use role::Role;
pub use service::{Running, Service, ServiceConfig, StopLimits};
