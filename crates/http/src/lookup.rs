//! Looks up what requests present. The database is asked for every request, so a credential that has ended is refused by
//! every process from the next request on. Requests that come at the same time share a statement.

use std::{collections::HashMap, sync::Arc};

use crtx_store::{
    PgPool, StoreError,
    api_keys::{self, ApiKeyRow},
    pools::ReadConnection,
    sessions::{self, SessionRow},
};
use solana_pubkey::Pubkey;

use crate::{
    auth::that_works,
    query_batcher::QueryBatcher,
    signed_in::that_holds,
    strangers::{CredentialName, Strangers},
};

/// Credentials that one statement looks up.
const MOST_TOGETHER: usize = 32;

/// The credentials that a service accepts.
pub struct Credentials {
    pub(crate) pool: PgPool,
    /// API keys by their session public key, revoked or not.
    pub(crate) keys: QueryBatcher<Pubkey, Option<ApiKeyRow>>,
    /// Sessions by the hash of their token, over or not.
    pub(crate) sessions: QueryBatcher<[u8; 32], Option<SessionRow>>,
    pub strangers: Arc<Strangers>,
}

impl Credentials {
    /// `strangers`: what is known about credentials, which parts of a process can share.
    pub fn new(pool: PgPool, strangers: Arc<Strangers>) -> Self {
        let keys = QueryBatcher::new(pool.clone(), MOST_TOGETHER, |connection, wanted: &[Pubkey]| {
            Box::pin(async move {
                let found = api_keys::find_all(connection, wanted).await?.into_iter();
                let mut found: HashMap<Pubkey, ApiKeyRow> = found.map(|row| (row.session_public_key, row)).collect();
                Ok(wanted.iter().map(|key| found.remove(key)).collect())
            })
        });
        let sessions = QueryBatcher::new(pool.clone(), MOST_TOGETHER, |connection, wanted: &[[u8; 32]]| {
            Box::pin(async move {
                let found = sessions::find_all(connection, wanted).await?.into_iter();
                let mut found: HashMap<[u8; 32], SessionRow> = found.map(|row| (row.token_hash, row)).collect();
                Ok(wanted.iter().map(|hash| found.remove(hash)).collect())
            })
        });
        Self { pool, keys, sessions, strangers }
    }

    /// Those of these credentials that are not valid any more, by one statement for the keys and one for the sessions.
    pub async fn ended(&self, names: Vec<CredentialName>) -> Result<Vec<CredentialName>, StoreError> {
        let (mut keys, mut hashes) = (Vec::new(), Vec::new());
        for name in &names {
            match name {
                CredentialName::Key { session_public_key, .. } => keys.push(*session_public_key),
                CredentialName::Session { token_hash, .. } => hashes.push(*token_hash),
            }
        }
        let mut connection = ReadConnection::acquire(&self.pool).await?;
        let keys = api_keys::find_all(&mut *connection, &keys).await?.into_iter();
        let mut keys: HashMap<Pubkey, ApiKeyRow> = keys.map(|row| (row.session_public_key, row)).collect();
        let sessions = sessions::find_all(&mut *connection, &hashes).await?.into_iter();
        let mut sessions: HashMap<[u8; 32], SessionRow> = sessions.map(|row| (row.token_hash, row)).collect();
        connection.done();
        let has_ended = |name: &CredentialName| match name {
            CredentialName::Key { session_public_key, .. } => that_works(keys.remove(session_public_key)).is_err(),
            CredentialName::Session { token_hash, kind } => that_holds(sessions.remove(token_hash), *kind).is_err(),
        };
        Ok(names.into_iter().filter(has_ended).collect())
    }
}

/// Keeps `last_used_at` correct to ten seconds without a write per request. If this fails, the credential is accepted
/// anyway.
pub(crate) async fn note_use(touched: impl Future<Output = Result<(), StoreError>>) {
    if let Err(error) = touched.await {
        tracing::warn!(%error, "the use of a credential could not be noted");
    }
}
