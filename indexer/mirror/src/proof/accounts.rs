//! Every account of the chain has its row: a snapshot, page by page, compared column by column. What differs is read
//! again and written: somebody may have changed a row whose hash of the account's bytes still fits, and then nothing else
//! would ever write it again.

use std::{
    collections::{HashMap, HashSet},
    time::Instant,
};

use crtx_chain::FetchedAccount;
use crtx_store::mirror::{self, Batch, Comparison, Difference};
use solana_pubkey::Pubkey;

use super::{
    audit::{Audit, AuditError},
    report::{AuditCheck, MAX_LISTED},
};
use crate::{
    snapshots::{AddressSet, next_item},
    source::{At, MAX_ACCOUNTS_PER_READ, SnapshotItem},
    sync,
};

/// Accounts that are read again. If more differ, something is wrong that no second look explains.
const MAX_TO_RECHECK: usize = 10_000;
/// Looks at rows that are behind: a stream may be about to deliver the change.
const LOOKS: u32 = 3;
/// The same while the mirror has not reached the slot of their accounts, as on a machine that is overloaded. For all accounts
/// of an audit together: a mirror that stands still is behind for ever.
const LOOKS_WHILE_BEHIND: u32 = 30;
/// Accounts that are also read from a second endpoint.
const WITNESSED: usize = 200;

/// What a snapshot showed.
#[derive(Default)]
pub struct Survey {
    pub seen: AddressSet,
    pub agents: Vec<Pubkey>,
    /// The slot of the snapshot.
    pub slot: u64,
    /// A few accounts, for the second endpoint.
    sample: Vec<Pubkey>,
    /// Accounts that did not agree, each with the revision that its row claimed if that was newer.
    to_recheck: HashMap<Pubkey, Option<i64>>,
    more_to_recheck: u64,
    wrong: HashMap<Pubkey, Difference>,
}

impl Survey {
    /// Compares every account of a snapshot with its row.
    pub async fn make(audit: &mut Audit<'_>) -> Result<Self, AuditError> {
        let mut survey = Self::default();
        let mut snapshot = audit.source.snapshot(At::Confirmed, 0).await?;
        survey.slot = loop {
            match next_item(&audit.source.name(), &mut snapshot).await? {
                SnapshotItem::End { slot } => break slot,
                SnapshotItem::Page { slot, accounts } => {
                    let began = Instant::now();
                    survey.compare(audit, slot, accounts).await?;
                    // Changes of the chain come first.
                    tokio::time::sleep(began.elapsed()).await;
                }
            }
        };
        survey.seen = survey.seen.sorted();
        audit.report.slot = survey.slot;
        audit.report.compared(AuditCheck::Accounts, audit.report.accounts);
        survey.look_again(audit).await?;
        Ok(survey)
    }

    async fn compare(
        &mut self,
        audit: &mut Audit<'_>,
        slot: u64,
        accounts: Vec<(Pubkey, Vec<u8>)>,
    ) -> Result<(), AuditError> {
        let report = &mut audit.report;
        report.accounts = report.accounts.saturating_add(u64::try_from(accounts.len()).unwrap_or(u64::MAX));
        let first = accounts.first().map(|(address, _)| *address);
        self.sample.extend(first.filter(|_| self.sample.len() < WITNESSED));
        let mut batch = Batch::default();
        for (address, data) in accounts {
            self.seen.add(&address);
            sync::push(&mut batch, &address, slot, data)?;
        }
        for (address, error) in batch.unreadable() {
            report.unreadable = report.unreadable.saturating_add(1);
            report.fault(AuditCheck::Accounts, address, format!("its bytes cannot be decoded: {error}"));
        }
        self.agents.extend(batch.agent_addresses());
        let found = mirror::compare(audit.pool, &batch).await?;
        report.equal = report.equal.saturating_add(found.equal);
        found.newer.iter().for_each(|newer| self.recheck(&newer.address, newer.row_revision));
        found.differences.iter().for_each(|difference| self.recheck(&difference.address, None));
        Ok(())
    }

