//! The steps of a scenario: who does what.

use agent_marketplace::state::DisputeDecision;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    Gateway,
    Creator,
    Caller,
    Stranger,
    Admin,
    Resolver,
    Treasury,
    Insurance,
    Guardian,
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
    /// The signature over the result alone if it must be for the call, or the reverse.
    OtherShape,
    /// A signature for another call.
    AnotherCall,
    AnotherOpening,
    CreatorUnpaid,
    TreasuryUnpaid,
    RentToAnother,
    TooManyTokens,
}

/// Whose money an opening takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payer {
    Caller(usize),
    /// The same, from a USDC account that is not the associated one.
    CallerElsewhere(usize),
    /// The API key of the first caller.
    Key,
    /// The creator of this agent.
    Creator(usize),
}

/// What a report of a failure says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reported {
    CreatorFailed,
    InvalidResponse,
    Timeout,
    Interrupted,
}

/// What a report shows as the agent's own statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statement {
    /// It claims none.
    None,
    Honest,
    /// It claims one, and shows none.
    Missing,
    AnotherKey,
    /// Of the listing's present key, which may differ from the one at opening.
    ListingsKey,
    AnotherCall,
    AnotherOpening,
    /// The signature over a result, which settles.
    OfResult,
}

/// Which terms an opening agrees to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreed {
    Any,
    Present,
    /// The terms with which the agent was listed.
    AtListing,
}

/// Where a refund goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    Associated,
    /// The caller's other USDC account.
    Elsewhere,
    Stranger,
}

/// The accounts of a refund.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payee {
    pub to: To,
    /// The first caller's grant is named, whether the execution has it or not.
    pub grant: bool,
}

#[derive(Clone, Debug)]
pub enum Step {
    Wait(i64),
    Open {
        agent: usize,
        payer: Payer,
        max_amount: u64,
        agreed: Agreed,
        /// The free collateral that the caller asks for, in prices.
        min_cover: u8,
    },
    Complete {
        execution: usize,
        who: Who,
        how: How,
    },
    Fail {
        execution: usize,
        who: Who,
        reason: Reported,
        statement: Statement,
        payee: Payee,
    },
    Refund {
        execution: usize,
        wallet_signs: bool,
        payee: Payee,
    },
    OpenDispute {
        execution: usize,
        who: Who,
    },
    Answer {
        execution: usize,
        who: Who,
    },
    /// `insured`: a penalty goes to the insurance, else to the treasury.
    Resolve {
        execution: usize,
        who: Who,
        decision: DisputeDecision,
        slash: u64,
        insured: bool,
    },
    CancelDispute {
        execution: usize,
        who: Who,
    },
    CloseExecution {
        execution: usize,
    },
    SetStatus {
        agent: usize,
        who: Who,
        active: bool,
    },
    SetPrice {
        agent: usize,
        price: u64,
    },
    SetTimeout {
        agent: usize,
        seconds: u32,
    },
    SetKey {
        agent: usize,
        who: Who,
    },
    SetBinding {
        agent: usize,
        who: Who,
        binding: bool,
    },
    SetCover {
        agent: usize,
        who: Who,
        min_cover: u8,
    },
    SetMetadata {
        agent: usize,
        who: Who,
        version: u8,
    },
    /// `again`: with the index that the agent had.
    List {
        agent: usize,
        again: bool,
    },
    Name {
        agent: usize,
        name: &'static str,
    },
    Deposit {
        agent: usize,
        amount: u64,
    },
    Delist {
        agent: usize,
        who: Who,
    },
    Withdraw {
        agent: usize,
    },
    CloseAgent {
        agent: usize,
    },
    Grant {
        per_call_cap: u64,
        total_cap: u64,
        daily_cap: u64,
        seconds: i64,
        only_second: bool,
    },
    Revoke,
    SetPaused {
        who: Who,
        openings: Option<bool>,
        listings: Option<bool>,
    },
    Suspend {
        agent: usize,
        who: Who,
        suspended: bool,
    },
    SetGuardian {
        who: Who,
        guardian: Option<Who>,
    },
    /// This and the next ones announce the present parameters with one of them changed.
    SetFee {
        who: Who,
        bps: u32,
    },
    SetWindow {
        who: Who,
        seconds: i64,
    },
    SetGrace {
        who: Who,
        seconds: i64,
    },
    SetTiers {
        who: Who,
        factor: u64,
    },
    SetMinPrice {
        who: Who,
        price: u64,
    },
    SetPenaltyLimit {
        who: Who,
        multiple: u32,
    },
    SetBond {
        who: Who,
        bond: u64,
    },
    WithdrawParameters {
        who: Who,
    },
    ApplyParameters,
    SetGateway {
        who: Who,
        gateway: Who,
    },
    Verify {
        who: Who,
        agent: usize,
        name: Option<&'static str>,
    },
    Nominate {
        who: Who,
        nominee: Option<Who>,
    },
    AcceptAdmin {
        who: Who,
    },
    Announce {
        who: Who,
        resolver: Option<Who>,
        treasury: Option<Who>,
        insurance: Option<Who>,
    },
    ApplyRoles,
    RemoveResolver {
        who: Who,
    },
    ExpireDispute {
        execution: usize,
    },
    Initialize,
    Dust {
        agent: usize,
        escrow: bool,
        amount: u64,
    },
}
