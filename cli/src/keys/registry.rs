//! The keys of a wallet as the service knows them.

use anyhow::bail;
use crtx_protocol::usdc::UsdcBase;
use reqwest::{Method, StatusCode};
use serde::Deserialize;
use serde_json::Value;
use solana_pubkey::Pubkey;

use crate::{api::Body, session::SignedIn, usage::UsageError};

/// A key in the answer of `GET /v1/keys`.
#[derive(Clone, Debug, Deserialize)]
pub struct KnownKey {
    pub name: Option<String>,
    pub session_public_key: String,
    pub prefix: String,
    pub last_four: Option<String>,
    pub state: String,
    pub execution_count: u64,
    pub total_spent_usdc: UsdcBase,
    pub per_call_cap_usdc: Option<UsdcBase>,
    pub total_cap_usdc: Option<UsdcBase>,
    pub left_usdc: Option<UsdcBase>,
    pub expires_at: Option<String>,
    pub last_used_at: Option<String>,
}

/// What the wallet lets its keys move, next to what they may still spend.
#[derive(Clone, Debug, Deserialize)]
pub struct Approval {
    pub approved_usdc: UsdcBase,
    /// `None`: one of the keys has no limit.
    pub needed_usdc: Option<UsdcBase>,
    pub holding_usdc: UsdcBase,
    pub short_usdc: Option<UsdcBase>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Keys {
    pub keys: Vec<KnownKey>,
    pub approval: Approval,
}

/// Most keys on a page of the API.
const PAGE: usize = 100;
/// More keys than a wallet can have.
const MAX_KEYS: usize = 10_000;

/// All keys, and the same as one answer of the API.
pub async fn keys(service: &SignedIn<'_>) -> anyhow::Result<(Keys, Value)> {
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
    Ok((Keys::deserialize(&whole)?, whole))
}

fn count(page: &Value) -> usize {
    page.get("keys").and_then(Value::as_array).map_or(0, Vec::len)
}

/// Registers a key. Returns the service's answer.
pub async fn register(service: &SignedIn<'_>, body: &Value) -> anyhow::Result<Value> {
    service.post("/v1/keys", body).await
}

/// Revokes a key at the service. A key that is revoked already, or that the service does not know, is fine.
pub async fn revoke(service: &SignedIn<'_>, session_key: &Pubkey) -> anyhow::Result<()> {
    let answer = service.send(Method::DELETE, &format!("/v1/keys/{session_key}"), Body::Nothing).await?;
    match answer.status {
        StatusCode::NOT_FOUND => Ok(()),
        _ => answer.success(),
    }
}

/// The session public key that a user means: by the key's name, or by the public key itself.
pub async fn find(service: &SignedIn<'_>, named: &str) -> anyhow::Result<Pubkey> {
    if let Ok(address) = named.parse() {
        return Ok(address);
    }
    let (Keys { keys, .. }, _) = keys(service).await?;
    let mut matching = keys.iter().filter(|key| key.name.as_deref() == Some(named) && key.state != "revoked");
    match (matching.next(), matching.next()) {
        (Some(key), None) => Ok(key.session_public_key.parse()?),
        (None, _) => bail!("no key that is not revoked has the name {named}; `crtx key list` shows all"),
        (Some(_), Some(_)) => Err(UsageError::new(format!(
            "Several keys have the name {named}. Name the key by its session public key; `crtx key list` shows it."
        ))
        .into()),
    }
}
