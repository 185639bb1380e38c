//! `crtx admin init`: gives a deployed program its one configuration.

use agent_marketplace::{
    instructions::InitializeConfigArgs,
    state::{COLLATERAL_TIERS, CollateralTier, Config, MarketParameters},
};
use anyhow::bail;
use crtx_chain::{
    Instructions,
    deployment::{DeployedProgram, DeploymentError, ExpectedCode, Initialization},
    token::TOKEN_ACCOUNT_LEN,
};
use crtx_protocol::{address::Addresses, usdc::UsdcBase};
use solana_pubkey::Pubkey;

use super::{
    announced::{tier, tiers_of},
    status,
};
use crate::{
    arguments::{CodeArgs, RoleArgs, lifetime, some_usdc, usdc},
    settings::{Network, Settings},
    transaction::{Plan, Sender},
    usage::UsageError,
};

#[derive(Clone, Debug, clap::Args)]
pub struct InitArgs {
    /// Mint of the USDC: a classic SPL Token mint with 6 decimals [default: Circle's USDC of devnet or mainnet]
    #[arg(long, value_name = "ADDRESS")]
    usdc_mint: Option<Pubkey>,
    /// Who verifies creators, announces changes and pauses [default: the upgrade authority, who signs]
    #[arg(long, value_name = "ADDRESS")]
    admin: Option<Pubkey>,
    /// Who decides disputes
    #[arg(long, value_name = "ADDRESS")]
    resolver: Pubkey,
    /// The key with which the services settle, and from which they pay fees and rent
    #[arg(long, value_name = "ADDRESS")]
    gateway_authority: Pubkey,
    /// Who owns the platform's part of the payments
    #[arg(long, value_name = "ADDRESS")]
    treasury_owner: Pubkey,
    /// Who owns the penalties
    #[arg(long, value_name = "ADDRESS")]
    insurance_owner: Pubkey,
    /// Who may stop new calls and listings, and suspend an agent, but not resume [default: nobody]
    #[arg(long, value_name = "ADDRESS")]
    guardian: Option<Pubkey>,
    #[command(flatten)]
    parameters: ParameterArgs,
    #[command(flatten)]
    code: CodeArgs,
    /// Go on although the code on chain is not the committed program of this version
    #[arg(long, conflicts_with = "code_hash")]
    allow_other_code: bool,
    #[command(flatten)]
    role: RoleArgs,
}

/// The defaults are those of the specification.
#[derive(Clone, Debug, clap::Args)]
struct ParameterArgs {
    /// The platform's part of a payment in basis points: 100 are 1 %
    #[arg(long, value_name = "BASIS_POINTS", default_value_t = MarketParameters::DEFAULT.fee_bps, help_heading = "Parameters")]
    fee_bps: u32,
    /// Lowest price of a call in USDC
    #[arg(long, value_name = "AMOUNT", default_value = "0.01", value_parser = some_usdc, help_heading = "Parameters")]
    min_price: UsdcBase,
    /// What a caller deposits to raise a dispute, in USDC
    #[arg(long, value_name = "AMOUNT", default_value = "0.10", value_parser = usdc, help_heading = "Parameters")]
    dispute_bond: UsdcBase,
    /// How long a result can be disputed, such as 72h
    #[arg(long, value_name = "TIME", default_value = "72h", value_parser = lifetime, help_heading = "Parameters")]
    dispute_window: i64,
    /// How long a settlement may take after the time-out of an agent, such as 2m
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = lifetime, help_heading = "Parameters")]
    settle_grace: i64,
    /// Highest penalty, in multiples of the amount paid
    #[arg(long, value_name = "TIMES", default_value_t = MarketParameters::DEFAULT.max_penalty_multiple, help_heading = "Parameters")]
    max_penalty: u32,
    /// Four tiers, each the highest price and its collateral in USDC; the last price is max
    #[arg(
        long,
        value_name = "PRICE=COLLATERAL",
        num_args = COLLATERAL_TIERS,
        value_parser = tier,
        default_values = ["0.10=10", "1=50", "10=200", "max=1000"],
        help_heading = "Parameters"
    )]
    tiers: Vec<CollateralTier>,
}

impl ParameterArgs {
    fn parameters(&self) -> Result<MarketParameters, UsageError> {
        Ok(MarketParameters {
            min_price: self.min_price.0,
            dispute_bond: self.dispute_bond.0,
            dispute_window_s: self.dispute_window,
            settle_grace_s: self.settle_grace,
            collateral_tiers: tiers_of(&self.tiers)?,
            fee_bps: self.fee_bps,
            max_penalty_multiple: self.max_penalty,
        })
    }
}

