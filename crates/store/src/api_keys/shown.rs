//! What a wallet sees of its keys: the stored ones, and grants on chain that nobody registered.

use chrono::{DateTime, Utc};
use crtx_protocol::usdc::UsdcBase;
use solana_pubkey::Pubkey;
use sqlx::PgExecutor;

use crate::{
    columns::{Base58, Count, Usdc},
    error::StoreError,
    reads::Page,
};

/// The limits of a key, by its grant on chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantLimits {
    /// `None`: no limit.
    pub per_call_cap: Option<UsdcBase>,
    /// `None`: no limit.
    pub total_cap: Option<UsdcBase>,
    /// What counts against the total cap.
    pub spent: UsdcBase,
    pub expires_at_unix_s: i64,
    /// None: any agent.
    pub allowed_agents: Vec<Pubkey>,
    pub revoked: bool,
}

/// A key as its wallet sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownKey {
    pub session_public_key: Pubkey,
    pub grant: Pubkey,
    pub name: Option<String>,
    pub last_four: Option<String>,
    pub created_at: DateTime<Utc>,
    pub last_used_at: Option<DateTime<Utc>>,
    /// Executions that were opened and have ended.
    pub execution_count: u64,
    /// What its completed executions cost.
    pub spent: UsdcBase,
    /// Whether the key acts for this wallet: it was registered or used.
    pub proven: bool,
    /// Whether this service refuses it.
    pub revoked: bool,
    /// `None` until the mirror shows the grant.
    pub limits: Option<GrantLimits>,
}

/// A cap as the chain or the mirror has it. One that is larger than all money says "no limit".
fn limited(cap: u64) -> Option<UsdcBase> {
    (cap < i64::MAX.unsigned_abs()).then_some(UsdcBase(cap))
}

impl GrantLimits {
    /// What the key may still spend in all. `None`: no limit.
    pub fn left(&self) -> Option<UsdcBase> {
        self.total_cap.map(|cap| UsdcBase(cap.0.saturating_sub(self.spent.0)))
    }
}

impl From<&agent_marketplace::state::SpendingGrant> for GrantLimits {
    fn from(grant: &agent_marketplace::state::SpendingGrant) -> Self {
        Self {
            per_call_cap: limited(grant.per_call_cap),
            total_cap: limited(grant.total_cap),
            spent: UsdcBase(grant.spent),
            expires_at_unix_s: grant.expires_at_unix_s,
            allowed_agents: grant.allowed_agents().to_vec(),
            revoked: grant.revoked != 0,
        }
    }
}

/// Keys of a wallet, newest first.
pub async fn page(executor: impl PgExecutor<'_>, wallet: &Pubkey, page: Page) -> Result<Vec<ShownKey>, StoreError> {
    select(executor, wallet, None, page).await
}

/// One key of a wallet.
pub async fn shown(
    executor: impl PgExecutor<'_>,
    wallet: &Pubkey,
    session_public_key: &Pubkey,
) -> Result<Option<ShownKey>, StoreError> {
    Ok(select(executor, wallet, Some(session_public_key), Page { limit: 1, offset: 0 }).await?.pop())
}

