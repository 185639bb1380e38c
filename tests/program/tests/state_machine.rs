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

use std::collections::BTreeMap;

use agent_marketplace::{instruction, instructions as ix, state::*};
use crtx_program_tests::{instructions::*, *};
use ed25519_dalek::SigningKey;
use proptest::{
    prelude::*,
    strategy::ValueTree as _,
    test_runner::{Config as TestConfig, FileFailurePersistence, TestRunner},
};
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};

const AGENTS: usize = 2;
const CALLERS: usize = 2;
const WINDOW_S: i64 = agent_marketplace::state::Config::DEFAULT_DISPUTE_WINDOW_S;
const GRACE_S: i64 = agent_marketplace::state::Config::DEFAULT_SETTLE_GRACE_S;
const ROLE_DELAY_S: i64 = agent_marketplace::state::Config::ROLE_DELAY_S;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Gateway,
    Creator,
    Caller,
    Stranger,
    Admin,
    Resolver,
    Treasury,
}

/// How a settlement is proved, and to whom it pays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Settlement {
    Honest,
    WithoutProof,
    AnotherKey,
    /// The key that the listing has now, whatever it had at opening.
    ListingsKey,
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
    SetTimeout { agent: usize, seconds: u32 },
    SetKey { agent: usize, who: Who },
    List { agent: usize },
    Name { agent: usize, name: &'static str },
    Deposit { agent: usize, amount: u64 },
    Delist { agent: usize, who: Who },
    Withdraw { agent: usize },
    CloseAgent { agent: usize },
    Grant { per_call_cap: u64, total_cap: u64, seconds: i64, only_second: bool },
    Revoke,
    SetPaused { who: Who, paused: bool },
    SetFee { who: Who, bps: u16 },
    SetWindow { who: Who, seconds: i64 },
    SetGrace { who: Who, seconds: i64 },
    SetTiers { who: Who, factor: u64 },
    SetGateway { who: Who, gateway: Who },
    Verify { who: Who, agent: usize, verified: bool },
    Nominate { who: Who, nominee: Option<Who> },
    AcceptAdmin { who: Who },
    Announce { who: Who, resolver: Option<Who>, treasury: Option<Who> },
    ApplyRoles,
    RemoveResolver { who: Who },
    ExpireDispute { execution: usize },
    Initialize,
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
    timeout: i64,
    /// Counts the result keys that the listing had.
    key: u32,
    listed: i64,
}

