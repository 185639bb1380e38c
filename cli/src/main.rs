//! The `crtx` command.

#![warn(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand, error::ErrorKind};
use crtx_cli::{
    logs, output,
    own_agent::ManifestError,
    settings::{NetworkChoice, Settings},
    usage::UsageError,
};

/// Pay-per-call AI agents on Solana: a marketplace on your machine, and proofs anybody can repeat
#[derive(Debug, Parser)]
#[command(name = "crtx", version, propagate_version = true)]
struct Cli {
    /// Network that the command uses: local, devnet, mainnet, or the name of a `crtx up --name` [default: the one in
    /// config.toml, else local, which is the network of the folder, else that of the last `crtx up`]
    #[arg(long, global = true, env = "CRTX_NETWORK", value_name = "NETWORK", help_heading = "Network",
        value_parser = NetworkChoice::parse)]
    network: Option<NetworkChoice>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start the whole marketplace on this machine
    #[cfg(feature = "localnet")]
    #[command(after_help = "Example:\n  crtx up")]
    Up(crtx_cli::up::UpArgs),
    /// Show and change what commands use where no flag says otherwise
    Config(crtx_cli::config::ConfigArgs),
    /// Make, show and fill a wallet
    Wallet(crtx_cli::wallet::WalletArgs),
    /// See, pause, change and end your agents
    Agent(crtx_cli::agent::AgentArgs),
    /// Check an execution against the chain and the content
    #[command(after_help = "Example:\n  crtx verify 165cf497-1db5-4f5e-940b-57c2e3534dea")]
    Verify(crtx_cli::verify::VerifyArgs),
    /// Call an agent and pay for it. Results are public
    ///
    /// Results are public: anybody who reads the chain finds the address of every result and can download it without a
    /// credential. Task and parameters are not published; their SHA-256 is, the creator gets them, and the service stores
    /// them.
    #[command(
        after_help = "Example:\n  crtx execute 82vpEBc9TeDX6S1Dd3UJ77nQeqFkHSMEgANRBhc28GR8 --task 'Count this.'"
    )]
    Execute(crtx_cli::execute::ExecuteArgs),
    /// Make, show, raise and revoke API keys
    Key(crtx_cli::keys::KeyArgs),
    /// Show the executions of your wallet
    Executions(crtx_cli::executions::ExecutionsArgs),
    /// Put a signed result on chain as creator or caller, without a gateway
    #[command(after_help = "Example:\n  crtx settle 165cf497-1db5-4f5e-940b-57c2e3534dea --answer answer.json")]
    Settle(crtx_cli::settle::SettleArgs),
    /// Give the money of an execution back to its caller after the deadline; anybody may
    #[command(after_help = "Example:\n  crtx refund 165cf497-1db5-4f5e-940b-57c2e3534dea")]
    Refund(crtx_cli::refund::RefundArgs),
    /// See and answer disputes
    Dispute(crtx_cli::dispute::DisputeArgs),
    /// Decide disputes, as the resolver
    Resolver(crtx_cli::resolver::ResolverArgs),
    /// See and change a deployment, as its admin
    Admin(crtx_cli::admin::AdminArgs),
    /// Look at everything that a command needs, and say how to mend what is wrong
    #[command(after_help = "Example:\n  crtx doctor --network devnet")]
    Doctor(crtx_cli::doctor::DoctorArgs),
    /// Compare the index of a service with the chain, as any node shows it
    #[command(
        after_help = "Example:\n  crtx audit --rpc-url https://api.devnet.solana.com --url https://market.example"
    )]
    Audit(crtx_cli::audit::AuditArgs),
    /// Print the script that completes commands in a shell
    #[command(after_help = "Example:\n  crtx completions bash > ~/.local/share/bash-completion/completions/crtx")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the OpenAPI description of the services
    #[cfg(feature = "localnet")]
    #[command(after_help = "Example:\n  crtx openapi > openapi.json")]
    Openapi,
}

