//! `ExecutionRecord`: one paid call, from escrow to settlement or refund.

use anchor_lang::prelude::*;
use crtx_protocol::fee::{self, Split};

use super::{
    invariant::{Violation, claim},
    layout::{DISCRIMINATOR_LEN, Versioned},
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
    /// The gateway was interrupted and gives the execution up. No failure of the agent; only the gateway reports it.
    Interrupted = 5,
}

/// Who settled an execution. Stored as its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, AnchorSerialize, AnchorDeserialize)]
#[borsh(use_discriminant = false)]
#[repr(u8)]
pub enum Settler {
    /// The caller, also if it has another of these roles.
    Caller = 1,
    Creator = 2,
    Gateway = 3,
}

/// Most tokens that a settlement can report.
pub const MAX_TOKENS_USED: u64 = 1_000_000_000;

/// Seeds: `["execution", caller, execution_id]`.
///
/// While the execution is open, [`OpenTerms`] follow behind the record in the same account. They are dropped when the
/// execution ends, and their rent returns to its payer at once.
#[account(zero_copy)]
#[derive(Debug)]
pub struct ExecutionRecord {
    pub agent: Pubkey,
    /// The wallet that paid. Refunds and compensations belong to it.
    pub caller: Pubkey,
    /// Who paid the rent and gets it back.
    pub rent_payer: Pubkey,
    /// SHA-256 of the result; zeros until completed.
    pub result_hash: [u8; 32],
    /// UUID of the execution.
    pub execution_id: [u8; 16],
    pub revision: u64,
    pub amount: u64,
    pub opened_at_unix_s: i64,
    /// When the record left `Open`; 0 while open.
    pub finished_at_unix_s: i64,
    /// From dispatch to result delivery, as the settler reports; at most what passed on chain since the opening.
    pub execution_time_ms: u32,
    /// Tokens the creator's service reported; meaningful when `tokens_reported` is 1.
    pub tokens_used: u32,
    /// Seconds after completion in which a dispute may be raised, fixed at opening.
    pub dispute_window_s: u32,
    /// The platform's part in basis points, fixed at opening.
    pub fee_bps: u16,
    /// Most that a slash may take beyond the compensation, in multiples of the amount, fixed at opening.
    pub max_penalty_multiple: u8,
    /// 1: the result is signed for this call.
    pub binding: u8,
    /// [`ExecutionStatus`].
    pub status: u8,
    /// [`FailureReason`]; 0 unless failed or expired.
    pub failure_reason: u8,
    /// [`Settler`]; 0 unless completed.
    pub settled_by: u8,
    pub tokens_reported: u8,
    pub dispute_count: u8,
    pub version: u8,
    pub bump: u8,
    /// 1: a failure of the agent. The creator reported or signed it, or the time-out had passed on chain.
    pub agents_failure: u8,
}

/// What only an open execution needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct OpenTerms {
    /// SHA-256 of the RFC 8785 form of `{task, parameters}`.
    pub request_hash: [u8; 32],
    /// The listing's result key when the execution was opened.
    pub result_key: Pubkey,
    /// The spending grant used; all zeros when the wallet signed by itself.
    pub grant: Pubkey,
    /// The token account that paid. A refund may go to it.
    pub paid_from: Pubkey,
    /// Last second in which a result settles.
    pub deadline_unix_s: i64,
    pub timeout_seconds: u32,
    pub reserved: [u8; 4],
}

/// The account of an open execution, behind the discriminator.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct OpenRecord {
    pub record: ExecutionRecord,
    pub terms: OpenTerms,
}

impl Discriminator for OpenRecord {
    const DISCRIMINATOR: &'static [u8] = ExecutionRecord::DISCRIMINATOR;
}

impl Versioned for OpenRecord {
    fn version(&self) -> u8 {
        self.record.version
    }
}

impl OpenTerms {
    pub const LEN: usize = core::mem::size_of::<Self>();

    /// Results settle up to and including the second of the deadline.
    #[inline(always)]
    pub fn check_settled_in_time(&self, now_unix_s: i64) -> Rule {
        rule(now_unix_s <= self.deadline_unix_s, MarketplaceError::DeadlinePassed)
    }

    /// What holds for the terms of every open execution.
    pub fn invariant(&self, record: &ExecutionRecord) -> core::result::Result<(), Violation> {
        claim(record.opened_at_unix_s < self.deadline_unix_s, "the deadline is not after the opening")?;
        claim(self.result_key != Pubkey::default(), "no result key")?;
        claim(self.paid_from != Pubkey::default(), "paid from nowhere")
    }
}

impl Versioned for ExecutionRecord {
    fn version(&self) -> u8 {
        self.version
    }
}

