//! What is decided about a request before its body is read: its client may never send it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use crate::support::{Answer, Market, PRICE};
use agent_marketplace::state::{AgentStatus, SpendingGrant};
use axum::{
    body::{Body, Bytes},
    http::Request,
};
use crtx_chain::token::TokenAccount;
use crtx_protocol::{
    api_key::{ApiKey, KeyNetwork},
    content::cid_of,
    result_hash::ResultHash,
};
use crtx_store::testing::fixtures::{self, put};
use futures::StreamExt;
use serde_json::json;
use solana_pubkey::Pubkey;

/// Longer than any decision takes.
const SOON: Duration = Duration::from_secs(20);

/// A body of which these bytes come, and then nothing. Says whether somebody has asked for it.
fn unfinished(first: Vec<u8>) -> (Body, Arc<AtomicBool>) {
    let asked = Arc::new(AtomicBool::new(false));
    let noted = Arc::clone(&asked);
    let first = futures::stream::once(async move {
        noted.store(true, Ordering::Relaxed);
        Ok::<_, std::io::Error>(Bytes::from(first))
    });
    (Body::from_stream(first.chain(futures::stream::pending())), asked)
}

fn call(agent: &str, key: &ApiKey, headers: &[(&str, &str)], body: Body) -> Request<Body> {
    let mut request = Request::post(format!("/v1/agents/{agent}/execute"))
        .header("authorization", format!("Bearer {}", key.reveal()))
        .header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(body).unwrap()
}

async fn in_time(market: &Market, request: Request<Body>) -> Answer {
    tokio::time::timeout(SOON, market.send(request)).await.expect("it is decided without the body")
}

