//! The purpose of the program: every instruction of the paid call, used correctly, exact to the base unit.

use agent_marketplace::{event::ListingCreated, instructions as ix, state::*};
use crtx_program_tests::*;

#[test]
fn the_configuration_holds_what_it_was_given() {
    let world = World::new();
    let config = world.config();
    assert_eq!(config.admin, world.admin.key());
    assert_eq!(config.resolver, world.resolver.key());
    assert_eq!(config.gateway_authority, world.gateway.key());
    assert_eq!(config.treasury_owner, world.treasury.key());
    assert_eq!(config.usdc_mint, world.mint);
    assert_eq!(config.insurance_owner, world.insurance.key());
    assert_eq!((config.openings_paused, config.listings_paused, config.revision), (0, 0, 1));
    let parameters = config.parameters;
    assert_eq!((parameters.fee_bps, parameters.min_price, parameters.max_penalty_multiple), (100, 10_000, 20));
    assert_eq!((parameters.dispute_window_s, parameters.settle_grace_s), (259_200, 120));
    assert_eq!(parameters, MarketParameters::DEFAULT);
}

#[test]
fn a_creator_names_and_renames_the_own_profile() {
    let mut world = World::new();
    let creator = world.agent.creator.clone();
    let first = world.upsert_creator_profile(&creator.key(), "Ada");
    world.must(&[first], &[&creator.keypair]);
    assert_eq!(world.profile(&creator.key()).display_name(), Some("Ada"));
    // The first listing made the profile.
    assert_eq!(world.profile(&creator.key()).revision, 2);

    world.set_time(START_UNIX_S + 5);
    let second = world.upsert_creator_profile(&creator.key(), "Ångström & Söhne");
    world.must(&[second], &[&creator.keypair]);
    let profile = world.profile(&creator.key());
    assert_eq!(profile.display_name(), Some("Ångström & Söhne"));
    assert_eq!((profile.revision, profile.verified), (3, 0));
    assert_eq!((profile.created_at_unix_s, profile.updated_at_unix_s), (START_UNIX_S, START_UNIX_S + 5));
}

#[test]
fn a_listed_agent_is_active_and_its_collateral_is_locked() {
    let world = World::new();
    let listing = world.listing(&world.agent);
    assert_eq!(listing.status(), Some(AgentStatus::Active));
    assert_eq!((listing.price, listing.timeout_seconds, listing.collateral), (PRICE, TIMEOUT_S, COLLATERAL));
    assert_eq!(listing.creator, world.agent.creator.key());
    assert_eq!(listing.escrow, world.addresses.escrow(&world.agent.address));
    assert_eq!(listing.revision, first_revision(START_UNIX_S).expect("in range"));
    assert_eq!(listing.metadata_uri(), Some(world.list_args(&world.agent).metadata_uri.as_str()));
    assert_eq!(world.balance(&world.addresses.collateral(&world.agent.address)), COLLATERAL);
    assert_eq!(world.balance(&listing.escrow), 0);
    assert_eq!(world.balance(&world.agent.creator.token), PURSE - COLLATERAL);
}

#[test]
fn listing_emits_agent_listed_by_cpi() {
    let mut world = World::new();
    let agent = world.new_agent();
    let args = world.list_args(&agent);
    let list = world.list_agent(&agent, args.clone());
    let meta = world.must(&[list], &[&agent.creator.keypair]);
    let event: ListingCreated = emitted(&meta);
    assert_eq!(event.agent, agent.address);
    assert_eq!(event.creator, agent.creator.key());
    assert_eq!((event.price, event.collateral, event.timeout_seconds), (PRICE, COLLATERAL, TIMEOUT_S));
    assert_eq!((event.result_key, event.metadata_hash), (args.result_key, args.metadata_hash));
    assert_eq!((event.metadata_uri, event.listed_at_unix_s), (args.metadata_uri, START_UNIX_S));
}

#[test]
fn a_listing_that_names_no_timeout_gets_sixty_seconds() {
    let mut world = World::new();
    let agent = world.new_agent();
    world.list(&agent, ix::ListAgentArgs { timeout_seconds: 0, ..world.list_args(&agent) });
    assert_eq!(world.listing(&agent).timeout_seconds, 60);
}

#[test]
fn a_creator_lists_several_agents() {
    let mut world = World::new();
    let second =
        Agent { address: world.addresses.agent(&world.agent.creator.key(), 7), index: 7, ..world.agent.clone() };
    world.list(&second, world.list_args(&second));
    assert_eq!(world.listing(&second).index, 7);
    assert_ne!(second.address, world.agent.address);
}

