//! How scenarios are generated: mostly from steps that fit the present state, and always from some that do not.

use crate::{COLLATERAL, PRICE, USDC};
use agent_marketplace::state::{AgentStatus, DisputeDecision, ExecutionStatus};
use proptest::prelude::*;
use proptest_state_machine::ReferenceStateMachine;

use super::{
    governance::{ANNOUNCEMENT_LIFE_S, GRACE_S, HIGHEST_PRICE, PARAMETERS_DELAY_S, ROLE_DELAY_S, WINDOW_S},
    model::{AGENTS, ANSWER_PERIOD_S, CALLERS, DAY_S, DISPUTE_LIMIT_S, Model, ModelExecution},
    steps::{Agreed, How, Payee, Payer, Reported, Statement, Step, To, Who},
};

impl ReferenceStateMachine for Model {
    type State = Self;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Self> {
        Just(Self::start()).boxed()
    }

    fn transitions(state: &Self) -> BoxedStrategy<Step> {
        let settled = state.executions.iter().any(|e| e.status.is_some_and(|status| status != ExecutionStatus::Open));
        let ending = (0..AGENTS).any(|agent| state.unclaimed(agent) || !state.agents[agent].exists);
        prop_oneof![
            5 => wait(state),
            34 => calls(state),
            4 + 14 * u32::from(settled) => disputes(state),
            10 + 14 * u32::from(ending) => listings(state),
            5 => terms(state),
            3 => grants(),
            7 => roles(state),
            6 => parameters(state),
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
    let roles = u32::from(state.config.roles.is_some());
    let parameters = u32::from(state.config.next_parameters.is_some());
    let lapse = |delay: i64| prop_oneof![Just(delay - 1), Just(delay), Just(delay + ANNOUNCEMENT_LIFE_S + 1)];
    prop_oneof![
        8 => 1..200i64,
        1 => Just(DAY_S - state.now % DAY_S - 1),
        1 => Just(DAY_S - state.now % DAY_S),
        2 => prop_oneof![Just(WINDOW_S), Just(WINDOW_S + 1)],
        4 * disputed => prop_oneof![Just(ANSWER_PERIOD_S - 1), Just(ANSWER_PERIOD_S)],
        3 * disputed => prop_oneof![Just(DISPUTE_LIMIT_S), Just(DISPUTE_LIMIT_S + 1)],
        4 * roles => lapse(ROLE_DELAY_S),
        4 * parameters => lapse(PARAMETERS_DELAY_S),
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
    let max_amount = prop_oneof![9 => Just(u64::MAX), 1 => Just(PRICE - 1)];
    let agreed = prop_oneof![2 => Just(Agreed::Any), 3 => Just(Agreed::Present), 1 => Just(Agreed::AtListing)];
    let cover = prop_oneof![3 => Just(0), 3 => Just(1), 1 => 50..=255u8];
    prop_oneof![
        14 => (active, payer(), max_amount, agreed, cover).prop_map(
            |(agent, payer, max_amount, agreed, min_cover)| Step::Open { agent, payer, max_amount, agreed, min_cover }
        ),
        4 + 12 * open => (execution(state, live), settler(), how())
            .prop_map(|(execution, who, how)| Step::Complete { execution, who, how }),
        2 + 4 * open => (execution(state, |e| e.status == Some(Open)), settler(), report(), payee()).prop_map(
            |(execution, who, (reason, statement), payee)| Step::Fail { execution, who, reason, statement, payee }
        ),
        2 + 8 * expired => (execution(state, late), any::<bool>(), payee())
            .prop_map(|(execution, wallet_signs, payee)| Step::Refund { execution, wallet_signs, payee }),
        1 + 5 * closable => execution(state, over).prop_map(|execution| Step::CloseExecution { execution }),
    ]
    .boxed()
}

fn payer() -> impl Strategy<Value = Payer> {
    prop_oneof![
        4 => (0..CALLERS).prop_map(Payer::Caller),
        2 => (0..CALLERS).prop_map(Payer::CallerElsewhere),
        4 => Just(Payer::Key),
        1 => (0..AGENTS).prop_map(Payer::Creator),
    ]
}

fn payee() -> impl Strategy<Value = Payee> {
    let to = prop_oneof![6 => Just(To::Associated), 3 => Just(To::Elsewhere), 1 => Just(To::Stranger)];
    (to, prop_oneof![5 => Just(true), 1 => Just(false)]).prop_map(|(to, grant)| Payee { to, grant })
}

/// A reason, and mostly no statement of the agent where none fits.
fn report() -> impl Strategy<Value = (Reported, Statement)> {
    let statement = prop_oneof![
        4 => Just(Statement::Honest),
        1 => Just(Statement::Missing),
        1 => Just(Statement::AnotherKey),
        1 => Just(Statement::ListingsKey),
        1 => Just(Statement::AnotherCall),
        1 => Just(Statement::AnotherOpening),
        1 => Just(Statement::OfResult),
    ];
    let reason = prop_oneof![
        2 => Just(Reported::CreatorFailed),
        1 => Just(Reported::InvalidResponse),
        2 => Just(Reported::Timeout),
        2 => Just(Reported::Interrupted),
    ];
    prop_oneof![
        6 => reason.prop_map(|reason| (reason, Statement::None)),
        4 => statement.prop_map(|statement| (Reported::CreatorFailed, statement)),
        1 => prop_oneof![Just(Reported::Timeout), Just(Reported::Interrupted), Just(Reported::InvalidResponse)]
            .prop_map(|reason| (reason, Statement::Honest)),
    ]
}

fn disputes(state: &Model) -> BoxedStrategy<Step> {
    let disputable = |e: &ModelExecution| {
        e.status == Some(ExecutionStatus::Completed) && !e.disputed && state.now <= e.finished + e.window
    };
    let unanswered = |e: &ModelExecution| e.status == Some(ExecutionStatus::Disputed) && !e.answered;
    let disputed = |e: &ModelExecution| e.status == Some(ExecutionStatus::Disputed);
    let undecided = |e: &ModelExecution| disputed(e) && state.now > e.raised + DISPUTE_LIMIT_S;
    let [completed, open, expired] = [&disputable as &dyn Fn(&ModelExecution) -> bool, &disputed, &undecided]
        .map(|fits| u32::from(state.executions.iter().any(fits)));
    let resolver = prop_oneof![4 => Just(state.config.resolver.unwrap_or(Who::Resolver)), 1 => who()];
    let insured = prop_oneof![5 => Just(true), 1 => Just(false)];
    prop_oneof![
        2 + 6 * completed => (execution(state, disputable), prop_oneof![4 => Just(Who::Caller), 1 => who()])
            .prop_map(|(execution, who)| Step::OpenDispute { execution, who }),
        1 + 4 * open => (execution(state, unanswered), prop_oneof![3 => Just(Who::Creator), 1 => who()])
            .prop_map(|(execution, who)| Step::Answer { execution, who }),
        1 + 6 * open => (execution(state, disputed), resolver, decision(), insured).prop_map(
            |(execution, who, (decision, slash), insured)| Step::Resolve { execution, who, decision, slash, insured }
        ),
        1 + open => (execution(state, disputed), prop_oneof![3 => Just(Who::Caller), 1 => who()])
            .prop_map(|(execution, who)| Step::CancelDispute { execution, who }),
        1 + 20 * expired => execution(state, undecided).prop_map(|execution| Step::ExpireDispute { execution }),
    ]
    .boxed()
}

/// Changes of a listing, its collateral, and what strangers send to its accounts.
fn listings(state: &Model) -> BoxedStrategy<Step> {
    let free = |index: usize| state.withdrawable(index) > 0;
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
        1 + 24 * withdrawable => agent(state, free).prop_map(|agent| Step::Withdraw { agent }),
        1 + 24 * closable => agent(state, empty).prop_map(|agent| Step::CloseAgent { agent }),
        1 + 24 * unlisted => (agent(state, gone), prop_oneof![2 => Just(false), 1 => Just(true)])
            .prop_map(|(agent, again)| Step::List { agent, again }),
        2 => (0..AGENTS, any::<bool>(), 1..1_000u64)
            .prop_map(|(agent, escrow, amount)| Step::Dust { agent, escrow, amount }),
    ]
    .boxed()
}

/// Edits of a listing and its creator's name.
fn terms(state: &Model) -> BoxedStrategy<Step> {
    let there = || agent(state, |index| state.is_listed(index));
    prop_oneof![
        2 => (there(), prop_oneof![Just(9_999), 1_000..200_000u64, Just(HIGHEST_PRICE + 1)])
            .prop_map(|(agent, price)| Step::SetPrice { agent, price }),
        1 => (there(), prop_oneof![Just(0), Just(1), Just(900), Just(901)])
            .prop_map(|(agent, seconds)| Step::SetTimeout { agent, seconds }),
        1 => (there(), prop_oneof![4 => Just(Who::Creator), 1 => who()])
            .prop_map(|(agent, who)| Step::SetKey { agent, who }),
        2 => (there(), prop_oneof![4 => Just(Who::Creator), 1 => who()], any::<bool>())
            .prop_map(|(agent, who, binding)| Step::SetBinding { agent, who, binding }),
        1 => (there(), prop_oneof![4 => Just(Who::Creator), 1 => who()], prop_oneof![3 => 0..3u8, 1 => 3..=255u8])
            .prop_map(|(agent, who, min_cover)| Step::SetCover { agent, who, min_cover }),
        1 => (there(), prop_oneof![4 => Just(Who::Creator), 1 => who()], 0..3u8)
            .prop_map(|(agent, who, version)| Step::SetMetadata { agent, who, version }),
        2 => (0..AGENTS, name()).prop_map(|(agent, name)| Step::Name { agent, name }),
    ]
    .boxed()
}

/// Names that a profile may have, and others.
fn name() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        2 => Just("Ada"),
        2 => Just("Ada Lovelace"),
        1 => Just(""),
        1 => Just("A\u{200b}da"),
        1 => Just("Ada Lovelace, of all the creators"),
        1 => Just("Ada \u{416}\u{430}\u{43d}\u{43d}\u{430}"),
        1 => Just("e\u{301}\u{302}\u{301}"),
    ]
}

