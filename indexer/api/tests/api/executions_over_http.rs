//! `GET /v1/executions` and `GET /v1/executions/{execution_id}`: who sees which, every filter and field.

use crate::common::Market;
use agent_marketplace::state::{DisputeOutcome, ExecutionStatus, Settler};
use axum::{body::Body, http::Request};
use chrono::TimeDelta;
use crtx_http::session_token::SessionToken;
use crtx_protocol::{
    api_key::{ApiKey, KeyNetwork},
    result_hash::ResultHash,
};
use crtx_store::{
    api_keys,
    sessions::{self, SessionKind},
    testing::fixtures::*,
};
use serde_json::json;
use solana_pubkey::Pubkey;
use uuid::Uuid;

#[tokio::test]
async fn executions_need_a_key_that_is_known_and_not_revoked() {
    let market = Market::open().await;
    let good = market.key_of(wallet(1)).await;
    let unknown = ApiKey::generate(KeyNetwork::Test).expect("randomness");
    let live = ApiKey::generate(KeyNetwork::Live).expect("randomness");
    let revoked = market.key_of(wallet(1)).await;
    let session = Pubkey::new_from_array(revoked.session_public_key());
    assert!(api_keys::revoke(market.database.pool(), &wallet(1), &session).await.expect("revoked"));
    // Ended by its wallet on the chain, where the gateway's own list of keys does not know of it.
    let ended = market.key_of(wallet(1)).await;
    let session = Pubkey::new_from_array(ended.session_public_key());
    let mut grant = grant(wallet(1), session);
    grant.revoked = 1;
    put(market.database.pool(), &addresses().grant(&wallet(1), &session), 5, &grant).await;
    for path in ["/v1/executions", &format!("/v1/executions/{}", Uuid::from_u128(1))] {
        market.get(path).await.assert_error(401, "unauthorized");
        for key in [&unknown, &live, &revoked, &ended] {
            market.get_as(key, path).await.assert_error(401, "unauthorized");
        }
        for header in ["", "Bearer", "Bearer x", "Basic abc", "Bearer crtx_test_", "crtx_test_abc", "Bearer \u{7f}"] {
            let Ok(request) = Request::get(path).header("authorization", header).body(Body::empty()) else { continue };
            let answer = market.send(request).await;
            answer.assert_error(401, "unauthorized");
            assert!(answer.headers.contains_key("www-authenticate"));
        }
        assert_ne!(market.get_as(&good, path).await.status, 401);
    }
    // A malformed parameter does not tell a stranger anything: the key comes first.
    market.get("/v1/executions?limit=0").await.assert_error(401, "unauthorized");
}

#[tokio::test]
async fn a_session_reads_the_executions_of_its_wallet_and_one_that_is_over_reads_nothing() {
    let market = Market::open().await;
    let pool = market.database.pool();
    let (alice, bob, agent, id) = (wallet(1), wallet(2), wallet(20), Uuid::from_u128(1));
    put(pool, &addresses().execution(&alice, id.as_bytes()), 5, &record(alice, agent, id)).await;
    let hour = TimeDelta::hours(1);
    let mine = market.session_of(alice, SessionKind::Bearer, hour).await;
    let theirs = market.session_of(bob, SessionKind::Bearer, hour).await;
    let over = market.session_of(alice, SessionKind::Bearer, -hour).await;
    let browser = market.session_of(alice, SessionKind::Cookie, hour).await;
    let path = format!("/v1/executions/{id}");
    assert_eq!(market.get_in(&mine, &path).await.body["status"], "running");
    assert_eq!(market.get_in(&mine, "/v1/executions").await.body["total"], 1);
    market.get_in(&theirs, &path).await.assert_error(404, "execution_not_found");
    assert_eq!(market.get_in(&theirs, "/v1/executions").await.body["total"], 0);
    for session in [&over, &browser, &SessionToken::generate().expect("randomness")] {
        market.get_in(session, &path).await.assert_error(401, "unauthorized");
    }
    let with_cookie = |token: &SessionToken| {
        let cookie = format!("crtx_session={}", token.reveal());
        Request::get(&path).header("cookie", cookie).body(Body::empty()).expect("request")
    };
    assert_eq!(market.send(with_cookie(&browser)).await.status, 200);
    market.send(with_cookie(&mine)).await.assert_error(401, "unauthorized");
    let session_id = sessions::list(pool, &bob, &Uuid::nil()).await.expect("read")[0].session_id;
    assert!(sessions::end(pool, &bob, &session_id).await.expect("done"));
    market.get_in(&theirs, "/v1/executions").await.assert_error(401, "unauthorized");
}

