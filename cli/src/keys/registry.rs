//! The keys of a wallet as the service knows them, and `crtx key list`.

use anyhow::{Context, bail};
use crtx_protocol::usdc::UsdcBase;
use reqwest::{Method, StatusCode};
use serde::Deserialize;
use serde_json::Value;
use solana_pubkey::Pubkey;

use crate::{
    arguments::OwnerArgs,
    asker::Asker,
    output::{self, cell, note, table},
    settings::Settings,
    usage::UsageError,
};

/// What the wallet lets its keys move, next to what they may still spend.
#[derive(Clone, Debug, Deserialize)]
struct Approval {
    approved_usdc: UsdcBase,
    /// `None`: one of the keys has no limit.
    needed_usdc: Option<UsdcBase>,
    holding_usdc: UsdcBase,
    short_usdc: Option<UsdcBase>,
}

/// Most keys on a page of the API.
const PAGE: usize = 100;
/// More keys than a wallet can have.
const MAX_KEYS: usize = 10_000;

/// All keys, as one answer of the API.
async fn keys(service: &Asker) -> anyhow::Result<Value> {
    let mut whole: Value = service.get(&format!("/v1/keys?limit={PAGE}")).await?;
    for offset in (PAGE..MAX_KEYS).step_by(PAGE) {
        if of_page(&whole).count() < offset {
            break;
        }
        let mut page: Value = service.get(&format!("/v1/keys?limit={PAGE}&offset={offset}")).await?;
        if let (Some(Value::Array(all)), Some(Value::Array(more))) = (whole.get_mut("keys"), page.get_mut("keys")) {
            all.append(more);
        }
    }
    Ok(whole)
}

fn of_page(page: &Value) -> impl Iterator<Item = &Value> {
    page.get("keys").and_then(Value::as_array).into_iter().flatten()
}

/// The keys of that name that are not revoked.
pub async fn named(service: &Asker, name: &str) -> anyhow::Result<Vec<Value>> {
    let whole = keys(service).await?;
    let is_meant = |key: &&Value| cell(key, "name", "") == name && cell(key, "state", "") != "revoked";
    Ok(of_page(&whole).filter(is_meant).cloned().collect())
}

/// Revokes a key at the service, which may have revoked it before or not know it.
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
        [key] => Ok(cell(key, "session_public_key", "").parse()?),
        [] => bail!("no key that is not revoked has the name {named}; `crtx key list` shows all"),
        _ => Err(UsageError::new(format!(
            "Several keys have the name {named}. Name the key by its session public key; `crtx key list` shows it."
        ))
        .into()),
    }
}

pub async fn list(arguments: &OwnerArgs, settings: &Settings) -> anyhow::Result<()> {
    let keypair = arguments.keypair.read(settings)?;
    let service = Asker::wallet(settings, &arguments.service, &keypair)?;
    let whole = keys(&service).await?;
    if arguments.output.json {
        return output::json(&whole);
    }
    output::page(&table(&COLUMNS.map(|(heading, ..)| heading), of_page(&whole).map(row).collect()));
    let approval = whole.get("approval").context("the API answered in another form than expected")?;
    note!("{}", approval_line(&Approval::deserialize(approval)?));
    Ok(())
}

/// Heading and field of each column, and what is shown where the field is missing.
const COLUMNS: [(&str, &str, &str); 14] = [
    ("name", "name", "(not registered)"),
    ("key", "last_four", "????"),
    ("state", "state", ""),
    ("left", "left_usdc", "-"),
    ("of", "total_cap_usdc", "-"),
    ("per call", "per_call_cap_usdc", "-"),
    ("per day", "daily_cap_usdc", "-"),
    ("today", "spent_today_usdc", "-"),
    ("calls approved", "calls_left_by_approval", "-"),
    ("expires", "expires_at", "-"),
    ("calls", "execution_count", ""),
    ("spent", "total_spent_usdc", ""),
    ("last used", "last_used_at", "never"),
    ("session public key", "session_public_key", ""),
];

fn row(key: &Value) -> Vec<String> {
    let cells = COLUMNS.iter().map(|(_, field, none)| match *field {
        "last_four" => format!("{}…{}", cell(key, "prefix", ""), cell(key, field, none)),
        _ => cell(key, field, none),
    });
    cells.collect()
}

fn approval_line(approval: &Approval) -> String {
    let Approval { approved_usdc, needed_usdc, holding_usdc, short_usdc } = approval;
    let needed = needed_usdc.map_or_else(|| "it without a limit".to_owned(), |needed| format!("{needed} USDC"));
    let line = format!(
        "The wallet holds {holding_usdc} USDC and approves {approved_usdc} USDC for its keys, which may still spend {needed}."
    );
    match short_usdc.filter(|short| short.0 > 0) {
        Some(short) => format!("{line} The approval is {short} USDC short: run `crtx key topup`."),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use crtx_protocol::usdc::UsdcBase;

    use super::*;

    #[test]
    fn an_approval_that_is_short_names_the_command_that_mends_it() {
        let approval = |short| Approval {
            approved_usdc: UsdcBase(1_000_000),
            needed_usdc: Some(UsdcBase(3_000_000)),
            holding_usdc: UsdcBase(9_000_000),
            short_usdc: Some(UsdcBase(short)),
        };
        assert!(approval_line(&approval(2_000_000)).ends_with("2 USDC short: run `crtx key topup`."));
        assert!(!approval_line(&approval(0)).contains("short"));
    }

    #[test]
    fn a_wallet_with_a_key_that_has_no_limit_sees_its_keys() {
        let answer =
            serde_json::json!({"approved_usdc": 1.0, "needed_usdc": null, "holding_usdc": 2.0, "short_usdc": null});
        let approval = serde_json::from_value::<Approval>(answer).expect("an approval");
        assert!(approval_line(&approval).ends_with("may still spend it without a limit."));
    }
}
