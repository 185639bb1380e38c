//! `GET /v1/wallets/{wallet}` and `GET /v1/network`, over a real PostgreSQL and a scripted RPC node.

use crate::common::Market;
use agent_marketplace::state::{AgentStatus, DisputeOutcome, ExecutionStatus, MarketParameters};
use chrono::{TimeDelta, Utc};
use crtx_chain::{
    FetchedAccount,
    token::{TOKEN_PROGRAM_ID, TokenAccount, associated_token_address},
};
use crtx_protocol::{result_hash::parse_signature, signature::is_signed_by, webhook::key_text};
use crtx_store::{mirror::ExecutionAccount, sessions::SessionKind, testing::fixtures::*};
use serde_json::{Value, json};
use solana_pubkey::Pubkey;
use uuid::Uuid;

const MINT: u8 = 95;

async fn market() -> Market {
    let market = Market::open().await;
    put(market.database.pool(), &addresses().config(), 1, &configuration()).await;
    market
}

fn path(of: &Pubkey) -> String {
    format!("/v1/wallets/{of}")
}

async fn wallet_of(market: &Market, number: u8) -> Value {
    let answer = market.get(&path(&wallet(number))).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body
}

/// Gives a wallet USDC, and its spender address an approval.
fn fund(market: &Market, number: u8, amount: u64, approved: u64) {
    let owner = wallet(number);
    let delegate = Some((addresses().spender(&owner), approved));
    let account = TokenAccount { mint: wallet(MINT), owner, amount, delegate, frozen: false };
    let account = FetchedAccount { owner: TOKEN_PROGRAM_ID, lamports: 1, data: account.encode() };
    market.node.script().accounts.insert(associated_token_address(&owner, &wallet(MINT)), account);
}

async fn put_execution(
    market: &Market,
    caller: u8,
    agent: Pubkey,
    number: u128,
    change: impl Fn(&mut ExecutionAccount),
) {
    let id = Uuid::from_u128(number);
    let mut execution = record(wallet(caller), agent, id);
    change(&mut execution);
    let address = addresses().execution(&wallet(caller), id.as_bytes());
    put(market.database.pool(), &address, 10, &execution).await;
}

fn settled(execution: &mut ExecutionAccount) {
    *execution = completed(*execution, "x");
}

#[tokio::test]
async fn a_wallet_that_nobody_knows_has_zeros() {
    let market = market().await;
    let body = wallet_of(&market, 200).await;
    assert_eq!(body["wallet"], wallet(200).to_string());
    assert_eq!(body["spender"], addresses().spender(&wallet(200)).to_string());
    assert_eq!(body["usdc_account"], associated_token_address(&wallet(200), &wallet(MINT)).to_string());
    let none = json!({"holding_usdc": 0, "approved_usdc": 0, "needed_usdc": 0, "short_usdc": 0});
    assert_eq!((&body["approval"], &body["roles"], &body["creator"]), (&none, &json!([]), &json!(null)));
    assert_eq!((&body["agents_total"], &body["agents"]), (&json!(0), &json!([])));
    assert!(body["totals"].as_object().unwrap().values().all(|total| *total == json!(0)), "{body}");
    assert!(body.get("withdrawable").is_none() && body.get("refundable").is_none());
}

