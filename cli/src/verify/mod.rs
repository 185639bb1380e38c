//! `crtx verify`: repeats the checks of "Result verification" in `docs/specification.md`, with the chain and the
//! content alone.

mod content;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, bail, ensure};
use crtx_chain::{ChainClient, CommitmentConfig};
use crtx_mirror::closings::event::closed_accounts;
use crtx_protocol::result_hash::ResultHash;
use crtx_sdk::verify::{self, Check, Claims, ContentCopy, Evidence, MoneyOutcome};
use serde_json::json;
use url::Url;
use uuid::Uuid;

use self::content::{ContentSource, find_content};
use crate::{
    api::{Api, ApiArgs},
    arguments::{ChainArgs, KeypairArgs},
    asker::Asker,
    output::{self, AlreadySaid, note, say},
    settings::{Network, Settings, Source, Sourced, is_on_this_machine},
    usage::{UsageError, http_url},
};

const RPC_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Clone, Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("subject").required(true).multiple(true).args(["execution_id", "file"]))]
pub struct VerifyArgs {
    /// The execution to verify; its record is read from the API
    pub execution_id: Option<Uuid>,
    /// A saved execution record (the JSON that the API answers), instead of asking the API. With an
    /// EXECUTION_ID, any other file is taken as a saved copy of the content
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// A saved copy of the content, instead of fetching it
    #[arg(long, value_name = "FILE")]
    pub content: Option<PathBuf>,
    #[command(flatten)]
    pub chain: ChainArgs,
    #[command(flatten)]
    pub api: ApiArgs,
    #[command(flatten)]
    pub keypair: KeypairArgs,
    /// Print one JSON value
    #[arg(long)]
    pub json: bool,
}

/// Prints the report. Fails only where nothing could be checked.
pub async fn run(arguments: VerifyArgs, settings: &Settings) -> anyhow::Result<()> {
    let (claims, source) = read_subject(&arguments, settings).await?;
    let rpc_url = rpc_url(&arguments, settings, &claims)?;
    let program_id = settings.program_id(arguments.chain.program_id)?.value;
    let gone = settings.gone(&rpc_url).map(|gone| format!("; {gone}")).unwrap_or_default();
    let rpc_url = rpc_url.as_str().trim_end_matches('/').to_owned();
    // Without an RPC node every check would fail with the same reason.
    let chain = ChainClient::new(&rpc_url, RPC_TIMEOUT);
    let slot = chain.slot(CommitmentConfig::confirmed()).await;
    slot.with_context(|| format!("nothing was checked: {rpc_url} does not answer as a Solana RPC node{gone}"))?;
    let service = Api::of(settings, &arguments.api.service).ok();
    let content = find_content(&claims, source, service.as_ref()).await.map_err(|error| format!("{error:#}"));
    let evidence = verify::collect(claims, program_id, &chain, content, |transaction, program, address| {
        let closed = closed_accounts(transaction, program).into_iter().find(|closed| closed.address == *address);
        closed.map(|closed| closed.data)
    });
    let evidence = evidence.await?;
    let checks = verify::run(&evidence);
    let verified = checks.iter().all(|check| check.ok);
    if arguments.json {
        output::json(&report(&evidence, &checks, verified, &rpc_url))?;
    } else {
        print_lines(&evidence, &checks, verified, &rpc_url);
    }
    ensure!(verified, AlreadySaid);
    Ok(())
}

