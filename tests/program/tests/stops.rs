//! The emergency stops: what the guardian may stop, what only the admin resumes, and what nobody stops.

use agent_marketplace::{instructions as ix, state::*};
use crtx_program_tests::*;

use MarketplaceError as E;

fn stopped(world: &World) -> (u8, u8, u8) {
    let config = world.config();
    (config.openings_paused, config.listings_paused, world.listing(&world.agent).suspended)
}

/// A stop or a resumption, as the guardian sends it.
fn by_guardian(world: &World, instruction: Instruction) -> Instruction {
    signed_by(instruction, &world.guardian)
}

#[test]
fn a_guardian_stops_and_only_the_admin_resumes() {
    let mut world = World::new();
    let (guardian, admin) = (world.guardian.clone(), world.admin.clone());
    let stops = [
        (world.set_paused_with(Some(true), None), (1, 0, 0)),
        (world.set_paused_with(None, Some(true)), (1, 1, 0)),
        (world.suspend_agent(&world.agent, true), (1, 1, 1)),
    ];
    for (stop, after) in stops {
        let stop = by_guardian(&world, stop);
        world.must(&[stop], &[&guardian.keypair]);
        assert_eq!(stopped(&world), after);
    }
    let resumptions = [
        (world.set_paused_with(Some(false), None), (0, 1, 1)),
        (world.set_paused_with(None, Some(false)), (0, 0, 1)),
        (world.suspend_agent(&world.agent, false), (0, 0, 0)),
    ];
    for (resume, after) in resumptions {
        let attempt = by_guardian(&world, resume.clone());
        refused(&mut world, attempt, &[&guardian.keypair], E::NotGuardian);
        world.must(&[resume], &[&admin.keypair]);
        assert_eq!(stopped(&world), after);
    }
}

#[test]
fn a_guardian_does_not_resume_one_thing_by_stopping_another() {
    let mut world = World::new();
    let guardian = world.guardian.keypair.insecure_clone();
    let stop = world.set_paused_with(Some(true), None);
    let stop = by_guardian(&world, stop);
    world.must(&[stop], &[&guardian]);
    for (openings, listings) in [(Some(false), Some(true)), (Some(true), Some(false)), (Some(false), Some(false))] {
        let mixed = world.set_paused_with(openings, listings);
        let mixed = by_guardian(&world, mixed);
        refused(&mut world, mixed, &[&guardian], E::NotGuardian);
    }
    assert_eq!(stopped(&world), (1, 0, 0));
}

#[test]
fn a_guardian_does_nothing_but_stop() {
    let mut world = World::new();
    let guardian = world.guardian.clone();
    let key = guardian.key();
    for instruction in [
        world.set_gateway(&world.stranger.key()),
        world.set_guardian(&world.stranger.key()),
        world.announce_parameters(Some(MarketParameters::DEFAULT)),
        world.nominate_admin(&key),
        world.announce_roles(Some(world.stranger.key()), None),
        world.remove_resolver(),
        world.verify_creator(&world.agent.creator.key(), None),
    ] {
        refused(&mut world, signed_by(instruction, &guardian), &[&guardian.keypair], E::NotAdmin);
    }
    let delist = signed_by(world.delist_agent(&world.agent), &guardian);
    refused(&mut world, delist, &[&guardian.keypair], E::NotCreator);
}

