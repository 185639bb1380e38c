//! API keys over HTTP, on a real database and a scripted chain: who registers, uses and revokes which key.

use crate::support::{Answer, HOLDING, Market, PRICE};
use agent_marketplace::state::SpendingGrant;
use axum::{Router, body::Body, http::Request};
use bytemuck::Zeroable;
use chrono::TimeDelta;
use crtx_gateway::Gateway;
use crtx_http::session_token::SessionToken;
use crtx_protocol::{
    api_key::{ApiKey, KeyNetwork},
    key_proof,
};
use crtx_store::{
    api_keys,
    sessions::SessionKind,
    testing::{
        dump::{dump, runs_of_32_bytes},
        fixtures::{NOON, put},
    },
};
use ed25519_dalek::SigningKey;
use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use serde_json::{Value, json};
use solana_pubkey::Pubkey;

fn wallet(number: u8) -> Pubkey {
    Pubkey::new_from_array([number; 32])
}

fn key(number: u8) -> ApiKey {
    ApiKey::from_secret(KeyNetwork::Test, [number; 32])
}

fn session_key(key: &ApiKey) -> Pubkey {
    Pubkey::new_from_array(key.session_public_key())
}

fn path(key: &ApiKey) -> String {
    format!("/v1/keys/{}", session_key(key))
}

fn grant_of(owner: Pubkey, key: &ApiKey) -> SpendingGrant {
    let mut grant = SpendingGrant::zeroed();
    grant.wallet = owner;
    grant.session_key = session_key(key);
    grant.per_call_cap = 100_000;
    grant.total_cap = 3_000_000;
    grant.expires_at_unix_s = 4_000_000_000;
    grant.created_at_unix_s = NOON;
    grant.revision = 1;
    grant
}

/// A grant on the chain and in the mirror.
async fn granted(market: &Market, grant: &SpendingGrant) {
    let address = market.instructions.addresses.grant(&grant.wallet, &grant.session_key);
    market.set(address, grant);
    put(market.database.pool(), &address, 5, grant).await;
}

fn registration(key: &ApiKey, owner: Pubkey, name: &str) -> Value {
    json!({
        "name": name, "session_public_key": session_key(key).to_string(),
        "proof": key_proof::sign(key, &owner, &agent_marketplace::ID), "last_four": key.last_four(),
    })
}

async fn register(market: &Market, session: &SessionToken, body: &Value) -> Answer {
    market.ask_as(session, "POST", "/v1/keys", Some(body)).await
}

/// A paid call with that key.
async fn call(market: &Market, key: &ApiKey) -> Answer {
    let path = format!("/v1/agents/{}/execute", market.agent);
    let header = format!("Bearer {}", key.reveal());
    market.ask("POST", &path, &[("authorization", &header)], Some(&json!({"task": "t"}))).await
}

