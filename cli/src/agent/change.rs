//! `crtx agent pause`, `resume`, `topup` and `rotate-key`.

use std::path::{Path, PathBuf};

use agent_marketplace::{instructions::UpdateListingArgs, state::AgentStatus};
use anyhow::bail;
use crtx_protocol::usdc::UsdcBase;
use serde_json::json;
use solana_pubkey::Pubkey;
use solana_signer::Signer;

use super::which::Which;
use crate::{
    arguments::{SendArgs, some_usdc},
    keypair_file,
    settings::{Role, Settings},
    transaction::{Plan, Sender},
};

#[derive(Clone, Debug, clap::Args)]
pub struct StatusArgs {
    /// Address of the agent, or its index among your agents
    #[arg(value_name = "AGENT")]
    agent: Which,
    #[command(flatten)]
    send: SendArgs,
}

#[derive(Clone, Debug, clap::Args)]
pub struct TopupArgs {
    /// Address of the agent, or its index among your agents
    #[arg(value_name = "AGENT")]
    agent: Which,
    /// USDC to add
    #[arg(value_name = "USDC", value_parser = some_usdc)]
    amount: UsdcBase,
    #[command(flatten)]
    send: SendArgs,
}

#[derive(Clone, Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("new_key").required(true).args(["key", "result_key"]))]
pub struct RotateKeyArgs {
    /// Address of the agent, or its index among your agents
    #[arg(value_name = "AGENT")]
    agent: Which,
    /// File with the new key pair; it is made if it does not exist
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// The new public key, if the key pair is elsewhere
    #[arg(long, value_name = "ADDRESS")]
    result_key: Option<Pubkey>,
    #[command(flatten)]
    send: SendArgs,
}

pub async fn pause(arguments: &StatusArgs, settings: &Settings) -> anyhow::Result<()> {
    let effect = "New calls are refused until you resume it. Calls under way go on, and the collateral stays locked.";
    set_status(arguments, settings, AgentStatus::Paused, "paused", effect).await
}

pub async fn resume(arguments: &StatusArgs, settings: &Settings) -> anyhow::Result<()> {
    set_status(arguments, settings, AgentStatus::Active, "active", "The agent accepts calls.").await
}

async fn set_status(
    arguments: &StatusArgs,
    settings: &Settings,
    status: AgentStatus,
    name: &str,
    effect: &str,
) -> anyhow::Result<()> {
    let sender = Sender::open(settings, &arguments.send, Role::Wallet).await?;
    let (address, agent) = arguments.agent.own(&sender).await?;
    let more = json!({"agent_id": address.to_string(), "status": name});
    if agent.status() == Some(status) {
        return sender.nothing_to_do(&format!("{address} is {name} already"), more);
    }
    let required = sender.market.config.parameters.required_collateral(agent.price);
    if status == AgentStatus::Active && agent.collateral < required {
        bail!(
            "the agent holds {} USDC of collateral and needs {}; add the difference with: crtx agent topup {address} {}",
            UsdcBase(agent.collateral),
            UsdcBase(required),
            UsdcBase(required.saturating_sub(agent.collateral))
        );
    }
    let instruction = sender.market.instructions.set_agent_status(&sender.wallet(), &address, status);
    let order = if status == AgentStatus::Active { "Resume" } else { "Pause" };
    let plan = Plan::new(format!("{order} the agent {address}"), vec![instruction]).effect(effect);
    sender.finish(plan, &format!("{address} is {name}"), more).await
}

pub async fn topup(arguments: &TopupArgs, settings: &Settings) -> anyhow::Result<()> {
    let sender = Sender::open(settings, &arguments.send, Role::Wallet).await?;
    let (address, agent) = arguments.agent.own(&sender).await?;
    let UsdcBase(amount) = arguments.amount;
    let after = UsdcBase(agent.collateral.saturating_add(amount));
    let instruction = sender.market.instructions.deposit_collateral(&sender.wallet(), &address, amount);
    let plan = Plan::new(format!("Add collateral to the agent {address}"), vec![instruction])
        .effect(format!("The collateral rises to {after} USDC. It is locked until the agent is delisted."))
        .moves(amount, "your wallet", "the collateral of the agent");
    let more = json!({"agent_id": address.to_string(), "collateral_usdc": after});
    sender.finish(plan, &format!("{address} holds {after} USDC of collateral"), more).await
}

pub async fn rotate_key(arguments: &RotateKeyArgs, settings: &Settings) -> anyhow::Result<()> {
    let sender = Sender::open(settings, &arguments.send, Role::Wallet).await?;
    let (address, agent) = arguments.agent.own(&sender).await?;
    let new_key = match (&arguments.key, arguments.result_key) {
        (Some(path), _) => read_or_make(path)?,
        (None, key) => key.unwrap_or_default(),
    };
    let more = json!({"agent_id": address.to_string(), "result_key": new_key.to_string()});
    if agent.result_key == new_key {
        return sender.nothing_to_do(&format!("{new_key} is the result key already"), more);
    }
    let update = UpdateListingArgs {
        price: None,
        timeout_seconds: None,
        result_key: Some(new_key),
        binding: None,
        metadata: None,
    };
    let instruction = sender.market.instructions.update_listing(&sender.wallet(), &address, update);
    let plan = Plan::new(format!("Replace the result key of the agent {address}"), vec![instruction])
        .effect(format!("Results of new calls have to be signed with {new_key}."))
        .effect(format!("Calls under way ({}) still take the old key, {}.", agent.open_executions, agent.result_key));
    sender.finish(plan, &format!("{address} has the result key {new_key}"), more).await
}

/// An earlier run may have made the file and ended before the transaction.
fn read_or_make(path: &Path) -> anyhow::Result<Pubkey> {
    let keypair = if path.exists() { keypair_file::read(path)? } else { keypair_file::create(path)? };
    Ok(keypair.pubkey())
}
