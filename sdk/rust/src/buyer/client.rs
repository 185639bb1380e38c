//! The client: paid calls that are never paid twice, and results that are checked before anybody gets them.

use std::{collections::VecDeque, env, sync::Arc, time::Duration};

use crtx_chain::ChainClient;
use crtx_protocol::{api_key::ApiKey, execution_id, request_hash, result_hash::ResultHash, strict_json};
use futures::{Stream, stream};
use reqwest::Method;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};
use solana_pubkey::Pubkey;
use tokio::{
    sync::OnceCell,
    time::{Instant, sleep, timeout_at},
};
use url::Url;
use uuid::Uuid;

use super::{
    error::{ApiError, Error, ErrorCode, Problem, invalid},
    http::{Broken, Http, Refused, Reply, Request},
    sign_in::is_on_this_machine,
    types::{
        AgentDetails, AgentFilter, AgentList, CallOptions, ExecutionDetails, ExecutionFilter, ExecutionList,
        ExecutionState, Purchase, StartedCall, Verification, WalletEvent, WalletEventList,
    },
    wallet::Wallet,
};
use crate::{
    SigningKey, UsdcBase,
    verify::{self, Check, Claims, ContentCopy, Evidence, MoneyOutcome},
};

/// Seconds that the service waits for the next event.
const EVENT_WAIT_S: u8 = 25;
const NODE_TIMEOUT: Duration = Duration::from_secs(10);
/// What is paid is checked, even if the time of its call is over.
const CHECK_WITHIN: Duration = Duration::from_secs(15);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);
const LONGEST_POLL: Duration = Duration::from_secs(2);

/// How a [`Client`] works. The default needs no change.
#[derive(Clone)]
pub struct ClientOptions {
    /// A Solana node that you trust. Without it, results are checked against the one that the service names.
    pub rpc_url: Option<String>,
    /// The marketplace's program, if it is another deployment.
    pub program_id: Pubkey,
    /// Without it, results are taken as the service says them.
    pub verify: bool,
    /// For a whole call, with its retries and checks: 1 000 s, which is above the longest time-out of an agent.
    pub timeout: Duration,
    /// For one request, before it is repeated: 60 s.
    pub attempt_timeout: Duration,
    /// 2. Following a call that still runs is no retry.
    pub max_retries: u32,
    /// 0.5 s, and twice as long after each failure, up to 8 s. Half of it is random.
    pub first_pause: Duration,
    /// A longer `Retry-After` ends the call: 30 s.
    pub max_retry_after: Duration,
    /// How long a node that is behind has to see what the service has seen: 10 s.
    pub node_patience: Duration,
    /// Send the API key over plain http to another machine, where everybody on the way can read it.
    pub allow_http: bool,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            rpc_url: None,
            program_id: agent_marketplace::ID,
            verify: true,
            timeout: Duration::from_secs(1_000),
            attempt_timeout: Duration::from_secs(60),
            max_retries: 2,
            first_pause: Duration::from_millis(500),
            max_retry_after: Duration::from_secs(30),
            node_patience: Duration::from_secs(10),
            allow_http: false,
        }
    }
}

pub(super) enum Payer {
    Nobody,
    Key(ApiKey),
    Wallet(Box<Wallet>),
}

/// Buys from agents. Clones share their connections. A future that is dropped sends nothing more; a call that it began goes
/// on at the service, and the same call with its key gets the result.
#[derive(Clone)]
pub struct Client {
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Shared {
    pub http: Http,
    pub payer: Payer,
    pub options: ClientOptions,
    node: OnceCell<ChainClient>,
}

/// What a caller knows of its call without the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub agent: Pubkey,
    pub key: String,
    pub request_hash: [u8; 32],
}

/// One paid call.
pub(super) struct Call<'a> {
    pub known: Known,
    pub parameters: &'a Map<String, Value>,
    pub max_price: Option<UsdcBase>,
    body: Vec<u8>,
}

