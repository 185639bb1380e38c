//! What a campaign does, drawn from its seed: which faults, when, how long, and what each caller asks for. The
//! same seed gives the same plan; how the processes are scheduled is the machine's business.

use std::time::Duration;

use rand::{Rng, SeedableRng, rngs::StdRng, seq::SliceRandom};

use crate::creator::Behaviour;

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// SIGKILL of `crtx up`, PostgreSQL and every gateway at once.
    Everything,
    /// SIGKILL of `crtx up`: chain, indexer and one gateway; PostgreSQL shuts down.
    UpAlone,
    /// SIGKILL of PostgreSQL's main process.
    Postgres,
    /// SIGKILL of one of PostgreSQL's backends: the server restarts itself.
    PostgresBackend,
    /// PostgreSQL stands still for a while.
    PostgresPaused,
    /// SIGKILL of `crtx up`, and again while it is starting.
    DuringStart,
    /// SIGKILL of one of the three gateways.
    Gateway,
    /// SIGTERM of one of the three gateways.
    GatewayStopped,
    /// SIGSTOP past the lease, SIGCONT, then SIGKILL.
    PausedPastLease,
    /// SIGSTOP for a moment, SIGCONT.
    Paused,
    /// The content folder is gone.
    ContentRemoved,
    /// The content folder is a file.
    ContentIsAFile,
    /// The disk of the content folder is full, for one gateway.
    ContentFull,
    /// The content folder is not accessible, for one gateway.
    ContentForbidden,
    /// The content folder does not answer, for one gateway.
    ContentSilent,
    /// The RPC node of one gateway takes requests and does not answer.
    RpcHangs,
    /// It answers 500.
    RpcFails,
    /// It answers 429 with `Retry-After: 20`.
    RpcTooMany,
    /// It carries requests out and loses the answers.
    RpcLosesAnswers,
    /// It takes its time.
    RpcSlow,
    /// The wall clock of one gateway is stepped forward, and back.
    ClockForward,
    /// The wall clock of one gateway is stepped back, and forward.
    ClockBack,
}

/// What faults of one track have in common is what they break; they come one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Track {
    Foundation,
    Gateway(usize),
    Content,
}

impl Kind {
    pub const ALL: [Self; 22] = [
        Self::Everything,
        Self::UpAlone,
        Self::Postgres,
        Self::PostgresBackend,
        Self::PostgresPaused,
        Self::DuringStart,
        Self::Gateway,
        Self::GatewayStopped,
        Self::PausedPastLease,
        Self::Paused,
        Self::ContentRemoved,
        Self::ContentIsAFile,
        Self::ContentFull,
        Self::ContentForbidden,
        Self::ContentSilent,
        Self::RpcHangs,
        Self::RpcFails,
        Self::RpcTooMany,
        Self::RpcLosesAnswers,
        Self::RpcSlow,
        Self::ClockForward,
        Self::ClockBack,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Everything => "everything killed",
            Self::UpAlone => "crtx up killed",
            Self::Postgres => "PostgreSQL killed",
            Self::PostgresBackend => "PostgreSQL backend killed",
            Self::PostgresPaused => "PostgreSQL paused",
            Self::DuringStart => "killed during start",
            Self::Gateway => "one of three gateways killed",
            Self::GatewayStopped => "one of three gateways stopped",
            Self::PausedPastLease => "paused past the lease, then killed",
            Self::Paused => "gateway paused",
            Self::ContentRemoved => "content folder removed",
            Self::ContentIsAFile => "content folder is a file",
            Self::ContentFull => "content disk full",
            Self::ContentForbidden => "content folder forbidden",
            Self::ContentSilent => "content folder hangs",
            Self::RpcHangs => "RPC hangs",
            Self::RpcFails => "RPC answers 500",
            Self::RpcTooMany => "RPC answers 429",
            Self::RpcLosesAnswers => "RPC loses answers",
            Self::RpcSlow => "RPC slow",
            Self::ClockForward => "clock stepped forward",
            Self::ClockBack => "clock stepped back",
        }
    }

    /// How often it is drawn, against the others.
    const fn weight(self) -> u32 {
        match self {
            Self::Gateway => 8,
            Self::Everything | Self::UpAlone | Self::Postgres => 4,
            Self::PausedPastLease => 0,
            _ => 3,
        }
    }

    const fn track(self, target: usize) -> Track {
        match self {
            Self::Everything
            | Self::UpAlone
            | Self::Postgres
            | Self::PostgresBackend
            | Self::PostgresPaused
            | Self::DuringStart => Track::Foundation,
            Self::ContentRemoved
            | Self::ContentIsAFile
            | Self::ContentFull
            | Self::ContentForbidden
            | Self::ContentSilent => Track::Content,
            _ => Track::Gateway(target),
        }
    }
}

