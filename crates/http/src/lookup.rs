//! Looks up what requests present. The database is asked for every request, so a credential that has ended is refused by
//! every process from the next request on. Requests that come at the same time share a statement.

use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;
use crtx_store::{
    PgConnection, PgPool, StoreError,
    api_keys::{self, ApiKeyRow},
    sessions::{self, SessionRow},
};
use solana_pubkey::Pubkey;

use crate::{
    error::ApiError,
    gathered::{CopyAnswer, Gathered, Question},
    strangers::Strangers,
};

/// The credentials that a service accepts.
pub struct Credentials {
    pool: PgPool,
    keys: Gathered<KeyQuestion>,
    sessions: Gathered<SessionQuestion>,
    strangers: Arc<Strangers>,
}

impl Credentials {
    /// `strangers`: what is known about credentials, which parts of a process can share.
    pub fn new(pool: PgPool, strangers: Arc<Strangers>) -> Self {
        let (keys, sessions) = (Gathered::new(pool.clone()), Gathered::new(pool.clone()));
        Self { pool, keys, sessions, strangers }
    }

    pub const fn strangers(&self) -> &Arc<Strangers> {
        &self.strangers
    }

    pub(crate) const fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// The API key with that session public key, revoked or not.
    pub(crate) async fn key(&self, session_public_key: Pubkey) -> Result<Option<ApiKeyRow>, ApiError> {
        self.keys.ask(KeyQuestion(session_public_key)).await
    }

    /// The session with the token of that hash, over or not.
    pub(crate) async fn session(&self, token_hash: [u8; 32]) -> Result<Option<SessionRow>, ApiError> {
        self.sessions.ask(SessionQuestion(token_hash)).await
    }
}

#[derive(PartialEq)]
struct KeyQuestion(Pubkey);

#[async_trait]
impl Question for KeyQuestion {
    type Answer = Option<ApiKeyRow>;

    fn copy_for(&self, other: &Self) -> Option<CopyAnswer<Self>> {
        (self == other).then_some(Clone::clone)
    }

    async fn ask(connection: &mut PgConnection, questions: &[Self]) -> Result<Vec<Self::Answer>, StoreError> {
        let wanted: Vec<Pubkey> = questions.iter().map(|question| question.0).collect();
        let found = api_keys::find_all(connection, &wanted).await?.into_iter();
        let mut found: HashMap<Pubkey, ApiKeyRow> = found.map(|row| (row.session_public_key, row)).collect();
        Ok(wanted.iter().map(|key| found.remove(key)).collect())
    }
}

#[derive(PartialEq)]
struct SessionQuestion([u8; 32]);

#[async_trait]
impl Question for SessionQuestion {
    type Answer = Option<SessionRow>;

    fn copy_for(&self, other: &Self) -> Option<CopyAnswer<Self>> {
        (self == other).then_some(Clone::clone)
    }

    async fn ask(connection: &mut PgConnection, questions: &[Self]) -> Result<Vec<Self::Answer>, StoreError> {
        let wanted: Vec<[u8; 32]> = questions.iter().map(|question| question.0).collect();
        let found = sessions::find_all(connection, &wanted).await?.into_iter();
        let mut found: HashMap<[u8; 32], SessionRow> = found.map(|row| (row.token_hash, row)).collect();
        Ok(wanted.iter().map(|hash| found.remove(hash)).collect())
    }
}
