//! The Ed25519 gate. It proves that the execution's result key signed a message that the program made itself, and
//! that the chain's Ed25519 program verified that signature in this transaction, directly before our instruction.
//! The message is the text of the result's hash (71 bytes), or the text of the call if results are signed for the
//! call (126 bytes, `crtx_protocol::call_text`); of a failure it is its text (57 bytes, `crtx_protocol::failure_text`).
//! The program chooses it, never the sender.
//!
//! The Ed25519 program can read key, message and signature from any instruction of the transaction at any
//! offset. Most attacks on programs that rely on it use this freedom, so the gate accepts one canonical shape
//! and refuses every other one, harmless ones included:
//!
//! ```text
//! 0 count = 1 | 1 padding = 0
//! 2 signature offset = 48   | 4 signature instruction = 65535 (this one)
//! 6 public key offset = 16  | 8 public key instruction = 65535
//! 10 message offset = 112   | 12 message size = 71, 126 or 57 | 14 message instruction = 65535
//! 16 public key | 48 signature | 112 message | 183, 238 or 169 end
//! ```

use anchor_lang::prelude::*;

use crate::{error::MarketplaceError, id::ID};

/// The sysvar that shows a transaction's instructions.
pub const INSTRUCTIONS_SYSVAR_ID: Pubkey = pubkey!("Sysvar1nstructions1111111111111111111111111");
/// The chain's Ed25519 signature verification program.
pub const ED25519_PROGRAM_ID: Pubkey = pubkey!("Ed25519SigVerify111111111111111111111111111");

const HEADER_LEN: usize = 16;
const KEY_AT: usize = HEADER_LEN;
const SIGNATURE_AT: usize = 48;
const MESSAGE_AT: usize = 112;

/// The one accepted header for a message of `size` bytes: everything in front of the public key.
#[inline(always)]
pub const fn header(size: u8) -> [u8; HEADER_LEN] {
    [1, 0, 48, 0, 0xff, 0xff, 16, 0, 0xff, 0xff, 112, 0, size, 0, 0xff, 0xff]
}

/// Range of each header field, and the error that names the field.
const HEADER_FIELDS: [(usize, usize, MarketplaceError); 9] = [
    (0, 1, MarketplaceError::Ed25519WrongCount),
    (1, 2, MarketplaceError::Ed25519WrongPadding),
    (2, 4, MarketplaceError::Ed25519WrongSignatureOffset),
    (4, 6, MarketplaceError::Ed25519WrongSignatureIndex),
    (6, 8, MarketplaceError::Ed25519WrongKeyOffset),
    (8, 10, MarketplaceError::Ed25519WrongKeyIndex),
    (10, 12, MarketplaceError::Ed25519WrongMessageOffset),
    (12, 14, MarketplaceError::Ed25519WrongMessageSize),
    (14, 16, MarketplaceError::Ed25519WrongMessageIndex),
];

/// Accounts' flags and key in the sysvar, per account of an instruction.
const ACCOUNT_META_LEN: usize = 33;

/// Passes only if no other program called ours, and the instruction directly before is the canonical proof that
/// `result_key` signed `message`. The caller of this function must check the sysvar's address. Nothing that our program
/// calls can call it again, so no other program called it if the current top-level instruction is ours.
#[inline(always)]
pub(crate) fn check<const N: usize>(sysvar: &AccountInfo, result_key: &Pubkey, message: &[u8; N]) -> Result<()> {
    let data = sysvar.try_borrow_data()?;
    Ok(check_bytes(&data, &ID, result_key, message)?)
}

/// Passes only if, by the bytes of the instructions sysvar, the current top-level instruction is one of
/// `program_id` and the instruction directly before it is the canonical proof that `result_key` signed
/// `message`. The caller of this function must check the sysvar's address.
fn check_bytes<const N: usize>(
    sysvar: &[u8],
    program_id: &Pubkey,
    result_key: &Pubkey,
    message: &[u8; N],
) -> core::result::Result<(), MarketplaceError> {
    let (list, current) = sysvar.split_last_chunk::<2>().ok_or(MarketplaceError::SysvarUnreadable)?;
    let current = u16::from_le_bytes(*current);

    let ours = Instruction::read(list, current)?;
    if ours.program_id != program_id.as_array() {
        return Err(MarketplaceError::CalledByProgram);
    }
    let before = current.checked_sub(1).ok_or(MarketplaceError::Ed25519Missing)?;
    let proof = Instruction::read(list, before)?;
    if proof.program_id != ED25519_PROGRAM_ID.as_array() {
        return Err(MarketplaceError::Ed25519WrongProgram);
    }
    if proof.accounts != 0 {
        return Err(MarketplaceError::Ed25519HasAccounts);
    }
    check_data(proof.data, result_key, message)
}

