//! The marketplace's HTTP API, as a client of it: requests with an API key, a session, or nothing, and answers of
//! bounded length.

use std::time::Duration;

use anyhow::{Context, bail};
use crtx_chain::urls;
use reqwest::{Method, RequestBuilder, StatusCode, redirect::Policy};
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use crate::{
    arguments::ServiceArgs,
    output::printable,
    settings::{LocalRun, Settings, Source, is_on_this_machine},
    usage::UsageError,
};

/// Longer than the longest call that a listing may ask for.
const TIMEOUT: Duration = Duration::from_secs(960);
/// Larger than every answer of the API.
const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;

#[derive(Clone, Debug, clap::Args)]
pub struct ApiArgs {
    #[command(flatten)]
    pub service: ServiceArgs,
    /// API key. Prefer CRTX_API_KEY: other users of the machine can read command lines
    #[arg(long, env = "CRTX_API_KEY", value_name = "KEY", hide_env_values = true)]
    pub api_key: Option<String>,
}

#[derive(Clone)]
pub struct Api {
    client: reqwest::Client,
    pub base_url: String,
    /// Host and where it is named, for errors.
    asked: String,
    /// The network of `crtx up` that it belongs to.
    run: Option<LocalRun>,
    /// Whether keys, tokens and signatures may be sent there.
    takes_secrets: bool,
}

/// An answer of the API, of any status.
#[derive(Clone, Debug)]
pub struct ApiAnswer {
    pub status: StatusCode,
    pub body: Vec<u8>,
    pub request_id: Option<String>,
    /// Seconds to wait before the next request.
    pub retry_after: Option<String>,
    /// Which service it is of, for errors.
    pub asked: String,
}

/// A network of `crtx up` that does not run any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NetworkGone(String);

impl Api {
    fn new(base_url: &Url) -> anyhow::Result<Self> {
        // Another address must not get what is meant for this one: tasks, evidence, signed sign-ins.
        let client = reqwest::Client::builder().timeout(TIMEOUT).redirect(Policy::none()).build()?;
        let takes_secrets = base_url.scheme() == "https" || is_on_this_machine(base_url);
        let asked = urls::host(base_url.as_str());
        let base_url = base_url.as_str().trim_end_matches('/').to_owned();
        Ok(Self { client, base_url, asked, run: None, takes_secrets })
    }

    pub fn of(settings: &Settings, arguments: &ServiceArgs) -> anyhow::Result<Self> {
        let url = settings.url(arguments.url.as_ref())?;
        let api = Self::new(&url.value)?;
        let asked = match url.source {
            Source::Given => api.asked,
            source => format!("{}, from {source}", api.asked),
        };
        let run = settings.local.clone().filter(|run| run.is_at(&url.value));
        Ok(Self { asked, run, takes_secrets: api.takes_secrets || arguments.allow_http, ..api })
    }

    /// Fails if others could read secrets on the way.
    pub fn check_secrets(&self) -> Result<(), UsageError> {
        if self.takes_secrets {
            return Ok(());
        }
        Err(UsageError::new(format!(
            "{} is plain http on another machine: everybody on the way could read the API key or the session. Use \
             https, or pass --allow-http (CRTX_ALLOW_HTTP=1) to send it all the same.",
            self.base_url
        )))
    }

    /// A request without credentials.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.base_url))
    }

    /// Sends with an API key, or with the token of a session.
    pub async fn send_as(&self, token: &str, request: RequestBuilder) -> anyhow::Result<ApiAnswer> {
        self.check_secrets()?;
        self.send(request.bearer_auth(token)).await
    }

    /// Fails only if there is no whole answer.
    pub async fn send(&self, request: RequestBuilder) -> anyhow::Result<ApiAnswer> {
        let request = request.build()?;
        let url = request.url().clone();
        let response = match self.client.execute(request).await {
            Ok(response) => response,
            Err(error) => match self.run.as_ref().and_then(LocalRun::gone) {
                Some(gone) => return Err(NetworkGone(gone).into()),
                None => return Err(error).with_context(|| format!("no answer from {url} ({})", self.asked)),
            },
        };
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).map(printable);
        let (status, request_id, retry_after) = (response.status(), header("x-request-id"), header("retry-after"));
        let body = crtx_download::read(response, MAX_ANSWER_BYTES).await;
        let body = body.context("the connection ended before the answer was complete")?;
        Ok(ApiAnswer { status, body, request_id, retry_after, asked: self.asked.clone() })
    }

    /// Without credentials.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        self.send(self.request(Method::GET, path)).await?.json()
    }
}

impl ApiAnswer {
    /// The body of a success; any other status is an error with the API's own words.
    pub fn json<T: DeserializeOwned>(&self) -> anyhow::Result<T> {
        self.success()?;
        serde_json::from_slice(&self.body).context("the API answered in another form than expected")
    }

