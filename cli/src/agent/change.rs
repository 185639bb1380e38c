//! `crtx agent pause`, `resume`, `topup` and `rotate-key`, and the way out of the market: `delist`, `withdraw` and
//! `close`, in this order.

use std::path::PathBuf;

use agent_marketplace::{
    instructions::UpdateListingArgs,
    state::{AgentListed, AgentStatus},
};
use anyhow::bail;
use crtx_protocol::usdc::UsdcBase;
use serde_json::json;
use solana_pubkey::Pubkey;
use solana_signer::Signer;

use super::Which;
use crate::{
    arguments::SendArgs,
    keypair_file,
    output::{duration, sol, time},
    settings::{Settings, SignerRole},
    transaction::{Plan, Sender},
};

/// Receives what is paid out; the owner may have closed it.
const YOUR_ACCOUNT: &str = "your USDC account";

#[derive(Clone, Debug, clap::Args)]
pub struct OwnArgs {
    /// Address of the agent, or its index among your agents
    #[arg(value_name = "AGENT")]
    agent: Which,
    #[command(flatten)]
    send: SendArgs,
}

impl OwnArgs {
    /// The wallet that signs, and its agent.
    async fn open(&self, settings: &Settings) -> anyhow::Result<(Sender, Pubkey, AgentListed)> {
        let sender = Sender::open(settings, &self.send, SignerRole::Wallet).await?;
        let address = self.agent.address(&sender.market, &sender.wallet());
        let agent = own_agent(&sender, &address).await?;
        Ok((sender, address, agent))
    }
}

async fn own_agent(sender: &Sender, address: &Pubkey) -> anyhow::Result<AgentListed> {
    let agent = sender.market.agent(address).await?;
    if agent.creator != sender.wallet() {
        bail!("agent {address} belongs to {}, not to the wallet {}", agent.creator, sender.wallet());
    }
    Ok(agent)
}

#[derive(Clone, Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("new_key").required(true).args(["key", "result_key"]))]
pub struct RotateKeyArgs {
    /// File with the new key pair; it is made if it does not exist
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// The new public key, if the key pair is elsewhere
    #[arg(long, value_name = "ADDRESS")]
    result_key: Option<Pubkey>,
    #[command(flatten)]
    own: OwnArgs,
}

/// `status`: active or paused.
pub async fn set_status(arguments: &OwnArgs, settings: &Settings, status: AgentStatus) -> anyhow::Result<()> {
    let (sender, address, agent) = arguments.open(settings).await?;
    let (name, order, effect) = match status {
        AgentStatus::Active => ("active", "Resume", "The agent accepts calls."),
        _ => (
            "paused",
            "Pause",
            "New calls are refused until you resume it. Calls under way go on, and the collateral stays locked.",
        ),
    };
    let more = json!({"agent_id": address.to_string(), "status": name});
    if agent.status() == Some(status) {
        return sender.nothing_to_do(&format!("{address} is {name} already"), more);
    }
    let required = sender.market.config.parameters.required_collateral(agent.price, agent.min_cover);
    let free = agent.free_collateral();
    if status == AgentStatus::Active && free < required {
        bail!(
            "the agent holds {} USDC of collateral that nobody claims and needs {}; add the difference with: crtx agent \
             topup {address} {}",
            UsdcBase(free),
            UsdcBase(required),
            UsdcBase(required.saturating_sub(free))
        );
    }
    let instruction = sender.market.instructions.set_agent_status(&sender.wallet(), &address, status);
    let plan = Plan::new(format!("{order} the agent {address}"), vec![instruction]).effect(effect);
    sender.finish(plan, &format!("{address} is {name}"), more).await
}

pub async fn topup(own: &OwnArgs, UsdcBase(amount): UsdcBase, settings: &Settings) -> anyhow::Result<()> {
    let (sender, address, agent) = own.open(settings).await?;
    let after = UsdcBase(agent.collateral.saturating_add(amount));
    let instruction = sender.market.instructions.deposit_collateral(&sender.wallet(), &address, amount);
    let plan = Plan::new(format!("Add collateral to the agent {address}"), vec![instruction])
        .effect(format!("The collateral rises to {after} USDC. It is locked until the agent is delisted."))
        .moves(amount, "your wallet", "the collateral of the agent");
    let more = json!({"agent_id": address.to_string(), "collateral_usdc": after});
    sender.finish(plan, &format!("{address} holds {after} USDC of collateral"), more).await
}

pub async fn rotate_key(arguments: &RotateKeyArgs, settings: &Settings) -> anyhow::Result<()> {
    let (sender, address, agent) = arguments.own.open(settings).await?;
    let new_key = match (&arguments.key, arguments.result_key) {
        // An earlier run may have made the file and ended before the transaction.
        (Some(path), _) if path.exists() => keypair_file::read(path)?.pubkey(),
        (Some(path), _) => keypair_file::create(path)?.pubkey(),
        (None, key) => key.unwrap_or_default(),
    };
    let more = json!({"agent_id": address.to_string(), "result_key": new_key.to_string()});
    if agent.result_key == new_key {
        return sender.nothing_to_do(&format!("{new_key} is the result key already"), more);
    }
    let update = UpdateListingArgs { result_key: Some(new_key), ..UpdateListingArgs::default() };
    let instruction = sender.market.instructions.update_listing(&sender.wallet(), &address, update);
    let plan = Plan::new(format!("Replace the result key of the agent {address}"), vec![instruction])
        .effect(format!("Results of new calls have to be signed with {new_key}."))
        .effect(format!("Calls under way ({}) still take the old key, {}.", agent.open_executions, agent.result_key));
    sender.finish(plan, &format!("{address} has the result key {new_key}"), more).await
}