#[tokio::test]
async fn a_wallet_sees_its_own_executions_alone_even_under_the_same_id() {
    let market = Market::open().await;
    let pool = market.database.pool();
    let (alice, bob, agent) = (wallet(1), wallet(2), wallet(20));
    let (shared, private) = (Uuid::from_u128(1), Uuid::from_u128(2));
    put(pool, &addresses().execution(&alice, shared.as_bytes()), 5, &completed(record(alice, agent, shared), "a"))
        .await;
    put(pool, &addresses().execution(&bob, shared.as_bytes()), 5, &record(bob, agent, shared)).await;
    put(pool, &addresses().execution(&alice, private.as_bytes()), 5, &record(alice, agent, private)).await;
    GatewayRow::new(alice, agent, Uuid::from_u128(3), "running").insert(pool).await;

    let (alices, bobs) = (market.key_of(alice).await, market.key_of(bob).await);
    assert_eq!(market.get_as(&alices, &format!("/v1/executions/{shared}")).await.body["status"], "completed");
    assert_eq!(market.get_as(&bobs, &format!("/v1/executions/{shared}")).await.body["status"], "running");
    for id in [private, Uuid::from_u128(3), Uuid::from_u128(99)] {
        market.get_as(&bobs, &format!("/v1/executions/{id}")).await.assert_error(404, "execution_not_found");
    }
    assert_eq!(market.get_as(&alices, "/v1/executions").await.body["total"], 3);
    assert_eq!(market.get_as(&bobs, "/v1/executions").await.each("executions", "execution_id"), [shared.to_string()]);
}

#[tokio::test]
async fn a_completed_execution_has_every_specified_field() {
    let market = Market::open().await;
    let pool = market.database.pool();
    let caller = wallet(2);
    let agent = show(pool, listing(wallet(1), 0), "alpha", &["data"]).await;
    let id = Uuid::from_u128(1);
    let mut row = GatewayRow::new(caller, agent, id, "completed");
    row.steps = Some(json!([{"thought": "hm"}]));
    let address = row.insert(pool).await;
    let mut settled = completed(record(caller, agent, id), "the result");
    settled.record.tokens_reported = 1;
    settled.record.tokens_used = 321;
    settled.record.binding = 1;
    put(pool, &address, 5, &settled).await;
    let key = market.key_of(caller).await;
    let hash = ResultHash::of(b"the result");
    let link =
        format!("https://explorer.solana.com/address/{address}?cluster=custom&customUrl=http%3A%2F%2Fnode.example");
    assert_eq!(
        market.get_as(&key, &format!("/v1/executions/{id}")).await.body,
        json!({
            "execution_id": id, "agent_id": agent.to_string(), "agent_name": "alpha", "status": "completed",
            "result": "the result", "result_hash": hash.to_string(), "cost_usdc": 0.05,
            "creator_amount_usdc": 0.0495, "platform_amount_usdc": 0.0005, "tokens_used": 321,
            "execution_time_ms": 1200, "settled_by": "gateway", "binding": true, "initiated_at": "2026-11-21T10:00:00.500Z",
            "completed_at": "2026-11-21T10:00:00.590Z", "on_chain_record": link,
            "ipfs_url": format!("http://market.example/ipfs/{}", crtx_protocol::content::cid_of(&hash)),
            "steps": [{"thought": "hm"}]
        })
    );
    assert_eq!(
        market.get_as(&key, "/v1/executions").await.body,
        json!({
            "executions": [{
                "execution_id": id, "agent_id": agent.to_string(), "agent_name": "alpha", "status": "completed",
                "cost_usdc": 0.05, "creator_amount_usdc": 0.0495, "platform_amount_usdc": 0.0005,
                "initiated_at": "2026-11-21T10:00:00.500Z", "completed_at": "2026-11-21T10:00:00.590Z",
                "execution_time_ms": 1200, "session_public_key": wallet(79).to_string(), "failure": null,
                "on_chain_record": link
            }],
            "total": 1, "limit": 20, "offset": 0, "next_cursor": null
        })
    );
}

#[tokio::test]
async fn an_execution_that_no_gateway_of_ours_carried_out_is_shown_from_the_chain() {
    let market = Market::open().await;
    let pool = market.database.pool();
    let (caller, id) = (wallet(2), Uuid::from_u128(1));
    let address = addresses().execution(&caller, id.as_bytes());
    put(pool, &address, 5, &completed(record(caller, wallet(20), id), "elsewhere")).await;
    let body = market.get_as(&market.key_of(caller).await, &format!("/v1/executions/{id}")).await.body;
    assert_eq!(
        (&body["status"], &body["result"], &body["agent_name"]),
        (&json!("completed"), &json!(null), &json!(wallet(20).to_string()))
    );
    assert_eq!(body["result_hash"], ResultHash::of(b"elsewhere").to_string());
    assert!(body["ipfs_url"].is_string());
    assert_eq!(
        (&body["initiated_at"], &body["completed_at"]),
        (&json!("2026-11-21T10:00:00Z"), &json!("2026-11-21T10:00:02Z"))
    );
    assert!(body.get("tokens_used").is_none());
}

