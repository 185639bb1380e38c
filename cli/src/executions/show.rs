//! `crtx executions show`.

use serde_json::Value;
use uuid::Uuid;

use crate::{
    api::ApiArgs,
    arguments::{KeypairArgs, OutputArgs},
    asker::Asker,
    output::{self, pairs, say, text_of},
    settings::Settings,
};

/// Arguments of `crtx executions show`.
#[derive(Clone, Debug, clap::Args)]
pub struct ShowArgs {
    /// The execution
    execution_id: Uuid,
    #[command(flatten)]
    keypair: KeypairArgs,
    #[command(flatten)]
    api: ApiArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub async fn run(arguments: &ShowArgs, settings: &Settings) -> anyhow::Result<()> {
    let asker = Asker::of(settings, &arguments.api, &arguments.keypair)?;
    let record: Value = asker.execution(&arguments.execution_id).await?.json()?;
    if arguments.output.json {
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
