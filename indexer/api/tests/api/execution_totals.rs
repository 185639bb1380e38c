//! `GET /v1/executions/totals`: what each grouping adds up, and whose executions they are.

use crate::common::Market;
use agent_marketplace::state::{DisputeOutcome, ExecutionStatus};
use chrono::{DateTime, TimeDelta, Utc};
use crtx_protocol::{api_key::ApiKey, usdc::UsdcBase};
use crtx_store::testing::fixtures::*;
use serde_json::{Value, json};
use solana_pubkey::Pubkey;
use uuid::Uuid;

/// The range of all fixtures.
const RANGE: &str = "from=2026-11-01&to=2026-12-01";

struct Calls {
    market: Market,
    caller: Pubkey,
    creator: Pubkey,
    agents: [Pubkey; 2],
    key: ApiKey,
}

impl Calls {
    /// Of two agents, 0.05 USDC each: three results of which one is disputed and one was found wrong (0.03 back), a refund,
    /// one that runs, one that was never opened, and one that the wallet paid by itself. And a call of somebody else.
    async fn make() -> Self {
        let market = Market::open().await;
        let pool = market.database.pool();
        let (creator, caller) = (wallet(1), wallet(2));
        let one = show(pool, listing(creator, 0), "alpha", &["data"]).await;
        let two = show(pool, listing(creator, 1), "beta", &["data"]).await;
        let record_of = |caller: Pubkey, agent, number: u128| {
            let id = Uuid::from_u128(number);
            (id, addresses().execution(&caller, id.as_bytes()), record(caller, agent, id))
        };
        for (number, status) in [
            (1, ExecutionStatus::Completed),
            (2, ExecutionStatus::Disputed),
            (3, ExecutionStatus::Overturned),
            (4, ExecutionStatus::Failed),
            (5, ExecutionStatus::Open),
        ] {
            let (id, address, open) = record_of(caller, one, number);
            let state = match status {
                ExecutionStatus::Open => "running",
                ExecutionStatus::Failed => "failed",
                _ => "completed",
            };
            GatewayRow::new(caller, one, id, state).insert(pool).await;
            let mut account = match status {
                ExecutionStatus::Open => open,
                ExecutionStatus::Failed => refunded(open, 1),
                _ => paid(completed(open, "the result")),
            };
            account.record.status = status as u8;
            put(pool, &address, 5, &account).await;
            if status == ExecutionStatus::Overturned {
                let mut upheld = dispute(address, one, caller, DisputeOutcome::Upheld);
                (upheld.slash_amount, upheld.compensation) = (30_000, 30_000);
                upheld.resolved_at_unix_s = NOON + 120;
                put(pool, &wallet(150), 5, &upheld).await;
            }
        }
        GatewayRow::new(caller, one, Uuid::from_u128(6), "failed").insert(pool).await;
        // A day earlier, by the wallet itself.
        let (_, address, mut open) = record_of(caller, two, 7);
        open.record.opened_at_unix_s -= 86_400;
        put(pool, &address, 5, &paid(completed(open, "x"))).await;
        let (_, address, open) = record_of(wallet(3), two, 8);
        put(pool, &address, 5, &paid(completed(open, "x"))).await;
        let key = market.key_of(caller).await;
        Self { market, caller, creator, agents: [one, two], key }
    }

    async fn by(&self, key: &ApiKey, query: &str) -> Value {
        let answer = self.market.get_as(key, &format!("/v1/executions/totals?{RANGE}&{query}")).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body
    }
}

/// With the amounts that the program writes.
fn paid(mut account: crtx_store::mirror::ExecutionAccount) -> crtx_store::mirror::ExecutionAccount {
    assert!(account.record.status != ExecutionStatus::Open as u8);
    account.record.amount = 50_000;
    account
}

/// executions, completed, failed, disputed, paid, creator, platform, refunded, compensation.
fn figures(group: &Value) -> ([u64; 4], [f64; 5]) {
    let count = |name: &str| group[name].as_u64().unwrap();
    let usdc = |name: &str| group[name].as_f64().unwrap();
    (
        ["executions", "completed", "failed", "disputed"].map(count),
        ["paid_usdc", "creator_usdc", "platform_usdc", "refunded_usdc", "compensation_usdc"].map(usdc),
    )
}

