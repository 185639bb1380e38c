//! What a creator signs to say that its service failed in one call: `crtx-failure-v1:`, the 32 bytes of the record's
//! address, `:`, and the 8 bytes of the second in which the record was opened (docs/specification.md, "Signed failure").
//! Without it, a failure that the gateway alone reports does not count against the agent.

use super::call_text::OpeningId;

const PREFIX: &[u8; 16] = b"crtx-failure-v1:";
const RECORD_AT: usize = PREFIX.len();
const OPENED_AT: usize = RECORD_AT + 32 + 1;

/// Length of the message in bytes.
pub const LEN: usize = OPENED_AT + 8;

/// The message for this opening. The number is little-endian.
pub fn of(opening: &OpeningId) -> [u8; LEN] {
    let mut text = [b':'; LEN];
    text[..RECORD_AT].copy_from_slice(PREFIX);
    text[RECORD_AT..OPENED_AT - 1].copy_from_slice(&opening.record);
    text[OPENED_AT..].copy_from_slice(&opening.opened_at_unix_s.to_le_bytes());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_is_prefix_record_and_second() {
        let message = of(&OpeningId { record: [7; 32], opened_at_unix_s: 0x0102 });
        let expected = [b"crtx-failure-v1:".as_slice(), &[7; 32], b":", &[2, 1, 0, 0, 0, 0, 0, 0]].concat();
        assert_eq!(message.as_slice(), expected);
        assert_eq!(LEN, 57);
    }
}