#[cfg(feature = "localnet")]
fn print_openapi() -> anyhow::Result<ExitCode> {
    output::bytes(format!("{}\n", crtx_server::openapi::description().to_pretty_json()?).as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn print_completions(shell: clap_complete::Shell) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "crtx", &mut script);
    output::bytes(&script)?;
    Ok(ExitCode::SUCCESS)
}

fn main() -> ExitCode {
    let Cli { network, command } = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return unparsed(&error),
    };
    logs::start();
    match command {
        #[cfg(feature = "localnet")]
        Command::Up(arguments) => up(arguments),
        command => match tokio::runtime::Runtime::new() {
            Ok(runtime) => runtime.block_on(run(command, network)),
            Err(error) => failed(&error.into()),
        },
    }
}

/// Help and version are answers. Everything else is wrong usage, said in one sentence.
fn unparsed(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // Nobody is left to tell that standard output is closed.
            let _ = error.print();
            ExitCode::SUCCESS
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand if std::env::args_os().len() < 2 => {
            let _ = error.print();
            ExitCode::from(2)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            failed(&UsageError::new("the command has commands of its own; `--help` lists them").into())
        }
        _ => failed(&UsageError::of_parser(&error.to_string()).into()),
    }
}

/// Runs until it is stopped, and then ends in time.
#[cfg(feature = "localnet")]
fn up(arguments: crtx_cli::up::UpArgs) -> ExitCode {
    use crtx_cli::up;
    crtx_server::process::run(up::STOP_PATIENCE, |stop| async move {
        up::run(arguments, stop).await.map_or_else(|error| failed(&error), |()| ExitCode::SUCCESS)
    })
}

async fn run(command: Command, network: Option<NetworkChoice>) -> ExitCode {
    outcome(command, network).await.unwrap_or_else(|error| failed(&error))
}

async fn outcome(command: Command, network: Option<NetworkChoice>) -> anyhow::Result<ExitCode> {
    let settings = || Settings::load(network.clone());
    match command {
        #[cfg(feature = "localnet")]
        Command::Up(_) => Ok(ExitCode::FAILURE),
        Command::Config(arguments) => crtx_cli::config::run(arguments, &settings()?),
        Command::Wallet(arguments) => crtx_cli::wallet::run(arguments, &settings()?).await,
        Command::Agent(arguments) => crtx_cli::agent::run(arguments, &settings()?).await,
        Command::Verify(arguments) => crtx_cli::verify::run(arguments, &settings()?).await,
        Command::Execute(arguments) => crtx_cli::execute::run(arguments, &settings()?).await,
        Command::Key(arguments) => crtx_cli::keys::run(arguments, &settings()?).await,
        Command::Executions(arguments) => crtx_cli::executions::run(arguments, &settings()?).await,
        Command::Settle(arguments) => crtx_cli::settle::run(arguments, &settings()?).await,
        Command::Refund(arguments) => crtx_cli::refund::run(arguments, &settings()?).await,
        Command::Dispute(arguments) => crtx_cli::dispute::run(arguments, &settings()?).await,
        Command::Resolver(arguments) => crtx_cli::resolver::run(arguments, &settings()?).await,
        Command::Admin(arguments) => crtx_cli::admin::run(arguments, &settings()?).await,
        Command::Doctor(arguments) => crtx_cli::doctor::run(arguments, &settings()?).await,
        Command::Audit(arguments) => crtx_cli::audit::run(arguments, &settings()?).await,
        Command::Completions { shell } => print_completions(shell),
        #[cfg(feature = "localnet")]
        Command::Openapi => print_openapi(),
    }
}

fn failed(error: &anyhow::Error) -> ExitCode {
    match error.downcast_ref::<ManifestError>() {
        // The user's own file, with a list of what is wrong in it.
        Some(error) => output::notes(&format!("crtx: {error}")),
        // Nodes, services and creators are quoted in errors.
        None => output::error_line(format_args!("crtx: {error:#}")),
    }
    if error.is::<UsageError>() { ExitCode::from(2) } else { ExitCode::FAILURE }
}
