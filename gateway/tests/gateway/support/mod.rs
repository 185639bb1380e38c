//! A gateway on a real database. A scripted chain updates the accounts as the program would, and a creator's service
//! behaves as the test asks.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use agent_marketplace::state::{AgentListed, AgentStatus, Config, MarketParameters, SpendingGrant};
use anchor_lang::Discriminator;
use axum::{
    Json, Router,
    body::Body,
    extract::State,
    http::{Request, StatusCode},
    response::{IntoResponse, Response},
    routing::post,
};
use bytemuck::{Pod, Zeroable};
use chrono::TimeDelta;
use crtx_chain::{
    Execution as OnChain, FetchedAccount, Instructions,
    testing::{
        FakeRpc,
        program::{self, execution_account, program_account},
    },
    token::{TOKEN_PROGRAM_ID, TokenAccount},
};
use crtx_content::ContentLocation;
use crtx_gateway::{Gateway, GatewayConfig, GatewayKeys, Limits};
use crtx_http::{Links, outbound::OutboundPolicy, session_token::SessionToken};
use crtx_protocol::{
    address::Addresses,
    api_key::{ApiKey, KeyNetwork},
    call_text::OpeningId,
    cluster::Cluster,
    metadata::Metadata,
    result_hash::{CallProof, ResultHash, format_signature, sign_failure},
};
use crtx_store::{
    api_keys::{self, NewApiKey},
    executions::{Executions, StoredExecution},
    metadata::{self, WantedDocument},
    sessions::{self, NewSession, SessionKind},
    testing::TestDatabase,
};
use ed25519_dalek::SigningKey;
use prometheus_client::{encoding::text::encode, registry::Registry};
use serde_json::{Value, json};
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use solana_signer::Signer as _;
use solana_transaction::versioned::VersionedTransaction;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;
use uuid::Uuid;

pub const PRICE: u64 = 50_000;
pub const HOLDING: u64 = 5_000_000;

/// The parts of one test.
pub struct Market {
    pub database: TestDatabase,
    pub node: FakeRpc,
    pub config: GatewayConfig,
    pub gateway: Gateway,
    pub router: Router,
    pub key: ApiKey,
    pub wallet: Pubkey,
    pub agent: Pubkey,
    pub instructions: Instructions,
    /// Where the creator's service answers.
    pub endpoint: String,
    /// Number of calls that the creator's service received.
    pub calls: Arc<AtomicUsize>,
    _content: tempfile::TempDir,
}

/// An HTTP answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: axum::http::HeaderMap,
    pub body: Value,
}

impl Answer {
    pub fn code(&self) -> &str {
        self.body["error"]["code"].as_str().unwrap_or_else(|| panic!("an error body: {self:?}"))
    }

    pub fn message(&self) -> &str {
        self.body["error"]["message"].as_str().unwrap_or_else(|| panic!("an error body: {self:?}"))
    }

    pub fn execution_id(&self) -> Uuid {
        let id = self.body["execution_id"].as_str().or_else(|| self.body["error"]["execution_id"].as_str());
        id.unwrap_or_else(|| panic!("an execution id: {self:?}")).parse().expect("a UUID")
    }
}

/// How many instructions of this kind a transaction has.
pub fn count_instructions(transaction: &[u8], discriminator: &[u8]) -> usize {
    let transaction: VersionedTransaction = wincode::deserialize(transaction).expect("a transaction");
    transaction.message.instructions().iter().filter(|one| one.data.starts_with(discriminator)).count()
}

pub fn result_signer() -> SigningKey {
    SigningKey::from_bytes(&[7; 32])
}

impl Market {
    pub async fn start() -> Self {
        Self::start_with(Self::limits()).await
    }

    pub fn limits() -> Limits {
        Limits {
            open_patience: Duration::from_millis(400),
            settle_patience: Duration::from_millis(400),
            refund_patience: Duration::from_millis(400),
            lease: Duration::from_secs(2),
            resume_every: Duration::from_millis(50),
            rpc_timeout: Duration::from_secs(2),
            ..Limits::default()
        }
    }

    /// What the gateway counts, as Prometheus reads it.
    pub fn figures(&self) -> String {
        let (mut registry, mut text) = (Registry::default(), String::new());
        self.gateway.figures().register(&mut registry);
        encode(&mut text, &registry).unwrap();
        text
    }

