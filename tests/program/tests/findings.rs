//! What an attack on the first version of the program found, each with its figures: how reputations were destroyed
//! or faked for nothing, how terms moved under people's feet, and where money and rent got stuck. Every test shows
//! that it does not work any more, and what it costs instead.
#![expect(clippy::result_large_err, reason = "a test: a panic is a failure")]

use agent_marketplace::{instructions as ix, state::*};
use crtx_program_tests::*;

use MarketplaceError as E;

/// The success rate as a buyer computes it from the listing.
fn success_rate(world: &World) -> f64 {
    let listing = world.listing(&world.agent);
    listing.successful_executions as f64 / listing.total_executions as f64
}

/// An execution of the world's agent by another caller, not opened yet.
fn execution_of(world: &mut World, caller: &Actor) -> Execution {
    let execution = world.new_execution();
    let record = world.addresses.execution(&caller.key(), &execution.id);
    Execution { caller: caller.clone(), record, ..execution }
}

/// `authority` settles with `proof` in front.
fn settle(
    world: &mut World,
    execution: &Execution,
    authority: &Actor,
    proof: &Proof,
) -> litesvm::types::TransactionResult {
    let settle = forged(world.complete_execution(execution), &[("authority", authority.key())]);
    world.send(&[proof.instruction(), settle], &[&authority.keypair])
}

fn set_price(world: &mut World, price: u64) {
    let agent = world.agent.clone();
    let edit = world.update_listing(&agent, ix::UpdateListingArgs { price: Some(price), ..Default::default() });
    world.must(&[edit], &[&agent.creator.keypair]);
}

// Reputation.

/// A caller opens on chain, never lets anybody dispatch the call, and takes the refund.
#[test]
fn fifty_openings_that_expire_without_dispatch_leave_the_success_rate_at_one() {
    let mut world = World::new();
    let attacker = world.new_actor();
    world.completed();
    assert_eq!(success_rate(&world), 1.0);
    let executions: Vec<Execution> = (0..50).map(|_| execution_of(&mut world, &attacker)).collect();
    for execution in &executions {
        assert_ok(world.open(execution));
    }
    world.expire(&executions[0]);
    for execution in &executions {
        assert_ok(world.refund(execution));
    }
    assert_eq!(success_rate(&world), 1.0);
    let listing = world.listing(&world.agent);
    assert_eq!((listing.total_executions, listing.failed_executions, listing.expired_executions), (1, 0, 50));
    assert_eq!(world.balance(&attacker.token), PURSE);
    // What the agent itself says still counts.
    let failed = world.opened();
    assert_ok(world.fail_signed(&failed));
    assert_eq!(success_rate(&world), 0.5);
}

/// A gateway that gives a call up says so, and the agent's numbers stay.
#[test]
fn an_interruption_of_the_gateway_is_no_failure_of_the_agent() {
    let mut world = World::new();
    world.completed();
    let execution = world.opened();
    let interrupted = world.fail_execution(&execution, FailureReason::Interrupted);
    world.must(&[interrupted], &[&world.gateway.keypair.insecure_clone()]);
    assert_eq!(success_rate(&world), 1.0);
    let listing = world.listing(&world.agent);
    assert_eq!((listing.total_executions, listing.failed_executions, listing.expired_executions), (1, 0, 1));
    assert_eq!(world.balance(&world.caller.token), PURSE - PRICE);
}

/// Opening, proof and settlement by one wallet in one transaction, at the lowest price.
#[test]
fn fifty_wash_trades_cost_five_thousand_base_units_in_fees_and_a_second_wallet() {
    let mut world = World::new();
    let creator = world.agent.creator.clone();
    set_price(&mut world, 10_000);
    // The price whose fee rounded down to nothing is refused.
    let edit = ix::UpdateListingArgs { price: Some(99), ..Default::default() };
    let free = world.update_listing(&world.agent, edit);
    refused(&mut world, free, &[&creator.keypair], E::PriceOutOfRange);
    // The same wallet as caller and creator is refused.
    let own = execution_of(&mut world, &creator);
    let open = world.open_execution(&own);
    refused(&mut world, open, &[&creator.keypair], E::CallerIsCreator);

    let second_wallet = world.new_actor();
    let before = world.balance(&creator.token) + world.balance(&second_wallet.token);
    for _ in 0..50 {
        let execution = execution_of(&mut world, &second_wallet);
        let open = world.open_execution(&execution);
        let settle = forged(world.complete_execution(&execution), &[("authority", creator.key())]);
        let proof = world.proof(&execution).instruction();
        world.must(&[open, proof, settle], &[&second_wallet.keypair, &creator.keypair]);
    }
    let after = world.balance(&creator.token) + world.balance(&second_wallet.token);
    assert_eq!(before - after, 5_000, "100 base units for each of 50 calls at the minimum price");
    assert_eq!(world.balance(&world.treasury.token), PURSE + 5_000);
    let listing = world.listing(&world.agent);
    assert_eq!((listing.successful_executions, listing.platform_fees_total), (50, 5_000));
}

