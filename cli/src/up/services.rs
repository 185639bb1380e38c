//! The marketplace's services in the process of `crtx up`.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::bail;
use crtx_content::{ContentLocation, ContentSources};
use crtx_gateway::{GatewayConfig, Limits};
use crtx_http::{Links, outbound::OutboundPolicy};
use crtx_indexer::{IndexerConfig, api::Deployment};
use crtx_localnet::{ListedAgent, Marketplace};
use crtx_protocol::cluster::Cluster;
use crtx_server::{Roles, ServiceConfig};
use crtx_store::{PgPool, metadata};

const READY_LIMIT: Duration = Duration::from_secs(60);

/// Every role, over the local network. `base_url` is where the API is served.
pub fn config(marketplace: &Marketplace, base_url: &str) -> anyhow::Result<ServiceConfig> {
    let Marketplace { keys, instructions, rpc_url, ws_url, content_dir, .. } = marketplace;
    let links = Links::local(base_url, rpc_url);
    let content = ContentLocation::Folder(content_dir.clone());
    let gateway = GatewayConfig {
        rpc_urls: rpc_url.parse()?,
        addresses: instructions.addresses,
        usdc_mint: instructions.usdc_mint,
        keypair: Arc::new(keys.gateway_authority.insecure_clone()),
        cluster: Cluster::Localnet,
        outbound: OutboundPolicy::LOCAL,
        links: links.clone(),
        content: content.clone(),
        // Tests and demonstrations travel in time and want to see what is due soon after.
        limits: Limits { housekeeping_every: Duration::from_secs(5), ..Limits::default() },
    };
    let indexer = IndexerConfig {
        outbound: OutboundPolicy::LOCAL,
        content: ContentSources { store: Some(content), base_url: None },
        ..IndexerConfig::new(rpc_url.parse()?, ws_url, agent_marketplace::ID)
    };
    Ok(ServiceConfig {
        roles: Roles::all(),
        deployment: Deployment {
            cluster: Cluster::Localnet,
            addresses: instructions.addresses,
            links,
            rpc_urls: rpc_url.parse()?,
            public_rpc_url: Some(rpc_url.clone()),
            outbound_addresses: Vec::new(),
        },
        gateway: Some(gateway),
        indexer: Some(indexer),
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
            let answer = client.get(&url).send().await;
            if has_document && answer.as_ref().is_ok_and(|answer| answer.status().is_success()) {
                break;
            }
            if started.elapsed() > READY_LIMIT {
                bail!("the index does not show {}: {answer:?}", agent.name);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    Ok(())
}