#[derive(Clone, Debug)]
struct ModelExecution {
    agent: usize,
    caller: usize,
    amount: u64,
    platform: u64,
    deadline: i64,
    window: i64,
    key: u32,
    raised: i64,
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

/// Roles that take office later.
#[derive(Clone, Copy, Debug)]
struct Announcement {
    resolver: Option<Who>,
    treasury: Option<Who>,
    apply_from: i64,
}

/// The configuration, roles by who has them.
#[derive(Clone, Debug)]
struct ModelConfig {
    paused: bool,
    fee_bps: u16,
    window: i64,
    grace: i64,
    tiers_factor: u64,
    admin: Who,
    nominee: Option<Who>,
    gateway: Who,
    treasury: Who,
    resolver: Option<Who>,
    resolver_since: i64,
    announced: Option<Announcement>,
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
    config: ModelConfig,
    agents: Vec<ModelAgent>,
    /// Of each creator: `None` without a profile, else whether it is verified.
    profiles: Vec<Option<bool>>,
    executions: Vec<ModelExecution>,
    grant: ModelGrant,
    holdings: Holdings,
    /// Whether the last step goes through.
    goes_through: bool,
}

fn tier(price: u64, factor: u64) -> u64 {
    let tiers = [(100_000, 10), (1_000_000, 50), (10_000_000, 200)];
    tiers.iter().find(|(max, _)| price <= *max).map_or(1_000, |(_, usdc)| *usdc) * USDC * factor
}

/// A listing as `World::list_args` makes it.
fn listed(now: i64, key: u32) -> ModelAgent {
    ModelAgent {
        exists: true,
        status: AgentStatus::Active,
        price: PRICE,
        collateral: COLLATERAL,
        open: 0,
        disputes: 0,
        window_end: 0,
        timeout: i64::from(TIMEOUT_S),
        key,
        listed: now,
    }
}

impl Model {
    fn start() -> Self {
        Self {
            now: START_UNIX_S,
            config: ModelConfig {
                paused: false,
                fee_bps: 100,
                window: WINDOW_S,
                grace: GRACE_S,
                tiers_factor: 1,
                admin: Who::Admin,
                nominee: None,
                gateway: Who::Gateway,
                treasury: Who::Treasury,
                resolver: Some(Who::Resolver),
                resolver_since: START_UNIX_S,
                announced: None,
            },
            agents: vec![listed(START_UNIX_S, 0); AGENTS],
            profiles: vec![None; AGENTS],
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
                (*who == self.config.gateway || *who == Who::Creator)
                    && self.refund(*execution, ExecutionStatus::Failed)
            }
            Step::Refund { execution, to_stranger } => {
                let late = self.executions.get(*execution).is_some_and(|e| self.now > e.deadline);
                late && !to_stranger && self.refund(*execution, ExecutionStatus::Expired)
            }
            Step::OpenDispute { execution, who } => *who == Who::Caller && self.open_dispute(*execution),
            Step::Resolve { execution, who, upheld, slash } => {
                self.config.resolver == Some(*who) && self.resolve(*execution, *upheld, *slash)
            }
            Step::ExpireDispute { execution } => self.expire_dispute(*execution),
            Step::CloseExecution { execution } => self.close_execution(*execution),
            Step::SetStatus { agent, who, active } => *who == Who::Creator && self.set_status(*agent, *active),
            Step::SetPrice { agent, price } => self.set_price(*agent, *price),
            Step::SetTimeout { agent, seconds } => {
                let changes = self.is_listed(*agent) && (1..=900).contains(seconds);
                self.agents[*agent].timeout = if changes { i64::from(*seconds) } else { self.agents[*agent].timeout };
                changes
            }
            Step::SetKey { agent, who } => {
                let changes = *who == Who::Creator && self.is_listed(*agent);
                self.agents[*agent].key += u32::from(changes);
                changes
            }
            Step::List { agent } => self.list(*agent),
            Step::Name { agent, name } => {
                let fits = (1..=32).contains(&name.len());
                self.profiles[*agent] = self.profiles[*agent].or(fits.then_some(false));
                fits
            }
            Step::Deposit { agent, amount } => self.deposit(*agent, *amount),
            Step::Delist { agent, who } => {
                let delists = *who == Who::Creator && self.is_listed(*agent);
                if delists {
                    self.agents[*agent].status = AgentStatus::Delisted;
                }
                delists
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
            Step::Verify { who, agent, verified } => {
                let changes = *who == self.config.admin && self.profiles[*agent] == Some(!verified);
                self.profiles[*agent] = if changes { Some(*verified) } else { self.profiles[*agent] };
                changes
            }
            Step::Initialize => false,
            Step::Dust { agent, escrow, amount } => {
                let exists = self.agents[*agent].exists;
                let holdings = &mut self.holdings;
                let to = if *escrow { &mut holdings.escrows } else { &mut holdings.vaults };
                to[*agent] += if exists { *amount } else { 0 };
                exists
            }
            governed => self.config.take(governed, self.now),
        }
    }

