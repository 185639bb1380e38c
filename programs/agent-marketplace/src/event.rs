//! Events, emitted as instructions of the program to itself (`emit_cpi`), so that they are part of the
//! transaction and no log limit truncates them.

use anchor_lang::prelude::*;

/// An agent was listed (docs/specification.md, "Program instructions").
#[event]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListingCreated {
    pub agent: Pubkey,
    pub creator: Pubkey,
    pub index: u32,
    pub result_key: Pubkey,
    /// USDC base units per call.
    pub price: u64,
    pub timeout_seconds: u32,
    /// Whether results are signed for the call.
    pub binding: bool,
    /// The free collateral that the creator promises, in prices of one call.
    pub min_cover: u8,
    /// USDC base units locked.
    pub collateral: u64,
    pub metadata_hash: [u8; 32],
    pub metadata_uri: String,
    pub listed_at_unix_s: i64,
}

/// A record was closed and its rent returned. Contains the last bytes of the closed accounts, discriminator
/// included, so that history can be rebuilt only from transactions.
#[event]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutionClosed {
    pub record: Pubkey,
    /// Bytes of the `ExecutionRecord` account.
    pub record_data: Vec<u8>,
    /// Bytes of its `Dispute` account, if there was one.
    pub dispute_data: Option<Vec<u8>>,
    pub closed_at_unix_s: i64,
}

/// A listing was closed and its rent returned. Contains the last bytes of the `AgentListed` account.
#[event]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentClosed {
    pub agent: Pubkey,
    pub agent_data: Vec<u8>,
    pub closed_at_unix_s: i64,
}
