//! How scenarios are generated: mostly from steps that fit the present state, and always from some that do not.

use agent_marketplace::state::{AgentStatus, Dispute, ExecutionStatus};
use crtx_program_tests::{COLLATERAL, PRICE, USDC};
use proptest::prelude::*;
use proptest_state_machine::ReferenceStateMachine;

use crate::{
    model::{AGENTS, CALLERS, GRACE_S, Model, ModelExecution, ROLE_DELAY_S, WINDOW_S},
    steps::{How, Step, Who},
};

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
        state.succeeds = state.take(step);
        state
    }
}

/// Mostly a short time; if something waits for a certain time, often until that time.
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

/// Changes of a listing, its collateral, and what strangers send to its accounts.
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
    // Few steps succeed while the program is paused, so it is mostly resumed soon.
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

fn how() -> impl Strategy<Value = How> {
    prop_oneof![
        6 => Just(How::Honest),
        1 => Just(How::WithoutProof),
        1 => Just(How::AnotherKey),
        1 => Just(How::ListingsKey),
        1 => Just(How::AnotherHash),
        1 => Just(How::CreatorUnpaid),
        1 => Just(How::TreasuryUnpaid),
    ]
}

fn slash() -> impl Strategy<Value = u64> {
    prop_oneof![2 => Just(0), 2 => 1..2 * PRICE, 1 => Just(COLLATERAL), 1 => Just(COLLATERAL + 1)]
}
