//! `crtx execute`: one paid call.

use std::{io::Read, process::ExitCode};

use anyhow::{Context, bail};
use serde_json::{Map, Value, json};
use solana_pubkey::Pubkey;

use crate::api::{Api, ApiArgs, error_text};

/// Arguments of `crtx execute`.
#[derive(Clone, Debug, clap::Args)]
pub struct ExecuteArgs {
    /// The agent to call: its address
    pub agent_id: Pubkey,
    /// The task; `-` reads it from standard input
    #[arg(long, allow_hyphen_values = true)]
    pub task: String,
    /// Parameters as a JSON object that matches the input_schema of the agent
    #[arg(long, value_name = "JSON", value_parser = parse_parameters)]
    pub parameters: Option<Parameters>,
    /// Do not wait for the result
    #[arg(long = "async")]
    pub is_async: bool,
    #[command(flatten)]
    pub api: ApiArgs,
    /// Print the whole answer as one JSON value
    #[arg(long)]
    pub json: bool,
}

/// A JSON object.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters(Map<String, Value>);

fn parse_parameters(text: &str) -> Result<Parameters, String> {
    serde_json::from_str(text).map(Parameters).map_err(|error| format!("not a JSON object: {error}"))
}

/// Prints the result, or with `--async` the execution's id.
pub async fn run(arguments: ExecuteArgs) -> anyhow::Result<ExitCode> {
    let mut body = json!({"task": task(&arguments.task)?});
    if let (Some(parameters), Value::Object(body)) = (arguments.parameters, &mut body) {
        body.insert("parameters".to_owned(), Value::Object(parameters.0));
    }
    if let (true, Value::Object(body)) = (arguments.is_async, &mut body) {
        body.insert("async".to_owned(), Value::Bool(true));
    }
    let (status, answer) = Api::new(&arguments.api)?.execute(&arguments.agent_id, &body).await?;
    let parsed: Value = serde_json::from_slice(&answer).with_context(|| error_text(status, &answer))?;
    if arguments.json {
        println!("{parsed}");
    }
    if !status.is_success() {
        bail!("{}", error_text(status, &answer));
    }
    if !arguments.json {
        println!("{}", summary(&parsed));
        if let Some(id) = parsed.get("execution_id").and_then(Value::as_str) {
            eprintln!("execution {id}; check it with: crtx verify {id}");
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn task(argument: &str) -> anyhow::Result<String> {
    if argument != "-" {
        return Ok(argument.to_owned());
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("standard input is not UTF-8 text")?;
    Ok(text)
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
    fn an_asynchronous_answer_is_its_id() {
        assert_eq!(summary(&json!({"execution_id": "i", "status": "pending"})), "i");
        assert_eq!(summary(&json!({"execution_id": "i", "result": "r"})), "r");
    }
}
