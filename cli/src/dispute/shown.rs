//! `crtx dispute list` and `show`, from the chain; the text of evidence comes from the service.

use crtx_protocol::{result_hash::ResultHash, usdc::UsdcBase};
use serde_json::{Value, json};
use solana_pubkey::Pubkey;
use solana_signer::Signer;

use crate::{
    api::Api,
    arguments::{ChainArgs, KeypairArgs, OutputArgs, ReadArgs},
    case::Case,
    content,
    execution_ref::ExecutionRef,
    market::Market,
    output::{self, note, pairs, printable, quoted, say, table, time},
    settings::Settings,
};

#[derive(Clone, Debug, clap::Args)]
pub struct ListArgs {
    #[command(flatten)]
    keypair: KeypairArgs,
    #[command(flatten)]
    chain: ChainArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Clone, Debug, clap::Args)]
pub struct ShowArgs {
    /// Execution id, or address of the record or of the dispute
    #[arg(value_name = "EXECUTION")]
    execution: ExecutionRef,
    #[command(flatten)]
    read: ReadArgs,
}

pub async fn list(arguments: &ListArgs, settings: &Settings) -> anyhow::Result<()> {
    let wallet = arguments.keypair.read(settings)?.pubkey();
    let market = Market::connect(settings, &arguments.chain).await?;
    let mut disputes = market.disputes_by(&wallet).await?;
    for (agent, _) in market.agents_of(&wallet).await? {
        disputes.extend(market.disputes_about(&agent).await?);
    }
    disputes.sort_by_key(|(_, dispute)| std::cmp::Reverse(dispute.raised_at_unix_s));
    let cases = Case::of_all(&market, disputes).await;
    if arguments.output.json {
        let disputes: Vec<Value> = cases.iter().map(Case::as_json).collect();
        return output::json(&json!({"wallet": wallet.to_string(), "disputes": disputes}));
    }
    if cases.is_empty() {
        note!("There is no dispute that {wallet} raised, and none about its agents.");
        return Ok(());
    }
    let rows = cases.iter().map(|case| {
        let side = if case.dispute.raised_by == wallet { "caller" } else { "creator" };
        vec![
            case.id().to_string(),
            side.to_owned(),
            case.outcome().to_owned(),
            UsdcBase(case.execution.amount).to_string(),
            time(case.dispute.raised_at_unix_s),
            if case.dispute.answered_at_unix_s == 0 { "no" } else { "yes" }.to_owned(),
        ]
    });
    output::page(&table(&["execution", "you are", "status", "amount", "raised", "answered"], rows.collect()));
    Ok(())
}

pub async fn show(arguments: &ShowArgs, settings: &Settings) -> anyhow::Result<()> {
    let market = Market::connect(settings, &arguments.read.chain).await?;
    // Only to find an execution of one's own by its id.
    let wallet = arguments.read.keypair.read(settings).map_or(Pubkey::default(), |key| key.pubkey());
    let case = Case::find(&market, arguments.execution, &wallet).await?;
    if arguments.read.output.json {
        return output::json(&case.as_json());
    }
    output::page(&pairs(&case.rows(market.now().await?)));
    let dispute = &case.dispute;
    print_document("evidence", dispute.evidence_uri(), dispute.evidence_hash, arguments, settings).await;
    if dispute.answered_at_unix_s != 0 {
        print_document("answer", dispute.answer_uri(), dispute.answer_hash, arguments, settings).await;
    }
    Ok(())
}

/// The text of a document whose bytes have the hash on chain; else why it cannot be shown.
async fn print_document(
    what: &str,
    uri: Option<&str>,
    hash: [u8; 32],
    arguments: &ShowArgs,
    settings: &Settings,
) -> () {
    let read = async {
        let api = Api::of(settings, &arguments.read.service)?;
        content::read_uri(&api, uri.unwrap_or_default(), &ResultHash(hash)).await
    };
    match read.await {
        Ok(bytes) => {
            say!("");
            say!("{what}:");
            output::page(&text_of(&bytes));
        }
        Err(error) => note!("crtx: the {what} cannot be shown: {error:#}"),
    }
}

/// The text of a document and the names of its files; its bytes as text where it has another form.
fn text_of(bytes: &[u8]) -> String {
    let document: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let Some(text) = document.get("text").and_then(Value::as_str) else {
        return quoted(&String::from_utf8_lossy(bytes));
    };
    let files = document.get("files").and_then(Value::as_array).into_iter().flatten();
    let names = files
        .filter_map(|file| file.get("name").and_then(Value::as_str))
        .map(|name| format!("\nfile: {}", printable(name)));
    format!("{}{}", quoted(text), names.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_strangers_is_shown_without_control_characters() {
        let document = br#"{"text": "one\ntwo\u001b[2J", "files": [{"name": "a.png"}]}"#;
        assert_eq!(text_of(document), "  | one\n  | two\u{fffd}[2J\nfile: a.png");
        assert_eq!(text_of(b"plain"), "plain");
    }
}
