//! The `crtx` command.

#![warn(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand, error::ErrorKind};
use crtx_cli::{
    agent::ManifestError,
    arguments::SendArgs,
    execution_ref::ExecutionRef,
    output::{self, AlreadySaid},
    settings::{NetworkChoice, Settings},
    usage::UsageError,
};
use crtx_http::log::OneLine;
use tracing_subscriber::EnvFilter;

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
    #[command(subcommand)]
    Config(crtx_cli::config::ConfigCommand),
    /// Make, show and fill a wallet
    #[command(subcommand)]
    Wallet(crtx_cli::wallet::WalletCommand),
    /// See, pause, change and end your agents
    #[command(subcommand)]
    Agent(crtx_cli::agent::AgentCommand),
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
    #[command(subcommand)]
    Key(crtx_cli::keys::KeyCommand),
    /// Show the executions of your wallet
    #[command(subcommand)]
    Executions(crtx_cli::executions::ExecutionsCommand),
    /// Put a signed result on chain as creator or caller, without a gateway
    #[command(after_help = "Example:\n  crtx settle 165cf497-1db5-4f5e-940b-57c2e3534dea --answer answer.json")]
    Settle(crtx_cli::settle::SettleArgs),
    /// Give the money of an execution back to its caller after the deadline; anybody may
    #[command(after_help = "Example:\n  crtx refund 165cf497-1db5-4f5e-940b-57c2e3534dea")]
    Refund {
        /// Execution id, or address of the record
        #[arg(value_name = "EXECUTION")]
        execution: ExecutionRef,
        #[command(flatten)]
        send: SendArgs,
    },
    /// See and answer disputes
    #[command(subcommand)]
    Dispute(crtx_cli::dispute::DisputeCommand),
    /// Decide disputes, as the resolver
    #[command(subcommand)]
    Resolver(crtx_cli::resolver::ResolverCommand),
    /// See and change a deployment, as its admin
    #[command(subcommand)]
    Admin(crtx_cli::admin::AdminCommand),
    /// Look at everything that a command needs, and say how to mend what is wrong
    #[command(after_help = "Example:\n  crtx doctor --network devnet")]
    Doctor(crtx_cli::arguments::ReadArgs),
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
fn print_openapi() -> anyhow::Result<()> {
    output::bytes(format!("{}\n", crtx_server::openapi::description().to_pretty_json()?).as_bytes())?;
    Ok(())
}

fn print_completions(shell: clap_complete::Shell) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "crtx", &mut script);
    output::bytes(&script)?;
    Ok(())
}

fn main() -> ExitCode {
    let Cli { network, command } = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return unparsed(&error),
    };
    start_logs();
    match command {
        #[cfg(feature = "localnet")]
        Command::Up(arguments) => up(arguments),
        command => match tokio::runtime::Runtime::new() {
            Ok(runtime) => ended(runtime.block_on(run(command, network))),
            Err(error) => ended(Err(error.into())),
        },
    }
}

/// Logs go to standard error, warnings and errors unless `RUST_LOG` says otherwise. One event is one printable line,
/// whatever a node or a service wrote into it.
fn start_logs() {
    // PostgreSQL's notices are about statements that were cut off by a stop; nobody can act on them.
    let filter =
        EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn,sqlx::postgres::notice=error"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .with_writer(|| OneLine(std::io::stderr()))
        .init();
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
            ended(Err(UsageError::new("the command has commands of its own; `--help` lists them").into()))
        }
        _ => ended(Err(UsageError::of_parser(&error.to_string()).into())),
    }
}

/// Runs until it is stopped, and then ends in time.
#[cfg(feature = "localnet")]
fn up(arguments: crtx_cli::up::UpArgs) -> ExitCode {
    use crtx_cli::up;
    crtx_server::process::run(up::STOP_PATIENCE, |stop| async move { ended(up::run(arguments, stop).await) })
}

async fn run(command: Command, network: Option<NetworkChoice>) -> anyhow::Result<()> {
    let settings = || Settings::load(network.clone());
    match command {
        #[cfg(feature = "localnet")]
        Command::Up(_) => Ok(()),
        Command::Config(command) => crtx_cli::config::run(command, &settings()?),
        Command::Wallet(command) => crtx_cli::wallet::run(command, &settings()?).await,
        Command::Agent(command) => crtx_cli::agent::run(command, &settings()?).await,
        Command::Verify(arguments) => crtx_cli::verify::run(arguments, &settings()?).await,
        Command::Execute(arguments) => crtx_cli::execute::run(arguments, &settings()?).await,
        Command::Key(command) => crtx_cli::keys::run(command, &settings()?).await,
        Command::Executions(command) => crtx_cli::executions::run(command, &settings()?).await,
        Command::Settle(arguments) => crtx_cli::settle::run(arguments, &settings()?).await,
        Command::Refund { execution, send } => crtx_cli::refund::run(execution, &send, &settings()?).await,
        Command::Dispute(command) => crtx_cli::dispute::run(command, &settings()?).await,
        Command::Resolver(command) => crtx_cli::resolver::run(command, &settings()?).await,
        Command::Admin(command) => crtx_cli::admin::run(command, &settings()?).await,
        Command::Doctor(arguments) => crtx_cli::doctor::run(arguments, &settings()?).await,
        Command::Audit(arguments) => crtx_cli::audit::run(arguments, &settings()?).await,
        Command::Completions { shell } => print_completions(shell),
        #[cfg(feature = "localnet")]
        Command::Openapi => print_openapi(),
    }
}

/// Says what is wrong, and tells the status of the process.
fn ended(outcome: anyhow::Result<()>) -> ExitCode {
    let Err(error) = outcome else { return ExitCode::SUCCESS };
    match error.downcast_ref::<ManifestError>() {
        _ if error.is::<AlreadySaid>() => {}
        // The user's own file, with a list of what is wrong in it.
        Some(error) => output::notes(&format!("crtx: {error}")),
        // Nodes, services and creators are quoted in errors.
        None => output::error_line(format_args!("crtx: {error:#}")),
    }
    if error.is::<UsageError>() { ExitCode::from(2) } else { ExitCode::FAILURE }
}
