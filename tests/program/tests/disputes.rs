//! Disputes from claim to slash, rejection or expiry.

use agent_marketplace::{instructions as ix, state::*};
use crtx_program_tests::*;

use MarketplaceError as E;

#[test]
fn a_caller_disputes_with_evidence() {
    let mut world = World::new();
    let execution = world.disputed();
    assert_eq!(world.status(&execution), ExecutionStatus::Disputed);
    let dispute = world.dispute(&execution);
    assert_eq!(dispute.outcome(), Some(DisputeOutcome::Open));
    assert_eq!((dispute.execution, dispute.agent), (execution.record, world.agent.address));
    assert_eq!((dispute.raised_by, dispute.rent_payer), (world.caller.key(), world.payer.key()));
    assert_eq!((dispute.evidence_hash, dispute.evidence_uri()), ([0x44; 32], Some("https://example.com/evidence")));
    assert_eq!((dispute.bond, dispute.covered_amount), (BOND, PRICE));
    let listing = world.listing(&world.agent);
    assert_eq!((listing.open_disputes, listing.disputed_executions), (1, 1));
    assert_eq!((listing.open_bonds, listing.slashable_amount), (BOND, 21 * PRICE));
}

#[test]
fn the_bond_returns_to_the_caller_unless_the_resolver_finds_the_dispute_abusive() {
    use DisputeDecision::{Abusive, Rejected, Upheld};
    for decision in [Some(Upheld), Some(Rejected), Some(Abusive), None] {
        let mut world = World::new();
        let (caller, creator) = (world.caller.token, world.agent.creator.token);
        let execution = world.completed();
        let before = (world.balance(&caller), world.balance(&creator));
        let escrow = world.listing(&world.agent).escrow;
        let dispute = world.open_dispute(&execution);
        world.must(&[dispute], &[&execution.caller.keypair]);
        assert_eq!((world.balance(&caller), world.balance(&escrow)), (before.0 - BOND, BOND));
        world.answer(&execution);
        match decision {
            Some(decision) => {
                let resolve = world.resolve_with(&execution, World::resolve_args(decision, 0));
                world.must(&[resolve], &[&world.resolver.keypair.insecure_clone()]);
                let dispute = world.dispute(&execution);
                assert_eq!(dispute.resolved_by, world.resolver.key());
                assert_eq!(dispute.resolution_uri(), Some("https://example.com/reasons"));
                assert_eq!(dispute.outcome(), Some(decision.outcome()));
            }
            None => {
                world.set_time(START_UNIX_S + Dispute::LIMIT_S + 1);
                let expire = world.expire_dispute(&execution);
                world.must(&[expire], &[]);
                assert_eq!(world.dispute(&execution).resolved_by, solana_address::Address::default());
            }
        }
        let abusive = decision == Some(Abusive);
        let gets = if abusive { (before.0 - BOND, before.1 + BOND) } else { before };
        assert_eq!((world.balance(&caller), world.balance(&creator)), gets, "{decision:?}");
        let successful = u64::from(decision != Some(Upheld));
        let listing = world.listing(&world.agent);
        assert_eq!((world.balance(&escrow), listing.open_bonds, listing.successful_executions), (0, 0, successful));
    }
}

#[test]
fn the_bond_is_the_one_that_was_configured_when_the_dispute_was_raised() {
    let mut world = World::new();
    world.changed_parameters(|parameters| parameters.dispute_bond = 1);
    let bonded = world.disputed();
    world.changed_parameters(|parameters| parameters.dispute_bond = 0);
    let free = world.disputed();
    assert_eq!((world.dispute(&bonded).bond, world.dispute(&free).bond), (1, 0));
    let caller = world.balance(&world.caller.token);
    // Without a bond the account for it is not looked at.
    let nobody = world.stranger.key();
    let resolve = forged(world.resolve_dispute(&free, false, 0), &[("bond_token", nobody)]);
    world.must(&[resolve], &[&world.resolver.keypair.insecure_clone()]);
    assert_eq!(world.balance(&world.caller.token), caller);
    assert_ok(world.resolve(&bonded, false, 0));
    assert_eq!(world.balance(&world.caller.token), caller + 1);
}

#[test]
fn a_caller_without_the_bond_raises_no_dispute() {
    let mut world = World::new();
    let execution = world.completed();
    let caller = world.caller.clone();
    let poor = world.new_token_account(&caller.key(), BOND - 1);
    let dispute = forged(world.open_dispute(&execution), &[("caller_token", poor)]);
    const INSUFFICIENT_FUNDS: u32 = 1;
    assert_custom_at(world.send(&[dispute], &[&caller.keypair]), 0, INSUFFICIENT_FUNDS);
    assert_eq!(world.status(&execution), ExecutionStatus::Completed);
}

