//! Which failures count against an agent: those that its creator reports, those that its result key signed, and
//! time-outs that passed on chain. What the gateway alone says counts in no rate.

use agent_marketplace::{instructions as ix, state::*};
use crtx_program_tests::*;
use ed25519_dalek::SigningKey;

use MarketplaceError as E;

/// Failed, unproved and expired executions of the world's agent, and all that are in its rate.
fn counted(world: &World) -> [u64; 4] {
    let listing = world.listing(&world.agent);
    [listing.failed_executions, listing.unproved_failures, listing.expired_executions, listing.total_executions]
}

/// A thief of the gateway's key could lower every agent's success rate, and paid network fees alone.
#[test]
fn fifty_failures_of_the_gateway_alone_do_not_move_the_success_rate() {
    let mut world = World::new();
    world.completed();
    for reason in [FailureReason::CreatorFailed, FailureReason::InvalidResponse, FailureReason::Timeout] {
        for _ in 0..50 {
            let execution = world.opened();
            let fail = world.fail_execution(&execution, reason);
            world.must(&[fail], &[&world.gateway.keypair.insecure_clone()]);
            let record = world.record(&execution);
            assert_eq!((record.agents_failure, record.failure_reason()), (0, Some(reason)));
        }
    }
    assert_eq!(counted(&world), [0, 150, 0, 1]);
    let listing = world.listing(&world.agent);
    assert_eq!((listing.successful_executions, listing.completed_executions), (1, 1));
    assert_eq!(world.balance(&world.caller.token), PURSE - PRICE, "every failed call was refunded");
}

#[test]
fn a_failure_that_the_creator_reports_counts() {
    let mut world = World::new();
    let creator = world.agent.creator.clone();
    for reason in [FailureReason::CreatorFailed, FailureReason::InvalidResponse, FailureReason::Timeout] {
        let execution = world.opened();
        let fail = signed_by(world.fail_execution(&execution, reason), &creator);
        world.must(&[fail], &[&creator.keypair]);
        assert_eq!(world.record(&execution).agents_failure, 1);
    }
    assert_eq!(counted(&world), [3, 0, 0, 3]);
}

#[test]
fn a_failure_that_the_result_key_signed_counts_and_refunds() {
    for binding in [false, true] {
        let mut world = World::new();
        let agent = world.agent.clone();
        world.bind(&agent, binding);
        let execution = world.new_execution();
        assert_ok(world.open_with_grant(&execution));
        assert_ok(world.fail_signed(&execution));
        let record = world.record(&execution);
        assert_eq!((record.status(), record.agents_failure), (Some(ExecutionStatus::Failed), 1));
        assert_eq!(record.failure_reason(), Some(FailureReason::CreatorFailed));
        assert_eq!(counted(&world), [1, 0, 0, 1]);
        assert_eq!((world.balance(&world.caller.token), world.grant().spent), (PURSE, 0));
    }
}

#[test]
fn a_time_out_counts_from_the_second_in_which_it_has_passed_on_chain() {
    for (passed, counts) in [(0, 0), (TIMEOUT_S - 1, 0), (TIMEOUT_S, 1), (TIMEOUT_S + 1, 1), (TIMEOUT_S + 121, 1)] {
        let mut world = World::new();
        let execution = world.opened();
        // The time-out is the one of the opening.
        let agent = world.agent.clone();
        let edit = ix::UpdateListingArgs { timeout_seconds: Some(900), ..Default::default() };
        let edit = world.update_listing(&agent, edit);
        world.must(&[edit], &[&agent.creator.keypair]);
        world.set_time(START_UNIX_S + i64::from(passed));
        let fail = world.fail_execution(&execution, FailureReason::Timeout);
        world.must(&[fail], &[&world.gateway.keypair.insecure_clone()]);
        assert_eq!(world.record(&execution).agents_failure, counts, "after {passed} s");
        let counts = u64::from(counts);
        assert_eq!(counted(&world), [counts, 1 - counts, 0, counts]);
    }
}

#[test]
fn other_failures_that_the_gateway_reports_after_the_time_out_do_not_count() {
    let mut world = World::new();
    for (reason, expected) in [
        (FailureReason::CreatorFailed, [0, 1, 0, 0]),
        (FailureReason::InvalidResponse, [0, 2, 0, 0]),
        (FailureReason::Interrupted, [0, 2, 1, 0]),
    ] {
        let execution = world.opened();
        world.set_time(world.now() + i64::from(TIMEOUT_S));
        let fail = world.fail_execution(&execution, reason);
        world.must(&[fail], &[&world.gateway.keypair.insecure_clone()]);
        assert_eq!((world.record(&execution).agents_failure, counted(&world)), (0, expected));
    }
}

#[test]
fn a_signed_failure_by_the_creator_or_with_another_reason_is_refused() {
    let mut world = World::new();
    let (execution, creator) = (world.opened(), world.agent.creator.clone());
    let proof = world.failure_proof(&execution).instruction();
    let by_creator = signed_by(world.fail_signed_execution(&execution), &creator);
    assert_error_at(world.send(&[proof.clone(), by_creator], &[&creator.keypair]), 1, E::FailureProofMisplaced);
    let gateway = world.gateway.keypair.insecure_clone();
    // After the time-out, too, when a time-out counts without a signature.
    for time in [START_UNIX_S, START_UNIX_S + i64::from(TIMEOUT_S)] {
        world.set_time(time);
        for (reason, error) in [
            (FailureReason::Timeout, E::FailureProofMisplaced),
            (FailureReason::InvalidResponse, E::FailureProofMisplaced),
            (FailureReason::Interrupted, E::FailureProofMisplaced),
            (FailureReason::Expired, E::FailureReasonReserved),
        ] {
            let fail = claiming_a_signature(world.fail_execution(&execution, reason));
            assert_error_at(world.send(&[proof.clone(), fail], &[&gateway]), 1, error);
        }
    }
    assert_eq!((world.status(&execution), counted(&world)), (ExecutionStatus::Open, [0; 4]));
}

