//! A signed transaction as it is stored and sent. Its bytes never change.

use std::ops::Range;

use solana_hash::Hash;
use solana_instruction::Instruction;
use solana_keypair::Keypair;
use solana_message::{Message, VersionedMessage, v1};
use solana_pubkey::Pubkey;
use solana_signature::Signature;
use solana_signer::Signer;
use solana_transaction::versioned::VersionedTransaction;

const SIGNATURE_BYTES: usize = 64;
/// Account data that a transaction of version 1 may load. The program itself is the largest part of it.
const LOADED_BYTES: u32 = 4 * 1024 * 1024;

/// Largest transaction of the versions that every network has, in bytes.
pub const MAX_TRANSACTION_BYTES: usize = 1_232;
/// The address of the network's feature that lets transactions of version 1 in (SIMD-0385).
pub const VERSION_1_FEATURE: Pubkey = Pubkey::from_str_const("txv1aq4pp281K9um3tnPgkfX8UqtFT6wcVW3hNezGLL");

/// What a transaction pays beyond the fee for its signatures, and what it may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    pub units: u32,
    /// For a unit, in millionths of a lamport; 0: no priority fee.
    pub unit_price: u64,
}

impl Budget {
    pub fn priority_fee_lamports(&self) -> u64 {
        u64::from(self.units).saturating_mul(self.unit_price).div_ceil(1_000_000)
    }
}

/// A blockhash and the last block height at which a transaction with it can land.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecentBlockhash {
    pub hash: Hash,
    pub last_valid_block_height: u64,
}

/// The data that must be stored before the first send: enough to send again and to know when to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedTransaction {
    pub signature: Signature,
    pub bytes: Vec<u8>,
    pub last_valid_block_height: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignError {
    #[error("the keys given do not sign this transaction: {0}")]
    Signers(String),
    #[error("the transaction cannot be encoded: {0}")]
    Encoding(String),
    #[error("the transaction is {0} bytes long; {1} fit")]
    TooLarge(usize, usize),
}

impl SignedTransaction {
    /// Signs `instructions` with all `signers`; the first one pays the fee.
    pub fn sign(
        instructions: &[Instruction],
        signers: &[&Keypair],
        blockhash: RecentBlockhash,
    ) -> Result<Self, SignError> {
        let payer = payer_of(signers)?;
        let message = Message::new_with_blockhash(instructions, Some(&payer), &blockhash.hash);
        let transaction = VersionedTransaction::try_new(VersionedMessage::Legacy(message), signers)
            .map_err(|error| SignError::Signers(error.to_string()))?;
        Self::encoded(transaction, blockhash)
    }

    /// The same as a transaction of version 1, which has three times the room. Its budget is no instruction.
    pub fn sign_version_1(
        instructions: &[Instruction],
        budget: Budget,
        signers: &[&Keypair],
        blockhash: RecentBlockhash,
    ) -> Result<Self, SignError> {
        let mut config = v1::TransactionConfig::empty()
            .with_compute_unit_limit(budget.units)
            .with_loaded_accounts_data_size_limit(LOADED_BYTES);
        if budget.unit_price > 0 {
            config = config.with_priority_fee(budget.priority_fee_lamports());
        }
        let payer = payer_of(signers)?;
        let message = v1::Message::try_compile_with_config(&payer, instructions, blockhash.hash, config)
            .map_err(|error| SignError::Encoding(error.to_string()))?;
        message.validate().map_err(|error| SignError::Encoding(error.to_string()))?;
        let transaction = VersionedTransaction::try_new(VersionedMessage::V1(message), signers)
            .map_err(|error| SignError::Signers(error.to_string()))?;
        Self::encoded(transaction, blockhash)
    }

    /// The transaction before anybody signs it, with zeros as signatures: for [`ChainClient::simulate`] and for showing
    /// what it costs.
    ///
    /// [`ChainClient::simulate`]: crate::ChainClient::simulate
    pub fn draft(instructions: &[Instruction], payer: &Pubkey, blockhash: RecentBlockhash) -> Result<Self, SignError> {
        let message = Message::new_with_blockhash(instructions, Some(payer), &blockhash.hash);
        let signatures = vec![Signature::default(); usize::from(message.header.num_required_signatures)];
        Self::encoded(VersionedTransaction { signatures, message: VersionedMessage::Legacy(message) }, blockhash)
    }

    fn encoded(transaction: VersionedTransaction, blockhash: RecentBlockhash) -> Result<Self, SignError> {
        let signature = transaction
            .signatures
            .first()
            .copied()
            .ok_or_else(|| SignError::Signers("there are no signers".to_owned()))?;
        let bytes = wincode::serialize(&transaction).map_err(|error| SignError::Encoding(error.to_string()))?;
        let most = match &transaction.message {
            VersionedMessage::V1(_) => v1::MAX_TRANSACTION_SIZE,
            VersionedMessage::Legacy(_) | VersionedMessage::V0(_) => MAX_TRANSACTION_BYTES,
        };
        if bytes.len() > most {
            return Err(SignError::TooLarge(bytes.len(), most));
        }
        Ok(Self { signature, bytes, last_valid_block_height: blockhash.last_valid_block_height })
    }

    /// The same transaction with zeros as signatures: a node can simulate it, but cannot send it.
    pub fn without_signatures(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        if let Some(signatures) = bytes.get_mut(self.signatures()) {
            signatures.fill(0);
        }
        bytes
    }

