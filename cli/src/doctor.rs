//! `crtx doctor`: looks at everything that a command needs, and says how to mend what is wrong.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::ensure;
use crtx_chain::deployment::DeployedProgram;
use crtx_protocol::usdc::UsdcBase;
use serde::Serialize;
use serde_json::{Value, json};
use solana_pubkey::Pubkey;
use solana_signer::Signer;

use crate::{
    api::Api,
    arguments::{ChainArgs, CodeArgs, KeypairArgs, ReadArgs, ServiceArgs},
    keypair_file,
    keys::WalletFunds,
    market::Market,
    output::{self, AlreadySaid, duration, note, printable, shell_word, sol},
    private_file,
    progress::during,
    settings::{Network, Settings, SignerRole},
};

#[derive(Clone, Debug, clap::Args)]
pub struct DoctorArgs {
    #[command(flatten)]
    code: CodeArgs,
    #[command(flatten)]
    read: ReadArgs,
}

/// Fails if something is wrong.
pub async fn run(DoctorArgs { code, read: arguments }: DoctorArgs, settings: &Settings) -> anyhow::Result<()> {
    let (wallet, address) = wallet(settings, &arguments.keypair);
    let mut findings = vec![configuration(settings), wallet];
    findings.extend(during("looking at the chain", chain(settings, &arguments.chain, &code, address.as_ref())).await);
    findings.extend(during("looking at the service", service(settings, &arguments.service)).await);
    let wrong = findings.iter().filter(|finding| finding.state == Severity::Wrong).count();
    if arguments.output.json {
        let all = json!({"network": settings.network, "ok": wrong == 0, "checks": findings});
        output::json(&all)?;
    } else {
        findings.iter().for_each(|finding| output::page(&finding.lines()));
        match wrong {
            0 => note!("Nothing is wrong."),
            1 => note!("One thing is wrong."),
            count => note!("{count} things are wrong."),
        }
    }
    ensure!(wrong == 0, AlreadySaid);
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Ok,
    /// Not wrong, and good to know.
    Note,
    Wrong,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub name: &'static str,
    pub state: Severity,
    pub detail: String,
    /// What to do about it.
    pub fix: Option<String>,
}

impl Finding {
    pub fn ok(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, state: Severity::Ok, detail: detail.into(), fix: None }
    }

    pub fn note(name: &'static str, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { name, state: Severity::Note, detail: detail.into(), fix: Some(fix.into()) }
    }

    pub fn wrong(name: &'static str, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { name, state: Severity::Wrong, detail: detail.into(), fix: Some(fix.into()) }
    }

    pub fn lines(&self) -> String {
        let word = match self.state {
            Severity::Ok => "ok   ",
            Severity::Note => "note ",
            Severity::Wrong => "WRONG",
        };
        let fix = self.fix.as_deref().map(|fix| format!("\n{:17}→ {}", "", printable(fix)));
        format!("{word}  {:<9} {}{}", self.name, printable(&self.detail), fix.unwrap_or_default())
    }
}

fn configuration(settings: &Settings) -> Finding {
    let name = "config";
    let folder = settings.folder.display();
    // Its files are read by now; a transaction needs to write there.
    match private_file::create_folder(&settings.folder) {
        Err(error) => Finding::wrong(
            name,
            format!("{folder} cannot be made: {error}"),
            "make the folder, or set CRTX_CONFIG_DIR to one that you can write",
        ),
        Ok(()) if private_file::is_open_to_others(&settings.folder).unwrap_or(false) => Finding::note(
            name,
            format!("{folder} (network {}); other users of this machine can look into it", settings.network),
            format!("chmod 700 {}", shell_word(&settings.folder.to_string_lossy())),
        ),
        Ok(()) => Finding::ok(name, format!("{folder} (network {})", settings.network)),
    }
}

/// What was found, and the address of the wallet.
fn wallet(settings: &Settings, keypair: &KeypairArgs) -> (Finding, Option<Pubkey>) {
    let name = "wallet";
    let found = match settings.keypair(keypair.keypair.as_deref(), SignerRole::Wallet) {
        Ok(found) => found,
        Err(error) => return (Finding::wrong(name, error.to_string(), "crtx wallet new"), None),
    };
    let path = found.value.display();
    match keypair_file::read(&found.value) {
        Err(error) => {
            let fix = "name another file with --keypair or CRTX_KEYPAIR, or make one with: crtx wallet new";
            (Finding::wrong(name, format!("{error:#}"), fix), None)
        }
        Ok(key) if private_file::is_open_to_others(&found.value).unwrap_or(false) => {
            let detail = format!("other users of this machine can read {path}");
            (
                Finding::wrong(name, detail, format!("chmod 600 {}", shell_word(&found.value.to_string_lossy()))),
                Some(key.pubkey()),
            )
        }
        Ok(key) => (Finding::ok(name, format!("{} ({path}, {})", key.pubkey(), found.source)), Some(key.pubkey())),
    }
}

