//! The purpose of the program: every instruction of the paid call, used correctly, exact to the base unit.

use agent_marketplace::{event::AgentListed, instructions as ix, state::*};
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
    assert_eq!((config.fee_bps, config.paused, config.revision, config.version), (100, 0, 1, LAYOUT_VERSION));
    assert_eq!(config.collateral_tiers, Config::DEFAULT_COLLATERAL_TIERS);
    assert_eq!((config.dispute_window_s, config.settle_grace_s), (259_200, 120));
}

#[test]
fn a_creator_names_and_renames_the_own_profile() {
    let mut world = World::new();
    let creator = world.agent.creator.clone();
    let first = world.upsert_creator_profile(&creator.key(), "Ada");
    world.must(&[first], &[&creator.keypair]);
    assert_eq!(world.profile(&creator.key()).display_name(), Some("Ada"));
    assert_eq!(world.profile(&creator.key()).revision, 1);

    world.set_time(START_UNIX_S + 5);
    let second = world.upsert_creator_profile(&creator.key(), "Ångström & Söhne");
    world.must(&[second], &[&creator.keypair]);
    let profile = world.profile(&creator.key());
    assert_eq!(profile.display_name(), Some("Ångström & Söhne"));
    assert_eq!((profile.revision, profile.verified), (2, 0));
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
    let event: AgentListed = emitted(&meta);
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
        metadata: Some(ix::MetadataRef { hash: [0x33; 32], uri: "https://example.com/m.json".to_owned() }),
    };
    let update = world.update_listing(&agent, edit);
    world.must(&[update], &[&agent.creator.keypair]);
    let listing = world.listing(&agent);
    assert_eq!((listing.price, listing.timeout_seconds, listing.result_key), (99_999, 900, other_key));
    assert_eq!(listing.metadata_uri(), Some("https://example.com/m.json"));
    assert_eq!(listing.metadata_hash, [0x33; 32]);
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
        expires_at_unix_s: START_UNIX_S + 60,
        allowed_agents: vec![world.agent.address],
    });
    world.must(&[change], &[&world.caller.keypair.insecure_clone()]);
    let grant = world.grant();
    assert_eq!((grant.per_call_cap, grant.total_cap, grant.spent), (2 * USDC, 3 * USDC, PRICE));
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
    assert_eq!((record.refund_owner, record.rent_payer), (world.caller.key(), world.payer.key()));
    assert_eq!(record.grant, Default::default());
    assert_eq!((record.execution_id, record.request_hash), (execution.id, [0x22; 32]));
    assert_eq!((record.amount, record.creator_amount, record.platform_amount), (PRICE, 49_500, 500));
    assert_eq!(record.opened_at_unix_s, START_UNIX_S);
    assert_eq!(record.deadline_unix_s, START_UNIX_S + i64::from(TIMEOUT_S) + 120);
    assert_eq!(record.result_key.to_bytes(), world.agent.result_key.verifying_key().to_bytes());
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
    assert_eq!(record.grant, world.addresses.grant(&world.caller.key(), &world.session.pubkey()));
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
    assert_eq!(record.dispute_deadline_unix_s, START_UNIX_S + 3 + 259_200);
    let listing = world.listing(&world.agent);
    assert_eq!((listing.open_amount, listing.open_executions), (0, 0));
    assert_eq!((listing.total_executions, listing.successful_executions, listing.completed_executions), (1, 1, 1));
    assert_eq!((listing.failed_executions, listing.execution_time_ms_total), (0, 1_234));
    assert_eq!(listing.last_dispute_deadline_unix_s, record.dispute_deadline_unix_s);
}

#[test]
fn creator_and_caller_settle_without_any_gateway() {
    let mut world = World::new();
    for who in [world.agent.creator.clone(), world.caller.clone()] {
        let execution = world.opened();
        let settle = forged(world.complete_execution(&execution), &[("authority", who.key())]);
        let proof = world.proof(&execution).instruction();
        world.must(&[proof, settle], &[&who.keypair]);
        assert_eq!(world.status(&execution), ExecutionStatus::Completed);
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
fn a_price_whose_fee_is_below_a_base_unit_goes_to_the_creator_whole() {
    let mut world = World::new();
    let agent = world.agent.clone();
    let cheap = world.update_listing(&agent, ix::UpdateListingArgs { price: Some(99), ..Default::default() });
    world.must(&[cheap], &[&agent.creator.keypair]);
    let execution = world.opened();
    assert_ok(world.complete(&execution));
    assert_eq!(world.balance(&agent.creator.token), PURSE - COLLATERAL + 99);
    assert_eq!(world.balance(&world.treasury.token), PURSE);
}

#[test]
fn a_failure_refunds_everything_at_once() {
    let mut world = World::new();
    for (reporter, reason) in
        [(world.gateway.clone(), FailureReason::Timeout), (world.agent.creator.clone(), FailureReason::CreatorFailed)]
    {
        let execution = world.opened();
        let fail = forged(world.fail_execution(&execution, reason), &[("authority", reporter.key())]);
        world.must(&[fail], &[&reporter.keypair]);
        assert_eq!(world.status(&execution), ExecutionStatus::Failed);
        assert_eq!(world.record(&execution).failure_reason(), Some(reason));
        assert_eq!(world.balance(&world.caller.token), PURSE);
    }
    let listing = world.listing(&world.agent);
    assert_eq!((listing.total_executions, listing.failed_executions, listing.successful_executions), (2, 2, 0));
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
    assert_eq!(world.grant().spent, PRICE, "a refund does not renew the cap");
}

/// The state machine found this: in whole seconds, a short call seemed shorter than it was.
#[test]
fn a_call_that_took_until_the_end_of_its_last_second_settles() {
    let mut world = World::new();
    let agent = world.agent.clone();
    let short = world.update_listing(&agent, ix::UpdateListingArgs { timeout_seconds: Some(1), ..Default::default() });
    let without_grace = world.update_config(ix::UpdateConfigArgs { settle_grace_s: Some(0), ..Default::default() });
    let admin = world.admin.keypair.insecure_clone();
    world.must(&[short, without_grace], &[&agent.creator.keypair, &admin]);
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