#[tokio::test]
async fn a_wallet_shows_what_it_holds_owns_paid_and_earned() {
    let market = market().await;
    let pool = market.database.pool();
    put(pool, &wallet(101), 1, &profile(wallet(1), "Ada", true)).await;
    let agent = show(pool, listing(wallet(1), 0), "alpha", &["data"]).await;
    let mut other = listing(wallet(1), 1);
    (other.status, other.collateral, other.slashed_total) = (AgentStatus::Paused as u8, 7_000_000, 3_000_000);
    other.created_at_unix_s = NOON + 1;
    let other = show(pool, other, "beta", &["data"]).await;
    put_execution(&market, 2, agent, 1, settled).await;
    put_execution(&market, 2, other, 2, settled).await;
    put_execution(&market, 2, agent, 3, |execution| *execution = refunded(*execution, 2)).await;
    put_execution(&market, 2, agent, 4, |_| {}).await;
    put_execution(&market, 3, agent, 5, |execution| {
        settled(execution);
        execution.record.status = ExecutionStatus::Overturned as u8;
    })
    .await;
    let mut upheld = dispute(wallet(55), agent, wallet(3), DisputeOutcome::Upheld);
    (upheld.slash_amount, upheld.compensation, upheld.resolved_at_unix_s) = (60_000, 50_000, NOON + 90);
    put(pool, &wallet(56), 10, &upheld).await;
    let mut limited = grant(wallet(2), wallet(66));
    (limited.total_cap, limited.spent) = (5_000_000, 1_000_000);
    put(pool, &addresses().grant(&wallet(2), &wallet(66)), 10, &limited).await;
    fund(&market, 2, 12_500_000, 1_500_000);

    let caller = wallet_of(&market, 2).await;
    let approval = json!({"holding_usdc": 12.5, "approved_usdc": 1.5, "needed_usdc": 4, "short_usdc": 2.5});
    assert_eq!(caller["approval"], approval);
    assert_eq!(
        caller["totals"],
        json!({
            "completed_executions": 2, "failed_executions": 1, "open_executions": 1, "spent_usdc": 0.1,
            "open_escrow_usdc": 0.05, "compensation_usdc": 0, "earned_usdc": 0, "collateral_usdc": 0,
            "slashed_usdc": 0,
        })
    );
    let disputant = wallet_of(&market, 3).await;
    assert_eq!(disputant["totals"]["spent_usdc"], 0.05);
    assert_eq!(disputant["totals"]["compensation_usdc"], 0.05);

    let creator = wallet_of(&market, 1).await;
    assert_eq!(creator["creator"], json!({"display_name": "Ada", "verified": true}));
    assert_eq!(creator["agents_total"], 2);
    let names: Vec<_> = creator["agents"].as_array().unwrap().iter().map(|agent| &agent["name"]).collect();
    assert_eq!(names, [&json!("beta"), &json!("alpha")], "newest first");
    assert_eq!(creator["agents"][0]["status"], "paused");
    assert_eq!(creator["totals"]["earned_usdc"], 0.1485);
    assert_eq!(creator["totals"]["collateral_usdc"], 17);
    assert_eq!(creator["totals"]["slashed_usdc"], 3);
}

#[tokio::test]
async fn a_grant_without_a_limit_needs_no_certain_amount() {
    let market = market().await;
    let address = addresses().grant(&wallet(2), &wallet(66));
    put(market.database.pool(), &address, 10, &grant(wallet(2), wallet(66))).await;
    let approval = &wallet_of(&market, 2).await["approval"];
    assert_eq!((&approval["needed_usdc"], &approval["short_usdc"]), (&json!(null), &json!(null)));
    assert_eq!(approval["approved_usdc"], 0);
}

#[tokio::test]
async fn roles_are_shown_at_the_wallets_that_have_them() {
    let market = market().await;
    for (number, role) in
        [(90, "admin"), (91, "resolver"), (92, "gateway_authority"), (93, "treasury_owner"), (94, "insurance_owner")]
    {
        assert_eq!(wallet_of(&market, number).await["roles"], json!([role]));
    }
}