    fn recheck(&mut self, address: &str, claim: Option<i64>) {
        match address.parse() {
            Ok(address) if self.to_recheck.len() < MAX_TO_RECHECK => drop(self.to_recheck.insert(address, claim)),
            _ => self.more_to_recheck = self.more_to_recheck.saturating_add(1),
        }
    }

    /// Reads again what differed. What changed meanwhile and agrees then is moving; what still differs is a fault.
    async fn look_again(&mut self, audit: &mut Audit<'_>) -> Result<(), AuditError> {
        if self.more_to_recheck > 0 {
            let text =
                format!("{} accounts more differ from their rows; they were not read again", self.more_to_recheck);
            audit.report.different = audit.report.different.saturating_add(self.more_to_recheck);
            audit.report.fault(AuditCheck::Accounts, "mirror", text);
            audit.report.more_faults(AuditCheck::Accounts, self.more_to_recheck.saturating_sub(1));
        }
        if self.to_recheck.is_empty() {
            return Ok(());
        }
        audit.wait().await;
        let addresses: Vec<Pubkey> = self.to_recheck.keys().copied().collect();
        let mut left = LOOKS_WHILE_BEHIND;
        for chunk in addresses.chunks(MAX_ACCOUNTS_PER_READ) {
            let (slot, mut batch) = read(audit, chunk).await?;
            for look in 1.. {
                // Read before the rows: they have what the mirror had reached then.
                let reached = mirror::checkpoint(audit.pool).await?.map_or(0, |checkpoint| checkpoint.slot);
                let found = mirror::compare(audit.pool, &batch).await?;
                let may_come = look < LOOKS || (reached < slot && left > 0);
                let last = found.differences.is_empty() || !may_come;
                let behind = self.judge(audit, found, last);
                if last {
                    break;
                }
                left = left.saturating_sub(u32::from(look >= LOOKS));
                batch = batch.only(&behind);
                audit.wait().await;
            }
        }
        Ok(())
    }

    /// Counts what is settled, and returns the addresses that still differ, unless this was the `last` look.
    fn judge(&mut self, audit: &mut Audit<'_>, found: Comparison, last: bool) -> Vec<String> {
        let report = &mut audit.report;
        report.moving = report.moving.saturating_add(found.equal);
        for newer in found.newer {
            let address: Option<Pubkey> = newer.address.parse().ok();
            let claimed = address.and_then(|address| self.to_recheck.get(&address).copied().flatten());
            // The row claimed this before the chain was read again, and the chain has not reached it.
            if claimed.is_some_and(|claimed| claimed > newer.revision) {
                let text = format!(
                    "its row is ahead of the chain: it has revision {}, and {} has {} in a later read; the row was \
                     invented or comes from a fork",
                    newer.row_revision.unwrap_or_default(),
                    audit.source.name(),
                    newer.revision
                );
                report.ahead = report.ahead.saturating_add(1);
                report.fault(AuditCheck::Accounts, format!("{} in {}", newer.address, newer.table), text);
                self.wrong.extend(address.map(|address| (address, newer)));
            } else {
                report.moving = report.moving.saturating_add(1);
            }
        }
        if !last {
            return found.differences.into_iter().map(|difference| difference.address).collect();
        }
        for difference in found.differences {
            let place = format!("{} in {}", difference.address, difference.table);
            self.wrong.extend(difference.address.parse().ok().map(|address| (address, difference.clone())));
            report.different = report.different.saturating_add(1);
            report.fault(AuditCheck::Accounts, place, words(&difference));
            if report.differences.len() < MAX_LISTED {
                report.differences.push(difference);
            }
        }
        Vec::new()
    }

