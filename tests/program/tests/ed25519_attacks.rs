//! Every way to settle without the creator's signature over this very result, each refused with an error
//! of its own. The chain's Ed25519 program runs for real in front of each settlement, so a proof that
//! reaches the program's gate is one that the chain accepted.

#![expect(clippy::expect_used, reason = "a test: a panic is a failure")]

use agent_marketplace::state::*;
use crtx_program_tests::{proof::THIS, proxy::*, *};
use crtx_protocol::result_text;
use ed25519_dalek::{Signer as _, SigningKey};
use solana_instruction::{AccountMeta, error::InstructionError};

/// The Ed25519 program's own refusals.
const PRECOMPILE_INVALID_DATA_OFFSETS: u32 = 3;
const PRECOMPILE_INVALID_SIGNATURE: u32 = 2;
const PRECOMPILE_INVALID_INSTRUCTION_DATA_SIZE: u32 = 4;

/// A world with one open execution and its canonical proof.
fn opened() -> (World, Execution, Proof) {
    let mut world = World::new();
    let execution = world.opened();
    let proof = world.proof(&execution);
    (world, execution, proof)
}

/// The settlement behind `before` is refused at its own index, and nothing moved.
#[track_caller]
fn assert_refused(world: &mut World, before: &[Instruction], execution: &Execution, error: MarketplaceError) {
    let balances = world.token_balances();
    let result = world.complete_after(before, execution);
    assert_error_at(result, u8::try_from(before.len()).expect("few instructions"), error);
    assert_eq!(world.token_balances(), balances);
    assert_eq!(world.status(execution), ExecutionStatus::Open);
}

/// `proof` passes the chain's Ed25519 program and is refused by ours.
#[track_caller]
fn assert_proof_refused(proof: &Proof, error: MarketplaceError) {
    let (mut world, execution, _) = opened();
    assert_refused(&mut world, &[proof.instruction()], &execution, error);
}

fn key() -> SigningKey {
    World::new().agent.result_key
}

fn canonical() -> Proof {
    Proof::of(&key(), &RESULT_HASH)
}

#[test]
fn without_an_ed25519_instruction_nothing_settles() {
    let (mut world, execution, _) = opened();
    assert_refused(&mut world, &[], &execution, MarketplaceError::Ed25519Missing);
}

#[test]
fn an_instruction_of_another_program_is_no_proof() {
    let (mut world, execution, _) = opened();
    // A program that accepts any data: the proxy, asked to call the system program with a transfer of 0.
    let (from, system) = (world.payer.key(), anchor_lang::solana_program::system_program::ID);
    let mut data = 2u32.to_le_bytes().to_vec();
    data.extend_from_slice(&0u64.to_le_bytes());
    let accounts = vec![AccountMeta::new(from, true), AccountMeta::new(from, true)];
    let transfer = Instruction { program_id: system, accounts, data };
    assert_refused(&mut world, std::slice::from_ref(&transfer), &execution, MarketplaceError::Ed25519WrongProgram);
    assert_refused(&mut world, &[through_proxy(transfer)], &execution, MarketplaceError::Ed25519WrongProgram);
}

#[test]
fn a_proof_that_does_not_stand_directly_before_does_not_count() {
    let (mut world, execution, proof) = opened();
    let transfer = Instruction {
        program_id: anchor_lang::solana_program::system_program::ID,
        accounts: vec![AccountMeta::new(world.payer.key(), true), AccountMeta::new(world.payer.key(), true)],
        data: [2u32.to_le_bytes().as_slice(), 0u64.to_le_bytes().as_slice()].concat(),
    };
    let before = [proof.instruction(), transfer];
    assert_refused(&mut world, &before, &execution, MarketplaceError::Ed25519WrongProgram);
}

#[test]
fn a_proof_behind_the_settlement_does_not_count() {
    let (mut world, execution, proof) = opened();
    let settle = world.complete_execution(&execution);
    let result = world.send(&[settle, proof.instruction()], &[&world.gateway.keypair.insecure_clone()]);
    assert_error_at(result, 0, MarketplaceError::Ed25519Missing);
}

