//! What `crtx verify` can still prove when an execution did not end as hoped, or is long over.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::{path::Path, time::Duration};

use agent_marketplace::{instructions as ix, state::Dispute};
use crtx_chain::{ChainClient, Instructions, Layout, Outcome, SignedTransaction};
use crtx_e2e::{Up, market::Market};
use crtx_protocol::{address::Addresses, fee};
use serde_json::{Value, json};
use solana_instruction::Instruction;
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use solana_signer::Signer;

const PATIENCE: Duration = Duration::from_secs(20);

/// The chain of a local network, and the keys that lie in its data directory.
struct Chain {
    client: ChainClient,
    build: Instructions,
    admin: Keypair,
    wallet: Keypair,
}

impl Chain {
    fn of(market: &Market, data_dir: &Path) -> Self {
        let keys: Value = serde_json::from_slice(&std::fs::read(data_dir.join("keys.json")).unwrap()).unwrap();
        let key = |name: &str| {
            let seed = bs58::decode(keys[name].as_str().unwrap()).into_vec().unwrap();
            Keypair::new_from_array(seed.try_into().unwrap())
        };
        let info = &market.info;
        let addresses = Addresses::new(info.program_id.parse().unwrap());
        Self {
            client: ChainClient::new(&info.rpc_url, PATIENCE),
            build: Instructions::new(addresses, info.usdc_mint.parse().unwrap()),
            admin: key("admin"),
            wallet: key("wallet"),
        }
    }

    /// Sent with the admin as fee payer.
    async fn send(&self, instruction: Instruction, signers: &[&Keypair]) {
        let blockhash = self.client.recent_blockhash().await.unwrap();
        let all = [&[&self.admin], signers].concat();
        let transaction = SignedTransaction::sign(&[instruction], &all, blockhash).unwrap();
        let outcome = self.client.send_and_confirm(&transaction, PATIENCE).await;
        assert!(matches!(outcome, Outcome::Confirmed { .. }), "{outcome:?}");
    }

    fn record(&self, execution_id: &str) -> Pubkey {
        let id: [u8; 16] = uuid_bytes(execution_id);
        self.build.addresses.execution(&self.wallet.pubkey(), &id)
    }

    async fn close(&self, execution_id: &str) {
        let record = self.record(execution_id);
        let gateway = self.rent_payer(&record).await;
        let disputed = self.client.account(&self.build.addresses.dispute(&record)).await.unwrap().value;
        let dispute_payer = disputed.map_or(gateway, |account| Dispute::decode(&account.data).unwrap().rent_payer);
        self.send(self.build.close_execution(&record, &gateway, &dispute_payer), &[]).await;
        assert!(self.client.account(&record).await.unwrap().value.is_none(), "the record is gone");
    }

    async fn rent_payer(&self, record: &Pubkey) -> Pubkey {
        let account = self.client.account(record).await.unwrap().value.unwrap();
        agent_marketplace::state::ExecutionRecord::decode(&account.data).unwrap().rent_payer
    }
}

fn uuid_bytes(text: &str) -> [u8; 16] {
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    u128::from_str_radix(&digits, 16).unwrap().to_be_bytes()
}

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

async fn paid(market: &Market) -> String {
    let answer = market.execute(&market.agent("text-stats"), &json!({"task": "One. Two."})).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.text("execution_id").to_owned()
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

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_an_upheld_dispute_and_a_closed_record_are_proved_from_the_chain() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut up = Up::start(folder.path(), &[]).await.unwrap();
    let market = Market::new(up.info().clone());
    let chain = Chain::of(&market, folder.path());

    let refunded = failed(&market).await;
    record_that(&market, &refunded, |record| record["status"] == "failed").await;
    let report = assert_verified(&market, &refunded, "refunded");
    assert!(report["settling_transaction"].is_string() && report["closing_transaction"].is_null(), "{report:#}");

    let disputed = paid(&market).await;
    let (agent, record) = (market.agent("text-stats").parse().unwrap(), chain.record(&disputed));
    let wallet = chain.wallet.pubkey();
    let evidence = ix::OpenDisputeArgs { evidence_hash: [1; 32], evidence_uri: String::new() };
    chain.send(chain.build.open_dispute(&wallet, &wallet, &agent, &record, evidence), &[&chain.wallet]).await;
    record_that(&market, &disputed, |record| record["status"] == "disputed").await;
    assert_verified(&market, &disputed, "paid");
    let price = market.price("text-stats");
    let part = fee::split(price, 2_500).unwrap().creator;
    let decision = ix::ResolveDisputeArgs { upheld: true, slash: part, resolution_hash: [2; 32] };
    let treasury = market.treasury_owner().await.parse().unwrap();
    let resolver = chain.admin.pubkey();
    let resolve = chain.build.resolve_dispute(&resolver, &agent, &record, &wallet, &treasury, decision);
    let before = market.balances().await;
    chain.send(resolve, &[]).await;
    assert_eq!(market.balances().await.caller, before.caller + part, "the caller is compensated");
    record_that(&market, &disputed, |record| record["dispute"]["status"] == "upheld").await;
    assert_verified(&market, &disputed, "overturned");

    // With a window of a second, everything that is opened from now on may be closed soon.
    let short = ix::UpdateConfigArgs { dispute_window_s: Some(1), ..Default::default() };
    chain.send(chain.build.update_config(&chain.admin.pubkey(), short), &[]).await;
    // The slash paused the agent; the conformance target serves.
    let answer = market.behave("ok").await;
    let closed = [answer.text("execution_id").to_owned(), failed(&market).await];
    tokio::time::sleep(Duration::from_secs(3)).await;
    for (execution, outcome) in closed.iter().zip(["paid", "refunded"]) {
        chain.close(execution).await;
        let report = assert_verified(&market, execution, outcome);
        assert!(report["closing_transaction"].is_string(), "{report:#}");
    }
    up.stop().await.unwrap();
}
