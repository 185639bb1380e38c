//! `crtx resolver queue`.

use crtx_protocol::usdc::UsdcBase;
use serde_json::{Value, json};

use crate::{
    arguments::{ChainArgs, OutputArgs},
    case::Case,
    market::Market,
    output::{self, duration, note, table},
    settings::Settings,
};

#[derive(Clone, Debug, clap::Args)]
pub struct QueueArgs {
    #[command(flatten)]
    chain: ChainArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub async fn queue(arguments: &QueueArgs, settings: &Settings) -> anyhow::Result<()> {
    let market = Market::connect(settings, &arguments.chain).await?;
    let now = market.now().await?;
    let mut cases = Case::of_all(&market, market.disputes().await?).await;
    cases.retain(Case::is_open);
    cases.sort_by_key(Case::respond_by);
    if arguments.output.json {
        let disputes: Vec<Value> = cases.iter().map(Case::as_json).collect();
        return output::json(&json!({"disputes": disputes}));
    }
    if cases.is_empty() {
        note!("No dispute is open.");
        return Ok(());
    }
    let rows = cases.iter().map(|case| {
        let wait = case.upholdable_from().saturating_sub(now);
        vec![
            case.id().to_string(),
            case.due(now),
            if case.dispute.answered_at_unix_s == 0 { "no" } else { "yes" }.to_owned(),
            if wait > 0 { format!("in {}", duration(wait)) } else { "now".to_owned() },
            UsdcBase(case.execution.amount).to_string(),
            UsdcBase(case.highest_slash()).to_string(),
            case.dispute.agent.to_string(),
        ]
    });
    let headings = ["execution", "respond by", "answered", "can be upheld", "paid", "highest slash", "agent"];
    output::page(&table(&headings, rows.collect()));
    Ok(())
}
