//! Where money went, explained to the base unit by what changed in the program's accounts, and by whose signatures.
//!
//! This is written from docs/specification.md and uses none of the program's rules except the split of an amount, which
//! has a target of its own.

use std::collections::{BTreeMap, BTreeSet};

use agent_marketplace::{
    ed25519_gate::ED25519_PROGRAM_ID,
    state::{
        AgentListed, Config, Dispute, DisputeOutcome, ExecutionRecord, ExecutionStatus, FailureReason, OpenTerms,
        SpendingGrant,
    },
    token::TOKEN_PROGRAM_ID,
};
use anchor_lang::prelude::Pubkey;
use crtx_program_tests::{Instruction, World, invariants};
use crtx_protocol::{
    call_text::{self, OpeningId},
    failure_text, result_text,
};

use crate::gate::is_canonical;

/// What everybody has, and what the program says about it.
pub struct Books {
    now: i64,
    /// USDC of each owner, over all of the owner's accounts.
    usdc: BTreeMap<Pubkey, i128>,
    config: Config,
    listings: BTreeMap<Pubkey, AgentListed>,
    records: BTreeMap<Pubkey, ExecutionRecord>,
    terms: BTreeMap<Pubkey, OpenTerms>,
    /// By execution.
    disputes: BTreeMap<Pubkey, Dispute>,
    grants: BTreeMap<Pubkey, SpendingGrant>,
}

impl Books {
    pub fn of(world: &World) -> Self {
        let accounts = invariants::read(&world.svm);
        let mut books = Self {
            now: world.now(),
            usdc: BTreeMap::new(),
            config: world.config(),
            listings: accounts.listings.into_iter().collect(),
            records: accounts.records.into_iter().collect(),
            terms: accounts.terms,
            disputes: accounts.disputes.into_iter().map(|(_, dispute)| (dispute.execution, dispute)).collect(),
            grants: accounts.grants.into_iter().collect(),
        };
        for (_, account) in world.svm.get_program_accounts(&TOKEN_PROGRAM_ID) {
            if account.lamports > 0 && account.data.len() == 165 && account.data[..32] == world.mint.to_bytes() {
                let owner = Pubkey::try_from(&account.data[32..64]).expect("32 bytes");
                let amount = u64::from_le_bytes(account.data[64..72].try_into().expect("8 bytes"));
                *books.usdc.entry(owner).or_default() += i128::from(amount);
            }
        }
        books
    }

    fn usdc_of(&self, owner: &Pubkey) -> i128 {
        self.usdc.get(owner).copied().unwrap_or(0)
    }
}

/// Amounts by who gets them.
#[derive(Default)]
struct Flows(BTreeMap<Pubkey, i128>);

impl Flows {
    fn pay(&mut self, from: Pubkey, to: Pubkey, amount: i128) {
        *self.0.entry(from).or_default() -= amount;
        *self.0.entry(to).or_default() += amount;
    }
}

/// Fails unless what every owner got and lost follows from what changed in the accounts.
pub fn assert_money_is_explained(before: &Books, after: &Books) {
    let mut flows = Flows::default();
    for (address, record) in &after.records {
        let creator = creator_of(&record.agent, before, after);
        // An address that is used again within one transaction is two executions; the first one ended before.
        let earlier = before.records.get(address).filter(|earlier| earlier.opened_at_unix_s == record.opened_at_unix_s);
        if let Some(earlier) = earlier {
            paid_so_far(&mut flows, -1, earlier, before.disputes.get(address), creator, &before.config);
        }
        paid_so_far(&mut flows, 1, record, after.disputes.get(address), creator, &before.config);
    }
    let agents: BTreeSet<_> = before.listings.keys().chain(after.listings.keys()).copied().collect();
    for address in agents {
        let (old, new) = (before.listings.get(&address), after.listings.get(&address));
        let deposited = |listing: Option<&AgentListed>| listing.map_or(0, |l| i128::from(l.collateral));
        let slashed = match (old, new) {
            (old, Some(new)) => i128::from(new.slashed_total) - old.map_or(0, |old| i128::from(old.slashed_total)),
            (_, None) => 0,
        };
        let creator = creator_of(&address, before, after);
        flows.pay(creator, address, deposited(new) - deposited(old) + slashed);
        if new.is_none() {
            // What strangers sent to the accounts goes to the creator.
            let left = before.usdc_of(&address) + flows.0.get(&address).copied().unwrap_or(0);
            flows.pay(address, creator, left);
        }
    }
    let owners: BTreeSet<_> = before.usdc.keys().chain(after.usdc.keys()).chain(flows.0.keys()).copied().collect();
    for owner in owners {
        let got = after.usdc_of(&owner) - before.usdc_of(&owner);
        let explained = flows.0.get(&owner).copied().unwrap_or(0);
        assert_eq!(got, explained, "{owner} got other USDC than the accounts explain");
    }
}

/// Who gets what the agent earns. Nobody if the agent was closed before: then its records do not change any more.
fn creator_of(agent: &Pubkey, before: &Books, after: &Books) -> Pubkey {
    let listing = after.listings.get(agent).or_else(|| before.listings.get(agent));
    listing.map_or(Pubkey::default(), |listing| listing.creator)
}

