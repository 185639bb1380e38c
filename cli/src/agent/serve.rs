//! `crtx agent serve`: answers the marketplace's calls with what any HTTP service does, signed. Neither the service nor its
//! author knows anything of the protocol.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use anyhow::{Context, anyhow};
use axum::{
    Router,
    extract::Request,
    middleware::{self, Next},
    response::IntoResponse,
    routing::get,
};
use crtx_http::{AddressRange, ApiError, ErrorCode, Peer, ServeLimits, TrustedProxies};
use crtx_protocol::{
    creator_answer::{MAX_ANSWER_BYTES, MAX_STEPS_BYTES},
    text::shortened,
};
use crtx_sdk::{Seller, SellerOptions, SigningKey, Task, Work, key};
use reqwest::{Client, header::HeaderMap, redirect::Policy};
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};
use url::Url;

use super::{
    manifest::Manifest,
    publish::{self, PublishArgs},
};
use crate::{
    output::note,
    settings::Settings,
    usage::{UsageError, http_url},
};

const TOKENS_USED: &str = "x-crtx-tokens-used";
const STEPS: &str = "x-crtx-steps";
const MAX_ERROR_CHARS: usize = 500;
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// How long a stop waits for calls that run.
const DRAIN: Duration = Duration::from_secs(60);
const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 3402);

#[derive(Clone, Debug, clap::Args)]
pub struct ServeArgs {
    /// URL that does the work: it gets `{"task", "parameters"}` by POST, and the text that it answers is the result
    #[arg(long, value_name = "URL", value_parser = http_url)]
    upstream: Url,
    /// Where calls are answered [default: port of `endpoint` in agent.toml on 127.0.0.1, without agent.toml 127.0.0.1:3402]
    #[arg(long, env = "CRTX_LISTEN", value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// File of the result key; agent.toml is then not needed [default: the file that agent.toml names]
    #[arg(long, value_name = "FILE")]
    result_key: Option<PathBuf>,
    /// Content of such a file
    #[arg(long, env = "CRTX_RESULT_KEY", value_name = "JSON", hide_env_values = true, conflicts_with = "result_key")]
    result_key_json: Option<String>,
    /// Calls that are worked on at a time; further ones wait
    #[arg(long, value_name = "NUMBER", default_value_t = 64)]
    at_once: usize,
    /// Addresses and ranges that may call [default: all]. `GET /v1/network` of the marketplace lists its own
    #[arg(long, value_name = "RANGES", value_delimiter = ',')]
    only_from: Vec<AddressRange>,
    /// Proxies in front of this one, which may name the clients of requests
    #[arg(long, env = "CRTX_TRUSTED_PROXIES", value_name = "RANGES", value_delimiter = ',')]
    trusted_proxies: Vec<AddressRange>,
    /// Serve metrics for Prometheus there, at `/metrics`
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<SocketAddr>,
    /// JSON pointer to the result in the answer [default: the whole answer, as it is]
    #[arg(long, value_name = "POINTER")]
    result: Option<String>,
    /// JSON pointer to the number of tokens in the answer [default: the header x-crtx-tokens-used]
    #[arg(long, value_name = "POINTER")]
    tokens_used: Option<String>,
    /// JSON pointer to the array of steps in the answer [default: the header x-crtx-steps]
    #[arg(long, value_name = "POINTER")]
    steps: Option<String>,
    /// List the agent, or update its listing, as `crtx agent publish` does
    #[arg(long)]
    publish: bool,
    #[command(flatten)]
    publishing: PublishArgs,
}

