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
    let update = world.set_gateway(&gateway);
    world.must(&[update], &[&world.admin.keypair.insecure_clone()]);
    let after = world.config();
    let expected = Config { gateway_authority: gateway, revision: 2, ..before };
    assert_eq!(bytemuck::bytes_of(&after), bytemuck::bytes_of(&expected));
    let guardian = world.new_key().pubkey();
    let update = world.set_guardian(&guardian);
    world.must(&[update], &[&world.admin.keypair.insecure_clone()]);
    let expected = Config { guardian, revision: 3, ..expected };
    assert_eq!(bytemuck::bytes_of(&world.config()), bytemuck::bytes_of(&expected));
    let nothing = world.update_config(ix::UpdateConfigArgs::default());
    let admin = world.admin.keypair.insecure_clone();
    refused(&mut world, nothing, &[&admin], E::NothingToChange);
}

#[test]
fn a_changed_fee_leaves_open_executions_as_they_were_opened() {
    let mut world = World::new();
    world.announced_parameters(|parameters| parameters.fee_bps = 500);
    let execution = world.opened();
    world.applied_parameters();
    assert_ok(world.complete(&execution));
    assert_eq!(world.balance(&world.treasury.token), PURSE + 500);
    let next = world.opened();
    assert_ok(world.complete(&next));
    assert_eq!(world.balance(&world.treasury.token), PURSE + 500 + 2_500);
    assert_eq!(world.listing(&world.agent).platform_fees_total, 3_000);
}

#[test]
fn a_changed_gateway_settles_and_the_former_one_does_not() {
    let mut world = World::new();
    let execution = world.opened();
    let update = world.set_gateway(&world.stranger.key());
    world.must(&[update], &[&world.admin.keypair.insecure_clone()]);
    assert_error_at(world.complete(&execution), 1, E::NotSettler);
    assert_error_at(world.fail(&execution), 0, E::NotFailureReporter);
    world.gateway = world.stranger.clone();
    assert_ok(world.complete(&execution));
}

/// Parameters beyond a limit, each with the error that names it.
fn parameters_beyond_the_limits() -> Vec<(MarketParameters, E)> {
    let good = MarketParameters::DEFAULT;
    let mut falling = good.collateral_tiers;
    falling[3].collateral = 1;
    let mut unordered = good.collateral_tiers;
    unordered[1].max_price = unordered[0].max_price;
    vec![
        (MarketParameters { fee_bps: 501, ..good }, E::FeeTooHigh),
        (MarketParameters { fee_bps: u32::MAX, ..good }, E::FeeTooHigh),
        (MarketParameters { dispute_window_s: 259_199, ..good }, E::DurationOutOfRange),
        (MarketParameters { dispute_window_s: 1_209_601, ..good }, E::DurationOutOfRange),
        (MarketParameters { settle_grace_s: -1, ..good }, E::DurationOutOfRange),
        (MarketParameters { settle_grace_s: 86_401, ..good }, E::DurationOutOfRange),
        (MarketParameters { collateral_tiers: falling, ..good }, E::TiersNotAscending),
        (MarketParameters { collateral_tiers: unordered, ..good }, E::TiersNotAscending),
        (MarketParameters { min_price: 0, ..good }, E::MinPriceOutOfRange),
        (MarketParameters { min_price: 0, fee_bps: 0, ..good }, E::MinPriceOutOfRange),
        // One percent of 99 base units is less than one.
        (MarketParameters { min_price: 99, ..good }, E::MinPriceOutOfRange),
        (MarketParameters { min_price: MAX_PRICE + 1, ..good }, E::MinPriceOutOfRange),
        (MarketParameters { max_penalty_multiple: 0, ..good }, E::PenaltyMultipleOutOfRange),
        (MarketParameters { max_penalty_multiple: 101, ..good }, E::PenaltyMultipleOutOfRange),
        (MarketParameters { dispute_bond: 1_000_001, ..good }, E::DisputeBondTooHigh),
    ]
}