#[test]
fn one_proof_settles_one_execution_per_transaction() {
    let (mut world, first, proof) = opened();
    let second = world.opened();
    let settle_both = [proof.instruction(), world.complete_execution(&first), world.complete_execution(&second)];
    let result = world.send(&settle_both, &[&world.gateway.keypair.insecure_clone()]);
    assert_error_at(result, 2, MarketplaceError::Ed25519WrongProgram);
    assert_eq!(world.status(&first), ExecutionStatus::Open);
}

#[test]
fn a_proof_with_no_signature_is_refused() {
    // The chain accepts a count of zero only without anything behind it.
    let empty = Instruction { data: vec![0, 0], ..canonical().instruction() };
    let (mut world, execution, proof) = opened();
    assert_refused(&mut world, &[empty], &execution, MarketplaceError::Ed25519WrongLength);
    let zero = proof.with(|proof| proof.count = 0).instruction();
    let result = world.complete_after(&[zero], &execution);
    assert_custom_at(result, 0, PRECOMPILE_INVALID_INSTRUCTION_DATA_SIZE);
}

#[test]
fn a_proof_with_two_signatures_is_refused() {
    // Two descriptions of one signature, in the canonical length: 30 bytes of header, key, signature and
    // a message that fills up.
    let key = key();
    let message = [7u8; 183 - 30 - 32 - 64];
    let mut data = vec![2, 0];
    for _ in 0..2 {
        for field in [62u16, THIS, 30, THIS, 126, 57, THIS] {
            data.extend_from_slice(&field.to_le_bytes());
        }
    }
    data.extend_from_slice(key.verifying_key().as_bytes());
    data.extend_from_slice(&key.sign(&message).to_bytes());
    data.extend_from_slice(&message);
    assert_eq!(data.len(), 183);
    let two = Instruction { data, ..canonical().instruction() };
    let (mut world, execution, _) = opened();
    assert_refused(&mut world, &[two], &execution, MarketplaceError::Ed25519WrongCount);
}

#[test]
fn padding_that_is_not_zero_is_refused() {
    assert_proof_refused(&canonical().with(|p| p.padding = 1), MarketplaceError::Ed25519WrongPadding);
}

#[test]
fn a_signature_taken_from_a_named_instruction_is_refused() {
    let proof = canonical().with(|p| p.signature_index = 0);
    assert_proof_refused(&proof, MarketplaceError::Ed25519WrongSignatureIndex);
}

#[test]
fn a_key_taken_from_a_named_instruction_is_refused() {
    assert_proof_refused(&canonical().with(|p| p.key_index = 0), MarketplaceError::Ed25519WrongKeyIndex);
}

#[test]
fn a_message_taken_from_a_named_instruction_is_refused() {
    assert_proof_refused(&canonical().with(|p| p.message_index = 0), MarketplaceError::Ed25519WrongMessageIndex);
}

#[test]
fn a_proof_whose_parts_stand_in_another_instruction_is_refused() {
    // The classic forgery: the bytes in place are the victim's, the verified ones are the attacker's.
    let (mut world, execution, proof) = opened();
    let attacker = SigningKey::from_bytes(&[0x66; 32]);
    let hidden = Proof::of(&attacker, &RESULT_HASH);
    for change in [
        |p: &mut Proof| p.key_index = 0,
        |p: &mut Proof| p.signature_index = 0,
        |p: &mut Proof| (p.key_index, p.signature_index, p.message_index) = (0, 0, 0),
    ] {
        let forged = proof.clone().with(change).with(|p| p.payload[32..96].fill(0));
        let result = world.complete_after(&[hidden.instruction(), forged.instruction()], &execution);
        assert!(result.is_err());
        assert_eq!(world.status(&execution), ExecutionStatus::Open);
    }
    let forged = proof
        .with(|p| (p.key_index, p.signature_index, p.message_index) = (0, 0, 0))
        .with(|p| p.payload[32..96].fill(0));
    let before = [hidden.instruction(), forged.instruction()];
    assert_refused(&mut world, &before, &execution, MarketplaceError::Ed25519WrongSignatureIndex);
}

