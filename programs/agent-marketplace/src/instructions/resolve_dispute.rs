//! `resolve_dispute`: the resolver decides; a slash compensates the caller first.

use anchor_lang::prelude::*;

use super::shared::{collateral::check_vault, dispute, vault::Vault};
use crate::{
    account,
    error::{MarketplaceError, OrRefuse, ensure},
    state::{AgentListed, AgentStatus, Config, Dispute, DisputeOutcome, ExecutionRecord, ExecutionStatus},
    token,
};

#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug)]
pub struct ResolveDisputeArgs {
    /// `true`: the caller was right.
    pub upheld: bool,
    /// USDC base units taken from the collateral; 0 when rejected.
    pub slash: u64,
    /// SHA-256 of the resolver's reasons.
    pub resolution_hash: [u8; 32],
}

#[derive(Accounts)]
pub struct ResolveDispute<'info> {
    pub resolver: Signer<'info>,
    pub config: AccountLoader<'info, Config>,
    #[account(mut)]
    pub agent: AccountLoader<'info, AgentListed>,
    #[account(mut)]
    pub record: AccountLoader<'info, ExecutionRecord>,
    #[account(mut)]
    pub dispute: AccountLoader<'info, Dispute>,
    /// CHECK: by address, against the listing's bump.
    #[account(mut)]
    pub collateral_vault: UncheckedAccount<'info>,
    /// CHECK: mint, owner and state are read from its bytes; the wallet's associated account.
    #[account(mut)]
    pub caller_token: UncheckedAccount<'info>,
    /// CHECK: receives the rest of a slash, which is a penalty; mint, owner and state are read from its bytes.
    #[account(mut)]
    pub insurance_token: UncheckedAccount<'info>,
    /// CHECK: by address, against the configuration.
    pub usdc_mint: UncheckedAccount<'info>,
    /// CHECK: by address.
    #[account(address = token::TOKEN_PROGRAM_ID @ MarketplaceError::WrongTokenProgram)]
    pub token_program: UncheckedAccount<'info>,
}

