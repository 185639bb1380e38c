//! Every error of the program, numbered. A number is `6000 +` the discriminant below; it is stable and
//! never used again for something else. Ranges: 0 who may call and accounts, 100 configuration, 150
//! profiles, 200 listings, 300 executions, 400 tokens, 500 the Ed25519 gate, 600 grants, 700 disputes.

use anchor_lang::prelude::*;

#[error_code]
#[derive(PartialEq, Eq)]
pub enum MarketplaceError {
    // Who may call.
    #[msg("only the program's upgrade authority may do this")]
    NotUpgradeAuthority = 0,
    #[msg("only the admin may do this")]
    NotAdmin = 1,
    #[msg("only the nominated admin may do this")]
    NotNominee = 2,
    #[msg("only the resolver may do this")]
    NotResolver = 3,
    #[msg("only the agent's creator may do this")]
    NotCreator = 4,
    #[msg("only the execution's caller may do this")]
    NotCaller = 5,
    #[msg("only the creator, the caller or the gateway may settle")]
    NotSettler = 6,
    #[msg("only the creator or the gateway may report a failure")]
    NotFailureReporter = 7,
    #[msg("the signer is not the grant's session key")]
    NotSessionKey = 8,
    #[msg("the signer is not the grant's wallet")]
    NotGrantWallet = 9,

    // Accounts and arithmetic.
    #[msg("the account is not at its program-derived address")]
    WrongAddress = 20,
    #[msg("the account exists already")]
    AlreadyExists = 21,
    #[msg("the record belongs to another agent")]
    WrongAgent = 22,
    #[msg("not the system program")]
    WrongSystemProgram = 23,
    #[msg("not the classic SPL Token program")]
    WrongTokenProgram = 24,
    #[msg("not this program's own program and program-data accounts")]
    WrongProgramData = 25,
    #[msg("a number left its range")]
    OutOfRange = 26,
    #[msg("the dispute belongs to another execution")]
    WrongDispute = 27,
    #[msg("rent goes back to who paid it")]
    WrongRentPayer = 28,

    // Configuration.
    #[msg("new listings and openings are paused")]
    Paused = 100,
    #[msg("the fee is at most 1000 basis points")]
    FeeTooHigh = 101,
    #[msg("dispute window 1 s to 14 days, settle grace 0 to 1 day")]
    DurationOutOfRange = 102,
    #[msg("collateral tiers ascend by price and never fall in collateral")]
    TiersNotAscending = 103,
    #[msg("a role may not be the zero address")]
    RoleMissing = 104,
    #[msg("the change changes nothing")]
    NothingToChange = 105,
    #[msg("no roles are announced")]
    NoRolesAnnounced = 106,
    #[msg("announced roles apply 16 days after their announcement")]
    RolesNotDue = 107,

    // Profiles.
    #[msg("the display name is 1 to 32 bytes of printable UTF-8")]
    DisplayNameInvalid = 150,

    // Listings.
    #[msg("the price is at least one base unit")]
    PriceZero = 200,
    #[msg("the time-out is 1 to 900 seconds")]
    TimeoutOutOfRange = 201,
    #[msg("the result key may not be the zero address")]
    ResultKeyMissing = 202,
    #[msg("the metadata URI is 1 to 128 bytes of printable ASCII")]
    MetadataUriInvalid = 203,
    #[msg("the collateral is below the tier of the price")]
    CollateralTooLow = 204,
    #[msg("the agent is not active")]
    AgentNotActive = 205,
    #[msg("the agent is delisted")]
    AgentDelisted = 206,
    #[msg("only active and paused can be set")]
    StatusNotSettable = 207,
    #[msg("the agent is not delisted")]
    AgentNotDelisted = 208,
    #[msg("executions are open")]
    ExecutionsOpen = 209,
    #[msg("disputes are open")]
    DisputesOpen = 210,
    #[msg("the last dispute window is not over")]
    DisputeWindowRunning = 211,
    #[msg("collateral has to be withdrawn first")]
    CollateralRemains = 212,
    #[msg("there is no collateral to withdraw")]
    NoCollateral = 213,
    #[msg("the amount is at least one base unit")]
    AmountZero = 214,
    #[msg("an agent cannot be closed in the second it was listed in")]
    ListedThisSecond = 215,

    // Executions.
    #[msg("the execution is not open")]
    ExecutionNotOpen = 300,
    #[msg("the deadline has passed")]
    DeadlinePassed = 301,
    #[msg("the deadline has not passed")]
    DeadlineNotPassed = 302,
    #[msg("the price is above the caller's maximum")]
    PriceAboveMaximum = 303,
    #[msg("this failure reason is not the reporter's to give")]
    FailureReasonReserved = 304,
    #[msg("the execution time is longer than the execution had")]
    ExecutionTimeImplausible = 305,
    #[msg("the record is still needed")]
    RecordStillNeeded = 306,

