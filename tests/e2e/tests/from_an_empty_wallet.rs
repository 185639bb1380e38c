//! People with empty wallets do everything that the marketplace offers with the `crtx` command alone.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests"
)]

use std::{
    fs,
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

use crtx_e2e::{Info, Up, config_dir, free_port, market::Market, server::Server, terminal::Terminal};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    net::TcpStream,
    process::{Child, Command},
    time::timeout,
};

const USDC: u64 = 1_000_000;
const START: u64 = 1_000 * USDC;
const LIMIT: Duration = Duration::from_secs(60);

/// The example service of `crtx agent init`, as a creator starts it.
struct ExampleService {
    _process: Child,
    endpoint: String,
}

impl ExampleService {
    /// Starts it on a free port and writes the port into `agent.toml`.
    async fn start(agent: &Path) -> Self {
        let port = free_port().unwrap();
        let process = Command::new("node")
            .arg("service.mjs")
            .current_dir(agent)
            .env("PORT", port.to_string())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("node runs");
        let endpoint = format!("http://127.0.0.1:{port}/execute");
        edit(agent, "http://127.0.0.1:4021/execute", &endpoint);
        until_listening(port).await;
        Self { _process: process, endpoint }
    }
}

/// Replaces a text in `agent.toml`, which must have it.
fn edit(agent: &Path, from: &str, to: &str) {
    let path = agent.join("agent.toml");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{from}");
    fs::write(path, text.replace(from, to)).unwrap();
}

/// A person with a new wallet in `<name>.json` that holds 1 000 USDC; returns its address, too.
fn person(terminal: &Terminal, name: &str) -> (Terminal, String) {
    let file = format!("{name}.json");
    let address = terminal.done(&["wallet", "new", "--out", &file])["address"].as_str().unwrap().to_owned();
    let person = terminal.as_wallet(&file);
    person.done(&["wallet", "fund"]);
    (person, address)
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_else(|| panic!("`{field}` is a text: {value}"))
}

