//! Accounts of creator and treasury that cannot be paid: no good result is refunded for the platform's fault, and no
//! creator makes the gateway pay for settlements that nobody can take.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests"
)]

use std::time::{Duration, Instant};

use crtx_chain::token::{self, TOKEN_PROGRAM_ID, TokenAccount};
use crtx_e2e::{
    Up,
    chain::Chain,
    market::{Answer, Market},
};
use crtx_protocol::fee;
use serde_json::{Value, json};
use solana_instruction::{AccountMeta, Instruction};
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use solana_signer::Signer;

const AGENT: &str = "conformance-target";

/// A network, and the accounts that its creator and its treasury are usually paid to.
struct World {
    _folder: tempfile::TempDir,
    up: Up,
    market: Market,
    chain: Chain,
}

impl World {
    async fn start() -> Self {
        let folder = crtx_e2e::folder();
        let up = Up::start(&folder.path().join("data"), &[]).await.unwrap();
        let market = Market::new(up.info().clone());
        let chain = Chain::of(&market, &folder.path().join("data"));
        Self { _folder: folder, up, market, chain }
    }

    /// Calls the agent, and does `meanwhile` when the escrow is open and the creator at work.
    async fn call_and(&self, meanwhile: impl Future<Output = ()>) -> Answer {
        let body = json!({"task": "t", "parameters": {"behaviour": "ok", "delay_ms": 2_500}});
        let agent = self.market.agent(AGENT);
        let call = self.market.execute(&agent, &body);
        let change = async {
            while self.market.listing(AGENT).await.open_executions == 0 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            meanwhile.await;
        };
        tokio::join!(call, change).0
    }

    async fn call(&self) -> Answer {
        self.market.behave("ok").await
    }

    /// Empties and closes an account, as its owner can at any time.
    async fn close(&self, account: &Pubkey, owner: &Keypair) {
        let (rest, mint) = (self.token(account).await.unwrap().amount, self.chain.build.usdc_mint);
        let insurance = self.chain.build.usdc_of(&self.chain.insurance_owner.pubkey());
        let transfer = token::transfer(account, &mint, &insurance, &owner.pubkey(), rest);
        self.chain.send(transfer, &[owner]).await;
        let accounts = vec![
            AccountMeta::new(*account, false),
            AccountMeta::new(owner.pubkey(), false),
            AccountMeta::new_readonly(owner.pubkey(), true),
        ];
        let close = Instruction { program_id: TOKEN_PROGRAM_ID, accounts, data: vec![9] };
        self.chain.send(close, &[owner]).await;
    }

    /// Writes an account as if its mint's issuer had frozen it, or thawed it.
    async fn set(&self, account: &Pubkey, owner: &Pubkey, frozen: bool) {
        let amount = self.token(account).await.map_or(0, |account| account.amount);
        let token = TokenAccount { mint: self.chain.build.usdc_mint, owner: *owner, amount, delegate: None, frozen };
        let data = hex(&token.encode());
        let update = json!({"lamports": 2_039_280, "data": data, "owner": TOKEN_PROGRAM_ID.to_string()});
        self.market.rpc("surfnet_setAccount", json!([account.to_string(), update])).await;
    }

    async fn token(&self, account: &Pubkey) -> Option<TokenAccount> {
        let account = self.chain.client.account(account).await.unwrap().value?;
        TokenAccount::decode(&account).ok()
    }

    /// Lamports of the gateway.
    async fn lamports(&self) -> u64 {
        self.chain.client.account(&self.chain.gateway.pubkey()).await.unwrap().value.unwrap().lamports
    }

    /// Number of transactions of an execution that the chain refused.
    async fn refusals(&self, execution_id: &str) -> usize {
        let record = self.chain.record(execution_id).to_string();
        let lines = self.market.rpc("getSignaturesForAddress", json!([record, {"commitment": "confirmed"}])).await;
        lines.as_array().unwrap().iter().filter(|line| !line["err"].is_null()).count()
    }

    fn treasury(&self) -> Pubkey {
        self.chain.treasury_owner.pubkey()
    }

