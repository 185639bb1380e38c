//! Sign-in with Solana and sessions, over HTTP and on a real database.

use std::sync::Arc;

use crate::support::{Answer, Market};
use chrono::TimeDelta;
use crtx_gateway::{Gateway, GatewayKeys};
use crtx_http::Links;
use crtx_protocol::{cluster::Cluster, result_hash::format_signature, sign_in::SignInMessage};
use crtx_store::sessions::{self, SessionKind};
use ed25519_dalek::{Signer, SigningKey};
use serde_json::{Value, json};
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use uuid::Uuid;

fn signer(number: u8) -> SigningKey {
    SigningKey::from_bytes(&[number; 32])
}

fn wallet(number: u8) -> Pubkey {
    Pubkey::new_from_array(signer(number).verifying_key().to_bytes())
}

async fn challenge(market: &Market, wallet: Pubkey) -> String {
    let answer = market.ask("POST", "/v1/sign-in/challenge", &[], Some(&json!({"address": wallet.to_string()}))).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body["message"].as_str().unwrap().to_owned()
}

fn signed(message: &str, by: &SigningKey, session: &str) -> Value {
    let signature = format_signature(&by.sign(message.as_bytes()).to_bytes());
    json!({"message": message, "signature": signature, "session": session})
}

async fn sign_in(market: &Market, number: u8, session: &str) -> Answer {
    let message = challenge(market, wallet(number)).await;
    market.ask("POST", "/v1/sign-in", &[], Some(&signed(&message, &signer(number), session))).await
}

fn bearer(token: &Value) -> String {
    format!("Bearer {}", token.as_str().unwrap())
}

