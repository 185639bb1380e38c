//! `Dispute`: a caller's claim against a completed execution and how it was decided.

use anchor_lang::prelude::*;

use super::{
    config::Config,
    invariant::{Violation, claim},
    layout::{DISCRIMINATOR_LEN, Versioned},
    text,
};
use crate::error::{MarketplaceError, Rule, rule};

/// Longest evidence URI in bytes.
pub const MAX_EVIDENCE_URI_BYTES: usize = 128;

/// Outcome of a dispute. Stored as its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, AnchorSerialize, AnchorDeserialize)]
#[borsh(use_discriminant = false)]
#[repr(u8)]
pub enum DisputeOutcome {
    Open = 1,
    Upheld = 2,
    Rejected = 3,
    /// The resolver did not decide within [`Dispute::LIMIT_S`]; the execution stays completed.
    Expired = 4,
    /// The caller gave the claim up; the execution stays completed.
    Cancelled = 5,
    /// Rejected, and the creator gets the bond: the resolver found that the caller knew the claim to be false.
    Abusive = 6,
}

/// What the resolver decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, AnchorSerialize, AnchorDeserialize)]
pub enum DisputeDecision {
    /// The caller was right.
    Upheld,
    /// The creator was right.
    Rejected,
    /// The creator was right, and the caller knew it: the creator gets the bond.
    Abusive,
}

impl DisputeDecision {
    pub const fn outcome(self) -> DisputeOutcome {
        match self {
            Self::Upheld => DisputeOutcome::Upheld,
            Self::Rejected => DisputeOutcome::Rejected,
            Self::Abusive => DisputeOutcome::Abusive,
        }
    }
}

/// Seeds: `["dispute", execution record]`, so an execution has at most one dispute.
#[account(zero_copy)]
#[derive(Debug)]
pub struct Dispute {
    pub execution: Pubkey,
    pub agent: Pubkey,
    pub raised_by: Pubkey,
    /// Who paid the rent and gets it back.
    pub rent_payer: Pubkey,
    /// SHA-256 of the evidence document.
    pub evidence_hash: [u8; 32],
    /// Who decided; all zeros while open, and when nobody did.
    pub resolved_by: Pubkey,
    /// SHA-256 of the resolver's reasons; zeros unless the resolver decided.
    pub resolution_hash: [u8; 32],
    /// SHA-256 of the creator's answer; zeros until there is one.
    pub answer_hash: [u8; 32],
    pub revision: u64,
    pub raised_at_unix_s: i64,
    /// When the creator answered; 0 before.
    pub answered_at_unix_s: i64,
    /// When the dispute ended; 0 while open.
    pub resolved_at_unix_s: i64,
    /// What the caller deposited. Returned when the dispute ends, or paid to the creator if it is abusive.
    pub bond: u64,
    /// Taken from the collateral; 0 unless upheld, or expired while there was no resolver.
    pub slash_amount: u64,
    /// Part of the slash that went to the caller, at most what the caller paid. The rest went to the insurance.
    pub compensation: u64,
    /// The part of what was paid that the collateral covered when the dispute was raised. No other dispute takes it.
    pub covered_amount: u64,
    /// [`DisputeOutcome`].
    pub outcome: u8,
    pub evidence_uri_len: u8,
    pub answer_uri_len: u8,
    pub version: u8,
    pub bump: u8,
    pub resolution_uri_len: u8,
    pub reserved: [u8; 2],
    pub evidence_uri: [u8; MAX_EVIDENCE_URI_BYTES],
    pub answer_uri: [u8; MAX_EVIDENCE_URI_BYTES],
    pub resolution_uri: [u8; MAX_EVIDENCE_URI_BYTES],
}

impl Versioned for Dispute {
    fn version(&self) -> u8 {
        self.version
    }
}

impl Dispute {
    pub const SEED: &'static [u8] = crtx_protocol::seeds::DISPUTE;
    pub const SPACE: usize = DISCRIMINATOR_LEN + core::mem::size_of::<Self>();
    /// Seconds the resolver has to decide: 30 days. Longer than it takes to put another resolver in place.
    pub const LIMIT_S: i64 = 30 * 24 * 60 * 60;

    /// Seconds that the creator has to answer before a dispute can be upheld without an answer: 24 hours.
    pub const ANSWER_PERIOD_S: i64 = 24 * 60 * 60;

    /// An upheld dispute needs the creator's answer, or the time for it to be over.
    pub fn check_answered(&self, now_unix_s: i64) -> Rule {
        let answer_due =
            self.raised_at_unix_s.checked_add(Self::ANSWER_PERIOD_S).ok_or(MarketplaceError::OutOfRange)?;
        rule(self.answered_at_unix_s != 0 || now_unix_s >= answer_due, MarketplaceError::AnswerPeriodRunning)
    }

    /// Seconds in which a compensation goes to the associated account of the caller's wallet only: 7 days. After that to
    /// any account of the wallet: nobody keeps collateral locked by giving that one away.
    pub const ASSOCIATED_PAYEE_S: i64 = 7 * 24 * 60 * 60;