    /// There and not delisted.
    fn is_listed(&self, agent: usize) -> bool {
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
            && !self.config.paused
            && self.agents[agent].status == AgentStatus::Active
            && price <= max_amount
            && self.holdings.callers[caller] >= price
            && (!key || granted);
        if opens {
            self.grant.spent += if key { price } else { 0 };
            let config = &self.config;
            let agent_now = &mut self.agents[agent];
            agent_now.open += 1;
            self.holdings.callers[caller] -= price;
            self.holdings.escrows[agent] += price;
            self.executions.push(ModelExecution {
                agent,
                caller,
                amount: price,
                platform: price * u64::from(config.fee_bps) / 10_000,
                deadline: self.now + agent_now.timeout + config.grace,
                window: config.window,
                key: agent_now.key,
                raised: 0,
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
        let proved = match how {
            Settlement::Honest => true,
            Settlement::ListingsKey => self.agents[e.agent].key == e.key,
            // Who gets nothing need not be there.
            Settlement::TreasuryUnpaid => e.platform == 0,
            _ => false,
        };
        let settles = e.status == Some(ExecutionStatus::Open)
            && now <= e.deadline
            && proved
            && (who == self.config.gateway || matches!(who, Who::Creator | Who::Caller));
        if settles {
            (e.status, e.finished) = (Some(ExecutionStatus::Completed), now);
            let agent = &mut self.agents[e.agent];
            agent.open -= 1;
            agent.window_end = agent.window_end.max(now + e.window);
            self.holdings.escrows[e.agent] -= e.amount;
            self.holdings.creators[e.agent] += e.amount - e.platform;
            *self.holdings.of_treasury(self.config.treasury) += e.platform;
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
            e.status == Some(ExecutionStatus::Completed) && !e.disputed && self.now <= e.finished + e.window;
        if disputable {
            (e.status, e.disputed, e.raised) = (Some(ExecutionStatus::Disputed), true, self.now);
            self.agents[e.agent].disputes += 1;
        }
        disputable
    }

    fn resolve(&mut self, execution: usize, upheld: bool, slash: u64) -> bool {
        let Some(e) = self.executions.get_mut(execution) else { return false };
        let agent = &mut self.agents[e.agent];
        let penalty = slash > e.amount;
        let decides = e.status == Some(ExecutionStatus::Disputed)
            && slash <= agent.collateral
            && (upheld || slash == 0)
            && (!penalty || (agent.disputes == 1 && e.raised >= self.config.resolver_since));
        if decides {
            agent.disputes -= 1;
            e.status = Some(if upheld { ExecutionStatus::Overturned } else { ExecutionStatus::Completed });
            let compensation = slash.min(e.amount);
            agent.collateral -= slash;
            self.holdings.vaults[e.agent] -= slash;
            self.holdings.callers[e.caller] += compensation;
            *self.holdings.of_treasury(self.config.treasury) += slash - compensation;
            let required = tier(agent.price, self.config.tiers_factor);
            if upheld && agent.status == AgentStatus::Active && agent.collateral < required {
                agent.status = AgentStatus::Paused;
            }
        }
        decides
    }

    fn expire_dispute(&mut self, execution: usize) -> bool {
        let Some(e) = self.executions.get_mut(execution) else { return false };
        let expires = e.status == Some(ExecutionStatus::Disputed) && self.now > e.raised + Dispute::LIMIT_S;
        if expires {
            e.status = Some(ExecutionStatus::Completed);
            self.agents[e.agent].disputes -= 1;
        }
        expires
    }

    fn close_execution(&mut self, execution: usize) -> bool {
        let Some(e) = self.executions.get_mut(execution) else { return false };
        let finished =
            e.status.is_some_and(|status| !matches!(status, ExecutionStatus::Open | ExecutionStatus::Disputed));
        let closes = finished && self.now > e.finished + e.window;
        if closes {
            e.status = None;
        }
        closes
    }

    fn list(&mut self, agent: usize) -> bool {
        let enough = COLLATERAL >= tier(PRICE, self.config.tiers_factor);
        let lists =
            !self.agents[agent].exists && !self.config.paused && enough && self.holdings.creators[agent] >= COLLATERAL;
        if lists {
            self.agents[agent] = listed(self.now, self.agents[agent].key);
            self.holdings.creators[agent] -= COLLATERAL;
            self.holdings.vaults[agent] += COLLATERAL;
        }
        lists
    }

    fn set_status(&mut self, agent: usize, active: bool) -> bool {
        let listed = self.is_listed(agent);
        let factor = self.config.tiers_factor;
        let agent = &mut self.agents[agent];
        let status = if active { AgentStatus::Active } else { AgentStatus::Paused };
        let changes = listed && agent.status != status && (!active || agent.collateral >= tier(agent.price, factor));
        agent.status = if changes { status } else { agent.status };
        changes
    }

    fn set_price(&mut self, agent: usize, price: u64) -> bool {
        let listed = self.is_listed(agent);
        let required = tier(price, self.config.tiers_factor);
        let agent = &mut self.agents[agent];
        let changes = listed && price > 0 && (price <= agent.price || agent.collateral >= required);
        agent.price = if changes { price } else { agent.price };
        changes
    }

    fn deposit(&mut self, agent: usize, amount: u64) -> bool {
        let deposits = self.is_listed(agent) && amount > 0 && self.holdings.creators[agent] >= amount;
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
        let this = &self.agents[agent];
        let closes = self.unclaimed(agent) && this.collateral == 0 && self.now > this.listed;
        if closes {
            self.agents[agent].exists = false;
            let holdings = &mut self.holdings;
            holdings.creators[agent] += std::mem::take(&mut holdings.escrows[agent]);
            holdings.creators[agent] += std::mem::take(&mut holdings.vaults[agent]);
        }
        closes
    }
}

impl ModelConfig {
    /// The admin's steps, and the two that follow from them.
    fn take(&mut self, step: &Step, now: i64) -> bool {
        let admin = self.admin;
        let allowed = match step {
            Step::SetPaused { who, paused } => *who == admin && self.paused != *paused,
            Step::SetFee { who, bps } => *who == admin && *bps <= 1_000,
            Step::SetWindow { who, seconds } => *who == admin && (1..=14 * 86_400).contains(seconds),
            Step::SetGrace { who, seconds } => *who == admin && (0..=86_400).contains(seconds),
            Step::SetTiers { who, .. }
            | Step::SetGateway { who, .. }
            | Step::Nominate { who, .. }
            | Step::Announce { who, .. } => *who == admin,
            Step::AcceptAdmin { who } => self.nominee == Some(*who),
            Step::ApplyRoles => self.announced.is_some_and(|announced| now >= announced.apply_from),
            Step::RemoveResolver { who } => *who == admin && self.resolver.is_some(),
            other => unreachable!("{other:?} is no matter of the configuration"),
        };
        if allowed {
            self.change(step, now);
        }
        allowed
    }

    fn change(&mut self, step: &Step, now: i64) {
        match step {
            Step::SetPaused { paused, .. } => self.paused = *paused,
            Step::SetFee { bps, .. } => self.fee_bps = *bps,
            Step::SetWindow { seconds, .. } => self.window = *seconds,
            Step::SetGrace { seconds, .. } => self.grace = *seconds,
            Step::SetTiers { factor, .. } => self.tiers_factor = *factor,
            Step::SetGateway { gateway, .. } => self.gateway = *gateway,
            Step::Nominate { nominee, .. } => self.nominee = *nominee,
            Step::AcceptAdmin { who } => (self.admin, self.nominee) = (*who, None),
            Step::Announce { resolver, treasury, .. } => {
                let announcement =
                    Announcement { resolver: *resolver, treasury: *treasury, apply_from: now + ROLE_DELAY_S };
                self.announced = (resolver.is_some() || treasury.is_some()).then_some(announcement);
            }
            Step::RemoveResolver { .. } => self.resolver = None,
            _ => {
                let Some(announced) = self.announced.take() else { return };
                if announced.resolver.is_some() {
                    (self.resolver, self.resolver_since) = (announced.resolver, now);
                }
                self.treasury = announced.treasury.unwrap_or(self.treasury);
            }
        }
    }
}

impl Holdings {
    /// What whoever is the treasury holds.
    fn of_treasury(&mut self, treasury: Who) -> &mut u64 {
        match treasury {
            Who::Stranger => &mut self.stranger,
            _ => &mut self.treasury,
        }
    }
}

impl ReferenceStateMachine for Model {
    type State = Self;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Self> {
        Just(Self::start()).boxed()
    }

    fn transitions(state: &Self) -> BoxedStrategy<Step> {
        let settled = state.executions.iter().any(|e| e.status.is_some_and(|status| status != ExecutionStatus::Open));
        prop_oneof![
            5 => wait(state),
            34 => calls(state),
            4 + 14 * u32::from(settled) => disputes(state),
            10 => listings(state),
            4 => terms(state),
            3 => grants(),
            8 => governance(state),
        ]
        .boxed()
    }

    fn apply(mut state: Self, step: &Step) -> Self {
        state.goes_through = state.take(step);
        state
    }
}

/// Mostly a while, and where something waits for its time, often until then.
fn wait(state: &Model) -> BoxedStrategy<Step> {
    let disputed = u32::from(state.agents.iter().any(|agent| agent.disputes > 0));
    let announced = u32::from(state.config.announced.is_some());
    prop_oneof![
        8 => 1..200i64,
        2 => prop_oneof![Just(WINDOW_S), Just(WINDOW_S + 1)],
        4 * disputed => prop_oneof![Just(Dispute::LIMIT_S), Just(Dispute::LIMIT_S + 1)],
        4 * announced => prop_oneof![Just(ROLE_DELAY_S - 1), Just(ROLE_DELAY_S)],
    ]
    .prop_map(Step::Wait)
    .boxed()
}

/// Executions from opening to closing.
fn calls(state: &Model) -> BoxedStrategy<Step> {
    use ExecutionStatus::{Disputed, Open};
    let gateway = state.config.gateway;
    let settler = || prop_oneof![3 => Just(gateway), 5 => who()];
    let live = |e: &ModelExecution| e.status == Some(Open) && state.now <= e.deadline;
    let late = |e: &ModelExecution| e.status == Some(Open) && state.now > e.deadline;
    let over = |e: &ModelExecution| {
        e.status.is_some_and(|status| status != Open && status != Disputed) && state.now > e.finished + e.window
    };
    let [open, expired, closable] = [&live as &dyn Fn(&ModelExecution) -> bool, &late, &over]
        .map(|fits| u32::from(state.executions.iter().any(fits)));
    let active = agent(state, |index| state.agents[index].exists && state.agents[index].status == AgentStatus::Active);
    prop_oneof![
        14 => (active, 0..CALLERS, any::<bool>(), prop_oneof![9 => Just(u64::MAX), 1 => Just(PRICE - 1)])
            .prop_map(|(agent, caller, key, max_amount)| Step::Open { agent, caller, key, max_amount }),
        4 + 12 * open => (execution(state, live), settler(), how())
            .prop_map(|(execution, who, how)| Step::Complete { execution, who, how }),
        1 + 3 * open => (execution(state, |e| e.status == Some(Open)), settler())
            .prop_map(|(execution, who)| Step::Fail { execution, who }),
        1 + 5 * expired => (execution(state, late), prop_oneof![3 => Just(false), 1 => Just(true)])
            .prop_map(|(execution, to_stranger)| Step::Refund { execution, to_stranger }),
        1 + 5 * closable => execution(state, over).prop_map(|execution| Step::CloseExecution { execution }),
    ]
    .boxed()
}

fn disputes(state: &Model) -> BoxedStrategy<Step> {
    let disputable = |e: &ModelExecution| {
        e.status == Some(ExecutionStatus::Completed) && !e.disputed && state.now <= e.finished + e.window
    };
    let disputed = |e: &ModelExecution| e.status == Some(ExecutionStatus::Disputed);
    let undecided = |e: &ModelExecution| disputed(e) && state.now > e.raised + Dispute::LIMIT_S;
    let [completed, open, expired] = [&disputable as &dyn Fn(&ModelExecution) -> bool, &disputed, &undecided]
        .map(|fits| u32::from(state.executions.iter().any(fits)));
    let resolver = prop_oneof![4 => Just(state.config.resolver.unwrap_or(Who::Resolver)), 1 => who()];
    prop_oneof![
        2 + 6 * completed => (execution(state, disputable), prop_oneof![4 => Just(Who::Caller), 1 => who()])
            .prop_map(|(execution, who)| Step::OpenDispute { execution, who }),
        1 + 6 * open => (execution(state, disputed), resolver, any::<bool>(), slash())
            .prop_map(|(execution, who, upheld, slash)| Step::Resolve { execution, who, upheld, slash }),
        1 + 20 * expired => execution(state, undecided).prop_map(|execution| Step::ExpireDispute { execution }),
    ]
    .boxed()
}

/// A listing's life, its collateral, and what strangers send to its accounts.
fn listings(state: &Model) -> BoxedStrategy<Step> {
    let free = |index: usize| state.unclaimed(index) && state.agents[index].collateral > 0;
    let empty = |index: usize| state.unclaimed(index) && state.agents[index].collateral == 0;
    let gone = |index: usize| !state.agents[index].exists;
    let [withdrawable, closable, unlisted] =
        [&free as &dyn Fn(usize) -> bool, &empty, &gone].map(|fits| u32::from((0..AGENTS).any(fits)));
    let there = || agent(state, |index| state.is_listed(index));
    prop_oneof![
        3 => (there(), prop_oneof![3 => Just(Who::Creator), 1 => who()], any::<bool>())
            .prop_map(|(agent, who, active)| Step::SetStatus { agent, who, active }),
        3 => (there(), prop_oneof![Just(0), 1..100 * USDC]).prop_map(|(agent, amount)| Step::Deposit { agent, amount }),
        2 => (there(), who()).prop_map(|(agent, who)| Step::Delist { agent, who }),
        1 + 8 * withdrawable => agent(state, free).prop_map(|agent| Step::Withdraw { agent }),
        1 + 12 * closable => agent(state, empty).prop_map(|agent| Step::CloseAgent { agent }),
        1 + 12 * unlisted => agent(state, gone).prop_map(|agent| Step::List { agent }),
        2 => (0..AGENTS, any::<bool>(), 1..1_000u64)
            .prop_map(|(agent, escrow, amount)| Step::Dust { agent, escrow, amount }),
    ]
    .boxed()
}

/// Edits of a listing and its creator's name.
fn terms(state: &Model) -> BoxedStrategy<Step> {
    let there = || agent(state, |index| state.is_listed(index));
    prop_oneof![
        2 => (there(), prop_oneof![Just(0), 1..200_000u64]).prop_map(|(agent, price)| Step::SetPrice { agent, price }),
        1 => (there(), prop_oneof![Just(0), Just(1), Just(900), Just(901)])
            .prop_map(|(agent, seconds)| Step::SetTimeout { agent, seconds }),
        1 => (there(), prop_oneof![4 => Just(Who::Creator), 1 => who()])
            .prop_map(|(agent, who)| Step::SetKey { agent, who }),
        1 => (0..AGENTS, prop_oneof![Just(""), Just("Ada"), Just("Ada Lovelace, of all the creators")])
            .prop_map(|(agent, name)| Step::Name { agent, name }),
    ]
    .boxed()
}

fn grants() -> BoxedStrategy<Step> {
    prop_oneof![
        2 => (1..2 * PRICE, 1..10 * PRICE, 1..1_000i64, any::<bool>()).prop_map(
            |(per_call_cap, total_cap, seconds, only_second)| Step::Grant { per_call_cap, total_cap, seconds, only_second }
        ),
        1 => Just(Step::Revoke),
    ]
    .boxed()
}

/// The admin's steps and those that follow from them, mostly by the admin.
fn governance(state: &Model) -> BoxedStrategy<Step> {
    let config = &state.config;
    let admin = config.admin;
    let admin = || prop_oneof![6 => Just(admin), 1 => who()];
    let nominee = prop_oneof![3 => Just(config.nominee.unwrap_or(Who::Admin)), 1 => who()];
    let successor =
        || prop_oneof![Just(None), Just(Some(Who::Resolver)), Just(Some(Who::Stranger)), Just(Some(Who::Admin))];
    let treasury = prop_oneof![Just(None), Just(Some(Who::Treasury)), Just(Some(Who::Stranger))];
    let named = agent(state, |index| state.profiles[index].is_some());
    let nominated = u32::from(config.nominee.is_some());
    let due = u32::from(config.announced.is_some_and(|announced| state.now >= announced.apply_from));
    let profiles = u32::from(state.profiles.iter().any(Option::is_some));
    // A paused marketplace tells short stories.
    let paused = if config.paused {
        prop_oneof![1 => Just(true), 6 => Just(false)]
    } else {
        prop_oneof![1 => Just(true), 1 => Just(false)]
    };
    prop_oneof![
        1 + 4 * u32::from(config.paused) => (admin(), paused).prop_map(|(who, paused)| Step::SetPaused { who, paused }),
        2 => (admin(), 0..1_100u16).prop_map(|(who, bps)| Step::SetFee { who, bps }),
        1 => (admin(), prop_oneof![Just(0), Just(1), Just(WINDOW_S), Just(14 * 86_400), Just(14 * 86_400 + 1)])
            .prop_map(|(who, seconds)| Step::SetWindow { who, seconds }),
        1 => (admin(), prop_oneof![Just(-1), Just(0), Just(GRACE_S), Just(86_400), Just(86_401)])
            .prop_map(|(who, seconds)| Step::SetGrace { who, seconds }),
        1 => (admin(), 1..3u64).prop_map(|(who, factor)| Step::SetTiers { who, factor }),
        1 => (admin(), prop_oneof![2 => Just(Who::Gateway), 1 => Just(Who::Stranger)])
            .prop_map(|(who, gateway)| Step::SetGateway { who, gateway }),
        1 + 3 * profiles => (admin(), named, prop_oneof![2 => Just(true), 1 => Just(false)])
            .prop_map(|(who, agent, verified)| Step::Verify { who, agent, verified }),
        1 => (admin(), successor()).prop_map(|(who, nominee)| Step::Nominate { who, nominee }),
        1 + 6 * nominated => nominee.prop_map(|who| Step::AcceptAdmin { who }),
        2 => (admin(), successor(), treasury)
            .prop_map(|(who, resolver, treasury)| Step::Announce { who, resolver, treasury }),
        1 + 12 * due => Just(Step::ApplyRoles),
        1 => admin().prop_map(|who| Step::RemoveResolver { who }),
        1 => Just(Step::Initialize),
    ]
    .boxed()
}

/// Mostly an agent that `fits`.
fn agent(state: &Model, fits: impl Fn(usize) -> bool) -> BoxedStrategy<usize> {
    let any = 0..state.agents.len();
    let fitting: Vec<usize> = any.clone().filter(|index| fits(*index)).collect();
    if fitting.is_empty() {
        return any.boxed();
    }
    prop_oneof![7 => proptest::sample::select(fitting), 1 => any].boxed()
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
        1 => Just(Settlement::ListingsKey),
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

    /// For steps that no creator or caller of a certain agent or execution takes.
    fn governor(&self, who: Who) -> Actor {
        self.actor(who, &self.agents[0], &self.callers[0])
    }

    fn actor(&self, who: Who, agent: &Agent, caller: &Actor) -> Actor {
        match who {
            Who::Gateway => self.world.gateway.clone(),
            Who::Creator => agent.creator.clone(),
            Who::Caller => caller.clone(),
            Who::Stranger => self.world.stranger.clone(),
            Who::Admin => self.world.admin.clone(),
            Who::Resolver => self.world.resolver.clone(),
            Who::Treasury => self.world.treasury.clone(),
        }
    }

    /// The USDC account of whoever is the treasury.
    fn treasury_token(&self) -> solana_address::Address {
        let owner = self.world.config().treasury_owner;
        let stranger = &self.world.stranger;
        if owner == stranger.key() { stranger.token } else { self.world.treasury.token }
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
                let mut accounts = this.world.resolve_accounts(execution);
                accounts.treasury_token = this.treasury_token();
                let args = ix::ResolveDisputeArgs { upheld: *upheld, slash: *slash, resolution_hash: [0x55; 32] };
                let resolve = build(&accounts, &instruction::ResolveDispute { args });
                let signer = this.actor(*who, &execution.agent, &execution.caller);
                this.send_as(&[], resolve, &signer)
            }),
            Step::ExpireDispute { execution } => self.with(*execution, |this, execution| {
                let expire = this.world.expire_dispute(execution);
                this.world.send(&[expire], &[]).is_ok()
            }),
            Step::ApplyRoles => {
                let apply = self.world.apply_roles();
                self.world.send(&[apply], &[]).is_ok()
            }
            Step::SetKey { agent, who } => self.set_key(*agent, *who),
            Step::CloseExecution { execution } => self.with(*execution, |this, execution| {
                let close = this.world.close_execution(execution);
                this.world.send(&[close], &[]).is_ok()
            }),
            Step::Dust { agent, escrow, amount } => self.dust(*agent, *escrow, *amount),
            other => self.take_signed(other),
        }
    }

    /// Steps of one signer and one instruction.
    fn take_signed(&mut self, step: &Step) -> bool {
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
            Step::SetTimeout { agent, seconds } => {
                let edit = ix::UpdateListingArgs { timeout_seconds: Some(*seconds), ..Default::default() };
                (world.update_listing(&self.agents[*agent], edit), self.agents[*agent].creator.clone())
            }
            Step::List { agent } => {
                let agent = &self.agents[*agent];
                (world.list_agent(agent, world.list_args(agent)), agent.creator.clone())
            }
            Step::Name { agent, name } => {
                let creator = self.agents[*agent].creator.clone();
                (world.upsert_creator_profile(&creator.key(), name), creator)
            }
            governed => self.governed(governed),
        };
        self.send_as(&[], instruction, &signer)
    }

