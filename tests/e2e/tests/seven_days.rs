//! A market that is busy for seven days, by time travel, and what the worker leaves of it: nothing that is open, and no
//! rent that is not returned.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::arithmetic_side_effects, reason = "tests")]

use std::time::Duration;

use agent_marketplace::{
    instructions as ix,
    state::{Config, Dispute, DisputeDecision, ExecutionRecord, MarketParameters},
};
use crtx_chain::{
    ProgramAccount,
    instructions::{Disputed, Opening},
};
use crtx_e2e::{Up, chain::Chain, market::Market};
use serde_json::{Value, json};
use solana_pubkey::Pubkey;
use solana_signer::Signer;

const DAY: Duration = Duration::from_secs(86_400);
const DAYS: u32 = 7;
/// How long the worker may take for what is due. It looks every five seconds.
const PATIENCE: Duration = Duration::from_secs(120);

/// The wallet opens an execution by itself, pays its rent, and nobody works on it.
async fn abandoned(market: &Market, chain: &Chain) -> Pubkey {
    let wallet = chain.wallet.pubkey();
    let opening = Opening {
        agent: market.agent("text-stats").parse().unwrap(),
        execution_id: uuid::Uuid::new_v4().into_bytes(),
        request_hash: [7; 32],
        max_amount: market.price("text-stats"),
        terms_hash: None,
        min_cover: 0,
    };
    chain.send(chain.build.open_execution(&wallet, &wallet, &opening), &[&chain.wallet]).await;
    chain.build.addresses.execution(&wallet, &opening.execution_id)
}

async fn dispute(market: &Market, chain: &Chain, execution_id: &str) {
    let (agent, record) = (market.agent("text-stats").parse().unwrap(), chain.record(execution_id));
    let wallet = chain.wallet.pubkey();
    let evidence = ix::OpenDisputeArgs { evidence_hash: [1; 32], evidence_uri: "ipfs://evidence".to_owned() };
    chain.send(chain.build.open_dispute(&wallet, &wallet, &agent, &record, evidence), &[&chain.wallet]).await;
}

async fn decide(market: &Market, chain: &Chain, execution_id: &str, upheld: bool) {
    let (agent, record) = (market.agent("text-stats").parse().unwrap(), chain.record(execution_id));
    let slash = if upheld { market.price("text-stats") / 2 } else { 0 };
    let decision = ix::ResolveDisputeArgs {
        decision: if upheld { DisputeDecision::Upheld } else { DisputeDecision::Rejected },
        slash,
        resolution_hash: [2; 32],
        resolution_uri: "ipfs://reasons".to_owned(),
    };
    let insurance = chain.insurance_owner.pubkey();
    let disputed = Disputed { agent, record, caller: chain.wallet.pubkey(), creator: chain.creator.pubkey() };
    let decide = chain.build.resolve_dispute(&chain.resolver.pubkey(), &disputed, &insurance, decision);
    chain.send(decide, &[&chain.resolver]).await;
    if upheld {
        // The slash paused the agent. Its creator tops up and goes on.
        let creator = chain.creator.pubkey();
        chain.send(chain.build.deposit_collateral(&creator, &agent, slash), &[&chain.creator]).await;
        let active = agent_marketplace::state::AgentStatus::Active;
        chain.send(chain.build.set_agent_status(&creator, &agent, active), &[&chain.creator]).await;
    }
}

async fn config(chain: &Chain) -> Config {
    let found =
        chain.accounts().await.into_iter().find_map(|(_, account)| match ProgramAccount::decode(&account.data) {
            Ok(ProgramAccount::Config(config)) => Some(*config),
            _ => None,
        });
    found.unwrap()
}

