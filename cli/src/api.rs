//! The marketplace's HTTP API, as a caller of it.

use std::time::Duration;

use anyhow::{Context, bail};
use reqwest::{Method, StatusCode};
use serde_json::Value;
use solana_pubkey::Pubkey;
use url::Url;
use uuid::Uuid;

use crate::usage::{UsageError, http_url};

/// Longer than the longest call that a listing may ask for.
const TIMEOUT: Duration = Duration::from_secs(960);

/// Where the API is and who asks.
#[derive(Clone, Debug, clap::Args)]
pub struct ApiArgs {
    /// Base URL of the marketplace's API
    #[arg(long, env = "CRTX_URL", value_name = "BASE_URL", default_value = "http://127.0.0.1:8080",
        value_parser = http_url)]
    pub url: Url,
    /// API key. Prefer CRTX_API_KEY: other users of the machine can read command lines
    #[arg(long, env = "CRTX_API_KEY", value_name = "KEY", hide_env_values = true)]
    pub api_key: Option<String>,
}

pub struct Api {
    client: reqwest::Client,
    base_url: String,
    api_key: String,
}

impl Api {
    pub fn new(arguments: &ApiArgs) -> anyhow::Result<Self> {
        let api_key = arguments.api_key.clone().filter(|key| !key.is_empty());
        let api_key = api_key.ok_or_else(|| UsageError::new("No API key. Set CRTX_API_KEY or pass --api-key."))?;
        let client = reqwest::Client::builder().timeout(TIMEOUT).build()?;
        Ok(Self { client, base_url: arguments.url.as_str().trim_end_matches('/').to_owned(), api_key })
    }

    /// The bytes of `GET /v1/executions/{id}`.
    pub async fn execution(&self, id: &Uuid) -> anyhow::Result<Vec<u8>> {
        let (status, body) = self.send(Method::GET, &format!("/v1/executions/{id}"), None).await?;
        if !status.is_success() {
            bail!("{}", error_text(status, &body));
        }
        Ok(body)
    }

    /// Status and body of `POST /v1/agents/{agent}/execute`.
    pub async fn execute(&self, agent: &Pubkey, body: &Value) -> anyhow::Result<(StatusCode, Vec<u8>)> {
        self.send(Method::POST, &format!("/v1/agents/{agent}/execute"), Some(body)).await
    }

    async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> anyhow::Result<(StatusCode, Vec<u8>)> {
        let url = format!("{}{path}", self.base_url);
        let mut request = self.client.request(method, &url).bearer_auth(&self.api_key);
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await.with_context(|| format!("no answer from {url}"))?;
        let status = response.status();
        Ok((status, response.bytes().await.context("the connection ended before the answer was complete")?.to_vec()))
    }
}

/// `402 insufficient_balance: the wallet holds …`, or the bare status where the body is of another form.
pub fn error_text(status: StatusCode, body: &[u8]) -> String {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let field = |name: &str| body.pointer(&format!("/error/{name}")).and_then(Value::as_str);
    match (field("code"), field("message")) {
        (Some(code), Some(message)) => format!("{} {code}: {message}", status.as_u16()),
        _ => format!("the API answered {status}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_text_has_code_and_message() {
        let body = br#"{"error":{"code":"agent_paused","message":"later","execution_id":null}}"#;
        assert_eq!(error_text(StatusCode::UNPROCESSABLE_ENTITY, body), "422 agent_paused: later");
        assert_eq!(error_text(StatusCode::BAD_GATEWAY, b"<html>"), "the API answered 502 Bad Gateway");
    }
}
