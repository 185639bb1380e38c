//! The gateway's key pair is replaced while calls run, as `docs/runbooks/keys-and-secrets.md` says.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests"
)]

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use crtx_e2e::{
    Info,
    chain::Chain,
    market::Market,
    server::{Server, until_listed, without_services},
    session::{challenge, sign_in_body, signature},
};
use reqwest::Method;
use serde_json::json;
use solana_keypair::Keypair;
use solana_signer::Signer;

const ROLES: &str = "api,worker,indexer";
const CALLERS: usize = 6;

/// The configuration of `crtx up` with these key pairs of the gateway.
fn with_keys(info: &Info, folder: &Path, name: &str, first: &Path, other: Option<&Path>) -> PathBuf {
    let text = fs::read_to_string(&info.server_config).unwrap();
    let line = text.lines().find(|line| line.starts_with("keypair_file = ")).expect("a key pair");
    let mut lines = format!("keypair_file = \"{}\"", first.display());
    if let Some(other) = other {
        lines.push_str(&format!("\nother_keypair_file = \"{}\"", other.display()));
    }
    let path = folder.join(format!("{name}.toml"));
    // All processes have one address, as behind a proxy: challenges of sign-in name it.
    let text = format!("public_url = \"https://crtx.example\"\n{}", text.replace(line, &lines));
    fs::write(&path, text).unwrap();
    path
}

/// Calls without a pause until told to stop. The processes that serve change; a call that one does not end goes on at the
/// other one. Each call ends with a result, or this panics.
async fn call_on_and_on(markets: Arc<Mutex<Vec<Market>>>, caller: usize, stop: Arc<AtomicBool>) -> usize {
    let calls = AtomicUsize::new(0);
    while !stop.load(Relaxed) {
        let number = calls.fetch_add(1, Relaxed);
        let key = format!("rotation-{caller}-{number}");
        let mut answers = Vec::new();
        loop {
            assert!(answers.len() < 60, "{key}: {answers:?}");
            let market = {
                let markets = markets.lock().unwrap();
                Market::new(markets[(caller + answers.len()) % markets.len()].info.clone())
            };
            let body = json!({"task": format!("One. Two. {key}")});
            let url = format!("{}/v1/agents/{}/execute", market.info.base_url, market.agent("text-stats"));
            let sent = reqwest::Client::new()
                .post(url)
                .bearer_auth(&market.info.api_key)
                .header("idempotency-key", &key)
                .json(&body)
                .send()
                .await;
            match sent {
                Ok(answer) if answer.status() == 200 => break,
                Ok(answer) => answers.push(format!("{} {}", answer.status(), answer.text().await.unwrap())),
                Err(error) => answers.push(error.to_string()),
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        // Whatever an answer was before, no call was refused for the rotation itself.
        for answer in answers {
            assert!(!answer.contains("gateway") && !answer.starts_with("500"), "{key}: {answer}");
        }
    }
    calls.into_inner()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_gateways_key_is_replaced_under_calls_and_none_is_lost_or_paid_twice() {
    let (folder, mut up) = without_services().await.unwrap();
    let info = up.info().clone();
    let folder = folder.path();
    let old = info.data_dir().join("gateway-authority.json");
    let (new, new_keypair) = (folder.join("new-gateway.json"), Keypair::new());
    fs::write(&new, serde_json::to_string(&new_keypair.to_bytes().to_vec()).unwrap()).unwrap();
    let new_address = new_keypair.pubkey().to_string();

    // Both processes have both key pairs before the change on chain.
    let both = with_keys(&info, folder, "both", &old, Some(&new));
    let mut one = Server::start_with(&both, folder, "one", ROLES).unwrap();
    let mut two = Server::start_with(&both, folder, "two", ROLES).unwrap();
    for server in [&mut one, &mut two] {
        server.until_readyz_is(200).await.unwrap();
    }
    let market = one.market(&info);
    until_listed(&market, &market.agent("text-stats")).await;
    until_listed(&two.market(&info), &market.agent("text-stats")).await;
    let chain = Chain::of(&market, info.data_dir());
    market.rpc("requestAirdrop", json!([new_address, 1_000_000_000])).await;
    let before = market.balances().await;
    let text = challenge(&market, &chain.wallet.pubkey()).await;

    let markets = Arc::new(Mutex::new(vec![one.market(&info), two.market(&info)]));
    let stop = Arc::<AtomicBool>::default();
    let callers: Vec<_> = (0..CALLERS)
        .map(|caller| tokio::spawn(call_on_and_on(Arc::clone(&markets), caller, Arc::clone(&stop))))
        .collect();
    tokio::time::sleep(Duration::from_secs(3)).await;
    let admin = info.data_dir().join("wallets/admin.json");
    let set = ["admin", "set-keys", "--gateway-authority", &new_address, "--yes", "--keypair", admin.to_str().unwrap()];
    let set = market.crtx(&set);
    assert!(set.status.success(), "{}", String::from_utf8_lossy(&set.stderr));
    tokio::time::sleep(Duration::from_secs(3)).await;

    // One process after the other is replaced by one whose first key pair is the new one.
    let swapped = with_keys(&info, folder, "swapped", &new, Some(&old));
    let mut three = Server::start_with(&swapped, folder, "three", ROLES).unwrap();
    three.until_readyz_is(200).await.unwrap();
    until_listed(&three.market(&info), &market.agent("text-stats")).await;
    markets.lock().unwrap()[0] = three.market(&info);
    assert!(one.stop().await.unwrap().success());
    let three_market = three.market(&info);
    let body = sign_in_body(&text, &signature(&chain.wallet, text.as_bytes()), "bearer");
    let signed_in = three_market.request(Method::POST, "/v1/sign-in", None, Some(&body)).await;
    assert_eq!(signed_in.status, 200, "the challenge of a process that wrote it with the old key pair: {signed_in:?}");
    let only_new = with_keys(&info, folder, "only-new", &new, None);
    let mut four = Server::start_with(&only_new, folder, "four", ROLES).unwrap();
    four.until_readyz_is(200).await.unwrap();
    until_listed(&four.market(&info), &market.agent("text-stats")).await;
    markets.lock().unwrap()[1] = four.market(&info);
    assert!(two.stop().await.unwrap().success());
    tokio::time::sleep(Duration::from_secs(3)).await;
    stop.store(true, Relaxed);
    let mut calls = 0;
    for caller in callers {
        calls += caller.await.expect("every call ends with a result");
    }
    println!("{calls} calls");
    assert!(calls > CALLERS * 3, "{calls}");

    let market = four.market(&info);
    let paid = before.caller - market.balances().await.caller;
    assert_eq!(paid, u64::try_from(calls).unwrap() * market.price("text-stats"), "each of {calls} calls is paid once");
    assert_eq!(market.config().await.gateway_authority, new_keypair.pubkey());
    let listed = market.get_as_owner("/v1/executions?limit=1").await;
    let latest = listed.body["executions"][0]["execution_id"].as_str().expect("an execution").to_owned();
    let verified = market.crtx(&["verify", &latest]);
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
    for server in [three, four] {
        assert!(server.stop().await.unwrap().success());
    }
    up.stop().await.unwrap();
}
