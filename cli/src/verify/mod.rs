//! `crtx verify`: does specification 4.7 again, and more, from the chain and the content alone.

mod checks;
mod claims;
mod ending;
mod evidence;
mod transactions;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, bail};
use serde_json::json;
use solana_pubkey::Pubkey;
use uuid::Uuid;

use self::{
    checks::{Check, Outcome},
    claims::Claims,
    evidence::{Content, ContentSource, Evidence},
};
use crate::api::{Api, ApiArgs};

/// What the command line says.
#[derive(Clone, Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("subject").required(true).multiple(true).args(["execution_id", "file"]))]
pub struct VerifyArgs {
    /// The execution to verify; its record is read from the API
    pub execution_id: Option<Uuid>,
    /// A saved execution record (the JSON that the API answers), instead of asking the API. Beside an
    /// EXECUTION_ID any other file is taken as a saved copy of the content
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// A saved copy of the content, instead of fetching it
    #[arg(long, value_name = "FILE")]
    pub content: Option<PathBuf>,
    /// Solana RPC node to ask; without it the one that the record's explorer link names
    #[arg(long, env = "CRTX_RPC_URL", value_name = "URL")]
    pub rpc_url: Option<String>,
    /// Address of the marketplace program
    #[arg(long, env = "CRTX_PROGRAM_ID", value_name = "ADDRESS", default_value_t = agent_marketplace::ID)]
    pub program_id: Pubkey,
    #[command(flatten)]
    pub api: ApiArgs,
    /// Print one JSON value
    #[arg(long)]
    pub json: bool,
}

/// Prints the report. Fails only where nothing could be checked.
pub async fn run(arguments: VerifyArgs) -> anyhow::Result<ExitCode> {
    let (claims, source) = read_subject(&arguments).await?;
    let rpc_url = match arguments.rpc_url.clone().or_else(|| claims.rpc_url()) {
        Some(url) => url,
        None => bail!("which chain? Name a Solana RPC node with --rpc-url or CRTX_RPC_URL"),
    };
    let evidence = evidence::collect(claims, arguments.program_id, &rpc_url, source).await?;
    let checks = checks::run(&evidence);
    let verified = checks.iter().all(|check| check.ok);
    if arguments.json {
        println!("{}", report(&evidence, &checks, verified, &rpc_url));
    } else {
        print_lines(&evidence, &checks, verified, &rpc_url);
    }
    Ok(if verified { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What is to be verified, and where its content comes from.
async fn read_subject(arguments: &VerifyArgs) -> anyhow::Result<(Claims, ContentSource)> {
    let copy = arguments.content.as_deref().map(saved_content).transpose()?;
    let Some(path) = &arguments.file else {
        let id = arguments.execution_id.context("name an execution or a file")?;
        return Ok((ask_api(arguments, &id).await?, copy.map_or(ContentSource::Url, ContentSource::Copy)));
    };
    let file = saved_content(path)?;
    match (Claims::parse(&file.bytes), arguments.execution_id) {
        (Ok(claims), Some(id)) if claims.execution_id != id => {
            bail!("{} is the record of execution {}, not of {id}", path.display(), claims.execution_id)
        }
        (Ok(claims), _) => Ok((claims, copy.map_or(ContentSource::UrlOrStatedResult, ContentSource::Copy))),
        (Err(_), Some(id)) => Ok((ask_api(arguments, &id).await?, ContentSource::Copy(copy.unwrap_or(file)))),
        (Err(error), None) => Err(error.context(path.display().to_string())),
    }
}

async fn ask_api(arguments: &VerifyArgs, id: &Uuid) -> anyhow::Result<Claims> {
    Claims::parse(&Api::new(&arguments.api)?.execution(id).await?)
}

fn saved_content(path: &Path) -> anyhow::Result<Content> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(Content { bytes, source: path.display().to_string() })
}

fn report(evidence: &Evidence, checks: &[Check], verified: bool, rpc_url: &str) -> serde_json::Value {
    json!({
        "execution_id": evidence.claims.execution_id,
        "verified": verified,
        "outcome": Outcome::of(evidence),
        "record": evidence.record_address.to_string(),
        "program_id": evidence.program_id.to_string(),
        "rpc_url": rpc_url,
        "settling_transaction": evidence.ending.as_ref().ok().map(|ending| &ending.transaction.signature),
        "closing_transaction": evidence.closed_by,
        "checks": checks,
    })
}

fn print_lines(evidence: &Evidence, checks: &[Check], verified: bool, rpc_url: &str) {
    for check in checks {
        let word = if check.ok { "ok  " } else { "FAIL" };
        println!("{word}  {:<10}  {}", check.name, check.detail);
    }
    let id = evidence.claims.execution_id;
    let failed = checks.iter().filter(|check| !check.ok).count();
    match (verified, Outcome::of(evidence)) {
        (false, _) => {
            eprintln!("execution {id} is NOT verified: {failed} of {} checks failed against {rpc_url}", checks.len());
        }
        (true, Some(Outcome::Refunded)) => {
            eprintln!(
                "execution {id} was refunded, so there is no result to verify; the refund is verified against {rpc_url}"
            );
        }
        (true, _) => eprintln!("execution {id} is verified against {rpc_url}"),
    }
}
