//! The marketplace as docs/specification.md describes it: which steps succeed, and what everybody then holds.
//! It uses none of the program's rules.

use crate::{COLLATERAL, PRICE, PURSE, START_UNIX_S, TIMEOUT_S, USDC};
use agent_marketplace::state::{AgentStatus, DisputeDecision, ExecutionStatus};

use super::{
    governance::{HIGHEST_PRICE, ModelConfig},
    steps::{Agreed, How, Payee, Payer, Reported, Statement, Step, To, Who},
};

pub const AGENTS: usize = 2;
pub const CALLERS: usize = 2;
/// How long the resolver may take, and how long a creator may take to answer.
pub const DISPUTE_LIMIT_S: i64 = 30 * 86_400;
pub const ANSWER_PERIOD_S: i64 = 86_400;
pub const DAY_S: i64 = 86_400;
/// What every settlement reports.
pub const REPORTED_MS: i64 = 1_234;

/// What a caller agrees to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelTerms {
    pub price: u64,
    pub timeout: i64,
    /// Counts the result keys that the listing had.
    pub key: u32,
    pub binding: bool,
    /// What the creator promises, in prices.
    pub min_cover: u8,
    pub metadata: u8,
}

/// What an agent's listing counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub completed: u64,
    pub successful: u64,
    pub failed: u64,
    /// Failures that the gateway alone reported.
    pub unproved: u64,
    pub expired: u64,
    pub disputed: u64,
    pub slashed: u64,
    pub fees: u64,
}

#[derive(Clone, Debug)]
pub struct ModelAgent {
    pub exists: bool,
    pub index: u32,
    pub status: AgentStatus,
    pub terms: ModelTerms,
    /// The terms with which it was listed, and those of the market.
    pub listed_with: (ModelTerms, [i64; 4]),
    pub suspended: bool,
    pub collateral: u64,
    pub open: u64,
    pub disputes: u64,
    /// What callers claim in the open disputes.
    pub claimed: u64,
    /// What of it the collateral covers.
    pub covered: u64,
    pub window_end: i64,
    pub listed: i64,
    pub totals: Totals,
    /// Executions that the gateway settled, and their time.
    pub timed: u64,
    pub time_ms: i64,
}

#[derive(Clone, Debug)]
pub struct ModelProfile {
    pub name: &'static str,
    pub verified: bool,
    pub closed_agents: u64,
    /// Totals of the closed agents.
    pub closed: Totals,
}

#[derive(Clone, Debug)]
pub struct ModelExecution {
    pub agent: usize,
    pub payer: Payer,
    pub amount: u64,
    pub platform: u64,
    pub opened: i64,
    pub timeout: i64,
    pub deadline: i64,
    pub window: i64,
    pub penalty_limit: u64,
    pub key: u32,
    pub binding: bool,
    /// Who settled it.
    pub settled_by: Option<Who>,
    pub time_ms: i64,
    pub raised: i64,
    /// The bond of its dispute.
    pub bond: u64,
    /// What the collateral covers of its dispute.
    pub covered: u64,
    pub answered: bool,
    /// `None` once closed.
    pub status: Option<ExecutionStatus>,
    pub finished: i64,
    pub disputed: bool,
}

#[derive(Clone, Debug)]
pub struct ModelGrant {
    pub per_call_cap: u64,
    pub total_cap: u64,
    /// 0: the day is not limited.
    pub daily_cap: u64,
    pub spent: u64,
    /// The day of the last opening, and what the openings of this day cost.
    pub day: i64,
    pub spent_on_day: u64,
    pub expires: i64,
    pub revoked: bool,
    /// The only agent that is allowed: the second creator's with this index.
    pub only_second: Option<u32>,
}

/// How an execution ends with a refund.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The agent's failure.
    Failed,
    /// A failure that the gateway alone reports.
    Unproved,
    Interrupted,
    Expired,
}

/// Who holds how much.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holdings {
    pub callers: [u64; CALLERS],
    /// In the callers' other USDC accounts.
    pub elsewhere: [u64; CALLERS],
    pub creators: [u64; AGENTS],
    pub escrows: [u64; AGENTS],
    pub vaults: [u64; AGENTS],
    pub treasury: u64,
    pub insurance: u64,
    pub stranger: u64,
}