    // Tokens.
    #[msg("not the configured USDC mint")]
    WrongMint = 400,
    #[msg("the mint is not an initialized classic SPL Token mint with 6 decimals")]
    MintUnsuitable = 401,
    #[msg("not a classic SPL Token account")]
    NotTokenAccount = 402,
    #[msg("the token account holds another mint")]
    TokenMintMismatch = 403,
    #[msg("the token account has another owner")]
    TokenOwnerMismatch = 404,
    #[msg("the token account is frozen or not initialized")]
    TokenAccountUnusable = 405,
    #[msg("not the agent's escrow account")]
    WrongEscrow = 406,
    #[msg("not the agent's collateral account")]
    WrongCollateralVault = 407,

    // The Ed25519 gate.
    #[msg("not the instructions sysvar")]
    WrongInstructionsSysvar = 500,
    #[msg("a settlement is not called by another program")]
    CalledByProgram = 501,
    #[msg("the instructions sysvar could not be read")]
    SysvarUnreadable = 502,
    #[msg("no instruction stands before the settlement")]
    Ed25519Missing = 503,
    #[msg("the instruction before the settlement is not one of the Ed25519 program")]
    Ed25519WrongProgram = 504,
    #[msg("the Ed25519 instruction takes no accounts")]
    Ed25519HasAccounts = 505,
    #[msg("the Ed25519 instruction is 183 bytes long")]
    Ed25519WrongLength = 506,
    #[msg("the Ed25519 instruction holds exactly one signature")]
    Ed25519WrongCount = 507,
    #[msg("the Ed25519 instruction's padding is zero")]
    Ed25519WrongPadding = 508,
    #[msg("the signature is at offset 48")]
    Ed25519WrongSignatureOffset = 509,
    #[msg("the signature is in the Ed25519 instruction itself")]
    Ed25519WrongSignatureIndex = 510,
    #[msg("the public key is at offset 16")]
    Ed25519WrongKeyOffset = 511,
    #[msg("the public key is in the Ed25519 instruction itself")]
    Ed25519WrongKeyIndex = 512,
    #[msg("the message is at offset 112")]
    Ed25519WrongMessageOffset = 513,
    #[msg("the message is 71 bytes long")]
    Ed25519WrongMessageSize = 514,
    #[msg("the message is in the Ed25519 instruction itself")]
    Ed25519WrongMessageIndex = 515,
    #[msg("signed by another key than the execution's result key")]
    Ed25519WrongKey = 516,
    #[msg("the signed message is not the result hash")]
    Ed25519WrongMessage = 517,

    // Grants.
    #[msg("the grant is revoked")]
    GrantRevoked = 600,
    #[msg("the grant has expired")]
    GrantExpired = 601,
    #[msg("the price is above the grant's cap per call")]
    PerCallCapExceeded = 602,
    #[msg("the grant's total cap is used up")]
    TotalCapExceeded = 603,
    #[msg("the grant does not allow this agent")]
    AgentNotAllowed = 604,
    #[msg("a grant is limited to at most 8 agents")]
    TooManyAllowedAgents = 605,
    #[msg("a grant expires in the future")]
    GrantExpiryPast = 606,
    #[msg("caps are at least one base unit")]
    GrantCapZero = 607,
    #[msg("the session key may not be the zero address or the wallet")]
    SessionKeyInvalid = 608,
    #[msg("the grant belongs to another wallet")]
    WrongGrantWallet = 609,

    // Disputes.
    #[msg("only a completed execution can be disputed")]
    NotDisputable = 700,
    #[msg("the dispute window is over")]
    DisputeWindowOver = 701,
    #[msg("a dispute needs the hash of its evidence")]
    EvidenceMissing = 702,
    #[msg("the evidence URI is at most 128 bytes of printable ASCII")]
    EvidenceUriInvalid = 703,
    #[msg("the dispute is not open")]
    DisputeNotOpen = 704,
    #[msg("a slash takes at most the collateral")]
    SlashAboveCollateral = 705,
    #[msg("a rejected dispute slashes nothing")]
    SlashWithoutCause = 706,
    #[msg("a resolution needs the hash of its reasons")]
    ResolutionMissing = 707,
    #[msg("a slash above the amount paid waits for the agent's other disputes")]
    PenaltyBeforeOtherClaims = 708,
    #[msg("a slash above the amount paid takes a resolver in office when the dispute was raised")]
    PenaltyByLaterResolver = 709,
    #[msg("the resolver has 30 days to decide")]
    DisputeStillDecidable = 710,
}

/// `Ok` if `holds`, else `error`. Unlike the framework's `require!` it adds no file names to the ELF.
#[inline(always)]
pub fn ensure(holds: bool, error: MarketplaceError) -> Result<()> {
    if holds { Ok(()) } else { refuse(error) }
}

/// `error` as a result, out of the hot path.
#[cold]
#[inline(never)]
pub fn refuse<T>(error: MarketplaceError) -> Result<T> {
    Err(error.into())
}

/// Turns `None` into `error`.
pub trait OrRefuse<T> {
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
