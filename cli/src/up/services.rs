//! The marketplace's services in the process of `crtx up`.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::bail;
use crtx_api::Deployment;
use crtx_content::ContentSources;
use crtx_gateway::{GatewayConfig, Limits};
use crtx_http::{Links, TrustedProxies, outbound::OutboundPolicy};
use crtx_localnet::{ListedAgent, Marketplace};
use crtx_mirror::{IndexerConfig, config::DEFAULT_RESYNC_INTERVAL, sync::SyncSettings};
use crtx_protocol::cluster::Cluster;
use crtx_server::{Roles, ServiceConfig};
use crtx_store::{PgPool, metadata};
use serde_json::Value;
use url::Url;

const READY_LIMIT: Duration = Duration::from_secs(60);

/// Every role, over the local network. `base_url` is where the API is served, `dashboard` whether its pages are, too.
pub fn config(marketplace: &Marketplace, base_url: &str, dashboard: bool) -> anyhow::Result<ServiceConfig> {
    let Marketplace { keys, instructions, rpc_url, ws_url, content_dir, .. } = marketplace;
    let links = Links::local(base_url, rpc_url);
    let gateway = GatewayConfig {
        rpc_urls: rpc_url.parse()?,
        addresses: instructions.addresses,
        usdc_mint: instructions.usdc_mint,
        keypair: Arc::new(keys.gateway_authority.insecure_clone()),
        cluster: Cluster::Localnet,
        outbound: OutboundPolicy::LOCAL,
        links: links.clone(),
        content: content_dir.clone(),
        // Tests and demonstrations travel in time and want to see what is due soon after.
        limits: Limits { housekeeping_every: Duration::from_secs(5), ..Limits::default() },
    };
    let indexer = IndexerConfig {
        // The chain runs in this process: whatever it closed is closed.
        sync: SyncSettings { accept_mass_closing: true, ..SyncSettings::new(DEFAULT_RESYNC_INTERVAL) },
        outbound: OutboundPolicy::LOCAL,
        content: ContentSources { store: Some(content_dir.clone()), base_url: None },
        ..IndexerConfig::new(rpc_url.parse()?, ws_url, agent_marketplace::ID)
    };
    Ok(ServiceConfig {
        roles: Roles::all(),
        deployment: Deployment {
            cluster: Cluster::Localnet,
            addresses: instructions.addresses,
            links: links.clone(),
            rpc_urls: rpc_url.parse()?,
            public_rpc_url: Some(rpc_url.clone()),
            outbound_addresses: Vec::new(),
        },
        gateway: Some(gateway),
        indexer: Some(indexer),
        trusted_proxies: TrustedProxies::default(),
        metrics_listen: None,
        dashboard,
        local: dashboard.then(|| crtx_localnet::demo_wallets::router(keys, links.site().clone())),
        max_lag: Some(crtx_api::DEFAULT_MAX_LAG),
    })
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
            match &shown {
                Ok(shown) if has_document && is_listed_if_active(&client, base_url, shown).await => break,
                _ => {}
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