fn refused(answer: &Answer, status: u16, code: &str, says: &str) {
    assert_eq!((answer.status, answer.code()), (status, code), "{answer:?}");
    assert!(answer.message().contains(says), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wallet_signs_in_and_its_session_is_listed_and_ended() {
    let market = Market::start().await;
    let answer = sign_in(&market, 1, "bearer").await;
    assert_eq!((answer.status, answer.body["wallet"].as_str().unwrap()), (200, &*wallet(1).to_string()));
    assert!(answer.body["csrf_token"].is_null() && answer.headers.get("set-cookie").is_none());
    assert_eq!(answer.headers["cache-control"], "no-store");
    let header = bearer(&answer.body["token"]);
    let with = [("authorization", header.as_str())];
    let current = market.ask("GET", "/v1/sessions/current", &with, None).await;
    assert_eq!((current.status, &current.body["session_id"]), (200, &answer.body["session_id"]));
    assert_eq!((&current.body["kind"], &current.body["current"]), (&json!("bearer"), &json!(true)));
    assert!(current.body["csrf_token"].is_null());

    let second = sign_in(&market, 1, "bearer").await;
    let listed = market.ask("GET", "/v1/sessions", &with, None).await;
    let flags: Vec<_> = listed.body["sessions"].as_array().unwrap().iter().map(|s| &s["current"]).collect();
    assert_eq!(flags, [&json!(false), &json!(true)], "newest first: {listed:?}");

    // Another session of the wallet is ended, and then the own one.
    let other = format!("/v1/sessions/{}", second.body["session_id"].as_str().unwrap());
    assert_eq!(market.ask("DELETE", &other, &with, None).await.status, 204);
    refused(&market.ask("DELETE", &other, &with, None).await, 404, "not_found", "no such session");
    let gone = market.ask("GET", "/v1/sessions", &[("authorization", &bearer(&second.body["token"]))], None).await;
    refused(&gone, 401, "unauthorized", "has been ended");
    assert_eq!(market.ask("DELETE", "/v1/sessions/current", &with, None).await.status, 204);
    refused(&market.ask("GET", "/v1/sessions", &with, None).await, 401, "unauthorized", "has been ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_challenge_opens_one_session_in_all_processes() {
    let market = Market::start().await;
    let message = challenge(&market, wallet(1)).await;
    let body = signed(&message, &signer(1), "bearer");
    // Another process over the same database, with the same key pair.
    let pool = market.database.pool();
    let other = Gateway::new(market.config.clone(), pool.clone()).unwrap();
    let other = crtx_http::finish(crtx_gateway::api::router(other));
    let at_once = (0..8).map(|number| {
        let router = if number % 2 == 0 { market.router.clone() } else { other.clone() };
        let request = axum::http::Request::post("/v1/sign-in").body(axum::body::Body::from(body.to_string())).unwrap();
        async move { tower::ServiceExt::oneshot(router, request).await.unwrap().status().as_u16() }
    });
    let mut answers = futures::future::join_all(at_once).await;
    answers.sort_unstable();
    assert_eq!(answers, [200, 401, 401, 401, 401, 401, 401, 401]);
    let replayed = market.ask("POST", "/v1/sign-in", &[], Some(&body)).await;
    refused(&replayed, 401, "unauthorized", "has been used");
    assert_eq!(sessions::list(pool, &wallet(1), &Uuid::nil()).await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn challenges_of_others_and_altered_ones_open_nothing() {
    let market = Market::start().await;
    let pool = market.database.pool();
    let of = |change: &dyn Fn(&mut crtx_gateway::GatewayConfig)| {
        let mut config = market.config.clone();
        change(&mut config);
        crtx_gateway::api::router(Gateway::new(config, pool.clone()).unwrap())
    };
    let elsewhere = [
        of(&|config| config.links = Links::local("https://evil.example", "http://node.example")),
        of(&|config| config.cluster = Cluster::Mainnet),
        of(&|config| {
            config.keypair = GatewayKeys::new(Arc::new(Keypair::new_from_array([15; 32])), None);
        }),
    ];
    for (router, says) in elsewhere.into_iter().zip(["is for `evil.example`", "solana:mainnet", "not a challenge of"]) {
        let request = axum::http::Request::post("/v1/sign-in/challenge");
        let body = json!({"address": wallet(1).to_string()}).to_string();
        let request = request.body(axum::body::Body::from(body)).unwrap();
        let answer = tower::ServiceExt::oneshot(router, request).await.unwrap();
        let bytes = axum::body::to_bytes(answer.into_body(), 10_000).await.unwrap();
        let answer: Value = serde_json::from_slice(&bytes).unwrap();
        let body = signed(answer["message"].as_str().unwrap(), &signer(1), "bearer");
        refused(&market.ask("POST", "/v1/sign-in", &[], Some(&body)).await, 401, "unauthorized", says);
    }
    let message = challenge(&market, wallet(1)).await;
    let fields: SignInMessage = message.parse().unwrap();
    let later = SignInMessage { expiration_time: "2099-01-01T00:00:00.000Z".to_owned(), ..fields.clone() };
    let stranger = SignInMessage { address: wallet(2), ..fields };
    for (text, by, says) in [
        (message.as_str(), 2, "is not one of the wallet"),
        (&later.to_string(), 1, "was altered"),
        (&stranger.to_string(), 2, "was altered"),
        (&message.replace("moves no money", "moves money"), 1, "line 4 differs"),
    ] {
        let body = signed(text, &signer(by), "bearer");
        refused(&market.ask("POST", "/v1/sign-in", &[], Some(&body)).await, 401, "unauthorized", says);
    }
    let good = signed(&message, &signer(1), "bearer");
    assert_eq!(market.ask("POST", "/v1/sign-in", &[], Some(&good)).await.status, 200, "nothing above used it up");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cookie_changes_something_only_with_its_own_token_and_from_the_own_origin() {
    let market = Market::start().await;
    let answer = sign_in(&market, 1, "cookie").await;
    assert!(answer.status == 200 && answer.body["token"].is_null(), "{answer:?}");
    let cookie = answer.headers["set-cookie"].to_str().unwrap().to_owned();
    for attribute in ["; HttpOnly", "; SameSite=Strict", "; Path=/"] {
        assert!(cookie.contains(attribute), "{cookie}");
    }
    assert!(!cookie.contains("Secure"), "the network of the test has no TLS");
    let cookie = cookie.split(';').next().unwrap();
    let csrf = answer.body["csrf_token"].as_str().unwrap();
    let current = market.ask("GET", "/v1/sessions/current", &[("cookie", cookie)], None).await;
    assert_eq!((current.status, current.body["csrf_token"].as_str()), (200, Some(csrf)));
    let foreign_csrf = sign_in(&market, 1, "cookie").await.body["csrf_token"].as_str().unwrap().to_owned();
    let end = async |headers: &[(&str, &str)]| {
        let headers = [&[("cookie", cookie)], headers].concat();
        market.ask("DELETE", "/v1/sessions/current", &headers, None).await
    };
    let with = ("x-csrf-token", csrf);
    for headers in [
        &[][..],
        &[("x-csrf-token", "")],
        &[("x-csrf-token", &foreign_csrf)],
        &[with, ("origin", "https://evil.example")],
        &[with, ("origin", "null")],
        &[with, ("sec-fetch-site", "cross-site")],
    ] {
        refused(&end(headers).await, 403, "forbidden", "");
    }
    // The header goes first, whatever the cookie says.
    refused(&end(&[with, ("authorization", "Bearer crtx_session_1")]).await, 401, "unauthorized", "malformed");
    let token = cookie.split_once('=').unwrap().1;
    let as_bearer = market.ask("GET", "/v1/sessions", &[("authorization", &format!("Bearer {token}"))], None).await;
    refused(&as_bearer, 401, "unauthorized", "not known");
    let ended = end(&[with, ("origin", "http://127.0.0.1:8080"), ("sec-fetch-site", "same-origin")]).await;
    assert_eq!(ended.status, 204);
    assert!(ended.headers["set-cookie"].to_str().unwrap().starts_with("crtx_session=; Path=/; Max-Age=0;"));
    refused(&end(&[with]).await, 401, "unauthorized", "has been ended");

    // A foreign page cannot sign its visitor in either.
    let message = challenge(&market, wallet(1)).await;
    let body = signed(&message, &signer(1), "cookie");
    let foreign = market.ask("POST", "/v1/sign-in", &[("origin", "https://evil.example")], Some(&body)).await;
    refused(&foreign, 403, "forbidden", "http://127.0.0.1:8080");
}

#[tokio::test(flavor = "multi_thread")]
async fn over_tls_the_cookie_is_one_that_no_other_host_can_set() {
    let mut market = Market::start().await;
    let pool = market.database.pool().clone();
    market.config.links = Links::local("https://api.example", "http://node.example");
    let gateway = Gateway::new(market.config.clone(), pool.clone()).unwrap();
    market.router = crtx_http::finish(crtx_gateway::api::router(gateway));
    let answer = sign_in(&market, 1, "cookie").await;
    let set = answer.headers["set-cookie"].to_str().unwrap();
    let (pair, attributes) = set.split_once("; ").unwrap();
    assert!(pair.starts_with("__Host-crtx_session=crtx_session_"), "{set}");
    assert_eq!(attributes, "Path=/; Max-Age=604800; HttpOnly; SameSite=Strict; Secure");
    assert_eq!(market.ask("GET", "/v1/sessions/current", &[("cookie", pair)], None).await.status, 200);
    let under_the_old_name = pair.trim_start_matches("__Host-");
    let refused = market.ask("GET", "/v1/sessions/current", &[("cookie", under_the_old_name)], None).await;
    assert_eq!(refused.status, 401, "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_session_that_holds_is_accepted() {
    let market = Market::start().await;
    let over = market.session_with(wallet(1), SessionKind::Bearer, TimeDelta::seconds(-1)).await;
    let key = format!("Bearer {}", market.key.reveal());
    let unknown = crtx_http::session_token::SessionToken::generate().unwrap();
    let (over, unknown) = (format!("Bearer {}", over.reveal()), format!("Bearer {}", unknown.reveal()));
    for (method, path) in [("GET", "/v1/sessions"), ("GET", "/v1/sessions/current"), ("DELETE", "/v1/sessions/current")]
    {
        refused(&market.ask(method, path, &[], None).await, 401, "unauthorized", "sign in");
        for (header, says) in [
            (over.as_str(), "has expired"),
            (&unknown, "is not known"),
            (&key, "an API key is not enough"),
            ("Bearer crtx_session_", "malformed"),
            ("Basic abc", "must be `Bearer <SESSION_TOKEN>`"),
        ] {
            refused(&market.ask(method, path, &[("authorization", header)], None).await, 401, "unauthorized", says);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wallet_sees_and_ends_its_own_sessions_alone() {
    let market = Market::start().await;
    let (mine, theirs) = (market.session_of(wallet(1)).await, market.session_of(wallet(2)).await);
    let listed = market.ask_as(&mine, "GET", "/v1/sessions", None).await;
    assert_eq!(listed.body["sessions"].as_array().unwrap().len(), 1);
    let current = market.ask_as(&theirs, "GET", "/v1/sessions/current", None).await;
    let foreign = format!("/v1/sessions/{}", current.body["session_id"].as_str().unwrap());
    for method in ["GET", "DELETE"] {
        refused(&market.ask_as(&mine, method, &foreign, None).await, 404, "not_found", "");
    }
    refused(&market.ask_as(&mine, "DELETE", "/v1/sessions/x", None).await, 400, "invalid_request", "session_id");
    assert_eq!(market.ask_as(&theirs, "GET", "/v1/sessions", None).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_names_its_wallet_is_refused_with_the_session_of_another_one() {
    let market = Market::start().await;
    let answer = sign_in(&market, 1, "cookie").await;
    let cookie = answer.headers["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let csrf = answer.body["csrf_token"].as_str().unwrap().to_owned();
    let token = bearer(&sign_in(&market, 1, "bearer").await.body["token"]);
    let [own, other] = [wallet(1).to_string(), wallet(2).to_string()];
    let evidence = json!({"text": "by a page"});
    let credentials: [&[(&str, &str)]; 2] =
        [&[("cookie", &cookie), ("x-csrf-token", &csrf)], &[("authorization", &token)]];
    for credential in credentials {
        for (method, path, body) in [
            ("GET", "/v1/sessions", None),
            ("GET", "/v1/sessions/current", None),
            ("GET", "/v1/keys", None),
            ("POST", "/v1/evidence", Some(&evidence)),
        ] {
            let naming =
                async |named: &[(&str, &str)]| market.ask(method, path, &[credential, named].concat(), body).await;
            let named = naming(&[("x-crtx-wallet", &own)]).await;
            assert!(named.status < 300, "{path}: {named:?}");
            assert!(naming(&[]).await.status < 300, "{path}: without the header nothing is compared");
            refused(&naming(&[("x-crtx-wallet", &other)]).await, 409, "conflict", &other);
            for wrong in ["", "me", &own[8..]] {
                refused(&naming(&[("x-crtx-wallet", wrong)]).await, 400, "invalid_request", "X-Crtx-Wallet");
            }
            let twice = naming(&[("x-crtx-wallet", &own), ("x-crtx-wallet", &other)]).await;
            refused(&twice, 400, "invalid_request", "X-Crtx-Wallet");
        }
        let end = [credential, &[("x-crtx-wallet", &*other)]].concat();
        refused(&market.ask("DELETE", "/v1/sessions/current", &end, None).await, 409, "conflict", &other);
    }
    // Who has no session learns nothing else.
    let named = [("x-crtx-wallet", &*own)];
    refused(&market.ask("GET", "/v1/keys", &named, None).await, 401, "unauthorized", "");
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_sign_ins_name_what_is_wrong() {
    let market = Market::start().await;
    for (path, body, named) in [
        ("/v1/sign-in/challenge", json!({}), "`address`"),
        ("/v1/sign-in/challenge", json!({"address": "0"}), "`address`"),
        ("/v1/sign-in/challenge", json!({"address": wallet(1).to_string(), "x": 1}), "`x`"),
        ("/v1/sign-in", json!({"message": "m", "signature": "s"}), "`session`"),
        ("/v1/sign-in", json!({"message": "m", "signature": "s", "session": "both"}), "`session`"),
        ("/v1/sign-in", json!([]), "JSON object"),
    ] {
        refused(&market.ask("POST", path, &[], Some(&body)).await, 400, "invalid_request", named);
        let long = json!({"address": "x".repeat(10_000)});
        refused(&market.ask("POST", path, &[], Some(&long)).await, 413, "payload_too_large", "");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sign_ins_of_one_address_have_a_rate() {
    let market = Market::start().await;
    let challenge = async |number: u8| {
        let body = json!({"address": wallet(number).to_string()});
        market.ask("POST", "/v1/sign-in/challenge", &[], Some(&body)).await
    };
    // A refill takes a second for each, so the burst of 40 of one wallet ends within twice as many requests.
    let mut last = challenge(1).await;
    for _ in 0..80 {
        if last.status != 200 {
            break;
        }
        last = challenge(1).await;
    }
    refused(&last, 429, "rate_limited", "sign-ins of this wallet from this address");
    last = challenge(2).await;
    assert_eq!(last.status, 200, "another wallet at the same address");
    for number in 3..120 {
        if last.status != 200 {
            break;
        }
        last = challenge(number).await;
    }
    refused(&last, 429, "rate_limited", "sign-ins from this address");
    assert!(last.headers.contains_key("retry-after"));
    refused(
        &market.ask("POST", "/v1/sign-in", &[], Some(&signed("m", &signer(1), "bearer"))).await,
        429,
        "rate_limited",
        "",
    );
}
