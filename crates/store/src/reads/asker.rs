//! Who asks: a wallet that is known, or a credential whose wallet the statement of the read itself finds.
//!
//! A read that finds the wallet in its own statement sees credential and rows at one moment, after the request has come.
//! So a key that is revoked, or a session that is ended, holds for no request that begins later, in no process.

use crtx_protocol::api_key::KeyNetwork;
use solana_pubkey::Pubkey;

use crate::{api_keys::network_to_db, sessions::SessionKind};

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Asker {
    /// A wallet that was authenticated before.
    Wallet(Pubkey),
    /// The wallet that a key of that network acts for.
    Key { session_public_key: Pubkey, network: KeyNetwork },
    /// The wallet of a session.
    Session { token_hash: [u8; 32], kind: SessionKind },
}

/// The askers of one statement, as columns: the binds of `unnest`.
#[derive(Default)]
pub(super) struct Askers {
    pub wallets: Vec<Option<String>>,
    pub keys: Vec<Option<String>>,
    /// The hash of a session's token.
    pub tokens: Vec<Option<Vec<u8>>>,
    /// The network of a key, or the kind of a session.
    pub kinds: Vec<Option<&'static str>>,
}

impl<'a> FromIterator<&'a Asker> for Askers {
    fn from_iter<T: IntoIterator<Item = &'a Asker>>(askers: T) -> Self {
        let mut columns = Self::default();
        for asker in askers {
            let (wallet, key, token, kind) = match asker {
                Asker::Wallet(wallet) => (Some(wallet.to_string()), None, None, None),
                Asker::Key { session_public_key, network } => {
                    (None, Some(session_public_key.to_string()), None, Some(network_to_db(*network)))
                }
                Asker::Session { token_hash, kind } => (None, None, Some(token_hash.to_vec()), Some(kind.as_str())),
            };
            columns.wallets.push(wallet);
            columns.keys.push(key);
            columns.tokens.push(token);
            columns.kinds.push(kind);
        }
        columns
    }
}
