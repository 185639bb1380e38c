//! What holds after every instruction. `docs/INVARIANTS.md` names each invariant by its id.

use std::collections::BTreeMap;

use agent_marketplace::state::*;
use anchor_lang::{Discriminator, ZeroCopy, prelude::Pubkey};
use crtx_protocol::address::Addresses;
use litesvm::LiteSVM;

use crate::{
    ledger::{balance, token_balances},
    people::PROGRAM_ID,
};

/// Everything the program owns, decoded.
#[derive(Default)]
pub struct Accounts {
    pub configs: Vec<(Pubkey, Config)>,
    pub profiles: Vec<(Pubkey, CreatorProfile)>,
    pub listings: Vec<(Pubkey, AgentListed)>,
    pub records: Vec<(Pubkey, ExecutionRecord)>,
    /// The terms that follow behind the open records.
    pub terms: BTreeMap<Pubkey, OpenTerms>,
    pub disputes: Vec<(Pubkey, Dispute)>,
    pub grants: Vec<(Pubkey, SpendingGrant)>,
}

/// Panics with the id of the invariant that does not hold. `supply` is the USDC that was minted.
#[track_caller]
pub fn assert_invariants(svm: &LiteSVM, addresses: &Addresses, mint: &Pubkey, supply: u64) {
    let accounts = read(svm);
    each_account_by_itself(&accounts);
    addresses_are_canonical(addresses, &accounts);
    for (address, listing) in &accounts.listings {
        listing_agrees(svm, &addresses.collateral(address), address, listing, &accounts);
        totals_cover_the_records(address, listing, &accounts);
    }
    indexes_are_used_once(addresses, &accounts);
    grants_cover_their_executions(&accounts);
    let total: u64 = token_balances(svm, mint).iter().map(|(_, balance)| balance).sum();
    assert_eq!(total, supply, "INV-09: USDC was made or lost");
}

/// # Panics
///
/// Panics at an account of no known kind, and at one that is not rent-exempt.
pub fn read(svm: &LiteSVM) -> Accounts {
    let mut all = Accounts::default();
    for (address, account) in svm.get_program_accounts(&PROGRAM_ID) {
        if account.lamports == 0 {
            continue;
        }
        let data = &account.data;
        let known = decode(address, data, &mut all.configs)
            || decode(address, data, &mut all.profiles)
            || decode(address, data, &mut all.listings)
            || decode_execution(address, data, &mut all)
            || decode(address, data, &mut all.disputes)
            || decode(address, data, &mut all.grants);
        assert!(known, "INV-01: {address} is of no known kind");
        let rent = svm.minimum_balance_for_rent_exemption(data.len());
        assert!(account.lamports >= rent, "INV-02: {address} is not rent-exempt");
    }
    all
}

fn decode<T: ZeroCopy + Discriminator>(address: Pubkey, data: &[u8], into: &mut Vec<(Pubkey, T)>) -> bool {
    if data.len() != 8 + size_of::<T>() || &data[..8] != T::DISCRIMINATOR {
        return false;
    }
    into.push((address, bytemuck::pod_read_unaligned(&data[8..])));
    true
}

/// The account of an execution has two sizes: the larger one while it is open.
fn decode_execution(address: Pubkey, data: &[u8], all: &mut Accounts) -> bool {
    let Some((head, terms)) = data.split_at_checked(ExecutionRecord::SPACE) else { return false };
    if !decode(address, head, &mut all.records) {
        return false;
    }
    let open = all.records.last().is_some_and(|(_, record)| record.status() == Some(ExecutionStatus::Open));
    if !open {
        assert!(terms.is_empty(), "INV-01: {address} ended and keeps {} bytes of terms", terms.len());
        return true;
    }
    assert_eq!(terms.len(), OpenTerms::LEN, "INV-01: {address} is open and has no terms");
    all.terms.insert(address, bytemuck::pod_read_unaligned(terms));
    true
}