    pub async fn start_with(limits: Limits) -> Self {
        let (database, node) = tokio::join!(TestDatabase::create(), FakeRpc::start());
        let instructions = Instructions::new(Addresses::new(agent_marketplace::ID), Pubkey::new_from_array([6; 32]));
        let (wallet, agent) = (Pubkey::new_from_array([11; 32]), Pubkey::new_from_array([12; 32]));
        let key = ApiKey::from_secret(KeyNetwork::Test, [13; 32]);
        let keypair = Arc::new(Keypair::new_from_array([14; 32]));
        let calls = Arc::new(AtomicUsize::new(0));
        let endpoint = creator_service(Arc::clone(&calls)).await;
        let content = tempfile::tempdir().expect("folder");
        let config = GatewayConfig {
            rpc_urls: node.url().parse().expect("a URL"),
            addresses: instructions.addresses,
            usdc_mint: instructions.usdc_mint,
            keypair: GatewayKeys::new(Arc::clone(&keypair), None),
            cluster: Cluster::Localnet,
            outbound: OutboundPolicy::LOCAL,
            links: Links::local("http://127.0.0.1:8080", node.url()),
            content: ContentLocation::Folder(content.path().to_owned()),
            limits,
        };
        let gateway = Gateway::new(config.clone(), database.pool().clone()).expect("gateway");
        let router = crtx_http::finish(crtx_gateway::api::router(gateway.clone()));
        let market = Self {
            database,
            node,
            config,
            gateway,
            router,
            key,
            wallet,
            agent,
            instructions,
            endpoint,
            calls,
            _content: content,
        };
        market.publish(&market.endpoint).await;
        market.fill_chain(keypair.pubkey());
        market
    }

    /// Stores the key's row and the agent's document, as the indexer does.
    async fn publish(&self, endpoint: &str) {
        let pool = self.database.pool();
        let session_public_key = self.session_key();
        let grant = self.instructions.addresses.grant(&self.wallet, &session_public_key);
        let key = NewApiKey { session_public_key, wallet: self.wallet, grant, name: "test", last_four: "abcd" };
        api_keys::register(pool, &key).await.expect("key");
        let document = json!({
            "name": "scripted", "tagline": "t", "description": "d", "tags": ["data"], "endpoint": endpoint,
            "input_schema": {
                "type": "object",
                "properties": {"behaviour": {"type": "string"}, "delay_ms": {"type": "integer"},
                    "after_calls": {"type": "integer"}},
            },
            "output_schema": {"type": "string"},
        });
        let parsed: Metadata = serde_json::from_value(document.clone()).expect("metadata");
        let wanted = WantedDocument {
            agent: self.agent,
            creator: Pubkey::new_from_array([16; 32]),
            sha256: [1; 32],
            uri: "ipfs://x".to_owned(),
            attempts: 0,
        };
        let bytes = document.to_string();
        metadata::store_document(pool, &wanted, bytes.as_bytes(), &document, &parsed).await.expect("document");
    }

    pub fn fill_chain(&self, gateway_authority: Pubkey) {
        let addresses = self.instructions.addresses;
        let mut config = Config::zeroed();
        config.gateway_authority = gateway_authority;
        config.treasury_owner = Pubkey::new_from_array([15; 32]);
        config.usdc_mint = self.instructions.usdc_mint;
        config.parameters = MarketParameters::DEFAULT;
        config.revision = 1;
        let mut listing = AgentListed::zeroed();
        listing.creator = Pubkey::new_from_array([16; 32]);
        listing.result_key = Pubkey::new_from_array(result_signer().verifying_key().to_bytes());
        listing.metadata_hash = [1; 32];
        listing.price = PRICE;
        listing.timeout_seconds = 1;
        listing.status = AgentStatus::Active as u8;
        listing.revision = 1;
        let mut grant = SpendingGrant::zeroed();
        grant.wallet = self.wallet;
        grant.session_key = self.session_key();
        grant.per_call_cap = 1_000_000;
        grant.total_cap = 100_000_000;
        grant.expires_at_unix_s = i64::MAX;
        grant.revision = 1;
        let spender = addresses.spender(&self.wallet);
        let usdc = TokenAccount {
            mint: self.instructions.usdc_mint,
            owner: self.wallet,
            amount: HOLDING,
            delegate: Some((spender, HOLDING)),
            frozen: false,
        };
        for owner in [listing.creator, config.treasury_owner] {
            self.set_token_account(self.instructions.usdc_of(&owner), owner, false);
        }
        self.set(addresses.config(), &config);
        self.set_listing(listing);
        self.set(addresses.grant(&self.wallet, &self.session_key()), &grant);
        self.set_usdc(usdc);
        self.set_sol(1_000_000_000_000);
        let mut script = self.node.script();
        script.effect = Box::new(program::execute);
        script.refuses = Box::new(program::refuses);
    }

