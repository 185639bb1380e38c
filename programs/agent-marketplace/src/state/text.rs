//! Texts in fields of fixed size: the bytes in one field, their number in another.

/// The text of a field. `None` if the stored bytes are not what the program writes.
pub(super) fn read(field: &[u8], length: u8) -> Option<&str> {
    core::str::from_utf8(field.get(..usize::from(length))?).ok()
}

/// Overwrites the whole field and returns the length to store. `None` if the text is longer than the field.
pub(super) fn write(text: &str, field: &mut [u8]) -> Option<u8> {
    let length = u8::try_from(text.len()).ok()?;
    let (used, unused) = field.split_at_mut_checked(text.len())?;
    used.copy_from_slice(text.as_bytes());
    unused.fill(0);
    Some(length)
}

/// No spaces, no control characters, nothing beyond ASCII.
pub(super) fn is_visible_ascii(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic())
}
