//! Who follows the admin, in two steps, and a resolver out of office: `crtx admin nominate`, `accept` and
//! `remove-resolver`.

use anyhow::bail;
use serde_json::json;
use solana_pubkey::Pubkey;

use super::{open, status::holder};
use crate::{
    arguments::RoleArgs,
    settings::Settings,
    transaction::{Plan, Sender},
};

#[derive(Clone, Debug, clap::Args)]
pub struct NominateArgs {
    /// The next admin
    #[arg(value_name = "ADDRESS", required_unless_present = "withdraw")]
    nominee: Option<Pubkey>,
    /// Withdraw the nomination instead
    #[arg(long, conflicts_with = "nominee")]
    withdraw: bool,
    #[command(flatten)]
    role: RoleArgs,
}

pub async fn nominate(arguments: &NominateArgs, settings: &Settings) -> anyhow::Result<()> {
    let sender = open(settings, &arguments.role).await?;
    let nominee = arguments.nominee.unwrap_or_default();
    let more = json!({"pending_admin": arguments.nominee.map(|nominee| nominee.to_string())});
    if sender.market.config.pending_admin == nominee {
        return sender.nothing_to_do(&format!("{} is nominated already", holder(&nominee)), more);
    }
    let instruction = sender.market.instructions.nominate_admin(&sender.wallet(), &nominee);
    let plan = match arguments.nominee {
        Some(nominee) => Plan::new(format!("Nominate {nominee} as admin"), vec![instruction])
            .effect("It becomes the admin when it accepts. Until then you are, and can withdraw the nomination."),
        None => Plan::new("Withdraw the nomination of an admin", vec![instruction])
            .effect("Nobody can accept the role of the admin any more."),
    };
    sender.finish(plan, &format!("{} is nominated", holder(&nominee)), more).await
}

pub async fn accept(role: &RoleArgs, settings: &Settings) -> anyhow::Result<()> {
    let sender = Sender::open_role(settings, role).await?;
    let (wallet, config) = (sender.wallet(), &sender.market.config);
    let more = json!({"admin": wallet.to_string()});
    if config.admin == wallet {
        return sender.nothing_to_do(&format!("{wallet} is the admin already"), more);
    }
    if config.pending_admin != wallet {
        bail!("only the nominee may do this, and {} is nominated", holder(&config.pending_admin));
    }
    let plan = Plan::new("Accept the role of the admin", vec![sender.market.instructions.accept_admin(&wallet)])
        .effect(format!("{wallet} is the admin from now on, and {} is not any more.", config.admin));
    sender.finish(plan, &format!("{wallet} is the admin"), more).await
}

pub async fn remove_resolver(role: &RoleArgs, settings: &Settings) -> anyhow::Result<()> {
    let sender = open(settings, role).await?;
    let resolver = sender.market.config.resolver;
    let more = json!({"resolver": null});
    if resolver == Pubkey::default() {
        return sender.nothing_to_do("there is no resolver", more);
    }
    let instruction = sender.market.instructions.remove_resolver(&sender.wallet());
    let plan = Plan::new(format!("Take the resolver {resolver} out of office"), vec![instruction])
        .effect(
            "Nobody decides disputes until a successor takes office, 16 days after the announcement at the earliest.",
        )
        .effect("Disputes wait for the successor, or expire 30 days after they were raised.");
    sender.finish(plan, "there is no resolver any more", more).await
}
