//! `crtx agent list` and `show`. Everything but the name comes from the chain; without a service the name is missing.

use std::time::Duration;

use agent_marketplace::state::{AgentListed, AgentStatus};
use crtx_protocol::{result_hash::ResultHash, usdc::UsdcBase};
use serde_json::{Value, json};
use solana_pubkey::Pubkey;
use solana_signer::Signer;

use super::Which;
use crate::{
    api::Api,
    arguments::{ReadArgs, ServiceArgs},
    market::Market,
    output::{self, json_time, note, pairs, table, time},
    settings::Settings,
};

/// A name is not worth a longer wait.
const NAME_LIMIT: Duration = Duration::from_secs(3);

pub async fn list(creator: Option<Pubkey>, read: &ReadArgs, settings: &Settings) -> anyhow::Result<()> {
    let creator = match creator {
        Some(creator) => creator,
        None => read.keypair.read(settings)?.pubkey(),
    };
    let market = Market::connect(settings, &read.chain).await?;
    let agents = market.agents_of(&creator).await?;
    let mut named = Vec::new();
    for (address, agent) in agents {
        let name = name_of(settings, &read.service, &address).await;
        named.push((address, agent, name));
    }
    if read.output.json {
        let agents: Vec<Value> = named.iter().map(|(address, agent, name)| as_json(address, agent, name)).collect();
        return output::json(&json!({"creator": creator.to_string(), "agents": agents}));
    }
    if named.is_empty() {
        note!("{creator} has no agents. Make one with: crtx agent init my-agent");
        return Ok(());
    }
    let rows = named.iter().map(|(address, agent, name)| {
        vec![
            agent.index.to_string(),
            name.clone().unwrap_or_else(|| "-".to_owned()),
            status_of(agent).to_owned(),
            UsdcBase(agent.price).to_string(),
            UsdcBase(agent.collateral).to_string(),
            agent.total_executions.to_string(),
            agent.open_executions.to_string(),
            agent.open_disputes.to_string(),
            address.to_string(),
        ]
    });
    let headings = ["index", "name", "status", "price", "collateral", "calls", "open", "disputes", "agent"];
    output::page(&table(&headings, rows.collect()));
    Ok(())
}

pub async fn show(agent: Which, read: &ReadArgs, settings: &Settings) -> anyhow::Result<()> {
    let market = Market::connect(settings, &read.chain).await?;
    let address = match agent {
        Which::Address(address) => address,
        which @ Which::Index(_) => which.address(&market, &read.keypair.read(settings)?.pubkey()),
    };
    let agent = market.agent(&address).await?;
    let name = name_of(settings, &read.service, &address).await;
    if read.output.json {
        return output::json(&as_json(&address, &agent, &name));
    }
    let required = market.config.parameters.required_collateral(agent.price, agent.min_cover);
    let short = if agent.free_collateral() < required { "; less than an active agent needs" } else { "" };
    let rows = [
        ("agent", address.to_string()),
        ("name", name.unwrap_or_else(|| "- (no service says it)".to_owned())),
        ("creator", format!("{} (index {})", agent.creator, agent.index)),
        (
            "status",
            format!(
                "{}{}",
                status_of(&agent),
                if agent.suspended == 1 { ", suspended by the marketplace" } else { "" }
            ),
        ),
        ("price", format!("{} USDC a call", UsdcBase(agent.price))),
        ("time-out", format!("{} s", agent.timeout_seconds)),
        ("binding", if agent.binding == 1 { "results are signed for the call" } else { "no" }.to_owned()),
        ("promised cover", format!("{} calls", agent.min_cover)),
        ("result key", agent.result_key.to_string()),
        ("collateral", format!("{} USDC (required: {}{short})", UsdcBase(agent.collateral), UsdcBase(required))),
        ("slashed", format!("{} USDC", UsdcBase(agent.slashed_total))),
        ("calls", totals_of(&agent)),
        ("disputes", format!("{}, open: {}", agent.disputed_executions, agent.open_disputes)),
        ("metadata", format!("{} ({})", agent.metadata_uri().unwrap_or("?"), ResultHash(agent.metadata_hash))),
        ("listed", time(agent.created_at_unix_s)),
        ("changed", time(agent.updated_at_unix_s)),
    ];
    output::page(&pairs(&rows));
    Ok(())
}

fn totals_of(agent: &AgentListed) -> String {
    format!(
        "{} finished ({} successful, {} failed), {} failed by the gateway's word alone, {} expired, {} open",
        agent.total_executions,
        agent.successful_executions,
        agent.failed_executions,
        agent.unproved_failures,
        agent.expired_executions,
        agent.open_executions
    )
}

fn status_of(agent: &AgentListed) -> &'static str {
    match agent.status() {
        Some(AgentStatus::Active) => "active",
        Some(AgentStatus::Paused) => "paused",
        Some(AgentStatus::Delisted) => "delisted",
        None => "unknown",
    }
}

fn as_json(address: &Pubkey, agent: &AgentListed, name: &Option<String>) -> Value {
    json!({
        "agent_id": address.to_string(),
        "name": name,
        "creator": agent.creator.to_string(),
        "index": agent.index,
        "status": status_of(agent),
        "suspended": agent.suspended == 1,
        "price_per_call_usdc": UsdcBase(agent.price),
        "timeout_seconds": agent.timeout_seconds,
        "binding": agent.binding == 1,
        "min_cover": agent.min_cover,
        "result_key": agent.result_key.to_string(),
        "collateral_usdc": UsdcBase(agent.collateral),
        "slashed_usdc": UsdcBase(agent.slashed_total),
        "total_executions": agent.total_executions,
        "successful_executions": agent.successful_executions,
        "failed_executions": agent.failed_executions,
        "unproved_failures": agent.unproved_failures,
        "expired_executions": agent.expired_executions,
        "open_executions": agent.open_executions,
        "dispute_count": agent.disputed_executions,
        "open_disputes": agent.open_disputes,
        "metadata_uri": agent.metadata_uri(),
        "metadata_hash": ResultHash(agent.metadata_hash).to_string(),
        "created_at": json_time(agent.created_at_unix_s),
        "updated_at": json_time(agent.updated_at_unix_s),
    })
}

/// The name that the service shows; `None` if no service answers soon, or if it does not know the agent.
async fn name_of(settings: &Settings, service: &ServiceArgs, agent: &Pubkey) -> Option<String> {
    let api = Api::of(settings, service).ok()?;
    let path = format!("/v1/agents/{agent}");
    let listing: Value = tokio::time::timeout(NAME_LIMIT, api.get(&path)).await.ok()?.ok()?;
    listing.get("name")?.as_str().map(str::to_owned)
}
