//! `crtx executions list`.

use crtx_protocol::usdc::UsdcBase;
use reqwest::Method;
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use super::filter::FilterArgs;
use crate::{
    api::{ApiArgs, Body},
    arguments::{KeypairArgs, OutputArgs},
    asker::Asker,
    output::{self, note, table},
    settings::Settings,
    verify::Status,
};

/// Arguments of `crtx executions list`.
#[derive(Clone, Debug, clap::Args)]
pub struct ListArgs {
    #[command(flatten)]
    filter: FilterArgs,
    /// How many, 1 to 100
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=100))]
    limit: u64,
    /// How many newer ones to skip
    #[arg(long, default_value_t = 0)]
    offset: u64,
    #[command(flatten)]
    keypair: KeypairArgs,
    #[command(flatten)]
    api: ApiArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// One row of a list.
#[derive(Debug, Deserialize)]
struct Row {
    execution_id: Uuid,
    agent_name: String,
    status: Status,
    cost_usdc: UsdcBase,
    initiated_at: String,
}

pub async fn run(arguments: &ListArgs, settings: &Settings) -> anyhow::Result<()> {
    let asker = Asker::of(settings, &arguments.api, &arguments.keypair)?;
    let query = arguments.filter.query(arguments.limit, arguments.offset);
    let page: Value = asker.send(Method::GET, &format!("/v1/executions?{query}"), Body::Nothing).await?.json()?;
    if arguments.output.json {
        return output::json(&page);
    }
    let rows: Vec<Row> = Deserialize::deserialize(page.get("executions").cloned().unwrap_or_default())?;
    let shown = rows.len();
    let rows = rows.into_iter().map(|row| {
        vec![
            row.initiated_at,
            row.status.to_string(),
            row.cost_usdc.to_string(),
            row.agent_name,
            row.execution_id.to_string(),
        ]
    });
    output::page(&table(&["initiated at", "status", "usdc", "agent", "execution"], rows.collect()));
    let total = page.get("total").and_then(Value::as_u64).unwrap_or_default();
    note!("{shown} of {total} executions of {}", asker.described());
    Ok(())
}
