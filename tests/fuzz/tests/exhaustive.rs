//! Everything that a few calls can come to, on the committed ELF: a breadth-first search over all states that the actions
//! below reach. In each state the escrow and the collateral are exact to the base unit, no claim loses its cover, and
//! nobody's money is stuck.
//!
//! What is bounded: one agent whose collateral covers one and a half calls; `CRTX_MODEL_CALLS` calls (1) of one price by
//! two callers, open at the beginning; one deposit; four times (the opening, after the deadline and the answer period, after
//! the dispute windows, after the time to decide); the amounts of a slash below.
#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::arithmetic_side_effects, reason = "test code")]

use std::{
    collections::{HashMap, VecDeque},
    time::Instant,
};

use agent_marketplace::state::{
    AgentListed, AgentStatus, DisputeDecision, DisputeOutcome, ExecutionRecord, ExecutionStatus, FailureReason,
};
use anchor_lang::prelude::Pubkey;
use crtx_fuzz::{
    explained::{Books, assert_money_is_explained, assert_steps_were_allowed},
    split::check,
};
use crtx_program_tests::{
    COLLATERAL, Execution, Instruction, Keypair, PRICE, Signer as _, World, assert_ok, signed_by,
};
use solana_account::Account;

const DAY_S: i64 = 86_400;
/// Seconds after the beginning.
const TIMES: [i64; 4] = [0, 2 * DAY_S, 8 * DAY_S, 40 * DAY_S];
/// What is left of the collateral when the search begins.
const COVER: u64 = PRICE + PRICE / 2;
/// Less than the price, the price, a penalty and all that there is, and more than there is without a deposit.
const SLASHES: [u64; 4] = [PRICE / 2, PRICE, COVER, COVER + 1];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Complete(usize),
    Fail(usize),
    Refund(usize),
    Dispute(usize),
    Answer(usize),
    Decide(usize, DisputeDecision, u64),
    Cancel(usize),
    Expire(usize),
    Close(usize),
    Deposit,
    Delist,
    Withdraw,
    CloseAgent,
    Wait,
}

fn actions(calls: usize) -> Vec<Action> {
    use Action::{Answer, Cancel, Close, Complete, Decide, Dispute, Expire, Fail, Refund};
    let mut all = vec![Action::Deposit, Action::Delist, Action::Withdraw, Action::CloseAgent, Action::Wait];
    for call in 0..calls {
        all.extend([Complete, Fail, Refund, Dispute, Answer, Cancel, Expire, Close].map(|action| action(call)));
        all.extend(SLASHES.map(|slash| Decide(call, DisputeDecision::Upheld, slash)));
        all.extend([DisputeDecision::Rejected, DisputeDecision::Abusive].map(|decision| Decide(call, decision, 0)));
    }
    all
}

/// What tells two states apart.
type Key = String;

/// The accounts that actions change, and the time.
#[derive(Clone)]
struct State {
    key: Key,
    time: usize,
    accounts: Vec<Option<Account>>,
}

struct Search {
    world: World,
    calls: Vec<Execution>,
    tracked: Vec<Pubkey>,
    began: i64,
}

impl Search {
    /// An agent that real decisions left with too little collateral for its open calls.
    fn new(calls: usize) -> Self {
        let mut world = World::new();
        let second = world.new_actor();
        let agent = world.agent.clone();
        let (most, all) = (21 * PRICE, COLLATERAL - COVER);
        let punished: Vec<_> = (0..all.div_ceil(most)).map(|_| world.opened()).collect();
        let calls: Vec<Execution> = (0..calls)
            .map(|call| {
                let mut execution = world.new_execution();
                if call % 2 == 1 {
                    execution.caller = second.clone();
                    execution.record = world.addresses.execution(&second.key(), &execution.id);
                }
                assert_ok(world.open(&execution));
                execution
            })
            .collect();
        let mut left = all;
        for execution in &punished {
            assert_ok(world.complete(execution));
            let dispute = world.open_dispute(execution);
            world.must(&[dispute], &[&execution.caller.keypair]);
            assert_ok(world.uphold(execution, left.min(most)));
            left = left.saturating_sub(most);
        }
        assert_eq!(world.listing(&agent).collateral, COVER);
        let began = world.now();
        // Nobody forges a signature here, and checking them takes a quarter of the time.
        world.svm = std::mem::take(&mut world.svm).with_sigverify(false);
        let mut tracked: Vec<Pubkey> = vec![agent.address, world.addresses.creator_profile(&agent.creator.key())];
        for call in &calls {
            tracked.extend([call.record, world.addresses.dispute(&call.record)]);
        }
        tracked.extend(world.token_balances().into_iter().map(|(address, _)| address));
        Self { world, calls, tracked, began }
    }