/// The Ed25519 instruction's data against the canonical shape, key and message.
fn check_data<const N: usize>(
    data: &[u8],
    result_key: &Pubkey,
    message: &[u8; N],
) -> core::result::Result<(), MarketplaceError> {
    const {
        assert!(N <= u8::MAX as usize, "the header has one byte for the size");
    }
    let header = header(N as u8);
    let (head, signed) = data.split_first_chunk::<MESSAGE_AT>().ok_or(MarketplaceError::Ed25519WrongLength)?;
    let signed: &[u8; N] = signed.try_into().map_err(|_| MarketplaceError::Ed25519WrongLength)?;
    if bytes_at::<HEADER_LEN>(head, 0)? != &header {
        return Err(wrong_header_field(head, &header));
    }
    if bytes_at::<32>(head, KEY_AT)? != result_key.as_array() {
        return Err(MarketplaceError::Ed25519WrongKey);
    }
    if signed != message {
        return Err(MarketplaceError::Ed25519WrongMessage);
    }
    Ok(())
}

/// Names the first header field that is not canonical.
#[cold]
fn wrong_header_field(data: &[u8], header: &[u8; HEADER_LEN]) -> MarketplaceError {
    HEADER_FIELDS
        .iter()
        .find(|(from, to, _)| data.get(*from..*to) != header.get(*from..*to))
        .map_or(MarketplaceError::Ed25519WrongLength, |(_, _, error)| *error)
}

/// One instruction as the sysvar shows it, in place.
struct Instruction<'a> {
    accounts: u16,
    program_id: &'a [u8; 32],
    data: &'a [u8],
}

impl<'a> Instruction<'a> {
    /// Reads instruction `index`: a count, an offset per instruction, and at each offset the number of
    /// accounts, the accounts, the program id, the data's length and the data.
    fn read(list: &'a [u8], index: u16) -> core::result::Result<Self, MarketplaceError> {
        let count = u16::from_le_bytes(*bytes_at(list, 0)?);
        if index >= count {
            return Err(MarketplaceError::SysvarUnreadable);
        }
        let entry = usize::from(index).checked_mul(2).and_then(|at| at.checked_add(2));
        let start = u16::from_le_bytes(*bytes_at(list, entry.ok_or(MarketplaceError::SysvarUnreadable)?)?);
        let body = list.get(usize::from(start)..).ok_or(MarketplaceError::SysvarUnreadable)?;

        let (accounts, rest) = body.split_first_chunk::<2>().ok_or(MarketplaceError::SysvarUnreadable)?;
        let accounts = u16::from_le_bytes(*accounts);
        let metas = usize::from(accounts).checked_mul(ACCOUNT_META_LEN).ok_or(MarketplaceError::SysvarUnreadable)?;
        let rest = rest.get(metas..).ok_or(MarketplaceError::SysvarUnreadable)?;
        let (program_id, rest) = rest.split_first_chunk::<32>().ok_or(MarketplaceError::SysvarUnreadable)?;
        let (length, rest) = rest.split_first_chunk::<2>().ok_or(MarketplaceError::SysvarUnreadable)?;
        let data = rest.get(..usize::from(u16::from_le_bytes(*length))).ok_or(MarketplaceError::SysvarUnreadable)?;
        Ok(Self { accounts, program_id, data })
    }
}

/// `N` bytes of `bytes` from `at` on.
#[inline(always)]
fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> core::result::Result<&[u8; N], MarketplaceError> {
    bytes.get(at..).and_then(|rest| rest.first_chunk::<N>()).ok_or(MarketplaceError::SysvarUnreadable)
}

