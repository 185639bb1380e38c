//! Measures what a seller's side adds to a request with a result of 10 kB: the Rust library behind axum, and `crtx agent serve` in
//! front of a service. Each is compared with axum alone, which answers the same bytes, and they are asked in turns, one request
//! after the other over one connection each, so that a busy moment of the machine meets all of them.
//! Prints one JSON object for `cargo xtask bench seller`.

#![allow(clippy::indexing_slicing, reason = "a measuring program may stop at the first surprise")]

use std::{fs, process::Stdio, time::Instant};

use anyhow::{Context, Result, ensure};
use axum::{Router, body::Bytes};
use crtx_e2e::{
    bench::{Row, milliseconds_since, percentile},
    crtx_without_settings, folder, free_port,
};
use crtx_sdk::{Seller, SigningKey, Task};
use reqwest::Client;
use serde_json::json;
use solana_pubkey::Pubkey;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    net::TcpListener,
};
use uuid::Uuid;

const WARM_UP: usize = 500;
const REQUESTS: usize = 5_000;
const RESULT_BYTES: usize = 10_000;

#[tokio::main]
async fn main() -> Result<()> {
    let result = "x".repeat(RESULT_BYTES);
    let key = SigningKey::from_bytes(&rand::random());
    let answer = result.clone();
    let bare = serve(Router::new().fallback(async move |_: Bytes| answer)).await?;
    let work = move |_: Task| {
        let result = result.clone();
        async { anyhow::Ok(result) }
    };
    let library = serve(Router::new().fallback_service(Seller::new(key.clone(), work))).await?;

    let folder = folder();
    let key_file = folder.path().join("result-key.json");
    fs::write(&key_file, json!(key.to_keypair_bytes().to_vec()).to_string())?;
    let proxy = format!("127.0.0.1:{}", free_port()?);
    let mut command = tokio::process::Command::from(crtx_without_settings(folder.path()));
    command.args(["agent", "serve", "--upstream", &bare, "--listen", &proxy, "--result-key"]).arg(&key_file);
    let mut serving = command.stderr(Stdio::piped()).kill_on_drop(true).spawn()?;
    let mut said = BufReader::new(serving.stderr.take().context("stderr is piped")?).lines();
    let first = said.next_line().await?.context("crtx agent serve ended")?;
    ensure!(first.contains("answers POST"), "{first}");
    // What it says of each call has to go somewhere.
    tokio::spawn(async move { while let Ok(Some(_)) = said.next_line().await {} });

    let servers = [(bare, Client::new()), (library, Client::new()), (format!("http://{proxy}/"), Client::new())];
    let mut times = [const { Vec::new() }; 3];
    for number in 0..WARM_UP.saturating_add(REQUESTS) {
        for ((url, client), times) in servers.iter().zip(&mut times) {
            let took = ask(client, url).await?;
            if number >= WARM_UP {
                times.push(took);
            }
        }
    }
    let [[bare50, bare99], library, proxy] =
        times.map(|mut times| [0.50, 0.99].map(|quantile| percentile(&mut times, quantile)));
    let mut results = vec![Row::new("seller_bare_p50_ms", bare50, "ms"), Row::new("seller_bare_p99_ms", bare99, "ms")];
    for (name, [p50, p99]) in [("library", library), ("serve", proxy)] {
        results.push(Row::new(format!("seller_{name}_added_p50_ms"), p50 - bare50, "ms").at_most(1.0));
        results.push(Row::new(format!("seller_{name}_added_p99_ms"), p99 - bare99, "ms").at_most(2.0));
    }
    println!("{}", json!({ "results": results }));
    Ok(())
}

/// The URL of a service.
async fn serve(router: Router) -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/", listener.local_addr()?);
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(url)
}

/// Milliseconds of one call, as the marketplace makes it.
async fn ask(client: &Client, url: &str) -> Result<f64> {
    let address = Pubkey::new_from_array(rand::random()).to_string();
    let body = json!({
        "execution_id": Uuid::new_v4(), "task": "a task", "parameters": {}, "user_pubkey": address, "timeout_seconds": 60,
        "execution_record": address, "opened_at_unix_s": 1_790_000_000,
    });
    let started = Instant::now();
    let response = client.post(url).json(&body).send().await?.error_for_status()?;
    let answer = response.bytes().await?;
    let took = milliseconds_since(started);
    ensure!(answer.len() >= RESULT_BYTES, "{}", String::from_utf8_lossy(&answer));
    Ok(took)
}
