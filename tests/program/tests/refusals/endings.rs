//! Settlements and refunds to wrong accounts, by wrong signers, at the wrong time. The proof itself is tested in
//! `ed25519_attacks`.

use super::*;

// complete_execution: everything but the proof itself

#[test]
fn a_stranger_does_not_settle() {
    let mut world = World::new();
    let execution = world.opened();
    for who in [world.stranger.key(), world.admin.key()] {
        settle_refused(&mut world, &execution, E::NotSettler, &[("authority", who)]);
    }
    let settle = unsigned(world.complete_execution(&execution), &world.gateway.key());
    let proof = world.proof(&execution).instruction();
    assert_custom_at(world.send(&[proof, settle], &[]), 1, ANCHOR_NOT_SIGNER);
}

#[test]
fn the_money_goes_to_the_recorded_wallets_alone() {
    let mut world = World::new();
    let execution = world.opened();
    let other_mint = world.new_key().pubkey();
    world.put_mint(other_mint, 0);
    let (creator, treasury) = (world.agent.creator.key(), world.treasury.key());
    let stranger_token = world.stranger.token;
    let (creator_other, treasury_other) =
        (world.new_token_account_of(&other_mint, &creator, 0), world.new_token_account_of(&other_mint, &treasury, 0));
    let (creator_frozen, treasury_frozen) =
        (world.new_token_account(&creator, 0), world.new_token_account(&treasury, 0));
    world.freeze(&creator_frozen);
    world.freeze(&treasury_frozen);
    let not_token = world.payer.key();
    for (error, creator_token, treasury_token) in [
        (E::TokenOwnerMismatch, stranger_token, treasury_frozen),
        (E::TokenMintMismatch, creator_other, treasury_other),
        (E::TokenAccountUnusable, creator_frozen, treasury_frozen),
        (E::NotTokenAccount, not_token, not_token),
    ] {
        settle_refused(&mut world, &execution, error, &[("creator_token", creator_token)]);
        let treasury_token = if error == E::TokenOwnerMismatch { stranger_token } else { treasury_token };
        settle_refused(&mut world, &execution, error, &[("treasury_token", treasury_token)]);
    }
    // The two payees' accounts exchanged.
    let exchanged = [("creator_token", world.treasury.token), ("treasury_token", world.agent.creator.token)];
    settle_refused(&mut world, &execution, E::TokenOwnerMismatch, &exchanged);
    // A closed account.
    let closed = world.new_key().pubkey();
    settle_refused(&mut world, &execution, E::NotTokenAccount, &[("creator_token", closed)]);
}

#[test]
fn a_settlement_with_wrong_accounts_is_refused() {
    let mut world = World::new();
    let execution = world.opened();
    let other_mint = world.new_key().pubkey();
    world.put_mint(other_mint, 0);
    let other = world.listed();
    let (vault, other_escrow) =
        (world.addresses.collateral(&world.agent.address), world.addresses.escrow(&other.address));
    settle_refused(&mut world, &execution, E::WrongMint, &[("usdc_mint", other_mint)]);
    settle_refused(&mut world, &execution, E::WrongEscrow, &[("escrow", vault)]);
    settle_refused(&mut world, &execution, E::WrongEscrow, &[("escrow", other_escrow)]);
    settle_refused(&mut world, &execution, E::WrongAgent, &[("agent", other.address), ("escrow", other_escrow)]);
    settle_refused(&mut world, &execution, E::WrongTokenProgram, &[("token_program", PROGRAM_ID)]);
    let stranger = world.stranger.key();
    settle_refused(&mut world, &execution, E::WrongRentPayer, &[("rent_payer", stranger)]);
}

// fail_execution

#[test]
fn only_creator_and_gateway_report_a_failure() {
    let mut world = World::new();
    let execution = world.opened();
    for who in [world.caller.clone(), world.stranger.clone(), world.admin.clone()] {
        let fail = world.fail_execution(&execution, FailureReason::CreatorFailed);
        let fail = forged(fail, &[("authority", who.key())]);
        refused(&mut world, fail, &[&who.keypair], E::NotFailureReporter);
    }
    let fail = unsigned(world.fail_execution(&execution, FailureReason::Timeout), &world.gateway.key());
    assert_custom_at(world.send(&[fail], &[]), 0, ANCHOR_NOT_SIGNER);
}

