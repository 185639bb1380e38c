//! Every open row has its account: the rows in the order of their addresses, against what the snapshot showed.

use std::collections::HashSet;

use crtx_store::mirror;
use solana_pubkey::Pubkey;

use super::{
    accounts::Survey,
    audit::{Audit, AuditError},
    report::AuditCheck,
};
use crate::source::{At, MAX_ACCOUNTS_PER_READ};

const ROWS_PER_PAGE: u32 = 1_000;
/// Rows that are looked at again, for each kind of doubt.
const MAX_SUSPECTS: usize = 10_000;
/// Looks at rows without an account, with longer and longer pauses between them: the mirror finds closed accounts only
/// with its next snapshot.
const LOOKS: u32 = 6;

/// Compares every open row with what the snapshot showed.
pub async fn compare(audit: &mut Audit<'_>, survey: &Survey) -> Result<(), AuditError> {
    // Rows whose account the snapshot did not have, and rows of a slot that the chain had not reached.
    let (mut missing, mut future, mut more) = (Vec::new(), Vec::new(), 0_u64);
    let (mut after, mut rows) = (String::new(), 0_u64);
    loop {
        let page = mirror::open_rows(audit.pool, &after, ROWS_PER_PAGE).await?;
        let Some(last) = page.last() else { break };
        after = last.address.to_string();
        rows = rows.saturating_add(u64::try_from(page.len()).unwrap_or(u64::MAX));
        if survey.seen.is_empty() {
            continue;
        }
        let newest = audit.newest_slot().await?.max(survey.slot);
        for row in page {
            let doubts = [(row.slot > newest, &mut future), (!survey.seen.has(&row.address), &mut missing)];
            for (_, list) in doubts.into_iter().filter(|(doubted, _)| *doubted) {
                if list.len() < MAX_SUSPECTS {
                    list.push(row.address);
                } else {
                    more = more.saturating_add(1);
                }
            }
        }
    }
    audit.report.compared(AuditCheck::Rows, rows);
    if survey.seen.is_empty() && rows > 0 {
        let text = format!("the node answered that the program has no account; the mirror has {rows} open rows");
        audit.report.fault(AuditCheck::Node, audit.source.name(), text);
        return Ok(());
    }
    look_at_missing(audit, missing).await?;
    look_at_future(audit, &future).await?;
    if more > 0 {
        audit.report.surplus = audit.report.surplus.saturating_add(more);
        audit.report.fault(AuditCheck::Rows, "mirror", format!("{more} rows more have no account"));
        audit.report.more_faults(AuditCheck::Rows, more.saturating_sub(1));
    }
    Ok(())
}

/// An account may have been opened after the snapshot, or closed a moment ago. What is neither is a fault.
async fn look_at_missing(audit: &mut Audit<'_>, mut missing: Vec<Pubkey>) -> Result<(), AuditError> {
    let mut pause = audit.pause;
    for look in 1..=LOOKS {
        if missing.is_empty() {
            return Ok(());
        }
        tokio::time::sleep(pause).await;
        pause = pause.saturating_mul(2);
        let mut gone = Vec::new();
        for chunk in missing.chunks(MAX_ACCOUNTS_PER_READ) {
            gone.extend(without_account(audit, chunk).await?);
        }
        let moved = u64::try_from(missing.len().saturating_sub(gone.len())).unwrap_or(u64::MAX);
        audit.report.moving = audit.report.moving.saturating_add(moved);
        missing = gone;
        if look == LOOKS || audit.is_over() {
            break;
        }
    }
    let report = &mut audit.report;
    for address in missing {
        report.surplus = report.surplus.saturating_add(1);
        report.fault(AuditCheck::Rows, address, "the mirror has an open row of it, and the chain has no such account");
    }
    Ok(())
}

/// Those of the addresses that have an open row and no account, at the newest slot.
async fn without_account(audit: &Audit<'_>, addresses: &[Pubkey]) -> Result<Vec<Pubkey>, AuditError> {
    let open: HashSet<Pubkey> =
        mirror::still_open(audit.pool, addresses).await?.into_iter().map(|row| row.address).collect();
    let slot = audit.newest_slot().await?;
    let read = audit.source.read(addresses, At::Confirmed, slot).await?;
    let gone = addresses.iter().zip(read.value).filter(|(_, account)| {
        account.as_ref().is_none_or(|account| account.owner != audit.program || account.data.is_empty())
    });
    Ok(gone.map(|(address, _)| *address).filter(|address| open.contains(address)).collect())
}

async fn look_at_future(audit: &mut Audit<'_>, future: &[Pubkey]) -> Result<(), AuditError> {
    if future.is_empty() {
        return Ok(());
    }
    audit.wait().await;
    for chunk in future.chunks(MAX_ACCOUNTS_PER_READ) {
        let rows = mirror::still_open(audit.pool, chunk).await?;
        let newest = audit.newest_slot().await?;
        for row in rows.iter().filter(|row| row.slot > newest) {
            let text = format!(
                "its row is ahead of the chain: it was read at slot {}, and the newest slot is {newest}",
                row.slot
            );
            audit.report.ahead = audit.report.ahead.saturating_add(1);
            audit.report.fault(AuditCheck::Rows, row.address, text);
        }
    }
    Ok(())
}
