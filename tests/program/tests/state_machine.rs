//! Random stories by honest and hostile actors against the real ELF. A model of the marketplace, written
//! from the design and not from the program, foretells of every step whether it goes through and what
//! everybody then holds; the invariants are checked after every step besides.
//!
//! `CRTX_FUZZ_CASES` and `CRTX_FUZZ_STEPS` make the campaign longer than the 256 × 30 of the test run.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::expect_used,
    reason = "a test: a panic is a failure"
)]

use agent_marketplace::{instruction, instructions as ix, state::*};
use crtx_program_tests::{instructions::*, *};
use ed25519_dalek::SigningKey;
use proptest::{
    prelude::*,
    test_runner::{Config as TestConfig, FileFailurePersistence},
};
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};

const AGENTS: usize = 2;
const CALLERS: usize = 2;
const WINDOW_S: i64 = agent_marketplace::state::Config::DEFAULT_DISPUTE_WINDOW_S;
const GRACE_S: i64 = agent_marketplace::state::Config::DEFAULT_SETTLE_GRACE_S;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Gateway,
    Creator,
    Caller,
    Stranger,
    Admin,
    Resolver,
}

/// How a settlement is proved, and to whom it pays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Settlement {
    Honest,
    WithoutProof,
    AnotherKey,
    AnotherHash,
    CreatorUnpaid,
    TreasuryUnpaid,
}

#[derive(Clone, Debug)]
enum Step {
    Wait(i64),
    Open { agent: usize, caller: usize, key: bool, max_amount: u64 },
    Complete { execution: usize, who: Who, how: Settlement },
    Fail { execution: usize, who: Who },
    Refund { execution: usize, to_stranger: bool },
    OpenDispute { execution: usize, who: Who },
    Resolve { execution: usize, who: Who, upheld: bool, slash: u64 },
    CloseExecution { execution: usize },
    SetStatus { agent: usize, who: Who, active: bool },
    SetPrice { agent: usize, price: u64 },
    Deposit { agent: usize, amount: u64 },
    Delist { agent: usize, who: Who },
    Withdraw { agent: usize },
    CloseAgent { agent: usize },
    Grant { per_call_cap: u64, total_cap: u64, seconds: i64, only_second: bool },
    Revoke,
    SetPaused { who: Who, paused: bool },
    SetFee(u16),
    Dust { agent: usize, escrow: bool, amount: u64 },
}

#[derive(Clone, Debug)]
struct ModelAgent {
    exists: bool,
    status: AgentStatus,
    price: u64,
    collateral: u64,
    open: u64,
    disputes: u64,
    window_end: i64,
}

#[derive(Clone, Debug)]
struct ModelExecution {
    agent: usize,
    caller: usize,
    amount: u64,
    platform: u64,
    deadline: i64,
    /// `None` once closed.
    status: Option<ExecutionStatus>,
    finished: i64,
    disputed: bool,
}

#[derive(Clone, Debug)]
struct ModelGrant {
    per_call_cap: u64,
    total_cap: u64,
    spent: u64,
    expires: i64,
    revoked: bool,
    only_second: bool,
}

/// Who holds how much.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Holdings {
    callers: [u64; CALLERS],
    creators: [u64; AGENTS],
    escrows: [u64; AGENTS],
    vaults: [u64; AGENTS],
    treasury: u64,
    stranger: u64,
}

#[derive(Clone, Debug)]
struct Model {
    now: i64,
    paused: bool,
    fee_bps: u16,
    agents: Vec<ModelAgent>,
    executions: Vec<ModelExecution>,
    grant: ModelGrant,
    holdings: Holdings,
    /// Whether the last step goes through.
    goes_through: bool,
}

fn tier(price: u64) -> u64 {
    let tiers = [(100_000, 10), (1_000_000, 50), (10_000_000, 200)];
    tiers.iter().find(|(max, _)| price <= *max).map_or(1_000, |(_, usdc)| *usdc) * USDC
}