impl InitArgs {
    fn initialization(&self, network: Network, wallet: &Pubkey, program: Pubkey) -> Result<Initialization, UsageError> {
        let usdc_mint = self.usdc_mint.or_else(|| network.usdc_mint()).ok_or_else(|| {
            UsageError::new(format!(
                "No USDC is known on {network}. Pass --usdc-mint; `crtx admin test-mint` makes one."
            ))
        })?;
        let wanted = Initialization {
            instructions: Instructions::new(Addresses::new(program), usdc_mint),
            args: InitializeConfigArgs {
                admin: self.admin.unwrap_or(*wallet),
                resolver: self.resolver,
                gateway_authority: self.gateway_authority,
                treasury_owner: self.treasury_owner,
                insurance_owner: self.insurance_owner,
                guardian: self.guardian.unwrap_or_default(),
                parameters: self.parameters.parameters()?,
            },
        };
        wanted.check_roles().map_err(|error| UsageError::new(format!("Nothing was sent: {error}.")))?;
        Ok(wanted)
    }
}

/// Every role and every parameter, as `crtx admin status` names them.
fn rows_of(config: &Config) -> Vec<(&'static str, String)> {
    let roles = status::roles_of(config).into_iter().filter(|(name, _)| *name != "nominated admin");
    let roles = roles.chain([("USDC mint", config.usdc_mint)]);
    let roles = roles.map(|(name, address)| (name, status::holder(&address)));
    roles.chain(status::lines_of(&config.parameters)).collect()
}

fn differences(found: &Config, wanted: &Config) -> Vec<String> {
    let pairs = rows_of(found).into_iter().zip(rows_of(wanted));
    let different = pairs.filter(|(found, wanted)| found != wanted);
    different.map(|((name, found), (_, wanted))| format!("{name}: {found} instead of {wanted}")).collect()
}

/// A repeated run is safe: it follows the transactions of earlier runs to their end, and then reads the chain.
pub async fn run(arguments: &InitArgs, settings: &Settings) -> anyhow::Result<()> {
    let expected = |wallet: &Pubkey, program| Ok(arguments.initialization(settings.network, wallet, program)?.config());
    let RoleArgs { send, unsigned_for } = &arguments.role;
    let sender = Sender::open_before_setup(settings, send, *unsigned_for, expected).await?;
    let (wallet, program) = (sender.wallet(), sender.market.addresses().program_id());
    let wanted = arguments.initialization(settings.network, &wallet, program)?;
    let config = wanted.config();
    let more = status::as_json(&sender.market, &config);
    if let Some(found) = wanted.found(&sender.market.chain).await? {
        let differences = differences(&found, &config);
        if !differences.is_empty() {
            bail!(
                "the marketplace of program {program} is set up already, with other values: {}",
                differences.join("; ")
            );
        }
        return complete(&sender, &wanted, more).await;
    }
    let code = if arguments.allow_other_code { ExpectedCode::Any } else { arguments.code.expected() };
    let checked = wanted.check_chain(&sender.market.chain, &wallet, &code).await;
    let deployed = checked.map_err(with_advice)?;
    let plan = plan(&sender, &wanted, &deployed, &code).await?;
    sender.finish(plan, &format!("the marketplace of program {program} is set up"), more).await
}

async fn plan(
    sender: &Sender,
    wanted: &Initialization,
    deployed: &DeployedProgram,
    code: &ExpectedCode,
) -> anyhow::Result<Plan> {
    let plan =
        Plan::new(format!("Set up the marketplace of program {}", deployed.address), wanted.all(&sender.wallet()));
    let code = match code {
        _ if deployed.is_committed => {
            format!("The code on chain is the committed program, SHA-256 {}.", deployed.sha256)
        }
        ExpectedCode::Hash(hash) => format!("The code on chain is the expected build, hash {hash}."),
        _ => format!(
            "The code on chain is NOT the committed program: SHA-256 {} instead of {}.",
            deployed.sha256, deployed.committed_sha256
        ),
    };
    let rows = rows_of(&wanted.config()).into_iter().map(|(name, value)| format!("{name}: {value}"));
    let plan = plan
        .effect(code)
        .effects(rows)
        .effect("Roles and parameters change only by announcement afterwards, and the mint never.");
    creates_token_accounts(sender, wanted, plan.creates("the configuration", Config::SPACE)).await
}

async fn creates_token_accounts(sender: &Sender, wanted: &Initialization, mut plan: Plan) -> anyhow::Result<Plan> {
    let names = ["the USDC account of the treasury", "the USDC account of the insurance"];
    for (what, address) in names.into_iter().zip(wanted.token_accounts()) {
        if !sender.market.exists(&address).await? {
            plan = plan.creates(what, TOKEN_ACCOUNT_LEN);
        }
    }
    Ok(plan)
}

