//! The Ed25519 instruction before a settlement: the canonical one, and every change of it.

use agent_marketplace::ed25519_gate::ED25519_PROGRAM_ID;
use crtx_protocol::{
    call_text::{self, OpeningId},
    failure_text, result_text,
};
use ed25519_dalek::{Signer, SigningKey};
use solana_instruction::{AccountMeta, Instruction};

/// "This instruction" in the Ed25519 program's offsets.
pub const THIS: u16 = u16::MAX;

/// Parts of an Ed25519 instruction's data. What a test does not change is canonical.
#[derive(Clone, Debug)]
pub struct Proof {
    pub count: u8,
    pub padding: u8,
    pub signature_offset: u16,
    pub signature_index: u16,
    pub key_offset: u16,
    pub key_index: u16,
    pub message_offset: u16,
    pub message_size: u16,
    pub message_index: u16,
    /// Everything behind the header.
    pub payload: Vec<u8>,
    pub accounts: Vec<AccountMeta>,
}

impl Proof {
    /// `key` signs the text form of `result_hash`.
    pub fn of(key: &SigningKey, result_hash: &[u8; 32]) -> Self {
        Self::of_message(key, &result_text::of(result_hash))
    }

    /// `key` signs `result_hash` for one opening of an execution.
    pub fn bound(key: &SigningKey, opening: &OpeningId, result_hash: &[u8; 32]) -> Self {
        Self::of_message(key, &call_text::of(opening, result_hash))
    }

    /// `key` signs that one opening of an execution failed.
    pub fn of_failure(key: &SigningKey, opening: &OpeningId) -> Self {
        Self::of_message(key, &failure_text::of(opening))
    }

    /// `key` signs any message, laid out as the canonical proof.
    pub fn of_message(key: &SigningKey, message: &[u8]) -> Self {
        let mut payload = key.verifying_key().as_bytes().to_vec();
        payload.extend_from_slice(&key.sign(message).to_bytes());
        payload.extend_from_slice(message);
        Self {
            count: 1,
            padding: 0,
            signature_offset: 48,
            signature_index: THIS,
            key_offset: 16,
            key_index: THIS,
            message_offset: 112,
            message_size: message.len() as u16,
            message_index: THIS,
            payload,
            accounts: vec![],
        }
    }

    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    pub fn data(&self) -> Vec<u8> {
        let mut data = vec![self.count, self.padding];
        for field in [
            self.signature_offset,
            self.signature_index,
            self.key_offset,
            self.key_index,
            self.message_offset,
            self.message_size,
            self.message_index,
        ] {
            data.extend_from_slice(&field.to_le_bytes());
        }
        data.extend_from_slice(&self.payload);
        data
    }

    pub fn instruction(&self) -> Instruction {
        Instruction { program_id: ED25519_PROGRAM_ID, accounts: self.accounts.clone(), data: self.data() }
    }
}