#[test]
fn a_creator_pauses_and_reactivates() {
    let mut world = World::new();
    let agent = world.agent.clone();
    for (status, revision) in [(AgentStatus::Paused, 1), (AgentStatus::Active, 2)] {
        let set = world.set_agent_status(&agent, status);
        world.must(&[set], &[&agent.creator.keypair]);
        assert_eq!(world.listing(&agent).status(), Some(status));
        assert_eq!(world.listing(&agent).revision, first_revision(START_UNIX_S).expect("in range") + revision);
    }
}

#[test]
fn a_creator_edits_a_listing_and_open_executions_keep_their_terms() {
    let mut world = World::new();
    let execution = world.opened();
    let before = world.record(&execution);
    let agent = world.agent.clone();
    let other_key = world.new_key().pubkey();
    let edit = ix::UpdateListingArgs {
        price: Some(99_999),
        timeout_seconds: Some(900),
        result_key: Some(other_key),
        binding: Some(true),
        min_cover: Some(2),
        metadata: Some(ix::MetadataRef { hash: [0x33; 32], uri: "https://example.com/m.json".to_owned() }),
    };
    let update = world.update_listing(&agent, edit);
    world.must(&[update], &[&agent.creator.keypair]);
    let listing = world.listing(&agent);
    assert_eq!((listing.price, listing.timeout_seconds, listing.result_key), (99_999, 900, other_key));
    assert_eq!(listing.metadata_uri(), Some("https://example.com/m.json"));
    assert_eq!((listing.metadata_hash, listing.binding), ([0x33; 32], 1));
    assert_eq!(bytemuck::bytes_of(&world.record(&execution)), bytemuck::bytes_of(&before));
    // The key of the opening still settles.
    assert_ok(world.complete(&execution));
    assert_eq!(world.record(&execution).amount, PRICE);
}

#[test]
fn a_grant_is_created_changed_and_revoked() {
    let mut world = World::new();
    let grant = world.grant();
    assert_eq!(grant.wallet, world.caller.key());
    assert_eq!(grant.session_key, world.session.pubkey());
    assert_eq!((grant.per_call_cap, grant.total_cap, grant.spent, grant.revision), (USDC, 100 * USDC, 0, 1));

    let execution = world.new_execution();
    assert_ok(world.open_with_grant(&execution));
    let change = world.grant_spending(ix::GrantSpendingArgs {
        session_key: world.session.pubkey(),
        per_call_cap: 2 * USDC,
        total_cap: 3 * USDC,
        daily_cap: USDC,
        expires_at_unix_s: START_UNIX_S + 60,
        allowed_agents: vec![world.agent.address],
    });
    world.must(&[change], &[&world.caller.keypair.insecure_clone()]);
    let grant = world.grant();
    assert_eq!((grant.per_call_cap, grant.total_cap, grant.spent), (2 * USDC, 3 * USDC, PRICE));
    assert_eq!((grant.daily_cap, grant.spent_on_day, grant.day), (USDC, PRICE, 20_370));
    assert_eq!(grant.allowed_agents(), [world.agent.address]);

    let revoke = world.revoke_spending();
    world.must(&[revoke], &[&world.caller.keypair.insecure_clone()]);
    assert_eq!((world.grant().revoked, world.grant().revision), (1, 4));
}

#[test]
fn opening_moves_the_price_into_escrow_and_writes_the_terms() {
    let mut world = World::new();
    let execution = world.opened();
    let record = world.record(&execution);
    assert_eq!(record.status(), Some(ExecutionStatus::Open));
    assert_eq!((record.agent, record.caller), (world.agent.address, world.caller.key()));
    assert_eq!((record.rent_payer, record.execution_id), (world.payer.key(), execution.id));
    assert_eq!((record.amount, record.fee_bps, record.max_penalty_multiple), (PRICE, 100, 20));
    assert_eq!(record.split().map(|split| (split.creator, split.platform)), Some((49_500, 500)));
    assert_eq!((record.opened_at_unix_s, record.dispute_window_s, record.binding), (START_UNIX_S, 259_200, 0));
    let terms = world.terms(&execution);
    assert_eq!((terms.grant, terms.paid_from), (Default::default(), world.caller.token));
    assert_eq!((terms.request_hash, terms.timeout_seconds), ([0x22; 32], TIMEOUT_S));
    assert_eq!(terms.deadline_unix_s, START_UNIX_S + i64::from(TIMEOUT_S) + 120);
    assert_eq!(terms.result_key.to_bytes(), world.agent.result_key.verifying_key().to_bytes());
    let listing = world.listing(&world.agent);
    assert_eq!((listing.open_amount, listing.open_executions), (PRICE, 1));
    assert_eq!(world.balance(&listing.escrow), PRICE);
    assert_eq!(world.balance(&world.caller.token), PURSE - PRICE);
}