    /// The admin's steps.
    fn governed(&self, step: &Step) -> (Instruction, Actor) {
        let world = &self.world;
        let key = |who: Option<Who>| who.map(|who| self.governor(who).key());
        let none = ix::UpdateConfigArgs::default();
        let (instruction, who) = match step {
            Step::SetPaused { who, paused } => (world.set_paused(*paused), who),
            Step::SetFee { who, bps } => {
                (world.update_config(ix::UpdateConfigArgs { fee_bps: Some(*bps), ..none }), who)
            }
            Step::SetWindow { who, seconds } => {
                (world.update_config(ix::UpdateConfigArgs { dispute_window_s: Some(*seconds), ..none }), who)
            }
            Step::SetGrace { who, seconds } => {
                (world.update_config(ix::UpdateConfigArgs { settle_grace_s: Some(*seconds), ..none }), who)
            }
            Step::SetTiers { who, factor } => {
                let mut tiers = agent_marketplace::state::Config::DEFAULT_COLLATERAL_TIERS;
                tiers.iter_mut().for_each(|tier| tier.collateral *= factor);
                (world.update_config(ix::UpdateConfigArgs { collateral_tiers: Some(tiers), ..none }), who)
            }
            Step::SetGateway { who, gateway } => {
                let args = ix::UpdateConfigArgs { gateway_authority: key(Some(*gateway)), ..none };
                (world.update_config(args), who)
            }
            Step::Verify { who, agent, verified } => {
                (world.verify_creator(&self.agents[*agent].creator.key(), *verified), who)
            }
            Step::Nominate { who, nominee } => (world.nominate_admin(&key(*nominee).unwrap_or_default()), who),
            Step::AcceptAdmin { who } => (world.accept_admin(&self.governor(*who).key()), who),
            Step::Announce { who, resolver, treasury } => (world.announce_roles(key(*resolver), key(*treasury)), who),
            Step::RemoveResolver { who } => (world.remove_resolver(), who),
            Step::Initialize => return (world.initialize_config(), world.upgrade_authority.clone()),
            other => unreachable!("{other:?} is no matter of the configuration"),
        };
        (instruction, self.governor(*who))
    }

