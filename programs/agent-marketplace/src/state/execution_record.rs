//! `ExecutionRecord`: one paid call, from escrow to settlement or refund.

use anchor_lang::prelude::*;

use super::{
    invariant::{Violation, claim},
    layout::DISCRIMINATOR_LEN,
};
use crate::error::{MarketplaceError, Rule, rule};

/// State of a record. It leaves `Open` exactly once. Stored as its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, AnchorSerialize, AnchorDeserialize)]
#[borsh(use_discriminant = false)]
#[repr(u8)]
pub enum ExecutionStatus {
    /// Escrow funded, no outcome yet.
    Open = 1,
    /// Result signature verified; creator and platform paid.
    Completed = 2,
    /// Creator or gateway reported failure; caller refunded.
    Failed = 3,
    /// Deadline passed; caller refunded.
    Expired = 4,
    /// Completed, and a dispute is open.
    Disputed = 5,
    /// Completed, and a dispute was upheld.
    Overturned = 6,
}

/// Why an execution failed, as its reporter says. Stored as its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, AnchorSerialize, AnchorDeserialize)]
#[borsh(use_discriminant = false)]
#[repr(u8)]
pub enum FailureReason {
    /// The creator's service answered `failed`.
    CreatorFailed = 1,
    /// No answer within the listing's time-out.
    Timeout = 2,
    /// The answer violates the protocol (id, hash, signature, form or size), or the connection broke.
    InvalidResponse = 3,
    /// The deadline passed (written by `refund_expired_execution`).
    Expired = 4,
}

/// Seeds: `["execution", caller, execution_id]`.
#[account(zero_copy)]
#[derive(Debug)]
pub struct ExecutionRecord {
    pub agent: Pubkey,
    /// The wallet that paid.
    pub caller: Pubkey,
    /// SHA-256 of the RFC 8785 form of `{task, parameters}`.
    pub request_hash: [u8; 32],
    /// Owner of the token account a refund goes to.
    pub refund_owner: Pubkey,
    /// The listing's result key when the execution was opened.
    pub result_key: Pubkey,
    /// Who paid the rent and gets it back.
    pub rent_payer: Pubkey,
    /// The spending grant used; all zeros when the wallet signed by itself.
    pub grant: Pubkey,
    /// SHA-256 of the result; zeros until completed.
    pub result_hash: [u8; 32],
    /// UUID of the execution.
    pub execution_id: [u8; 16],
    pub revision: u64,
    pub amount: u64,
    /// What the creator gets on completion, fixed at opening.
    pub creator_amount: u64,
    /// What the platform gets on completion, fixed at opening.
    pub platform_amount: u64,
    /// Tokens the creator's service reported; meaningful when `tokens_reported` is 1.
    pub tokens_used: u64,
    pub execution_time_ms: u64,
    pub opened_at_unix_s: i64,
    /// Last second in which a result settles.
    pub deadline_unix_s: i64,
    /// When the record left `Open`; 0 while open.
    pub finished_at_unix_s: i64,
    /// Last second in which a dispute may be raised; 0 unless completed.
    pub dispute_deadline_unix_s: i64,
    pub timeout_seconds: u32,
    /// Seconds after completion in which a dispute may be raised, fixed at opening.
    pub dispute_window_s: u32,
    /// [`ExecutionStatus`].
    pub status: u8,
    /// [`FailureReason`]; 0 unless failed or expired.
    pub failure_reason: u8,
    pub tokens_reported: u8,
    pub dispute_count: u8,
    pub version: u8,
    pub bump: u8,
    pub reserved: [u8; 2],
}

impl ExecutionRecord {
    pub const SEED: &'static [u8] = crtx_protocol::seeds::EXECUTION;
    pub const SPACE: usize = DISCRIMINATOR_LEN + core::mem::size_of::<Self>();

