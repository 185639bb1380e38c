//! The marketplace's services in the process of `crtx up`.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use anyhow::bail;
use crtx_localnet::{ListedAgent, Marketplace};
use crtx_server::{
    ServiceConfig,
    config::{load, resolve},
};
use crtx_store::{PgPool, metadata};
use serde_json::Value;
use url::Url;

use super::UpArgs;

const READY_LIMIT: Duration = Duration::from_secs(60);

/// Every role, with the settings with which a `crtx-server` joins. `listen`: where the API is served.
pub fn config(marketplace: &Marketplace, listen: SocketAddr, arguments: &UpArgs) -> anyhow::Result<ServiceConfig> {
    let flags = [
        ("listen", listen.to_string()),
        ("dashboard-enabled", (!arguments.no_dashboard).to_string()),
        // Tests and demonstrations travel in time and want to see what is due soon after.
        ("gateway-housekeeping-seconds", "5".to_owned()),
        // The chain runs in this process, so the indexer believes it even if many accounts disappear at once.
        ("indexer-accept-mass-closing", "true".to_owned()),
    ];
    let flags = flags.map(|(name, value)| (name.to_owned(), value));
    let loaded = load(Some(&marketplace.server_config), &|_| None, &flags)?;
    let config = resolve(&loaded)?.service;
    let site = config.deployment.links.site().clone();
    let local = config.dashboard.then(|| crtx_localnet::demo_wallets::router(&marketplace.keys, site));
    Ok(ServiceConfig { trusted_proxies: arguments.trusted_proxies.iter().copied().collect(), local, ..config })
}

/// Ready means that a caller finds both agents, as they are listed now: after a restart the index may
/// still show an older document, with an endpoint where nobody answers any more.
pub async fn wait_for_agents(base_url: &str, pool: &PgPool, agents: &[ListedAgent]) -> anyhow::Result<()> {
    let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(5)).build()?;
    let started = Instant::now();
    for agent in agents {
        let url = format!("{base_url}/v1/agents/{}", agent.agent_id);
        loop {
            let has_document = metadata::document(pool, &agent.agent_id, &agent.metadata_hash).await?.is_some();
            let shown = answer(&client, &url).await;
            if let Ok(shown) = &shown
                && has_document
                && is_listed_if_active(&client, base_url, shown).await
            {
                break;
            }
            if started.elapsed() > READY_LIMIT {
                bail!("the index does not show {}: {shown:?}", agent.name);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    Ok(())
}

/// The answer of an endpoint that succeeds.
async fn answer(client: &reqwest::Client, url: &str) -> reqwest::Result<Value> {
    client.get(url).send().await?.error_for_status()?.json().await
}

/// Whether the list of agents has it too, because the list follows the database a moment later. A paused agent stands in
/// no list.
async fn is_listed_if_active(client: &reqwest::Client, base_url: &str, agent: &Value) -> bool {
    if agent.get("status").and_then(Value::as_str) != Some("active") {
        return true;
    }
    let text = |pointer| agent.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    // By its name, because the creator may have more agents than one page shows.
    let list = [("limit", "100"), ("sort", "relevance"), ("creator", text("/creator/pubkey")), ("q", text("/name"))];
    let Ok(url) = Url::parse_with_params(&format!("{base_url}/v1/agents"), list) else { return false };
    let list = answer(client, url.as_str()).await;
    let agents = list.as_ref().ok().and_then(|list| list.get("agents")).and_then(Value::as_array);
    agents.into_iter().flatten().any(|listed| listed.get("agent_id") == agent.get("agent_id"))
}
