//! What `crtx up` does when its private PostgreSQL dies.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::{
    fs,
    time::{Duration, Instant},
};

use crtx_e2e::{Up, crtx_binary, free_port, market::Market};
use crtx_faults::postgres::PostgresServer;
use serde_json::json;
use tokio::process::Command;

/// Far below what draining calls would take that cannot come to their end.
const PROMPT: Duration = Duration::from_secs(12);

#[tokio::test(flavor = "multi_thread")]
async fn up_says_that_its_database_died_and_ends_at_once_and_the_next_start_goes_on() {
    let folder = crtx_e2e::folder();
    let data_dir = folder.path().join("data");
    let said = folder.path().join("said");
    let port = free_port().unwrap().to_string();
    let mut command = Command::new(crtx_binary());
    command.args(["up", "--json", "--port", &port, "--data-dir"]).arg(&data_dir);
    command.stderr(fs::File::create(&said).unwrap());
    let mut up = Up::spawn(&mut command).unwrap().ready().await.unwrap();
    let market = Market::new(up.info().clone());
    let paid = market.execute(&market.agent("text-stats"), &json!({"task": "One. Two."})).await;
    assert_eq!(paid.status, 200, "{paid:?}");
    let slow = json!({"task": "x", "parameters": {"behaviour": "ok", "delay_ms": 4_000}, "async": true});
    let under_way = market.execute(&market.agent("conformance-target"), &slow).await;
    assert_eq!(under_way.status, 200, "{under_way:?}");

    assert!(PostgresServer::of(&data_dir).kill(), "the server runs");
    let died = Instant::now();
    let status = up.wait().await.unwrap();
    let took = died.elapsed();
    let text = fs::read_to_string(&said).unwrap();
    assert_eq!(status.code(), Some(1), "{text}");
    assert!(text.contains("the PostgreSQL server ended"), "{text}");
    assert!(took < PROMPT, "it took {took:?} to end");

    let mut next = Up::start(&data_dir, &[]).await.unwrap();
    let market = Market::new(next.info().clone());
    let record = market.get_as_owner(&format!("/v1/executions/{}", paid.text("execution_id"))).await;
    assert_eq!(record.body["status"], "completed", "{record:?}");
    let path = format!("/v1/executions/{}", under_way.text("execution_id"));
    let mut status = String::new();
    for _ in 0..600 {
        status = market.get_as_owner(&path).await.body["status"].as_str().unwrap_or_default().to_owned();
        if status == "completed" || status == "failed" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(["completed", "failed"].contains(&status.as_str()), "{status:?}");
    next.stop().await.unwrap();
}
