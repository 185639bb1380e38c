//! The crtx marketplace program: agents are listed against collateral, calls are paid into escrow, and
//! the escrow is released only to a creator whose Ed25519 signature over the result verifies.
#![expect(unexpected_cfgs, reason = "the framework's macros test for features and a target that are not declared here")]

use anchor_lang::prelude::*;
#[cfg(target_os = "solana")]
use solana_compiler_builtins as _;

pub mod account;
pub mod ed25519_gate;
pub mod error;
pub mod event;
mod id;
pub mod instructions;
pub mod state;
pub mod token;

pub use id::{EVENT_AUTHORITY_AND_BUMP, ID, ID_CONST, check_id, id};
use instructions::*;

// Says where to report a vulnerability, for readers who find the program on chain. Repository, revision and contacts change
// without an upgrade in the account `security` of the Program Metadata program, which explorers read first.
#[cfg(target_os = "solana")]
solana_security_txt::security_txt! {
    name: "crtx agent marketplace",
    project_url: "crtx",
    contacts: "other:the account `security` of this program in the Program Metadata program \
               (ProgM6JCCvbYkfKqJYHePx4xxSUSqJp7rh8Lyv7nk7S)",
    policy: "Report in private first, to the contacts. Test on your own validator or on devnet, with your own accounts and \
             money. We confirm a report within 3 days and publish it when the correction works on chain, at the latest \
             after 90 days. Who acts in good faith under these rules meets no legal steps from us. We do not pay a bug \
             bounty. The whole policy is SECURITY.md of the source.",
    preferred_languages: "en",
    source_release: concat!("v", env!("CARGO_PKG_VERSION")),
    source_revision: concat!("sha256-of-sources:", include_str!("../artifacts/source_sha256")),
    auditors: "None"
}

/// The entry points. Dispatch compares them in this order, so the most frequent ones come first.
#[program]
pub mod agent_marketplace {
    use super::*;

    /// An API key pays a call from its wallet into escrow.
    pub fn open_execution_with_grant(ctx: Context<OpenExecutionWithGrant>, args: OpenExecutionArgs) -> Result<()> {
        instructions::open_execution_with_grant::handler(ctx, args)
    }

    /// A wallet pays a call into escrow.
    pub fn open_execution(ctx: Context<OpenExecution>, args: OpenExecutionArgs) -> Result<()> {
        instructions::open_execution::handler(ctx, args)
    }

    /// A signed result releases the escrow to creator and treasury.
    pub fn complete_execution(ctx: Context<CompleteExecution>, args: CompleteExecutionArgs) -> Result<()> {
        instructions::complete_execution::handler(ctx, args)
    }

    /// After the deadline anybody refunds the caller.
    pub fn refund_expired_execution(ctx: Context<RefundExpiredExecution>) -> Result<()> {
        instructions::refund_expired_execution::handler(ctx)
    }

    /// Creator or gateway reports a failure; the caller is refunded.
    pub fn fail_execution(ctx: Context<FailExecution>, args: FailExecutionArgs) -> Result<()> {
        instructions::fail_execution::handler(ctx, args)
    }

    /// The program's upgrade authority creates the configuration, once.
    pub fn initialize_config(ctx: Context<InitializeConfig>, args: InitializeConfigArgs) -> Result<()> {
        instructions::initialize_config::handler(ctx, args)
    }

    /// The admin changes the gateway authority or the guardian.
    pub fn update_config(ctx: Context<UpdateConfig>, args: UpdateConfigArgs) -> Result<()> {
        instructions::update_config::handler(ctx, args)
    }

    /// The admin names a successor.
    pub fn nominate_admin(ctx: Context<NominateAdmin>, args: NominateAdminArgs) -> Result<()> {
        instructions::nominate_admin::handler(ctx, args)
    }

    /// The successor takes over.
    pub fn accept_admin(ctx: Context<AcceptAdmin>) -> Result<()> {
        instructions::accept_admin::handler(ctx)
    }

    /// The admin announces another resolver, treasury owner or insurance owner.
    pub fn announce_roles(ctx: Context<AnnounceRoles>, args: AnnounceRolesArgs) -> Result<()> {
        instructions::announce_roles::handler(ctx, args)
    }

    /// Anybody puts announced roles into effect, after the delay.
    pub fn apply_roles(ctx: Context<ApplyRoles>) -> Result<()> {
        instructions::apply_roles::handler(ctx)
    }

    /// The admin announces another fee, minimum price, dispute window, grace, collateral or limit of penalties.
    pub fn announce_parameters(ctx: Context<AnnounceParameters>, args: AnnounceParametersArgs) -> Result<()> {
        instructions::announce_parameters::handler(ctx, args)
    }