fn grants() -> BoxedStrategy<Step> {
    let daily_cap = prop_oneof![1 => Just(0), 2 => 1..3 * PRICE];
    prop_oneof![
        2 => (1..2 * PRICE, 1..10 * PRICE, daily_cap, prop_oneof![3 => 1..1_000i64, 1 => Just(2 * DAY_S)], any::<bool>()).prop_map(
            |(per_call_cap, total_cap, daily_cap, seconds, only_second)| {
                Step::Grant { per_call_cap, total_cap, daily_cap, seconds, only_second }
            }
        ),
        1 => Just(Step::Revoke),
    ]
    .boxed()
}

/// The admin's steps about roles, badges and the pause, and those that follow from them, mostly by the admin.
fn roles(state: &Model) -> BoxedStrategy<Step> {
    let config = &state.config;
    let admin = config.admin;
    let admin = || prop_oneof![6 => Just(admin), 1 => who()];
    let nominee = prop_oneof![3 => Just(config.nominee.unwrap_or(Who::Admin)), 1 => who()];
    let successor =
        || prop_oneof![Just(None), Just(Some(Who::Resolver)), Just(Some(Who::Stranger)), Just(Some(Who::Admin))];
    let treasury = prop_oneof![2 => Just(None), 1 => Just(Some(Who::Treasury)), 1 => Just(Some(Who::Stranger))];
    let insurance = prop_oneof![
        3 => Just(None),
        1 => Just(Some(Who::Insurance)),
        1 => Just(Some(Who::Stranger)),
        1 => Just(Some(Who::Treasury)),
        1 => Just(Some(Who::Resolver)),
    ];
    let named = agent(state, |index| !state.profiles[index].name.is_empty());
    let present = state.profiles.iter().map(|profile| profile.name).find(|name| !name.is_empty()).unwrap_or("Ada");
    let verified = prop_oneof![4 => Just(Some(present)), 1 => name().prop_map(Some), 2 => Just(None)];
    let nominated = u32::from(config.nominee.is_some());
    let due = u32::from(config.roles.is_some_and(|announced| announced.is_due(state.now)));
    let profiles = u32::from(state.profiles.iter().any(|profile| !profile.name.is_empty()));
    // Few steps succeed while the program is paused or a listing is suspended, so both are mostly resumed soon.
    let stop = |stopped: bool| prop_oneof![1 => Just(true), 1 + 5 * u32::from(stopped) => Just(false)];
    let some = |stopped: bool| prop_oneof![1 => Just(None), 2 => stop(stopped).prop_map(Some)];
    let paused = config.openings_paused || config.listings_paused;
    let suspended = state.agents.iter().any(|agent| agent.exists && agent.suspended);
    let stopper = || {
        let guardian = config.guardian.unwrap_or(Who::Guardian);
        prop_oneof![4 => Just(config.admin), 2 => Just(guardian), 1 => who()]
    };
    let stoppable = agent(state, |index| state.agents[index].exists && state.agents[index].suspended == suspended);
    let guardian = prop_oneof![
        1 => Just(None),
        3 => Just(Some(Who::Guardian)),
        1 => Just(Some(Who::Stranger)),
        1 => Just(Some(Who::Admin)),
    ];
    prop_oneof![
        1 + 4 * u32::from(paused) => (stopper(), some(config.openings_paused), some(config.listings_paused))
            .prop_map(|(who, openings, listings)| Step::SetPaused { who, openings, listings }),
        1 + 4 * u32::from(suspended) => (stoppable, stopper(), stop(suspended))
            .prop_map(|(agent, who, suspended)| Step::Suspend { agent, who, suspended }),
        1 => (admin(), guardian).prop_map(|(who, guardian)| Step::SetGuardian { who, guardian }),
        1 => (admin(), prop_oneof![2 => Just(Who::Gateway), 1 => Just(Who::Stranger)])
            .prop_map(|(who, gateway)| Step::SetGateway { who, gateway }),
        1 + 3 * profiles => (admin(), named, verified)
            .prop_map(|(who, agent, name)| Step::Verify { who, agent, name }),
        1 => (admin(), successor()).prop_map(|(who, nominee)| Step::Nominate { who, nominee }),
        1 + 6 * nominated => nominee.prop_map(|who| Step::AcceptAdmin { who }),
        2 => (admin(), successor(), treasury, insurance).prop_map(
            |(who, resolver, treasury, insurance)| Step::Announce { who, resolver, treasury, insurance }
        ),
        1 + 30 * due => Just(Step::ApplyRoles),
        1 => admin().prop_map(|who| Step::RemoveResolver { who }),
        1 => Just(Step::Initialize),
    ]
    .boxed()
}

