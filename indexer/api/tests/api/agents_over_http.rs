//! `GET /v1/agents` and `GET /v1/agents/{agent_id}`: every filter, sort and field.

use crate::common::{Market, market_of_agents};
use agent_marketplace::state::AgentStatus;
use crtx_protocol::result_hash::ResultHash;
use crtx_store::{reads, testing::fixtures::*};
use serde_json::json;
use uuid::Uuid;

async fn names(market: &Market, query: &str) -> Vec<String> {
    let answer = market.get(&format!("/v1/agents{query}")).await;
    assert_eq!(answer.status, 200, "{query}: {}", answer.body);
    assert_eq!(answer.body["total"], answer.body["agents"].as_array().expect("a list").len(), "{query}");
    answer.each("agents", "name").into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn agents_are_sorted_by_every_key() {
    let market = market_of_agents().await;
    for (query, expected) in [
        ("", ["beta", "gamma", "alpha"]),
        ("?sort=total_executions", ["beta", "gamma", "alpha"]),
        ("?sort=success_rate", ["gamma", "alpha", "beta"]),
        ("?sort=price_asc", ["beta", "alpha", "gamma"]),
        ("?sort=price_desc", ["gamma", "alpha", "beta"]),
        ("?sort=created_at", ["gamma", "beta", "alpha"]),
        ("?sort=trust", ["alpha", "gamma", "beta"]),
    ] {
        assert_eq!(names(&market, query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn agents_are_filtered_by_every_parameter() {
    let market = market_of_agents().await;
    for (query, expected) in [
        ("?tags=data", &["beta", "alpha"][..]),
        ("?tags=data,finance", &["alpha"]),
        ("?tags=finance%2Cdata", &["alpha"]),
        ("?tags=custom-tag", &["gamma"]),
        ("?tags=legal", &[]),
        ("?min_success_rate=0.9", &["gamma", "alpha"]),
        ("?min_success_rate=0", &["beta", "gamma", "alpha"]),
        ("?min_success_rate=1.0", &["gamma"]),
        ("?min_executions=20", &["beta", "gamma"]),
        ("?min_executions=31", &[]),
        ("?verified_only=true", &["alpha"]),
        ("?verified_only=false", &["beta", "gamma", "alpha"]),
        ("?tags=data&min_executions=20&min_success_rate=0.5", &["beta"]),
    ] {
        assert_eq!(names(&market, query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn pages_cover_the_list_without_repeating_or_skipping() {
    let market = Market::open().await;
    for index in 0..23 {
        show(market.database.pool(), listing(wallet(1), index), &format!("agent-{index}"), &["data"]).await;
    }
    let first = market.get("/v1/agents").await;
    assert_eq!(
        (&first.body["limit"], &first.body["offset"], &first.body["total"]),
        (&json!(20), &json!(0), &json!(23))
    );
    assert_eq!(first.body["agents"].as_array().expect("a list").len(), 20);
    let mut seen: Vec<String> = Vec::new();
    for offset in (0..25).step_by(5) {
        let page = market.get(&format!("/v1/agents?limit=5&offset={offset}")).await;
        assert_eq!((&page.body["limit"], &page.body["offset"]), (&json!(5), &json!(offset)));
        seen.extend(page.each("agents", "agent_id").into_iter().map(str::to_owned));
    }
    assert_eq!(seen.len(), 23);
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 23);
    assert_eq!(market.get("/v1/agents?limit=100").await.status, 200);
    assert_eq!(market.get("/v1/agents?offset=10000").await.body["agents"], json!([]));
}

#[tokio::test]
async fn a_summary_has_exactly_the_specified_fields() {
    let market = market_of_agents().await;
    let answer = market.get("/v1/agents?tags=finance").await;
    let id = addresses().agent(&wallet(1), 0).to_string();
    assert_eq!(
        answer.body["agents"],
        json!([{
            "agent_id": id, "name": "alpha", "tagline": "alpha in one sentence", "tags": ["data", "finance"],
            "binding": true, "price_per_call_usdc": 0.05, "total_executions": 10, "trust_usdc": 0.004501,
            "success_rate": 0.9, "avg_execution_time_ms": 150,
            "creator": {"pubkey": wallet(1).to_string(), "verified": true}, "status": "active"
        }])
    );
}

#[tokio::test]
async fn a_full_listing_has_exactly_the_specified_fields() {
    let market = market_of_agents().await;
    let pool = market.database.pool();
    let agent = addresses().agent(&wallet(1), 0);
    for (caller, number) in [(7, 1), (7, 2), (8, 3)] {
        let (caller, id) = (wallet(caller), Uuid::from_u128(number));
        put(pool, &addresses().execution(&caller, id.as_bytes()), 5, &completed(record(caller, agent, id), "r")).await;
    }
    let terms = reads::agents(pool, &[agent]).await.expect("read").pop().expect("shown").terms_hash;
    let id = agent.to_string();
    let mut answer = market.get(&format!("/v1/agents/{id}")).await;
    // Most of them depend on the day of the test.
    let metrics = answer.body.as_object_mut().expect("an object").remove("metrics").expect("metrics");
    assert_eq!((&metrics["window_days"], &metrics["unique_paying_wallets"]), (&json!(30), &json!(2)));
    assert_eq!((&metrics["fees_paid_usdc"], &metrics["free_collateral_usdc"]), (&json!(0.004501), &json!(10)));
    let names: Vec<&str> = metrics.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(names.len(), 14, "{names:?}");
    assert_eq!(
        answer.body,
        json!({
            "agent_id": id, "name": "alpha", "tagline": "alpha in one sentence", "tags": ["data", "finance"],
            "binding": true, "min_cover": 0, "price_per_call_usdc": 0.05, "terms_hash": terms,
            "timeout_seconds": 60, "total_executions": 10, "trust_usdc": 0.006001, "success_rate": 0.9,
            "avg_execution_time_ms": 150,
            "creator": {
                "pubkey": wallet(1).to_string(), "verified": true, "resembles_verified": false, "display_name": "Ada",
                "closed_agents": {
                    "agents": 1, "completed_executions": 8, "successful_executions": 7, "failed_executions": 6,
                    "unproved_failures": 9, "expired_executions": 5, "dispute_count": 4, "slashed_usdc": 3, "platform_fees_usdc": 0.002
                }
            },
            "status": "active", "suspended": false, "description": "alpha at length", "input_schema": {"type": "object"},
            "output_schema": {"type": "string"}, "successful_executions": 9, "failed_executions": 1,
            "unproved_failures": 0, "expired_executions": 50, "dispute_count": 0, "platform_fees_usdc": 0.004501, "unique_callers": 2,
            "on_chain_listing": format!("https://explorer.solana.com/address/{id}?cluster=custom&customUrl=http%3A%2F%2Fnode.example"),
            "created_at": "2026-11-21T09:57:00Z"
        })
    );
}

#[tokio::test]
async fn a_creator_whose_name_looks_like_a_verified_one_is_marked_as_long_as_that_one_is_verified() {
    let market = market_of_agents().await;
    let pool = market.database.pool();
    let marked = async |creator: u8| {
        let agent = addresses().agent(&wallet(creator), 0);
        market.get(&format!("/v1/agents/{agent}")).await.body["creator"]["resembles_verified"].clone()
    };
    assert_eq!((marked(1).await, marked(2).await), (json!(false), json!(false)));
    for (revision, name) in (2..).zip(["\u{410}da", "ADA", "A d a", "A\u{501}a"]) {
        let mut forged = profile(wallet(2), name, false);
        forged.revision = revision;
        put(pool, &wallet(102), revision, &forged).await;
        assert_eq!((marked(1).await, marked(2).await), (json!(false), json!(true)), "{name}");
    }
    let mut ada = profile(wallet(1), "Ada", false);
    ada.revision = 2;
    put(pool, &wallet(101), 2, &ada).await;
    assert_eq!(marked(2).await, json!(false));
}

#[tokio::test]
async fn a_suspended_agent_is_shown_as_paused_with_the_reason_and_not_listed() {
    let market = market_of_agents().await;
    let pool = market.database.pool();
    let mut suspended = listing(wallet(1), 0);
    (suspended.revision, suspended.suspended) = (9, 1);
    let agent = show(pool, suspended, "alpha", &["data"]).await;
    let shown = market.get(&format!("/v1/agents/{agent}")).await.body;
    assert_eq!((&shown["status"], &shown["suspended"]), (&json!("paused"), &json!(true)));
    assert!(!names(&market, "").await.contains(&"alpha".to_owned()));
    suspended.revision = 10;
    suspended.suspended = 0;
    show(pool, suspended, "alpha", &["data"]).await;
    let shown = market.get(&format!("/v1/agents/{agent}")).await.body;
    assert_eq!((&shown["status"], &shown["suspended"]), (&json!("active"), &json!(false)));
}

#[tokio::test]
async fn a_paused_agent_is_found_but_not_listed() {
    let market = market_of_agents().await;
    let id = addresses().agent(&wallet(1), 9).to_string();
    assert_eq!(market.get(&format!("/v1/agents/{id}")).await.body["status"], "paused");
    assert!(!names(&market, "").await.contains(&"paused".to_owned()));
}

#[tokio::test]
async fn an_agent_that_is_not_there_is_not_found() {
    let market = Market::open().await;
    let mut delisted = listing(wallet(1), 0);
    delisted.status = AgentStatus::Delisted as u8;
    let delisted = show(market.database.pool(), delisted, "gone", &["data"]).await;
    for id in [delisted.to_string(), wallet(50).to_string(), "abc".into(), "%00".into(), "x".repeat(3_000)] {
        market.get(&format!("/v1/agents/{id}")).await.assert_error(404, "agent_not_found");
    }
}

#[tokio::test]
async fn an_agent_is_shown_only_with_the_document_that_the_chain_names() {
    let market = Market::open().await;
    let pool = market.database.pool();
    let agent = show(pool, listing(wallet(1), 0), "first", &["data"]).await;
    let path = format!("/v1/agents/{agent}");
    assert_eq!(market.get(&path).await.body["name"], "first");

    // The creator names another document: until it has been fetched there is nothing true to show.
    let mut edited = listing(wallet(1), 0);
    edited.revision = 2;
    edited.metadata_hash = ResultHash::of(&document("second", &["data"])).0;
    put(pool, &agent, 11, &edited).await;
    market.get(&path).await.assert_error(404, "agent_not_found");
    assert_eq!(market.get("/v1/agents").await.body["total"], 0);

    // A document under any other hash changes nothing.
    store_document(pool, &agent, &document("forged", &["data"])).await;
    assert_eq!(market.get("/v1/agents").await.body["total"], 0);

    store_document(pool, &agent, &document("second", &["data"])).await;
    assert_eq!(market.get(&path).await.body["name"], "second");
}

#[tokio::test]
async fn a_creator_without_a_name_has_an_empty_one() {
    let market = Market::open().await;
    let pool = market.database.pool();
    put(pool, &wallet(101), 1, &profile(wallet(1), "", false)).await;
    for creator in [1, 2] {
        let agent = show(pool, listing(wallet(creator), 0), "agent", &["data"]).await;
        let body = market.get(&format!("/v1/agents/{agent}")).await.body;
        assert_eq!(body["creator"]["display_name"], "", "{creator}");
        assert_eq!(body["creator"]["closed_agents"]["agents"], 0, "{creator}");
    }
}