impl ResolveDispute<'_> {
    fn validate(&self, args: &ResolveDisputeArgs, now_unix_s: i64) -> Result<()> {
        let (config, agent, record) = (self.config.load()?, self.agent.load()?, self.record.load()?);
        ensure(config.resolver == *self.resolver.key, MarketplaceError::NotResolver)?;
        ensure(config.usdc_mint == *self.usdc_mint.key, MarketplaceError::WrongMint)?;
        dispute::check_open(&self.agent, &self.record, &self.dispute)?;
        Dispute::check_resolution_hash(&args.resolution_hash)?;
        if args.upheld {
            self.dispute.load()?.check_answered(now_unix_s)?;
        }
        Dispute::check_slash(args.upheld, args.slash)?;
        ensure(args.slash <= agent.collateral, MarketplaceError::SlashAboveCollateral)?;
        let left = agent.uncovered_collateral()?.checked_add(self.dispute.load()?.covered_amount);
        ensure(args.slash <= left.or_refuse(MarketplaceError::OutOfRange)?, MarketplaceError::SlashBeforeOtherClaims)?;
        self.check_penalty(args, &config, &agent, &record)?;
        check_vault(&self.collateral_vault, self.agent.as_ref().key, &agent)?;
        self.check_payees(args, &config, &record)
    }

    /// A slash above what the caller paid is a penalty. It has the limit that was fixed at opening, and it leaves what
    /// others claim of the same collateral. It is refused for a dispute that was raised under a former resolver: a
    /// creator who delisted on the announcement of this one risks only what the calls cost.
    fn check_penalty(
        &self,
        args: &ResolveDisputeArgs,
        config: &Config,
        agent: &AgentListed,
        record: &ExecutionRecord,
    ) -> Result<()> {
        let penalty = args.slash > record.amount;
        let limit = record.highest_slash().or_refuse(MarketplaceError::OutOfRange)?;
        ensure(args.slash <= limit, MarketplaceError::PenaltyAboveLimit)?;
        let others = agent.disputed_amount.checked_sub(record.amount).or_refuse(MarketplaceError::OutOfRange)?;
        let left = agent.collateral.checked_sub(args.slash).or_refuse(MarketplaceError::OutOfRange)?;
        ensure(!penalty || left >= others, MarketplaceError::PenaltyBeforeOtherClaims)?;
        let raised_before = self.dispute.load()?.raised_at_unix_s < config.resolver_since_unix_s;
        ensure(!penalty || !raised_before, MarketplaceError::PenaltyByLaterResolver)
    }

    /// Checks only accounts that are paid, so nobody blocks a decision by closing or freezing an account that
    /// receives nothing.
    fn check_payees(&self, args: &ResolveDisputeArgs, config: &Config, record: &ExecutionRecord) -> Result<()> {
        if args.slash > 0 {
            token::check_account(&self.caller_token, &config.usdc_mint, &record.caller)?;
            let associated = token::is_associated(self.caller_token.key, &record.caller, &config.usdc_mint);
            ensure(associated, MarketplaceError::RefundElsewhere)?;
        }
        if args.slash > record.amount {
            token::check_account(&self.insurance_token, &config.usdc_mint, &config.insurance_owner)?;
        }
        Ok(())
    }

    /// Writes the decision; returns what the caller receives of the slash.
    fn decide(&self, args: &ResolveDisputeArgs, now_unix_s: i64) -> Result<u64> {
        let mut record = self.record.load_mut()?;
        let compensation = args.slash.min(record.amount);
        let (status, outcome) = if args.upheld {
            (ExecutionStatus::Overturned, DisputeOutcome::Upheld)
        } else {
            (ExecutionStatus::Completed, DisputeOutcome::Rejected)
        };
        record.status = status as u8;
        record.revision = account::next_revision(record.revision)?;

        let mut dispute = self.dispute.load_mut()?;
        dispute.outcome = outcome as u8;
        dispute.resolution_hash = args.resolution_hash;
        dispute.resolved_at_unix_s = now_unix_s;
        dispute.slash_amount = args.slash;
        dispute.compensation = compensation;
        dispute.revision = account::next_revision(dispute.revision)?;
        Ok(compensation)
    }

    fn count(&self, args: &ResolveDisputeArgs, now_unix_s: i64) -> Result<()> {
        let (amount, covered) = (self.record.load()?.amount, self.dispute.load()?.covered_amount);
        let mut agent = self.agent.load_mut()?;
        let subtract = |from: u64, amount: u64| from.checked_sub(amount).or_refuse(MarketplaceError::OutOfRange);
        dispute::release(&mut agent, amount, covered, now_unix_s)?;
        if args.upheld {
            agent.successful_executions = subtract(agent.successful_executions, 1)?;
            agent.collateral = subtract(agent.collateral, args.slash)?;
            agent.slashed_total =
                agent.slashed_total.checked_add(args.slash).or_refuse(MarketplaceError::OutOfRange)?;
            let required = self.config.load()?.parameters.required_collateral(agent.price);
            if agent.status == AgentStatus::Active as u8 && agent.free_collateral() < required {
                agent.status = AgentStatus::Paused as u8;
            }
        }
        Ok(())
    }
}

/// Rules (docs/specification.md, "Slashing"):
/// - called by the resolver, once per dispute, until the dispute expires, paused or not;
/// - rejected: the execution is completed again, nothing moves;
/// - upheld, after the creator's answer or 24 hours: the slash, at most the collateral, compensates the caller up to
///   what was paid, the rest goes to the insurance; an agent whose free collateral falls below its tier is paused;
/// - a slash leaves what the collateral covers of the agent's other open disputes, in whatever order they are decided;
/// - a slash above what was paid has a limit, leaves what the agent's other open disputes claim, and needs a resolver
///   who was in office when the dispute was raised.
pub(crate) fn handler(ctx: Context<ResolveDispute>, args: ResolveDisputeArgs) -> Result<()> {
    let accounts = &*ctx.accounts;
    let now = account::now_unix_s()?;
    accounts.validate(&args, now)?;
    let compensation = accounts.decide(&args, now)?;
    accounts.count(&args, now)?;
    let rest = args.slash.checked_sub(compensation).or_refuse(MarketplaceError::OutOfRange)?;
    let vault = Vault { agent: &accounts.agent, account: &accounts.collateral_vault, usdc_mint: &accounts.usdc_mint };
    vault.pay(&accounts.caller_token, compensation)?;
    vault.pay(&accounts.insurance_token, rest)
}