#[tokio::test]
async fn each_grouping_adds_up_the_same_executions() {
    let calls = Calls::make().await;
    let all = ([7, 2, 3, 1], [0.2, 0.198, 0.002, 0.05, 0.03]);
    let (agents, key) = (calls.agents.map(|agent| agent.to_string()), wallet(79).to_string());
    let first = ([6, 1, 3, 1], [0.15, 0.1485, 0.0015, 0.05, 0.03]);
    let second = ([1, 1, 0, 0], [0.05, 0.0495, 0.0005, 0.0, 0.0]);
    for (by, member, expected) in [
        ("day", "day", vec![(json!("2026-11-20"), second), (json!("2026-11-21"), first)]),
        ("key", "session_public_key", vec![(json!(key), first), (Value::Null, second)]),
        ("agent", "agent_id", vec![(json!(agents[0]), first), (json!(agents[1]), second)]),
        (
            "status",
            "status",
            vec![
                (json!("completed"), ([2, 2, 0, 0], [0.1, 0.099, 0.001, 0.0, 0.0])),
                (json!("failed"), ([3, 0, 3, 0], [0.05, 0.0495, 0.0005, 0.05, 0.03])),
                (json!("disputed"), ([1, 0, 0, 1], [0.05, 0.0495, 0.0005, 0.0, 0.0])),
                (json!("running"), ([1, 0, 0, 0], [0.0; 5])),
            ],
        ),
    ] {
        let body = calls.by(&calls.key, &format!("by={by}")).await;
        let groups = body["groups"].as_array().unwrap();
        let mut found: Vec<_> = groups.iter().map(|group| (group[member].clone(), figures(group))).collect();
        let mut expected = expected;
        if by == "status" {
            // Two of them cost the same.
            let name = |(name, _): &(Value, _)| name.as_str().unwrap().to_owned();
            found.sort_by_key(name);
            expected.sort_by_key(name);
        }
        assert_eq!(found, expected, "{by}: {body}");
        assert_eq!((figures(&body["total"]), &body["truncated"], &body["by"]), (all, &json!(false), &json!(by)));
        assert_eq!((&body["from"], &body["to"]), (&json!("2026-11-01T00:00:00Z"), &json!("2026-12-01T00:00:00Z")));
        let named = ["day", "session_public_key", "agent_id", "status"].into_iter().filter(|name| *name != member);
        for name in named.chain(["agent_name"].into_iter().filter(|_| by != "agent")) {
            assert!(groups.iter().chain([&body["total"]]).all(|group| group[name].is_null()), "{by}: {name}");
        }
    }
    let by_agent = calls.by(&calls.key, "by=agent").await;
    assert_eq!([&by_agent["groups"][0]["agent_name"], &by_agent["groups"][1]["agent_name"]], ["alpha", "beta"]);
    let of_one = calls.by(&calls.key, &format!("agent_id={}", agents[1])).await;
    assert_eq!(figures(&of_one["total"]), second);
    // What the list says they cost is what was paid, less what came back, and what is still in escrow.
    let list = calls.market.get_as(&calls.key, "/v1/executions?limit=100").await.body;
    let costs = list["executions"].as_array().unwrap().iter().filter(|item| item["status"] != "running");
    let costs: u64 = costs.map(|item| UsdcBase::parse(&item["cost_usdc"].to_string()).unwrap().0).sum();
    assert_eq!(costs, 200_000 - 30_000);
}

#[tokio::test]
async fn totals_are_of_the_own_executions_alone() {
    let calls = Calls::make().await;
    let creators = calls.market.key_of(calls.creator).await;
    assert_eq!(figures(&calls.by(&creators, "by=day").await["total"]), ([0; 4], [0.0; 5]), "it paid for none");
    let earned = calls.by(&creators, "role=creator&by=agent").await;
    // What was never opened is not on chain; the call of somebody else is one of its agents'.
    assert_eq!(figures(&earned["total"]), ([7, 3, 2, 1], [0.25, 0.2475, 0.0025, 0.05, 0.03]));
    let strangers = calls.market.key_of(wallet(9)).await;
    for query in ["role=caller", "role=creator", &format!("role=creator&agent_id={}", calls.agents[0])] {
        let body = calls.by(&strangers, query).await;
        assert_eq!((&body["groups"], figures(&body["total"])), (&json!([]), ([0; 4], [0.0; 5])), "{query}");
    }
    calls.market.get("/v1/executions/totals").await.assert_error(401, "unauthorized");
    let keys = calls.market.get_as(&creators, "/v1/executions/totals?role=creator&by=key").await;
    keys.assert_error(400, "invalid_request");
    assert_eq!(calls.caller, wallet(2));
}

#[tokio::test]
async fn a_range_has_its_first_moment_and_not_its_last() {
    let calls = Calls::make().await;
    for (from, to, expected) in [
        ("2026-11-20T10:00:00Z", "2026-11-20T10:00:01Z", 1),
        ("2026-11-20T09:59:59Z", "2026-11-20T10:00:00Z", 0),
        ("2026-11-21T00:00:00Z", "2026-11-22T00:00:00Z", 6),
        ("2026-11-22", "2026-11-20", 0),
    ] {
        let path = format!("/v1/executions/totals?from={from}&to={to}");
        let body = calls.market.get_as(&calls.key, &path).await.body;
        assert_eq!(body["total"]["executions"], expected, "{path}: {body}");
    }
    // Without a range: the last 30 days.
    let pool = calls.market.database.pool();
    for (number, days) in [(20, 0), (21, 29), (22, 40)] {
        let mut row = GatewayRow::new(wallet(4), calls.agents[0], Uuid::from_u128(number), "running");
        row.created_at = Utc::now() - TimeDelta::days(days);
        row.insert(pool).await;
    }
    let key = calls.market.key_of(wallet(4)).await;
    let body = calls.market.get_as(&key, "/v1/executions/totals").await.body;
    assert_eq!(
        (&body["total"]["executions"], &body["role"], &body["by"]),
        (&json!(2), &json!("caller"), &json!("day"))
    );
    let [from, to] = ["from", "to"].map(|end| body[end].as_str().unwrap().parse::<DateTime<Utc>>().unwrap());
    assert!(Utc::now() - to < TimeDelta::minutes(1) && (30..=31).contains(&(to - from).num_days()), "{body}");
    for bad in ["from=2020-01-01", "by=caller", "role=x", "agent_id=x", "from=x", "limit=1", "by=day&by=key"] {
        let answer = calls.market.get_as(&key, &format!("/v1/executions/totals?{bad}")).await;
        answer.assert_error(400, "invalid_request");
    }
}
