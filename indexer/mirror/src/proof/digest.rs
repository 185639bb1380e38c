//! The digest is the one of the accounts that it was made of: added up again from their hashes.

use crtx_protocol::mirror_digest::MirrorDigest;
use crtx_store::{
    StoreError,
    mirror::{self, DigestRow},
};

use super::{
    context::{AuditError, Context},
    report::{AuditReport, CheckName},
};

/// Accounts of one page.
const ACCOUNTS_PER_PAGE: u32 = 5_000;
/// The digest may change while it is added up.
const LOOKS: u32 = 3;

pub async fn compare(context: &Context<'_>, report: &mut AuditReport) -> Result<(), AuditError> {
    report.compared(CheckName::Digest, 0);
    for look in 1..=LOOKS {
        let Some(stored) = mirror::digest(context.pool).await? else {
            report.unproven(CheckName::Digest);
            return Ok(());
        };
        let (accounts, checksum) = add_up(context).await?;
        let after = mirror::digest(context.pool).await?;
        if accounts == stored.accounts && checksum == stored.checksum {
            report.compared(CheckName::Digest, accounts);
            return Ok(());
        }
        let moved = after.is_none_or(|after| after.checksum != stored.checksum);
        if !moved {
            report.compared(CheckName::Digest, accounts);
            report.fault(CheckName::Digest, format!("slot {}", stored.slot), words(&stored, accounts));
            return Ok(());
        }
        if look < LOOKS {
            tokio::time::sleep(context.pause).await;
        }
    }
    // Accounts change faster than they are added up.
    report.unproven(CheckName::Digest);
    Ok(())
}

async fn add_up(context: &Context<'_>) -> Result<(u64, [u8; 32]), StoreError> {
    let (mut digest, mut accounts, mut after) = (MirrorDigest::identity(), 0_u64, String::new());
    loop {
        let page = mirror::final_hashes_after(context.pool, &after, ACCOUNTS_PER_PAGE).await?;
        let Some((last, _)) = page.last() else { return Ok((accounts, digest.checksum())) };
        after = last.to_string();
        for (address, hash) in &page {
            digest.add(address, hash);
            accounts = accounts.saturating_add(1);
        }
    }
}

fn words(stored: &DigestRow, accounts: u64) -> String {
    format!(
        "the stored digest of {} accounts is not the one of the {accounts} accounts that it was made of",
        stored.accounts
    )
}
