//! Every way to settle without the creator's signature over this very result, and to report a signed failure without
//! the signature over this very failure, each refused with an error of its own. The chain's Ed25519 program runs for
//! real in front of each of them, so a proof that reaches the program's gate is one that the chain accepted.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::result_large_err,
    reason = "a test: a panic is a failure"
)]

use agent_marketplace::{instructions::ListAgentArgs, state::*};
use crtx_program_tests::{proof::THIS, proxy::*, *};
use crtx_protocol::{call_text::OpeningId, result_text};
use ed25519_dalek::{Signer as _, SigningKey};
use litesvm::types::TransactionResult;
use solana_instruction::{AccountMeta, error::InstructionError};

/// The Ed25519 program's own refusals.
const PRECOMPILE_INVALID_DATA_OFFSETS: u32 = 3;
const PRECOMPILE_INVALID_SIGNATURE: u32 = 2;
const PRECOMPILE_INVALID_INSTRUCTION_DATA_SIZE: u32 = 4;

/// What a result key signs: the text of the result's hash, the text of the call, or that the call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Unbound,
    Bound,
    Failure,
}

/// The shapes that settle.
const RESULTS: [Shape; 2] = [Shape::Unbound, Shape::Bound];
const SHAPES: [Shape; 3] = [Shape::Unbound, Shape::Bound, Shape::Failure];

/// A world whose agent signs in this shape.
fn world_of(shape: Shape) -> World {
    let mut world = World::new();
    let agent = world.agent.clone();
    if shape == Shape::Bound {
        world.bind(&agent, true);
    }
    world
}

/// A world with one open execution and its canonical proof. Worlds of one shape are equal, so are their proofs.
fn opened(shape: Shape) -> (World, Execution, Proof) {
    let mut world = world_of(shape);
    let execution = world.opened();
    let proof = if shape == Shape::Failure { world.failure_proof(&execution) } else { world.proof(&execution) };
    (world, execution, proof)
}

/// The instruction of the gateway that ends the execution by a proof of this shape.
fn end_of(world: &World, shape: Shape, execution: &Execution) -> Instruction {
    if shape == Shape::Failure { world.fail_signed_execution(execution) } else { world.complete_execution(execution) }
}

fn end_after(world: &mut World, shape: Shape, before: &[Instruction], execution: &Execution) -> TransactionResult {
    let end = end_of(world, shape, execution);
    world.send(&[before, &[end]].concat(), &[&world.gateway.keypair.insecure_clone()])
}

/// The settlement or the report behind `before` is refused at its own index, and nothing moved.
#[track_caller]
fn assert_refused(
    world: &mut World,
    shape: Shape,
    before: &[Instruction],
    execution: &Execution,
    error: MarketplaceError,
) {
    let balances = world.token_balances();
    let result = end_after(world, shape, before, execution);
    assert_error_at(result, u8::try_from(before.len()).expect("few instructions"), error);
    assert_eq!(world.token_balances(), balances);
    assert_eq!(world.status(execution), ExecutionStatus::Open);
}

/// `proof` passes the chain's Ed25519 program and is refused by ours.
#[track_caller]
fn assert_proof_refused(shape: Shape, proof: &Proof, error: MarketplaceError) {
    let (mut world, execution, _) = opened(shape);
    assert_refused(&mut world, shape, &[proof.instruction()], &execution, error);
}

fn key() -> SigningKey {
    World::new().agent.result_key
}

fn canonical(shape: Shape) -> Proof {
    opened(shape).2
}

/// What the canonical proof of the shape signs.
fn message(shape: Shape) -> Vec<u8> {
    canonical(shape).payload[96..].to_vec()
}

#[test]
fn without_an_ed25519_instruction_nothing_settles() {
    for shape in SHAPES {
        let (mut world, execution, _) = opened(shape);
        assert_refused(&mut world, shape, &[], &execution, MarketplaceError::Ed25519Missing);
    }
}