/// Every signature that ever settled is public. A competitor settles the own call with an old one, and disputes.
#[test]
fn a_caller_who_settled_with_an_old_public_signature_cannot_dispute() {
    let mut world = World::new();
    let settled = world.completed();
    let public = world.proof(&settled);
    let competitor = world.new_actor();
    let execution = execution_of(&mut world, &competitor);
    assert_ok(world.open(&execution));
    assert_ok(settle(&mut world, &execution, &competitor, &public));
    assert_eq!(world.record(&execution).settled_by(), Some(Settler::Caller));
    let dispute = world.open_dispute(&execution);
    refused(&mut world, dispute, &[&competitor.keypair], E::SettledByCaller);
    assert_eq!(world.listing(&world.agent).disputed_executions, 0);
    // If creator or gateway settled, a caller disputes as before.
    for settler in [world.agent.creator.clone(), world.gateway.clone()] {
        let execution = execution_of(&mut world, &competitor);
        assert_ok(world.open(&execution));
        assert_ok(settle(&mut world, &execution, &settler, &public));
        let dispute = world.open_dispute(&execution);
        world.must(&[dispute], &[&competitor.keypair]);
    }
}

/// Who has the gateway's key, and all signatures that settled so far, settles every open call of an unbound listing
/// with one of them, and none of a bound one.
#[test]
fn a_stolen_gateway_key_settles_nothing_of_a_bound_listing_with_old_signatures() {
    const OPEN: usize = 10;
    for (binding, settled) in [(false, OPEN), (true, 0)] {
        let mut world = World::new();
        let agent = world.agent.clone();
        world.bind(&agent, binding);
        let old: Vec<Proof> = (0..3)
            .map(|_| {
                let execution = world.opened();
                let proof = world.proof(&execution);
                assert_ok(world.complete(&execution));
                proof
            })
            .collect();
        let open: Vec<Execution> = (0..OPEN).map(|_| world.opened()).collect();
        let thief = world.gateway.clone();
        for (execution, proof) in open.iter().flat_map(|execution| old.iter().map(move |proof| (execution, proof))) {
            let result = settle(&mut world, execution, &thief, proof);
            if binding {
                assert_error_at(result, 1, E::Ed25519WrongMessage);
            }
        }
        let completed = open.iter().filter(|e| world.status(e) == ExecutionStatus::Completed).count();
        assert_eq!(completed, settled, "of {OPEN}, binding: {binding}");
        // The creator's own signature still settles what is left.
        for execution in open.iter().filter(|_| binding) {
            assert_ok(world.complete(execution));
        }
    }
}

#[test]
fn a_time_longer_than_passed_on_chain_is_recorded_as_what_passed() {
    for (reported, passed_s, recorded) in [
        (u64::MAX, 0, 1_000),
        (1_001, 0, 1_000),
        (1_000, 0, 1_000),
        (999, 0, 999),
        (u64::MAX, 180, 181_000),
        (181_001, 180, 181_000),
        (181_000, 180, 181_000),
    ] {
        let mut world = World::new();
        let execution = world.opened();
        world.set_time(START_UNIX_S + passed_s);
        let settlement = Settlement { execution_time_ms: reported, ..world.settlement(&execution) };
        let settle = world.complete_with(&settlement);
        let proof = world.proof(&execution).instruction();
        world.must(&[proof, settle], &[&world.gateway.keypair.insecure_clone()]);
        assert_eq!(world.record(&execution).execution_time_ms, recorded);
        assert_eq!(world.listing(&world.agent).execution_time_ms_total, u64::from(recorded));
    }
}

