//! How many paid calls fit into blocks: the gateway's transactions, with the accounts that a real call names, counted by
//! the bookkeeping with which an Agave leader fills its block.
//!
//! A block takes the transactions of one group of calls after the other until one does not fit. As a leader does, it
//! reserves what a transaction asks for, and counts what it used once it has run. Nobody else's transactions are in it.

#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "a block holds some thousand calls")]

use std::collections::{HashMap, HashSet};

use agave_feature_set::FeatureSet;
use agent_marketplace::state::FailureReason;
use anchor_lang::prelude::Pubkey;
use crtx_chain::{
    Budget, Instructions, RecentBlockhash, SignedTransaction,
    instructions::{Opening, Refund, Settlement, compute_unit_limit, compute_unit_price},
};
use crtx_protocol::{address::Addresses, call_text::OpeningId, result_hash::ResultHash};
use solana_cost_model::{
    block_cost_limits::{MAX_BLOCK_UNITS, simd_0286_block_limit},
    cost_model::CostModel,
    cost_tracker::{CostTracker, CostTrackerLimits},
    cost_tracker_post_analysis::CostTrackerPostAnalysis,
};
use solana_instruction::Instruction;
use solana_keypair::Keypair;
use solana_message::SimpleAddressLoader;
use solana_runtime_transaction::runtime_transaction::RuntimeTransaction;
use solana_signer::Signer;
use solana_transaction::sanitized::MessageHash;

use crate::people::{PRICE, PROGRAM_ID};

/// Solana makes a block in this time.
pub const SLOT_S: f64 = 0.4;
/// Calls of a group: whole shared transactions of each kind.
const GROUP: usize = 40;
/// As the gateway shares transactions: openings (21 fit), settlements, and refunds; and as its housekeeping closes records.
pub(crate) const OPENINGS: usize = 20;
pub(crate) const SETTLEMENTS: usize = 10;
const REFUNDS: usize = 20;
const CLOSINGS: usize = 8;
/// Compute units that the gateway asks for: for each opening, for each settlement or refund, for each closing, and at most.
const OPEN_UNITS: u32 = 80_000;
const SETTLE_UNITS: u32 = 60_000;
const CLOSE_UNITS: u32 = 30_000;
pub(crate) const MOST_UNITS: u32 = 1_390_000;
/// The two instructions for limit and price in a transaction without them in its header.
const BUDGET_UNITS: u64 = 300;
/// Account data that a transaction loads, mostly the program: less than a MiB.
const LOADED_BYTES: u32 = 1024 * 1024;

/// Compute units that instructions use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Units {
    pub open: u64,
    pub complete: u64,
    pub fail: u64,
    pub close: u64,
}

/// Calls that come all the time. Each group of calls takes the next of each of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traffic {
    pub name: &'static str,
    pub agents: usize,
    pub wallets: usize,
    /// Keys of the gateway that pay fees and rent. The first one is its authority, which signs what another one pays for.
    pub payers: usize,
    /// USDC accounts of the treasury.
    pub treasuries: usize,
    /// Whether calls share transactions.
    pub shared: bool,
    /// Whether creators fail, so that the gateway refunds.
    pub fails: bool,
    /// Compute units of a block.
    pub block_units: u64,
}

/// A full block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packed {
    /// Calls whose opening, end and closing are all in it.
    pub calls: usize,
    /// What is full.
    pub limit: &'static str,
    /// Part of the block's compute units that is used.
    pub block_percent: f64,
}

impl Packed {
    pub fn calls_per_s(&self) -> f64 {
        self.calls as f64 / SLOT_S
    }
}

const MANY: usize = 1_000;
const MANY_AGENTS: Traffic = Traffic {
    name: "many_agents",
    agents: MANY,
    wallets: MANY,
    payers: 1,
    treasuries: 1,
    shared: false,
    fails: false,
    block_units: MAX_BLOCK_UNITS,
};
const MANY_PAYERS: Traffic = Traffic { name: "many_payers", payers: 8, ..MANY_AGENTS };
/// Once SIMD-0286 is active.
const LARGER_BLOCK: Traffic = Traffic { name: "larger_block", block_units: simd_0286_block_limit(), ..MANY_PAYERS };

