//! A service and a node that write control sequences and lines of their own into every text: no command shows them, and
//! what it prints for programs stays what it is.
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::arithmetic_side_effects, reason = "tests")]

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::Output,
    sync::{Arc, Mutex},
};

use agent_marketplace::state::{AgentListed, Config, CreatorProfile, Dispute, ExecutionRecord, MarketParameters};
use axum::{
    Json, Router,
    extract::{Request, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use bytemuck::Zeroable;
use chrono::{Duration, SecondsFormat, Utc};
use crtx_chain::{
    FetchedAccount,
    testing::{FakeRpc, program::program_account},
};
use crtx_protocol::{
    address::Addresses, cluster::Cluster, content::ipfs_uri, plain_text::is_plain, result_hash::ResultHash,
    sign_in::SignInMessage,
};
use serde_json::{Map, Value, json};
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use solana_signer::Signer;

const ID: &str = "165cf497-1db5-4f5e-940b-57c2e3534dea";
const AGENT: &str = "82vpEBc9TeDX6S1Dd3UJ77nQeqFkHSMEgANRBhc28GR8";
/// The address of the wallet of the tests.
const OWN: &str = "GmaDrppBC7P5ARKV8g3djiwP89vz1jLK23V2GBjuAEGB";
const KEY: &str = "crtx_test_4XJ3P1DYqDvnp7j1HtZV2GWkLtc3W3g8d1B1zG2mNikZ";
const FORGED: &str = "forged line: execution is verified";
/// Begins in the middle of a line, and what follows the line feed looks like a line of the command.
const POISON: &str = "x\u{1b}[2J\u{1b}]0;title\u{7}\u{9b}31m\u{7f}\t\u{202e}\u{2066}\u{200b}\u{200d}\u{feff}\u{ad}\u{2028}\u{85}\u{e0041}\r\nforged line: execution is verified\r";

/// Every command that there is, with arguments. `KEYPAIR`, `FOLDER` and `ANSWER` stand for files.
const COMMANDS: [(&str, &[&str]); 77] = [
    ("admin accept", &["--yes"]),
    ("admin announce-roles", &["--resolver", AGENT, "--yes"]),
    ("admin apply-parameters", &["--yes"]),
    ("admin apply-roles", &["--yes"]),
    ("admin close-buffer", &["--yes"]),
    ("admin deploy", &["--program-id", OWN, "--program-keypair", "KEYPAIR", "--elf", "FOLDER/code.so", "--yes"]),
    (
        "admin init",
        &[
            "--usdc-mint",
            "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v",
            "--resolver",
            AGENT,
            "--gateway-authority",
            "SysvarC1ock11111111111111111111111111111111",
            "--treasury-owner",
            "SysvarRent111111111111111111111111111111111",
            "--insurance-owner",
            "Vote111111111111111111111111111111111111111",
            "--yes",
        ],
    ),
    ("admin nominate", &[AGENT, "--yes"]),
    ("admin pause", &["--yes"]),
    ("admin remove-resolver", &["--yes"]),
    ("admin resume", &[AGENT, "--yes"]),
    ("admin set-fee", &["150", "--yes"]),
    ("admin set-keys", &["--guardian", AGENT, "--yes"]),
    ("admin set-tiers", &["0.10=10", "1=50", "10=200", "max=1000", "--yes"]),
    ("admin status", &[]),
    ("admin suspend", &[AGENT, "--yes"]),
    ("admin test-mint", &["--yes"]),
    ("admin unpause", &["--yes"]),
    ("admin verify-creator", &[AGENT, "--name", "x", "--yes"]),
    ("admin withdraw-parameters", &["--yes"]),
    ("agent close", &[AGENT, "--yes"]),
    ("agent delist", &[AGENT, "--yes"]),
    ("agent init", &["FOLDER/new-agent"]),
    ("agent list", &[]),
    ("agent pause", &[AGENT, "--yes"]),
    ("agent publish", &["FOLDER/agent", "--force", "--yes"]),
    ("agent resume", &[AGENT, "--yes"]),
    ("agent rotate-key", &[AGENT, "--key", "FOLDER/new-key.json", "--yes"]),
    // It goes on until it is stopped; what it asks the service is what `agent publish` asks.
    ("agent serve", &["--help"]),
    ("agent show", &[AGENT]),
    ("agent test", &["FOLDER/agent"]),
    ("agent topup", &[AGENT, "1", "--yes"]),
    ("agent withdraw", &[AGENT, "--yes"]),
    ("audit", &["--wait", "1"]),
    ("completions", &["bash"]),
    ("config path", &[]),
    ("config set", &["url", "http://127.0.0.1:1"]),
    ("config show", &[]),
    ("dispute answer", &[ID, "--text", "x", "--yes"]),
    ("dispute cancel", &[ID, "--yes"]),
    ("dispute list", &[]),
    ("dispute open", &[ID, "--text", "x", "--yes"]),
    ("dispute show", &[ID]),
    ("doctor", &[]),
    ("execute", &[AGENT, "--task", "x", "--api-key", KEY]),
    ("executions export", &["--csv", "--api-key", KEY]),
    ("executions list", &[]),
    ("executions show", &[ID]),
    ("key create", &["k", "--per-call", "1", "--total", "1", "--yes"]),
    ("key list", &[]),
    ("key revoke", &["text", "--yes"]),
    ("key topup", &["text", "--add", "1", "--yes"]),
    ("listen", &["--after", "0", "--once", "--api-key", KEY]),
    ("mcp", &["--api-key", KEY]),
    ("openapi", &[]),
    ("refund", &[ID, "--yes"]),
    ("resolver queue", &[]),
    ("resolver reject", &[ID, "--text", "x", "--yes"]),
    ("resolver uphold", &[ID, "--slash", "0.000001", "--text", "x", "--yes"]),
    ("settle", &[ID, "--answer", "ANSWER", "--yes"]),
    // It starts a network of its own and asks nobody.
    ("up", &["--help"]),
    ("verify", &[ID, "--api-key", KEY]),
    ("verify", &["--file", "RECORD"]),
    ("wallet address", &[]),
    ("wallet fund", &[]),
    ("wallet new", &["--out", "FOLDER/wallet.json"]),
    ("wallet send", &[AGENT, "--usdc", "1", "--yes"]),
    ("wallet show", &[]),
    ("webhook create", &["https://target.example"]),
    ("webhook delete", &[ID]),
    ("webhook enable", &[ID]),
    ("webhook list", &[]),
    ("webhook log", &[ID]),
    ("webhook replay", &[ID, "--from", "1", "--through", "1", "--yes"]),
    ("webhook rotate", &[ID]),
    ("webhook test", &[ID]),
    ("executions export", &["--json", "--api-key", KEY]),
];
/// They ask nobody, or what another command asks. `mcp` asks when its client does, and `mcp.rs` tests what it shows.
const ALONE: [&str; 5] = ["agent serve", "completions", "mcp", "openapi", "up"];

/// Which texts are poisoned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Nothing,
    All,
    /// The text of this number, of all that are sent.
    One(usize),
    /// The service answers with an error.
    Error,
}

struct Hostile {
    description: Value,
    mode: Mutex<Mode>,
    /// How many texts were sent since the mode was set.
    sent: Mutex<usize>,
    url: String,
    wallet: Pubkey,
}

impl Hostile {
    async fn start(wallet: Pubkey) -> Arc<Self> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
        let description = serde_json::from_slice(&std::fs::read(path).expect("a description")).expect("JSON");
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("bound"));
        let (mode, sent) = (Mutex::new(Mode::Nothing), Mutex::new(0));
        let hostile = Arc::new(Self { description, mode, sent, url, wallet });
        let router = Router::new().fallback(answer).with_state(Arc::clone(&hostile));
        tokio::spawn(async move { axum::serve(listener, router).await });
        hostile
    }

    fn set(&self, mode: Mode) {
        *self.mode.lock().expect("lock") = mode;
        *self.sent.lock().expect("lock") = 0;
    }

    /// A text that is good, or poisoned as the mode says.
    fn text(&self, good: String) -> Value {
        let mut sent = self.sent.lock().expect("lock");
        let poisoned = match *self.mode.lock().expect("lock") {
            Mode::Nothing | Mode::Error => false,
            Mode::All => true,
            Mode::One(number) => number == *sent,
        };
        *sent += 1;
        json!(if poisoned { format!("{good}{POISON}") } else { good })
    }

    /// A value of a schema. `name`: of the member.
    fn value(&self, schema: &Value, name: &str) -> Value {
        if let Some(reference) = schema["$ref"].as_str() {
            let referred = self.description.pointer(reference.trim_start_matches('#')).expect("a schema").clone();
            return self.value(&referred, name);
        }
        for key in ["oneOf", "anyOf", "allOf"] {
            if let Some(some) = schema[key].as_array() {
                return self.value(some.iter().find(|one| one["type"] != "null").expect("one"), name);
            }
        }
        let kind = schema["type"].as_str().or_else(|| schema["type"].as_array()?.iter().find_map(Value::as_str));
        match (name, kind) {
            ("next_cursor", _) => Value::Null,
            (_, Some("object")) => {
                let members = schema["properties"].as_object().cloned().unwrap_or_default();
                Value::Object(members.iter().map(|(name, schema)| (name.clone(), self.value(schema, name))).collect())
            }
            (_, Some("array")) => json!([self.value(&schema["items"], name)]),
            (_, Some("integer" | "number")) => json!(1),
            (_, Some("boolean")) => json!(true),
            (_, Some("string")) => self.text(self.good(schema, name)),
            _ => json!({}),
        }
    }

    fn good(&self, schema: &Value, name: &str) -> String {
        let hash = ResultHash::of(&document());
        let formatted = match (name, schema["format"].as_str()) {
            ("message", _) => self.challenge(),
            (_, Some("uuid")) | ("execution_id", _) => ID.to_owned(),
            (_, Some("solana-address")) => AGENT.to_owned(),
            ("on_chain_record", _) => format!("https://explorer.solana.com/address/{}", record()),
            ("ipfs_url", _) => format!("{}/ipfs/{}", self.url, ipfs_uri(&hash).trim_start_matches("ipfs://")),
            ("uri", _) => ipfs_uri(&hash),
            (_, Some("date-time")) => "2026-11-22T16:00:00Z".to_owned(),
            _ if schema["pattern"].as_str().is_some_and(|pattern| pattern.starts_with("^sha256")) => hash.to_string(),
            _ => String::new(),
        };
        if !formatted.is_empty() {
            return formatted;
        }
        let all: Vec<&str> = schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let chosen = ["completed", "active"].into_iter().find(|good| all.contains(good));
        chosen.or_else(|| all.first().copied()).unwrap_or("text").to_owned()
    }

    fn challenge(&self) -> String {
        let time = |time: chrono::DateTime<Utc>| time.to_rfc3339_opts(SecondsFormat::Millis, true);
        let message = SignInMessage {
            domain: self.url.trim_start_matches("http://").to_owned(),
            address: self.wallet,
            uri: self.url.clone(),
            cluster: Cluster::Localnet,
            nonce: "abcdefgh".to_owned(),
            issued_at: time(Utc::now()),
            expiration_time: time(Utc::now() + Duration::minutes(5)),
        };
        message.to_string()
    }
}

