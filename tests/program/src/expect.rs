//! What a transaction must end in.

use agent_marketplace::error::MarketplaceError;
use anchor_lang::{AnchorDeserialize, Discriminator};
use litesvm::types::{TransactionMetadata, TransactionResult};
use solana_instruction::error::InstructionError;
use solana_transaction_error::TransactionError;

/// Fails, with the logs, unless the transaction succeeded.
#[track_caller]
pub fn assert_ok(result: TransactionResult) -> TransactionMetadata {
    match result {
        Ok(meta) => meta,
        Err(failed) => panic!("refused: {:?}\n{}", failed.err, failed.meta.logs.join("\n")),
    }
}

/// Fails unless instruction `index` was refused by the program with `error`.
#[track_caller]
pub fn assert_error_at(result: TransactionResult, index: u8, error: MarketplaceError) {
    assert_custom_at(result, index, error.into());
}

/// Fails unless instruction `index` was refused with this number, the program's or another's.
#[track_caller]
pub fn assert_custom_at(result: TransactionResult, index: u8, number: u32) {
    assert_refused_at(result, index, InstructionError::Custom(number));
}

/// Fails unless instruction `index` was refused with `error`.
#[track_caller]
pub fn assert_refused_at(result: TransactionResult, index: u8, error: InstructionError) {
    let expected = TransactionError::InstructionError(index, error);
    match result {
        Ok(_) => panic!("succeeded instead of {expected:?}"),
        Err(failed) => assert_eq!(failed.err, expected, "\n{}", failed.meta.logs.join("\n")),
    }
}

/// The event that a transaction's first instruction emitted by CPI.
#[track_caller]
pub fn emitted<T: Discriminator + AnchorDeserialize>(meta: &TransactionMetadata) -> T {
    let data = &meta.inner_instructions[0].last().expect("an inner instruction").instruction.data;
    assert_eq!(&data[8..16], T::DISCRIMINATOR, "another event");
    T::try_from_slice(&data[16..]).expect("the event decodes")
}