#[test]
fn nobody_reports_an_expiry_before_its_time() {
    let mut world = World::new();
    let execution = world.opened();
    let gateway = world.gateway.keypair.insecure_clone();
    let fail = world.fail_execution(&execution, FailureReason::Expired);
    refused(&mut world, fail, &[&gateway], E::FailureReasonReserved);
}

#[test]
fn a_creator_does_not_excuse_a_failure_as_an_interruption_of_the_gateway() {
    let mut world = World::new();
    let execution = world.opened();
    let creator = world.agent.creator.clone();
    let fail = world.fail_execution(&execution, FailureReason::Interrupted);
    let by_creator = forged(fail.clone(), &[("authority", creator.key())]);
    refused(&mut world, by_creator, &[&creator.keypair], E::FailureReasonReserved);
    world.must(&[fail], &[&world.gateway.keypair.insecure_clone()]);
    assert_eq!(world.record(&execution).failure_reason(), Some(FailureReason::Interrupted));
}

/// Who may open with a grant gets its amount back, and nobody else's grant changes.
#[test]
fn a_refund_without_the_executions_own_grant_is_refused() {
    let mut world = World::new();
    let execution = world.new_execution();
    assert_ok(world.open_with_grant(&execution));
    let (gateway, caller) = (world.gateway.keypair.insecure_clone(), world.caller.keypair.insecure_clone());
    let other_key = world.new_key().pubkey();
    let other = world.grant_spending(ix::GrantSpendingArgs { session_key: other_key, ..grant_args(&world) });
    world.must(&[other], &[&caller]);
    let other = world.addresses.grant(&caller.pubkey(), &other_key);
    let fail = world.fail_execution(&execution, FailureReason::Timeout);
    world.expire(&execution);
    let refund = world.refund_expired_execution(&execution);
    // An account that is left out is the program's own address.
    for grant in [other, PROGRAM_ID] {
        refused_with(&mut world, &fail, &[&gateway], &[("grant", grant, E::WrongGrant)]);
        refused_with(&mut world, &refund, &[], &[("grant", grant, E::WrongGrant)]);
    }
    world.must(&[refund], &[]);
    assert_eq!(world.grant().spent, 0);
}

/// A grant that the execution does not have is ignored, so it loses nothing.
#[test]
fn a_refund_of_a_wallets_own_opening_gives_no_grant_anything() {
    let mut world = World::new();
    let (by_wallet, by_key) = (world.opened(), world.new_execution());
    assert_ok(world.open_with_grant(&by_key));
    let grant = world.addresses.grant(&world.caller.key(), &world.session.pubkey());
    let before = world.grant();
    let refund = Refund { grant: Some(grant), ..world.refund_of(&by_wallet) };
    let gateway = world.gateway.clone();
    let fail = world.instructions().fail_execution(&gateway.key(), &refund, FailureReason::Timeout);
    world.must(&[fail], &[&gateway.keypair]);
    assert_eq!(bytemuck::bytes_of(&world.grant()), bytemuck::bytes_of(&before));
}

#[test]
fn a_refund_goes_to_the_recorded_wallet_alone() {
    let mut world = World::new();
    let execution = world.opened();
    world.expire(&execution);
    let other_mint = world.new_key().pubkey();
    world.put_mint(other_mint, 0);
    let caller = world.caller.key();
    let gateway = world.gateway.keypair.insecure_clone();
    let frozen = world.new_token_account(&caller, 0);
    world.freeze(&frozen);
    let uninitialized = world.new_token_account(&caller, 0);
    world.tamper(&uninitialized, |account| account.data[108] = 0);
    let short = world.new_token_account(&caller, 0);
    world.tamper(&short, |account| account.data.truncate(164));
    let cases = [
        (world.stranger.token, E::TokenOwnerMismatch),
        (world.agent.creator.token, E::TokenOwnerMismatch),
        (world.new_token_account_of(&other_mint, &caller, 0), E::TokenMintMismatch),
        (frozen, E::TokenAccountUnusable),
        (uninitialized, E::TokenAccountUnusable),
        (short, E::NotTokenAccount),
        (world.caller.key(), E::NotTokenAccount),
        (world.new_token_account(&caller, 0), E::RefundElsewhere),
    ]
    .map(|(token, error)| ("refund_token", token, error));
    let fail = world.fail_execution(&execution, FailureReason::Timeout);
    refused_with(&mut world, &fail, &[&gateway], &cases);
    let refund = world.refund_expired_execution(&execution);
    refused_with(&mut world, &refund, &[], &cases);
}