impl Model {
    fn start() -> Self {
        let agent = ModelAgent {
            exists: true,
            status: AgentStatus::Active,
            price: PRICE,
            collateral: COLLATERAL,
            open: 0,
            disputes: 0,
            window_end: 0,
        };
        Self {
            now: START_UNIX_S,
            paused: false,
            fee_bps: 100,
            agents: vec![agent; AGENTS],
            executions: vec![],
            grant: ModelGrant {
                per_call_cap: USDC,
                total_cap: 100 * USDC,
                spent: 0,
                expires: START_UNIX_S + 30 * 86_400,
                revoked: false,
                only_second: false,
            },
            holdings: Holdings {
                callers: [PURSE; CALLERS],
                creators: [PURSE - COLLATERAL; AGENTS],
                escrows: [0; AGENTS],
                vaults: [COLLATERAL; AGENTS],
                treasury: PURSE,
                stranger: PURSE,
            },
            goes_through: true,
        }
    }

    /// Takes the step if it goes through; tells whether it does.
    fn take(&mut self, step: &Step) -> bool {
        match step {
            Step::Wait(seconds) => {
                self.now += seconds;
                true
            }
            Step::Open { agent, caller, key, max_amount } => self.open(*agent, *caller, *key, *max_amount),
            Step::Complete { execution, who, how } => self.complete(*execution, *who, *how),
            Step::Fail { execution, who } => {
                matches!(who, Who::Gateway | Who::Creator) && self.refund(*execution, ExecutionStatus::Failed)
            }
            Step::Refund { execution, to_stranger } => {
                let late = self.executions.get(*execution).is_some_and(|e| self.now > e.deadline);
                late && !to_stranger && self.refund(*execution, ExecutionStatus::Expired)
            }
            Step::OpenDispute { execution, who } => *who == Who::Caller && self.open_dispute(*execution),
            Step::Resolve { execution, who, upheld, slash } => {
                *who == Who::Resolver && self.resolve(*execution, *upheld, *slash)
            }
            Step::CloseExecution { execution } => self.close_execution(*execution),
            Step::SetStatus { agent, who, active } => *who == Who::Creator && self.set_status(*agent, *active),
            Step::SetPrice { agent, price } => self.set_price(*agent, *price),
            Step::Deposit { agent, amount } => self.deposit(*agent, *amount),
            Step::Delist { agent, who } => {
                let listed = *who == Who::Creator && self.listed(*agent);
                if listed {
                    self.agents[*agent].status = AgentStatus::Delisted;
                }
                listed
            }
            Step::Withdraw { agent } => self.withdraw(*agent),
            Step::CloseAgent { agent } => self.close_agent(*agent),
            Step::Grant { per_call_cap, total_cap, seconds, only_second } => {
                let granted = !self.grant.revoked;
                if granted {
                    self.grant.per_call_cap = *per_call_cap;
                    self.grant.total_cap = *total_cap;
                    self.grant.expires = self.now + seconds;
                    self.grant.only_second = *only_second;
                }
                granted
            }
            Step::Revoke => !std::mem::replace(&mut self.grant.revoked, true),
            Step::SetPaused { who, paused } => {
                let changes = *who == Who::Admin && self.paused != *paused;
                self.paused = if changes { *paused } else { self.paused };
                changes
            }
            Step::SetFee(bps) => {
                self.fee_bps = if *bps <= 1_000 { *bps } else { self.fee_bps };
                *bps <= 1_000
            }
            Step::Dust { agent, escrow, amount } => {
                let exists = self.agents[*agent].exists;
                let holdings = &mut self.holdings;
                let to = if *escrow { &mut holdings.escrows } else { &mut holdings.vaults };
                to[*agent] += if exists { *amount } else { 0 };
                exists
            }
        }
    }

    /// There and not delisted.
    fn listed(&self, agent: usize) -> bool {
        self.agents[agent].exists && self.agents[agent].status != AgentStatus::Delisted
    }

    fn open(&mut self, agent: usize, caller: usize, key: bool, max_amount: u64) -> bool {
        let (price, caller) = (self.agents[agent].price, if key { 0 } else { caller });
        let grant = &self.grant;
        let granted = !grant.revoked
            && self.now <= grant.expires
            && price <= grant.per_call_cap
            && grant.spent + price <= grant.total_cap
            && (!grant.only_second || agent == 1);
        let opens = self.agents[agent].exists
            && !self.paused
            && self.agents[agent].status == AgentStatus::Active
            && price <= max_amount
            && self.holdings.callers[caller] >= price
            && (!key || granted);
        if opens {
            self.grant.spent += if key { price } else { 0 };
            self.agents[agent].open += 1;
            self.holdings.callers[caller] -= price;
            self.holdings.escrows[agent] += price;
            self.executions.push(ModelExecution {
                agent,
                caller,
                amount: price,
                platform: price * u64::from(self.fee_bps) / 10_000,
                deadline: self.now + i64::from(TIMEOUT_S) + GRACE_S,
                status: Some(ExecutionStatus::Open),
                finished: 0,
                disputed: false,
            });
        }
        opens
    }

