//! `crtx key`: API keys. The secret is made on this machine; the wallet grants it on chain what it may spend.

mod change;
mod create;
mod funds;
mod registry;

pub use self::funds::WalletFunds;
use crate::{
    arguments::{OwnerArgs, SendArgs, ServiceArgs},
    settings::Settings,
};

#[derive(Clone, Debug, clap::Subcommand)]
pub enum KeyCommand {
    /// Make an API key and grant it, on chain, what it may spend of your wallet
    #[command(after_help = "Example:\n  crtx key create ci --per-call 0.10 --total 5 --expires 30d")]
    Create(create::CreateArgs),
    /// Show the keys of your wallet, what each may still spend, and whether the approval covers them
    #[command(after_help = "Example:\n  crtx key list")]
    List(OwnerArgs),
    /// End a key for ever, at the service and on chain
    #[command(after_help = "Example:\n  crtx key revoke ci")]
    Revoke {
        /// Name or session public key of the key
        key: String,
        #[command(flatten)]
        send: SendArgs,
        #[command(flatten)]
        service: ServiceArgs,
    },
    /// Raise what a key may spend or how long, and the approval that all keys share
    #[command(
        after_help = "Examples:\n  crtx key topup                        approve what the keys may still spend\n  \
                      crtx key topup ci --add 10            let one key spend 10 USDC more\n  \
                      crtx key topup ci --expires 90d       let it live longer"
    )]
    Topup(change::TopupArgs),
}

pub async fn run(command: KeyCommand, settings: &Settings) -> anyhow::Result<()> {
    match command {
        KeyCommand::Create(arguments) => create::run(&arguments, settings).await,
        KeyCommand::List(arguments) => registry::list(&arguments, settings).await,
        KeyCommand::Revoke { key, send, service } => change::revoke(&key, &send, &service, settings).await,
        KeyCommand::Topup(arguments) => change::topup(&arguments, settings).await,
    }
}