#[test]
fn a_caller_cancels_a_dispute_once_and_has_the_bond_back() {
    let mut world = World::new();
    let execution = world.answered();
    let caller = world.caller.clone();
    let before = world.balance(&caller.token);
    let cancel = world.cancel_dispute(&execution);
    for who in [world.stranger.clone(), world.resolver.clone(), world.agent.creator.clone()] {
        refused(&mut world, signed_by(cancel.clone(), &who), &[&who.keypair], E::NotCaller);
    }
    world.must(std::slice::from_ref(&cancel), &[&caller.keypair]);
    assert_eq!(world.balance(&caller.token), before + BOND);
    assert_eq!(world.status(&execution), ExecutionStatus::Completed);
    assert_eq!(world.outcome(&execution), DisputeOutcome::Cancelled);
    let listing = world.listing(&world.agent);
    let open = (listing.open_disputes, listing.disputed_amount, listing.covered_amount, listing.slashable_amount);
    assert_eq!((open, listing.successful_executions), ((0, 0, 0, 0), 1));
    refused(&mut world, cancel, &[&caller.keypair], E::DisputeNotOpen);
    let again = world.open_dispute(&execution);
    refused(&mut world, again, &[&caller.keypair], E::NotDisputable);
}

#[test]
fn a_cancellation_with_wrong_accounts_is_refused() {
    let mut world = World::new();
    let (execution, second) = (world.disputed(), world.disputed());
    let other = world.listed();
    let other_mint = world.new_key().pubkey();
    world.put_mint(other_mint, 0);
    let frozen = world.new_token_account(&world.caller.key(), 0);
    world.freeze(&frozen);
    let cases = [
        ("agent", other.address, E::WrongAgent),
        ("dispute", world.addresses.dispute(&second.record), E::WrongDispute),
        ("escrow", world.addresses.escrow(&other.address), E::WrongEscrow),
        ("caller_token", world.stranger.token, E::TokenOwnerMismatch),
        ("caller_token", frozen, E::TokenAccountUnusable),
        ("usdc_mint", other_mint, E::WrongMint),
        ("token_program", PROGRAM_ID, E::WrongTokenProgram),
    ];
    let cancel = world.cancel_dispute(&execution);
    refused_with(&mut world, &cancel, &[&execution.caller.keypair.insecure_clone()], &cases);
}

#[test]
fn nobody_decides_the_own_claim() {
    let mut world = World::new();
    let execution = world.answered();
    world.tamper_state::<Config>(&world.addresses.config(), |config| config.resolver = execution.caller.key());
    for upheld in [true, false] {
        let resolve = forged(world.resolve_dispute(&execution, upheld, 0), &[("resolver", execution.caller.key())]);
        refused(&mut world, resolve, &[&execution.caller.keypair], E::ResolverIsRaiser);
    }
}

#[test]
fn a_compensation_goes_to_any_account_of_the_wallet_after_a_week() {
    for (offset, anywhere) in [(0, false), (1, true)] {
        let mut world = World::new();
        let execution = world.answered();
        let caller = world.caller.key();
        let elsewhere = world.new_token_account(&caller, 0);
        world.set_time(START_UNIX_S + 7 * 86_400 + offset);
        let resolve = forged(world.resolve_dispute(&execution, true, PRICE), &[("caller_token", elsewhere)]);
        let resolver = world.resolver.keypair.insecure_clone();
        if anywhere {
            world.must(&[resolve], &[&resolver]);
            assert_eq!(world.balance(&elsewhere), PRICE);
        } else {
            refused(&mut world, resolve, &[&resolver], E::RefundElsewhere);
        }
    }
}

#[test]
fn a_dispute_that_nobody_could_decide_ends_in_compensation() {
    let mut world = World::new();
    let agent = world.agent.clone();
    world.tamper_state::<AgentListed>(&agent.address, |listing| listing.collateral = PRICE + 1);
    let (whole, rest) = (world.disputed(), world.disputed());
    let remove = world.remove_resolver();
    world.must(&[remove], &[&world.admin.keypair.insecure_clone()]);
    world.set_time(START_UNIX_S + Dispute::LIMIT_S + 1);
    let before = world.balance(&world.caller.token);
    let expire = world.expire_dispute(&whole);
    let cases = [
        ("collateral_vault", world.listing(&agent).escrow, E::WrongCollateralVault),
        ("caller_token", world.stranger.token, E::TokenOwnerMismatch),
    ];
    refused_with(&mut world, &expire, &[], &cases);
    let expire = [expire, world.expire_dispute(&rest)];
    world.must(&expire, &[]);
    assert_eq!(world.balance(&world.caller.token), before + 2 * BOND + PRICE + 1);
    for (execution, compensation) in [(&whole, PRICE), (&rest, 1)] {
        let dispute = world.dispute(execution);
        assert_eq!((dispute.slash_amount, dispute.compensation), (compensation, compensation));
        assert_eq!(dispute.outcome(), Some(DisputeOutcome::Expired));
        assert_eq!(world.status(execution), ExecutionStatus::Completed);
    }
    let listing = world.listing(&agent);
    assert_eq!((listing.collateral, listing.slashed_total, listing.successful_executions), (0, PRICE + 1, 2));
    assert_eq!(listing.status(), Some(AgentStatus::Paused), "below its tier");
}

