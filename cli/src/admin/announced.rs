//! Parameters and roles change by announcement: `crtx admin set-fee`, `set-tiers`, `withdraw-parameters`,
//! `apply-parameters`, `announce-roles` and `apply-roles`.

use agent_marketplace::{
    instructions::AnnounceRolesArgs as Announcement,
    state::{COLLATERAL_TIERS, CollateralTier, Config, MarketParameters},
};
use anyhow::anyhow;
use crtx_protocol::usdc::UsdcBase;
use serde_json::json;
use solana_pubkey::Pubkey;

use super::open;
use crate::{
    arguments::{RoleArgs, SendArgs, usdc},
    output::{duration, json_time, time},
    settings::{Settings, SignerRole},
    transaction::{Plan, Sender},
    usage::UsageError,
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
    role: RoleArgs,
}

/// Reads a tier such as `0.10=10`.
pub fn tier(text: &str) -> Result<CollateralTier, String> {
    let (price, collateral) = text.split_once('=').ok_or("not of the form PRICE=COLLATERAL")?;
    let max_price = if price == "max" { u64::MAX } else { usdc(price)?.0 };
    Ok(CollateralTier { max_price, collateral: usdc(collateral)?.0 })
}

/// The tiers as the program takes them.
pub fn tiers_of(tiers: &[CollateralTier]) -> Result<[CollateralTier; COLLATERAL_TIERS], UsageError> {
    let collateral_tiers: [CollateralTier; COLLATERAL_TIERS] = tiers
        .try_into()
        .map_err(|_| UsageError::new(format!("Exactly {COLLATERAL_TIERS} tiers are needed, such as 0.10=10.")))?;
    if collateral_tiers.last().is_none_or(|tier| tier.max_price != u64::MAX) {
        return Err(UsageError::new("The last tier holds for every higher price; write it as max=COLLATERAL."));
    }
    if let Err(error) = (MarketParameters { collateral_tiers, ..MarketParameters::DEFAULT }).check() {
        return Err(UsageError::new(format!("The tiers are refused: {error}.")));
    }
    Ok(collateral_tiers)
}

pub fn price_of(tier: &CollateralTier) -> String {
    if tier.max_price == u64::MAX { "max".to_owned() } else { UsdcBase(tier.max_price).to_string() }
}

pub async fn set_fee(fee_bps: u32, role: &RoleArgs, settings: &Settings) -> anyhow::Result<()> {
    let sender = open(settings, role).await?;
    let parameters = MarketParameters { fee_bps, ..basis(&sender.market.config) };
    announce(&sender, parameters, format!("The fee becomes {fee_bps} basis points.")).await
}

pub async fn set_tiers(tiers: &[CollateralTier], role: &RoleArgs, settings: &Settings) -> anyhow::Result<()> {
    let collateral_tiers = tiers_of(tiers)?;
    let sender = open(settings, role).await?;
    let parameters = MarketParameters { collateral_tiers, ..basis(&sender.market.config) };
    let tiers: Vec<String> = collateral_tiers
        .iter()
        .map(|tier| format!("{} USDC up to a price of {}", UsdcBase(tier.collateral), price_of(tier)))
        .collect();
    announce(&sender, parameters, format!("The collateral becomes {}.", tiers.join(", "))).await
}

/// What the new announcement changes: the announced parameters if there are some, so that two commands add up.
const fn basis(config: &Config) -> MarketParameters {
    if config.parameters_apply_from_unix_s == 0 { config.parameters } else { config.announced_parameters }
}

async fn announce(sender: &Sender, parameters: MarketParameters, effect: String) -> anyhow::Result<()> {
    let config = &sender.market.config;
    let from = sender.market.now().await?.saturating_add(Config::PARAMETERS_DELAY_S);
    let more = json!({"applies_from": json_time(from)});
    if parameters == basis(config) {
        return sender.nothing_to_do("these parameters hold or are announced already", more);
    }
    let instruction = sender.market.instructions.announce_parameters(&sender.wallet(), Some(parameters));
    let mut plan = Plan::new("Announce parameters of the marketplace", vec![instruction])
        .effect(effect)
        .effect(format!("It applies from {} on, to listings and calls after that.", time(from)));
    if config.parameters_apply_from_unix_s != 0 {
        plan = plan.effect("The earlier announcement is kept in it, and its week begins again.");
    }
    let text = format!("announced; apply it from {} on with: crtx admin apply-parameters", time(from));
    sender.finish(plan, &text, more).await
}

pub async fn withdraw_parameters(arguments: &RoleArgs, settings: &Settings) -> anyhow::Result<()> {
    let sender = open(settings, arguments).await?;
    if sender.market.config.parameters_apply_from_unix_s == 0 {
        return sender.nothing_to_do("no parameters are announced", json!({}));
    }
    let instruction = sender.market.instructions.announce_parameters(&sender.wallet(), None);
    let plan =
        Plan::new("Withdraw the announcement of parameters", vec![instruction]).effect("The present parameters stay.");
    sender.finish(plan, "the announcement is withdrawn", json!({})).await
}

