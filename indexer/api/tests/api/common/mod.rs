//! A marketplace in a fresh database, with the read API in front of it.

use agent_marketplace::state::{AgentStatus, ClosedAgents};
use axum::{Router, body::Body, http::Request};
use chrono::TimeDelta;
use crtx_api::{ApiState, Deployment};
use crtx_chain::testing::FakeRpc;
use crtx_http::{Links, session_token::SessionToken};
use crtx_protocol::{
    api_key::{ApiKey, KeyNetwork},
    cluster::Cluster,
    usdc::UsdcBase,
    webhook::WebhookKey,
};
use crtx_store::{
    api_keys::{self, NewApiKey},
    sessions::{self, NewSession, SessionKind},
    testing::{TestDatabase, fixtures::*},
};
use serde_json::Value;
use solana_pubkey::Pubkey;
use tower::ServiceExt;
use uuid::Uuid;

pub struct Market {
    pub database: TestDatabase,
    pub node: FakeRpc,
    pub state: ApiState,
    pub router: Router,
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: axum::http::HeaderMap,
    pub body: Value,
}

impl Answer {
    pub fn code(&self) -> &str {
        self.body["error"]["code"].as_str().unwrap_or_default()
    }

    pub fn message(&self) -> &str {
        self.body["error"]["message"].as_str().unwrap_or_default()
    }

    /// The value of `member` in each element of `list`.
    pub fn each<'a>(&'a self, list: &str, member: &str) -> Vec<&'a str> {
        self.body[list].as_array().expect("a list").iter().map(|item| item[member].as_str().expect("text")).collect()
    }

    /// An error answer has exactly the body of `docs/specification.md`, "Error body".
    pub fn assert_error(&self, status: u16, code: &str) {
        assert_eq!((self.status, self.code()), (status, code), "{}", self.body);
        let error = self.body["error"].as_object().expect("an object");
        assert_eq!(error.keys().collect::<Vec<_>>().len(), 3, "{}", self.body);
        assert!(error["message"].is_string() && error.contains_key("execution_id"), "{}", self.body);
    }
}

/// A local deployment whose balances are read at `rpc_url`.
pub fn deployment(rpc_url: &str) -> Deployment {
    Deployment {
        cluster: Cluster::Localnet,
        addresses: addresses(),
        links: Links::local("http://market.example", "http://node.example"),
        rpc_urls: rpc_url.parse().expect("a URL"),
        public_rpc_url: Some("http://node.example".to_owned()),
        outbound_addresses: vec!["192.0.2.0/24".to_owned()],
        webhook_keys: vec![WebhookKey::of_gateway(&[1; 32]).statement(&agent_marketplace::ID)],
    }
}

impl Market {
    pub async fn open() -> Self {
        Self::open_with(|_| {}).await
    }

    /// With other parts in front of the database.
    pub async fn open_with(change: impl FnOnce(&mut ApiState)) -> Self {
        let database = TestDatabase::create().await;
        let node = FakeRpc::start().await;
        let mut state = ApiState::new(database.pool().clone(), deployment(node.url()));
        change(&mut state);
        Self { router: crtx_http::finish(crtx_api::router(state.clone())), state, node, database }
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(Request::get(path).body(Body::empty()).expect("request")).await
    }

    pub async fn get_as(&self, key: &ApiKey, path: &str) -> Answer {
        self.send(get_as(key, path)).await
    }

    /// The list of agents shows what the test has written before.
    pub async fn send(&self, request: Request<Body>) -> Answer {
        self.state.agent_list().refresh().await.expect("the list of agents is read");
        self.send_at_once(request).await
    }

    /// The list of agents is the one that the service has in memory.
    pub async fn send_at_once(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.expect("infallible");
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let bytes = axum::body::to_bytes(response.into_body(), 10_000_000).await.expect("body");
        Answer { status, headers, body: serde_json::from_slice(&bytes).expect("every answer is JSON") }
    }

    pub async fn get_in(&self, session: &SessionToken, path: &str) -> Answer {
        let request = Request::get(path).header("authorization", format!("Bearer {}", session.reveal()));
        self.send(request.body(Body::empty()).expect("request")).await
    }

    /// A session of `wallet`, as if it had signed in.
    pub async fn session_of(&self, wallet: Pubkey, kind: SessionKind, lifetime: TimeDelta) -> SessionToken {
        let token = SessionToken::generate().expect("randomness");
        let new =
            NewSession { token_hash: token.hash(), wallet, kind, lifetime, challenge: *Uuid::new_v4().as_bytes() };
        sessions::open(self.database.pool(), &new).await.expect("stored").expect("a new challenge");
        token
    }

    /// Makes an API key of `wallet`.
    pub async fn key_of(&self, wallet: Pubkey) -> ApiKey {
        let key = ApiKey::generate(KeyNetwork::Test).expect("randomness");
        let session_public_key = Pubkey::new_from_array(key.session_public_key());
        let new = NewApiKey {
            session_public_key,
            wallet,
            grant: addresses().grant(&wallet, &session_public_key),
            name: "test",
            last_four: "abcd",
        };
        api_keys::register(self.database.pool(), &new).await.expect("stored");
        key
    }
}

/// A request with that key.
pub fn get_as(key: &ApiKey, path: &str) -> Request<Body> {
    let request = Request::get(path).header("authorization", format!("Bearer {}", key.reveal()));
    request.body(Body::empty()).expect("request")
}

/// Three active agents and a paused one that differ in everything that is sorted or filtered by.
pub async fn market_of_agents() -> Market {
    let market = Market::open().await;
    let pool = market.database.pool();
    let mut ada = profile(wallet(1), "Ada", true);
    ada.closed = ClosedAgents {
        agents: 1,
        completed_executions: 8,
        successful_executions: 7,
        failed_executions: 6,
        unproved_failures: 9,
        expired_executions: 5,
        disputed_executions: 4,
        slashed_total: 3_000_000,
        platform_fees_total: 2_000,
    };
    put(pool, &wallet(101), 1, &ada).await;
    put(pool, &wallet(102), 1, &profile(wallet(2), "Bob", false)).await;
    for (creator, name, tags, price, total, successful, fees, age) in [
        (1, "alpha", &["data", "finance"][..], 50_000, 10, 9, 4_501, 3),
        (2, "beta", &["data"][..], 10_000, 30, 15, 1_500, 2),
        (3, "gamma", &["code", "custom-tag"][..], 2_000_000, 20, 20, 4_049, 1),
    ] {
        let mut listing = listing(wallet(creator), 0);
        listing.price = price;
        listing.total_executions = total;
        listing.successful_executions = successful;
        listing.completed_executions = successful;
        listing.failed_executions = total - successful;
        listing.expired_executions = 50;
        listing.platform_fees_total = fees;
        listing.binding = u8::from(creator == 1);
        listing.timed_executions = successful;
        listing.execution_time_ms_total = successful * 150;
        listing.created_at_unix_s = NOON - age * 60;
        let agent = show(pool, listing, name, tags).await;
        give_trust(pool, &agent, UsdcBase(fees)).await;
    }
    let mut paused = listing(wallet(1), 9);
    paused.status = AgentStatus::Paused as u8;
    show(pool, paused, "paused", &["data"]).await;
    market
}