    pub fn session_key(&self) -> Pubkey {
        Pubkey::new_from_array(self.key.session_public_key())
    }

    pub fn set<A: Pod + Discriminator>(&self, address: Pubkey, account: &A) {
        self.node.script().accounts.insert(address, program_account(account));
    }

    pub fn set_listing(&self, listing: AgentListed) {
        self.set(self.agent, &listing);
    }

    /// From now on the agent's results are signed for the call.
    pub fn bind(&self) {
        self.set_listing(AgentListed { binding: 1, ..self.listing() });
    }

    /// Sets the on-chain record of an execution. A record that is not open has no terms.
    pub fn set_record(&self, id: Uuid, mut execution: OnChain) {
        if execution.status() != Some(agent_marketplace::state::ExecutionStatus::Open) {
            execution.terms = None;
        }
        self.node.script().accounts.insert(self.record_address(id), execution_account(&execution));
    }

    /// Sets the deadline of an open record.
    pub fn set_deadline(&self, id: Uuid, unix_s: i64) {
        let mut execution = self.record(id).expect("a record");
        execution.terms.as_mut().expect("an open record").deadline_unix_s = unix_s;
        self.set_record(id, execution);
    }

    pub fn record_address(&self, id: Uuid) -> Pubkey {
        self.instructions.addresses.execution(&self.wallet, id.as_bytes())
    }

    pub fn set_usdc(&self, usdc: TokenAccount) {
        let address = self.instructions.usdc_of(&self.wallet);
        let account = FetchedAccount { owner: TOKEN_PROGRAM_ID, lamports: 1, data: usdc.encode() };
        self.node.script().accounts.insert(address, account);
    }

    /// Sets an empty USDC account.
    pub fn set_token_account(&self, address: Pubkey, owner: Pubkey, frozen: bool) {
        let account = TokenAccount { mint: self.instructions.usdc_mint, owner, amount: 0, delegate: None, frozen };
        let account = FetchedAccount { owner: TOKEN_PROGRAM_ID, lamports: 1, data: account.encode() };
        self.node.script().accounts.insert(address, account);
    }

    /// Sets the balance of the gateway's fee payer, in lamports.
    pub fn set_sol(&self, lamports: u64) {
        let account = FetchedAccount { owner: Pubkey::default(), lamports, data: Vec::new() };
        self.node.script().accounts.insert(self.gateway.authority(), account);
    }

    pub fn usdc(&self) -> TokenAccount {
        let script = self.node.script();
        TokenAccount::decode(&script.accounts[&self.instructions.usdc_of(&self.wallet)]).expect("token account")
    }

    pub fn listing(&self) -> AgentListed {
        crtx_chain::Layout::decode(&self.node.script().accounts[&self.agent].data).expect("listing")
    }

    pub fn grant(&self) -> SpendingGrant {
        let address = self.instructions.addresses.grant(&self.wallet, &self.session_key());
        crtx_chain::Layout::decode(&self.node.script().accounts[&address].data).expect("grant")
    }

    pub fn set_grant(&self, grant: &SpendingGrant) {
        self.set(self.instructions.addresses.grant(&self.wallet, &self.session_key()), grant);
    }

    /// The on-chain record of an execution.
    pub fn record(&self, id: Uuid) -> Option<OnChain> {
        let address = self.record_address(id);
        let script = self.node.script();
        script.accounts.get(&address).map(|account| crtx_chain::Layout::decode(&account.data).expect("record"))
    }

    /// The gateway's row of an execution.
    pub async fn row(&self, id: Uuid) -> StoredExecution {
        self.find(id).await.expect("a row")
    }

    /// The execution id for an idempotency key of the wallet.
    pub fn id_of(&self, idempotency_key: &str) -> Uuid {
        crtx_protocol::execution_id::from_idempotency_key(&self.wallet, idempotency_key)
    }

    pub fn creator_calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    /// The gateway's row, if there is one.
    pub async fn find(&self, id: Uuid) -> Option<StoredExecution> {
        let executions = Executions::new(self.database.pool().clone(), Duration::from_secs(1));
        let address = self.instructions.addresses.execution(&self.wallet, id.as_bytes());
        executions.get(&address).await.expect("database")
    }

    /// Makes a call through a separate gateway that is killed with all its work after `life`.
    pub async fn execute_and_die(&self, key: &str, body: &Value, life: Duration) {
        self.execute_in_a_short_life(key, body, tokio::time::sleep(life), false).await;
    }

