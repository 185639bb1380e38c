//! What a creator signs for one call: `crtx-call-v1:`, the 32 bytes of the record's address, `:`, and the text
//! form of the result's hash (docs/specification.md, "Call-bound signature"). The signature of one call proves
//! nothing about another one.

use super::result_text;

const PREFIX: &[u8; 13] = b"crtx-call-v1:";
const RECORD_AT: usize = PREFIX.len();
const RESULT_AT: usize = RECORD_AT + 32 + 1;

/// Length of the message in bytes.
pub const LEN: usize = RESULT_AT + result_text::LEN;

/// The message for the execution whose record has the address `record`, and for the result with the SHA-256 `hash`.
#[expect(clippy::arithmetic_side_effects, clippy::indexing_slicing, reason = "indices are bounded by the constants")]
pub const fn of(record: &[u8; 32], hash: &[u8; 32]) -> [u8; LEN] {
    let mut text = [b':'; LEN];
    let result = result_text::of(hash);
    let mut i = 0;
    while i < PREFIX.len() {
        text[i] = PREFIX[i];
        i += 1;
    }
    i = 0;
    while i < record.len() {
        text[RECORD_AT + i] = record[i];
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
    fn the_message_is_prefix_record_and_result_text() {
        let (record, hash) = ([7; 32], [0xab; 32]);
        let message = of(&record, &hash);
        let expected = [b"crtx-call-v1:".as_slice(), &record, b":", &result_text::of(&hash)].concat();
        assert_eq!(message.as_slice(), expected);
        assert_eq!(LEN, 117);
    }
}