/// How a call, with its repetitions, went so far.
pub(super) struct Attempts {
    pub deadline: Instant,
    key: Option<String>,
    failures: u32,
    /// An attempt may have begun the call, and its answer is not known.
    uncertain: bool,
    /// The price is in escrow, where the wallet put it.
    opened: bool,
    execution_id: Option<Uuid>,
}

/// What every answer to a call says.
#[derive(Deserialize)]
struct Head {
    execution_id: Uuid,
    status: ExecutionState,
}

#[derive(Deserialize)]
struct Steps {
    steps: Option<Vec<Value>>,
}

#[derive(Deserialize)]
struct NamedNode {
    rpc_url: Option<String>,
}

impl<'a> Call<'a> {
    fn new(payer: &Payer, agent_id: &str, task: &str, options: &'a CallOptions, is_async: bool) -> Result<Self, Error> {
        let CallOptions { parameters, max_price, .. } = options;
        if max_price.is_some() && !matches!(payer, Payer::Wallet(_)) {
            return Err(invalid("only a wallet agrees to a price: `max_price` needs one"));
        }
        let body = json!({"task": task, "parameters": parameters, "async": is_async}).to_string().into_bytes();
        strict_json::check_numbers(&body).map_err(invalid)?;
        let key = options.idempotency_key.clone().unwrap_or_else(|| Uuid::new_v4().to_string());
        if !execution_id::is_idempotency_key(key.as_bytes()) {
            return Err(invalid("an idempotency key is 1 to 255 visible ASCII characters"));
        }
        let agent = agent_id.parse().map_err(|_| invalid(format!("`{agent_id}` is no agent's address")))?;
        let request_hash = request_hash::of(task, parameters).map_err(invalid)?;
        Ok(Self { known: Known { agent, key, request_hash }, parameters, max_price: *max_price, body })
    }
}

impl Attempts {
    /// The pause before the next attempt; `None` if this was the last one.
    fn pause(&mut self, options: &ClientOptions, retry_after: Option<Duration>) -> Option<Duration> {
        let doubled = options.first_pause.saturating_mul(2_u32.saturating_pow(self.failures)).min(LONGEST_PAUSE);
        let pause = doubled.mul_f64(rand::random_range(0.5..=1.0));
        let pause = retry_after.map_or(pause, |after| after.max(pause.mul_f64(0.25)));
        self.failures = self.failures.saturating_add(1);
        let ends = retry_after.is_some_and(|after| after > options.max_retry_after)
            || self.failures > options.max_retries
            || later(pause) >= self.deadline;
        (!ends).then_some(pause)
    }

    /// What the caller gets after the last attempt. A call that may be paid is never called failed.
    fn last(&self, error: Error) -> Error {
        let error = if self.uncertain { Problem::OutcomeUnknown(error.to_string()).into() } else { error };
        self.named(error)
    }

    pub fn named(&self, error: Error) -> Error {
        error.of_call(self.key.as_deref(), self.execution_id)
    }
}

pub(super) fn later(pause: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(pause).unwrap_or(now)
}

/// The reads about agents.
pub struct Agents<'a>(&'a Client);

impl Agents<'_> {
    /// A page of the agents that match.
    pub async fn search(&self, filter: &AgentFilter) -> Result<AgentList, Error> {
        self.0.read(&with_query("/v1/agents", filter)).await
    }

    /// The full listing of an agent.
    pub async fn get(&self, agent_id: &str) -> Result<AgentDetails, Error> {
        let agent: Pubkey = agent_id.parse().map_err(|_| invalid(format!("`{agent_id}` is no agent's address")))?;
        self.0.read(&format!("/v1/agents/{agent}")).await
    }
}

impl Client {
    /// Pays with an API key.
    pub fn new(base_url: &str, api_key: &str) -> Result<Self, Error> {
        Self::with_options(base_url, Some(api_key), ClientOptions::default())
    }

