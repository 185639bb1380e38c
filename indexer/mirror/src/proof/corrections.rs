//! What an audit found to be different is read from the chain and written. Somebody may have changed a row whose hash of
//! the account's bytes still fits; then nothing else would ever write it again.

use std::collections::{HashMap, HashSet};

use crtx_store::{
    audit as store,
    closings::Closing,
    execution_list::{self, ListDifference},
    mirror::{self, Batch},
};
use solana_pubkey::Pubkey;

use super::{
    context::{AuditError, Context},
    report::{AuditReport, CheckName},
};
use crate::{
    closings::{event::closed_accounts, search::keep},
    source::{At, MAX_ACCOUNTS_PER_READ},
    sync,
};

/// A row that is not its account.
pub struct WrongRow {
    pub address: String,
    pub table: &'static str,
    /// The revision of the row; `None` if there is no row of an open account.
    pub row_revision: Option<i64>,
    /// The revision of the account.
    pub revision: i64,
}

/// Reads accounts again, and makes their rows equal to them. If there is another node, it must show the same.
pub async fn rows(context: &Context<'_>, report: &mut AuditReport, wrong: &[WrongRow]) -> Result<(), AuditError> {
    let by_address: HashMap<Pubkey, &WrongRow> =
        wrong.iter().filter_map(|wrong| Some((wrong.address.parse().ok()?, wrong))).collect();
    let addresses: Vec<Pubkey> = by_address.keys().copied().collect();
    for chunk in addresses.chunks(MAX_ACCOUNTS_PER_READ) {
        let slot = context.newest_slot().await?;
        let read = context.source.read(chunk, At::Confirmed, slot).await?;
        let other = match &context.witness {
            Some(witness) => Some(witness.read(chunk, At::Confirmed, read.slot).await.ok()),
            None => None,
        };
        let mut batch = Batch::default();
        let mut found: HashMap<String, i64> = HashMap::new();
        for (at, (address, account)) in chunk.iter().zip(&read.accounts).enumerate() {
            let (Some(account), Some(wrong)) = (account, by_address.get(address)) else { continue };
            let is_ahead = wrong.row_revision.is_some_and(|row| row > wrong.revision);
            let is_believed = match &other {
                None => true,
                // Without a second answer no row goes back to an earlier state.
                Some(None) => !is_ahead,
                Some(Some(other)) => other.accounts.get(at).is_some_and(|other| other.as_ref() == Some(account)),
            };
            if account.owner == context.program && is_believed {
                sync::push(&mut batch, address, read.slot, account.data.clone())?;
                found.extend(wrong.row_revision.map(|revision| (wrong.address.clone(), revision)));
            }
        }
        mirror::rewrite(context.pool, &batch, &found, read.slot).await?;
        let left = mirror::compare(context.pool, &batch).await?;
        let left: HashSet<String> = left.differences.into_iter().map(|difference| difference.address).collect();
        for address in batch.readable() {
            if let Some(wrong) = address.parse().ok().and_then(|address: Pubkey| by_address.get(&address))
                && !left.contains(&address)
            {
                report.corrected(CheckName::Accounts, format!("{address} in {}", wrong.table), "its row");
            }
        }
    }
    Ok(())
}

/// Reads the closing of an account again from the chain, and makes its closed row equal to it.
pub async fn closed_row(
    context: &Context<'_>,
    report: &mut AuditReport,
    address: &str,
    closing: &Closing,
) -> Result<(), AuditError> {
    let Some(history) = context.history.filter(|_| context.corrects) else { return Ok(()) };
    let Ok(Some(transaction)) = history.transaction(&closing.signature).await else { return Ok(()) };
    let closed: Vec<_> = closed_accounts(&transaction, &context.program)
        .into_iter()
        .filter(|closed| closed.address.to_string() == address)
        .collect();
    if !closed.is_empty() {
        keep(context.pool, &closed, transaction.slot, &closing.signature).await?;
        report.corrected(CheckName::Closed, address, "its closed row");
    }
    Ok(())
}

/// Counts the mirror's own totals again.
pub async fn totals(context: &Context<'_>, report: &mut AuditReport, wrong: u64) -> Result<(), AuditError> {
    if !context.corrects || wrong == 0 {
        return Ok(());
    }
    match store::recount(context.pool).await {
        Ok(()) => report.corrected(CheckName::Totals, "mirror", "totals of callers, wallets and agents"),
        Err(error) => tracing::warn!(cause = %error, "the totals of the mirror could not be counted again"),
    }
    Ok(())
}

/// Makes rows of the list of executions again from their sources; and all counters, if the list was compared as a whole
/// and is not large.
pub async fn list(
    context: &Context<'_>,
    report: &mut AuditReport,
    differences: &[ListDifference],
    whole: bool,
) -> Result<(), AuditError> {
    if !context.corrects {
        return Ok(());
    }
    let record = |difference: &ListDifference| match difference {
        ListDifference::Row { record, .. } => Some(record.clone()),
        ListDifference::Counters { .. } => None,
    };
    let records: Vec<String> = differences.iter().filter_map(record).collect();
    if !records.is_empty() {
        execution_list::rewrite(context.pool, &records).await?;
        records.iter().for_each(|record| report.corrected(CheckName::Lists, record, "its row in the list"));
    }
    let counters = differences.len() > records.len();
    if counters && whole {
        match execution_list::rebuild(context.pool).await {
            Ok(()) => report.corrected(CheckName::Lists, "mirror", "the list of executions and its counters"),
            Err(error) => tracing::warn!(cause = %error, "the list of executions could not be made again"),
        }
    }
    Ok(())
}
