//! The service: reads a request, and answers it.

use std::{
    convert::Infallible,
    error::Error,
    fmt,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use crtx_protocol::{call_text::OpeningId, request_hash, strict_json};
use crtx_schema::Schema;
use ed25519_dalek::{Signature, Signer};
use futures::future::BoxFuture;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body::Body;
use http_body_util::{BodyExt, Full, Limited};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use solana_pubkey::Pubkey;
use tokio::{sync::Semaphore, time::timeout};
use tower::Service;
use uuid::Uuid;

use crate::{
    counts::Counts,
    deep_stack::on_a_deep_stack,
    guard::{CallKey, MemoryGuard, ReplayGuard},
    run::{Refusal, Runner},
};

/// A request is at most 1 MiB of task and parameters; escapes can make it longer.
const MAX_REQUEST_BYTES: usize = 4 * 1024 * 1024;
const BODY_WITHIN: Duration = Duration::from_secs(30);
/// The longest time-out that a listing can have.
const MAX_TIMEOUT_S: u64 = 900;
/// Calls that wait for each one that runs.
const WAITING: usize = 4;

/// What an agent is asked to do.
#[derive(Clone, Debug)]
pub struct Task {
    pub execution_id: Uuid,
    pub text: String,
    pub parameters: Map<String, Value>,
    /// Wallet of the caller.
    pub caller: Option<Pubkey>,
    /// What the function has. Afterwards it is dropped, and the call has failed.
    pub time_limit: Duration,
}

/// What an agent did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Work {
    pub result: String,
    pub tokens_used: Option<u64>,
    /// The reasoning trace.
    pub steps: Option<Vec<Value>>,
}

impl From<String> for Work {
    fn from(result: String) -> Self {
        Self { result, ..Self::default() }
    }
}

impl From<&str> for Work {
    fn from(result: &str) -> Self {
        result.to_owned().into()
    }
}

/// What a [`Seller`] does beyond the function. The default keeps answers in memory, and runs 64 calls at a time.
pub struct SellerOptions {
    pub guard: Arc<dyn ReplayGuard>,
    /// JSON Schema of `parameters`. A check that is not light is left to the marketplace, which makes it before it takes
    /// money.
    pub input_schema: Option<Value>,
    /// Runs at a time. Four times as many calls wait; further ones are refused with 503.
    pub max_running: usize,
}

impl Default for SellerOptions {
    fn default() -> Self {
        Self { guard: Arc::new(MemoryGuard::default()), input_schema: None, max_running: 64 }
    }
}

/// An agent's service. Clones share everything.
#[derive(Clone)]
pub struct Seller {
    runner: Arc<Runner>,
    schema: Option<Arc<Schema>>,
    held: Arc<Semaphore>,
}

/// The body of a request. Members that are not known are skipped.
#[derive(Deserialize)]
struct CallBody {
    execution_id: Uuid,
    task: String,
    parameters: Option<Map<String, Value>>,
    user_pubkey: Option<String>,
    timeout_seconds: u64,
    execution_record: String,
    opened_at_unix_s: i64,
}

impl Seller {
    /// Sells what `work` does. An error becomes a failure, and its text is shown to the caller.
    pub fn new<W, F, R, E>(key: impl Signer<Signature> + Send + Sync + 'static, work: W) -> Self
    where
        W: Fn(Task) -> F + Send + Sync + 'static,
        F: Future<Output = Result<R, E>> + Send + 'static,
        R: Into<Work>,
        E: fmt::Display,
    {
        Self::build(SellerOptions::default(), None, key, work)
    }

    /// The same with other options. Fails if the schema is no schema, or one that the marketplace does not take.
    pub fn with_options<W, F, R, E>(
        options: SellerOptions,
        key: impl Signer<Signature> + Send + Sync + 'static,
        work: W,
    ) -> Result<Self, Box<dyn Error + Send + Sync>>
    where
        W: Fn(Task) -> F + Send + Sync + 'static,
        F: Future<Output = Result<R, E>> + Send + 'static,
        R: Into<Work>,
        E: fmt::Display,
    {
        let schema = options.input_schema.as_ref();
        let schema = schema.map(|schema| on_a_deep_stack(|| Schema::compile(schema))).transpose()?.transpose()?;
        Ok(Self::build(options, schema, key, work))
    }

    fn build<W, F, R, E>(
        options: SellerOptions,
        schema: Option<Schema>,
        key: impl Signer<Signature> + Send + Sync + 'static,
        work: W,
    ) -> Self
    where
        W: Fn(Task) -> F + Send + Sync + 'static,
        F: Future<Output = Result<R, E>> + Send + 'static,
        R: Into<Work>,
        E: fmt::Display,
    {
        let work = move |task| -> BoxFuture<'static, Result<Work, String>> {
            let work = work(task);
            Box::pin(async { work.await.map(Into::into).map_err(|error| error.to_string()) })
        };
        let max_running = options.max_running.max(1);
        let runner = Runner {
            key: Box::new(key),
            work: Box::new(work),
            guard: options.guard,
            running: Semaphore::new(max_running),
            max_running,
            counts: Counts::default(),
        };
        let held = max_running.saturating_mul(WAITING.saturating_add(1));
        Self { runner: Arc::new(runner), schema: schema.map(Arc::new), held: Arc::new(Semaphore::new(held)) }
    }

