//! Who may do what over HTTP, on a running marketplace: sessions, cookies, challenges, and every owner endpoint with
//! every wrong credential.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests"
)]

use std::time::Instant;

use agent_marketplace::instructions::OpenDisputeArgs;
use crtx_e2e::{
    Info, Up,
    chain::Chain,
    endpoints::{Endpoint, endpoints},
    market::{Answer, Market},
    server::{Server, until_listed, without_services},
    session::{Headers, Session, ask, bearer, challenge, registration, sign_in, sign_in_body, signature},
};
use crtx_protocol::{api_key::ApiKey, content::cid_of, result_hash::ResultHash};
use crtx_store::{
    PgPool,
    testing::probes::{expire_session, held_pieces},
};
use reqwest::Method;
use serde_json::{Value, json};
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use solana_signer::Signer;

const KEY_NAME: &str = "the key of the victim";
const EVIDENCE: &str = "The evidence of the victim.";
const WEBHOOK: &str = "http://127.0.0.1:9/of-the-victim";

/// A wallet with a key, executions, a dispute and content.
struct Victim {
    market: Market,
    chain: Chain,
    pool: PgPool,
    session: Session,
    key: ApiKey,
    /// Paid with the key, and disputed.
    execution: String,
    dispute: String,
    webhook: String,
}

fn refused(answer: &Answer, status: u16, code: &str) {
    assert_eq!((answer.status.as_u16(), answer.error_code()), (status, code), "{answer:?}");
}

fn session_key(key: &ApiKey) -> String {
    Pubkey::new_from_array(key.session_public_key()).to_string()
}

fn cookie(token: &str, csrf_token: &str) -> Headers {
    vec![("cookie", format!("crtx_session={token}")), ("x-csrf-token", csrf_token.to_owned())]
}

impl Victim {
    async fn of(up: &Up, folder: &std::path::Path) -> Self {
        let market = Market::new(up.info().clone());
        let chain = Chain::of(&market, folder);
        let session = Session::bearer(&market, &chain.wallet).await;
        let key = session.new_key(&market, &chain, &chain.wallet, KEY_NAME).await;
        let path = format!("/v1/agents/{}/execute", market.agent("text-stats"));
        let paid = ask(&market, Method::POST, &path, &bearer(&key.reveal()), Some(&json!({"task": "One. Two."}))).await;
        assert_eq!(paid.status, 200, "{paid:?}");
        let execution = paid.text("execution_id").to_owned();
        let stored = session.ask(&market, Method::POST, "/v1/evidence", Some(&json!({"text": EVIDENCE}))).await;
        assert_eq!(stored.status, 201, "{stored:?}");
        let hash: ResultHash = stored.text("hash").parse().unwrap();
        let record = chain.record(&execution);
        let (wallet, agent) = (chain.wallet.pubkey(), market.agent("text-stats").parse().unwrap());
        let evidence = OpenDisputeArgs { evidence_hash: hash.0, evidence_uri: stored.text("uri").to_owned() };
        chain.send(chain.build.open_dispute(&wallet, &wallet, &agent, &record, evidence), &[&chain.wallet]).await;
        let dispute = chain.build.addresses.dispute(&record).to_string();
        let pool = crtx_store::testing::connect(&market.info.database_url, 2).await.unwrap();
        let webhook = json!({"url": WEBHOOK, "types": ["webhook.disabled"]});
        let created = session.ask(&market, Method::POST, "/v1/webhooks", Some(&webhook)).await;
        assert_eq!(created.status, 201, "{created:?}");
        let webhook = created.text("webhook_id").to_owned();
        let victim = Self { market, chain, pool, session, key, execution, dispute, webhook };
        victim.until_the_index_shows_it().await;
        victim
    }

