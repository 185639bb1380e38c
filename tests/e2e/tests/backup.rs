//! The database and the content are lost, and come back from a backup by the commands of
//! `docs/runbooks/backup-and-restore.md`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "tests")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crtx_e2e::{
    Info,
    chain::Chain,
    crtx_binary,
    market::{Answer, Market},
    server::{Server, until_listed, without_services},
    session::{Session, ask, bearer},
    shell_commands,
};
use crtx_postgres::PostgresCluster;
use crtx_protocol::{content::cid_of, result_hash::ResultHash};
use reqwest::Method;
use serde_json::{Value, json};

const DOCUMENT: &str = include_str!("../../../docs/runbooks/backup-and-restore.md");

/// Runs the commands of one section of the document.
fn run(section: &str, variables: &[(&str, &Path)], database_url: &str) {
    let (_, from) = DOCUMENT.split_once(&format!("\n## {section}\n")).expect("a section");
    let script = shell_commands(from.split("\n## ").next().expect("its text"));
    assert!(!script.is_empty(), "{section} has commands");
    let programs = crtx_binary().parent().unwrap().to_owned();
    let mut path = vec![programs];
    path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", &script])
        .envs(variables.iter().copied())
        .env("DATABASE_URL", database_url)
        .env("PATH", std::env::join_paths(path).unwrap())
        .output()
        .expect("bash runs");
    assert!(output.status.success(), "{section}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The configuration of `crtx up` with another database and another folder of content.
fn moved(info: &Info, database_url: &str, content: &Path, folder: &Path) -> PathBuf {
    let text = fs::read_to_string(&info.server_config).unwrap();
    let text =
        [(info.database_url.as_str(), database_url), (info.content_dir.to_str().unwrap(), content.to_str().unwrap())]
            .into_iter()
            .fold(text, |text, (old, new)| {
                assert!(text.contains(old), "{text}");
                text.replace(old, new)
            });
    let path = folder.join("moved.toml");
    fs::write(&path, text).unwrap();
    path
}

async fn call(market: &Market, idempotency_key: &str) -> Answer {
    let path = format!("/v1/agents/{}/execute", market.agent("text-stats"));
    let body = serde_json::to_vec(&json!({"task": format!("One. Two. {idempotency_key}")})).unwrap();
    let headers = [("idempotency-key", idempotency_key)];
    market.raw(Method::POST, &path, Some(&market.info.api_key), &headers, Some(body)).await
}

async fn content(market: &Market, path: &str) -> (u16, String) {
    let answer = reqwest::get(format!("{}{path}", market.info.base_url)).await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_loss_of_everything_but_the_chain_a_backup_gives_back_what_the_chain_does_not_have() {
    let (folder, mut up) = without_services().await.unwrap();
    let info = up.info().clone();
    let mut server = Server::start(&info, folder.path(), "before", "api,worker,indexer").unwrap();
    server.until_readyz_is(200).await.unwrap();
    let market = server.market(&info);
    until_listed(&market, &market.agent("text-stats")).await;
    let chain = Chain::of(&market, info.data_dir());
    let session = Session::bearer(&market, &chain.wallet).await;
    let key = session.new_key(&market, &chain, &chain.wallet, "of the backup").await;
    let piece = json!({"held": "and nothing refers to it"});
    let held = format!("/ipfs/{}", cid_of(&ResultHash::of(&serde_json::to_vec(&piece).unwrap())));
    assert_eq!(session.ask(&market, Method::PUT, &held, Some(&piece)).await.status, 201);
    let saved = call(&market, "saved").await;
    assert_eq!(saved.status, 200, "{saved:?}");
    let result = format!("/ipfs/{}", saved.text("ipfs_url").rsplit('/').next().unwrap());
    until_delivered(&market, &result).await;

    let backup = folder.path().join("backup");
    fs::create_dir(&backup).unwrap();
    run("Back up", &[("BACKUP", &backup), ("CONTENT_DIR", &info.content_dir)], &info.database_url);
    let lost = call(&market, "lost").await;
    assert_eq!(lost.status, 200, "{lost:?}");
    let before = market.balances().await;
    server.kill().await.unwrap();
    fs::remove_dir_all(&info.content_dir).unwrap();

    let cluster = PostgresCluster::start(&folder.path().join("restored"), &|text| eprintln!("{text}")).await.unwrap();
    let new_content = folder.path().join("restored-content");
    let config = moved(&info, &cluster.url(), &new_content, folder.path());
    let variables: [(&str, &Path); 3] = [("BACKUP", &backup), ("CONTENT_DIR", &new_content), ("CONFIG", &config)];
    run("Restore", &variables, &cluster.url());
    let mut server = Server::start_with(&config, folder.path(), "after", "api,worker,indexer").unwrap();
    server.until_readyz_is(200).await.unwrap();
    let market = server.market(&info);
    until_listed(&market, &market.agent("text-stats")).await;

    // The session, the keys, the content, and the answer of the call that the backup has.
    let keys = session.ask(&market, Method::GET, "/v1/keys", None).await;
    assert_eq!(keys.status, 200, "{keys:?}");
    assert!(keys.body["keys"].as_array().unwrap().iter().any(|key| key["name"] == "of the backup"), "{keys:?}");
    let known = ask(&market, Method::GET, "/v1/executions", &bearer(&key.reveal()), None).await;
    assert_eq!(known.status, 200, "{known:?}");
    assert_eq!(content(&market, &held).await, (200, piece.to_string()));
    assert_eq!(content(&market, &result).await, (200, saved.text("result").to_owned()));
    let again = call(&market, "saved").await;
    assert_eq!((again.status, again.text("execution_id")), (saved.status, saved.text("execution_id")));
    assert_eq!(again.text("result"), saved.text("result"));
    let verified = market.crtx(&["verify", saved.text("execution_id")]);
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));

    // The call after the backup is shown from the chain, and is not paid again.
    let record = market.get_as_owner(&format!("/v1/executions/{}", lost.text("execution_id"))).await;
    assert_eq!((record.text("status"), &record.body["result"]), ("completed", &Value::Null), "{record:?}");
    let again = call(&market, "lost").await;
    assert_eq!((again.status.as_u16(), again.error_code()), (502, "result_unavailable"), "{again:?}");
    assert_eq!(market.balances().await, before, "nothing was charged");
    let new = call(&market, "new").await;
    assert_eq!(new.status, 200, "{new:?}");
    let audit = market.crtx(&["audit"]);
    assert!(audit.status.success(), "{}", String::from_utf8_lossy(&audit.stderr));

    assert!(server.stop().await.unwrap().success());
    cluster.stop().await.unwrap();
    up.stop().await.unwrap();
}

async fn until_delivered(market: &Market, path: &str) {
    for _ in 0..100 {
        if content(market, path).await.0 == 200 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("{path} is not delivered");
}
