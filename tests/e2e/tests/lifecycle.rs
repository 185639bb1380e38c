//! `crtx up` as a process: how it starts, stops, continues, and what it leaves alone.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests"
)]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use crtx_e2e::{Up, crtx_binary, market::Market, slow_disk::SlowDisk};
use serde_json::{Value, json};

/// Process ids of running programs that name the folder in their command line: the database server and
/// its supervisor, whose data directory lies in it.
fn processes_of(folder: &Path) -> BTreeSet<u32> {
    let folder = folder.to_str().unwrap();
    let own = std::process::id();
    let all = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    all.filter(|pid| {
        *pid != own && fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|c| c.contains(folder))
    })
    .collect()
}

async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < Duration::from_secs(20), "{what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn up(arguments: &[&str]) -> Output {
    let config = tempfile::tempdir().unwrap();
    let mut command = Command::new(crtx_binary());
    command.env(crtx_e2e::CONFIG_DIR, config.path()).arg("up").args(arguments).stdin(Stdio::null()).output().unwrap()
}

async fn pay(market: &Market) -> String {
    let answer = market.execute(&market.agent("text-stats"), &json!({"task": "One. Two."})).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.text("execution_id").to_owned()
}

async fn history(market: &Market) -> Value {
    let answer = market.get_as_owner("/v1/executions?limit=100").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body
}

fn verifies(market: &Market, execution_id: &str) -> bool {
    market.crtx(&["verify", execution_id]).status.success()
}