#[test]
fn openings_and_listings_are_stopped_apart() {
    let mut world = World::new();
    let (admin, caller) = (world.admin.keypair.insecure_clone(), world.caller.keypair.insecure_clone());
    for (openings, listings, after) in [
        (None, Some(true), (0, 1, 0)),
        (None, Some(false), (0, 0, 0)),
        (Some(true), None, (1, 0, 0)),
        (Some(false), None, (0, 0, 0)),
        (Some(true), None, (1, 0, 0)),
    ] {
        let set = world.set_paused_with(openings, listings);
        world.must(&[set], &[&admin]);
        assert_eq!(stopped(&world), after);
    }
    let execution = world.new_execution();
    let (open, by_key) = (world.open_execution(&execution), world.open_execution_with_grant(&execution));
    let session = world.session.insecure_clone();
    refused(&mut world, open.clone(), &[&caller], E::Paused);
    refused(&mut world, by_key, &[&session], E::Paused);
    world.listed();
    let exchange = world.set_paused_with(Some(false), Some(true));
    world.must(&[exchange], &[&admin]);
    let agent = world.new_agent();
    let list = world.list_agent(&agent, world.list_args(&agent));
    refused(&mut world, list, &[&agent.creator.keypair], E::Paused);
    world.must(&[open], &[&caller]);
}

#[test]
fn a_stop_that_changes_nothing_is_refused() {
    let mut world = World::new();
    let admin = world.admin.keypair.insecure_clone();
    for nothing in [
        world.set_paused_with(None, None),
        world.set_paused_with(Some(false), None),
        world.set_paused_with(Some(false), Some(false)),
        world.suspend_agent(&world.agent, false),
    ] {
        refused(&mut world, nothing, &[&admin], E::NothingToChange);
    }
    let stop = world.set_paused_with(Some(true), None);
    world.must(std::slice::from_ref(&stop), &[&admin]);
    refused(&mut world, stop, &[&admin], E::NothingToChange);
    // One of the two changes.
    let both = world.set_paused(true);
    world.must(&[both], &[&admin]);
    let suspend = world.suspend_agent(&world.agent, true);
    world.must(std::slice::from_ref(&suspend), &[&admin]);
    refused(&mut world, suspend, &[&admin], E::NothingToChange);
    assert_eq!(stopped(&world), (1, 1, 1));
}

#[test]
fn a_removed_or_former_guardian_stops_nothing() {
    let mut world = World::new();
    let (former, admin) = (world.guardian.clone(), world.admin.keypair.insecure_clone());
    for next in [world.stranger.key(), Default::default()] {
        let set = world.set_guardian(&next);
        world.must(&[set], &[&admin]);
        assert_eq!(world.config().guardian, next);
        for stop in [world.set_paused(true), world.suspend_agent(&world.agent, true)] {
            refused(&mut world, signed_by(stop, &former), &[&former.keypair], E::NotGuardian);
        }
    }
}

#[test]
fn a_deployment_without_a_guardian_is_stopped_by_its_admin() {
    let mut world = World::bare(0);
    let args = ix::InitializeConfigArgs { guardian: Default::default(), ..world.config_args() };
    let authority = world.upgrade_authority.keypair.insecure_clone();
    let initialize = world.instructions().initialize_config(&authority.pubkey(), args);
    world.must(&[initialize], &[&authority]);
    let stop = world.set_paused(true);
    let (guardian, admin) = (world.guardian.clone(), world.admin.keypair.insecure_clone());
    refused(&mut world, signed_by(stop.clone(), &guardian), &[&guardian.keypair], E::NotGuardian);
    world.must(&[stop], &[&admin]);
}

// One listing.

#[test]
fn a_suspended_listing_takes_no_openings_and_others_do() {
    let mut world = World::new();
    let (agent, other) = (world.agent.clone(), world.listed());
    let before = world.listing(&agent);
    world.set_time(START_UNIX_S + 5);
    world.suspend(&agent, true);
    let revision = before.revision + 1;
    let expected = AgentListed { suspended: 1, revision, updated_at_unix_s: START_UNIX_S + 5, ..before };
    assert_eq!(bytemuck::bytes_of(&world.listing(&agent)), bytemuck::bytes_of(&expected));
    let execution = world.new_execution();
    let (caller, session) = (world.caller.keypair.insecure_clone(), world.session.insecure_clone());
    let (open, by_key) = (world.open_execution(&execution), world.open_execution_with_grant(&execution));
    refused(&mut world, open.clone(), &[&caller], E::AgentSuspended);
    refused(&mut world, by_key, &[&session], E::AgentSuspended);
    let elsewhere = Execution { agent: other, ..world.new_execution() };
    assert_ok(world.open(&elsewhere));
    world.suspend(&agent, false);
    world.must(&[open], &[&caller]);
}

