//! Commands that are killed at any moment leave nothing half-done behind: running them again goes on.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests"
)]

use std::{
    fs,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crtx_e2e::{Up, config_dir, market::Market, terminal::Terminal};
use serde_json::Value;

const USDC: u64 = 1_000_000;
const START: u64 = 1_000 * USDC;
/// Kills of one command before it may end.
const KILLS: u32 = 12;

struct World {
    up: Up,
    market: Market,
    person: Terminal,
    wallet: String,
    folder: tempfile::TempDir,
}

impl World {
    /// A person whose wallet holds 1 000 USDC.
    async fn start() -> Self {
        let folder = crtx_e2e::folder();
        let data = folder.path().join("data");
        let up = Up::start(&data, &[]).await.unwrap();
        let market = Market::new(up.info().clone());
        let person = Terminal::new(folder.path(), &config_dir(&data));
        let made = person.done(&["wallet", "new", "--out", "wallet.json"]);
        let person = person.as_wallet("wallet.json");
        person.done(&["wallet", "fund"]);
        Self { up, market, wallet: made["address"].as_str().unwrap().to_owned(), person, folder }
    }

    /// Kills the command after longer and longer times, spread over how long an undisturbed run of a like command took,
    /// then lets it end.
    fn disturbed(&self, arguments: &[&str], usual: Duration) -> Value {
        for kill in 1..=KILLS {
            let mut command: Command = self.person.command(&[arguments, &["--yes", "--json"]].concat());
            let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("crtx starts");
            std::thread::sleep(usual * kill / KILLS);
            let _ = child.kill();
            let output = child.wait_with_output().expect("a child");
            // Its answer may be whole although it was killed.
            if let Ok(value) = serde_json::from_slice(&output.stdout) {
                return value;
            }
        }
        self.person.sent(arguments)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_is_published_with_kills_is_listed_once_with_one_collateral() {
    let mut world = World::start().await;
    let publish = |folder: &'static str| ["agent", "publish", folder, "--force"];
    world.person.done(&["agent", "init", "undisturbed"]);
    let started = Instant::now();
    world.person.sent(&publish("undisturbed"));
    let usual = started.elapsed();

    world.person.done(&["agent", "init", "disturbed"]);
    let published = world.disturbed(&publish("disturbed"), usual);
    let agents = world.person.done(&["agent", "list"]);
    assert_eq!(agents.to_string().matches("\"agent_id\"").count(), 2, "each folder has one listing: {agents}");
    assert!(agents.to_string().contains(published["agent_id"].as_str().unwrap()), "{agents} {published}");
    assert_eq!(world.market.usdc_of(&world.wallet).await, START - 20 * USDC, "one collateral for each");
    world.up.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_made_with_kills_is_one_key_that_works() {
    let mut world = World::start().await;
    let create = |name: &'static str| ["key", "create", name, "--per-call", "0.10", "--total", "5"];
    let started = Instant::now();
    world.person.sent(&create("undisturbed"));
    let usual = started.elapsed();

    let made = world.disturbed(&create("disturbed"), usual);
    let keys = world.person.done(&["key", "list"]);
    assert_eq!(keys["keys"].as_array().unwrap().len(), 2, "every granted key has a name and an owner: {keys}");
    assert_eq!(keys["approval"]["approved_usdc"], 10, "{keys}");
    assert_eq!(keys["approval"]["short_usdc"], 0, "{keys}");
    let pending = config_dir(&world.folder.path().join("data")).join("pending-keys");
    let left: Vec<_> = walk(&pending);
    assert!(left.is_empty(), "no secret is left behind: {left:?}");
    let with_key = world.person.with("CRTX_API_KEY", made["api_key"].as_str().unwrap());
    let agent = world.market.agent("text-stats");
    with_key.done(&["execute", &agent, "--task", "still works"]);
    world.up.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_of_the_wallet_with_kills_is_paid_once() {
    let mut world = World::start().await;
    let agent = world.market.agent("text-stats");
    let call = |key: &'static str| ["execute", &agent, "--task", "once", "--wallet", "--idempotency-key", key];
    let started = Instant::now();
    world.person.sent(&call("undisturbed"));
    let usual = started.elapsed();

    let paid = world.disturbed(&call("disturbed"), usual);
    assert_eq!(paid["status"], "completed", "{paid}");
    let again = world.person.sent(&call("disturbed"));
    assert_eq!(again["execution_id"], paid["execution_id"]);
    assert_eq!(world.market.usdc_of(&world.wallet).await, START - 2 * world.market.price("text-stats"));
    world.up.stop().await.unwrap();
}

/// All files below a folder.
fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}
