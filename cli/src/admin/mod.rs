//! `crtx admin`: roles, parameters and the pause of a deployment.

mod init;
mod parameters;
mod powers;
mod roles;
mod status;
mod test_mint;

use std::process::ExitCode;

use crate::settings::Settings;

/// Arguments of `crtx admin`.
#[derive(Clone, Debug, clap::Args)]
pub struct AdminArgs {
    #[command(subcommand)]
    command: AdminCommand,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum AdminCommand {
    /// Set a deployed program up: roles, parameters, mint. Once, by its upgrade authority
    #[command(
        after_help = "Example:\n  crtx admin init --keypair authority.json --usdc-mint ADDRESS --resolver ADDRESS \
                      --gateway-authority ADDRESS --treasury-owner ADDRESS --insurance-owner ADDRESS"
    )]
    Init(init::InitArgs),
    /// Make a mint of test USDC, and give test USDC to a wallet; not on mainnet
    #[command(after_help = "Example:\n  crtx admin test-mint --usdc 10000 --keypair authority.json")]
    TestMint(test_mint::TestMintArgs),
    /// Show roles, parameters, and what is announced for when
    #[command(after_help = "Example:\n  crtx admin status")]
    Status(status::StatusArgs),
    /// Give a creator the badge for the name that it has, or take it away
    #[command(
        after_help = "Example:\n  crtx admin verify-creator 82vpEBc9TeDX6S1Dd3UJ77nQeqFkHSMEgANRBhc28GR8 --name 'Acme'"
    )]
    VerifyCreator(powers::VerifyCreatorArgs),
    /// Announce another fee; it applies a week later
    #[command(after_help = "Example:\n  crtx admin set-fee 150")]
    SetFee(parameters::SetFeeArgs),
    /// Announce other tiers of collateral; they apply a week later
    #[command(after_help = "Example:\n  crtx admin set-tiers 0.10=10 1=50 10=200 max=1000")]
    SetTiers(parameters::SetTiersArgs),
    /// Withdraw the announcement of parameters
    #[command(after_help = "Example:\n  crtx admin withdraw-parameters")]
    WithdrawParameters(powers::SimpleArgs),
    /// Apply announced parameters that are due; anybody may
    #[command(after_help = "Example:\n  crtx admin apply-parameters")]
    ApplyParameters(powers::SimpleArgs),
    /// Stop new listings and new calls
    #[command(after_help = "Example:\n  crtx admin pause")]
    Pause(powers::SimpleArgs),
    /// Allow new listings and new calls again
    #[command(after_help = "Example:\n  crtx admin unpause")]
    Unpause(powers::SimpleArgs),
    /// Announce who follows as resolver, treasury owner or insurance owner, 16 days later
    #[command(
        after_help = "Example:\n  crtx admin announce-roles --resolver 82vpEBc9TeDX6S1Dd3UJ77nQeqFkHSMEgANRBhc28GR8"
    )]
    AnnounceRoles(roles::AnnounceRolesArgs),
    /// Apply announced roles that are due; anybody may
    #[command(after_help = "Example:\n  crtx admin apply-roles")]
    ApplyRoles(powers::SimpleArgs),
}

pub async fn run(arguments: AdminArgs, settings: &Settings) -> anyhow::Result<ExitCode> {
    match arguments.command {
        AdminCommand::Init(arguments) => init::run(&arguments, settings).await?,
        AdminCommand::TestMint(arguments) => test_mint::run(&arguments, settings).await?,
        AdminCommand::Status(arguments) => status::status(&arguments, settings).await?,
        AdminCommand::VerifyCreator(arguments) => powers::verify_creator(&arguments, settings).await?,
        AdminCommand::SetFee(arguments) => parameters::set_fee(&arguments, settings).await?,
        AdminCommand::SetTiers(arguments) => parameters::set_tiers(&arguments, settings).await?,
        AdminCommand::WithdrawParameters(arguments) => parameters::withdraw(&arguments, settings).await?,
        AdminCommand::ApplyParameters(arguments) => parameters::apply(&arguments, settings).await?,
        AdminCommand::Pause(arguments) => powers::set_paused(&arguments, settings, true).await?,
        AdminCommand::Unpause(arguments) => powers::set_paused(&arguments, settings, false).await?,
        AdminCommand::AnnounceRoles(arguments) => roles::announce(&arguments, settings).await?,
        AdminCommand::ApplyRoles(arguments) => roles::apply(&arguments, settings).await?,
    }
    Ok(ExitCode::SUCCESS)
}
