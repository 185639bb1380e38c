//! Disputes over HTTP: who sees which, every field, and the transactions that the chain has about them. And results that
//! somebody else settled.

use crate::common::{Answer, Market};
use agent_marketplace::{
    instructions::{AnswerDisputeArgs, OpenDisputeArgs},
    state::{Dispute, DisputeOutcome, ExecutionStatus},
};
use chrono::TimeDelta;
use crtx_chain::Instructions;
use crtx_content::{ContentLocation, ContentStore};
use crtx_protocol::result_hash::ResultHash;
use crtx_store::{sessions::SessionKind, testing::fixtures::*};
use serde_json::{Value, json};
use solana_instruction::Instruction;
use solana_pubkey::Pubkey;
use uuid::Uuid;

const CALLER: u8 = 1;
const CREATOR: u8 = 2;
const RESOLVER: u8 = 7;

fn record_of(number: u128) -> Pubkey {
    addresses().execution(&wallet(CALLER), Uuid::from_u128(number).as_bytes())
}

/// A dispute of the caller about an agent of the creator. `change` is applied to a dispute that is open.
async fn raise(market: &Market, number: u128, change: impl FnOnce(&mut Dispute)) -> Pubkey {
    let pool = market.database.pool();
    let agent = show(pool, listing(wallet(CREATOR), 0), "named", &["data"]).await;
    let mut settled = completed(record(wallet(CALLER), agent, Uuid::from_u128(number)), "x");
    settled.record.status = ExecutionStatus::Disputed as u8;
    put(pool, &record_of(number), 10, &settled).await;
    let mut raised = dispute(record_of(number), agent, wallet(CALLER), DisputeOutcome::Open);
    raised.raised_at_unix_s = NOON;
    raised.set_evidence_uri("ipfs://evidence").unwrap();
    change(&mut raised);
    let address = addresses().dispute(&record_of(number));
    put(pool, &address, 10, &raised).await;
    address
}

async fn make_resolver(market: &Market) {
    put(market.database.pool(), &addresses().config(), 10, &config(wallet(RESOLVER))).await;
}

async fn get_as(market: &Market, who: u8, path: &str) -> Answer {
    let session = market.session_of(wallet(who), SessionKind::Bearer, TimeDelta::hours(1)).await;
    market.get_in(&session, path).await
}

#[tokio::test]
async fn a_dispute_shows_every_field_of_its_clocks_and_amounts() {
    let market = Market::open().await;
    let address = raise(&market, 1, |dispute| dispute.bond = 100_000).await;
    let answer = get_as(&market, CALLER, &format!("/v1/disputes/{address}")).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let agent = addresses().agent(&wallet(CREATOR), 0);
    let hash = ResultHash([6; 32]);
    let expected = json!({
        "dispute": address.to_string(), "execution_id": Uuid::from_u128(1),
        "execution_record": record_of(1).to_string(), "agent_id": agent.to_string(), "agent_name": "named",
        "caller": wallet(CALLER).to_string(), "creator": wallet(CREATOR).to_string(), "amount_usdc": 0.05,
        "status": "open", "evidence_hash": hash.to_string(), "evidence_uri": "ipfs://evidence",
        "evidence_url": crtx_protocol::content::content_url("http://market.example/ipfs", &hash),
        "answer_hash": null, "answer_uri": null, "answer_url": null, "answered_at": null,
        "raised_at": "2026-11-21T10:00:00Z", "respond_by": "2026-11-24T10:00:00Z",
        "upholdable_from": "2026-11-22T10:00:00Z", "expires_at": "2026-12-21T10:00:00Z", "resolved_at": null,
        "resolved_by": null, "resolution_hash": null, "resolution_uri": null, "resolution_url": null, "bond_usdc": 0.1,
        "slash_usdc": 0, "compensation_usdc": 0,
        "penalty_usdc": 0, "transactions": {"raised": null, "answered": null, "resolved": null},
    });
    assert_eq!(answer.body, expected);
}

