//! The list of agents over HTTP and a real PostgreSQL: search, filters, cursors, validators, and what the list follows.

use crate::common::{Answer, Market};
use agent_marketplace::state::{AgentListed, AgentStatus};
use axum::{Router, body::Body, http::Request};
use crtx_api::{
    ApiState,
    agent_list::{AgentList, AgentListQuery},
};
use crtx_protocol::result_hash::ResultHash;
use crtx_store::{
    ReadPools, mirror,
    pools::{self, PoolLimits},
    reads::Start,
    testing::{fixtures::*, probes},
};
use serde_json::{Value, json};
use solana_pubkey::Pubkey;
use tower::ServiceExt;

fn priced(number: u8, price: u64, executions: u64) -> AgentListed {
    let mut listing = listing(wallet(number), 0);
    listing.price = price;
    listing.total_executions = executions;
    listing.successful_executions = executions;
    listing.completed_executions = executions;
    listing
}

/// Shows an agent with these texts.
async fn tell(market: &Market, mut listing: AgentListed, name: &str, tagline: &str, tag: &str, description: &str) {
    let document = json!({
        "name": name, "tagline": tagline, "description": description, "tags": [tag],
        "endpoint": "https://creator.example/execute", "input_schema": {}, "output_schema": {}
    });
    let bytes = serde_json::to_vec(&document).expect("json");
    listing.metadata_hash = ResultHash::of(&bytes).0;
    let address = addresses().agent(&listing.creator, listing.index);
    put(market.database.pool(), &address, 10, &listing).await;
    store_document(market.database.pool(), &address, &bytes).await;
}

