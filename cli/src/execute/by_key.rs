//! A call that an API key pays.

use reqwest::Method;

use super::call::{Call, ExecuteArgs};
use crate::{api::Answer, arguments::KeypairArgs, asker::Asker, settings::Settings, usage::UsageError, waiting};

pub async fn run(arguments: &ExecuteArgs, call: &Call, settings: &Settings) -> anyhow::Result<Answer> {
    let own_wallet = arguments.send.keypair.keypair.is_some();
    if own_wallet && arguments.api.api_key.is_none() {
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
    match waiting::still_open(&answer).filter(|_| arguments.wait) {
        Some(id) => {
            let asker = Asker::of(settings, &arguments.api, &KeypairArgs::default())?;
            waiting::until_ended(&asker, &id).await
        }
        None => Ok(answer),
    }
}
