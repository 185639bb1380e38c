//! `crtx key list`.

use anyhow::Context;
use serde::Deserialize;
use serde_json::Value;

use super::registry::{self, Approval};
use crate::{
    arguments::{KeypairArgs, OutputArgs, ServiceArgs},
    asker::Asker,
    output::{self, cell, note, table},
    settings::Settings,
};

/// Arguments of `crtx key list`.
#[derive(Clone, Debug, clap::Args)]
pub struct ListArgs {
    #[command(flatten)]
    keypair: KeypairArgs,
    #[command(flatten)]
    service: ServiceArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub async fn run(arguments: &ListArgs, settings: &Settings) -> anyhow::Result<()> {
    let keypair = arguments.keypair.read(settings)?;
    let service = Asker::wallet(settings, &arguments.service, &keypair)?;
    let whole = registry::keys(&service).await?;
    if arguments.output.json {
        return output::json(&whole);
    }
    let headings = [
        "name",
        "key",
        "state",
        "left",
        "of",
        "per call",
        "expires",
        "calls",
        "spent",
        "last used",
        "session public key",
    ];
    output::page(&table(&headings, registry::of_page(&whole).map(row).collect()));
    let approval = whole.get("approval").context("the API answered in another form than expected")?;
    note!("{}", approval_line(&Approval::deserialize(approval)?));
    Ok(())
}

fn row(key: &Value) -> Vec<String> {
    vec![
        cell(key, "name", "(not registered)"),
        format!("{}…{}", cell(key, "prefix", ""), cell(key, "last_four", "????")),
        cell(key, "state", ""),
        cell(key, "left_usdc", "-"),
        cell(key, "total_cap_usdc", "-"),
        cell(key, "per_call_cap_usdc", "-"),
        cell(key, "expires_at", "-"),
        cell(key, "execution_count", ""),
        cell(key, "total_spent_usdc", ""),
        cell(key, "last_used_at", "never"),
        cell(key, "session_public_key", ""),
    ]
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