#[test]
fn a_refund_with_wrong_accounts_is_refused() {
    let mut world = World::new();
    let execution = world.opened();
    world.expire(&execution);
    let other_mint = world.new_key().pubkey();
    world.put_mint(other_mint, 0);
    let other = world.listed();
    let other_escrow = world.addresses.escrow(&other.address);
    let vault = world.addresses.collateral(&world.agent.address);
    let refund = world.refund_expired_execution(&execution);
    let cases = [
        ("usdc_mint", other_mint, E::WrongMint),
        ("escrow", vault, E::WrongEscrow),
        ("escrow", other_escrow, E::WrongEscrow),
        ("rent_payer", world.stranger.key(), E::WrongRentPayer),
        ("token_program", PROGRAM_ID, E::WrongTokenProgram),
    ];
    refused_with(&mut world, &refund, &[], &cases);
    let of_another_agent = forged(refund, &[("agent", other.address), ("escrow", other_escrow)]);
    refused(&mut world, of_another_agent, &[], E::WrongAgent);
}

// refund_expired_execution

#[test]
fn a_refund_waits_until_the_deadline_has_passed() {
    for (offset, refunds) in [(-1, false), (0, false), (1, true)] {
        let mut world = World::new();
        let execution = world.opened();
        world.set_time(world.terms(&execution).deadline_unix_s + offset);
        let refund = world.refund_expired_execution(&execution);
        if refunds {
            world.must(&[refund], &[]);
        } else {
            refused(&mut world, refund, &[], E::DeadlineNotPassed);
        }
    }
}

#[test]
fn a_record_leaves_open_exactly_once() {
    type Finish = fn(&mut World, &Execution) -> litesvm::types::TransactionResult;
    let finishes: [(Finish, bool); 3] = [(World::complete, false), (World::fail, false), (World::refund, true)];
    for (first, late) in finishes {
        let mut world = World::new();
        let execution = world.opened();
        let deadline = world.terms(&execution).deadline_unix_s;
        if late {
            world.set_time(deadline + 1);
        }
        assert_ok(first(&mut world, &execution));
        let record = world.record(&execution);
        let balances = world.token_balances();
        for (index, (second, late)) in finishes.into_iter().enumerate() {
            world.set_time(if late { deadline + 1 } else { deadline });
            let at = u8::from(index == 0);
            assert_error_at(second(&mut world, &execution), at, E::ExecutionNotOpen);
        }
        assert_eq!(bytemuck::bytes_of(&world.record(&execution)), bytemuck::bytes_of(&record));
        assert_eq!(world.token_balances(), balances);
    }
}

// arithmetic

#[test]
fn counters_at_their_end_refuse_instead_of_wrapping() {
    let mut world = World::new();
    let execution = world.opened();
    let agent = world.agent.address;
    let changes: [fn(&mut AgentListed); 4] = [
        |listing| listing.open_amount = u64::MAX,
        |listing| listing.open_executions = u32::MAX,
        |listing| listing.revision = u64::MAX,
        |listing| listing.status = AgentStatus::Active as u8,
    ];
    let caller = world.caller.keypair.insecure_clone();
    let genuine = world.account(&agent).expect("listed");
    for (index, change) in changes.into_iter().enumerate() {
        world.put_account(agent, genuine.clone());
        world.tamper_state::<AgentListed>(&agent, change);
        let next = world.new_execution();
        let open = world.open_execution(&next);
        if index < 3 {
            refused(&mut world, open, &[&caller], E::OutOfRange);
        } else {
            world.must(&[open], &[&caller]);
        }
    }
    // The listing counts less than the record says, so the program does not settle.
    world.tamper_state::<AgentListed>(&agent, |listing| listing.open_amount = 0);
    assert_error_at(world.complete(&execution), 1, E::OutOfRange);
}
