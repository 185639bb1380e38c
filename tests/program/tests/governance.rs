//! The admin's instructions: what they change, who may call them, and that pause only stops new listings and
//! openings.
#![expect(clippy::arithmetic_side_effects, reason = "a test: a panic is a failure")]

use agent_marketplace::{instructions as ix, state::*};
use crtx_program_tests::*;

use MarketplaceError as E;

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
        (ix::UpdateConfigArgs { dispute_window_s: Some(14 * 86_400 + 1), ..none.clone() }, E::DurationOutOfRange),
        (ix::UpdateConfigArgs { settle_grace_s: Some(86_401), ..none.clone() }, E::DurationOutOfRange),
        (ix::UpdateConfigArgs { collateral_tiers: Some(falling), ..none.clone() }, E::TiersNotAscending),
        (ix::UpdateConfigArgs { gateway_authority: Some(Default::default()), ..none }, E::RoleMissing),
    ] {
        let update = world.update_config(args);
        refused(&mut world, update, &[&admin], error);
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
            world.announce_roles(Some(who.key()), None),
            world.remove_resolver(),
            world.set_paused(true),
        ];
        for instruction in instructions {
            refused(&mut world, signed_by(instruction, &who), &[&who.keypair], E::NotAdmin);
        }
        let verify = world.verify_creator(&creator.key(), true);
        refused(&mut world, signed_by(verify, &who), &[&who.keypair], E::NotAdmin);
    }
}

#[test]
fn the_admin_changes_in_two_steps() {
    let mut world = World::new();
    let (old, new) = (world.admin.clone(), world.stranger.clone());
    let accept = world.accept_admin(&new.key());
    refused(&mut world, accept.clone(), &[&new.keypair], E::NotNominee);
    let nominate = world.nominate_admin(&new.key());
    world.must(&[nominate], &[&old.keypair]);
    assert_eq!(world.config().admin, old.key(), "the old admin stays until the new one accepts");
    let wrong = world.accept_admin(&old.key());
    refused(&mut world, wrong, &[&old.keypair], E::NotNominee);
    world.must(std::slice::from_ref(&accept), &[&new.keypair]);
    assert_eq!((world.config().admin, world.config().pending_admin), (new.key(), Default::default()));
    refused(&mut world, accept, &[&new.keypair], E::NotNominee);
    let paused = world.set_paused(true);
    refused(&mut world, paused, &[&old.keypair], E::NotAdmin);
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
    refused(&mut world, accept, &[&nominee.keypair], E::NotNominee);
}

#[test]
fn pause_never_blocks_settlement_refund_dispute_or_withdrawal() {
    let mut world = World::new();
    let admin = world.admin.keypair.insecure_clone();
    let disputed = world.completed();
    let (settled, failed, expired) = (world.opened(), world.opened(), world.opened());
    let pause = world.set_paused(true);
    world.must(std::slice::from_ref(&pause), &[&admin]);
    refused(&mut world, pause, &[&admin], E::NothingToChange);
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
    world.listed();
}

#[test]
fn the_badge_is_given_and_taken_by_the_admin_and_survives_a_new_name() {
    let mut world = World::new();
    let (admin, creator) = (world.admin.keypair.insecure_clone(), world.agent.creator.clone());
    let upsert = world.upsert_creator_profile(&creator.key(), "Ada");
    world.must(&[upsert], &[&creator.keypair]);
    let verify = world.verify_creator(&creator.key(), true);
    world.must(std::slice::from_ref(&verify), &[&admin]);
    refused(&mut world, verify, &[&admin], E::NothingToChange);
    let rename = world.upsert_creator_profile(&creator.key(), "Ada L.");
    world.must(&[rename], &[&creator.keypair]);
    let profile = world.profile(&creator.key());
    assert_eq!((profile.verified, profile.verified_at_unix_s, profile.revision), (1, START_UNIX_S, 3));
    let unverify = world.verify_creator(&creator.key(), false);
    world.must(&[unverify], &[&admin]);
    assert_eq!((world.profile(&creator.key()).verified, world.profile(&creator.key()).verified_at_unix_s), (0, 0));
}

// Roles that take effect after an announcement.

/// Announces `resolver` and `treasury` and moves time to the second before they may take office.
fn announced(world: &mut World, resolver: Option<&Actor>, treasury: Option<&Actor>) {
    let announce = world.announce_roles(resolver.map(Actor::key), treasury.map(Actor::key));
    let at = world.now();
    world.must(&[announce], &[&world.admin.keypair.insecure_clone()]);
    assert_eq!(world.config().roles_apply_from_unix_s, at + Config::ROLE_DELAY_S);
    world.set_time(at + Config::ROLE_DELAY_S - 1);
}

fn apply(world: &mut World) {
    let apply = world.apply_roles();
    world.must(&[apply], &[]);
}

#[test]
fn announced_roles_take_office_after_sixteen_days_and_not_before() {
    let mut world = World::new();
    let before = world.config();
    let successor = world.stranger.clone();
    announced(&mut world, Some(&successor), Some(&successor));
    let waiting = world.config();
    assert_eq!((waiting.resolver, waiting.treasury_owner), (before.resolver, before.treasury_owner));
    let early = world.apply_roles();
    assert_error_at(world.send(&[early], &[]), 0, E::RolesNotDue);
    world.set_time(START_UNIX_S + 16 * 86_400);
    apply(&mut world);
    let expected = Config {
        resolver: successor.key(),
        treasury_owner: successor.key(),
        resolver_since_unix_s: START_UNIX_S + 16 * 86_400,
        revision: before.revision + 2,
        ..before
    };
    assert_eq!(bytemuck::bytes_of(&world.config()), bytemuck::bytes_of(&expected));
    let again = world.apply_roles();
    assert_error_at(world.send(&[again], &[]), 0, E::NoRolesAnnounced);
}