    /// Anybody puts announced parameters into effect, after the delay.
    pub fn apply_parameters(ctx: Context<ApplyParameters>) -> Result<()> {
        instructions::apply_parameters::handler(ctx)
    }

    /// The admin removes the resolver.
    pub fn remove_resolver(ctx: Context<RemoveResolver>) -> Result<()> {
        instructions::remove_resolver::handler(ctx)
    }

    /// The admin stops or resumes new listings and openings; the guardian stops them.
    pub fn set_paused(ctx: Context<SetPaused>, args: SetPausedArgs) -> Result<()> {
        instructions::set_paused::handler(ctx, args)
    }

    /// The admin stops or resumes new openings of one listing; the guardian stops them.
    pub fn suspend_agent(ctx: Context<SuspendAgent>, args: SuspendAgentArgs) -> Result<()> {
        instructions::suspend_agent::handler(ctx, args)
    }

    /// The admin gives or removes the verification badge.
    pub fn verify_creator(ctx: Context<VerifyCreator>, args: VerifyCreatorArgs) -> Result<()> {
        instructions::verify_creator::handler(ctx, args)
    }

    /// A creator sets the display name.
    pub fn upsert_creator_profile<'info>(
        ctx: Context<'info, UpsertCreatorProfile<'info>>,
        args: UpsertCreatorProfileArgs,
    ) -> Result<()> {
        instructions::upsert_creator_profile::handler(ctx, args)
    }

    /// A creator lists an agent and locks its collateral.
    pub fn list_agent<'info>(ctx: Context<'info, ListAgent<'info>>, args: ListAgentArgs) -> Result<()> {
        instructions::list_agent::handler(ctx, args)
    }

    /// A creator edits an agent's terms or metadata.
    pub fn update_listing(ctx: Context<UpdateListing>, args: UpdateListingArgs) -> Result<()> {
        instructions::update_listing::handler(ctx, args)
    }

    /// A creator pauses or reactivates an agent.
    pub fn set_agent_status(ctx: Context<SetAgentStatus>, args: SetAgentStatusArgs) -> Result<()> {
        instructions::set_agent_status::handler(ctx, args)
    }

    /// A creator adds collateral.
    pub fn deposit_collateral(ctx: Context<DepositCollateral>, args: DepositCollateralArgs) -> Result<()> {
        instructions::deposit_collateral::handler(ctx, args)
    }

    /// A creator removes an agent from the market permanently.
    pub fn delist_agent(ctx: Context<DelistAgent>) -> Result<()> {
        instructions::delist_agent::handler(ctx)
    }

    /// A creator withdraws the collateral of a delisted agent.
    pub fn withdraw_collateral(ctx: Context<WithdrawCollateral>) -> Result<()> {
        instructions::withdraw_collateral::handler(ctx)
    }

    /// A creator closes a delisted agent's accounts.
    pub fn close_agent<'info>(ctx: Context<'info, CloseAgent<'info>>) -> Result<()> {
        instructions::close_agent::handler(ctx)
    }

    /// A wallet lets a session key spend its USDC within limits.
    pub fn grant_spending<'info>(ctx: Context<'info, GrantSpending<'info>>, args: GrantSpendingArgs) -> Result<()> {
        instructions::grant_spending::handler(ctx, args)
    }

    /// A wallet ends a grant.
    pub fn revoke_spending(ctx: Context<RevokeSpending>) -> Result<()> {
        instructions::revoke_spending::handler(ctx)
    }

    /// A caller disputes a completed execution.
    pub fn open_dispute(ctx: Context<OpenDispute>, args: OpenDisputeArgs) -> Result<()> {
        instructions::open_dispute::handler(ctx, args)
    }

    /// The creator answers a dispute.
    pub fn answer_dispute(ctx: Context<AnswerDispute>, args: AnswerDisputeArgs) -> Result<()> {
        instructions::answer_dispute::handler(ctx, args)
    }

    /// A caller gives a dispute up.
    pub fn cancel_dispute(ctx: Context<CancelDispute>) -> Result<()> {
        instructions::cancel_dispute::handler(ctx)
    }

    /// The resolver decides a dispute.
    pub fn resolve_dispute(ctx: Context<ResolveDispute>, args: ResolveDisputeArgs) -> Result<()> {
        instructions::resolve_dispute::handler(ctx, args)
    }

    /// Anybody ends a dispute that was not decided in time.
    pub fn expire_dispute(ctx: Context<ExpireDispute>) -> Result<()> {
        instructions::expire_dispute::handler(ctx)
    }

    /// Anybody closes a finished record; its rent returns to who paid it.
    pub fn close_execution<'info>(ctx: Context<'info, CloseExecution<'info>>) -> Result<()> {
        instructions::close_execution::handler(ctx)
    }
}
