//! Collateral from deposit to withdrawal, and the end of a listing.

use agent_marketplace::{event::AgentClosed, instructions as ix, state::*};
use crtx_program_tests::*;

use MarketplaceError as E;

/// A world whose agent is delisted, a second later.
fn delisted() -> (World, Agent) {
    let mut world = World::new();
    let agent = world.agent.clone();
    let delist = world.delist_agent(&agent);
    world.must(&[delist], &[&agent.creator.keypair]);
    world.set_time(START_UNIX_S + 1);
    (world, agent)
}

#[test]
fn a_price_in_a_higher_tier_needs_the_deposit_first() {
    let mut world = World::new();
    let agent = world.agent.clone();
    let raise = world.update_listing(&agent, ix::UpdateListingArgs { price: Some(100_001), ..Default::default() });
    refused(&mut world, raise.clone(), &[&agent.creator.keypair], E::CollateralTooLow);
    let deposit = world.deposit_collateral(&agent, 40 * USDC);
    world.must(&[deposit, raise], &[&agent.creator.keypair]);
    assert_eq!(world.listing(&agent).collateral, 50 * USDC);
    assert_eq!(world.balance(&world.addresses.collateral(&agent.address)), 50 * USDC);
    assert_eq!(world.balance(&agent.creator.token), PURSE - 50 * USDC);
}

#[test]
fn a_deposit_is_the_creators_own_and_goes_to_the_agents_own_vault() {
    let mut world = World::new();
    let agent = world.agent.clone();
    let other = world.listed();
    let other_vault = world.addresses.collateral(&other.address);
    let escrow = world.addresses.escrow(&agent.address);
    let other_mint = world.new_key().pubkey();
    world.put_mint(other_mint, 0);
    let frozen = world.new_token_account(&agent.creator.key(), PURSE);
    world.freeze(&frozen);
    let stranger = world.stranger.clone();
    let deposit = world.deposit_collateral(&agent, 1);
    let cases = [
        ("collateral_vault", other_vault, E::WrongCollateralVault),
        ("collateral_vault", escrow, E::WrongCollateralVault),
        ("usdc_mint", other_mint, E::WrongMint),
        ("creator_token", stranger.token, E::TokenOwnerMismatch),
        ("creator_token", frozen, E::TokenAccountUnusable),
        ("creator_token", agent.address, E::NotTokenAccount),
        ("token_program", PROGRAM_ID, E::WrongTokenProgram),
    ];
    refused_with(&mut world, &deposit, &[&agent.creator.keypair], &cases);
    let nothing = world.deposit_collateral(&agent, 0);
    refused(&mut world, nothing, &[&agent.creator.keypair], E::AmountZero);
    let by_stranger = forged(deposit, &[("creator", stranger.key()), ("creator_token", stranger.token)]);
    refused(&mut world, by_stranger, &[&stranger.keypair], E::NotCreator);
}

#[test]
fn a_delisted_agent_is_off_the_market_for_good() {
    let (mut world, agent) = delisted();
    let creator = agent.creator.keypair.insecure_clone();
    assert_eq!(world.listing(&agent).status(), Some(AgentStatus::Delisted));
    for instruction in [
        world.delist_agent(&agent),
        world.set_agent_status(&agent, AgentStatus::Active),
        world.update_listing(&agent, ix::UpdateListingArgs { price: Some(10_000), ..Default::default() }),
        world.deposit_collateral(&agent, 1),
    ] {
        refused(&mut world, instruction, &[&creator], E::AgentDelisted);
    }
    let execution = world.new_execution();
    assert_error_at(world.open(&execution), 0, E::AgentNotActive);
}

#[test]
fn only_the_creator_delists_withdraws_and_closes() {
    let (mut world, agent) = delisted();
    let stranger = world.stranger.clone();
    let own = [("creator", stranger.key()), ("creator_token", stranger.token)];
    for instruction in [world.withdraw_collateral(&agent), world.close_agent(&agent)] {
        refused(&mut world, forged(instruction, &own), &[&stranger.keypair], E::NotCreator);
    }
    let delist = signed_by(world.delist_agent(&agent), &stranger);
    refused(&mut world, delist, &[&stranger.keypair], E::NotCreator);
}