#[test]
fn parameters_beyond_their_limits_are_not_announced() {
    let mut world = World::new();
    let admin = world.admin.keypair.insecure_clone();
    for (parameters, error) in parameters_beyond_the_limits() {
        let announce = world.announce_parameters(Some(parameters));
        refused(&mut world, announce, &[&admin], error);
    }
    let nobody = world.set_gateway(&Default::default());
    refused(&mut world, nobody, &[&admin], E::RoleMissing);
    assert_eq!(world.config().revision, 1);
}

#[test]
fn parameters_beyond_their_limits_do_not_configure_a_deployment() {
    let mut world = World::bare(0);
    let authority = world.upgrade_authority.keypair.insecure_clone();
    for (parameters, error) in parameters_beyond_the_limits() {
        let args = ix::InitializeConfigArgs { parameters, ..world.config_args() };
        let initialize = world.instructions().initialize_config(&authority.pubkey(), args);
        refused(&mut world, initialize, &[&authority], error);
    }
}

#[test]
fn parameters_at_their_limits_are_announced() {
    let mut world = World::new();
    let good = MarketParameters::DEFAULT;
    for parameters in [
        MarketParameters { fee_bps: 500, ..good },
        MarketParameters { fee_bps: 0, min_price: 1, ..good },
        MarketParameters { min_price: 100, ..good },
        MarketParameters { min_price: MAX_PRICE, ..good },
        MarketParameters { dispute_window_s: 1_209_600, settle_grace_s: 86_400, ..good },
        MarketParameters { settle_grace_s: 0, max_penalty_multiple: 1, ..good },
        MarketParameters { max_penalty_multiple: 100, ..good },
    ] {
        world.changed_parameters(|announced| *announced = parameters);
        assert_eq!(world.config().parameters, parameters);
    }
}

