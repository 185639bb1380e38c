//! Every error of the program, numbered. A number is `6000 +` the discriminant below; it is stable and
//! never used again with another meaning. Ranges: 0 signers and accounts, 100 configuration, 150
//! profiles, 200 listings, 300 executions, 400 tokens, 500 the Ed25519 gate, 600 grants, 700 disputes.
//! A text names the fault, and the bound where there is one.

use anchor_lang::prelude::*;

#[error_code]
#[derive(PartialEq, Eq)]
pub enum MarketplaceError {
    // Signers.
    #[msg("the signer is not the program's upgrade authority")]
    NotUpgradeAuthority = 0,
    #[msg("the signer is not the admin")]
    NotAdmin = 1,
    #[msg("the signer is not the nominated admin")]
    NotNominee = 2,
    #[msg("the signer is not the resolver")]
    NotResolver = 3,
    #[msg("the signer is not the agent's creator")]
    NotCreator = 4,
    #[msg("the signer is not the execution's caller")]
    NotCaller = 5,
    #[msg("the signer is not the execution's creator or caller, or the gateway")]
    NotSettler = 6,
    #[msg("the signer is not the execution's creator or the gateway")]
    NotFailureReporter = 7,
    #[msg("the signer is not the grant's session key")]
    NotSessionKey = 8,
    #[msg("the signer is not the grant's wallet")]
    NotGrantWallet = 9,
    #[msg("the signer is neither the admin nor the guardian, who may stop but not resume")]
    NotGuardian = 10,

    // Accounts and arithmetic.
    #[msg("the account is not at its program-derived address")]
    WrongAddress = 20,
    #[msg("the account exists already")]
    AlreadyExists = 21,
    #[msg("the record belongs to another agent")]
    WrongAgent = 22,
    #[msg("the account is not the system program")]
    WrongSystemProgram = 23,
    #[msg("the account is not the classic SPL Token program")]
    WrongTokenProgram = 24,
    #[msg("the accounts are not this program and its program data")]
    WrongProgramData = 25,
    #[msg("an amount, a counter or a time is outside the range of its field")]
    OutOfRange = 26,
    #[msg("the dispute belongs to another execution")]
    WrongDispute = 27,
    #[msg("the account is not the one that paid the rent")]
    WrongRentPayer = 28,
    #[msg("the account has another layout version than 1")]
    WrongVersion = 29,

    // Configuration.
    #[msg("new listings are paused, or new openings")]
    Paused = 100,
    #[msg("the fee must be 0 to 500 basis points")]
    FeeTooHigh = 101,
    #[msg("the dispute window must be 259200 to 1209600 seconds, the settlement grace 0 to 86400 seconds")]
    DurationOutOfRange = 102,
    #[msg("the prices of the collateral tiers must rise and their collateral must not fall")]
    TiersNotAscending = 103,
    #[msg("a role must not be the zero address")]
    RoleMissing = 104,
    #[msg("the instruction changes nothing")]
    NothingToChange = 105,
    #[msg("nothing is announced")]
    NothingAnnounced = 106,
    #[msg("roles apply 1382400 seconds (16 days), parameters 604800 seconds (7 days) after their announcement")]
    AnnouncementNotDue = 107,
    #[msg("the announcement lapsed 604800 seconds (7 days) after it was due")]
    AnnouncementLapsed = 108,
    #[msg("the insurance owner must not be the treasury owner or the resolver")]
    InsuranceNotIndependent = 109,
    #[msg("the minimum price must be 1 to 1000000000000 base units, and its fee at least 1 unless there is no fee")]
    MinPriceOutOfRange = 110,
    #[msg("the penalty must be limited to 1 to 100 times the amount paid")]
    PenaltyMultipleOutOfRange = 111,
    #[msg("the bond of a dispute must be at most 1000000 base units")]
    DisputeBondTooHigh = 112,
    #[msg("two of admin, resolver, gateway, treasury owner and guardian must not be one key")]
    RolesNotApart = 113,

