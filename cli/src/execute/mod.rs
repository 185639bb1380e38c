//! `crtx execute`: one paid call, with an API key or by the wallet itself.

mod by_wallet;
mod call;

use anyhow::Context;
use reqwest::Method;
use serde_json::Value;
use uuid::Uuid;

use self::call::Call;
pub use self::call::ExecuteArgs;
use crate::{
    api::Answer,
    asker::Asker,
    output::{self, note, say},
    settings::Settings,
    usage::UsageError,
    waiting,
};

/// Prints the result, or with `--async` the execution's id.
pub async fn run(arguments: ExecuteArgs, settings: &Settings) -> anyhow::Result<()> {
    let call = Call::of(&arguments)?;
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
async fn by_key(arguments: &ExecuteArgs, call: &Call, settings: &Settings) -> anyhow::Result<(Asker, Answer)> {
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
    use serde_json::json;

    use super::*;

    #[test]
    fn an_asynchronous_answer_is_its_id() {
        assert_eq!(summary(&json!({"execution_id": "i", "status": "pending"})), "i");
        assert_eq!(summary(&json!({"execution_id": "i", "result": "r"})), "r");
    }
}