#[test]
fn an_instruction_of_another_program_is_no_proof() {
    for shape in SHAPES {
        let (mut world, execution, _) = opened(shape);
        // A program that accepts any data: the proxy, asked to call the system program with a transfer of 0.
        let (from, system) = (world.payer.key(), anchor_lang::solana_program::system_program::ID);
        let mut data = 2u32.to_le_bytes().to_vec();
        data.extend_from_slice(&0u64.to_le_bytes());
        let accounts = vec![AccountMeta::new(from, true), AccountMeta::new(from, true)];
        let transfer = Instruction { program_id: system, accounts, data };
        assert_refused(
            &mut world,
            shape,
            std::slice::from_ref(&transfer),
            &execution,
            MarketplaceError::Ed25519WrongProgram,
        );
        assert_refused(
            &mut world,
            shape,
            &[through_proxy(transfer)],
            &execution,
            MarketplaceError::Ed25519WrongProgram,
        );
    }
}

#[test]
fn a_proof_that_does_not_stand_directly_before_does_not_count() {
    for shape in SHAPES {
        let (mut world, execution, proof) = opened(shape);
        let transfer = Instruction {
            program_id: anchor_lang::solana_program::system_program::ID,
            accounts: vec![AccountMeta::new(world.payer.key(), true), AccountMeta::new(world.payer.key(), true)],
            data: [2u32.to_le_bytes().as_slice(), 0u64.to_le_bytes().as_slice()].concat(),
        };
        let before = [proof.instruction(), transfer];
        assert_refused(&mut world, shape, &before, &execution, MarketplaceError::Ed25519WrongProgram);
    }
}

#[test]
fn a_proof_behind_the_settlement_does_not_count() {
    for shape in SHAPES {
        let (mut world, execution, proof) = opened(shape);
        let settle = end_of(&world, shape, &execution);
        let result = world.send(&[settle, proof.instruction()], &[&world.gateway.keypair.insecure_clone()]);
        assert_error_at(result, 0, MarketplaceError::Ed25519Missing);
    }
}

#[test]
fn one_proof_settles_one_execution_per_transaction() {
    for shape in SHAPES {
        let (mut world, first, proof) = opened(shape);
        let second = world.opened();
        let settle_both = [proof.instruction(), end_of(&world, shape, &first), end_of(&world, shape, &second)];
        let result = world.send(&settle_both, &[&world.gateway.keypair.insecure_clone()]);
        assert_error_at(result, 2, MarketplaceError::Ed25519WrongProgram);
        assert_eq!(world.status(&first), ExecutionStatus::Open);
    }
}

#[test]
fn a_proof_with_no_signature_is_refused() {
    for shape in SHAPES {
        // The chain accepts a count of zero only without anything behind it.
        let empty = Instruction { data: vec![0, 0], ..canonical(shape).instruction() };
        let (mut world, execution, proof) = opened(shape);
        assert_refused(&mut world, shape, &[empty], &execution, MarketplaceError::Ed25519WrongLength);
        let zero = proof.with(|proof| proof.count = 0).instruction();
        let result = end_after(&mut world, shape, &[zero], &execution);
        assert_custom_at(result, 0, PRECOMPILE_INVALID_INSTRUCTION_DATA_SIZE);
    }
}

#[test]
fn padding_that_is_not_zero_is_refused() {
    for shape in SHAPES {
        assert_proof_refused(shape, &canonical(shape).with(|p| p.padding = 1), MarketplaceError::Ed25519WrongPadding);
    }
}

#[test]
fn a_signature_taken_from_a_named_instruction_is_refused() {
    for shape in SHAPES {
        let proof = canonical(shape).with(|p| p.signature_index = 0);
        assert_proof_refused(shape, &proof, MarketplaceError::Ed25519WrongSignatureIndex);
    }
}

#[test]
fn a_key_taken_from_a_named_instruction_is_refused() {
    for shape in SHAPES {
        assert_proof_refused(
            shape,
            &canonical(shape).with(|p| p.key_index = 0),
            MarketplaceError::Ed25519WrongKeyIndex,
        );
    }
}

