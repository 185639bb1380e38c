//! What hostile callers, readers, listings and creators cost everybody else: nothing that is noticed.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::time::{Duration, Instant};

use crtx_faults::denial::{Attack, Site, Trial, WARM_UP, bombs, sockets};
use crtx_store::testing::volume;
use serde_json::{Value, json};
use solana_signer::Signer;

/// SIGTERM ends the process in this time, whatever its clients do. `crtx up` stops the chain and PostgreSQL
/// as well.
const STOP_LIMIT: Duration = Duration::from_secs(15);

fn calls(agents: &[String], body: &Value) -> Vec<(String, Value)> {
    agents.iter().map(|agent| (agent.clone(), body.clone())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_dearest_queries_of_64_clients_starve_nobody() {
    let site = Site::start("queries", 0).await.unwrap();
    let info = site.world.info().unwrap();
    let (url, key) = (info.base_url.clone(), site.attacker_key.clone());
    let agent = site.honest_agent().unwrap();
    volume::agents(&site.pool, &site.creator.pubkey(), 60_000).await;
    volume::executions(&site.pool, &[site.attacker.address().to_string()], &[agent], 30_000).await;
    let bystander = site.bystander().unwrap();
    let mut trial = Trial::start(&bystander).await;
    let public = [
        "/v1/agents?offset=10000&limit=100",
        "/v1/agents?verified_only=true",
        "/v1/agents?q=agent+data+tagline&offset=10000&limit=100",
        "/v1/agents?tags=data,tag7&offset=1000&limit=100",
        "/v1/agents?verified_only=true&offset=10000&sort=success_rate",
    ];
    let mut urls: Vec<_> = public.iter().map(|path| (format!("{url}{path}"), None)).collect();
    urls.push((format!("{url}/v1/executions?offset=25000&limit=100"), Some(key.clone())));
    urls.push((format!("{url}/v1/executions?status=completed&limit=100"), Some(key)));
    trial.under("64 clients of the most expensive queries", Attack::reads(64, urls)).await;
    trial.verdict();
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_listings_and_creators_harm_nobody_else() {
    let site = Site::start("bombs", 0).await.unwrap();
    let (url, content) = (site.base_url().unwrap(), site.world.content_dir());
    let creator = bombs::HostileCreator::start().await.unwrap();
    let endpoint = &creator.endpoints()[0];
    let bystander = site.bystander().unwrap();
    let mut trial = Trial::start(&bystander).await;

    let (mut index, mut schema_calls) = (0, Vec::new());
    for bomb in bombs::schemas() {
        let document = bombs::document(&bomb.schema, endpoint);
        let agent = bombs::list(&site.chain, &site.creator, &content, index, &document).await.unwrap();
        schema_calls.push((agent.to_string(), json!({"task": bomb.name, "parameters": bomb.parameters})));
        index += 1;
    }
    // The indexer reads the listings while the bystander is watched.
    trial.measure("listings with schema bombs").await;
    let clients = schema_calls.len() * 2;
    trial.under("calls of schema bombs", Attack::calls(clients, &url, &site.attacker_key, schema_calls)).await;

    for document in bombs::documents() {
        bombs::list(&site.chain, &site.creator, &content, index, &document).await.unwrap();
        index += 1;
    }
    trial.measure("document bombs").await;

    let mut agents = Vec::new();
    for endpoint in creator.endpoints() {
        let document = bombs::document(&json!({}), &endpoint);
        agents.push(bombs::list(&site.chain, &site.creator, &content, index, &document).await.unwrap().to_string());
        index += 1;
    }
    site.settle_listings().await;
    let answers = Attack::calls(8, &url, &site.attacker_key, calls(&agents, &json!({"task": "answer"})));
    trial.under("answer bombs", answers).await;
    trial.verdict();
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_sockets_harm_nobody_else_and_sigterm_ends_the_process_under_attack() {
    let site = Site::start("sockets", 0).await.unwrap();
    let (address, agent) = (site.address().unwrap(), site.honest_agent().unwrap());
    let bystander = site.bystander().unwrap();
    let mut trial = Trial::start(&bystander).await;
    let key = &site.attacker_key;
    trial.under("1 060 silent sockets", sockets::silent(&address, 1_060)).await;
    trial.under("200 slow heads", sockets::slow_heads(&address, 200)).await;
    trial.under("200 slow bodies", sockets::slow_bodies(&address, 200, &agent, key)).await;
    trial.under("100 slow readers", sockets::slow_readers(&address, 100, "/openapi.json")).await;
    trial.under("requests at and over the limits", sockets::over_limits(&address, 20, &agent, key)).await;

    let everything = [
        sockets::silent(&address, 200),
        sockets::slow_heads(&address, 100),
        sockets::slow_bodies(&address, 100, &agent, key),
        sockets::slow_readers(&address, 50, "/openapi.json"),
    ];
    tokio::time::sleep(WARM_UP).await;
    let started = Instant::now();
    let stopped = site.world.up.stop(STOP_LIMIT).await;
    eprintln!("SIGTERM ended crtx up after {:.0?}", started.elapsed());
    if let Err(error) = stopped {
        trial.wrong.push(format!("SIGTERM under attack: {error:#}"));
    }
    drop(everything);
    trial.verdict();
}
