//! A signed transaction as it is stored and sent. Its bytes never change.

use solana_hash::Hash;
use solana_instruction::Instruction;
use solana_keypair::Keypair;
use solana_message::{Message, VersionedMessage};
use solana_pubkey::Pubkey;
use solana_signature::Signature;
use solana_signer::Signer;
use solana_transaction::versioned::VersionedTransaction;

const SIGNATURE_BYTES: usize = 64;

/// Largest transaction that the network forwards, in bytes.
pub const MAX_TRANSACTION_BYTES: usize = 1_232;

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
    #[error("the transaction is {0} bytes long; {MAX_TRANSACTION_BYTES} fit")]
    TooLarge(usize),
}

impl SignedTransaction {
    /// Signs `instructions` with all `signers`; the first one pays the fee.
    pub fn sign(
        instructions: &[Instruction],
        signers: &[&Keypair],
        blockhash: RecentBlockhash,
    ) -> Result<Self, SignError> {
        let payer: Option<Pubkey> = signers.first().map(|signer| signer.pubkey());
        let payer = payer.ok_or_else(|| SignError::Signers("there are no signers".to_owned()))?;
        let message = Message::new_with_blockhash(instructions, Some(&payer), &blockhash.hash);
        let transaction = VersionedTransaction::try_new(VersionedMessage::Legacy(message), signers)
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
        if bytes.len() > MAX_TRANSACTION_BYTES {
            return Err(SignError::TooLarge(bytes.len()));
        }
        Ok(Self { signature, bytes, last_valid_block_height: blockhash.last_valid_block_height })
    }

    /// The same transaction with zeros as signatures: a node can simulate it, but cannot send it.
    pub fn without_signatures(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        let signatures = self.length_of_signatures();
        bytes.iter_mut().skip(1).take(signatures).for_each(|byte| *byte = 0);
        bytes
    }

    /// The part that is signed.
    pub fn message(&self) -> &[u8] {
        self.bytes.get(self.length_of_signatures().saturating_add(1)..).unwrap_or_default()
    }

    fn length_of_signatures(&self) -> usize {
        // A count below 128 takes one byte, and no valid transaction has more signatures.
        self.bytes.first().copied().map_or(0, usize::from).saturating_mul(SIGNATURE_BYTES)
    }
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
            Err(SignError::TooLarge(_))
        ));
    }
}
