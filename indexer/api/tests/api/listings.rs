//! `GET /v1/agents/{agent_id}/listing`, and the reason in other answers, over a real PostgreSQL.

use std::time::Duration;

use crate::common::Market;
use agent_marketplace::state::{AgentListed, AgentStatus};
use crtx_protocol::result_hash::ResultHash;
use crtx_store::{
    metadata::{self, ClaimLimits, FailureKind, FetchFailure},
    mirror,
    testing::fixtures::*,
};
use serde_json::{Value, json};
use solana_pubkey::Pubkey;
use uuid::Uuid;

const LIMITS: ClaimLimits = ClaimLimits {
    fresh: 10,
    retries: 10,
    per_creator: 10,
    per_host: 10,
    of_content: 10,
    lease: Duration::from_secs(60),
};

async fn put_listing(market: &Market, change: impl FnOnce(&mut AgentListed)) -> Pubkey {
    let mut listing = listing(wallet(1), 0);
    set_uri(&mut listing, "https://creator.example/a\u{7}.json");
    listing.metadata_hash = ResultHash::of(&document("wanted", &["data"])).0;
    change(&mut listing);
    let address = addresses().agent(&listing.creator, listing.index);
    put(market.database.pool(), &address, 10, &listing).await;
    address
}

async fn fail(market: &Market, kind: FailureKind, message: &str) {
    let claimed = metadata::claim(market.database.pool(), Uuid::nil(), LIMITS).await.expect("claimed");
    let failure = FetchFailure { kind, message, retry_in: Duration::ZERO };
    metadata::store_failure(market.database.pool(), &claimed[0], failure).await.expect("stored");
}

/// The answer about the listing; every other answer about it says the same.
async fn listing_of(market: &Market, agent: &Pubkey) -> Value {
    let answer = market.get(&format!("/v1/agents/{agent}/listing")).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.headers.contains_key("x-indexed-slot") || answer.body["agent_id"] == json!(agent.to_string()));
    let by_id = market.get(&format!("/v1/agents/{agent}")).await;
    let reason = &answer.body["reason"];
    if answer.body["shown"] == json!(true) {
        assert_eq!(by_id.status, 200, "{by_id:?}");
    } else {
        by_id.assert_error(404, "agent_not_found");
        assert!(by_id.message().contains(reason["message"].as_str().expect("a message")), "{}", by_id.message());
        assert!(!by_id.message().chars().any(char::is_control), "{:?}", by_id.message());
    }
    let listed = market.get("/v1/agents").await.body["total"] == json!(1);
    assert_eq!(answer.body["listed"], json!(listed));
    assert_eq!(reason.is_null(), listed);
    answer.body
}

/// The reason in the answer about the creator's wallet.
async fn reason_of_owner(market: &Market) -> Value {
    put(market.database.pool(), &addresses().config(), 1, &configuration()).await;
    market.get(&format!("/v1/wallets/{}", wallet(1))).await.body["agents"][0]["reason"].clone()
}

#[tokio::test]
async fn a_creator_reads_why_a_listing_is_hidden_and_when_it_is_tried_again() {
    let market = Market::open().await;
    let agent = put_listing(&market, |_| {}).await;
    let before = listing_of(&market, &agent).await;
    assert_eq!(before["reason"]["code"], "document_pending");
    assert_eq!(before["document"]["attempts"], 0);
    assert_eq!(before["document"]["next_attempt_at"], Value::Null);
    assert_eq!(before["document"]["uri"], "https://creator.example/a\u{fffd}.json");

    for (number, (kind, code)) in [
        (FailureKind::Unavailable, "document_unavailable"),
        (FailureKind::Mismatch, "document_mismatch"),
        (FailureKind::Invalid, "document_invalid"),
    ]
    .into_iter()
    .enumerate()
    {
        fail(&market, kind, &format!("bad\u{1b}[31m {}", "x".repeat(5_000))).await;
        let after = listing_of(&market, &agent).await;
        assert_eq!((after["shown"].clone(), after["listed"].clone()), (json!(false), json!(false)));
        assert_eq!(after["reason"]["code"], code);
        assert!(after["reason"]["message"].as_str().expect("text").len() < 1_000);
        assert_eq!(after["document"]["attempts"], number + 1);
        assert!(after["document"]["last_attempt_at"].is_string() && after["document"]["next_attempt_at"].is_string());
        assert_eq!(reason_of_owner(&market).await["code"], code);
    }

    store_document(market.database.pool(), &agent, &document("wanted", &["data"])).await;
    let shown = listing_of(&market, &agent).await;
    assert_eq!((shown["shown"].clone(), shown["listed"].clone()), (json!(true), json!(true)));
    assert_eq!((shown["document"]["usable"].clone(), reason_of_owner(&market).await), (json!(true), Value::Null));
}

#[tokio::test]
async fn a_paused_a_delisted_and_a_closed_listing_have_their_reasons() {
    let market = Market::open().await;
    let bytes = document("wanted", &["data"]);
    for (revision, status, shown, code) in
        [(2, AgentStatus::Paused, true, "paused"), (3, AgentStatus::Delisted, false, "delisted")]
    {
        let agent = put_listing(&market, |listing| (listing.revision, listing.status) = (revision, status as u8)).await;
        store_document(market.database.pool(), &agent, &bytes).await;
        let answer = listing_of(&market, &agent).await;
        assert_eq!((answer["shown"].clone(), answer["reason"]["code"].clone()), (json!(shown), json!(code)));
        assert_eq!(reason_of_owner(&market).await["code"], code);
    }
    let agent = addresses().agent(&wallet(1), 0);
    mirror::mark_closed(market.database.pool(), &[agent], 20).await.expect("closed");
    assert_eq!(listing_of(&market, &agent).await["reason"]["code"], "closed");
}

#[tokio::test]
async fn bytes_that_cannot_be_decoded_are_a_reason_and_an_unknown_address_has_none() {
    let market = Market::open().await;
    let agent = wallet(9);
    let mut batch = mirror::Batch::default();
    batch.quarantine(&agent, 5, vec![1, 2, 3], "unknown\u{0}account".to_owned()).expect("a row");
    let mut connection = market.database.pool().acquire().await.expect("a connection");
    mirror::apply(&mut connection, &batch).await.expect("written");
    drop(connection);
    let answer = listing_of(&market, &agent).await;
    assert_eq!(
        (answer["reason"]["code"].clone(), answer["document"].clone()),
        (json!("account_unreadable"), Value::Null)
    );
    for unknown in [wallet(8).to_string(), "no-address".to_owned()] {
        market.get(&format!("/v1/agents/{unknown}/listing")).await.assert_error(404, "agent_not_found");
        assert!(!market.get(&format!("/v1/agents/{unknown}")).await.message().contains("on chain"));
    }
    market.get(&format!("/v1/agents/{agent}/listing?x=1")).await.assert_error(400, "invalid_request");
}