impl Kind {
    /// Calls that are sent shortly before the fault, so that it meets some that are under way.
    const fn burst(self) -> usize {
        match self {
            Self::PausedPastLease => 24,
            Self::Everything
            | Self::UpAlone
            | Self::Postgres
            | Self::PostgresBackend
            | Self::Gateway
            | Self::GatewayStopped
            | Self::Paused => 8,
            _ => 0,
        }
    }
}

/// One fault of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    pub number: usize,
    pub kind: Kind,
    /// Which of the additional gateways, where that matters.
    pub target: usize,
    /// Quiet on this track before it.
    pub gap: Duration,
    /// How long it lasts, where it lasts.
    pub hold: Duration,
    /// Seconds that a clock is stepped by.
    pub step_s: i64,
    /// Calls that are sent to the gateway it hits, or to any.
    pub burst: usize,
    /// How long after them it happens.
    pub after_burst: Duration,
}

impl Fault {
    pub const fn track(&self) -> Track {
        self.kind.track(self.target)
    }

    /// The gateway that it hits, counted from that of `crtx up`; none if it hits all.
    pub const fn gateway(&self) -> Option<usize> {
        match self.track() {
            Track::Gateway(target) => Some(target + 1),
            Track::Foundation | Track::Content => None,
        }
    }
}

/// Faults for each pause past a lease, which takes ten times as long as another fault.
const FAULTS_PER_LONG_PAUSE: usize = 30;
/// Seconds that clocks are stepped by at most.
const LONGEST_STEP_S: i64 = 600;

/// The faults of a campaign: every kind at least once where they are enough, the rest by weight.
pub fn faults(seed: u64, count: usize, gateways: usize) -> Vec<Fault> {
    let mut random = StdRng::seed_from_u64(seed);
    let mut kinds: Vec<Kind> = Kind::ALL.to_vec();
    kinds.shuffle(&mut random);
    kinds.truncate(count);
    let mut long_pauses = kinds.iter().filter(|kind| **kind == Kind::PausedPastLease).count();
    while kinds.len() < count {
        if long_pauses < count / FAULTS_PER_LONG_PAUSE {
            long_pauses += 1;
            kinds.push(Kind::PausedPastLease);
        } else {
            kinds.push(weighted(&mut random));
        }
    }
    kinds.shuffle(&mut random);
    let mut planned = Vec::new();
    for (number, kind) in kinds.into_iter().enumerate() {
        planned.push(Fault {
            number,
            kind,
            target: random.random_range(0..gateways.max(1)),
            gap: gap(kind, &mut random),
            hold: Duration::from_millis(random.random_range(300..3_000)),
            step_s: random.random_range(5..=LONGEST_STEP_S),
            burst: kind.burst(),
            after_burst: Duration::from_millis(random.random_range(20..500)),
        });
    }
    planned
}

fn weighted(random: &mut StdRng) -> Kind {
    let total: u32 = Kind::ALL.iter().map(|kind| kind.weight()).sum();
    let mut drawn = random.random_range(0..total);
    for kind in Kind::ALL {
        match drawn.checked_sub(kind.weight()) {
            Some(rest) => drawn = rest,
            None => return kind,
        }
    }
    Kind::Gateway
}

/// The foundation takes all calls with it, so it gets more quiet between its faults.
fn gap(kind: Kind, random: &mut StdRng) -> Duration {
    let range = if kind.track(0) == Track::Foundation { 1_500..4_500 } else { 800..3_500 };
    Duration::from_millis(random.random_range(range))
}

/// One call as a caller means to make it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Unique in the campaign: `caller-number`.
    pub task: String,
    /// Which API key.
    pub key: usize,
    /// Which agent.
    pub agent: usize,
    pub behaviour: Behaviour,
    /// How long the creator thinks before it behaves.
    pub delay_ms: u64,
    pub is_async: bool,
    pub idempotency_key: Option<String>,
    /// The gateway that is asked first; a retry asks the next.
    pub gateway: usize,
    /// The caller hangs up after this time instead of waiting for the answer.
    pub hangs_up_after: Option<Duration>,
    /// Sent to two gateways at the same time, with the same idempotency key.
    pub twin: bool,
    /// How often a call is sent in all; more than once only with an idempotency key.
    pub attempts: u32,
    /// Whether an answer that says "nothing was charged" is the end of it.
    pub takes_no_for_an_answer: bool,
    /// Quiet before the call.
    pub think: Duration,
}

