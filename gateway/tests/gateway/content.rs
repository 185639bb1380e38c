//! Content, evidence and metadata that clients hand in.

use std::time::Duration;

use crate::support::{Answer, Market};
use agent_marketplace::state::{AgentListed, Dispute, DisputeOutcome};
use axum::{body::Body, http::Request};
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use crtx_gateway::Limits;
use crtx_http::session_token::SessionToken;
use crtx_protocol::{
    content::{cid_of, ipfs_uri},
    result_hash::ResultHash,
};
use crtx_store::{
    held_content::{HoldLimits, HoldingLimits},
    sessions::SessionKind,
    testing::fixtures::{self, put},
};
use serde_json::{Value, json};
use solana_pubkey::Pubkey;

const MANY: HoldingLimits = HoldingLimits { pieces: 1_000, bytes: 1 << 30 };

fn limits(wallet: HoldingLimits, keep_for: Duration) -> Limits {
    let held_content = HoldLimits { wallet, unknown_wallets: MANY, known_wallets: MANY, keep_for };
    Limits { held_content, ..Market::limits() }
}

async fn hand_in(market: &Market, session: Option<&SessionToken>, cid: &str, content: &[u8]) -> Answer {
    let mut request = Request::put(format!("/ipfs/{cid}"));
    if let Some(session) = session {
        request = request.header("authorization", format!("Bearer {}", session.reveal()));
    }
    market.send(request.body(Body::from(content.to_vec())).unwrap()).await
}

async fn get(market: &Market, cid: &str) -> Answer {
    market.send(Request::get(format!("/ipfs/{cid}")).body(Body::empty()).unwrap()).await
}

fn cid(content: &[u8]) -> String {
    cid_of(&ResultHash::of(content))
}

/// A listing in the mirror that names this document.
async fn refer_to(market: &Market, content: &[u8]) {
    let listing = AgentListed { metadata_hash: ResultHash::of(content).0, ..fixtures::listing(fixtures::wallet(3), 0) };
    put(market.database.pool(), &Pubkey::new_unique(), 10, &listing).await;
}

/// A dispute in the mirror whose evidence has this content.
async fn dispute_about(market: &Market, content: &[u8]) {
    let (record, agent) = (Pubkey::new_unique(), Pubkey::new_unique());
    let dispute = fixtures::dispute(record, agent, fixtures::wallet(4), DisputeOutcome::Upheld);
    let dispute = Dispute { evidence_hash: ResultHash::of(content).0, ..dispute };
    put(market.database.pool(), &Pubkey::new_unique(), 10, &dispute).await;
}

/// Makes every held piece older than its time.
async fn wait(market: &Market) {
    fixtures::age_held_content(market.database.pool(), Duration::from_secs(2 * 86_400)).await;
}

