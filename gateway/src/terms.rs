//! Whether a call may be opened, and at what price. The accounts are read at one slot just before the call is opened.
//! The program enforces the same rules; here a refusal gets a message, before anything is signed.

use std::time::Instant;

use agent_marketplace::state::{AgentListed, AgentStatus, Config, SpendingGrant};
use chrono::Utc;
use crtx_chain::{FetchedAccount, token::TokenAccount};
use crtx_http::{ApiError, ErrorCode};
use crtx_protocol::{fee, terms::MarketTerms, usdc::UsdcBase};
use solana_pubkey::Pubkey;
use solana_signer::Signer;

use crate::engine::Engine;

/// The agent's terms at the time of the call, and the money that the call may use.
#[derive(Clone, Copy, Debug)]
pub struct CallTerms {
    pub listing: AgentListed,
    pub market: MarketTerms,
    pub price: UsdcBase,
    pub funds: Spendable,
    /// The time before the chain was read.
    pub read_at: Instant,
}

/// What the wallet and its key may spend, without the calls in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spendable {
    pub holding: UsdcBase,
    /// The amount that the wallet has approved for its keys.
    pub approved: UsdcBase,
    /// The remaining amount of the key's grant.
    pub grant_left: UsdcBase,
}

impl Engine {
    /// Reads all accounts that decide about the call in one request, and checks them.
    pub(crate) async fn terms(&self, wallet: &Pubkey, key: &Pubkey, agent: &Pubkey) -> Result<CallTerms, ApiError> {
        let read_at = Instant::now();
        let known = &self.instructions.addresses;
        let usdc = self.instructions.usdc_of(wallet);
        let payer = self.config.keypair.pubkey();
        let [creator, treasury] = self.expected_payees(agent);
        let addresses = [known.config(), *agent, known.grant(wallet, key), usdc, payer, creator, treasury];
        let read = self.read(addresses).await.map_err(ApiError::unavailable)?;
        let [config, listing, grant, usdc, payer, creator, treasury] = read;
        let listing = self.decode::<AgentListed>(listing.as_ref());
        let listing = listing.ok_or_else(|| ApiError::agent_not_found(&agent.to_string()))?;
        allow_by_status(&listing, agent)?;
        let config = self.decode::<Config>(config.as_ref());
        let config = config.ok_or_else(|| ApiError::unavailable("the program is not configured"))?;
        self.config.keypair.follow(&config.gateway_authority);
        if config.openings_paused != 0 {
            return Err(ApiError::new(ErrorCode::Unavailable, "the marketplace is paused and accepts no new calls"));
        }
        allow_by_listing(&listing, wallet, config.parameters.min_price)?;
        let grant = self.decode::<SpendingGrant>(grant.as_ref());
        let grant = grant.ok_or_else(|| forbidden("the key's wallet has not granted it any spending on chain"))?;
        allow_by_grant(&grant, agent, listing.price, Utc::now().timestamp())?;
        let price = UsdcBase(listing.price);
        let (holding, approved) = allow_by_balance(usdc.as_ref(), wallet, &known.spender(wallet), price)?;
        self.fee_payer.allow(payer.map_or(0, |account| account.lamports))?;
        let fee = fee::split(price.0, config.parameters.fee_bps).map_or(0, |split| split.platform);
        let owners = [&listing.creator, &config.treasury_owner];
        self.allow_payees(agent, owners, fee, [creator, treasury]).await?;
        let grant_left = UsdcBase(left_of(&grant, Utc::now().timestamp()));
        let market = config.parameters.market_terms();
        Ok(CallTerms { price, listing, market, funds: Spendable { holding, approved, grant_left }, read_at })
    }
}

fn allow_by_status(listing: &AgentListed, agent: &Pubkey) -> Result<(), ApiError> {
    match listing.status() {
        Some(AgentStatus::Active | AgentStatus::Paused) if listing.suspended != 0 => {
            Err(ApiError::new(ErrorCode::AgentPaused, "the marketplace has suspended the agent"))
        }
        Some(AgentStatus::Active) => Ok(()),
        Some(AgentStatus::Paused) => Err(ApiError::new(ErrorCode::AgentPaused, "the agent is paused by its creator")),
        Some(AgentStatus::Delisted) | None => Err(ApiError::agent_not_found(&agent.to_string())),
    }
}

/// Checks who calls, and the price. The minimum may have risen after the agent was listed.
fn allow_by_listing(listing: &AgentListed, wallet: &Pubkey, min_price: u64) -> Result<(), ApiError> {
    if listing.creator == *wallet {
        return Err(forbidden("the key's wallet is the agent's creator, and a creator cannot call its own agent"));
    }
    if listing.price < min_price {
        let (price, minimum) = (UsdcBase(listing.price), UsdcBase(min_price));
        let message = format!(
            "the agent cannot be called as it is listed: its price of {price} USDC is below the marketplace's minimum \
             of {minimum} USDC"
        );
        return Err(ApiError::new(ErrorCode::Unavailable, message));
    }
    if listing.check_cover(listing.min_cover).is_err() {
        let message = format!(
            "the agent cannot be called now: its creator promises collateral for {} calls, and callers claim so much of it \
             that {} USDC are left",
            listing.min_cover,
            UsdcBase(listing.free_collateral())
        );
        return Err(ApiError::new(ErrorCode::Unavailable, message));
    }
    Ok(())
}