#[test]
fn a_message_taken_from_a_named_instruction_is_refused() {
    for shape in SHAPES {
        assert_proof_refused(
            shape,
            &canonical(shape).with(|p| p.message_index = 0),
            MarketplaceError::Ed25519WrongMessageIndex,
        );
    }
}

#[test]
fn a_proof_whose_parts_stand_in_another_instruction_is_refused() {
    for shape in SHAPES {
        // The classic forgery: the bytes in place are the victim's, the verified ones are the attacker's.
        let (mut world, execution, proof) = opened(shape);
        let attacker = SigningKey::from_bytes(&[0x66; 32]);
        let hidden = Proof::of_message(&attacker, &message(shape));
        for change in [
            |p: &mut Proof| p.key_index = 0,
            |p: &mut Proof| p.signature_index = 0,
            |p: &mut Proof| (p.key_index, p.signature_index, p.message_index) = (0, 0, 0),
        ] {
            let forged = proof.clone().with(change).with(|p| p.payload[32..96].fill(0));
            let result = end_after(&mut world, shape, &[hidden.instruction(), forged.instruction()], &execution);
            assert!(result.is_err());
            assert_eq!(world.status(&execution), ExecutionStatus::Open);
        }
        let forged = proof
            .with(|p| (p.key_index, p.signature_index, p.message_index) = (0, 0, 0))
            .with(|p| p.payload[32..96].fill(0));
        let before = [hidden.instruction(), forged.instruction()];
        assert_refused(&mut world, shape, &before, &execution, MarketplaceError::Ed25519WrongSignatureIndex);
    }
}

#[test]
fn a_trailing_byte_is_refused() {
    for shape in SHAPES {
        assert_proof_refused(
            shape,
            &canonical(shape).with(|p| p.payload.push(0)),
            MarketplaceError::Ed25519WrongLength,
        );
    }
}

#[test]
fn a_signature_that_does_not_verify_fails_the_transaction() {
    for shape in SHAPES {
        let (mut world, execution, proof) = opened(shape);
        let broken = proof.with(|p| p.payload[40] ^= 1).instruction();
        let result = end_after(&mut world, shape, &[broken], &execution);
        assert!(matches!(
            result.expect_err("refused").err,
            solana_transaction_error::TransactionError::InstructionError(0, InstructionError::Custom(n))
                if n <= PRECOMPILE_INVALID_SIGNATURE
        ));
        assert_eq!(world.status(&execution), ExecutionStatus::Open);
    }
}

#[test]
fn an_ed25519_instruction_with_accounts_is_refused() {
    for shape in SHAPES {
        let with_account = canonical(shape).with(|p| p.accounts.push(AccountMeta::new_readonly(PROGRAM_ID, false)));
        assert_proof_refused(shape, &with_account, MarketplaceError::Ed25519HasAccounts);
    }
}

#[test]
fn a_settlement_called_by_another_program_is_refused() {
    for shape in SHAPES {
        let (mut world, execution, proof) = opened(shape);
        let settle = through_proxy(end_of(&world, shape, &execution));
        let result = world.send(&[proof.instruction(), settle], &[&world.gateway.keypair.insecure_clone()]);
        assert_error_at(result, 1, MarketplaceError::CalledByProgram);
        assert_eq!(world.status(&execution), ExecutionStatus::Open);
    }
}

#[test]
fn the_proxy_itself_works_so_the_refusal_is_ours() {
    let (mut world, execution, _) = opened(Shape::Unbound);
    world.expire(&execution);
    let refund = through_proxy(world.refund_expired_execution(&execution));
    world.must(&[refund], &[]);
    assert_eq!(world.status(&execution), ExecutionStatus::Expired);
}

