//! `crtx agent`: from an empty folder to a listed agent, its updates, and its end.

mod change;
mod init;
mod junit;
mod lock;
mod manifest;
mod publish;
mod serve;
mod shown;
mod test;

use std::{path::PathBuf, str::FromStr};

use agent_marketplace::state::AgentStatus;
use crtx_protocol::usdc::UsdcBase;
use solana_pubkey::Pubkey;

pub use self::manifest::ManifestError;
use crate::{
    arguments::{OutputArgs, ReadArgs, some_usdc},
    market::Market,
    settings::Settings,
};

#[derive(Clone, Debug, clap::Subcommand)]
pub enum AgentCommand {
    /// Write a folder with an example agent: its description, a key and a service that works
    #[command(after_help = "Example:\n  crtx agent init word-count\n  cd word-count && node service.mjs")]
    Init {
        /// The folder to make; its name becomes the agent's name
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Test the service of an agent as the marketplace calls it, without any payment
    #[command(after_help = "Example:\n  crtx agent test word-count")]
    Test {
        /// The agent's folder or its agent.toml
        #[arg(value_name = "PATH", default_value = ".")]
        path: PathBuf,
        /// Write the report there as well, as JUnit XML for a CI system
        #[arg(long, value_name = "FILE")]
        junit: Option<PathBuf>,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// List the agent of a folder, or update its listing
    #[command(after_help = "Example:\n  crtx agent publish word-count")]
    Publish(publish::PublishArgs),
    /// Answer calls with what any HTTP service does: it gets the task, and its answer is signed
    #[command(after_help = "Example:\n  crtx agent serve word-count --upstream http://127.0.0.1:3000/do --publish")]
    Serve(Box<serve::ServeArgs>),
    /// List the agents of a creator
    #[command(after_help = "Example:\n  crtx agent list")]
    List {
        /// Wallet of another creator
        #[arg(long, value_name = "ADDRESS", conflicts_with = "keypair")]
        creator: Option<Pubkey>,
        #[command(flatten)]
        read: ReadArgs,
    },
    /// Show one agent with its terms, collateral and totals
    #[command(after_help = "Example:\n  crtx agent show 0")]
    Show {
        /// Address of the agent, or its index among your agents
        #[arg(value_name = "AGENT")]
        agent: Which,
        #[command(flatten)]
        read: ReadArgs,
    },
    /// Refuse new calls until the agent is resumed
    #[command(after_help = "Example:\n  crtx agent pause 0")]
    Pause(change::OwnArgs),
    /// Accept calls again
    #[command(after_help = "Example:\n  crtx agent resume 0")]
    Resume(change::OwnArgs),
    /// Add collateral
    #[command(after_help = "Example:\n  crtx agent topup 0 40")]
    Topup {
        #[command(flatten)]
        own: change::OwnArgs,
        /// USDC to add
        #[arg(value_name = "USDC", value_parser = some_usdc)]
        amount: UsdcBase,
    },
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
        AgentCommand::Init { folder, output } => init::run(&folder, output, &settings.folder),
        AgentCommand::Test { path, junit, output } => test::run(&path, junit.as_deref(), output, settings).await,
        AgentCommand::Publish(arguments) => publish::run(&arguments, settings).await,
        AgentCommand::Serve(arguments) => serve::run(*arguments, settings).await,
        AgentCommand::List { creator, read } => shown::list(creator, &read, settings).await,
        AgentCommand::Show { agent, read } => shown::show(agent, &read, settings).await,
        AgentCommand::Pause(arguments) => change::set_status(&arguments, settings, AgentStatus::Paused).await,
        AgentCommand::Resume(arguments) => change::set_status(&arguments, settings, AgentStatus::Active).await,
        AgentCommand::Topup { own, amount } => change::topup(&own, amount, settings).await,
        AgentCommand::RotateKey(arguments) => change::rotate_key(&arguments, settings).await,
        AgentCommand::Delist(arguments) => change::delist(&arguments, settings).await,
        AgentCommand::Withdraw(arguments) => change::withdraw(&arguments, settings).await,
        AgentCommand::Close(arguments) => change::close(&arguments, settings).await,
    }
}

/// How a command names an agent: by its address, or by its index among the agents of the wallet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    Address(Pubkey),
    Index(u32),
}

impl FromStr for Which {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let index = text.parse().map(Self::Index).ok();
        let address = || text.parse().map(Self::Address).ok();
        index.or_else(address).ok_or_else(|| "neither the address of an agent nor its index".to_owned())
    }
}

impl Which {
    pub fn address(self, market: &Market, creator: &Pubkey) -> Pubkey {
        match self {
            Self::Address(address) => address,
            Self::Index(index) => market.addresses().agent(creator, index),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_named_by_address_or_index() {
        let address = Pubkey::new_from_array([3; 32]);
        assert_eq!("0".parse(), Ok(Which::Index(0)));
        assert_eq!(address.to_string().parse(), Ok(Which::Address(address)));
        for bad in ["", "-1", "my-agent", "99999999999"] {
            assert!(bad.parse::<Which>().is_err(), "{bad}");
        }
    }
}