    fn set_key(&mut self, agent: usize, who: Who) -> bool {
        let key = SigningKey::from_bytes(self.world.new_key().secret_bytes());
        let edited = &self.agents[agent];
        let signer = self.actor(who, edited, &self.callers[0]);
        let result_key = Some(key.verifying_key().to_bytes().into());
        let edit = ix::UpdateListingArgs { result_key, ..Default::default() };
        let edit = self.world.update_listing(edited, edit);
        let changed = self.send_as(&[], edit, &signer);
        if changed {
            self.agents[agent].result_key = key;
        }
        changed
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
        accounts.treasury_token = self.treasury_token();
        match how {
            Settlement::CreatorUnpaid => accounts.creator_token = self.world.stranger.token,
            Settlement::TreasuryUnpaid => accounts.treasury_token = accounts.creator_token,
            _ => {}
        }
        let attacker = SigningKey::from_bytes(&[0x66; 32]);
        let proof = match how {
            Settlement::WithoutProof => None,
            Settlement::AnotherKey => Some(Proof::of(&attacker, &RESULT_HASH)),
            Settlement::ListingsKey => {
                let listed = self.agents.iter().find(|agent| agent.address == execution.agent.address);
                listed.map(|agent| Proof::of(&agent.result_key, &RESULT_HASH))
            }
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

/// What a step is called, without what it is about.
fn kind(step: &Step) -> String {
    let name = format!("{step:?}").split([' ', '(']).next().unwrap_or_default().to_owned();
    if matches!(step, Step::Open { key: true, .. }) { name + "ByKey" } else { name }
}

/// The stories are only worth what happens in them: each kind of step has to go through in some and to be
/// refused in others. Told by the model alone, in as many stories as the test run plays.
#[test]
fn every_kind_of_step_goes_through_in_some_stories_and_is_refused_in_others() {
    let mut runner = TestRunner::deterministic();
    let stories = Model::sequential_strategy(30);
    let mut seen: BTreeMap<String, [u32; 2]> = BTreeMap::new();
    for _ in 0..256 {
        let (mut model, steps, _) = stories.new_tree(&mut runner).expect("a story").current();
        for step in steps {
            model = <Model as ReferenceStateMachine>::apply(model, &step);
            seen.entry(kind(&step)).or_default()[usize::from(model.goes_through)] += 1;
        }
    }
    const NEVER_REFUSED: [&str; 2] = ["Wait", "Dust"];
    const ALWAYS_REFUSED: [&str; 1] = ["Initialize"];
    for (kind, [refused, went_through]) in &seen {
        assert!(*refused > 0 || NEVER_REFUSED.contains(&kind.as_str()), "{kind} is never refused: {seen:?}");
        assert!(*went_through > 0 || ALWAYS_REFUSED.contains(&kind.as_str()), "{kind} never goes through: {seen:?}");
    }
    // All variants, so every instruction of the program: `update_config` in five of them, `update_listing` in
    // three, both openings in `Open`.
    assert_eq!(seen.len(), 36, "{seen:?}");
}
