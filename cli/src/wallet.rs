//! `crtx wallet`: makes a wallet, shows what it has, and fills it on a local network.

use std::{path::PathBuf, time::Duration};

use anyhow::{Context, bail};
use crtx_chain::{system, token};
use crtx_protocol::usdc::UsdcBase;
use serde_json::json;
use solana_pubkey::Pubkey;
use solana_signer::Signer;

use crate::{
    admin::roles_of,
    arguments::{ChainArgs, KeypairArgs, OutputArgs, SendArgs, lamports, some_usdc},
    keypair_file,
    market::Market,
    output::{self, LAMPORTS_PER_SOL, note, pairs, say, sol},
    settings::{Settings, SignerRole},
    transaction::{Plan, Sender},
    usage::UsageError,
};

/// Enough for thousands of transactions.
const DEFAULT_SOL: u64 = 10;
const MAX_SOL: u64 = 10_000;
const DEFAULT_USDC: &str = "1000";
/// How long an airdrop may take.
const AIRDROP_ATTEMPTS: u32 = 100;
const AIRDROP_PAUSE: Duration = Duration::from_millis(100);

#[derive(Clone, Debug, clap::Subcommand)]
pub enum WalletCommand {
    /// Make a key pair and write it to a file that only you can read
    #[command(after_help = "Example:\n  crtx wallet new --out my-wallet.json")]
    New {
        /// The file to write; an existing file is never replaced [default: wallet.json in the configuration folder]
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Print the address of a key pair; asks no node
    #[command(after_help = "Example:\n  crtx wallet address --keypair my-wallet.json")]
    Address {
        #[command(flatten)]
        keypair: KeypairArgs,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Show address, SOL, USDC, approval and roles of a wallet
    #[command(after_help = "Example:\n  crtx wallet show --keypair my-wallet.json")]
    Show(ShowArgs),
    /// Give a wallet SOL and USDC; only on a local network, where they are worth nothing
    #[command(after_help = "Example:\n  crtx wallet fund --keypair my-wallet.json --usdc 100")]
    Fund(FundArgs),
    /// Send SOL and USDC of your wallet to another wallet
    #[command(
        after_help = "Example:\n  crtx wallet send 82vpEBc9TeDX6S1Dd3UJ77nQeqFkHSMEgANRBhc28GR8 --sol 0.5 --usdc 20"
    )]
    Send {
        /// Who gets it
        #[arg(value_name = "WALLET")]
        to: Pubkey,
        /// SOL to send
        #[arg(long, value_name = "AMOUNT", value_parser = lamports, required_unless_present = "usdc")]
        sol: Option<u64>,
        /// USDC to send
        #[arg(long, value_name = "AMOUNT", value_parser = some_usdc)]
        usdc: Option<UsdcBase>,
        #[command(flatten)]
        send: SendArgs,
    },
}

#[derive(Clone, Debug, clap::Args)]
pub struct ShowArgs {
    /// Address of another wallet
    #[arg(conflicts_with = "keypair")]
    address: Option<Pubkey>,
    #[command(flatten)]
    keypair: KeypairArgs,
    #[command(flatten)]
    chain: ChainArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Clone, Debug, clap::Args)]
#[command(mut_arg("address", |address| address.help("Address of the wallet, if it is not that of the key pair")))]
pub struct FundArgs {
    /// Whole SOL to add
    #[arg(long, value_name = "AMOUNT", default_value_t = DEFAULT_SOL, value_parser = clap::value_parser!(u64).range(..=MAX_SOL))]
    sol: u64,
    /// USDC to add
    #[arg(long, value_name = "AMOUNT", default_value = DEFAULT_USDC, value_parser = some_usdc)]
    usdc: UsdcBase,
    #[command(flatten)]
    wallet: ShowArgs,
}

impl ShowArgs {
    /// The wallet that the address or the key pair file names.
    fn address(&self, settings: &Settings) -> anyhow::Result<Pubkey> {
        self.address.map_or_else(|| Ok(self.keypair.read(settings)?.pubkey()), Ok)
    }
}

pub async fn run(command: WalletCommand, settings: &Settings) -> anyhow::Result<()> {
    match command {
        WalletCommand::New { out, output } => new(out, output, settings),
        WalletCommand::Address { keypair, output } => {
            let address = keypair.read(settings)?.pubkey().to_string();
            match output.json {
                true => output::json(&json!({"address": address}))?,
                false => say!("{address}"),
            }
            Ok(())
        }
        WalletCommand::Show(arguments) => show(&arguments, settings).await,
        WalletCommand::Fund(arguments) => fund(&arguments, settings).await,
        WalletCommand::Send { to, sol, usdc, send } => transfer(&to, sol, usdc, &send, settings).await,
    }
}

fn new(out: Option<PathBuf>, output: OutputArgs, settings: &Settings) -> anyhow::Result<()> {
    let path = out.unwrap_or_else(|| settings.folder.join("wallet.json"));
    let address = keypair_file::create(&path)?.pubkey();
    if output.json {
        return output::json(&json!({"address": address.to_string(), "keypair": path}));
    }
    say!("{address}");
    note!("The key pair is in {0}. Keep a copy: it cannot be made again.", path.display());
    let word = output::shell_word(&path.to_string_lossy());
    note!("Use it with --keypair {word}, CRTX_KEYPAIR={word}, or: crtx config set keypair {word}");
    Ok(())
}