#[tokio::test]
async fn an_answer_ends_the_wait_and_a_decision_shows_its_parts() {
    let market = Market::open().await;
    let address = raise(&market, 1, |dispute| {
        dispute.answer_hash = [8; 32];
        dispute.set_answer_uri("ipfs://answer").unwrap();
        dispute.answered_at_unix_s = NOON + 3_600;
        dispute.outcome = DisputeOutcome::Upheld as u8;
        dispute.resolved_at_unix_s = NOON + 7_200;
        dispute.resolution_hash = [9; 32];
        dispute.resolved_by = wallet(RESOLVER);
        dispute.set_resolution_uri("ipfs://reasons").unwrap();
        (dispute.slash_amount, dispute.compensation) = (80_000, 50_000);
    })
    .await;
    let body = get_as(&market, CREATOR, &format!("/v1/disputes/{address}")).await.body;
    for (field, expected) in [
        ("status", json!("upheld")),
        ("answer_hash", json!(ResultHash([8; 32]).to_string())),
        ("answer_uri", json!("ipfs://answer")),
        ("answered_at", json!("2026-11-21T11:00:00Z")),
        ("upholdable_from", json!("2026-11-21T11:00:00Z")),
        ("resolved_at", json!("2026-11-21T12:00:00Z")),
        ("resolved_by", json!(wallet(RESOLVER).to_string())),
        ("resolution_hash", json!(ResultHash([9; 32]).to_string())),
        ("resolution_uri", json!("ipfs://reasons")),
        ("slash_usdc", json!(0.08)),
        ("compensation_usdc", json!(0.05)),
        ("penalty_usdc", json!(0.03)),
    ] {
        assert_eq!(body[field], expected, "{field}");
    }
}

#[tokio::test]
async fn others_than_the_parties_and_the_resolver_see_nothing_of_a_dispute() {
    let market = Market::open().await;
    make_resolver(&market).await;
    let address = raise(&market, 1, |_| {}).await;
    for path in [format!("/v1/disputes/{address}"), format!("/v1/disputes/{}", record_of(1))] {
        for who in [CALLER, CREATOR, RESOLVER] {
            assert_eq!(get_as(&market, who, &path).await.status, 200, "{who}");
        }
        get_as(&market, 9, &path).await.assert_error(404, "not_found");
        let key = market.key_of(wallet(CALLER)).await;
        market.get_as(&key, &path).await.assert_error(401, "unauthorized");
        market.get(&path).await.assert_error(401, "unauthorized");
        let over = market.session_of(wallet(CALLER), SessionKind::Bearer, TimeDelta::seconds(-1)).await;
        market.get_in(&over, &path).await.assert_error(401, "unauthorized");
    }
    for id in ["x", "11111111111111111111111111111112"] {
        get_as(&market, CALLER, &format!("/v1/disputes/{id}")).await.assert_error(404, "not_found");
    }
    assert_eq!(get_as(&market, 9, "/v1/disputes").await.body["total"], 0);
}

#[tokio::test]
async fn the_resolver_gets_the_queue_by_the_time_that_is_left() {
    let market = Market::open().await;
    make_resolver(&market).await;
    for (number, age) in [(1, 10), (2, 30), (3, 20)] {
        raise(&market, number, |dispute| dispute.raised_at_unix_s = NOON - age).await;
    }
    raise(&market, 4, |dispute| {
        dispute.raised_at_unix_s = NOON - 40;
        dispute.outcome = DisputeOutcome::Rejected as u8;
        (dispute.resolved_at_unix_s, dispute.resolution_hash) = (NOON, [9; 32]);
    })
    .await;
    let ids = |answer: &Answer| -> Vec<u128> {
        let ids = answer.each("disputes", "execution_id");
        ids.into_iter().map(|id| id.parse::<Uuid>().unwrap().as_u128()).collect()
    };
    let queue = get_as(&market, RESOLVER, "/v1/disputes").await;
    assert_eq!((ids(&queue), &queue.body["total"]), (vec![2, 3, 1, 4], &json!(4)));
    let open = get_as(&market, RESOLVER, "/v1/disputes?role=resolver&status=open&limit=2&offset=1").await;
    assert_eq!((ids(&open), &open.body["total"]), (vec![3, 1], &json!(3)));
    assert_eq!(ids(&get_as(&market, CALLER, "/v1/disputes?status=rejected").await), [4]);
    assert_eq!(ids(&get_as(&market, CREATOR, "/v1/disputes?role=creator").await), [2, 3, 1, 4]);
    assert_eq!(ids(&get_as(&market, CREATOR, "/v1/disputes?role=caller").await), Vec::<u128>::new());
    assert_eq!(ids(&get_as(&market, RESOLVER, "/v1/disputes?role=caller").await), Vec::<u128>::new());
    get_as(&market, CALLER, "/v1/disputes?role=resolver").await.assert_error(403, "forbidden");
    for bad in ["role=admin", "status=won", "limit=0", "limit=101", "offset=-1", "role=caller&role=caller", "x=1"] {
        get_as(&market, CALLER, &format!("/v1/disputes?{bad}")).await.assert_error(400, "invalid_request");
    }
}

