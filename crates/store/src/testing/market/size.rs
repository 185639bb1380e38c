//! How large a market is, and who its most important wallets and tags are.

use chrono::{DateTime, TimeDelta, Utc};
use crtx_protocol::api_key::{ApiKey, KeyNetwork};
use solana_pubkey::Pubkey;

use super::random::numbered;

const CREATORS: u64 = 1;
const CALLERS: u64 = 2;
const AGENTS: u64 = 3;

/// Agents of one creator, on average.
const AGENTS_PER_CREATOR: u32 = 50;
/// Executions of one caller, on average, except the first three.
const EXECUTIONS_PER_CALLER: u32 = 100;

/// What a market holds.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub agents: u32,
    /// With a record on chain.
    pub executions: u32,
    /// The time of the newest row.
    pub now: DateTime<Utc>,
}

/// Rows are spread over so many days.
pub const DAYS: i64 = 90;
/// The tag of few agents.
pub const RARE_TAG: &str = "rare-metals";
/// The tag of the most agents.
pub const COMMON_TAG: &str = "research";
/// A word that few names have.
pub const RARE_WORD: &str = "zirconium";

impl Size {
    pub fn creators(&self) -> u32 {
        (self.agents / AGENTS_PER_CREATOR).max(3)
    }

    /// A creator. The first three are also callers, those of [`Self::large_callers`].
    pub fn creator(&self, number: u32) -> Pubkey {
        if number < 3 { self.caller(number) } else { numbered(CREATORS, number) }
    }

    pub fn agent(&self, number: u32) -> Pubkey {
        numbered(AGENTS, number)
    }

    /// Every creator has the agents that leave its number when they are divided by the number of creators.
    pub fn creator_of(&self, agent: u32) -> Pubkey {
        self.creator(agent % self.creators())
    }

    pub fn callers(&self) -> u32 {
        3 + (self.executions / EXECUTIONS_PER_CALLER).max(1)
    }

    pub fn caller(&self, number: u32) -> Pubkey {
        numbered(CALLERS, number)
    }

    /// Executions of the first three callers: half of all, and 10 000 and 200 unless there are few in all.
    pub fn large_callers(&self) -> [u32; 3] {
        [self.executions / 2, 10_000.min(self.executions / 10), 200.min(self.executions / 50)]
    }

    /// Whose execution that is.
    pub fn caller_of(&self, execution: u32) -> u32 {
        let mut end = 0;
        for (caller, count) in self.large_callers().into_iter().enumerate() {
            end += count;
            if execution < end {
                return caller as u32;
            }
        }
        3 + execution % (self.callers() - 3)
    }

    /// The API key of a caller.
    pub fn key_of(&self, caller: u32) -> ApiKey {
        let mut secret = [9; 32];
        secret[..4].copy_from_slice(&caller.to_be_bytes());
        ApiKey::from_secret(KeyNetwork::Test, secret)
    }

    /// A time within the last [`DAYS`] days: 0 is the oldest, 1 is now.
    pub fn time(&self, share: f64) -> DateTime<Utc> {
        let age = TimeDelta::days(DAYS).num_microseconds().unwrap_or_default() as f64 * (1.0 - share);
        self.now - TimeDelta::microseconds(age as i64)
    }
}