    // Profiles.
    #[msg(
        "the display name must be 1 to 32 bytes of UTF-8: visible characters, inner spaces, at most 2 combining marks together"
    )]
    DisplayNameInvalid = 150,
    #[msg("the profile has another display name than the verified one")]
    DisplayNameMismatch = 151,
    #[msg("a verified display name must have the letters of one script")]
    DisplayNameMixesScripts = 152,

    // Listings.
    #[msg("the price must be the configured minimum to 1000000000000 base units")]
    PriceOutOfRange = 200,
    #[msg("the time-out must be 1 to 900 seconds")]
    TimeoutOutOfRange = 201,
    #[msg("the result key must not be the zero address")]
    ResultKeyMissing = 202,
    #[msg("the metadata URI must be 1 to 128 bytes of visible ASCII")]
    MetadataUriInvalid = 203,
    #[msg("the collateral must be at least the tier of the price, the price, and the promised number of calls")]
    CollateralTooLow = 204,
    #[msg("the agent is not active")]
    AgentNotActive = 205,
    #[msg("the agent is delisted")]
    AgentDelisted = 206,
    #[msg("the status must be active or paused")]
    StatusNotSettable = 207,
    #[msg("the agent is not delisted")]
    AgentNotDelisted = 208,
    #[msg("the agent has open executions")]
    ExecutionsOpen = 209,
    #[msg("the agent has open disputes")]
    DisputesOpen = 210,
    #[msg("the agent's last dispute window is not over")]
    DisputeWindowRunning = 211,
    #[msg("the agent's collateral must be withdrawn first")]
    CollateralRemains = 212,
    #[msg("the agent has no collateral")]
    NoCollateral = 213,
    #[msg("the amount must be 1 to 18446744073709551615 base units")]
    AmountZero = 214,
    #[msg("the agent was listed in this second and closes from the next one on")]
    ListedThisSecond = 215,
    #[msg("the index must be higher than the ones that the creator used before")]
    IndexUsed = 216,
    #[msg("the agent is suspended")]
    AgentSuspended = 217,

    // Executions.
    #[msg("the execution is not open")]
    ExecutionNotOpen = 300,
    #[msg("the execution's deadline has passed")]
    DeadlinePassed = 301,
    #[msg("the execution's deadline has not passed")]
    DeadlineNotPassed = 302,
    #[msg("the price must be at most the caller's maximum")]
    PriceAboveMaximum = 303,
    #[msg("the failure reason must be creator failed, time-out or invalid response, or interrupted by the gateway")]
    FailureReasonReserved = 304,
    #[msg("the record is open, disputed or within its dispute window")]
    RecordStillNeeded = 306,
    #[msg("the tokens used must be at most 1000000000")]
    TokensImplausible = 307,
    #[msg("the caller must not be the agent's creator")]
    CallerIsCreator = 308,
    #[msg("the agent's terms are not the ones that the caller agreed to")]
    TermsChanged = 309,
    #[msg("the account is not the execution's grant")]
    WrongGrant = 310,
    #[msg("the refund must go to the wallet's associated token account or to the account that paid")]
    RefundElsewhere = 311,
    #[msg("the agent's collateral, without what is claimed of it, is below the cover that the caller asks for")]
    CoverTooLow = 312,
    #[msg("a signed failure is reported by the gateway, with the reason creator failed")]
    FailureProofMisplaced = 313,

    // Tokens.
    #[msg("the account is not the configured USDC mint")]
    WrongMint = 400,
    #[msg("the mint is not an initialized classic SPL Token mint with 6 decimals")]
    MintUnsuitable = 401,
    #[msg("the account is not a classic SPL Token account")]
    NotTokenAccount = 402,
    #[msg("the token account has another mint")]
    TokenMintMismatch = 403,
    #[msg("the token account has another owner")]
    TokenOwnerMismatch = 404,
    #[msg("the token account is frozen or not initialized")]
    TokenAccountUnusable = 405,
    #[msg("the account is not the agent's escrow account")]
    WrongEscrow = 406,
    #[msg("the account is not the agent's collateral account")]
    WrongCollateralVault = 407,

    // The Ed25519 gate.
    #[msg("the account is not the instructions sysvar")]
    WrongInstructionsSysvar = 500,
    #[msg("the settlement was called by another program")]
    CalledByProgram = 501,
    #[msg("the instructions sysvar cannot be read")]
    SysvarUnreadable = 502,
    #[msg("no instruction precedes the settlement")]
    Ed25519Missing = 503,
    #[msg("the instruction before the settlement is not one of the Ed25519 program")]
    Ed25519WrongProgram = 504,
    #[msg("the Ed25519 instruction must have 0 accounts")]
    Ed25519HasAccounts = 505,
    #[msg("the Ed25519 instruction must be 183 bytes long, for a call-bound signature 238, for a failure 169")]
    Ed25519WrongLength = 506,
    #[msg("the Ed25519 instruction must hold 1 signature")]
    Ed25519WrongCount = 507,
    #[msg("the padding of the Ed25519 instruction must be 0")]
    Ed25519WrongPadding = 508,
    #[msg("the signature must be at offset 48")]
    Ed25519WrongSignatureOffset = 509,
    #[msg("the signature must be in the Ed25519 instruction itself (65535)")]
    Ed25519WrongSignatureIndex = 510,
    #[msg("the public key must be at offset 16")]
    Ed25519WrongKeyOffset = 511,
    #[msg("the public key must be in the Ed25519 instruction itself (65535)")]
    Ed25519WrongKeyIndex = 512,
    #[msg("the message must be at offset 112")]
    Ed25519WrongMessageOffset = 513,
    #[msg("the message must be 71 bytes long, for a call-bound signature 126, for a failure 57")]
    Ed25519WrongMessageSize = 514,
    #[msg("the message must be in the Ed25519 instruction itself (65535)")]
    Ed25519WrongMessageIndex = 515,
    #[msg("the public key is not the execution's result key")]
    Ed25519WrongKey = 516,
    #[msg("the signed message is not the text of the result hash, or of another call, or not the text of the failure")]
    Ed25519WrongMessage = 517,

    // Grants.
    #[msg("the grant is revoked")]
    GrantRevoked = 600,
    #[msg("the grant has expired")]
    GrantExpired = 601,
    #[msg("the price must be at most the grant's cap per call")]
    PerCallCapExceeded = 602,
    #[msg("the price must be at most what the grant's total cap leaves")]
    TotalCapExceeded = 603,
    #[msg("the grant does not allow this agent")]
    AgentNotAllowed = 604,
    #[msg("the grant must name 0 to 8 agents")]
    TooManyAllowedAgents = 605,
    #[msg("the grant's expiry must be later than now")]
    GrantExpiryPast = 606,
    #[msg("the grant's caps must be 1 to 18446744073709551615 base units")]
    GrantCapZero = 607,
    #[msg("the session key must not be the zero address or the wallet")]
    SessionKeyInvalid = 608,
    #[msg("the grant belongs to another wallet")]
    WrongGrantWallet = 609,
    #[msg("the price must be at most what the grant's cap of the day leaves")]
    DailyCapExceeded = 610,

    // Disputes.
    #[msg("the execution is not completed or was disputed before")]
    NotDisputable = 700,
    #[msg("the dispute window is over")]
    DisputeWindowOver = 701,
    #[msg("the hash of the evidence must not be zero")]
    EvidenceMissing = 702,
    #[msg("the evidence URI must be 1 to 128 bytes of visible ASCII")]
    EvidenceUriInvalid = 703,
    #[msg("the dispute is not open")]
    DisputeNotOpen = 704,
    #[msg("the slash must be at most the agent's collateral")]
    SlashAboveCollateral = 705,
    #[msg("the slash of a rejected dispute must be 0")]
    SlashWithoutCause = 706,
    #[msg("the hash of the resolution must not be zero")]
    ResolutionMissing = 707,
    #[msg("a slash above the amount paid must leave the amounts of the agent's other open disputes")]
    PenaltyBeforeOtherClaims = 708,
    #[msg("the slash must be at most the amount paid if the dispute is older than the resolver's term")]
    PenaltyByLaterResolver = 709,
    #[msg("the resolver has 2592000 seconds (30 days) to decide")]
    DisputeStillDecidable = 710,
    #[msg("the caller settled the execution")]
    SettledByCaller = 711,
    #[msg("the creator has 86400 seconds (24 hours) to answer before the dispute can be upheld")]
    AnswerPeriodRunning = 712,
    #[msg("the dispute is answered")]
    DisputeAnswered = 713,
    #[msg("the slash must be at most the amount paid and the execution's limit of penalties")]
    PenaltyAboveLimit = 714,
    #[msg("the slash must leave what the collateral covers of the agent's other open disputes")]
    SlashBeforeOtherClaims = 715,
    #[msg("the price cannot rise while disputes about the agent are open")]
    PriceRiseWhileDisputed = 716,
    #[msg("the resolver must not be the caller who raised the dispute")]
    ResolverIsRaiser = 717,
}

/// What a rule for a field says about a value.
pub type Rule = core::result::Result<(), MarketplaceError>;

/// The rule that `holds`, or `error`.
#[inline(always)]
pub(crate) const fn rule(holds: bool, error: MarketplaceError) -> Rule {
    if holds { Ok(()) } else { Err(error) }
}

/// `Ok` if `holds`, else `error`. Unlike the framework's `require!` it adds no file names to the ELF.
#[inline(always)]
pub(crate) fn ensure(holds: bool, error: MarketplaceError) -> Result<()> {
    if holds { Ok(()) } else { refuse(error) }
}

/// `error` as a result, out of the hot path.
#[cold]
#[inline(never)]
pub(crate) fn refuse<T>(error: MarketplaceError) -> Result<T> {
    Err(error.into())
}

/// Turns `None` into `error`.
pub(crate) trait OrRefuse<T> {
    fn or_refuse(self, error: MarketplaceError) -> Result<T>;
}

impl<T> OrRefuse<T> for Option<T> {
    #[inline(always)]
    fn or_refuse(self, error: MarketplaceError) -> Result<T> {
        match self {
            Some(value) => Ok(value),
            None => refuse(error),
        }
    }
}