    fn save(&self, time: usize) -> State {
        State {
            key: self.key(time),
            time,
            accounts: self.tracked.iter().map(|address| self.world.account(address)).collect(),
        }
    }

    fn restore(&mut self, state: &State) {
        self.world.set_time(self.began + TIMES[state.time]);
        for (address, account) in self.tracked.iter().zip(&state.accounts) {
            self.world.put_account(*address, account.clone().unwrap_or_default());
        }
    }

    /// Two states are one if they differ only in what no action reads: the totals, what wallets hold, how a dispute
    /// ended, or which of two calls of one price is which. Escrow and vault follow from the listing, which `check`
    /// compares.
    fn key(&self, time: usize) -> Key {
        let listing = self.listing().map(|l| {
            let amounts =
                [l.collateral, l.open_amount, l.disputed_amount, l.covered_amount, l.slashable_amount, l.open_bonds];
            let counts = [l.open_executions, l.open_disputes, u32::from(l.status)];
            (amounts, counts, l.last_dispute_deadline_unix_s)
        });
        let call = |execution: &Execution| {
            let record: ExecutionRecord = self.world.try_state(&execution.record)?;
            let disputed = record.status() == Some(ExecutionStatus::Disputed);
            let dispute = disputed.then(|| self.world.dispute(execution));
            let dispute = dispute.map(|d| (d.covered_amount, d.raised_at_unix_s, d.answered_at_unix_s != 0));
            Some((record.status, record.dispute_count, record.finished_at_unix_s, dispute))
        };
        let mut calls: Vec<_> = self.calls.iter().map(|execution| format!("{:?}", call(execution))).collect();
        calls.sort_unstable();
        format!("{time} {listing:?} {calls:?}")
    }

    /// The instructions of an action and who signs them; `None` if there is nothing to act on.
    fn transaction(&self, action: Action) -> Option<(Vec<Instruction>, Keypair)> {
        let world = &self.world;
        let agent = &world.agent;
        let creator = agent.creator.keypair.insecure_clone();
        let caller = |call: usize| self.calls[call].caller.keypair.insecure_clone();
        let payer = || world.payer.keypair.insecure_clone();
        let call_of = |call: usize| &self.calls[call];
        let exists = |call: usize| world.account(&self.calls[call].record).is_some();
        let one = |instruction| vec![instruction];
        Some(match action {
            Action::Complete(call) if exists(call) => {
                let proof = world.proof(call_of(call)).instruction();
                (vec![proof, world.complete_execution(call_of(call))], world.gateway.keypair.insecure_clone())
            }
            Action::Fail(call) if exists(call) => {
                let fail = world.fail_execution(call_of(call), FailureReason::CreatorFailed);
                (one(signed_by(fail, &agent.creator)), creator)
            }
            Action::Refund(call) if exists(call) => (one(world.refund_expired_execution(call_of(call))), payer()),
            Action::Dispute(call) if exists(call) => (one(world.open_dispute(call_of(call))), caller(call)),
            Action::Answer(call) if exists(call) => (one(world.answer_dispute(call_of(call))), creator),
            Action::Decide(call, decision, slash) if exists(call) => {
                let decide = world.resolve_with(call_of(call), World::resolve_args(decision, slash));
                (one(decide), world.resolver.keypair.insecure_clone())
            }
            Action::Cancel(call) if exists(call) => (one(world.cancel_dispute(call_of(call))), caller(call)),
            Action::Expire(call) if exists(call) => (one(world.expire_dispute(call_of(call))), payer()),
            Action::Close(call) if exists(call) => (one(world.close_execution(call_of(call))), payer()),
            Action::Deposit => (one(world.deposit_collateral(agent, PRICE)), creator),
            Action::Delist => (one(world.delist_agent(agent)), creator),
            Action::Withdraw => (one(world.withdraw_collateral(agent)), creator),
            Action::CloseAgent => (one(world.close_agent(agent)), creator),
            _ => return None,
        })
    }

