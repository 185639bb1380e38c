//! Every account of the chain has its row: a snapshot, page by page, compared column by column.

use std::{collections::HashMap, time::Instant};

use crtx_store::mirror::{self, Batch, Comparison, Difference};
use solana_pubkey::Pubkey;

use super::{
    context::{AuditError, Context},
    corrections::WrongRow,
    report::{AuditReport, CheckName, MAX_LISTED},
    seen::{Collecting, Seen},
};
use crate::{
    source::{At, MAX_ACCOUNTS_PER_READ, SnapshotItem, SourceError},
    sync,
};

/// Accounts that are read again. If more differ, something is wrong that no second look explains.
const MAX_SUSPECTS: usize = 10_000;
/// Looks at rows that are behind: a stream may be about to deliver the change.
const LOOKS: u32 = 3;
/// Accounts that are also read from a second endpoint.
const WITNESSED: usize = 200;

/// What a snapshot showed.
pub struct Survey {
    pub seen: Seen,
    pub agents: Vec<Pubkey>,
    /// The slot of the snapshot.
    pub slot: u64,
    /// A few accounts, for the second endpoint.
    pub sample: Vec<Pubkey>,
    /// Rows that are not their accounts.
    pub wrong: Vec<WrongRow>,
}

/// Accounts that did not agree at the first look, each with the revision that its row claimed if that was newer.
#[derive(Default)]
struct Suspects {
    claims: HashMap<Pubkey, Option<i64>>,
    more: u64,
}

impl Suspects {
    fn add(&mut self, address: &str, claim: Option<i64>) {
        match address.parse() {
            Ok(address) if self.claims.len() < MAX_SUSPECTS => drop(self.claims.insert(address, claim)),
            _ => self.more = self.more.saturating_add(1),
        }
    }
}

/// Compares every account of a snapshot with its row.
pub async fn compare(context: &Context<'_>, report: &mut AuditReport) -> Result<Survey, AuditError> {
    let (mut seen, mut suspects) = (Seen::collect(), Suspects::default());
    let (mut agents, mut sample) = (Vec::new(), Vec::new());
    let mut snapshot = context.source.snapshot(At::Confirmed, 0).await?;
    let slot = loop {
        match snapshot.recv().await {
            Some(Ok(SnapshotItem::Page { slot, accounts })) => {
                let page = Page { slot, accounts };
                sample.extend(page.accounts.first().map(|(address, _)| *address).filter(|_| sample.len() < WITNESSED));
                let began = Instant::now();
                page.compare(context, report, &mut seen, &mut suspects, &mut agents).await?;
                context.rest(began).await;
            }
            Some(Ok(SnapshotItem::End { slot })) => break slot,
            Some(Err(error)) => return Err(error.into()),
            None => {
                let reason = "it stopped without an end".to_owned();
                return Err(SourceError::SnapshotIncomplete { node: context.source.name(), reason }.into());
            }
        }
    };
    report.slot = slot;
    report.compared(CheckName::Accounts, report.accounts);
    let wrong = look_again(context, report, suspects).await?;
    Ok(Survey { seen: seen.done(), agents, slot, sample, wrong })
}

struct Page {
    slot: u64,
    accounts: Vec<(Pubkey, Vec<u8>)>,
}

impl Page {
    async fn compare(
        self,
        context: &Context<'_>,
        report: &mut AuditReport,
        seen: &mut Collecting,
        suspects: &mut Suspects,
        agents: &mut Vec<Pubkey>,
    ) -> Result<(), AuditError> {
        report.accounts = report.accounts.saturating_add(u64::try_from(self.accounts.len()).unwrap_or(u64::MAX));
        let mut batch = Batch::default();
        for (address, data) in self.accounts {
            seen.add(&address);
            sync::push(&mut batch, &address, self.slot, data)?;
        }
        for (address, error) in batch.unreadable() {
            report.unreadable = report.unreadable.saturating_add(1);
            report.fault(CheckName::Accounts, address, format!("its bytes cannot be decoded: {error}"));
        }
        agents.extend(batch.agent_addresses()?);
        let found = mirror::compare(context.pool, &batch).await?;
        report.equal = report.equal.saturating_add(found.equal);
        found.newer.iter().for_each(|newer| suspects.add(&newer.address, Some(newer.row_revision)));
        found.differences.iter().for_each(|difference| suspects.add(&difference.address, None));
        Ok(())
    }
}