async fn answer(State(hostile): State<Arc<Hostile>>, request: Request) -> Response {
    let (method, path) = (request.method().as_str().to_lowercase(), request.uri().path().to_owned());
    if *hostile.mode.lock().expect("lock") == Mode::Error {
        let error =
            json!({"error": {"code": format!("unavailable{POISON}"), "message": POISON, "execution_id": POISON}});
        return (StatusCode::INTERNAL_SERVER_ERROR, Json(error)).into_response();
    }
    if path.starts_with("/ipfs/") && method == "get" {
        return document().into_response();
    }
    if path == "/execute" {
        let mut answer: Map<String, Value> = Map::new();
        for name in ["execution_id", "status", "result", "result_hash", "signature", "call_signature"] {
            answer.insert(name.to_owned(), hostile.text("completed".to_owned()));
        }
        return Json(Value::Object(answer)).into_response();
    }
    let paths = hostile.description["paths"].as_object().expect("paths");
    let fits = |pattern: &str| {
        let parts = || pattern.split('/').zip(path.split('/'));
        pattern.split('/').count() == path.split('/').count()
            && parts().all(|(one, part)| one.starts_with('{') || one == part)
    };
    // A literal path before one with a parameter.
    let mut found: Vec<&String> = paths.keys().filter(|pattern| fits(pattern)).collect();
    found.sort_by_key(|pattern| pattern.matches('{').count());
    let operation = found.first().map(|pattern| &paths[*pattern][&method]);
    let responses = operation.and_then(|operation| operation["responses"].as_object());
    let Some((status, response)) = responses.and_then(|all| all.iter().find(|(status, _)| status.starts_with('2')))
    else {
        return (StatusCode::NOT_FOUND, Json(json!({"error": {"code": POISON, "message": POISON}}))).into_response();
    };
    let status = StatusCode::from_bytes(status.as_bytes()).expect("a status");
    match response.pointer("/content/application~1json/schema") {
        Some(schema) => (status, Json(hostile.value(schema, ""))).into_response(),
        None => status.into_response(),
    }
}

