//! `crtx key list`.

use solana_keypair::Keypair;

use super::registry::{self, Approval, KnownKey};
use crate::{
    api::Api,
    arguments::{KeypairArgs, OutputArgs, ServiceArgs},
    keypair_file,
    output::{self, note, table},
    session::SignedIn,
    settings::{Role, Settings},
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
    let keypair = wallet_of(&arguments.keypair, settings)?;
    let api = Api::of(settings, &arguments.service)?;
    let (keys, whole) = registry::keys(&SignedIn::new(settings, &api, &keypair)).await?;
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
    output::page(&table(&headings, keys.keys.iter().map(row).collect()));
    note!("{}", approval_line(&keys.approval));
    Ok(())
}

fn wallet_of(arguments: &KeypairArgs, settings: &Settings) -> anyhow::Result<Keypair> {
    keypair_file::read(&settings.keypair(arguments.keypair.as_deref(), Role::Wallet)?.value)
}

fn row(key: &KnownKey) -> Vec<String> {
    let amount =
        |amount: Option<crtx_protocol::usdc::UsdcBase>| amount.map_or_else(|| "-".to_owned(), |usdc| usdc.to_string());
    vec![
        key.name.clone().unwrap_or_else(|| "(not registered)".to_owned()),
        format!("{}…{}", key.prefix, key.last_four.as_deref().unwrap_or("????")),
        key.state.clone(),
        amount(key.left_usdc),
        amount(key.total_cap_usdc),
        amount(key.per_call_cap_usdc),
        key.expires_at.clone().unwrap_or_else(|| "-".to_owned()),
        key.execution_count.to_string(),
        key.total_spent_usdc.to_string(),
        key.last_used_at.clone().unwrap_or_else(|| "never".to_owned()),
        key.session_public_key.clone(),
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