#[tokio::test]
async fn disputes_whose_record_or_listing_is_not_mirrored_yet_shorten_no_page_and_end_no_list() {
    let market = Market::open().await;
    make_resolver(&market).await;
    let pool = market.database.pool();
    let unlisted = addresses().agent(&wallet(CREATOR), 9);
    for number in 1..=12 {
        let seconds = i64::try_from(number).unwrap();
        let decide = |dispute: &mut Dispute| {
            dispute.raised_at_unix_s = NOON + seconds;
            if number > 6 {
                dispute.outcome = DisputeOutcome::Rejected as u8;
                (dispute.resolved_at_unix_s, dispute.resolution_hash) = (NOON + 60, [9; 32]);
            }
        };
        if number % 3 == 0 {
            raise(&market, number, decide).await;
            continue;
        }
        // Without its record, or without its listing.
        let agent = if number % 3 == 1 { addresses().agent(&wallet(CREATOR), 0) } else { unlisted };
        let mut raised = dispute(record_of(number), agent, wallet(CALLER), DisputeOutcome::Open);
        decide(&mut raised);
        put(pool, &addresses().dispute(&record_of(number)), 10, &raised).await;
        if agent == unlisted {
            let settled = completed(record(wallet(CALLER), agent, Uuid::from_u128(number)), "x");
            put(pool, &record_of(number), 10, &settled).await;
        }
    }
    let ids = |answer: &Answer| -> Vec<u128> {
        let ids = answer.each("disputes", "execution_id");
        ids.into_iter().map(|id| id.parse::<Uuid>().unwrap().as_u128()).collect()
    };
    for (who, query) in [(CALLER, "limit=1"), (RESOLVER, "limit=1"), (CALLER, "role=caller&limit=1")] {
        let (mut shown, mut path) = (Vec::new(), format!("/v1/disputes?{query}"));
        for page in 1..=4 {
            let answer = get_as(&market, who, &path).await;
            assert_eq!(ids(&answer).len(), 1, "page {page} is full: {}", answer.body);
            shown.extend(ids(&answer));
            let Some(cursor) = answer.body["next_cursor"].as_str() else { break };
            path = format!("/v1/disputes?{query}&cursor={cursor}");
        }
        assert_eq!(shown, [3, 6, 12, 9], "{query}: open ones first, then the newest decided");
    }
    let second = get_as(&market, CALLER, "/v1/disputes?limit=2&offset=1").await;
    assert_eq!(ids(&second), [6, 12], "an offset counts what is shown");
    let last = get_as(&market, CALLER, "/v1/disputes?limit=4").await;
    assert_eq!((ids(&last).len(), &last.body["next_cursor"]), (4, &Value::Null));
    // What was missing arrives.
    put(pool, &unlisted, 11, &listing(wallet(CREATOR), 9)).await;
    assert_eq!(ids(&get_as(&market, CALLER, "/v1/disputes?role=caller").await), [2, 3, 5, 6, 12, 11, 9, 8]);
}

/// A transaction of one instruction, as a node returns it.
fn bytes(instruction: Instruction) -> Vec<u8> {
    crtx_chain::testing::unsigned(&[instruction])
}