#[test]
fn a_role_that_was_not_announced_stays_with_who_has_it() {
    let mut world = World::new();
    let (before, successor) = (world.config(), world.stranger.clone());
    announced(&mut world, None, Some(&successor));
    world.set_time(world.now() + 1);
    apply(&mut world);
    let after = world.config();
    assert_eq!((after.resolver, after.resolver_since_unix_s), (before.resolver, before.resolver_since_unix_s));
    assert_eq!(after.treasury_owner, successor.key());
}

#[test]
fn a_second_announcement_replaces_the_first_and_restarts_the_delay() {
    let mut world = World::new();
    let (first, second) = (world.stranger.clone(), world.gateway.clone());
    announced(&mut world, Some(&first), None);
    announced(&mut world, Some(&second), None);
    let early = world.apply_roles();
    assert_error_at(world.send(&[early], &[]), 0, E::RolesNotDue);
    world.set_time(world.now() + 1);
    apply(&mut world);
    assert_eq!(world.config().resolver, second.key());
}

#[test]
fn an_announcement_can_be_taken_back() {
    let mut world = World::new();
    let successor = world.stranger.clone();
    announced(&mut world, Some(&successor), Some(&successor));
    let nobody = world.announce_roles(None, None);
    world.must(&[nobody], &[&world.admin.keypair.insecure_clone()]);
    world.set_time(world.now() + Config::ROLE_DELAY_S);
    let apply = world.apply_roles();
    assert_error_at(world.send(&[apply], &[]), 0, E::NoRolesAnnounced);
}

#[test]
fn the_zero_address_is_not_announced() {
    let mut world = World::new();
    let admin = world.admin.keypair.insecure_clone();
    for announce in
        [world.announce_roles(Some(Default::default()), None), world.announce_roles(None, Some(Default::default()))]
    {
        refused(&mut world, announce, &[&admin], E::RoleMissing);
    }
}

#[test]
fn a_removed_resolver_decides_nothing_and_a_successor_decides_what_waited() {
    let mut world = World::new();
    let (admin, successor) = (world.admin.keypair.insecure_clone(), world.stranger.clone());
    let disputed = world.disputed();
    announced(&mut world, Some(&successor), None);
    let remove = world.remove_resolver();
    world.must(std::slice::from_ref(&remove), &[&admin]);
    assert_error_at(world.resolve(&disputed, true, PRICE), 0, E::NotResolver);
    refused(&mut world, remove, &[&admin], E::NothingToChange);
    world.set_time(world.now() + 1);
    apply(&mut world);
    assert_error_at(world.resolve(&disputed, true, PRICE), 0, E::NotResolver);
    world.resolver = successor;
    assert_ok(world.resolve(&disputed, true, PRICE));
}

#[test]
fn a_settlement_without_a_fee_asks_for_no_treasury() {
    let mut world = World::new();
    let update = world.update_config(ix::UpdateConfigArgs { fee_bps: Some(0), ..Default::default() });
    world.must(&[update], &[&world.admin.keypair.insecure_clone()]);
    let free = world.opened();
    world.freeze(&world.treasury.token.clone());
    let creator = world.balance(&free.agent.creator.token);
    assert_ok(world.complete(&free));
    assert_eq!(world.balance(&free.agent.creator.token), creator + PRICE);
}

#[test]
fn settlements_pay_the_treasury_in_office() {
    let mut world = World::new();
    let former = world.treasury.clone();
    let successor = world.stranger.clone();
    announced(&mut world, None, Some(&successor));
    world.set_time(world.now() + 1);
    let execution = world.opened();
    apply(&mut world);
    assert_error_at(world.complete(&execution), 1, E::TokenOwnerMismatch);
    world.treasury = successor;
    assert_ok(world.complete(&execution));
    assert_eq!(world.balance(&former.token), PURSE);
    assert_eq!(world.balance(&world.treasury.token), PURSE + 500);
}

#[test]
fn a_changed_dispute_window_leaves_open_executions_as_they_were_opened() {
    let mut world = World::new();
    let (settled, failed) = (world.opened(), world.opened());
    for window in [1, 14 * 86_400] {
        let update = world.update_config(ix::UpdateConfigArgs { dispute_window_s: Some(window), ..Default::default() });
        world.must(&[update], &[&world.admin.keypair.insecure_clone()]);
        let next = world.opened();
        assert_eq!(i64::from(world.record(&next).dispute_window_s), window);
    }
    assert_ok(world.complete(&settled));
    assert_ok(world.fail(&failed));
    let end = START_UNIX_S + Config::DEFAULT_DISPUTE_WINDOW_S;
    assert_eq!(world.record(&settled).dispute_deadline_unix_s, end);
    assert_eq!(world.listing(&world.agent).last_dispute_deadline_unix_s, end);
    for execution in [&settled, &failed] {
        let close = world.close_execution(execution);
        world.set_time(end);
        assert_error_at(world.send(std::slice::from_ref(&close), &[]), 0, E::RecordStillNeeded);
        world.set_time(end + 1);
        world.must(&[close], &[]);
    }
}
