//! Decodes the program's accounts from the bytes of an RPC answer or a notification.

use agent_marketplace::state::{AgentListed, Config, CreatorProfile, Dispute, SpendingGrant};
use anchor_lang::Discriminator;

use crate::{
    execution::Execution,
    layout::{DecodeError, Layout, split},
};

/// Accounts of a fixed length.
macro_rules! fixed {
    ($($kind:ident),+ $(,)?) => {
        $(impl Layout for $kind {
            const KIND: &'static str = stringify!($kind);
            type Head = Self;

            fn decode_body(body: &[u8]) -> Result<Self, DecodeError> {
                // Account data is not aligned, so the value is copied out.
                bytemuck::try_pod_read_unaligned(body).map_err(|_| DecodeError::Length {
                    kind: Self::KIND,
                    expected: Self::SPACE,
                    actual: body.len().saturating_add(Self::Head::DISCRIMINATOR.len()),
                })
            }

            fn revision(&self) -> u64 {
                self.revision
            }
        })+
    };
}

macro_rules! kinds {
    ($($variant:ident($kind:ty)),+ $(,)?) => {
        /// One account of the program, of any kind.
        #[derive(Clone, Debug)]
        pub enum ProgramAccount {
            $($variant(Box<$kind>),)+
        }

        impl ProgramAccount {
            /// The first bytes of the accounts of each kind.
            pub const DISCRIMINATORS: &'static [&'static [u8]] =
                &[$(<<$kind as Layout>::Head as Discriminator>::DISCRIMINATOR),+];

            /// Decodes an account owned by the program. Unknown bytes are an error.
            pub fn decode(data: &[u8]) -> Result<Self, DecodeError> {
                let (discriminator, body) = split(data)?;
                $(if discriminator == <<$kind as Layout>::Head as Discriminator>::DISCRIMINATOR {
                    return <$kind>::decode_body(body).map(|account| Self::$variant(Box::new(account)));
                })+
                Err(DecodeError::UnknownDiscriminator(discriminator))
            }

            /// The account's own change counter.
            pub fn revision(&self) -> u64 {
                match self {
                    $(Self::$variant(account) => Layout::revision(account.as_ref()),)+
                }
            }
        }
    };
}

fixed!(Config, CreatorProfile, AgentListed, Dispute, SpendingGrant);
kinds!(
    Config(Config),
    CreatorProfile(CreatorProfile),
    AgentListed(AgentListed),
    Execution(Execution),
    Dispute(Dispute),
    SpendingGrant(SpendingGrant),
);

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;
    use proptest::prelude::*;

    use super::*;

    fn bytes_of(grant: &SpendingGrant) -> Vec<u8> {
        let mut data = <SpendingGrant as Discriminator>::DISCRIMINATOR.to_vec();
        data.extend_from_slice(bytemuck::bytes_of(grant));
        data
    }

    #[test]
    fn an_account_is_read_back_as_it_was_written() {
        let mut grant = SpendingGrant::zeroed();
        grant.revision = 7;
        grant.spent = 50_000;
        let account = ProgramAccount::decode(&bytes_of(&grant)).expect("own bytes");
        assert!(matches!(account, ProgramAccount::SpendingGrant(_)) && account.revision() == 7);
        assert!(matches!(account, ProgramAccount::SpendingGrant(read) if read.spent == 50_000));
    }

    #[test]
    fn bytes_need_no_alignment() {
        let mut shifted = vec![0u8];
        shifted.extend(bytes_of(&SpendingGrant::zeroed()));
        assert!(SpendingGrant::decode(&shifted[1..]).is_ok());
    }

    #[test]
    fn missing_and_excess_bytes_are_refused() {
        let mut data = bytes_of(&SpendingGrant::zeroed());
        data.push(0);
        let excess = DecodeError::Length { kind: "SpendingGrant", expected: 416, actual: 417 };
        assert_eq!(ProgramAccount::decode(&data).expect_err("excess"), excess);
        data.truncate(415);
        assert!(matches!(ProgramAccount::decode(&data), Err(DecodeError::Length { actual: 415, .. })));
        assert_eq!(ProgramAccount::decode(&data[..7]).expect_err("short"), DecodeError::TooShort(7));
    }

    #[test]
    fn an_account_of_another_kind_is_refused() {
        let data = bytes_of(&SpendingGrant::zeroed());
        assert_eq!(AgentListed::decode(&data).expect_err("kind"), DecodeError::OtherKind { expected: "AgentListed" });
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(data in proptest::collection::vec(any::<u8>(), 0..600)) {
            let _ = ProgramAccount::decode(&data);
        }
    }
}
