//! The text form of a result hash, `sha256:` and 64 lower-case hexadecimal digits: the bytes that a
//! creator signs (docs/specification.md, "Result signature"). The program rebuilds them to check a signature.

/// Length of the text form in bytes.
pub const LEN: usize = 71;

const PREFIX: &[u8; 7] = b"sha256:";
const HEX: &[u8; 16] = b"0123456789abcdef";

/// The 71 UTF-8 bytes a creator signs for a result whose SHA-256 is `hash`.
#[expect(clippy::arithmetic_side_effects, clippy::indexing_slicing, reason = "indices are bounded by the constants")]
pub const fn of(hash: &[u8; 32]) -> [u8; LEN] {
    let mut text = [0u8; LEN];
    let mut i = 0;
    while i < PREFIX.len() {
        text[i] = PREFIX[i];
        i += 1;
    }
    let mut j = 0;
    while j < hash.len() {
        text[PREFIX.len() + 2 * j] = HEX[(hash[j] >> 4) as usize];
        text[PREFIX.len() + 2 * j + 1] = HEX[(hash[j] & 0x0f) as usize];
        j += 1;
    }
    text
}