    async fn until_the_index_shows_it(&self) {
        let started = Instant::now();
        loop {
            // The dispute and its record are two accounts.
            let shown = self.session.ask(&self.market, Method::GET, "/v1/disputes?status=open", None).await;
            let record = self.session.ask(&self.market, Method::GET, "/v1/executions?status=disputed", None).await;
            if (&shown.body["total"], &record.body["total"]) == (&json!(1), &json!(1)) {
                return;
            }
            assert!(started.elapsed().as_secs() < 60, "{shown:?}");
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    }

    /// The path of an endpoint with what belongs to the victim.
    fn path(&self, endpoint: &Endpoint) -> String {
        endpoint.at(|name| match name {
            "execution_id" => self.execution.clone(),
            "session_id" => self.session.id.clone(),
            "session_public_key" => session_key(&self.key),
            "wallet" => self.chain.wallet.pubkey().to_string(),
            "agent_id" => self.market.agent("text-stats"),
            "id" => self.dispute.clone(),
            "webhook_id" => self.webhook.clone(),
            "cid" => cid_of(&ResultHash::of(b"nothing refers to this")),
            other => panic!("this test needs a value of the victim's for the new parameter `{other}` of {endpoint:?}"),
        })
    }

    /// A body that the victim could send. An endpoint that is not known here gets an empty object.
    fn body(&self, endpoint: &Endpoint) -> Option<Value> {
        endpoint.has_body.then(|| match endpoint.operation.as_str() {
            "register_key" => registration(&self.market, &self.chain.wallet, &self.key, KEY_NAME),
            "rename_key" => json!({"name": "renamed by a stranger"}),
            "dispatch_execution" | "execute" => json!({"task": "One. Two."}),
            "create_evidence" => json!({"text": "a statement of a stranger"}),
            "change_webhook" => json!({"enabled": false}),
            "replay_webhook" => json!({"from": 1, "through": 1, "start": true}),
            _ => json!({}),
        })
    }

    async fn send(&self, endpoint: &Endpoint, headers: &Headers) -> Answer {
        let body = self.body(endpoint);
        ask(&self.market, endpoint.method.clone(), &self.path(endpoint), headers, body.as_ref()).await
    }

    /// Everything that the victim sees of itself, what it may store, and what the parties hold.
    async fn state(&self) -> Vec<Value> {
        let mut state = Vec::new();
        for path in [
            "/v1/sessions",
            "/v1/keys",
            "/v1/executions",
            "/v1/disputes",
            "/v1/webhooks",
            &format!("/v1/webhooks/{}/deliveries", self.webhook),
            &format!("/v1/executions/{}", self.execution),
            &format!("/v1/disputes/{}", self.dispute),
            &format!("/v1/wallets/{}", self.chain.wallet.pubkey()),
        ] {
            let mut answer = self.session.ask(&self.market, Method::GET, path, None).await;
            assert_eq!(answer.status, 200, "{path}: {answer:?}");
            forget_uses(&mut answer.body);
            state.push(answer.body);
        }
        state.push(json!(held_pieces(&self.pool, &self.chain.wallet.pubkey()).await));
        state.push(json!(format!("{:?}", self.market.balances().await)));
        state
    }

    /// Sessions of the victim that are over, as their owner still has them.
    async fn over(&self) -> [(&'static str, Session); 4] {
        let (market, wallet) = (&self.market, &self.chain.wallet);
        let ended = [Session::bearer(market, wallet).await, Session::cookie(market, wallet).await];
        for session in &ended {
            let path = format!("/v1/sessions/{}", session.id);
            assert_eq!(self.session.ask(market, Method::DELETE, &path, None).await.status, 204);
        }
        let expired = [Session::bearer(market, wallet).await, Session::cookie(market, wallet).await];
        for session in &expired {
            let works = session.ask(market, Method::GET, "/v1/sessions", None).await;
            assert_eq!(works.status, 200, "{works:?}");
            expire_session(&self.pool, session.id.parse().unwrap()).await;
        }
        let ([bearer, cookie], [old_bearer, old_cookie]) = (ended, expired);
        [
            ("an ended session", bearer),
            ("an ended cookie", cookie),
            ("an expired session", old_bearer),
            ("an expired cookie", old_cookie),
        ]
    }
}

/// Times of use change with every request.
fn forget_uses(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.remove("last_used_at");
            // Of a webhook: how far its events were looked through.
            members.remove("taken");
            members.values_mut().for_each(forget_uses);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_uses),
        _ => {}
    }
}

