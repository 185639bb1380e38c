//! Decodes the program's accounts from the bytes of an RPC answer or a notification.

use agent_marketplace::state::{AgentListing, Config, CreatorProfile, Dispute, ExecutionRecord, SpendingGrant};
use anchor_lang::Discriminator;
use bytemuck::AnyBitPattern;

/// One account of the program, of any kind.
#[derive(Clone, Debug)]
pub enum ProgramAccount {
    Config(Box<Config>),
    CreatorProfile(Box<CreatorProfile>),
    AgentListing(Box<AgentListing>),
    ExecutionRecord(Box<ExecutionRecord>),
    Dispute(Box<Dispute>),
    SpendingGrant(Box<SpendingGrant>),
}

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

/// An account type of the program: its name, its discriminator and a fixed length.
pub trait Layout: Discriminator + AnyBitPattern {
    const KIND: &'static str;

    /// Length of the whole account, discriminator included.
    const LEN: usize = agent_marketplace::state::DISCRIMINATOR_LEN.saturating_add(size_of::<Self>());

    /// Decodes an account of this kind. Bytes beyond the layout are an error.
    fn decode(data: &[u8]) -> Result<Self, DecodeError> {
        let (discriminator, body) = split(data)?;
        if discriminator != Self::DISCRIMINATOR {
            return Err(DecodeError::OtherKind { expected: Self::KIND });
        }
        if data.len() != Self::LEN {
            return Err(DecodeError::Length { kind: Self::KIND, expected: Self::LEN, actual: data.len() });
        }
        // Account data is not aligned, so the value is copied out.
        bytemuck::try_pod_read_unaligned(body).map_err(|_| DecodeError::Length {
            kind: Self::KIND,
            expected: Self::LEN,
            actual: data.len(),
        })
    }
}

macro_rules! layouts {
    ($($kind:ident),+ $(,)?) => {
        $(impl Layout for $kind {
            const KIND: &'static str = stringify!($kind);
        })+

        impl ProgramAccount {
            /// Decodes an account owned by the program. Unknown bytes are an error.
            pub fn decode(data: &[u8]) -> Result<Self, DecodeError> {
                let (discriminator, _) = split(data)?;
                $(if discriminator == $kind::DISCRIMINATOR {
                    return $kind::decode(data).map(|account| Self::$kind(Box::new(account)));
                })+
                Err(DecodeError::UnknownDiscriminator(discriminator))
            }

            /// Name of the account type.
            pub const fn kind(&self) -> &'static str {
                match self {
                    $(Self::$kind(_) => $kind::KIND,)+
                }
            }

            /// The account's own change counter.
            pub const fn revision(&self) -> u64 {
                match self {
                    $(Self::$kind(account) => account.revision,)+
                }
            }
        }
    };
}

layouts!(Config, CreatorProfile, AgentListing, ExecutionRecord, Dispute, SpendingGrant);

fn split(data: &[u8]) -> Result<([u8; 8], &[u8]), DecodeError> {
    data.split_first_chunk::<8>()
        .map(|(discriminator, body)| (*discriminator, body))
        .ok_or(DecodeError::TooShort(data.len()))
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;
    use proptest::prelude::*;

    use super::*;

    fn bytes_of(record: &ExecutionRecord) -> Vec<u8> {
        let mut data = ExecutionRecord::DISCRIMINATOR.to_vec();
        data.extend_from_slice(bytemuck::bytes_of(record));
        data
    }

    #[test]
    fn an_account_is_read_back_as_it_was_written() {
        let mut record = ExecutionRecord::zeroed();
        record.revision = 7;
        record.amount = 50_000;
        let account = ProgramAccount::decode(&bytes_of(&record)).expect("own bytes");
        assert_eq!((account.kind(), account.revision()), ("ExecutionRecord", 7));
        assert!(matches!(account, ProgramAccount::ExecutionRecord(read) if read.amount == 50_000));
    }

    #[test]
    fn bytes_need_no_alignment() {
        let mut shifted = vec![0u8];
        shifted.extend(bytes_of(&ExecutionRecord::zeroed()));
        assert!(ExecutionRecord::decode(&shifted[1..]).is_ok());
    }

    #[test]
    fn missing_and_excess_bytes_are_refused() {
        let mut data = bytes_of(&ExecutionRecord::zeroed());
        data.push(0);
        let excess = DecodeError::Length { kind: "ExecutionRecord", expected: 376, actual: 377 };
        assert_eq!(ProgramAccount::decode(&data).expect_err("excess"), excess);
        data.truncate(375);
        assert!(matches!(ProgramAccount::decode(&data), Err(DecodeError::Length { actual: 375, .. })));
        assert_eq!(ProgramAccount::decode(&data[..7]).expect_err("short"), DecodeError::TooShort(7));
    }

    #[test]
    fn an_account_of_another_kind_is_refused() {
        let data = bytes_of(&ExecutionRecord::zeroed());
        assert_eq!(AgentListing::decode(&data).expect_err("kind"), DecodeError::OtherKind { expected: "AgentListing" });
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(data in proptest::collection::vec(any::<u8>(), 0..600)) {
            let _ = ProgramAccount::decode(&data);
        }
    }
}