#[test]
fn more_than_a_billion_tokens_are_not_reported() {
    let mut world = World::new();
    let execution = world.opened();
    let gateway = world.gateway.keypair.insecure_clone();
    let proof = world.proof(&execution).instruction();
    for (tokens, settles) in [(u64::MAX, false), (1_000_000_001, false), (1_000_000_000, true)] {
        let settlement = Settlement { tokens_used: Some(tokens), ..world.settlement(&execution) };
        let settle = world.complete_with(&settlement);
        let result = world.send(&[proof.clone(), settle], &[&gateway]);
        if settles {
            assert_ok(result);
        } else {
            assert_error_at(result, 1, E::TokensImplausible);
        }
    }
    assert_eq!(world.record(&execution).reported_tokens(), Some(1_000_000_000));
}

// Terms.

/// The caller signs for the terms that it saw; the creator's edit lands first.
#[test]
fn terms_that_change_between_signing_and_landing_refuse_the_opening() {
    let other_key = World::new().new_key().pubkey();
    let none = ix::UpdateListingArgs::default();
    let metadata = ix::MetadataRef { hash: [0x33; 32], uri: "https://example.com/m.json".to_owned() };
    for (what, edit) in [
        ("a lower price", ix::UpdateListingArgs { price: Some(PRICE - 1), ..none.clone() }),
        ("result key", ix::UpdateListingArgs { result_key: Some(other_key), ..none.clone() }),
        ("time-out", ix::UpdateListingArgs { timeout_seconds: Some(TIMEOUT_S + 1), ..none.clone() }),
        ("binding", ix::UpdateListingArgs { binding: Some(true), ..none.clone() }),
        ("metadata", ix::UpdateListingArgs { metadata: Some(metadata), ..none.clone() }),
    ] {
        let mut world = World::new();
        let (agent, caller) = (world.agent.clone(), world.caller.keypair.insecure_clone());
        let execution = world.new_execution();
        let terms_hash = Some(world.terms_hash(&agent));
        let signed = world.open_with(&execution, &Opening { terms_hash, ..world.opening(&execution) });
        let by_key = world.open_by_key_with(&execution, &Opening { terms_hash, ..world.opening(&execution) });
        // Before the edit, the same terms open.
        let first = world.new_execution();
        let open = world.open_with(&first, &Opening { terms_hash, ..world.opening(&first) });
        world.must(&[open], &[&caller]);
        let edit = world.update_listing(&agent, edit);
        world.must(&[edit], &[&agent.creator.keypair]);
        assert_error_at(world.send(&[signed], &[&caller]), 0, E::TermsChanged);
        let session = world.session.insecure_clone();
        assert_error_at(world.send(&[by_key], &[&session]), 0, E::TermsChanged);
        assert_eq!(world.balance(&world.caller.token), PURSE - PRICE, "{what}");
    }
}

#[test]
fn an_edit_to_the_same_terms_and_a_deposit_refuse_no_opening() {
    let mut world = World::new();
    let agent = world.agent.clone();
    let execution = world.new_execution();
    let terms_hash = Some(world.terms_hash(&agent));
    let signed = world.open_with(&execution, &Opening { terms_hash, ..world.opening(&execution) });
    let same = ix::UpdateListingArgs { price: Some(PRICE), binding: Some(false), ..Default::default() };
    let before = [world.update_listing(&agent, same), world.deposit_collateral(&agent, 1)];
    world.must(&before, &[&agent.creator.keypair]);
    world.must(&[signed], &[&world.caller.keypair.insecure_clone()]);
}

/// What an opening copies from the market was not in the hash, so it changed under the feet of who signed.
#[test]
fn terms_name_fee_window_grace_and_penalty_limit() {
    type Change = fn(&mut MarketParameters);
    let changes: [(&str, Change); 4] = [
        ("fee", |parameters| parameters.fee_bps = 500),
        ("window", |parameters| parameters.dispute_window_s += 1),
        ("grace", |parameters| parameters.settle_grace_s = 0),
        ("limit of penalties", |parameters| parameters.max_penalty_multiple = 1),
    ];
    for (what, change) in changes {
        let mut world = World::new();
        let (agent, execution) = (world.agent.clone(), world.new_execution());
        let (caller, session) = (world.caller.keypair.insecure_clone(), world.session.insecure_clone());
        let seen = Opening { terms_hash: Some(world.terms_hash(&agent)), ..world.opening(&execution) };
        let (signed, by_key) = (world.open_with(&execution, &seen), world.open_by_key_with(&execution, &seen));
        world.announced_parameters(change);
        assert_eq!(seen.terms_hash, Some(world.terms_hash(&agent)), "{what}: announced, and not yet in force");
        world.applied_parameters();
        refused(&mut world, signed, &[&caller], E::TermsChanged);
        refused(&mut world, by_key, &[&session], E::TermsChanged);
        let present = Opening { terms_hash: Some(world.terms_hash(&agent)), ..seen };
        let signed = world.open_with(&execution, &present);
        world.must(&[signed], &[&caller]);
    }
    // What an opening does not copy is not in it.
    let mut world = World::new();
    let (agent, execution) = (world.agent.clone(), world.new_execution());
    let seen = Opening { terms_hash: Some(world.terms_hash(&agent)), ..world.opening(&execution) };
    let signed = world.open_with(&execution, &seen);
    world.changed_parameters(|parameters| (parameters.dispute_bond, parameters.min_price) = (0, PRICE));
    world.must(&[signed], &[&world.caller.keypair.insecure_clone()]);
}

