//! `close_execution`: closes a finished record and returns its rent; its content stays in the ledger.

use anchor_lang::prelude::*;

use crate::{
    account::{self, Current},
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
    /// CHECK: by the record that it names; closed with the record. Ignored if there is none.
    #[account(mut)]
    pub dispute: UncheckedAccount<'info>,
    /// CHECK: by address, against the dispute; ignored if there is none.
    #[account(mut)]
    pub dispute_rent_payer: UncheckedAccount<'info>,
}

impl<'info> CloseExecution<'info> {
    /// Returns whether there is a dispute to close.
    fn validate(&'info self, now_unix_s: i64) -> Result<bool> {
        let loader = AccountLoader::<ExecutionRecord>::try_from(&self.record)?;
        let record = loader.read()?;
        ensure(*self.rent_payer.key == record.rent_payer, MarketplaceError::WrongRentPayer)?;
        let needed_until = match record.status().or_refuse(MarketplaceError::OutOfRange)? {
            ExecutionStatus::Open | ExecutionStatus::Disputed => i64::MAX,
            // A refunded call has no dispute window. Its record stays as long anyway, so that a late retry
            // finds the execution id taken.
            ExecutionStatus::Completed
            | ExecutionStatus::Overturned
            | ExecutionStatus::Failed
            | ExecutionStatus::Expired => {
                record.window_end_unix_s(record.finished_at_unix_s).or_refuse(MarketplaceError::OutOfRange)?
            }
        };
        ensure(now_unix_s > needed_until, MarketplaceError::RecordStillNeeded)?;
        let disputed = record.dispute_count > 0;
        if disputed {
            let loader = AccountLoader::<Dispute>::try_from(&self.dispute)?;
            let dispute = loader.read()?;
            // Not its address: to derive it would cost more, the more tries its bump needs, and the caller chooses that.
            ensure(dispute.execution == *self.record.key, MarketplaceError::WrongDispute)?;
            ensure(*self.dispute_rent_payer.key == dispute.rent_payer, MarketplaceError::WrongRentPayer)?;
        }
        Ok(disputed)
    }
}

/// Rules (docs/specification.md, "Rent and network fees"):
/// - called by anybody, when the record's dispute window is over and nothing is open;
/// - rent returns to who paid it, the record's and the dispute's;
/// - emits the last content of both accounts.
pub(crate) fn handler<'info>(ctx: Context<'info, CloseExecution<'info>>) -> Result<()> {
    let accounts: &'info CloseExecution<'info> = ctx.accounts;
    let now = account::now_unix_s()?;
    let disputed = accounts.validate(now)?;
    let dispute_data = if disputed {
        let data = accounts.dispute.try_borrow_data()?.to_vec();
        account::close(&accounts.dispute, &accounts.dispute_rent_payer)?;
        Some(data)
    } else {
        None
    };
    let record_data = accounts.record.try_borrow_data()?.to_vec();
    account::close(&accounts.record, &accounts.rent_payer)?;
    emit_cpi!(ExecutionClosed { record: *accounts.record.key, record_data, dispute_data, closed_at_unix_s: now });
    Ok(())
}