/// Evidence of a stranger, whose hash is on chain.
fn document() -> Vec<u8> {
    json!({"version": 1, "text": format!("{POISON}\n{FORGED}"), "files": [{"name": POISON}]}).to_string().into_bytes()
}

fn record() -> Pubkey {
    Addresses::new(agent_marketplace::ID)
        .execution(&wallet().pubkey(), uuid::Uuid::try_parse(ID).expect("id").as_bytes())
}

fn wallet() -> Keypair {
    Keypair::new_from_array([7; 32])
}

/// A node with one of each account, whose texts are poisoned as far as they are bytes of an account.
async fn node() -> FakeRpc {
    let (node, addresses, own) = (FakeRpc::start().await, Addresses::new(agent_marketplace::ID), wallet().pubkey());
    let agent: Pubkey = AGENT.parse().expect("an address");
    let write = |to: &mut [u8]| {
        let from = POISON.as_bytes();
        let length = (0..=from.len().min(to.len())).rev().find(|at| POISON.is_char_boundary(*at)).expect("0");
        to[..length].copy_from_slice(&from[..length]);
        u8::try_from(length).expect("short")
    };
    let mut config = Config { admin: own, resolver: own, treasury_owner: own, ..Config::zeroed() };
    config.parameters = MarketParameters::DEFAULT;
    let mut listing = AgentListed { creator: own, price: 1, status: 1, timeout_seconds: 60, ..AgentListed::zeroed() };
    listing.metadata_uri_len = write(&mut listing.metadata_uri);
    let mut profile = CreatorProfile { wallet: agent, ..CreatorProfile::zeroed() };
    profile.display_name_len = write(&mut profile.display_name);
    let execution_id = *uuid::Uuid::try_parse(ID).expect("an id").as_bytes();
    let execution = ExecutionRecord {
        agent,
        caller: own,
        execution_id,
        amount: 1,
        status: 5,
        dispute_count: 1,
        ..Zeroable::zeroed()
    };
    let mut dispute = Dispute { execution: record(), agent, raised_by: own, outcome: 1, ..Dispute::zeroed() };
    dispute.evidence_hash = ResultHash::of(&document()).0;
    dispute.set_evidence_uri(&ipfs_uri(&ResultHash::of(&document()))).expect("short");
    dispute.answered_at_unix_s = 1;
    dispute.answer_uri_len = write(&mut dispute.answer_uri);
    {
        let mut script = node.script();
        script.accounts.insert(addresses.config(), program_account(&config));
        script.accounts.insert(agent, program_account(&listing));
        script.accounts.insert(addresses.creator_profile(&agent), program_account(&profile));
        script.accounts.insert(record(), program_account(&execution));
        script.accounts.insert(addresses.dispute(&record()), program_account(&dispute));
        let clock: Pubkey = "SysvarC1ock11111111111111111111111111111111".parse().expect("an address");
        let data = [vec![0; 32], 1_790_000_000_i64.to_le_bytes().to_vec()].concat();
        script.accounts.insert(clock, FetchedAccount { owner: Pubkey::default(), lamports: 1, data });
    }
    node
}

