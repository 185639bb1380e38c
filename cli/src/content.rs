//! Content by its hash: reads it from the service and checks it, publishes it.

use std::time::Duration;

use anyhow::bail;
use crtx_protocol::{
    content::{cid_of, parse_ipfs_uri},
    result_hash::ResultHash,
};
use reqwest::{Method, StatusCode};

use crate::api::Api;

/// The service takes content when its index shows a record that names it, a moment after the transaction.
const PUBLISH_ATTEMPTS: u32 = 20;
const PUBLISH_PAUSE: Duration = Duration::from_millis(500);

/// The bytes with that hash, from the service.
pub async fn read(api: &Api, hash: &ResultHash) -> anyhow::Result<Vec<u8>> {
    let path = format!("/ipfs/{}", cid_of(hash));
    let answer = api.send(api.request(Method::GET, &path)).await?;
    answer.success()?;
    if ResultHash::of(&answer.body) != *hash {
        bail!("{}{path} has other content than its hash says", api.base_url);
    }
    Ok(answer.body)
}

/// The same, by the URI that stands on chain next to the hash. Only addresses by content are followed.
pub async fn read_uri(api: &Api, uri: &str, hash: &ResultHash) -> anyhow::Result<Vec<u8>> {
    match parse_ipfs_uri(uri) {
        Ok(named) if named == *hash => read(api, hash).await,
        Ok(_) => bail!("its URI names other content than its hash"),
        Err(_) => bail!("its URI is {}, and only addresses by content are read", crate::output::printable(uri)),
    }
}

pub async fn publish(api: &Api, content: &[u8]) -> anyhow::Result<()> {
    let path = format!("/ipfs/{}", cid_of(&ResultHash::of(content)));
    let mut attempts = 1..PUBLISH_ATTEMPTS;
    loop {
        let answer = api.send(api.request(Method::PUT, &path).body(content.to_vec())).await?;
        if answer.status.is_success() {
            return Ok(());
        }
        let refused = anyhow::Error::msg(answer.error_text());
        let may_change = answer.status.is_server_error()
            || matches!(answer.status, StatusCode::CONFLICT | StatusCode::TOO_MANY_REQUESTS);
        match attempts.next() {
            Some(_) if may_change => tokio::time::sleep(PUBLISH_PAUSE).await,
            None if may_change => return Err(refused.context("the service does not take the content yet")),
            _ => return Err(refused),
        }
    }
}
