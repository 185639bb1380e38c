//! `crtx execute`: one paid call, with an API key or by the wallet itself.

mod by_wallet;

use anyhow::Context;
use crtx_protocol::strict_json;
use reqwest::Method;
use serde_json::{Map, Value, json};
use solana_pubkey::Pubkey;
use uuid::Uuid;

use crate::{
    api::{ApiAnswer, ApiArgs},
    arguments::{SendArgs, read_text},
    asker::Asker,
    output::{self, note, say},
    settings::Settings,
    usage::UsageError,
    waiting,
};

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

pub struct CallArgs {
    pub agent: Pubkey,
    pub task: String,
    pub parameters: Map<String, Value>,
    pub is_async: bool,
    pub idempotency_key: String,
}

impl CallArgs {
    pub fn of(arguments: &ExecuteArgs) -> anyhow::Result<Self> {
        let idempotency_key = arguments.idempotency_key.clone().unwrap_or_else(|| {
            let key = Uuid::new_v4().to_string();
            note!("idempotency key: {key}");
            key
        });
        Ok(Self {
            agent: arguments.agent_id,
            task: read_text(&arguments.task, MAX_TASK_BYTES)?,
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

/// Prints the result, or with `--async` the execution's id.
pub async fn run(arguments: ExecuteArgs, settings: &Settings) -> anyhow::Result<()> {
    let call = CallArgs::of(&arguments)?;
    let (asker, answer) = if arguments.wallet {
        match by_wallet::run(&arguments, &call, settings).await? {
            Some(answered) => answered,
            None => return Ok(()),
        }
    } else {
        by_key(&arguments, &call, settings).await?
    };
    match waiting::still_open(&answer).filter(|_| arguments.wait) {
        Some(id) => show(&arguments, &waiting::until_ended(&asker, &id).await?),
        None => show(&arguments, &answer),
    }
}

/// A call that an API key pays.
async fn by_key(arguments: &ExecuteArgs, call: &CallArgs, settings: &Settings) -> anyhow::Result<(Asker, ApiAnswer)> {
    if arguments.send.keypair.keypair.is_some() && arguments.api.api_key.is_none() {
        // The key of the last `crtx up` would let another wallet pay.
        return Err(UsageError::new(
            "A key pair is given and no API key: pass --wallet to pay with this wallet, or make a key with `crtx key create` \
             and set CRTX_API_KEY.",
        )
        .into());
    }
    let payer = Asker::with_key(settings, &arguments.api)?;
    let (path, body) = (format!("/v1/agents/{}/execute", call.agent), call.body());
    let ask = || {
        let request = payer.api.request(Method::POST, &path).header("idempotency-key", &call.idempotency_key);
        payer.send(request.json(&body))
    };
    let answer = waiting::until_answered("waiting for the agent", ask).await?;
    Ok((payer, answer))
}

fn show(arguments: &ExecuteArgs, answer: &ApiAnswer) -> anyhow::Result<()> {
    let parsed: Value = serde_json::from_slice(&answer.body).with_context(|| answer.error_text())?;
    if arguments.send.output.json {
        output::json(&parsed)?;
    }
    answer.success()?;
    match (arguments.send.output.json, arguments.raw) {
        (true, _) => {}
        (false, true) => output::bytes(summary(&parsed).as_bytes())?,
        (false, false) => output::page(&output::quoted(summary(&parsed))),
    }
    let id = parsed.get("execution_id").and_then(Value::as_str).and_then(|id| Uuid::try_parse(id).ok());
    if let Some(id) = id {
        note!("execution {id}; check it with: crtx verify {id}");
    }
    let failed = parsed.get("status").and_then(Value::as_str) == Some("failed");
    if failed {
        let reason = parsed.pointer("/error/message").and_then(Value::as_str).unwrap_or("the amount was refunded");
        anyhow::bail!("the execution failed: {reason}");
    }
    Ok(())
}

fn show_opened(arguments: &ExecuteArgs, opened: &Value) -> anyhow::Result<()> {
    if arguments.send.output.json {
        return output::json(opened);
    }
    say!("{}", summary(opened));
    let record = opened.get("execution_record").and_then(Value::as_str).unwrap_or_default();
    note!("The execution is open until {}.", opened.get("deadline").and_then(Value::as_str).unwrap_or("its deadline"));
    note!("Hand the task over with the same command without --open-only. After the deadline: crtx refund {record}");
    Ok(())
}

/// The result where there is one, else the execution's id.
fn summary(answer: &Value) -> &str {
    ["result", "execution_id"].iter().find_map(|field| answer.get(field)?.as_str()).unwrap_or_default()
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

    #[test]
    fn an_asynchronous_answer_is_its_id() {
        assert_eq!(summary(&json!({"execution_id": "i", "status": "pending"})), "i");
        assert_eq!(summary(&json!({"execution_id": "i", "result": "r"})), "r");
    }
}