/// The node that the user chose; else the one that a record of a local network names, because it can be of an earlier
/// `crtx up` than the last one; else the one of the network. A named node is accepted only on this machine: the author of
/// a forged record could also run a forged chain.
fn rpc_url(arguments: &VerifyArgs, settings: &Settings, claims: &Claims) -> anyhow::Result<Url> {
    let known = settings.rpc_url_if_any(arguments.chain.rpc_url.as_ref())?;
    let named = claims.rpc_url().filter(|_| settings.network == Network::Local);
    let local = named.as_deref().and_then(|named| http_url(named).ok()).filter(is_on_this_machine);
    let problem = match (known, local, named) {
        (Some(Sourced { value, source: Source::Given | Source::ConfigFile }), ..)
        | (_, Some(value), _)
        | (Some(Sourced { value, .. }), None, _) => return Ok(value),
        (None, None, Some(named)) => format!(
            "The record names the Solana RPC node {named}, which is not on this machine. Set CRTX_RPC_URL or pass \
             --rpc-url to choose a node that you trust."
        ),
        (None, None, None) => "No Solana RPC node. Set CRTX_RPC_URL or pass --rpc-url.".to_owned(),
    };
    Err(UsageError::new(problem).into())
}

/// What is to be verified, and where its content comes from.
async fn read_subject(arguments: &VerifyArgs, settings: &Settings) -> anyhow::Result<(Claims, ContentSource)> {
    let copy = arguments.content.as_deref().map(saved_content).transpose()?;
    let Some(path) = &arguments.file else {
        let id = arguments.execution_id.context("No execution. Pass EXECUTION_ID or --file.")?;
        return Ok((ask_api(arguments, settings, &id).await?, copy.map_or(ContentSource::Url, ContentSource::Copy)));
    };
    let file = saved_content(path)?;
    match (Claims::parse(&file.bytes), arguments.execution_id) {
        (Ok(claims), Some(id)) if claims.execution_id != id => {
            bail!("{} is the record of execution {}, not of {id}", path.display(), claims.execution_id)
        }
        (Ok(claims), _) => Ok((claims, copy.map_or(ContentSource::UrlOrStatedResult, ContentSource::Copy))),
        (Err(_), Some(id)) => Ok((ask_api(arguments, settings, &id).await?, ContentSource::Copy(copy.unwrap_or(file)))),
        (Err(error), None) => Err(error.context(path.display().to_string())),
    }
}

async fn ask_api(arguments: &VerifyArgs, settings: &Settings, id: &Uuid) -> anyhow::Result<Claims> {
    let answer = Asker::of(settings, &arguments.api, &arguments.keypair)?.execution(id).await?;
    answer.success()?;
    Claims::parse(&answer.body)
}

fn saved_content(path: &Path) -> anyhow::Result<ContentCopy> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(ContentCopy { bytes, source: path.display().to_string() })
}

fn report(evidence: &Evidence, checks: &[Check], verified: bool, rpc_url: &str) -> serde_json::Value {
    json!({
        "execution_id": evidence.claims.execution_id,
        "verified": verified,
        "outcome": MoneyOutcome::of(evidence),
        "record": evidence.record_address.to_string(),
        "program_id": evidence.program_id.to_string(),
        "rpc_url": rpc_url,
        "opening_transaction": evidence.opening.as_ref().ok().map(|opening| &opening.signature),
        "request_hash": evidence.opening.as_ref().ok().map(|opening| ResultHash(opening.request_hash).to_string()),
        "settling_transaction": evidence.ending.as_ref().ok().map(|ending| &ending.signature),
        "closing_transaction": evidence.closed_by,
        "checks": checks,
    })
}

fn print_lines(evidence: &Evidence, checks: &[Check], verified: bool, rpc_url: &str) {
    for check in checks {
        let word = if check.ok { "ok  " } else { "FAIL" };
        say!("{word}  {:<10}  {}", check.name, check.detail);
    }
    let id = evidence.claims.execution_id;
    let failed = checks.iter().filter(|check| !check.ok).count();
    match (verified, MoneyOutcome::of(evidence)) {
        (false, _) => {
            note!("execution {id} is NOT verified: {failed} of {} checks failed against {rpc_url}", checks.len());
        }
        (true, Some(MoneyOutcome::Refunded)) => {
            note!(
                "execution {id} was refunded, so there is no result to verify; the refund is verified against {rpc_url}"
            );
        }
        (true, _) => note!("execution {id} is verified against {rpc_url}"),
    }
}