#[derive(Clone, Debug)]
pub struct Model {
    pub now: i64,
    pub config: ModelConfig,
    pub agents: Vec<ModelAgent>,
    /// Of each creator.
    pub profiles: Vec<ModelProfile>,
    pub executions: Vec<ModelExecution>,
    pub grant: ModelGrant,
    pub holdings: Holdings,
    /// Whether the last step succeeds.
    pub succeeds: bool,
}

/// What no open dispute claims.
fn free(agent: &ModelAgent) -> u64 {
    agent.collateral.saturating_sub(agent.claimed)
}

fn required_collateral(price: u64, min_cover: u8, factor: u64) -> u64 {
    let tiers = [(100_000, 10), (1_000_000, 50), (10_000_000, 200)];
    let tier = tiers.iter().find(|(max, _)| price <= *max).map_or(1_000, |(_, usdc)| *usdc) * USDC * factor;
    tier.max(price).max(price * u64::from(min_cover))
}

/// A listing as `World::list_args` makes it.
fn listed(now: i64, index: u32, key: u32, config: &ModelConfig) -> ModelAgent {
    let timeout = i64::from(TIMEOUT_S);
    let terms = ModelTerms { price: PRICE, timeout, key, binding: false, min_cover: 0, metadata: 0 };
    ModelAgent {
        exists: true,
        index,
        status: AgentStatus::Active,
        terms,
        listed_with: (terms, config.parameters.market_terms()),
        suspended: false,
        collateral: COLLATERAL,
        open: 0,
        disputes: 0,
        covered: 0,
        claimed: 0,
        window_end: 0,
        listed: now,
        totals: Totals::default(),
        timed: 0,
        time_ms: 0,
    }
}

impl ModelGrant {
    /// What the openings of the day of `now` cost so far.
    fn spent_on(&self, now: i64) -> u64 {
        if self.day == now / DAY_S { self.spent_on_day } else { 0 }
    }

    fn spend(&mut self, amount: u64, now: i64) {
        self.spent_on_day = self.spent_on(now) + amount;
        self.day = now / DAY_S;
        self.spent += amount;
    }

    fn give_back(&mut self, amount: u64, opened: i64) {
        self.spent -= amount;
        self.spent_on_day -= if self.day == opened / DAY_S { amount } else { 0 };
    }
}

impl Totals {
    fn add(&mut self, more: &Self) {
        self.completed += more.completed;
        self.successful += more.successful;
        self.failed += more.failed;
        self.unproved += more.unproved;
        self.expired += more.expired;
        self.disputed += more.disputed;
        self.slashed += more.slashed;
        self.fees += more.fees;
    }
}

impl Payer {
    /// Whether a grant paid.
    pub fn is_key(self) -> bool {
        self == Self::Key
    }

    /// The payer's wallet: what is not paid back to the account that paid goes to its associated account.
    fn wallet(self) -> Self {
        match self {
            Self::CallerElsewhere(caller) => Self::Caller(caller),
            Self::Key => Self::Caller(0),
            wallet => wallet,
        }
    }
}

impl Model {
    pub fn start() -> Self {
        let profile = ModelProfile { name: "", verified: false, closed_agents: 0, closed: Totals::default() };
        let config = ModelConfig::start(START_UNIX_S);
        let agents = vec![listed(START_UNIX_S, 0, 0, &config); AGENTS];
        Self {
            now: START_UNIX_S,
            config,
            agents,
            profiles: vec![profile; AGENTS],
            executions: vec![],
            grant: ModelGrant {
                per_call_cap: USDC,
                total_cap: 100 * USDC,
                daily_cap: 0,
                spent: 0,
                day: 0,
                spent_on_day: 0,
                expires: START_UNIX_S + 30 * 86_400,
                revoked: false,
                only_second: None,
            },
            holdings: Holdings {
                callers: [PURSE; CALLERS],
                elsewhere: [PURSE; CALLERS],
                creators: [PURSE - COLLATERAL; AGENTS],
                escrows: [0; AGENTS],
                vaults: [COLLATERAL; AGENTS],
                treasury: PURSE,
                insurance: PURSE,
                stranger: PURSE,
            },
            succeeds: true,
        }
    }

