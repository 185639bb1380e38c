//! Every role does its part with the `crtx` command alone, on a real network, and finds it without any variable.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests"
)]

mod standard_tools;

use std::{
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use agent_marketplace::{
    error::MarketplaceError,
    state::{AgentListed, AgentStatus, Config, Dispute, MarketParameters},
};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use crtx_chain::{
    Layout, Outcome, SignedTransaction, Simulation,
    instructions::{Opening, Settlement},
};
use crtx_e2e::{Up, chain::Chain, config_dir, crtx_without_settings, market::Market};
use crtx_protocol::{
    call_text::OpeningId,
    fee,
    result_hash::{CallProof, ResultHash, format_signature},
};
use ed25519_dalek::SigningKey;
use serde_json::{Value, json};
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use solana_signer::Signer;
use standard_tools::Tools;

/// A network and its roles.
struct World {
    folder: tempfile::TempDir,
    up: Up,
    market: Market,
    chain: Chain,
}

impl World {
    async fn start(more: &[&str]) -> Self {
        let folder = crtx_e2e::folder();
        let up = Up::start(&folder.path().join("data"), more).await.unwrap();
        let market = Market::new(up.info().clone());
        let chain = Chain::of(&market, &folder.path().join("data"));
        Self { folder, up, market, chain }
    }

    /// Exit status, the JSON value on standard output, and standard error.
    fn crtx(&self, arguments: &[&str]) -> (Option<i32>, Value, String) {
        let output = self.market.crtx_as_found(arguments);
        let value = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
        (output.status.code(), value, String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// A command that succeeds; its JSON value.
    #[track_caller]
    fn done(&self, arguments: &[&str]) -> Value {
        let (status, value, text) = self.crtx(&[arguments, &["--json"]].concat());
        assert_eq!(status, Some(0), "{arguments:?}: {text}");
        assert!(!value.is_null(), "{arguments:?} prints one JSON value");
        value
    }

    /// A command that fails; what it says.
    #[track_caller]
    fn fails(&self, arguments: &[&str]) -> String {
        let (status, _, text) = self.crtx(arguments);
        assert_eq!(status, Some(1), "{arguments:?}: {text}");
        text
    }

    /// The file with the key pair of a role.
    fn key_of(&self, role: &str) -> String {
        self.market.info.data_dir().join(format!("wallets/{role}.json")).to_str().unwrap().to_owned()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    async fn account<T: Layout>(&self, address: &Pubkey) -> T {
        T::decode(&self.chain.client.account(address).await.unwrap().value.expect("an account").data).unwrap()
    }

    async fn listing(&self, agent: &str) -> AgentListed {
        self.account(&agent.parse().unwrap()).await
    }

    async fn opening_id(&self, record: &Pubkey) -> OpeningId {
        let opened = self.chain.execution(record).await;
        OpeningId { record: record.to_bytes(), opened_at_unix_s: opened.opened_at_unix_s }
    }

    /// The wallet opens an execution by itself; nobody else knows of it.
    async fn open_execution(&self, agent: &str) -> (uuid::Uuid, Pubkey) {
        let id = uuid::Uuid::new_v4();
        (id, self.open_with_id(agent, &id).await)
    }

    async fn open_with_id(&self, agent: &str, id: &uuid::Uuid) -> Pubkey {
        let wallet = self.chain.wallet.pubkey();
        let opening = Opening {
            agent: agent.parse().unwrap(),
            execution_id: id.into_bytes(),
            request_hash: [7; 32],
            max_amount: u64::MAX,
            terms_hash: None,
            min_cover: 0,
        };
        let open = self.chain.build.open_execution(&wallet, &wallet, &opening);
        self.chain.send(open, &[&self.chain.wallet]).await;
        self.chain.build.addresses.execution(&wallet, &opening.execution_id)
    }

    /// Whether the chain would take a settlement by the creator that is signed for this opening.
    async fn would_settle(&self, opening: &OpeningId, result: &str) -> Simulation {
        let record = Pubkey::new_from_array(opening.record);
        let execution = self.chain.execution(&record).await;
        let hash = ResultHash::of(result.as_bytes());
        let treasury_owner = self.market.treasury_owner().await.parse().unwrap();
        let settlement = Settlement {
            agent: execution.agent,
            opening: *opening,
            rent_payer: execution.rent_payer,
            creator_token: self.chain.build.usdc_of(&self.chain.creator.pubkey()),
            treasury_token: self.chain.build.usdc_of(&treasury_owner),
            result_key: execution.terms.unwrap().result_key,
            result_hash: hash,
            binding: true,
            signature: CallProof::sign(&self.result_key(), opening, &hash).call_signature.unwrap(),
            execution_time_ms: 1,
            tokens_used: None,
        };
        let settle = self.chain.build.complete_execution(&self.chain.creator.pubkey(), &settlement);
        let blockhash = self.chain.client.recent_blockhash().await.unwrap();
        let transaction = SignedTransaction::sign(&settle, &[&self.chain.creator], blockhash).unwrap();
        self.chain.client.simulate(&transaction).await
    }

    /// The key that signs the results of the demo agents.
    fn result_key(&self) -> SigningKey {
        let keys: Value =
            serde_json::from_slice(&std::fs::read(self.market.info.data_dir().join("keys.json")).unwrap()).unwrap();
        let seed = bs58::decode(keys["result_key"].as_str().unwrap()).into_vec().unwrap();
        SigningKey::from_bytes(&seed.try_into().unwrap())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_wallet_is_filled_and_shows_what_it_has() {
    let mut world = World::start(&[]).await;
    let path = world.file("wallet.json");
    let path = path.to_str().unwrap();
    let made = world.done(&["wallet", "new", "--out", path]);
    let address = made["address"].as_str().unwrap();
    assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(world.fails(&["wallet", "new", "--out", path]).contains("exists"));

    let empty = world.done(&["wallet", "show", "--keypair", path]);
    assert_eq!((&empty["lamports"], &empty["usdc"], &empty["usdc_account"]), (&json!(0), &json!(0), &Value::Null));
    assert_eq!(empty["address"], address);
    world.done(&["wallet", "fund", "--keypair", path, "--sol", "2", "--usdc", "12.000001"]);
    let filled = world.done(&["wallet", "show", address]);
    assert_eq!((&filled["lamports"], &filled["usdc"]), (&json!(2_000_000_000_u64), &json!(12.000001)));
    assert_eq!(world.market.usdc_of(address).await, 12_000_001);
    // Twice adds twice.
    world.done(&["wallet", "fund", address, "--sol", "0", "--usdc", "1"]);
    assert_eq!(world.market.usdc_of(address).await, 13_000_001);

    let admin = world.done(&["wallet", "show", "--keypair", &world.key_of("admin")]);
    assert_eq!(admin["roles"], json!(["admin"]));
    assert_eq!(world.done(&["wallet", "show", "--keypair", &world.key_of("creator")])["roles"], json!(["creator"]));
    let demo = world.done(&["wallet", "show"]);
    assert_eq!((&demo["address"], &demo["usdc"]), (&json!(world.market.info.wallet), &json!(1000)));
    // What is set counts more than what `crtx up` noted.
    world.market.crtx_as_found(&["config", "set", "keypair", path]);
    assert_eq!(world.done(&["wallet", "show"])["address"], address);
    let shown = world.done(&["config", "show"]);
    assert_eq!(
        (&shown["keypair"]["source"], &shown["rpc_url"]["source"]),
        (&json!("config_file"), &json!("local_run"))
    );
    world.up.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_and_proofs_need_no_variable_after_crtx_up() {
    let mut world = World::start(&[]).await;
    let agent = world.market.agent("text-stats");
    let paid = world.done(&["execute", &agent, "--task", "One. Two."]);
    let id = paid["execution_id"].as_str().unwrap();
    assert_eq!(world.done(&["verify", id])["outcome"], "paid");
    let report = world.done(&["doctor"]);
    assert_eq!(report["ok"], true, "{report:#}");
    world.up.stop().await.unwrap();
    let (status, report, text) = world.crtx(&["doctor", "--json"]);
    assert_eq!(status, Some(1), "{text}");
    let wrong: Vec<&Value> =
        report["checks"].as_array().unwrap().iter().filter(|check| check["state"] == "wrong").collect();
    assert_eq!(wrong.iter().map(|check| &check["name"]).collect::<Vec<_>>(), ["rpc", "service"], "{report:#}");
    assert!(wrong.iter().all(|check| check["fix"].as_str().unwrap().contains("crtx up")), "{report:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creator_pauses_resumes_tops_up_rotates_leaves_and_gets_everything_back() {
    let mut world = World::start(&[]).await;
    let (agent, creator) = (world.market.agent("text-stats"), world.key_of("creator"));
    let as_creator = |arguments: &[&str]| world.done(&[arguments, &["--keypair", &creator, "--yes"]].concat());
    let listed = world.done(&["agent", "list", "--keypair", &creator]);
    assert_eq!(listed["agents"][0]["agent_id"], agent, "{listed:#}");
    assert_eq!(
        (&listed["agents"][0]["name"], &listed["agents"][0]["status"]),
        (&json!("text-stats"), &json!("active"))
    );

    assert_eq!(as_creator(&["agent", "pause", "0"])["status"], "paused");
    assert!(as_creator(&["agent", "pause", "0"])["transaction"].is_null(), "a second time there is nothing to do");
    let refused = world.market.execute(&agent, &json!({"task": "x"})).await;
    assert_eq!((refused.status.as_u16(), refused.error_code()), (422, "agent_paused"));
    as_creator(&["agent", "resume", &agent]);
    world.market.paid().await;

    let wallet = world.chain.creator.pubkey().to_string();
    let before = world.market.usdc_of(&wallet).await;
    as_creator(&["agent", "topup", "0", "2.5"]);
    assert_eq!(world.market.usdc_of(&wallet).await, before - 2_500_000);
    assert_eq!(world.listing(&agent).await.collateral, 12_500_000);

    let key = world.file("result-key.json");
    let rotated = as_creator(&["agent", "rotate-key", "0", "--key", key.to_str().unwrap()]);
    assert_eq!(rotated["result_key"], world.listing(&agent).await.result_key.to_string());
    assert!(as_creator(&["agent", "rotate-key", "0", "--key", key.to_str().unwrap()])["transaction"].is_null());

    // Somebody else's agent is left alone.
    assert!(world.fails(&["agent", "pause", &agent, "--yes"]).contains("belongs to"));
    let claimed = world.fails(&["agent", "withdraw", "0", "--yes", "--keypair", &creator]);
    assert!(claimed.contains("not delisted") && claimed.contains("can be disputed until"), "{claimed}");
    as_creator(&["agent", "delist", "0"]);
    let claimed = world.fails(&["agent", "withdraw", "0", "--yes", "--keypair", &creator]);
    assert!(!claimed.contains("not delisted") && claimed.contains("can be disputed until"), "{claimed}");

    world.market.travel(Duration::from_secs(73 * 3_600)).await;
    assert!(world.fails(&["agent", "close", "0", "--yes", "--keypair", &creator]).contains("12.5 USDC"));
    let before = world.market.usdc_of(&wallet).await;
    as_creator(&["agent", "withdraw", "0"]);
    assert_eq!(world.market.usdc_of(&wallet).await, before + 12_500_000);
    assert!(as_creator(&["agent", "withdraw", "0"])["transaction"].is_null());
    as_creator(&["agent", "close", "0"]);
    assert!(world.chain.client.account(&agent.parse().unwrap()).await.unwrap().value.is_none());
    assert!(as_creator(&["agent", "close", "0"])["transaction"].is_null());
    world.up.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_was_interrupted_is_found_out_by_the_next_one() {
    let mut world = World::start(&["--services", "none"]).await;
    let (agent, creator) = (world.market.agent("text-stats"), world.key_of("creator"));
    let address: Pubkey = agent.parse().unwrap();
    // What a command leaves that is killed between writing the transaction down and sending it.
    let pause = world.chain.build.set_agent_status(&world.chain.creator.pubkey(), &address, AgentStatus::Paused);
    let blockhash = world.chain.client.recent_blockhash().await.unwrap();
    let signed = SignedTransaction::sign(&[pause], &[&world.chain.creator], blockhash).unwrap();
    let genesis = world.chain.client.genesis_hash().await.unwrap();
    let journal = config_dir(world.market.info.data_dir())
        .join("transactions")
        .join(genesis)
        .join(world.chain.creator.pubkey().to_string());
    std::fs::create_dir_all(&journal).unwrap();
    let entry = json!({
        "title": "Pause the agent",
        "signature": signed.signature.to_string(),
        "transaction": BASE64.encode(&signed.bytes),
        "last_valid_block_height": signed.last_valid_block_height,
    });
    let file = journal.join(format!("{}.json", signed.signature));
    std::fs::write(&file, entry.to_string()).unwrap();

    let (status, value, text) = world.crtx(&["agent", "pause", "0", "--yes", "--json", "--keypair", &creator]);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("of an earlier run: done: Pause the agent"), "{text}");
    assert!(value["transaction"].is_null(), "the earlier transaction did it: {value}");
    assert!(!file.exists() && world.listing(&agent).await.status() == Some(AgentStatus::Paused));
    let (_, _, text) = world.crtx(&["agent", "resume", "0", "--yes", "--json", "--keypair", &creator]);
    assert!(!text.contains("earlier run"), "{text}");
    assert_eq!(std::fs::read_dir(&journal).unwrap().count(), 0, "nothing is left");
    world.up.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_gateway_the_creator_settles_and_anybody_refunds() {
    let mut world = World::start(&["--services", "none"]).await;
    let agent = world.market.agent("text-stats");
    let price = world.market.price("text-stats");
    let split = fee::split(price, MarketParameters::DEFAULT.fee_bps).unwrap();
    let treasury = world.market.treasury_owner().await;
    let creator = world.chain.creator.pubkey().to_string();
    let caller = world.market.info.wallet.clone();
    let (id, record) = world.open_execution(&agent).await;
    let (_, late) = world.open_execution(&agent).await;
    let (forgotten, _) = world.open_execution(&agent).await;
    let (creator_before, treasury_before, caller_before) = (
        world.market.usdc_of(&creator).await,
        world.market.usdc_of(&treasury).await,
        world.market.usdc_of(&caller).await,
    );

    let result = "The result: „ü“.\r\n";
    let hash = ResultHash::of(result.as_bytes());
    let proof = CallProof::sign(&world.result_key(), &world.opening_id(&record).await, &hash);
    let mut answer = json!({
        "execution_id": id.to_string(),
        "status": "completed",
        "result": result,
        "result_hash": hash.to_string(),
        "signature": format_signature(&proof.signature),
        "call_signature": format_signature(&proof.call_signature.unwrap()),
        "tokens_used": 9,
        "steps": ["unknown members are skipped"],
    });
    let file = world.file("answer.json");
    let (file, id) = (file.to_str().unwrap().to_owned(), id.to_string());
    std::fs::write(&file, answer.to_string()).unwrap();
    let creator_key = world.key_of("creator");
    let settle = ["settle", &id, "--answer", &file, "--no-publish", "--yes", "--keypair", &creator_key];

    // A signature for another call settles nothing, and nothing is sent.
    let foreign = CallProof::sign(&world.result_key(), &world.opening_id(&late).await, &hash);
    answer["call_signature"] = json!(format_signature(&foreign.call_signature.unwrap()));
    std::fs::write(&file, answer.to_string()).unwrap();
    assert!(world.fails(&settle).contains("call_signature is not one"));
    assert_eq!(world.market.usdc_of(&creator).await, creator_before);
    answer["call_signature"] = json!(format_signature(&proof.call_signature.unwrap()));
    std::fs::write(&file, answer.to_string()).unwrap();
    let stranger = world.file("stranger.json");
    let stranger = stranger.to_str().unwrap();
    world.done(&["wallet", "new", "--out", stranger]);
    world.done(&["wallet", "fund", "--keypair", stranger]);
    let not_mine = world.fails(&["settle", &id, "--answer", &file, "--yes", "--keypair", stranger]);
    assert!(not_mine.contains("only the creator"), "{not_mine}");

    let settled = world.done(&settle);
    assert_eq!((&settled["record"], &settled["amount_usdc"]), (&json!(record.to_string()), &json!(0.01)));
    assert_eq!(world.market.usdc_of(&creator).await, creator_before + split.creator);
    assert_eq!(world.market.usdc_of(&treasury).await, treasury_before + split.platform);
    assert!(world.done(&settle)["transaction"].is_null(), "settled already");
    assert!(world.fails(&["refund", &id, "--yes"]).contains("is paid"));

    // The same with tools that everybody has. They block, and have a runtime of their own.
    let [seller, buyer] = ["seller.json", "buyer.json"].map(|file| {
        let file = world.file(file);
        world.done(&["wallet", "new", "--out", file.to_str().unwrap()]);
        world.done(&["wallet", "fund", "--keypair", file.to_str().unwrap()]);
        Keypair::new_from_array(crtx_sdk::key::from_file(file).unwrap().to_bytes())
    });
    let info = world.market.info.clone();
    let with_tools = tokio::task::spawn_blocking(move || {
        let tools = Tools::new(&info, seller, buyer);
        tools.list();
        let (settled, late) = (tools.open(1), tools.open(2));
        tools.settle(settled);
        (tools, late)
    });
    let (tools, late_of_tools) = with_tools.await.unwrap();

    let late = late.to_string();
    assert!(world.fails(&["refund", &late, "--yes", "--keypair", stranger]).contains("can be refunded in"));
    world.market.travel(Duration::from_secs(600)).await;
    assert_eq!(world.done(&["refund", &late, "--yes", "--keypair", stranger])["refunded_usdc"], 0.01);
    assert_eq!(world.market.usdc_of(&caller).await, caller_before + price);
    assert!(world.done(&["refund", &late, "--yes", "--keypair", stranger])["transaction"].is_null());
    tokio::task::spawn_blocking(move || tools.refund(late_of_tools)).await.unwrap();
    // With the library, which asks no service for it.
    let wallet = SigningKey::from_keypair_bytes(&world.chain.wallet.to_bytes()).unwrap();
    let rpc_url = Some(world.market.info.rpc_url.clone());
    let options = crtx_sdk::ClientOptions { rpc_url, ..crtx_sdk::ClientOptions::default() };
    let client = crtx_sdk::Client::with_wallet("http://127.0.0.1:1", &wallet, options).unwrap();
    client.refund(forgotten).await.unwrap();
    assert_eq!(world.market.usdc_of(&caller).await, caller_before + 2 * price);
    world.up.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_its_creator_settles_is_shown_to_its_caller() {
    let mut world = World::start(&[]).await;
    let (id, record) = world.open_execution(&world.market.agent("text-stats")).await;
    let result = "Settled by hand.";
    let proof =
        CallProof::sign(&world.result_key(), &world.opening_id(&record).await, &ResultHash::of(result.as_bytes()));
    let (file, creator) = (world.file("result.txt"), world.key_of("creator"));
    std::fs::write(&file, result).unwrap();
    let (signature, call_signature) =
        (format_signature(&proof.signature), format_signature(&proof.call_signature.unwrap()));
    world.done(&[
        "settle",
        &record.to_string(),
        "--result",
        file.to_str().unwrap(),
        "--signature",
        &signature,
        "--call-signature",
        &call_signature,
        "--keypair",
        &creator,
        "--yes",
    ]);
    let shown = world.market.get_as_owner(&format!("/v1/executions/{id}")).await;
    assert_eq!((&shown.body["result"], &shown.body["settled_by"]), (&json!(result), &json!("creator")), "{shown:?}");
    world.up.stop().await.unwrap();
}

/// The address of a closed record is opened again, at another agent of the creator.
#[tokio::test(flavor = "multi_thread")]
async fn an_execution_that_is_opened_again_has_nothing_of_its_first_opening() {
    let mut world = World::start(&[]).await;
    let id = world.market.paid().await;
    let record = world.chain.record(&id);
    let path = format!("/v1/executions/{id}");
    let first = world.market.get_as_owner(&path).await.body;
    let result = first["result"].as_str().unwrap().to_owned();
    let earlier = OpeningId {
        record: record.to_bytes(),
        // The record has no other time that the API does not show.
        opened_at_unix_s: world.chain.execution(&record).await.opened_at_unix_s,
    };
    world.market.travel(Duration::from_secs(73 * 3_600)).await;
    world.chain.closed(&id).await;

    let second_agent = world.market.agent("conformance-target");
    assert_eq!(world.open_with_id(&second_agent, &id.parse().unwrap()).await, record);
    let refused = world.would_settle(&earlier, &result).await;
    let wrong_message = MarketplaceError::Ed25519WrongMessage as u32;
    assert!(matches!(&refused, Simulation::Refused(why) if why.program_error() == Some(wrong_message)), "{refused:?}");
    let present = world.opening_id(&record).await;
    assert!(matches!(world.would_settle(&present, &result).await, Simulation::Passes));

    let mut shown = Value::Null;
    for _ in 0..100 {
        shown = world.market.get_as_owner(&path).await.body;
        if shown["agent_id"] == second_agent.as_str() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!((&shown["agent_id"], &shown["status"]), (&json!(second_agent), &json!("running")));
    assert_eq!((&shown["result"], &shown["result_hash"]), (&Value::Null, &Value::Null));
    let list = world.market.get_as_owner("/v1/executions").await.body;
    let listed: Vec<_> =
        list["executions"].as_array().unwrap().iter().map(|of| (&of["agent_id"], &of["status"])).collect();
    let both = [(&json!(second_agent), &json!("running")), (&first["agent_id"], &json!("completed"))];
    assert_eq!((listed.as_slice(), &list["total"]), (both.as_slice(), &json!(2)), "{list}");
    let history = world.market.get(&format!("/v1/agents/{}/history", first["agent_id"].as_str().unwrap())).await.body;
    assert_eq!(history["recent_executions"][0]["record"], record.to_string(), "{history}");
    let (status, audit, text) = world.crtx(&["audit", "--wait", "60", "--json"]);
    assert_eq!(status, Some(0), "{audit} {text}");
    world.up.stop().await.unwrap();
}

/// What a caller deposits to dispute.
const BOND: u64 = MarketParameters::DEFAULT.dispute_bond;

#[tokio::test(flavor = "multi_thread")]
async fn a_bond_comes_back_to_who_cancels_and_goes_to_the_creator_of_an_abusive_dispute() {
    let mut world = World::start(&[]).await;
    let (caller, creator) = (world.market.info.wallet.clone(), world.chain.creator.pubkey().to_string());
    let (cancelled, abusive) = (world.market.paid().await, world.market.paid().await);
    let before = (world.market.usdc_of(&caller).await, world.market.usdc_of(&creator).await);
    for id in [&cancelled, &abusive] {
        world.done(&["dispute", "open", id, "--text", "It is wrong.", "--yes"]);
    }
    assert_eq!(world.market.usdc_of(&caller).await, before.0 - 2 * BOND);
    assert_eq!(world.done(&["dispute", "cancel", &cancelled, "--yes"])["status"], "cancelled");
    assert_eq!(world.market.usdc_of(&caller).await, before.0 - BOND);
    let reject = ["resolver", "reject", &abusive, "--abusive", "--text", "It is what was asked.", "--yes"];
    assert_eq!(world.done(&reject)["status"], "abusive");
    let after = (world.market.usdc_of(&caller).await, world.market.usdc_of(&creator).await);
    assert_eq!(after, (before.0 - BOND, before.1 + BOND));
    let shown = world.done(&["dispute", "show", &abusive]);
    assert_eq!((&shown["status"], &shown["bond_usdc"]), (&json!("abusive"), &json!(0.1)));
    world.up.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dispute_is_answered_and_upheld_with_a_slash_exact_to_the_base_unit() {
    let mut world = World::start(&[]).await;
    let agent = world.market.agent("text-stats");
    let price = world.market.price("text-stats");
    let creator = world.key_of("creator");
    let id = world.market.paid().await;
    world.done(&["dispute", "open", &id, "--text", "It is wrong.", "--yes"]);

    let queue = world.done(&["resolver", "queue"]);
    assert_eq!((&queue["disputes"][0]["execution_id"], queue["disputes"].as_array().unwrap().len()), (&json!(id), 1));
    assert_eq!(world.done(&["dispute", "list"])["disputes"][0]["status"], "open");
    let shown = world.market.crtx_as_found(&["dispute", "show", &id]);
    assert!(String::from_utf8_lossy(&shown.stdout).contains("It is wrong."), "{shown:?}");

    let uphold = ["resolver", "uphold", &id, "--slash", "0.0300001", "--text", "Right.", "--yes"];
    let (status, _, text) = world.crtx(&uphold);
    assert!(status == Some(2) && text.contains("six decimals"), "{text}");
    let uphold = ["resolver", "uphold", &id, "--slash", "0.030001", "--text", "Right.", "--yes"];
    assert!(world.fails(&uphold).contains("can still answer until"));
    let answer = ["dispute", "answer", &id, "--text", "As asked.", "--yes", "--keypair", &creator];
    assert!(world.fails(&["dispute", "answer", &id, "--text", "x", "--yes"]).contains("only the creator"));
    world.done(&answer);
    assert!(world.fails(&answer).contains("has one answer"));
    end_sessions(&world);

    let too_much = ["resolver", "uphold", &id, "--slash", "9", "--text", "Right.", "--yes"];
    assert!(world.fails(&too_much).contains("above the highest one for this call, which is 0.21"));
    let (caller, insurance) = (world.market.info.wallet.clone(), world.chain.insurance_owner.pubkey().to_string());
    let (caller_before, insurance_before) =
        (world.market.usdc_of(&caller).await, world.market.usdc_of(&insurance).await);
    let collateral = world.listing(&agent).await.collateral;
    let upheld = world.done(&uphold);
    assert_eq!((&upheld["status"], &upheld["slash_usdc"]), (&json!("upheld"), &json!(0.030001)));
    assert_eq!(world.market.usdc_of(&caller).await, caller_before + BOND + price);
    assert_eq!(world.market.usdc_of(&insurance).await, insurance_before + 30_001 - price);
    assert_eq!(world.listing(&agent).await.collateral, collateral - 30_001);
    let dispute: Dispute = world.account(&world.chain.build.addresses.dispute(&world.chain.record(&id))).await;
    assert_eq!(ResultHash(dispute.resolution_hash).to_string(), upheld["resolution_hash"]);
    assert!(world.fails(&uphold).contains("the dispute is upheld since"));
    assert_eq!(world.done(&["agent", "show", &agent])["status"], "paused", "the collateral is below its tier");
    world.up.stop().await.unwrap();
}

/// The service has forgotten every session that a command has a token for.
fn end_sessions(world: &World) {
    let folder = config_dir(world.market.info.data_dir()).join("sessions");
    let files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(files.len() >= 2, "the caller and the creator signed in: {files:?}");
    for file in files {
        let token = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, token.chars().rev().collect::<String>()).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_admin_pauses_verifies_and_changes_parameters_and_roles_by_announcement() {
    let mut world = World::start(&["--services", "none"]).await;
    assert!(world.fails(&["admin", "pause", "--yes", "--keypair", &world.key_of("demo")]).contains("only the admin"));
    world.done(&["admin", "pause", "--yes"]);
    let stopped = |world: &World| {
        let status = world.done(&["admin", "status"]);
        (status["openings_paused"].clone(), status["listings_paused"].clone())
    };
    assert_eq!(stopped(&world), (json!(true), json!(true)));
    assert!(world.done(&["admin", "pause", "--yes"])["transaction"].is_null());
    world.done(&["admin", "unpause", "--only", "calls", "--yes"]);
    assert_eq!(stopped(&world), (json!(false), json!(true)));
    world.done(&["admin", "unpause", "--yes"]);

    let creator = world.chain.creator.pubkey().to_string();
    let verify = |name: &str| world.crtx(&["admin", "verify-creator", &creator, "--name", name, "--yes"]).0;
    assert_eq!((verify("Somebody else"), verify("crtx demo creator")), (Some(1), Some(0)));
    world.done(&["admin", "verify-creator", &creator, "--remove", "--yes"]);

    // Two announcements add up, and apply a week later.
    world.done(&["admin", "set-fee", "150", "--yes"]);
    world.done(&["admin", "set-tiers", "0.10=20", "1=60", "10=300", "max=2000", "--yes"]);
    let status = world.done(&["admin", "status"]);
    assert_eq!(
        (&status["parameters"]["fee_bps"], &status["announced_parameters"]["fee_bps"]),
        (&json!(100), &json!(150))
    );
    assert!(status["parameters_apply_from"].is_string(), "{status:#}");
    assert!(world.fails(&["admin", "apply-parameters", "--yes"]).contains("it applies from"));
    let stranger = Pubkey::new_from_array([9; 32]).to_string();
    world.done(&["admin", "announce-roles", "--resolver", &stranger, "--yes"]);
    world.market.travel(Duration::from_secs(7 * 86_400 + 60)).await;
    // Anybody may apply what is due.
    world.done(&["admin", "apply-parameters", "--yes", "--keypair", &world.key_of("demo")]);
    let config: Config = world.account(&world.chain.build.addresses.config()).await;
    assert_eq!((config.parameters.fee_bps, config.parameters.collateral_tiers[0].collateral), (150, 20_000_000));
    assert!(world.fails(&["admin", "apply-roles", "--yes"]).contains("in 8 days"));
    world.market.travel(Duration::from_secs(16 * 86_400 + 120)).await;
    world.done(&["admin", "apply-roles", "--yes"]);
    assert_eq!(world.done(&["admin", "status"])["resolver"], stranger);
    world.up.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guardian_stops_calls_listings_and_one_agent_and_only_the_admin_resumes() {
    let mut world = World::start(&[]).await;
    let guardian = world.key_of("guardian");
    let agent = world.market.agent("text-stats").to_owned();
    let by_guardian = |line: &[&str]| [line, &["--yes", "--keypair", &guardian]].concat().join(" ");
    let run = |line: String| world.crtx(&[line.split(' ').collect::<Vec<_>>(), vec!["--json"]].concat()).0;
    for stop in [&["admin", "pause", "--only", "calls"][..], &["admin", "suspend", &agent]] {
        assert_eq!(run(by_guardian(stop)), Some(0), "{stop:?}");
    }
    for resume in [&["admin", "unpause"][..], &["admin", "resume", &agent], &["admin", "set-fee", "150"]] {
        assert_eq!(run(by_guardian(resume)), Some(1), "{resume:?}");
    }
    let shown = world.done(&["agent", "show", &agent]);
    assert_eq!((&shown["status"], &shown["suspended"]), (&json!("active"), &json!(true)));
    world.done(&["admin", "unpause", "--yes"]);
    let refused = world.market.execute(&agent, &json!({"task": "x"})).await;
    assert_eq!((refused.status.as_u16(), refused.error_code()), (422, "agent_paused"));
    world.done(&["admin", "resume", &agent, "--yes"]);
    assert_eq!(world.done(&["agent", "show", &agent])["suspended"], false);
    world.market.paid().await;

    let (admin, stranger) = (world.chain.admin.pubkey().to_string(), Pubkey::new_from_array([9; 32]).to_string());
    let refused = world.fails(&["admin", "set-keys", "--guardian", &admin, "--yes"]);
    assert!(refused.contains("one key"), "{refused}");
    world.done(&["admin", "set-keys", "--guardian", &stranger, "--yes"]);
    assert_eq!(world.done(&["admin", "status"])["guardian"], stranger);
    assert_eq!(run(by_guardian(&["admin", "pause"])), Some(1), "it is not the guardian any more");
    world.done(&["admin", "set-keys", "--no-guardian", "--yes"]);
    assert!(world.done(&["admin", "status"])["guardian"].is_null());
    world.up.stop().await.unwrap();
}

/// Signs a transaction that a command printed, as a multisig does it for its vault, and sends it.
async fn sign_and_send(world: &World, printed: &Value, vault: &Keypair) {
    let mut bytes = bs58::decode(printed["unsigned_transaction"].as_str().unwrap()).into_vec().unwrap();
    // One signature, which is zeros, and the message.
    assert_eq!((bytes[0], &bytes[1..65]), (1, &[0; 64][..]), "{printed}");
    let signature = vault.sign_message(&bytes[65..]);
    bytes[1..65].copy_from_slice(signature.as_ref());
    let last_valid_block_height = world.chain.client.recent_blockhash().await.unwrap().last_valid_block_height;
    let transaction = SignedTransaction { signature, bytes, last_valid_block_height };
    let outcome = world.chain.client.send_and_confirm(&transaction, Duration::from_secs(20)).await;
    assert!(matches!(outcome, Outcome::Confirmed { .. }), "{outcome:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_multisig_takes_the_role_of_the_admin_and_signs_what_its_commands_print() {
    let mut world = World::start(&["--services", "none"]).await;
    let vault = Keypair::new();
    let address = vault.pubkey().to_string();
    let accept = ["admin", "accept", "--unsigned-for", &address];
    assert!(world.fails(&accept).contains("nobody is nominated"));
    world.done(&["admin", "nominate", &address, "--yes"]);
    world.done(&["admin", "nominate", "--withdraw", "--yes"]);
    world.done(&["admin", "nominate", &address, "--yes"]);
    assert!(world.fails(&accept).contains("holds 0 SOL"));
    world.done(&["wallet", "send", &address, "--sol", "0.1", "--yes"]);
    sign_and_send(&world, &world.done(&accept), &vault).await;
    assert_eq!(world.done(&["admin", "status"])["admin"], address);
    assert!(world.done(&accept)["transaction"].is_null());

    // Printing changes nothing, and the key pair of the old admin is of no use.
    let remove = ["admin", "remove-resolver", "--unsigned-for", &address];
    let printed = world.done(&remove);
    assert!(world.fails(&["admin", "remove-resolver", "--yes"]).contains("only the admin"));
    assert!(world.done(&["admin", "status"])["resolver"].is_string());
    sign_and_send(&world, &printed, &vault).await;
    assert!(world.done(&["admin", "status"])["resolver"].is_null());
    assert!(world.done(&remove)["unsigned_transaction"].is_null(), "there is nothing to do");
    world.up.stop().await.unwrap();
}

#[test]
fn every_command_has_an_example_in_its_help() {
    let config = tempfile::tempdir().unwrap();
    let mut groups = vec![vec![]];
    let mut seen = 0;
    while let Some(group) = groups.pop() {
        for name in commands_of(config.path(), &group) {
            let path = [group.as_slice(), &[name]].concat();
            if commands_of(config.path(), &path).is_empty() {
                let help = help_of(config.path(), &path);
                let example = ["Example:\n  crtx ", "Examples:\n  crtx "].iter().any(|start| help.contains(start));
                assert!(example, "{path:?}: {help}");
                seen += 1;
            } else {
                groups.push(path);
            }
        }
    }
    assert!(seen > 30, "{seen} commands");
}

fn help_of(config: &Path, path: &[String]) -> String {
    let output = crtx_without_settings(config).args(path).arg("--help").output().unwrap();
    assert!(output.status.success(), "{path:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The names below `Commands:` in a help text.
fn commands_of(config: &Path, path: &[String]) -> Vec<String> {
    let help = help_of(config, path);
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next().map(str::to_owned));
    names.filter(|name| !name.is_empty() && name != "help").collect()
}