/// Keys of a wallet, newest first: all of them, or the one with that session public key.
async fn select(
    executor: impl PgExecutor<'_>,
    wallet: &Pubkey,
    session_public_key: Option<&Pubkey>,
    page: Page,
) -> Result<Vec<ShownKey>, StoreError> {
    let (limit, offset) = page.to_db()?;
    let rows = sqlx::query!(
        r#"SELECT ids.session_key AS "session_public_key!: Base58",
               COALESCE(k.grant_address, g.address) AS "grant_address!: Base58",
               k.name AS "name?", k.last_four AS "last_four?", COALESCE(k.created_at, g.created_at) AS "created_at!",
               k.last_used_at AS "last_used_at?", COALESCE(k.execution_count, 0) AS "execution_count!: Count",
               COALESCE(k.spent, 0) AS "spent!: Usdc", COALESCE(k.proven, false) AS "proven!",
               k.revoked_at IS NOT NULL AS "revoked!", g.address IS NOT NULL AS "has_grant!",
               COALESCE(g.per_call_cap, 0) AS "per_call_cap!: Count", COALESCE(g.total_cap, 0) AS "total_cap!: Count",
               COALESCE(g.spent, 0) AS "grant_spent!: Usdc", COALESCE(g.expires_at_unix_s, 0) AS "expires_at_unix_s!",
               COALESCE(g.allowed_agents, '{}') AS "allowed_agents!: Vec<Base58>",
               COALESCE(g.revoked, false) AS "grant_revoked!"
           FROM (SELECT session_public_key AS session_key FROM api_keys
                     WHERE wallet = $1 AND ($2::text IS NULL OR session_public_key = $2)
                 UNION
                 SELECT session_key FROM mirror_grants
                     WHERE wallet = $1 AND ($2::text IS NULL OR session_key = $2)) ids
           LEFT JOIN api_keys k ON k.session_public_key = ids.session_key AND k.wallet = $1
           LEFT JOIN mirror_grants g ON g.session_key = ids.session_key AND g.wallet = $1
           ORDER BY COALESCE(k.created_at, g.created_at) DESC, ids.session_key LIMIT $3 OFFSET $4"#,
        wallet.to_string(),
        session_public_key.map(Pubkey::to_string),
        limit,
        offset,
    );
    let keys = rows.fetch_all(executor).await?.into_iter().map(|row| ShownKey {
        session_public_key: row.session_public_key.into(),
        grant: row.grant_address.into(),
        name: row.name,
        last_four: row.last_four,
        created_at: row.created_at,
        last_used_at: row.last_used_at,
        execution_count: row.execution_count.into(),
        spent: row.spent.into(),
        proven: row.proven,
        revoked: row.revoked,
        limits: row.has_grant.then(|| GrantLimits {
            per_call_cap: limited(row.per_call_cap.into()),
            total_cap: limited(row.total_cap.into()),
            spent: row.grant_spent.into(),
            expires_at_unix_s: row.expires_at_unix_s,
            allowed_agents: row.allowed_agents.into_iter().map(Pubkey::from).collect(),
            revoked: row.grant_revoked,
        }),
    });
    Ok(keys.collect())
}

/// How many keys a wallet has.
pub async fn count(executor: impl PgExecutor<'_>, wallet: &Pubkey) -> Result<u64, StoreError> {
    let keys = sqlx::query_scalar!(
        r#"SELECT count(*) AS "keys!: Count" FROM (
               SELECT session_public_key FROM api_keys WHERE wallet = $1
               UNION SELECT session_key FROM mirror_grants WHERE wallet = $1) ids"#,
        wallet.to_string()
    );
    Ok(keys.fetch_one(executor).await?.into())
}

/// What all keys of a wallet that are neither revoked nor expired at `now_unix_s` may still spend together. `None`: one
/// of them has no limit.
pub async fn needed(
    executor: impl PgExecutor<'_>,
    wallet: &Pubkey,
    now_unix_s: i64,
) -> Result<Option<UsdcBase>, StoreError> {
    let needed = sqlx::query!(
        r#"SELECT LEAST(COALESCE(sum(GREATEST(g.total_cap - g.spent, 0)), 0), 9223372036854775807)::bigint AS "left!: Usdc",
                  COALESCE(bool_or(g.total_cap = 9223372036854775807), false) AS "unlimited!"
           FROM mirror_grants g
           LEFT JOIN api_keys k ON k.session_public_key = g.session_key AND k.wallet = g.wallet
           WHERE g.wallet = $1 AND NOT g.revoked AND k.revoked_at IS NULL AND g.expires_at_unix_s >= $2"#,
        wallet.to_string(),
        now_unix_s,
    )
    .fetch_one(executor)
    .await?;
    Ok((!needed.unlimited).then(|| needed.left.into()))
}
