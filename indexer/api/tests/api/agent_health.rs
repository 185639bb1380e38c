//! `GET /v1/agents/{agent_id}/health`: the figures of a day and the reasons of the last failures, for the creator alone.

use crate::common::Market;
use agent_marketplace::state::{DisputeOutcome, ExecutionStatus};
use chrono::{TimeDelta, Utc};
use crtx_store::testing::fixtures::*;
use serde_json::json;
use solana_pubkey::Pubkey;
use uuid::Uuid;

/// Writes an execution of the agent that began so long ago. `reason`: it was refunded because of it.
async fn call(market: &Market, agent: Pubkey, number: u128, hours_ago: i64, reason: Option<u8>, ms: u32) -> Pubkey {
    let (caller, id) = (wallet(2), Uuid::from_u128(number));
    let mut open = record(caller, agent, id);
    open.record.opened_at_unix_s = Utc::now().timestamp() - hours_ago * 3_600;
    let account = match reason {
        Some(reason) => refunded(open, reason),
        None => {
            let mut account = completed(open, "the result");
            account.record.execution_time_ms = ms;
            account
        }
    };
    let address = addresses().execution(&caller, id.as_bytes());
    put(market.database.pool(), &address, 5, &account).await;
    address
}

#[tokio::test]
async fn a_creator_sees_the_last_day_and_why_the_last_calls_failed() {
    let market = Market::open().await;
    let pool = market.database.pool();
    let agent = show(pool, listing(wallet(1), 0), "alpha", &["data"]).await;
    let unused = show(pool, listing(wallet(1), 2), "gamma", &["data"]).await;
    let failing = show(pool, listing(wallet(1), 3), "delta", &["data"]).await;
    let key = market.key_of(wallet(1)).await;
    let path = |agent: Pubkey| format!("/v1/agents/{agent}/health");
    assert_eq!(
        market.get_as(&key, &path(unused)).await.body,
        json!({
            "agent_id": unused.to_string(), "window_seconds": 86_400, "executions": 0, "completed": 0, "failed": 0,
            "success_rate": null, "p50_ms": null, "p95_ms": null, "failures": []
        })
    );
    for number in 1..=20_u32 {
        call(&market, agent, number.into(), 1, None, number * 100).await;
    }
    // The gateway knows more about the first failure; the second is nobody's fault; the third is two days old.
    let mut row = GatewayRow::new(wallet(2), agent, Uuid::from_u128(31), "failed");
    row.error = Some((500, "execution_failed", "the agent's service closed the connection before it answered"));
    row.created_at = Utc::now() - TimeDelta::hours(2);
    row.insert(pool).await;
    for (number, hours_ago, reason) in [(31, 2, 3), (32, 3, 4), (33, 48, 2), (34, 24 * 31, 1)] {
        call(&market, agent, number, hours_ago, Some(reason), 0).await;
    }
    let overturned = call(&market, agent, 40, 4, None, 50).await;
    let mut account = completed(record(wallet(2), agent, Uuid::from_u128(40)), "the result");
    account.record.opened_at_unix_s = Utc::now().timestamp() - 4 * 3_600;
    (account.record.status, account.record.revision) = (ExecutionStatus::Overturned as u8, 9);
    (account.record.dispute_count, account.record.execution_time_ms) = (1, 50);
    put(pool, &overturned, 6, &account).await;
    put(pool, &wallet(150), 6, &dispute(overturned, agent, wallet(2), DisputeOutcome::Upheld)).await;
    // Of another agent, and one that the chain does not show.
    let other = show(pool, listing(wallet(1), 1), "beta", &["data"]).await;
    call(&market, other, 50, 1, Some(1), 0).await;
    GatewayRow::new(wallet(2), agent, Uuid::from_u128(60), "running").insert(pool).await;

    let body = market.get_as(&key, &path(agent)).await.body;
    let figures = ["executions", "completed", "failed", "p50_ms", "p95_ms"].map(|name| body[name].as_u64().unwrap());
    assert_eq!(figures, [23, 20, 3, 1_000, 1_900], "{body}");
    // 21 were paid, of which one was found wrong, and one failed by the agent; who let one expire is not known.
    assert_eq!(body["success_rate"], 20.0 / 22.0);
    let failures = body["failures"].as_array().unwrap();
    let shown: Vec<_> =
        failures.iter().map(|it| (it["code"].as_str().unwrap(), it["message"].as_str().unwrap())).collect();
    assert_eq!(
        shown,
        [
            (
                "execution_failed",
                "the agent's service closed the connection before it answered; the escrow was refunded"
            ),
            ("execution_timeout", "no result before the deadline; escrow refunded"),
            ("execution_timeout", "no answer within the listing's time-out; escrow refunded"),
        ]
    );
    assert_eq!(failures[0]["execution_id"], Uuid::from_u128(31).to_string());
    assert!(failures.iter().all(|failure| failure["initiated_at"].is_string()));
    for number in 100..130 {
        call(&market, failing, number, 1, Some(1), 0).await;
    }
    assert_eq!(market.get_as(&key, &path(failing)).await.body["failures"].as_array().unwrap().len(), 20);
}

#[tokio::test]
async fn nobody_else_sees_the_health_of_an_agent() {
    let market = Market::open().await;
    let agent = show(market.database.pool(), listing(wallet(1), 0), "alpha", &["data"]).await;
    let caller = market.key_of(wallet(2)).await;
    for path in [format!("/v1/agents/{agent}/health"), format!("/v1/agents/{}/health", wallet(50))] {
        market.get(&path).await.assert_error(401, "unauthorized");
        market.get_as(&caller, &path).await.assert_error(404, "agent_not_found");
    }
    market.get_as(&caller, "/v1/agents/no-address/health").await.assert_error(404, "agent_not_found");
    let own = market.key_of(wallet(1)).await;
    let path = format!("/v1/agents/{agent}/health");
    let answer = market.get_as(&own, &path).await;
    assert_eq!((answer.status, &answer.headers["cache-control"]), (200, &"private, no-store".parse().unwrap()));
    market.get_as(&own, &format!("{path}?x=1")).await.assert_error(400, "invalid_request");
}
