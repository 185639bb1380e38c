//! `crtx agent`: from an empty folder to a listed agent, its updates, and its end.

mod change;
mod init;
mod lock;
mod manifest;
mod publish;
mod shown;
mod test;
mod which;

use agent_marketplace::state::AgentStatus;

pub use self::manifest::ManifestError;
use crate::settings::Settings;

#[derive(Clone, Debug, clap::Subcommand)]
pub enum AgentCommand {
    /// Write a folder with an example agent: its description, a key and a service that works
    #[command(after_help = "Example:\n  crtx agent init word-count\n  cd word-count && node service.mjs")]
    Init(init::InitArgs),
    /// Test the service of an agent as the marketplace calls it, without any payment
    #[command(after_help = "Example:\n  crtx agent test word-count")]
    Test(test::TestArgs),
    /// List the agent of a folder, or update its listing
    #[command(after_help = "Example:\n  crtx agent publish word-count")]
    Publish(publish::PublishArgs),
    /// List the agents of a creator
    #[command(after_help = "Example:\n  crtx agent list")]
    List(shown::ListArgs),
    /// Show one agent with its terms, collateral and totals
    #[command(after_help = "Example:\n  crtx agent show 0")]
    Show(shown::ShowArgs),
    /// Refuse new calls until the agent is resumed
    #[command(after_help = "Example:\n  crtx agent pause 0")]
    Pause(change::OwnArgs),
    /// Accept calls again
    #[command(after_help = "Example:\n  crtx agent resume 0")]
    Resume(change::OwnArgs),
    /// Add collateral
    #[command(after_help = "Example:\n  crtx agent topup 0 40")]
    Topup(change::TopupArgs),
    /// Replace the key that signs the agent's results
    #[command(after_help = "Example:\n  crtx agent rotate-key 0 --key new-result-key.json")]
    RotateKey(change::RotateKeyArgs),
    /// End a listing for good; the collateral can be withdrawn when nothing is open any more
    #[command(after_help = "Example:\n  crtx agent delist 0")]
    Delist(change::OwnArgs),
    /// Get the collateral of a delisted agent back
    #[command(after_help = "Example:\n  crtx agent withdraw 0")]
    Withdraw(change::OwnArgs),
    /// Close the accounts of a delisted agent and get their rent back
    #[command(after_help = "Example:\n  crtx agent close 0")]
    Close(change::OwnArgs),
}

pub async fn run(command: AgentCommand, settings: &Settings) -> anyhow::Result<()> {
    match command {
        AgentCommand::Init(arguments) => init::run(&arguments, &settings.folder),
        AgentCommand::Test(arguments) => test::run(&arguments, settings).await,
        AgentCommand::Publish(arguments) => publish::run(&arguments, settings).await,
        AgentCommand::List(arguments) => shown::list(&arguments, settings).await,
        AgentCommand::Show(arguments) => shown::show(&arguments, settings).await,
        AgentCommand::Pause(arguments) => change::set_status(&arguments, settings, AgentStatus::Paused).await,
        AgentCommand::Resume(arguments) => change::set_status(&arguments, settings, AgentStatus::Active).await,
        AgentCommand::Topup(arguments) => change::topup(&arguments, settings).await,
        AgentCommand::RotateKey(arguments) => change::rotate_key(&arguments, settings).await,
        AgentCommand::Delist(arguments) => change::delist(&arguments, settings).await,
        AgentCommand::Withdraw(arguments) => change::withdraw(&arguments, settings).await,
        AgentCommand::Close(arguments) => change::close(&arguments, settings).await,
    }
}