fn refused(answer: &Answer, status: u16, code: &str, says: &str) {
    assert_eq!((answer.status, answer.code()), (status, code), "{answer:?}");
    assert!(answer.message().contains(says), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_registered_listed_renamed_and_revoked() {
    let market = Market::start().await;
    let (mine, new) = (market.session_of(market.wallet).await, key(40));
    let body = registration(&new, market.wallet, "laptop");
    refused(&register(&market, &mine, &body).await, 404, "not_found", "grant_spending");
    market.set(market.instructions.addresses.grant(&market.wallet, &session_key(&new)), &grant_of(market.wallet, &new));
    let answer = register(&market, &mine, &body).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    assert_eq!(answer.headers["cache-control"], "no-store");
    let expected = json!({
        "session_public_key": session_key(&new).to_string(), "name": "laptop", "prefix": "crtx_test_",
        "last_four": new.last_four(), "state": "active",
        "grant": market.instructions.addresses.grant(&market.wallet, &session_key(&new)).to_string(),
        "created_at": answer.body["created_at"], "last_used_at": null, "execution_count": 0, "total_spent_usdc": 0,
        "per_call_cap_usdc": 0.1, "total_cap_usdc": 3, "spent_of_cap_usdc": 0, "left_usdc": 3,
        "daily_cap_usdc": null, "spent_today_usdc": 0, "calls_left_by_approval": null,
        "expires_at": "2096-10-02T07:06:40Z", "allowed_agents": [],
    });
    assert_eq!(answer.body, expected);
    assert_eq!(register(&market, &mine, &body).await.body, expected, "a repeated request has the same answer");
    let other_name = registration(&new, market.wallet, "phone");
    refused(&register(&market, &mine, &other_name).await, 409, "conflict", "another name");

    assert_eq!(call(&market, &new).await.status, 200);
    let renamed = market.ask_as(&mine, "PATCH", &path(&new), Some(&json!({"name": "phone"}))).await;
    assert_eq!((renamed.status, &renamed.body["name"]), (200, &json!("phone")), "{renamed:?}");
    assert_eq!(renamed.body["execution_count"], 1, "{renamed:?}");
    assert_eq!((&renamed.body["total_spent_usdc"], renamed.body["last_used_at"].is_string()), (&json!(0.05), true));

    for _ in 0..2 {
        assert_eq!(market.ask_as(&mine, "DELETE", &path(&new), None).await.status, 204);
        refused(&call(&market, &new).await, 401, "unauthorized", "has been revoked");
    }
    // The list shows the grant of the mirror, which follows the chain.
    granted(&market, &grant_of(market.wallet, &new)).await;
    let listed = market.ask_as(&mine, "GET", "/v1/keys", None).await;
    let newest = &listed.body["keys"][0];
    assert_eq!((&newest["state"], &listed.body["total"]), (&json!("revoked"), &json!(2)), "{listed:?}");
    assert_eq!((&newest["left_usdc"], &newest["total_cap_usdc"]), (&json!(0), &json!(3)), "{listed:?}");
    refused(&register(&market, &mine, &body).await, 409, "conflict", "permanently");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_approval_is_shown_against_what_the_keys_may_still_spend() {
    let market = Market::start().await;
    let mine = market.session_of(market.wallet).await;
    granted(&market, &grant_of(market.wallet, &key(40))).await;
    let list = async || market.ask_as(&mine, "GET", "/v1/keys", None).await.body["approval"].clone();
    let enough = json!({"approved_usdc": HOLDING / 1_000_000, "needed_usdc": 3, "holding_usdc": 5, "short_usdc": 0});
    assert_eq!(list().await, enough);
    // A second key makes the first one short.
    granted(&market, &grant_of(market.wallet, &key(41))).await;
    let short = json!({"approved_usdc": 5, "needed_usdc": 6, "holding_usdc": 5, "short_usdc": 1});
    assert_eq!(list().await, short);
    let mut usdc = market.usdc();
    usdc.delegate = Some((wallet(99), HOLDING));
    market.set_usdc(usdc);
    assert_eq!(list().await["approved_usdc"], 0, "an approval of another address is none");
    let mut unlimited = grant_of(market.wallet, &key(42));
    unlimited.total_cap = u64::MAX;
    granted(&market, &unlimited).await;
    assert_eq!((&list().await["needed_usdc"], &list().await["short_usdc"]), (&Value::Null, &Value::Null));
    let strangers = market.session_of(wallet(77)).await;
    let nothing = json!({"approved_usdc": 0, "needed_usdc": 0, "holding_usdc": 0, "short_usdc": 0});
    assert_eq!(market.ask_as(&strangers, "GET", "/v1/keys", None).await.body["approval"], nothing);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_acts_for_nobody_until_it_is_registered_and_then_works_at_once() {
    let market = Market::start().await;
    let (mine, new) = (market.session_of(market.wallet).await, key(40));
    refused(&call(&market, &new).await, 401, "unauthorized", "is not known");
    granted(&market, &grant_of(market.wallet, &new)).await;
    let first = async || {
        let listed = market.ask_as(&mine, "GET", "/v1/keys", None).await;
        let keys = listed.body["keys"].as_array().unwrap();
        keys.iter().find(|key| key["session_public_key"] == json!(session_key(&new).to_string())).unwrap().clone()
    };
    refused(&call(&market, &new).await, 401, "unauthorized", "POST /v1/keys");
    let unused = first().await;
    assert_eq!((&unused["state"], &unused["last_four"]), (&json!("unregistered"), &Value::Null), "{unused}");
    assert_eq!(register(&market, &mine, &registration(&new, market.wallet, "laptop")).await.status, 201);
    assert_eq!(call(&market, &new).await.status, 200, "the refusal of a moment ago is forgotten");
    let used = first().await;
    assert_eq!((&used["state"], &used["name"]), (&json!("active"), &json!("laptop")), "{used}");
    assert_eq!((&used["last_four"], &used["execution_count"]), (&json!(new.last_four()), &json!(1)), "{used}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_nobody_used_is_revoked_by_its_wallet_alone() {
    let market = Market::start().await;
    let (mine, theirs) = (market.session_of(market.wallet).await, market.session_of(wallet(77)).await);
    let new = key(40);
    granted(&market, &grant_of(market.wallet, &new)).await;
    refused(&market.ask_as(&theirs, "DELETE", &path(&new), None).await, 404, "not_found", "has granted nothing");
    refused(&market.ask_as(&theirs, "PATCH", &path(&new), Some(&json!({"name": "n"}))).await, 404, "not_found", "");
    assert_eq!(market.ask_as(&mine, "DELETE", &path(&new), None).await.status, 204);
    refused(
        &register(&market, &mine, &registration(&new, market.wallet, "laptop")).await,
        409,
        "conflict",
        "permanently",
    );
    refused(&call(&market, &new).await, 401, "unauthorized", "is not known");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wallet_that_grants_to_the_session_key_of_another_gets_nothing_of_it() {
    let market = Market::start().await;
    let (mine, attackers) = (market.session_of(market.wallet).await, market.session_of(wallet(77)).await);
    let victim = key(40);
    granted(&market, &grant_of(market.wallet, &victim)).await;
    granted(&market, &grant_of(wallet(77), &victim)).await;
    // The attacker has no signature of the session key: neither its own, nor the one of the victim's wallet, will do.
    let mut forged = registration(&key(41), wallet(77), "mine");
    forged["session_public_key"] = json!(session_key(&victim).to_string());
    refused(&register(&market, &attackers, &forged).await, 400, "invalid_request", "`proof`");
    let copied = registration(&victim, market.wallet, "mine");
    refused(&register(&market, &attackers, &copied).await, 400, "invalid_request", "`proof`");
    // Until its holder registers it, the key acts for nobody.
    refused(&call(&market, &victim).await, 401, "unauthorized", "POST /v1/keys");
    assert_eq!(register(&market, &mine, &registration(&victim, market.wallet, "laptop")).await.status, 201);
    let paid = call(&market, &victim).await;
    assert_eq!(paid.status, 200, "{paid:?}");
    assert_eq!(market.row(paid.execution_id()).await.call.caller, market.wallet);
    // The attacker sees its own grant, unused, and what it does to that touches nothing else.
    let listed = market.ask_as(&attackers, "GET", "/v1/keys", None).await;
    let theirs = &listed.body["keys"].as_array().unwrap()[0];
    assert_eq!((&theirs["state"], &theirs["name"]), (&json!("unregistered"), &Value::Null));
    assert_eq!((&theirs["execution_count"], &theirs["last_used_at"]), (&json!(0), &Value::Null));
    assert_eq!(market.ask_as(&attackers, "DELETE", &path(&victim), None).await.status, 204);
    assert_eq!(call(&market, &victim).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_acts_for_no_stranger_whose_grant_the_index_shows_first() {
    let market = Market::start().await;
    let (mine, victim) = (market.session_of(market.wallet).await, key(40));
    granted(&market, &grant_of(wallet(77), &victim)).await;
    refused(&call(&market, &victim).await, 401, "unauthorized", "POST /v1/keys");
    granted(&market, &grant_of(market.wallet, &victim)).await;
    assert_eq!(register(&market, &mine, &registration(&victim, market.wallet, "laptop")).await.status, 201);
    let paid = call(&market, &victim).await;
    assert_eq!((paid.status, market.row(paid.execution_id()).await.call.caller), (200, market.wallet), "{paid:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_key_and_unknown_ones_cost_few_reads_of_the_chain() {
    let market = Market::start().await;
    assert_eq!(call(&market, &market.key).await.status, 200);
    let mine = market.session_of(market.wallet).await;
    assert_eq!(market.ask_as(&mine, "DELETE", &path(&market.key), None).await.status, 204);
    refused(&call(&market, &market.key).await, 401, "unauthorized", "has been revoked");
    let reads = || market.node.script().requests.values().sum::<u64>();
    let before = reads();
    for _ in 0..300 {
        assert_eq!(call(&market, &market.key).await.status, 401);
    }
    let mut limited = 0;
    for number in 0..200 {
        match call(&market, &key(50 + number)).await.status {
            401 => {}
            429 => limited += 1,
            status => panic!("{status}"),
        }
    }
    assert!(limited > 0, "a client with many unknown keys is told to wait");
    let reads = reads() - before;
    assert!(reads <= 5, "{reads} reads of the chain");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_key_is_refused_by_every_gateway_of_the_database_at_once() {
    let market = Market::start().await;
    let pool = market.database.pool();
    let other = Gateway::new(market.config.clone(), pool.clone()).unwrap();
    let other: Router = crtx_http::finish(crtx_gateway::api::router(other));
    let call_there = async || {
        let request = Request::post(format!("/v1/agents/{}/execute", market.agent))
            .header("authorization", format!("Bearer {}", market.key.reveal()))
            .body(Body::from(json!({"task": "t"}).to_string()))
            .unwrap();
        tower::ServiceExt::oneshot(other.clone(), request).await.unwrap().status().as_u16()
    };
    assert_eq!((call(&market, &market.key).await.status, call_there().await), (200, 200), "both know the key");
    let mine = market.session_of(market.wallet).await;
    assert_eq!(market.ask_as(&mine, "DELETE", &path(&market.key), None).await.status, 204);
    assert_eq!((call(&market, &market.key).await.status, call_there().await), (401, 401));
}

#[tokio::test(flavor = "multi_thread")]
async fn raised_limits_keep_the_key() {
    let market = Market::start().await;
    let (mine, new) = (market.session_of(market.wallet).await, key(40));
    let mut grant = grant_of(market.wallet, &new);
    grant.total_cap = PRICE;
    granted(&market, &grant).await;
    register(&market, &mine, &registration(&new, market.wallet, "laptop")).await;
    let shown = async || {
        let listed = market.ask_as(&mine, "GET", "/v1/keys?limit=1", None).await;
        assert_eq!(listed.body["total"], 2, "{listed:?}");
        let key = &listed.body["keys"][0];
        (key["state"].as_str().unwrap().to_owned(), key["left_usdc"].clone())
    };
    let change = async |change: &dyn Fn(&mut SpendingGrant), revision: u64| {
        let mut changed = grant;
        changed.revision = revision;
        change(&mut changed);
        granted(&market, &changed).await;
    };
    change(&|grant| (grant.spent, grant.executions) = (PRICE, 1), 2).await;
    assert_eq!(shown().await, ("exhausted".to_owned(), json!(0)));
    change(&|grant| (grant.total_cap, grant.expires_at_unix_s) = (2 * PRICE, 1), 3).await;
    assert_eq!(shown().await, ("expired".to_owned(), json!(0)));
    change(&|grant| grant.total_cap = 2 * PRICE, 4).await;
    assert_eq!(shown().await, ("active".to_owned(), json!(0.1)));
    assert_eq!(call(&market, &new).await.status, 200);
    change(&|grant| grant.revoked = 1, 1_000).await;
    assert_eq!(shown().await, ("revoked".to_owned(), json!(0)));
    refused(&call(&market, &new).await, 401, "unauthorized", "has been revoked");
    let late = registration(&new, market.wallet, "late");
    refused(&register(&market, &mine, &late).await, 409, "conflict", "on chain");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_session_of_the_own_wallet_manages_keys() {
    let market = Market::start().await;
    let body = registration(&market.key, market.wallet, "mine");
    let over = market.session_with(market.wallet, SessionKind::Bearer, TimeDelta::seconds(-1)).await;
    let browser = market.session_with(market.wallet, SessionKind::Cookie, TimeDelta::hours(1)).await;
    let (api_key, over) = (format!("Bearer {}", market.key.reveal()), format!("Bearer {}", over.reveal()));
    let cookie = format!("crtx_session={}", browser.reveal());
    let own = path(&market.key);
    let name = json!({"name": "n"});
    for (method, path, body) in [
        ("POST", "/v1/keys", Some(&body)),
        ("GET", "/v1/keys", None),
        ("PATCH", &own, Some(&name)),
        ("DELETE", &own, None),
    ] {
        for headers in [&[][..], &[("authorization", api_key.as_str())], &[("authorization", over.as_str())]] {
            refused(&market.ask(method, path, headers, body).await, 401, "unauthorized", "");
        }
        if method != "GET" {
            let without = market.ask(method, path, &[("cookie", &cookie)], body).await;
            refused(&without, 403, "forbidden", "X-CSRF-Token");
        }
    }
    let token = browser.csrf_token();
    let headers = [("cookie", cookie.as_str()), ("x-csrf-token", token.as_str())];
    assert_eq!(market.ask("PATCH", &own, &headers, Some(&name)).await.status, 200);
    assert_eq!(call(&market, &market.key).await.status, 200, "nothing above revoked it");
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_requests_name_what_is_wrong() {
    let market = Market::start().await;
    let (mine, new) = (market.session_of(market.wallet).await, key(40));
    granted(&market, &grant_of(market.wallet, &new)).await;
    let with = |field: &str, value: Value| {
        let mut body = registration(&new, market.wallet, "laptop");
        body[field] = value;
        body
    };
    for (field, value) in [
        ("name", json!("")),
        ("name", json!("a\u{202e}b")),
        ("name", json!("x".repeat(65))),
        ("session_public_key", json!("0")),
        ("proof", json!("ed25519:1")),
        ("last_four", json!("abc")),
        ("secret", json!("crtx_test_1")),
    ] {
        let answer = register(&market, &mine, &with(field, value)).await;
        refused(&answer, 400, "invalid_request", &format!("`{field}`"));
    }
    refused(&market.ask_as(&mine, "DELETE", "/v1/keys/0", None).await, 400, "invalid_request", "session_public_key");
    refused(&market.ask_as(&mine, "GET", "/v1/keys?limit=101", None).await, 400, "invalid_request", "`limit`");
    let other_program = key_proof::sign(&new, &market.wallet, &wallet(1));
    let answer = register(&market, &mine, &with("proof", json!(other_program))).await;
    refused(&answer, 400, "invalid_request", &key_proof::text(&market.wallet, &agent_marketplace::ID));
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_about_the_keys_of_one_wallet_have_a_rate() {
    let market = Market::start().await;
    let (mine, theirs) = (market.session_of(market.wallet).await, market.session_of(wallet(77)).await);
    let mut last = market.ask_as(&mine, "GET", "/v1/keys", None).await;
    for _ in 0..600 {
        if last.status != 200 {
            break;
        }
        last = market.ask_as(&mine, "GET", "/v1/keys", None).await;
    }
    refused(&last, 429, "rate_limited", "keys of this wallet");
    assert_eq!(market.ask_as(&theirs, "GET", "/v1/keys", None).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn random_input_with_a_session_gets_a_specified_answer_and_harms_nothing() {
    let market = Market::start().await;
    let mut runner = TestRunner::default();
    let own = registration(&market.key, market.wallet, "n");
    let bodies = prop_oneof![
        any::<String>().prop_map(Value::from),
        (any::<String>(), any::<Option<bool>>(), any::<f64>()).prop_map(|(text, flag, number)| json!({
            "name": text, "session_public_key": number, "proof": [flag, {}], "last_four": text,
        })),
        (any::<String>(), "[1-9A-HJ-NP-Za-km-z]{0,90}").prop_map(move |(name, digits)| {
            let mut body = own.clone();
            (body["name"], body["proof"]) = (json!(name), json!(format!("ed25519:{digits}")));
            body
        }),
        any::<String>().prop_map(|name| json!({"name": name})),
    ];
    for round in 0..100_u8 {
        let session = market.session_of(wallet(100 + round)).await;
        let body = bodies.new_tree(&mut runner).unwrap().current();
        let segment = "([0-9a-zA-Z]{0,50}|%[0-7][0-9a-f]|[.~-]{1,3})".new_tree(&mut runner).unwrap().current();
        for (method, path) in [
            ("POST", "/v1/keys".to_owned()),
            ("PATCH", format!("/v1/keys/{segment}")),
            ("DELETE", format!("/v1/keys/{segment}")),
            ("GET", format!("/v1/keys?limit={segment}")),
            ("GET", format!("/v1/sessions/{segment}")),
            ("DELETE", format!("/v1/sessions/{segment}")),
        ] {
            let answer = market.ask_as(&session, method, &path, Some(&body)).await;
            let code = answer.body["error"]["code"].as_str().unwrap_or_default().to_owned();
            assert!(
                matches!((answer.status, &*code), (200, "") | (400, "invalid_request") | (404, "not_found")),
                "{method} {path} {body}: {answer:?}"
            );
        }
    }
    assert_eq!(call(&market, &market.key).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_database_and_the_gateways_key_pair_derive_no_session_key() {
    let market = Market::start().await;
    let (mine, new) = (market.session_of(market.wallet).await, key(40));
    granted(&market, &grant_of(market.wallet, &new)).await;
    assert_eq!(register(&market, &mine, &registration(&new, market.wallet, "laptop")).await.status, 201);
    assert_eq!(call(&market, &new).await.status, 200);
    assert_eq!(call(&market, &market.key).await.status, 200);

    let text = dump(market.database.pool()).await;
    assert!(text.contains(&session_key(&new).to_string()), "the dump has the key's row");
    let mut candidates = runs_of_32_bytes(&text);
    assert!(candidates.contains(&session_key(&new).to_bytes()), "what stands in the dump is found");
    candidates.push(*market.config.keypair.secret_bytes());
    candidates.sort_unstable();
    candidates.dedup();
    assert!(candidates.len() > 500, "signed transactions among them: {}", candidates.len());
    let targets = [new.session_public_key(), market.key.session_public_key()];
    for candidate in candidates {
        let as_seed = SigningKey::from_bytes(&candidate).verifying_key().to_bytes();
        let as_secret = ApiKey::from_secret(KeyNetwork::Test, candidate).session_public_key();
        assert!(!targets.contains(&as_seed) && !targets.contains(&as_secret), "{candidate:?}");
    }
    for secret in [new.reveal(), market.key.reveal(), mine.reveal()] {
        assert!(!text.contains(&secret) && !text.contains(secret.rsplit('_').next().unwrap()));
    }
    // The same search does find a secret that is there.
    let pool = market.database.pool();
    assert!(api_keys::rename(pool, &market.wallet, &session_key(&new), &"28".repeat(32)).await.unwrap());
    let leaked = runs_of_32_bytes(&dump(market.database.pool()).await);
    assert!(leaked.iter().any(|bytes| ApiKey::from_secret(KeyNetwork::Test, *bytes) == new));
}