    /// Reads the variables `CRTX_URL`, `CRTX_API_KEY` and `CRTX_RPC_URL`. The last two need not be set.
    pub fn from_env() -> Result<Self, Error> {
        let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let base_url = variable("CRTX_URL").ok_or_else(|| invalid("no address of the service: set CRTX_URL"))?;
        let options = ClientOptions { rpc_url: variable("CRTX_RPC_URL"), ..ClientOptions::default() };
        Self::with_options(&base_url, variable("CRTX_API_KEY").as_deref(), options)
    }

    /// Lists of agents need no key.
    pub fn with_options(base_url: &str, api_key: Option<&str>, options: ClientOptions) -> Result<Self, Error> {
        let key = api_key.map(|key| key.parse::<ApiKey>().map_err(invalid)).transpose()?;
        Self::of(base_url, key.map_or(Payer::Nobody, Payer::Key), options)
    }

    /// Pays with a wallet, which signs each opening itself: no API key and no grant is needed. The options must have a node,
    /// because the wallet believes what it says about prices.
    pub fn with_wallet(base_url: &str, wallet: &SigningKey, options: ClientOptions) -> Result<Self, Error> {
        if options.rpc_url.is_none() {
            return Err(invalid("a wallet pays by what its own Solana node says: set `rpc_url`"));
        }
        Self::of(base_url, Payer::Wallet(Box::new(Wallet::new(wallet))), options)
    }

    fn of(base_url: &str, payer: Payer, options: ClientOptions) -> Result<Self, Error> {
        let url = Url::parse(base_url).map_err(|error| invalid(format!("`{base_url}` is no URL: {error}")))?;
        if url.scheme() != "https" && !is_on_this_machine(&url) && !options.allow_http {
            return Err(invalid("the key would be sent over plain http; use https, or set `allow_http`"));
        }
        let http = Http::new(base_url)?;
        Ok(Self { shared: Arc::new(Shared { http, payer, options, node: OnceCell::new() }) })
    }