impl Call {
    /// One that a creator answers at once, sent once to the first gateway, with the first key and to the first agent.
    pub const fn honest(task: String) -> Self {
        Self {
            task,
            key: 0,
            agent: 0,
            behaviour: Behaviour::Honest,
            delay_ms: 0,
            is_async: false,
            idempotency_key: None,
            gateway: 0,
            hangs_up_after: None,
            twin: false,
            attempts: 1,
            takes_no_for_an_answer: true,
            think: Duration::ZERO,
        }
    }
}

/// The calls of one caller, without end.
pub struct Calls {
    random: StdRng,
    caller: usize,
    round: usize,
    number: usize,
    keys: usize,
    agents: usize,
    gateways: usize,
}

impl Calls {
    pub fn new(seed: u64, round: usize, caller: usize, keys: usize, agents: usize, gateways: usize) -> Self {
        let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add((round * 100_000 + caller) as u64);
        Self { random: StdRng::seed_from_u64(mixed), caller, round, number: 0, keys, agents, gateways }
    }

    fn behaviour(&mut self) -> Behaviour {
        match self.random.random_range(0..100) {
            0..58 => Behaviour::Honest,
            58..66 => Behaviour::AnotherEachTime,
            66..72 => Behaviour::Fails,
            72..75 => Behaviour::TooLate,
            75..78 => Behaviour::Silent,
            78..80 => Behaviour::BadSignature,
            80..82 => Behaviour::WrongHash,
            82..84 => Behaviour::WrongExecution,
            84..86 => Behaviour::BreaksOff,
            86..88 => Behaviour::NotJson,
            88..90 => Behaviour::ServerError,
            90..95 => Behaviour::SettlesItself,
            _ => Behaviour::SettlesSilently,
        }
    }
}

impl Iterator for Calls {
    type Item = Call;

    fn next(&mut self) -> Option<Call> {
        let behaviour = self.behaviour();
        let random = &mut self.random;
        let task = format!("{}-{}-{}", self.round, self.caller, self.number);
        self.number += 1;
        let keyed = random.random_bool(0.75);
        let hangs_up = random.random_bool(0.15).then(|| Duration::from_millis(random.random_range(20..600)));
        Some(Call {
            key: random.random_range(0..self.keys),
            agent: random.random_range(0..self.agents),
            behaviour,
            delay_ms: if random.random_bool(0.5) { 0 } else { random.random_range(10..600) },
            is_async: random.random_bool(0.3),
            idempotency_key: keyed.then(|| format!("order-{task}")),
            gateway: random.random_range(0..self.gateways),
            hangs_up_after: hangs_up,
            twin: keyed && random.random_bool(0.1),
            attempts: if keyed { random.random_range(1..=8) } else { 1 },
            takes_no_for_an_answer: random.random_bool(0.5),
            think: Duration::from_millis(random.random_range(100..2_400)),
            task,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_plan_and_another_seed_another() {
        assert_eq!(faults(7, 60, 2), faults(7, 60, 2));
        assert_ne!(faults(7, 60, 2), faults(8, 60, 2));
        let calls = |seed| Calls::new(seed, 0, 3, 8, 4, 3).take(50).collect::<Vec<_>>();
        assert_eq!(calls(7), calls(7));
        assert_ne!(calls(7), calls(8));
    }

    #[test]
    fn sixty_faults_are_of_every_kind() {
        for seed in 0..20 {
            let planned = faults(seed, 60, 2);
            assert_eq!(planned.len(), 60);
            let kinds: HashSet<Kind> = planned.iter().map(|fault| fault.kind).collect();
            assert_eq!(kinds.len(), Kind::ALL.len());
        }
    }

    #[test]
    fn no_two_callers_send_the_same_task() {
        let tasks = |caller| Calls::new(1, 0, caller, 8, 4, 3).take(100).map(|call| call.task).collect::<HashSet<_>>();
        assert!(tasks(1).is_disjoint(&tasks(2)));
        assert_eq!(tasks(1).len(), 100);
    }
}