    /// Takes the step if it is allowed; returns whether it is.
    pub fn take(&mut self, step: &Step) -> bool {
        match step {
            Step::Wait(seconds) => {
                self.now += seconds;
                true
            }
            Step::Open { agent, payer, max_amount, agreed, min_cover } => {
                let agent_has = self.agents[*agent].terms.price * u64::from(*min_cover) <= free(&self.agents[*agent]);
                agent_has && self.open(*agent, *payer, *max_amount, *agreed)
            }
            Step::Complete { execution, who, how } => self.complete(*execution, *who, *how),
            Step::Fail { execution, who, reason, statement, payee } => {
                let end = self.failure(*execution, *who, *reason, *statement);
                end.is_some_and(|end| self.refund(*execution, end, *payee, false))
            }
            Step::Refund { execution, wallet_signs, payee } => {
                let late = self.executions.get(*execution).is_some_and(|e| self.now > e.deadline);
                late && self.refund(*execution, End::Expired, *payee, *wallet_signs)
            }
            Step::OpenDispute { execution, who } => *who == Who::Caller && self.open_dispute(*execution),
            Step::Answer { execution, who } => *who == Who::Creator && self.answer(*execution),
            Step::Resolve { execution, who, decision, slash, insured } => {
                self.config.resolver == Some(*who) && self.resolve(*execution, *decision, *slash, *insured)
            }
            Step::CancelDispute { execution, who } => {
                let disputed = |e: &ModelExecution| e.status == Some(ExecutionStatus::Disputed);
                let cancels = *who == Who::Caller && self.executions.get(*execution).is_some_and(disputed);
                if cancels {
                    self.end_dispute(*execution, false);
                }
                cancels
            }
            Step::ExpireDispute { execution } => self.expire_dispute(*execution),
            Step::CloseExecution { execution } => self.close_execution(*execution),
            Step::SetStatus { agent, who, active } => *who == Who::Creator && self.set_status(*agent, *active),
            Step::SetPrice { agent, price } => self.set_price(*agent, *price),
            Step::SetTimeout { agent, seconds } => {
                let fits = (1..=900).contains(seconds);
                self.edit(*agent, Who::Creator, fits, |terms| terms.timeout = i64::from(*seconds))
            }
            Step::SetKey { agent, who } => self.edit(*agent, *who, true, |terms| terms.key += 1),
            Step::SetBinding { agent, who, binding } => self.edit(*agent, *who, true, |terms| terms.binding = *binding),
            Step::SetCover { agent, who, min_cover } => {
                let this = &self.agents[*agent];
                let factor = self.config.parameters.tiers_factor;
                let backed = free(this) >= required_collateral(this.terms.price, *min_cover, factor);
                let fits = *min_cover <= this.terms.min_cover || backed;
                self.edit(*agent, *who, fits, |terms| terms.min_cover = *min_cover)
            }
            Step::SetMetadata { agent, who, version } => {
                self.edit(*agent, *who, true, |terms| terms.metadata = *version)
            }
            Step::List { agent, again } => self.list(*agent, *again),
            Step::Name { agent, name } => self.name(*agent, name),
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
            Step::Grant { per_call_cap, total_cap, daily_cap, seconds, only_second } => {
                let granted = !self.grant.revoked;
                if granted {
                    self.grant.per_call_cap = *per_call_cap;
                    self.grant.total_cap = *total_cap;
                    self.grant.daily_cap = *daily_cap;
                    self.grant.expires = self.now + seconds;
                    self.grant.only_second = only_second.then_some(self.agents[1].index);
                }
                granted
            }
            Step::Revoke => !std::mem::replace(&mut self.grant.revoked, true),
            Step::Verify { who, agent, name } => *who == self.config.admin && self.verify(*agent, *name),
            Step::Suspend { agent, who, suspended } => {
                let this = &mut self.agents[*agent];
                let changes = this.exists && this.suspended != *suspended && self.config.may_stop(*who, !suspended);
                this.suspended ^= changes;
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

    /// Exists and is not delisted.
    pub fn is_listed(&self, agent: usize) -> bool {
        self.agents[agent].exists && self.agents[agent].status != AgentStatus::Delisted
    }

    fn edit(&mut self, agent: usize, who: Who, fits: bool, change: impl FnOnce(&mut ModelTerms)) -> bool {
        let changes = who == Who::Creator && fits && self.is_listed(agent);
        if changes {
            change(&mut self.agents[agent].terms);
        }
        changes
    }

    fn open(&mut self, agent: usize, payer: Payer, max_amount: u64, agreed: Agreed) -> bool {
        let this = &self.agents[agent];
        let (price, parameters, grant) = (this.terms.price, &self.config.parameters, &self.grant);
        let granted = !grant.revoked
            && self.now <= grant.expires
            && price <= grant.per_call_cap
            && grant.spent + price <= grant.total_cap
            && (grant.daily_cap == 0 || grant.spent_on(self.now) + price <= grant.daily_cap)
            && grant.only_second.is_none_or(|index| agent == 1 && index == this.index);
        let agrees = agreed != Agreed::AtListing || (this.terms, parameters.market_terms()) == this.listed_with;
        let opens = this.exists
            && !self.config.openings_paused
            && !this.suspended
            && this.status == AgentStatus::Active
            && price <= max_amount
            && price >= parameters.min_price
            && agrees
            && payer != Payer::Creator(agent)
            && *self.holdings.of_payer(payer) >= price
            && (!payer.is_key() || granted);
        if opens {
            let this = &mut self.agents[agent];
            this.open += 1;
            if payer.is_key() {
                self.grant.spend(price, self.now);
            }
            *self.holdings.of_payer(payer) -= price;
            self.holdings.escrows[agent] += price;
            self.executions.push(ModelExecution {
                agent,
                payer,
                amount: price,
                platform: price * u64::from(parameters.fee_bps) / 10_000,
                opened: self.now,
                timeout: this.terms.timeout,
                deadline: self.now + this.terms.timeout + parameters.grace,
                window: parameters.window,
                penalty_limit: price * u64::from(parameters.penalty_limit),
                key: this.terms.key,
                binding: this.terms.binding,
                settled_by: None,
                time_ms: 0,
                raised: 0,
                bond: 0,
                covered: 0,
                answered: false,
                status: Some(ExecutionStatus::Open),
                finished: 0,
                disputed: false,
            });
        }
        opens
    }

    fn complete(&mut self, execution: usize, who: Who, how: How) -> bool {
        let now = self.now;
        let Some(e) = self.executions.get_mut(execution) else { return false };
        let proved = match how {
            How::Honest => true,
            How::ListingsKey => self.agents[e.agent].terms.key == e.key,
            // An account that receives nothing is not checked.
            How::TreasuryUnpaid => e.platform == 0,
            _ => false,
        };
        let settles = e.status == Some(ExecutionStatus::Open)
            && now <= e.deadline
            && proved
            && (who == self.config.gateway || matches!(who, Who::Creator | Who::Caller));
        if settles {
            (e.status, e.finished) = (Some(ExecutionStatus::Completed), now);
            e.settled_by = Some(if matches!(who, Who::Creator | Who::Caller) { who } else { Who::Gateway });
            // The chain's clock counts whole seconds, and the present one counts.
            e.time_ms = REPORTED_MS.min((now - e.opened + 1) * 1_000);
            let agent = &mut self.agents[e.agent];
            agent.open -= 1;
            agent.totals.completed += 1;
            agent.totals.successful += 1;
            agent.totals.fees += e.platform;
            // Who settles alone chose the moment; only the gateway measures.
            if e.settled_by == Some(Who::Gateway) {
                agent.timed += 1;
                agent.time_ms += e.time_ms;
            }
            agent.window_end = agent.window_end.max(now + e.window);
            self.holdings.escrows[e.agent] -= e.amount;
            self.holdings.creators[e.agent] += e.amount - e.platform;
            *self.holdings.of_role(self.config.treasury) += e.platform;
        }
        settles
    }

    /// How a report of a failure ends an execution; `None` if it is refused.
    fn failure(&self, execution: usize, who: Who, reason: Reported, statement: Statement) -> Option<End> {
        let e = self.executions.get(execution)?;
        let claims = statement != Statement::None;
        if who != self.config.gateway {
            return (who == Who::Creator && reason != Reported::Interrupted && !claims).then_some(End::Failed);
        }
        if claims {
            let proved = match statement {
                Statement::Honest => true,
                Statement::ListingsKey => self.agents[e.agent].terms.key == e.key,
                _ => false,
            };
            return (proved && reason == Reported::CreatorFailed).then_some(End::Failed);
        }
        Some(match reason {
            Reported::Interrupted => End::Interrupted,
            Reported::Timeout if self.now >= e.opened + e.timeout => End::Failed,
            _ => End::Unproved,
        })
    }

    fn refund(&mut self, execution: usize, end: End, payee: Payee, wallet_signs: bool) -> bool {
        let Some(e) = self.executions.get_mut(execution) else { return false };
        // A refund that is overdue by a dispute window may go to any account of the wallet.
        let anywhere = wallet_signs || self.now > e.deadline + e.window;
        let to = match (payee.to, e.payer) {
            (To::Associated, Payer::CallerElsewhere(caller)) => Some(Payer::Caller(caller)),
            (To::Associated, payer) => Some(payer),
            (To::Elsewhere, Payer::CallerElsewhere(caller)) => Some(Payer::CallerElsewhere(caller)),
            // Only the wallet itself may have the money in an account that did not pay.
            (To::Elsewhere, Payer::Caller(caller)) => anywhere.then_some(Payer::CallerElsewhere(caller)),
            (To::Elsewhere, Payer::Key) => anywhere.then_some(Payer::CallerElsewhere(0)),
            (To::Elsewhere, Payer::Creator(_)) | (To::Stranger, _) => None,
        };
        let refunds = e.status == Some(ExecutionStatus::Open) && (payee.grant || !e.payer.is_key());
        let Some(to) = to.filter(|_| refunds) else { return false };
        let status = if end == End::Expired { ExecutionStatus::Expired } else { ExecutionStatus::Failed };
        (e.status, e.finished) = (Some(status), self.now);
        let agent = &mut self.agents[e.agent];
        agent.open -= 1;
        *match end {
            End::Failed => &mut agent.totals.failed,
            End::Unproved => &mut agent.totals.unproved,
            End::Interrupted | End::Expired => &mut agent.totals.expired,
        } += 1;
        if e.payer.is_key() {
            self.grant.give_back(e.amount, e.opened);
        }
        self.holdings.escrows[e.agent] -= e.amount;
        *self.holdings.of_payer(to) += e.amount;
        true
    }

    fn open_dispute(&mut self, execution: usize) -> bool {
        let Some(e) = self.executions.get_mut(execution) else { return false };
        let (bond, caller) = (self.config.parameters.bond, e.payer.wallet());
        let disputable = e.status == Some(ExecutionStatus::Completed)
            && e.settled_by != Some(Who::Caller)
            && !e.disputed
            && self.now <= e.finished + e.window
            && *self.holdings.of_payer(caller) >= bond;
        if disputable {
            e.bond = bond;
            *self.holdings.of_payer(caller) -= bond;
            self.holdings.escrows[e.agent] += bond;
            (e.status, e.disputed, e.raised) = (Some(ExecutionStatus::Disputed), true, self.now);
            let agent = &mut self.agents[e.agent];
            agent.disputes += 1;
            agent.claimed += e.amount;
            // Claims before it keep their part.
            e.covered = e.amount.min(agent.collateral - agent.covered);
            agent.covered += e.covered;
            agent.totals.disputed += 1;
        }
        disputable
    }

    fn answer(&mut self, execution: usize) -> bool {
        let Some(e) = self.executions.get_mut(execution) else { return false };
        e.status == Some(ExecutionStatus::Disputed) && !std::mem::replace(&mut e.answered, true)
    }

    fn resolve(&mut self, execution: usize, decision: DisputeDecision, slash: u64, insured: bool) -> bool {
        let Some(e) = self.executions.get(execution).cloned() else { return false };
        let agent = &self.agents[e.agent];
        let upheld = decision == DisputeDecision::Upheld;
        let penalty = slash.saturating_sub(e.amount);
        let heard = e.answered || self.now >= e.raised + ANSWER_PERIOD_S;
        let punishes = penalty <= e.penalty_limit
            && insured
            && e.raised >= self.config.resolver_since
            && agent.collateral.saturating_sub(slash) >= agent.claimed.saturating_sub(e.amount);
        let decides = e.status == Some(ExecutionStatus::Disputed)
            && agent.collateral.saturating_sub(slash) >= agent.covered - e.covered
            && slash <= agent.collateral
            && (!upheld || heard)
            && (upheld || slash == 0)
            && (penalty == 0 || punishes);
        if decides {
            self.end_dispute(execution, decision == DisputeDecision::Abusive);
            if upheld {
                self.executions[execution].status = Some(ExecutionStatus::Overturned);
                self.agents[e.agent].totals.successful -= 1;
                self.slash(e.agent, slash);
            }
            *self.holdings.of_payer(e.payer.wallet()) += slash - penalty;
            *self.holdings.of_role(self.config.insurance) += penalty;
        }
        decides
    }

    /// The execution is completed again, and the bond goes to the caller, or to the creator.
    fn end_dispute(&mut self, execution: usize, bond_to_creator: bool) {
        let e = &mut self.executions[execution];
        e.status = Some(ExecutionStatus::Completed);
        let agent = &mut self.agents[e.agent];
        agent.disputes -= 1;
        agent.claimed -= e.amount;
        agent.covered -= e.covered;
        self.holdings.escrows[e.agent] -= e.bond;
        let to = if bond_to_creator { Payer::Creator(e.agent) } else { e.payer.wallet() };
        *self.holdings.of_payer(to) += e.bond;
    }

    /// Takes collateral. An agent with too little of it is paused.
    fn slash(&mut self, agent: usize, amount: u64) {
        self.holdings.vaults[agent] -= amount;
        let agent = &mut self.agents[agent];
        agent.totals.slashed += amount;
        agent.collateral -= amount;
        let ModelTerms { price, min_cover, .. } = agent.terms;
        let required = required_collateral(price, min_cover, self.config.parameters.tiers_factor);
        if agent.status == AgentStatus::Active && free(agent) < required {
            agent.status = AgentStatus::Paused;
        }
    }

    fn expire_dispute(&mut self, execution: usize) -> bool {
        let Some(e) = self.executions.get(execution).cloned() else { return false };
        let expires = e.status == Some(ExecutionStatus::Disputed) && self.now > e.raised + DISPUTE_LIMIT_S;
        if expires {
            self.end_dispute(execution, false);
            // Nobody could decide it.
            if self.config.resolver.is_none() && e.covered > 0 {
                self.slash(e.agent, e.covered);
                *self.holdings.of_payer(e.payer.wallet()) += e.covered;
            }
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

    fn list(&mut self, agent: usize, again: bool) -> bool {
        let parameters = &self.config.parameters;
        let allowed = COLLATERAL >= required_collateral(PRICE, 0, parameters.tiers_factor)
            && PRICE >= parameters.min_price
            && !self.config.listings_paused;
        // An agent that is listed again is another agent: an index is used once.
        let lists = !self.agents[agent].exists && !again && allowed && self.holdings.creators[agent] >= COLLATERAL;
        if lists {
            let before = &self.agents[agent];
            self.agents[agent] = listed(self.now, before.index + 1, before.terms.key, &self.config);
            self.holdings.creators[agent] -= COLLATERAL;
            self.holdings.vaults[agent] += COLLATERAL;
        }
        lists
    }

    fn name(&mut self, agent: usize, name: &'static str) -> bool {
        let marks = name.matches(['\u{301}', '\u{302}']).count();
        let fits = (1..=32).contains(&name.len()) && !name.contains('\u{200b}') && marks <= 2;
        let profile = &mut self.profiles[agent];
        if fits {
            profile.verified &= profile.name == name;
            profile.name = name;
        }
        fits
    }

    fn verify(&mut self, agent: usize, name: Option<&str>) -> bool {
        let profile = &mut self.profiles[agent];
        let changes = match name {
            Some(name) => {
                let of_one_script = name.is_ascii() || !name.contains(|c: char| c.is_ascii_alphabetic());
                !profile.verified && !name.is_empty() && name == profile.name && of_one_script
            }
            None => profile.verified,
        };
        profile.verified ^= changes;
        changes
    }

    fn set_status(&mut self, agent: usize, active: bool) -> bool {
        let listed = self.is_listed(agent);
        let factor = self.config.parameters.tiers_factor;
        let agent = &mut self.agents[agent];
        let status = if active { AgentStatus::Active } else { AgentStatus::Paused };
        let enough = free(agent) >= required_collateral(agent.terms.price, agent.terms.min_cover, factor);
        let changes = listed && agent.status != status && (!active || enough);
        agent.status = if changes { status } else { agent.status };
        changes
    }

    fn set_price(&mut self, agent: usize, price: u64) -> bool {
        let parameters = &self.config.parameters;
        let this = &self.agents[agent];
        let fits = (parameters.min_price..=HIGHEST_PRICE).contains(&price);
        let covered = this.collateral >= required_collateral(price, this.terms.min_cover, parameters.tiers_factor);
        let fits = fits && (price <= this.terms.price || covered && this.disputes == 0);
        self.edit(agent, Who::Creator, fits, |terms| terms.price = price)
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

    /// Nobody can raise a claim on the collateral any more.
    fn left(&self, agent: usize) -> bool {
        let agent = &self.agents[agent];
        agent.exists && agent.status == AgentStatus::Delisted && agent.open == 0 && self.now > agent.window_end
    }

    /// Nobody can claim the collateral any more.
    pub fn unclaimed(&self, agent: usize) -> bool {
        self.left(agent) && self.agents[agent].disputes == 0
    }

    /// Most that open disputes may take.
    pub fn slashable(&self, agent: usize) -> u64 {
        let disputed = |e: &&ModelExecution| e.agent == agent && e.status == Some(ExecutionStatus::Disputed);
        self.executions.iter().filter(disputed).map(|e| e.amount + e.penalty_limit).sum()
    }

    /// What a creator who left can withdraw.
    pub fn withdrawable(&self, agent: usize) -> u64 {
        if self.left(agent) { self.agents[agent].collateral.saturating_sub(self.slashable(agent)) } else { 0 }
    }

    fn withdraw(&mut self, agent: usize) -> bool {
        let amount = self.withdrawable(agent);
        self.agents[agent].collateral -= amount;
        self.holdings.vaults[agent] -= amount;
        self.holdings.creators[agent] += amount;
        amount > 0
    }

    fn close_agent(&mut self, agent: usize) -> bool {
        let this = &self.agents[agent];
        let closes = self.unclaimed(agent) && this.collateral == 0 && self.now > this.listed;
        if closes {
            self.profiles[agent].closed_agents += 1;
            self.profiles[agent].closed.add(&this.totals);
            self.agents[agent].exists = false;
            let holdings = &mut self.holdings;
            holdings.creators[agent] += std::mem::take(&mut holdings.escrows[agent]);
            holdings.creators[agent] += std::mem::take(&mut holdings.vaults[agent]);
        }
        closes
    }
}

impl Holdings {
    /// The account that pays an opening.
    fn of_payer(&mut self, payer: Payer) -> &mut u64 {
        match payer {
            Payer::Caller(caller) => &mut self.callers[caller],
            Payer::CallerElsewhere(caller) => &mut self.elsewhere[caller],
            Payer::Key => &mut self.callers[0],
            Payer::Creator(creator) => &mut self.creators[creator],
        }
    }

    /// The account of who owns the treasury or the insurance.
    fn of_role(&mut self, who: Who) -> &mut u64 {
        match who {
            Who::Stranger => &mut self.stranger,
            Who::Insurance => &mut self.insurance,
            _ => &mut self.treasury,
        }
    }
}