pub async fn apply_parameters(arguments: &SendArgs, settings: &Settings) -> anyhow::Result<()> {
    // Anybody may, so the wallet of the user is good enough where no admin's key pair is known.
    let sender = Sender::open(settings, arguments, SignerRole::Admin).await?;
    refuse_unless_due(sender.market.config.parameters_apply_from_unix_s, sender.market.now().await?)?;
    let plan = Plan::new("Apply the announced parameters", vec![sender.market.instructions.apply_parameters()])
        .effect("They hold for every listing and every call from now on.");
    sender.finish(plan, "the announced parameters hold", json!({})).await
}

pub async fn announce_roles(arguments: &AnnounceRolesArgs, settings: &Settings) -> anyhow::Result<()> {
    let sender = open(settings, &arguments.role).await?;
    let announced = sender.market.config.roles_apply_from_unix_s != 0;
    if arguments.withdraw && !announced {
        return sender.nothing_to_do("no roles are announced", json!({}));
    }
    let &AnnounceRolesArgs { resolver, treasury_owner, insurance_owner, .. } = arguments;
    let named = [("resolver", resolver), ("treasury owner", treasury_owner), ("insurance owner", insurance_owner)];
    let announcement = Announcement { resolver, treasury_owner, insurance_owner };
    let instruction = sender.market.instructions.announce_roles(&sender.wallet(), announcement);
    if arguments.withdraw {
        let plan = Plan::new("Withdraw the announcement of roles", vec![instruction]).effect("The roles stay.");
        return sender.finish(plan, "the announcement is withdrawn", json!({})).await;
    }
    let from = sender.market.now().await?.saturating_add(Config::ROLE_DELAY_S);
    let mut plan = Plan::new("Announce roles of the marketplace", vec![instruction]);
    for (role, holder) in named.into_iter().filter_map(|(role, holder)| Some((role, holder?))) {
        plan = plan.effect(format!("{holder} becomes the {role} from {} on.", time(from)));
    }
    if announced {
        plan = plan.effect("It replaces the earlier announcement as a whole, and the 16 days begin again.");
    }
    let text = format!("announced; apply it from {} on with: crtx admin apply-roles", time(from));
    sender.finish(plan, &text, json!({"applies_from": json_time(from)})).await
}

pub async fn apply_roles(arguments: &SendArgs, settings: &Settings) -> anyhow::Result<()> {
    let sender = Sender::open(settings, arguments, SignerRole::Admin).await?;
    refuse_unless_due(sender.market.config.roles_apply_from_unix_s, sender.market.now().await?)?;
    let plan = Plan::new("Apply the announced roles", vec![sender.market.instructions.apply_roles()])
        .effect("The announced holders are in office from now on.");
    sender.finish(plan, "the announced roles are in office", json!({})).await
}

/// Until when an announcement can be applied, or why not now; the text continues "it". `from`: 0 without announcement.
pub fn due(from: i64, now: i64) -> Result<String, String> {
    let lapses = from.saturating_add(Config::ANNOUNCEMENT_LIFE_S);
    match from {
        0 => Err("is not there: nothing is announced".to_owned()),
        _ if now < from => Err(format!("applies from {} on, in {}", time(from), duration(from.saturating_sub(now)))),
        _ if now > lapses => Err(format!("lapsed at {}", time(lapses))),
        _ => Ok(format!("can be applied now, until {}", time(lapses))),
    }
}

fn refuse_unless_due(from: i64, now: i64) -> anyhow::Result<()> {
    due(from, now).map(drop).map_err(|why| anyhow!("it {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tier_is_a_price_and_its_collateral() {
        let tier = |text: &str| tier(text).map(|tier| (tier.max_price, tier.collateral));
        assert_eq!(tier("0.10=10"), Ok((100_000, 10_000_000)));
        assert_eq!(tier("max=1000"), Ok((u64::MAX, 1_000_000_000)));
        for bad in ["", "1", "x=1", "1=x", "=", "1=0.0000001"] {
            assert!(tier(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_announcement_applies_in_its_time_alone() {
        let week = Config::ANNOUNCEMENT_LIFE_S;
        assert!(refuse_unless_due(0, 5).is_err());
        assert!(refuse_unless_due(1_000, 999).expect_err("early").to_string().contains("in 1 second"));
        assert!(refuse_unless_due(1_000, 1_000).is_ok() && refuse_unless_due(1_000, 1_000 + week).is_ok());
        assert!(refuse_unless_due(1_000, 1_001 + week).expect_err("late").to_string().contains("lapsed"));
    }
}
