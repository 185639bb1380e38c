//! The chain: node, clock, program, and what the wallet has there.

use std::time::{SystemTime, UNIX_EPOCH};

use crtx_chain::deployment::DeployedProgram;
use crtx_protocol::usdc::UsdcBase;
use solana_pubkey::Pubkey;

use super::finding::Finding;
use crate::{
    arguments::ChainArgs,
    keys::Funds,
    market::Market,
    output::{duration, sol},
    settings::{Network, Settings},
};

/// Clocks of chains lag a little, and no more.
const MAX_SKEW_S: i64 = 120;
/// Enough for a few hundred transactions with accounts.
const LOW_LAMPORTS: u64 = 10_000_000;

/// The first finding that is wrong hides those that need it.
pub async fn look(settings: &Settings, arguments: &ChainArgs, wallet: Option<&Pubkey>) -> Vec<Finding> {
    let market = match Market::connect(settings, arguments).await {
        Ok(market) => market,
        Err(error) => {
            let fix = match settings.network {
                Network::Local => "start `crtx up`; for another network pass --network; for another node --rpc-url",
                _ => "choose another node with --rpc-url, or: crtx config set rpc_url URL",
            };
            return vec![Finding::wrong("rpc", format!("{error:#}"), fix)];
        }
    };
    let mut findings = vec![Finding::ok("rpc", format!("{} (chain {})", market.rpc_url, market.genesis_hash))];
    findings.push(clock(settings, &market).await);
    findings.push(program(&market).await.unwrap_or_else(|error| {
        let fix = "see --program-id and --network; another version of crtx may belong to this program";
        Finding::wrong("program", format!("{error:#}"), fix)
    }));
    if let Some(wallet) = wallet {
        let fix = "ask again when the node answers";
        let failed = |error: anyhow::Error| vec![Finding::wrong("balance", format!("{error:#}"), fix)];
        findings.extend(balances(settings, &market, wallet).await.unwrap_or_else(failed));
    }
    findings
}

async fn clock(settings: &Settings, market: &Market) -> Finding {
    let name = "clock";
    let here = SystemTime::now().duration_since(UNIX_EPOCH).ok().and_then(|time| i64::try_from(time.as_secs()).ok());
    let there = match market.now().await {
        Ok(there) => there,
        Err(error) => return Finding::wrong(name, format!("{error:#}"), "choose another node with --rpc-url"),
    };
    let ahead = there.saturating_sub(here.unwrap_or(there));
    let distance = duration(ahead.saturating_abs());
    let side = if ahead < 0 { "behind" } else { "ahead of" };
    match (ahead.saturating_abs() <= MAX_SKEW_S, settings.network) {
        (true, _) => Finding::ok(name, format!("the chain is {distance} {side} this machine")),
        (false, Network::Local) if ahead > 0 => Finding::note(
            name,
            format!("the chain is {distance} ahead of this machine"),
            "a local network can be moved in time; `crtx up --fresh` starts one with the time of this machine",
        ),
        (false, _) => Finding::wrong(
            name,
            format!("the chain is {distance} {side} this machine"),
            "set the clock of this machine (NTP); if it is right, choose another node with --rpc-url",
        ),
    }
}

/// Whether the code on chain is the one that this version was built with.
async fn program(market: &Market) -> anyhow::Result<Finding> {
    let program = DeployedProgram::read(&market.chain, &market.addresses().program_id()).await?;
    let paused = if market.config.paused == 1 { "; paused by the admin" } else { "" };
    let Err(error) = program.check_code() else {
        return Ok(Finding::ok("program", format!("{}, code {}{paused}", program.address, program.sha256)));
    };
    Ok(Finding::wrong("program", error.to_string(), "use the version of crtx that belongs to the deployed program"))
}

async fn balances(settings: &Settings, market: &Market, wallet: &Pubkey) -> anyhow::Result<Vec<Finding>> {
    let (lamports, usdc) = (market.lamports_of(wallet).await?, market.usdc_of(wallet).await?);
    let fund = match settings.network {
        Network::Local => "crtx wallet fund".to_owned(),
        _ => format!("send some to {wallet}"),
    };
    let sol = match lamports {
        0..LOW_LAMPORTS => Finding::wrong("SOL", format!("{} SOL pay for few transactions", sol(lamports)), &fund),
        _ => Finding::ok("SOL", format!("{} SOL", sol(lamports))),
    };
    let held = UsdcBase(usdc.amount);
    let usdc_finding = match usdc.amount {
        0 => Finding::note("USDC", "the wallet holds no USDC, so it cannot pay", &fund),
        _ => Finding::ok("USDC", format!("{held} USDC")),
    };
    Ok(vec![sol, usdc_finding, approval(market, wallet).await?])
}

/// Every key of the wallet spends out of the same approval.
async fn approval(market: &Market, wallet: &Pubkey) -> anyhow::Result<Finding> {
    let funds = Funds::read(market, wallet).await?;
    let (approved, keys, needed) = (funds.approved, funds.live_keys(), funds.needed(None));
    let text = format!("{approved} USDC approved, {keys} API keys may spend {needed}");
    Ok(match approved < needed {
        true => Finding::note("approval", text, "calls fail when the approval is used up; raise it: crtx key topup"),
        false => Finding::ok("approval", text),
    })
}
