//! `crtx executions export`: every execution of the wallet that matches, page by page, as CSV or as lines of JSON.

use std::io::Write;

use chrono::Utc;
use reqwest::Method;
use serde_json::Value;

use super::filter::FilterArgs;
use crate::{
    api::{ApiArgs, Body},
    arguments::KeypairArgs,
    asker::Asker,
    settings::Settings,
    waiting::until_answered,
};

const PAGE: u64 = 100;
const COLUMNS: [&str; 8] = [
    "execution_id",
    "agent_id",
    "agent_name",
    "status",
    "cost_usdc",
    "initiated_at",
    "completed_at",
    "on_chain_record",
];

/// Arguments of `crtx executions export`.
#[derive(Clone, Debug, clap::Args)]
pub struct ExportArgs {
    #[command(flatten)]
    filter: FilterArgs,
    /// Write CSV
    #[arg(long, required_unless_present = "json", conflicts_with = "json")]
    csv: bool,
    /// Write one JSON value for each execution and line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    keypair: KeypairArgs,
    #[command(flatten)]
    api: ApiArgs,
}

pub async fn run(arguments: &ExportArgs, settings: &Settings) -> anyhow::Result<()> {
    let asker = Asker::of(settings, &arguments.api, &arguments.keypair)?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    // What is called from now on is not part of the export.
    let mut filter = arguments.filter.clone();
    filter.to = Some(filter.to.unwrap_or_else(Utc::now));
    let mut query = filter.query(PAGE, 0);
    if arguments.csv {
        writeln!(out, "{}", COLUMNS.join(","))?;
    }
    let mut written = 0_u64;
    loop {
        let path = format!("/v1/executions?{query}");
        let page: Value =
            until_answered("reading executions", || asker.send(Method::GET, &path, Body::Nothing)).await?.json()?;
        for row in page.get("executions").and_then(Value::as_array).into_iter().flatten() {
            if arguments.csv {
                writeln!(out, "{}", line(row))?
            } else {
                writeln!(out, "{row}")?
            }
            written = written.saturating_add(1);
        }
        // Pages do not move with the executions that others change meanwhile, and have no last offset.
        let Some(cursor) = page.get("next_cursor").and_then(Value::as_str) else { break };
        query = filter.query_after(PAGE, cursor);
    }
    out.flush()?;
    eprintln!("{written} executions of {}", asker.described());
    Ok(())
}

fn line(row: &Value) -> String {
    let cells = COLUMNS.iter().map(|column| match row.get(column) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => cell(text),
        Some(other) => other.to_string(),
    });
    cells.collect::<Vec<_>>().join(",")
}

/// A text as RFC 4180 quotes it. A creator chooses the agent's name, and a spreadsheet would evaluate a formula.
fn cell(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if formula { format!("'{text}") } else { text.to_owned() };
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_has_the_columns_of_the_head_and_no_formulas() {
        let row = json!({
            "execution_id": "i", "agent_id": "a", "agent_name": "=HYPERLINK(\"x\", 1)", "status": "failed",
            "cost_usdc": 0.05, "initiated_at": "t", "completed_at": null, "on_chain_record": "u"
        });
        assert_eq!(line(&row), "i,a,\"'=HYPERLINK(\"\"x\"\", 1)\",failed,0.05,t,,u");
    }
}
