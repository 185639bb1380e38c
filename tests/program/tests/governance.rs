//! The admin's instructions: what they change, who may call them, and that pause stops new business only.

use agent_marketplace::{instructions as ix, state::*};
use crtx_program_tests::*;

use MarketplaceError as E;

#[track_caller]
fn refused(world: &mut World, instruction: Instruction, signer: &Keypair, error: E) {
    assert_error_at(world.send(&[instruction], &[signer]), 0, error);
}

/// `instruction` with another first signer.
fn signed_by(mut instruction: Instruction, signer: &Actor) -> Instruction {
    if let Some(first) = instruction.accounts.first_mut() {
        first.pubkey = signer.key();
    }
    instruction
}

#[test]
fn the_admin_changes_what_is_named_and_nothing_else() {
    let mut world = World::new();
    let before = world.config();
    let gateway = world.stranger.key();
    let args = ix::UpdateConfigArgs { gateway_authority: Some(gateway), fee_bps: Some(250), ..Default::default() };
    let update = world.update_config(args);
    world.must(&[update], &[&world.admin.keypair.insecure_clone()]);
    let after = world.config();
    assert_eq!((after.gateway_authority, after.fee_bps, after.revision), (gateway, 250, 2));
    let expected = Config { gateway_authority: gateway, fee_bps: 250, revision: 2, ..before };
    assert_eq!(bytemuck::bytes_of(&after), bytemuck::bytes_of(&expected));
}

#[test]
fn a_changed_fee_leaves_open_executions_as_they_were_opened() {
    let mut world = World::new();
    let execution = world.opened();
    let update = world.update_config(ix::UpdateConfigArgs { fee_bps: Some(1_000), ..Default::default() });
    world.must(&[update], &[&world.admin.keypair.insecure_clone()]);
    assert_ok(world.complete(&execution));
    assert_eq!(world.balance(&world.treasury.token), PURSE + 500);
    let next = world.opened();
    assert_eq!(world.record(&next).platform_amount, 5_000);
}

#[test]
fn a_changed_gateway_settles_and_the_former_one_does_not() {
    let mut world = World::new();
    let execution = world.opened();
    let update = world
        .update_config(ix::UpdateConfigArgs { gateway_authority: Some(world.stranger.key()), ..Default::default() });
    world.must(&[update], &[&world.admin.keypair.insecure_clone()]);
    assert_error_at(world.complete(&execution), 1, E::NotSettler);
    assert_error_at(world.fail(&execution), 0, E::NotFailureReporter);
    world.gateway = world.stranger.clone();
    assert_ok(world.complete(&execution));
}

#[test]
fn a_configuration_is_not_changed_beyond_its_limits() {
    let mut world = World::new();
    let admin = world.admin.keypair.insecure_clone();
    let mut falling = Config::DEFAULT_COLLATERAL_TIERS;
    falling[1].collateral = 0;
    let none = ix::UpdateConfigArgs::default();
    for (args, error) in [
        (ix::UpdateConfigArgs { fee_bps: Some(1_001), ..none.clone() }, E::FeeTooHigh),
        (ix::UpdateConfigArgs { dispute_window_s: Some(0), ..none.clone() }, E::DurationOutOfRange),
        (ix::UpdateConfigArgs { settle_grace_s: Some(86_401), ..none.clone() }, E::DurationOutOfRange),
        (ix::UpdateConfigArgs { collateral_tiers: Some(falling), ..none.clone() }, E::TiersNotAscending),
        (ix::UpdateConfigArgs { resolver: Some(Default::default()), ..none.clone() }, E::RoleMissing),
        (ix::UpdateConfigArgs { treasury_owner: Some(Default::default()), ..none.clone() }, E::RoleMissing),
        (ix::UpdateConfigArgs { gateway_authority: Some(Default::default()), ..none }, E::RoleMissing),
    ] {
        let update = world.update_config(args);
        refused(&mut world, update, &admin, error);
    }
    assert_eq!(world.config().revision, 1);
}

#[test]
fn only_the_admin_governs() {
    let mut world = World::new();
    let creator = world.agent.creator.clone();
    let upsert = world.upsert_creator_profile(&creator.key(), "Ada");
    world.must(&[upsert], &[&creator.keypair]);
    for who in [world.stranger.clone(), world.resolver.clone(), world.gateway.clone(), world.upgrade_authority.clone()]
    {
        let instructions = [
            world.update_config(ix::UpdateConfigArgs::default()),
            world.nominate_admin(&who.key()),
            world.set_paused(true),
        ];
        for instruction in instructions {
            refused(&mut world, signed_by(instruction, &who), &who.keypair, E::NotAdmin);
        }
        let verify = world.verify_creator(&creator.key(), true);
        refused(&mut world, signed_by(verify, &who), &who.keypair, E::NotAdmin);
    }
}

