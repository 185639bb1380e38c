//! `crtx executions list`.

use serde_json::Value;

use super::filter::FilterArgs;
use crate::{
    api::ApiArgs,
    arguments::{KeypairArgs, OutputArgs},
    asker::Asker,
    output::{self, cell, note, table},
    settings::Settings,
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

/// Members of an execution that a row shows.
const COLUMNS: [&str; 5] = ["initiated_at", "status", "cost_usdc", "agent_name", "execution_id"];

pub async fn run(arguments: &ListArgs, settings: &Settings) -> anyhow::Result<()> {
    let asker = Asker::of(settings, &arguments.api, &arguments.keypair)?;
    let query = arguments.filter.query(arguments.limit, ("offset", &arguments.offset.to_string()));
    let page: Value = asker.get(&format!("/v1/executions?{query}")).await?;
    if arguments.output.json {
        return output::json(&page);
    }
    let executions = page.get("executions").and_then(Value::as_array).into_iter().flatten();
    let rows: Vec<Vec<String>> =
        executions.map(|row| COLUMNS.iter().map(|column| cell(row, column, "")).collect()).collect();
    let shown = rows.len();
    output::page(&table(&["initiated at", "status", "usdc", "agent", "execution"], rows));
    let total = page.get("total").and_then(Value::as_u64).unwrap_or_default();
    note!("{shown} of {total} executions of {}", asker.described());
    Ok(())
}
