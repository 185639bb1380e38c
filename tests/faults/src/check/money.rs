//! USDC, to the base unit: what everybody holds follows from the records.

use agent_marketplace::state::{ExecutionStatus, SpendingGrant};
use anyhow::{Context, Result};
use crtx_protocol::fee;
use solana_pubkey::Pubkey;

use super::{Checker, Facts, Violation};
use crate::cast::Balances;

const RULE: &str = "USDC is exact to the base unit";

impl Checker<'_> {
    pub async fn check_money(&self, facts: &Facts) -> Result<Vec<Violation>> {
        let chain = self.marketplace.chain()?;
        let held = self.cast.balances(&chain).await?;
        let expected = self.expected_balances(facts);
        let mut violations = Vec::new();
        if held != expected {
            let details = format!("held {held:?}\nby the records {expected:?}\n");
            violations.push(Violation { rule: RULE, details });
        }
        for record in facts.records.values() {
            let split = fee::split(record.amount, fee::DEFAULT_FEE_BPS).context("the fee")?;
            if Some(split) != record.split() {
                let details = format!("the parts are not those of the fee\n{}", self.report_of(record));
                violations.push(Violation { rule: RULE, details });
            }
        }
        for (wallet, key) in &self.cast.keys {
            let session_key = Pubkey::new_from_array(key.session_public_key());
            violations.extend(self.check_key(facts, *wallet, &session_key).await?);
        }
        Ok(violations)
    }

    fn expected_balances(&self, facts: &Facts) -> Balances {
        let mut expected = self.cast.opening.clone();
        for record in facts.records.values() {
            let Some(wallet) = self.cast.wallet_of(&record.caller) else { continue };
            match record.status() {
                Some(ExecutionStatus::Failed | ExecutionStatus::Expired) => {}
                Some(ExecutionStatus::Open) => {
                    expected.wallets[wallet] -= record.amount;
                    expected.escrow += record.amount;
                }
                _ => {
                    expected.wallets[wallet] -= record.amount;
                    let split = record.split().unwrap_or(fee::Split { creator: 0, platform: 0 });
                    expected.creator += split.creator;
                    expected.treasury += split.platform;
                }
            }
        }
        expected
    }

    /// What the owner of a key is shown about it, and what the chain let it spend.
    async fn check_key(&self, facts: &Facts, wallet: usize, session_key: &Pubkey) -> Result<Vec<Violation>> {
        let chain = self.marketplace.chain()?;
        let owner = self.cast.wallets[wallet].address();
        let address = chain.build.addresses.grant(&owner, session_key);
        let grant = chain.read::<SpendingGrant>(&address).await?.context("the key has no grant")?;
        let row = crtx_store::testing::single::api_key(self.pool, session_key).await?.context("the key has no row")?;
        let records = || facts.records.values().filter(|record| record.opening.grant == address);
        // A refund gives the grant back what it had spent.
        let is_refunded = |status| matches!(status, Some(ExecutionStatus::Failed | ExecutionStatus::Expired));
        let opened: u64 = records().filter(|record| !is_refunded(record.status())).map(|record| record.amount).sum();
        let ended = records().filter(|record| record.status() != Some(ExecutionStatus::Open)).count();
        let paid: u64 = records()
            .filter(|record| record.status() == Some(ExecutionStatus::Completed))
            .map(|record| record.amount)
            .sum();
        let mut violations = Vec::new();
        if grant.spent != opened {
            let details = format!("the grant {address} has spent {}, its records say {opened}\n", grant.spent);
            violations.push(Violation { rule: RULE, details });
        }
        if (row.execution_count, row.spent.0) != (u64::try_from(ended)?, paid) {
            let details = format!(
                "the key {session_key} shows {} executions and {} base units; the records say {ended} and {paid}\n",
                row.execution_count, row.spent.0
            );
            violations.push(Violation { rule: "a key's totals are those of its records", details });
        }
        Ok(violations)
    }
}
