//! `crtx agent delist`, `withdraw` and `close`: the way out of the market, in this order.

use agent_marketplace::state::{AgentListed, AgentStatus};
use anyhow::bail;
use crtx_protocol::usdc::UsdcBase;
use serde_json::json;
use solana_pubkey::Pubkey;

use super::which::Which;
use crate::{
    arguments::SendArgs,
    output::{duration, sol, time},
    settings::{Role, Settings},
    transaction::{Plan, Sender},
};

/// Receives what is paid out; it may have been closed.
const YOUR_ACCOUNT: &str = "your USDC account";

#[derive(Clone, Debug, clap::Args)]
pub struct LeaveArgs {
    /// Address of the agent, or its index among your agents
    #[arg(value_name = "AGENT")]
    agent: Which,
    #[command(flatten)]
    send: SendArgs,
}

pub async fn delist(arguments: &LeaveArgs, settings: &Settings) -> anyhow::Result<()> {
    let sender = Sender::open(settings, &arguments.send, Role::Wallet).await?;
    let (address, agent) = arguments.agent.own(&sender).await?;
    let more = json!({"agent_id": address.to_string(), "status": "delisted"});
    if agent.status() == Some(AgentStatus::Delisted) {
        return sender.nothing_to_do(&format!("{address} is delisted already"), more);
    }
    let locked_until = match agent.last_dispute_deadline_unix_s {
        0 => "as soon as it is delisted".to_owned(),
        deadline => format!("after {}, or later if a call under way completes or is disputed", time(deadline)),
    };
    let instruction = sender.market.instructions.delist_agent(&sender.wallet(), &address);
    let plan = Plan::new(format!("Delist the agent {address}"), vec![instruction])
        .effect("The agent takes no calls any more. This cannot be undone; another listing has another address.")
        .effect(format!("The collateral of {} USDC can be withdrawn {locked_until}.", UsdcBase(agent.collateral)));
    let text = format!("{address} is delisted; get the collateral back with: crtx agent withdraw {address}");
    sender.finish(plan, &text, more).await
}

pub async fn withdraw(arguments: &LeaveArgs, settings: &Settings) -> anyhow::Result<()> {
    let sender = Sender::open(settings, &arguments.send, Role::Wallet).await?;
    let (address, agent) = arguments.agent.own(&sender).await?;
    let amount = UsdcBase(agent.collateral);
    let more = json!({"agent_id": address.to_string(), "withdrawn_usdc": amount});
    if agent.status() == Some(AgentStatus::Delisted) && agent.collateral == 0 {
        return sender.nothing_to_do(&format!("{address} holds no collateral any more"), more);
    }
    refuse_while_claimed(&agent, sender.market.now().await?)?;
    let plan = Plan::new(format!("Withdraw the collateral of the agent {address}"), vec![]);
    let mut plan = sender.with_usdc_account(plan, &sender.wallet(), YOUR_ACCOUNT).await?;
    plan.instructions.push(sender.market.instructions.withdraw_collateral(&sender.wallet(), &address));
    let plan = plan.moves(agent.collateral, "the collateral of the agent", "your wallet");
    let text = format!("{amount} USDC are back in your wallet; close the accounts with: crtx agent close {address}");
    sender.finish(plan, &text, more).await
}

pub async fn close(arguments: &LeaveArgs, settings: &Settings) -> anyhow::Result<()> {
    let sender = Sender::open(settings, &arguments.send, Role::Wallet).await?;
    let address = arguments.agent.address(&sender.market, &sender.wallet());
    let more = json!({"agent_id": address.to_string(), "status": "closed"});
    if !sender.market.exists(&address).await? {
        let text = format!("{address} is not on the chain; it is closed already, or never was listed");
        return sender.nothing_to_do(&text, more);
    }
    let (_, agent) = Which::Address(address).own(&sender).await?;
    refuse_while_claimed(&agent, sender.market.now().await?)?;
    if agent.collateral > 0 {
        bail!(
            "the agent still holds {} USDC; get them back first with: crtx agent withdraw {address}",
            UsdcBase(agent.collateral)
        );
    }
    let rent = rent_of(&sender, &address).await?;
    let plan = Plan::new(format!("Close the agent {address}"), vec![])
        .effect(format!("Its three accounts are deleted and {} SOL of rent return to your wallet.", sol(rent)))
        .effect("Its totals are added to your creator profile.");
    let mut plan = sender.with_usdc_account(plan, &sender.wallet(), YOUR_ACCOUNT).await?;
    plan.instructions.push(sender.market.instructions.close_agent(&sender.wallet(), &address));
    sender.finish(plan, &format!("{address} is closed"), more).await
}

async fn rent_of(sender: &Sender, agent: &Pubkey) -> anyhow::Result<u64> {
    let addresses = sender.market.addresses();
    let accounts = [*agent, addresses.escrow(agent), addresses.collateral(agent)];
    let found = sender.market.chain.accounts(&accounts).await?.value;
    Ok(found.into_iter().flatten().fold(0, |sum, account| account.lamports.saturating_add(sum)))
}

/// Says everything that still stands in the way, and when it is over.
fn refuse_while_claimed(agent: &AgentListed, now: i64) -> anyhow::Result<()> {
    let claims = claims_on(agent, now);
    if !claims.is_empty() {
        bail!("the collateral is still locked: {}", claims.join("; "));
    }
    Ok(())
}

fn claims_on(agent: &AgentListed, now: i64) -> Vec<String> {
    let mut claims = Vec::new();
    if agent.status() != Some(AgentStatus::Delisted) {
        claims.push("the agent is not delisted (crtx agent delist)".to_owned());
    }
    if agent.open_executions > 0 {
        claims.push(format!("{} calls are open", agent.open_executions));
    }
    if agent.open_disputes > 0 {
        claims.push(format!("{} disputes are open", agent.open_disputes));
    }
    let deadline = agent.last_dispute_deadline_unix_s;
    if now <= deadline {
        let left = duration(deadline.saturating_sub(now).saturating_add(1));
        claims.push(format!("a completed call can be disputed until {} (in {left})", time(deadline)));
    }
    claims
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;

    use super::*;

    #[test]
    fn everything_that_locks_the_collateral_is_named() {
        let mut agent = AgentListed::zeroed();
        agent.status = AgentStatus::Active as u8;
        agent.open_executions = 2;
        agent.open_disputes = 1;
        agent.last_dispute_deadline_unix_s = 1_000;
        let claims = claims_on(&agent, 940);
        assert_eq!(claims.len(), 4, "{claims:?}");
        assert!(claims[3].contains("in 1 minute 1 second"), "{claims:?}");
        agent.status = AgentStatus::Delisted as u8;
        (agent.open_executions, agent.open_disputes) = (0, 0);
        assert_eq!(claims_on(&agent, 1_000).len(), 1, "the last second belongs to the window");
        assert_eq!(claims_on(&agent, 1_001), Vec::<String>::new());
    }
}