/// What stays the same from run to run.
fn identity(market: &Market) -> (String, String, String, String, Vec<String>) {
    let info = market.info.clone();
    let agents = info.agents.into_iter().map(|agent| agent.agent_id).collect();
    (info.api_key, info.unfunded_api_key, info.wallet, info.usdc_mint, agents)
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_and_sigint_stop_every_child() {
    let folder = crtx_e2e::folder();
    for signal in ["TERM", "INT"] {
        let mut up = Up::start(folder.path(), &[]).await.unwrap();
        assert!(processes_of(folder.path()).len() > 1, "the database runs in the folder");
        up.signal(signal).await.unwrap();
        assert!(up.wait().await.unwrap().success(), "SIG{signal} ends with status 0");
        assert_eq!(processes_of(folder.path()), BTreeSet::new(), "SIG{signal} leaves nothing behind");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_in_a_terminal_reaches_the_group_and_still_stops_cleanly() {
    let folder = crtx_e2e::folder();
    let mut up = Up::start(folder.path(), &[]).await.unwrap();
    let market = Market::new(up.info().clone());
    let id = pay(&market).await;
    // A terminal sends SIGINT to every process of the group. The database must not be among them, or it
    // would be gone before the services that use it.
    let group: i32 = process_group(up.pid());
    let members: Vec<u32> = processes_of(folder.path())
        .into_iter()
        .filter(|pid| process_group(*pid) == group && *pid != up.pid())
        .collect();
    assert_eq!(members, Vec::<u32>::new(), "children in the terminal's process group");
    up.signal("INT").await.unwrap();
    assert!(up.wait().await.unwrap().success());
    let mut up = Up::start(folder.path(), &[]).await.unwrap();
    assert!(verifies(&Market::new(up.info().clone()), &id));
    up.stop().await.unwrap();
}

fn process_group(pid: u32) -> i32 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default();
    fields.split_whitespace().nth(2).and_then(|group| group.parse().ok()).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_up_continues_with_the_same_agents_keys_and_history() {
    let folder = crtx_e2e::folder();
    let mut first = Up::start(folder.path(), &[]).await.unwrap();
    let market = Market::new(first.info().clone());
    let id = pay(&market).await;
    let (before, balances, known) = (history(&market).await, market.balances().await, identity(&market));
    first.stop().await.unwrap();

    let mut second = Up::start(folder.path(), &[]).await.unwrap();
    let market = Market::new(second.info().clone());
    assert_eq!(identity(&market), known);
    assert_eq!(market.balances().await, balances);
    let after = history(&market).await;
    assert_eq!(after["total"], before["total"]);
    assert_eq!(after["executions"][0]["execution_id"], json!(id));
    assert!(verifies(&market, &id), "an execution of the first run, its settling transaction included");
    let next = pay(&market).await;
    assert!(verifies(&market, &next));
    second.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_kill_up_says_what_it_continues_from_and_chain_and_database_agree() {
    let folder = crtx_e2e::folder();
    let mut killed = Up::start(folder.path(), &[]).await.unwrap();
    let market = Market::new(killed.info().clone());
    let id = pay(&market).await;
    let failed = market.behave("fail").await;
    let (before, balances, known) = (history(&market).await, market.balances().await, identity(&market));
    killed.crash().await.unwrap();
    eventually("the database outlives a killed crtx", || processes_of(folder.path()).is_empty()).await;

    let port = crtx_e2e::free_port().unwrap().to_string();
    let said = folder.path().join("said");
    let mut command = Command::new(crtx_binary());
    command.args(["up", "--json", "--port", &port, "--data-dir", folder.path().to_str().unwrap()]);
    command.env(crtx_e2e::CONFIG_DIR, crtx_e2e::config_dir(folder.path()));
    let mut child = command.stdout(Stdio::piped()).stderr(fs::File::create(&said).unwrap()).spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line).unwrap();
    let text = fs::read_to_string(&said).unwrap();
    assert!(text.contains("did not stop cleanly") && text.contains("continues from"), "{text}");

    let market = Market::new(serde_json::from_str(&line).unwrap());
    assert_eq!(identity(&market), known);
    assert_eq!(market.balances().await, balances, "nothing that was answered is lost");
    let after = history(&market).await;
    assert_eq!(after["total"], before["total"]);
    let statuses = |list: &Value| -> Vec<(Value, Value)> {
        let list = list["executions"].as_array().unwrap();
        list.iter().map(|execution| (execution["execution_id"].clone(), execution["status"].clone())).collect()
    };
    assert_eq!(statuses(&after), statuses(&before));
    assert_eq!(failed.status, 500);
    assert!(verifies(&market, &id));
    let next = pay(&market).await;
    assert!(verifies(&market, &next));
    Command::new("kill").args(["-s", "TERM", &child.id().to_string()]).status().unwrap();
    assert!(child.wait().unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_that_was_lost_takes_the_databases_view_of_it_along() {
    let folder = crtx_e2e::folder();
    let mut first = Up::start(folder.path(), &[]).await.unwrap();
    let market = Market::new(first.info().clone());
    let id = pay(&market).await;
    first.stop().await.unwrap();
    fs::remove_dir_all(folder.path().join("chain")).unwrap();

    let mut second = Up::start(folder.path(), &[]).await.unwrap();
    let market = Market::new(second.info().clone());
    let record = market.get_as_owner(&format!("/v1/executions/{id}")).await;
    assert_eq!(record.body["status"], "failed", "{record:?}");
    assert_eq!(record.body["cost_usdc"], 0, "{record:?}");
    let agent = market.get(&format!("/v1/agents/{}", market.agent("text-stats"))).await;
    assert_eq!(agent.body["total_executions"], 0, "{agent:?}");
    pay(&market).await;
    second.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn two_marketplaces_run_side_by_side() {
    let (one, two) = (crtx_e2e::folder(), crtx_e2e::folder());
    let mut first = Up::start(one.path(), &[]).await.unwrap();
    let mut second = Up::start(two.path(), &[]).await.unwrap();
    let (first_market, second_market) = (Market::new(first.info().clone()), Market::new(second.info().clone()));
    assert_ne!(identity(&first_market), identity(&second_market));
    pay(&first_market).await;
    pay(&second_market).await;
    assert_eq!(history(&first_market).await["total"], 1);
    let foreign = first_market.request(reqwest::Method::GET, "/v1/executions", Some(&second_market.info.api_key), None);
    assert_eq!(foreign.await.status, 401, "a key of the other marketplace");
    first.stop().await.unwrap();
    pay(&second_market).await;
    second.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_in_use_is_a_clear_error_before_anything_is_started() {
    let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let folder = crtx_e2e::folder();
    let data = folder.path().join("data");
    let output = up(&["--json", "--port", &port, "--data-dir", data.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains(&format!("port {port} is in use")) && said.contains("--port"), "{said}");
    assert!(!data.exists(), "nothing was made");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_directory_in_use_or_of_somebody_else_is_a_clear_error() {
    let folder = crtx_e2e::folder();
    let mut running = Up::start(folder.path(), &[]).await.unwrap();
    let port = crtx_e2e::free_port().unwrap().to_string();
    let output = up(&["--port", &port, "--data-dir", folder.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("another `crtx up` uses"), "{output:?}");
    pay(&Market::new(running.info().clone())).await;
    running.stop().await.unwrap();

    let other = crtx_e2e::folder();
    let thesis: PathBuf = other.path().join("thesis.txt");
    fs::write(&thesis, "words").unwrap();
    let output = up(&["--port", &port, "--fresh", "--data-dir", other.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("not a data directory of crtx"), "{output:?}");
    assert!(thesis.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_directory_of_an_earlier_version_is_a_clear_error_and_fresh_starts_over() {
    let folder = crtx_e2e::folder();
    Up::start(folder.path(), &[]).await.unwrap().stop().await.unwrap();
    // Earlier versions had no insurance.
    let keys = folder.path().join("keys.json");
    let mut file: Value = serde_json::from_slice(&fs::read(&keys).unwrap()).unwrap();
    file.as_object_mut().unwrap().remove("insurance_owner").unwrap();
    fs::write(&keys, file.to_string()).unwrap();
    let port = crtx_e2e::free_port().unwrap().to_string();
    let output = up(&["--port", &port, "--data-dir", folder.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("earlier version of crtx") && said.contains("crtx up --fresh"), "{said}");
    assert_eq!(fs::read_to_string(&keys).unwrap(), file.to_string(), "nothing is touched");
    let mut fresh = Up::start(folder.path(), &["--fresh"]).await.unwrap();
    pay(&Market::new(fresh.info().clone())).await;
    fresh.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn fresh_starts_over() {
    let folder = crtx_e2e::folder();
    let mut first = Up::start(folder.path(), &[]).await.unwrap();
    let market = Market::new(first.info().clone());
    pay(&market).await;
    let known = identity(&market);
    first.stop().await.unwrap();
    let mut second = Up::start(folder.path(), &["--fresh"]).await.unwrap();
    let market = Market::new(second.info().clone());
    assert_ne!(identity(&market), known);
    assert_eq!(history(&market).await["total"], 0);
    second.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creators_port_that_is_taken_is_replaced_by_another_and_the_listing_follows() {
    let folder = crtx_e2e::folder();
    let mut first = Up::start(folder.path(), &[]).await.unwrap();
    let endpoint = first.info().agents[0].endpoint.clone();
    first.stop().await.unwrap();
    let port: u16 = endpoint.split(':').nth(2).and_then(|rest| rest.split('/').next()).unwrap().parse().unwrap();
    let _taken = std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
    let mut second = Up::start(folder.path(), &[]).await.unwrap();
    assert_ne!(second.info().agents[0].endpoint, endpoint);
    pay(&Market::new(second.info().clone())).await;
    second.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_under_way_is_settled_before_the_stop_or_after_the_next_start() {
    let folder = crtx_e2e::folder();
    let mut first = Up::start(folder.path(), &[]).await.unwrap();
    let market = Market::new(first.info().clone());
    let balances = market.balances().await;
    let body = json!({"task": "x", "parameters": {"behaviour": "ok", "delay_ms": 1500}, "async": true});
    let started = market.execute(&market.agent("conformance-target"), &body).await;
    let id = started.text("execution_id").to_owned();
    first.crash().await.unwrap();
    eventually("the database outlives a killed crtx", || processes_of(folder.path()).is_empty()).await;

    let mut second = Up::start(folder.path(), &[]).await.unwrap();
    let market = Market::new(second.info().clone());
    let mut status = String::new();
    for _ in 0..400 {
        let record = market.get_as_owner(&format!("/v1/executions/{id}")).await;
        status = record.body["status"].as_str().unwrap_or_default().to_owned();
        if ["completed", "failed"].contains(&status.as_str()) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let now = market.balances().await;
    let price = market.price("conformance-target");
    match status.as_str() {
        "completed" => assert_eq!(now.caller, balances.caller - price),
        "failed" => assert_eq!(now, balances),
        other => panic!("still {other:?} after 40 s"),
    }
    second.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_the_users_own_is_used_and_left_running() {
    let folder = crtx_e2e::folder();
    let mut keeper = Up::start(folder.path(), &[]).await.unwrap();
    let url = keeper.info().database_url.replace("/crtx?", "/postgres?");
    let own = crtx_e2e::folder();
    let port = crtx_e2e::free_port().unwrap().to_string();
    let mut command = Command::new(crtx_binary());
    command.args(["up", "--json", "--port", &port, "--data-dir", own.path().to_str().unwrap()]);
    command.env(crtx_e2e::CONFIG_DIR, crtx_e2e::config_dir(own.path()));
    let mut child = command.env("DATABASE_URL", &url).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line).unwrap();
    let market = Market::new(serde_json::from_str(&line).unwrap());
    assert_eq!(market.info.database_url, url);
    assert!(!own.path().join("postgres").exists(), "no cluster is made");
    pay(&market).await;
    Command::new("kill").args(["-s", "TERM", &child.id().to_string()]).status().unwrap();
    assert!(child.wait().unwrap().success());
    pay(&Market::new(keeper.info().clone())).await;
    keeper.stop().await.unwrap();
}

/// More blocks with transactions than any part of `crtx up` keeps in memory.
const MANY_BLOCKS: usize = 4_200;

#[tokio::test(flavor = "multi_thread")]
async fn a_record_verifies_after_thousands_of_blocks_and_two_restarts() {
    let folder = crtx_e2e::folder();
    let mut up = Up::start(folder.path(), &[]).await.unwrap();
    let market = Market::new(up.info().clone());
    let (id, refunded) = (pay(&market).await, market.behave("fail").await.body["error"]["execution_id"].clone());
    let stranger = bs58::encode([9u8; 32]).into_string();
    for lamports in 0..MANY_BLOCKS {
        market.rpc("requestAirdrop", json!([stranger, 1_000_000 + lamports])).await;
    }
    for clean in [true, false] {
        match clean {
            true => up.stop().await.unwrap(),
            false => {
                up.crash().await.unwrap();
                eventually("the database outlives a killed crtx", || processes_of(folder.path()).is_empty()).await;
            }
        }
        up = Up::start(folder.path(), &[]).await.unwrap();
        let market = Market::new(up.info().clone());
        assert!(verifies(&market, &id), "after a stop that was clean: {clean}");
        assert!(verifies(&market, refunded.as_str().unwrap()), "after a stop that was clean: {clean}");
    }
    up.stop().await.unwrap();
}

/// Kills at moments that nobody chose, while transactions arrive.
#[tokio::test(flavor = "multi_thread")]
async fn a_kill_at_any_moment_loses_nothing_that_was_confirmed() {
    let folder = crtx_e2e::folder();
    let mut up = Up::start(folder.path(), &[]).await.unwrap();
    let mut confirmed: Vec<String> = vec![];
    for round in 0..4u64 {
        let market = Market::new(up.info().clone());
        let id = pay(&market).await;
        let killed_after = Duration::from_millis(150 + 137 * round);
        let receiver = bs58::encode([9u8; 32]).into_string();
        let send = async {
            for lamports in 0.. {
                let signature =
                    market.rpc("requestAirdrop", json!([receiver, 1_000_000 + 1_000 * round + lamports])).await;
                while market.rpc("getSignatureStatuses", json!([[signature]])).await["value"][0].is_null() {}
                confirmed.push(signature.as_str().unwrap().to_owned());
            }
        };
        let _ = tokio::time::timeout(killed_after, send).await;
        up.crash().await.unwrap();
        eventually("the database outlives a killed crtx", || processes_of(folder.path()).is_empty()).await;
        up = Up::start(folder.path(), &[]).await.unwrap();
        let market = Market::new(up.info().clone());
        assert!(verifies(&market, &id), "round {round}");
        for signature in &confirmed {
            let status = market.rpc("getSignatureStatuses", json!([[signature]])).await;
            assert!(!status["value"][0].is_null(), "round {round}: {signature} is lost");
        }
    }
    assert!(confirmed.len() > 4, "transactions were confirmed before the kills");
    up.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_torn_journal_shows_nothing_that_the_chain_lost() {
    let folder = crtx_e2e::folder();
    let mut killed = Up::start(folder.path(), &[]).await.unwrap();
    let market = Market::new(killed.info().clone());
    let balances = market.balances().await;
    let mut ids = vec![];
    for _ in 0..6 {
        ids.push(pay(&market).await);
    }
    let signatures = |list: Value| -> BTreeSet<String> {
        let list = list.as_array().unwrap().clone();
        list.iter().map(|line| line["signature"].as_str().unwrap().to_owned()).collect()
    };
    let program = market.info.program_id.clone();
    let before = signatures(market.rpc("getSignaturesForAddress", json!([program])).await);
    killed.crash().await.unwrap();
    eventually("the database outlives a killed crtx", || processes_of(folder.path()).is_empty()).await;
    let journal = folder.path().join("chain/database/0.jnl");
    let bytes = fs::read(&journal).unwrap();
    // The file is longer than what is written in it.
    let written = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    fs::write(&journal, &bytes[..written * 7 / 10]).unwrap();

    let mut up = Up::start(folder.path(), &[]).await.unwrap();
    let market = Market::new(up.info().clone());
    let (mut completed, mut lost) = (0, 0);
    for id in &ids {
        let status = final_status(&market, id).await;
        match status.as_str() {
            "completed" => {
                completed += 1;
                assert!(verifies(&market, id), "{id}");
            }
            "failed" => lost += 1,
            other => panic!("{id} is {other}"),
        }
    }
    assert!(completed > 0 && lost > 0, "{completed} are there and {lost} are lost");
    let now = market.balances().await;
    assert_eq!(now.caller, balances.caller - completed * market.price("text-stats"));
    let after = signatures(market.rpc("getSignaturesForAddress", json!([program])).await);
    for signature in &before {
        let status = market.rpc("getSignatureStatuses", json!([[signature], {"searchTransactionHistory": true}])).await;
        let params = json!([signature, {"maxSupportedTransactionVersion": 1}]);
        let transaction = market.rpc("getTransaction", params).await;
        assert_eq!(status["value"][0].is_null(), !after.contains(signature), "{signature}: {status}");
        assert_eq!(transaction.is_null(), !after.contains(signature), "{signature}");
    }
    assert!(before.iter().any(|signature| !after.contains(signature)), "some transactions are lost");
    pay(&market).await;
    up.stop().await.unwrap();
}

/// The status in which an execution ends.
async fn final_status(market: &Market, id: &str) -> String {
    let mut status = String::new();
    for _ in 0..400 {
        let record = market.get_as_owner(&format!("/v1/executions/{id}")).await;
        status = record.body["status"].as_str().unwrap_or_default().to_owned();
        if ["completed", "failed"].contains(&status.as_str()) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    status
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_never_see_an_empty_market_while_the_network_starts_again() {
    let folder = crtx_e2e::folder();
    let port = crtx_e2e::free_port().unwrap().to_string();
    let arguments = ["up", "--json", "--port", &port, "--data-dir", folder.path().to_str().unwrap()];
    let mut up = Up::start_with(&arguments).await.unwrap();
    let market = Market::new(up.info().clone());
    let id = pay(&market).await;
    for clean in [true, true, false] {
        match clean {
            true => up.stop().await.unwrap(),
            false => {
                up.crash().await.unwrap();
                eventually("the database outlives a killed crtx", || processes_of(folder.path()).is_empty()).await;
            }
        }
        let reading = tokio::spawn(read_until_stopped(market.info.base_url.clone(), market.info.api_key.clone()));
        up = Up::start_with(&arguments).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        reading.abort();
        match reading.await {
            Err(ended) if ended.is_cancelled() => {}
            other => panic!("a reader saw {other:?} (after a stop that was clean: {clean})"),
        }
        assert!(verifies(&Market::new(up.info().clone()), &id));
    }
    up.stop().await.unwrap();
}

/// Ends with the first answer that does not show both agents and the execution.
async fn read_until_stopped(base_url: String, api_key: String) -> String {
    let client = reqwest::Client::new();
    loop {
        for (path, list) in [("/v1/agents", "agents"), ("/v1/executions", "executions")] {
            let wanted = if list == "agents" { 2 } else { 1 };
            let answer = client.get(format!("{base_url}{path}")).bearer_auth(&api_key).send().await;
            // Nobody listens while the network is down.
            let Ok(answer) = answer else { continue };
            let status = answer.status();
            let Ok(bytes) = answer.bytes().await else { continue };
            let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
            let shown = body[list].as_array().map_or(0, Vec::len);
            if status == 200 && (shown < wanted || body["total"].as_u64().unwrap_or_default() < wanted as u64) {
                return format!("{path}: {body}");
            }
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_called_finalized_is_on_the_disk() {
    const SYNC: Duration = Duration::from_secs(3);
    let folder = crtx_e2e::folder();
    let disk = SlowDisk::build(folder.path(), SYNC).unwrap().only("0.jnl");
    let mut up = Up::start_on(&disk, &folder.path().join("data"), &[]).await.unwrap();
    let market = Market::new(up.info().clone());
    let written = Instant::now();
    pay(&market).await;
    let list = market.rpc("getSignaturesForAddress", json!([market.info.program_id, {"limit": 1}])).await;
    let signature = list[0]["signature"].as_str().unwrap().to_owned();
    // Every call makes blocks, so the thirty-one that finality takes are soon there.
    loop {
        let status = market.rpc("getSignatureStatuses", json!([[signature]])).await;
        if status["value"][0]["confirmationStatus"] == "finalized" {
            break;
        }
        assert!(written.elapsed() < Duration::from_secs(60), "{status}");
        pay(&market).await;
    }
    assert!(written.elapsed() >= SYNC, "finalized after {:?}, before any sync of it ended", written.elapsed());
    up.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_network_on_a_slow_disk_starts_pays_and_continues_after_a_kill() {
    let folder = crtx_e2e::folder();
    let disk = SlowDisk::build(folder.path(), Duration::from_millis(15)).unwrap();
    let data = folder.path().join("data");
    let mut up = Up::start_on(&disk, &data, &["--fresh"]).await.unwrap();
    let id = pay(&Market::new(up.info().clone())).await;
    // At once: the new database is not on the disk as a whole yet.
    up.crash().await.unwrap();
    eventually("the database outlives a killed crtx", || processes_of(&data).is_empty()).await;
    let mut up = Up::start(&data, &[]).await.unwrap();
    let market = Market::new(up.info().clone());
    let record = market.get_as_owner(&format!("/v1/executions/{id}")).await;
    assert_eq!(record.body["status"], "completed", "{record:?}");
    assert!(verifies(&market, &id));
    up.stop().await.unwrap();
}
