//! What only a real network shows: block hashes that expire, a history to rebuild from, and a Yellowstone server. Runs on
//! Agave's validator, with `cargo xtask test real-network`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests"
)]

mod yellowstone;

use std::{
    fs,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use crtx_e2e::{
    Info, Up, crtx_binary,
    market::{Answer, Market},
    server::{Server, until_listed, without_services},
};
use crtx_faults::rpc_proxy::{Mood, RpcProxy};
use crtx_postgres::PostgresCluster;
use crtx_store::testing::probes::mirrored;
use reqwest::Method;
use serde_json::{Value, json};

/// Names the validator, as for `crtx up`.
const VARIABLE: &str = "CRTX_VALIDATOR";
/// Longer than a block hash lives, 150 slots of 400 ms, with time to notice it.
const EXPIRED: Duration = Duration::from_secs(80);
const LIMIT: Duration = Duration::from_secs(120);

/// Whether `crtx up` runs on a validator here; says that the test is skipped if not.
fn is_real(test: &str) -> bool {
    let is_real = std::env::var_os(VARIABLE).is_some();
    if !is_real {
        eprintln!("{test}: skipped, because {VARIABLE} names no validator");
    }
    is_real
}

/// The configuration of `crtx up` with another node.
fn with_node(info: &Info, node: &RpcProxy, folder: &Path) -> std::path::PathBuf {
    let text = fs::read_to_string(&info.server_config).unwrap();
    assert!(text.contains(&info.rpc_url), "{text}");
    let path = folder.join("other-node.toml");
    fs::write(&path, text.replace(&format!("\"{}\"", info.rpc_url), &format!("\"{}\"", node.url()))).unwrap();
    path
}

async fn call(market: &Market, key: &str, delay_ms: u64, is_async: bool) -> Answer {
    let body = json!({
        "task": "One. Two.", "parameters": {"behaviour": "ok", "delay_ms": delay_ms}, "async": is_async,
    });
    let path = format!("/v1/agents/{}/execute", market.agent("conformance-target"));
    let bytes = serde_json::to_vec(&body).unwrap();
    market.raw(Method::POST, &path, Some(&market.info.api_key), &[("idempotency-key", key)], Some(bytes)).await
}

/// The record once it has one of these states.
async fn until(market: &Market, execution_id: &str, states: &[&str]) -> Value {
    let started = Instant::now();
    loop {
        let record = market.get_as_owner(&format!("/v1/executions/{execution_id}")).await;
        if record.status == 200 && states.contains(&record.text("status")) {
            return record.body;
        }
        assert!(started.elapsed() < LIMIT, "{states:?}: {record:?}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// The audit finds no fault, and a rebuild from the chain alone has the same rows as the live mirror.
async fn shows_what_the_chain_has(market: &Market, folder: &Path) {
    // What a rebuild reads is final.
    let slot = async |commitment| market.rpc("getSlot", json!([{"commitment": commitment}])).await.as_u64().unwrap();
    let (newest, started) = (slot("confirmed").await, Instant::now());
    while slot("finalized").await < newest {
        assert!(started.elapsed() < LIMIT, "slot {newest} never becomes final");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let audit = market.crtx(&["audit"]);
    assert!(audit.status.success(), "{}", String::from_utf8_lossy(&audit.stderr));
    let cluster = PostgresCluster::start(&folder.join("rebuilt"), &|text| eprintln!("{text}")).await.unwrap();
    let output = Command::new(crtx_binary().with_file_name("crtx-server"))
        .args(["--role", "indexer", "--config"])
        .arg(&market.info.server_config)
        .arg("rebuild")
        .env("DATABASE_URL", cluster.url())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let [live, rebuilt] = [market.info.database_url.clone(), cluster.url()];
    let live = crtx_store::testing::connect(&live, 2).await.unwrap();
    let rebuilt = crtx_store::testing::connect(&rebuilt, 2).await.unwrap();
    for table in ["mirror_executions", "mirror_agents", "mirror_disputes", "mirror_grants", "mirror_creators"] {
        let (live, rebuilt) = (mirrored(&live, table).await, mirrored(&rebuilt, table).await);
        assert!(live.as_array().is_some_and(|rows| !rows.is_empty()), "{table}");
        assert_eq!(live, rebuilt, "{table}");
    }
    for pool in [live, rebuilt] {
        pool.close().await;
    }
    cluster.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_land_is_signed_again_after_its_block_hash_expired_and_each_call_is_paid_once() {
    if !is_real("expiry") {
        return;
    }
    let (folder, mut up) = without_services().await.unwrap();
    let info = up.info().clone();
    let node = RpcProxy::start(&info.rpc_url).await.unwrap();
    let config = with_node(&info, &node, folder.path());
    let mut server = Server::start_with(&config, folder.path(), "server", "api,worker,indexer").unwrap();
    server.until_readyz_is(200).await.unwrap();
    let market = server.market(&info);
    until_listed(&market, &market.agent("conformance-target")).await;
    let price = market.price("conformance-target");

    let before = market.balances().await;
    node.set(Mood::DropsTransactions);
    let dropped = call(&market, "dropped", 0, false).await;
    assert_eq!((dropped.status.as_u16(), dropped.error_code()), (503, "unavailable"), "{dropped:?}");
    let dropped = dropped.body["error"]["execution_id"].as_str().expect("it can be polled").to_owned();
    tokio::time::sleep(EXPIRED).await;
    assert_eq!(market.balances().await, before, "nothing was charged");
    node.set(Mood::Healthy);
    let dropped = until(&market, &dropped, &["completed", "failed"]).await;

    // The opening of this one lands, and its settlement does not before its block hash has expired.
    let running = call(&market, "settled-late", 3_000, true).await;
    let id = running.text("execution_id").to_owned();
    until(&market, &id, &["running"]).await;
    node.set(Mood::DropsTransactions);
    tokio::time::sleep(EXPIRED).await;
    let record = market.get_as_owner(&format!("/v1/executions/{id}")).await;
    assert_eq!(record.text("status"), "running", "{record:?}");
    node.set(Mood::Healthy);
    let record = until(&market, &id, &["completed", "failed"]).await;
    assert_eq!(record["status"], "completed", "{record}");
    let verified = market.crtx(&["verify", &id]);
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
    // Each is paid at most once, and what failed is not paid.
    let paid = if dropped["status"] == "completed" { 2 * price } else { price };
    assert_eq!(before.caller - market.balances().await.caller, paid, "{dropped}");
    assert!(server.stop().await.unwrap().success());
    up.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rebuild_from_the_history_of_a_validator_is_what_the_live_mirror_shows() {
    if !is_real("rebuild") {
        return;
    }
    let folder = crtx_e2e::folder();
    let mut up = Up::start(folder.path(), &[]).await.unwrap();
    let market = Market::new(up.info().clone());
    let paid = market.paid().await;
    assert_eq!(market.behave("fail").await.error_code(), "execution_failed");
    let disputed = market.crtx(&["dispute", "open", &paid, "--text", "The numbers are wrong.", "--yes"]);
    assert!(disputed.status.success(), "{}", String::from_utf8_lossy(&disputed.stderr));
    let calls = (0..8).map(|_| market.paid());
    futures::future::join_all(calls).await;

    shows_what_the_chain_has(&market, folder.path()).await;
    up.stop().await.unwrap();
}