    pub const fn agents(&self) -> Agents<'_> {
        Agents(self)
    }

    /// One paid call, until its result is there and verified.
    pub async fn execute(&self, agent_id: &str, task: &str, options: &CallOptions) -> Result<Purchase, Error> {
        let call = Call::new(&self.shared.payer, agent_id, task, options, false)?;
        let mut attempts = self.attempts(Some(&call.known), options.timeout);
        if self.options().verify {
            // A result that cannot be checked is not paid for.
            self.node(&attempts).await.map_err(|error| attempts.named(error))?;
        }
        let (head, mut body) = self.post(&call, &mut attempts).await?;
        if head.status.is_under_way() {
            body = self.until_ended(head.execution_id, &mut attempts).await?;
        }
        self.purchase(&body, Some(&call.known), &attempts).await
    }

    /// Begins a paid call, and returns when its escrow is confirmed.
    pub async fn start(&self, agent_id: &str, task: &str, options: &CallOptions) -> Result<StartedCall, Error> {
        let call = Call::new(&self.shared.payer, agent_id, task, options, true)?;
        let mut attempts = self.attempts(Some(&call.known), options.timeout);
        let (head, _) = self.post(&call, &mut attempts).await?;
        let (execution_id, idempotency_key) = (head.execution_id, call.known.key.clone());
        Ok(StartedCall { execution_id, idempotency_key, known: call.known })
    }

    /// The verified result of a call that was started.
    pub async fn wait(&self, started: &StartedCall) -> Result<Purchase, Error> {
        let mut attempts = self.attempts(Some(&started.known), None);
        let body = self.until_ended(started.execution_id, &mut attempts).await?;
        self.purchase(&body, Some(&started.known), &attempts).await
    }

    /// An execution as it is now. If it has a result, the result is verified.
    pub async fn get(&self, execution_id: Uuid) -> Result<ExecutionDetails, Error> {
        let attempts = self.attempts(None, None);
        let (details, body) = self.execution(execution_id, attempts.deadline).await?;
        if details.result.is_some() {
            self.purchase(&body, None, &attempts).await?;
        }
        Ok(details)
    }

    /// A page of the wallet's executions, newest first.
    pub async fn list(&self, filter: &ExecutionFilter) -> Result<ExecutionList, Error> {
        self.read(&with_query("/v1/executions", filter)).await
    }

    /// Checks an execution of the wallet, a refund too.
    pub async fn verify(&self, execution_id: Uuid) -> Result<Verification, Error> {
        let attempts = self.attempts(None, None);
        let (_, body) = self.execution(execution_id, attempts.deadline).await?;
        let claims = Claims::parse(&body).map_err(|_| attempts.last(malformed()))?;
        let checked = self.check(&claims, None, &attempts).await;
        checked.map_err(|problem| Error::from(problem).of_call(None, Some(execution_id)))
    }

    /// The events of the wallet after a number, oldest first, and then each one as it happens. No `types`: all of them. It
    /// ends after an error only.
    pub fn events(&self, after: i64, types: &[&str]) -> impl Stream<Item = Result<WalletEvent, Error>> + Send + use<> {
        let (client, types) = (self.clone(), types.join(","));
        let types = (!types.is_empty()).then_some(types);
        stream::try_unfold((client, after, VecDeque::new()), move |(client, mut after, mut page)| {
            let types = types.clone();
            async move {
                loop {
                    if let Some(event) = page.pop_front() {
                        return Ok(Some((event, (client, after, page))));
                    }
                    let query = json!({"after": after, "types": types, "wait": EVENT_WAIT_S});
                    let found: WalletEventList = client.read(&with_query("/v1/events", &query)).await?;
                    (after, page) = (found.next_after, found.events.into());
                }
            }
        })
    }

    pub(super) fn options(&self) -> &ClientOptions {
        &self.shared.options
    }

    pub(super) fn attempts(&self, call: Option<&Known>, timeout: Option<Duration>) -> Attempts {
        Attempts {
            deadline: later(timeout.unwrap_or(self.options().timeout)),
            key: call.map(|call| call.key.clone()),
            failures: 0,
            uncertain: false,
            opened: false,
            execution_id: None,
        }
    }

    async fn send(&self, request: &Request<'_>, deadline: Instant) -> Result<Reply, Broken> {
        let until = later(self.options().attempt_timeout).min(deadline);
        match &self.shared.payer {
            Payer::Nobody => self.shared.http.send(request, None, until).await,
            Payer::Key(key) => self.shared.http.send(request, Some(&key.reveal()), until).await,
            Payer::Wallet(wallet) => self.send_in_session(wallet, request, until).await,
        }
    }

    async fn read<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        let body = self.read_bytes(path, later(self.options().timeout)).await?;
        serde_json::from_slice(&body).map_err(|_| malformed())
    }

    /// A read, repeated where that can help.
    async fn read_bytes(&self, path: &str, deadline: Instant) -> Result<Vec<u8>, Error> {
        let mut attempts = Attempts { deadline, ..self.attempts(None, None) };
        let request = Request { method: Method::GET, path, body: None, idempotency_key: None };
        loop {
            let (error, retry_after) = match self.send(&request, deadline).await {
                Ok(reply) if reply.status == 200 && strict_json::check(&reply.body).is_ok() => return Ok(reply.body),
                Ok(reply) if reply.status == 200 => (malformed(), None),
                Ok(reply) => match reply.refused() {
                    Refused { error, retried: false, .. } => return Err(Problem::Api(error).into()),
                    Refused { error, .. } => (Problem::Api(error.clone()).into(), error.retry_after),
                },
                Err(broken) => (Problem::ConnectionFailed(broken.reason).into(), None),
            };
            match attempts.pause(self.options(), retry_after) {
                Some(pause) => sleep(pause).await,
                None => return Err(error),
            }
        }
    }

    /// The answer to a call, whatever happens to single requests: each repeats the same call under the same key.
    async fn post(&self, call: &Call<'_>, attempts: &mut Attempts) -> Result<(Head, Vec<u8>), Error> {
        let (mut path, mut idempotency_key) =
            (format!("/v1/agents/{}/execute", call.known.agent), Some(call.known.key.as_str()));
        if let Payer::Wallet(wallet) = &self.shared.payer {
            let (id, is_open) = self.open(wallet, call, attempts).await.map_err(|error| attempts.named(error))?;
            (attempts.opened, attempts.uncertain, attempts.execution_id) = (is_open, is_open, Some(id));
            (path, idempotency_key) = (format!("/v1/executions/{id}/dispatch"), None);
        }
        let request = Request { method: Method::POST, path: &path, body: Some(&call.body), idempotency_key };
        loop {
            let (error, retry_after) = match self.send(&request, attempts.deadline).await {
                Ok(reply) if (200..300).contains(&reply.status) => match head(&reply.body) {
                    Some(head) => {
                        (attempts.uncertain, attempts.execution_id) = (true, Some(head.execution_id));
                        return Ok((head, reply.body));
                    }
                    None => {
                        attempts.uncertain = true;
                        (malformed(), None)
                    }
                },
                Ok(reply) => {
                    let Refused { error, execution_id, retried, may_be_paid } = reply.refused();
                    attempts.execution_id = execution_id.or(attempts.execution_id);
                    let runs = error.code == ErrorCode::Conflict && retried;
                    // The key belongs to another call, so no attempt of this one was taken.
                    let is_other = error.code == ErrorCode::Conflict && !retried && !attempts.opened;
                    let is_end = error.is_end();
                    let (retry_after, error) = (error.retry_after, Problem::Api(error).into());
                    if is_end || is_other {
                        return Err(attempts.named(error));
                    }
                    attempts.uncertain |= may_be_paid || runs;
                    if runs {
                        // That is no failure, and it is followed as long as there is time.
                        attempts.failures = 0;
                    }
                    if !retried {
                        return Err(attempts.last(error));
                    }
                    (error, retry_after)
                }
                Err(broken) => {
                    attempts.uncertain |= broken.sent;
                    (Problem::ConnectionFailed(broken.reason).into(), None)
                }
            };
            match attempts.pause(self.options(), retry_after) {
                Some(pause) => sleep(pause).await,
                None => return Err(attempts.last(error)),
            }
        }
    }

    pub(super) async fn execution(&self, id: Uuid, deadline: Instant) -> Result<(ExecutionDetails, Vec<u8>), Error> {
        let body = self.read_bytes(&format!("/v1/executions/{id}"), deadline).await?;
        let details: ExecutionDetails = serde_json::from_slice(&body).map_err(|_| malformed())?;
        if details.execution_id != id {
            let detail = format!("the answer is of execution {}", details.execution_id);
            let refused = Problem::VerificationFailed { check: "identity", detail, checks: vec![], refused: None };
            return Err(Error::from(refused).of_call(None, Some(id)));
        }
        Ok((details, body))
    }

    /// The execution once it has ended. Fails if it was refunded.
    async fn until_ended(&self, id: Uuid, attempts: &mut Attempts) -> Result<Vec<u8>, Error> {
        attempts.execution_id = Some(id);
        let mut pause = self.options().first_pause.mul_f64(0.25);
        loop {
            let (details, body) = match self.execution(id, attempts.deadline).await {
                Ok(found) => found,
                Err(error) if error.failed_check().is_some() => return Err(attempts.named(error)),
                // Of a paid call this says nothing.
                Err(error) => {
                    attempts.uncertain = true;
                    return Err(attempts.last(error));
                }
            };
            if !details.status.is_under_way() {
                if details.status == ExecutionState::Failed && details.result.is_none() {
                    let failure = details.error.map(|failure| ApiError::new(0, &failure.code, &failure.message));
                    let refunded = || ApiError::new(0, "execution_failed", "it was refunded");
                    return Err(attempts.named(Problem::Api(failure.unwrap_or_else(refunded)).into()));
                }
                return Ok(body);
            }
            if later(pause) >= attempts.deadline {
                attempts.uncertain = true;
                let over = Problem::ConnectionFailed("the time is over, and it still runs".to_owned());
                return Err(attempts.last(over.into()));
            }
            sleep(pause).await;
            pause = pause.mul_f64(1.5).min(LONGEST_POLL);
        }
    }

    /// The node that the options name.
    pub(super) async fn own_node(&self) -> Option<&ChainClient> {
        let url = self.options().rpc_url.as_ref()?;
        Some(self.shared.node.get_or_init(|| async { ChainClient::new(url, NODE_TIMEOUT) }).await)
    }

    pub(super) async fn node(&self, attempts: &Attempts) -> Result<&ChainClient, Error> {
        if let Some(node) = self.own_node().await {
            return Ok(node);
        }
        let named = self.shared.node.get_or_try_init(|| async {
            let network = self.read_bytes("/v1/network", attempts.deadline).await?;
            let named: NamedNode = serde_json::from_slice(&network).map_err(|_| malformed())?;
            let why = "the service names no Solana node: set `rpc_url`, or `verify: false`".to_owned();
            let url = named.rpc_url.ok_or(Problem::NotVerified { why, unchecked: None })?;
            Ok(ChainClient::new(&url, NODE_TIMEOUT))
        });
        named.await
    }

    /// The result of an answer, verified.
    async fn purchase(&self, body: &[u8], call: Option<&Known>, attempts: &Attempts) -> Result<Purchase, Error> {
        let claims = Claims::parse(body).map_err(|_| attempts.last(malformed()))?;
        let steps = serde_json::from_slice::<Steps>(body).ok().and_then(|found| found.steps);
        let Some(bought) = bought(&claims, steps, call) else {
            let lost = "the execution is paid, and the service has no result of it";
            return Err(attempts.named(Problem::Api(ApiError::new(0, "result_unavailable", lost)).into()));
        };
        if !self.options().verify {
            return Ok(bought);
        }
        match self.check(&claims, call, attempts).await {
            Ok(Verification { checks, .. }) => Ok(Purchase { checks, ..bought }),
            Err(Problem::VerificationFailed { check, detail, checks, .. }) => {
                let refused = Some(Box::new(bought));
                Err(attempts.named(Problem::VerificationFailed { check, detail, checks, refused }.into()))
            }
            Err(Problem::NotVerified { why, .. }) => {
                Err(attempts.named(Problem::NotVerified { why, unchecked: Some(Box::new(bought)) }.into()))
            }
            Err(other) => Err(attempts.named(other.into())),
        }
    }

    /// Makes all checks. A node that is behind has some time.
    async fn check(&self, claims: &Claims, call: Option<&Known>, attempts: &Attempts) -> Result<Verification, Problem> {
        let deadline = attempts.deadline.max(later(CHECK_WITHIN));
        let until = later(self.options().node_patience).min(deadline);
        let node = self.node(attempts).await.map_err(|error| match *error.problem {
            Problem::NotVerified { why, .. } => Problem::NotVerified { why, unchecked: None },
            other => Problem::NotVerified { why: other.to_string(), unchecked: None },
        })?;
        let content =
            claims.result.clone().map(|result| ContentCopy { bytes: result.into(), source: "the answer".into() });
        let content = content.ok_or_else(|| "the answer has no result".to_owned());
        let claims = Claims { agent_id: call.map(|call| call.agent).or(claims.agent_id), ..claims.clone() };
        let mut pause = self.options().first_pause.mul_f64(0.25);
        let evidence = loop {
            let found = verify::collect(
                claims.clone(),
                self.options().program_id,
                node,
                content.clone(),
                // Records that were closed are left to `crtx verify`.
                |_, _, _| None,
            );
            let late = |_| Problem::NotVerified { why: "the Solana node takes too long".to_owned(), unchecked: None };
            let found = timeout_at(deadline, found).await.map_err(late)?.map_err(|error| {
                let detail = error.to_string();
                Problem::VerificationFailed { check: "record", detail, checks: vec![], refused: None }
            })?;
            if !is_behind(&found) || later(pause) >= until {
                break found;
            }
            sleep(pause).await;
            pause = pause.saturating_mul(2).min(LONGEST_POLL);
        };
        if let Some(why) = evidence.failed_node {
            return Err(Problem::NotVerified { why, unchecked: None });
        }
        let mut checks = verify::run(&evidence);
        if let Some(call) = call {
            self.compare(&evidence, call, &mut checks);
        }
        if let Some(Check { name: check, detail, .. }) = checks.iter().find(|check| !check.ok).cloned() {
            return Err(Problem::VerificationFailed { check, detail, checks, refused: None });
        }
        Ok(Verification { execution_id: claims.execution_id, outcome: MoneyOutcome::of(&evidence), checks })
    }

    /// What the caller knows by itself: its key leads to this execution, and the opening is of this request and this payer.
    fn compare(&self, evidence: &Evidence, call: &Known, checks: &mut Vec<Check>) {
        let payer = match &self.shared.payer {
            Payer::Key(key) => Some(Pubkey::new_from_array(key.session_public_key())),
            Payer::Wallet(wallet) => Some(wallet.address()),
            Payer::Nobody => None,
        };
        let id = evidence.claims.execution_id;
        let own = evidence.record.as_ref().map(|record| execution_id::from_idempotency_key(&record.caller, &call.key));
        if let (Ok(own), Some(identity)) = (own, checks.iter_mut().find(|check| check.name == "identity"))
            && own != id
        {
            (identity.ok, identity.detail) = (false, format!("the idempotency key belongs to execution {own}"));
        }
        let found = match &evidence.opening {
            Ok(opening) if opening.request_hash != call.request_hash => {
                Err(format!("the opening is of the request {}", ResultHash(opening.request_hash)))
            }
            Ok(opening) if payer.is_some_and(|payer| payer != opening.opened_by) => {
                Err(format!("{} opened the execution", opening.opened_by))
            }
            Ok(opening) => Ok(format!("{} opened the execution for this request", opening.opened_by)),
            Err(problem) => Err(format!("not checked: {problem}")),
        };
        let ok = found.is_ok();
        checks.push(Check { name: "request", ok, detail: found.unwrap_or_else(|detail| detail) });
    }
}