    pub fn success(&self) -> anyhow::Result<()> {
        if !self.status.is_success() {
            bail!("{}; asked {}", self.error_text(), self.asked);
        }
        Ok(())
    }

    /// `402 insufficient_balance: the wallet holds …`, or the bare status where the body is of another form.
    pub fn error_text(&self) -> String {
        let body: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        let field = |name: &str| body.pointer(&format!("/error/{name}")).and_then(Value::as_str).map(printable);
        let text = match (field("code"), field("message")) {
            (Some(code), Some(message)) => format!("{} {code}: {message}", self.status.as_u16()),
            _ if self.status.is_redirection() => {
                format!("the API answered {}, and no other address is asked; see --url", self.status)
            }
            _ => format!("the API answered {}", self.status),
        };
        match (&self.retry_after, &self.request_id) {
            (Some(seconds), _) => format!("{text} (try again in {seconds} s)"),
            // The operator finds the cause by it.
            (None, Some(id)) if self.status.is_server_error() => format!("{text} (request {id})"),
            (None, _) => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    };

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    fn answer(status: StatusCode, body: &[u8]) -> ApiAnswer {
        ApiAnswer { status, body: body.to_vec(), request_id: None, retry_after: None, asked: String::new() }
    }

    #[test]
    fn an_error_text_has_code_and_message() {
        let body = br#"{"error":{"code":"agent_paused","message":"later","execution_id":null}}"#;
        assert_eq!(answer(StatusCode::UNPROCESSABLE_ENTITY, body).error_text(), "422 agent_paused: later");
        assert_eq!(answer(StatusCode::BAD_GATEWAY, b"<html>").error_text(), "the API answered 502 Bad Gateway");
    }

    #[tokio::test]
    async fn nothing_is_sent_to_an_address_that_the_service_names() {
        let server = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", server.local_addr().expect("an address"));
        let asked = Arc::new(AtomicU32::new(0));
        let counter = Arc::clone(&asked);
        let serving = tokio::spawn(async move {
            loop {
                let (mut client, _) = server.accept().await.expect("a connection");
                let first = counter.fetch_add(1, Ordering::Relaxed) == 0;
                let status = if first { "307 Temporary Redirect\r\nlocation: /elsewhere" } else { "200 OK" };
                let answer = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
                let _ = client.read(&mut [0; 4_096]).await;
                client.write_all(answer.as_bytes()).await.expect("an answer");
            }
        });
        let api = Api::new(&url.parse().expect("a URL")).expect("a client");
        let body = serde_json::json!({"task": "secret"});
        let request = api.request(Method::POST, "/v1").json(&body);
        let answer = api.send_as("token", request).await.expect("an answer");
        assert!(answer.error_text().contains("no other address is asked"), "{}", answer.error_text());
        assert_eq!(asked.load(Ordering::Relaxed), 1);
        serving.abort();
    }

    #[tokio::test]
    async fn a_key_is_not_sent_over_plain_http_to_another_machine() {
        let api = |url: &str| Api::new(&url.parse().expect("a URL")).expect("a client");
        // Addresses of documentation: nobody answers, and nothing must be tried.
        for open in
            ["http://192.0.2.1", "http://market.example:8080/base", "http://localhost.example", "http://[2001:db8::1]"]
        {
            let (api, request) = (api(open), api(open).request(Method::GET, "/v1"));
            let error = api.send_as("key", request).await.expect_err("refused");
            assert!(error.is::<UsageError>() && error.to_string().contains("--allow-http"), "{open}: {error}");
        }
        for private in ["https://market.example", "http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1"] {
            assert_eq!(api(private).check_secrets(), Ok(()), "{private}");
        }
        let allowed = Api { takes_secrets: true, ..api("http://192.0.2.1") };
        assert_eq!(allowed.check_secrets(), Ok(()));
    }

    #[test]
    fn an_error_names_the_service_that_was_asked() {
        let answer = ApiAnswer {
            asked: "127.0.0.1:8081, from the last `crtx up`".to_owned(),
            ..answer(StatusCode::NOT_FOUND, b"")
        };
        let error = answer.success().expect_err("no success").to_string();
        assert!(error.ends_with("; asked 127.0.0.1:8081, from the last `crtx up`"), "{error}");
    }

    #[test]
    fn an_error_says_when_to_come_again_and_cannot_control_the_terminal() {
        let body = br#"{"error":{"code":"rate_limited","message":"slow\u001b[2J","execution_id":null}}"#;
        let limited = answer(StatusCode::TOO_MANY_REQUESTS, body);
        let text = ApiAnswer { retry_after: Some("7".to_owned()), ..limited }.error_text();
        assert!(text.ends_with("(try again in 7 s)") && !text.contains('\u{1b}'), "{text}");
    }
}