#[tokio::test]
async fn what_can_be_taken_back_is_for_the_wallet_itself_alone() {
    let market = market().await;
    let pool = market.database.pool();
    let now = Utc::now().timestamp();
    for (index, open_executions, deadline) in [(0, 0, now - 10), (1, 1, now - 10), (2, 0, now + 3_600)] {
        let mut delisted = listing(wallet(1), index);
        delisted.status = AgentStatus::Delisted as u8;
        (delisted.open_executions, delisted.last_dispute_deadline_unix_s) = (open_executions, deadline);
        delisted.created_at_unix_s = NOON - i64::from(index);
        show(pool, delisted, &format!("agent {index}"), &["data"]).await;
    }
    let agent = show(pool, listing(wallet(9), 0), "other", &["data"]).await;
    let deadline = |seconds: i64| {
        move |execution: &mut ExecutionAccount| {
            execution.terms.as_mut().unwrap().deadline_unix_s = now + seconds;
        }
    };
    put_execution(&market, 1, agent, 1, deadline(-60)).await;
    put_execution(&market, 1, agent, 2, deadline(3_600)).await;

    let own = market.session_of(wallet(1), SessionKind::Bearer, TimeDelta::hours(1)).await;
    let answer = market.get_in(&own, &path(&wallet(1))).await;
    assert_eq!((answer.status, answer.headers["cache-control"].to_str().unwrap()), (200, "no-store"));
    let states: Vec<_> = answer.body["withdrawable"]
        .as_array()
        .unwrap()
        .iter()
        .map(|agent| (&agent["name"], &agent["available"], agent["available_from"].is_null()))
        .collect();
    assert_eq!(
        states,
        [
            (&json!("agent 0"), &json!(true), false),
            (&json!("agent 1"), &json!(false), true),
            (&json!("agent 2"), &json!(false), false),
        ]
    );
    assert_eq!(answer.body["withdrawable"][0]["amount_usdc"], 10);
    let refundable = answer.body["refundable"].as_array().unwrap();
    assert_eq!((refundable.len(), &refundable[0]["amount_usdc"]), (1, &json!(0.05)));
    assert_eq!(refundable[0]["execution_id"], Uuid::from_u128(1).to_string());

    // Nobody else sees it.
    let foreign = market.session_of(wallet(2), SessionKind::Bearer, TimeDelta::hours(1)).await;
    let key = market.key_of(wallet(1)).await;
    for answer in [
        market.get_in(&foreign, &path(&wallet(1))).await,
        market.get_as(&key, &path(&wallet(1))).await,
        market.get(&path(&wallet(1))).await,
    ] {
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(answer.body.get("withdrawable").is_none() && answer.body.get("refundable").is_none(), "{answer:?}");
    }
    let expired = market.session_of(wallet(1), SessionKind::Bearer, TimeDelta::seconds(-1)).await;
    market.get_in(&expired, &path(&wallet(1))).await.assert_error(401, "unauthorized");
}

#[tokio::test]
async fn what_is_no_address_is_refused_and_a_chain_that_does_not_answer_leaves_only_the_balance_out() {
    let market = market().await;
    for bad in ["x", "0OIl", &"1".repeat(100), "../status"] {
        let answer = market.get(&format!("/v1/wallets/{}", bad.replace('/', "%2F"))).await;
        answer.assert_error(400, "invalid_request");
    }
    market.get(&format!("{}?x=1", path(&wallet(1)))).await.assert_error(400, "invalid_request");
    fund(&market, 1, 1, 1);
    market.node.script().only = Some(Vec::new());
    let body = wallet_of(&market, 1).await;
    assert_eq!((&body["approval"]["holding_usdc"], &body["approval"]["needed_usdc"]), (&json!(null), &json!(0)));
}