pub async fn run(arguments: ServeArgs, settings: &Settings) -> anyhow::Result<()> {
    let given = given_key(&arguments)?;
    let manifest = match given {
        Some(_) if !arguments.publish => None,
        _ => Some(Manifest::read(&arguments.publishing.path)?),
    };
    let key = match (given, &manifest) {
        (Some(key), _) => key,
        (None, Some(manifest)) => key::from_file(&manifest.result_key_file)?,
        (None, None) => return Err(UsageError::new("no result key is given").into()),
    };
    let options = SellerOptions {
        input_schema: manifest.as_ref().map(|manifest| manifest.metadata.input_schema.clone()),
        max_running: arguments.at_once,
        ..SellerOptions::default()
    };
    let upstream = Arc::new(Upstream::new(&arguments)?);
    let work = move |task| Arc::clone(&upstream).work(task);
    let seller = Seller::with_options(options, key, work).map_err(|error| anyhow!("`input_schema`: {error}"))?;

    let port = manifest.as_ref().and_then(|it| Url::parse(&it.metadata.endpoint).ok()?.port());
    let default = SocketAddr::new(DEFAULT_LISTEN.ip(), port.unwrap_or(DEFAULT_LISTEN.port()));
    let listener = bind(arguments.listen.unwrap_or(default)).await?;
    note!("answers POST http://{}/ with what {} does", listener.local_addr()?, arguments.upstream);
    if let Some(address) = arguments.metrics {
        let (listener, counts) = (bind(address).await?, seller.clone());
        let router = Router::new().route("/metrics", get(async move || counts.metrics()));
        tokio::spawn(async move { axum::serve(listener, router).await });
    }
    let limits = ServeLimits { drain: DRAIN, ..ServeLimits::default() };
    let proxies = arguments.trusted_proxies.iter().copied().collect::<TrustedProxies>();
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let stopped = async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        note!("stopping; calls that run have {} s to end", DRAIN.as_secs());
    };
    let serving = crtx_http::serve(proxies, listener, router(seller, arguments.only_from), limits, stopped);
    let serving = tokio::spawn(serving);
    if arguments.publish {
        publish::run(&arguments.publishing, settings).await?;
    }
    Ok(serving.await??)
}

fn given_key(arguments: &ServeArgs) -> anyhow::Result<Option<SigningKey>> {
    match (&arguments.result_key, &arguments.result_key_json) {
        (Some(path), _) => {
            key::from_file(path).with_context(|| format!("cannot read the result key {}", path.display())).map(Some)
        }
        (None, Some(json)) => key::parse(json.as_bytes()).context("CRTX_RESULT_KEY").map(Some),
        (None, None) => Ok(None),
    }
}

async fn bind(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))
}

/// Calls are answered at every path: which one the marketplace calls is a matter of the listing.
fn router(seller: Seller, only_from: Vec<AddressRange>) -> Router {
    let may_call = move |request: Request, next: Next| {
        let client = Peer::of(request.extensions());
        let allowed = only_from.is_empty() || client.is_some_and(|it| only_from.iter().any(|range| range.contains(it)));
        async move {
            if allowed {
                return next.run(request).await;
            }
            ApiError::new(ErrorCode::Forbidden, "this address may not call the agent").into_response()
        }
    };
    let calls = Router::new().fallback_service(seller).layer(middleware::from_fn(may_call));
    Router::new().route("/healthz", get(async || "ok")).fallback_service(calls)
}

/// The service that does the work. It is not a stranger, but may be wrong: its answers are bounded, and each call ends with
/// the time-out of the call.
struct Upstream {
    client: Client,
    url: Url,
    result: Option<String>,
    tokens_used: Option<String>,
    steps: Option<String>,
}

impl Upstream {
    fn new(arguments: &ServeArgs) -> anyhow::Result<Self> {
        let pointers = [&arguments.result, &arguments.tokens_used, &arguments.steps];
        if let Some(bad) =
            pointers.into_iter().flatten().find(|pointer| !pointer.is_empty() && !pointer.starts_with('/'))
        {
            return Err(UsageError::new(format!("`{bad}` is no JSON pointer: it begins with /")).into());
        }
        let client = Client::builder().connect_timeout(CONNECT_WITHIN).no_proxy().redirect(Policy::none()).build()?;
        let ServeArgs { upstream, result, tokens_used, steps, .. } = arguments.clone();
        Ok(Self { client, url: upstream, result, tokens_used, steps })
    }

    /// An error is what the caller reads: what the service says about the request (4xx), but nothing of its own faults.
    async fn work(self: Arc<Self>, task: Task) -> Result<Work, String> {
        let id = task.execution_id.to_string();
        let request = self
            .client
            .post(self.url.clone())
            .header("idempotency-key", &id)
            .header("x-crtx-execution-id", &id)
            .header("x-crtx-timeout-seconds", task.time_limit.as_secs())
            .json(&json!({"task": task.text, "parameters": task.parameters}));
        let broken = |error: &dyn std::fmt::Display| {
            tracing::warn!(execution_id = %id, %error, "the upstream gave no answer");
            "the agent's service does not answer".to_owned()
        };
        let response = request.send().await.map_err(|error| broken(&error.without_url()))?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = crtx_download::read(response, MAX_ANSWER_BYTES).await.map_err(|error| broken(&error))?;
        if status.is_client_error() {
            let said = String::from_utf8_lossy(&body);
            let said = if said.trim().is_empty() { "the agent's service refuses this" } else { said.trim() };
            return Err(shortened(said, MAX_ERROR_CHARS));
        }
        if !status.is_success() {
            tracing::warn!(execution_id = %id, %status, "the upstream failed");
            return Err("the agent's service failed".to_owned());
        }
        self.read(&headers, body)
    }