/// A node that puts the same text into every answer: as an error, or as the result.
async fn lying_node(as_error: bool) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    let answer = move |Json(request): Json<Value>| async move {
        let text = json!(POISON);
        let (name, value) =
            if as_error { ("error", json!({"code": -32_000, "message": text})) } else { ("result", text) };
        Json(json!({"jsonrpc": "2.0", "id": request["id"], name: value}))
    };
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
    url
}

struct Files {
    folder: tempfile::TempDir,
    keypair: PathBuf,
}

impl Files {
    fn new(service: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let keypair = folder.path().join("wallet-of-the-test.json");
        std::fs::write(&keypair, format!("{:?}", wallet().to_bytes())).expect("written");
        let files = Self { folder, keypair };
        let answer = json!({"execution_id": POISON, "status": POISON, "result": POISON, "result_hash": POISON,
            "signature": POISON, "call_signature": POISON});
        std::fs::write(files.path("answer.json"), answer.to_string()).expect("written");
        let record = json!({"execution_id": ID, "status": "completed", "result": POISON, "ipfs_url": format!("{service}/{POISON}"),
            "on_chain_record": format!("https://explorer.solana.com/address/{}?a={POISON}", record())});
        std::fs::write(files.path("code.so"), b"\x7fELF and no more").expect("written");
        std::fs::write(files.path("record.json"), record.to_string()).expect("written");
        files
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().expect("text").to_owned()
    }