#[test]
fn a_creator_does_not_resume_a_suspended_listing() {
    let mut world = World::new();
    let agent = world.agent.clone();
    let creator = agent.creator.clone();
    world.suspend(&agent, true);
    let resume = signed_by(world.suspend_agent(&agent, false), &creator);
    refused(&mut world, resume, &[&creator.keypair], E::NotGuardian);
    let edit = ix::UpdateListingArgs { price: Some(PRICE - 1), ..Default::default() };
    let attempts = [
        world.set_agent_status(&agent, AgentStatus::Paused),
        world.set_agent_status(&agent, AgentStatus::Active),
        world.update_listing(&agent, edit),
        world.deposit_collateral(&agent, 1),
    ];
    world.must(&attempts, &[&creator.keypair]);
    assert_eq!(world.listing(&agent).suspended, 1);
    let execution = world.new_execution();
    assert_error_at(world.open(&execution), 0, E::AgentSuspended);
}

#[test]
fn a_suspended_listing_settles_refunds_and_pays_out() {
    let mut world = World::new();
    let agent = world.agent.clone();
    let (settled, failed, signed, expired) = (world.opened(), world.opened(), world.opened(), world.opened());
    let (completed, decided) = (world.completed(), world.disputed());
    world.suspend(&agent, true);
    assert_ok(world.complete(&settled));
    assert_ok(world.fail(&failed));
    assert_ok(world.fail_signed(&signed));
    let dispute = world.open_dispute(&completed);
    world.must(&[dispute], &[&completed.caller.keypair]);
    let cancel = world.cancel_dispute(&completed);
    world.must(&[cancel], &[&completed.caller.keypair]);
    assert_ok(world.uphold(&decided, PRICE));
    world.expire(&expired);
    assert_ok(world.refund(&expired));
    // Also a delisted listing is suspended, and resumed.
    let delist = world.delist_agent(&agent);
    world.must(&[delist], &[&agent.creator.keypair]);
    world.suspend(&agent, false);
    world.suspend(&agent, true);
    world.set_time(world.listing(&agent).last_dispute_deadline_unix_s + 1);
    let leave = [world.withdraw_collateral(&agent), world.close_agent(&agent)];
    world.must(&leave, &[&agent.creator.keypair]);
    assert_eq!(world.balance(&agent.creator.token), PURSE - PRICE + 2 * (PRICE - PRICE / 100) + (PRICE - PRICE / 100));
}

// Roles.

/// Each pair of the roles that check each other, as an initialization and as a change.
#[test]
fn a_deployment_with_two_roles_in_one_hand_is_refused() {
    let mut world = World::bare(0);
    let authority = world.upgrade_authority.keypair.insecure_clone();
    type Role = fn(&mut ix::InitializeConfigArgs) -> &mut solana_address::Address;
    let roles: [Role; 5] = [
        |args| &mut args.admin,
        |args| &mut args.resolver,
        |args| &mut args.gateway_authority,
        |args| &mut args.treasury_owner,
        |args| &mut args.guardian,
    ];
    for (index, first) in roles.iter().enumerate() {
        for second in &roles[..index] {
            let mut args = world.config_args();
            *first(&mut args) = *second(&mut args);
            let initialize = world.instructions().initialize_config(&authority.pubkey(), args);
            refused(&mut world, initialize, &[&authority], E::RolesNotApart);
        }
    }
    // Who receives penalties does not decide about them, and may have another role.
    let args = ix::InitializeConfigArgs { insurance_owner: world.admin.key(), ..world.config_args() };
    let initialize = world.instructions().initialize_config(&authority.pubkey(), args);
    world.must(&[initialize], &[&authority]);
}