#[test]
fn a_copy_of_the_instructions_sysvar_is_refused() {
    for shape in SHAPES {
        let (mut world, execution, proof) = opened(shape);
        let fake = world.new_key().pubkey();
        let account = solana_account::Account {
            lamports: 10_000_000,
            data: vec![0; 500],
            owner: anchor_lang::solana_program::system_program::ID,
            ..Default::default()
        };
        world.put_account(fake, account);
        let settle = forged(end_of(&world, shape, &execution), &[("instructions_sysvar", fake)]);
        let result = world.send(&[proof.instruction(), settle], &[&world.gateway.keypair.insecure_clone()]);
        assert_error_at(result, 1, MarketplaceError::WrongInstructionsSysvar);
    }
}

#[test]
fn a_second_completion_is_refused() {
    for shape in SHAPES {
        let (mut world, execution, proof) = opened(shape);
        assert_ok(end_after(&mut world, shape, &[proof.instruction()], &execution));
        let balances = world.token_balances();
        let result = end_after(&mut world, shape, &[proof.instruction()], &execution);
        assert_error_at(result, 1, MarketplaceError::ExecutionNotOpen);
        assert_eq!(world.token_balances(), balances);
    }
}

#[test]
fn a_result_settles_until_the_last_second_of_the_deadline_and_not_after() {
    for shape in RESULTS {
        for (offset, settles) in [(-1, true), (0, true), (1, false)] {
            let (mut world, execution, proof) = opened(shape);
            let deadline = world.terms(&execution).deadline_unix_s;
            world.set_time(deadline.checked_add(offset).expect("in range"));
            if settles {
                assert_ok(world.complete(&execution));
            } else {
                assert_refused(&mut world, shape, &[proof.instruction()], &execution, MarketplaceError::DeadlinePassed);
            }
        }
    }
}

#[test]
fn a_proof_with_two_signatures_is_refused() {
    for shape in SHAPES {
        // Two descriptions of one signature, in the canonical length: 30 bytes of header, key, signature and
        // a message that fills up.
        let key = key();
        let length = 112 + message(shape).len();
        let message = vec![7u8; length - 30 - 32 - 64];
        let size = u16::try_from(message.len()).expect("small");
        let mut data = vec![2, 0];
        for _ in 0..2 {
            for field in [62u16, THIS, 30, THIS, 126, size, THIS] {
                data.extend_from_slice(&field.to_le_bytes());
            }
        }
        data.extend_from_slice(key.verifying_key().as_bytes());
        data.extend_from_slice(&key.sign(&message).to_bytes());
        data.extend_from_slice(&message);
        assert_eq!(data.len(), length);
        let two = Instruction { data, ..canonical(shape).instruction() };
        let (mut world, execution, _) = opened(shape);
        assert_refused(&mut world, shape, &[two], &execution, MarketplaceError::Ed25519WrongCount);
    }
}

#[test]
fn a_signature_at_another_offset_is_refused() {
    for shape in SHAPES {
        // Key in place, the first bytes of the message in place if there is room, the signature at the end.
        let key = key();
        let (whole, mut payload) = (message(shape), vec![0; 96 + message(shape).len()]);
        let at = payload.len() - 64;
        let start = &whole[..at.saturating_sub(96).min(7)];
        payload[..32].copy_from_slice(key.verifying_key().as_bytes());
        payload[96..96 + start.len()].copy_from_slice(start);
        payload[at..].copy_from_slice(&key.sign(start).to_bytes());
        let proof = canonical(shape).with(|p| {
            p.signature_offset = u16::try_from(16 + at).expect("small");
            p.message_size = u16::try_from(start.len()).expect("small");
            p.payload = payload;
        });
        assert_proof_refused(shape, &proof, MarketplaceError::Ed25519WrongSignatureOffset);
    }
}

#[test]
fn a_key_at_another_offset_is_refused() {
    for shape in SHAPES {
        // The message carries the key that signed it; the bytes where the key belongs say something else.
        let attacker = SigningKey::from_bytes(&[0x66; 32]);
        let mut forged = vec![0; message(shape).len()];
        forged[..32].copy_from_slice(attacker.verifying_key().as_bytes());
        let proof = Proof::of_message(&attacker, &forged).with(|p| {
            p.key_offset = 112;
            p.payload[..32].copy_from_slice(key().verifying_key().as_bytes());
        });
        assert_proof_refused(shape, &proof, MarketplaceError::Ed25519WrongKeyOffset);
    }
}