    fn complete(&mut self, execution: usize, who: Who, how: Settlement) -> bool {
        let now = self.now;
        let Some(e) = self.executions.get_mut(execution) else { return false };
        let settles = e.status == Some(ExecutionStatus::Open)
            && now <= e.deadline
            && how == Settlement::Honest
            && matches!(who, Who::Gateway | Who::Creator | Who::Caller);
        if settles {
            (e.status, e.finished) = (Some(ExecutionStatus::Completed), now);
            let agent = &mut self.agents[e.agent];
            agent.open -= 1;
            agent.window_end = agent.window_end.max(now + WINDOW_S);
            self.holdings.escrows[e.agent] -= e.amount;
            self.holdings.creators[e.agent] += e.amount - e.platform;
            self.holdings.treasury += e.platform;
        }
        settles
    }

    fn refund(&mut self, execution: usize, status: ExecutionStatus) -> bool {
        let Some(e) = self.executions.get_mut(execution) else { return false };
        let open = e.status == Some(ExecutionStatus::Open);
        if open {
            (e.status, e.finished) = (Some(status), self.now);
            self.agents[e.agent].open -= 1;
            self.holdings.escrows[e.agent] -= e.amount;
            self.holdings.callers[e.caller] += e.amount;
        }
        open
    }

    fn open_dispute(&mut self, execution: usize) -> bool {
        let Some(e) = self.executions.get_mut(execution) else { return false };
        let disputable =
            e.status == Some(ExecutionStatus::Completed) && !e.disputed && self.now <= e.finished + WINDOW_S;
        if disputable {
            (e.status, e.disputed) = (Some(ExecutionStatus::Disputed), true);
            self.agents[e.agent].disputes += 1;
        }
        disputable
    }

    fn resolve(&mut self, execution: usize, upheld: bool, slash: u64) -> bool {
        let Some(e) = self.executions.get_mut(execution) else { return false };
        let agent = &mut self.agents[e.agent];
        let decides =
            e.status == Some(ExecutionStatus::Disputed) && slash <= agent.collateral && (upheld || slash == 0);
        if decides {
            agent.disputes -= 1;
            e.status = Some(if upheld { ExecutionStatus::Overturned } else { ExecutionStatus::Completed });
            let compensation = slash.min(e.amount);
            agent.collateral -= slash;
            self.holdings.vaults[e.agent] -= slash;
            self.holdings.callers[e.caller] += compensation;
            self.holdings.treasury += slash - compensation;
            if upheld && agent.status == AgentStatus::Active && agent.collateral < tier(agent.price) {
                agent.status = AgentStatus::Paused;
            }
        }
        decides
    }

    fn close_execution(&mut self, execution: usize) -> bool {
        let Some(e) = self.executions.get_mut(execution) else { return false };
        let finished =
            e.status.is_some_and(|status| !matches!(status, ExecutionStatus::Open | ExecutionStatus::Disputed));
        let closes = finished && self.now > e.finished + WINDOW_S;
        if closes {
            e.status = None;
        }
        closes
    }

    fn set_status(&mut self, agent: usize, active: bool) -> bool {
        let listed = self.listed(agent);
        let agent = &mut self.agents[agent];
        let status = if active { AgentStatus::Active } else { AgentStatus::Paused };
        let changes = listed && agent.status != status && (!active || agent.collateral >= tier(agent.price));
        agent.status = if changes { status } else { agent.status };
        changes
    }

    fn set_price(&mut self, agent: usize, price: u64) -> bool {
        let listed = self.listed(agent);
        let agent = &mut self.agents[agent];
        let changes = listed && price > 0 && (price <= agent.price || agent.collateral >= tier(price));
        agent.price = if changes { price } else { agent.price };
        changes
    }