/// Credentials that are no session. `cookie` and `csrf_token` are of a browser's session that holds.
fn malformed(api_key: &str, session: &Session, browser: &Session) -> Vec<(&'static str, Headers)> {
    let csrf = browser.csrf_token.as_deref().unwrap();
    let unknown = format!("crtx_session_{}", bs58::encode([7; 32]).into_string());
    let twice = format!("crtx_session={}; crtx_session={}", browser.token, browser.token);
    vec![
        ("no scheme", vec![("authorization", session.token.clone())]),
        ("another scheme", vec![("authorization", format!("Basic {}", session.token))]),
        ("two headers", [bearer(&session.token), bearer(&session.token)].concat()),
        ("a session token without digits", bearer("crtx_session_")),
        ("a session token that is cut", bearer(&session.token[..session.token.len() - 2])),
        ("an unknown session token", bearer(&unknown)),
        ("the session's id", bearer(&format!("crtx_session_{}", session.id))),
        ("the token of a cookie as bearer", bearer(&browser.token)),
        ("the token of a bearer as cookie", cookie(&session.token, csrf)),
        ("an API key as cookie", cookie(api_key, csrf)),
        ("an unknown cookie", cookie(&unknown, csrf)),
        ("two cookies", vec![("cookie", twice), ("x-csrf-token", csrf.to_owned())]),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn every_owner_endpoint_refuses_every_wrong_credential() {
    let folder = crtx_e2e::folder();
    let mut up = Up::start(folder.path(), &[]).await.unwrap();
    let victim = Victim::of(&up, folder.path()).await;
    let browser = Session::cookie(&victim.market, &victim.chain.wallet).await;
    let over = victim.over().await;
    let api_key = victim.key.reveal();
    let all = endpoints(&victim.market).await;
    let owned: Vec<_> = all.iter().filter(|endpoint| endpoint.is_for_sessions()).collect();
    assert!(owned.len() >= 17, "{owned:?}");
    let before = victim.state().await;
    for endpoint in owned {
        let anonymous = victim.send(endpoint, &vec![]).await;
        if !endpoint.is_open {
            refused(&anonymous, 401, "unauthorized");
        }
        for (what, headers) in malformed(&api_key, &victim.session, &browser) {
            let answer = victim.send(endpoint, &headers).await;
            // Whether the session holds is not asked before the token against forged requests matches.
            let is_forged = answer.status == 403 && !endpoint.method.is_safe() && headers[0].0 == "cookie";
            if !is_forged {
                is_refused(endpoint, what, &answer, &anonymous);
            }
        }
        if !endpoint.credentials.contains("api_key") {
            let answer = victim.send(endpoint, &bearer(&api_key)).await;
            is_refused(endpoint, "an API key in place of a session", &answer, &anonymous);
        }
        for (what, session) in &over {
            let answer = victim.send(endpoint, &session.headers()).await;
            assert_eq!((answer.status.as_u16(), answer.error_code()), (401, "unauthorized"), "{what}: {endpoint:?}");
        }
        // A browser sends the cookie with a request of any page, also of a foreign one.
        if !endpoint.method.is_safe() {
            let csrf = "x-csrf-token";
            let alone: Headers = browser.headers().into_iter().filter(|(name, _)| *name != csrf).collect();
            refused(&victim.send(endpoint, &alone).await, 403, "forbidden");
        }
    }
    let only_with_key = all.iter().filter(|endpoint| !endpoint.is_open && !endpoint.is_for_sessions());
    for endpoint in only_with_key {
        for headers in [vec![], victim.session.headers(), browser.headers()] {
            refused(&victim.send(endpoint, &headers).await, 401, "unauthorized");
        }
    }
    assert_eq!(victim.state().await, before, "nothing of the victim has changed");
    up.stop().await.unwrap();
}

/// 401; at an endpoint that answers everybody, at most what everybody gets.
#[track_caller]
fn is_refused(endpoint: &Endpoint, what: &str, answer: &Answer, anonymous: &Answer) {
    if endpoint.is_open && answer.status != 401 {
        assert_eq!((answer.status, &answer.body), (anonymous.status, &anonymous.body), "{what}: {endpoint:?}");
    } else {
        assert_eq!((answer.status.as_u16(), answer.error_code()), (401, "unauthorized"), "{what}: {endpoint:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_session_of_another_wallet_sees_and_changes_nothing() {
    let folder = crtx_e2e::folder();
    let mut up = Up::start(folder.path(), &[]).await.unwrap();
    let victim = Victim::of(&up, folder.path()).await;
    let (market, stranger) = (&victim.market, Keypair::new());
    let sessions = [Session::bearer(market, &stranger).await, Session::cookie(market, &stranger).await];
    let before = victim.state().await;
    let secrets = [KEY_NAME, EVIDENCE, WEBHOOK, &victim.session.id, &victim.key.last_four(), &victim.dispute];
    for endpoint in endpoints(market).await.iter().filter(|endpoint| endpoint.is_for_sessions()) {
        for session in &sessions {
            // A page that shows the victim, in a browser that the stranger signed in with.
            let named = [session.headers(), vec![("x-crtx-wallet", victim.chain.wallet.pubkey().to_string())]].concat();
            refused(&victim.send(endpoint, &named).await, 409, "conflict");
            let answer = victim.send(endpoint, &session.headers()).await;
            let shown = answer.body.to_string();
            assert!(!secrets.iter().any(|secret| shown.contains(*secret)), "{endpoint:?}: {answer:?}");
            check_foreign(endpoint, &answer);
        }
    }
    assert_eq!(victim.state().await, before, "nothing of the victim has changed");
    assert_eq!(held_pieces(&victim.pool, &stranger.pubkey()).await, 1, "its evidence counts for the stranger");
    what_a_stranger_stores_counts_for_it_alone(&victim, &stranger, &sessions[0]).await;
    a_full_store_of_one_wallet_is_not_the_others(&victim, &stranger, &sessions[0]).await;
    up.stop().await.unwrap();
}

/// What a stranger gets for the ids of the victim.
fn check_foreign(endpoint: &Endpoint, answer: &Answer) {
    let empty = |list: &str| {
        assert_eq!((answer.status.as_u16(), &answer.body[list], &answer.body["total"]), (200, &json!([]), &json!(0)));
    };
    match endpoint.operation.as_str() {
        "list_keys" => empty("keys"),
        "list_executions" => empty("executions"),
        "list_disputes" => empty("disputes"),
        "get_execution_totals" => {
            assert_eq!((answer.status.as_u16(), &answer.body["groups"]), (200, &json!([])), "{answer:?}");
            assert_eq!(answer.body["total"]["executions"], 0, "{answer:?}");
        }
        "get_agent_health" => refused(answer, 404, "agent_not_found"),
        "list_sessions" => assert_eq!(answer.body["sessions"].as_array().unwrap().len(), 2, "{answer:?}"),
        "get_wallet" => {
            assert_eq!(answer.status, 200, "{answer:?}");
            let members = answer.body.as_object().unwrap();
            assert!(!members.contains_key("withdrawable") && !members.contains_key("refundable"), "{answer:?}");
        }
        "list_events" => assert_eq!((&answer.body["events"], &answer.body["newest"]), (&json!([]), &json!(0))),
        "list_webhooks" => assert_eq!((answer.status.as_u16(), &answer.body["webhooks"]), (200, &json!([]))),
        "create_webhook" => refused(answer, 400, "invalid_request"),
        "change_webhook"
        | "delete_webhook"
        | "test_webhook"
        | "rotate_webhook_secret"
        | "list_webhook_deliveries"
        | "replay_webhook"
        | "cancel_webhook_replay" => refused(answer, 404, "not_found"),
        "register_key" => refused(answer, 400, "invalid_request"),
        "rename_key" | "revoke_key" | "get_session" | "end_session" => refused(answer, 404, "not_found"),
        "stream_events" => {
            assert_eq!((answer.status.as_u16(), &answer.body), (200, &json!("retry: 1000\nid: 0\n\n")));
        }
        "get_execution" | "dispatch_execution" | "stream_execution_events" => {
            refused(answer, 404, "execution_not_found")
        }
        "get_dispute" => assert_eq!(answer.status, 404, "{answer:?}"),
        // A stranger stores in its own name, if what it stores is good.
        "create_evidence" => assert_eq!(answer.status, 201, "{answer:?}"),
        "put_content" | "create_metadata" | "test_agent" => refused(answer, 400, "invalid_request"),
        other => panic!("this test needs to know what a stranger gets at the new endpoint `{other}`"),
    }
}

async fn what_a_stranger_stores_counts_for_it_alone(victim: &Victim, stranger: &Keypair, session: &Session) {
    let market = &victim.market;
    let held = async || {
        let wallets = [stranger.pubkey(), victim.chain.wallet.pubkey()];
        [held_pieces(&victim.pool, &wallets[0]).await, held_pieces(&victim.pool, &wallets[1]).await]
    };
    let before = held().await;
    let content = json!({"stored": "by a stranger"});
    let cid = cid_of(&ResultHash::of(&serde_json::to_vec(&content).unwrap()));
    let put = session.ask(market, Method::PUT, &format!("/ipfs/{cid}"), Some(&content)).await;
    assert_eq!(put.status, 201, "{put:?}");
    let document = json!({
        "name": "Stranger", "tagline": "An agent.", "description": "An agent of a stranger.", "tags": ["analysis"],
        "endpoint": market.info.agents[0].endpoint, "input_schema": {"type": "object"},
        "output_schema": {"type": "object"},
    });
    let stored = session.ask(market, Method::POST, "/v1/metadata", Some(&document)).await;
    assert_eq!(stored.status, 201, "{stored:?}");
    assert_eq!(held().await, [before[0] + 2, before[1]]);
}

async fn a_full_store_of_one_wallet_is_not_the_others(victim: &Victim, stranger: &Keypair, session: &Session) {
    let store = async |session: &Session, text: String| {
        session.ask(&victim.market, Method::POST, "/v1/evidence", Some(&json!({"text": text}))).await
    };
    let mut last = store(session, "0".to_owned()).await;
    let mut stored = 1;
    while last.status == 201 && stored < 1_000 {
        last = store(session, stored.to_string()).await;
        stored += 1;
    }
    refused(&last, 429, "rate_limited");
    assert!(held_pieces(&victim.pool, &stranger.pubkey()).await > 50);
    let before = held_pieces(&victim.pool, &victim.chain.wallet.pubkey()).await;
    let answer = store(&victim.session, "of the victim".to_owned()).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    assert_eq!(held_pieces(&victim.pool, &victim.chain.wallet.pubkey()).await, before + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cookie_is_good_for_pages_of_the_own_origin_alone() {
    let folder = crtx_e2e::folder();
    let mut up = Up::start(folder.path(), &[]).await.unwrap();
    let market = Market::new(up.info().clone());
    let wallet = Keypair::new();
    let signed_in = sign_in(&market, &wallet, "cookie").await;
    assert_eq!(signed_in.status, 200, "{signed_in:?}");
    assert!(signed_in.body.get("token").is_none(), "no page gets the token: {signed_in:?}");
    let set: Vec<_> = signed_in.headers.get_all("set-cookie").iter().collect();
    assert_eq!(set.len(), 1);
    let (token, attributes) = set[0].to_str().unwrap().split_once("; ").unwrap();
    assert!(token.starts_with("crtx_session=crtx_session_"), "{token}");
    // Without TLS there is no `Secure`.
    assert_eq!(attributes, "Path=/; Max-Age=604800; HttpOnly; SameSite=Strict");
    assert_eq!(signed_in.headers["cache-control"], "no-store");

    let [own, other] = [Session::cookie(&market, &wallet).await, Session::cookie(&market, &Keypair::new()).await];
    let store = async |headers: &[(&'static str, String)]| {
        ask(&market, Method::POST, "/v1/evidence", headers, Some(&json!({"text": "by a page"}))).await
    };
    let alone = vec![own.headers().remove(0)];
    let read = ask(&market, Method::GET, "/v1/sessions", &alone, None).await;
    assert_eq!((read.status.as_u16(), read.body["sessions"].as_array().unwrap().len()), (200, 2), "{read:?}");
    let current = ask(&market, Method::GET, "/v1/sessions/current", &alone, None).await;
    assert_eq!(current.body["csrf_token"], json!(own.csrf_token), "a page that was loaded again gets it back");

    refused(&store(&alone).await, 403, "forbidden");
    let csrf = own.csrf_token.clone().unwrap();
    let cut = &csrf[1..];
    for wrong in ["", "x", cut, &own.token, other.csrf_token.as_deref().unwrap(), &own.id] {
        refused(&store(&cookie(&own.token, wrong)).await, 403, "forbidden");
    }
    for (name, value) in [
        ("origin", "https://evil.example"),
        ("origin", "null"),
        ("origin", "http://127.0.0.1"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ] {
        let mut headers = own.headers();
        headers.push((name, value.to_owned()));
        refused(&store(&headers).await, 403, "forbidden");
    }
    let mut here = own.headers();
    here.push(("origin", market.info.base_url.clone()));
    here.push(("sec-fetch-site", "same-origin".to_owned()));
    assert_eq!(store(&here).await.status, 201);
    // Neither page nor form of another origin gets a cookie, and no answer lets it read.
    let message = challenge(&market, &wallet.pubkey()).await;
    let body = sign_in_body(&message, &signature(&wallet, message.as_bytes()), "cookie");
    let foreign = vec![("origin", "https://evil.example".to_owned())];
    let answer = ask(&market, Method::POST, "/v1/sign-in", &foreign, Some(&body)).await;
    refused(&answer, 403, "forbidden");
    assert!(answer.headers.get("set-cookie").is_none());
    let mut read = alone;
    read.extend(foreign);
    let read = ask(&market, Method::GET, "/v1/sessions/current", &read, None).await;
    assert!(read.headers.keys().all(|name| !name.as_str().starts_with("access-control-")), "{read:?}");

    let ended = own.ask(&market, Method::DELETE, "/v1/sessions/current", None).await;
    assert_eq!(ended.status, 204);
    assert!(ended.headers["set-cookie"].to_str().unwrap().starts_with("crtx_session=; Path=/; Max-Age=0;"));
    refused(&own.ask(&market, Method::GET, "/v1/sessions", None).await, 401, "unauthorized");
    up.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn only_an_unused_challenge_of_this_service_signed_by_its_wallet_opens_a_session() {
    let folder = crtx_e2e::folder();
    let mut up = Up::start(folder.path(), &[]).await.unwrap();
    let market = Market::new(up.info().clone());
    let (wallet, stranger) = (Keypair::new(), Keypair::new());
    let send = async |body: &Value| market.request(Method::POST, "/v1/sign-in", None, Some(body)).await;
    let message = challenge(&market, &wallet.pubkey()).await;
    let domain = market.info.base_url.strip_prefix("http://").unwrap();
    assert!(message.starts_with(&format!("{domain} wants you to sign in with your Solana account:\n")), "{message}");
    let signed = |text: &str| sign_in_body(text, &signature(&wallet, text.as_bytes()), "bearer");

    // Altered in any line, and signed again by its wallet.
    let field = |name: &str| message.lines().find_map(|line| line.strip_prefix(name)).unwrap().to_owned();
    let later = field("Expiration Time: ").replace("20", "21");
    let other_nonce = challenge(&market, &wallet.pubkey()).await;
    let other_nonce = other_nonce.lines().find_map(|line| line.strip_prefix("Nonce: ")).unwrap();
    for altered in [
        message.replace(domain, "evil.example"),
        message.replacen(domain, "evil.example", 1),
        message.replace(&format!("URI: http://{domain}"), "URI: https://evil.example"),
        message.replace("http://", "https://"),
        message.replace("solana:localnet", "solana:mainnet"),
        message.replace(&field("Expiration Time: "), &later),
        message.replace(&field("Issued At: "), "2020-01-01T00:00:00.000Z"),
        message.replace(&field("Nonce: "), other_nonce),
        message.replace(&field("Nonce: "), &"1".repeat(64)),
        message.replace(&wallet.pubkey().to_string(), &stranger.pubkey().to_string()),
        message.replace("moves no money", "moves all money"),
        format!("{message}\nResources:\n- https://evil.example"),
        message.replace('\n', "\r\n"),
        String::new(),
    ] {
        assert_ne!(altered, message);
        refused(&send(&signed(&altered)).await, 401, "unauthorized");
    }
    // The signature of another wallet, of another text, or of bytes that are a transaction.
    let stored = market.config().await.usdc_mint.to_bytes();
    let transaction = [&[1, 0, 1, 2][..], &wallet.pubkey().to_bytes(), &stored, message.as_bytes()].concat();
    for bad in [
        signature(&stranger, message.as_bytes()),
        signature(&wallet, b"another text"),
        signature(&wallet, &transaction),
        signature(&wallet, &[&[255][..], b"solana offchain", message.as_bytes()].concat()),
        format!("ed25519:{}", bs58::encode([0; 64]).into_string()),
    ] {
        refused(&send(&sign_in_body(&message, &bad, "bearer")).await, 401, "unauthorized");
    }
    // Nothing of that has used it up. The name under which a client reaches the service changes nothing.
    let proxied = vec![("host", "evil.example".to_owned()), ("x-forwarded-host", "evil.example".to_owned())];
    let asked = json!({"address": wallet.pubkey().to_string()});
    let foreign = ask(&market, Method::POST, "/v1/sign-in/challenge", &proxied, Some(&asked)).await;
    assert_eq!(foreign.body["input"]["domain"], domain, "a challenge never names the host of a request: {foreign:?}");
    let opened = send(&signed(&message)).await;
    assert_eq!(opened.status, 200, "{opened:?}");
    for kind in ["bearer", "cookie"] {
        let again = sign_in_body(&message, &signature(&wallet, message.as_bytes()), kind);
        let replayed = send(&again).await;
        refused(&replayed, 401, "unauthorized");
        assert!(replayed.headers.get("set-cookie").is_none());
    }
    let both = challenge(&market, &wallet.pubkey()).await;
    let bodies: Vec<_> = (0..6).map(|_| signed(&both)).collect();
    let answers = futures::future::join_all(bodies.iter().map(&send)).await;
    let opened = answers.iter().filter(|answer| answer.status == 200).count();
    assert_eq!(opened, 1, "of sign-ins at the same time one uses it up: {answers:?}");
    up.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_key_and_an_ended_session_are_refused_by_every_process_at_once() {
    let (folder, mut up) = without_services().await.unwrap();
    let info: Info = up.info().clone();
    let start = |name, role| Server::start(&info, folder.path(), name, role).unwrap();
    let mut servers =
        [start("api-1", "api"), start("api-2", "api"), start("indexer", "indexer"), start("worker", "worker")];
    for server in &mut servers {
        server.until_readyz_is(200).await.unwrap();
    }
    let markets = [servers[0].market(&info), servers[1].market(&info)];
    let agent = markets[0].agent("text-stats");
    until_listed(&markets[1], &agent).await;
    let chain = Chain::of(&markets[0], info.data_dir());
    let session = Session::bearer(&markets[0], &chain.wallet).await;
    let key = session.new_key(&markets[0], &chain, &chain.wallet, "laptop").await;
    let execute = format!("/v1/agents/{agent}/execute");
    let (task, headers) = (json!({"task": "One. Two."}), bearer(&key.reveal()));
    for market in &markets {
        let paid = ask(market, Method::POST, &execute, &headers, Some(&task)).await;
        assert_eq!(paid.status, 200, "both processes know the key: {paid:?}");
        let seen = session.ask(market, Method::GET, "/v1/keys", None).await;
        assert_eq!(seen.status, 200, "and the session: {seen:?}");
    }
    let before = markets[0].balances().await;

    // Both processes are asked all the while.
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let asking = markets.iter().map(|market| async {
        let mut answers = Vec::new();
        loop {
            let is_last = *stopped.borrow();
            let started = Instant::now();
            let answer = ask(market, Method::GET, "/v1/executions", &headers, None).await;
            answers.push((started, answer.status.as_u16()));
            if is_last {
                return answers;
            }
        }
    });
    let revoking = async {
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        let revoked = session.ask(&markets[0], Method::DELETE, &format!("/v1/keys/{}", session_key(&key)), None).await;
        let at = Instant::now();
        assert_eq!(revoked.status, 204, "{revoked:?}");
        for market in &markets {
            refused(&ask(market, Method::POST, &execute, &headers, Some(&task)).await, 401, "unauthorized");
        }
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        stop.send(true).unwrap();
        at
    };
    let (answers, revoked_at) = futures::future::join(futures::future::join_all(asking), revoking).await;
    for of_process in answers {
        let after: Vec<_> = of_process.into_iter().filter(|(at, _)| *at > revoked_at).collect();
        assert!(!after.is_empty() && after.iter().all(|(_, status)| *status == 401), "{after:?}");
        let first = after.first().map(|(at, _)| at.duration_since(revoked_at));
        eprintln!("the first request that a process refused began {first:?} after the revocation");
    }
    assert_eq!(markets[0].balances().await, before, "no call after the revocation was charged");

    let ended = session.ask(&markets[1], Method::DELETE, "/v1/sessions/current", None).await;
    assert_eq!(ended.status, 204, "{ended:?}");
    for market in &markets {
        refused(&session.ask(market, Method::GET, "/v1/keys", None).await, 401, "unauthorized");
    }
    for server in servers {
        assert!(server.stop().await.unwrap().success());
    }
    up.stop().await.unwrap();
}