#[test]
fn a_promise_of_cover_needs_its_collateral_when_it_is_made_and_afterwards() {
    let mut world = World::new();
    let agent = world.agent.clone();
    let creator = agent.creator.keypair.insecure_clone();
    let promise = |min_cover| ix::UpdateListingArgs { min_cover: Some(min_cover), ..Default::default() };
    let covers = u8::try_from(COLLATERAL / PRICE).expect("200");
    let dear = world.new_agent();
    let args = ix::ListAgentArgs { min_cover: covers + 1, ..world.list_args(&dear) };
    let list = world.list_agent(&dear, args);
    refused(&mut world, list, &[&dear.creator.keypair], E::CollateralTooLow);
    let edit = world.update_listing(&agent, promise(covers + 1));
    refused(&mut world, edit, &[&creator], E::CollateralTooLow);
    let before = world.terms_hash(&agent);
    let edit = world.update_listing(&agent, promise(covers));
    world.must(&[edit], &[&creator]);
    let listing = world.listing(&agent);
    assert_eq!(
        (listing.min_cover, world.terms_hash(&agent) == before),
        (covers, false),
        "the promise is one of the terms"
    );
    // A higher price takes the promise with it.
    let rise = world.update_listing(&agent, ix::UpdateListingArgs { price: Some(PRICE + 1), ..Default::default() });
    refused(&mut world, rise, &[&creator], E::CollateralTooLow);
    let execution = world.answered();
    let again =
        [world.set_agent_status(&agent, AgentStatus::Paused), world.set_agent_status(&agent, AgentStatus::Active)];
    world.must(&again[..1], &[&creator]);
    refused(&mut world, again[1].clone(), &[&creator], E::CollateralTooLow);
    // A lower promise needs nothing, and the tier is still claimed.
    assert_ok(world.resolve(&execution, false, 0));
    let lower = world.update_listing(&agent, promise(0));
    world.must(&[lower, again[1].clone()], &[&creator]);
}

#[test]
fn collateral_leaves_only_when_nobody_can_claim_it() {
    let mut world = World::new();
    let agent = world.agent.clone();
    let creator = agent.creator.keypair.insecure_clone();
    let withdraw = world.withdraw_collateral(&agent);
    refused(&mut world, withdraw.clone(), &[&creator], E::AgentNotDelisted);
    let close = world.close_agent(&agent);
    refused(&mut world, close.clone(), &[&creator], E::AgentNotDelisted);

    let (disputed, open) = (world.completed(), world.opened());
    let delist = world.delist_agent(&agent);
    world.must(&[delist], &[&creator]);
    refused(&mut world, withdraw.clone(), &[&creator], E::ExecutionsOpen);
    refused(&mut world, close.clone(), &[&creator], E::ExecutionsOpen);

    assert_ok(world.complete(&open));
    let dispute = world.open_dispute(&disputed);
    world.must(&[dispute], &[&disputed.caller.keypair]);
    let window_end = world.listing(&agent).last_dispute_deadline_unix_s;
    world.set_time(window_end + 1_000);
    refused(&mut world, close.clone(), &[&creator], E::DisputesOpen);
    // What the open dispute may take stays.
    let before = world.balance(&agent.creator.token);
    world.must(std::slice::from_ref(&withdraw), &[&creator]);
    assert_eq!(world.balance(&agent.creator.token), before + COLLATERAL - 21 * PRICE);
    refused(&mut world, withdraw.clone(), &[&creator], E::DisputesOpen);
    refused(&mut world, close.clone(), &[&creator], E::DisputesOpen);

    assert_ok(world.uphold(&disputed, PRICE));
    for (time, error) in [(window_end - 1, E::DisputeWindowRunning), (window_end, E::DisputeWindowRunning)] {
        world.set_time(time);
        refused(&mut world, withdraw.clone(), &[&creator], error);
        refused(&mut world, close.clone(), &[&creator], error);
    }
    world.set_time(window_end + 1);
    refused(&mut world, close.clone(), &[&creator], E::CollateralRemains);
    world.must(std::slice::from_ref(&withdraw), &[&creator]);
    assert_eq!(world.balance(&agent.creator.token), before + COLLATERAL - PRICE, "minus the slash");
    refused(&mut world, withdraw, &[&creator], E::NoCollateral);
    world.must(&[close], &[&creator]);
}