    fn deposit(&mut self, agent: usize, amount: u64) -> bool {
        let deposits = self.listed(agent) && amount > 0 && self.holdings.creators[agent] >= amount;
        if deposits {
            self.agents[agent].collateral += amount;
            self.holdings.creators[agent] -= amount;
            self.holdings.vaults[agent] += amount;
        }
        deposits
    }

    /// Nobody can claim the collateral any more.
    fn unclaimed(&self, agent: usize) -> bool {
        let agent = &self.agents[agent];
        agent.exists
            && agent.status == AgentStatus::Delisted
            && agent.open == 0
            && agent.disputes == 0
            && self.now > agent.window_end
    }

    fn withdraw(&mut self, agent: usize) -> bool {
        let withdraws = self.unclaimed(agent) && self.agents[agent].collateral > 0;
        if withdraws {
            let amount = std::mem::take(&mut self.agents[agent].collateral);
            self.holdings.vaults[agent] -= amount;
            self.holdings.creators[agent] += amount;
        }
        withdraws
    }

    fn close_agent(&mut self, agent: usize) -> bool {
        let closes = self.unclaimed(agent) && self.agents[agent].collateral == 0;
        if closes {
            self.agents[agent].exists = false;
            let holdings = &mut self.holdings;
            holdings.creators[agent] += std::mem::take(&mut holdings.escrows[agent]);
            holdings.creators[agent] += std::mem::take(&mut holdings.vaults[agent]);
        }
        closes
    }
}

impl ReferenceStateMachine for Model {
    type State = Self;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Self> {
        Just(Self::start()).boxed()
    }

    fn transitions(state: &Self) -> BoxedStrategy<Step> {
        use ExecutionStatus::{Completed, Disputed, Open};
        let agent = 0..AGENTS;
        let open = || execution(state, |e| e.status == Some(Open));
        let late = execution(state, |e| e.status == Some(Open) && state.now > e.deadline);
        let completed = execution(state, |e| e.status == Some(Completed) && !e.disputed);
        let disputed = execution(state, |e| e.status == Some(Disputed));
        let finished = execution(state, |e| e.status.is_some_and(|status| status != Open && status != Disputed));
        prop_oneof![
            4 => prop_oneof![5 => 1..200i64, 1 => Just(WINDOW_S + 1)].prop_map(Step::Wait),
            14 => (agent.clone(), 0..CALLERS, any::<bool>(), prop_oneof![9 => Just(u64::MAX), 1 => Just(PRICE - 1)])
                .prop_map(|(agent, caller, key, max_amount)| Step::Open { agent, caller, key, max_amount }),
            16 => (open(), who(), how()).prop_map(|(execution, who, how)| Step::Complete { execution, who, how }),
            4 => (open(), who()).prop_map(|(execution, who)| Step::Fail { execution, who }),
            4 => (late, prop_oneof![3 => Just(false), 1 => Just(true)])
                .prop_map(|(execution, to_stranger)| Step::Refund { execution, to_stranger }),
            8 => (completed, prop_oneof![4 => Just(Who::Caller), 1 => who()])
                .prop_map(|(execution, who)| Step::OpenDispute { execution, who }),
            8 => (disputed, prop_oneof![4 => Just(Who::Resolver), 1 => who()], any::<bool>(), slash())
                .prop_map(|(execution, who, upheld, slash)| Step::Resolve { execution, who, upheld, slash }),
            4 => finished.prop_map(|execution| Step::CloseExecution { execution }),
            2 => (agent.clone(), prop_oneof![3 => Just(Who::Creator), 1 => who()], any::<bool>())
                .prop_map(|(agent, who, active)| Step::SetStatus { agent, who, active }),
            2 => (agent.clone(), prop_oneof![Just(0), 1..200_000u64]).prop_map(|(agent, price)| Step::SetPrice { agent, price }),
            2 => (agent.clone(), prop_oneof![Just(0), 1..100 * USDC]).prop_map(|(agent, amount)| Step::Deposit { agent, amount }),
            1 => (agent.clone(), who()).prop_map(|(agent, who)| Step::Delist { agent, who }),
            2 => agent.clone().prop_map(|agent| Step::Withdraw { agent }),
            2 => agent.clone().prop_map(|agent| Step::CloseAgent { agent }),
            1 => (1..2 * PRICE, 1..10 * PRICE, 1..1_000i64, any::<bool>()).prop_map(
                |(per_call_cap, total_cap, seconds, only_second)| Step::Grant { per_call_cap, total_cap, seconds, only_second }
            ),
            1 => Just(Step::Revoke),
            1 => (prop_oneof![3 => Just(Who::Admin), 1 => who()], any::<bool>())
                .prop_map(|(who, paused)| Step::SetPaused { who, paused }),
            1 => (0..1_100u16).prop_map(Step::SetFee),
            1 => (agent, any::<bool>(), 1..1_000u64).prop_map(|(agent, escrow, amount)| Step::Dust { agent, escrow, amount }),
        ]
        .boxed()
    }

