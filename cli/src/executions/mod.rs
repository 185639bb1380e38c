//! `crtx executions`: the executions of a wallet, from the service.

mod export;
mod filter;
mod list;
mod show;

use crate::settings::Settings;

#[derive(Clone, Debug, clap::Subcommand)]
pub enum ExecutionsCommand {
    /// Show the newest executions of your wallet
    #[command(after_help = "Example:\n  crtx executions list --status completed --limit 10")]
    List(list::ListArgs),
    /// Show one execution with everything that is known of it
    #[command(after_help = "Example:\n  crtx executions show 165cf497-1db5-4f5e-940b-57c2e3534dea")]
    Show(show::ShowArgs),
    /// Write all executions as CSV or as lines of JSON
    #[command(after_help = "Example:\n  crtx executions export --csv --from 2026-01-01 > executions.csv")]
    Export(export::ExportArgs),
}

pub async fn run(command: ExecutionsCommand, settings: &Settings) -> anyhow::Result<()> {
    match command {
        ExecutionsCommand::List(arguments) => list::run(&arguments, settings).await,
        ExecutionsCommand::Show(arguments) => show::run(&arguments, settings).await,
        ExecutionsCommand::Export(arguments) => export::run(&arguments, settings).await,
    }
}