    fn read(&self, headers: &HeaderMap, body: Vec<u8>) -> Result<Work, String> {
        let text = String::from_utf8(body).map_err(|_| "the agent's service answered with something else than text")?;
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        if [&self.result, &self.tokens_used, &self.steps].iter().all(|pointer| pointer.is_none()) {
            let steps = header(STEPS).filter(|text| text.len() <= MAX_STEPS_BYTES);
            return Ok(Work {
                tokens_used: header(TOKENS_USED).and_then(|text| text.parse().ok()),
                steps: steps.and_then(|text| serde_json::from_str(text).ok()),
                result: text,
            });
        }
        let answer: Value = serde_json::from_str(&text).map_err(|_| "the agent's service answered without JSON")?;
        let at = |pointer: &Option<String>| pointer.as_ref().and_then(|pointer| answer.pointer(pointer));
        let result = match (&self.result, at(&self.result)) {
            (None, _) => text,
            (Some(_), Some(Value::String(result))) => result.clone(),
            (Some(_), Some(other)) => other.to_string(),
            (Some(_), None) => return Err("the answer of the agent's service has no result".to_owned()),
        };
        let tokens_used = at(&self.tokens_used).and_then(Value::as_u64);
        Ok(Work {
            result,
            tokens_used: tokens_used.or_else(|| header(TOKENS_USED).and_then(|text| text.parse().ok())),
            steps: at(&self.steps).and_then(Value::as_array).cloned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::{Json, body::Bytes, http::StatusCode, response::Response, routing::post};
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        serve: ServeArgs,
    }

    /// A service of somebody who knows nothing of the marketplace. It counts what it is asked.
    async fn stranger(asked: Arc<AtomicUsize>) -> SocketAddr {
        let upper = async |Json(body): Json<Value>| -> Response {
            let task = body["task"].as_str().expect("a task").to_owned();
            match task.as_str() {
                "refuse" => (StatusCode::UNPROCESSABLE_ENTITY, " Only texts, please.\n").into_response(),
                "break" => (StatusCode::INTERNAL_SERVER_ERROR, "secret stack trace").into_response(),
                "bytes" => vec![0xff, 0xfe].into_response(),
                "huge" => "x".repeat(MAX_ANSWER_BYTES.saturating_add(1)).into_response(),
                "large" => "x".repeat(2 * 1024 * 1024).into_response(),
                "slow" => std::future::pending().await,
                _ => ([(TOKENS_USED, "7"), (STEPS, r#"[{"said":"hm"}]"#)], task.to_uppercase()).into_response(),
            }
        };
        let json = async || Json(json!({"answer": {"n": 1}, "usage": {"tokens": 12}, "trace": ["a"]}));
        let count = middleware::from_fn(move |request: Request, next: Next| {
            asked.fetch_add(1, Ordering::Relaxed);
            next.run(request)
        });
        let router = Router::new().route("/do", post(upper)).route("/json", post(json)).layer(count);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        tokio::spawn(async move { axum::serve(listener, router).await });
        address
    }

    fn arguments(upstream: &str, more: &[&str]) -> ServeArgs {
        Line::try_parse_from([&["serve", "--upstream", upstream], more].concat()).expect("parses").serve
    }

    fn task(text: &str) -> Task {
        let time_limit = Duration::from_secs(1);
        Task {
            execution_id: uuid::Uuid::from_u128(7),
            text: text.to_owned(),
            parameters: serde_json::Map::new(),
            caller: None,
            time_limit,
        }
    }

    async fn work(path: &str, more: &[&str], text: &str) -> Result<Work, String> {
        let upstream = format!("http://{}{path}", stranger(Arc::default()).await);
        Arc::new(Upstream::new(&arguments(&upstream, more)).expect("a client")).work(task(text)).await
    }

    #[tokio::test]
    async fn the_text_that_the_service_answers_is_the_result_and_headers_say_the_rest() {
        let done = work("/do", &[], "ab").await.expect("done");
        assert_eq!((done.result.as_str(), done.tokens_used), ("AB", Some(7)));
        assert_eq!(done.steps, Some(vec![json!({"said": "hm"})]));
        let pointers = ["--result", "/answer", "--tokens-used", "/usage/tokens", "--steps", "/trace"];
        let done = work("/json", &pointers, "ab").await.expect("done");
        assert_eq!(
            (done.result.as_str(), done.tokens_used, done.steps),
            (r#"{"n":1}"#, Some(12), Some(vec![json!("a")]))
        );
    }

    #[tokio::test]
    async fn what_the_service_says_about_the_request_is_shown_and_its_own_faults_are_not() {
        for (path, more, text, shown) in [
            ("/do", &[][..], "refuse", "Only texts, please."),
            ("/do", &[], "break", "the agent's service failed"),
            ("/none", &[], "x", "the agent's service refuses this"),
            ("/do", &[], "bytes", "the agent's service answered with something else than text"),
            ("/do", &[], "huge", "the agent's service does not answer"),
            ("/do", &["--result", "/answer"], "ab", "the agent's service answered without JSON"),
            ("/json", &["--result", "/none"], "ab", "the answer of the agent's service has no result"),
        ] {
            assert_eq!(work(path, more, text).await, Err(shown.to_owned()), "{path} {text}");
        }
        let closed = Arc::new(Upstream::new(&arguments("http://127.0.0.1:1/", &[])).expect("a client"));
        assert_eq!(closed.work(task("x")).await, Err("the agent's service does not answer".to_owned()));
        assert!(Upstream::new(&arguments("http://127.0.0.1:1/", &["--steps", "trace"])).is_err());
    }

    #[tokio::test]
    async fn a_call_is_asked_once_of_the_service_and_only_listed_addresses_call() {
        let asked = Arc::new(AtomicUsize::new(0));
        let upstream = format!("http://{}/do", stranger(Arc::clone(&asked)).await);
        let upstream = Arc::new(Upstream::new(&arguments(&upstream, &[])).expect("a client"));
        let seller = Seller::new(SigningKey::from_bytes(&[7; 32]), move |task| Arc::clone(&upstream).work(task));
        let serve = async |only_from: &str| {
            let only_from = only_from.split(',').filter_map(|range| range.parse().ok()).collect();
            let (listener, router) = (bind("127.0.0.1:0".parse()?).await?, router(seller.clone(), only_from));
            let address = listener.local_addr()?;
            let serving = crtx_http::serve(
                TrustedProxies::default(),
                listener,
                router,
                ServeLimits::default(),
                std::future::pending(),
            );
            tokio::spawn(serving);
            Ok::<_, anyhow::Error>(address)
        };
        let call = |text: &str| {
            json!({
                "execution_id": uuid::Uuid::from_u128(7), "task": text, "parameters": {}, "timeout_seconds": 1,
                "user_pubkey": "11111111111111111111111111111111", "opened_at_unix_s": 1,
                "execution_record": "11111111111111111111111111111111",
            })
        };
        let client = Client::builder().no_proxy().build().expect("a client");
        let ask = async |address: SocketAddr, text: &str| -> (u16, Bytes) {
            let response =
                client.post(format!("http://{address}/execute")).json(&call(text)).send().await.expect("answers");
            (response.status().as_u16(), response.bytes().await.expect("a body"))
        };
        let address = serve("").await.expect("serves");
        let (first, again) = tokio::join!(ask(address, "ab"), ask(address, "ab"));
        assert!(first.0 == 200 && first == again && asked.load(Ordering::Relaxed) == 1, "{first:?} {again:?}");
        let answer: Value = serde_json::from_slice(&first.1).expect("JSON");
        assert_eq!((&answer["status"], &answer["result"]), (&json!("completed"), &json!("AB")));
        for (text, error) in [("large", "the result is larger than 1 MiB"), ("slow", "there was no result within 1 s")]
        {
            let answer: Value = serde_json::from_slice(&ask(address, text).await.1).expect("JSON");
            assert_eq!((&answer["status"], &answer["error"]), (&json!("failed"), &json!(error)));
        }
        let metrics = seller.metrics();
        for line in ["{outcome=\"completed\"} 1", "{outcome=\"repeated\"} 1", "{outcome=\"timed_out\"} 1", "running 0"]
        {
            assert!(metrics.contains(line), "{metrics}");
        }
        assert_eq!(ask(serve("192.0.2.0/24").await.expect("serves"), "ab").await.0, 403);
        assert_eq!(ask(serve("192.0.2.0/24,127.0.0.0/8").await.expect("serves"), "ab").await.0, 200);
        let healthy = client.get(format!("http://{address}/healthz")).send().await.expect("answers");
        assert_eq!(healthy.status(), StatusCode::OK);
    }
}