#[test]
fn a_change_that_gives_one_key_two_roles_is_refused() {
    let mut world = World::new();
    let admin = world.admin.keypair.insecure_clone();
    let roles = [&world.admin, &world.resolver, &world.gateway, &world.treasury, &world.guardian].map(Actor::key);
    let [admin_key, resolver, gateway, treasury, guardian] = roles;
    for taken in [admin_key, resolver, treasury, guardian] {
        let update = world.set_gateway(&taken);
        refused(&mut world, update, &[&admin], E::RolesNotApart);
    }
    for taken in [admin_key, resolver, gateway, treasury] {
        let update = world.set_guardian(&taken);
        refused(&mut world, update, &[&admin], E::RolesNotApart);
    }
    let both = Some(world.stranger.key());
    let both = world.update_config(ix::UpdateConfigArgs { gateway_authority: both, guardian: both });
    refused(&mut world, both, &[&admin], E::RolesNotApart);
    for taken in [admin_key, gateway, treasury, guardian] {
        let announce = world.announce_roles(Some(taken), None);
        refused(&mut world, announce, &[&admin], E::RolesNotApart);
    }
    for taken in [admin_key, resolver, gateway, guardian] {
        let announce = world.announce_roles(None, Some(taken));
        refused(&mut world, announce, &[&admin], E::RolesNotApart);
    }
    let both = Some(world.stranger.key());
    let announce = world.announce_roles(both, both);
    refused(&mut world, announce, &[&admin], E::RolesNotApart);
    for nominee in [&world.resolver, &world.gateway, &world.treasury, &world.guardian].map(Clone::clone) {
        let nominate = world.nominate_admin(&nominee.key());
        world.must(&[nominate], &[&admin]);
        let accept = world.accept_admin(&nominee.key());
        refused(&mut world, accept, &[&nominee.keypair], E::RolesNotApart);
    }
    // Two that change at once may exchange their keys.
    let exchange = ix::UpdateConfigArgs { gateway_authority: Some(guardian), guardian: Some(gateway) };
    let exchange = world.update_config(exchange);
    world.must(&[exchange], &[&admin]);
    let exchange = world.announce_roles(Some(treasury), Some(resolver));
    world.must(&[exchange], &[&admin]);
}

/// Between the announcement and the day of office, the gateway, the guardian and the admin change at once.
#[test]
fn an_announced_successor_who_got_another_role_does_not_take_office() {
    for (resolver, treasury) in [(true, false), (false, true)] {
        let mut world = World::new();
        let (admin, successor) = (world.admin.keypair.insecure_clone(), world.stranger.key());
        let announce = world.announce_roles(resolver.then_some(successor), treasury.then_some(successor));
        world.must(&[announce], &[&admin]);
        let change = world.set_guardian(&successor);
        world.must(&[change], &[&admin]);
        world.set_time(world.config().roles_apply_from_unix_s);
        let apply = world.apply_roles();
        refused(&mut world, apply.clone(), &[], E::RolesNotApart);
        let change = world.set_guardian(&Default::default());
        world.must(&[change], &[&admin]);
        world.must(&[apply], &[]);
        let config = world.config();
        assert_eq!((config.resolver == successor, config.treasury_owner == successor), (resolver, treasury));
    }
}

#[test]
fn roles_that_nobody_has_are_not_one_key() {
    let mut world = World::new();
    let admin = world.admin.keypair.insecure_clone();
    let nobody = [world.set_guardian(&Default::default()), world.remove_resolver()];
    world.must(&nobody, &[&admin]);
    assert_eq!((world.config().guardian, world.config().resolver), Default::default());
    let gateway = world.set_gateway(&world.stranger.key());
    world.must(&[gateway], &[&admin]);
}
