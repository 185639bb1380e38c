//! What a party says about an execution: the arguments of `crtx dispute open` and `crtx dispute answer`.

use crate::{
    arguments::{OutputArgs, SendArgs, ServiceArgs},
    evidence::EvidenceArgs,
    execution_ref::ExecutionRef,
};

#[derive(Clone, Debug, clap::Args)]
pub struct StatementArgs {
    /// Execution id, or address of its record
    #[arg(value_name = "EXECUTION")]
    pub execution: ExecutionRef,
    #[command(flatten)]
    pub evidence: EvidenceArgs,
    #[command(flatten)]
    pub service: ServiceArgs,
    #[command(flatten)]
    pub send: SendArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}