    fn run(&self, command: &str, arguments: &[&str], more: &[&str], service: &str, node: &str) -> Output {
        let config = tempfile::tempdir().expect("a folder");
        let fill = |argument: &&str| match *argument {
            "ANSWER" => self.path("answer.json"),
            "RECORD" => self.path("record.json"),
            "KEYPAIR" => self.path("wallet-of-the-test.json"),
            argument => argument.replace("FOLDER", self.folder.path().to_str().expect("text")),
        };
        let mut crtx = crtx_e2e::crtx_without_settings(config.path());
        crtx.args(command.split(' ')).args(arguments.iter().map(fill)).args(more);
        crtx.envs([("CRTX_URL", service), ("CRTX_RPC_URL", node), ("RUST_LOG", "debug")]);
        crtx.env("CRTX_KEYPAIR", &self.keypair).output().expect("crtx runs")
    }
}

fn check(output: &Output, what: &str) {
    for (name, bytes) in [("output", &output.stdout), ("errors", &output.stderr)] {
        let text = String::from_utf8(bytes.clone()).unwrap_or_else(|_| panic!("{what}: {name} is no text"));
        for line in text.lines() {
            let bad: Vec<char> = line.chars().filter(|c| !is_plain(*c)).collect();
            assert!(bad.is_empty(), "{what}: {name} has {bad:?} in {line:?}");
            assert!(!line.trim_start_matches('"').starts_with(FORGED), "{what}: {name} has a forged line: {text}");
        }
        assert!(!text.contains('\r'), "{what}: {name} has a carriage return");
    }
    assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"), "{what}: {output:?}");
}