/// Reads the suspects again. What changed meanwhile and agrees then is moving; what still differs is a fault.
async fn look_again(
    context: &Context<'_>,
    report: &mut AuditReport,
    suspects: Suspects,
) -> Result<Vec<WrongRow>, AuditError> {
    let mut wrong = Vec::new();
    if suspects.more > 0 {
        let text = format!("{} accounts more differ from their rows; they were not read again", suspects.more);
        report.different = report.different.saturating_add(suspects.more);
        report.fault(CheckName::Accounts, "mirror", text);
        report.more_faults(CheckName::Accounts, suspects.more.saturating_sub(1));
    }
    if suspects.claims.is_empty() {
        return Ok(wrong);
    }
    tokio::time::sleep(context.pause).await;
    let addresses: Vec<Pubkey> = suspects.claims.keys().copied().collect();
    for chunk in addresses.chunks(MAX_ACCOUNTS_PER_READ) {
        let mut batch = read(context, chunk).await?;
        for look in 1..=LOOKS {
            let found = mirror::compare(context.pool, &batch).await?;
            let last = look == LOOKS || found.differences.is_empty();
            let behind = judge(context, report, &suspects, found, last, &mut wrong);
            if last {
                break;
            }
            batch = batch.only(&behind);
            tokio::time::sleep(context.pause).await;
        }
    }
    Ok(wrong)
}

/// Reads accounts at the newest slot. Those that are gone by now are missing in the batch.
async fn read(context: &Context<'_>, addresses: &[Pubkey]) -> Result<Batch, AuditError> {
    let slot = context.newest_slot().await?;
    let read = context.source.read(addresses, At::Confirmed, slot).await?;
    let mut batch = Batch::default();
    for (address, account) in addresses.iter().zip(read.accounts) {
        if let Some(account) = account.filter(|account| account.owner == context.program) {
            sync::push(&mut batch, address, read.slot, account.data)?;
        }
    }
    Ok(batch)
}

/// Counts what is settled, and returns the addresses that still differ, unless this was the `last` look.
fn judge(
    context: &Context<'_>,
    report: &mut AuditReport,
    suspects: &Suspects,
    found: Comparison,
    last: bool,
    wrong: &mut Vec<WrongRow>,
) -> Vec<String> {
    report.moving = report.moving.saturating_add(found.equal);
    for newer in found.newer {
        let claimed = newer.address.parse().ok().and_then(|address: Pubkey| suspects.claims.get(&address).copied());
        // The row claimed this before the chain was read again, and the chain has not reached it.
        if claimed.flatten().is_some_and(|claimed| claimed > newer.revision) {
            let text = format!(
                "its row is ahead of the chain: it has revision {}, and {} has {} in a later read; the row was invented \
                 or comes from a fork",
                newer.row_revision,
                context.source.name(),
                newer.revision
            );
            let (address, table, revision) = (newer.address.clone(), newer.table, newer.revision);
            wrong.push(WrongRow { address, table, row_revision: Some(newer.row_revision), revision });
            report.ahead = report.ahead.saturating_add(1);
            report.fault(CheckName::Accounts, format!("{} in {}", newer.address, newer.table), text);
        } else {
            report.moving = report.moving.saturating_add(1);
        }
    }
    if !last {
        return found.differences.into_iter().map(|difference| difference.address).collect();
    }
    for difference in found.differences {
        let (address, table, row_revision) = (difference.address.clone(), difference.table, difference.row_revision);
        wrong.push(WrongRow { address, table, row_revision, revision: difference.revision });
        report.different = report.different.saturating_add(1);
        report.fault(
            CheckName::Accounts,
            format!("{} in {}", difference.address, difference.table),
            words(&difference),
        );
        if report.differences.len() < MAX_LISTED {
            report.differences.push(difference);
        }
    }
    Vec::new()
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

/// A second endpoint is asked for a few accounts, and for its own count of what differs.
pub async fn ask_witness(context: &Context<'_>, report: &mut AuditReport, survey: &Survey) -> Result<(), AuditError> {
    let Some(witness) = &context.witness else { return Ok(()) };
    for chunk in survey.sample.chunks(MAX_ACCOUNTS_PER_READ) {
        // An endpoint that does not answer, or belongs to another chain, says nothing about the mirror.
        let Ok(first) = witness.read(chunk, At::Confirmed, survey.slot).await else {
            chunk.iter().for_each(|_| report.unproven(CheckName::Witness));
            continue;
        };
        let second = context.source.read(chunk, At::Confirmed, first.slot).await?;
        let Ok(third) = witness.read(chunk, At::Confirmed, second.slot).await else {
            chunk.iter().for_each(|_| report.unproven(CheckName::Witness));
            continue;
        };
        let looks = first.accounts.iter().zip(&second.accounts).zip(&third.accounts);
        for (address, ((before, ours), after)) in chunk.iter().zip(looks) {
            report.compared(CheckName::Witness, 1);
            // The same before and after, and something else between the two: no change explains that.
            if before == after && before != ours {
                let text = format!("{} and {} show different accounts", witness.name(), context.source.name());
                report.fault(CheckName::Witness, address, text);
            }
        }
    }
    Ok(())
}