async fn transactions(market: &Market, address: &Pubkey) -> Value {
    get_as(market, CALLER, &format!("/v1/disputes/{address}")).await.body["transactions"].clone()
}

#[tokio::test]
async fn the_transactions_of_a_dispute_are_found_on_the_chain_among_others_that_name_it() {
    let market = Market::open().await;
    let node = &market.node;
    let address = raise(&market, 1, |dispute| {
        dispute.answer_hash = [8; 32];
        dispute.set_answer_uri("ipfs://answer").unwrap();
        dispute.answered_at_unix_s = NOON + 3_600;
    })
    .await;
    let instructions = Instructions::new(addresses(), wallet(50));
    let agent = addresses().agent(&wallet(CREATOR), 0);
    let evidence = OpenDisputeArgs { evidence_hash: [6; 32], evidence_uri: "ipfs://e".to_owned() };
    let answer = AnswerDisputeArgs { answer_hash: [8; 32], answer_uri: "ipfs://a".to_owned() };
    let open = instructions.open_dispute(&wallet(CALLER), &wallet(CALLER), &agent, &record_of(1), evidence);
    let answered = instructions.answer_dispute(&wallet(CREATOR), &agent, &record_of(1), answer);
    let mut noise = open.clone();
    noise.program_id = wallet(66);
    {
        let mut script = node.script();
        let entry = |name: &str, at, failed, instruction: &Instruction| {
            (name.to_owned(), at, failed, bytes(instruction.clone()))
        };
        script.history = vec![
            entry("noise", NOON, false, &noise),
            entry("failed", NOON, true, &open),
            entry("raised", NOON, false, &open),
            entry("more noise", NOON + 3_600, false, &noise),
            entry("answered", NOON + 3_600, false, &answered),
        ];
    }
    let expected = json!({"raised": "raised", "answered": "answered", "resolved": null});
    assert_eq!(transactions(&market, &address).await, expected);
    let asked = node.script().asked();
    assert_eq!(transactions(&market, &address).await, expected);
    assert_eq!(node.script().asked(), asked, "the answer is remembered");
}

#[tokio::test]
async fn noise_costs_a_bounded_number_of_requests_and_a_node_that_fails_leaves_null() {
    let market = Market::open().await;
    let node = &market.node;
    let address = raise(&market, 1, |_| {}).await;
    let noise = Instruction {
        program_id: wallet(66),
        accounts: vec![solana_instruction::AccountMeta::new(address, false)],
        data: vec![],
    };
    node.script().history = (0..3_000).map(|n| (n.to_string(), NOON, false, bytes(noise.clone()))).collect();
    let nothing = json!({"raised": null, "answered": null, "resolved": null});
    assert_eq!(transactions(&market, &address).await, nothing);
    assert!(node.script().asked() <= 20, "{:?}", node.script().requests);
    let other = raise(&market, 2, |_| {}).await;
    node.script().out_of_order = true;
    assert_eq!(transactions(&market, &other).await, Value::Null);
}

#[tokio::test]
async fn a_result_that_others_settled_is_shown_as_soon_as_its_content_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let store = ContentStore::create(&ContentLocation::Folder(folder.path().to_owned())).unwrap();
    let market = Market::open_with(|state| state.content = Some(store.clone())).await;
    let pool = market.database.pool();
    let key = market.key_of(wallet(CALLER)).await;
    let agent = show(pool, listing(wallet(CREATOR), 0), "named", &["data"]).await;
    let open = record(wallet(CALLER), agent, Uuid::from_u128(1));
    let path = format!("/v1/executions/{}", Uuid::from_u128(1));
    put(pool, &record_of(1), 10, &open).await;
    store.put("the result").await.unwrap();
    assert_eq!(market.get_as(&key, &path).await.body["result"], Value::Null, "not before it is paid for");
    put(pool, &record_of(1), 11, &completed(open, "another result")).await;
    let before = market.get_as(&key, &path).await;
    assert_eq!((&before.body["status"], &before.body["result"]), (&json!("completed"), &Value::Null));
    assert!(before.body["ipfs_url"].is_string());
    store.hold("another result").await.unwrap();
    assert_eq!(market.get_as(&key, &path).await.body["result"], "another result");
}