/// Clocks of chains lag a little, and no more.
const MAX_SKEW_S: i64 = 120;
/// Enough for a few hundred transactions with accounts.
const LOW_LAMPORTS: u64 = 10_000_000;

/// Without a node there is nothing else to look at.
async fn chain(settings: &Settings, arguments: &ChainArgs, code: &CodeArgs, wallet: Option<&Pubkey>) -> Vec<Finding> {
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
    findings.push(program(&market, code).await.unwrap_or_else(|error| {
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

/// Whether the code on chain is the one that this version was built with, or the one that is expected.
async fn program(market: &Market, code: &CodeArgs) -> anyhow::Result<Finding> {
    let program = DeployedProgram::read(&market.chain, &market.addresses().program_id()).await?;
    let paused = if market.config.openings_paused == 1 { "; new calls are stopped" } else { "" };
    let Err(error) = program.check_code(&code.expected()) else {
        let code = if program.is_committed { &program.sha256 } else { &program.code_hash };
        return Ok(Finding::ok("program", format!("{}, code {code}{paused}", program.address)));
    };
    Ok(Finding::wrong("program", error.to_string(), "use the version of crtx that belongs to the deployed program"))
}

async fn balances(settings: &Settings, market: &Market, wallet: &Pubkey) -> anyhow::Result<Vec<Finding>> {
    let (lamports, funds) = (market.lamports_of(wallet).await?, WalletFunds::read(market, wallet).await?);
    let fund = match settings.network {
        Network::Local => "crtx wallet fund".to_owned(),
        _ => format!("send some to {wallet}"),
    };
    let sol = match lamports {
        0..LOW_LAMPORTS => Finding::wrong("SOL", format!("{} SOL pay for few transactions", sol(lamports)), &fund),
        _ => Finding::ok("SOL", format!("{} SOL", sol(lamports))),
    };
    let usdc = match funds.usdc.amount {
        UsdcBase(0) => Finding::note("USDC", "the wallet holds no USDC, so it cannot pay", &fund),
        held => Finding::ok("USDC", format!("{held} USDC")),
    };
    // Every key of the wallet spends out of the same approval.
    let (approved, keys, needed) = (funds.usdc.approved, funds.live_keys(), funds.needed(None));
    let text = format!("{approved} USDC approved, {keys} API keys may spend {needed}");
    let approval = match approved < needed {
        true => Finding::note("approval", text, "calls fail when the approval is used up; raise it: crtx key topup"),
        false => Finding::ok("approval", text),
    };
    Ok(vec![sol, usdc, approval])
}

/// A service that answers later is no help.
const LIMIT: Duration = Duration::from_secs(10);
/// A few seconds of slots.
const MAX_LAG_SLOTS: u64 = 100;

async fn service(settings: &Settings, arguments: &ServiceArgs) -> Vec<Finding> {
    let fix = match settings.network {
        Network::Local => "start `crtx up`, or name the service with --url",
        _ => "name the service with --url, or: crtx config set url URL",
    };
    let api = match Api::of(settings, arguments) {
        Ok(api) => api,
        Err(error) => return vec![Finding::wrong("service", error.to_string(), fix)],
    };
    let status = tokio::time::timeout(LIMIT, api.get::<Value>("/v1/status")).await;
    match status {
        Err(_elapsed) => {
            vec![Finding::wrong("service", format!("{} does not answer in time", api.base_url), fix)]
        }
        Ok(Err(error)) => vec![Finding::wrong("service", format!("{error:#}"), fix)],
        Ok(Ok(status)) => vec![Finding::ok("service", &*api.base_url), index(&status)],
    }
}

fn index(status: &Value) -> Finding {
    let state = status.get("status").and_then(Value::as_str).unwrap_or("unknown");
    let lag = status.get("lag_slots").and_then(Value::as_u64);
    let fix = "answers about agents and executions may be old; see GET /v1/status, or tell the operator";
    match (state, lag) {
        ("live", Some(lag)) if lag <= MAX_LAG_SLOTS => Finding::ok("index", format!("{lag} slots behind the chain")),
        (state, Some(lag)) => Finding::wrong("index", format!("{state}, {lag} slots behind the chain"), fix),
        (state, None) => Finding::wrong("index", format!("{state}, and it does not say how far it is behind"), fix),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_shown_with_what_to_do() {
        let lines = Finding::wrong("rpc", "does not answer", "start it").lines();
        assert_eq!(lines, "WRONG  rpc       does not answer\n                 → start it");
        assert_eq!(Finding::ok("rpc", "answers").lines(), "ok     rpc       answers");
    }

    #[test]
    fn an_index_that_is_stale_or_far_behind_is_wrong() {
        assert_eq!(index(&json!({"status": "live", "lag_slots": 3})).state, Severity::Ok);
        for status in [
            json!({"status": "live", "lag_slots": 101}),
            json!({"status": "stale", "lag_slots": 3}),
            json!({"status": "starting", "lag_slots": null}),
            json!({}),
        ] {
            assert_eq!(index(&status).state, Severity::Wrong, "{status}");
        }
    }
}