/// Checks the grant that the owner of the key signed on chain.
fn allow_by_grant(grant: &SpendingGrant, agent: &Pubkey, price: u64, now_unix_s: i64) -> Result<(), ApiError> {
    let price_text = UsdcBase(price);
    if grant.revoked != 0 {
        return Err(ApiError::unauthorized(
            "the API key has been revoked: its wallet ended its spending grant on chain",
        ));
    }
    if now_unix_s > grant.expires_at_unix_s {
        return Err(forbidden("the key's spending grant has expired"));
    }
    let allowed = grant.allowed_agents();
    if !allowed.is_empty() && !allowed.contains(agent) {
        return Err(forbidden("the key's spending grant does not allow this agent"));
    }
    if price > grant.per_call_cap {
        let cap = UsdcBase(grant.per_call_cap);
        return Err(forbidden(&format!("the call costs {price_text} USDC; the key may spend {cap} USDC per call")));
    }
    let left = grant.total_cap.saturating_sub(grant.spent);
    if price > left {
        let left = UsdcBase(left);
        return Err(forbidden(&format!("the call costs {price_text} USDC; the key may spend {left} USDC more in all")));
    }
    let left = left_of(grant, now_unix_s);
    if price > left {
        let left = UsdcBase(left);
        return Err(forbidden(&format!(
            "the call costs {price_text} USDC; the key may spend {left} USDC more on this UTC day"
        )));
    }
    Ok(())
}

/// What the key may still spend now: of its total cap, and of the day's.
fn left_of(grant: &SpendingGrant, now_unix_s: i64) -> u64 {
    let left = grant.total_cap.saturating_sub(grant.spent);
    match grant.daily_cap {
        0 => left,
        cap => left.min(cap.saturating_sub(grant.spent_on(SpendingGrant::day_of(now_unix_s)))),
    }
}

/// Returns the balance and the approved amount of the wallet if each covers the price.
fn allow_by_balance(
    account: Option<&FetchedAccount>,
    wallet: &Pubkey,
    spender: &Pubkey,
    price: UsdcBase,
) -> Result<(UsdcBase, UsdcBase), ApiError> {
    let (holding, approved, frozen) = holding_and_approval(account, wallet, spender);
    let short = |problem: String| Err(ApiError::new(ErrorCode::InsufficientBalance, problem));
    if holding < price {
        return short(format!("the wallet holds {holding} USDC and {price} USDC is required"));
    }
    if frozen {
        return short(format!("the wallet holds {holding} USDC in a frozen account and {price} USDC is required"));
    }
    if approved < price {
        return short(format!(
            "the wallet holds {holding} USDC but lets its API keys move {approved} USDC of it, and {price} USDC is \
             required: raise the token approval of the wallet's spender address"
        ));
    }
    Ok((holding, approved))
}

/// What the wallet's account holds, what the wallet lets its keys move of it, and whether it is frozen.
pub(crate) fn holding_and_approval(
    account: Option<&FetchedAccount>,
    wallet: &Pubkey,
    spender: &Pubkey,
) -> (UsdcBase, UsdcBase, bool) {
    let account = account.and_then(|account| TokenAccount::decode(account).ok()).filter(|a| a.owner == *wallet);
    let Some(TokenAccount { amount, delegate, frozen, .. }) = account else {
        return (UsdcBase(0), UsdcBase(0), false);
    };
    let approved = delegate.filter(|(delegate, _)| delegate == spender).map_or(0, |(_, amount)| amount);
    (UsdcBase(amount), UsdcBase(approved), frozen)
}