    /// Last second that belongs to the resolver alone.
    pub fn decidable_until_unix_s(&self) -> Option<i64> {
        self.raised_at_unix_s.checked_add(Self::LIMIT_S)
    }

    /// `None` if the stored number is not one that the program writes.
    pub fn outcome(&self) -> Option<DisputeOutcome> {
        match self.outcome {
            1 => Some(DisputeOutcome::Open),
            2 => Some(DisputeOutcome::Upheld),
            3 => Some(DisputeOutcome::Rejected),
            4 => Some(DisputeOutcome::Expired),
            5 => Some(DisputeOutcome::Cancelled),
            6 => Some(DisputeOutcome::Abusive),
            _ => None,
        }
    }

    /// The evidence URI. `None` if the stored bytes are not what the program writes.
    pub fn evidence_uri(&self) -> Option<&str> {
        text::read(&self.evidence_uri, self.evidence_uri_len)
    }

    pub fn set_evidence_uri(&mut self, uri: &str) -> Rule {
        self.evidence_uri_len = text::write(uri, &mut self.evidence_uri).ok_or(MarketplaceError::EvidenceUriInvalid)?;
        Ok(())
    }

    /// The URI of the creator's answer; empty until there is one. `None` if the stored bytes are not what the program
    /// writes.
    pub fn answer_uri(&self) -> Option<&str> {
        text::read(&self.answer_uri, self.answer_uri_len)
    }

    pub fn set_answer_uri(&mut self, uri: &str) -> Rule {
        self.answer_uri_len = text::write(uri, &mut self.answer_uri).ok_or(MarketplaceError::EvidenceUriInvalid)?;
        Ok(())
    }

    /// Where the resolver's reasons are; empty unless the resolver decided. `None` if the stored bytes are not what the
    /// program writes.
    pub fn resolution_uri(&self) -> Option<&str> {
        text::read(&self.resolution_uri, self.resolution_uri_len)
    }

    pub fn set_resolution_uri(&mut self, uri: &str) -> Rule {
        self.resolution_uri_len =
            text::write(uri, &mut self.resolution_uri).ok_or(MarketplaceError::EvidenceUriInvalid)?;
        Ok(())
    }

    pub fn check_evidence_hash(hash: &[u8; 32]) -> Rule {
        rule(*hash != [0; 32], MarketplaceError::EvidenceMissing)
    }

    pub fn check_evidence_uri(uri: &str) -> Rule {
        rule(
            (1..=MAX_EVIDENCE_URI_BYTES).contains(&uri.len()) && text::is_visible_ascii(uri),
            MarketplaceError::EvidenceUriInvalid,
        )
    }

    pub fn check_resolution_hash(hash: &[u8; 32]) -> Rule {
        rule(*hash != [0; 32], MarketplaceError::ResolutionMissing)
    }

    /// Only an upheld dispute takes collateral.
    pub fn check_slash(upheld: bool, slash: u64) -> Rule {
        rule(upheld || slash == 0, MarketplaceError::SlashWithoutCause)
    }

    /// What holds for every dispute that the program writes.
    pub fn invariant(&self) -> core::result::Result<(), Violation> {
        let outcome = self.outcome().ok_or(Violation::Contradiction("an unknown outcome"))?;
        let decided = matches!(outcome, DisputeOutcome::Upheld | DisputeOutcome::Rejected | DisputeOutcome::Abusive);
        Self::check_evidence_hash(&self.evidence_hash)?;
        Self::check_evidence_uri(self.evidence_uri().ok_or(MarketplaceError::EvidenceUriInvalid)?)?;
        let answer_uri = self.answer_uri().ok_or(MarketplaceError::EvidenceUriInvalid)?;
        if self.answered_at_unix_s == 0 {
            claim(self.answer_hash == [0; 32] && answer_uri.is_empty(), "an answer without a time")?;
        } else {
            Self::check_evidence_hash(&self.answer_hash)?;
            Self::check_evidence_uri(answer_uri)?;
        }
        let resolution_uri = self.resolution_uri().ok_or(MarketplaceError::EvidenceUriInvalid)?;
        if decided {
            Self::check_resolution_hash(&self.resolution_hash)?;
            Self::check_evidence_uri(resolution_uri)?;
        }
        let takes = matches!(outcome, DisputeOutcome::Upheld | DisputeOutcome::Expired);
        Self::check_slash(takes, self.slash_amount)?;
        claim(decided == (self.resolved_by != Pubkey::default()), "decided by nobody, or the reverse")?;
        claim(decided || resolution_uri.is_empty(), "the place of reasons that nobody gave")?;
        claim(decided || self.resolution_hash == [0; 32], "the reasons of a decision that was not made")?;
        claim(
            (outcome == DisputeOutcome::Open) == (self.resolved_at_unix_s == 0),
            "resolved while open, or the reverse",
        )?;
        claim(self.compensation <= self.slash_amount, "more compensation than slash")
    }
}

const _: () = assert!(core::mem::size_of::<Dispute>() == 712);
const _: () = assert!(Dispute::LIMIT_S > Config::ROLE_DELAY_S);
