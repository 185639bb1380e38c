//! The steps of a scenario: who does what.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
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
pub enum How {
    Honest,
    WithoutProof,
    AnotherKey,
    /// The present key of the listing, which may differ from the one at opening.
    ListingsKey,
    AnotherHash,
    CreatorUnpaid,
    TreasuryUnpaid,
}

#[derive(Clone, Debug)]
pub enum Step {
    Wait(i64),
    Open { agent: usize, caller: usize, key: bool, max_amount: u64 },
    Complete { execution: usize, who: Who, how: How },
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
