//! `CreatorProfile`: a creator's display name, verification badge, next agent index, and totals of closed agents.

use anchor_lang::prelude::*;

use super::{
    agent_listed::AgentListed,
    invariant::{Violation, claim},
    layout::{DISCRIMINATOR_LEN, Versioned},
    name::{has_one_script, is_plain_name},
    text,
};
use crate::error::{MarketplaceError, Rule, rule};

/// Longest display name in UTF-8 bytes.
pub const MAX_DISPLAY_NAME_BYTES: usize = 32;

/// What the listings of closed agents counted, added up.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, AnchorSerialize, AnchorDeserialize, bytemuck::Pod, bytemuck::Zeroable,
)]
#[repr(C)]
pub struct ClosedAgents {
    pub agents: u64,
    pub completed_executions: u64,
    pub successful_executions: u64,
    pub failed_executions: u64,
    pub unproved_failures: u64,
    pub expired_executions: u64,
    pub disputed_executions: u64,
    pub slashed_total: u64,
    pub platform_fees_total: u64,
}

impl ClosedAgents {
    /// Adds the totals of one agent. `None` if a sum is out of range.
    pub fn with(&self, agent: &AgentListed) -> Option<Self> {
        Some(Self {
            agents: self.agents.checked_add(1)?,
            completed_executions: self.completed_executions.checked_add(agent.completed_executions)?,
            successful_executions: self.successful_executions.checked_add(agent.successful_executions)?,
            failed_executions: self.failed_executions.checked_add(agent.failed_executions)?,
            unproved_failures: self.unproved_failures.checked_add(agent.unproved_failures)?,
            expired_executions: self.expired_executions.checked_add(agent.expired_executions)?,
            disputed_executions: self.disputed_executions.checked_add(agent.disputed_executions)?,
            slashed_total: self.slashed_total.checked_add(agent.slashed_total)?,
            platform_fees_total: self.platform_fees_total.checked_add(agent.platform_fees_total)?,
        })
    }
}

/// Seeds: `["creator", wallet]`. Created by the first listing or the first name, whichever is first, and never
/// closed.
#[account(zero_copy)]
#[derive(Debug)]
pub struct CreatorProfile {
    pub wallet: Pubkey,
    pub revision: u64,
    /// When the admin verified the creator's identity; 0 while unverified.
    pub verified_at_unix_s: i64,
    pub created_at_unix_s: i64,
    pub updated_at_unix_s: i64,
    /// Totals of the agents that were closed. A creator's lifetime totals are these and those of the listings.
    pub closed: ClosedAgents,
    /// Lowest index that no agent of the creator has had.
    pub next_agent_index: u32,
    pub display_name: [u8; MAX_DISPLAY_NAME_BYTES],
    pub display_name_len: u8,
    /// 1: verified.
    pub verified: u8,
    pub version: u8,
    pub bump: u8,
}

impl Versioned for CreatorProfile {
    fn version(&self) -> u8 {
        self.version
    }
}

impl CreatorProfile {
    pub const SEED: &'static [u8] = crtx_protocol::seeds::CREATOR;
    pub const SPACE: usize = DISCRIMINATOR_LEN + core::mem::size_of::<Self>();

    /// The display name; empty if none was set. `None` if the stored bytes are not what the program writes.
    pub fn display_name(&self) -> Option<&str> {
        text::read(&self.display_name, self.display_name_len)
    }

    pub fn set_display_name(&mut self, name: &str) -> Rule {
        self.display_name_len =
            text::write(name, &mut self.display_name).ok_or(MarketplaceError::DisplayNameInvalid)?;
        Ok(())
    }

    pub fn check_display_name(name: &str) -> Rule {
        rule(
            (1..=MAX_DISPLAY_NAME_BYTES).contains(&name.len())
                && !name.starts_with(' ')
                && !name.ends_with(' ')
                && is_plain_name(name),
            MarketplaceError::DisplayNameInvalid,
        )
    }

    /// A badge stands for a name that readers cannot confuse with one of another script.
    pub fn check_verified_name(name: &str) -> Rule {
        rule(has_one_script(name), MarketplaceError::DisplayNameMixesScripts)
    }

    /// What holds for every profile that the program writes.
    pub fn invariant(&self) -> core::result::Result<(), Violation> {
        let name = self.display_name().ok_or(MarketplaceError::DisplayNameInvalid)?;
        if !name.is_empty() {
            Self::check_display_name(name)?;
        }
        claim(self.verified == 0 || !name.is_empty(), "verified without a name")?;
        if self.verified == 1 {
            Self::check_verified_name(name)?;
        }
        claim(self.closed.agents <= u64::from(self.next_agent_index), "more agents closed than listed")?;
        claim(self.verified <= 1, "verified is neither 0 nor 1")?;
        claim((self.verified == 1) == (self.verified_at_unix_s != 0), "verified without a time, or the reverse")
    }
}

const _: () = assert!(core::mem::size_of::<CreatorProfile>() == 176);