/// Announcements of parameters within their limits and beyond, mostly by the admin.
fn parameters(state: &Model) -> BoxedStrategy<Step> {
    let admin = state.config.admin;
    let admin = || prop_oneof![6 => Just(admin), 1 => who()];
    let due = u32::from(state.config.next_parameters.is_some_and(|announced| announced.is_due(state.now)));
    prop_oneof![
        2 => (admin(), prop_oneof![4 => 0..=500u32, 1 => 501..600u32])
            .prop_map(|(who, bps)| Step::SetFee { who, bps }),
        1 => (admin(), prop_oneof![Just(WINDOW_S - 1), Just(WINDOW_S), Just(14 * 86_400), Just(14 * 86_400 + 1)])
            .prop_map(|(who, seconds)| Step::SetWindow { who, seconds }),
        1 => (admin(), prop_oneof![Just(-1), Just(0), Just(GRACE_S), Just(86_400), Just(86_401)])
            .prop_map(|(who, seconds)| Step::SetGrace { who, seconds }),
        1 => (admin(), 1..3u64).prop_map(|(who, factor)| Step::SetTiers { who, factor }),
        1 => (admin(), prop_oneof![Just(0), Just(99), Just(1_000), Just(10_000), Just(PRICE), Just(PRICE + 1)])
            .prop_map(|(who, price)| Step::SetMinPrice { who, price }),
        1 => (admin(), prop_oneof![Just(0), Just(1), Just(20), Just(100), Just(101)])
            .prop_map(|(who, multiple)| Step::SetPenaltyLimit { who, multiple }),
        1 => (admin(), prop_oneof![Just(0), Just(1), Just(100_000), Just(1_000_000), Just(1_000_001)])
            .prop_map(|(who, bond)| Step::SetBond { who, bond }),
        1 => admin().prop_map(|who| Step::WithdrawParameters { who }),
        1 + 20 * due => Just(Step::ApplyParameters),
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
        1 => Just(Who::Guardian),
    ]
}

