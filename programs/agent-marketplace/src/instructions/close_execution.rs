//! `close_execution`: a finished record goes, its rent comes back, its content stays in the ledger.

use anchor_lang::prelude::*;

use crate::{
    account,
    error::{MarketplaceError, OrRefuse, ensure},
    event::ExecutionClosed,
    state::{Dispute, ExecutionRecord, ExecutionStatus},
};

#[event_cpi]
#[derive(Accounts)]
pub struct CloseExecution<'info> {
    /// CHECK: owner and discriminator are checked by loading it; closed here.
    #[account(mut)]
    pub record: UncheckedAccount<'info>,
    /// CHECK: by address, against the record.
    #[account(mut)]
    pub rent_payer: UncheckedAccount<'info>,
    /// CHECK: at its canonical address, whether there is a dispute or not; closed with the record.
    #[account(mut)]
    pub dispute: UncheckedAccount<'info>,
    /// CHECK: by address, against the dispute; unused if there is none.
    #[account(mut)]
    pub dispute_rent_payer: UncheckedAccount<'info>,
}

impl CloseExecution<'_> {
    fn validate(&self, record: &ExecutionRecord, now_unix_s: i64) -> Result<()> {
        ensure(*self.rent_payer.key == record.rent_payer, MarketplaceError::WrongRentPayer)?;
        account::canonical_bump(&self.dispute, &[Dispute::SEED, self.record.key.as_ref()])?;
        let needed_until = match record.status().or_refuse(MarketplaceError::OutOfRange)? {
            ExecutionStatus::Open | ExecutionStatus::Disputed => i64::MAX,
            ExecutionStatus::Completed | ExecutionStatus::Overturned => record.dispute_deadline_unix_s,
            // A refunded call has no dispute window; the record stays as long all the same, so that a
            // late retry still finds the execution id taken.
            ExecutionStatus::Failed | ExecutionStatus::Expired => record
                .finished_at_unix_s
                .checked_add(i64::from(record.dispute_window_s))
                .or_refuse(MarketplaceError::OutOfRange)?,
        };
        ensure(now_unix_s > needed_until, MarketplaceError::RecordStillNeeded)
    }
}

/// Specification (1.4):
/// - called by anybody, once the record's dispute window is over and nothing is open;
/// - rent goes to who paid it, the record's and the dispute's;
/// - emits both accounts as they last were.
pub(crate) fn handler<'info>(ctx: Context<'info, CloseExecution<'info>>) -> Result<()> {
    let now = account::now_unix_s()?;
    let event = close(ctx.accounts, now)?;
    emit_cpi!(event);
    Ok(())
}

fn close<'info>(accounts: &'info CloseExecution<'info>, now_unix_s: i64) -> Result<ExecutionClosed> {
    let disputed = {
        let loader = AccountLoader::<ExecutionRecord>::try_from(&accounts.record)?;
        let record = loader.load()?;
        accounts.validate(&record, now_unix_s)?;
        record.dispute_count > 0
    };
    let dispute_data = if disputed { Some(close_dispute(accounts)?) } else { None };
    let record_data = accounts.record.try_borrow_data()?.to_vec();
    account::close(&accounts.record, &accounts.rent_payer)?;
    Ok(ExecutionClosed { record: *accounts.record.key, record_data, dispute_data, closed_at_unix_s: now_unix_s })
}

fn close_dispute<'info>(accounts: &'info CloseExecution<'info>) -> Result<Vec<u8>> {
    let rent_payer = AccountLoader::<Dispute>::try_from(&accounts.dispute)?.load()?.rent_payer;
    ensure(*accounts.dispute_rent_payer.key == rent_payer, MarketplaceError::WrongRentPayer)?;
    let data = accounts.dispute.try_borrow_data()?.to_vec();
    account::close(&accounts.dispute, &accounts.dispute_rent_payer)?;
    Ok(data)
}