#[test]
fn a_withdrawal_goes_to_the_creators_account_and_comes_from_the_agents_vault() {
    let (mut world, agent) = delisted();
    let other = world.listed();
    let (other_vault, escrow) = (world.addresses.collateral(&other.address), world.addresses.escrow(&agent.address));
    let other_mint = world.new_key().pubkey();
    world.put_mint(other_mint, 0);
    let other_mint_token = world.new_token_account_of(&other_mint, &agent.creator.key(), 0);
    let frozen = world.new_token_account(&agent.creator.key(), 0);
    world.freeze(&frozen);
    let stranger_token = world.stranger.token;
    let creator = agent.creator.keypair.insecure_clone();
    let withdraw = world.withdraw_collateral(&agent);
    let cases = [
        ("collateral_vault", other_vault, E::WrongCollateralVault),
        ("collateral_vault", escrow, E::WrongCollateralVault),
        ("usdc_mint", other_mint, E::WrongMint),
        ("creator_token", other_mint_token, E::TokenMintMismatch),
        ("creator_token", stranger_token, E::TokenOwnerMismatch),
        ("creator_token", frozen, E::TokenAccountUnusable),
        ("token_program", PROGRAM_ID, E::WrongTokenProgram),
    ];
    refused_with(&mut world, &withdraw, &[&creator], &cases);
}

#[test]
fn closing_an_agent_returns_all_rent_and_sweeps_dust_to_the_creator() {
    let (mut world, agent) = delisted();
    let creator = agent.creator.clone();
    let (escrow, vault) = (world.addresses.escrow(&agent.address), world.addresses.collateral(&agent.address));
    world.dust(&escrow, 11);
    world.dust(&vault, 22);
    let rent: u64 = [agent.address, escrow, vault].iter().map(|address| world.lamports(address)).sum();
    let (lamports, listing) = (world.lamports(&creator.key()), world.account(&agent.address).expect("listed"));
    let withdraw = world.withdraw_collateral(&agent);
    world.must(&[withdraw], &[&creator.keypair]);
    let close = world.close_agent(&agent);
    let meta = world.must(&[close], &[&creator.keypair]);
    assert_eq!(world.lamports(&creator.key()), lamports + rent);
    assert_eq!(world.balance(&creator.token), PURSE + 33);
    for address in [agent.address, escrow, vault] {
        assert!(world.account(&address).is_none());
    }
    let event: AgentClosed = emitted(&meta);
    assert_eq!((event.agent, event.agent_data.len()), (agent.address, listing.data.len()));
}

#[test]
fn an_agent_closes_with_its_own_accounts_alone() {
    let (mut world, agent) = delisted();
    let creator = agent.creator.keypair.insecure_clone();
    let withdraw = world.withdraw_collateral(&agent);
    world.must(&[withdraw], &[&creator]);
    let other = world.listed();
    let (other_escrow, other_vault) =
        (world.addresses.escrow(&other.address), world.addresses.collateral(&other.address));
    let other_mint = world.new_key().pubkey();
    world.put_mint(other_mint, 0);
    let stranger_token = world.stranger.token;
    let close = world.close_agent(&agent);
    let cases = [
        ("escrow", other_escrow, E::WrongEscrow),
        ("escrow", account_of(&close, "collateral_vault"), E::WrongEscrow),
        ("collateral_vault", other_vault, E::WrongCollateralVault),
        ("usdc_mint", other_mint, E::WrongMint),
        ("creator_token", stranger_token, E::TokenOwnerMismatch),
        ("token_program", PROGRAM_ID, E::WrongTokenProgram),
    ];
    refused_with(&mut world, &close, &[&creator], &cases);
}

#[test]
fn an_agent_listed_again_is_another_agent_with_higher_revisions() {
    let (mut world, agent) = delisted();
    let withdraw = world.withdraw_collateral(&agent);
    world.must(&[withdraw], &[&agent.creator.keypair]);
    let last = world.listing(&agent).revision;
    let close = world.close_agent(&agent);
    world.must(&[close], &[&agent.creator.keypair]);
    let (address, index) = (world.addresses.agent(&agent.creator.key(), 1), 1);
    let next = Agent { address, index, ..agent };
    world.list(&next, world.list_args(&next));
    assert!(world.listing(&next).revision > last);
}

#[test]
fn an_agent_is_not_closed_in_the_second_it_was_listed_in() {
    let (mut world, agent) = delisted();
    world.set_time(START_UNIX_S);
    let withdraw = world.withdraw_collateral(&agent);
    world.must(&[withdraw], &[&agent.creator.keypair]);
    let close = world.close_agent(&agent);
    refused(&mut world, close.clone(), &[&agent.creator.keypair], E::ListedThisSecond);
    world.set_time(START_UNIX_S + 1);
    world.must(&[close], &[&agent.creator.keypair]);
}