/// Waits until a service listens.
async fn until_listening(port: u16) {
    let started = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
        assert!(started.elapsed() < LIMIT, "the service listens");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Waits until a command prints what is wanted.
async fn until(terminal: &Terminal, arguments: &[&str], is_wanted: impl Fn(&Value) -> bool) -> Value {
    let started = Instant::now();
    loop {
        // The index can be a moment behind the chain.
        let said = terminal.run(&[arguments, &["--json"]].concat());
        let value = if said.status == Some(0) { said.json() } else { Value::Null };
        if is_wanted(&value) {
            return value;
        }
        assert!(started.elapsed() < LIMIT, "{arguments:?} never shows it: {said:?}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Every block of docs/quickstart-sell.md, as a stranger pastes them: from an empty folder to a call that is paid and
/// verified.
async fn follow_the_quickstart(market: &Market, terminal: &Terminal) {
    let started = Instant::now();
    let home = terminal.folder.join("quickstart");
    fs::create_dir(&home).unwrap();
    let document = include_str!("../../../docs/quickstart-sell.md");
    let (upstream, endpoint) = (free_port().unwrap(), free_port().unwrap());
    let document = document
        .replace("127.0.0.1:3000", &format!("127.0.0.1:{upstream}"))
        .replace("listen(3000", &format!("listen({upstream}"))
        .replace("127.0.0.1:3402", &format!("127.0.0.1:{endpoint}"));
    let blocks: Vec<&str> = document.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let [service, describe, sell, buy, verify] = blocks[..] else { panic!("{blocks:?}") };
    let folder = crtx_e2e::crtx_binary().canonicalize().unwrap().parent().unwrap().to_owned();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let shell = |script: &str| {
        let mut shell = Command::from(terminal.program("sh"));
        shell.args(["-euc", script]).env("PATH", &path).current_dir(&home).stdout(Stdio::piped()).kill_on_drop(true);
        shell
    };
    // Commands say beside the result what one does next.
    let done = async |script: String| {
        let output = shell(&script).stderr(Stdio::piped()).output().await.unwrap();
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
        assert!(output.status.success(), "{script}: {said}");
        said
    };
    let _service = shell(&format!("exec {service}")).spawn().unwrap();
    done(describe.to_owned()).await;
    // A person sees that the service runs before pasting the next block.
    until_listening(upstream).await;
    let mut selling = shell(&format!("exec {sell}")).spawn().unwrap();
    let mut lines = BufReader::new(selling.stdout.take().unwrap()).lines();
    let agent = timeout(LIMIT, lines.next_line()).await.unwrap().unwrap().expect("the agent's address");
    let paid = done(buy.replace("AGENT_ID", &agent)).await;
    assert!(paid.contains("HELLO, WORLD"), "{paid}");
    let mut words = paid.split(|c: char| !c.is_ascii_hexdigit() && c != '-');
    let id = words.rfind(|word| word.len() == 36 && word.parse::<uuid::Uuid>().is_ok()).expect("an execution id");
    done(verify.replace("EXECUTION_ID", id)).await;
    assert!(started.elapsed() < Duration::from_secs(180), "{:?}", started.elapsed());
    println!("the quickstart took {:?}", started.elapsed());
    let shown = format!("/v1/agents/{agent}");
    market.until(&shown, |agent| (agent.body["successful_executions"] == 1).then_some(())).await;
    let pid = selling.id().unwrap().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().await.unwrap().success());
    assert!(timeout(LIMIT, selling.wait()).await.unwrap().unwrap().success(), "SIGTERM is an orderly end");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_lives_from_an_empty_wallet_to_its_closing_by_the_command_line_alone() {
    let folder = crtx_e2e::folder();
    let data = folder.path().join("data");
    let mut up = Up::start(&data, &[]).await.unwrap();
    let market = Market::new(up.info().clone());
    let terminal = Terminal::new(folder.path(), &config_dir(&data));
    let (creator, creator_wallet) = person(&terminal, "creator");
    let (caller, caller_wallet) = person(&terminal, "caller");
    assert_eq!(market.usdc_of(&creator_wallet).await, START);
    follow_the_quickstart(&market, &terminal).await;

    // List.
    creator.done(&["agent", "init", "word-count"]);
    let home = folder.path().join("word-count");
    let _service = ExampleService::start(&home).await;
    assert_eq!(creator.done(&["agent", "test", "word-count"])["passed"], true);
    let published = creator.sent(&["agent", "publish", "word-count"]);
    let agent = text(&published, "agent_id");
    assert_eq!((text(&published, "outcome"), &published["shown"]), ("listed", &json!(true)));
    assert_eq!(market.usdc_of(&creator_wallet).await, START - 10 * USDC, "the collateral of this price is locked");

    // Make a key and call.
    let made = caller.sent(&["key", "create", "ci", "--per-call", "0.10", "--total", "5", "--agent", agent]);
    let key = text(&made, "api_key");
    assert!(key.starts_with("crtx_test_") && key.ends_with(text(&made["key"], "last_four")), "{made}");
    let with_key = caller.with("CRTX_API_KEY", key);
    let paid = with_key.done(&["execute", agent, "--task", "one two three"]);
    assert_eq!(text(&paid, "result"), r#"{"words":3,"characters":13}"#);
    let first = text(&paid, "execution_id").to_owned();
    assert_eq!(with_key.done(&["verify", &first])["verified"], true);
    assert_eq!(market.usdc_of(&caller_wallet).await, START - 50_000);
    assert_eq!(market.usdc_of(&creator_wallet).await, START - 10 * USDC + 49_500);

    // Change the price, pause and resume.
    edit(&home, "price_usdc = \"0.05\"", "price_usdc = \"0.08\"");
    assert_eq!(text(&creator.sent(&["agent", "publish", "word-count"]), "outcome"), "updated");
    assert_eq!(text(&creator.sent(&["agent", "publish", "word-count"]), "outcome"), "unchanged");
    creator.sent(&["agent", "pause", agent]);
    let paused = with_key.refused(1, &["execute", agent, "--task", "paused"]);
    assert!(paused.contains("422 agent_paused"), "{paused}");
    creator.sent(&["agent", "resume", agent]);
    let paid = with_key.done(&["execute", agent, "--task", "four five"]);
    assert_eq!(paid["cost_usdc"], json!(0.08));
    let second = text(&paid, "execution_id").to_owned();

    // Dispute, answer, decide.
    fs::write(folder.path().join("shot.txt"), "It counts wrong.").unwrap();
    let (before_caller, before_creator) = (market.usdc_of(&caller_wallet).await, market.usdc_of(&creator_wallet).await);
    caller.sent(&["dispute", "open", &second, "--text", "The count is wrong.", "--file", "shot.txt"]);
    creator.sent(&["dispute", "answer", &second, "--text", "It is right."]);
    let resolver = terminal;
    let queue = until(&resolver, &["resolver", "queue"], |queue| queue.to_string().contains(&second)).await;
    assert!(queue.to_string().contains(agent), "{queue}");
    let insurance = market.config().await.insurance_owner.to_string();
    let before_insurance = market.usdc_of(&insurance).await;
    resolver.sent(&["resolver", "uphold", &second, "--slash", "1", "--text", "The count is wrong indeed."]);
    assert_eq!(market.usdc_of(&caller_wallet).await, before_caller + 80_000, "the price comes back");
    assert_eq!(market.usdc_of(&insurance).await, before_insurance + USDC - 80_000, "the rest is the penalty");
    assert_eq!(market.usdc_of(&creator_wallet).await, before_creator, "the creator keeps what it was paid");
    let is_decided = |shown: &Value| shown["status"] == "failed" && shown["dispute"]["status"] == "upheld";
    // The index reads record and dispute one after the other.
    until(&caller, &["executions", "show", &second], is_decided).await;
    let decided = caller.done(&["dispute", "show", &second]);
    assert!(decided.to_string().contains("upheld"), "{decided}");

    // The slash paused the agent. With its collateral back it works again, now for a call that the wallet opens itself.
    let paused = with_key.refused(1, &["execute", agent, "--task", "too little collateral"]);
    assert!(paused.contains("422 agent_paused"), "{paused}");
    creator.sent(&["agent", "topup", agent, "1"]);
    creator.sent(&["agent", "resume", agent]);
    let opened = ["execute", agent, "--task", "by the wallet", "--wallet", "--idempotency-key", "own-1"];
    let paid = caller.sent(&opened);
    assert_eq!(text(&paid, "status"), "completed");
    let third = text(&paid, "execution_id").to_owned();
    assert_eq!(caller.done(&["verify", &third])["verified"], true);
    let before = market.usdc_of(&caller_wallet).await;
    assert_eq!(text(&caller.sent(&opened), "execution_id"), third, "a repeated command is the same call");
    assert_eq!(market.usdc_of(&caller_wallet).await, before, "and pays nothing");
    let listed = until(&caller, &["executions", "list"], |listed| listed["total"] == 3).await;
    let csv = caller.run(&["executions", "export", "--csv"]).stdout;
    assert_eq!(csv.lines().count(), 4, "a head and three executions: {csv} {listed}");

    // End the key and the agent.
    caller.sent(&["key", "revoke", "ci"]);
    let revoked = with_key.refused(1, &["execute", agent, "--task", "revoked"]);
    assert!(revoked.contains("401 unauthorized"), "{revoked}");
    creator.sent(&["agent", "delist", agent]);
    let early = creator.refused(1, &["agent", "withdraw", agent, "--yes"]);
    assert!(!early.contains("0x"), "the reason is in words: {early}");
    market.travel(Duration::from_secs(73 * 3_600)).await;
    let before = market.usdc_of(&creator_wallet).await;
    creator.sent(&["agent", "withdraw", agent]);
    assert_eq!(market.usdc_of(&creator_wallet).await, before + 10 * USDC, "9 left by the slash, and 1 added");
    creator.sent(&["agent", "close", agent]);
    market.until(&format!("/v1/agents/{agent}"), |agent| (agent.status == 404).then_some(())).await;
    assert!(!creator.done(&["agent", "list"]).to_string().contains(agent));
    assert_eq!(text(&caller.sent(&opened), "execution_id"), third, "not even when the record is closed");
    up.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creator_settles_what_a_wallet_opened_while_no_service_runs() {
    let folder = crtx_e2e::folder();
    let data = folder.path().join("data");
    let up = Up::start_with(&["up", "--json", "--services", "none", "--data-dir", data.to_str().unwrap()]).await;
    let mut up = up.unwrap();
    let mut service = start(up.info(), folder.path(), "first").await;
    let market = Market::new(Info { base_url: service.base_url.clone(), ..up.info().clone() });
    let terminal = Terminal::new(folder.path(), &config_dir(&data)).with("CRTX_URL", &service.base_url);
    let (creator, creator_wallet) = person(&terminal, "creator");
    let (caller, caller_wallet) = person(&terminal, "caller");
    creator.done(&["agent", "init", "word-count"]);
    let example = ExampleService::start(&folder.path().join("word-count")).await;
    let agent = text(&creator.sent(&["agent", "publish", "word-count"]), "agent_id").to_owned();
    let open = ["execute", &agent, "--task", "no gateway", "--wallet", "--open-only", "--idempotency-key", "alone"];
    let opened = caller.sent(&open);
    let id = text(&opened, "execution_id");
    service.kill().await.unwrap();

    // Caller and creator do the rest without the marketplace's services.
    let http = reqwest::Client::new();
    let answer = http.post(&example.endpoint).json(&opened["request"]).send().await.unwrap();
    fs::write(folder.path().join("answer.json"), answer.bytes().await.unwrap()).unwrap();
    let before = market.usdc_of(&creator_wallet).await;
    let settle = ["settle", text(&opened, "execution_record"), "--answer", "answer.json"];
    creator.sent(&settle);
    assert_eq!(market.usdc_of(&creator_wallet).await, before + 49_500);
    assert_eq!(market.usdc_of(&caller_wallet).await, START - 50_000);
    let repeated = creator.sent(&settle);
    assert!(repeated["transaction"].is_null(), "a second settlement sends nothing: {repeated}");
    assert_eq!(market.usdc_of(&creator_wallet).await, before + 49_500);

    // The services come back: they know the execution from the chain, and its result from the creator.
    service = start(up.info(), folder.path(), "second").await;
    let back = |person: &Terminal| person.with("CRTX_URL", &service.base_url);
    let (creator, caller) = (back(&creator), back(&caller));
    let show = ["executions", "show", id];
    let shown = until(&caller, &show, |shown| shown["status"] == "completed").await;
    assert_eq!((&shown["settled_by"], &shown["result"]), (&json!("creator"), &Value::Null));
    creator.sent(&settle);
    let shown = until(&caller, &show, |shown| shown["result"].is_string()).await;
    assert_eq!(text(&shown, "result"), r#"{"words":2,"characters":10}"#);
    assert_eq!(caller.done(&["verify", id])["verified"], true);
    assert!(service.stop().await.unwrap().success());
    up.stop().await.unwrap();
}

/// A process with all roles.
async fn start(info: &Info, folder: &Path, name: &str) -> Server {
    let mut service = Server::start(info, folder, name, "api,indexer,worker").unwrap();
    service.until_readyz_is(200).await.unwrap();
    service
}
