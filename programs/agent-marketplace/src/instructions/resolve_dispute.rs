//! `resolve_dispute`: the resolver decides; a slash compensates the caller first.

use anchor_lang::prelude::*;

use super::shared::{
    collateral::check_vault,
    dispute::{self, OpenDisputeAccounts},
    text_argument,
    vault::Vault,
};
use crate::{
    account::{self, Current},
    error::{MarketplaceError, OrRefuse, ensure},
    state::{AgentListed, Config, Dispute, DisputeDecision, ExecutionRecord},
    token,
};

#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug)]
pub struct ResolveDisputeArgs {
    pub decision: DisputeDecision,
    /// USDC base units taken from the collateral; 0 unless upheld.
    pub slash: u64,
    /// SHA-256 of the resolver's reasons.
    pub resolution_hash: [u8; 32],
    /// Where the reasons are.
    #[cfg_attr(not(feature = "idl-build"), borsh(deserialize_with = "text_argument::read"))]
    pub resolution_uri: String,
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
    /// CHECK: holds the bond; by address, against the listing.
    #[account(mut)]
    pub escrow: UncheckedAccount<'info>,
    /// CHECK: receives the bond; mint, owner and state are read from its bytes; any USDC account of the caller, or of
    /// the creator if the dispute is abusive.
    #[account(mut)]
    pub bond_token: UncheckedAccount<'info>,
    /// CHECK: receives the compensation; mint, owner and state are read from its bytes; the associated account of the
    /// caller's wallet, after a week any of the wallet.
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

impl<'info> ResolveDispute<'info> {
    fn open(&self) -> OpenDisputeAccounts<'_, 'info> {
        OpenDisputeAccounts {
            agent: &self.agent,
            record: &self.record,
            dispute: &self.dispute,
            escrow: &self.escrow,
            bond_token: &self.bond_token,
            usdc_mint: &self.usdc_mint,
        }
    }

    fn validate(&self, args: &ResolveDisputeArgs, now_unix_s: i64) -> Result<()> {
        let (config, agent, record) = (self.config.read()?, self.agent.read()?, self.record.read()?);
        ensure(config.resolver == *self.resolver.key, MarketplaceError::NotResolver)?;
        ensure(record.caller != *self.resolver.key, MarketplaceError::ResolverIsRaiser)?;
        ensure(config.usdc_mint == *self.usdc_mint.key, MarketplaceError::WrongMint)?;
        let abusive = args.decision == DisputeDecision::Abusive;
        self.open().validate(if abusive { &agent.creator } else { &record.caller })?;
        let dispute = self.dispute.read()?;
        Dispute::check_resolution_hash(&args.resolution_hash)?;
        Dispute::check_evidence_uri(&args.resolution_uri)?;
        let upheld = args.decision == DisputeDecision::Upheld;
        if upheld {
            dispute.check_answered(now_unix_s)?;
        }
        Dispute::check_slash(upheld, args.slash)?;
        ensure(args.slash <= agent.collateral, MarketplaceError::SlashAboveCollateral)?;
        let left = agent.left_by_others(dispute.covered_amount)?;
        ensure(args.slash <= left, MarketplaceError::SlashBeforeOtherClaims)?;
        Self::check_penalty(args, &config, &agent, &record, &dispute)?;
        check_vault(&self.collateral_vault, self.agent.as_ref().key, &agent)?;
        self.check_payees(args, &config, &record, &dispute, now_unix_s)
    }