    /// Takes an action in a state with these books; `None` if it is refused or changes nothing.
    fn take(&mut self, state: &State, before: &Books, action: Action) -> Option<State> {
        if action == Action::Wait {
            let time = state.time + 1;
            return (time < TIMES.len()).then(|| State { key: self.key(time), time, ..state.clone() });
        }
        // More deposits show nothing that one does not.
        if action == Action::Deposit && self.listing()?.collateral > COVER {
            return None;
        }
        let (instructions, signer) = self.transaction(action)?;
        self.world.send(&instructions, &[&signer]).ok()?;
        let after = Books::of(&self.world);
        assert_money_is_explained(before, &after);
        assert_steps_were_allowed(before, &after, &instructions, &[signer.pubkey(), self.world.payer.key()]);
        Some(self.save(state.time))
    }

    fn listing(&self) -> Option<AgentListed> {
        self.world.try_state(&self.world.agent.address)
    }

    /// What holds in every state.
    fn check(&self) {
        let Some(listing) = self.listing() else { return };
        let (world, agent) = (&self.world, &self.world.agent.address);
        let held = listing.open_amount + listing.open_bonds;
        assert_eq!(
            world.balance(&listing.escrow),
            held,
            "the escrow holds the open amounts and the bonds, and no more"
        );
        let vault = world.addresses.collateral(agent);
        assert_eq!(world.balance(&vault), listing.collateral, "the vault holds the collateral, and no more");
        let covers =
            self.calls.iter().enumerate().filter_map(|(call, _)| self.open_dispute(call)).map(|(cover, _)| cover);
        assert!(covers.sum::<u64>() <= listing.collateral, "more is promised than there is");
    }

    /// Cover of the open dispute about a call, and whether it may be upheld now.
    fn open_dispute(&self, call: usize) -> Option<(u64, bool)> {
        let record: ExecutionRecord = self.world.try_state(&self.calls[call].record)?;
        (record.status() == Some(ExecutionStatus::Disputed)).then_some(())?;
        let dispute = self.world.dispute(&self.calls[call]);
        assert_eq!(dispute.outcome(), Some(DisputeOutcome::Open));
        let heard = dispute.answered_at_unix_s != 0 || self.world.now() >= dispute.raised_at_unix_s + DAY_S;
        Some((dispute.covered_amount, heard))
    }

    /// What must be possible in every state: a claim gets its cover, and after its time everything ends.
    fn owed(&self) -> Vec<Action> {
        let mut owed = Vec::new();
        for call in 0..self.calls.len() {
            let Some(record) = self.world.try_state::<ExecutionRecord>(&self.calls[call].record) else { continue };
            if let Some((cover, true)) = self.open_dispute(call) {
                owed.push(Action::Decide(call, DisputeDecision::Upheld, cover));
            }
            match record.status().expect("a known status") {
                ExecutionStatus::Open if self.world.now() > self.began => owed.push(Action::Refund(call)),
                ExecutionStatus::Disputed => {
                    let raised = self.world.dispute(&self.calls[call]).raised_at_unix_s;
                    if self.world.now() > raised + 30 * DAY_S {
                        owed.push(Action::Expire(call));
                    }
                }
                _ => {}
            }
        }
        if let Some(listing) = self.listing() {
            let left = listing.status() == Some(AgentStatus::Delisted)
                && listing.open_executions == 0
                && listing.open_disputes == 0
                && self.world.now() > listing.last_dispute_deadline_unix_s;
            if left {
                owed.push(if listing.collateral > 0 { Action::Withdraw } else { Action::CloseAgent });
            }
        }
        owed
    }