fn how() -> impl Strategy<Value = How> {
    prop_oneof![
        10 => Just(How::Honest),
        1 => Just(How::WithoutProof),
        1 => Just(How::AnotherKey),
        1 => Just(How::ListingsKey),
        1 => Just(How::AnotherHash),
        1 => Just(How::OtherShape),
        1 => Just(How::AnotherCall),
        1 => Just(How::AnotherOpening),
        1 => Just(How::CreatorUnpaid),
        1 => Just(How::TreasuryUnpaid),
        1 => Just(How::RentToAnother),
        1 => Just(How::TooManyTokens),
    ]
}

/// A decision and its slash, which only an upheld dispute may have.
fn decision() -> impl Strategy<Value = (DisputeDecision, u64)> {
    prop_oneof![
        6 => slash().prop_map(|slash| (DisputeDecision::Upheld, slash)),
        3 => Just((DisputeDecision::Rejected, 0)),
        2 => Just((DisputeDecision::Abusive, 0)),
        1 => slash().prop_map(|slash| (DisputeDecision::Rejected, slash)),
        1 => slash().prop_map(|slash| (DisputeDecision::Abusive, slash)),
    ]
}

fn slash() -> impl Strategy<Value = u64> {
    prop_oneof![
        2 => Just(0),
        3 => 1..2 * PRICE,
        2 => prop_oneof![Just(21 * PRICE), Just(21 * PRICE + 1), Just(COLLATERAL - PRICE)],
        1 => Just(COLLATERAL),
        1 => Just(COLLATERAL + 1),
    ]
}