#[test]
fn an_api_key_opens_alone_and_the_grant_counts_what_it_spends() {
    let mut world = World::new();
    let execution = world.new_execution();
    assert_ok(world.open_with_grant(&execution));
    let record = world.record(&execution);
    assert_eq!(record.caller, world.caller.key());
    assert_eq!(world.terms(&execution).grant, world.addresses.grant(&world.caller.key(), &world.session.pubkey()));
    let grant = world.grant();
    assert_eq!((grant.spent, grant.executions, grant.revision), (PRICE, 1, 2));
    assert_eq!(world.balance(&world.caller.token), PURSE - PRICE);
}

#[test]
fn a_signed_result_pays_creator_ninety_nine_and_treasury_one_percent() {
    let mut world = World::new();
    let execution = world.opened();
    world.set_time(START_UNIX_S + 3);
    assert_ok(world.complete(&execution));
    assert_eq!(world.balance(&world.caller.token), PURSE - PRICE);
    assert_eq!(world.balance(&world.agent.creator.token), PURSE - COLLATERAL + PRICE * 99 / 100);
    assert_eq!(world.balance(&world.treasury.token), PURSE + PRICE / 100);
    assert_eq!(world.balance(&world.addresses.escrow(&world.agent.address)), 0);

    let record = world.record(&execution);
    assert_eq!(record.status(), Some(ExecutionStatus::Completed));
    assert_eq!((record.result_hash, record.execution_time_ms), (RESULT_HASH, 1_234));
    assert_eq!(record.reported_tokens(), Some(567));
    assert_eq!(record.finished_at_unix_s, START_UNIX_S + 3);
    assert_eq!(record.dispute_deadline_unix_s(), Some(START_UNIX_S + 3 + 259_200));
    assert_eq!(record.settled_by(), Some(Settler::Gateway));
    let listing = world.listing(&world.agent);
    assert_eq!((listing.open_amount, listing.open_executions), (0, 0));
    assert_eq!((listing.total_executions, listing.successful_executions, listing.completed_executions), (1, 1, 1));
    assert_eq!((listing.failed_executions, listing.execution_time_ms_total, listing.timed_executions), (0, 1_234, 1));
    assert_eq!((listing.expired_executions, listing.platform_fees_total), (0, 500));
    assert_eq!(Some(listing.last_dispute_deadline_unix_s), record.dispute_deadline_unix_s());
}

#[test]
fn creator_and_caller_settle_without_any_gateway() {
    let mut world = World::new();
    for (who, settler) in [(world.agent.creator.clone(), Settler::Creator), (world.caller.clone(), Settler::Caller)] {
        let execution = world.opened();
        let settle = forged(world.complete_execution(&execution), &[("authority", who.key())]);
        let proof = world.proof(&execution).instruction();
        world.must(&[proof, settle], &[&who.keypair]);
        assert_eq!(world.status(&execution), ExecutionStatus::Completed);
        assert_eq!(world.record(&execution).settled_by(), Some(settler));
    }
}

#[test]
fn tokens_that_were_not_reported_stay_unreported() {
    let mut world = World::new();
    let execution = world.opened();
    let settle = world.complete_with(&Settlement { tokens_used: None, ..world.settlement(&execution) });
    let proof = world.proof(&execution).instruction();
    world.must(&[proof, settle], &[&world.gateway.keypair.insecure_clone()]);
    assert_eq!(world.record(&execution).reported_tokens(), None);
}

#[test]
fn the_part_of_a_base_unit_in_a_fee_goes_to_the_creator() {
    for (price, fee) in [(10_000, 100), (10_099, 100), (10_100, 101)] {
        let mut world = World::new();
        let agent = world.agent.clone();
        let cheap = world.update_listing(&agent, ix::UpdateListingArgs { price: Some(price), ..Default::default() });
        world.must(&[cheap], &[&agent.creator.keypair]);
        let execution = world.opened();
        assert_ok(world.complete(&execution));
        assert_eq!(world.balance(&agent.creator.token), PURSE - COLLATERAL + price - fee);
        assert_eq!(world.balance(&world.treasury.token), PURSE + fee);
    }
}

#[test]
fn a_bound_agents_result_is_signed_for_the_call() {
    let mut world = World::new();
    let agent = world.agent.clone();
    let unbound = world.opened();
    world.bind(&agent, true);
    let bound = world.opened();
    assert_eq!((world.record(&unbound).binding, world.record(&bound).binding), (0, 1));
    // Each settles with the shape that it was opened with.
    world.bind(&agent, false);
    for execution in [&unbound, &bound] {
        assert_ok(world.complete(execution));
        assert_eq!(world.record(execution).result_hash, RESULT_HASH);
    }
    assert_eq!(world.balance(&world.treasury.token), PURSE + 2 * PRICE / 100);
}