#[test]
fn disputes_by_strangers_without_evidence_or_with_wrong_accounts_are_refused() {
    let mut world = World::new();
    let execution = world.completed();
    let caller = execution.caller.keypair.insecure_clone();
    let stranger = world.stranger.clone();
    let dispute = world.open_dispute(&execution);
    let by_stranger = forged(dispute.clone(), &[("caller", stranger.key())]);
    refused(&mut world, by_stranger, &[&stranger.keypair], E::NotCaller);

    let good = world.dispute_args();
    let uri = |uri: &str| ix::OpenDisputeArgs { evidence_uri: uri.to_owned(), ..good.clone() };
    for (args, error) in [
        (ix::OpenDisputeArgs { evidence_hash: [0; 32], ..good.clone() }, E::EvidenceMissing),
        (uri(""), E::EvidenceUriInvalid),
        (uri(&"x".repeat(129)), E::EvidenceUriInvalid),
        (uri("a b"), E::EvidenceUriInvalid),
    ] {
        let dispute = world.open_dispute_with(&execution, args);
        refused(&mut world, dispute, &[&caller], error);
    }
    let other = world.listed();
    let elsewhere = world.addresses.dispute(&other.address);
    let cases = [
        ("agent", other.address, E::WrongAgent),
        ("dispute", elsewhere, E::WrongAddress),
        ("escrow", world.addresses.escrow(&other.address), E::WrongEscrow),
        ("caller_token", world.stranger.token, E::TokenOwnerMismatch),
        ("usdc_mint", other.address, E::WrongMint),
        ("token_program", PROGRAM_ID, E::WrongTokenProgram),
        ("system_program", PROGRAM_ID, E::WrongSystemProgram),
    ];
    refused_with(&mut world, &dispute, &[&caller], &cases);
    let dispute = world.open_dispute_with(&execution, uri(&"x".repeat(128)));
    world.must(&[dispute], &[&caller]);
}

#[test]
fn only_a_completed_execution_is_disputed_and_only_once() {
    let mut world = World::new();
    let caller = world.caller.keypair.insecure_clone();
    let open = world.opened();
    let failed = world.opened();
    assert_ok(world.fail(&failed));
    let (disputed, rejected, upheld) = (world.disputed(), world.disputed(), world.disputed());
    assert_ok(world.resolve(&rejected, false, 0));
    assert_ok(world.uphold(&upheld, 0));
    for execution in [open, failed, disputed, rejected, upheld] {
        let dispute = world.open_dispute(&execution);
        refused(&mut world, dispute, &[&caller], E::NotDisputable);
    }
}

#[test]
fn a_dispute_is_raised_until_the_last_second_of_the_window() {
    for (offset, raised) in [(-1, true), (0, true), (1, false)] {
        let mut world = World::new();
        let execution = world.completed();
        world.set_time(world.dispute_deadline(&execution) + offset);
        let dispute = world.open_dispute(&execution);
        let caller = execution.caller.keypair.insecure_clone();
        if raised {
            world.must(&[dispute], &[&caller]);
        } else {
            refused(&mut world, dispute, &[&caller], E::DisputeWindowOver);
        }
    }
}

#[test]
fn a_prefunded_dispute_address_does_not_block_the_dispute() {
    let mut world = World::new();
    let execution = world.completed();
    let address = world.addresses.dispute(&execution.record);
    world.svm.airdrop(&address, 5_000_000).expect("an airdrop");
    let dispute = world.open_dispute(&execution);
    world.must(&[dispute], &[&execution.caller.keypair]);
    assert_eq!(world.outcome(&execution), DisputeOutcome::Open);
}

#[test]
fn a_rejected_dispute_leaves_the_execution_completed_and_moves_nothing_but_the_bond() {
    let mut world = World::new();
    let execution = world.completed();
    let balances = world.token_balances();
    let dispute = world.open_dispute(&execution);
    world.must(&[dispute], &[&execution.caller.keypair]);
    assert_ok(world.resolve(&execution, false, 0));
    assert_eq!(world.token_balances(), balances);
    assert_eq!(world.status(&execution), ExecutionStatus::Completed);
    assert_eq!(world.outcome(&execution), DisputeOutcome::Rejected);
    let listing = world.listing(&world.agent);
    assert_eq!((listing.open_disputes, listing.disputed_executions, listing.successful_executions), (0, 1, 1));
}

#[test]
fn an_upheld_dispute_compensates_the_caller_first_and_the_insurance_after() {
    for (slash, compensation) in [(PRICE - 1, PRICE - 1), (PRICE, PRICE), (PRICE + 7, PRICE), (21 * PRICE, PRICE)] {
        let mut world = World::new();
        let execution = world.disputed();
        let (caller, treasury) = (world.balance(&world.caller.token), world.balance(&world.treasury.token));
        assert_ok(world.uphold(&execution, slash));
        assert_eq!(world.balance(&world.caller.token), caller + BOND + compensation);
        assert_eq!(world.balance(&world.insurance.token), PURSE + slash - compensation);
        assert_eq!(world.balance(&world.treasury.token), treasury, "the treasury earns nothing from a penalty");
        assert_eq!(world.status(&execution), ExecutionStatus::Overturned);
        let dispute = world.dispute(&execution);
        assert_eq!((dispute.slash_amount, dispute.compensation), (slash, compensation));
        assert_eq!(dispute.outcome(), Some(DisputeOutcome::Upheld));
        let listing = world.listing(&world.agent);
        assert_eq!((listing.collateral, listing.slashed_total), (COLLATERAL - slash, slash));
        assert_eq!((listing.successful_executions, listing.completed_executions), (0, 1));
        assert_eq!(listing.status(), Some(AgentStatus::Paused), "below its tier");
    }
}

