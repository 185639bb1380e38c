//! What is measured, one after the other: a rebuild, resyncs of an unchanged chain, changes and writes during resyncs,
//! and as many changes as are offered.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant, SystemTime},
};

use anyhow::{Context, Result, ensure};
use crtx_e2e::{
    alone::Alone,
    bench::{Row, percentile},
    process,
};
use crtx_store::testing::{
    mirror_figures,
    server::{self, ServerWork},
};

use super::{
    chain::listings_of,
    clock::Slots,
    market::Market,
    orders::{Emission, probes},
    watch::{Watch, until_there, write_rows},
};

/// Longer than anything may take.
const PATIENCE: Duration = Duration::from_secs(1_200);
/// How long a resync of the unchanged chain, and the changes behind a stream, are waited for.
const RESYNC_LIMIT: Duration = Duration::from_secs(300);
const DOCUMENTS_LIMIT: Duration = Duration::from_secs(120);
/// How long the beginning of a resync, and the last changes, are waited for.
const SETTLE_LIMIT: Duration = Duration::from_secs(90);
/// PostgreSQL's sessions report what they did so late at most.
const REPORTS_AFTER: Duration = Duration::from_secs(11);
/// Tables that show that a process lives, or where the mirror stands; not rows of the chain.
const SIGNS_OF_LIFE: [&str; 7] = [
    "mirror_checkpoint",
    "mirror_digest",
    "mirror_digest_history",
    "indexer_processes",
    "indexer_audit",
    "gateway_processes",
    "fee_payers",
];

const LAG_PER_SECOND: u32 = 500;
/// More than is gated, so that the figure can be better than its gate.
const OFFERED_PER_SECOND: u32 = 7_500;
const PROBES_PER_SECOND: u32 = 50;

pub async fn measure(accounts: u32, seconds: u32) -> Result<Vec<Row>> {
    let market = Market::start(accounts).await?;
    let mut rows = Vec::new();
    // One resync after the other, so that everything below happens during one.
    let indexer = market.service("resyncing", "indexer", indexer_settings(1)).await?;
    rows.extend(rebuild(&market).await?);
    rows.extend(unchanged(&market).await?);
    rows.extend(beside_resync(&market, seconds).await?);
    let mut peak_mib = process::peak_memory_mib(indexer.pid())?;
    eprintln!("peak memory of the indexer: {peak_mib:.0} MiB");
    indexer.stop().await?;

    // As it is deployed: resyncs once a minute, and a process that answers lists.
    let before = market.node.state().await?.subscriptions;
    ensure!(before == 0, "somebody is subscribed after the end of the indexer");
    let since = SystemTime::now();
    let indexer = market.service("indexer", "indexer", indexer_settings(60)).await?;
    let api = market.service("api", "api", Vec::new()).await?;
    rows.extend(throughput(&market, seconds, since).await?);
    peak_mib = peak_mib.max(process::peak_memory_mib(indexer.pid())?);
    rows.push(Row::new("rss_peak_mib", peak_mib, "MiB").at_most(512.0));
    rows.push(Row::new("ingest_api_rss_mib", process::peak_memory_mib(api.pid())?, "MiB"));
    rows.push(Row::new("ingest_accounts", accounts.into(), ""));
    for service in [api, indexer] {
        Alone::stop(service).await?;
    }
    market.stop().await?;
    Ok(rows)
}

fn indexer_settings(resync_seconds: u32) -> Vec<(&'static str, String)> {
    vec![("CRTX_INDEXER_RESYNC_SECONDS", resync_seconds.to_string())]
}

