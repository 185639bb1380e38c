//! Collects what the checks look at: content over HTTP, accounts and the transaction that ended the execution
//! over RPC. An account that has been closed is read from the event that closed it.
//!
//! The address of the content is a stranger's: it is asked only if it is the service that the user chose, or a public
//! https address.

use std::time::Duration;

use agent_marketplace::state::{AgentListed, Config, Dispute, ExecutionRecord};
use anyhow::{Context, bail};
use crtx_chain::{ChainClient, Execution, Layout};
use crtx_http::outbound::{Outbound, OutboundPolicy};
use crtx_protocol::address::Addresses;
use reqwest::Method;
use solana_pubkey::Pubkey;

use super::{
    claims::Claims,
    ends::{self, Ending, Opening},
    transactions::{History, Seen},
};
use crate::api::Api;

/// Larger than every result that a marketplace stores by default, and small enough for memory.
const MAX_CONTENT_BYTES: usize = 64 * 1024 * 1024;
const HTTP_TIMEOUT: Duration = Duration::from_secs(30);

/// Everything that was found, or the reason why it was not found.
#[derive(Clone, Debug)]
pub struct Evidence {
    pub claims: Claims,
    pub program_id: Pubkey,
    pub record_address: Pubkey,
    pub content: Result<ContentCopy, String>,
    pub record: Result<ExecutionRecord, String>,
    /// The transaction that closed the record, if it is closed.
    pub closed_by: Option<String>,
    pub listing: Result<AgentListed, String>,
    /// `None` if the execution was never disputed.
    pub dispute: Option<Result<Dispute, String>>,
    pub config: Result<Config, String>,
    pub opening: Result<Opening, String>,
    pub ending: Result<Ending, String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentCopy {
    pub bytes: Vec<u8>,
    /// Where it came from, for the report.
    pub source: String,
}

#[derive(Clone, Debug)]
pub enum ContentSource {
    /// The record's `ipfs_url`.
    Url,
    /// The same, or the result that the saved record holds, if that URL does not answer.
    UrlOrStatedResult,
    /// A copy that the user has.
    Copy(ContentCopy),
}

/// Looks at everything that `claims` point to.
pub async fn collect(
    claims: Claims,
    program_id: Pubkey,
    chain: &ChainClient,
    source: ContentSource,
    service: Option<&Api>,
) -> anyhow::Result<Evidence> {
    let record_address = claims.record_address()?;
    let content = find_content(&claims, source, service).await.map_err(|error| format!("{error:#}"));
    let addresses = Addresses::new(program_id);
    let at = |address| History::new(chain, address);
    let config: anyhow::Result<Found<Config>> = account(&mut at(addresses.config()), &program_id, &[]).await;
    let window = config.as_ref().map_or(0, |config| config.account.parameters.dispute_window_s);
    // A record is closed when its dispute window is over. The stated times only say where to begin.
    let stated = [claims.initiated_at, claims.completed_at].map(|time| time.map(|time| time.timestamp()));
    let closed = stated[1].map(|ended| ended.saturating_add(window));
    let mut history = at(record_address);
    let record: anyhow::Result<Found<Execution>> = account(&mut history, &program_id, &Vec::from_iter(closed)).await;
    let listing: anyhow::Result<Found<AgentListed>> = match &record {
        Ok(found) => account(&mut at(found.account.agent), &program_id, &[]).await,
        Err(_) => Err(anyhow::anyhow!("there is no record that names it")),
    };
    let dispute: Option<anyhow::Result<Found<Dispute>>> = match &record {
        Ok(Found { account: record, closed_by }) if record.dispute_count > 0 => {
            // A dispute is closed together with its record.
            let closed = Vec::from_iter(closed_by.as_ref().and_then(|closed| closed.time));
            Some(account(&mut at(addresses.dispute(&record_address)), &program_id, &closed).await)
        }
        _ => None,
    };
    let [opened, ended] = match &record {
        Ok(Found { account, .. }) => [account.opened_at_unix_s, account.finished_at_unix_s].map(Some),
        Err(_) => stated,
    };
    let opening = ends::opening(&mut history, &Vec::from_iter(opened), &program_id).await;
    let ending = ends::ending(&mut history, &Vec::from_iter(ended), &program_id).await;
    let text = |error: anyhow::Error| format!("{error:#}");
    Ok(Evidence {
        claims,
        program_id,
        record_address,
        content,
        closed_by: record.as_ref().ok().and_then(|found| Some(found.closed_by.as_ref()?.what.clone())),
        record: record.map(|found| found.account.record).map_err(text),
        listing: listing.map(|found| found.account).map_err(text),
        dispute: dispute.map(|dispute| dispute.map(|found| found.account).map_err(text)),
        config: config.map(|found| found.account).map_err(text),
        opening: opening.map_err(text),
        ending: ending.map_err(text),
    })
}

/// An account, and the transaction that closed it if it is closed.
struct Found<T> {
    account: T,
    closed_by: Option<Seen<String>>,
}

/// An account of the program as it is, or as it was when it was closed, next to one of these times.
async fn account<T: Layout>(history: &mut History<'_>, program_id: &Pubkey, times: &[i64]) -> anyhow::Result<Found<T>> {
    let address = history.address;
    if let Some(found) = history.chain.account(&address).await?.value {
        if found.owner != *program_id {
            bail!("{address} is owned by {}, not by the marketplace program {program_id}", found.owner);
        }
        return Ok(Found { account: T::decode(&found.data)?, closed_by: None });
    }
    let Seen { what: (signature, data), time } = ends::closing(history, times, program_id).await?;
    Ok(Found { account: T::decode(&data)?, closed_by: Some(Seen { what: signature, time }) })
}

async fn find_content(claims: &Claims, source: ContentSource, service: Option<&Api>) -> anyhow::Result<ContentCopy> {
    let stated = match source {
        ContentSource::Copy(content) => return Ok(content),
        ContentSource::Url => None,
        ContentSource::UrlOrStatedResult => claims.result.clone(),
    };
    match (fetch_content(claims, service).await, stated) {
        (Err(_), Some(result)) => Ok(ContentCopy {
            bytes: result.into_bytes(),
            source: "the saved result (its URL cannot be fetched)".to_owned(),
        }),
        (fetched, _) => fetched,
    }
}

/// The content at its public address, else from the service, which has it under the same hash.
async fn fetch_content(claims: &Claims, service: Option<&Api>) -> anyhow::Result<ContentCopy> {
    let url = claims.ipfs_url.as_ref().context("the record names no content")?;
    let path = claims.cid().map(|(cid, _)| format!("/ipfs/{cid}"));
    let is_own = |api: &&Api| path.as_ref().is_ok_and(|path| url.as_str() == format!("{}{path}", api.base_url));
    if service.filter(is_own).is_none() {
        let outbound = Outbound::new(OutboundPolicy::STRICT);
        let refused = match outbound.check_reachable(url.as_str()).await {
            Ok(url) => {
                let client = outbound.client(HTTP_TIMEOUT)?;
                let bytes = crtx_download::get(&client, url.as_str(), MAX_CONTENT_BYTES).await?;
                return Ok(ContentCopy { bytes, source: url.to_string() });
            }
            Err(refused) => refused,
        };
        if service.is_none() {
            bail!("{url} is not asked: {refused}; name the service with --url, or a saved copy with --content");
        }
    }
    let (api, path) = (service.context("no service is known")?, path.map_err(anyhow::Error::msg)?);
    let answer = api.send(api.request(Method::GET, &path)).await?;
    answer.success()?;
    Ok(ContentCopy { bytes: answer.body, source: format!("{}{path}", api.base_url) })
}

#[cfg(test)]
mod tests;
