//! The `crtx` command.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use crtx_cli::{logs, usage::UsageError};

/// Pay-per-call AI agents on Solana: a marketplace on your machine, and proofs anybody can repeat
#[derive(Debug, Parser)]
#[command(name = "crtx", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start the whole marketplace on this machine
    #[cfg(feature = "localnet")]
    Up(crtx_cli::up::UpArgs),
    /// Check an execution against the chain and the content
    Verify(crtx_cli::verify::VerifyArgs),
    /// Call an agent and pay for it
    Execute(crtx_cli::execute::ExecuteArgs),
    /// Print the OpenAPI description of the services
    #[cfg(feature = "localnet")]
    Openapi,
}

#[cfg(feature = "localnet")]
fn print_openapi() -> anyhow::Result<ExitCode> {
    println!("{}", crtx_server::openapi::description().to_pretty_json()?);
    Ok(ExitCode::SUCCESS)
}

fn main() -> ExitCode {
    let command = Cli::parse().command;
    logs::start();
    match command {
        #[cfg(feature = "localnet")]
        Command::Up(arguments) => up(arguments),
        command => match tokio::runtime::Runtime::new() {
            Ok(runtime) => runtime.block_on(run(command)),
            Err(error) => failed(&error.into()),
        },
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

async fn run(command: Command) -> ExitCode {
    let outcome = match command {
        #[cfg(feature = "localnet")]
        Command::Up(_) => Ok(ExitCode::FAILURE),
        Command::Verify(arguments) => crtx_cli::verify::run(arguments).await,
        Command::Execute(arguments) => crtx_cli::execute::run(arguments).await,
        #[cfg(feature = "localnet")]
        Command::Openapi => print_openapi(),
    };
    outcome.unwrap_or_else(|error| failed(&error))
}

fn failed(error: &anyhow::Error) -> ExitCode {
    eprintln!("crtx: {error:#}");
    if error.is::<UsageError>() { ExitCode::from(2) } else { ExitCode::FAILURE }
}
