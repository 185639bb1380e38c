//! What is added up is what its parts say: totals in listings, totals that the mirror keeps for its lists, and the digest.
//! And closings: each has its row, and the chain still says the same about it.

use crtx_protocol::mirror_digest::MirrorDigest;
use crtx_store::{
    StoreError,
    audit::{self as store, CheckedTotals},
    closings, mirror,
};

use super::{
    audit::{Audit, AuditError},
    report::{AuditCheck, MAX_LISTED, OpenAmountMismatch},
};
use crate::closings::event::closed_accounts;

/// Looks at what may change while it is added up.
const LOOKS: u32 = 3;
/// Accounts of one page.
const ACCOUNTS_PER_PAGE: u32 = 5_000;
/// Closings that are read again from the chain.
const SAMPLE: u32 = 20;

fn most() -> u32 {
    u32::try_from(MAX_LISTED).unwrap_or(u32::MAX)
}

fn note(audit: &mut Audit<'_>, check: AuditCheck, found: &CheckedTotals) {
    audit.report.compared(check, found.compared);
    for wrong in &found.listed {
        let text = format!("{} is {}, its records make {}", wrong.what, wrong.stated, wrong.counted);
        audit.report.fault(check, &wrong.place, text);
    }
    let listed = u64::try_from(found.listed.len()).unwrap_or(u64::MAX);
    audit.report.more_faults(check, found.wrong.saturating_sub(listed));
}

/// The totals that the mirror keeps. Wrong ones are counted again.
pub async fn kept(audit: &mut Audit<'_>) -> Result<(), AuditError> {
    let found = store::kept_totals(audit.pool, most()).await?;
    note(audit, AuditCheck::Totals, &found);
    if audit.corrects && found.wrong > 0 {
        match store::recount(audit.pool).await {
            Ok(()) => audit.report.corrected(AuditCheck::Totals, "mirror", "totals of callers, wallets and agents"),
            Err(error) => tracing::warn!(cause = %error, "the totals of the mirror could not be counted again"),
        }
    }
    Ok(())
}

/// Totals of listings. A listing and its records are different accounts, and under load the mirror always has one of them
/// first: what is wrong in another way at each look is unproven, and no fault.
pub async fn of_listings(audit: &mut Audit<'_>) -> Result<(), AuditError> {
    let mut found = listing_totals(audit).await?;
    let mut is_moving = false;
    for _ in 1..LOOKS {
        if found.wrong == 0 {
            break;
        }
        audit.wait().await;
        let again = listing_totals(audit).await?;
        let (same, moved): (Vec<_>, Vec<_>) =
            again.listed.into_iter().partition(|wrong| found.listed.iter().any(|before| before.is_same(wrong)));
        is_moving = !moved.is_empty();
        let wrong = if is_moving { u64::try_from(same.len()).unwrap_or(u64::MAX) } else { again.wrong };
        found = CheckedTotals { compared: again.compared, wrong, listed: same };
    }
    if is_moving {
        audit.report.unproven(AuditCheck::Listings);
    }
    note(audit, AuditCheck::Listings, &found);
    let open_amounts = found.listed.into_iter().filter(|wrong| wrong.what == "open_amount");
    audit.report.open_amounts = open_amounts
        .map(|wrong| OpenAmountMismatch {
            agent: wrong.place,
            listing: wrong.stated.parse().unwrap_or(i64::MAX),
            records: wrong.counted.parse().unwrap_or(i64::MAX),
        })
        .collect();
    Ok(())
}

async fn listing_totals(audit: &Audit<'_>) -> Result<CheckedTotals, StoreError> {
    let whole_history = closings::whole_history(audit.pool).await?;
    store::listing_totals(audit.pool, whole_history, most()).await
}

/// The digest is the one of the accounts that it was made of: added up again from their hashes.
pub async fn digest(audit: &mut Audit<'_>) -> Result<(), AuditError> {
    audit.report.compared(AuditCheck::Digest, 0);
    for look in 1..=LOOKS {
        let Some(stored) = mirror::digest(audit.pool).await? else { break };
        let (accounts, checksum) = add_up(audit).await?;
        let is_same = accounts == stored.accounts && checksum == stored.checksum;
        let after = mirror::digest(audit.pool).await?;
        if is_same || after.is_some_and(|after| after.checksum == stored.checksum) {
            audit.report.compared(AuditCheck::Digest, accounts);
            if !is_same {
                let text = format!(
                    "the stored digest of {} accounts is not the one of the {accounts} accounts that it was made of",
                    stored.accounts
                );
                audit.report.fault(AuditCheck::Digest, format!("slot {}", stored.slot), text);
            }
            return Ok(());
        }
        if look < LOOKS {
            audit.wait().await;
        }
    }
    // There is none yet, or accounts change faster than they are added up.
    audit.report.unproven(AuditCheck::Digest);
    Ok(())
}

async fn add_up(audit: &Audit<'_>) -> Result<(u64, [u8; 32]), StoreError> {
    let (mut digest, mut accounts, mut after) = (MirrorDigest::identity(), 0_u64, String::new());
    loop {
        let page = mirror::final_hashes_after(audit.pool, &after, ACCOUNTS_PER_PAGE).await?;
        let Some((last, _)) = page.last() else { return Ok((accounts, digest.checksum())) };
        after = last.to_string();
        for (address, hash) in &page {
            digest.add(address, hash);
            accounts = accounts.saturating_add(1);
        }
    }
}

/// Closings without a row, and closed rows of kinds that nobody can close.
pub async fn closings_without_row(audit: &mut Audit<'_>) -> Result<(), AuditError> {
    let (all, listed) = store::closings_without_row(audit.pool, most()).await?;
    let more = all.saturating_sub(u64::try_from(listed.len()).unwrap_or(u64::MAX));
    for (address, problem) in listed {
        audit.report.fault(AuditCheck::Closed, address, problem);
    }
    audit.report.more_faults(AuditCheck::Closed, more);
    Ok(())
}

/// Reads a few closings again from the chain, because who changes a row can also change its stored closing.
pub async fn closings_on_chain(audit: &mut Audit<'_>) -> Result<(), AuditError> {
    let Some(history) = audit.history else { return Ok(()) };
    for (address, closing) in closings::sample(audit.pool, SAMPLE).await? {
        match history.transaction(&closing.signature).await {
            Ok(Some(transaction)) => {
                audit.report.compared(AuditCheck::Closings, 1);
                let same = closed_accounts(&transaction, &audit.program)
                    .into_iter()
                    .any(|closed| closed.address == address && closed.data == closing.data);
                if !same {
                    let text = format!("the transaction {} does not close it with the stored bytes", closing.signature);
                    audit.report.fault(AuditCheck::Closings, address, text);
                }
            }
            // Many nodes keep only recent transactions.
            Ok(None) => audit.report.unproven(AuditCheck::Closings),
            Err(error) => {
                tracing::debug!(%error, "a closing could not be read again");
                audit.report.unproven(AuditCheck::Closings);
            }
        }
        if audit.is_over() {
            audit.report.cut_short(AuditCheck::Closings);
            break;
        }
    }
    Ok(())
}