#[test]
fn an_agent_that_keeps_its_tier_stays_active() {
    let mut world = World::new();
    let agent = world.agent.clone();
    let deposit = world.deposit_collateral(&agent, PRICE);
    world.must(&[deposit], &[&agent.creator.keypair]);
    let execution = world.disputed();
    assert_ok(world.uphold(&execution, PRICE));
    assert_eq!(world.listing(&agent).status(), Some(AgentStatus::Active));
}

#[test]
fn a_slashed_agent_comes_back_after_topping_up() {
    let mut world = World::new();
    let agent = world.agent.clone();
    let execution = world.disputed();
    assert_ok(world.uphold(&execution, 1));
    let activate = world.set_agent_status(&agent, AgentStatus::Active);
    refused(&mut world, activate.clone(), &[&agent.creator.keypair], E::CollateralTooLow);
    let deposit = world.deposit_collateral(&agent, 1);
    world.must(&[deposit, activate], &[&agent.creator.keypair]);
    assert_eq!(world.listing(&agent).status(), Some(AgentStatus::Active));
}

#[test]
fn a_slash_on_a_delisted_agent_leaves_it_delisted() {
    let mut world = World::new();
    let agent = world.agent.clone();
    let execution = world.disputed();
    let delist = world.delist_agent(&agent);
    world.must(&[delist], &[&agent.creator.keypair]);
    assert_ok(world.uphold(&execution, 21 * PRICE));
    let listing = world.listing(&agent);
    assert_eq!((listing.status(), listing.collateral), (Some(AgentStatus::Delisted), COLLATERAL - 21 * PRICE));
}

#[test]
fn decisions_beyond_their_limits_are_refused() {
    let mut world = World::new();
    let execution = world.answered();
    let resolver = world.resolver.keypair.insecure_clone();
    let above = world.resolve_dispute(&execution, true, COLLATERAL + 1);
    refused(&mut world, above, &[&resolver], E::SlashAboveCollateral);
    let above_limit = world.resolve_dispute(&execution, true, 21 * PRICE + 1);
    refused(&mut world, above_limit, &[&resolver], E::PenaltyAboveLimit);
    let without_cause = world.resolve_dispute(&execution, false, 1);
    refused(&mut world, without_cause, &[&resolver], E::SlashWithoutCause);
    let good = World::resolve_args(DisputeDecision::Upheld, 1);
    let nowhere = ix::ResolveDisputeArgs { resolution_uri: String::new(), ..good.clone() };
    let unreasoned = ix::ResolveDisputeArgs { resolution_hash: [0; 32], ..good };
    for (args, error) in [(unreasoned, E::ResolutionMissing), (nowhere, E::EvidenceUriInvalid)] {
        let resolve = world.resolve_with(&execution, args);
        refused(&mut world, resolve, &[&resolver], error);
    }
    for who in [world.stranger.clone(), world.admin.clone(), world.caller.clone(), world.agent.creator.clone()] {
        let resolve = forged(world.resolve_dispute(&execution, true, 1), &[("resolver", who.key())]);
        refused(&mut world, resolve, &[&who.keypair], E::NotResolver);
    }
    assert_ok(world.resolve(&execution, true, 1));
    let again = world.resolve_dispute(&execution, true, 1);
    refused(&mut world, again, &[&resolver], E::DisputeNotOpen);
}