    /// A slash above what the caller paid is a penalty. It has the limit that was fixed at opening, and it leaves what
    /// others claim of the same collateral. It is refused for a dispute that was raised under a former resolver: a
    /// creator who delisted on the announcement of this one risks only what the calls cost.
    fn check_penalty(
        args: &ResolveDisputeArgs,
        config: &Config,
        agent: &AgentListed,
        record: &ExecutionRecord,
        dispute: &Dispute,
    ) -> Result<()> {
        let penalty = args.slash > record.amount;
        let limit = record.highest_slash().or_refuse(MarketplaceError::OutOfRange)?;
        ensure(args.slash <= limit, MarketplaceError::PenaltyAboveLimit)?;
        let others = agent.disputed_amount.checked_sub(record.amount).or_refuse(MarketplaceError::OutOfRange)?;
        let left = agent.collateral.checked_sub(args.slash).or_refuse(MarketplaceError::OutOfRange)?;
        ensure(!penalty || left >= others, MarketplaceError::PenaltyBeforeOtherClaims)?;
        let raised_before = dispute.raised_at_unix_s < config.resolver_since_unix_s;
        ensure(!penalty || !raised_before, MarketplaceError::PenaltyByLaterResolver)
    }

    /// Checks only accounts that are paid, so nobody blocks a decision by closing or freezing an account that
    /// receives nothing.
    fn check_payees(
        &self,
        args: &ResolveDisputeArgs,
        config: &Config,
        record: &ExecutionRecord,
        dispute: &Dispute,
        now_unix_s: i64,
    ) -> Result<()> {
        if args.slash > 0 {
            token::check_account(&self.caller_token, &config.usdc_mint, &record.caller)?;
            let any_after = dispute.raised_at_unix_s.checked_add(Dispute::ASSOCIATED_PAYEE_S);
            ensure(
                any_after.is_some_and(|after| now_unix_s > after)
                    || token::is_associated(self.caller_token.key, &record.caller, &config.usdc_mint),
                MarketplaceError::RefundElsewhere,
            )?;
        }
        if args.slash > record.amount {
            token::check_account(&self.insurance_token, &config.usdc_mint, &config.insurance_owner)?;
        }
        Ok(())
    }

    fn record_decision(&self, args: &ResolveDisputeArgs) -> Result<()> {
        let mut dispute = self.dispute.write()?;
        dispute.resolved_by = *self.resolver.key;
        dispute.resolution_hash = args.resolution_hash;
        Ok(dispute.set_resolution_uri(&args.resolution_uri)?)
    }

    fn take(&self, slash: u64) -> Result<()> {
        let mut agent = self.agent.write()?;
        let successful = agent.successful_executions.checked_sub(1);
        agent.successful_executions = successful.or_refuse(MarketplaceError::OutOfRange)?;
        dispute::take_collateral(&mut agent, slash, &self.config.read()?.parameters)
    }
}

/// Rules (docs/specification.md, "Slashing"):
/// - called by the resolver, once per dispute, until the dispute expires, paused or not, but not about the resolver's
///   own claim;
/// - rejected: the execution is completed again, and the caller gets the bond back; abusive: the creator gets it;
/// - upheld, after the creator's answer or 24 hours: the caller gets the bond back, and the slash, at most the
///   collateral, compensates the caller up to what was paid, the rest goes to the insurance; an agent whose free
///   collateral falls below its tier is paused;
/// - a slash leaves what the collateral covers of the agent's other open disputes, in whatever order they are decided;
/// - a slash above what was paid has a limit, leaves what the agent's other open disputes claim, and needs a resolver
///   who was in office when the dispute was raised.
pub(crate) fn handler(ctx: Context<ResolveDispute>, args: ResolveDisputeArgs) -> Result<()> {
    let accounts = &*ctx.accounts;
    let now = account::now_unix_s()?;
    accounts.validate(&args, now)?;
    accounts.record_decision(&args)?;
    let claim = accounts.open().end(args.decision.outcome(), args.slash, now)?;
    if args.decision == DisputeDecision::Upheld {
        accounts.take(args.slash)?;
    }
    let compensation = args.slash.min(claim.amount);
    let rest = args.slash.checked_sub(compensation).or_refuse(MarketplaceError::OutOfRange)?;
    let vault =
        Vault::new(accounts.agent.as_ref(), &*accounts.agent.read()?, &accounts.collateral_vault, &accounts.usdc_mint);
    vault.pay(&accounts.caller_token, compensation)?;
    vault.pay(&accounts.insurance_token, rest)?;
    accounts.open().pay_bond(&claim)
}
