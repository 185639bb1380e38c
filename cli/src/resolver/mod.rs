//! `crtx resolver`: the open disputes, and the decisions about them.

mod decide;
mod queue;

use crate::{dispute::StatementArgs, settings::Settings};

#[derive(Clone, Debug, clap::Subcommand)]
pub enum ResolverCommand {
    /// List open disputes, the one that is due next first
    #[command(after_help = "Example:\n  crtx resolver queue")]
    Queue(queue::QueueArgs),
    /// Decide for the caller, and slash the collateral
    #[command(
        mut_arg("execution", named_by_dispute),
        after_help = "Example:\n  crtx resolver uphold 165cf497-1db5-4f5e-940b-57c2e3534dea --slash 0.05 --text 'It is empty.'"
    )]
    Uphold(decide::UpholdArgs),
    /// Decide for the creator
    #[command(
        mut_arg("execution", named_by_dispute),
        after_help = "Example:\n  crtx resolver reject 165cf497-1db5-4f5e-940b-57c2e3534dea --text 'The result is right.'"
    )]
    Reject(StatementArgs),
}

fn named_by_dispute(execution: clap::Arg) -> clap::Arg {
    execution.help("Execution id, or address of the record or of the dispute")
}

pub async fn run(command: ResolverCommand, settings: &Settings) -> anyhow::Result<()> {
    match command {
        ResolverCommand::Queue(arguments) => queue::queue(&arguments, settings).await,
        ResolverCommand::Uphold(arguments) => decide::uphold(&arguments, settings).await,
        ResolverCommand::Reject(arguments) => decide::reject(&arguments, settings).await,
    }
}