const _: () = {
    assert!(SIGNATURE_AT == KEY_AT + 32);
    assert!(MESSAGE_AT == SIGNATURE_AT + 64);
};

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, reason = "sizes of test data")]
mod tests {
    use crtx_protocol::{
        call_text::{self, OpeningId},
        result_text,
    };

    use super::*;

    const OURS: Pubkey = crate::ID;
    const KEY: Pubkey = Pubkey::new_from_array([7; 32]);
    const HASH: [u8; 32] = [9; 32];
    const OPENING: OpeningId = OpeningId { record: [6; 32], opened_at_unix_s: 1_700_000_000 };
    const DATA_LEN: usize = MESSAGE_AT + result_text::LEN;

    struct Shown {
        program_id: Pubkey,
        accounts: usize,
        data: Vec<u8>,
    }

    fn proof() -> Shown {
        proof_of(&result_text::of(&HASH))
    }

    fn proof_of(message: &[u8]) -> Shown {
        let mut data = header(u8::try_from(message.len()).expect("short")).to_vec();
        data.extend_from_slice(KEY.as_ref());
        data.extend_from_slice(&[3; 64]);
        data.extend_from_slice(message);
        Shown { program_id: ED25519_PROGRAM_ID, accounts: 0, data }
    }

    fn settlement() -> Shown {
        Shown { program_id: OURS, accounts: 10, data: vec![1, 2, 3] }
    }

    fn sysvar(instructions: &[Shown], current: u16) -> Vec<u8> {
        let mut bodies = Vec::new();
        let mut offsets = Vec::new();
        let first = 2 + 2 * instructions.len();
        for shown in instructions {
            offsets.push((first + bodies.len()) as u16);
            bodies.extend_from_slice(&(shown.accounts as u16).to_le_bytes());
            bodies.extend(core::iter::repeat_n(5u8, shown.accounts * ACCOUNT_META_LEN));
            bodies.extend_from_slice(shown.program_id.as_ref());
            bodies.extend_from_slice(&(shown.data.len() as u16).to_le_bytes());
            bodies.extend_from_slice(&shown.data);
        }
        let mut all = (instructions.len() as u16).to_le_bytes().to_vec();
        for offset in offsets {
            all.extend_from_slice(&offset.to_le_bytes());
        }
        all.extend(bodies);
        all.extend_from_slice(&current.to_le_bytes());
        all
    }

    fn checked(instructions: &[Shown], current: u16) -> core::result::Result<(), MarketplaceError> {
        check_bytes(&sysvar(instructions, current), &OURS, &KEY, &result_text::of(&HASH))
    }

    fn checked_for_call(instructions: &[Shown]) -> core::result::Result<(), MarketplaceError> {
        check_bytes(&sysvar(instructions, 1), &OURS, &KEY, &call_text::of(&OPENING, &HASH))
    }

    #[test]
    fn a_proof_of_one_shape_does_not_pass_for_the_other() {
        let bound = || proof_of(&call_text::of(&OPENING, &HASH));
        assert_eq!(checked_for_call(&[bound(), settlement()]), Ok(()));
        assert_eq!(checked_for_call(&[proof(), settlement()]), Err(MarketplaceError::Ed25519WrongLength));
        assert_eq!(checked(&[bound(), settlement()], 1), Err(MarketplaceError::Ed25519WrongLength));
    }

    #[test]
    fn a_call_bound_proof_counts_for_its_record_and_its_result_alone() {
        for message in
            [call_text::of(&OpeningId { record: [7; 32], ..OPENING }, &HASH), call_text::of(&OPENING, &[8; 32])]
        {
            let other = checked_for_call(&[proof_of(&message), settlement()]);
            assert_eq!(other, Err(MarketplaceError::Ed25519WrongMessage));
        }
        let length = MESSAGE_AT + call_text::LEN;
        for at in 0..length {
            if (SIGNATURE_AT..MESSAGE_AT).contains(&at) {
                continue;
            }
            let mut changed = proof_of(&call_text::of(&OPENING, &HASH));
            changed.data[at] ^= 1;
            assert!(checked_for_call(&[changed, settlement()]).is_err(), "byte {at}");
        }
    }

