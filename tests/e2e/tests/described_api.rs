//! The services do what their description says: schemathesis makes requests from `/openapi.json`, valid and invalid ones,
//! and checks every answer. `cargo xtask test api` installs it and names it in `CRTX_SCHEMATHESIS`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests"
)]

use std::path::{Path, PathBuf};

use crtx_e2e::{Up, endpoints::endpoints, market::Market};
use crtx_protocol::result_hash::ResultHash;
use crtx_store::{PgPool, sessions::SessionKind, testing::probes::open_session};
use serde_json::{Value, json};
use solana_pubkey::Pubkey;
use tokio::process::Command;

fn schemathesis() -> PathBuf {
    let path = std::env::var_os("CRTX_SCHEMATHESIS").expect("run `cargo xtask test api`, which installs schemathesis");
    path.into()
}

/// The token of a new session of `wallet`.
async fn session(pool: &PgPool, wallet: Pubkey) -> String {
    let secret: [u8; 32] = rand::random();
    open_session(pool, wallet, ResultHash::of(&secret).0, SessionKind::Bearer).await;
    format!("crtx_session_{}", bs58::encode(secret).into_string())
}

/// A test run makes the same requests each time, so that its outcome depends on the services alone.
/// `CRTX_SCHEMATHESIS_SEED` takes other ones, to look further.
fn seed() -> String {
    std::env::var("CRTX_SCHEMATHESIS_SEED").unwrap_or_else(|_| "1".to_owned())
}

/// Runs schemathesis until it is through. Its report.
async fn run(market: &Market, report: &Path) -> Value {
    let pool = crtx_store::testing::connect(&market.info.database_url, 2).await.unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemathesis");
    let wallet = market.info.wallet.parse().unwrap();
    let status = Command::new(schemathesis())
        .current_dir(&folder)
        .args(["--config-file", "schemathesis.toml", "run", &format!("{}/openapi.json", market.info.base_url)])
        .args(["--seed", &seed()])
        .args(["--report", "json", "--report-json-path"])
        .arg(report)
        .env("CRTX_API_KEY", &market.info.api_key)
        .env("CRTX_SESSION", session(&pool, wallet).await)
        .env("CRTX_OTHER_SESSION", session(&pool, Pubkey::new_from_array(rand::random())).await)
        .env("CRTX_AGENT", market.agent("text-stats"))
        .env("CRTX_WALLET", &market.info.wallet)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .status()
        .await
        .expect("schemathesis starts");
    let report = std::fs::read_to_string(report).unwrap_or_else(|error| panic!("{status}, and no report: {error}"));
    serde_json::from_str(&report).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_is_as_described_and_only_requests_as_described_are_accepted() {
    let folder = crtx_e2e::folder();
    let mut up = Up::start(folder.path(), &[]).await.unwrap();
    let market = Market::new(up.info().clone());
    market.paid().await;
    let report = run(&market, &folder.path().join("report.json")).await;
    let cases = report["test_cases"]["generated"].as_u64().unwrap();
    println!("schemathesis: {cases} cases at {} operations", report["operations"]["tested"]);
    assert_eq!((&report["failures"], &report["errors"]), (&json!([]), &json!([])));
    assert_eq!((&report["exit_code"], &report["complete"]), (&json!(0), &json!(true)));
    // Streams have no end; `event_streams.rs` reads them.
    let all = endpoints(&market).await.into_iter().filter(|endpoint| !endpoint.operation.starts_with("stream_"));
    assert_eq!(report["operations"]["tested"], json!(all.count()));
    assert!(cases > 1_000, "{cases}");
    let answer = market.execute(&market.agent("text-stats"), &json!({"task": "still there"})).await;
    assert_eq!(answer.status, 200, "the marketplace works afterwards: {answer:?}");
    up.stop().await.unwrap();
}