async fn found(market: &Market, query: &str) -> Vec<String> {
    let answer = market.get(&format!("/v1/agents?{query}")).await;
    assert_eq!(answer.status, 200, "{query}: {}", answer.body);
    assert_eq!(answer.body["total"], answer.body["agents"].as_array().expect("a list").len(), "{query}");
    answer.each("agents", "name").into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn a_search_ranks_names_before_tags_before_taglines_before_descriptions() {
    let market = Market::open().await;
    tell(&market, priced(1, 10_000, 1), "Plain one", "reads things", "data", "It can translate any text.").await;
    tell(&market, priced(2, 10_000, 2), "Plain two", "will translate for you", "data", "-").await;
    tell(&market, priced(3, 10_000, 3), "Plain three", "reads things", "translate", "-").await;
    tell(&market, priced(4, 10_000, 4), "Translate four", "reads things", "data", "-").await;
    tell(&market, priced(5, 10_000, 5), "Translates five", "reads things", "data", "-").await;
    tell(&market, priced(6, 10_000, 6), "Tranzlate six", "reads things", "data", "-").await;
    tell(&market, priced(7, 10_000, 7), "Unrelated", "reads things", "data", "-").await;
    let all = ["Translate four", "Translates five", "Plain three", "Plain two", "Plain one", "Tranzlate six"];
    assert_eq!(found(&market, "q=translate").await, all);
    assert_eq!(found(&market, "q=TRANSL%C3%81TE&sort=relevance").await, all);
    // The beginning of a word, if it is the last one.
    assert_eq!(
        found(&market, "q=transl").await,
        ["Translates five", "Translate four", "Plain three", "Plain two", "Plain one"]
    );
    assert_eq!(found(&market, "q=transl+four").await, [""; 0]);
    // A word that differs by one edit ranks behind: `for` in the tagline.
    assert_eq!(found(&market, "q=four+transl").await, ["Translate four", "Plain two"]);
    // All words, in any field.
    assert_eq!(found(&market, "q=plain+translate").await, ["Plain three", "Plain two", "Plain one"]);
    assert_eq!(found(&market, "q=plain+translate+nothing").await, [""; 0]);
    // With mistakes: one from four letters on, two from eight; exchanged neighbours are one.
    assert_eq!(found(&market, "q=unrelatde").await, ["Unrelated"]);
    assert_eq!(found(&market, "q=umrelatet").await, ["Unrelated"]);
    assert_eq!(found(&market, "q=fuor+translate").await, ["Translate four", "Plain two"]);
    assert_eq!(found(&market, "q=foour").await, ["Translate four"]);
    assert_eq!(found(&market, "q=fxxr").await, [""; 0]);
    assert_eq!(found(&market, "q=sxi").await, [""; 0]);
    // In any other order, and with any filter.
    assert_eq!(found(&market, "q=plain&sort=total_executions").await, ["Plain three", "Plain two", "Plain one"]);
    assert_eq!(
        found(&market, "q=translate&tags=data&min_executions=4").await,
        ["Translate four", "Translates five", "Tranzlate six"]
    );
}

#[tokio::test]
async fn a_search_follows_the_documents() {
    let market = Market::open().await;
    tell(&market, priced(1, 10_000, 1), "Old name", "tag line", "data", "one description").await;
    assert_eq!(found(&market, "q=description").await, ["Old name"]);
    let mut edited = priced(1, 10_000, 1);
    edited.revision = 2;
    tell(&market, edited, "New name", "tag line", "code", "another text").await;
    assert_eq!(found(&market, "q=description").await, [""; 0]);
    assert_eq!(found(&market, "q=old").await, [""; 0]);
    assert_eq!(found(&market, "tags=data").await, [""; 0]);
    assert_eq!(found(&market, "q=another&tags=code").await, ["New name"]);
}

#[tokio::test]
async fn agents_are_filtered_by_creator_and_price() {
    let market = Market::open().await;
    let pool = market.database.pool();
    for (number, price) in [(1, 10_000), (2, 50_000), (3, 50_001), (4, 2_000_000)] {
        show(pool, priced(number, price, 0), &format!("agent {number}"), &["data"]).await;
    }
    let mut second = priced(2, 70_000, 0);
    second.index = 1;
    show(pool, second, "second of 2", &["data"]).await;
    assert_eq!(found(&market, "max_price=0.05&sort=price_asc").await, ["agent 1", "agent 2"]);
    assert_eq!(found(&market, "max_price=0.050001&sort=price_desc").await, ["agent 3", "agent 2", "agent 1"]);
    assert_eq!(found(&market, "max_price=0").await, [""; 0]);
    assert_eq!(found(&market, "max_price=18446744073709.551615&tags=data").await.len(), 5);
    assert_eq!(found(&market, &format!("creator={}&sort=price_asc", wallet(2))).await, ["agent 2", "second of 2"]);
    assert_eq!(found(&market, &format!("creator={}&max_price=0.06", wallet(2))).await, ["agent 2"]);
    assert_eq!(found(&market, &format!("creator={}", wallet(99))).await, [""; 0]);
}

/// The pages after a first one, by their cursors.
async fn follow(market: &Market, path: &str, mut page: Answer) -> Vec<String> {
    let mut all = Vec::new();
    loop {
        all.extend(page.each("agents", "agent_id").into_iter().map(str::to_owned));
        let Some(cursor) = page.body["next_cursor"].as_str() else { return all };
        page = market.get(&format!("{path}&cursor={cursor}")).await;
        assert_eq!(page.status, 200, "{}", page.body);
    }
}

#[tokio::test]
async fn a_cursor_goes_on_where_the_page_ended_while_agents_come_and_go() {
    let market = Market::open().await;
    let pool = market.database.pool();
    let mut agents = Vec::new();
    for number in 1..=12 {
        agents.push(show(pool, priced(number, 10_000, u64::from(number / 3)), "agent", &["data"]).await.to_string());
    }
    for sort in ["total_executions", "success_rate", "price_asc", "price_desc", "created_at", "trust"] {
        let path = format!("/v1/agents?limit=5&sort={sort}");
        let all = market.get(&format!("/v1/agents?limit=100&sort={sort}")).await;
        let first = market.get(&path).await;
        assert_eq!(follow(&market, &path, first).await, all.each("agents", "agent_id"), "{sort}");
        assert_eq!(all.body["next_cursor"], Value::Null);
    }
    let path = "/v1/agents?limit=4&q=agent";
    let first = market.get(path).await;
    // Before the place of the cursor and behind it, agents come and go.
    let shown: Vec<String> = first.each("agents", "agent_id").into_iter().map(str::to_owned).collect();
    for (number, executions) in [(20, 100), (21, 0)] {
        show(pool, priced(number, 10_000, executions), "agent", &["data"]).await;
    }
    let closed: Pubkey = shown[1].parse().expect("an address");
    mirror::mark_closed(pool, &[closed], 11).await.expect("closed");
    let mut seen = follow(&market, path, first).await;
    let newcomer = addresses().agent(&wallet(21), 0).to_string();
    assert!(seen.contains(&newcomer), "who comes behind the place is on a page");
    seen.retain(|agent| *agent != newcomer);
    agents.sort();
    seen.sort();
    assert_eq!(seen, agents, "nobody is skipped or repeated");
}

#[tokio::test]
async fn a_cursor_is_good_for_its_own_list_only() {
    let market = Market::open().await;
    for number in 1..=3 {
        show(market.database.pool(), priced(number, 10_000, 1), "agent", &["data"]).await;
    }
    let first = market.get("/v1/agents?limit=1&sort=price_asc").await;
    let cursor = first.body["next_cursor"].as_str().expect("there is another page").to_owned();
    assert_eq!(market.get(&format!("/v1/agents?limit=2&sort=price_asc&cursor={cursor}")).await.status, 200);
    for other in ["sort=price_desc", "sort=price_asc&tags=data", "sort=price_asc&q=agent", ""] {
        market
            .get(&format!("/v1/agents?limit=1&{other}&cursor={cursor}").replace("&&", "&"))
            .await
            .assert_error(400, "invalid_request");
    }
}

#[tokio::test]
async fn what_a_transaction_writes_is_listed_however_late_it_commits() {
    let market = Market::open().await;
    let pool = market.database.pool();
    let late = show(pool, priced(1, 10_000, 1), "late", &["data"]).await;
    show(pool, priced(2, 10_000, 2), "early", &["data"]).await;
    assert_eq!(found(&market, "").await, ["early", "late"]);
    let transaction = probes::count_later(pool, &late, 1_000).await;
    // Others change after it and commit before it, and the list follows them.
    for executions in 3..6 {
        let mut listing = priced(2, 10_000, executions);
        listing.revision = executions;
        show(pool, listing, "early", &["data"]).await;
        assert_eq!(found(&market, "").await, ["early", "late"]);
    }
    transaction.commit().await.expect("commits");
    assert_eq!(found(&market, "").await, ["late", "early"]);
    assert_eq!(found(&market, "min_executions=1000").await, ["late"]);
}

#[tokio::test]
async fn the_list_follows_status_verification_removal_and_another_chain() {
    let market = Market::open().await;
    let pool = market.database.pool();
    let agent = show(pool, priced(1, 10_000, 1), "one", &["data"]).await;
    show(pool, priced(2, 10_000, 2), "two", &["data"]).await;
    assert_eq!(found(&market, "verified_only=true").await, [""; 0]);
    put(pool, &wallet(101), 1, &profile(wallet(1), "Ada", true)).await;
    assert_eq!(found(&market, "verified_only=true").await, ["one"]);
    let mut unverified = profile(wallet(1), "Ada", false);
    unverified.revision = 2;
    put(pool, &wallet(101), 2, &unverified).await;
    assert_eq!(found(&market, "verified_only=true").await, [""; 0]);

    let mut paused = priced(2, 10_000, 2);
    (paused.status, paused.revision) = (AgentStatus::Paused as u8, 2);
    show(pool, paused, "two", &["data"]).await;
    assert_eq!(found(&market, "").await, ["one"]);
    let mut active = priced(2, 10_000, 2);
    active.revision = 3;
    show(pool, active, "two", &["data"]).await;
    assert_eq!(found(&market, "q=two").await, ["two"]);

    probes::delete_agent(pool, &agent).await;
    assert_eq!(found(&market, "").await, ["two"]);

    mirror::clear(pool).await.expect("cleared");
    assert_eq!(found(&market, "").await, [""; 0]);
    show(pool, priced(3, 10_000, 2), "three", &["data"]).await;
    assert_eq!(found(&market, "").await, ["three"]);
}

#[tokio::test]
async fn the_slot_of_a_list_is_the_one_of_its_rows() {
    let market = Market::open().await;
    let pool = market.database.pool();
    for slot in [10_u64, 20, 30] {
        show(pool, priced(u8::try_from(slot).unwrap(), 10_000, slot), "agent", &["data"]).await;
        mirror::apply_changes(pool, &mirror::Batch::default(), slot).await.expect("applied");
        let answer = market.get("/v1/agents").await;
        assert_eq!(answer.headers["x-indexed-slot"], slot.to_string());
        assert_eq!(answer.body["total"], slot / 10);
    }
}

async fn ask(router: &Router, request: axum::http::request::Builder) -> (u16, axum::http::HeaderMap, Vec<u8>) {
    let request = request.body(Body::empty()).expect("request");
    let response = router.clone().oneshot(request).await.expect("infallible");
    let (parts, body) = response.into_parts();
    let bytes = axum::body::to_bytes(body, 10_000_000).await.expect("body");
    (parts.status.as_u16(), parts.headers, bytes.into())
}

#[tokio::test]
async fn a_list_is_sent_again_only_if_it_changed() {
    let market = Market::open().await;
    let pool = market.database.pool();
    for number in 1..=5 {
        show(pool, priced(number, 10_000, 1), "agent", &["data"]).await;
    }
    mirror::apply_changes(pool, &mirror::Batch::default(), 40).await.expect("applied");
    let state = ApiState::new(pool.clone(), crate::common::deployment(market.node.url()));
    let router = crtx_http::finish(crtx_api::router(state.clone()));
    let (status, headers, body) = ask(&router, Request::get("/v1/agents")).await;
    assert_eq!((status, &headers["cache-control"]), (200, &"public, max-age=1, must-revalidate".parse().unwrap()));
    let tag = headers["etag"].clone();

    let (status, headers, same) = ask(&router, Request::get("/v1/agents").header("if-none-match", &tag)).await;
    assert_eq!((status, same.as_slice(), &headers["etag"]), (304, &b""[..], &tag));
    assert_eq!(headers["x-indexed-slot"], "40");
    assert!(headers.contains_key("x-request-id"));

    let (status, headers, nothing) = ask(&router, Request::head("/v1/agents")).await;
    assert_eq!((status, nothing.as_slice(), &headers["etag"]), (200, &b""[..], &tag));
    assert_eq!(headers["content-length"], body.len().to_string());

    let (_, headers, short) = ask(&router, Request::get("/v1/agents").header("accept-encoding", "gzip")).await;
    assert_eq!(
        (&headers["content-encoding"], &headers["vary"]),
        (&"gzip".parse().unwrap(), &"accept-encoding".parse().unwrap())
    );
    assert!(short.len() < body.len() / 2);
    assert_eq!(headers["x-indexed-slot"], "40");

    let (_, headers, _) = ask(&router, Request::get("/v1/agents").header("authorization", "Bearer x")).await;
    assert_eq!(headers["cache-control"], "private, no-store");
    let (status, headers, _) = ask(&router, Request::get("/v1/agents?limit=0")).await;
    assert_eq!((status, &headers["cache-control"]), (400, &"private, no-store".parse().unwrap()));
    assert!(!headers.contains_key("etag"));

    show(pool, priced(6, 10_000, 1), "agent", &["data"]).await;
    state.agent_list().refresh().await.expect("read");
    assert_eq!(ask(&router, Request::get("/v1/agents").header("if-none-match", &tag)).await.0, 200);
}

#[tokio::test]
async fn a_client_that_names_the_slot_it_saw_gets_no_answer_of_an_earlier_one() {
    let market = Market::open().await;
    let pool = market.database.pool();
    mirror::apply_changes(pool, &mirror::Batch::default(), 40).await.expect("applied");
    let state = ApiState::new(pool.clone(), crate::common::deployment(market.node.url()));
    let router = crtx_http::finish(crtx_api::router(state));
    for path in ["/v1/agents", "/v1/agents/abc", "/v1/history"] {
        let seen = |slot: &str| ask(&router, Request::get(path).header("x-indexed-slot", slot));
        for slot in ["40", "39", "soon", "-1"] {
            let (status, headers, _) = seen(slot).await;
            assert_ne!(status, 503, "{path} {slot}");
            assert_eq!(headers["x-indexed-slot"], "40");
        }
    }
    let seen = |slot: &str| ask(&router, Request::get("/v1/agents").header("x-indexed-slot", slot));
    let (status, headers, body) = seen("41").await;
    assert_eq!((status, &headers["retry-after"]), (503, &"1".parse().unwrap()));
    assert!(String::from_utf8(body).unwrap().contains("\"stale\""));
    // It waits for a slot that is about to come.
    let (answer, _) = tokio::join!(seen("41"), async {
        tokio::time::sleep(std::time::Duration::from_millis(700)).await;
        mirror::apply_changes(pool, &mirror::Batch::default(), 41).await.expect("applied")
    });
    assert_eq!((answer.0, &answer.1["x-indexed-slot"]), (200, &"41".parse().unwrap()));
}

#[tokio::test]
async fn without_a_database_the_list_stays_and_before_the_first_there_is_none() {
    let market = Market::open().await;
    show(market.database.pool(), priced(1, 10_000, 1), "agent", &["data"]).await;
    let pool = pools::open(&market.database.url(), PoolLimits::points(2)).expect("a pool");
    let list = AgentList::new(pool.clone());
    assert_eq!(list.age(), None);
    list.refresh().await.expect("read");
    pool.close().await;
    assert!(list.refresh().await.is_err());
    assert!(list.age().is_some());
    let current = list.current().await.expect("it was read");
    let page = current.table.page(&AgentListQuery { limit: 9, ..AgentListQuery::default() }, &Start::Offset(0));
    assert_eq!(page.total, 1);

    let nowhere = pools::open("postgres://nobody@127.0.0.1:1/none", PoolLimits::points(1)).expect("a pool");
    let router = crtx_http::finish(crtx_api::router(ApiState::new(
        ReadPools::from(nowhere),
        crate::common::deployment(market.node.url()),
    )));
    let (status, headers, body) = ask(&router, Request::get("/v1/agents")).await;
    let body: Value = serde_json::from_slice(&body).expect("json");
    assert_eq!((status, &body["error"]["code"]), (503, &json!("unavailable")));
    assert!(headers.contains_key("retry-after"));
}

#[tokio::test]
async fn metrics_of_an_agent_follow_its_executions() {
    let market = Market::open().await;
    let pool = market.database.pool();
    let agent = show(pool, priced(1, 50_000, 2), "agent", &["data"]).await;
    let answer = market.get(&format!("/v1/agents/{agent}")).await;
    let metrics = &answer.body["metrics"];
    assert_eq!(metrics["collateral_cover"], 10_000_000.0 / 50_000.0);
    assert_eq!(metrics["window_days"], 30);
    // An open call of 0.05 USDC, and half of the collateral is claimed by a dispute.
    let mut listing = priced(1, 50_000, 3);
    (listing.revision, listing.open_amount) = (2, 50_000);
    listing.disputed_amount = listing.collateral / 2;
    listing.metadata_hash = ResultHash::of(&document("agent", &["data"])).0;
    put(pool, &agent, 11, &listing).await;
    let answer = market.get(&format!("/v1/agents/{agent}")).await;
    let metrics = &answer.body["metrics"];
    let free = listing.collateral - listing.disputed_amount;
    assert_eq!(metrics["amount_at_risk_usdc"], 0.05);
    assert_eq!(metrics["collateral_cover"], free as f64 / 50_000.0);
}

/// Asks without a look at the list, so that requests can run at the same time.
async fn get_at_once(market: &Market, paths: &[String]) -> Vec<(u16, Value)> {
    let all = paths.iter().map(|path| async move {
        let (status, _, body) = ask(&market.router, Request::get(path)).await;
        (status, serde_json::from_slice(&body).expect("JSON"))
    });
    futures::future::join_all(all).await
}

#[tokio::test]
async fn agents_that_are_asked_for_at_once_are_each_answered_as_alone() {
    let market = Market::open().await;
    let mut paths = Vec::new();
    for number in 1..=90 {
        let listing = priced(number, 10_000 + u64::from(number), 1);
        paths.push(format!("/v1/agents/{}", addresses().agent(&listing.creator, listing.index)));
        if number % 3 > 0 {
            tell(&market, listing, &format!("Agent {number}"), "one", "data", "a description").await;
        }
    }
    let mut alone = Vec::new();
    for path in &paths {
        alone.extend(get_at_once(&market, std::slice::from_ref(path)).await);
    }
    for (number, (status, body)) in (1..).zip(&alone) {
        if number % 3 > 0 {
            assert_eq!(
                (*status, &body["name"], &body["description"]),
                (200, &json!(format!("Agent {number}")), &json!("a description"))
            );
        } else {
            assert_eq!((*status, &body["error"]["code"]), (404, &json!("agent_not_found")));
        }
    }
    // Each three times: with the documents in memory, and in a process that has none.
    let (thrice, expected) = ([&paths[..]; 3].concat(), [&alone[..]; 3].concat());
    assert_eq!(get_at_once(&market, &thrice).await, expected);
    let state = ApiState::new(market.database.pool().clone(), crate::common::deployment(market.node.url()));
    let other = Market { router: crtx_http::finish(crtx_api::router(state.clone())), state, ..market };
    assert_eq!(get_at_once(&other, &thrice).await, expected);
}

#[tokio::test]
async fn an_agent_by_its_id_is_what_the_database_says_now() {
    let market = Market::open().await;
    let path = format!("/v1/agents/{}", addresses().agent(&wallet(1), 0));
    let mut listing = priced(1, 10_000, 1);
    for revision in 1..=5 {
        listing.revision = revision;
        listing.price = 10_000 * revision;
        tell(&market, listing, "Agent", "one", "data", &format!("revision {}", revision / 2)).await;
        for (status, body) in get_at_once(&market, &vec![path.clone(); 20]).await {
            let expected = (json!(format!("revision {}", revision / 2)), json!(revision as f64 / 100.0));
            assert_eq!((status, (body["description"].clone(), body["price_per_call_usdc"].clone())), (200, expected));
        }
    }
}

#[tokio::test]
async fn a_request_that_is_given_up_leaves_the_others_their_answer() {
    let market = Market::open().await;
    tell(&market, priced(1, 10_000, 1), "Agent", "one", "data", "-").await;
    let path = format!("/v1/agents/{}", addresses().agent(&wallet(1), 0));
    for _ in 0..20 {
        let given_up: Vec<_> = (0..10)
            .map(|_| {
                let (router, path) = (market.router.clone(), path.clone());
                tokio::spawn(async move { ask(&router, Request::get(&path)).await.0 })
            })
            .collect();
        tokio::task::yield_now().await;
        given_up.iter().for_each(tokio::task::JoinHandle::abort);
        assert!(get_at_once(&market, &vec![path.clone(); 5]).await.iter().all(|(status, _)| *status == 200));
    }
}

#[tokio::test]
async fn the_history_of_an_agent_has_its_days_and_its_newest_executions_without_their_callers() {
    let market = Market::open().await;
    let pool = market.database.pool();
    let agent = show(pool, priced(1, 50_000, 2), "agent", &["data"]).await;
    let path = format!("/v1/agents/{agent}/history");
    let empty = json!({"window_days": 30, "days": [], "recent_executions": []});
    assert_eq!(market.get(&path).await.body, empty);
    // All on one day, whenever the test runs.
    let now = chrono::Utc::now().timestamp();
    let yesterday = now - now % 86_400 - 3_600;
    let ended = [Some("one"), None, Some("three")];
    for (number, result) in (0_u8..).zip((0..4).flat_map(|_| ended)) {
        let mut open = record(wallet(50), agent, uuid::Uuid::from_bytes([number; 16]));
        open.record.opened_at_unix_s = yesterday + i64::from(number);
        // The last of those without a result expired.
        let reason = if number == 10 { 4 } else { 1 };
        let execution = result.map_or_else(|| refunded(open, reason), |result| completed(open, result));
        let address = addresses().execution(&wallet(50), &[number; 16]);
        put(pool, &address, 20, &execution).await;
    }
    crtx_store::testing::roll_up_all(pool).await.expect("rolled up");
    let answer = market.get(&path).await;
    let recent = answer.body["recent_executions"].as_array().expect("a list");
    let newest = addresses().execution(&wallet(50), &[11; 16]);
    assert_eq!((recent.len(), &recent[0]["record"]), (10, &json!(newest.to_string())));
    assert_eq!((&recent[0]["status"], &recent[0]["execution_time_ms"]), (&json!("completed"), &json!(1_200)));
    assert_eq!(recent[0]["failure_reason"], Value::Null);
    assert_eq!((&recent[1]["status"], &recent[1]["execution_time_ms"]), (&json!("expired"), &Value::Null));
    assert_eq!(recent[1]["failure_reason"], json!("expired"));
    assert_eq!((&recent[4]["status"], &recent[4]["failure_reason"]), (&json!("failed"), &json!("creator_failed")));
    assert!(!answer.body.to_string().contains(&wallet(50).to_string()), "{}", answer.body);
    let day = &answer.body["days"][0];
    assert_eq!((&day["completed_executions"], &day["failed_executions"]), (&json!(8), &json!(3)));
    let p50 = day["p50_execution_time_ms"].as_u64().expect("a time");
    assert!(p50.abs_diff(1_200) <= 36, "{p50}");
    assert_eq!(answer.body["days"].as_array().map(Vec::len), Some(1));
    market.get("/v1/agents/11111111111111111111111111111111/history").await.assert_error(404, "agent_not_found");
    market.get(&format!("{path}?x=1")).await.assert_error(400, "invalid_request");
}