    fn apply(mut state: Self, step: &Step) -> Self {
        state.goes_through = state.take(step);
        state
    }
}

/// Mostly an execution that `fits`, sometimes any, also one that does not exist.
fn execution(state: &Model, fits: impl Fn(&ModelExecution) -> bool) -> BoxedStrategy<usize> {
    let any = 0..state.executions.len() + 1;
    let fitting: Vec<usize> =
        state.executions.iter().enumerate().filter(|(_, e)| fits(e)).map(|(index, _)| index).collect();
    if fitting.is_empty() {
        return any.boxed();
    }
    prop_oneof![7 => proptest::sample::select(fitting), 1 => any].boxed()
}

fn who() -> impl Strategy<Value = Who> {
    prop_oneof![
        3 => Just(Who::Gateway),
        2 => Just(Who::Creator),
        1 => Just(Who::Caller),
        1 => Just(Who::Stranger),
        1 => Just(Who::Admin),
        1 => Just(Who::Resolver),
    ]
}

fn how() -> impl Strategy<Value = Settlement> {
    prop_oneof![
        6 => Just(Settlement::Honest),
        1 => Just(Settlement::WithoutProof),
        1 => Just(Settlement::AnotherKey),
        1 => Just(Settlement::AnotherHash),
        1 => Just(Settlement::CreatorUnpaid),
        1 => Just(Settlement::TreasuryUnpaid),
    ]
}

fn slash() -> impl Strategy<Value = u64> {
    prop_oneof![2 => Just(0), 2 => 1..2 * PRICE, 1 => Just(COLLATERAL), 1 => Just(COLLATERAL + 1)]
}

/// The real thing.
struct Marketplace {
    world: World,
    agents: Vec<Agent>,
    callers: Vec<Actor>,
    executions: Vec<Execution>,
}

impl Marketplace {
    fn start() -> Self {
        let mut world = World::new();
        let second = world.new_agent();
        world.list(&second, world.list_args(&second));
        let agents = vec![world.agent.clone(), second];
        let callers = vec![world.caller.clone(), world.new_actor()];
        Self { world, agents, callers, executions: vec![] }
    }

    fn actor(&self, who: Who, agent: &Agent, caller: &Actor) -> Actor {
        match who {
            Who::Gateway => self.world.gateway.clone(),
            Who::Creator => agent.creator.clone(),
            Who::Caller => caller.clone(),
            Who::Stranger => self.world.stranger.clone(),
            Who::Admin => self.world.admin.clone(),
            Who::Resolver => self.world.resolver.clone(),
        }
    }

    /// Sends `instruction`; its first signer is replaced by `signer`.
    fn send_as(&mut self, before: &[Instruction], mut instruction: Instruction, signer: &Actor) -> bool {
        instruction.accounts[0].pubkey = signer.key();
        let all = [before, &[instruction]].concat();
        self.world.send(&all, &[&signer.keypair]).is_ok()
    }