/// The configuration is as wanted; a token account may have been closed since.
async fn complete(sender: &Sender, wanted: &Initialization, more: serde_json::Value) -> anyhow::Result<()> {
    let create = wanted.create_token_accounts(&sender.wallet());
    let plan = Plan::new("Create the USDC accounts that payments need", create);
    let plan = creates_token_accounts(sender, wanted, plan).await?;
    if plan.new_accounts.is_empty() {
        return sender.nothing_to_do("the marketplace is set up already, with these values", more);
    }
    sender.finish(plan, "the marketplace is set up, and the USDC accounts are there again", more).await
}

fn with_advice(error: DeploymentError) -> anyhow::Error {
    let advice = match &error {
        DeploymentError::NotAuthority { .. } => "name its key pair with --keypair",
        DeploymentError::OtherCode { .. } => {
            "use the version of crtx that belongs to the deployed program, or pass --code-hash for another build of it, \
             or --allow-other-code if you know this code"
        }
        DeploymentError::OtherAddress(_) => "see docs/deploy.md for a deployment at an address of your own",
        DeploymentError::NoProgram(_) => "see docs/deploy.md, and --program-id and --network",
        _ => return error.into(),
    };
    anyhow::anyhow!("{error}; {advice}")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        init: InitArgs,
    }

    const fn key(byte: u8) -> Pubkey {
        Pubkey::new_from_array([byte; 32])
    }

    /// Roles 1 to 5 in the order of the program, mint 6, program 7.
    fn arguments(change: &[(&str, Pubkey)], more: &[&str]) -> InitArgs {
        let flags =
            ["--admin", "--resolver", "--gateway-authority", "--treasury-owner", "--insurance-owner", "--usdc-mint"];
        let mut line = vec!["init".to_owned()];
        for (flag, byte) in flags.into_iter().zip(1..) {
            let changed = change.iter().find(|(name, _)| *name == flag).map(|(_, value)| *value);
            line.extend([flag.to_owned(), changed.unwrap_or(key(byte)).to_string()]);
        }
        line.extend(more.iter().map(|word| (*word).to_owned()));
        Line::parse_from(line).init
    }

    #[test]
    fn without_flags_the_parameters_are_those_of_the_specification() {
        let parameters = arguments(&[], &[]).parameters.parameters().expect("parameters");
        assert_eq!(parameters, MarketParameters::DEFAULT);
    }

    #[test]
    fn two_roles_with_one_address_are_wrong_usage_and_named() {
        let flags = ["--admin", "--resolver", "--gateway-authority", "--treasury-owner", "--insurance-owner"];
        for (one, byte) in flags.iter().zip(1..) {
            for other in flags.iter().filter(|other| *other != one) {
                let wanted = arguments(&[(other, key(byte))], &[]).initialization(Network::Local, &key(9), key(7));
                let error = wanted.expect_err("refused").to_string();
                let name = |flag: &str| flag.trim_start_matches('-').replace('-', " ");
                assert!(error.contains(&name(one)) && error.contains(&name(other)), "{error}");
            }
        }
        for taken in [key(6), key(7), Pubkey::default()] {
            assert!(
                arguments(&[("--resolver", taken)], &[]).initialization(Network::Local, &key(9), key(7)).is_err(),
                "{taken}"
            );
        }
        assert!(arguments(&[], &[]).initialization(Network::Local, &key(9), key(7)).is_ok());
    }

    #[test]
    fn parameters_that_the_program_refuses_are_wrong_usage() {
        for bad in [
            &["--fee-bps", "501"][..],
            &["--min-price", "0.000001"],
            &["--dispute-window", "71h"],
            &["--dispute-window", "15d"],
            &["--settle-grace", "2d"],
            &["--max-penalty", "0"],
            &["--tiers", "1=9", "2=3", "3=4", "max=5"],
            &["--tiers", "1=1", "2=3", "3=4", "4=5"],
        ] {
            assert!(arguments(&[], bad).initialization(Network::Local, &key(9), key(7)).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn what_differs_is_said_by_name_and_nothing_else() {
        let wanted = arguments(&[], &[]).initialization(Network::Local, &key(9), key(7)).expect("wanted").config();
        assert_eq!(differences(&wanted, &wanted), Vec::<String>::new());
        let mut found = Config { resolver: key(8), ..wanted };
        found.parameters.fee_bps = 150;
        let expected = [
            format!("resolver: {} instead of {}", key(8), key(2)),
            "fee: 150 basis points instead of 100 basis points".into(),
        ];
        assert_eq!(differences(&found, &wanted), expected);
        // What the chain counts for itself is no difference.
        assert!(differences(&Config { bump: 3, revision: 9, resolver_since_unix_s: 5, ..wanted }, &wanted).is_empty());
    }
}
