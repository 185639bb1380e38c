//! How an account of the program is recognised and read: discriminator first, then a body of a known length.

use anchor_lang::Discriminator;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    #[error("an account of {0} bytes has no discriminator")]
    TooShort(usize),
    #[error("no account of the program has the discriminator {0:?}")]
    UnknownDiscriminator([u8; 8]),
    #[error("{kind} has {expected} bytes, these are {actual}")]
    Length { kind: &'static str, expected: usize, actual: usize },
    #[error("expected {expected}, found another account of the program")]
    OtherKind { expected: &'static str },
}

/// An account type of the program: its name, its discriminator and how its bytes are read.
pub trait Layout: Sized {
    const KIND: &'static str;
    /// The program's type whose discriminator the account has.
    type Head: Discriminator;

    /// Reads what follows the discriminator.
    fn decode_body(body: &[u8]) -> Result<Self, DecodeError>;

    /// The account's own change counter.
    fn revision(&self) -> u64;

    /// Decodes an account of this kind. Bytes beyond the layout are an error.
    fn decode(data: &[u8]) -> Result<Self, DecodeError> {
        let (discriminator, body) = split(data)?;
        if discriminator != Self::Head::DISCRIMINATOR {
            return Err(DecodeError::OtherKind { expected: Self::KIND });
        }
        Self::decode_body(body)
    }
}

pub(crate) fn split(data: &[u8]) -> Result<([u8; 8], &[u8]), DecodeError> {
    data.split_first_chunk::<8>()
        .map(|(discriminator, body)| (*discriminator, body))
        .ok_or(DecodeError::TooShort(data.len()))
}
