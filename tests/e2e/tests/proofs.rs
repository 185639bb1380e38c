//! What `crtx verify` can still prove when an execution did not end as hoped, or is long over.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::time::Duration;

use agent_marketplace::{
    instructions as ix,
    state::{DisputeDecision, MarketParameters},
};
use crtx_chain::instructions::Disputed;
use crtx_e2e::{Up, chain::Chain, market::Market};
use crtx_protocol::{fee, result_hash::ResultHash};
use serde_json::{Value, json};
use solana_pubkey::Pubkey;
use solana_signer::Signer;

/// Exit status, report and the sentence at the end.
fn verify(market: &Market, execution_id: &str) -> (Option<i32>, Value, String) {
    let output = market.crtx(&["verify", execution_id, "--json"]);
    let report = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (output.status.code(), report, String::from_utf8_lossy(&output.stderr).into_owned())
}

#[track_caller]
fn assert_verified(market: &Market, execution_id: &str, outcome: &str) -> Value {
    let (status, report, text) = verify(market, execution_id);
    assert_eq!(status, Some(0), "{report:#}\n{text}");
    assert_eq!((&report["verified"], &report["outcome"]), (&json!(true), &json!(outcome)), "{report:#}");
    report
}

async fn failed(market: &Market) -> String {
    let answer = market.behave("fail").await;
    assert_eq!(answer.error_code(), "execution_failed");
    answer.body["error"]["execution_id"].as_str().unwrap().to_owned()
}