    /// Reads the accounts of wrong rows again, and makes the rows equal to them. If there is another node, it must show
    /// the same.
    pub async fn correct(&self, audit: &mut Audit<'_>) -> Result<(), AuditError> {
        let addresses: Vec<Pubkey> = self.wrong.keys().copied().collect();
        for chunk in addresses.chunks(MAX_ACCOUNTS_PER_READ) {
            let slot = audit.newest_slot().await?;
            let read = audit.source.read(chunk, At::Confirmed, slot).await?;
            let other = match &audit.witness {
                Some(witness) => Some(witness.read(chunk, At::Confirmed, read.slot).await.ok()),
                None => None,
            };
            let mut batch = Batch::default();
            let mut found: HashMap<String, i64> = HashMap::new();
            for (at, (address, account)) in chunk.iter().zip(&read.value).enumerate() {
                let (Some(account), Some(wrong)) = (account, self.wrong.get(address)) else { continue };
                let is_believed = match &other {
                    None => true,
                    // Without a second answer no row goes back to an earlier state.
                    Some(None) => !wrong.is_ahead(),
                    Some(Some(other)) => same(other.value.get(at).and_then(Option::as_ref), Some(account)),
                };
                if account.owner == audit.program && is_believed {
                    sync::push(&mut batch, address, read.slot, account.data.clone())?;
                    found.extend(wrong.row_revision.map(|revision| (address.to_string(), revision)));
                }
            }
            mirror::rewrite(audit.pool, &batch, &found, read.slot).await?;
            let left = mirror::compare(audit.pool, &batch).await?;
            let left: HashSet<String> = left.differences.into_iter().map(|difference| difference.address).collect();
            for address in batch.readable().into_iter().filter(|address| !left.contains(address)) {
                if let Some(wrong) = address.parse().ok().and_then(|address: Pubkey| self.wrong.get(&address)) {
                    audit.report.corrected(AuditCheck::Accounts, format!("{address} in {}", wrong.table), "its row");
                }
            }
        }
        Ok(())
    }

    /// A second endpoint is asked for a few accounts, and for its own count of what differs.
    pub async fn ask_witness(&self, audit: &mut Audit<'_>) -> Result<(), AuditError> {
        let Some(witness) = audit.witness.clone() else { return Ok(()) };
        for chunk in self.sample.chunks(MAX_ACCOUNTS_PER_READ) {
            // An endpoint that does not answer, or belongs to another chain, says nothing about the mirror.
            let Ok(first) = witness.read(chunk, At::Confirmed, self.slot).await else {
                chunk.iter().for_each(|_| audit.report.unproven(AuditCheck::Witness));
                continue;
            };
            let second = audit.source.read(chunk, At::Confirmed, first.slot).await?;
            let Ok(third) = witness.read(chunk, At::Confirmed, second.slot).await else {
                chunk.iter().for_each(|_| audit.report.unproven(AuditCheck::Witness));
                continue;
            };
            let looks = first.value.iter().zip(&second.value).zip(&third.value);
            for (address, ((before, ours), after)) in chunk.iter().zip(looks) {
                audit.report.compared(AuditCheck::Witness, 1);
                // The same before and after, and something else between the two: no change explains that.
                if same(before.as_ref(), after.as_ref()) && !same(before.as_ref(), ours.as_ref()) {
                    let text = format!("{} and {} show different accounts", witness.name(), audit.source.name());
                    audit.report.fault(AuditCheck::Witness, address, text);
                }
            }
        }
        Ok(())
    }
}

/// Whether two answers show the same account, whatever lamports it holds: anybody can send some to it between the two.
fn same(one: Option<&FetchedAccount>, other: Option<&FetchedAccount>) -> bool {
    one.map(|account| (account.owner, &account.data)) == other.map(|account| (account.owner, &account.data))
}

/// Reads accounts at the newest slot, which is returned too. Those that are gone by now are missing in the batch.
async fn read(audit: &Audit<'_>, addresses: &[Pubkey]) -> Result<(u64, Batch), AuditError> {
    let slot = audit.newest_slot().await?;
    let read = audit.source.read(addresses, At::Confirmed, slot).await?;
    let mut batch = Batch::default();
    for (address, account) in addresses.iter().zip(read.value) {
        if let Some(account) = account.filter(|account| account.owner == audit.program) {
            sync::push(&mut batch, address, read.slot, account.data)?;
        }
    }
    Ok((read.slot, batch))
}

fn words(difference: &Difference) -> String {
    match difference.row_revision {
        None => "the account exists and has no open row".to_owned(),
        Some(row) if row < difference.revision => {
            format!("its row is behind: it has revision {row}, the account has {}", difference.revision)
        }
        Some(_) => format!("its row differs from the account in: {}", difference.columns.join(", ")),
    }
}