#[test]
fn a_message_at_another_offset_is_refused() {
    for shape in SHAPES {
        // What is signed is the message without its first byte; the whole message only stands there.
        let key = key();
        let whole = message(shape);
        let mut payload = key.verifying_key().as_bytes().to_vec();
        payload.extend_from_slice(&key.sign(&whole[1..]).to_bytes());
        payload.extend_from_slice(&whole);
        let size = u16::try_from(whole.len() - 1).expect("small");
        let proof = canonical(shape).with(|p| {
            (p.message_offset, p.message_size) = (113, size);
            p.payload = payload;
        });
        assert_proof_refused(shape, &proof, MarketplaceError::Ed25519WrongMessageOffset);
    }
}

#[test]
fn a_message_of_another_declared_size_is_refused() {
    for shape in SHAPES {
        let key = key();
        let whole = message(shape);
        for size in [0, 1, whole.len() - 1] {
            let mut payload = key.verifying_key().as_bytes().to_vec();
            payload.extend_from_slice(&key.sign(&whole[..size]).to_bytes());
            payload.extend_from_slice(&whole);
            let size = u16::try_from(size).expect("small");
            let proof = canonical(shape).with(|p| (p.message_size, p.payload) = (size, payload));
            assert_proof_refused(shape, &proof, MarketplaceError::Ed25519WrongMessageSize);
        }
        // A size beyond the data is refused by the chain's own program.
        let (mut world, execution, proof) = opened(shape);
        let beyond = proof.with(|p| p.message_size += 1).instruction();
        assert_custom_at(end_after(&mut world, shape, &[beyond], &execution), 0, PRECOMPILE_INVALID_DATA_OFFSETS);
    }
}

#[test]
fn a_longer_and_a_shorter_message_are_refused() {
    for shape in SHAPES {
        let whole = message(shape);
        let longer = [whole.as_slice(), b"0"].concat();
        for message in [&whole[..whole.len() - 1], &longer, b"", &RESULT_HASH] {
            let proof = Proof::of_message(&key(), message);
            assert_proof_refused(shape, &proof, MarketplaceError::Ed25519WrongLength);
        }
    }
}

#[test]
fn another_key_is_refused() {
    for shape in SHAPES {
        let other = Proof::of_message(&SigningKey::from_bytes(&[0x66; 32]), &message(shape));
        assert_proof_refused(shape, &other, MarketplaceError::Ed25519WrongKey);
    }
}

#[test]
fn another_hash_is_refused() {
    let mut other = RESULT_HASH;
    other[31] ^= 1;
    let (world, execution, _) = opened(Shape::Bound);
    let opening = world.opening_id(&execution);
    for (shape, proof) in
        [(Shape::Unbound, Proof::of(&key(), &other)), (Shape::Bound, Proof::bound(&key(), &opening, &other))]
    {
        assert_proof_refused(shape, &proof, MarketplaceError::Ed25519WrongMessage);
    }
}

#[test]
fn another_spelling_of_the_message_is_refused() {
    for shape in SHAPES {
        let upper = message(shape).to_ascii_uppercase();
        assert_proof_refused(shape, &Proof::of_message(&key(), &upper), MarketplaceError::Ed25519WrongMessage);
    }
}

#[test]
fn one_bent_bit_anywhere_in_the_message_is_refused() {
    for shape in SHAPES {
        let (mut world, execution, _) = opened(shape);
        for at in 0..message(shape).len() {
            let mut bent = message(shape);
            bent[at] ^= 1;
            let proof = Proof::of_message(&key(), &bent).instruction();
            assert_refused(&mut world, shape, &[proof], &execution, MarketplaceError::Ed25519WrongMessage);
        }
    }
}

