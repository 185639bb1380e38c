//! `crtx admin verify-creator`, `pause` and `unpause`: what takes effect at once.

use anyhow::{Context, bail};
use serde_json::json;
use solana_pubkey::Pubkey;

use crate::{
    arguments::SendArgs,
    settings::{Role, Settings},
    transaction::{Plan, Sender},
};

#[derive(Clone, Debug, clap::Args)]
pub struct VerifyCreatorArgs {
    /// Wallet of the creator
    #[arg(value_name = "WALLET")]
    wallet: Pubkey,
    /// The display name that was checked; the badge is for this name alone
    #[arg(long, value_name = "NAME", required_unless_present = "remove")]
    name: Option<String>,
    /// Take the badge away
    #[arg(long, conflicts_with = "name")]
    remove: bool,
    #[command(flatten)]
    send: SendArgs,
}

/// The admin, or an error that names it.
pub async fn open(settings: &Settings, send: &SendArgs) -> anyhow::Result<Sender> {
    let sender = Sender::open(settings, send, Role::Admin).await?;
    let admin = sender.market.config.admin;
    if admin != sender.wallet() {
        bail!("only the admin {admin} may do this; name its key pair with --keypair");
    }
    Ok(sender)
}

pub async fn verify_creator(arguments: &VerifyCreatorArgs, settings: &Settings) -> anyhow::Result<()> {
    let sender = open(settings, &arguments.send).await?;
    let creator = arguments.wallet;
    let profile = sender.market.profile(&creator).await?;
    let profile = profile.with_context(|| format!("{creator} has no creator profile"))?;
    let shown = profile.display_name().unwrap_or_default();
    let name = arguments.name.as_deref();
    let more = json!({"creator": creator.to_string(), "verified": name.is_some(), "name": shown});
    let already = (profile.verified == 1) == name.is_some();
    if already && name.is_none_or(|name| name == shown) {
        return sender.nothing_to_do(&format!("{creator} is so already"), more);
    }
    if let Some(name) = name.filter(|name| *name != shown) {
        bail!("the creator is called {shown:?} and not {name:?}; check the name that it has now");
    }
    let title = match name {
        Some(name) => format!("Verify the creator {creator} as {name}"),
        None => format!("Take the badge of the creator {creator} ({shown}) away"),
    };
    let instruction = sender.market.instructions.verify_creator(&sender.wallet(), &creator, name);
    let effect = match name {
        Some(_) => "Its agents show the badge, until the creator takes another name.",
        None => "Its agents do not show the badge any more.",
    };
    let verb = if name.is_some() { "is verified" } else { "is not verified any more" };
    let plan = Plan::new(title, vec![instruction]).effect(effect);
    sender.finish(plan, &format!("{creator} {verb}"), more).await
}

pub async fn set_paused(arguments: &SendArgs, settings: &Settings, paused: bool) -> anyhow::Result<()> {
    let sender = open(settings, arguments).await?;
    let name = if paused { "paused" } else { "running" };
    let more = json!({"paused": paused});
    if (sender.market.config.paused == 1) == paused {
        return sender.nothing_to_do(&format!("the marketplace is {name} already"), more);
    }
    let instruction = sender.market.instructions.set_paused(&sender.wallet(), paused);
    let plan = if paused {
        Plan::new("Pause the marketplace", vec![instruction])
            .effect("New listings and new calls are refused. Settlement, refund, dispute and withdrawal go on.")
    } else {
        Plan::new("End the pause of the marketplace", vec![instruction]).effect("New listings and calls are possible.")
    };
    sender.finish(plan, &format!("the marketplace is {name}"), more).await
}
