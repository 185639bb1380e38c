//! `crtx execute`: one paid call, with an API key or by the wallet itself.

mod by_key;
mod by_wallet;
mod call;

use anyhow::Context;
use serde_json::Value;
use uuid::Uuid;

use self::call::Call;
pub use self::call::ExecuteArgs;
use crate::{
    api::Answer,
    output::{self, note, say},
    settings::Settings,
};

/// Prints the result, or with `--async` the execution's id.
pub async fn run(arguments: ExecuteArgs, settings: &Settings) -> anyhow::Result<()> {
    let call = Call::of(&arguments)?;
    let answer = if arguments.wallet {
        match by_wallet::run(&arguments, &call, settings).await? {
            by_wallet::Opened::Only(opened) => return show_opened(&arguments, &opened),
            by_wallet::Opened::Answered(answer) => answer,
        }
    } else {
        by_key::run(&arguments, &call, settings).await?
    };
    show(&arguments, &answer)
}

fn show(arguments: &ExecuteArgs, answer: &Answer) -> anyhow::Result<()> {
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
        output::json(opened)?;
        return Ok(());
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
    use serde_json::json;

    use super::*;

    #[test]
    fn an_asynchronous_answer_is_its_id() {
        assert_eq!(summary(&json!({"execution_id": "i", "status": "pending"})), "i");
        assert_eq!(summary(&json!({"execution_id": "i", "result": "r"})), "r");
    }
}