#[test]
fn a_decision_with_wrong_accounts_is_refused() {
    let mut world = World::new();
    let execution = world.answered();
    let second = world.disputed();
    let other = world.listed();
    let other_mint = world.new_key().pubkey();
    world.put_mint(other_mint, 0);
    let (other_vault, escrow) =
        (world.addresses.collateral(&other.address), world.addresses.escrow(&world.agent.address));
    let second_dispute = world.addresses.dispute(&second.record);
    let (stranger_token, caller) = (world.stranger.token, world.caller.key());
    let frozen = world.new_token_account(&caller, 0);
    world.freeze(&frozen);
    let insurance = world.insurance.key();
    let frozen_insurance = world.new_token_account(&insurance, 0);
    world.freeze(&frozen_insurance);
    let not_looked_at = world.new_token_account(&caller, 0);
    let treasury_token = world.treasury.token;
    let cases = [
        ("dispute", second_dispute, E::WrongDispute),
        ("agent", other.address, E::WrongAgent),
        ("collateral_vault", other_vault, E::WrongCollateralVault),
        ("collateral_vault", escrow, E::WrongCollateralVault),
        ("usdc_mint", other_mint, E::WrongMint),
        ("escrow", other_vault, E::WrongEscrow),
        ("bond_token", stranger_token, E::TokenOwnerMismatch),
        ("bond_token", frozen, E::TokenAccountUnusable),
        ("caller_token", stranger_token, E::TokenOwnerMismatch),
        ("caller_token", frozen, E::TokenAccountUnusable),
        ("caller_token", not_looked_at, E::RefundElsewhere),
        ("insurance_token", stranger_token, E::TokenOwnerMismatch),
        ("insurance_token", treasury_token, E::TokenOwnerMismatch),
        ("insurance_token", frozen_insurance, E::TokenAccountUnusable),
        ("token_program", PROGRAM_ID, E::WrongTokenProgram),
    ];
    let resolver = world.resolver.keypair.insecure_clone();
    let resolve = world.resolve_dispute(&execution, true, PRICE + 1);
    refused_with(&mut world, &resolve, &[&resolver], &cases);
}

#[test]
fn an_account_that_receives_nothing_does_not_block_a_decision() {
    let mut world = World::new();
    let (rejected, upheld) = (world.disputed(), world.answered());
    // The bond goes to any account of the wallet, and anybody can make one.
    let bond_token = world.new_token_account(&world.caller.key(), 0);
    for token in [world.caller.token, world.insurance.token, world.treasury.token] {
        world.freeze(&token);
    }
    let resolver = world.resolver.keypair.insecure_clone();
    for resolve in [world.resolve_dispute(&rejected, false, 0), world.resolve_dispute(&upheld, true, 0)] {
        world.must(&[forged(resolve, &[("bond_token", bond_token)])], &[&resolver]);
    }
    assert_eq!(world.balance(&bond_token), 2 * BOND);
}

/// A world whose agent's calls cost the highest price of its tier, so that one limit of penalties is above the whole
/// collateral: 101 × 0.10 USDC of 10 USDC.
fn with_penalties_up_to_the_collateral() -> World {
    let mut world = World::new();
    let agent = world.agent.clone();
    let price = world.update_listing(&agent, ix::UpdateListingArgs { price: Some(100_000), ..Default::default() });
    world.must(&[price], &[&agent.creator.keypair]);
    world.changed_parameters(|parameters| parameters.max_penalty_multiple = 100);
    world
}

#[test]
fn a_slash_above_the_amount_paid_leaves_what_the_agents_other_disputes_claim() {
    let mut world = with_penalties_up_to_the_collateral();
    let price = 100_000;
    let (first, second, third) = (world.answered(), world.answered(), world.answered());
    assert_eq!(world.listing(&world.agent).disputed_amount, 3 * price);
    let resolver = world.resolver.keypair.insecure_clone();
    let beyond = world.resolve_dispute(&first, true, COLLATERAL - 2 * price + 1);
    refused(&mut world, beyond, &[&resolver], E::SlashBeforeOtherClaims);
    let caller = world.balance(&world.caller.token);
    assert_ok(world.resolve(&first, true, COLLATERAL - 2 * price));
    // Compensations need no cover: they are what is claimed.
    assert_ok(world.resolve(&second, true, price));
    assert_ok(world.resolve(&third, true, price));
    assert_eq!(world.balance(&world.caller.token), caller + 3 * (price + BOND), "every caller was compensated");
    assert_eq!(world.balance(&world.insurance.token), PURSE + COLLATERAL - 3 * price);
    let listing = world.listing(&world.agent);
    assert_eq!((listing.collateral, listing.disputed_amount, listing.open_disputes), (0, 0, 0));
}

/// An agent with victims whose claims are open, and a dearer call of a puppet that its creator dispute in front of them.
#[test]
fn earlier_claims_keep_their_cover_in_whatever_order_disputes_are_decided() {
    for puppet_first in [true, false] {
        let mut world = World::new();
        let agent = world.agent.clone();
        let dear = 5 * USDC;
        world.tamper_state::<AgentListed>(&agent.address, |listing| listing.price = dear);
        let puppets = world.completed();
        let cheap = world.update_listing(&agent, ix::UpdateListingArgs { price: Some(100_000), ..Default::default() });
        world.must(&[cheap], &[&agent.creator.keypair]);
        let collateral = 4 * USDC + 500_000;
        world.tamper_state::<AgentListed>(&agent.address, |listing| listing.collateral = collateral);
        let victims: Vec<Execution> = (0..40).map(|_| world.answered()).collect();
        let dispute = world.open_dispute(&puppets);
        world.must(&[dispute], &[&puppets.caller.keypair]);
        world.answer(&puppets);
        assert_eq!(
            (world.dispute(&victims[39]).covered_amount, world.dispute(&puppets).covered_amount),
            (100_000, 500_000)
        );
        let caller = world.balance(&world.caller.token);
        let resolver = world.resolver.keypair.insecure_clone();
        let decide_puppets = |world: &mut World| {
            let whole = world.resolve_dispute(&puppets, true, 500_001);
            let error = if puppet_first { E::SlashBeforeOtherClaims } else { E::SlashAboveCollateral };
            refused(world, whole, &[&resolver], error);
            assert_ok(world.resolve(&puppets, true, 500_000));
        };
        if puppet_first {
            decide_puppets(&mut world);
        }
        for victim in &victims {
            assert_ok(world.resolve(victim, true, 100_000));
        }
        if !puppet_first {
            decide_puppets(&mut world);
        }
        assert_eq!(world.balance(&world.caller.token), caller + collateral + 41 * BOND);
        let listing = world.listing(&agent);
        assert_eq!((listing.collateral, listing.covered_amount, listing.disputed_amount), (0, 0, 0));
    }
}

