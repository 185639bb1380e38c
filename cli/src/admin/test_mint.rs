//! `crtx admin test-mint`: USDC that is worth nothing, for a deployment that is tried out.

use crtx_chain::{
    deployment::{DeploymentError, check_usdc_mint},
    system::create_account_with_seed,
    token::{self, MINT_LEN, TOKEN_ACCOUNT_LEN, TOKEN_PROGRAM_ID},
};
use crtx_protocol::usdc::UsdcBase;
use serde_json::json;
use solana_pubkey::Pubkey;

use crate::{
    arguments::{SendArgs, some_usdc},
    output::{note, say},
    settings::{Network, Settings},
    transaction::{Plan, Sender},
    usage::UsageError,
};

/// The mint's address follows from the wallet and this text, so that every run finds the same one.
const SEED: &str = "crtx test USDC";

#[derive(Clone, Debug, clap::Args)]
pub struct TestMintArgs {
    /// How much test USDC the wallet has afterwards, at least
    #[arg(long, value_name = "AMOUNT", default_value = "10000", value_parser = some_usdc)]
    usdc: UsdcBase,
    /// Who gets it [default: the wallet that signs]
    #[arg(long, value_name = "WALLET")]
    to: Option<Pubkey>,
    #[command(flatten)]
    send: SendArgs,
}

fn address_of(wallet: &Pubkey) -> anyhow::Result<Pubkey> {
    Ok(Pubkey::create_with_seed(wallet, SEED, &TOKEN_PROGRAM_ID)?)
}

pub async fn run(arguments: &TestMintArgs, settings: &Settings) -> anyhow::Result<()> {
    if settings.network == Network::Mainnet {
        return Err(UsageError::new("There is no test USDC on mainnet; its USDC is that of Circle.").into());
    }
    let expected = |wallet: &Pubkey, _| {
        let usdc_mint = address_of(wallet)?;
        Ok(agent_marketplace::state::Config { usdc_mint, ..bytemuck::Zeroable::zeroed() })
    };
    let sender = Sender::open_before_setup(settings, &arguments.send, None, expected).await?;
    let (wallet, chain) = (sender.wallet(), &sender.market.chain);
    let mint = address_of(&wallet)?;
    let to = arguments.to.unwrap_or(wallet);
    let mut plan = Plan::new(format!("Make test USDC of the mint {mint}"), Vec::new());
    match check_usdc_mint(chain, &mint).await {
        Ok(_) => {}
        Err(DeploymentError::NoMint(_)) => {
            let (rent, bytes) = (chain.rent_exemption(MINT_LEN).await?, u64::try_from(MINT_LEN)?);
            let create = create_account_with_seed(&wallet, &mint, &wallet, SEED, rent, bytes, &TOKEN_PROGRAM_ID);
            plan.instructions.extend([create, token::initialize_mint(&mint, &wallet)]);
            plan = plan.effect("Your wallet alone can make more of it.").creates("the mint", MINT_LEN);
        }
        Err(error) => return Err(error.into()),
    }
    let held = sender.market.usdc_of(&to).await?;
    let missing = arguments.usdc.0.saturating_sub(held.amount.0);
    if !held.exists {
        plan = plan.creates("the account of the test USDC", TOKEN_ACCOUNT_LEN);
    }
    if missing > 0 {
        let account = sender.market.instructions.usdc_of(&to);
        plan.instructions.push(token::create_associated_token_account(&wallet, &to, &mint));
        plan.instructions.push(token::mint_to(&mint, &account, &wallet, missing));
        plan = plan.moves(missing, "nowhere (it is made)", to);
    }
    let more = json!({"usdc_mint": mint.to_string(), "wallet": to.to_string()});
    if plan.instructions.is_empty() {
        note!("The wallet {to} holds {} test USDC already.", held.amount);
        return sender.nothing_to_do(&mint.to_string(), more);
    }
    let sent = sender.send(plan).await?;
    if arguments.send.output.json {
        return sender.say(Some(sent), "", more);
    }
    // The address alone on standard output, for scripts.
    say!("{mint}");
    Ok(())
}