    fn fee(&self) -> u64 {
        fee::split(self.market.price(AGENT), 100).unwrap().platform
    }

    /// Waits until `/v1/status` names a problem of the treasury, or none; its words.
    async fn treasurys_problem(&self, is_there: bool) -> String {
        self.market
            .until("/v1/status", |status| {
                let problem = of(&status.body["problems"], "code", "treasury");
                let message =
                    || problem.map(|problem| problem["message"].as_str().unwrap().to_owned()).unwrap_or_default();
                (problem.is_some() == is_there).then(message)
            })
            .await
    }
}

fn of<'a>(list: &'a Value, member: &str, name: &str) -> Option<&'a Value> {
    list.as_array().unwrap().iter().find(|entry| entry[member] == name)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_treasury_account_that_is_closed_on_the_way_is_created_again_and_the_good_result_is_paid() {
    let mut world = World::start().await;
    let usual = world.chain.build.usdc_of(&world.treasury());
    let answer = world.call_and(world.close(&usual, &world.chain.treasury_owner)).await;
    assert_eq!((answer.status.as_u16(), answer.text("status")), (200, "completed"), "{answer:?}");
    assert_eq!(world.token(&usual).await.unwrap().amount, world.fee());
    assert_eq!(world.refusals(answer.text("execution_id")).await, 1, "one settlement found it out");
    world.close(&usual, &world.chain.treasury_owner).await;
    let next = world.call().await;
    assert_eq!((next.status.as_u16(), world.refusals(next.text("execution_id")).await), (200, 0), "{next:?}");
    world.up.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn fees_go_to_another_account_of_the_treasury_while_the_associated_one_is_frozen_and_the_status_says_so() {
    let mut world = World::start().await;
    let usual = world.chain.build.usdc_of(&world.treasury());
    let answer = world.call_and(world.set(&usual, &world.treasury(), true)).await;
    assert_eq!((answer.status.as_u16(), answer.text("status")), (200, "completed"), "{answer:?}");
    let other = token::further_address(&world.chain.gateway.pubkey(), &world.treasury(), 0);
    assert_eq!(world.token(&other).await.expect("the gateway created it").amount, world.fee());
    let next = world.call().await;
    assert_eq!((next.status.as_u16(), world.refusals(next.text("execution_id")).await), (200, 0), "{next:?}");
    assert_eq!(world.token(&other).await.unwrap().amount, 2 * world.fee());
    let words = world.treasurys_problem(true).await;
    assert!(words.contains(&usual.to_string()) && words.contains(&other.to_string()), "{words}");
    world
        .market
        .until("/readyz", |ready| {
            let check = of(&ready.body["checks"], "name", "treasury").expect("a check");
            ((ready.status.as_u16(), &check["problem"]) == (200, &json!(words))).then_some(())
        })
        .await;
    world.set(&usual, &world.treasury(), false).await;
    world.treasurys_problem(false).await;
    world.up.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn settlements_wait_and_new_calls_are_refused_while_no_account_of_the_treasury_receives_money() {
    let mut world = World::start().await;
    let (treasury, gateway) = (world.treasury(), world.chain.gateway.pubkey());
    let usual = world.chain.build.usdc_of(&treasury);
    let further = [0, 1, 2].map(|number| token::further_address(&gateway, &treasury, number));
    let answer = world
        .call_and(async {
            for account in further.iter().chain([&usual]) {
                world.set(account, &treasury, true).await;
            }
        })
        .await;
    assert_eq!((answer.status.as_u16(), answer.text("status")), (202, "running"), "{answer:?}");
    let id = answer.text("execution_id").to_owned();
    let words = world.treasurys_problem(true).await;
    assert!(words.contains("new calls are refused"), "{words}");
    let refused = world.call().await;
    assert_eq!((refused.status.as_u16(), refused.error_code()), (503, "unavailable"), "{refused:?}");
    // Longer than six settlements of before took to be refused.
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!((world.market.listing(AGENT).await.open_executions, world.refusals(&id).await), (1, 1));
    world.set(&usual, &treasury, false).await;
    let started = Instant::now();
    let path = format!("/v1/executions/{id}");
    while world.market.get_as_owner(&path).await.body["status"] != "completed" {
        assert!(started.elapsed() < Duration::from_secs(30), "{:?}", world.market.get_as_owner(&path).await);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert_eq!(world.token(&usual).await.unwrap().amount, world.fee());
    assert_eq!(world.call().await.status, 200);
    world.up.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_whose_creator_has_no_usable_account_is_not_called_and_costs_nothing() {
    let mut world = World::start().await;
    let creator = &world.chain.creator;
    let usual = world.chain.build.usdc_of(&creator.pubkey());
    assert_eq!(world.call().await.status, 200);
    world.close(&usual, creator).await;
    let (lamports, usdc) = (world.lamports().await, world.market.usdc_of(&world.market.info.wallet).await);
    for _ in 0..3 {
        let refused = world.call().await;
        assert_eq!((refused.status.as_u16(), refused.error_code()), (422, "agent_unpayable"), "{refused:?}");
        assert!(refused.body["error"]["execution_id"].is_null(), "{refused:?}");
    }
    // Rent of a record that was closed may have come back meanwhile; nothing was spent.
    let lost = lamports.saturating_sub(world.lamports().await);
    let row = format!(
        "| Loss of the gateway for each call to a creator who cannot be paid | 75 000 lamports | {lost} lamports |"
    );
    assert!(include_str!("../../../SECURITY.md").contains(&row), "{row}");
    assert_eq!(world.market.usdc_of(&world.market.info.wallet).await, usdc);
    assert_eq!(world.market.listing(AGENT).await.failed_executions, 0, "nothing was opened");
    let again = token::create_associated_token_account(
        &world.chain.admin.pubkey(),
        &creator.pubkey(),
        &world.chain.build.usdc_mint,
    );
    world.chain.send(again, &[]).await;
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(world.call().await.status, 200, "an account of the creator is found again");
    world.up.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creator_without_its_associated_account_is_paid_to_another_one() {
    let mut world = World::start().await;
    let creator = &world.chain.creator;
    let usual = world.chain.build.usdc_of(&creator.pubkey());
    let other = Pubkey::new_unique();
    world.set(&other, &creator.pubkey(), false).await;
    let answer = world.call_and(world.close(&usual, creator)).await;
    assert_eq!((answer.status.as_u16(), answer.text("status")), (200, "completed"), "{answer:?}");
    let part = world.market.price(AGENT) - world.fee();
    assert_eq!(world.token(&other).await.unwrap().amount, part);
    assert_eq!(world.refusals(answer.text("execution_id")).await, 1);
    let next = world.call().await;
    assert_eq!((next.status.as_u16(), world.refusals(next.text("execution_id")).await), (200, 0), "{next:?}");
    assert_eq!(world.token(&other).await.unwrap().amount, 2 * part);
    world.up.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creator_who_loses_every_account_on_the_way_fails_after_one_refused_settlement() {
    let mut world = World::start().await;
    let creator = &world.chain.creator;
    let usual = world.chain.build.usdc_of(&creator.pubkey());
    let before = world.market.usdc_of(&world.market.info.wallet).await;
    let answer = world.call_and(world.close(&usual, creator)).await;
    assert_eq!((answer.status.as_u16(), answer.error_code()), (500, "execution_failed"), "{answer:?}");
    let message = answer.body["error"]["message"].as_str().unwrap();
    assert!(message.contains("no USDC account"), "{message}");
    assert_eq!(world.market.usdc_of(&world.market.info.wallet).await, before, "the caller has its money back");
    let id = answer.body["error"]["execution_id"].as_str().unwrap();
    assert_eq!(world.refusals(id).await, 1);
    let listing = world.market.listing(AGENT).await;
    let counted = (listing.failed_executions, listing.unproved_failures, listing.open_executions);
    assert_eq!(counted, (0, 1, 0), "booked to the agent by the gateway's word alone");
    world.up.stop().await.unwrap();
}
