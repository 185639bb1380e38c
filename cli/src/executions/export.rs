//! `crtx executions export`: every execution of the wallet that matches, page by page, as CSV or as lines of JSON.

use std::io::Write;

use chrono::Utc;
use reqwest::Method;
use serde_json::Value;

use super::filter::FilterArgs;
use crate::{
    api::ApiArgs,
    arguments::KeypairArgs,
    asker::Asker,
    output::{self, json_text, note, printable, text_of},
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
    let mut query = filter.query(PAGE, ("offset", "0"));
    if arguments.csv {
        writeln!(out, "{}", COLUMNS.join(","))?;
    }
    let mut written = 0_u64;
    loop {
        let path = format!("/v1/executions?{query}");
        let page: Value =
            until_answered("reading executions", || asker.send(asker.api.request(Method::GET, &path))).await?.json()?;
        for row in page.get("executions").and_then(Value::as_array).into_iter().flatten() {
            if arguments.csv {
                writeln!(out, "{}", line(row))?
            } else {
                writeln!(out, "{}", json_text(row)?)?
            }
            written = written.saturating_add(1);
        }
        // Pages do not move with the executions that others change meanwhile, and have no last offset.
        let Some(cursor) = page.get("next_cursor").and_then(Value::as_str) else { break };
        query = filter.query(PAGE, ("cursor", cursor));
    }
    out.flush()?;
    note!("{written} executions of {}", asker.described());
    Ok(())
}

fn line(row: &Value) -> String {
    let cells = COLUMNS.iter().map(|column| match row.get(column) {
        Some(number @ Value::Number(_)) => text_of(number),
        _ => quoted(&output::cell(row, column, "")),
    });
    cells.collect::<Vec<_>>().join(",")
}

/// A text on one line as RFC 4180 quotes it. A creator chooses the agent's name, and a spreadsheet would evaluate a
/// formula, also one of full-width characters, behind spaces, or behind another separator.
fn quoted(text: &str) -> String {
    let text = printable(text);
    let formula = text.trim_start().starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']);
    let text = if formula { format!("'{text}") } else { text };
    if text.contains([',', '"', ';', '|']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
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

    #[test]
    fn no_text_of_a_stranger_makes_a_formula_a_cell_or_a_line() {
        for (text, shown) in [
            ("=1+1", "'=1+1"),
            (" @SUM(A1)", "' @SUM(A1)"),
            ("＝1", "'＝1"),
            ("a;=1", "\"a;=1\""),
            ("a\r\n=1", "a\u{fffd}\u{fffd}=1"),
            ("\t=1", "\u{fffd}=1"),
            ("\u{1b}]0;x\u{7}\u{9b}\u{202e}", "\"\u{fffd}]0;x\u{fffd}\u{fffd}\u{fffd}\""),
            ("a\",\"b", "\"a\"\",\"\"b\""),
        ] {
            assert_eq!(line(&json!({"execution_id": text})).trim_end_matches(','), shown, "{text:?}");
        }
        let row = json!({"cost_usdc": 0.000_001, "agent_name": {"a": "=1,2"}});
        assert_eq!(line(&row), ",,\"{\"\"a\"\":\"\"=1,2\"\"}\",,0.000001,,,");
    }
}