/// What limits first, and what after each step that lifts a limit.
pub const TRAFFIC: [Traffic; 13] = [
    MANY_AGENTS,
    Traffic { name: "many_agents_shared", shared: true, ..MANY_AGENTS },
    Traffic { name: "many_agents_fail", fails: true, ..MANY_AGENTS },
    Traffic { name: "many_agents_fail_shared", fails: true, shared: true, ..MANY_AGENTS },
    Traffic { name: "two_payers", payers: 2, ..MANY_AGENTS },
    MANY_PAYERS,
    Traffic { name: "many_payers_shared", shared: true, ..MANY_PAYERS },
    Traffic { name: "one_agent", agents: 1, ..MANY_PAYERS },
    Traffic { name: "one_agent_shared", agents: 1, shared: true, ..MANY_PAYERS },
    Traffic { name: "one_wallet", wallets: 1, ..MANY_PAYERS },
    LARGER_BLOCK,
    Traffic { name: "larger_block_two_treasuries", treasuries: 2, ..LARGER_BLOCK },
    Traffic { name: "larger_block_two_treasuries_shared", treasuries: 2, shared: true, ..LARGER_BLOCK },
];

/// Fills a block.
pub fn pack(traffic: &Traffic, units: Units) -> Packed {
    let market = Market::new(*traffic, units);
    let features = FeatureSet::all_enabled();
    let loaded = CostModel::calculate_loaded_accounts_data_size_cost(LOADED_BYTES, &features);
    let mut block = CostTracker::default();
    let limits = block.get_limits();
    block.set_limits(CostTrackerLimits { block_cost: traffic.block_units, ..limits });
    let mut groups = 0;
    while market.group(groups).iter().all(|sent| {
        let transaction = sent.transaction();
        let cost = CostModel::calculate_cost(&transaction, &features);
        let fits = block.try_add(&cost).is_ok();
        if fits {
            block.update_execution_cost(&cost, sent.units, loaded);
        }
        fits
    }) {
        groups += 1;
    }
    Packed {
        calls: groups * GROUP,
        limit: market.limit(&block, groups),
        block_percent: block.block_cost() as f64 / traffic.block_units as f64 * 100.0,
    }
}

/// A transaction, and the compute units that it uses.
struct Sent {
    bytes: Vec<u8>,
    units: u64,
}

impl Sent {
    fn transaction(&self) -> RuntimeTransaction<solana_transaction::sanitized::SanitizedTransaction> {
        let sent = wincode::deserialize(&self.bytes).expect("a transaction");
        RuntimeTransaction::try_create(
            sent,
            MessageHash::Compute,
            Some(false),
            SimpleAddressLoader::Disabled,
            &HashSet::new(),
            true,
        )
        .expect("a valid transaction")
    }
}

struct Market {
    traffic: Traffic,
    units: Units,
    build: Instructions,
    payers: Vec<Keypair>,
    agents: Vec<Pubkey>,
    wallets: Vec<Pubkey>,
    treasuries: Vec<Pubkey>,
}

/// Who takes part in a group of calls.
struct Parties<'a> {
    payer: &'a Keypair,
    authority: &'a Keypair,
    session: Keypair,
    agent: Pubkey,
    wallet: Pubkey,
    treasury: Pubkey,
}

impl Market {
    fn new(traffic: Traffic, units: Units) -> Self {
        let keys = |number| (0..number).map(|_| Pubkey::new_unique()).collect();
        Self {
            traffic,
            units,
            build: Instructions::new(Addresses::new(PROGRAM_ID), Pubkey::new_unique()),
            payers: (0..traffic.payers).map(|_| Keypair::new()).collect(),
            agents: keys(traffic.agents),
            wallets: keys(traffic.wallets),
            treasuries: keys(traffic.treasuries),
        }
    }