/// Waits until `holds` accepts what is asked for.
async fn until<T: std::fmt::Debug, F: Future<Output = T>>(ask: impl Fn() -> F, holds: impl Fn(&T) -> bool) -> T {
    let started = std::time::Instant::now();
    loop {
        let now = ask().await;
        if holds(&now) {
            return now;
        }
        assert!(started.elapsed() < PATIENCE, "the worker did not get there: {now:?}");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// The records and disputes that the chain still has: address, and state as the account stores it.
async fn left(chain: &Chain) -> Vec<(Pubkey, &'static str, u8)> {
    let accounts = chain.accounts().await.into_iter();
    let open = accounts.filter_map(|(address, account)| match ProgramAccount::decode(&account.data) {
        Ok(ProgramAccount::Execution(execution)) => Some((address, "execution", execution.status)),
        Ok(ProgramAccount::Dispute(dispute)) => Some((address, "dispute", dispute.outcome)),
        _ => None,
    });
    open.collect()
}

async fn rent(market: &Market, bytes: usize) -> u64 {
    market.rpc("getMinimumBalanceForRentExemption", json!([bytes])).await.as_u64().unwrap()
}

async fn status(market: &Market) -> Value {
    market.get("/v1/status").await.body
}

#[tokio::test(flavor = "multi_thread")]
async fn after_seven_busy_days_every_record_is_closed_all_rent_is_returned_and_no_dispute_is_open() {
    let folder = crtx_e2e::folder();
    let mut up = Up::start(folder.path(), &[]).await.unwrap();
    let market = Market::new(up.info().clone());
    let chain = Chain::of(&market, folder.path());

    let next = MarketParameters { fee_bps: 150, ..MarketParameters::DEFAULT };
    chain.send(chain.build.announce_parameters(&chain.admin.pubkey(), Some(next)), &[]).await;

    let (mut records, mut disputes, mut abandonments) = (0_u64, 0_u64, Vec::new());
    let mut waiting: Option<(String, bool)> = None;
    for day in 0..DAYS {
        if day > 0 {
            market.travel(DAY * day).await;
        }
        // What was disputed yesterday is decided today, a day later: nobody has to wait for an answer.
        if let Some((execution_id, upheld)) = waiting.take() {
            decide(&market, &chain, &execution_id, upheld).await;
        }
        for _ in 0..3 {
            market.paid().await;
        }
        let answer = market.behave("fail").await;
        assert_eq!(answer.error_code(), "execution_failed");
        abandonments.push(abandoned(&market, &chain).await);
        records += 5;
        if day < DAYS - 1 {
            let execution_id = market.paid().await;
            dispute(&market, &chain, &execution_id).await;
            waiting = Some((execution_id, day % 2 == 0));
            (records, disputes) = (records + 1, disputes + 1);
        }
    }
    market.travel(DAY * (DAYS + 1)).await;
    let applied = until(|| config(&chain), |config| config.parameters_apply_from_unix_s == 0).await;
    assert_eq!(applied.parameters, next, "the worker applied what was announced");

    // A refund starts a window, too.
    until(|| status(&market), |status| status["housekeeping"]["refunds"]["actions"] == json!(abandonments.len())).await;

    // Four days later the last window is over.
    market.travel(DAY * (DAYS + 5)).await;
    assert_eq!(until(|| left(&chain), Vec::is_empty).await, []);

    let [record, of_dispute] = [rent(&market, ExecutionRecord::SPACE).await, rent(&market, Dispute::SPACE).await];
    let done =
        until(|| status(&market), |status| status["housekeeping"]["closings"]["actions"] == json!(records)).await;
    let closings = &done["housekeeping"]["closings"];
    assert_eq!(closings["rent_returned_lamports"], json!(records * record + disputes * of_dispute), "{done:#}");
    assert!(closings["fees_lamports"].as_u64().unwrap() <= records * 5_000, "closings share transactions: {done:#}");
    // The gateway refunded the executions that the wallet opened and nobody worked on.
    let refunds = &done["housekeeping"]["refunds"];
    assert_eq!(refunds["actions"], json!(abandonments.len()), "{done:#}");
    let dropped = rent(&market, ExecutionRecord::OPEN_SPACE).await - record;
    assert_eq!(refunds["rent_returned_lamports"], json!(u64::from(DAYS) * dropped), "{done:#}");
    assert_eq!(done["housekeeping"]["announcements"]["actions"], json!(1), "{done:#}");
    // The chain has just left hundreds of thousands of slots out.
    let settled = until(|| status(&market), |status| status["status"] == "live").await;
    assert_eq!((&settled["status"], &settled["quarantined"]), (&json!("live"), &json!(0)), "{settled:#}");

    let mut agents = 0;
    for (address, account) in chain.accounts().await {
        if let Ok(ProgramAccount::AgentListed(listing)) = ProgramAccount::decode(&account.data) {
            agents += 1;
            let open = (listing.open_executions, listing.open_amount, listing.open_disputes, listing.disputed_amount);
            assert_eq!(open, (0, 0, 0, 0), "{address}");
            let text_stats = address.to_string() == market.agent("text-stats");
            let abandoned = if text_stats { u64::from(DAYS) } else { 0 };
            assert_eq!(listing.expired_executions, abandoned, "an abandoned execution is no failure of {address}");
            let failed = if text_stats { 0 } else { u64::from(DAYS) };
            assert_eq!(listing.failed_executions, failed, "{address}");
        }
    }
    assert_eq!(agents, 2);

    // A dispute that nobody decides ends after thirty days, and its record is closed.
    let execution_id = market.paid().await;
    dispute(&market, &chain, &execution_id).await;
    market.travel(DAY * (DAYS + 36)).await;
    assert_eq!(until(|| left(&chain), Vec::is_empty).await, []);
    let done =
        until(|| status(&market), |status| status["housekeeping"]["closings"]["actions"] == json!(records + 1)).await;
    assert_eq!(done["housekeeping"]["expired_disputes"]["actions"], json!(1), "{done:#}");
    up.stop().await.unwrap();
}