pub async fn delist(arguments: &OwnArgs, settings: &Settings) -> anyhow::Result<()> {
    let (sender, address, agent) = arguments.open(settings).await?;
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

pub async fn withdraw(arguments: &OwnArgs, settings: &Settings) -> anyhow::Result<()> {
    let (sender, address, agent) = arguments.open(settings).await?;
    let (amount, kept) = (agent.unslashable_collateral(), agent.collateral.min(agent.slashable_amount));
    let more = json!({
        "agent_id": address.to_string(),
        "withdrawn_usdc": UsdcBase(amount),
        "kept_usdc": UsdcBase(kept),
    });
    if agent.status() == Some(AgentStatus::Delisted) && agent.collateral == 0 {
        return sender.nothing_to_do(&format!("{address} holds no collateral any more"), more);
    }
    refuse_while_locked(&locks_on(&agent, sender.market.now().await?))?;
    if amount == 0 {
        bail!("open disputes can still take all of the {} USDC of collateral", UsdcBase(agent.collateral));
    }
    let withdraw = sender.market.instructions.withdraw_collateral(&sender.wallet(), &address);
    let mut plan = Plan::new(format!("Withdraw the collateral of the agent {address}"), vec![withdraw]).moves(
        amount,
        "the collateral of the agent",
        "your wallet",
    );
    if kept > 0 {
        plan = plan.effect(format!(
            "{} USDC stay: open disputes can still take them. Withdraw again when they are decided.",
            UsdcBase(kept)
        ));
    }
    let plan = sender.with_usdc_account(plan, &sender.wallet(), YOUR_ACCOUNT).await?;
    let next = if kept == 0 { "close" } else { "withdraw" };
    let text = format!("{} USDC are back in your wallet; go on with: crtx agent {next} {address}", UsdcBase(amount));
    sender.finish(plan, &text, more).await
}

pub async fn close(arguments: &OwnArgs, settings: &Settings) -> anyhow::Result<()> {
    let sender = Sender::open(settings, &arguments.send, SignerRole::Wallet).await?;
    let address = arguments.agent.address(&sender.market, &sender.wallet());
    let more = json!({"agent_id": address.to_string(), "status": "closed"});
    if !sender.market.exists(&address).await? {
        let text = format!("{address} is not on the chain; it is closed already, or never was listed");
        return sender.nothing_to_do(&text, more);
    }
    let agent = own_agent(&sender, &address).await?;
    refuse_while_locked(&claims_on(&agent, sender.market.now().await?))?;
    if agent.collateral > 0 {
        bail!(
            "the agent still holds {} USDC; get them back first with: crtx agent withdraw {address}",
            UsdcBase(agent.collateral)
        );
    }
    let addresses = sender.market.addresses();
    let accounts = [address, addresses.escrow(&address), addresses.collateral(&address)];
    let accounts = sender.market.chain.accounts(&accounts).await?.value;
    let rent = accounts.into_iter().flatten().fold(0, |sum, account| account.lamports.saturating_add(sum));
    let close = sender.market.instructions.close_agent(&sender.wallet(), &address);
    let plan = Plan::new(format!("Close the agent {address}"), vec![close])
        .effect(format!("Its three accounts are deleted and {} SOL of rent return to your wallet.", sol(rent)))
        .effect("Its totals are added to your creator profile.");
    let plan = sender.with_usdc_account(plan, &sender.wallet(), YOUR_ACCOUNT).await?;
    sender.finish(plan, &format!("{address} is closed"), more).await
}

/// Names everything that still locks the collateral.
fn refuse_while_locked(reasons: &[String]) -> anyhow::Result<()> {
    if !reasons.is_empty() {
        bail!("the collateral is still locked: {}", reasons.join("; "));
    }
    Ok(())
}

/// What locks the accounts: what locks the whole collateral, and open disputes, which lock a part of it.
fn claims_on(agent: &AgentListed, now: i64) -> Vec<String> {
    let mut claims = locks_on(agent, now);
    if agent.open_disputes > 0 {
        claims.push(format!("{} disputes are open", agent.open_disputes));
    }
    claims
}

/// What locks the whole collateral, and until when.
fn locks_on(agent: &AgentListed, now: i64) -> Vec<String> {
    let mut locks = Vec::new();
    if agent.status() != Some(AgentStatus::Delisted) {
        locks.push("the agent is not delisted (crtx agent delist)".to_owned());
    }
    if agent.open_executions > 0 {
        locks.push(format!("{} calls are open", agent.open_executions));
    }
    let deadline = agent.last_dispute_deadline_unix_s;
    if now <= deadline {
        let left = duration(deadline.saturating_sub(now).saturating_add(1));
        locks.push(format!("a completed call can be disputed until {} (in {left})", time(deadline)));
    }
    locks
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
        assert!(claims[2].contains("in 1 minute 1 second"), "{claims:?}");
        agent.status = AgentStatus::Delisted as u8;
        (agent.open_executions, agent.open_disputes) = (0, 0);
        assert_eq!(claims_on(&agent, 1_000).len(), 1, "the last second belongs to the window");
        assert_eq!(claims_on(&agent, 1_001), Vec::<String>::new());
    }
}