async fn show(arguments: &ShowArgs, settings: &Settings) -> anyhow::Result<()> {
    let wallet = arguments.address(settings)?;
    let market = Market::connect(settings, &arguments.chain).await?;
    let (lamports, usdc) = (market.lamports_of(&wallet).await?, market.usdc_of(&wallet).await?);
    let held = roles_of(&market.config).into_iter().filter(|(_, holder)| *holder == wallet);
    let mut roles: Vec<&str> = held.map(|(name, _)| name).collect();
    if !market.agents_of(&wallet).await?.is_empty() {
        roles.push("creator");
    }
    if arguments.output.json {
        return output::json(&json!({
            "address": wallet.to_string(),
            "network": settings.network,
            "sol": sol(lamports),
            "lamports": lamports,
            "usdc": usdc.amount,
            "usdc_account": usdc.exists.then(|| market.instructions.usdc_of(&wallet).to_string()),
            "approved_usdc": usdc.approved,
            "roles": roles,
        }));
    }
    let account = if usdc.exists { "" } else { " (no USDC account yet)" };
    let rows = [
        ("wallet", wallet.to_string()),
        ("network", format!("{} ({})", settings.network, market.rpc_url)),
        ("SOL", sol(lamports)),
        ("USDC", format!("{}{account}", usdc.amount)),
        ("approved", format!("{} USDC for API keys", usdc.approved)),
        ("roles", if roles.is_empty() { "none".to_owned() } else { roles.join(", ") }),
    ];
    output::page(&pairs(&rows));
    Ok(())
}

/// One transaction; the USDC account of the other wallet is made if it has none.
async fn transfer(
    to: &Pubkey,
    lamports: Option<u64>,
    usdc: Option<UsdcBase>,
    send: &SendArgs,
    settings: &Settings,
) -> anyhow::Result<()> {
    let sender = Sender::open(settings, send, SignerRole::Wallet).await?;
    let wallet = sender.wallet();
    let mut plan = Plan::new(format!("Send from your wallet to {to}"), Vec::new());
    if let Some(lamports) = lamports {
        plan.instructions.push(system::transfer(&wallet, to, lamports));
        plan = plan.effect(format!("{} SOL go to {to}.", sol(lamports)));
    }
    if let Some(amount) = usdc {
        plan = sender.with_usdc_account(plan, to, "the USDC account of the other wallet").await?;
        let build = &sender.market.instructions;
        let (from, account) = (build.usdc_of(&wallet), build.usdc_of(to));
        plan.instructions.push(token::transfer(&from, &build.usdc_mint, &account, &wallet, amount.0));
        plan = plan.moves(amount.0, "your wallet", to);
    }
    let more = json!({"to": to.to_string(), "lamports": lamports.unwrap_or(0), "usdc": usdc});
    sender.finish(plan, &format!("sent to {to}"), more).await
}

/// SOL by the airdrop of the local network, USDC by its mint authority, which is the local admin.
async fn fund(arguments: &FundArgs, settings: &Settings) -> anyhow::Result<()> {
    if settings.local.is_none() {
        return Err(UsageError::new(format!(
            "`crtx wallet fund` works only on the network of a `crtx up` on this machine, and not on {}.",
            settings.network
        ))
        .into());
    }
    let ShowArgs { chain, output, .. } = &arguments.wallet;
    let wallet = arguments.wallet.address(settings)?;
    let market = Market::connect(settings, chain).await?;
    if arguments.sol > 0 {
        airdrop(&market, &wallet, arguments.sol.saturating_mul(LAMPORTS_PER_SOL)).await?;
    }
    mint(settings, chain, &wallet, arguments.usdc).await?;
    let (lamports, usdc) = (market.lamports_of(&wallet).await?, market.usdc_of(&wallet).await?.amount);
    if output.json {
        return output::json(&json!({"address": wallet.to_string(), "lamports": lamports, "usdc": usdc}));
    }
    say!("{wallet} holds {} SOL and {} USDC", sol(lamports), usdc);
    Ok(())
}

async fn airdrop(market: &Market, wallet: &Pubkey, lamports: u64) -> anyhow::Result<()> {
    let before = market.lamports_of(wallet).await?;
    let params = json!([wallet.to_string(), lamports, {"commitment": "confirmed"}]);
    let asked: Result<String, _> = market.chain.request("requestAirdrop", &params).await;
    asked.context("the network gave no SOL; only local networks do")?;
    for _ in 0..AIRDROP_ATTEMPTS {
        if market.lamports_of(wallet).await? > before {
            return Ok(());
        }
        tokio::time::sleep(AIRDROP_PAUSE).await;
    }
    bail!("the SOL for {wallet} did not arrive; see whether `crtx up` still runs")
}

/// An ordinary transaction, so that the local network keeps it like every other.
async fn mint(settings: &Settings, chain: &ChainArgs, wallet: &Pubkey, usdc: UsdcBase) -> anyhow::Result<()> {
    let send = SendArgs { chain: chain.clone(), yes: true, ..SendArgs::default() };
    let admin = Sender::open(settings, &send, SignerRole::Admin).await?;
    let (payer, usdc_mint) = (admin.wallet(), admin.market.instructions.usdc_mint);
    let account = admin.market.instructions.usdc_of(wallet);
    let create = token::create_associated_token_account(&payer, wallet, &usdc_mint);
    let mint = token::mint_to(&usdc_mint, &account, &payer, usdc.0);
    let plan = Plan::new(format!("Give {wallet} USDC of the local network"), vec![create, mint]);
    let plan = plan.moves(usdc.0, "nowhere (it is made)", "the wallet");
    admin.send(plan).await?;
    Ok(())
}