    fn take(&mut self, step: &Step) -> bool {
        match step {
            Step::Wait(seconds) => {
                self.world.set_time(self.world.now() + seconds);
                true
            }
            Step::Open { agent, caller, key, max_amount } => self.open(*agent, *caller, *key, *max_amount),
            Step::Complete { execution, who, how } => {
                self.with(*execution, |this, execution| this.complete(execution, *who, *how))
            }
            Step::Fail { execution, who } => self.with(*execution, |this, execution| {
                let fail = this.world.fail_execution(execution, FailureReason::InvalidResponse);
                let signer = this.actor(*who, &execution.agent, &execution.caller);
                this.send_as(&[], fail, &signer)
            }),
            Step::Refund { execution, to_stranger } => self.with(*execution, |this, execution| {
                let mut accounts = this.world.refund_accounts(execution);
                if *to_stranger {
                    accounts.refund_token = this.world.stranger.token;
                }
                let refund = build(&accounts, &instruction::RefundExpiredExecution {});
                this.world.send(&[refund], &[]).is_ok()
            }),
            Step::OpenDispute { execution, who } => self.with(*execution, |this, execution| {
                let dispute = this.world.open_dispute(execution);
                let signer = this.actor(*who, &execution.agent, &execution.caller);
                this.send_as(&[], dispute, &signer)
            }),
            Step::Resolve { execution, who, upheld, slash } => self.with(*execution, |this, execution| {
                let resolve = this.world.resolve_dispute(execution, *upheld, *slash);
                let signer = this.actor(*who, &execution.agent, &execution.caller);
                this.send_as(&[], resolve, &signer)
            }),
            Step::CloseExecution { execution } => self.with(*execution, |this, execution| {
                let close = this.world.close_execution(execution);
                this.world.send(&[close], &[]).is_ok()
            }),
            other => self.take_on_agent(other),
        }
    }

    fn take_on_agent(&mut self, step: &Step) -> bool {
        let caller = self.callers[0].clone();
        let world = &self.world;
        let (instruction, signer) = match step {
            Step::SetStatus { agent, who, active } => {
                let agent = &self.agents[*agent];
                let status = if *active { AgentStatus::Active } else { AgentStatus::Paused };
                (world.set_agent_status(agent, status), self.actor(*who, agent, &caller))
            }
            Step::SetPrice { agent, price } => {
                let edit = ix::UpdateListingArgs { price: Some(*price), ..Default::default() };
                (world.update_listing(&self.agents[*agent], edit), self.agents[*agent].creator.clone())
            }
            Step::Deposit { agent, amount } => {
                (world.deposit_collateral(&self.agents[*agent], *amount), self.agents[*agent].creator.clone())
            }
            Step::Delist { agent, who } => {
                let agent = &self.agents[*agent];
                (world.delist_agent(agent), self.actor(*who, agent, &caller))
            }
            Step::Withdraw { agent } => {
                (world.withdraw_collateral(&self.agents[*agent]), self.agents[*agent].creator.clone())
            }
            Step::CloseAgent { agent } => {
                (world.close_agent(&self.agents[*agent]), self.agents[*agent].creator.clone())
            }
            Step::Grant { per_call_cap, total_cap, seconds, only_second } => {
                let args = ix::GrantSpendingArgs {
                    session_key: world.session.pubkey(),
                    per_call_cap: *per_call_cap,
                    total_cap: *total_cap,
                    expires_at_unix_s: world.now() + seconds,
                    allowed_agents: if *only_second { vec![self.agents[1].address] } else { vec![] },
                };
                (world.grant_spending(args), caller)
            }
            Step::Revoke => (world.revoke_spending(), caller),
            Step::SetPaused { who, paused } => (world.set_paused(*paused), self.actor(*who, &self.agents[0], &caller)),
            Step::SetFee(bps) => {
                let args = ix::UpdateConfigArgs { fee_bps: Some(*bps), ..Default::default() };
                (world.update_config(args), world.admin.clone())
            }
            Step::Dust { agent, escrow, amount } => return self.dust(*agent, *escrow, *amount),
            _ => unreachable!("handled by `take`"),
        };
        self.send_as(&[], instruction, &signer)
    }

    fn with(&mut self, execution: usize, act: impl FnOnce(&mut Self, &Execution) -> bool) -> bool {
        match self.executions.get(execution).cloned() {
            Some(execution) => act(self, &execution),
            None => false,
        }
    }

