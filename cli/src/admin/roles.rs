//! `crtx admin announce-roles` and `apply-roles`. Roles change by announcement.

use agent_marketplace::{instructions::AnnounceRolesArgs as Announcement, state::Config};
use serde_json::json;
use solana_pubkey::Pubkey;

use super::{
    parameters::refuse_unless_due,
    powers::{SimpleArgs, open},
};
use crate::{
    arguments::{OutputArgs, SendArgs},
    done,
    output::{json_time, time},
    settings::{Role, Settings},
    transaction::{Plan, Sender},
};

#[derive(Clone, Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("roles").required(true).multiple(true)
    .args(["resolver", "treasury_owner", "insurance_owner", "withdraw"]))]
pub struct AnnounceRolesArgs {
    /// The next resolver
    #[arg(long, value_name = "ADDRESS")]
    resolver: Option<Pubkey>,
    /// The next owner of the treasury
    #[arg(long, value_name = "ADDRESS")]
    treasury_owner: Option<Pubkey>,
    /// The next owner of the insurance
    #[arg(long, value_name = "ADDRESS")]
    insurance_owner: Option<Pubkey>,
    /// Withdraw the announcement instead
    #[arg(long, conflicts_with_all = ["resolver", "treasury_owner", "insurance_owner"])]
    withdraw: bool,
    #[command(flatten)]
    send: SendArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub async fn announce(arguments: &AnnounceRolesArgs, settings: &Settings) -> anyhow::Result<()> {
    let sender = open(settings, &arguments.send).await?;
    let announced = sender.market.config.roles_apply_from_unix_s != 0;
    if arguments.withdraw && !announced {
        return done::say_nothing_to_do(arguments.output, "no roles are announced", json!({}));
    }
    let named = [
        ("resolver", arguments.resolver),
        ("treasury owner", arguments.treasury_owner),
        ("insurance owner", arguments.insurance_owner),
    ];
    let announcement = Announcement {
        resolver: arguments.resolver,
        treasury_owner: arguments.treasury_owner,
        insurance_owner: arguments.insurance_owner,
    };
    let instruction = sender.market.instructions.announce_roles(&sender.wallet(), announcement);
    if arguments.withdraw {
        let plan = Plan::new("Withdraw the announcement of roles", vec![instruction]).effect("The roles stay.");
        let sent = sender.send(plan).await?;
        return done::say(arguments.output, &sent, "the announcement is withdrawn", json!({}));
    }
    let from = sender.market.now().await?.saturating_add(Config::ROLE_DELAY_S);
    let mut plan = Plan::new("Announce roles of the marketplace", vec![instruction]);
    for (role, holder) in named {
        if let Some(holder) = holder {
            plan = plan.effect(format!("{holder} becomes the {role} from {} on.", time(from)));
        }
    }
    if announced {
        plan = plan.effect("It replaces the earlier announcement as a whole, and the 16 days begin again.");
    }
    let sent = sender.send(plan).await?;
    let text = format!("announced; apply it from {} on with: crtx admin apply-roles", time(from));
    done::say(arguments.output, &sent, &text, json!({"applies_from": json_time(from)}))
}

pub async fn apply(arguments: &SimpleArgs, settings: &Settings) -> anyhow::Result<()> {
    let sender = Sender::open(settings, &arguments.send, Role::Admin).await?;
    refuse_unless_due(sender.market.config.roles_apply_from_unix_s, sender.market.now().await?)?;
    let plan = Plan::new("Apply the announced roles", vec![sender.market.instructions.apply_roles()])
        .effect("The announced holders are in office from now on.");
    let sent = sender.send(plan).await?;
    done::say(arguments.output, &sent, "the announced roles are in office", json!({}))
}
