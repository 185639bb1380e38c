//! What an emergency needs: `crtx admin pause`, `unpause`, `suspend`, `resume` and `set-keys`.

use agent_marketplace::instructions::{SetPausedArgs, UpdateConfigArgs};
use anyhow::bail;
use serde_json::json;
use solana_pubkey::Pubkey;

use super::open;
use crate::{
    arguments::RoleArgs,
    settings::Settings,
    transaction::{Plan, Sender},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum What {
    Calls,
    Listings,
}

#[derive(Clone, Debug, clap::Args)]
pub struct PauseArgs {
    /// Not both, but only this
    #[arg(long, value_name = "WHAT")]
    only: Option<What>,
    #[command(flatten)]
    role: RoleArgs,
}

#[derive(Clone, Debug, clap::Args)]
pub struct SuspendArgs {
    /// The agent
    #[arg(value_name = "AGENT_ID")]
    agent: Pubkey,
    #[command(flatten)]
    role: RoleArgs,
}

#[derive(Clone, Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("keys").required(true).multiple(true)
    .args(["gateway_authority", "guardian", "no_guardian"]))]
pub struct SetKeysArgs {
    /// The key with which the services settle from now on
    #[arg(long, value_name = "ADDRESS")]
    gateway_authority: Option<Pubkey>,
    /// Who may stop new calls and listings, and suspend an agent, but not resume
    #[arg(long, value_name = "ADDRESS")]
    guardian: Option<Pubkey>,
    /// Have no guardian
    #[arg(long, conflicts_with = "guardian")]
    no_guardian: bool,
    #[command(flatten)]
    role: RoleArgs,
}

/// The admin may stop and resume, the guardian stop.
async fn open_to_stop(settings: &Settings, role: &RoleArgs, stops: bool) -> anyhow::Result<Sender> {
    let sender = Sender::open_role(settings, role).await?;
    let config = &sender.market.config;
    if config.check_stopper(&sender.wallet(), !stops).is_err() {
        let guardian =
            if stops { format!(" or the guardian {}", super::status::holder(&config.guardian)) } else { String::new() };
        bail!("only the admin {}{guardian} may do this; name its key pair with --keypair", config.admin);
    }
    Ok(sender)
}

pub async fn set_paused(arguments: &PauseArgs, settings: &Settings, paused: bool) -> anyhow::Result<()> {
    let sender = open_to_stop(settings, &arguments.role, paused).await?;
    let config = &sender.market.config;
    let named = |what| arguments.only.is_none_or(|only| only == what);
    let (calls, listings) = (named(What::Calls), named(What::Listings));
    let more = json!({
        "openings_paused": if calls { paused } else { config.openings_paused == 1 },
        "listings_paused": if listings { paused } else { config.listings_paused == 1 },
    });
    let what = match arguments.only {
        None => "new calls and listings",
        Some(What::Calls) => "new calls",
        Some(What::Listings) => "new listings",
    };
    let state = if paused { "stopped" } else { "possible" };
    let is_so = |named: bool, now: u8| !named || (now == 1) == paused;
    if is_so(calls, config.openings_paused) && is_so(listings, config.listings_paused) {
        return sender.nothing_to_do(&format!("{what} are {state} already"), more);
    }
    let args = SetPausedArgs { openings: calls.then_some(paused), listings: listings.then_some(paused) };
    let instruction = sender.market.instructions.set_paused(&sender.wallet(), args);
    let plan = match paused {
        true => Plan::new(format!("Stop {what}"), vec![instruction])
            .effect("They are refused. Settlement, refund, dispute and withdrawal go on."),
        false => Plan::new(format!("Allow {what}"), vec![instruction]).effect("They are possible again."),
    };
    sender.finish(plan, &format!("{what} are {state}"), more).await
}

pub async fn suspend(arguments: &SuspendArgs, settings: &Settings, suspended: bool) -> anyhow::Result<()> {
    let sender = open_to_stop(settings, &arguments.role, suspended).await?;
    let agent = arguments.agent;
    let listing = sender.market.agent(&agent).await?;
    let state = if suspended { "suspended" } else { "not suspended" };
    let more = json!({"agent_id": agent.to_string(), "suspended": suspended});
    if (listing.suspended == 1) == suspended {
        return sender.nothing_to_do(&format!("the agent {agent} is {state} already"), more);
    }
    let instruction = sender.market.instructions.suspend_agent(&sender.wallet(), &agent, suspended);
    let plan = match suspended {
        true => Plan::new(format!("Suspend the agent {agent}"), vec![instruction]).effect(
            "New calls of it are refused until the admin resumes it. Settlement, refund, dispute and withdrawal go on.",
        ),
        false => Plan::new(format!("Resume the agent {agent}"), vec![instruction])
            .effect("New calls of it are possible, if its creator has not paused it."),
    };
    sender.finish(plan, &format!("the agent {agent} is {state}"), more).await
}

pub async fn set_keys(arguments: &SetKeysArgs, settings: &Settings) -> anyhow::Result<()> {
    let sender = open(settings, &arguments.role).await?;
    let config = &sender.market.config;
    let guardian = if arguments.no_guardian { Some(Pubkey::default()) } else { arguments.guardian };
    let args = UpdateConfigArgs { gateway_authority: arguments.gateway_authority, guardian };
    let wanted = (args.gateway_authority.unwrap_or(config.gateway_authority), args.guardian.unwrap_or(config.guardian));
    let more = json!({
        "gateway_authority": wanted.0.to_string(),
        "guardian": (wanted.1 != Pubkey::default()).then(|| wanted.1.to_string()),
    });
    if wanted == (config.gateway_authority, config.guardian) {
        return sender.nothing_to_do("these keys are set already", more);
    }
    let mut plan = Plan::new("Set keys of the marketplace", vec![]);
    if wanted.0 != config.gateway_authority {
        plan = plan.effect(format!(
            "The services settle with {} from now on, and not with {}.",
            wanted.0, config.gateway_authority
        ));
    }
    if wanted.1 != config.guardian {
        plan = plan.effect(match wanted.1 == Pubkey::default() {
            true => "There is no guardian any more.".to_owned(),
            false => format!("The guardian is {} from now on: it may stop, and not resume.", wanted.1),
        });
    }
    plan.instructions.push(sender.market.instructions.update_config(&sender.wallet(), args));
    sender.finish(plan, "the keys are set", more).await
}
