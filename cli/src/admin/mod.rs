//! `crtx admin`: roles, parameters and the pause of a deployment.

mod announced;
mod deploy;
mod init;
mod status;
mod stops;
mod successor;
mod test_mint;

use agent_marketplace::state::{COLLATERAL_TIERS, CollateralTier, MarketParameters};
use anyhow::{Context, bail};
use serde_json::json;
use solana_pubkey::Pubkey;

pub use self::status::roles_of;
use self::stops::{PauseArgs, SuspendArgs};
use crate::{
    arguments::{ChainReadArgs, RoleArgs, SendArgs},
    settings::Settings,
    transaction::{Plan, Sender},
};

#[derive(Clone, Debug, clap::Subcommand)]
pub enum AdminCommand {
    /// Deploy the program, or upgrade it to the code of this version; goes on where an earlier run ended
    #[command(after_help = "Example:\n  crtx admin deploy --program-keypair program.json --keypair authority.json\n  \
                      crtx admin deploy --buffer-only --buffer-authority ADDRESS --keypair proposer.json")]
    Deploy(Box<deploy::DeployArgs>),
    /// Close a buffer of code that is not used any more, and get its rent back
    #[command(after_help = "Example:\n  crtx admin close-buffer --keypair authority.json")]
    CloseBuffer(deploy::CloseBufferArgs),
    /// Set a deployed program up: roles, parameters, mint. Once, by its upgrade authority
    #[command(
        after_help = "Example:\n  crtx admin init --keypair authority.json --usdc-mint ADDRESS --resolver ADDRESS \
                      --gateway-authority ADDRESS --treasury-owner ADDRESS --insurance-owner ADDRESS"
    )]
    Init(Box<init::InitArgs>),
    /// Make a mint of test USDC, and give test USDC to a wallet; not on mainnet
    #[command(after_help = "Example:\n  crtx admin test-mint --usdc 10000 --keypair authority.json")]
    TestMint(test_mint::TestMintArgs),
    /// Show roles, parameters, and what is announced for when
    #[command(after_help = "Example:\n  crtx admin status")]
    Status(ChainReadArgs),
    /// Give a creator the badge for the name that it has, or take it away
    #[command(
        after_help = "Example:\n  crtx admin verify-creator 82vpEBc9TeDX6S1Dd3UJ77nQeqFkHSMEgANRBhc28GR8 --name 'Acme'"
    )]
    VerifyCreator {
        /// Wallet of the creator
        #[arg(value_name = "WALLET")]
        wallet: Pubkey,
        /// The display name that was checked; the badge is for this name alone
        #[arg(long, value_name = "NAME", required_unless_present = "remove")]
        name: Option<String>,
        /// Take the badge away
        #[arg(long, conflicts_with = "name")]
        remove: bool,
        #[command(flatten)]
        role: RoleArgs,
    },
    /// Announce another fee; it applies a week later
    #[command(after_help = "Example:\n  crtx admin set-fee 150")]
    SetFee {
        /// The platform's part of a payment in basis points: 100 are 1 %
        #[arg(value_name = "BASIS_POINTS", value_parser = clap::value_parser!(u32).range(..=i64::from(MarketParameters::MAX_FEE_BPS)))]
        fee_bps: u32,
        #[command(flatten)]
        role: RoleArgs,
    },
    /// Announce other tiers of collateral; they apply a week later
    #[command(after_help = "Example:\n  crtx admin set-tiers 0.10=10 1=50 10=200 max=1000")]
    SetTiers {
        /// Four tiers, each the highest price and its collateral in USDC, such as 0.10=10; the last price is max
        #[arg(value_name = "PRICE=COLLATERAL", num_args = COLLATERAL_TIERS, required = true, value_parser = announced::tier)]
        tiers: Vec<CollateralTier>,
        #[command(flatten)]
        role: RoleArgs,
    },
    /// Withdraw the announcement of parameters
    #[command(after_help = "Example:\n  crtx admin withdraw-parameters")]
    WithdrawParameters(RoleArgs),
    /// Apply announced parameters that are due; anybody may
    #[command(after_help = "Example:\n  crtx admin apply-parameters")]
    ApplyParameters(SendArgs),
    /// Stop new listings and new calls, or one of them; the guardian may too
    #[command(after_help = "Example:\n  crtx admin pause --only calls")]
    Pause(PauseArgs),
    /// Allow new listings and new calls again, or one of them
    #[command(after_help = "Example:\n  crtx admin unpause")]
    Unpause(PauseArgs),
    /// Stop new calls of one agent; the guardian may too
    #[command(after_help = "Example:\n  crtx admin suspend 82vpEBc9TeDX6S1Dd3UJ77nQeqFkHSMEgANRBhc28GR8")]
    Suspend(SuspendArgs),
    /// Allow new calls of one agent again
    #[command(after_help = "Example:\n  crtx admin resume 82vpEBc9TeDX6S1Dd3UJ77nQeqFkHSMEgANRBhc28GR8")]
    Resume(SuspendArgs),
    /// Set another gateway authority or guardian, at once
    #[command(after_help = "Example:\n  crtx admin set-keys --guardian 82vpEBc9TeDX6S1Dd3UJ77nQeqFkHSMEgANRBhc28GR8")]
    SetKeys(stops::SetKeysArgs),
    /// Name the next admin, who then accepts
    #[command(after_help = "Example:\n  crtx admin nominate 82vpEBc9TeDX6S1Dd3UJ77nQeqFkHSMEgANRBhc28GR8")]
    Nominate(successor::NominateArgs),
    /// Become the admin, as the nominee
    #[command(after_help = "Example:\n  crtx admin accept --keypair admin.json")]
    Accept(RoleArgs),
    /// Take the resolver out of office, at once
    #[command(after_help = "Example:\n  crtx admin remove-resolver")]
    RemoveResolver(RoleArgs),
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
        AdminCommand::Deploy(arguments) => deploy::run(&arguments, settings).await,
        AdminCommand::CloseBuffer(arguments) => deploy::close_buffer(&arguments, settings).await,
        AdminCommand::Init(arguments) => init::run(&arguments, settings).await,
        AdminCommand::TestMint(arguments) => test_mint::run(&arguments, settings).await,
        AdminCommand::Status(arguments) => status::status(&arguments, settings).await,
        AdminCommand::VerifyCreator { wallet, name, remove: _, role } => {
            verify_creator(&wallet, name.as_deref(), &role, settings).await
        }
        AdminCommand::SetFee { fee_bps, role } => announced::set_fee(fee_bps, &role, settings).await,
        AdminCommand::SetTiers { tiers, role } => announced::set_tiers(&tiers, &role, settings).await,
        AdminCommand::WithdrawParameters(arguments) => announced::withdraw_parameters(&arguments, settings).await,
        AdminCommand::ApplyParameters(arguments) => announced::apply_parameters(&arguments, settings).await,
        AdminCommand::Pause(arguments) => stops::set_paused(&arguments, settings, true).await,
        AdminCommand::Unpause(arguments) => stops::set_paused(&arguments, settings, false).await,
        AdminCommand::Suspend(arguments) => stops::suspend(&arguments, settings, true).await,
        AdminCommand::Resume(arguments) => stops::suspend(&arguments, settings, false).await,
        AdminCommand::SetKeys(arguments) => stops::set_keys(&arguments, settings).await,
        AdminCommand::Nominate(arguments) => successor::nominate(&arguments, settings).await,
        AdminCommand::Accept(arguments) => successor::accept(&arguments, settings).await,
        AdminCommand::RemoveResolver(arguments) => successor::remove_resolver(&arguments, settings).await,
        AdminCommand::AnnounceRoles(arguments) => announced::announce_roles(&arguments, settings).await,
        AdminCommand::ApplyRoles(arguments) => announced::apply_roles(&arguments, settings).await,
    }
}