#[track_caller]
fn each_account_by_itself(accounts: &Accounts) {
    let hold = |what: Result<(), Violation>, address: &Pubkey| {
        assert_eq!(what, Ok(()), "INV-03: {address}");
    };
    accounts.configs.iter().for_each(|(address, account)| hold(account.invariant(), address));
    accounts.profiles.iter().for_each(|(address, account)| hold(account.invariant(), address));
    accounts.listings.iter().for_each(|(address, account)| hold(account.invariant(), address));
    for (address, record) in &accounts.records {
        hold(record.invariant(), address);
        accounts.terms.get(address).into_iter().for_each(|terms| hold(terms.invariant(record), address));
    }
    accounts.disputes.iter().for_each(|(address, account)| hold(account.invariant(), address));
    accounts.grants.iter().for_each(|(address, account)| hold(account.invariant(), address));
}

#[track_caller]
fn addresses_are_canonical(addresses: &Addresses, accounts: &Accounts) {
    let at = |address: &Pubkey, canonical: Pubkey| assert_eq!(*address, canonical, "INV-04");
    assert!(accounts.configs.len() <= 1, "INV-04: more than one configuration");
    accounts.configs.iter().for_each(|(address, _)| at(address, addresses.config()));
    accounts.profiles.iter().for_each(|(address, p)| at(address, addresses.creator_profile(&p.wallet)));
    accounts.listings.iter().for_each(|(address, l)| at(address, addresses.agent(&l.creator, l.index)));
    accounts.listings.iter().for_each(|(address, l)| at(&l.escrow, addresses.escrow(address)));
    accounts.records.iter().for_each(|(address, r)| at(address, addresses.execution(&r.caller, &r.execution_id)));
    accounts.disputes.iter().for_each(|(address, d)| at(address, addresses.dispute(&d.execution)));
    accounts.grants.iter().for_each(|(address, g)| at(address, addresses.grant(&g.wallet, &g.session_key)));
}

/// The listing's own numbers against the accounts that they describe.
#[track_caller]
fn listing_agrees(svm: &LiteSVM, vault: &Pubkey, address: &Pubkey, listing: &AgentListed, accounts: &Accounts) {
    let of_agent = || accounts.records.iter().filter(|(_, record)| record.agent == *address);
    let with = |status: ExecutionStatus| of_agent().filter(move |(_, record)| record.status() == Some(status));
    let amount_with = |status| with(status).map(|(_, record)| record.amount).sum::<u64>();
    let open_amount = amount_with(ExecutionStatus::Open);
    assert_eq!(listing.open_amount, open_amount, "INV-05: {address}: open amount");
    assert_eq!(listing.open_executions as usize, with(ExecutionStatus::Open).count(), "INV-05: {address}: open count");
    let held = listing.open_amount + listing.open_bonds;
    assert!(balance(svm, &listing.escrow) >= held, "INV-06: {address}: escrow is short");
    assert!(balance(svm, vault) >= listing.collateral, "INV-07: {address}: collateral is short");
    assert_eq!(listing.open_disputes as usize, with(ExecutionStatus::Disputed).count(), "INV-08: {address}");
    let disputed_amount = amount_with(ExecutionStatus::Disputed);
    assert_eq!(listing.disputed_amount, disputed_amount, "INV-08: {address}: disputed amount");
    let disputes: BTreeMap<_, _> = accounts.disputes.iter().map(|(_, dispute)| (dispute.execution, dispute)).collect();
    let open = |dispute: &&&Dispute| dispute.agent == *address && dispute.outcome() == Some(DisputeOutcome::Open);
    let covered: u64 = disputes.values().filter(open).map(|dispute| dispute.covered_amount).sum();
    let bonds: u64 = disputes.values().filter(open).map(|dispute| dispute.bond).sum();
    assert_eq!(listing.open_bonds, bonds, "INV-46: {address}: bonds");
    let slashable: u64 = with(ExecutionStatus::Disputed).filter_map(|(_, record)| record.highest_slash()).sum();
    assert_eq!(listing.slashable_amount, slashable, "INV-47: {address}: what open disputes may take");
    assert_eq!(listing.covered_amount, covered, "INV-45: {address}: covered amount");
    assert!(covered <= listing.collateral, "INV-45: {address}: more is covered than there is");
    for (record_address, record) in of_agent().filter(|(_, record)| record.dispute_count > 0) {
        let outcome = disputes.get(record_address).and_then(|dispute| dispute.outcome());
        let agrees = match record.status() {
            Some(ExecutionStatus::Disputed) => outcome == Some(DisputeOutcome::Open),
            Some(ExecutionStatus::Overturned) => outcome == Some(DisputeOutcome::Upheld),
            _ => !matches!(outcome, None | Some(DisputeOutcome::Open | DisputeOutcome::Upheld)),
        };
        assert!(agrees, "INV-08: {record_address}: {outcome:?}");
    }
}