    /// The part that is signed.
    pub fn message(&self) -> &[u8] {
        let signatures = self.signatures();
        let signed = if self.is_version_1() { 0..signatures.start } else { signatures.end..self.bytes.len() };
        self.bytes.get(signed).unwrap_or_default()
    }

    fn is_version_1(&self) -> bool {
        self.bytes.first() == Some(&v1::V1_PREFIX)
    }

    /// Where the signatures are: behind a message of version 1, whose header counts them, and in front of others, behind
    /// their count. A count below 128 takes one byte, and no valid transaction has more signatures.
    fn signatures(&self) -> Range<usize> {
        let count_at = usize::from(self.is_version_1());
        let count = self.bytes.get(count_at).copied().map_or(0, usize::from);
        let length = count.saturating_mul(SIGNATURE_BYTES);
        if self.is_version_1() {
            self.bytes.len().saturating_sub(length)..self.bytes.len()
        } else {
            1..length.saturating_add(1)
        }
    }
}

fn payer_of(signers: &[&Keypair]) -> Result<Pubkey, SignError> {
    signers.first().map(|signer| signer.pubkey()).ok_or_else(|| SignError::Signers("there are no signers".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCKHASH: RecentBlockhash =
        RecentBlockhash { hash: Hash::new_from_array([3; 32]), last_valid_block_height: 9 };

    fn transfer(from: &Keypair, data: usize) -> Instruction {
        let signer = solana_instruction::AccountMeta::new(from.pubkey(), true);
        Instruction { program_id: Pubkey::new_from_array([5; 32]), accounts: vec![signer], data: vec![0; data] }
    }

    #[test]
    fn the_stored_bytes_start_with_the_signature_that_names_the_transaction() {
        let key = Keypair::new_from_array([1; 32]);
        let signed = SignedTransaction::sign(&[transfer(&key, 4)], &[&key], BLOCKHASH).expect("signs");
        assert_eq!(signed.bytes[0], 1);
        assert_eq!(&signed.bytes[1..65], signed.signature.as_ref());
        assert_eq!(signed.last_valid_block_height, 9);
    }

    #[test]
    fn without_signatures_only_the_message_is_left() {
        let (key, other) = (Keypair::new_from_array([1; 32]), Keypair::new_from_array([2; 32]));
        let mut instruction = transfer(&key, 4);
        instruction.accounts.push(solana_instruction::AccountMeta::new(other.pubkey(), true));
        let signed = SignedTransaction::sign(&[instruction.clone()], &[&key, &other], BLOCKHASH).expect("signs");
        let bare = signed.without_signatures();
        let draft = SignedTransaction::draft(&[instruction], &key.pubkey(), BLOCKHASH).expect("encodes");
        assert_eq!((&draft.bytes, draft.message()), (&bare, signed.message()));
        assert_eq!((bare.len(), bare[0]), (signed.bytes.len(), 2));
        assert!(bare[1..129].iter().all(|byte| *byte == 0));
        assert_eq!(bare[129..], signed.bytes[129..]);
    }

    #[test]
    fn a_transaction_of_version_1_has_its_signature_behind_its_message_and_more_room() {
        let key = Keypair::new_from_array([1; 32]);
        let budget = Budget { units: 70_000, unit_price: 1_000 };
        let signed =
            SignedTransaction::sign_version_1(&[transfer(&key, 3_800)], budget, &[&key], BLOCKHASH).expect("signs");
        assert!(signed.bytes.len() > MAX_TRANSACTION_BYTES);
        assert!(signed.signature.verify(key.pubkey().as_ref(), signed.message()));
        let bare = signed.without_signatures();
        let at = bare.len() - 64;
        assert_eq!((&bare[..at], &bare[at..]), (&signed.bytes[..at], &[0; 64][..]));
        let read: VersionedTransaction = wincode::deserialize(&signed.bytes).expect("reads");
        let VersionedMessage::V1(message) = read.message else { panic!("another version") };
        assert_eq!((message.config.compute_unit_limit, message.config.priority_fee), (Some(70_000), Some(70)));
        assert_eq!(message.instructions.len(), 1);
        let too_large = SignedTransaction::sign_version_1(&[transfer(&key, 4_000)], budget, &[&key], BLOCKHASH);
        assert!(matches!(too_large, Err(SignError::TooLarge(_, 4_096))));
    }

    #[test]
    fn a_missing_or_foreign_signer_is_refused() {
        let (key, other) = (Keypair::new_from_array([1; 32]), Keypair::new_from_array([2; 32]));
        assert!(matches!(
            SignedTransaction::sign(&[transfer(&key, 4)], &[&other], BLOCKHASH),
            Err(SignError::Signers(_))
        ));
        assert!(matches!(SignedTransaction::sign(&[transfer(&key, 4)], &[], BLOCKHASH), Err(SignError::Signers(_))));
    }

    #[test]
    fn a_transaction_that_is_too_large_for_a_packet_is_refused() {
        let key = Keypair::new_from_array([1; 32]);
        assert!(matches!(
            SignedTransaction::sign(&[transfer(&key, 1_300)], &[&key], BLOCKHASH),
            Err(SignError::TooLarge(_, MAX_TRANSACTION_BYTES))
        ));
    }
}