#[test]
fn what_an_ended_dispute_had_of_the_collateral_is_free_for_later_ones() {
    let mut world = World::new();
    let agent = world.agent.clone();
    world.tamper_state::<AgentListed>(&agent.address, |listing| listing.collateral = PRICE);
    let (first, second) = (world.answered(), world.answered());
    assert_eq!((world.dispute(&first).covered_amount, world.dispute(&second).covered_amount), (PRICE, 0));
    let resolver = world.resolver.keypair.insecure_clone();
    let early = world.resolve_dispute(&second, true, 1);
    refused(&mut world, early, &[&resolver], E::SlashBeforeOtherClaims);
    assert_ok(world.resolve(&first, false, 0));
    assert_ok(world.resolve(&second, true, PRICE));
    assert_eq!(world.listing(&agent).collateral, 0);
}

#[test]
fn the_price_does_not_rise_while_disputes_are_open() {
    let mut world = World::new();
    let agent = world.agent.clone();
    let execution = world.disputed();
    let edit = |price| ix::UpdateListingArgs { price: Some(price), ..Default::default() };
    let (rise, fall) = (world.update_listing(&agent, edit(PRICE + 1)), world.update_listing(&agent, edit(PRICE - 1)));
    refused(&mut world, rise.clone(), &[&agent.creator.keypair], E::PriceRiseWhileDisputed);
    world.must(&[fall], &[&agent.creator.keypair]);
    assert_ok(world.resolve(&execution, false, 0));
    world.must(&[rise], &[&agent.creator.keypair]);
}

#[test]
fn claimed_collateral_counts_for_no_tier() {
    let mut world = World::new();
    let agent = world.agent.clone();
    let (open, decided) = (world.disputed(), world.answered());
    let pause = world.set_agent_status(&agent, AgentStatus::Paused);
    let activate = world.set_agent_status(&agent, AgentStatus::Active);
    world.must(&[pause], &[&agent.creator.keypair]);
    refused(&mut world, activate.clone(), &[&agent.creator.keypair], E::CollateralTooLow);
    let deposit = world.deposit_collateral(&agent, 2 * PRICE);
    world.must(&[deposit, activate], &[&agent.creator.keypair]);
    // The slash leaves the collateral of the tier, but a part of it is claimed.
    assert_ok(world.resolve(&decided, true, 2 * PRICE));
    assert_eq!(
        (world.listing(&agent).collateral, world.listing(&agent).status()),
        (COLLATERAL, Some(AgentStatus::Paused))
    );
    assert_eq!(world.status(&open), ExecutionStatus::Disputed);
}

#[test]
fn a_penalty_leaves_also_what_the_collateral_did_not_cover_when_it_was_claimed() {
    let mut world = with_penalties_up_to_the_collateral();
    let agent = world.agent.clone();
    let price = 100_000;
    world.tamper_state::<AgentListed>(&agent.address, |listing| listing.collateral = price);
    let (first, second, third) = (world.answered(), world.answered(), world.answered());
    let deposit = world.deposit_collateral(&agent, 2 * price);
    world.must(&[deposit], &[&agent.creator.keypair]);
    let resolver = world.resolver.keypair.insecure_clone();
    let penalty = world.resolve_dispute(&first, true, price + 1);
    refused(&mut world, penalty, &[&resolver], E::PenaltyBeforeOtherClaims);
    for execution in [&first, &second, &third] {
        assert_ok(world.resolve(execution, true, price));
    }
    assert_eq!(world.listing(&agent).collateral, 0);
}

#[test]
fn a_dispute_that_ends_leaves_the_sum_of_claims() {
    let mut world = World::new();
    let (rejected, expired, upheld) = (world.disputed(), world.disputed(), world.disputed());
    assert_eq!(world.listing(&world.agent).disputed_amount, 3 * PRICE);
    assert_ok(world.resolve(&rejected, false, 0));
    assert_eq!(world.listing(&world.agent).disputed_amount, 2 * PRICE);
    assert_ok(world.uphold(&upheld, PRICE));
    assert_eq!(world.listing(&world.agent).disputed_amount, PRICE);
    world.set_time(START_UNIX_S + Dispute::LIMIT_S + 1);
    let expire = world.expire_dispute(&expired);
    world.must(&[expire], &[]);
    assert_eq!(world.listing(&world.agent).disputed_amount, 0);
}