/// What chain and gateway say, and what the caller must see: status and cost.
#[tokio::test]
async fn status_and_cost_follow_the_chain_first_and_the_gateway_second() {
    let market = Market::open().await;
    let pool = market.database.pool();
    let (caller, agent) = (wallet(2), wallet(20));
    let key = market.key_of(caller).await;
    let cases: [(Option<ExecutionStatus>, Option<&'static str>, &str, f64); 20] = [
        (None, Some("reserved"), "pending", 0.05),
        (None, Some("opening"), "pending", 0.05),
        (None, Some("failed"), "failed", 0.0),
        (Some(ExecutionStatus::Open), None, "running", 0.05),
        (Some(ExecutionStatus::Open), Some("opening"), "pending", 0.05),
        (Some(ExecutionStatus::Open), Some("pending"), "pending", 0.05),
        (Some(ExecutionStatus::Open), Some("running"), "running", 0.05),
        (Some(ExecutionStatus::Open), Some("result_stored"), "running", 0.05),
        (Some(ExecutionStatus::Open), Some("settling"), "running", 0.05),
        (Some(ExecutionStatus::Open), Some("refunding"), "running", 0.05),
        (Some(ExecutionStatus::Open), Some("completed"), "completed", 0.05),
        (Some(ExecutionStatus::Open), Some("failed"), "failed", 0.0),
        (Some(ExecutionStatus::Completed), Some("settling"), "completed", 0.05),
        (Some(ExecutionStatus::Completed), Some("completed"), "completed", 0.05),
        (Some(ExecutionStatus::Completed), None, "completed", 0.05),
        (Some(ExecutionStatus::Failed), Some("refunding"), "failed", 0.0),
        (Some(ExecutionStatus::Expired), Some("running"), "failed", 0.0),
        (Some(ExecutionStatus::Expired), None, "failed", 0.0),
        (Some(ExecutionStatus::Disputed), Some("completed"), "disputed", 0.05),
        (Some(ExecutionStatus::Overturned), Some("completed"), "failed", 0.02),
    ];
    for (number, (on_chain, state, status, cost)) in cases.into_iter().enumerate() {
        let id = Uuid::from_u128(number as u128);
        let address = addresses().execution(&caller, id.as_bytes());
        if let Some(state) = state {
            GatewayRow::new(caller, agent, id, state).insert(pool).await;
        }
        if let Some(on_chain) = on_chain {
            let open = record(caller, agent, id);
            let mut account = match on_chain {
                ExecutionStatus::Open => open,
                ExecutionStatus::Failed => refunded(open, 1),
                ExecutionStatus::Expired => refunded(open, 4),
                _ => completed(open, "the result"),
            };
            account.record.status = on_chain as u8;
            put(pool, &address, 5, &account).await;
        }
        if on_chain == Some(ExecutionStatus::Overturned) {
            let mut upheld = dispute(address, agent, caller, DisputeOutcome::Upheld);
            upheld.slash_amount = 30_000;
            upheld.compensation = 30_000;
            upheld.resolved_at_unix_s = NOON + 120;
            put(pool, &wallet(150), 5, &upheld).await;
        }
        let body = market.get_as(&key, &format!("/v1/executions/{id}")).await.body;
        let case = format!("{on_chain:?} {state:?}: {body}");
        let listed = in_list(&market, &key, id).await;
        for member in ["status", "cost_usdc", "creator_amount_usdc", "platform_amount_usdc", "execution_time_ms"] {
            assert_eq!(listed[member], body[member], "{member} of the list: {case}");
        }
        assert_eq!(listed["failure"].as_str(), body["error"]["code"].as_str(), "{case}");
        assert_eq!(listed["session_public_key"].is_string(), state.is_some(), "{case}");
        assert_eq!((body["status"].as_str(), body["cost_usdc"].as_f64()), (Some(status), Some(cost)), "{case}");
        assert_eq!(body["completed_at"].is_null(), matches!(status, "pending" | "running"), "{case}");
        assert_eq!(
            body.get("error").is_some(),
            status == "failed" && on_chain != Some(ExecutionStatus::Overturned),
            "{case}"
        );
        let paid = matches!(
            on_chain,
            Some(ExecutionStatus::Completed | ExecutionStatus::Disputed | ExecutionStatus::Overturned)
        );
        let settled_here = state == Some("completed");
        assert_eq!(
            body["result"].is_string(),
            (paid && state.is_some()) || settled_here,
            "nobody sees an unpaid result: {case}"
        );
        assert_eq!(
            body["creator_amount_usdc"].as_f64() == Some(0.0),
            !(paid || settled_here),
            "nothing is shown as paid before it is: {case}"
        );
        if let (Some(initiated), Some(done)) = (body["initiated_at"].as_str(), body["completed_at"].as_str()) {
            let parse = |text: &str| text.parse::<chrono::DateTime<chrono::Utc>>().expect("a time");
            assert!(parse(initiated) <= parse(done), "{case}");
        }
    }
    let totals = [("pending", 4), ("running", 5), ("completed", 4), ("failed", 6), ("disputed", 1)];
    for (status, expected) in totals {
        let answer = market.get_as(&key, &format!("/v1/executions?status={status}&limit=100")).await;
        assert_eq!(answer.body["total"], expected, "{status}: {:?}", answer.each("executions", "execution_id"));
        assert!(answer.each("executions", "status").iter().all(|shown| *shown == status));
    }
}

#[tokio::test]
async fn a_failed_execution_says_why() {
    let market = Market::open().await;
    let pool = market.database.pool();
    let (caller, agent) = (wallet(2), wallet(20));
    let key = market.key_of(caller).await;
    for (reason, code) in [
        (1, "execution_failed"),
        (2, "execution_timeout"),
        (3, "execution_failed"),
        (4, "execution_timeout"),
        (5, "interrupted"),
    ] {
        let id = Uuid::from_u128(u128::from(reason));
        let account = refunded(record(caller, agent, id), reason);
        put(pool, &addresses().execution(&caller, id.as_bytes()), 5, &account).await;
        let body = market.get_as(&key, &format!("/v1/executions/{id}")).await.body;
        assert_eq!(body["error"]["code"], code);
        assert_eq!(in_list(&market, &key, id).await["failure"], code);
        assert_eq!(
            (&body["result"], &body["result_hash"], &body["ipfs_url"]),
            (&json!(null), &json!(null), &json!(null))
        );
    }
    let id = Uuid::from_u128(9);
    GatewayRow::new(caller, agent, id, "failed").insert(pool).await;
    let body = market.get_as(&key, &format!("/v1/executions/{id}")).await.body;
    assert_eq!(body["error"], json!({"code": "execution_timeout", "message": "no answer in time"}));
    assert_eq!(in_list(&market, &key, id).await["failure"], "execution_timeout");
}

/// An execution as the list of its caller shows it.
async fn in_list(market: &Market, key: &ApiKey, id: Uuid) -> serde_json::Value {
    let list = market.get_as(key, "/v1/executions?limit=100").await.body;
    let found =
        list["executions"].as_array().expect("a list").iter().find(|item| item["execution_id"] == id.to_string());
    found.expect("it is in the list").clone()
}

#[tokio::test]
async fn a_dispute_rides_on_the_record() {
    let market = Market::open().await;
    let pool = market.database.pool();
    let (caller, agent, id) = (wallet(2), wallet(20), Uuid::from_u128(1));
    let address = addresses().execution(&caller, id.as_bytes());
    let mut disputed = completed(record(caller, agent, id), "r");
    disputed.record.status = ExecutionStatus::Disputed as u8;
    put(pool, &address, 5, &disputed).await;
    put(pool, &wallet(150), 5, &dispute(address, agent, caller, DisputeOutcome::Open)).await;
    let body = market.get_as(&market.key_of(caller).await, &format!("/v1/executions/{id}")).await.body;
    assert_eq!(body["status"], "disputed");
    assert_eq!(
        body["dispute"],
        json!({
            "status": "open", "raised_at": "2026-11-21T10:01:00Z", "resolved_at": null,
            "evidence_hash": ResultHash([6; 32]).to_string(), "evidence_uri": "", "answer_hash": null,
            "answer_uri": null, "answered_at": null, "compensation_usdc": 0, "penalty_usdc": 0
        })
    );

    let mut upheld = dispute(address, agent, caller, DisputeOutcome::Upheld);
    upheld.revision = 2;
    upheld.set_evidence_uri("https://a.example/evidence").expect("fits");
    upheld.answer_hash = [7; 32];
    upheld.answered_at_unix_s = NOON + 70;
    upheld.set_answer_uri("https://a.example/answer").expect("fits");
    upheld.resolved_at_unix_s = NOON + 120;
    upheld.slash_amount = 250_000;
    upheld.compensation = 50_000;
    put(pool, &wallet(150), 6, &upheld).await;
    let body = market.get_as(&market.key_of(caller).await, &format!("/v1/executions/{id}")).await.body;
    assert_eq!(
        body["dispute"],
        json!({
            "status": "upheld", "raised_at": "2026-11-21T10:01:00Z", "resolved_at": "2026-11-21T10:02:00Z",
            "evidence_hash": ResultHash([6; 32]).to_string(), "evidence_uri": "https://a.example/evidence",
            "answer_hash": ResultHash([7; 32]).to_string(), "answer_uri": "https://a.example/answer",
            "answered_at": "2026-11-21T10:01:10Z", "compensation_usdc": 0.05, "penalty_usdc": 0.2
        })
    );
}

#[tokio::test]
async fn an_execution_says_who_settled_it() {
    let market = Market::open().await;
    let pool = market.database.pool();
    let (caller, agent) = (wallet(2), wallet(20));
    let key = market.key_of(caller).await;
    for (settler, named) in [(Settler::Caller, "caller"), (Settler::Creator, "creator"), (Settler::Gateway, "gateway")]
    {
        let id = Uuid::from_u128(settler as u128);
        let mut settled = completed(record(caller, agent, id), "r");
        settled.record.settled_by = settler as u8;
        put(pool, &addresses().execution(&caller, id.as_bytes()), 5, &settled).await;
        let body = market.get_as(&key, &format!("/v1/executions/{id}")).await.body;
        assert_eq!((&body["settled_by"], &body["binding"]), (&json!(named), &json!(false)));
    }
    // Open, and not on the chain yet.
    let open = Uuid::from_u128(10);
    put(pool, &addresses().execution(&caller, open.as_bytes()), 5, &record(caller, agent, open)).await;
    let reserved = Uuid::from_u128(11);
    GatewayRow::new(caller, agent, reserved, "reserved").insert(pool).await;
    for (id, binding) in [(open, json!(false)), (reserved, json!(null))] {
        let body = market.get_as(&key, &format!("/v1/executions/{id}")).await.body;
        assert_eq!((&body["settled_by"], &body["binding"]), (&json!(null), &binding), "{body}");
        assert!(body.as_object().expect("an object").contains_key("settled_by"));
    }
}

#[tokio::test]
async fn executions_are_listed_newest_first_and_filtered_by_agent_and_time() {
    let market = Market::open().await;
    let pool = market.database.pool();
    let caller = wallet(2);
    let key = market.key_of(caller).await;
    for number in 0..6u128 {
        let id = Uuid::from_u128(number);
        let mut record = record(caller, wallet(20 + (number % 2) as u8), id);
        record.record.opened_at_unix_s = NOON + 60 * number as i64;
        put(pool, &addresses().execution(&caller, id.as_bytes()), 5, &record).await;
    }
    // One that is not on chain yet, between two that are.
    let mut row = GatewayRow::new(caller, wallet(20), Uuid::from_u128(100), "opening");
    row.created_at = chrono::DateTime::from_timestamp(NOON + 150, 0).expect("a time");
    row.insert(pool).await;
    let ids = |numbers: &[u128]| numbers.iter().map(|number| Uuid::from_u128(*number).to_string()).collect::<Vec<_>>();
    for (query, expected) in [
        (String::new(), &[5, 4, 3, 100, 2, 1, 0][..]),
        ("?limit=3".into(), &[5, 4, 3]),
        ("?limit=3&offset=3".into(), &[100, 2, 1]),
        ("?offset=6".into(), &[0]),
        ("?offset=60".into(), &[]),
        (format!("?agent_id={}", wallet(21)), &[5, 3, 1]),
        (format!("?agent_id={}", wallet(99)), &[]),
        ("?from=2026-11-21T10:03:00Z".into(), &[5, 4]),
        ("?to=2026-11-21T10:02:00Z".into(), &[1, 0]),
        ("?from=2026-11-21T10:01:00%2B00:00&to=2026-11-21T10:04:00Z".into(), &[3, 100, 2]),
        ("?from=2026-11-21T11:03:00+01:00".into(), &[5, 4]),
        ("?to=2026-11-21".into(), &[]),
    ] {
        let answer = market.get_as(&key, &format!("/v1/executions{query}")).await;
        assert_eq!(answer.each("executions", "execution_id"), ids(expected), "{query}");
    }
    assert_eq!(market.get_as(&key, "/v1/executions?limit=3").await.body["total"], 7);
}
