//! `crtx key topup`: raises caps and expiry of a key, and the approval that all keys of the wallet share. `crtx key
//! revoke`: ends a key at the service, where it holds at once, and on chain, where it holds without any service.

use agent_marketplace::{instructions::grant_spending::GrantSpendingArgs, state::SpendingGrant};
use anyhow::{Context, bail};
use crtx_protocol::usdc::UsdcBase;
use serde_json::json;
use solana_pubkey::Pubkey;

use super::{funds::WalletFunds, registry};
use crate::{
    arguments::{SendArgs, ServiceArgs, lifetime, some_usdc, usdc},
    asker::Asker,
    output::{self, note, say},
    settings::{Settings, SignerRole},
    transaction::{Plan, Sender},
};

#[derive(Clone, Debug, clap::Args)]
pub struct TopupArgs {
    /// Name or session public key of a key; without it, only the approval rises to what the keys may still spend
    pub key: Option<String>,
    /// USDC that the key may spend in addition
    #[arg(long, value_name = "USDC", value_parser = some_usdc, requires = "key")]
    add: Option<UsdcBase>,
    /// Most that one call may cost from now on, in USDC
    #[arg(long, value_name = "USDC", value_parser = some_usdc, requires = "key")]
    per_call: Option<UsdcBase>,
    /// Most that the calls of one UTC day may cost from now on, in USDC; 0: the day is not limited
    #[arg(long, value_name = "USDC", value_parser = usdc, requires = "key")]
    per_day: Option<UsdcBase>,
    /// How long the key lives from now on: a number and d, h, m or s
    #[arg(long, value_name = "TIME", value_parser = lifetime, requires = "key")]
    expires: Option<i64>,
    #[command(flatten)]
    send: SendArgs,
    #[command(flatten)]
    service: ServiceArgs,
}

pub async fn topup(arguments: &TopupArgs, settings: &Settings) -> anyhow::Result<()> {
    let sender = Sender::open(settings, &arguments.send, SignerRole::Wallet).await?;
    let wallet = sender.wallet();
    let session_key = match &arguments.key {
        Some(named) => {
            let service = Asker::wallet(settings, &arguments.service, sender.keypair()?)?;
            Some(registry::find(&service, named).await?)
        }
        None => None,
    };
    let funds = WalletFunds::read(&sender.market, &wallet).await?;
    let plan = match &session_key {
        Some(key) => raised(arguments, &sender, &funds, key)?,
        None => approved(&sender, &funds),
    };
    let transaction = if plan.instructions.is_empty() {
        note!("crtx: the approval covers what the keys may still spend; nothing was sent");
        None
    } else {
        Some(sender.send(plan).await?.signature.to_string())
    };
    let funds = WalletFunds::read(&sender.market, &wallet).await?;
    if arguments.send.output.json {
        return output::json(&json!({
            "session_public_key": session_key.map(|key| key.to_string()),
            "approved_usdc": funds.usdc.approved,
            "needed_usdc": funds.needed(None),
            "holding_usdc": funds.usdc.amount,
            "transaction": transaction,
        }));
    }
    say!(
        "the keys may still spend {} USDC, {} USDC are approved, the wallet holds {} USDC",
        funds.needed(None),
        funds.usdc.approved,
        funds.usdc.amount
    );
    Ok(())
}

fn approved(sender: &Sender, funds: &WalletFunds) -> Plan {
    let plan = Plan::new("Approve what the API keys of your wallet may still spend", vec![]);
    let wanted = UsdcBase(funds.needed(None).0.max(funds.usdc.approved.0));
    if wanted == funds.usdc.approved {
        return plan;
    }
    funds.approve(plan, &sender.market, &sender.wallet(), wanted)
}

fn raised(arguments: &TopupArgs, sender: &Sender, funds: &WalletFunds, key: &Pubkey) -> anyhow::Result<Plan> {
    let grant =
        funds.grant_of(key).with_context(|| format!("the chain has no grant of the key {key} by this wallet"))?;
    if grant.revoked != 0 {
        bail!("the key {key} is revoked for ever; make a new one with `crtx key create`");
    }
    let args = raised_grant(arguments, grant, funds.now_unix_s)?;
    let wallet = sender.wallet();
    let plan = Plan::new(format!("Raise what the API key {key} may spend"), vec![]).effect(format!(
        "The key may pay up to {} USDC for a call and {} USDC more in all, until {}.",
        UsdcBase(args.per_call_cap),
        UsdcBase(args.total_cap.saturating_sub(grant.spent)),
        output::time(args.expires_at_unix_s)
    ));
    let approved = funds.approval_with(key, UsdcBase(args.total_cap));
    let mut plan = funds.approve(plan, &sender.market, &wallet, approved);
    plan.instructions.push(sender.market.instructions.grant_spending(&wallet, args));
    Ok(plan)
}