#[tokio::test]
async fn the_network_is_described_as_it_is_configured_and_mirrored() {
    let market = Market::open().await;
    market.get("/v1/network").await.assert_error(503, "unavailable");
    market.get(&path(&wallet(1))).await.assert_error(503, "unavailable");
    let mut config = configuration();
    config.announced_resolver = wallet(80);
    config.roles_apply_from_unix_s = NOON;
    config.announced_parameters = MarketParameters { fee_bps: 200, ..MarketParameters::DEFAULT };
    config.parameters_apply_from_unix_s = NOON;
    config.openings_paused = 1;
    put(market.database.pool(), &addresses().config(), 1, &config).await;
    let answer = market.get("/v1/network").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let body = answer.body;
    for (member, value) in [
        ("network", json!("local")),
        ("chain", json!("solana:localnet")),
        ("key_prefix", json!("crtx_test_")),
        ("program_id", json!(program().to_string())),
        ("usdc_mint", json!(wallet(MINT).to_string())),
        ("usdc_decimals", json!(6)),
        ("openings_paused", json!(true)),
        ("listings_paused", json!(false)),
        ("outbound_addresses", json!(["192.0.2.0/24"])),
        ("rpc_url", json!("http://node.example")),
        ("base_url", json!("http://market.example")),
        ("ipfs_url_base", json!("http://market.example/ipfs")),
    ] {
        assert_eq!(body[member], value, "{member}");
    }
    let key = &body["webhook_keys"][0];
    let text = key_text(&agent_marketplace::ID, key["public_key"].as_str().unwrap());
    let gateway: Pubkey = key["gateway_authority"].as_str().unwrap().parse().unwrap();
    let signature = parse_signature(key["signature"].as_str().unwrap()).unwrap();
    assert!(is_signed_by(gateway.as_array(), text.as_bytes(), &signature));
    assert_eq!(body["addresses"]["config"], addresses().config().to_string());
    assert_eq!((&body["seeds"]["spender"], &body["seeds"]["grant"]), (&json!("spender"), &json!("grant")));
    assert_eq!(body["roles"]["resolver"], wallet(91).to_string());
    assert_eq!(body["announced_roles"]["resolver"], wallet(80).to_string());
    assert_eq!(body["announced_roles"]["treasury_owner"], json!(null));
    assert_eq!(body["announced_roles"]["apply_from"], "2026-11-21T10:00:00Z");
    assert_eq!(body["announced_roles"]["lapses_at"], "2026-11-28T10:00:00Z");
    assert_eq!((&body["parameters"]["fee_bps"], &body["announced_parameters"]["fee_bps"]), (&json!(100), &json!(200)));
    assert_eq!(body["parameters"]["collateral_tiers"][0], json!({"max_price_usdc": 0.1, "collateral_usdc": 10}));
    assert_eq!(body["parameters"]["collateral_tiers"][3], json!({"max_price_usdc": null, "collateral_usdc": 1000}));
    assert_eq!(body["tags"].as_array().unwrap().len(), 10);
    assert_eq!((&body["limits"]["max_timeout_seconds"], &body["limits"]["max_tags"]), (&json!(900), &json!(5)));
    assert!(body["explorer"]["transaction"].as_str().unwrap().contains("/tx/{signature}"));
}

#[tokio::test]
async fn the_history_of_a_creator_and_of_the_market_say_what_was_paid_day_by_day() {
    let market = market().await;
    let pool = market.database.pool();
    let (creator, path) = (wallet(30), format!("{}/history", path(&wallet(30))));
    let empty = json!({"window_days": 30, "days": []});
    assert_eq!(market.get(&path).await.body, empty);
    show(pool, listing(creator, 0), "agent", &["data"]).await;
    let agent = addresses().agent(&creator, 0);
    let today = Utc::now();
    for (number, days_ago) in [(1, 0), (2, 0), (3, 2), (4, 31)] {
        let ended = (today - TimeDelta::days(days_ago)).timestamp();
        put_execution(&market, 50, agent, number, |execution| {
            *execution = completed(*execution, "x");
            execution.record.finished_at_unix_s = ended;
        })
        .await;
    }
    crtx_store::testing::roll_up_all(pool).await.expect("rolled up");
    let record = record(wallet(50), agent, Uuid::from_u128(1)).record;
    let paid = record.amount;
    let fee = paid * u64::from(record.fee_bps) / 10_000;
    let days = |amount: &str, of_one: u64| -> Vec<Value> {
        let day = |(days_ago, n): (i64, u64)| {
            let day = (today - TimeDelta::days(days_ago)).date_naive().to_string();
            let usdc = |units: u64| units as f64 / 1e6;
            json!({"day": day, "completed_executions": n, "failed_executions": 0, "disputed_executions": 0,
                   amount: usdc(of_one * n), "fees_usdc": usdc(fee * n)})
        };
        [(2, 1), (0, 2)].map(day).to_vec()
    };
    let earned = days("earned_usdc", paid - fee);
    assert_eq!(market.get(&path).await.body, json!({"window_days": 30, "days": earned}));
    let of_agent = wallet_of(&market, 30).await["agents"][0]["earned_usdc"].clone();
    assert_eq!(of_agent, json!((4 * (paid - fee)) as f64 / 1e6));
    let volume = days("volume_usdc", paid);
    assert_eq!(market.get("/v1/history").await.body, json!({"window_days": 30, "days": volume}));
    assert_eq!(market.get(&format!("/v1/wallets/{}/history", wallet(31))).await.body, empty);
    market.get("/v1/wallets/nobody/history").await.assert_error(400, "invalid_request");
    market.get(&format!("{path}?x=1")).await.assert_error(400, "invalid_request");
    market.get("/v1/history?days=7").await.assert_error(400, "invalid_request");
}