/// Lets a worker look through the held content once.
async fn tidy(market: &Market) {
    market.gateway.tidy_held_content().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn content_that_nothing_refers_to_is_refused_unread_without_a_session() {
    let market = Market::start().await;
    let answer = hand_in(&market, None, &cid(b"x"), b"x").await;
    assert_eq!((answer.status, answer.code()), (409, "conflict"), "{answer:?}");
    assert!(answer.headers.contains_key("retry-after"), "the mirror may be behind");
    let endless = futures::stream::repeat_with(|| Ok::<_, std::io::Error>(vec![b'x'; 1024]));
    let request = Request::put(format!("/ipfs/{}", cid(b"x"))).body(Body::from_stream(endless)).unwrap();
    assert_eq!(market.send(request).await.status, 409, "a body without end is not read");
    let bearer = format!("Bearer {}", market.key.reveal());
    let path = format!("/ipfs/{}", cid(b"x"));
    assert_eq!(market.ask("PUT", &path, &[("authorization", &bearer)], None).await.status, 401);
    assert_eq!(get(&market, &cid(b"x")).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn content_that_a_listing_names_is_stored_for_anybody_and_kept() {
    let market = Market::start().await;
    refer_to(&market, b"document").await;
    let wrong = hand_in(&market, None, &cid(b"document"), b"documenu").await;
    assert_eq!((wrong.status, wrong.code()), (400, "invalid_request"), "{wrong:?}");
    assert!(wrong.message().contains(&cid(b"documenu")), "{wrong:?}");
    let answer = hand_in(&market, None, &cid(b"document"), b"document").await;
    let hash = ResultHash::of(b"document");
    let expected = json!({
        "cid": cid_of(&hash), "hash": hash.to_string(), "uri": ipfs_uri(&hash), "size": 8, "referenced": true,
    });
    assert_eq!((answer.status, &answer.body), (201, &expected));
    assert_eq!(hand_in(&market, None, &cid(b"document"), b"document").await.status, 200);
    assert_eq!(get(&market, &cid(b"document")).await.body, json!("document"));
    wait(&market).await;
    tidy(&market).await;
    assert_eq!(get(&market, &cid(b"document")).await.body, json!("document"), "as long as the listing names it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creator_that_changes_its_listing_again_and_again_leaves_no_content_behind() {
    let market = Market::start().await;
    let (creator, address) = (fixtures::wallet(3), Pubkey::new_unique());
    let documents: Vec<String> = (0..12).map(|number| format!("document {number}")).collect();
    for (revision, document) in (1..).zip(&documents) {
        let listing = AgentListed {
            metadata_hash: ResultHash::of(document.as_bytes()).0,
            revision,
            ..fixtures::listing(creator, 0)
        };
        put(market.database.pool(), &address, 10 + revision, &listing).await;
        assert_eq!(hand_in(&market, None, &cid(document.as_bytes()), document.as_bytes()).await.status, 201);
        assert_eq!(hand_in(&market, None, &cid(document.as_bytes()), document.as_bytes()).await.status, 200);
    }
    wait(&market).await;
    tidy(&market).await;
    let mut statuses = Vec::new();
    for document in &documents {
        statuses.push(get(&market, &cid(document.as_bytes())).await.status);
    }
    // None of these is a document that the indexer could read, so only the one that is named now stays.
    assert_eq!(statuses[..11], [404; 11]);
    assert_eq!(statuses[11], 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listings_content_is_bounded_in_length_and_by_day() {
    let market =
        Market::start_with(limits(HoldingLimits { pieces: 10, bytes: 300_000 }, Duration::from_secs(86_400))).await;
    let long = vec![b'x'; crtx_protocol::metadata::MAX_BYTES + 1];
    refer_to(&market, &long).await;
    let answer = hand_in(&market, None, &cid(&long), &long).await;
    assert_eq!((answer.status, answer.code()), (413, "payload_too_large"), "{answer:?}");
    let (first, second) = (&long[1..], &long[2..]);
    refer_to(&market, first).await;
    assert_eq!(hand_in(&market, None, &cid(first), first).await.status, 201);
    refer_to(&market, second).await;
    let answer = hand_in(&market, None, &cid(second), second).await;
    assert_eq!((answer.status, answer.code()), (429, "rate_limited"), "{answer:?}");
    assert_eq!(hand_in(&market, None, &cid(first), first).await.status, 200, "what is there takes no room");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cid_of_another_form_and_content_that_is_too_long_are_refused() {
    let market = Market::start().await;
    let session = market.session_of(market.wallet).await;
    let answer = hand_in(&market, Some(&session), "QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG", b"x").await;
    assert_eq!((answer.status, answer.code()), (400, "invalid_request"));
    let long = vec![b'x'; crtx_gateway::api::MAX_PIECE_BYTES + 1];
    let answer = hand_in(&market, Some(&session), &cid(&long), &long).await;
    assert_eq!((answer.status, answer.code()), (413, "payload_too_large"));
    let fits = &long[1..];
    assert_eq!(hand_in(&market, Some(&session), &cid(fits), fits).await.status, 201);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browsers_session_needs_its_csrf_token() {
    let market = Market::start().await;
    let token = market.session_with(market.wallet, SessionKind::Cookie, chrono::TimeDelta::hours(1)).await;
    let cookie = format!("crtx_session={}", token.reveal());
    let path = format!("/ipfs/{}", cid(b""));
    let answer = market.ask("PUT", &path, &[("cookie", &cookie)], None).await;
    assert_eq!((answer.status, answer.code()), (403, "forbidden"), "{answer:?}");
    let headers = [("cookie", cookie.as_str()), ("x-csrf-token", &token.csrf_token())];
    assert_eq!(market.ask("PUT", &path, &headers, None).await.status, 201);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wallet_holds_a_bounded_amount_that_nothing_refers_to() {
    let market = Market::start_with(limits(HoldingLimits { pieces: 2, bytes: 10 }, Duration::from_secs(3_600))).await;
    let session = market.session_of(market.wallet).await;
    let answer = hand_in(&market, Some(&session), &cid(b"one"), b"one").await;
    assert_eq!((answer.status, &answer.body["referenced"]), (201, &json!(false)));
    assert_eq!(hand_in(&market, Some(&session), &cid(b"one"), b"one").await.status, 200, "a repetition adds nothing");
    let long = hand_in(&market, Some(&session), &cid(b"eight by"), b"eight by").await;
    assert_eq!((long.status, long.code()), (429, "rate_limited"), "{long:?}");
    assert!(long.headers.contains_key("retry-after"));
    assert!(long.headers["ratelimit-policy"].to_str().unwrap().contains("held-content-per-wallet"));
    assert_eq!(get(&market, &cid(b"eight by")).await.status, 404);
    assert_eq!(hand_in(&market, Some(&session), &cid(b"two"), b"two").await.status, 201);
    assert_eq!(hand_in(&market, Some(&session), &cid(b"3"), b"3").await.status, 429, "two pieces are held");
    let other = market.session_of(Pubkey::new_unique()).await;
    assert_eq!(hand_in(&market, Some(&other), &cid(b"3"), b"3").await.status, 201);
    refer_to(&market, b"two").await;
    assert_eq!(hand_in(&market, Some(&session), &cid(b"3"), b"3").await.status, 201, "what is referred to is free");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nothing_refers_to_is_dropped_after_its_time_and_can_be_handed_in_again() {
    let market = Market::start().await;
    let session = market.session_of(market.wallet).await;
    hand_in(&market, Some(&session), &cid(b"x"), b"x").await;
    tidy(&market).await;
    assert_eq!(get(&market, &cid(b"x")).await.status, 200, "its time is not over");
    wait(&market).await;
    tidy(&market).await;
    assert_eq!(get(&market, &cid(b"x")).await.status, 404);
    assert_eq!(hand_in(&market, Some(&session), &cid(b"x"), b"x").await.status, 201);
    assert_eq!(get(&market, &cid(b"x")).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_something_refers_to_in_time_is_kept() {
    let market = Market::start().await;
    let session = market.session_of(market.wallet).await;
    hand_in(&market, Some(&session), &cid(b"x"), b"x").await;
    dispute_about(&market, b"x").await;
    wait(&market).await;
    tidy(&market).await;
    tidy(&market).await;
    assert_eq!(get(&market, &cid(b"x")).await.status, 200);
    assert!(market.gateway.content().is_kept(&ResultHash::of(b"x")).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_somebody_handed_in_before_is_not_dropped_with_it() {
    let market = Market::start().await;
    let session = market.session_of(market.wallet).await;
    hand_in(&market, Some(&session), &cid(b"did it"), b"did it").await;
    assert_eq!(market.execute(&json!({"task": "it"})).await.status, 200);
    // A worker that had searched before the mirror showed the record drops the piece.
    market.gateway.content().release(&ResultHash::of(b"did it")).await.unwrap();
    assert_eq!(get(&market, &cid(b"did it")).await.body, json!("did it"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_whose_bytes_were_never_written_is_repaired_or_dropped() {
    let market = Market::start().await;
    let session = market.session_of(market.wallet).await;
    hand_in(&market, Some(&session), &cid(b"x"), b"x").await;
    market.gateway.content().release(&ResultHash::of(b"x")).await.unwrap();
    assert_eq!(get(&market, &cid(b"x")).await.status, 404, "the process died between row and bytes");
    assert_eq!(hand_in(&market, Some(&session), &cid(b"x"), b"x").await.status, 200);
    assert_eq!(get(&market, &cid(b"x")).await.status, 200);
    market.gateway.content().release(&ResultHash::of(b"x")).await.unwrap();
    wait(&market).await;
    dispute_about(&market, b"x").await;
    tidy(&market).await;
    assert_eq!(hand_in(&market, None, &cid(b"x"), b"x").await.status, 201, "who is referred to hands it in again");
}

fn evidence() -> Value {
    json!({
        "text": "The result is not what I asked for.",
        "files": [
            {"name": "a.txt", "media_type": "text/plain", "content": BASE64.encode(b"asked")},
            {"name": "b.bin", "media_type": "application/octet-stream", "content": BASE64.encode([0, 255])},
        ],
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn evidence_is_stored_with_its_files_under_hashes_that_fit_a_dispute() {
    let market = Market::start().await;
    let session = market.session_of(market.wallet).await;
    let answer = market.ask_as(&session, "POST", "/v1/evidence", Some(&evidence())).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    let uri = answer.body["uri"].as_str().unwrap();
    assert!(uri.starts_with("ipfs://") && uri.len() <= 128, "{uri}");
    let document = get(&market, answer.body["cid"].as_str().unwrap()).await;
    assert_eq!((&document.body["version"], &document.body["files"]), (&json!(1), &answer.body["files"]));
    assert_eq!(document.body["text"], evidence()["text"]);
    let text = serde_json_canonicalizer_of(&document.body);
    assert_eq!(answer.body["hash"], json!(ResultHash::of(text.as_bytes()).to_string()));
    assert_eq!(answer.body["size"], json!(text.len()));
    let hash = ResultHash::of(b"asked");
    assert_eq!(
        answer.body["files"][0],
        json!({
            "name": "a.txt", "media_type": "text/plain", "size": 5, "hash": hash.to_string(), "uri": ipfs_uri(&hash)
        })
    );
    assert_eq!(get(&market, &cid(b"asked")).await.body, json!("asked"));
    assert_eq!(get(&market, &cid(&[0, 255])).await.headers["content-type"], "application/octet-stream");
}

/// Members in the order of RFC 8785: `serde_json` sorts them, and these values have no numbers that differ.
fn serde_json_canonicalizer_of(value: &Value) -> String {
    value.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dispute_about_evidence_keeps_its_files() {
    let market = Market::start().await;
    let session = market.session_of(market.wallet).await;
    let answer = market.ask_as(&session, "POST", "/v1/evidence", Some(&evidence())).await;
    let document = get(&market, answer.body["cid"].as_str().unwrap()).await;
    dispute_about(&market, serde_json_canonicalizer_of(&document.body).as_bytes()).await;
    wait(&market).await;
    tidy(&market).await;
    for content in [&b"asked"[..], &[0, 255]] {
        assert!(market.gateway.content().is_kept(&ResultHash::of(content)).await.unwrap());
    }
    assert_eq!(hand_in(&market, None, &cid(b"asked"), b"asked").await.status, 200, "anybody may repair a file");
}

#[tokio::test(flavor = "multi_thread")]
async fn evidence_without_a_session_or_in_another_form_is_refused_and_leaves_nothing() {
    let market = Market::start().await;
    let session = market.session_of(market.wallet).await;
    let bearer = format!("Bearer {}", market.key.reveal());
    for headers in [&[][..], &[("authorization", bearer.as_str())]] {
        let answer = market.ask("POST", "/v1/evidence", headers, Some(&evidence())).await;
        assert_eq!((answer.status, answer.code()), (401, "unauthorized"), "{answer:?}");
    }
    let file = |name: &str| json!({"name": name, "media_type": "text/plain", "content": BASE64.encode(b"x")});
    for (body, named) in [
        (json!({}), "`text`"),
        (json!({"text": ""}), "`text`"),
        (json!({"text": "t", "more": 1}), "`more`"),
        (json!({"text": "t", "files": [file("a/b")]}), "files[0].name"),
        (json!({"text": "t", "files": [file("a"), file("a")]}), "files[1].name"),
        (json!({"text": "t", "files": (0..6).map(|n| file(&n.to_string())).collect::<Vec<_>>()}), "`files`"),
    ] {
        let answer = market.ask_as(&session, "POST", "/v1/evidence", Some(&body)).await;
        assert_eq!((answer.status, answer.code()), (400, "invalid_request"), "{answer:?}");
        assert!(answer.message().contains(named), "{named}: {answer:?}");
    }
    assert_eq!(get(&market, &cid(b"x")).await.status, 404);
}

fn metadata() -> Value {
    json!({
        "name": "n", "tagline": "t", "description": "d", "tags": ["data"], "endpoint": "https://a.example/execute",
        "input_schema": {"type": "object"}, "output_schema": {"type": "string"},
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_good_document_is_stored_as_it_was_sent() {
    let market = Market::start().await;
    let session = market.session_of(market.wallet).await;
    let sent = metadata().to_string();
    let answer = market.ask_as(&session, "POST", "/v1/metadata", Some(&metadata())).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    let hash = ResultHash::of(sent.as_bytes());
    assert_eq!((&answer.body["hash"], &answer.body["size"]), (&json!(hash.to_string()), &json!(sent.len())));
    assert_eq!(get(&market, &cid(sent.as_bytes())).await.body, metadata());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_problem_of_a_document_is_named_at_once() {
    let market = Market::start().await;
    let session = market.session_of(market.wallet).await;
    let problems = async |bad: Value| {
        let answer = market.ask_as(&session, "POST", "/v1/metadata", Some(&bad)).await;
        assert_eq!((answer.status, answer.code()), (400, "invalid_request"), "{answer:?}");
        answer.message().to_owned()
    };
    let message = problems(json!({"name": "", "tags": [], "endpoint": "ftp://x", "input_schema": 1})).await;
    for field in ["name", "tagline", "description", "tags", "endpoint", "input_schema", "output_schema"] {
        assert!(message.contains(&format!("`{field}`")), "{field}: {message}");
    }
    let mut bad = metadata();
    bad["endpoint"] = json!("https://user:password@a.example/");
    bad["input_schema"] = json!({"$ref": "https://b.example/schema"});
    bad["output_schema"] = (0..80).fold(json!({}), |inner, _| json!({"items": inner}));
    let message = problems(bad).await;
    for field in ["endpoint", "input_schema", "output_schema"] {
        assert!(message.contains(&format!("`{field}`")), "{field}: {message}");
    }
    assert_eq!(message.lines().count(), 3, "{message}");
    assert_eq!(market.ask("POST", "/v1/metadata", &[], Some(&metadata())).await.status, 401);
    let mut large = metadata();
    large["description"] = json!("x".repeat(300_000));
    assert_eq!(market.ask_as(&session, "POST", "/v1/metadata", Some(&large)).await.status, 413);
}

#[tokio::test(flavor = "multi_thread")]
async fn handing_in_waits_with_one_connection_however_many_do_so() {
    let market = Market::start().await;
    let pool = market.database.pool();
    let session = market.session_of(market.wallet).await;
    let busy = fixtures::lock_held_content(pool).await;
    let requests = (0..6_u8).map(|number| {
        let (market, session) = (&market, &session);
        async move { hand_in(market, Some(session), &cid(&[number]), &[number]).await.status }
    });
    let waiting = async {
        while fixtures::waiting_for_advisory_locks(pool).await == 0 {
            tokio::task::yield_now().await;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
        let waiting = fixtures::waiting_for_advisory_locks(pool).await;
        drop(busy);
        waiting
    };
    let (statuses, waiting) = tokio::join!(futures::future::join_all(requests), waiting);
    assert_eq!(waiting, 1);
    assert_eq!(statuses, [201; 6]);
}