fn forbidden(problem: &str) -> ApiError {
    ApiError::new(ErrorCode::Forbidden, problem)
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;
    use crtx_chain::token::TOKEN_PROGRAM_ID;

    use super::*;

    const WALLET: Pubkey = Pubkey::new_from_array([1; 32]);
    const SPENDER: Pubkey = Pubkey::new_from_array([2; 32]);
    const AGENT: Pubkey = Pubkey::new_from_array([3; 32]);

    fn grant() -> SpendingGrant {
        let mut grant = SpendingGrant::zeroed();
        grant.per_call_cap = 100;
        grant.total_cap = 1_000;
        grant.spent = 850;
        grant.expires_at_unix_s = 50;
        grant
    }

    fn usdc(amount: u64, delegate: Option<(Pubkey, u64)>) -> FetchedAccount {
        let account = TokenAccount { mint: Pubkey::default(), owner: WALLET, amount, delegate, frozen: false };
        FetchedAccount { owner: TOKEN_PROGRAM_ID, lamports: 1, data: account.encode() }
    }

    #[test]
    fn a_creator_does_not_call_its_own_agent() {
        let mut listing = AgentListed::zeroed();
        listing.creator = WALLET;
        listing.price = 1_000;
        let error = allow_by_listing(&listing, &WALLET, 1_000).expect_err("refused");
        assert_eq!(error.code, ErrorCode::Forbidden);
        assert!(error.message.contains("its own agent"), "{}", error.message);
        assert_eq!(allow_by_listing(&listing, &AGENT, 1_000), Ok(()));
    }

    #[test]
    fn an_agent_below_the_minimum_price_is_not_called() {
        let mut listing = AgentListed::zeroed();
        listing.price = 999;
        let error = allow_by_listing(&listing, &WALLET, 1_000).expect_err("refused");
        assert_eq!(error.code, ErrorCode::Unavailable);
        assert!(error.message.contains("0.000999 USDC is below the marketplace's minimum of 0.001 USDC"), "{error:?}");
    }

    #[test]
    fn an_agent_with_less_free_collateral_than_its_creator_promises_is_not_called() {
        let mut listing = AgentListed::zeroed();
        (listing.price, listing.min_cover, listing.collateral) = (1_000, 2, 2_000);
        assert_eq!(allow_by_listing(&listing, &AGENT, 1_000), Ok(()));
        listing.disputed_amount = 1;
        let error = allow_by_listing(&listing, &AGENT, 1_000).expect_err("refused");
        assert_eq!(error.code, ErrorCode::Unavailable);
        assert!(error.message.contains("0.001999 USDC are left"), "{}", error.message);
    }

    #[test]
    fn a_grant_allows_up_to_its_caps_until_it_expires() {
        assert_eq!(allow_by_grant(&grant(), &AGENT, 100, 50), Ok(()));
        let refused = |grant: SpendingGrant, price, now| {
            let error = allow_by_grant(&grant, &AGENT, price, now).expect_err("refused");
            assert_eq!(error.code, ErrorCode::Forbidden);
            error.message
        };
        assert!(refused(grant(), 101, 50).contains("per call"));
        assert!(refused(SpendingGrant { spent: 950, ..grant() }, 100, 50).contains("in all"));
        assert!(refused(grant(), 100, 51).contains("expired"));
        let daily = SpendingGrant { daily_cap: 120, spent_on_day: 60, day: 0, ..grant() };
        assert!(refused(daily, 61, 50).contains("0.00006 USDC more on this UTC day"));
        assert_eq!(allow_by_grant(&daily, &AGENT, 60, 50), Ok(()));
        assert_eq!(allow_by_grant(&SpendingGrant { spent_on_day: 850, day: 1, ..daily }, &AGENT, 100, 50), Ok(()));
    }

    #[test]
    fn a_key_whose_grant_was_revoked_is_no_key_any_more() {
        let error = allow_by_grant(&SpendingGrant { revoked: 1, ..grant() }, &AGENT, 1, 50).expect_err("refused");
        assert_eq!(error.code, ErrorCode::Unauthorized);
    }

    #[test]
    fn a_grant_for_other_agents_does_not_allow_this_one() {
        let mut limited = grant();
        limited.allowed_agents[0] = WALLET;
        limited.allowed_agents_len = 1;
        assert!(allow_by_grant(&limited, &AGENT, 1, 0).is_err());
        limited.allowed_agents[0] = AGENT;
        assert_eq!(allow_by_grant(&limited, &AGENT, 1, 0), Ok(()));
    }

    #[test]
    fn a_short_balance_names_holding_and_required() {
        let price = UsdcBase(50_000);
        let message = |account: Option<&FetchedAccount>| {
            let error = allow_by_balance(account, &WALLET, &SPENDER, price).expect_err("short");
            assert_eq!(error.code, ErrorCode::InsufficientBalance);
            error.message
        };
        assert_eq!(message(None), "the wallet holds 0 USDC and 0.05 USDC is required");
        let poor = usdc(49_999, Some((SPENDER, u64::MAX)));
        assert_eq!(message(Some(&poor)), "the wallet holds 0.049999 USDC and 0.05 USDC is required");
        let rich = usdc(50_000, Some((SPENDER, 50_000)));
        assert_eq!(allow_by_balance(Some(&rich), &WALLET, &SPENDER, price), Ok((price, price)));
    }

    #[test]
    fn a_short_or_missing_approval_has_another_error_than_a_short_balance() {
        let price = UsdcBase(50_000);
        for delegate in [None, Some((SPENDER, 49_999)), Some((WALLET, u64::MAX))] {
            let error = allow_by_balance(Some(&usdc(60_000, delegate)), &WALLET, &SPENDER, price).expect_err("short");
            assert!(error.message.contains("approval"), "{}", error.message);
        }
    }

    #[test]
    fn an_account_of_another_owner_holds_nothing_for_this_wallet() {
        let account = usdc(1_000_000, Some((SPENDER, 1_000_000)));
        assert!(allow_by_balance(Some(&account), &AGENT, &SPENDER, UsdcBase(1)).is_err());
    }
}