#[test]
fn a_signature_at_another_offset_is_refused() {
    // Key in place, message `sha256:` in place, the signature behind it.
    let key = key();
    let message = b"sha256:";
    let mut payload = vec![0; 167];
    payload[..32].copy_from_slice(key.verifying_key().as_bytes());
    payload[96..103].copy_from_slice(message);
    payload[103..167].copy_from_slice(&key.sign(message).to_bytes());
    let proof = canonical().with(|p| {
        p.signature_offset = 119;
        p.message_size = 7;
        p.payload = payload;
    });
    assert_proof_refused(&proof, MarketplaceError::Ed25519WrongSignatureOffset);
}

#[test]
fn a_key_at_another_offset_is_refused() {
    // The message carries the key that signed it; the bytes where the key belongs say something else.
    let attacker = SigningKey::from_bytes(&[0x66; 32]);
    let mut message = [0u8; 71];
    message[..32].copy_from_slice(attacker.verifying_key().as_bytes());
    let proof = Proof::of_message(&attacker, &message).with(|p| {
        p.key_offset = 112;
        p.payload[..32].copy_from_slice(key().verifying_key().as_bytes());
    });
    assert_proof_refused(&proof, MarketplaceError::Ed25519WrongKeyOffset);
}

#[test]
fn a_message_at_another_offset_is_refused() {
    // What is signed is 71 bytes from inside key and signature; the text form only stands at the end.
    let key = key();
    let text = result_text::of(&RESULT_HASH);
    let mut payload = key.verifying_key().as_bytes().to_vec();
    payload.extend_from_slice(&key.sign(&text[1..]).to_bytes());
    payload.extend_from_slice(&text);
    let proof = canonical().with(|p| {
        (p.message_offset, p.message_size) = (113, 70);
        p.payload = payload;
    });
    assert_proof_refused(&proof, MarketplaceError::Ed25519WrongMessageOffset);
}

#[test]
fn a_message_of_another_declared_size_is_refused() {
    let key = key();
    let text = result_text::of(&RESULT_HASH);
    for size in [0usize, 1, 70] {
        let mut payload = key.verifying_key().as_bytes().to_vec();
        payload.extend_from_slice(&key.sign(&text[..size]).to_bytes());
        payload.extend_from_slice(&text);
        let size = u16::try_from(size).expect("small");
        let proof = canonical().with(|p| (p.message_size, p.payload) = (size, payload));
        assert_proof_refused(&proof, MarketplaceError::Ed25519WrongMessageSize);
    }
    // A size beyond the data is refused by the chain's own program.
    let (mut world, execution, proof) = opened();
    let beyond = proof.with(|p| p.message_size = 72).instruction();
    assert_custom_at(world.complete_after(&[beyond], &execution), 0, PRECOMPILE_INVALID_DATA_OFFSETS);
}

#[test]
fn a_longer_and_a_shorter_message_are_refused() {
    let text = result_text::of(&RESULT_HASH);
    let longer = [text.as_slice(), b"0"].concat();
    for message in [&text[..70], &longer, b"", &RESULT_HASH] {
        assert_proof_refused(&Proof::of_message(&key(), message), MarketplaceError::Ed25519WrongLength);
    }
}

#[test]
fn a_trailing_byte_is_refused() {
    assert_proof_refused(&canonical().with(|p| p.payload.push(0)), MarketplaceError::Ed25519WrongLength);
}

#[test]
fn another_key_is_refused() {
    let other = SigningKey::from_bytes(&[0x66; 32]);
    assert_proof_refused(&Proof::of(&other, &RESULT_HASH), MarketplaceError::Ed25519WrongKey);
}

#[test]
fn another_hash_is_refused() {
    let mut other = RESULT_HASH;
    other[31] ^= 1;
    assert_proof_refused(&Proof::of(&key(), &other), MarketplaceError::Ed25519WrongMessage);
}

#[test]
fn another_spelling_of_the_hash_is_refused() {
    let upper = String::from_utf8(result_text::of(&RESULT_HASH).to_vec()).expect("text").to_uppercase();
    assert_proof_refused(&Proof::of_message(&key(), upper.as_bytes()), MarketplaceError::Ed25519WrongMessage);
}

