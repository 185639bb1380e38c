//! `crtx dispute`: the disputes of a wallet, as caller and as creator.

mod shown;
mod statement;

pub use self::statement::StatementArgs;
use crate::settings::Settings;

#[derive(Clone, Debug, clap::Subcommand)]
pub enum DisputeCommand {
    /// Dispute a paid result of one of your calls
    #[command(
        after_help = "Example:\n  crtx dispute open 165cf497-1db5-4f5e-940b-57c2e3534dea --text 'It is empty.' --file shot.png"
    )]
    Open(StatementArgs),
    /// List the disputes that you raised, and those about your agents
    #[command(after_help = "Example:\n  crtx dispute list")]
    List(shown::ListArgs),
    /// Show one dispute with its evidence
    #[command(after_help = "Example:\n  crtx dispute show 165cf497-1db5-4f5e-940b-57c2e3534dea")]
    Show(shown::ShowArgs),
    /// Answer a dispute about your agent
    #[command(after_help = "Example:\n  crtx dispute answer 165cf497-1db5-4f5e-940b-57c2e3534dea --text 'As asked.'")]
    Answer(StatementArgs),
}

pub async fn run(command: DisputeCommand, settings: &Settings) -> anyhow::Result<()> {
    match command {
        DisputeCommand::Open(arguments) => statement::open(&arguments, settings).await,
        DisputeCommand::List(arguments) => shown::list(&arguments, settings).await,
        DisputeCommand::Show(arguments) => shown::show(&arguments, settings).await,
        DisputeCommand::Answer(arguments) => statement::answer(&arguments, settings).await,
    }
}
