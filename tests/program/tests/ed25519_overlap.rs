//! Proofs that bend one header field alone and still satisfy the chain's Ed25519 program, because what they
//! point at overlaps with what the canonical shape has there. Such proofs have to be searched for.
#![expect(clippy::arithmetic_side_effects, clippy::indexing_slicing, reason = "a test: a panic is a failure")]

use agent_marketplace::{instructions::ListAgentArgs, state::ExecutionStatus};
use crtx_program_tests::*;
use crtx_protocol::{call_text, failure_text, result_text};
use ed25519_dalek::{Signer as _, SigningKey};

/// A key whose signature over `[last] + text[..length - 1]` ends with `last`, and the proof's payload: shifted by one
/// byte, the signed message begins inside the signature, and the canonical text, unsigned, stands where it belongs.
fn key_with_overlap(text: &[u8]) -> (SigningKey, Vec<u8>) {
    for seed in 1..=u8::MAX {
        let key = SigningKey::from_bytes(&[seed; 32]);
        // The last byte of S is at most 16: the group's order has 253 bits.
        for last in 0..=16 {
            let message: Vec<u8> = std::iter::once(last).chain(text[..text.len() - 1].iter().copied()).collect();
            let signature = key.sign(&message).to_bytes();
            if signature[63] == last {
                let payload = [key.verifying_key().as_bytes().as_slice(), &signature, text].concat();
                return (key, payload);
            }
        }
    }
    panic!("no such key among 255");
}

#[test]
fn a_message_that_begins_inside_the_signature_is_refused() {
    for (binding, failure) in [(false, false), (true, false), (false, true)] {
        let mut world = World::new();
        let unlisted = world.new_agent();
        let execution = Execution { agent: unlisted.clone(), ..world.new_execution() };
        let text = if failure {
            failure_text::of(&world.opening_id(&execution)).to_vec()
        } else if binding {
            call_text::of(&world.opening_id(&execution), &RESULT_HASH).to_vec()
        } else {
            result_text::of(&RESULT_HASH).to_vec()
        };
        let (result_key, payload) = key_with_overlap(&text);
        let agent = Agent { result_key, ..unlisted };
        world.list(&agent, ListAgentArgs { binding, ..world.list_args(&agent) });
        let execution = Execution { agent, ..execution };
        assert_ok(world.open(&execution));

        let canonical = if failure { world.failure_proof(&execution) } else { world.proof(&execution) };
        let end_after = if failure { World::fail_signed_after } else { World::complete_after };
        let shifted = canonical.clone().with(|proof| {
            proof.message_offset = 111;
            proof.payload = payload;
        });
        let result = end_after(&mut world, &[shifted.instruction()], &execution);
        assert_error_at(result, 1, MarketplaceError::Ed25519WrongMessageOffset);
        assert_eq!(world.status(&execution), ExecutionStatus::Open);

        assert_ok(end_after(&mut world, &[canonical.instruction()], &execution));
        let ended = if failure { ExecutionStatus::Failed } else { ExecutionStatus::Completed };
        assert_eq!(world.status(&execution), ended);
    }
}