    /// The same, killed once the creator has the request.
    pub async fn execute_and_die_at_the_creator(&self, key: &str, body: &Value) {
        self.execute_in_a_short_life(key, body, self.creator_asked(), false).await;
    }

    /// The same with a gateway that has shown a sign of life.
    pub async fn execute_at_work_and_die_at_the_creator(&self, key: &str, body: &Value) {
        self.execute_in_a_short_life(key, body, self.creator_asked(), true).await;
    }

    /// Returns once the creator has one request more than now.
    fn creator_asked(&self) -> impl Future<Output = ()> {
        let before = self.creator_calls();
        async move {
            while self.creator_calls() == before {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    }

    async fn execute_in_a_short_life(&self, key: &str, body: &Value, life: impl Future<Output = ()>, at_work: bool) {
        let (config, body) = (self.config.clone(), body.to_string());
        let options = (*self.database.pool().connect_options()).clone();
        let request = Request::builder()
            .method("POST")
            .uri(format!("/v1/agents/{}/execute", self.agent))
            .header("authorization", format!("Bearer {}", self.key.reveal()))
            .header("idempotency-key", key)
            .body(Body::from(body))
            .expect("request");
        let runtime = tokio::runtime::Runtime::new().expect("runtime");
        let (ready, started) = tokio::sync::oneshot::channel();
        runtime.spawn(async move {
            let pool = crtx_store::PgPool::connect_with(options).await.expect("database");
            let gateway = Gateway::new(config, pool.clone()).expect("gateway");
            if at_work {
                tokio::spawn(crtx_gateway::run(
                    gateway.clone(),
                    crtx_gateway::Recovery::Here,
                    CancellationToken::new(),
                ));
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            let router = crtx_gateway::api::router(gateway);
            let _ = ready.send(());
            let _ = router.oneshot(request).await;
        });
        started.await.expect("started");
        life.await;
        runtime.shutdown_background();
    }

    /// Starts a worker of this gateway.
    pub fn work(&self) -> Worker {
        let shutdown = CancellationToken::new();
        let task =
            tokio::spawn(crtx_gateway::run(self.gateway.clone(), crtx_gateway::Recovery::Here, shutdown.clone()));
        Worker { shutdown, task }
    }

    /// Runs a worker until the execution is finished.
    pub async fn resume(&self, id: Uuid) -> StoredExecution {
        let worker = self.work();
        let mut row = self.row(id).await;
        for _ in 0..600 {
            if row.state.is_finished() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
            row = self.row(id).await;
        }
        worker.stop().await;
        row
    }

    pub async fn execute(&self, body: &Value) -> Answer {
        self.execute_with(&[], body.to_string().into_bytes()).await
    }

    pub async fn behave(&self, behaviour: &str) -> Answer {
        self.execute(&json!({"task": "t", "parameters": {"behaviour": behaviour}})).await
    }

    /// With an `Idempotency-Key`.
    pub async fn execute_once(&self, key: &str, body: &Value) -> Answer {
        self.execute_with(&[("idempotency-key", key)], body.to_string().into_bytes()).await
    }

    pub async fn execute_with(&self, headers: &[(&str, &str)], body: Vec<u8>) -> Answer {
        let mut request = Request::builder()
            .method("POST")
            .uri(format!("/v1/agents/{}/execute", self.agent))
            .header("authorization", format!("Bearer {}", self.key.reveal()));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request.body(Body::from(body)).expect("request")).await
    }

    /// A bearer session of a wallet, as if it had signed in.
    pub async fn session_of(&self, wallet: Pubkey) -> SessionToken {
        self.session_with(wallet, SessionKind::Bearer, TimeDelta::hours(1)).await
    }

    pub async fn session_with(&self, wallet: Pubkey, kind: SessionKind, lifetime: TimeDelta) -> SessionToken {
        let token = SessionToken::generate().expect("randomness");
        let new =
            NewSession { token_hash: token.hash(), wallet, kind, lifetime, challenge: *Uuid::new_v4().as_bytes() };
        sessions::open(self.database.pool(), &new).await.expect("database").expect("a new challenge");
        token
    }

    /// Sends JSON, or no body, with the given headers.
    pub async fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&Value>) -> Answer {
        let request = headers
            .iter()
            .fold(Request::builder().method(method).uri(path), |request, (name, value)| request.header(*name, *value));
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        self.send(request.body(body).expect("request")).await
    }

    /// The same with a session.
    pub async fn ask_as(&self, token: &SessionToken, method: &str, path: &str, body: Option<&Value>) -> Answer {
        self.ask(method, path, &[("authorization", &format!("Bearer {}", token.reveal()))], body).await
    }

    pub async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.expect("infallible");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let bytes = axum::body::to_bytes(response.into_body(), 16 << 20).await.expect("body");
        let body = serde_json::from_slice(&bytes)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&bytes).into_owned()));
        Answer { status, headers, body }
    }
}

