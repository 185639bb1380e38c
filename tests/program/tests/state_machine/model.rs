//! The marketplace as docs/specification.md describes it: which steps succeed, and what everybody then holds.
//! It uses none of the program's rules.

use agent_marketplace::state::{AgentStatus, Config, Dispute, ExecutionStatus};
use crtx_program_tests::{COLLATERAL, PRICE, PURSE, START_UNIX_S, TIMEOUT_S, USDC};

use crate::steps::{How, Step, Who};

pub const AGENTS: usize = 2;
pub const CALLERS: usize = 2;
pub const WINDOW_S: i64 = Config::DEFAULT_DISPUTE_WINDOW_S;
pub const GRACE_S: i64 = Config::DEFAULT_SETTLE_GRACE_S;
pub const ROLE_DELAY_S: i64 = Config::ROLE_DELAY_S;

#[derive(Clone, Debug)]
pub struct ModelAgent {
    pub exists: bool,
    pub status: AgentStatus,
    pub price: u64,
    pub collateral: u64,
    pub open: u64,
    pub disputes: u64,
    pub window_end: i64,
    pub timeout: i64,
    /// Counts the result keys that the listing had.
    pub key: u32,
    pub listed: i64,
}

#[derive(Clone, Debug)]
pub struct ModelExecution {
    pub agent: usize,
    pub caller: usize,
    pub amount: u64,
    pub platform: u64,
    pub deadline: i64,
    pub window: i64,
    pub key: u32,
    pub raised: i64,
    /// `None` once closed.
    pub status: Option<ExecutionStatus>,
    pub finished: i64,
    pub disputed: bool,
}

#[derive(Clone, Debug)]
pub struct ModelGrant {
    pub per_call_cap: u64,
    pub total_cap: u64,
    pub spent: u64,
    pub expires: i64,
    pub revoked: bool,
    pub only_second: bool,
}

/// Roles that take effect later.
#[derive(Clone, Copy, Debug)]
pub struct Announcement {
    pub resolver: Option<Who>,
    pub treasury: Option<Who>,
    pub apply_from: i64,
}

/// The configuration, roles by who has them.
#[derive(Clone, Debug)]
pub struct ModelConfig {
    pub paused: bool,
    pub fee_bps: u16,
    pub window: i64,
    pub grace: i64,
    pub tiers_factor: u64,
    pub admin: Who,
    pub nominee: Option<Who>,
    pub gateway: Who,
    pub treasury: Who,
    pub resolver: Option<Who>,
    pub resolver_since: i64,
    pub announced: Option<Announcement>,
}

/// Who holds how much.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holdings {
    pub callers: [u64; CALLERS],
    pub creators: [u64; AGENTS],
    pub escrows: [u64; AGENTS],
    pub vaults: [u64; AGENTS],
    pub treasury: u64,
    pub stranger: u64,
}

#[derive(Clone, Debug)]
pub struct Model {
    pub now: i64,
    pub config: ModelConfig,
    pub agents: Vec<ModelAgent>,
    /// Of each creator: `None` without a profile, else whether it is verified.
    pub profiles: Vec<Option<bool>>,
    pub executions: Vec<ModelExecution>,
    pub grant: ModelGrant,
    pub holdings: Holdings,
    /// Whether the last step succeeds.
    pub succeeds: bool,
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
    pub fn start() -> Self {
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

    /// Exists and is not delisted.
    pub fn is_listed(&self, agent: usize) -> bool {
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

    fn complete(&mut self, execution: usize, who: Who, how: How) -> bool {
        let now = self.now;
        let Some(e) = self.executions.get_mut(execution) else { return false };
        let proved = match how {
            How::Honest => true,
            How::ListingsKey => self.agents[e.agent].key == e.key,
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
    pub fn unclaimed(&self, agent: usize) -> bool {
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
    /// The admin's steps, and the two that anybody else takes after them.
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
            other => unreachable!("{other:?} does not change the configuration"),
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
    /// The holdings of the present treasury.
    fn of_treasury(&mut self, treasury: Who) -> &mut u64 {
        match treasury {
            Who::Stranger => &mut self.stranger,
            _ => &mut self.treasury,
        }
    }
}