    /// `None` if the stored number is not one that the program writes.
    pub fn status(&self) -> Option<ExecutionStatus> {
        match self.status {
            1 => Some(ExecutionStatus::Open),
            2 => Some(ExecutionStatus::Completed),
            3 => Some(ExecutionStatus::Failed),
            4 => Some(ExecutionStatus::Expired),
            5 => Some(ExecutionStatus::Disputed),
            6 => Some(ExecutionStatus::Overturned),
            _ => None,
        }
    }

    /// `None` unless failed or expired.
    pub fn failure_reason(&self) -> Option<FailureReason> {
        match self.failure_reason {
            1 => Some(FailureReason::CreatorFailed),
            2 => Some(FailureReason::Timeout),
            3 => Some(FailureReason::InvalidResponse),
            4 => Some(FailureReason::Expired),
            _ => None,
        }
    }

    /// Most milliseconds that can lie between opening and settlement. The chain counts whole seconds, and the
    /// deadline's second belongs to the execution up to its end. `None` if the stored times are out of range.
    pub fn longest_execution_time_ms(&self) -> Option<u64> {
        let seconds = self.deadline_unix_s.checked_sub(self.opened_at_unix_s)?.checked_add(1)?;
        u64::try_from(seconds).ok()?.checked_mul(1_000)
    }

    /// Last second in which the record can be disputed, or in which it stays although it cannot, if it leaves
    /// `Open` at `finished_at_unix_s`.
    pub fn window_end_unix_s(&self, finished_at_unix_s: i64) -> Option<i64> {
        finished_at_unix_s.checked_add(i64::from(self.dispute_window_s))
    }

    /// Tokens used, if the creator's service reported them.
    pub fn reported_tokens(&self) -> Option<u64> {
        (self.tokens_reported == 1).then_some(self.tokens_used)
    }

    /// Results settle up to and including the second of the deadline.
    #[inline(always)]
    pub fn check_settled_in_time(&self, now_unix_s: i64) -> Rule {
        rule(now_unix_s <= self.deadline_unix_s, MarketplaceError::DeadlinePassed)
    }

    /// The reported time is at most the time that the execution had, so no report can push the listing's sum
    /// out of its range and block later settlements.
    #[inline(always)]
    pub fn check_execution_time(&self, execution_time_ms: u64) -> Rule {
        let longest_ms = self.longest_execution_time_ms().ok_or(MarketplaceError::OutOfRange)?;
        rule(execution_time_ms <= longest_ms, MarketplaceError::ExecutionTimeImplausible)
    }

    /// What holds for every record that the program writes.
    pub fn invariant(&self) -> core::result::Result<(), Violation> {
        use ExecutionStatus::{Completed, Disputed, Expired, Failed, Open, Overturned};
        let status = self.status().ok_or(Violation::Contradiction("an unknown status"))?;
        let settled = matches!(status, Completed | Disputed | Overturned);
        if settled {
            self.check_settled_in_time(self.finished_at_unix_s)?;
            self.check_execution_time(self.execution_time_ms)?;
        }
        let split = self.creator_amount.checked_add(self.platform_amount);
        let dispute_deadline = if settled { self.window_end_unix_s(self.finished_at_unix_s) } else { Some(0) };
        claim(self.amount > 0 && split == Some(self.amount), "the split does not add up to the amount")?;
        claim(self.opened_at_unix_s < self.deadline_unix_s, "the deadline is not after the opening")?;
        claim((status == Open) == (self.finished_at_unix_s == 0), "finished while open, or the reverse")?;
        claim(!settled || self.finished_at_unix_s >= self.opened_at_unix_s, "settled before the opening")?;
        claim(Some(self.dispute_deadline_unix_s) == dispute_deadline, "the dispute deadline is not the settlement's")?;
        claim(settled || self.result_hash == [0; 32], "a result without settlement")?;
        claim(
            matches!(status, Failed | Expired) == (self.failure_reason != 0),
            "a failure without reason, or the reverse",
        )?;
        claim(!matches!(status, Disputed | Overturned) || self.dispute_count == 1, "disputed without a dispute")?;
        claim(self.dispute_count <= 1, "more than one dispute")
    }
}

const _: () = assert!(core::mem::size_of::<ExecutionRecord>() == 368);