/// A record may be closed, and what it counted stays. So the totals are at least what the present records show.
#[track_caller]
fn totals_cover_the_records(address: &Pubkey, listing: &AgentListed, accounts: &Accounts) {
    let of_agent = || accounts.records.iter().map(|(_, record)| record).filter(|record| record.agent == *address);
    let count = |counts: &dyn Fn(&ExecutionRecord) -> bool| of_agent().filter(|record| counts(record)).count() as u64;
    let settled = |record: &ExecutionRecord| record.settled_by().is_some();
    let blameless = |record: &ExecutionRecord| {
        matches!(record.failure_reason(), Some(FailureReason::Expired | FailureReason::Interrupted))
    };
    let agents = |record: &ExecutionRecord| record.agents_failure == 1;
    let unproved = |record: &ExecutionRecord| record.failure_reason != 0 && !agents(record) && !blameless(record);
    let timed = |record: &ExecutionRecord| record.settled_by() == Some(Settler::Gateway);
    let times: u64 = of_agent().filter(|record| timed(record)).map(|record| u64::from(record.execution_time_ms)).sum();
    let fees: u64 = of_agent().filter(|record| settled(record)).filter_map(|r| r.split()).map(|s| s.platform).sum();
    for (what, total, shown) in [
        ("completed", listing.completed_executions, count(&settled)),
        ("expired", listing.expired_executions, count(&blameless)),
        ("failed", listing.failed_executions, count(&agents)),
        ("unproved", listing.unproved_failures, count(&unproved)),
        ("timed", listing.timed_executions, count(&timed)),
        ("times", listing.execution_time_ms_total, times),
        ("disputed", listing.disputed_executions, count(&|record| record.dispute_count > 0)),
        ("fees", listing.platform_fees_total, fees),
    ] {
        assert!(total >= shown, "INV-32: {address}: {what} is {total}, its records show {shown}");
    }
}

/// No listing has an index that its creator's profile does not count as used.
#[track_caller]
fn indexes_are_used_once(addresses: &Addresses, accounts: &Accounts) {
    let profiles: BTreeMap<_, _> = accounts.profiles.iter().map(|(address, profile)| (*address, profile)).collect();
    for (address, listing) in &accounts.listings {
        let profile = profiles.get(&addresses.creator_profile(&listing.creator));
        let used = profile.is_some_and(|profile| listing.index < profile.next_agent_index);
        assert!(used, "INV-33: {address}: index {} is not used", listing.index);
    }
}

/// A grant has spent at least what its open executions hold.
#[track_caller]
fn grants_cover_their_executions(accounts: &Accounts) {
    let grants: BTreeMap<_, _> = accounts.grants.iter().map(|(address, grant)| (*address, grant)).collect();
    // Amounts of the open executions of each grant: of all, and of those of the day that the grant counts.
    let mut open: BTreeMap<Pubkey, [u64; 2]> = BTreeMap::new();
    for (address, record) in &accounts.records {
        let Some(terms) = accounts.terms.get(address).filter(|terms| terms.grant != Pubkey::default()) else {
            continue;
        };
        let grant = grants.get(&terms.grant).expect("INV-34: a grant stays");
        assert_eq!(grant.wallet, record.caller, "INV-34: {address}: the grant of another wallet");
        let [all, on_day] = open.entry(terms.grant).or_default();
        *all += record.amount;
        *on_day += if record.opened_at_unix_s as u64 / 86_400 == grant.day { record.amount } else { 0 };
    }
    for (address, [amount, on_day]) in open {
        let SpendingGrant { spent, spent_on_day, .. } = **grants.get(&address).expect("INV-34: a grant stays");
        assert!(spent >= amount, "INV-34: {address}: spent {spent}, its open executions hold {amount}");
        assert!(spent_on_day >= on_day, "INV-54: {address}: {spent_on_day} on the day, its open ones hold {on_day}");
    }
}