/// One announcement lay 84 days, and then took almost all collateral of an agent that was listed that day.
#[test]
fn an_announcement_left_lying_for_eighty_four_days_does_nothing() {
    let mut world = World::new();
    let (admin, accomplice) = (world.admin.keypair.insecure_clone(), world.stranger.clone());
    let treasury = world.new_key().pubkey();
    let roles = world.announce_roles(Some(accomplice.key()), Some(treasury));
    let worst = MarketParameters { fee_bps: 500, max_penalty_multiple: 100, ..MarketParameters::DEFAULT };
    let parameters = world.announce_parameters(Some(worst));
    world.must(&[roles, parameters], &[&admin]);
    world.set_time(START_UNIX_S + 84 * 86_400);
    let victim = world.listed();
    let before = world.config();
    let (roles, parameters) = (world.apply_roles(), world.apply_parameters());
    refused(&mut world, roles, &[], E::AnnouncementLapsed);
    refused(&mut world, parameters, &[], E::AnnouncementLapsed);
    assert_eq!(bytemuck::bytes_of(&world.config()), bytemuck::bytes_of(&before));

    let execution = Execution { agent: victim.clone(), ..world.new_execution() };
    assert_ok(world.open(&execution));
    assert_ok(world.complete(&execution));
    let dispute = world.open_dispute(&execution);
    world.must(&[dispute], &[&execution.caller.keypair]);
    world.set_time(world.now() + Dispute::ANSWER_PERIOD_S);
    let slash = forged(world.resolve_dispute(&execution, true, COLLATERAL), &[("resolver", accomplice.key())]);
    refused(&mut world, slash, &[&accomplice.keypair], E::NotResolver);
    assert_eq!(world.listing(&victim).collateral, COLLATERAL);
}

/// Announced and due, disputed and slashed in one transaction: the creator has a day to answer, and the calls that
/// came before keep their limit.
#[test]
fn a_penalty_cannot_be_announced_applied_and_taken_in_one_transaction() {
    let mut world = World::new();
    let execution = world.completed();
    world.announced_parameters(|parameters| parameters.max_penalty_multiple = 100);
    world.set_time(world.dispute_deadline(&execution));
    let dispute = world.open_dispute(&execution);
    let resolve = world.resolve_dispute(&execution, true, 1);
    let signers = [&world.caller.keypair.insecure_clone(), &world.resolver.keypair.insecure_clone()];
    assert_error_at(world.send(&[dispute.clone(), resolve], &signers), 1, E::AnswerPeriodRunning);
    world.must(&[dispute], &signers[..1]);
    world.set_time(START_UNIX_S + Config::PARAMETERS_DELAY_S);
    world.applied_parameters();
    let above = world.resolve_dispute(&execution, true, 21 * PRICE + 1);
    refused(&mut world, above, &signers[1..], E::PenaltyAboveLimit);
}

// Disputes.

/// An accomplice's second dispute shielded an agent from every penalty.
#[test]
fn a_sock_puppets_second_dispute_does_not_block_a_penalty_and_stays_covered() {
    let mut world = World::new();
    let (genuine, puppet) = (world.answered(), world.answered());
    let caller = world.balance(&world.caller.token);
    assert_ok(world.resolve(&genuine, true, 21 * PRICE));
    assert_eq!(world.balance(&world.insurance.token), PURSE + 20 * PRICE);
    let listing = world.listing(&world.agent);
    assert_eq!((listing.collateral, listing.disputed_amount), (COLLATERAL - 21 * PRICE, PRICE));
    assert_ok(world.resolve(&puppet, true, PRICE));
    assert_eq!(world.balance(&world.caller.token), caller + 2 * (PRICE + BOND));
}

