//! `crtx admin status`.

use agent_marketplace::state::{Config, MarketParameters};
use crtx_protocol::usdc::UsdcBase;
use serde_json::{Value, json};
use solana_pubkey::Pubkey;

use super::announced::{due, price_of};
use crate::{
    arguments::ChainReadArgs,
    market::Market,
    output::{self, duration, json_time, pairs, say},
    settings::Settings,
};

pub async fn status(arguments: &ChainReadArgs, settings: &Settings) -> anyhow::Result<()> {
    let market = Market::connect(settings, &arguments.chain).await?;
    let config = &market.config;
    if arguments.output.json {
        return output::json(&as_json(&market, config));
    }
    let now = market.now().await?;
    let mut rows = vec![
        ("program", market.addresses().program_id().to_string()),
        ("network", format!("{} ({})", settings.network, market.rpc_url)),
        ("new calls", state_of(config.openings_paused).to_owned()),
        ("new listings", state_of(config.listings_paused).to_owned()),
    ];
    rows.extend(roles_of(config).into_iter().map(|(name, address)| (name, holder(&address))));
    rows.push(("USDC mint", holder(&config.usdc_mint)));
    rows.extend(lines_of(&config.parameters));
    output::page(&pairs(&rows));
    if config.parameters_apply_from_unix_s != 0 {
        say!("");
        say!("parameters announced, {}", due(config.parameters_apply_from_unix_s, now).unwrap_or_else(|why| why));
        output::page(&pairs(&lines_of(&config.announced_parameters)));
    }
    if config.roles_apply_from_unix_s != 0 {
        say!("");
        say!("roles announced, {}", due(config.roles_apply_from_unix_s, now).unwrap_or_else(|why| why));
        let rows: Vec<_> = announced_roles_of(config).map(|(name, address)| (name, address.to_string())).collect();
        output::page(&pairs(&rows));
    }
    Ok(())
}

const fn state_of(paused: u8) -> &'static str {
    if paused == 1 { "stopped" } else { "possible" }
}

pub fn roles_of(config: &Config) -> [(&'static str, Pubkey); 7] {
    [
        ("admin", config.admin),
        ("nominated admin", config.pending_admin),
        ("resolver", config.resolver),
        ("gateway authority", config.gateway_authority),
        ("treasury owner", config.treasury_owner),
        ("insurance owner", config.insurance_owner),
        ("guardian", config.guardian),
    ]
}

fn announced_roles_of(config: &Config) -> impl Iterator<Item = (&'static str, Pubkey)> {
    let roles = [
        ("resolver", config.announced_resolver),
        ("treasury owner", config.announced_treasury_owner),
        ("insurance owner", config.announced_insurance_owner),
    ];
    roles.into_iter().filter(|(_, holder)| *holder != Pubkey::default())
}

pub fn holder(address: &Pubkey) -> String {
    if *address == Pubkey::default() { "nobody".to_owned() } else { address.to_string() }
}

pub fn lines_of(parameters: &MarketParameters) -> Vec<(&'static str, String)> {
    let tiers: Vec<String> = parameters
        .collateral_tiers
        .iter()
        .map(|tier| format!("{}={}", price_of(tier), UsdcBase(tier.collateral)))
        .collect();
    vec![
        ("fee", format!("{} basis points", parameters.fee_bps)),
        ("minimum price", format!("{} USDC", UsdcBase(parameters.min_price))),
        ("dispute bond", format!("{} USDC", UsdcBase(parameters.dispute_bond))),
        ("dispute window", duration(parameters.dispute_window_s)),
        ("settlement grace", duration(parameters.settle_grace_s)),
        ("highest penalty", format!("{} times the amount paid", parameters.max_penalty_multiple)),
        ("tiers (USDC)", tiers.join(" ")),
    ]
}

fn parameters_json(parameters: &MarketParameters) -> Value {
    let tiers = parameters.collateral_tiers.iter().map(|tier| {
        let max_price = (tier.max_price != u64::MAX).then_some(UsdcBase(tier.max_price));
        json!({"max_price_usdc": max_price, "collateral_usdc": UsdcBase(tier.collateral)})
    });
    json!({
        "fee_bps": parameters.fee_bps,
        "min_price_usdc": UsdcBase(parameters.min_price),
        "dispute_bond_usdc": UsdcBase(parameters.dispute_bond),
        "dispute_window_s": parameters.dispute_window_s,
        "settle_grace_s": parameters.settle_grace_s,
        "max_penalty_multiple": parameters.max_penalty_multiple,
        "collateral_tiers": tiers.collect::<Vec<_>>(),
    })
}

pub fn as_json(market: &Market, config: &Config) -> Value {
    let address = |address: Pubkey| (address != Pubkey::default()).then(|| address.to_string());
    let announced = config.parameters_apply_from_unix_s != 0;
    json!({
        "program_id": market.addresses().program_id().to_string(),
        "openings_paused": config.openings_paused == 1,
        "listings_paused": config.listings_paused == 1,
        "admin": address(config.admin),
        "pending_admin": address(config.pending_admin),
        "resolver": address(config.resolver),
        "gateway_authority": address(config.gateway_authority),
        "treasury_owner": address(config.treasury_owner),
        "insurance_owner": address(config.insurance_owner),
        "guardian": address(config.guardian),
        "usdc_mint": address(config.usdc_mint),
        "parameters": parameters_json(&config.parameters),
        "announced_parameters": announced.then(|| parameters_json(&config.announced_parameters)),
        "parameters_apply_from": json_time(config.parameters_apply_from_unix_s),
        "announced_resolver": address(config.announced_resolver),
        "announced_treasury_owner": address(config.announced_treasury_owner),
        "announced_insurance_owner": address(config.announced_insurance_owner),
        "roles_apply_from": json_time(config.roles_apply_from_unix_s),
    })
}