#[test]
fn only_the_admin_governs() {
    let mut world = World::new();
    let creator = world.agent.creator.clone();
    let upsert = world.upsert_creator_profile(&creator.key(), "Ada");
    world.must(&[upsert], &[&creator.keypair]);
    for who in [
        world.stranger.clone(),
        world.resolver.clone(),
        world.gateway.clone(),
        world.treasury.clone(),
        world.insurance.clone(),
        creator.clone(),
        world.upgrade_authority.clone(),
    ] {
        let instructions = [
            world.set_gateway(&who.key()),
            world.set_guardian(&who.key()),
            world.announce_parameters(Some(MarketParameters::DEFAULT)),
            world.announce_parameters(None),
            world.nominate_admin(&who.key()),
            world.announce_roles(Some(who.key()), None),
            world.remove_resolver(),
        ];
        for instruction in instructions {
            refused(&mut world, signed_by(instruction, &who), &[&who.keypair], E::NotAdmin);
        }
        let verify = world.verify_creator(&creator.key(), Some("Ada"));
        refused(&mut world, signed_by(verify, &who), &[&who.keypair], E::NotAdmin);
        for stop in [
            world.set_paused_with(Some(true), None),
            world.set_paused_with(None, Some(true)),
            world.suspend_agent(&world.agent, true),
        ] {
            refused(&mut world, signed_by(stop, &who), &[&who.keypair], E::NotGuardian);
        }
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
    refused(&mut world, paused, &[&old.keypair], E::NotGuardian);
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
    assert_ok(world.uphold(&disputed, PRICE));
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
fn the_badge_is_given_and_taken_by_the_admin() {
    let mut world = World::new();
    let (admin, creator) = (world.admin.keypair.insecure_clone(), world.agent.creator.clone());
    let upsert = world.upsert_creator_profile(&creator.key(), "Ada");
    world.must(&[upsert], &[&creator.keypair]);
    let verify = world.verify_creator(&creator.key(), Some("Ada"));
    world.must(std::slice::from_ref(&verify), &[&admin]);
    refused(&mut world, verify, &[&admin], E::NothingToChange);
    // The same name again is no new name.
    let same = world.upsert_creator_profile(&creator.key(), "Ada");
    world.must(&[same], &[&creator.keypair]);
    let profile = world.profile(&creator.key());
    assert_eq!((profile.verified, profile.verified_at_unix_s, profile.revision), (1, START_UNIX_S, 4));
    let unverify = world.verify_creator(&creator.key(), None);
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
    let (successor, treasury) = (world.stranger.clone(), world.new_actor());
    announced(&mut world, Some(&successor), Some(&treasury));
    let waiting = world.config();
    assert_eq!((waiting.resolver, waiting.treasury_owner), (before.resolver, before.treasury_owner));
    let early = world.apply_roles();
    assert_error_at(world.send(&[early], &[]), 0, E::AnnouncementNotDue);
    world.set_time(START_UNIX_S + 16 * 86_400);
    apply(&mut world);
    let expected = Config {
        resolver: successor.key(),
        treasury_owner: treasury.key(),
        resolver_since_unix_s: START_UNIX_S + 16 * 86_400,
        revision: before.revision + 2,
        ..before
    };
    assert_eq!(bytemuck::bytes_of(&world.config()), bytemuck::bytes_of(&expected));
    let again = world.apply_roles();
    assert_error_at(world.send(&[again], &[]), 0, E::NothingAnnounced);
}

#[test]
fn a_resolver_who_is_announced_again_keeps_the_term() {
    let mut world = World::new();
    let admin = world.admin.keypair.insecure_clone();
    let earlier = world.answered();
    let since = world.config().resolver_since_unix_s;
    let announce = world.announce_roles(Some(world.resolver.key()), None);
    world.must(&[announce], &[&admin]);
    world.set_time(world.config().roles_apply_from_unix_s);
    let apply = world.apply_roles();
    world.must(&[apply], &[]);
    assert_eq!(world.config().resolver_since_unix_s, since);
    // So a penalty for what was raised before is still possible.
    assert_ok(world.resolve(&earlier, true, 2 * PRICE));
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
    let (first, second) = (world.stranger.clone(), world.new_actor());
    announced(&mut world, Some(&first), None);
    announced(&mut world, Some(&second), None);
    let early = world.apply_roles();
    assert_error_at(world.send(&[early], &[]), 0, E::AnnouncementNotDue);
    world.set_time(world.now() + 1);
    apply(&mut world);
    assert_eq!(world.config().resolver, second.key());
}

#[test]
fn an_announcement_can_be_taken_back() {
    let mut world = World::new();
    let (successor, treasury) = (world.stranger.clone(), world.new_actor());
    announced(&mut world, Some(&successor), Some(&treasury));
    let nobody = world.announce_roles(None, None);
    world.must(&[nobody], &[&world.admin.keypair.insecure_clone()]);
    world.set_time(world.now() + Config::ROLE_DELAY_S);
    let apply = world.apply_roles();
    assert_error_at(world.send(&[apply], &[]), 0, E::NothingAnnounced);
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
    world.changed_parameters(|parameters| parameters.fee_bps = 0);
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
    world.announced_parameters(|parameters| parameters.dispute_window_s = 14 * 86_400);
    let (settled, failed) = (world.opened(), world.opened());
    world.applied_parameters();
    let next = world.opened();
    assert_eq!(i64::from(world.record(&next).dispute_window_s), 14 * 86_400);
    assert_ok(world.complete(&settled));
    assert_ok(world.fail(&failed));
    let end = world.now() + MarketParameters::DEFAULT.dispute_window_s;
    assert_eq!(world.dispute_deadline(&settled), end);
    assert_eq!(world.listing(&world.agent).last_dispute_deadline_unix_s, end);
    for execution in [&settled, &failed] {
        let close = world.close_execution(execution);
        world.set_time(end);
        assert_error_at(world.send(std::slice::from_ref(&close), &[]), 0, E::RecordStillNeeded);
        world.set_time(end + 1);
        world.must(&[close], &[]);
    }
}

#[test]
fn a_changed_grace_leaves_open_executions_their_deadline() {
    let mut world = World::new();
    world.announced_parameters(|parameters| parameters.settle_grace_s = 0);
    let before = world.opened();
    world.applied_parameters();
    let after = world.opened();
    let time_out = world.now() + i64::from(TIMEOUT_S);
    assert_eq!(world.terms(&before).deadline_unix_s, time_out + 120);
    assert_eq!(world.terms(&after).deadline_unix_s, time_out);
}

#[test]
fn the_penalties_go_to_the_insurance_in_office() {
    let mut world = World::new();
    let former = world.insurance.clone();
    let successor = world.stranger.clone();
    let announce = ix::AnnounceRolesArgs { insurance_owner: Some(successor.key()), ..Default::default() };
    let announce = world.announce_roles_with(announce);
    world.must(&[announce], &[&world.admin.keypair.insecure_clone()]);
    world.set_time(START_UNIX_S + Config::ROLE_DELAY_S);
    let disputed = world.answered();
    apply(&mut world);
    assert_eq!(world.config().insurance_owner, successor.key());
    assert_error_at(world.resolve(&disputed, true, PRICE + 3), 0, E::TokenOwnerMismatch);
    world.insurance = successor;
    assert_ok(world.resolve(&disputed, true, PRICE + 3));
    assert_eq!((world.balance(&former.token), world.balance(&world.insurance.token)), (PURSE, PURSE + 3));
}

#[test]
fn the_insurance_is_neither_the_treasurys_nor_the_resolvers() {
    let mut world = World::new();
    let admin = world.admin.keypair.insecure_clone();
    let (resolver, treasury, insurance) = (world.resolver.key(), world.treasury.key(), world.insurance.key());
    let new = world.stranger.key();
    let none = ix::AnnounceRolesArgs::default();
    for args in [
        ix::AnnounceRolesArgs { insurance_owner: Some(resolver), ..none.clone() },
        ix::AnnounceRolesArgs { insurance_owner: Some(treasury), ..none.clone() },
        ix::AnnounceRolesArgs { resolver: Some(insurance), ..none.clone() },
        ix::AnnounceRolesArgs { treasury_owner: Some(insurance), ..none.clone() },
        ix::AnnounceRolesArgs { resolver: Some(new), insurance_owner: Some(new), ..none.clone() },
        ix::AnnounceRolesArgs { treasury_owner: Some(new), insurance_owner: Some(new), ..none.clone() },
    ] {
        let announce = world.announce_roles_with(args);
        refused(&mut world, announce, &[&admin], E::InsuranceNotIndependent);
    }
    // The roles that are announced together count, so an exchange is possible.
    let exchange = ix::AnnounceRolesArgs { resolver: Some(insurance), insurance_owner: Some(resolver), ..none };
    let exchange = world.announce_roles_with(exchange);
    world.must(&[exchange], &[&admin]);
}

// Parameters that take effect after an announcement.

#[test]
fn announced_parameters_apply_after_seven_days_and_not_before() {
    let mut world = World::new();
    let before = world.config();
    let parameters = MarketParameters { fee_bps: 250, min_price: 2_000, ..before.parameters };
    let announce = world.announce_parameters(Some(parameters));
    world.must(&[announce], &[&world.admin.keypair.insecure_clone()]);
    let due = START_UNIX_S + 7 * 86_400;
    let waiting = world.config();
    assert_eq!((waiting.parameters_apply_from_unix_s, waiting.announced_parameters), (due, parameters));
    assert_eq!(waiting.parameters, before.parameters);
    let early = world.apply_parameters();
    for time in [START_UNIX_S, due - 1] {
        world.set_time(time);
        refused(&mut world, early.clone(), &[], E::AnnouncementNotDue);
    }
    world.set_time(due);
    world.applied_parameters();
    let expected = Config { parameters, revision: before.revision + 2, ..before };
    assert_eq!(bytemuck::bytes_of(&world.config()), bytemuck::bytes_of(&expected));
    refused(&mut world, early, &[], E::NothingAnnounced);
}

#[test]
fn a_second_announcement_of_parameters_replaces_the_first_and_restarts_the_delay() {
    let mut world = World::new();
    world.announced_parameters(|parameters| parameters.fee_bps = 500);
    world.announced_parameters(|parameters| parameters.fee_bps = 50);
    world.set_time(world.now() - 1);
    let early = world.apply_parameters();
    refused(&mut world, early, &[], E::AnnouncementNotDue);
    world.set_time(world.now() + 1);
    world.applied_parameters();
    assert_eq!(world.config().parameters.fee_bps, 50);
}

#[test]
fn announced_parameters_can_be_taken_back() {
    let mut world = World::new();
    world.announced_parameters(|parameters| parameters.fee_bps = 500);
    let nothing = world.announce_parameters(None);
    world.must(&[nothing], &[&world.admin.keypair.insecure_clone()]);
    world.set_time(world.now() + Config::PARAMETERS_DELAY_S);
    let apply = world.apply_parameters();
    refused(&mut world, apply, &[], E::NothingAnnounced);
    assert_eq!(world.config().parameters, MarketParameters::DEFAULT);
}

#[test]
fn an_announcement_applies_until_seven_days_after_it_was_due_and_not_later() {
    for (offset, applies) in [(-1, true), (0, true), (1, false)] {
        let mut world = World::new();
        let successor = world.stranger.clone();
        announced(&mut world, Some(&successor), None);
        let roles_lapse = world.config().roles_apply_from_unix_s + 7 * 86_400;
        world.announced_parameters(|parameters| parameters.fee_bps = 500);
        let parameters_lapse = world.config().parameters_apply_from_unix_s + 7 * 86_400;
        for (apply, lapse) in [(world.apply_roles(), roles_lapse), (world.apply_parameters(), parameters_lapse)] {
            world.set_time(lapse + offset);
            if applies {
                world.must(&[apply], &[]);
            } else {
                refused(&mut world, apply, &[], E::AnnouncementLapsed);
            }
        }
        assert_eq!(world.config().resolver == successor.key(), applies);
        assert_eq!(world.config().parameters.fee_bps == 500, applies);
    }
}

#[test]
fn a_lapsed_announcement_can_be_made_again() {
    let mut world = World::new();
    let successor = world.stranger.clone();
    announced(&mut world, Some(&successor), None);
    world.set_time(world.now() + 30 * 86_400);
    let lapsed = world.apply_roles();
    refused(&mut world, lapsed, &[], E::AnnouncementLapsed);
    announced(&mut world, Some(&successor), None);
    world.set_time(world.now() + 1);
    apply(&mut world);
    assert_eq!(world.config().resolver, successor.key());
}

#[test]
fn a_badge_names_what_was_verified() {
    let mut world = World::new();
    let (admin, creator) = (world.admin.keypair.insecure_clone(), world.agent.creator.clone());
    // The first listing made the profile, without a name.
    let nameless = world.verify_creator(&creator.key(), Some(""));
    refused(&mut world, nameless, &[&admin], E::NothingToChange);
    let not_yet = world.verify_creator(&creator.key(), Some("Ada"));
    refused(&mut world, not_yet.clone(), &[&admin], E::DisplayNameMismatch);
    let name = world.upsert_creator_profile(&creator.key(), "Ada");
    world.must(&[name], &[&creator.keypair]);
    for other in ["ada", "Ada ", "Ad", ""] {
        let verify = world.verify_creator(&creator.key(), Some(other));
        refused(&mut world, verify, &[&admin], E::DisplayNameMismatch);
    }
    let without_badge = world.verify_creator(&creator.key(), None);
    refused(&mut world, without_badge, &[&admin], E::NothingToChange);
    world.must(&[not_yet], &[&admin]);
    assert_eq!(world.profile(&creator.key()).verified, 1);
}