/// A resolver and a treasury that are one person earned the whole collateral.
#[test]
fn a_penalty_is_at_most_twenty_prices_and_never_the_treasurys() {
    let mut world = World::new();
    let execution = world.answered();
    let resolver = world.resolver.keypair.insecure_clone();
    let treasury = world.balance(&world.treasury.token);
    let above = world.resolve_dispute(&execution, true, 21 * PRICE + 1);
    refused(&mut world, above, &[&resolver], E::PenaltyAboveLimit);
    let highest = world.resolve_dispute(&execution, true, 21 * PRICE);
    let to_treasury = forged(highest.clone(), &[("insurance_token", world.treasury.token)]);
    refused(&mut world, to_treasury, &[&resolver], E::TokenOwnerMismatch);
    world.must(&[highest], &[&resolver]);
    assert_eq!(world.balance(&world.treasury.token), treasury);
    assert_eq!(world.balance(&world.insurance.token), PURSE + 1_000_000, "20 × 0.05 USDC");
    assert_eq!(world.listing(&world.agent).collateral, COLLATERAL - 1_050_000);
}

/// A call of 5 000 USDC was backed by 1 000 USDC.
#[test]
fn collateral_is_at_least_the_price_of_one_call() {
    let mut world = World::new();
    let agent = world.new_agent();
    let price = 5_000 * USDC;
    let args = ix::ListAgentArgs { price, collateral: price - 1, ..world.list_args(&agent) };
    let below = world.list_agent(&agent, args.clone());
    refused(&mut world, below, &[&agent.creator.keypair], E::CollateralTooLow);
    world.list(&agent, ix::ListAgentArgs { collateral: price, ..args });
    let raise = ix::UpdateListingArgs { price: Some(price + 1), ..Default::default() };
    let raise = world.update_listing(&agent, raise);
    refused(&mut world, raise.clone(), &[&agent.creator.keypair], E::CollateralTooLow);
    let deposit = world.deposit_collateral(&agent, 1);
    world.must(&[deposit, raise], &[&agent.creator.keypair]);
}

// Names and indexes.

/// A verified creator took the name of another, and kept the badge.
#[test]
fn a_rename_loses_the_badge() {
    let mut world = World::new();
    let (admin, creator) = (world.admin.keypair.insecure_clone(), world.agent.creator.clone());
    let name = world.upsert_creator_profile(&creator.key(), "Ada");
    world.must(&[name], &[&creator.keypair]);
    let verify = world.verify_creator(&creator.key(), Some("Ada"));
    world.must(&[verify], &[&admin]);
    assert_eq!(world.profile(&creator.key()).verified, 1);
    let rename = world.upsert_creator_profile(&creator.key(), "Circle");
    world.must(&[rename], &[&creator.keypair]);
    let profile = world.profile(&creator.key());
    assert_eq!((profile.display_name(), profile.verified, profile.verified_at_unix_s), (Some("Circle"), 0, 0));
}

/// A rename that lands just before the badge gets none.
#[test]
fn a_rename_that_overtakes_the_verification_gets_no_badge() {
    let mut world = World::new();
    let (admin, creator) = (world.admin.keypair.insecure_clone(), world.agent.creator.clone());
    let name = world.upsert_creator_profile(&creator.key(), "Ada");
    world.must(&[name], &[&creator.keypair]);
    let verify = world.verify_creator(&creator.key(), Some("Ada"));
    let rename = world.upsert_creator_profile(&creator.key(), "Circle");
    world.must(&[rename], &[&creator.keypair]);
    refused(&mut world, verify, &[&admin], E::DisplayNameMismatch);
    assert_eq!(world.profile(&creator.key()).verified, 0);
}