impl ExecutionRecord {
    pub const SEED: &'static [u8] = crtx_protocol::seeds::EXECUTION;
    /// Size of the account of an execution that ended.
    pub const SPACE: usize = DISCRIMINATOR_LEN + core::mem::size_of::<Self>();
    /// Size of the account of an open execution.
    pub const OPEN_SPACE: usize = Self::SPACE + OpenTerms::LEN;

    /// The terms of an open execution, from the account's bytes. `None` if the execution ended.
    #[inline(always)]
    pub fn open_terms(account_data: &[u8]) -> Option<&OpenTerms> {
        bytemuck::try_from_bytes(account_data.get(Self::SPACE..Self::OPEN_SPACE)?).ok()
    }

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
            5 => Some(FailureReason::Interrupted),
            _ => None,
        }
    }

    /// `None` unless completed.
    pub fn settled_by(&self) -> Option<Settler> {
        match self.settled_by {
            1 => Some(Settler::Caller),
            2 => Some(Settler::Creator),
            3 => Some(Settler::Gateway),
            _ => None,
        }
    }

    /// How the amount is divided. `None` if the stored fee is not one that the program writes.
    #[inline(always)]
    pub fn split(&self) -> Option<Split> {
        fee::split(self.amount, u32::from(self.fee_bps))
    }

    /// Milliseconds that have passed on chain since the opening. The chain counts whole seconds, and the present one
    /// counts up to its end. `None` if the times are out of range.
    #[inline(always)]
    pub fn elapsed_ms(&self, now_unix_s: i64) -> Option<u64> {
        let seconds = now_unix_s.checked_sub(self.opened_at_unix_s)?.checked_add(1)?;
        u64::try_from(seconds).ok()?.checked_mul(1_000)
    }

    /// Last second in which a dispute can be raised; `None` unless completed.
    pub fn dispute_deadline_unix_s(&self) -> Option<i64> {
        self.settled_by()?;
        self.window_end_unix_s(self.finished_at_unix_s)
    }

    /// Most that a slash of this execution may take. `None` if it is out of range.
    pub fn highest_slash(&self) -> Option<u64> {
        self.amount.checked_mul(u64::from(self.max_penalty_multiple))?.checked_add(self.amount)
    }

    /// Last second in which the record can be disputed, or in which it stays although it cannot, if it leaves
    /// `Open` at `finished_at_unix_s`.
    pub fn window_end_unix_s(&self, finished_at_unix_s: i64) -> Option<i64> {
        finished_at_unix_s.checked_add(i64::from(self.dispute_window_s))
    }

    /// Tokens used, if the creator's service reported them.
    pub fn reported_tokens(&self) -> Option<u64> {
        (self.tokens_reported == 1).then_some(u64::from(self.tokens_used))
    }

    /// The reported number of tokens as it is stored: it has a bound, because readers add it up and show it.
    #[inline(always)]
    pub fn stored_tokens(tokens_used: u64) -> core::result::Result<u32, MarketplaceError> {
        rule(tokens_used <= MAX_TOKENS_USED, MarketplaceError::TokensImplausible)?;
        u32::try_from(tokens_used).map_err(|_| MarketplaceError::TokensImplausible)
    }

    /// What holds for every record that the program writes.
    pub fn invariant(&self) -> core::result::Result<(), Violation> {
        use ExecutionStatus::{Completed, Disputed, Expired, Failed, Open, Overturned};
        let status = self.status().ok_or(Violation::Contradiction("an unknown status"))?;
        let settled = matches!(status, Completed | Disputed | Overturned);
        let elapsed = self.elapsed_ms(self.finished_at_unix_s);
        claim(self.amount > 0 && self.split().is_some(), "the amount does not split")?;
        claim(self.settled_by().is_some() == settled, "settled by nobody, or the reverse")?;
        claim(
            !settled || elapsed.is_some_and(|elapsed| u64::from(self.execution_time_ms) <= elapsed),
            "longer than the chain saw",
        )?;
        claim((1..=100).contains(&self.max_penalty_multiple), "a penalty without a limit")?;
        claim(self.binding <= 1, "binding is neither 0 nor 1")?;
        claim((status == Open) == (self.finished_at_unix_s == 0), "finished while open, or the reverse")?;
        claim(!settled || self.finished_at_unix_s >= self.opened_at_unix_s, "settled before the opening")?;
        claim(settled || self.result_hash == [0; 32], "a result without settlement")?;
        claim(
            matches!(status, Failed | Expired) == (self.failure_reason != 0),
            "a failure without reason, or the reverse",
        )?;
        claim(
            self.agents_failure == 0 || status == Failed && self.agents_failure == 1,
            "a failure of the agent without one",
        )?;
        claim(!matches!(status, Disputed | Overturned) || self.dispute_count == 1, "disputed without a dispute")?;
        claim(self.dispute_count <= 1, "more than one dispute")
    }
}

const _: () = assert!(core::mem::size_of::<ExecutionRecord>() == 200);
const _: () = assert!(core::mem::size_of::<OpenTerms>() == 144);