/// Whether the node lacks something that it can still get.
fn is_behind(evidence: &Evidence) -> bool {
    let ended = MoneyOutcome::of(evidence).is_some();
    evidence.failed_node.is_some() || !ended || evidence.opening.is_err() || evidence.ending.is_err()
}

fn bought(claims: &Claims, steps: Option<Vec<Value>>, call: Option<&Known>) -> Option<Purchase> {
    Some(Purchase {
        execution_id: claims.execution_id,
        result: claims.result.clone()?,
        result_hash: claims.result_hash?.to_string(),
        cost_usdc: claims.cost_usdc?,
        execution_time_ms: claims.execution_time_ms,
        tokens_used: claims.tokens_used,
        steps,
        on_chain_record: claims.on_chain_record.to_string(),
        ipfs_url: claims.ipfs_url.as_ref()?.to_string(),
        idempotency_key: call.map(|call| call.key.clone()),
        checks: vec![],
    })
}

/// An answer to a call, if it is one.
fn head(body: &[u8]) -> Option<Head> {
    strict_json::check(body).ok()?;
    let head: Head = serde_json::from_slice(body).ok()?;
    (head.status.is_under_way() || Claims::parse(body).is_ok()).then_some(head)
}

fn malformed() -> Error {
    Problem::ConnectionFailed("the answer is not one of the API".to_owned()).into()
}

/// Members that are null are left out.
fn with_query(path: &str, filter: &impl Serialize) -> String {
    let mut url = url::form_urlencoded::Serializer::for_suffix(format!("{path}?"), path.len().saturating_add(1));
    if let Ok(Value::Object(members)) = serde_json::to_value(filter) {
        for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
            url.append_pair(name, value.as_str().unwrap_or(&value.to_string()));
        }
    }
    url.finish()
}
