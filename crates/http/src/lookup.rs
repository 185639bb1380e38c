//! Looks up what requests present. The database is asked for every request, so a credential that has ended is refused by
//! every process from the next request on. Requests that come at the same time share a statement.

use std::{collections::HashMap, sync::Arc};

use crtx_store::{
    PgPool, StoreError,
    api_keys::{self, ApiKeyRow},
    sessions::{self, SessionRow},
};
use solana_pubkey::Pubkey;

use crate::{gathered::Gathered, strangers::Strangers};

/// Credentials that one statement looks up.
const MOST_TOGETHER: usize = 32;

/// The credentials that a service accepts.
pub struct Credentials {
    pub(crate) pool: PgPool,
    /// API keys by their session public key, revoked or not.
    pub(crate) keys: Gathered<Pubkey, Option<ApiKeyRow>>,
    /// Sessions by the hash of their token, over or not.
    pub(crate) sessions: Gathered<[u8; 32], Option<SessionRow>>,
    pub strangers: Arc<Strangers>,
}

impl Credentials {
    /// `strangers`: what is known about credentials, which parts of a process can share.
    pub fn new(pool: PgPool, strangers: Arc<Strangers>) -> Self {
        let keys = Gathered::new(pool.clone(), MOST_TOGETHER, |connection, wanted: &[Pubkey]| {
            Box::pin(async move {
                let found = api_keys::find_all(connection, wanted).await?.into_iter();
                let mut found: HashMap<Pubkey, ApiKeyRow> = found.map(|row| (row.session_public_key, row)).collect();
                Ok(wanted.iter().map(|key| found.remove(key)).collect())
            })
        });
        let sessions = Gathered::new(pool.clone(), MOST_TOGETHER, |connection, wanted: &[[u8; 32]]| {
            Box::pin(async move {
                let found = sessions::find_all(connection, wanted).await?.into_iter();
                let mut found: HashMap<[u8; 32], SessionRow> = found.map(|row| (row.token_hash, row)).collect();
                Ok(wanted.iter().map(|hash| found.remove(hash)).collect())
            })
        });
        Self { pool, keys, sessions, strangers }
    }
}

/// Keeps `last_used_at` correct to ten seconds without a write per request. If this fails, the credential is accepted
/// anyway.
pub(crate) async fn note_use(touched: impl Future<Output = Result<(), StoreError>>) {
    if let Err(error) = touched.await {
        tracing::warn!(%error, "the use of a credential could not be noted");
    }
}