fn check_json(output: &Output, what: &str) {
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.lines().count() <= 1, "{what}: more than one line: {text}");
    for line in text.lines() {
        assert!(serde_json::from_str::<Value>(line).is_ok(), "{what}: no JSON: {line}");
    }
}

/// The commands without commands of their own, as the help lists them.
fn leaves(path: &str) -> Vec<String> {
    let config = tempfile::tempdir().expect("a folder");
    let mut crtx = crtx_e2e::crtx_without_settings(config.path());
    let output = crtx.args(path.split_whitespace()).arg("--help").output().expect("crtx runs");
    let help = String::from_utf8(output.stdout).expect("text");
    let Some((_, rest)) = help.split_once("Commands:\n") else { return vec![path.trim().to_owned()] };
    let names = rest.lines().take_while(|line| line.starts_with("  ")).filter(|line| !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    names.flat_map(|name| leaves(&format!("{path} {name}"))).collect()
}

#[test]
fn every_command_is_in_this_test() {
    let known: BTreeSet<&str> = COMMANDS.iter().map(|(name, _)| *name).collect();
    let there = leaves("");
    let there: BTreeSet<&str> = there.iter().map(String::as_str).collect();
    assert_eq!(there, known);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_text_of_a_service_or_node_controls_the_terminal_or_makes_a_line() {
    let service = Hostile::start(wallet().pubkey()).await;
    let node = node().await;
    let lies = [lying_node(true).await, lying_node(false).await];
    let files = Files::new(&service.url);
    prepare_agent(&files, &service.url);
    for (command, arguments) in COMMANDS.into_iter().filter(|(command, _)| !ALONE.contains(command)) {
        let run = |more: &[&str], node: &str| {
            let (files, service, more) = (&files, &service.url, more.to_vec());
            tokio::task::block_in_place(|| files.run(command, arguments, &more, service, node))
        };
        let json: &[&[&str]] = if command == "executions export" { &[&[]] } else { &[&[], &["--json"]] };
        for mode in [Mode::Nothing, Mode::All, Mode::Error] {
            for more in json {
                service.set(mode);
                let output = run(more, node.url());
                let what = format!("{command} {more:?}, {mode:?}");
                check(&output, &what);
                if !more.is_empty() {
                    check_json(&output, &what);
                }
            }
        }
        service.set(Mode::Nothing);
        for lie in &lies {
            check(&run(&[], lie), &format!("{command}, a lying node"));
        }
        // The same with one text at a time: what is checked first must not hide the rest.
        run(&[], node.url());
        let texts = *service.sent.lock().expect("lock");
        for number in 0..texts.min(if arguments.contains(&"FOLDER/agent") { FEW_TEXTS } else { MOST_TEXTS }) {
            service.set(Mode::One(number));
            check(&run(&[], node.url()), &format!("{command}, text {number}"));
        }
    }
}

/// Texts of one command that are poisoned one by one.
const MOST_TEXTS: usize = 60;
/// The same of a command that asks the service of an agent many times.
const FEW_TEXTS: usize = 8;

fn prepare_agent(files: &Files, service: &str) {
    let output = files.run("agent init", &["FOLDER/agent"], &[], service, service);
    assert!(output.status.success(), "{output:?}");
    let path = files.folder.path().join("agent/agent.toml");
    let text = std::fs::read_to_string(&path).expect("written");
    let line = text.lines().find(|line| line.starts_with("endpoint = ")).expect("an endpoint").to_owned();
    std::fs::write(path, text.replace(&line, &format!("endpoint = \"{service}/execute\""))).expect("written");
}
