//! The accounts of the scripted chain: each is computed from its number and its revision, so that a million of them
//! need four megabytes.

use std::sync::{
    LazyLock,
    atomic::{AtomicU32, Ordering},
};

use agent_marketplace::state::{
    AgentListed, AgentStatus, Config, CreatorProfile, ExecutionRecord, ExecutionStatus, MarketParameters, OpenTerms,
    Settler,
};
use bytemuck::Zeroable;
use crtx_chain::{
    Execution,
    testing::program::{execution_account, program_account},
};
use crtx_protocol::{address::Addresses, content::ipfs_uri, result_hash::ResultHash};
use serde_json::json;
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use solana_signer::Signer;

/// One account in so many is a listing, and one in so many a profile. The others are executions.
const ACCOUNTS_PER_LISTING: u32 = 50;
const ACCOUNTS_PER_PROFILE: u32 = 2_500;
/// One execution in so many is open at first.
const EXECUTIONS_PER_OPEN: u32 = 20;
/// 2026-11-01T00:00:00Z.
const FIRST_OPENING: i64 = 1_793_491_200;

/// The accounts of the program, and how often each has changed.
pub struct Chain {
    revisions: Vec<AtomicU32>,
}

/// What kind of account a number stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Config,
    Profile,
    Listing,
    Execution,
}

/// The gateway's key pair.
pub fn authority() -> Keypair {
    Keypair::new_from_array([14; 32])
}

/// Made once: it is in every record, and a key pair costs more than the rest of a record.
static AUTHORITY_ADDRESS: LazyLock<Pubkey> = LazyLock::new(|| authority().pubkey());
static CONFIG_ADDRESS: LazyLock<Pubkey> = LazyLock::new(|| Addresses::new(agent_marketplace::ID).config());
static DOCUMENT_HASH: LazyLock<ResultHash> = LazyLock::new(|| ResultHash::of(document().as_bytes()));

pub fn authority_address() -> Pubkey {
    *AUTHORITY_ADDRESS
}

pub fn usdc_mint() -> Pubkey {
    Pubkey::new_from_array([6; 32])
}

/// The one document that all listings have.
pub fn document() -> String {
    json!({
        "name": "Bench", "tagline": "One of many.", "description": "It is listed to be counted.", "tags": ["data"],
        "endpoint": "https://creator.example/execute",
        "input_schema": {"type": "object"}, "output_schema": {"type": "string"},
    })
    .to_string()
}

impl Chain {
    pub fn new(accounts: u32) -> Self {
        let revision = |number: u32| match kind(number) {
            Kind::Execution if !number.is_multiple_of(EXECUTIONS_PER_OPEN) => 2,
            _ => 1,
        };
        Self { revisions: (0..accounts).map(|number| AtomicU32::new(revision(number))).collect() }
    }

    pub fn len(&self) -> u32 {
        self.revisions.len() as u32
    }

    pub fn revision(&self, number: u32) -> u32 {
        self.revisions[number as usize].load(Ordering::Relaxed)
    }

    /// Changes an account. Returns its new revision.
    pub fn change(&self, number: u32) -> u32 {
        self.revisions[number as usize].fetch_add(1, Ordering::Relaxed) + 1
    }

    /// All revisions, added up.
    pub fn sum_of_revisions(&self) -> u64 {
        self.revisions.iter().map(|revision| u64::from(revision.load(Ordering::Relaxed))).sum()
    }

    /// The account's bytes at its present revision.
    pub fn data(&self, number: u32) -> Vec<u8> {
        data(number, self.revision(number))
    }

    /// Which account has that address.
    pub fn find(&self, address: &Pubkey) -> Option<u32> {
        if *address == config_address() {
            return Some(0);
        }
        let number = u32::from_be_bytes(address.to_bytes()[..4].try_into().expect("four bytes"));
        (number < self.len() && self::address(number) == *address).then_some(number)
    }

    /// The listing that stands before an execution.
    pub fn listing_near(&self, number: u32) -> u32 {
        let listing = number - number % ACCOUNTS_PER_LISTING;
        if kind(listing) == Kind::Listing { listing } else { listing + ACCOUNTS_PER_LISTING }.min(self.len() - 1)
    }
}

/// Whether the number stands for an execution.
pub fn is_execution(number: u32) -> bool {
    kind(number) == Kind::Execution
}

/// How many of so many accounts are listings.
pub fn listings_of(accounts: u32) -> usize {
    (0..accounts).filter(|number| kind(*number) == Kind::Listing).count()
}

fn kind(number: u32) -> Kind {
    if number == 0 {
        Kind::Config
    } else if number % ACCOUNTS_PER_PROFILE == 1 {
        Kind::Profile
    } else if number.is_multiple_of(ACCOUNTS_PER_LISTING) {
        Kind::Listing
    } else {
        Kind::Execution
    }
}

fn config_address() -> Pubkey {
    *CONFIG_ADDRESS
}