/// The record as the API answers it, once `holds` accepts it.
async fn record_that(market: &Market, execution_id: &str, holds: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..400 {
        let answer = market.get_as_owner(&format!("/v1/executions/{execution_id}")).await;
        if answer.status == 200 && holds(&answer.body) {
            return answer.body;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the API never answered it: {:?}", market.get_as_owner(&format!("/v1/executions/{execution_id}")).await);
}

/// The detail of one check of a report.
fn detail<'a>(report: &'a Value, name: &str) -> &'a str {
    let checks = report["checks"].as_array().unwrap();
    checks.iter().find(|check| check["name"] == name).unwrap()["detail"].as_str().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn results_that_are_signed_for_their_call_and_others_are_proved_from_the_chain() {
    let folder = crtx_e2e::folder();
    let mut up = Up::start(folder.path(), &[]).await.unwrap();
    let market = Market::new(up.info().clone());
    let chain = Chain::of(&market, folder.path());

    let bound = market.paid().await;
    record_that(&market, &bound, |record| record["status"] == "completed").await;
    let report = assert_verified(&market, &bound, "paid");
    let for_the_call = format!("for this opening of the record {} alone", chain.record(&bound));
    assert!(detail(&report, "message").contains(&for_the_call), "{report:#}");
    assert!(detail(&report, "key").contains("the caller agreed to"), "{report:#}");
    let parameters = serde_json::Map::new();
    let asked = ResultHash(crtx_protocol::request_hash::of("One. Two.", &parameters).unwrap()).to_string();
    assert_eq!(report["request_hash"], asked.as_str(), "{report:#}");
    assert!(report["opening_transaction"].is_string(), "{report:#}");

    // The creator ends its promise: from now on results are signed without their call.
    let agent: Pubkey = market.agent("text-stats").parse().unwrap();
    let change = ix::UpdateListingArgs { binding: Some(false), ..Default::default() };
    chain.send(chain.build.update_listing(&chain.creator.pubkey(), &agent, change), &[&chain.creator]).await;
    let unbound = market.paid().await;
    record_that(&market, &unbound, |record| record["status"] == "completed").await;
    let report = assert_verified(&market, &unbound, "paid");
    assert_eq!(detail(&report, "message"), "what was signed is the result hash");
    assert_verified(&market, &bound, "paid");
    up.stop().await.unwrap();
}

/// The version of the transaction that settled an execution, and its fee.
async fn settled_in(market: &Market, execution_id: &str) -> (Value, u64) {
    let report = assert_verified(market, execution_id, "paid");
    let config = json!({"encoding": "json", "commitment": "confirmed", "maxSupportedTransactionVersion": 1});
    let transaction = market.rpc("getTransaction", json!([report["settling_transaction"], config])).await;
    (transaction["version"].clone(), transaction["meta"]["fee"].as_u64().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_come_together_share_transactions_and_each_is_proved_by_itself() {
    let folder = crtx_e2e::folder();
    let mut up = Up::start(folder.path(), &[]).await.unwrap();
    let market = Market::new(up.info().clone());
    let before = market.balances().await;
    let ids = futures::future::join_all((0..24).map(|_| market.paid())).await;
    let cost = 24 * market.price("text-stats");
    assert_eq!(market.balances().await.caller, before.caller - cost);
    let mut shared = 0;
    for id in &ids {
        let (version, fee) = settled_in(&market, id).await;
        // One signature for the transaction, and one for each result.
        if version == json!(1) {
            assert!(fee >= 15_000, "{id}: {fee}");
            shared += 1;
        } else {
            assert_eq!((version, fee), (json!("legacy"), 10_000), "{id}");
        }
    }
    assert!(shared > 0, "no settlement was shared");

    let ids = futures::future::join_all((0..24).map(|_| failed(&market))).await;
    assert_eq!(market.balances().await.caller, before.caller - cost);
    let mut refunded_in = std::collections::HashSet::new();
    for id in &ids {
        record_that(&market, id, |record| record["status"] == "failed").await;
        refunded_in.insert(assert_verified(&market, id, "refunded")["settling_transaction"].to_string());
    }
    assert!(refunded_in.len() < ids.len(), "no refund was shared");
    up.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_an_upheld_dispute_and_a_closed_record_are_proved_from_the_chain() {
    let folder = crtx_e2e::folder();
    let mut up = Up::start(folder.path(), &[]).await.unwrap();
    let market = Market::new(up.info().clone());
    let chain = Chain::of(&market, folder.path());

    let refunded = failed(&market).await;
    record_that(&market, &refunded, |record| record["status"] == "failed").await;
    let report = assert_verified(&market, &refunded, "refunded");
    assert!(report["settling_transaction"].is_string() && report["closing_transaction"].is_null(), "{report:#}");

    let disputed = market.paid().await;
    let (agent, record) = (market.agent("text-stats").parse().unwrap(), chain.record(&disputed));
    let wallet = chain.wallet.pubkey();
    let evidence = ix::OpenDisputeArgs { evidence_hash: [1; 32], evidence_uri: "ipfs://evidence".to_owned() };
    chain.send(chain.build.open_dispute(&wallet, &wallet, &agent, &record, evidence), &[&chain.wallet]).await;
    record_that(&market, &disputed, |record| record["status"] == "disputed").await;
    assert_verified(&market, &disputed, "paid");
    let answer = ix::AnswerDisputeArgs { answer_hash: [3; 32], answer_uri: "ipfs://answer".to_owned() };
    let creator = &chain.creator;
    chain.send(chain.build.answer_dispute(&creator.pubkey(), &agent, &record, answer), &[creator]).await;
    let price = market.price("text-stats");
    let part = fee::split(price, 2_500).unwrap().creator;
    let decision = ix::ResolveDisputeArgs {
        decision: DisputeDecision::Upheld,
        slash: part,
        resolution_hash: [2; 32],
        resolution_uri: "ipfs://reasons".to_owned(),
    };
    let insurance = chain.insurance_owner.pubkey();
    let case = Disputed { agent, record, caller: wallet, creator: creator.pubkey() };
    let resolve = chain.build.resolve_dispute(&chain.resolver.pubkey(), &case, &insurance, decision);
    let before = market.balances().await;
    chain.send(resolve, &[&chain.resolver]).await;
    let bond = MarketParameters::DEFAULT.dispute_bond;
    assert_eq!(market.balances().await.caller, before.caller + part + bond, "the caller is compensated");
    record_that(&market, &disputed, |record| record["dispute"]["status"] == "upheld").await;
    assert_verified(&market, &disputed, "overturned");

    // The slash paused the agent; the conformance target serves.
    let answer = market.behave("ok").await;
    let closed = [answer.text("execution_id").to_owned(), failed(&market).await];
    // When their window is over, the worker closes them.
    market.travel(Duration::from_secs(MarketParameters::DEFAULT.dispute_window_s.unsigned_abs() + 3)).await;
    for (execution, outcome) in closed.iter().zip(["paid", "refunded"]) {
        chain.closed(execution).await;
        let report = assert_verified(&market, execution, outcome);
        assert!(report["closing_transaction"].is_string(), "{report:#}");
    }
    up.stop().await.unwrap();
}
