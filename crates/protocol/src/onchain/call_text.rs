//! What a creator signs for one call: `crtx-call-v2:`, the 32 bytes of the record's address, `:`, the 8 bytes of the second
//! in which the record was opened, `:`, and the text form of the result's hash (docs/specification.md, "Call-bound
//! signature"). The signature of one call proves nothing about another one.

use super::result_text;

const PREFIX: &[u8; 13] = b"crtx-call-v2:";
const RECORD_AT: usize = PREFIX.len();
const OPENED_AT: usize = RECORD_AT + 32 + 1;
const RESULT_AT: usize = OPENED_AT + 8 + 1;

/// Length of the message in bytes.
pub const LEN: usize = RESULT_AT + result_text::LEN;

/// One opening of a record. An address can be opened again once its record is closed, which is a dispute window after
/// the record ended. So no two openings of one address have the same second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpeningId {
    /// Address of the record.
    pub record: [u8; 32],
    /// By the chain's clock, as the record has it.
    pub opened_at_unix_s: i64,
}

/// The message for this opening and for the result with the SHA-256 `hash`. Numbers are little-endian.
#[expect(clippy::arithmetic_side_effects, clippy::indexing_slicing, reason = "indices are bounded by the constants")]
pub const fn of(opening: &OpeningId, hash: &[u8; 32]) -> [u8; LEN] {
    let mut text = [b':'; LEN];
    let opened_at = opening.opened_at_unix_s.to_le_bytes();
    let result = result_text::of(hash);
    let mut i = 0;
    while i < PREFIX.len() {
        text[i] = PREFIX[i];
        i += 1;
    }
    i = 0;
    while i < opening.record.len() {
        text[RECORD_AT + i] = opening.record[i];
        i += 1;
    }
    i = 0;
    while i < opened_at.len() {
        text[OPENED_AT + i] = opened_at[i];
        i += 1;
    }
    i = 0;
    while i < result.len() {
        text[RESULT_AT + i] = result[i];
        i += 1;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_is_prefix_record_second_and_result_text() {
        let (opening, hash) = (OpeningId { record: [7; 32], opened_at_unix_s: 0x0102 }, [0xab; 32]);
        let message = of(&opening, &hash);
        let second = [2, 1, 0, 0, 0, 0, 0, 0];
        let expected = [b"crtx-call-v2:".as_slice(), &[7; 32], b":", &second, b":", &result_text::of(&hash)].concat();
        assert_eq!(message.as_slice(), expected);
        assert_eq!(LEN, 126);
    }
}