    /// A claim gets what the earlier ones left when it is raised, and keeps it until it ends.
    fn check_claims(&self, before: &[Option<(u64, bool)>], collateral: u64, action: Action) {
        for (call, was) in before.iter().enumerate() {
            match (*was, self.open_dispute(call)) {
                (Some((was, _)), Some((is, _))) => assert_eq!(was, is, "{action:?} changes the cover of {call}"),
                (None, Some((is, _))) => {
                    let others: u64 = before.iter().flatten().map(|(cover, _)| cover).sum();
                    assert_eq!(is, PRICE.min(collateral - others), "{action:?}: the cover of {call}");
                }
                (_, None) => {}
            }
        }
    }
}

#[test]
fn no_state_of_a_few_calls_breaks_conservation_or_the_claims_rule() {
    let calls = std::env::var("CRTX_MODEL_CALLS").map_or(1, |calls| calls.parse().expect("a number of calls"));
    let (mut search, actions, started) = (Search::new(calls), actions(calls), Instant::now());
    let first = search.save(0);
    // Of each state: where it came from, so that a failure shows the way to it.
    let mut known: HashMap<Key, Option<(Key, Action)>> = HashMap::from([(first.key.clone(), None)]);
    let mut waiting = VecDeque::from([first]);
    let (mut visited, mut transitions, mut succeeded) = (0_u64, 0_u64, 0_u64);
    let mut seen: HashMap<String, u64> = HashMap::new();
    while let Some(state) = waiting.pop_front() {
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            search.restore(&state);
            search.check();
            let (before, owed) = (Books::of(&search.world), search.owed());
            let claims: Vec<_> = (0..calls).map(|call| search.open_dispute(call)).collect();
            let collateral = search.listing().map_or(0, |listing| listing.collateral);
            let mut next = Vec::new();
            for action in owed.iter().chain(actions.iter().filter(|action| !owed.contains(action))) {
                transitions += 1;
                let taken = search.take(&state, &before, *action);
                assert!(taken.is_some() || !owed.contains(action), "{action:?} must be possible");
                if let Some(taken) = taken {
                    search.check_claims(&claims, collateral, *action);
                    succeeded += 1;
                    next.push((*action, taken));
                    search.restore(&state);
                }
            }
            next
        }));
        let next = result.unwrap_or_else(|_| {
            let (mut way, mut at) = (Vec::new(), &state.key);
            while let Some(Some((before, action))) = known.get(at) {
                way.push(*action);
                at = before;
            }
            way.reverse();
            panic!("after {way:?}")
        });
        visited += 1;
        if visited % 1_000 == 0 {
            eprintln!(
                "{visited} states, {} waiting, {transitions} transitions, {} s",
                waiting.len(),
                started.elapsed().as_secs()
            );
        }
        for (action, next) in next {
            let name = format!("{action:?}").split('(').next().unwrap_or_default().to_owned();
            *seen.entry(name).or_default() += 1;
            known.entry(next.key.clone()).or_insert_with(|| {
                waiting.push_back(next);
                Some((state.key.clone(), action))
            });
        }
    }
    eprintln!(
        "{visited} states, {transitions} actions tried, {succeeded} succeeded, {} s",
        started.elapsed().as_secs()
    );
    eprintln!("{seen:?}");
    assert_eq!(seen.len(), 14, "each kind of action succeeds somewhere: {seen:?}");
}

/// The code multiplies the whole ten thousands and the rest of an amount apart. The rest and the fee have few values, so
/// all of them are tried; the whole part is multiplied exactly and cannot overflow, which its bounds show.
#[test]
fn every_rest_and_every_fee_splits_exactly() {
    let wholes = [0, 1, (1 << 32) + 7, u64::MAX / 10_000 - 1];
    for fee_bps in 0..=500_u32 {
        for rest in 0..10_000_u64 {
            for whole in wholes {
                check(whole * 10_000 + rest, fee_bps);
            }
        }
    }
}