    fn parties(&self, group: usize) -> Parties<'_> {
        let next = |keys: &[Pubkey]| keys[group % keys.len()];
        let wallet = next(&self.wallets);
        Parties {
            payer: &self.payers[group % self.payers.len()],
            authority: &self.payers[0],
            session: Keypair::new_from_array(wallet.to_bytes()),
            agent: next(&self.agents),
            wallet,
            treasury: next(&self.treasuries),
        }
    }

    /// All transactions of some calls of one wallet at one agent.
    fn group(&self, number: usize) -> Vec<Sent> {
        let parties = self.parties(number);
        let ids: Vec<[u8; 16]> = (0..GROUP).map(|call| ((number * GROUP + call) as u128).to_le_bytes()).collect();
        let (payer, units) = (parties.payer, self.units);
        let openings = ids.iter().map(|id| vec![self.opening(&parties, *id)]).collect();
        let records: Vec<_> = ids.iter().map(|id| self.build.addresses.execution(&parties.wallet, id)).collect();
        let (ends, together, used) = if self.traffic.fails {
            (records.iter().map(|record| vec![self.refund(&parties, *record)]).collect(), REFUNDS, units.fail)
        } else {
            (records.iter().map(|record| self.settlement(&parties, *record)).collect(), SETTLEMENTS, units.complete)
        };
        let close = |record: &Pubkey| vec![self.build.close_execution(record, &payer.pubkey(), &payer.pubkey())];
        let closings = records.iter().map(close).collect();
        let most = |together| if self.traffic.shared { together } else { 1 };
        let sent = [
            transactions(openings, most(OPENINGS), OPEN_UNITS, units.open, &[payer, &parties.session]),
            transactions(ends, most(together), SETTLE_UNITS, used, &[payer, parties.authority]),
            transactions(closings, CLOSINGS, CLOSE_UNITS, units.close, &[payer]),
        ];
        sent.into_iter().flatten().collect()
    }

    fn opening(&self, parties: &Parties<'_>, execution_id: [u8; 16]) -> Instruction {
        let opening = Opening {
            agent: parties.agent,
            execution_id,
            request_hash: [1; 32],
            max_amount: PRICE,
            terms_hash: Some([2; 32]),
            min_cover: 0,
        };
        let (session, payer) = (parties.session.pubkey(), parties.payer.pubkey());
        self.build.open_execution_with_grant(&parties.wallet, &session, &payer, &opening)
    }

    fn settlement(&self, parties: &Parties<'_>, record: Pubkey) -> Vec<Instruction> {
        let settlement = Settlement {
            agent: parties.agent,
            opening: OpeningId { record: record.to_bytes(), opened_at_unix_s: 1 },
            rent_payer: parties.payer.pubkey(),
            // Each agent has a creator of its own.
            creator_token: self.build.usdc_of(&parties.agent),
            treasury_token: parties.treasury,
            result_key: parties.agent,
            result_hash: ResultHash::of(b"result"),
            binding: true,
            signature: [3; 64],
            execution_time_ms: 1,
            tokens_used: Some(1),
        };
        self.build.complete_execution(&parties.authority.pubkey(), &settlement).to_vec()
    }

    fn refund(&self, parties: &Parties<'_>, record: Pubkey) -> Instruction {
        let refund = Refund {
            agent: parties.agent,
            record,
            rent_payer: parties.payer.pubkey(),
            grant: Some(self.build.addresses.grant(&parties.wallet, &parties.session.pubkey())),
            refund_token: self.build.usdc_of(&parties.wallet),
        };
        self.build.fail_execution(&parties.authority.pubkey(), &refund, FailureReason::Timeout)
    }

    /// What has the least room left: the block, or an account of the group that did not fit.
    fn limit(&self, block: &CostTracker, full: usize) -> &'static str {
        let used: HashMap<[u8; 32], u64> =
            block.get_cost_by_writable_accounts().iter().map(|(account, used)| (account.to_bytes(), *used)).collect();
        let used = |account: &Pubkey| used.get(account.as_array()).copied().unwrap_or_default();
        let Parties { payer, agent, wallet, treasury, .. } = self.parties(full);
        let accounts = [
            ("payer", payer.pubkey()),
            ("treasury", treasury),
            ("agent", agent),
            ("wallet", self.build.usdc_of(&wallet)),
        ];
        let room = |used: u64, limit: u64| limit.saturating_sub(used);
        let mut limit = ("block", room(block.block_cost(), block.get_block_limit()));
        for (name, account) in accounts {
            let left = room(used(&account), block.get_account_limit());
            if left < limit.1 {
                limit = (name, left);
            }
        }
        limit.0
    }
}

/// Signs instructions of calls, so many calls in a transaction. `used`: units of each call.
fn transactions(calls: Vec<Vec<Instruction>>, most: usize, units: u32, used: u64, signers: &[&Keypair]) -> Vec<Sent> {
    let blockhash = RecentBlockhash { hash: solana_hash::Hash::default(), last_valid_block_height: 1 };
    let mut signers = signers.to_vec();
    signers.dedup_by_key(|signer| signer.pubkey());
    let sign = |calls: &[Vec<Instruction>]| {
        let (number, used) = (calls.len() as u32, used * calls.len() as u64);
        let budget = Budget { units: (units * number).min(MOST_UNITS), unit_price: 1_000 };
        let instructions = calls.concat();
        // Closings use the transactions that every network has.
        let (signed, used) = if number > 1 && most != CLOSINGS {
            (SignedTransaction::sign_version_1(&instructions, budget, &signers, blockhash), used)
        } else {
            let limits = [compute_unit_limit(budget.units), compute_unit_price(budget.unit_price)];
            let instructions = [limits.to_vec(), instructions].concat();
            (SignedTransaction::sign(&instructions, &signers, blockhash), used + BUDGET_UNITS)
        };
        Sent { bytes: signed.expect("fits a transaction").bytes, units: used }
    };
    calls.chunks(most).map(sign).collect()
}