/// Everything that was paid for an execution since its opening, `times` over.
fn paid_so_far(
    flows: &mut Flows,
    times: i128,
    record: &ExecutionRecord,
    dispute: Option<&Dispute>,
    creator: Pubkey,
    config: &Config,
) {
    let mut pay = |from, to, amount: u64| flows.pay(from, to, times * i128::from(amount));
    let (caller, agent) = (record.caller, record.agent);
    match record.status().expect("a known status") {
        ExecutionStatus::Open => return pay(caller, agent, record.amount),
        ExecutionStatus::Failed | ExecutionStatus::Expired => return,
        ExecutionStatus::Completed | ExecutionStatus::Disputed | ExecutionStatus::Overturned => {}
    }
    let split = record.split().expect("the amount splits");
    pay(caller, creator, split.creator);
    pay(caller, config.treasury_owner, split.platform);
    let Some(dispute) = dispute else { return };
    match dispute.outcome().expect("a known outcome") {
        DisputeOutcome::Open => pay(caller, agent, dispute.bond),
        DisputeOutcome::Abusive => pay(caller, creator, dispute.bond),
        _ => {
            pay(agent, caller, dispute.compensation);
            pay(agent, config.insurance_owner, dispute.slash_amount - dispute.compensation);
        }
    }
}

/// Fails unless each step of an execution, a dispute and the collateral was signed by who may take it, at its time, and a
/// settlement shows the canonical proof.
pub fn assert_steps_were_allowed(before: &Books, after: &Books, instructions: &[Instruction], signers: &[Pubkey]) {
    let signed = |who: &[Pubkey]| who.iter().any(|who| signers.contains(who));
    let gateway = before.config.gateway_authority;
    for (address, record) in &after.records {
        let creator = creator_of(&record.agent, before, after);
        let Some(terms) = before.terms.get(address) else {
            if let Some(terms) = after.terms.get(address) {
                let grant = after.grants.get(&terms.grant);
                assert!(
                    signed(&[grant.map_or(record.caller, |grant| grant.session_key)]),
                    "{address}: opened by nobody"
                );
            }
            continue;
        };
        let opening = OpeningId { record: address.to_bytes(), opened_at_unix_s: record.opened_at_unix_s };
        let proved = |message: &[u8]| proof_is_shown(instructions, &terms.result_key.to_bytes(), message);
        match record.status().expect("a known status") {
            ExecutionStatus::Open => {}
            ExecutionStatus::Failed => {
                assert!(signed(&[gateway, creator]), "{address}: failed by nobody");
                let reported = signed(&[creator])
                    || record.failure_reason == FailureReason::Timeout as u8
                        && after.now >= record.opened_at_unix_s + i64::from(terms.timeout_seconds)
                    || proved(&failure_text::of(&opening));
                assert!(record.agents_failure == 0 || reported, "{address}: a failure that nobody proved");
            }
            ExecutionStatus::Expired => assert!(after.now > terms.deadline_unix_s, "{address}: expired too early"),
            _ => {
                assert!(signed(&[gateway, creator, record.caller]), "{address}: settled by nobody");
                assert!(after.now <= terms.deadline_unix_s, "{address}: settled too late");
                let hash = &record.result_hash;
                let shown = if record.binding == 1 {
                    proved(&call_text::of(&opening, hash))
                } else {
                    proved(&result_text::of(hash))
                };
                assert!(shown, "{address}: settled without a proof");
            }
        }
    }
    for (execution, dispute) in &after.disputes {
        let was = before.disputes.get(execution).and_then(Dispute::outcome);
        let is = dispute.outcome();
        if was == is {
            continue;
        }
        assert!(matches!(was, None | Some(DisputeOutcome::Open)), "{execution}: decided twice");
        let allowed = match is.expect("a known outcome") {
            DisputeOutcome::Open | DisputeOutcome::Cancelled => signed(&[dispute.raised_by]),
            DisputeOutcome::Expired => after.now > dispute.raised_at_unix_s + Dispute::LIMIT_S,
            _ => signed(&[before.config.resolver]),
        };
        assert!(allowed, "{execution}: {is:?} by nobody");
    }
    for (address, new) in &after.listings {
        let old = before.listings.get(address);
        let by_creator = |listing: &AgentListed| listing.collateral + listing.slashed_total;
        let moved = old.map_or(0, by_creator) != by_creator(new);
        assert!(!moved || signed(&[new.creator]), "{address}: collateral moved by nobody");
    }
    for (address, old) in &before.listings {
        assert!(after.listings.contains_key(address) || signed(&[old.creator]), "{address}: closed by nobody");
    }
}

/// Whether a canonical proof stands directly before an instruction of the program.
fn proof_is_shown(instructions: &[Instruction], key: &[u8; 32], message: &[u8]) -> bool {
    instructions.windows(2).any(|pair| {
        let [proof, ours] = pair else { return false };
        ours.program_id == crtx_program_tests::PROGRAM_ID
            && proof.program_id == ED25519_PROGRAM_ID
            && proof.accounts.is_empty()
            && is_canonical(&proof.data, key, message)
    })
}
