//! Totals are what their rows say: those in listings, and those that the mirror keeps for its lists.

use crtx_store::{
    audit::{self as store, Found},
    closings,
    mirror::OpenAmountMismatch,
};

use super::{
    context::{AuditError, Context},
    corrections,
    report::{AuditReport, CheckName, MAX_LISTED},
};

/// Looks at totals of listings: a listing and its records are different accounts, and the mirror may just have one.
const LOOKS: u32 = 3;

pub async fn compare(context: &Context<'_>, report: &mut AuditReport) -> Result<(), AuditError> {
    let kept = kept(context).await?;
    note(report, CheckName::Totals, &kept);
    corrections::totals(context, report, kept.wrong).await?;
    let mut found = listings(context).await?;
    for _ in 1..LOOKS {
        if found.wrong == 0 {
            break;
        }
        tokio::time::sleep(context.pause).await;
        found = listings(context).await?;
    }
    note(report, CheckName::Listings, &found);
    let open_amounts = found.listed.iter().filter(|wrong| wrong.what == "open_amount");
    report.open_amounts = open_amounts
        .map(|wrong| OpenAmountMismatch {
            agent: wrong.place.clone(),
            listing: wrong.stated.parse().unwrap_or(i64::MAX),
            records: wrong.counted.parse().unwrap_or(i64::MAX),
        })
        .collect();
    Ok(())
}

async fn listings(context: &Context<'_>) -> Result<Found, AuditError> {
    let mut connection = context.pool.acquire().await.map_err(crtx_store::StoreError::from)?;
    let whole_history = closings::whole_history(&mut *connection).await?;
    Ok(store::listing_totals(&mut connection, whole_history, most()).await?)
}

async fn kept(context: &Context<'_>) -> Result<Found, AuditError> {
    let mut connection = context.pool.acquire().await.map_err(crtx_store::StoreError::from)?;
    Ok(store::kept_totals(&mut connection, most()).await?)
}

fn most() -> u32 {
    u32::try_from(MAX_LISTED).unwrap_or(u32::MAX)
}

fn note(report: &mut AuditReport, check: CheckName, found: &Found) {
    report.compared(check, found.compared);
    for wrong in &found.listed {
        let text = format!("{} is {}, its records make {}", wrong.what, wrong.stated, wrong.counted);
        report.fault(check, &wrong.place, text);
    }
    let listed = u64::try_from(found.listed.len()).unwrap_or(u64::MAX);
    report.more_faults(check, found.wrong.saturating_sub(listed));
}