/// A worker that runs while the test runs.
pub struct Worker {
    shutdown: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

impl Worker {
    pub async fn stop(self) {
        self.shutdown.cancel();
        self.task.await.expect("worker");
    }
}

/// A creator's service; `parameters.behaviour` selects its answer.
async fn creator_service(calls: Arc<AtomicUsize>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("port");
    let url = format!("http://{}/execute", listener.local_addr().expect("bound"));
    let first = Arc::new(AtomicBool::new(true));
    let router = Router::new().route("/execute", post(creator)).with_state((calls, first));
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

type CreatorState = (Arc<AtomicUsize>, Arc<AtomicBool>);

async fn creator(State((calls, first)): State<CreatorState>, Json(request): Json<Value>) -> Response {
    let parameters = &request["parameters"];
    // Before the call is counted and before the first wait: a test may end the caller as soon as it sees the count,
    // which drops this future.
    let stalls = parameters["behaviour"] == "slow once" && first.swap(false, Ordering::SeqCst);
    calls.fetch_add(1, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(parameters["delay_ms"].as_u64().unwrap_or(0))).await;
    let after_calls = parameters["after_calls"].as_u64().unwrap_or(0);
    while u64::try_from(calls.load(Ordering::SeqCst)).expect("a count") < after_calls {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let result = format!("did {}", request["task"].as_str().expect("a task"));
    let hash = ResultHash::of(result.as_bytes());
    let record: Pubkey = request["execution_record"].as_str().expect("a record").parse().expect("an address");
    let opened_at_unix_s = request["opened_at_unix_s"].as_i64().expect("the second of the opening");
    let opening = OpeningId { record: record.to_bytes(), opened_at_unix_s };
    let proof = CallProof::sign(&result_signer(), &opening, &hash);
    let call_signature = |proof: CallProof| json!(format_signature(&proof.call_signature.expect("signed")));
    let mut answer = json!({
        "execution_id": request["execution_id"], "status": "completed", "result": result,
        "result_hash": hash.to_string(), "signature": format_signature(&proof.signature), "tokens_used": 3,
        "call_signature": call_signature(proof),
    });
    match parameters["behaviour"].as_str().unwrap_or("ok") {
        "fail" => {
            answer = json!({"execution_id": request["execution_id"], "status": "failed", "error": "out of ideas"});
            answer["failure_signature"] = json!(format_signature(&sign_failure(&result_signer(), &opening)));
        }
        "fail unsigned" => {
            answer = json!({"execution_id": request["execution_id"], "status": "failed", "error": "out of ideas"});
        }
        "fail signed for another opening" => {
            let earlier = OpeningId { opened_at_unix_s: opened_at_unix_s - 1, ..opening };
            answer = json!({"execution_id": request["execution_id"], "status": "failed", "error": "out of ideas"});
            answer["failure_signature"] = json!(format_signature(&sign_failure(&result_signer(), &earlier)));
        }
        "slow" => tokio::time::sleep(Duration::from_secs(5)).await,
        "slow once" if stalls => tokio::time::sleep(Duration::from_secs(600)).await,
        "bad_signature" => answer["signature"] = json!(format_signature(&[1; 64])),
        "no_call_signature" => answer["call_signature"] = Value::Null,
        "old_signature" => answer["call_signature"] = answer["signature"].clone(),
        "other_call" => {
            let other = OpeningId { record: [9; 32], ..opening };
            answer["call_signature"] = call_signature(CallProof::sign(&result_signer(), &other, &hash));
        }
        "other_opening" => {
            let earlier = OpeningId { opened_at_unix_s: opened_at_unix_s - 1, ..opening };
            answer["call_signature"] = call_signature(CallProof::sign(&result_signer(), &earlier, &hash));
        }
        "too_many_tokens" => answer["tokens_used"] = json!(1_000_000_001),
        "wrong_hash" => answer["result_hash"] = json!(ResultHash::of(b"else").to_string()),
        "wrong_execution_id" => answer["execution_id"] = json!(Uuid::from_u128(1)),
        "oversize" => answer["result"] = json!("x".repeat(2 << 20)),
        "not_json" => return (StatusCode::OK, "hello").into_response(),
        "panic" => panic!("on purpose: closes the connection"),
        _ => {}
    }
    Json(answer).into_response()
}
