//! The services in processes of their own, each with one role, over the chain and the database of one `crtx up`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "tests")]

use std::{
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use crtx_e2e::{
    Info, crtx_binary,
    market::Market,
    server::{Server, until_listed, without_services},
};
use reqwest::Method;
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_secs(60);

fn start(info: &Info, folder: &Path, name: &str, role: &str) -> Server {
    Server::start(info, folder, name, role).unwrap()
}

/// Exit status of `crtx-server ready`, and what it says.
fn ready(info: &Info, base_url: &str) -> (Option<i32>, String) {
    let listen = base_url.strip_prefix("http://").unwrap();
    let mut command = Command::new(crtx_binary().with_file_name("crtx-server"));
    command.env_remove("DATABASE_URL").args(["ready", "--listen", listen, "--config"]).arg(&info.server_config);
    let output = command.output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

async fn execution(market: &Market, id: &str) -> Value {
    let answer = market.get_as_owner(&format!("/v1/executions/{id}")).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_with_one_role_each_serve_a_paid_call_together() {
    let (folder, mut up) = without_services().await.unwrap();
    let info = up.info().clone();
    assert_eq!(info.base_url, "", "without services there is no API");
    let mut first = start(&info, folder.path(), "api-1", "api");
    let mut second = start(&info, folder.path(), "api-2", "api");
    let report = first.until_readyz_is(503).await.unwrap();
    let mirror = report["checks"].as_array().unwrap().iter().find(|check| check["name"] == "mirror").unwrap();
    assert_eq!(mirror["ready"], false, "no indexer has run yet: {report}");
    let (status, said) = ready(&info, &first.base_url);
    assert!(status == Some(1) && said.contains("\"mirror\""), "{status:?} {said}");
    let mut indexer = start(&info, folder.path(), "indexer", "indexer");
    let mut worker = start(&info, folder.path(), "worker", "worker");
    for server in [&mut first, &mut second, &mut indexer, &mut worker] {
        server.until_readyz_is(200).await.unwrap();
        assert_eq!(server.get("/healthz").await.unwrap(), (200, json!({"status": "ok"})));
        assert_eq!(ready(&info, &server.base_url), (Some(0), String::new()));
    }
    for server in [&indexer, &worker] {
        let (status, body) = server.get("/v1/agents").await.unwrap();
        assert_eq!((status, &body["error"]["code"]), (404, &json!("not_found")), "only the role `api` serves the API");
    }

    let (here, there) = (first.market(&info), second.market(&info));
    let agent = here.agent("text-stats");
    until_listed(&there, &agent).await;
    let path = format!("/v1/agents/{agent}/execute");
    let body = serde_json::to_vec(&json!({"task": "One. Two."})).unwrap();
    let key = [("idempotency-key", "roles-1")];
    let paid = here.raw(Method::POST, &path, Some(&info.api_key), &key, Some(body.clone())).await;
    assert_eq!(paid.status, 200, "{paid:?}");
    let replayed = there.raw(Method::POST, &path, Some(&info.api_key), &key, Some(body)).await;
    // Each process links content under its own address here.
    let without_link = |body: &Value| {
        let mut body = body.clone();
        body.as_object_mut().unwrap().remove("ipfs_url");
        body
    };
    assert_eq!(without_link(&replayed.body), without_link(&paid.body), "every process answers a retry alike");
    let id = paid.text("execution_id");
    assert_eq!(execution(&there, id).await["status"], "completed");
    let verified = there.crtx(&["verify", id]);
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));

    for server in [first, second, indexer, worker] {
        let address = server.base_url.clone();
        assert!(server.stop().await.unwrap().success());
        assert_eq!(ready(&info, &address).0, Some(1), "nobody listens");
    }
    up.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_worker_ends_the_calls_of_an_api_process_that_was_killed() {
    let (folder, mut up) = without_services().await.unwrap();
    let info = up.info().clone();
    let _indexer = start(&info, folder.path(), "indexer", "indexer");
    let mut worker = start(&info, folder.path(), "worker", "worker");
    let mut api = start(&info, folder.path(), "api", "api");
    worker.until_readyz_is(200).await.unwrap();
    api.until_readyz_is(200).await.unwrap();
    let here = api.market(&info);
    let agent = here.agent("text-stats");
    until_listed(&here, &agent).await;
    // Answered as soon as the escrow is open: most of the work is still to be done.
    let body = json!({"task": "One. Two.", "async": true});
    let calls = (0..8).map(|_| here.execute(&agent, &body));
    let answers = futures::future::join_all(calls).await;
    let ids: Vec<String> = answers.iter().map(|answer| answer.text("execution_id").to_owned()).collect();
    api.kill().await.unwrap();

    let mut successor = start(&info, folder.path(), "api-successor", "api");
    successor.until_readyz_is(200).await.unwrap();
    let here = successor.market(&info);
    for id in ids {
        let started = Instant::now();
        loop {
            let execution = execution(&here, &id).await;
            if execution["status"] == "completed" {
                break;
            }
            assert!(started.elapsed() < LIMIT, "an honest result is settled: {execution}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    up.stop().await.unwrap();
}