/// The grant with what the arguments change.
fn raised_grant(arguments: &TopupArgs, grant: &SpendingGrant, now_unix_s: i64) -> anyhow::Result<GrantSpendingArgs> {
    let added = arguments.add.map_or(0, |amount| amount.0);
    let expires = arguments.expires.map(|seconds| now_unix_s.saturating_add(seconds));
    let expires = expires.unwrap_or(grant.expires_at_unix_s);
    if expires <= now_unix_s {
        bail!("the key expired on {}; let it live longer with --expires", output::time(grant.expires_at_unix_s));
    }
    Ok(GrantSpendingArgs {
        session_key: grant.session_key,
        per_call_cap: arguments.per_call.map_or(grant.per_call_cap, |amount| amount.0),
        total_cap: grant.total_cap.checked_add(added).context("the total cap would be above every amount")?,
        daily_cap: arguments.per_day.map_or(grant.daily_cap, |amount| amount.0),
        expires_at_unix_s: expires,
        allowed_agents: grant.allowed_agents().to_vec(),
    })
}

pub async fn revoke(key: &str, send: &SendArgs, service: &ServiceArgs, settings: &Settings) -> anyhow::Result<()> {
    let sender = Sender::open(settings, send, SignerRole::Wallet).await?;
    let service = Asker::wallet(settings, service, sender.keypair()?)?;
    let session_key = registry::find(&service, key).await?;
    // The service first: it refuses the key at once. The chain follows, and holds even without the service.
    let at_service = registry::revoke(&service, &session_key).await;
    if let Err(error) = &at_service {
        note!("crtx: the service did not take the revocation, the chain will: {error:#}");
    }
    let transaction = on_chain(&sender, &session_key).await?;
    if send.output.json {
        return output::json(&json!({
            "session_public_key": session_key.to_string(),
            "revoked_at_service": at_service.is_ok(),
            "revoked_on_chain": true,
            "transaction": transaction,
        }));
    }
    say!("the key {session_key} is revoked");
    Ok(())
}

/// Returns the transaction; `None` if the chain has no live grant of the key.
async fn on_chain(sender: &Sender, session_key: &Pubkey) -> anyhow::Result<Option<String>> {
    let wallet = sender.wallet();
    let funds = WalletFunds::read(&sender.market, &wallet).await?;
    if funds.grant_of(session_key).is_none_or(|grant| grant.revoked != 0) {
        return Ok(None);
    }
    let plan = Plan::new(format!("Revoke the API key {session_key} on chain"), vec![])
        .effect("No execution can be opened with the key any more, for ever. Open executions go on.");
    let mut plan = funds.approve(plan, &sender.market, &wallet, funds.approval_without(session_key));
    plan.instructions.push(sender.market.instructions.revoke_spending(&wallet, session_key));
    Ok(Some(sender.send(plan).await?.signature.to_string()))
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;

    use super::*;

    fn arguments() -> TopupArgs {
        TopupArgs {
            key: Some("k".to_owned()),
            add: None,
            per_call: None,
            per_day: None,
            expires: None,
            send: SendArgs::default(),
            service: ServiceArgs::default(),
        }
    }

    fn grant() -> SpendingGrant {
        let mut grant = SpendingGrant::zeroed();
        (grant.per_call_cap, grant.total_cap, grant.spent, grant.expires_at_unix_s) = (10, 100, 90, 50);
        grant.daily_cap = 20;
        grant.allowed_agents[0] = Pubkey::new_from_array([9; 32]);
        grant.allowed_agents_len = 1;
        grant
    }

    #[test]
    fn what_is_not_named_stays_as_it_is() {
        let args = raised_grant(&TopupArgs { add: Some(UsdcBase(7)), ..arguments() }, &grant(), 40).expect("live");
        assert_eq!((args.per_call_cap, args.total_cap, args.daily_cap, args.expires_at_unix_s), (10, 107, 20, 50));
        let unlimited = raised_grant(&TopupArgs { per_day: Some(UsdcBase(0)), ..arguments() }, &grant(), 40);
        assert_eq!(unlimited.expect("live").daily_cap, 0);
        assert_eq!(args.allowed_agents, vec![Pubkey::new_from_array([9; 32])]);
    }

    #[test]
    fn an_expired_key_needs_a_new_expiry() {
        assert!(raised_grant(&arguments(), &grant(), 50).expect_err("expired").to_string().contains("--expires"));
        let args = raised_grant(&TopupArgs { expires: Some(60), ..arguments() }, &grant(), 50).expect("longer");
        assert_eq!(args.expires_at_unix_s, 110);
    }
}
