//! `crtx admin`: roles, parameters and the pause of a deployment.

mod announced;
mod init;
mod powers;
mod status;
mod test_mint;

pub use self::status::roles_of;
use crate::{arguments::SendArgs, settings::Settings};

#[derive(Clone, Debug, clap::Subcommand)]
pub enum AdminCommand {
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
    SetFee(announced::SetFeeArgs),
    /// Announce other tiers of collateral; they apply a week later
    #[command(after_help = "Example:\n  crtx admin set-tiers 0.10=10 1=50 10=200 max=1000")]
    SetTiers(announced::SetTiersArgs),
    /// Withdraw the announcement of parameters
    #[command(after_help = "Example:\n  crtx admin withdraw-parameters")]
    WithdrawParameters(SendArgs),
    /// Apply announced parameters that are due; anybody may
    #[command(after_help = "Example:\n  crtx admin apply-parameters")]
    ApplyParameters(SendArgs),
    /// Stop new listings and new calls
    #[command(after_help = "Example:\n  crtx admin pause")]
    Pause(SendArgs),
    /// Allow new listings and new calls again
    #[command(after_help = "Example:\n  crtx admin unpause")]
    Unpause(SendArgs),
    /// Announce who follows as resolver, treasury owner or insurance owner, 16 days later
    #[command(
        after_help = "Example:\n  crtx admin announce-roles --resolver 82vpEBc9TeDX6S1Dd3UJ77nQeqFkHSMEgANRBhc28GR8"
    )]
    AnnounceRoles(announced::AnnounceRolesArgs),
    /// Apply announced roles that are due; anybody may
    #[command(after_help = "Example:\n  crtx admin apply-roles")]
    ApplyRoles(SendArgs),
}

pub async fn run(command: AdminCommand, settings: &Settings) -> anyhow::Result<()> {
    match command {
        AdminCommand::Init(arguments) => init::run(&arguments, settings).await,
        AdminCommand::TestMint(arguments) => test_mint::run(&arguments, settings).await,
        AdminCommand::Status(arguments) => status::status(&arguments, settings).await,
        AdminCommand::VerifyCreator(arguments) => powers::verify_creator(&arguments, settings).await,
        AdminCommand::SetFee(arguments) => announced::set_fee(&arguments, settings).await,
        AdminCommand::SetTiers(arguments) => announced::set_tiers(&arguments, settings).await,
        AdminCommand::WithdrawParameters(arguments) => announced::withdraw_parameters(&arguments, settings).await,
        AdminCommand::ApplyParameters(arguments) => announced::apply_parameters(&arguments, settings).await,
        AdminCommand::Pause(arguments) => powers::set_paused(&arguments, settings, true).await,
        AdminCommand::Unpause(arguments) => powers::set_paused(&arguments, settings, false).await,
        AdminCommand::AnnounceRoles(arguments) => announced::announce_roles(&arguments, settings).await,
        AdminCommand::ApplyRoles(arguments) => announced::apply_roles(&arguments, settings).await,
    }
}
