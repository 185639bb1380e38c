//! Collects what the checks look at: content over HTTP, accounts and the transaction that ended the execution
//! over RPC. An account that has been closed is read from the event that closed it.

use std::time::Duration;

use agent_marketplace::state::{AgentListed, Config, Dispute, ExecutionRecord};
use anyhow::{Context, bail};
use crtx_chain::{ChainClient, Execution, Layout};
use crtx_protocol::address::Addresses;
use solana_pubkey::Pubkey;

use super::{
    claims::Claims,
    ending::{self, Ending},
    opening::{self, Opening},
};

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

/// Where the content comes from.
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
) -> anyhow::Result<Evidence> {
    let record_address = claims.record_address()?;
    let content = find_content(&claims, source).await.map_err(|error| format!("{error:#}"));
    let look = Look { chain, program_id };
    let record = look.account::<Execution>(&record_address).await;
    let (listing, dispute) = match &record {
        Ok((record, _)) => (look.account(&record.agent).await, look.dispute(&record_address, record).await),
        Err(_) => (Err(anyhow::anyhow!("there is no record that names it")), None),
    };
    let config = look.account::<Config>(&Addresses::new(program_id).config()).await;
    let opening = opening::find(chain, &program_id, &record_address).await;
    let ending = ending::find(chain, &program_id, &record_address).await;
    let text = |error: anyhow::Error| format!("{error:#}");
    Ok(Evidence {
        claims,
        program_id,
        record_address,
        content,
        closed_by: record.as_ref().ok().and_then(|(_, closed_by)| closed_by.clone()),
        record: record.map(|(execution, _)| execution.record).map_err(text),
        listing: listing.map(|(listing, _)| listing).map_err(text),
        dispute: dispute.map(|dispute| dispute.map_err(text)),
        config: config.map(|(config, _)| config).map_err(text),
        opening: opening.map_err(text),
        ending: ending.map_err(text),
    })
}

/// Where accounts are looked for.
struct Look<'a> {
    chain: &'a ChainClient,
    program_id: Pubkey,
}

impl Look<'_> {
    /// An account of the program as it is, or as it was when it was closed, and by which transaction.
    async fn account<T: Layout>(&self, address: &Pubkey) -> anyhow::Result<(T, Option<String>)> {
        let program_id = self.program_id;
        if let Some(found) = self.chain.account(address).await?.value {
            if found.owner != program_id {
                bail!("{address} is owned by {}, not by the marketplace program {program_id}", found.owner);
            }
            return Ok((T::decode(&found.data)?, None));
        }
        let closed = ending::find_closed(self.chain, &program_id, address).await?;
        let (signature, data) = closed.with_context(|| format!("{address} is not on the chain"))?;
        Ok((T::decode(&data)?, Some(signature)))
    }

    /// `None` if the execution was never disputed.
    async fn dispute(&self, record_address: &Pubkey, record: &ExecutionRecord) -> Option<anyhow::Result<Dispute>> {
        if record.dispute_count == 0 {
            return None;
        }
        let address = Addresses::new(self.program_id).dispute(record_address);
        Some(self.account(&address).await.map(|(dispute, _)| dispute))
    }
}

async fn find_content(claims: &Claims, source: ContentSource) -> anyhow::Result<ContentCopy> {
    let error = match source {
        ContentSource::Copy(content) => return Ok(content),
        ContentSource::Url => return fetch_content(claims).await,
        ContentSource::UrlOrStatedResult => match fetch_content(claims).await {
            Ok(content) => return Ok(content),
            Err(error) => error,
        },
    };
    let result = claims.result.as_ref().ok_or(error)?;
    Ok(ContentCopy {
        bytes: result.clone().into_bytes(),
        source: "the saved result (its URL cannot be fetched)".to_owned(),
    })
}

async fn fetch_content(claims: &Claims) -> anyhow::Result<ContentCopy> {
    let url = claims.ipfs_url.as_deref().context("the record names no content")?;
    let client = reqwest::Client::builder().timeout(HTTP_TIMEOUT).build()?;
    let bytes = crtx_download::get(&client, url, MAX_CONTENT_BYTES).await?;
    Ok(ContentCopy { bytes, source: url.to_owned() })
}
