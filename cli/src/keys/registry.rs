//! The keys of a wallet as the service knows them.

use anyhow::bail;
use crtx_protocol::usdc::UsdcBase;
use reqwest::{Method, StatusCode};
use serde::Deserialize;
use serde_json::Value;
use solana_pubkey::Pubkey;

use crate::{asker::Asker, output, usage::UsageError};

/// What the wallet lets its keys move, next to what they may still spend.
#[derive(Clone, Debug, Deserialize)]
pub struct Approval {
    pub approved_usdc: UsdcBase,
    /// `None`: one of the keys has no limit.
    pub needed_usdc: Option<UsdcBase>,
    pub holding_usdc: UsdcBase,
    pub short_usdc: Option<UsdcBase>,
}

/// Most keys on a page of the API.
const PAGE: usize = 100;
/// More keys than a wallet can have.
const MAX_KEYS: usize = 10_000;

/// All keys, as one answer of the API.
pub async fn keys(service: &Asker) -> anyhow::Result<Value> {
    let mut whole: Value = service.get(&format!("/v1/keys?limit={PAGE}")).await?;
    let mut last = count(&whole);
    let mut offset = last;
    while last == PAGE && offset < MAX_KEYS {
        let mut page: Value = service.get(&format!("/v1/keys?limit={PAGE}&offset={offset}")).await?;
        last = count(&page);
        offset = offset.saturating_add(last);
        if let (Some(Value::Array(all)), Some(Value::Array(more))) = (whole.get_mut("keys"), page.get_mut("keys")) {
            all.append(more);
        }
    }
    Ok(whole)
}

fn count(page: &Value) -> usize {
    of_page(page).count()
}

/// The keys in an answer of the API.
pub fn of_page(page: &Value) -> impl Iterator<Item = &Value> {
    page.get("keys").and_then(Value::as_array).into_iter().flatten()
}

/// The keys of that name that are not revoked.
pub async fn named(service: &Asker, name: &str) -> anyhow::Result<Vec<Value>> {
    let whole = keys(service).await?;
    let text = |key: &Value, field: &str| key.get(field).and_then(Value::as_str).map(str::to_owned);
    let is_meant =
        |key: &&Value| text(key, "name").as_deref() == Some(name) && text(key, "state").as_deref() != Some("revoked");
    Ok(of_page(&whole).filter(is_meant).cloned().collect())
}

/// Registers a key. Returns the service's answer.
pub async fn register(service: &Asker, body: &Value) -> anyhow::Result<Value> {
    service.post("/v1/keys", body).await
}

/// Revokes a key at the service. A key that is revoked already, or that the service does not know, is fine.
pub async fn revoke(service: &Asker, session_key: &Pubkey) -> anyhow::Result<()> {
    let answer = service.send(service.api.request(Method::DELETE, &format!("/v1/keys/{session_key}"))).await?;
    match answer.status {
        StatusCode::NOT_FOUND => Ok(()),
        _ => answer.success(),
    }
}

/// The session public key that a user means: by the key's name, or by the public key itself.
pub async fn find(service: &Asker, named: &str) -> anyhow::Result<Pubkey> {
    if let Ok(address) = named.parse() {
        return Ok(address);
    }
    match self::named(service, named).await?.as_slice() {
        [key] => Ok(output::cell(key, "session_public_key", "").parse()?),
        [] => bail!("no key that is not revoked has the name {named}; `crtx key list` shows all"),
        _ => Err(UsageError::new(format!(
            "Several keys have the name {named}. Name the key by its session public key; `crtx key list` shows it."
        ))
        .into()),
    }
}
