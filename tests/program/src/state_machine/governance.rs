//! The configuration as the model sees it: roles by who has them, and parameters, both changed by announcement.
//! It uses none of the program's rules.

use super::steps::{Step, Who};

pub const WINDOW_S: i64 = 72 * 3_600;
pub const GRACE_S: i64 = 120;
pub const ROLE_DELAY_S: i64 = 16 * 86_400;
pub const PARAMETERS_DELAY_S: i64 = 7 * 86_400;
/// Seconds in which something announced can be applied.
pub const ANNOUNCEMENT_LIFE_S: i64 = 7 * 86_400;
pub const HIGHEST_PRICE: u64 = 1_000_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    pub fee_bps: u32,
    pub window: i64,
    pub grace: i64,
    /// The collateral of each tier, in multiples of the default.
    pub tiers_factor: u64,
    pub min_price: u64,
    pub penalty_limit: u32,
    pub bond: u64,
}

impl Parameters {
    const START: Self = Self {
        fee_bps: 100,
        window: WINDOW_S,
        grace: GRACE_S,
        tiers_factor: 1,
        min_price: 10_000,
        penalty_limit: 20,
        bond: 100_000,
    };

    /// What an opening agrees to besides the listing's terms.
    pub fn market_terms(&self) -> [i64; 4] {
        [i64::from(self.fee_bps), i64::from(self.penalty_limit), self.window, self.grace]
    }

    fn are_allowed(&self) -> bool {
        self.fee_bps <= 500
            && (3 * 86_400..=14 * 86_400).contains(&self.window)
            && (0..=86_400).contains(&self.grace)
            && (1..=HIGHEST_PRICE).contains(&self.min_price)
            && (self.fee_bps == 0 || self.min_price * u64::from(self.fee_bps) >= 10_000)
            && (1..=100).contains(&self.penalty_limit)
            && self.bond <= 1_000_000
    }

    /// The parameters that a step announces.
    pub fn changed(self, step: &Step) -> Option<(Self, Who)> {
        Some(match step {
            Step::SetFee { who, bps } => (Self { fee_bps: *bps, ..self }, *who),
            Step::SetWindow { who, seconds } => (Self { window: *seconds, ..self }, *who),
            Step::SetGrace { who, seconds } => (Self { grace: *seconds, ..self }, *who),
            Step::SetTiers { who, factor } => (Self { tiers_factor: *factor, ..self }, *who),
            Step::SetMinPrice { who, price } => (Self { min_price: *price, ..self }, *who),
            Step::SetPenaltyLimit { who, multiple } => (Self { penalty_limit: *multiple, ..self }, *who),
            Step::SetBond { who, bond } => (Self { bond: *bond, ..self }, *who),
            _ => return None,
        })
    }
}

/// Roles that take effect later.
#[derive(Clone, Copy, Debug)]
pub struct Successors {
    pub resolver: Option<Who>,
    pub treasury: Option<Who>,
    pub insurance: Option<Who>,
}

/// Something that can be applied from a second on, for seven days.
#[derive(Clone, Copy, Debug)]
pub struct Announced<T> {
    pub what: T,
    pub from: i64,
}

impl<T> Announced<T> {
    pub fn is_due(&self, now: i64) -> bool {
        (self.from..=self.from + ANNOUNCEMENT_LIFE_S).contains(&now)
    }
}

#[derive(Clone, Debug)]
pub struct ModelConfig {
    pub openings_paused: bool,
    pub listings_paused: bool,
    pub parameters: Parameters,
    pub admin: Who,
    pub nominee: Option<Who>,
    pub gateway: Who,
    pub treasury: Who,
    pub insurance: Who,
    /// May stop, and not resume.
    pub guardian: Option<Who>,
    pub resolver: Option<Who>,
    pub resolver_since: i64,
    pub roles: Option<Announced<Successors>>,
    pub next_parameters: Option<Announced<Parameters>>,
}

impl ModelConfig {
    pub fn start(now: i64) -> Self {
        Self {
            openings_paused: false,
            listings_paused: false,
            parameters: Parameters::START,
            admin: Who::Admin,
            nominee: None,
            gateway: Who::Gateway,
            treasury: Who::Treasury,
            insurance: Who::Insurance,
            guardian: Some(Who::Guardian),
            resolver: Some(Who::Resolver),
            resolver_since: now,
            roles: None,
            next_parameters: None,
        }
    }

