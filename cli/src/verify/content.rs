//! The content of a result. Its address is a stranger's: it is asked only if it is the service that the user chose, or a
//! public https address.

use std::time::Duration;

use anyhow::{Context, bail};
use crtx_http::outbound::{Outbound, OutboundPolicy};
use crtx_sdk::verify::{Claims, ContentCopy};
use reqwest::Method;

use crate::api::Api;

/// Larger than every result that a marketplace stores by default, and small enough for memory.
const MAX_CONTENT_BYTES: usize = 64 * 1024 * 1024;
const HTTP_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Clone, Debug)]
pub enum ContentSource {
    /// The record's `ipfs_url`.
    Url,
    /// The same, or the result that the saved record holds, if that URL does not answer.
    UrlOrStatedResult,
    /// A copy that the user has.
    Copy(ContentCopy),
}

pub async fn find_content(
    claims: &Claims,
    source: ContentSource,
    service: Option<&Api>,
) -> anyhow::Result<ContentCopy> {
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