#[test]
fn a_proof_for_one_agents_key_does_not_settle_anothers_execution() {
    let (mut world, _, proof) = opened(Shape::Unbound);
    let agent = world.listed();
    let mut execution = world.new_execution();
    execution.agent = agent;
    assert_ok(world.open(&execution));
    assert_refused(&mut world, Shape::Unbound, &[proof.instruction()], &execution, MarketplaceError::Ed25519WrongKey);
}

#[test]
fn a_result_key_changed_after_opening_does_not_settle_what_was_opened_before() {
    for shape in SHAPES {
        let (mut world, execution, _) = opened(shape);
        let new_key = SigningKey::from_bytes(&[0x44; 32]);
        let agent = world.agent.clone();
        let edit = agent_marketplace::instructions::UpdateListingArgs {
            result_key: Some(new_key.verifying_key().to_bytes().into()),
            ..Default::default()
        };
        let update = world.update_listing(&agent, edit);
        world.must(&[update], &[&agent.creator.keypair]);
        let proof = Proof::of_message(&new_key, &message(shape)).instruction();
        assert_refused(&mut world, shape, &[proof], &execution, MarketplaceError::Ed25519WrongKey);
    }
}

// Each shape in place of the other.

#[test]
fn a_signature_over_the_result_alone_does_not_settle_a_bound_call() {
    let (mut world, execution, canonical) = opened(Shape::Bound);
    let unbound = Proof::of(&key(), &RESULT_HASH);
    assert_refused(
        &mut world,
        Shape::Bound,
        &[unbound.instruction()],
        &execution,
        MarketplaceError::Ed25519WrongLength,
    );
    // The signed text at the end, behind bytes that make up the length; and the text at its place, declared shorter.
    let text = result_text::of(&RESULT_HASH);
    let signature = key().sign(&text).to_bytes();
    let padded = [key().verifying_key().as_bytes().as_slice(), &signature, &[0; 55], &text].concat();
    let at_the_end = unbound.clone().with(|p| (p.message_offset, p.payload) = (167, padded));
    let error = MarketplaceError::Ed25519WrongMessageOffset;
    assert_refused(&mut world, Shape::Bound, &[at_the_end.instruction()], &execution, error);
    let first = unbound.with(|p| p.payload.extend_from_slice(&[0; 55]));
    assert_refused(
        &mut world,
        Shape::Bound,
        &[first.instruction()],
        &execution,
        MarketplaceError::Ed25519WrongMessageSize,
    );
    // The canonical bytes of the call, of which only the part that an old signature covers is verified.
    let mut payload = canonical.payload.clone();
    payload[32..96].copy_from_slice(&signature);
    let covered = canonical.clone().with(|p| (p.message_offset, p.message_size, p.payload) = (167, 71, payload));
    assert_refused(&mut world, Shape::Bound, &[covered.instruction()], &execution, error);
    assert_ok(end_after(&mut world, Shape::Bound, &[canonical.instruction()], &execution));
}

#[test]
fn a_signature_for_the_call_does_not_settle_an_unbound_one() {
    let (mut world, execution, canonical) = opened(Shape::Unbound);
    let bound = Proof::bound(&key(), &world.opening_id(&execution), &RESULT_HASH);
    assert_refused(
        &mut world,
        Shape::Unbound,
        &[bound.instruction()],
        &execution,
        MarketplaceError::Ed25519WrongLength,
    );
    assert_ok(end_after(&mut world, Shape::Unbound, &[canonical.instruction()], &execution));
}

#[test]
fn a_signature_for_one_call_settles_no_other() {
    let (mut world, first, proof) = opened(Shape::Bound);
    let second = world.opened();
    assert_refused(&mut world, Shape::Bound, &[proof.instruction()], &second, MarketplaceError::Ed25519WrongMessage);
    // Also after it settled its own call, when everybody knows it.
    assert_ok(world.complete(&first));
    assert_refused(&mut world, Shape::Bound, &[proof.instruction()], &second, MarketplaceError::Ed25519WrongMessage);
}