    fn open(&mut self, agent: usize, caller: usize, key: bool, max_amount: u64) -> bool {
        let mut execution = self.world.new_execution();
        execution.agent = self.agents[agent].clone();
        execution.caller = self.callers[if key { 0 } else { caller }].clone();
        execution.record = self.world.addresses.execution(&execution.caller.key(), &execution.id);
        let args = ix::OpenExecutionArgs { max_amount, ..self.world.open_args(&execution) };
        let (open, signer) = if key {
            let accounts = self.world.open_with_grant_accounts(&execution);
            (build(&accounts, &instruction::OpenExecutionWithGrant { args }), self.world.session.insecure_clone())
        } else {
            let accounts = self.world.open_accounts(&execution);
            let signer = execution.caller.keypair.insecure_clone();
            (build(&accounts, &instruction::OpenExecution { args }), signer)
        };
        let opened = self.world.send(&[open], &[&signer]).is_ok();
        if opened {
            self.executions.push(execution);
        }
        opened
    }

    fn complete(&mut self, execution: &Execution, who: Who, how: Settlement) -> bool {
        let mut accounts = self.world.complete_accounts(execution);
        match how {
            Settlement::CreatorUnpaid => accounts.creator_token = self.world.stranger.token,
            Settlement::TreasuryUnpaid => accounts.treasury_token = accounts.creator_token,
            _ => {}
        }
        let attacker = SigningKey::from_bytes(&[0x66; 32]);
        let proof = match how {
            Settlement::WithoutProof => None,
            Settlement::AnotherKey => Some(Proof::of(&attacker, &RESULT_HASH)),
            Settlement::AnotherHash => Some(Proof::of(&execution.agent.result_key, &[0xcd; 32])),
            _ => Some(self.world.proof(execution)),
        };
        let before: Vec<Instruction> = proof.iter().map(Proof::instruction).collect();
        let settle = build(&accounts, &instruction::CompleteExecution { args: complete_args() });
        let signer = self.actor(who, &execution.agent, &execution.caller);
        self.send_as(&before, settle, &signer)
    }

    fn dust(&mut self, agent: usize, escrow: bool, amount: u64) -> bool {
        let addresses = self.world.addresses;
        let agent = self.agents[agent].address;
        let token = if escrow { addresses.escrow(&agent) } else { addresses.collateral(&agent) };
        let exists = self.world.account(&token).is_some();
        if exists {
            self.world.dust(&token, amount);
        }
        exists
    }

    fn holdings(&self) -> Holdings {
        let world = &self.world;
        let by_agent = |address: &dyn Fn(&Agent) -> solana_address::Address| -> [u64; AGENTS] {
            std::array::from_fn(|index| world.balance(&address(&self.agents[index])))
        };
        Holdings {
            callers: std::array::from_fn(|index| world.balance(&self.callers[index].token)),
            creators: by_agent(&|agent| agent.creator.token),
            escrows: by_agent(&|agent| world.addresses.escrow(&agent.address)),
            vaults: by_agent(&|agent| world.addresses.collateral(&agent.address)),
            treasury: world.balance(&world.treasury.token),
            stranger: world.balance(&world.stranger.token),
        }
    }
}

impl StateMachineTest for Marketplace {
    type SystemUnderTest = Self;
    type Reference = Model;

    fn init_test(_: &Model) -> Self {
        Self::start()
    }

    fn apply(mut state: Self, model: &Model, step: Step) -> Self {
        assert_eq!(state.take(&step), model.goes_through, "{step:?}");
        state
    }

    fn check_invariants(state: &Self, model: &Model) {
        assert_eq!(state.holdings(), model.holdings);
        assert_invariants(&state.world);
        for (execution, expected) in state.executions.iter().zip(&model.executions) {
            let record: Option<ExecutionRecord> = state.world.try_state(&execution.record);
            assert_eq!(record.and_then(|record| record.status()), expected.status);
        }
    }
}

fn from_environment(name: &str, otherwise: u32) -> u32 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

fn test_config() -> TestConfig {
    TestConfig {
        cases: from_environment("CRTX_FUZZ_CASES", 256),
        // Beside the manifest, where tests run: every later run starts with what failed once.
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct("proptest-regressions/state_machine.txt"))),
        ..TestConfig::default()
    }
}

fn steps() -> usize {
    usize::try_from(from_environment("CRTX_FUZZ_STEPS", 30)).expect("a number of steps")
}

prop_state_machine! {
    #![proptest_config(test_config())]

    #[test]
    fn every_story_ends_as_the_model_foretells(sequential steps() => Marketplace);
}