    #[test]
    fn the_canonical_proof_passes() {
        assert_eq!(checked(&[proof(), settlement()], 1), Ok(()));
        assert_eq!(checked(&[settlement(), proof(), settlement()], 2), Ok(()));
    }

    #[test]
    fn our_own_bytes_are_what_the_framework_of_the_chain_writes() {
        use anchor_lang::solana_program::sysvar::instructions::{
            BorrowedAccountMeta, BorrowedInstruction, construct_instructions_data,
        };
        let (proof, settlement) = (proof(), settlement());
        let account = Pubkey::new_from_array([5; 32]);
        let meta = || BorrowedAccountMeta { pubkey: &account, is_signer: true, is_writable: false };
        let mut data = construct_instructions_data(&[
            BorrowedInstruction { program_id: &proof.program_id, accounts: vec![], data: &proof.data },
            BorrowedInstruction { program_id: &OURS, accounts: vec![meta(), meta()], data: &settlement.data },
        ]);
        let current_at = data.len() - 2;
        data[current_at..].copy_from_slice(&1u16.to_le_bytes());
        assert_eq!(check_bytes(&data, &OURS, &KEY, &result_text::of(&HASH)), Ok(()));
    }

    #[test]
    fn a_settlement_that_is_first_has_no_proof() {
        assert_eq!(checked(&[settlement()], 0), Err(MarketplaceError::Ed25519Missing));
        assert_eq!(checked(&[settlement(), proof()], 0), Err(MarketplaceError::Ed25519Missing));
    }

    #[test]
    fn a_proof_that_is_not_directly_before_does_not_count() {
        assert_eq!(checked(&[proof(), settlement(), settlement()], 2), Err(MarketplaceError::Ed25519WrongProgram));
    }

    #[test]
    fn another_current_program_is_refused() {
        let other = Shown { program_id: Pubkey::new_from_array([1; 32]), accounts: 0, data: vec![] };
        assert_eq!(checked(&[proof(), other], 1), Err(MarketplaceError::CalledByProgram));
    }

    #[test]
    fn a_proof_with_accounts_is_refused() {
        let with_account = Shown { accounts: 1, ..proof() };
        assert_eq!(checked(&[with_account, settlement()], 1), Err(MarketplaceError::Ed25519HasAccounts));
    }

    #[test]
    fn every_single_header_byte_counts_and_names_its_field() {
        for (from, to, error) in HEADER_FIELDS {
            for at in from..to {
                for value in 0..=u8::MAX {
                    let mut changed = proof();
                    if changed.data[at] == value {
                        continue;
                    }
                    changed.data[at] = value;
                    assert_eq!(checked(&[changed, settlement()], 1), Err(error), "byte {at} = {value}");
                }
            }
        }
    }

    #[test]
    fn every_key_and_message_byte_counts() {
        for at in (KEY_AT..SIGNATURE_AT).chain(MESSAGE_AT..DATA_LEN) {
            let mut changed = proof();
            changed.data[at] ^= 1;
            let error = if at < SIGNATURE_AT {
                MarketplaceError::Ed25519WrongKey
            } else {
                MarketplaceError::Ed25519WrongMessage
            };
            assert_eq!(checked(&[changed, settlement()], 1), Err(error), "byte {at}");
        }
    }

    #[test]
    fn longer_and_shorter_data_is_refused() {
        for length in (0..DATA_LEN).chain(DATA_LEN + 1..DATA_LEN + 80) {
            let mut changed = proof();
            changed.data.resize(length, b'0');
            assert_eq!(checked(&[changed, settlement()], 1), Err(MarketplaceError::Ed25519WrongLength), "{length}");
        }
    }

    #[test]
    fn a_truncated_sysvar_is_unreadable_and_never_panics() {
        let whole = sysvar(&[proof(), settlement()], 1);
        for length in 0..whole.len() {
            assert!(check_bytes(&whole[..length], &OURS, &KEY, &result_text::of(&HASH)).is_err(), "{length} bytes");
        }
        assert_eq!(
            check_bytes(&whole[..1], &OURS, &KEY, &result_text::of(&HASH)),
            Err(MarketplaceError::SysvarUnreadable)
        );
        assert_eq!(checked(&[proof(), settlement()], 2), Err(MarketplaceError::SysvarUnreadable));
    }
}