#[test]
fn invisible_and_reordering_characters_are_in_no_name() {
    let mut world = World::new();
    let creator = world.agent.creator.clone();
    for (what, invisible) in [
        ("zero-width space", '\u{200b}'),
        ("zero-width non-joiner", '\u{200c}'),
        ("zero-width joiner", '\u{200d}'),
        ("left-to-right mark", '\u{200e}'),
        ("right-to-left mark", '\u{200f}'),
        ("Arabic letter mark", '\u{61c}'),
        ("right-to-left override", '\u{202e}'),
        ("right-to-left isolate", '\u{2067}'),
        ("pop directional isolate", '\u{2069}'),
        ("word joiner", '\u{2060}'),
        ("soft hyphen", '\u{ad}'),
        ("byte order mark", '\u{feff}'),
        ("no-break space", '\u{a0}'),
        ("ideographic space", '\u{3000}'),
        ("Hangul filler", '\u{3164}'),
        ("Braille blank", '\u{2800}'),
        ("line separator", '\u{2028}'),
        ("variation selector", '\u{fe0f}'),
        ("tag letter", '\u{e0041}'),
        ("private use", '\u{e000}'),
        ("delete", '\u{7f}'),
    ] {
        let upsert = world.upsert_creator_profile(&creator.key(), &format!("A{invisible}da"));
        assert_error_at(world.send(&[upsert], &[&creator.keypair]), 0, E::DisplayNameInvalid);
        assert_eq!(world.profile(&creator.key()).display_name(), Some(""), "{what}");
    }
    for visible in ["Ada", "Ångström", "Ада", "明日香", "عايدة"] {
        let upsert = world.upsert_creator_profile(&creator.key(), visible);
        world.must(&[upsert], &[&creator.keypair]);
    }
}

/// Closing and listing again wiped failures and slashes, and kept the agent's place in grants' allow-lists.
#[test]
fn listing_again_neither_resets_the_history_nor_takes_over_an_address() {
    let mut world = World::new();
    let agent = world.agent.clone();
    let slashed = world.disputed();
    assert_ok(world.uphold(&slashed, PRICE));
    let top_up = [world.deposit_collateral(&agent, PRICE), world.set_agent_status(&agent, AgentStatus::Active)];
    world.must(&top_up, &[&agent.creator.keypair]);
    let (failed, unproved, expired) = (world.opened(), world.opened(), world.opened());
    assert_ok(world.fail_by_creator(&failed));
    assert_ok(world.fail(&unproved));
    world.expire(&expired);
    assert_ok(world.refund(&expired));

    let delist = world.delist_agent(&agent);
    world.must(&[delist], &[&agent.creator.keypair]);
    world.set_time(world.listing(&agent).last_dispute_deadline_unix_s + 1);
    let leave = [world.withdraw_collateral(&agent), world.close_agent(&agent)];
    world.must(&leave, &[&agent.creator.keypair]);
    let again = world.list_agent(&agent, world.list_args(&agent));
    refused(&mut world, again, &[&agent.creator.keypair], E::IndexUsed);

    let address = world.addresses.agent(&agent.creator.key(), 1);
    let next = Agent { index: 1, address, ..agent.clone() };
    world.list(&next, world.list_args(&next));
    assert_ne!(next.address, agent.address);
    let profile = world.profile(&agent.creator.key());
    let expected = ClosedAgents {
        agents: 1,
        completed_executions: 1,
        successful_executions: 0,
        failed_executions: 1,
        unproved_failures: 1,
        expired_executions: 1,
        disputed_executions: 1,
        slashed_total: PRICE,
        platform_fees_total: PRICE / 100,
    };
    assert_eq!((profile.closed, profile.next_agent_index), (expected, 2));
}

// Money and rent.

/// Anybody refunds, so anybody chose the account: one that the wallet does not know of.
#[test]
fn a_stranger_does_not_refund_to_an_account_that_the_wallet_does_not_look_at() {
    let mut world = World::new();
    let caller = world.caller.clone();
    let hidden = world.new_token_account(&caller.key(), 0);
    let execution = world.opened();
    world.expire(&execution);
    let refund = world.refund_expired_execution(&execution);
    let to_hidden = forged(refund.clone(), &[("refund_token", hidden)]);
    refused(&mut world, to_hidden, &[], E::RefundElsewhere);
    // A stranger's signature in the wallet's place changes nothing.
    let stranger = world.stranger.clone();
    let accounts = Refund { refund_token: hidden, ..world.refund_of(&execution) };
    let signed = world.instructions().refund_expired_execution(Some(&stranger.key()), &accounts);
    refused(&mut world, signed, &[&stranger.keypair], E::RefundElsewhere);
    // Neither do creator and gateway send it there.
    let fail = world.fail_execution(&execution, FailureReason::Timeout);
    let fail = forged(fail, &[("refund_token", hidden)]);
    let gateway = world.gateway.keypair.insecure_clone();
    refused(&mut world, fail, &[&gateway], E::RefundElsewhere);
    // The wallet itself may.
    let signed = world.instructions().refund_expired_execution(Some(&caller.key()), &accounts);
    world.must(&[signed], &[&caller.keypair]);
    assert_eq!((world.balance(&hidden), world.balance(&caller.token)), (PRICE, PURSE - PRICE));
}