    /// Counts of calls and runs, as text for Prometheus.
    pub fn metrics(&self) -> String {
        let free = self.runner.running.available_permits();
        self.runner.counts.text(self.runner.max_running.saturating_sub(free))
    }

    async fn answer<B>(self, request: Request<B>) -> Result<Arc<str>, Refusal>
    where
        B: Body + Send,
        B::Data: Send,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        if request.method() != Method::POST {
            return Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "this is an agent of crtx: it answers POST"));
        }
        // It goes with the run, so a client that leaves makes no room for another run.
        let held = Arc::clone(&self.held).try_acquire_owned();
        let held = held.map_err(|_| Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "too many calls are under way"))?;
        let body = timeout(BODY_WITHIN, Limited::new(request.into_body(), MAX_REQUEST_BYTES).collect()).await;
        let body = body.map_err(|_| Refusal::new(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time"))?;
        let too_large = |_| Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "the body broke off or is larger than 4 MiB");
        let (call, opening, task) = read(&body.map_err(too_large)?.to_bytes())?;
        if let Some(Err(error)) = self.schema.and_then(|it| it.check_if_light(&Value::Object(task.parameters.clone())))
        {
            return self.runner.failure(&call, &opening, &format!("the parameters do not match the schema: {error}"));
        }
        self.runner.answer(call, opening, task, held).await
    }
}

fn read(body: &[u8]) -> Result<(CallKey, OpeningId, Task), Refusal> {
    let bad = |what: &str| Refusal::new(StatusCode::BAD_REQUEST, what);
    strict_json::check(body).map_err(|error| bad(&error.to_string()))?;
    let received: CallBody = serde_json::from_slice(body).map_err(|_| bad("this is no request of the marketplace"))?;
    let record: Pubkey = received.execution_record.parse().map_err(|_| bad("`execution_record` is no address"))?;
    let opening = OpeningId { record: record.to_bytes(), opened_at_unix_s: received.opened_at_unix_s };
    let parameters = received.parameters.unwrap_or_default();
    let asked = request_hash::of(&received.task, &parameters).map_err(|_| bad("`parameters` cannot be hashed"))?;
    let named = Sha256::new().chain_update(opening.record).chain_update(opening.opened_at_unix_s.to_le_bytes());
    let request_hash = named.chain_update(asked).finalize().into();
    let task = Task {
        execution_id: received.execution_id,
        text: received.task,
        parameters,
        caller: received.user_pubkey.and_then(|text| text.parse().ok()),
        time_limit: Duration::from_secs(received.timeout_seconds.clamp(1, MAX_TIMEOUT_S)),
    };
    Ok((CallKey { execution_id: received.execution_id, request_hash }, opening, task))
}

impl<B> Service<Request<B>> for Seller
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let seller = self.clone();
        Box::pin(async move {
            let runner = Arc::clone(&seller.runner);
            let (status, body) = match seller.answer(request).await {
                Ok(answer) => (StatusCode::OK, answer.to_string()),
                Err(Refusal { status, message }) => {
                    Counts::add(&runner.counts.refused);
                    (status, json!({"error": message}).to_string())
                }
            };
            let mut response = Response::new(Full::from(body));
            *response.status_mut() = status;
            response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            Ok(response)
        })
    }
}
