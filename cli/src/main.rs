//! The `crtx` command.

#![forbid(unsafe_code)]
#![cfg_attr(not(feature = "localnet"), allow(dead_code, reason = "some of it is for `crtx up` alone"))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod admin;
mod agent;
mod api;
mod arguments;
mod asker;
mod audit;
mod case;
mod config;
mod content;
mod dispute;
mod doctor;
mod evidence;
mod execute;
mod execution_ref;
mod executions;
mod keypair_file;
mod keys;
mod listen;
mod market;
mod mcp;
mod output;
mod private_file;
mod progress;
mod refund;
mod resolver;
mod settings;
mod settle;
mod transaction;
#[cfg(feature = "localnet")]
mod up;
mod usage;
mod verify;
mod waiting;
mod wallet;
mod webhook;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand, error::ErrorKind};
use crtx_http::log::OneLine;
use tracing_subscriber::EnvFilter;

use crate::{
    agent::ManifestError,
    arguments::SendArgs,
    execution_ref::ExecutionRef,
    market::NotSetUp,
    output::AlreadySaid,
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
    Up(up::UpArgs),
    /// Show and change what commands use where no flag says otherwise
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// Make, show and fill a wallet
    #[command(subcommand)]
    Wallet(wallet::WalletCommand),
    /// See, pause, change and end your agents
    #[command(subcommand)]
    Agent(agent::AgentCommand),
    /// Check an execution against the chain and the content
    #[command(after_help = "Example:\n  crtx verify 165cf497-1db5-4f5e-940b-57c2e3534dea")]
    Verify(verify::VerifyArgs),
    /// Call an agent and pay for it. Results are public
    ///
    /// Results are public: anybody who reads the chain finds the address of every result and can download it without a
    /// credential. Task and parameters are not published; their SHA-256 is, the creator gets them, and the service stores
    /// them.
    #[command(
        after_help = "Example:\n  crtx execute 82vpEBc9TeDX6S1Dd3UJ77nQeqFkHSMEgANRBhc28GR8 --task 'Count this.'"
    )]
    Execute(execute::ExecuteArgs),
    /// Make, show, raise and revoke API keys
    #[command(subcommand)]
    Key(keys::KeyCommand),
    /// Show the executions of your wallet
    #[command(subcommand)]
    Executions(executions::ExecutionsCommand),
    /// Send the events of your wallet to a URL: webhooks
    #[command(subcommand)]
    Webhook(webhook::WebhookCommand),
    /// Print the events of your wallet as they come, one JSON value on each line
    #[command(after_help = "Examples:\n  crtx listen\n  crtx listen --forward http://127.0.0.1:3000/crtx")]
    Listen(listen::ListenArgs),
    /// Let an AI model find agents, buy their work and check it: an MCP server on standard input and output
    #[command(after_help = "Example:\n  crtx mcp")]
    Mcp(mcp::McpArgs),
    /// Put a signed result on chain as creator or caller, without a gateway
    #[command(after_help = "Example:\n  crtx settle 165cf497-1db5-4f5e-940b-57c2e3534dea --answer answer.json")]
    Settle(settle::SettleArgs),
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
    Dispute(dispute::DisputeCommand),
    /// Decide disputes, as the resolver
    #[command(subcommand)]
    Resolver(resolver::ResolverCommand),
    /// See and change a deployment, as its admin
    #[command(subcommand)]
    Admin(admin::AdminCommand),
    /// Look at everything that a command needs, and say how to mend what is wrong
    #[command(after_help = "Example:\n  crtx doctor --network devnet")]
    Doctor(doctor::DoctorArgs),
    /// Compare the index of a service with the chain, as any node shows it
    #[command(
        after_help = "Example:\n  crtx audit --rpc-url https://api.devnet.solana.com --url https://market.example"
    )]
    Audit(audit::AuditArgs),
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

fn main() -> ExitCode {
    let Cli { network, command } = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return unparsed(&error),
    };
    start_logs();
    match command {
        #[cfg(feature = "localnet")]
        Command::Up(arguments) => {
            crtx_server::process::run(up::STOP_PATIENCE, |stop| async move { ended(up::run(arguments, stop).await) })
        }
        command => match tokio::runtime::Runtime::new() {
            Ok(runtime) => ended(runtime.block_on(run(command, network))),
            Err(error) => ended(Err(error.into())),
        },
    }
}

/// Logs go to standard error, warnings, errors and what an agent sells unless `RUST_LOG` says otherwise. One event is one printable line,
/// whatever a node or a service wrote into it.
fn start_logs() {
    // PostgreSQL's notices are about statements that were cut off by a stop; nobody can act on them.
    let filter = EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| EnvFilter::new("warn,crtx_sdk=info,sqlx::postgres::notice=error"));
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

async fn run(command: Command, network: Option<NetworkChoice>) -> anyhow::Result<()> {
    let settings = || Settings::load(network.clone());
    match command {
        #[cfg(feature = "localnet")]
        Command::Up(_) => Ok(()),
        Command::Config(command) => config::run(command, &settings()?),
        Command::Wallet(command) => wallet::run(command, &settings()?).await,
        Command::Agent(command) => agent::run(command, &settings()?).await,
        Command::Verify(arguments) => verify::run(arguments, &settings()?).await,
        Command::Execute(arguments) => execute::run(arguments, &settings()?).await,
        Command::Key(command) => keys::run(command, &settings()?).await,
        Command::Executions(command) => executions::run(command, &settings()?).await,
        Command::Webhook(command) => webhook::run(command, &settings()?).await,
        Command::Listen(arguments) => listen::run(arguments, &settings()?).await,
        Command::Mcp(arguments) => mcp::run(arguments, &settings()?).await,
        Command::Settle(arguments) => settle::run(arguments, &settings()?).await,
        Command::Refund { execution, send } => refund::run(execution, &send, &settings()?).await,
        Command::Dispute(command) => dispute::run(command, &settings()?).await,
        Command::Resolver(command) => resolver::run(command, &settings()?).await,
        Command::Admin(command) => admin::run(command, &settings()?).await,
        Command::Doctor(arguments) => doctor::run(arguments, &settings()?).await,
        Command::Audit(arguments) => audit::run(arguments, &settings()?).await,
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "crtx", &mut script);
            Ok(output::bytes(&script)?)
        }
        #[cfg(feature = "localnet")]
        Command::Openapi => {
            let description = crtx_server::openapi::description().to_pretty_json()?;
            Ok(output::bytes(format!("{description}\n").as_bytes())?)
        }
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
    match error {
        _ if error.is::<UsageError>() => ExitCode::from(2),
        _ if error.is::<NotSetUp>() => ExitCode::from(3),
        _ => ExitCode::FAILURE,
    }
}