#[test]
fn a_signature_for_an_opening_does_not_settle_the_same_address_when_it_is_opened_again() {
    let (mut world, first, old) = opened(Shape::Bound);
    assert_ok(world.complete(&first));
    let window = i64::from(world.record(&first).dispute_window_s);
    // At the same agent, and at another one of the creator that costs twenty times as much and has the same key.
    let dear = Agent { result_key: key(), ..world.new_agent() };
    world.list(
        &dear,
        ListAgentArgs { binding: true, price: PRICE * 20, collateral: 50 * USDC, ..world.list_args(&dear) },
    );
    for agent in [first.agent.clone(), dear] {
        world.set_time(world.now() + window + 1);
        let close = world.close_execution(&first);
        world.must(&[close], &[]);
        let again = Execution { agent, ..first.clone() };
        assert_ok(world.open(&again));
        assert_refused(&mut world, Shape::Bound, &[old.instruction()], &again, MarketplaceError::Ed25519WrongMessage);
        assert_ok(world.complete(&again));
    }
}

#[test]
fn the_listings_promise_at_the_opening_decides_the_shape() {
    for shape in RESULTS {
        let (mut world, execution, canonical) = opened(shape);
        let agent = world.agent.clone();
        world.bind(&agent, shape == Shape::Unbound);
        let other = match shape {
            Shape::Unbound => Proof::bound(&key(), &world.opening_id(&execution), &RESULT_HASH),
            _ => Proof::of(&key(), &RESULT_HASH),
        };
        assert_refused(&mut world, shape, &[other.instruction()], &execution, MarketplaceError::Ed25519WrongLength);
        assert_ok(end_after(&mut world, shape, &[canonical.instruction()], &execution));
    }
}

// Failures.

#[test]
fn a_signed_result_is_no_signed_failure_and_a_signed_failure_settles_nothing() {
    for shape in RESULTS {
        let (mut world, execution, result) = opened(shape);
        let failure = world.failure_proof(&execution);
        let error = MarketplaceError::Ed25519WrongLength;
        assert_refused(&mut world, Shape::Failure, &[result.instruction()], &execution, error);
        assert_refused(&mut world, shape, &[failure.instruction()], &execution, error);
        assert_ok(end_after(&mut world, Shape::Failure, &[failure.instruction()], &execution));
        assert_eq!(world.record(&execution).agents_failure, 1);
    }
}

#[test]
fn the_agents_signed_failure_of_another_opening_is_refused() {
    let (mut world, first, proof) = opened(Shape::Failure);
    let second = world.opened();
    let error = MarketplaceError::Ed25519WrongMessage;
    assert_refused(&mut world, Shape::Failure, &[proof.instruction()], &second, error);
    // Also after it counted for its own call, when everybody knows it.
    assert_ok(end_after(&mut world, Shape::Failure, &[proof.instruction()], &first));
    assert_refused(&mut world, Shape::Failure, &[proof.instruction()], &second, error);
    // Neither for the same address, when it is opened again.
    world.set_time(world.now() + i64::from(world.record(&first).dispute_window_s) + 1);
    let close = world.close_execution(&first);
    world.must(&[close], &[]);
    assert_ok(world.open(&first));
    assert_refused(&mut world, Shape::Failure, &[proof.instruction()], &first, error);
    assert_eq!(world.listing(&world.agent).failed_executions, 1);
}

#[test]
fn a_failure_of_another_second_or_record_is_refused() {
    let (world, execution, _) = opened(Shape::Failure);
    let opening = world.opening_id(&execution);
    for other in [
        OpeningId { opened_at_unix_s: opening.opened_at_unix_s + 1, ..opening },
        OpeningId { opened_at_unix_s: opening.opened_at_unix_s - 1, ..opening },
        OpeningId { record: world.agent.address.to_bytes(), ..opening },
    ] {
        let proof = Proof::of_failure(&key(), &other);
        assert_proof_refused(Shape::Failure, &proof, MarketplaceError::Ed25519WrongMessage);
    }
}