#[test]
fn the_admin_changes_in_two_steps() {
    let mut world = World::new();
    let (old, new) = (world.admin.clone(), world.stranger.clone());
    let accept = world.accept_admin(&new.key());
    refused(&mut world, accept.clone(), &new.keypair, E::NotNominee);
    let nominate = world.nominate_admin(&new.key());
    world.must(&[nominate], &[&old.keypair]);
    assert_eq!(world.config().admin, old.key(), "the old admin stays until the new one accepts");
    let wrong = world.accept_admin(&old.key());
    refused(&mut world, wrong, &old.keypair, E::NotNominee);
    world.must(std::slice::from_ref(&accept), &[&new.keypair]);
    assert_eq!((world.config().admin, world.config().pending_admin), (new.key(), Default::default()));
    refused(&mut world, accept, &new.keypair, E::NotNominee);
    let paused = world.set_paused(true);
    refused(&mut world, paused, &old.keypair, E::NotAdmin);
}

#[test]
fn a_nomination_can_be_taken_back() {
    let mut world = World::new();
    let (admin, nominee) = (world.admin.clone(), world.stranger.clone());
    for key in [nominee.key(), Default::default()] {
        let nominate = world.nominate_admin(&key);
        world.must(&[nominate], &[&admin.keypair]);
    }
    let accept = world.accept_admin(&nominee.key());
    refused(&mut world, accept, &nominee.keypair, E::NotNominee);
}

#[test]
fn pause_never_blocks_settlement_refund_dispute_or_withdrawal() {
    let mut world = World::new();
    let admin = world.admin.keypair.insecure_clone();
    let disputed = world.completed();
    let (settled, failed, expired) = (world.opened(), world.opened(), world.opened());
    let pause = world.set_paused(true);
    world.must(std::slice::from_ref(&pause), &[&admin]);
    refused(&mut world, pause, &admin, E::NothingToChange);
    assert_error_at(
        {
            let next = world.new_execution();
            world.open(&next)
        },
        0,
        E::Paused,
    );
    assert_ok(world.complete(&settled));
    assert_ok(world.fail(&failed));
    let dispute = world.open_dispute(&disputed);
    world.must(&[dispute], &[&disputed.caller.keypair]);
    assert_ok(world.resolve(&disputed, true, PRICE));
    world.expire(&expired);
    assert_ok(world.refund(&expired));
    let agent = world.agent.clone();
    let deposit = world.deposit_collateral(&agent, 1);
    let delist = world.delist_agent(&agent);
    world.must(&[deposit, delist], &[&agent.creator.keypair]);
    world.set_time(world.listing(&agent).last_dispute_deadline_unix_s + 1);
    let withdraw = world.withdraw_collateral(&agent);
    let close = world.close_agent(&agent);
    world.must(&[withdraw, close], &[&agent.creator.keypair]);
    let close = world.close_execution(&settled);
    world.must(&[close], &[]);

    let resume = world.set_paused(false);
    world.must(&[resume], &[&admin]);
    let agent = world.new_agent();
    world.list(&agent, world.list_args(&agent));
}

#[test]
fn the_badge_is_given_and_taken_by_the_admin_and_survives_a_new_name() {
    let mut world = World::new();
    let (admin, creator) = (world.admin.keypair.insecure_clone(), world.agent.creator.clone());
    let upsert = world.upsert_creator_profile(&creator.key(), "Ada");
    world.must(&[upsert], &[&creator.keypair]);
    let verify = world.verify_creator(&creator.key(), true);
    world.must(std::slice::from_ref(&verify), &[&admin]);
    refused(&mut world, verify, &admin, E::NothingToChange);
    let rename = world.upsert_creator_profile(&creator.key(), "Ada L.");
    world.must(&[rename], &[&creator.keypair]);
    let profile = world.profile(&creator.key());
    assert_eq!((profile.verified, profile.verified_at_unix_s, profile.revision), (1, START_UNIX_S, 3));
    let unverify = world.verify_creator(&creator.key(), false);
    world.must(&[unverify], &[&admin]);
    assert_eq!((world.profile(&creator.key()).verified, world.profile(&creator.key()).verified_at_unix_s), (0, 0));
}
