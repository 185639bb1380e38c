//! The end of an execution record: when it may be closed, where its rent goes, what stays in the ledger.

use agent_marketplace::{event::ExecutionClosed, state::*};
use crtx_program_tests::*;

use MarketplaceError as E;

#[test]
fn a_record_closes_when_nothing_can_happen_to_it_any_more() {
    let mut world = World::new();
    let (completed, failed) = (world.completed(), world.opened());
    assert_ok(world.fail(&failed));
    let open = world.opened();
    let disputed = world.disputed();
    let end = START_UNIX_S + MarketParameters::DEFAULT.dispute_window_s;
    for execution in [&completed, &failed] {
        let close = world.close_execution(execution);
        for time in [START_UNIX_S, end - 1, end] {
            world.set_time(time);
            refused(&mut world, close.clone(), &[], E::RecordStillNeeded);
        }
        world.set_time(end + 1);
        world.must(&[close], &[]);
        assert!(world.account(&execution.record).is_none());
    }
    for execution in [&open, &disputed] {
        let close = world.close_execution(execution);
        refused(&mut world, close, &[], E::RecordStillNeeded);
    }
}

#[test]
fn closing_returns_the_rent_to_who_paid_it_and_emits_everything() {
    let mut world = World::new();
    let execution = world.disputed();
    assert_ok(world.uphold(&execution, 5));
    let dispute = world.addresses.dispute(&execution.record);
    let accounts = [execution.record, dispute].map(|address| world.account(&address).expect("there"));
    world.set_time(world.dispute_deadline(&execution) + 1);
    let before = world.lamports(&world.payer.key());
    let close = world.close_execution(&execution);
    let meta = world.must(&[close], &[]);
    let rent: u64 = accounts.iter().map(|account| account.lamports).sum();
    assert_eq!(world.lamports(&world.payer.key()), before + rent - meta.fee);
    let event: ExecutionClosed = emitted(&meta);
    assert_eq!(event.record, execution.record);
    assert_eq!(event.record_data, accounts[0].data);
    assert_eq!(event.dispute_data.as_ref(), Some(&accounts[1].data));
    assert!(world.account(&dispute).is_none());
}

#[test]
fn rent_goes_to_nobody_else() {
    let mut world = World::new();
    let (execution, other) = (world.disputed(), world.disputed());
    assert_ok(world.resolve(&execution, false, 0));
    world.set_time(world.dispute_deadline(&execution) + 1);
    let stranger = world.stranger.key();
    let elsewhere = world.addresses.dispute(&other.record);
    let close = world.close_execution(&execution);
    let cases = [
        ("rent_payer", stranger, E::WrongRentPayer),
        ("dispute_rent_payer", stranger, E::WrongRentPayer),
        ("dispute", elsewhere, E::WrongDispute),
    ];
    refused_with(&mut world, &close, &[], &cases);
}

/// The other accounts of every instruction are tried in `every_instruction`; there, this one has no dispute.
#[test]
fn a_dispute_of_another_version_is_not_closed() {
    let mut world = World::new();
    let execution = world.disputed();
    assert_ok(world.resolve(&execution, false, 0));
    world.set_time(world.dispute_deadline(&execution) + 1);
    let dispute = world.addresses.dispute(&execution.record);
    let close = world.close_execution(&execution);
    for version in [0, 2] {
        world.tamper_state::<Dispute>(&dispute, |dispute| dispute.version = version);
        refused(&mut world, close.clone(), &[], E::WrongVersion);
    }
    world.tamper_state::<Dispute>(&dispute, |dispute| dispute.version = LAYOUT_VERSION);
    world.must(&[close], &[]);
}

/// A caller can look for an execution id whose dispute address needs many tries to derive.
#[test]
fn closing_costs_the_same_whatever_addresses_the_caller_chose() {
    let mut world = World::new();
    let caller = world.new_execution().caller;
    let mut units = Vec::new();
    for wanted in [255, 246] {
        let id = (0_u128..).map(u128::to_le_bytes).find(|id| {
            let record = world.addresses.execution(&caller.key(), id);
            let seeds: [&[u8]; 2] = [Dispute::SEED, record.as_ref()];
            solana_address::Address::find_program_address(&seeds, &PROGRAM_ID).1.abs_diff(wanted) < 2
        });
        let id = id.expect("one of many");
        let record = world.addresses.execution(&caller.key(), &id);
        let execution = Execution { id, record, ..world.new_execution() };
        assert_ok(world.open(&execution));
        assert_ok(world.complete(&execution));
        world.set_time(world.dispute_deadline(&execution) + 1);
        let close = world.close_execution(&execution);
        units.push(world.must(&[close], &[]).compute_units_consumed);
    }
    assert_eq!(units.first(), units.last());
}

#[test]
fn a_whole_call_costs_no_rent_in_the_end() {
    let mut world = World::new();
    let payer = world.payer.key();
    let before = world.lamports(&payer);
    let execution = world.new_execution();
    let open = world.open_execution_with_grant(&execution);
    let mut fees = world.must(&[open], &[&world.session.insecure_clone()]).fee;
    let locked = world.lamports(&execution.record);
    assert_eq!(world.lamports(&payer), before - fees - locked);
    fees += assert_ok(world.complete(&execution)).fee;
    let kept = world.lamports(&execution.record);
    assert_eq!(world.lamports(&payer), before - fees - kept, "the rent of the terms is back at once");
    assert!(fees <= 25_000, "base fees of {fees} lamports");
    world.set_time(world.dispute_deadline(&execution) + 1);
    let close = world.close_execution(&execution);
    fees += world.must(&[close], &[]).fee;
    assert_eq!(world.lamports(&payer), before - fees);
}
