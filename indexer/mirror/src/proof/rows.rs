//! Every open row has its account: the rows in the order of their addresses, against what the snapshot showed.

use std::collections::HashSet;

use crtx_store::mirror::{self, OpenRow};
use solana_pubkey::Pubkey;

use super::{
    accounts::Survey,
    context::{AuditError, Context},
    report::{AuditReport, CheckName},
};
use crate::source::{At, MAX_ACCOUNTS_PER_READ};

const ROWS_PER_PAGE: u32 = 1_000;
/// Rows that are looked at again, for each kind of doubt.
const MAX_SUSPECTS: usize = 10_000;
/// Looks at rows without an account, with longer and longer pauses between them: the mirror finds closed accounts only
/// with its next snapshot.
const LOOKS: u32 = 6;

/// Rows that do not agree with the snapshot.
#[derive(Default)]
struct Suspects {
    /// The snapshot did not have the account.
    missing: Vec<Pubkey>,
    /// The row names a slot that the chain had not reached.
    future: Vec<Pubkey>,
    more: u64,
}

impl Suspects {
    fn add(&mut self, row: OpenRow, newest: u64, survey: &Survey) {
        let doubts = [(row.slot > newest, &mut self.future), (!survey.seen.contains(&row.address), &mut self.missing)];
        for (_, list) in doubts.into_iter().filter(|(doubted, _)| *doubted) {
            if list.len() < MAX_SUSPECTS {
                list.push(row.address);
            } else {
                self.more = self.more.saturating_add(1);
            }
        }
    }
}

/// Compares every open row with what the snapshot showed.
pub async fn compare(context: &Context<'_>, report: &mut AuditReport, survey: &Survey) -> Result<(), AuditError> {
    let mut suspects = Suspects::default();
    let (mut after, mut rows) = (String::new(), 0_u64);
    loop {
        let page = mirror::open_rows(context.pool, &after, ROWS_PER_PAGE).await?;
        let Some(last) = page.last() else { break };
        after = last.address.to_string();
        rows = rows.saturating_add(u64::try_from(page.len()).unwrap_or(u64::MAX));
        if survey.seen.len() > 0 {
            let newest = context.newest_slot().await?.max(survey.slot);
            page.into_iter().for_each(|row| suspects.add(row, newest, survey));
        }
    }
    report.compared(CheckName::Rows, rows);
    if survey.seen.len() == 0 && rows > 0 {
        let text = format!("the node answered that the program has no account; the mirror has {rows} open rows");
        report.fault(CheckName::Node, context.source.name(), text);
        return Ok(());
    }
    look_at_missing(context, report, suspects.missing).await?;
    look_at_future(context, report, &suspects.future).await?;
    if suspects.more > 0 {
        report.surplus = report.surplus.saturating_add(suspects.more);
        report.fault(CheckName::Rows, "mirror", format!("{} rows more have no account", suspects.more));
        report.more_faults(CheckName::Rows, suspects.more.saturating_sub(1));
    }
    Ok(())
}

/// An account may have been opened after the snapshot, or closed a moment ago. What is neither is a fault.
async fn look_at_missing(
    context: &Context<'_>,
    report: &mut AuditReport,
    mut missing: Vec<Pubkey>,
) -> Result<(), AuditError> {
    let mut pause = context.pause;
    for look in 1..=LOOKS {
        if missing.is_empty() {
            return Ok(());
        }
        tokio::time::sleep(pause).await;
        pause = pause.saturating_mul(2);
        let mut gone = Vec::new();
        for chunk in missing.chunks(MAX_ACCOUNTS_PER_READ) {
            gone.extend(without_account(context, chunk).await?);
        }
        report.moving = report.moving.saturating_add(difference(missing.len(), gone.len()));
        missing = gone;
        if look == LOOKS || context.is_over() {
            break;
        }
    }
    for address in missing {
        report.surplus = report.surplus.saturating_add(1);
        report.fault(CheckName::Rows, address, "the mirror has an open row of it, and the chain has no such account");
    }
    Ok(())
}

/// Those of the addresses that have an open row and no account, at the newest slot.
async fn without_account(context: &Context<'_>, addresses: &[Pubkey]) -> Result<Vec<Pubkey>, AuditError> {
    let open: HashSet<Pubkey> =
        mirror::still_open(context.pool, addresses).await?.into_iter().map(|row| row.address).collect();
    let slot = context.newest_slot().await?;
    let read = context.source.read(addresses, At::Confirmed, slot).await?;
    let gone = addresses.iter().zip(read.accounts).filter(|(_, account)| {
        account.as_ref().is_none_or(|account| account.owner != context.program || account.data.is_empty())
    });
    Ok(gone.map(|(address, _)| *address).filter(|address| open.contains(address)).collect())
}

async fn look_at_future(context: &Context<'_>, report: &mut AuditReport, future: &[Pubkey]) -> Result<(), AuditError> {
    if future.is_empty() {
        return Ok(());
    }
    tokio::time::sleep(context.pause).await;
    for chunk in future.chunks(MAX_ACCOUNTS_PER_READ) {
        let rows = mirror::still_open(context.pool, chunk).await?;
        let newest = context.newest_slot().await?;
        for row in rows.iter().filter(|row| row.slot > newest) {
            let text = format!(
                "its row is ahead of the chain: it was read at slot {}, and the newest slot is {newest}",
                row.slot
            );
            report.ahead = report.ahead.saturating_add(1);
            report.fault(CheckName::Rows, row.address, text);
        }
    }
    Ok(())
}

fn difference(before: usize, after: usize) -> u64 {
    u64::try_from(before.saturating_sub(after)).unwrap_or(u64::MAX)
}
