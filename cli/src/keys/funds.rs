//! What a wallet holds, what it lets its keys move, and what its keys may still spend. All keys of a wallet share one
//! token approval.

use agent_marketplace::state::SpendingGrant;
use crtx_chain::token::{self, TOKEN_ACCOUNT_LEN};
use crtx_protocol::usdc::UsdcBase;
use solana_pubkey::Pubkey;

use crate::{
    market::{Market, UsdcHolding},
    transaction::Plan,
};

/// A wallet's money and grants, as the chain shows them.
#[derive(Clone, Debug, Default)]
pub struct WalletFunds {
    pub grants: Vec<SpendingGrant>,
    pub usdc: UsdcHolding,
    /// The chain's clock.
    pub now_unix_s: i64,
}

impl WalletFunds {
    pub async fn read(market: &Market, wallet: &Pubkey) -> anyhow::Result<Self> {
        let (usdc, grants) = (market.usdc_of(wallet).await?, market.grants_of(wallet).await?);
        Ok(Self { grants, usdc, now_unix_s: market.now().await? })
    }

    pub fn grant_of(&self, session_key: &Pubkey) -> Option<&SpendingGrant> {
        self.grants.iter().find(|grant| grant.session_key == *session_key)
    }

    /// How many keys are neither revoked nor expired.
    pub fn live_keys(&self) -> usize {
        self.grants.iter().filter(|grant| is_live(grant, self.now_unix_s)).count()
    }

    /// What all keys of the wallet may still spend together; `except` leaves one key out.
    pub fn needed(&self, except: Option<&Pubkey>) -> UsdcBase {
        let counted = self.grants.iter().filter(|grant| Some(&grant.session_key) != except);
        let sum = counted.map(|grant| left(grant, self.now_unix_s)).fold(0_u64, u64::saturating_add);
        UsdcBase(sum)
    }

    /// The approval that covers all keys if one of them may spend `total` in all. An approval that is larger already
    /// stays: the wallet's owner may want it so.
    pub fn approval_with(&self, session_key: &Pubkey, total: UsdcBase) -> UsdcBase {
        let spent = self.grant_of(session_key).map_or(0, |grant| grant.spent);
        let own = total.0.saturating_sub(spent);
        UsdcBase(self.needed(Some(session_key)).0.saturating_add(own).max(self.usdc.approved.0))
    }

    /// The approval without one key: what that key could still have spent is taken back, as far as the other keys do
    /// not need it.
    pub fn approval_without(&self, session_key: &Pubkey) -> UsdcBase {
        let freed = self.grant_of(session_key).map_or(0, |grant| left(grant, self.now_unix_s));
        let needed = self.needed(Some(session_key)).0.min(self.usdc.approved.0);
        UsdcBase(self.usdc.approved.0.saturating_sub(freed).max(needed))
    }

    /// Adds the change of the approval to a transaction, with what it means.
    pub fn approve(&self, mut plan: Plan, market: &Market, wallet: &Pubkey, approved: UsdcBase) -> Plan {
        let (mint, usdc) = (market.instructions.usdc_mint, &self.usdc);
        if !usdc.exists {
            plan = plan.creates("your USDC account", TOKEN_ACCOUNT_LEN);
            plan.instructions.push(token::create_associated_token_account(wallet, wallet, &mint));
        }
        if approved == usdc.approved && usdc.exists {
            return plan;
        }
        let (account, spender) = (market.instructions.usdc_of(wallet), market.addresses().spender(wallet));
        plan.instructions.push(token::approve(&account, &mint, &spender, wallet, approved.0));
        plan = plan.effect(format!(
            "All API keys of the wallet together may take up to {approved} USDC of it (now {}).",
            usdc.approved
        ));
        if let Some(other) = usdc.other_delegate {
            plan = plan.effect(format!("The approval of {other} ends, because an account can have only one."));
        }
        if approved > usdc.amount {
            plan = plan.effect(format!("The wallet holds {} USDC; calls beyond it are refused.", usdc.amount));
        }
        plan
    }
}

/// Neither revoked nor expired. The last second counts.
fn is_live(grant: &SpendingGrant, now_unix_s: i64) -> bool {
    grant.revoked == 0 && now_unix_s <= grant.expires_at_unix_s
}

/// What a grant may still spend: nothing once it is revoked or expired.
fn left(grant: &SpendingGrant, now_unix_s: i64) -> u64 {
    if is_live(grant, now_unix_s) { grant.total_cap.saturating_sub(grant.spent) } else { 0 }
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;

    use super::*;

    fn grant(key: u8, total_cap: u64, spent: u64) -> SpendingGrant {
        let mut grant = SpendingGrant::zeroed();
        grant.session_key = Pubkey::new_from_array([key; 32]);
        (grant.total_cap, grant.spent, grant.expires_at_unix_s) = (total_cap, spent, 100);
        grant
    }

    fn approved(approved: u64) -> UsdcHolding {
        UsdcHolding { approved: UsdcBase(approved), ..UsdcHolding::default() }
    }

    #[test]
    fn the_keys_of_a_wallet_need_the_sum_of_what_each_may_still_spend() {
        let revoked = SpendingGrant { revoked: 1, ..grant(3, 1_000, 0) };
        let expired = SpendingGrant { expires_at_unix_s: 49, ..grant(4, 1_000, 0) };
        let grants = vec![grant(1, 500, 200), grant(2, 70, 90), revoked, expired, grant(5, 40, 0)];
        let funds = WalletFunds { grants, usdc: approved(300), now_unix_s: 50 };
        assert_eq!(funds.needed(None), UsdcBase(340));
        assert_eq!(funds.needed(Some(&Pubkey::new_from_array([1; 32]))), UsdcBase(40));
        assert_eq!(funds.live_keys(), 3, "one of them has spent all");
    }

    #[test]
    fn the_approval_changes_by_one_key_and_leaves_the_others_enough() {
        let funds = WalletFunds {
            grants: vec![grant(1, 500, 200), grant(2, 70, 0)],
            usdc: approved(370),
            ..WalletFunds::default()
        };
        let key = |key: u8| Pubkey::new_from_array([key; 32]);
        assert_eq!(funds.approval_with(&key(3), UsdcBase(40)), UsdcBase(410), "a new key");
        assert_eq!(funds.approval_with(&key(1), UsdcBase(600)), UsdcBase(470), "a raised cap");
        assert_eq!(funds.approval_with(&key(1), UsdcBase(300)), UsdcBase(370), "a lowered cap takes nothing back");
        assert_eq!(funds.approval_without(&key(1)), UsdcBase(70));
        let generous = WalletFunds { usdc: approved(1_000), ..funds.clone() };
        assert_eq!(generous.approval_without(&key(2)), UsdcBase(930), "what the owner added stays");
        let short = WalletFunds { usdc: approved(100), ..funds };
        assert_eq!(short.approval_without(&key(2)), UsdcBase(100), "the other key needs all of it");
    }

    #[test]
    fn caps_that_are_larger_than_all_money_do_not_overflow() {
        let funds =
            WalletFunds { grants: vec![grant(1, u64::MAX, 0), grant(2, u64::MAX, 0)], ..WalletFunds::default() };
        assert_eq!(funds.needed(None), UsdcBase(u64::MAX));
    }
}