/// The number, and behind it bytes that are distributed like those of other addresses.
pub fn address(number: u32) -> Pubkey {
    if number == 0 {
        return config_address();
    }
    let mut bytes = mixed(number, 1);
    bytes[..4].copy_from_slice(&number.to_be_bytes());
    Pubkey::new_from_array(bytes)
}

fn mixed(number: u32, salt: u64) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (part, index) in bytes.chunks_mut(8).zip(1u64..) {
        let mut value = (u64::from(number) << 8 | salt << 40 | index).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        value = (value ^ (value >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        part.copy_from_slice(&(value ^ (value >> 32)).to_le_bytes());
    }
    bytes
}

fn wallet(number: u32, salt: u64) -> Pubkey {
    Pubkey::new_from_array(mixed(number, salt))
}

/// The creator of the listings up to the next profile.
fn creator(number: u32) -> Pubkey {
    wallet(number / ACCOUNTS_PER_PROFILE, 2)
}

pub fn data(number: u32, revision: u32) -> Vec<u8> {
    match kind(number) {
        Kind::Config => program_account(&config(revision)).data,
        Kind::Profile => program_account(&profile(number, revision)).data,
        Kind::Listing => program_account(&listing(number, revision)).data,
        Kind::Execution => execution_account(&execution(number, revision)).data,
    }
}

fn config(revision: u32) -> Config {
    let mut config = Config::zeroed();
    config.revision = revision.into();
    config.admin = wallet(1, 9);
    config.resolver = wallet(2, 9);
    config.gateway_authority = authority_address();
    config.treasury_owner = wallet(3, 9);
    config.insurance_owner = wallet(4, 9);
    config.usdc_mint = usdc_mint();
    config.resolver_since_unix_s = FIRST_OPENING;
    config.parameters = MarketParameters::DEFAULT;
    config.version = 1;
    config
}

fn profile(number: u32, revision: u32) -> CreatorProfile {
    let mut profile = CreatorProfile::zeroed();
    profile.wallet = creator(number);
    profile.revision = revision.into();
    profile.set_display_name(&format!("Creator {number}")).expect("a name");
    profile.created_at_unix_s = FIRST_OPENING;
    profile.updated_at_unix_s = FIRST_OPENING + i64::from(revision);
    profile.version = 1;
    profile
}

fn listing(number: u32, revision: u32) -> AgentListed {
    let hash = *DOCUMENT_HASH;
    let mut listing = AgentListed::zeroed();
    listing.creator = creator(number);
    listing.index = number;
    listing.result_key = wallet(number, 3);
    listing.revision = revision.into();
    listing.price = 50_000 + u64::from(number % 1_000) * 100;
    listing.collateral = 10_000_000;
    listing.completed_executions = revision.into();
    listing.successful_executions = revision.into();
    listing.total_executions = revision.into();
    listing.execution_time_ms_total = u64::from(revision) * 900;
    listing.timed_executions = u64::from(revision);
    listing.platform_fees_total = u64::from(revision) * 500;
    listing.timeout_seconds = 60;
    listing.status = AgentStatus::Active as u8;
    listing.version = 1;
    listing.created_at_unix_s = FIRST_OPENING + i64::from(number);
    listing.updated_at_unix_s = FIRST_OPENING + i64::from(number);
    listing.metadata_hash = hash.0;
    listing.set_metadata_uri(&ipfs_uri(&hash)).expect("a short URI");
    listing
}

/// Revision 1 is open, 2 completed, 3 disputed, 4 overturned. Later ones differ in a time alone.
pub fn execution(number: u32, revision: u32) -> Execution {
    let mut record = ExecutionRecord::zeroed();
    record.agent = address(number - number % ACCOUNTS_PER_LISTING + ACCOUNTS_PER_LISTING);
    // 200 executions of each wallet.
    record.caller = wallet(number / 200, 4);
    record.execution_id = mixed(number, 5)[..16].try_into().expect("16 bytes");
    record.rent_payer = authority_address();
    record.revision = revision.into();
    record.amount = 50_000;
    record.fee_bps = 100;
    record.max_penalty_multiple = 20;
    record.dispute_window_s = 259_200;
    record.opened_at_unix_s = FIRST_OPENING + i64::from(number);
    record.version = 1;
    if revision == 1 {
        record.status = ExecutionStatus::Open as u8;
        let mut terms = OpenTerms::zeroed();
        terms.request_hash = mixed(number, 6);
        terms.result_key = wallet(number, 3);
        terms.paid_from = wallet(number, 7);
        terms.deadline_unix_s = record.opened_at_unix_s + 180;
        terms.timeout_seconds = 60;
        return Execution { record, terms: Some(terms) };
    }
    record.status = match revision {
        2 => ExecutionStatus::Completed,
        3 => ExecutionStatus::Disputed,
        _ => ExecutionStatus::Overturned,
    } as u8;
    record.dispute_count = u8::from(revision > 2);
    record.result_hash = mixed(number, 8);
    record.execution_time_ms = 900 + revision;
    record.finished_at_unix_s = record.opened_at_unix_s + 2;
    record.settled_by = Settler::Gateway as u8;
    Execution { record, terms: None }
}
