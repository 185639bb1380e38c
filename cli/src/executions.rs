//! `crtx executions`: the executions of a wallet, from the service.

use std::io::Write;

use chrono::{DateTime, Utc};
use reqwest::Method;
use serde_json::Value;
use uuid::Uuid;

use crate::{
    api::ApiArgs,
    arguments::{KeypairArgs, OutputArgs},
    asker::Asker,
    output::{self, cell, json_text, note, pairs, printable, say, table, text_of},
    settings::Settings,
    waiting::until_answered,
};

#[derive(Clone, Debug, clap::Subcommand)]
pub enum ExecutionsCommand {
    /// Show the newest executions of your wallet
    #[command(after_help = "Example:\n  crtx executions list --status completed --limit 10")]
    List(ListArgs),
    /// Show one execution with everything that is known of it
    #[command(after_help = "Example:\n  crtx executions show 165cf497-1db5-4f5e-940b-57c2e3534dea")]
    Show {
        /// The execution
        execution_id: Uuid,
        #[command(flatten)]
        keypair: KeypairArgs,
        #[command(flatten)]
        api: ApiArgs,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Write all executions as CSV or as lines of JSON
    #[command(after_help = "Example:\n  crtx executions export --csv --from 2026-01-01 > executions.csv")]
    Export(ExportArgs),
}

pub async fn run(command: ExecutionsCommand, settings: &Settings) -> anyhow::Result<()> {
    match command {
        ExecutionsCommand::List(arguments) => list(&arguments, settings).await,
        ExecutionsCommand::Show { execution_id, keypair, api, output } => {
            show(&execution_id, &Asker::of(settings, &api, &keypair)?, output).await
        }
        ExecutionsCommand::Export(arguments) => export(&arguments, settings).await,
    }
}

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
const SHOWN_COLUMNS: [&str; 5] = ["initiated_at", "status", "cost_usdc", "agent_name", "execution_id"];

pub async fn list(arguments: &ListArgs, settings: &Settings) -> anyhow::Result<()> {
    let asker = Asker::of(settings, &arguments.api, &arguments.keypair)?;
    let query = arguments.filter.query(arguments.limit, ("offset", &arguments.offset.to_string()));
    let page: Value = asker.get(&format!("/v1/executions?{query}")).await?;
    if arguments.output.json {
        return output::json(&page);
    }
    let executions = page.get("executions").and_then(Value::as_array).into_iter().flatten();
    let rows: Vec<Vec<String>> =
        executions.map(|row| SHOWN_COLUMNS.iter().map(|column| cell(row, column, "")).collect()).collect();
    let shown = rows.len();
    output::page(&table(&["initiated at", "status", "usdc", "agent", "execution"], rows));
    let total = page.get("total").and_then(Value::as_u64).unwrap_or_default();
    note!("{shown} of {total} executions of {}", asker.described());
    Ok(())
}

async fn show(id: &Uuid, asker: &Asker, output: OutputArgs) -> anyhow::Result<()> {
    let record: Value = asker.execution(id).await?.json()?;
    if output.json {
        return output::json(&record);
    }
    let Value::Object(members) = &record else { return output::json(&record) };
    let rows: Vec<(&str, String)> = members
        .iter()
        .filter(|(name, value)| !value.is_null() && name.as_str() != "result")
        .map(|(name, value)| (name.as_str(), text_of(value)))
        .collect();
    output::page(&pairs(&rows));
    if let Some(result) = members.get("result").and_then(Value::as_str) {
        say!("");
        output::page(&output::quoted(result));
    }
    Ok(())
}

const PAGE: u64 = 100;
const CSV_COLUMNS: [&str; 8] = [
    "execution_id",
    "agent_id",
    "agent_name",
    "status",
    "cost_usdc",
    "initiated_at",
    "completed_at",
    "on_chain_record",
];

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

pub async fn export(arguments: &ExportArgs, settings: &Settings) -> anyhow::Result<()> {
    let asker = Asker::of(settings, &arguments.api, &arguments.keypair)?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    // What is called from now on is not part of the export.
    let mut filter = arguments.filter.clone();
    filter.to = Some(filter.to.unwrap_or_else(Utc::now));
    let mut query = filter.query(PAGE, ("offset", "0"));
    if arguments.csv {
        writeln!(out, "{}", CSV_COLUMNS.join(","))?;
    }
    let mut written = 0_u64;
    loop {
        let path = format!("/v1/executions?{query}");
        let page: Value =
            until_answered("reading executions", || asker.send(asker.api.request(Method::GET, &path))).await?.json()?;
        for row in page.get("executions").and_then(Value::as_array).into_iter().flatten() {
            if arguments.csv {
                writeln!(out, "{}", csv_line(row))?
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

fn csv_line(row: &Value) -> String {
    let cells = CSV_COLUMNS.iter().map(|column| match row.get(column) {
        Some(number @ Value::Number(_)) => text_of(number),
        _ => csv_text(&output::cell(row, column, "")),
    });
    cells.collect::<Vec<_>>().join(",")
}

/// A text on one line as RFC 4180 quotes it. A creator chooses the agent's name, and a spreadsheet would evaluate a
/// formula, also one of full-width characters, behind spaces, or behind another separator.
fn csv_text(text: &str) -> String {
    let text = printable(text);
    let formula = text.trim_start().starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']);
    let text = if formula { format!("'{text}") } else { text };
    if text.contains([',', '"', ';', '|']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[derive(Clone, Debug, Default, clap::Args)]
pub struct FilterArgs {
    /// Only this status: completed, failed, disputed, running or pending
    #[arg(long, value_name = "STATUS", value_parser = ["completed", "failed", "disputed", "running", "pending"])]
    pub status: Option<String>,
    /// Only executions of this agent
    #[arg(long, value_name = "AGENT_ID")]
    pub agent: Option<solana_pubkey::Pubkey>,
    /// Only executions after this time, ISO 8601
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub from: Option<DateTime<Utc>>,
    /// Only executions before this time, ISO 8601
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub to: Option<DateTime<Utc>>,
}

impl FilterArgs {
    /// The query string of a page. `place`: the offset of the page, or the cursor that the page before it names.
    pub fn query(&self, limit: u64, place: (&str, &str)) -> String {
        let text = |time: &DateTime<Utc>| time.format("%Y-%m-%dT%H:%M:%S%.6fZ").to_string();
        let filters = [
            ("status", self.status.clone()),
            ("agent_id", self.agent.map(|agent| agent.to_string())),
            ("from", self.from.as_ref().map(text)),
            ("to", self.to.as_ref().map(text)),
        ];
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.append_pair("limit", &limit.to_string()).append_pair(place.0, place.1);
        query.extend_pairs(filters.into_iter().filter_map(|(name, value)| Some((name, value?))));
        query.finish()
    }
}

/// A time with an offset, a time in UTC, or a date, which stands for its midnight in UTC.
fn parse_time(text: &str) -> Result<DateTime<Utc>, String> {
    let parsed = ["", "Z", "T00:00:00Z"].iter().find_map(|end| format!("{text}{end}").parse().ok());
    parsed.ok_or_else(|| "write it as 2026-11-22 or 2026-11-22T16:00:00Z".to_owned())
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
        assert_eq!(csv_line(&row), "i,a,\"'=HYPERLINK(\"\"x\"\", 1)\",failed,0.05,t,,u");
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
            assert_eq!(csv_line(&json!({"execution_id": text})).trim_end_matches(','), shown, "{text:?}");
        }
        let row = json!({"cost_usdc": 0.000_001, "agent_name": {"a": "=1,2"}});
        assert_eq!(csv_line(&row), ",,\"{\"\"a\"\":\"\"=1,2\"\"}\",,0.000001,,,");
    }

    #[test]
    fn a_time_is_read_as_the_api_reads_it() {
        let noon = parse_time("2026-11-22T12:00:00Z");
        assert_eq!(parse_time("2026-11-22T13:00:00+01:00"), noon);
        assert_eq!(parse_time("2026-11-22T12:00:00"), noon);
        assert_eq!(parse_time("2026-11-22").map(|time| time.to_rfc3339()), Ok("2026-11-22T00:00:00+00:00".to_owned()));
        for bad in ["", "yesterday", "2026-13-01", "12:00"] {
            assert!(parse_time(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_query_names_only_what_is_asked_for() {
        assert_eq!(FilterArgs::default().query(20, ("offset", "0")), "limit=20&offset=0");
        let filter = FilterArgs {
            status: Some("failed".to_owned()),
            to: parse_time("2026-11-22").ok(),
            ..FilterArgs::default()
        };
        assert_eq!(
            filter.query(5, ("cursor", "a b&c")),
            "limit=5&cursor=a+b%26c&status=failed&to=2026-11-22T00%3A00%3A00.000000Z"
        );
        assert_eq!(
            filter.query(5, ("offset", "10")),
            "limit=5&offset=10&status=failed&to=2026-11-22T00%3A00%3A00.000000Z"
        );
    }
}