#[test]
fn the_limit_of_penalties_is_the_one_of_the_opening() {
    let mut world = World::new();
    world.announced_parameters(|parameters| parameters.max_penalty_multiple = 1);
    let before = world.opened();
    world.applied_parameters();
    let after = world.opened();
    let resolver = world.resolver.keypair.insecure_clone();
    for (execution, highest) in [(before, 21 * PRICE), (after, 2 * PRICE)] {
        assert_ok(world.complete(&execution));
        let dispute = world.open_dispute(&execution);
        world.must(&[dispute], &[&execution.caller.keypair]);
        world.answer(&execution);
        let above = world.resolve_dispute(&execution, true, highest + 1);
        refused(&mut world, above, &[&resolver], E::PenaltyAboveLimit);
        assert_ok(world.resolve(&execution, true, highest));
    }
}

// The creator's answer.

#[test]
fn a_creator_answers_with_evidence_and_the_dispute_stays_open() {
    let mut world = World::new();
    let execution = world.disputed();
    world.set_time(START_UNIX_S + 5);
    let before = world.dispute(&execution);
    world.answer(&execution);
    let dispute = world.dispute(&execution);
    assert_eq!((dispute.answer_hash, dispute.answer_uri()), ([0x66; 32], Some("https://example.com/answer")));
    assert_eq!((dispute.answered_at_unix_s, dispute.outcome()), (START_UNIX_S + 5, Some(DisputeOutcome::Open)));
    assert_eq!((dispute.revision, dispute.evidence_hash), (before.revision + 1, before.evidence_hash));
    assert_eq!(world.status(&execution), ExecutionStatus::Disputed);
}

#[test]
fn answers_by_others_without_evidence_or_with_wrong_accounts_are_refused() {
    let mut world = World::new();
    let (execution, second) = (world.disputed(), world.disputed());
    let other = world.listed();
    let creator = world.agent.creator.clone();
    let answer = world.answer_dispute(&execution);
    for who in [world.stranger.clone(), world.caller.clone(), world.resolver.clone(), other.creator.clone()] {
        refused(&mut world, signed_by(answer.clone(), &who), &[&who.keypair], E::NotCreator);
    }
    // The creator of another agent, with that agent.
    let by_other = signed_by(forged(answer.clone(), &[("agent", other.address)]), &other.creator);
    refused(&mut world, by_other, &[&other.creator.keypair], E::WrongAgent);
    let of_second = forged(answer, &[("dispute", world.addresses.dispute(&second.record))]);
    refused(&mut world, of_second, &[&creator.keypair], E::WrongDispute);
    let good = world.answer_args();
    let uri = |uri: &str| ix::AnswerDisputeArgs { answer_uri: uri.to_owned(), ..good.clone() };
    for (args, error) in [
        (ix::AnswerDisputeArgs { answer_hash: [0; 32], ..good.clone() }, E::EvidenceMissing),
        (uri(""), E::EvidenceUriInvalid),
        (uri(&"x".repeat(129)), E::EvidenceUriInvalid),
        (uri("a b"), E::EvidenceUriInvalid),
    ] {
        let answer = world.answer_dispute_with(&execution, args);
        refused(&mut world, answer, &[&creator.keypair], error);
    }
    let longest = world.answer_dispute_with(&execution, uri(&"x".repeat(128)));
    world.must(&[longest], &[&creator.keypair]);
}

#[test]
fn a_dispute_is_answered_once_and_only_while_it_is_open() {
    let mut world = World::new();
    let (answered, rejected, never) = (world.answered(), world.disputed(), world.completed());
    let creator = world.agent.creator.keypair.insecure_clone();
    let again = world.answer_dispute(&answered);
    refused(&mut world, again, &[&creator], E::DisputeAnswered);
    assert_ok(world.resolve(&rejected, false, 0));
    let late = world.answer_dispute(&rejected);
    refused(&mut world, late, &[&creator], E::DisputeNotOpen);
    const NOT_OWNED_BY_THE_PROGRAM: u32 = 3_007;
    let without_dispute = world.answer_dispute(&never);
    assert_custom_at(world.send(&[without_dispute], &[&creator]), 0, NOT_OWNED_BY_THE_PROGRAM);
}

#[test]
fn a_dispute_is_upheld_after_the_answer_or_after_a_day() {
    for (offset, upholds) in [(-1, false), (0, true), (1, true)] {
        let mut world = World::new();
        let execution = world.disputed();
        world.set_time(START_UNIX_S + 86_400 + offset);
        let resolve = world.resolve_dispute(&execution, true, PRICE);
        let resolver = world.resolver.keypair.insecure_clone();
        if upholds {
            world.must(&[resolve], &[&resolver]);
        } else {
            refused(&mut world, resolve.clone(), &[&resolver], E::AnswerPeriodRunning);
            world.answer(&execution);
            world.must(&[resolve], &[&resolver]);
        }
    }
}