/// The status and the code of a call whose body never comes.
async fn decided(market: &Market, agent: &str, key: &ApiKey) -> (u16, String) {
    let (body, asked) = unfinished(Vec::new());
    let answer = in_time(market, call(agent, key, &[], body)).await;
    assert!(!asked.load(Ordering::Relaxed), "nobody asks for the body: {answer:?}");
    (answer.status, answer.code().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_cannot_be_paid_is_refused_before_its_body_is_read() {
    let market = Market::start().await;
    let agent = market.agent.to_string();
    let refused = |status: u16, code: &str| (status, code.to_owned());
    let stranger = ApiKey::from_secret(KeyNetwork::Test, [99; 32]);
    assert_eq!(decided(&market, &agent, &stranger).await, refused(401, "unauthorized"));
    assert_eq!(decided(&market, "nonsense", &market.key).await, refused(404, "agent_not_found"));
    let nobody = Pubkey::new_unique().to_string();
    assert_eq!(decided(&market, &nobody, &market.key).await, refused(404, "agent_not_found"));

    let (usdc, grant, listing) = (market.usdc(), market.grant(), market.listing());
    market.set_usdc(TokenAccount { amount: PRICE - 1, ..usdc });
    assert_eq!(decided(&market, &agent, &market.key).await, refused(402, "insufficient_balance"));
    market.set_usdc(usdc);
    market.set_grant(&SpendingGrant { per_call_cap: PRICE - 1, ..grant });
    assert_eq!(decided(&market, &agent, &market.key).await, refused(403, "forbidden"));
    market.set_grant(&SpendingGrant { revoked: 1, ..grant });
    assert_eq!(decided(&market, &agent, &market.key).await, refused(401, "unauthorized"));
    market.set_grant(&grant);
    let mut paused = listing;
    paused.status = AgentStatus::Paused as u8;
    market.set_listing(paused);
    assert_eq!(decided(&market, &agent, &market.key).await, refused(422, "agent_paused"));
    let mut unread = listing;
    unread.metadata_hash = [77; 32];
    market.set_listing(unread);
    assert_eq!(decided(&market, &agent, &market.key).await, refused(404, "agent_not_found"));
    market.set_listing(listing);

    for headers in [("content-type", "text/plain"), ("idempotency-key", "a b")] {
        let (body, asked) = unfinished(Vec::new());
        let mut request = call(&agent, &market.key, &[], body);
        request.headers_mut().insert(headers.0, headers.1.parse().unwrap());
        let answer = in_time(&market, request).await;
        assert!(matches!(answer.status, 400 | 415) && !asked.load(Ordering::Relaxed), "{answer:?}");
    }
    assert_eq!(market.creator_calls(), 0);
    assert_eq!(market.execute(&json!({"task": "t"})).await.status, 200, "the market is as before");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_call_gets_its_answer_whatever_its_wallet_and_its_agent_are_by_now() {
    let market = Market::start().await;
    let body = json!({"task": "t"});
    let first = market.execute_once("once", &body).await;
    assert_eq!(first.status, 200, "{first:?}");
    market.set_usdc(TokenAccount { amount: 0, ..market.usdc() });
    let mut paused = market.listing();
    paused.status = AgentStatus::Paused as u8;
    market.set_listing(paused);
    let again = market.execute_once("once", &body).await;
    assert_eq!((again.status, &again.body), (200, &first.body));
    let other = market.execute_once("once", &json!({"task": "u"})).await;
    assert_eq!((other.status, other.code()), (409, "conflict"), "{other:?}");
    assert_eq!(market.execute_once("new", &body).await.status, 422);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_body_is_checked_against_what_holds_when_it_has_come() {
    let market = Market::start().await;
    let (sender, receiver) = futures::channel::mpsc::unbounded::<Result<Bytes, std::io::Error>>();
    let request = call(&market.agent.to_string(), &market.key, &[], Body::from_stream(receiver));
    let router = market.router.clone();
    let slow = tokio::spawn(async move { tower::ServiceExt::oneshot(router, request).await.unwrap().status() });
    tokio::time::sleep(Duration::from_millis(900)).await;
    market.set_usdc(TokenAccount { amount: PRICE - 1, ..market.usdc() });
    sender.unbounded_send(Ok(Bytes::from_static(br#"{"task":"t"}"#))).unwrap();
    drop(sender);
    assert_eq!(slow.await.unwrap(), 402);
    assert_eq!(market.creator_calls(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wallet_sends_few_long_calls_at_a_time_and_its_short_ones_do_not_wait() {
    let market = Market::start().await;
    let agent = market.agent.to_string();
    let long = || unfinished([br#"{"task":""#.to_vec(), vec![b'x'; 80_000]].concat()).0;
    let mut held = Vec::new();
    for _ in 0..4 {
        let (router, request) = (market.router.clone(), call(&agent, &market.key, &[], long()));
        held.push(tokio::spawn(tower::ServiceExt::oneshot(router, request)));
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let fifth = in_time(&market, call(&agent, &market.key, &[], long())).await;
    assert_eq!((fifth.status, fifth.code()), (429, "rate_limited"), "{fifth:?}");
    let policy = fifth.headers["ratelimit-policy"].to_str().unwrap();
    assert!(policy.contains("large-requests-per-wallet"), "{policy}");
    assert_eq!(market.execute(&json!({"task": "short"})).await.status, 200);
    held.iter().for_each(tokio::task::JoinHandle::abort);
    tokio::time::sleep(Duration::from_millis(100)).await;
    let whole = json!({"task": "x".repeat(200_000)});
    assert_eq!(market.execute(&whole).await.status, 200, "their places are free again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wallets_own_execution_that_is_not_there_is_refused_before_the_body_is_read() {
    let market = Market::start().await;
    let session = market.session_of(market.wallet).await;
    let (body, asked) = unfinished(Vec::new());
    let request = Request::post(format!("/v1/executions/{}/dispatch", uuid::Uuid::new_v4()))
        .header("authorization", format!("Bearer {}", session.reveal()))
        .header("content-type", "application/json");
    let answer = in_time(&market, request.body(body).unwrap()).await;
    assert_eq!((answer.status, answer.code()), (404, "execution_not_found"), "{answer:?}");
    assert!(!asked.load(Ordering::Relaxed));
}

#[tokio::test(flavor = "multi_thread")]
async fn content_that_is_here_is_answered_before_it_is_read_again() {
    let market = Market::start().await;
    let hash = ResultHash::of(b"document");
    let listing =
        agent_marketplace::state::AgentListed { metadata_hash: hash.0, ..fixtures::listing(fixtures::wallet(3), 0) };
    put(market.database.pool(), &Pubkey::new_unique(), 10, &listing).await;
    let path = format!("/ipfs/{}", cid_of(&hash));
    let first = market.send(Request::put(&path).body(Body::from("document")).unwrap()).await;
    assert_eq!(first.status, 201, "{first:?}");
    let (body, asked) = unfinished(Vec::new());
    let again = in_time(&market, Request::put(&path).body(body).unwrap()).await;
    assert_eq!((again.status, &again.body), (200, &first.body));
    assert!(!asked.load(Ordering::Relaxed));

    let session = market.session_of(market.wallet).await;
    let own = Request::put(format!("/ipfs/{}", cid_of(&ResultHash::of(b"own"))));
    let own = own.header("authorization", format!("Bearer {}", session.reveal()));
    assert_eq!(market.send(own.body(Body::from("own")).unwrap()).await.status, 201);
    let (body, asked) = unfinished(Vec::new());
    let own = Request::put(format!("/ipfs/{}", cid_of(&ResultHash::of(b"own"))));
    let own = own.header("authorization", format!("Bearer {}", session.reveal()));
    let again = in_time(&market, own.body(body).unwrap()).await;
    assert_eq!((again.status, &again.body["size"]), (200, &json!(3)), "{again:?}");
    assert!(!asked.load(Ordering::Relaxed));
}
