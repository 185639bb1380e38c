//! What an audit found, in numbers and in words.

use std::collections::BTreeMap;

use crtx_store::mirror::Difference;
use serde::Serialize;

/// Faults of one check that are listed; all are counted.
pub const MAX_LISTED: usize = 20;

/// The checks of an audit, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditCheck {
    /// The answers of the node.
    Node,
    /// Every account of the chain has its row.
    Accounts,
    /// Every open row has its account.
    Rows,
    /// A second endpoint sees the same accounts.
    Witness,
    /// Closed rows have the bytes of their closing.
    Closed,
    /// Closings that are read again from the chain.
    Closings,
    /// Stored documents have the hash that their listing names.
    Documents,
    /// Stored results have the hash that was signed.
    Results,
    /// Totals of listings are what the records say.
    Listings,
    /// Totals that the mirror keeps are what its rows say.
    Totals,
    /// Token accounts hold what they must.
    Vaults,
    /// The list of executions is what its sources say.
    Lists,
    /// The digest is the one of the accounts that it was made of.
    Digest,
}

/// What one check compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckCounts {
    pub compared: u64,
    pub faults: u64,
    /// What could not be compared, because what proves it is not there (yet).
    pub unproven: u64,
    /// False if the time of the audit was over first; the next audit goes on from there.
    pub complete: bool,
}

impl Default for CheckCounts {
    fn default() -> Self {
        Self { compared: 0, faults: 0, unproven: 0, complete: true }
    }
}

/// Something that is wrong: what and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuditFault {
    pub check: AuditCheck,
    /// Address, document or total.
    pub place: String,
    pub message: String,
}

/// What an audit found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AuditReport {
    /// True if something was compared and nothing is wrong.
    pub ok: bool,
    /// False if a check did not reach its end.
    pub complete: bool,
    pub slot: u64,
    /// The node that was asked, and the one that gave a second opinion.
    pub source: String,
    pub witness: Option<String>,
    pub seconds: u64,
    /// Accounts read.
    pub accounts: u64,
    /// Accounts whose row is equal in every column.
    pub equal: u64,
    /// Accounts that changed while the audit ran.
    pub moving: u64,
    /// Rows that claim a state that the chain never had, or a slot that it has not reached.
    pub ahead: u64,
    /// Open rows whose account does not exist.
    pub surplus: u64,
    /// Accounts whose bytes cannot be decoded.
    pub unreadable: u64,
    /// Accounts whose row is missing, behind or wrong; the first of them below.
    pub different: u64,
    pub differences: Vec<Difference>,
    /// Agents whose token accounts were checked.
    pub vaults: u64,
    /// Token accounts that hold less than they must; the first of them below.
    pub short: u64,
    pub shortfalls: Vec<Shortfall>,
    /// Listings whose open amount is not the sum over their open records.
    pub open_amounts: Vec<OpenAmountMismatch>,
    pub checks: BTreeMap<AuditCheck, CheckCounts>,
    pub faults: Vec<AuditFault>,
    /// Of what is different, what was read from the chain and written.
    pub corrected: u64,
    /// The newest corrections of this process, those of audits before among them.
    pub corrections: Vec<AuditFault>,
}

/// A token account that holds less than it must.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shortfall {
    pub agent: String,
    /// `escrow` or `collateral`.
    pub account: &'static str,
    /// USDC base units.
    pub required: u64,
    pub held: u64,
}

/// A listing whose open amount differs from the sum over its open records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OpenAmountMismatch {
    pub agent: String,
    /// The open amount in the listing.
    pub listing: i64,
    /// The sum over its open records.
    pub records: i64,
}

impl AuditReport {
    pub fn new(source: String, witness: Option<String>) -> Self {
        Self { complete: true, source, witness, ..Self::default() }
    }

    /// The numbers of a check; they begin at 0.
    pub fn check(&mut self, name: AuditCheck) -> &mut CheckCounts {
        self.checks.entry(name).or_default()
    }

    pub fn compared(&mut self, name: AuditCheck, more: u64) {
        let check = self.check(name);
        check.compared = check.compared.saturating_add(more);
    }

    pub fn unproven(&mut self, name: AuditCheck) {
        let check = self.check(name);
        check.unproven = check.unproven.saturating_add(1);
    }

    /// The time was over before the check reached its end.
    pub fn cut_short(&mut self, name: AuditCheck) {
        self.check(name).complete = false;
        self.complete = false;
    }

    pub fn fault(&mut self, check: AuditCheck, place: impl ToString, message: impl Into<String>) {
        let found = self.check(check);
        found.faults = found.faults.saturating_add(1);
        if self.faults.iter().filter(|fault| fault.check == check).count() < MAX_LISTED {
            self.faults.push(AuditFault { check, place: place.to_string(), message: message.into() });
        }
    }

    /// What was wrong is read from the chain and written.
    pub fn corrected(&mut self, check: AuditCheck, place: impl ToString, what: &str) {
        self.corrected = self.corrected.saturating_add(1);
        let place = place.to_string();
        let time = chrono::Utc::now().format("%Y-%m-%dT%H:%M:%SZ");
        let message = format!("{what} was wrong, and was written again as the chain has it, at {time}");
        tracing::warn!(?check, place, message, "the audit corrected the mirror");
        self.corrections.push(AuditFault { check, place, message });
        if self.corrections.len() > MAX_LISTED {
            self.corrections.remove(0);
        }
    }

    /// Faults that are counted but not listed.
    pub fn more_faults(&mut self, check: AuditCheck, more: u64) {
        let found = self.check(check);
        found.faults = found.faults.saturating_add(more);
    }

    /// Decides whether all is well. An audit that compared nothing proves nothing.
    pub fn conclude(&mut self, seconds: u64) {
        self.seconds = seconds;
        if self.accounts == 0 && self.faults.is_empty() {
            self.fault(
                AuditCheck::Node,
                self.source.clone(),
                "the node has no account of the program; nothing was compared",
            );
        }
        self.ok = self.checks.values().all(|check| check.faults == 0);
    }
}