#[test]
fn a_failure_refunds_everything_at_once() {
    let mut world = World::new();
    for (reporter, reason) in [
        (world.gateway.clone(), FailureReason::InvalidResponse),
        (world.agent.creator.clone(), FailureReason::CreatorFailed),
    ] {
        let execution = world.opened();
        let fail = forged(world.fail_execution(&execution, reason), &[("authority", reporter.key())]);
        world.must(&[fail], &[&reporter.keypair]);
        assert_eq!(world.status(&execution), ExecutionStatus::Failed);
        assert_eq!(world.record(&execution).failure_reason(), Some(reason));
        assert_eq!(world.balance(&world.caller.token), PURSE);
    }
    let listing = world.listing(&world.agent);
    assert_eq!((listing.total_executions, listing.failed_executions, listing.unproved_failures), (1, 1, 1));
    assert_eq!((listing.successful_executions, listing.expired_executions), (0, 0));
    assert_eq!((listing.open_amount, listing.open_executions), (0, 0));
}

#[test]
fn anybody_refunds_after_the_deadline() {
    let mut world = World::new();
    let execution = world.new_execution();
    assert_ok(world.open_with_grant(&execution));
    world.expire(&execution);
    assert_ok(world.refund(&execution));
    assert_eq!(world.status(&execution), ExecutionStatus::Expired);
    assert_eq!(world.record(&execution).failure_reason(), Some(FailureReason::Expired));
    assert_eq!(world.balance(&world.caller.token), PURSE);
    assert_eq!((world.grant().spent, world.grant().executions), (0, 1), "the refund gives the cap back");
    let listing = world.listing(&world.agent);
    assert_eq!((listing.expired_executions, listing.failed_executions, listing.total_executions), (1, 0, 0));
}

/// The state machine found this: in whole seconds, a short call seemed shorter than it was.
#[test]
fn a_call_that_took_until_the_end_of_its_last_second_is_recorded_whole() {
    let mut world = World::new();
    let execution = world.opened();
    world.set_time(START_UNIX_S + 1);
    let settle = world.complete_with(&Settlement { execution_time_ms: 1_999, ..world.settlement(&execution) });
    let proof = world.proof(&execution).instruction();
    assert_ok(world.send(&[proof, settle], &[&world.gateway.keypair.insecure_clone()]));
    assert_eq!(world.record(&execution).execution_time_ms, 1_999);
}

#[test]
fn payees_use_any_usdc_account_they_own() {
    let mut world = World::new();
    let execution = world.opened();
    let (creator, treasury) = (world.agent.creator.key(), world.treasury.key());
    let other = world.new_token_account(&creator, 0);
    let other_treasury = world.new_token_account(&treasury, 0);
    let others = [("creator_token", other), ("treasury_token", other_treasury)];
    let settle = forged(world.complete_execution(&execution), &others);
    let proof = world.proof(&execution).instruction();
    world.must(&[proof, settle], &[&world.gateway.keypair.insecure_clone()]);
    assert_eq!((world.balance(&other), world.balance(&other_treasury)), (49_500, 500));
}

#[test]
fn lamports_sent_ahead_to_an_address_do_not_block_its_creation() {
    for lamports in [890_880, 5_000_000, 100_000_000] {
        let mut world = World::new();
        let execution = world.new_execution();
        world.svm.airdrop(&execution.record, lamports).expect("an airdrop");
        assert_ok(world.open(&execution));
        let agent = world.new_agent();
        for address in
            [agent.address, world.addresses.escrow(&agent.address), world.addresses.collateral(&agent.address)]
        {
            world.svm.airdrop(&address, lamports).expect("an airdrop");
        }
        world.list(&agent, world.list_args(&agent));
        assert_eq!(world.listing(&agent).collateral, COLLATERAL);
    }
}

#[test]
fn usdc_that_nobody_accounted_for_blocks_nothing() {
    let mut world = World::new();
    let execution = world.opened();
    world.dust(&world.addresses.escrow(&world.agent.address), 12_345);
    world.dust(&world.addresses.collateral(&world.agent.address), 1);
    assert_ok(world.complete(&execution));
    let second = world.opened();
    assert_ok(world.fail(&second));
    assert_eq!(world.balance(&world.addresses.escrow(&world.agent.address)), 12_345);
    assert_eq!(world.listing(&world.agent).collateral, COLLATERAL);
}