/// Fails with the name of the admin if the wallet is another one.
async fn open(settings: &Settings, role: &RoleArgs) -> anyhow::Result<Sender> {
    let sender = Sender::open_role(settings, role).await?;
    let admin = sender.market.config.admin;
    if admin != sender.wallet() {
        bail!("only the admin {admin} may do this; name its key pair with --keypair");
    }
    Ok(sender)
}

/// `name`: the name that was checked; without one the badge goes away.
async fn verify_creator(
    creator: &Pubkey,
    name: Option<&str>,
    role: &RoleArgs,
    settings: &Settings,
) -> anyhow::Result<()> {
    let sender = open(settings, role).await?;
    let profile = sender.market.profile(creator).await?;
    let profile = profile.with_context(|| format!("{creator} has no creator profile"))?;
    let shown = profile.display_name().unwrap_or_default();
    let more = json!({"creator": creator.to_string(), "verified": name.is_some(), "name": shown});
    let already = (profile.verified == 1) == name.is_some();
    if already && name.is_none_or(|name| name == shown) {
        return sender.nothing_to_do(&format!("{creator} is so already"), more);
    }
    if let Some(name) = name.filter(|name| *name != shown) {
        bail!("the creator is called {shown:?} and not {name:?}; check the name that it has now");
    }
    let title = match name {
        Some(name) => format!("Verify the creator {creator} as {name}"),
        None => format!("Take the badge of the creator {creator} ({shown}) away"),
    };
    let instruction = sender.market.instructions.verify_creator(&sender.wallet(), creator, name);
    let effect = match name {
        Some(_) => "Its agents show the badge, until the creator takes another name.",
        None => "Its agents do not show the badge any more.",
    };
    let verb = if name.is_some() { "is verified" } else { "is not verified any more" };
    let plan = Plan::new(title, vec![instruction]).effect(effect);
    sender.finish(plan, &format!("{creator} {verb}"), more).await
}