#[test]
fn a_refund_goes_back_to_the_account_that_paid_or_to_the_associated_one() {
    for to_payer in [true, false] {
        let mut world = World::new();
        let caller = world.caller.clone();
        let paying = world.new_token_account(&caller.key(), PRICE);
        let execution = world.new_execution();
        let open = forged(world.open_execution(&execution), &[("caller_token", paying)]);
        world.must(&[open], &[&caller.keypair]);
        assert_eq!((world.terms(&execution).paid_from, world.balance(&paying)), (paying, 0));
        world.expire(&execution);
        let to = if to_payer { paying } else { caller.token };
        let refund = forged(world.refund_expired_execution(&execution), &[("refund_token", to)]);
        world.must(&[refund], &[]);
        assert_eq!(world.balance(&paying), if to_payer { PRICE } else { 0 });
        assert_eq!(world.balance(&caller.token), if to_payer { PURSE } else { PURSE + PRICE });
    }
}

/// Refunds used a grant up, although no money was spent.
#[test]
fn a_refund_gives_its_grant_exactly_what_it_had_spent() {
    let mut world = World::new();
    let executions: Vec<Execution> = (0..3)
        .map(|_| {
            let execution = world.new_execution();
            assert_ok(world.open_with_grant(&execution));
            execution
        })
        .collect();
    assert_eq!((world.grant().spent, world.grant().executions), (3 * PRICE, 3));
    assert_ok(world.complete(&executions[0]));
    assert_eq!(world.grant().spent, 3 * PRICE, "what was paid stays spent");
    assert_ok(world.fail(&executions[1]));
    assert_eq!(world.grant().spent, 2 * PRICE);
    // Also if the grant was revoked in between: nothing about a grant blocks a refund.
    let revoke = world.revoke_spending();
    world.must(&[revoke], &[&world.caller.keypair.insecure_clone()]);
    world.expire(&executions[2]);
    assert_ok(world.refund(&executions[2]));
    assert_eq!((world.grant().spent, world.grant().executions), (PRICE, 3));
    assert_eq!(world.balance(&world.caller.token), PURSE - PRICE);
}

/// Rent stayed locked because nobody closes records. What only an open execution needs returns when it ends.
#[test]
fn the_rent_of_a_call_returns_in_two_steps_and_whole() {
    // 128 bytes of overhead and 8 of the discriminator, at 6 960 lamports a byte.
    const OPEN: u64 = (128 + 8 + 200 + 144) * 6_960;
    const THROUGH_WINDOW: u64 = (128 + 8 + 200) * 6_960;
    assert_eq!((OPEN, THROUGH_WINDOW), (3_340_800, 2_338_560));
    type End = fn(&mut World, &Execution) -> litesvm::types::TransactionResult;
    let ends: [(End, bool); 3] = [(World::complete, false), (World::fail, false), (World::refund, true)];
    for (end, late) in ends {
        let mut world = World::new();
        let payer = world.payer.key();
        let before = world.lamports(&payer);
        let execution = world.new_execution();
        let mut fees = assert_ok(world.open(&execution)).fee;
        assert_eq!(world.lamports(&execution.record), OPEN);
        assert_eq!(before - fees - world.lamports(&payer), OPEN, "locked while open");
        if late {
            world.expire(&execution);
        }
        fees += assert_ok(end(&mut world, &execution)).fee;
        assert_eq!(world.lamports(&execution.record), THROUGH_WINDOW);
        assert_eq!(before - fees - world.lamports(&payer), THROUGH_WINDOW, "locked through the window");
        world.set_time(world.now() + MarketParameters::DEFAULT.dispute_window_s + 1);
        let close = world.close_execution(&execution);
        fees += world.must(&[close], &[]).fee;
        assert_eq!(world.lamports(&payer), before - fees, "all of it is back");
    }
}