    /// Who receives penalties is neither the treasury nor the resolver.
    fn is_independent(&self, next: &Successors) -> bool {
        let insurance = next.insurance.unwrap_or(self.insurance);
        insurance != next.treasury.unwrap_or(self.treasury) && Some(insurance) != next.resolver.or(self.resolver)
    }

    /// The admin may stop and resume, the guardian only stop.
    pub fn may_stop(&self, who: Who, resumes: bool) -> bool {
        who == self.admin || self.guardian == Some(who) && !resumes
    }

    /// Nobody has two of the roles that check each other.
    fn are_apart(&self) -> bool {
        let roles =
            [Some(self.admin), self.resolver, Some(self.gateway), Some(self.treasury), self.guardian].into_iter();
        let held: Vec<Who> = roles.flatten().collect();
        held.iter().all(|who| held.iter().filter(|other| *other == who).count() == 1)
    }

    fn after(&self, step: &Step, now: i64) -> Self {
        let mut next = self.clone();
        next.change(step, now);
        next
    }

    /// The configuration when the successors are in office.
    fn with(&self, next: &Successors, now: i64) -> Self {
        let mut with = self.clone();
        // The term of a resolver who stays goes on.
        if next.resolver.is_some() && next.resolver != self.resolver {
            (with.resolver, with.resolver_since) = (next.resolver, now);
        }
        with.treasury = next.treasury.unwrap_or(self.treasury);
        with.insurance = next.insurance.unwrap_or(self.insurance);
        with
    }

    /// The admin's steps, and those that anybody else takes after them.
    pub fn take(&mut self, step: &Step, now: i64) -> bool {
        let admin = self.admin;
        if let Some((what, who)) = self.parameters.changed(step) {
            let allowed = who == admin && what.are_allowed();
            if allowed {
                self.next_parameters = Some(Announced { what, from: now + PARAMETERS_DELAY_S });
            }
            return allowed;
        }
        let allowed = match step {
            Step::SetPaused { who, openings, listings } => {
                let resumes = *openings == Some(false) || *listings == Some(false);
                let changes = openings.is_some_and(|stop| stop != self.openings_paused)
                    || listings.is_some_and(|stop| stop != self.listings_paused);
                self.may_stop(*who, resumes) && changes
            }
            Step::Nominate { who, .. } | Step::WithdrawParameters { who } => *who == admin,
            Step::SetGateway { who, .. } | Step::SetGuardian { who, .. } => {
                *who == admin && self.after(step, now).are_apart()
            }
            Step::Announce { who, resolver, treasury, insurance } => {
                let next = Successors { resolver: *resolver, treasury: *treasury, insurance: *insurance };
                *who == admin && self.is_independent(&next) && self.with(&next, now).are_apart()
            }
            Step::AcceptAdmin { who } => self.nominee == Some(*who) && self.after(step, now).are_apart(),
            Step::ApplyRoles => {
                self.roles.is_some_and(|announced| announced.is_due(now)) && self.after(step, now).are_apart()
            }
            Step::ApplyParameters => self.next_parameters.is_some_and(|announced| announced.is_due(now)),
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
            Step::SetPaused { openings, listings, .. } => {
                self.openings_paused = openings.unwrap_or(self.openings_paused);
                self.listings_paused = listings.unwrap_or(self.listings_paused);
            }
            Step::SetGateway { gateway, .. } => self.gateway = *gateway,
            Step::SetGuardian { guardian, .. } => self.guardian = *guardian,
            Step::Nominate { nominee, .. } => self.nominee = *nominee,
            Step::AcceptAdmin { who } => (self.admin, self.nominee) = (*who, None),
            Step::Announce { resolver, treasury, insurance, .. } => {
                let what = Successors { resolver: *resolver, treasury: *treasury, insurance: *insurance };
                let somebody = resolver.is_some() || treasury.is_some() || insurance.is_some();
                self.roles = somebody.then_some(Announced { what, from: now + ROLE_DELAY_S });
            }
            Step::RemoveResolver { .. } => self.resolver = None,
            Step::WithdrawParameters { .. } => self.next_parameters = None,
            Step::ApplyParameters => {
                let Some(announced) = self.next_parameters.take() else { return };
                self.parameters = announced.what;
            }
            _ => {
                let Some(announced) = self.roles.take() else { return };
                *self = self.with(&announced.what, now);
            }
        }
    }
}
