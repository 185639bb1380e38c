//! What a command says when its transaction is confirmed.

use serde_json::{Value, json};

use crate::{
    arguments::OutputArgs,
    output::{self, say},
    transaction::Sent,
};

/// Prints `text`, or with `--json` the transaction and `more`.
pub fn say(output: OutputArgs, sent: &Sent, text: &str, more: Value) -> anyhow::Result<()> {
    if !output.json {
        say!("{text} (transaction {})", sent.signature);
        return Ok(());
    }
    let mut all = json!({"transaction": sent.signature.to_string(), "slot": sent.slot});
    if let (Value::Object(all), Value::Object(more)) = (&mut all, more) {
        all.extend(more);
    }
    output::json(&all)
}

/// There was nothing to do, because it was done before.
pub fn say_nothing_to_do(output: OutputArgs, text: &str, more: Value) -> anyhow::Result<()> {
    if !output.json {
        say!("{text}");
        return Ok(());
    }
    let mut all = json!({"transaction": null});
    if let (Value::Object(all), Value::Object(more)) = (&mut all, more) {
        all.extend(more);
    }
    output::json(&all)
}
