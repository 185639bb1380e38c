//! What `crtx execute` is asked for.

use std::io::Read;

use anyhow::Context;
use crtx_protocol::strict_json;
use serde_json::{Map, Value, json};
use solana_pubkey::Pubkey;
use uuid::Uuid;

use crate::{api::ApiArgs, arguments::SendArgs, output::note};

/// Longest task that is read from standard input: more than a request may have.
const MAX_TASK_BYTES: u64 = 2 * 1024 * 1024;
/// Longest idempotency key that the API takes.
const MAX_KEY_CHARS: usize = 255;

#[derive(Clone, Debug, clap::Args)]
#[command(mut_arg("json", |json| json.help("Print the whole answer as one JSON value")))]
pub struct ExecuteArgs {
    /// The agent to call: its address
    pub agent_id: Pubkey,
    /// The task; `-` reads it from standard input
    #[arg(long, allow_hyphen_values = true)]
    pub task: String,
    /// Parameters as a JSON object that matches the input_schema of the agent
    #[arg(long, value_name = "JSON", value_parser = parse_parameters)]
    pub parameters: Option<Map<String, Value>>,
    /// Do not wait for the result
    #[arg(long = "async")]
    pub is_async: bool,
    /// Wait until the execution has ended, also after --async or if the settlement takes long
    #[arg(long)]
    pub wait: bool,
    /// Makes a retry safe: the same key and call never pay twice. Made and printed if it is not given
    #[arg(long, value_name = "TEXT", value_parser = parse_idempotency_key)]
    pub idempotency_key: Option<String>,
    /// Pay with your wallet instead of an API key: the wallet signs the opening itself
    #[arg(long, conflicts_with = "api_key")]
    pub wallet: bool,
    /// With --wallet: only open the execution on chain, and do not hand the task to the service
    #[arg(long, requires = "wallet", conflicts_with_all = ["is_async", "wait"])]
    pub open_only: bool,
    #[command(flatten)]
    pub send: SendArgs,
    #[command(flatten)]
    pub api: ApiArgs,
    /// Write the result byte for byte, also what controls a terminal, and no line break behind it
    #[arg(long, conflicts_with_all = ["json", "is_async", "open_only"])]
    pub raw: bool,
}

/// Reads a JSON object.
fn parse_parameters(text: &str) -> Result<Map<String, Value>, String> {
    strict_json::check_numbers(text.as_bytes()).map_err(|error| error.to_string())?;
    serde_json::from_str(text).map_err(|error| format!("not a JSON object: {error}"))
}

/// Reads an idempotency key that somebody chose.
fn parse_idempotency_key(text: &str) -> Result<String, String> {
    let good = (1..=MAX_KEY_CHARS).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
    if good { Ok(text.to_owned()) } else { Err(format!("1 to {MAX_KEY_CHARS} visible ASCII characters are accepted")) }
}

/// One call, as it is asked for.
pub struct Call {
    pub agent: Pubkey,
    pub task: String,
    pub parameters: Map<String, Value>,
    pub is_async: bool,
    pub idempotency_key: String,
}

impl Call {
    pub fn of(arguments: &ExecuteArgs) -> anyhow::Result<Self> {
        let idempotency_key = arguments.idempotency_key.clone().unwrap_or_else(|| {
            let key = Uuid::new_v4().to_string();
            note!("idempotency key: {key}");
            key
        });
        Ok(Self {
            agent: arguments.agent_id,
            task: task(&arguments.task)?,
            parameters: arguments.parameters.clone().unwrap_or_default(),
            is_async: arguments.is_async,
            idempotency_key,
        })
    }

    /// The members that both ways of paying send.
    pub fn body(&self) -> Value {
        json!({"task": self.task, "parameters": self.parameters, "async": self.is_async})
    }
}

fn task(argument: &str) -> anyhow::Result<String> {
    if argument != "-" {
        return Ok(argument.to_owned());
    }
    let mut text = String::new();
    let mut input = std::io::stdin().take(MAX_TASK_BYTES.saturating_add(1));
    input.read_to_string(&mut text).context("standard input is not UTF-8 text")?;
    anyhow::ensure!(
        u64::try_from(text.len()).is_ok_and(|length| length <= MAX_TASK_BYTES),
        "standard input is longer than {MAX_TASK_BYTES} bytes, and a request may have 1 MiB"
    );
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_an_object_and_nothing_else() {
        assert!(parse_parameters(r#"{"a": 1}"#).is_ok());
        for bad in ["[]", "1", "x", ""] {
            assert!(parse_parameters(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_number_that_would_be_changed_is_refused_by_name() {
        for number in ["9007199254740993", "1e400"] {
            let error = parse_parameters(&format!(r#"{{"a": [0.1, {number}]}}"#)).expect_err(number);
            assert!(error.contains("`a/1`") && error.contains("send it as text"), "{error}");
        }
    }

    #[test]
    fn an_idempotency_key_is_short_visible_ascii() {
        assert_eq!(parse_idempotency_key("order-7"), Ok("order-7".to_owned()));
        assert!(parse_idempotency_key(&"x".repeat(255)).is_ok());
        for bad in ["", "a b", "é", &"x".repeat(256)] {
            assert!(parse_idempotency_key(bad).is_err(), "{bad}");
        }
    }
}