/// Lamports that a stranger sends to a record go to its payer, and no settlement fails for them.
#[test]
fn lamports_that_strangers_send_to_a_record_return_with_the_rent() {
    let mut world = World::new();
    let payer = world.payer.key();
    let before = world.lamports(&payer);
    let execution = world.new_execution();
    let mut fees = assert_ok(world.open(&execution)).fee;
    world.svm.airdrop(&execution.record, 1_000_000).expect("an airdrop");
    fees += assert_ok(world.complete(&execution)).fee;
    world.set_time(world.dispute_deadline(&execution) + 1);
    let close = world.close_execution(&execution);
    fees += world.must(&[close], &[]).fee;
    assert_eq!(world.lamports(&payer), before - fees + 1_000_000);
}

/// A call opened and paid for by `rent_payer`.
fn opened_with_rent_of(world: &mut World, rent_payer: &Actor) -> Execution {
    let execution = world.new_execution();
    let opening = world.opening(&execution);
    let open = world.instructions().open_execution(&execution.caller.key(), &rent_payer.key(), &opening);
    world.must(&[open], &[&execution.caller.keypair, &rent_payer.keypair]);
    execution
}

/// The rent of the terms returns in the settlement. Its payer must not be able to stop the settlement.
#[test]
fn a_rent_payer_whose_account_is_empty_or_a_program_blocks_no_settlement_and_no_refund() {
    let changes: [fn(&mut World, &solana_address::Address); 2] = [
        |world, address| world.tamper(address, |account| account.lamports = 0),
        |world, address| world.svm.add_program(*address, elf()).expect("the ELF loads"),
    ];
    for change in changes {
        let mut world = World::new();
        let rent_payer = world.new_actor();
        let (settled, expired) =
            (opened_with_rent_of(&mut world, &rent_payer), opened_with_rent_of(&mut world, &rent_payer));
        change(&mut world, &rent_payer.key());
        let before = world.lamports(&rent_payer.key());
        let own = [("rent_payer", rent_payer.key())];
        let settle = forged(world.complete_execution(&settled), &own);
        let proof = world.proof(&settled).instruction();
        world.must(&[proof, settle], &[&world.gateway.keypair.insecure_clone()]);
        assert_eq!(world.lamports(&rent_payer.key()), before + 1_002_240);
        world.expire(&expired);
        let refund = forged(world.refund_expired_execution(&expired), &own);
        world.must(&[refund], &[]);
        assert_eq!(world.lamports(&rent_payer.key()), before + 2 * 1_002_240);
    }
}

/// The owner of a token account can give it away, and the issuer can freeze it. Then both accounts that a refund may go
/// to are gone, and an execution that stays open locks the creator's collateral.
#[test]
fn a_caller_whose_accounts_cannot_be_refunded_does_not_lock_the_collateral() {
    let changes: [fn(&mut solana_account::Account); 2] =
        [|token| token.data[32..64].fill(7), |token| token.data[108] = 2];
    for change in changes {
        let mut world = World::new();
        let (agent, caller) = (world.agent.clone(), world.caller.clone());
        let other = world.new_token_account(&caller.key(), 0);
        let (reported, expired) = (world.opened(), world.opened());
        world.tamper(&caller.token, change);
        let overdue = world.terms(&expired).deadline_unix_s + i64::from(world.record(&expired).dispute_window_s);
        let elsewhere = [("refund_token", other)];
        let fail = forged(world.fail_execution(&reported, FailureReason::Timeout), &elsewhere);
        let refund = forged(world.refund_expired_execution(&expired), &elsewhere);
        let creator = agent.creator.clone();
        let fail = forged(fail, &[("authority", creator.key())]);
        for time in [world.terms(&expired).deadline_unix_s + 1, overdue - 1, overdue] {
            world.set_time(time);
            refused(&mut world, fail.clone(), &[&creator.keypair], E::RefundElsewhere);
            refused(&mut world, refund.clone(), &[], E::RefundElsewhere);
        }
        world.set_time(overdue + 1);
        // Still the wallet's own accounts alone.
        let to_stranger = forged(refund.clone(), &[("refund_token", world.stranger.token)]);
        refused(&mut world, to_stranger, &[], E::TokenOwnerMismatch);
        world.must(&[fail, refund], &[&creator.keypair]);
        assert_eq!(world.balance(&other), 2 * PRICE);
        let leave = [world.delist_agent(&agent), world.withdraw_collateral(&agent)];
        world.must(&leave, &[&creator.keypair]);
        assert_eq!(world.balance(&creator.token), PURSE);
    }
}