/// From the start of the indexer until every account is in the database, with documents and finalized states.
async fn rebuild(market: &Market) -> Result<Vec<Row>> {
    let (started, work) = (Instant::now(), server::work(&market.pool).await?);
    loop {
        let (count, _) = mirror_figures::count_and_revisions(&market.pool).await;
        if count >= market.accounts.into() {
            break;
        }
        ensure!(started.elapsed() < PATIENCE, "{count} of {} accounts after {PATIENCE:?}", market.accounts);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let rebuild_s = started.elapsed().as_secs_f64();
    eprintln!("rebuilt {} accounts in {rebuild_s:.0} s", market.accounts);
    let listings = listings_of(market.accounts) as i64;
    while mirror_figures::documents(&market.pool).await < listings && started.elapsed() < PATIENCE {
        if started.elapsed().as_secs_f64() > rebuild_s + DOCUMENTS_LIMIT.as_secs_f64() {
            eprintln!("{} of {listings} documents", mirror_figures::documents(&market.pool).await);
            break;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let documents_s = started.elapsed().as_secs_f64();
    eprintln!("documents after {documents_s:.0} s");
    loop {
        let count = mirror_figures::final_accounts(&market.pool).await;
        if count >= market.accounts.into() {
            break;
        }
        ensure!(started.elapsed() < PATIENCE, "{count} of {} finalized accounts after {PATIENCE:?}", market.accounts);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let final_s = started.elapsed().as_secs_f64();
    eprintln!("all accounts are final after {final_s:.0} s");
    let wal = wal_mib(&work, &server::work(&market.pool).await?);
    Ok(vec![
        Row::new("rebuild_1m_s", rebuild_s, "s").at_most(600.0),
        Row::new("rebuild_documents_s", documents_s, "s"),
        Row::new("rebuild_final_s", final_s, "s").at_most(600.0),
        Row::new("rebuild_wal_mib", wal, "MiB"),
    ])
}

fn wal_mib(before: &ServerWork, after: &ServerWork) -> f64 {
    let bytes = after.wal_bytes.zip(before.wal_bytes).map_or(0, |(after, before)| after - before);
    bytes as f64 / 1_048_576.0
}

/// Waits until the node has listed all accounts once more.
async fn listed_once_more(market: &Market) -> Result<f64> {
    let (started, before) = (Instant::now(), market.node.state().await?.listed);
    loop {
        let state = market.node.state().await?;
        if state.listed - before >= market.accounts.into() {
            return Ok(started.elapsed().as_secs_f64());
        }
        if started.elapsed() > RESYNC_LIMIT {
            eprintln!("{} accounts listed in {RESYNC_LIMIT:?}", state.listed - before);
            return Ok(started.elapsed().as_secs_f64());
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// What a resync writes when nothing has changed. It begins in the middle of a list of all accounts, so what the list
/// under way writes afterwards counts as well.
async fn unchanged(market: &Market) -> Result<Vec<Row>> {
    // What the rebuild read is finalized, and has been read once more since.
    tokio::time::sleep(Slots::to_finalized()).await;
    listed_once_more(market).await?;
    tokio::time::sleep(REPORTS_AFTER).await;
    let (written, work) = (mirror_figures::rows_written(&market.pool).await, server::work(&market.pool).await?);
    let resync_s = listed_once_more(market).await?;
    tokio::time::sleep(REPORTS_AFTER).await;
    let (rewritten, worked) = (mirror_figures::rows_written(&market.pool).await, server::work(&market.pool).await?);
    let changes: BTreeMap<&String, i64> = rewritten
        .iter()
        .map(|(table, count)| (table, count - written.get(table).copied().unwrap_or_default()))
        .filter(|(table, count)| *count != 0 && !SIGNS_OF_LIFE.contains(&table.as_str()))
        .collect();
    let rows: i64 = changes.values().sum();
    eprintln!("all accounts listed in {resync_s:.0} s; rows written although nothing changed: {rows} {changes:?}");
    Ok(vec![
        Row::new("resync_unchanged_rows_written", rows as f64, "").at_most(0.0),
        Row::new("resync_unchanged_wal_mib", wal_mib(&work, &worked), "MiB"),
        Row::new("resync_listed_s", resync_s, "s"),
    ])
}

/// Waits until the node sends accounts of a list. Returns how many it has sent before.
async fn until_listing(market: &Market) -> Result<u64> {
    let (started, before) = (Instant::now(), market.node.state().await?.listed);
    while market.node.state().await?.listed == before && started.elapsed() < SETTLE_LIMIT {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(before)
}

/// Waits until the revisions in the database are those of the chain. Returns their sum in the end.
async fn until_equal(market: &Market, chain: i64) -> i64 {
    let started = Instant::now();
    loop {
        let (_, revisions) = mirror_figures::count_and_revisions(&market.pool).await;
        if revisions == chain || started.elapsed() > SETTLE_LIMIT {
            return revisions;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// 500 changes per second and single writes, while resyncs run.
async fn beside_resync(market: &Market, seconds: u32) -> Result<Vec<Row>> {
    let listed = until_listing(market).await?;
    let watch = Watch::start(market.pool.clone(), probes(market.accounts));
    let emission = Emission { per_second: LAG_PER_SECOND, seconds, probes_per_second: PROBES_PER_SECOND };
    let length = Duration::from_secs(seconds.into());
    let writes = write_rows(&market.pool, &market.node, market.accounts, length);
    let (emitted, writes) = tokio::join!(market.node.emit(emission), writes);
    let (emitted, mut writes_ms) = (emitted?, writes?);
    let arrived = until_there(&market.pool, &emitted.newest, RESYNC_LIMIT).await;
    let lists = (market.node.state().await?.listed - listed) as f64 / f64::from(market.accounts);
    let mut lags_ms = watch.lags_ms(&emitted.probes).await?;
    let [p50, p99] = [0.5, 0.99].map(|quantile| percentile(&mut lags_ms, quantile));
    let write_p99 = percentile(&mut writes_ms, 0.99);
    eprintln!(
        "{LAG_PER_SECOND}/s: lag p50 {p50:.0} p99 {p99:.0} ms over {} probes, during {lists:.2} lists of all accounts; \
         all there: {}; one row's write p99 {write_p99:.1} ms over {}",
        lags_ms.len(),
        arrived.is_some(),
        writes_ms.len()
    );
    Ok(vec![
        Row::new("lag_p99_ms", p99, "ms").at_most(1_000.0),
        Row::new("lag_p50_ms", p50, "ms"),
        Row::new("lists_beside_lag", lists, ""),
        Row::new("row_write_beside_resync_p99_ms", write_p99, "ms").at_most(50.0),
        Row::new("row_write_beside_resync_p50_ms", percentile(&mut writes_ms, 0.5), "ms"),
    ])
}

/// As many changes per second as are offered, or as the indexer takes.
async fn throughput(market: &Market, seconds: u32, since: SystemTime) -> Result<Vec<Row>> {
    // What the process does once when it starts is over: its first resync, and its first audit.
    listed_once_more(market).await?;
    let started = Instant::now();
    while !mirror_figures::audited_after(&market.pool, since).await {
        ensure!(started.elapsed() < RESYNC_LIMIT.saturating_mul(2), "the indexer does not audit");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    eprintln!("audited {:.0} s after the first resync", started.elapsed().as_secs_f64());
    let emission = Emission { per_second: OFFERED_PER_SECOND, seconds, probes_per_second: PROBES_PER_SECOND };
    let watch = Watch::start(market.pool.clone(), probes(market.accounts));
    let emitted = market.node.emit(emission).await?;
    let arrived = until_there(&market.pool, &emitted.newest, RESYNC_LIMIT).await;
    let mut lags_ms = watch.lags_ms(&emitted.probes).await?;
    let lag_p99_ms = percentile(&mut lags_ms, 0.99);
    let per_s = arrived.map_or(0.0, |at| emitted.changes as f64 / (at - emitted.began));
    let chain = i64::try_from(market.node.state().await?.sum_of_revisions).context("revisions")?;
    let revisions = until_equal(market, chain).await;
    eprintln!("{per_s:.0} updates/s, lag p99 {lag_p99_ms:.0} ms, {} revisions missing", chain - revisions);
    Ok(vec![
        Row::new("updates_per_s", per_s, "1/s").at_least(5_000.0),
        Row::new("updates_offered_per_s", OFFERED_PER_SECOND.into(), "1/s"),
        Row::new("updates_lag_p99_ms", lag_p99_ms, "ms"),
        Row::new("ingest_missing_revisions", (chain - revisions) as f64, "").at_most(0.0),
    ])
}
