//! Texts in arguments. The framework reserves memory for the length that the sender claims, up to a mebibyte, and
//! the program has 32 KiB: so a short transaction could end the program without an error. Here the length is checked
//! first.

use anchor_lang::prelude::{
    AnchorDeserialize,
    borsh::io::{Error, ErrorKind, Read, Result},
};

/// Longest text that is read. A transaction has room for less; the limits of the fields are lower.
const MAX_BYTES: u32 = 1_024;

/// Reads a text.
pub fn read<R: Read>(reader: &mut R) -> Result<String> {
    let length = u32::deserialize_reader(reader)?;
    if length > MAX_BYTES {
        return Err(Error::from(ErrorKind::InvalidData));
    }
    let mut bytes = vec![0; length as usize];
    reader.read_exact(&mut bytes)?;
    String::from_utf8(bytes).map_err(|_| Error::from(ErrorKind::InvalidData))
}

/// Reads a text that may be absent.
pub fn read_optional<R: Read>(reader: &mut R) -> Result<Option<String>> {
    match u8::deserialize_reader(reader)? {
        0 => Ok(None),
        1 => read(reader).map(Some),
        _ => Err(Error::from(ErrorKind::InvalidData)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(length: u32, text: &[u8]) -> Vec<u8> {
        [&length.to_le_bytes(), text].concat()
    }

    #[test]
    fn a_text_is_read_as_the_framework_writes_it() {
        assert_eq!(read(&mut encoded(4, "äbc".as_bytes()).as_slice()).expect("a text"), "äbc");
        assert_eq!(
            read_optional(&mut [[1].as_slice(), &encoded(1, b"a")].concat().as_slice()).expect("a text").as_deref(),
            Some("a")
        );
        assert_eq!(read_optional(&mut [0].as_slice()).expect("no text"), None);
    }

    #[test]
    fn a_claimed_length_beyond_the_bytes_or_the_limit_is_an_error() {
        for length in [2, MAX_BYTES, MAX_BYTES + 1, u32::MAX] {
            assert!(read(&mut encoded(length, b"a").as_slice()).is_err(), "{length}");
        }
        assert!(read(&mut encoded(1, &[0xff]).as_slice()).is_err(), "not UTF-8");
        assert!(read_optional(&mut [2].as_slice()).is_err(), "neither absent nor there");
    }
}