/// What an agent signed is in public transactions. It makes nobody a reporter.
#[test]
fn a_signed_failure_is_reported_by_nobody_else() {
    let mut world = World::new();
    let execution = world.opened();
    let proof = world.failure_proof(&execution).instruction();
    for who in [world.caller.clone(), world.stranger.clone(), world.admin.clone(), world.guardian.clone()] {
        let fail = signed_by(world.fail_signed_execution(&execution), &who);
        assert_error_at(world.send(&[proof.clone(), fail], &[&who.keypair]), 1, E::NotFailureReporter);
    }
}

#[test]
fn a_report_that_claims_a_signature_needs_the_sysvar_and_the_proof() {
    let mut world = World::new();
    let execution = world.opened();
    let proof = world.failure_proof(&execution).instruction();
    let gateway = world.gateway.keypair.insecure_clone();
    // An account that is left out is the program's own address.
    let without = forged(world.fail_signed_execution(&execution), &[("instructions_sysvar", PROGRAM_ID)]);
    assert_error_at(world.send(&[proof.clone(), without], &[&gateway]), 1, E::WrongInstructionsSysvar);
    let claimed = world.fail_signed_execution(&execution);
    refused(&mut world, claimed, &[&gateway], E::Ed25519Missing);
    // A proof that the report does not name is not looked at, and counts for nothing.
    let unnamed = world.fail_execution(&execution, FailureReason::CreatorFailed);
    world.must(&[proof, unnamed], &[&gateway]);
    assert_eq!(counted(&world), [0, 1, 0, 0]);
}

#[test]
fn a_failure_is_signed_with_the_result_key_of_the_opening() {
    let mut world = World::new();
    let (agent, execution) = (world.agent.clone(), world.opened());
    let next = SigningKey::from_bytes(&[0x44; 32]);
    let result_key = Some(next.verifying_key().to_bytes().into());
    let edit = world.update_listing(&agent, ix::UpdateListingArgs { result_key, ..Default::default() });
    world.must(&[edit], &[&agent.creator.keypair]);
    let proof = Proof::of_failure(&next, &world.opening_id(&execution)).instruction();
    assert_error_at(world.fail_signed_after(&[proof], &execution), 1, E::Ed25519WrongKey);
    assert_ok(world.fail_signed(&execution));
}

#[test]
fn a_failure_is_reported_after_the_deadline_as_before_it() {
    let mut world = World::new();
    let executions = [world.opened(), world.opened()];
    world.expire(&executions[0]);
    assert_ok(world.fail_signed(&executions[0]));
    assert_ok(world.fail_by_creator(&executions[1]));
    assert_eq!(counted(&world), [2, 0, 0, 2]);
    assert_eq!(world.balance(&world.caller.token), PURSE);
}

// The mean time of an agent.

/// Who settles alone, settles when it suits: one call settled in the last second made an agent slow.
#[test]
fn settling_alone_in_the_last_second_does_not_move_the_mean_time() {
    let mut world = World::new();
    let measured = world.opened();
    world.set_time(START_UNIX_S + 3);
    assert_ok(world.complete(&measured));
    for who in [world.caller.clone(), world.agent.creator.clone()] {
        let execution = world.opened();
        world.set_time(world.terms(&execution).deadline_unix_s);
        let settlement = Settlement { execution_time_ms: u64::MAX, ..world.settlement(&execution) };
        let settle = signed_by(world.complete_with(&settlement), &who);
        let proof = world.proof(&execution).instruction();
        world.must(&[proof, settle], &[&who.keypair]);
        assert_eq!(world.record(&execution).execution_time_ms, 181_000, "the record keeps what passed");
    }
    let listing = world.listing(&world.agent);
    assert_eq!((listing.execution_time_ms_total, listing.timed_executions), (1_234, 1));
    assert_eq!((listing.completed_executions, listing.successful_executions), (3, 3));
}

#[test]
fn counters_of_failures_and_times_at_their_end_refuse_instead_of_wrapping() {
    type End = fn(&mut World, &Execution) -> litesvm::types::TransactionResult;
    type Full = fn(&mut AgentListed);
    let cases: [(Full, End, u8); 6] = [
        (|listing| listing.unproved_failures = u64::MAX, World::fail, 0),
        (|listing| listing.failed_executions = u64::MAX, World::fail_signed, 1),
        (|listing| listing.failed_executions = u64::MAX, World::fail_by_creator, 0),
        (|listing| listing.total_executions = u64::MAX, World::fail_by_creator, 0),
        (|listing| listing.timed_executions = u64::MAX, World::complete, 1),
        (|listing| listing.execution_time_ms_total = u64::MAX, World::complete, 1),
    ];
    for (full, end, at) in cases {
        let mut world = World::new();
        let (agent, execution) = (world.agent.address, world.opened());
        world.tamper_state::<AgentListed>(&agent, full);
        let balances = world.token_balances();
        assert_error_at(end(&mut world, &execution), at, E::OutOfRange);
        assert_eq!(world.token_balances(), balances);
    }
}