#[test]
fn a_dispute_is_rejected_without_waiting_for_an_answer() {
    let mut world = World::new();
    let execution = world.disputed();
    assert_ok(world.resolve(&execution, false, 0));
    assert_eq!(world.outcome(&execution), DisputeOutcome::Rejected);
}

#[test]
fn an_answer_after_a_day_still_counts_while_nobody_decided() {
    let mut world = World::new();
    let execution = world.disputed();
    world.set_time(START_UNIX_S + 2 * 86_400);
    world.answer(&execution);
    assert_eq!(world.dispute(&execution).answered_at_unix_s, START_UNIX_S + 2 * 86_400);
}

#[test]
fn a_slash_above_the_amount_paid_takes_a_resolver_who_was_in_office_when_the_dispute_was_raised() {
    let mut world = World::new();
    let successor = world.stranger.clone();
    let earlier = world.answered();
    let announce = world.announce_roles(Some(successor.key()), None);
    world.must(&[announce], &[&world.admin.keypair.insecure_clone()]);
    world.set_time(world.config().roles_apply_from_unix_s);
    let apply = world.apply_roles();
    world.must(&[apply], &[]);
    world.resolver = successor.clone();
    let penalty = world.resolve_dispute(&earlier, true, PRICE + 1);
    refused(&mut world, penalty, &[&successor.keypair], E::PenaltyByLaterResolver);
    assert_ok(world.resolve(&earlier, true, PRICE));
    // A dispute raised in the second of the appointment belongs to the new resolver.
    let agent = world.agent.clone();
    let top_up = [world.deposit_collateral(&agent, PRICE), world.set_agent_status(&agent, AgentStatus::Active)];
    world.must(&top_up, &[&agent.creator.keypair]);
    let later = world.disputed();
    assert_ok(world.uphold(&later, 21 * PRICE));
}

#[test]
fn a_dispute_that_nobody_decides_expires_after_thirty_days() {
    for (offset, expires) in [(-1, false), (0, false), (1, true)] {
        let mut world = World::new();
        let execution = world.completed();
        let balances = world.token_balances();
        let dispute = world.open_dispute(&execution);
        world.must(&[dispute], &[&execution.caller.keypair]);
        world.set_time(START_UNIX_S + 30 * 86_400 + offset);
        let expire = world.expire_dispute(&execution);
        if !expires {
            refused(&mut world, expire, &[], E::DisputeStillDecidable);
            assert_ok(world.resolve(&execution, true, PRICE));
            continue;
        }
        world.must(&[expire], &[]);
        assert_eq!(world.token_balances(), balances);
        assert_eq!(world.status(&execution), ExecutionStatus::Completed);
        let dispute = world.dispute(&execution);
        assert_eq!(dispute.outcome(), Some(DisputeOutcome::Expired));
        assert_eq!((dispute.resolved_at_unix_s, dispute.resolution_hash), (world.now(), [0; 32]));
        let listing = world.listing(&world.agent);
        assert_eq!((listing.open_disputes, listing.disputed_executions, listing.successful_executions), (0, 1, 1));
    }
}

#[test]
fn an_expired_dispute_cannot_be_raised_or_decided_again_and_frees_the_collateral() {
    let mut world = World::new();
    let agent = world.agent.clone();
    let execution = world.disputed();
    let delist = world.delist_agent(&agent);
    world.must(&[delist], &[&agent.creator.keypair]);
    world.set_time(START_UNIX_S + Dispute::LIMIT_S + 1);
    let expire = world.expire_dispute(&execution);
    world.must(std::slice::from_ref(&expire), &[]);
    refused(&mut world, expire, &[], E::DisputeNotOpen);
    let resolve = world.resolve_dispute(&execution, true, PRICE);
    let resolver = world.resolver.keypair.insecure_clone();
    refused(&mut world, resolve, &[&resolver], E::DisputeNotOpen);
    let again = world.open_dispute(&execution);
    refused(&mut world, again, &[&execution.caller.keypair], E::NotDisputable);
    let (withdraw, close) = (world.withdraw_collateral(&agent), world.close_execution(&execution));
    world.must(&[withdraw, close], &[&agent.creator.keypair]);
}

#[test]
fn an_expiry_with_accounts_that_do_not_belong_together_is_refused() {
    let mut world = World::new();
    let execution = world.disputed();
    let other_dispute = {
        let other = world.disputed();
        world.addresses.dispute(&other.record)
    };
    let other = world.listed();
    world.set_time(START_UNIX_S + Dispute::LIMIT_S + 1);
    let expire = world.expire_dispute(&execution);
    let other_mint = world.new_key().pubkey();
    world.put_mint(other_mint, 0);
    let cases = [
        ("agent", other.address, E::WrongAgent),
        ("dispute", other_dispute, E::WrongDispute),
        ("escrow", world.addresses.escrow(&other.address), E::WrongEscrow),
        ("caller_token", world.stranger.token, E::TokenOwnerMismatch),
        ("usdc_mint", other_mint, E::WrongMint),
        ("token_program", PROGRAM_ID, E::WrongTokenProgram),
    ];
    refused_with(&mut world, &expire, &[], &cases);
}
