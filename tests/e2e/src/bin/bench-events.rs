//! Measures event streams of one `crtx-server` with the role `api`: the memory of 1 000 that wait, and how long it takes from
//! the commit of a change until a stream has its event, while each of 100 streams gets 100 events per second.
//! Prints one JSON object for `cargo xtask bench events`, progress on stderr.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_precision_loss,
    clippy::indexing_slicing,
    reason = "a measuring program may stop at the first surprise"
)]

use std::{
    net::Ipv4Addr,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use crtx_e2e::{
    bench::{Row, milliseconds_since, percentile},
    process::memory_mib,
    server::{Server, without_services},
    streams::{OpenStream, client_at, happen, session_of},
};
use crtx_store::PgPool;
use futures::future::{join_all, try_join_all};
use serde_json::json;
use solana_pubkey::Pubkey;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

const IDLE: usize = 1_000;
const PER_WALLET: usize = 25;
const READERS: usize = 100;
const EVENTS: usize = 3_000;
const PER_SECOND: u32 = 100;
/// Until the memory of the streams that were opened or closed is what it stays.
const SETTLE: Duration = Duration::from_secs(20);
const PATIENCE: Duration = Duration::from_secs(30);

/// Wallets with so many streams in all.
async fn open(pool: &PgPool, url: &str, streams: usize) -> Result<(Vec<Pubkey>, Vec<OpenStream>)> {
    let (mut wallets, mut opening) = (Vec::new(), Vec::new());
    for number in 0..streams.div_ceil(PER_WALLET) {
        let wallet = Pubkey::new_from_array(rand::random());
        let token = session_of(pool, wallet).await;
        wallets.push(wallet);
        let http = client_at(Ipv4Addr::new(127, 0, 0, 2 + u8::try_from(number)?));
        for _ in 0..PER_WALLET.min(streams) {
            let (http, token) = (http.clone(), token.clone());
            opening.push(async move { OpenStream::open(&http, url.to_owned(), &token, 0).await });
        }
    }
    Ok((wallets, try_join_all(opening).await?))
}

#[tokio::main]
async fn main() -> Result<()> {
    let (folder, mut up) = without_services().await?;
    let info = up.info().clone();
    let mut indexer = Server::start(&info, folder.path(), "indexer", "indexer")?;
    let mut api = Server::start(&info, folder.path(), "api", "api")?;
    indexer.until_readyz_is(200).await?;
    api.until_readyz_is(200).await?;
    let pool = crtx_store::testing::connect(&info.database_url, 4).await?;
    let (url, pid) = (format!("{}/v1/events/stream", api.base_url), api.pid().context("it runs")?);

    // What a first stream needs besides.
    drop(open(&pool, &url, 4).await?);
    sleep(SETTLE).await;
    let before = memory_mib(pid)?;
    let (_, idle) = open(&pool, &url, IDLE).await?;
    sleep(SETTLE).await;
    let grown = memory_mib(pid)? - before;
    eprintln!("{} streams that wait: {grown:.1} MiB over {before:.1} MiB", idle.len());
    let mut rows = vec![Row::new("events_memory_of_1000_idle_streams", grown, "MiB").at_most(50.0)];
    drop(idle);
    sleep(Duration::from_secs(1)).await;

    let (wallets, streams) = open(&pool, &url, READERS).await?;
    let committed: Arc<Vec<OnceLock<Instant>>> = Arc::new(vec![OnceLock::new(); EVENTS]);
    let reading = streams.into_iter().map(|mut stream| {
        let committed = Arc::clone(&committed);
        tokio::spawn(async move {
            let mut taken = Vec::with_capacity(EVENTS);
            for _ in 0..EVENTS {
                let event = timeout(PATIENCE, stream.next()).await.context("too late")?.context("it broke off")?;
                let number: usize = event.data["data"]["reason"].as_str().context("a number")?.parse()?;
                taken.push(milliseconds_since(*committed[number].get().context("it was committed")?));
            }
            anyhow::Ok(taken)
        })
    });
    let reading: Vec<_> = reading.collect();
    let mut ticks = interval(Duration::from_secs(1) / PER_SECOND);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let started = Instant::now();
    for (number, committed) in committed.iter().enumerate() {
        ticks.tick().await;
        // To all of them at once.
        let mut transaction = crtx_store::transaction::begin(&pool).await?;
        for wallet in &wallets {
            happen(&mut *transaction, wallet, &number.to_string()).await;
        }
        // Before the commit: the time that it takes counts.
        committed.get_or_init(Instant::now);
        transaction.commit().await?;
    }
    let rate = EVENTS as f64 / started.elapsed().as_secs_f64();
    ensure!(rate > 0.95 * f64::from(PER_SECOND), "only {rate:.1} events per second were written");
    let mut taken = Vec::new();
    for read in join_all(reading).await {
        taken.extend(read??);
    }
    rows.extend([
        Row::new("events_p50_ms", percentile(&mut taken, 0.50), "ms"),
        Row::new("events_p99_ms", percentile(&mut taken, 0.99), "ms").at_most(250.0),
        Row::new("events_max_ms", percentile(&mut taken, 1.0), "ms"),
    ]);
    api.stop().await?;
    indexer.stop().await?;
    up.stop().await?;
    println!("{}", json!({ "results": rows }));
    Ok(())
}