#[test]
fn a_signature_that_does_not_verify_fails_the_transaction() {
    let (mut world, execution, proof) = opened();
    let broken = proof.with(|p| p.payload[40] ^= 1).instruction();
    let result = world.complete_after(&[broken], &execution);
    assert!(matches!(
        result.expect_err("refused").err,
        solana_transaction_error::TransactionError::InstructionError(0, InstructionError::Custom(n))
            if n <= PRECOMPILE_INVALID_SIGNATURE
    ));
    assert_eq!(world.status(&execution), ExecutionStatus::Open);
}

#[test]
fn an_ed25519_instruction_with_accounts_is_refused() {
    let with_account = canonical().with(|p| p.accounts.push(AccountMeta::new_readonly(PROGRAM_ID, false)));
    assert_proof_refused(&with_account, MarketplaceError::Ed25519HasAccounts);
}

#[test]
fn a_settlement_called_by_another_program_is_refused() {
    let (mut world, execution, proof) = opened();
    let settle = through_proxy(world.complete_execution(&execution));
    let result = world.send(&[proof.instruction(), settle], &[&world.gateway.keypair.insecure_clone()]);
    assert_error_at(result, 1, MarketplaceError::CalledByProgram);
    assert_eq!(world.status(&execution), ExecutionStatus::Open);
}

#[test]
fn the_proxy_itself_works_so_the_refusal_is_ours() {
    let (mut world, execution, _) = opened();
    world.expire(&execution);
    let refund = through_proxy(world.refund_expired_execution(&execution));
    world.must(&[refund], &[]);
    assert_eq!(world.status(&execution), ExecutionStatus::Expired);
}

#[test]
fn a_copy_of_the_instructions_sysvar_is_refused() {
    let (mut world, execution, proof) = opened();
    let fake = world.new_key().pubkey();
    let account = solana_account::Account {
        lamports: 10_000_000,
        data: vec![0; 500],
        owner: anchor_lang::solana_program::system_program::ID,
        ..Default::default()
    };
    world.put_account(fake, account);
    let settle = forged(world.complete_execution(&execution), &[("instructions_sysvar", fake)]);
    let result = world.send(&[proof.instruction(), settle], &[&world.gateway.keypair.insecure_clone()]);
    assert_error_at(result, 1, MarketplaceError::WrongInstructionsSysvar);
}

#[test]
fn a_second_completion_is_refused() {
    let (mut world, execution, proof) = opened();
    assert_ok(world.complete(&execution));
    let balances = world.token_balances();
    let result = world.complete_after(&[proof.instruction()], &execution);
    assert_error_at(result, 1, MarketplaceError::ExecutionNotOpen);
    assert_eq!(world.token_balances(), balances);
}

#[test]
fn a_result_settles_until_the_last_second_of_the_deadline_and_not_after() {
    for (offset, settles) in [(-1, true), (0, true), (1, false)] {
        let (mut world, execution, proof) = opened();
        let deadline = world.record(&execution).deadline_unix_s;
        world.set_time(deadline.checked_add(offset).expect("in range"));
        if settles {
            assert_ok(world.complete(&execution));
        } else {
            assert_refused(&mut world, &[proof.instruction()], &execution, MarketplaceError::DeadlinePassed);
        }
    }
}

#[test]
fn a_proof_for_one_agents_key_does_not_settle_anothers_execution() {
    let (mut world, _, proof) = opened();
    let agent = world.listed();
    let mut execution = world.new_execution();
    execution.agent = agent;
    assert_ok(world.open(&execution));
    assert_refused(&mut world, &[proof.instruction()], &execution, MarketplaceError::Ed25519WrongKey);
}

#[test]
fn a_result_key_changed_after_opening_does_not_settle_what_was_opened_before() {
    let (mut world, execution, _) = opened();
    let new_key = SigningKey::from_bytes(&[0x44; 32]);
    let agent = world.agent.clone();
    let edit = agent_marketplace::instructions::UpdateListingArgs {
        result_key: Some(new_key.verifying_key().to_bytes().into()),
        ..Default::default()
    };
    let update = world.update_listing(&agent, edit);
    world.must(&[update], &[&agent.creator.keypair]);
    let proof = Proof::of(&new_key, &RESULT_HASH).instruction();
    assert_refused(&mut world, &[proof], &execution, MarketplaceError::Ed25519WrongKey);
}
