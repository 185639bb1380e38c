//! API keys: the wallet that each one acts for, its use, and what its owner sees of it.
//!
//! Any wallet can grant spending to any session public key, because these are visible on chain. So a key acts for the one
//! wallet that the holder of its secret named in a signature, and before that for none.

use agent_marketplace::state::SpendingGrant;
use chrono::{DateTime, Utc};
use crtx_protocol::usdc::UsdcBase;
use serde::{Deserialize, Deserializer};
use solana_pubkey::Pubkey;
use sqlx::{PgExecutor, PgPool, types::Json};

use crate::{
    Result,
    columns::{Base58, Count, Usdc, base_units},
    convert::amount_to_db,
    database::run,
    transaction,
};

/// Keys of one wallet that are not revoked.
pub const MOST_PER_WALLET: i64 = 100;

/// A key whose holder signed for a wallet. It has no secret part.
#[derive(Clone, Copy, Debug)]
pub struct NewApiKey<'a> {
    pub session_public_key: Pubkey,
    pub wallet: Pubkey,
    /// The on-chain `SpendingGrant` of wallet and session key.
    pub grant: Pubkey,
    pub name: &'a str,
    /// The end of the key's text.
    pub last_four: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registered {
    /// It acts for the wallet from now on, or did so with the same name before.
    Done,
    /// The wallet has registered it under another name.
    OtherName,
    /// Its holder has signed for another wallet.
    OtherWallet,
    /// The wallet has revoked it.
    Revoked,
    /// The wallet has [`MOST_PER_WALLET`] keys.
    TooMany,
}

/// Registers a key for a wallet. The caller has checked the signature of the session key.
pub async fn register(pool: &PgPool, key: &NewApiKey<'_>) -> Result<Registered> {
    let (session, wallet) = (key.session_public_key.to_string(), key.wallet.to_string());
    let mut transaction = transaction::begin(pool).await?;
    // Registrations of one wallet, and of one key, happen one after another.
    for (class, name) in [(1_668_445_307, &wallet), (1_668_445_308, &session)] {
        sqlx::query!("SELECT pg_advisory_xact_lock($1, hashtext($2))", class, name).execute(&mut *transaction).await?;
    }
    let known = sqlx::query!(
        r#"SELECT wallet = $2 AS "own!", name, registered_at IS NOT NULL AS "registered!",
                  revoked_at IS NOT NULL AS "revoked!"
           FROM api_keys WHERE session_public_key = $1 AND (wallet = $2 OR registered_at IS NOT NULL)"#,
        session,
        wallet,
    );
    let known = known.fetch_all(&mut *transaction).await?;
    if known.iter().any(|row| !row.own) {
        return Ok(Registered::OtherWallet);
    }
    match known.first() {
        Some(own) if own.revoked => return Ok(Registered::Revoked),
        Some(own) if own.registered => {
            let same = own.name.as_deref() == Some(key.name);
            return Ok(if same { Registered::Done } else { Registered::OtherName });
        }
        Some(_) => {}
        None => {
            let live = sqlx::query_scalar!(
                r#"SELECT count(*) AS "keys!" FROM api_keys WHERE wallet = $1 AND revoked_at IS NULL"#,
                wallet
            );
            if live.fetch_one(&mut *transaction).await? >= MOST_PER_WALLET {
                return Ok(Registered::TooMany);
            }
        }
    }
    let statement = sqlx::query!(
        "INSERT INTO api_keys (session_public_key, wallet, grant_address, name, last_four, registered_at)
         VALUES ($1, $2, $3, $4, $5, now())
         ON CONFLICT (session_public_key, wallet) DO UPDATE SET
             name = excluded.name, last_four = excluded.last_four, registered_at = now()",
        session,
        wallet,
        key.grant.to_string(),
        key.name,
        key.last_four,
    );
    statement.execute(&mut *transaction).await?;
    transaction.commit().await?;
    Ok(Registered::Done)
}

/// Names a key of the wallet. False if the wallet has no row of it.
pub async fn rename(pool: &PgPool, wallet: &Pubkey, session_public_key: &Pubkey, name: &str) -> Result<bool> {
    let done = sqlx::query!(
        "UPDATE api_keys SET name = $3 WHERE session_public_key = $1 AND wallet = $2",
        session_public_key.to_string(),
        wallet.to_string(),
        name,
    );
    Ok(done.execute(pool).await?.rows_affected() == 1)
}

/// Revokes a key of that wallet permanently. False if the wallet has no such key, or it is revoked already.
pub async fn revoke(pool: &PgPool, wallet: &Pubkey, session_public_key: &Pubkey) -> Result<bool> {
    let done = sqlx::query!(
        "UPDATE api_keys SET revoked_at = now()
         WHERE session_public_key = $1 AND wallet = $2 AND revoked_at IS NULL",
        session_public_key.to_string(),
        wallet.to_string(),
    );
    Ok(done.execute(pool).await?.rows_affected() == 1)
}

/// Revokes a key for this wallet although the wallet has no row of it yet: it cannot be registered any more.
pub async fn revoke_pair(pool: &PgPool, wallet: &Pubkey, session_public_key: &Pubkey, grant: &Pubkey) -> Result<()> {
    let statement = sqlx::query!(
        "INSERT INTO api_keys AS k (session_public_key, wallet, grant_address, revoked_at) VALUES ($1, $2, $3, now())
         ON CONFLICT (session_public_key, wallet) DO UPDATE SET revoked_at = COALESCE(k.revoked_at, now())",
        session_public_key.to_string(),
        wallet.to_string(),
        grant.to_string(),
    );
    run(pool, statement).await
}

/// A key and the wallet that it acts for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKeyRow {
    pub session_public_key: Pubkey,
    pub wallet: Pubkey,
    pub name: Option<String>,
    pub revoked_at: Option<DateTime<Utc>>,
    pub execution_count: u64,
    pub spent: UsdcBase,
    /// Whether the stored last use is old enough to be worth a write.
    pub is_use_due: bool,
}

/// The keys with these session public keys, revoked or not, in any order. A key is also revoked once its wallet has ended
/// the grant on chain, from when the mirror shows it: the program never renews a grant.
pub async fn find_all(db: impl PgExecutor<'_>, session_public_keys: &[Pubkey]) -> Result<Vec<ApiKeyRow>> {
    let keys: Vec<String> = session_public_keys.iter().map(Pubkey::to_string).collect();
    let rows = sqlx::query_as!(
        ApiKeyRow,
        r#"SELECT k.session_public_key AS "session_public_key!: Base58", k.wallet AS "wallet!: Base58", k.name,
                  COALESCE(k.revoked_at, CASE WHEN g.revoked THEN g.observed_at END) AS "revoked_at?",
                  k.execution_count AS "execution_count!: Count", k.spent AS "spent!: Usdc",
                  COALESCE(k.last_used_at < now() - interval '10 seconds', true) AS "is_use_due!"
           FROM api_keys k LEFT JOIN mirror_grants g ON g.address = k.grant_address
           WHERE k.session_public_key = ANY($1) AND k.registered_at IS NOT NULL"#,
        &keys,
    );
    Ok(rows.fetch_all(db).await?)
}

/// Notes that a key was used.
pub async fn touch(pool: &PgPool, key: &ApiKeyRow) -> Result<()> {
    let statement = sqlx::query!(
        "UPDATE api_keys SET last_used_at = now() WHERE session_public_key = $1 AND wallet = $2",
        key.session_public_key.to_string(),
        key.wallet.to_string(),
    );
    run(pool, statement).await
}

/// The limits of a key, by its grant on chain. Read from a row of `mirror_grants`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct GrantLimits {
    /// `None`: no limit.
    #[serde(deserialize_with = "cap")]
    pub per_call_cap: Option<UsdcBase>,
    /// `None`: no limit.
    #[serde(deserialize_with = "cap")]
    pub total_cap: Option<UsdcBase>,
    /// What counts against the total cap.
    #[serde(deserialize_with = "base_units")]
    pub spent: UsdcBase,
    /// Of a UTC day. `None`: no limit.
    #[serde(deserialize_with = "cap")]
    pub daily_cap: Option<UsdcBase>,
    /// On the day with the number `day`, counted from 1970.
    #[serde(deserialize_with = "base_units")]
    pub spent_on_day: UsdcBase,
    #[serde(rename = "spent_day")]
    pub day: u64,
    pub expires_at_unix_s: i64,
    /// None: any agent.
    pub allowed_agents: Vec<String>,
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
    /// Whether the key acts for this wallet: it was registered.
    pub proven: bool,
    /// Whether this service refuses it.
    pub revoked: bool,
    /// `None` until the mirror shows the grant.
    pub limits: Option<Json<GrantLimits>>,
}

/// A cap as the chain or the mirror has it. One that is larger than all money says "no limit".
fn limited(cap: u64) -> Option<UsdcBase> {
    (cap < i64::MAX.unsigned_abs()).then_some(UsdcBase(cap))
}

fn cap<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<UsdcBase>, D::Error> {
    Ok(Option::<u64>::deserialize(deserializer)?.and_then(limited))
}

impl GrantLimits {
    /// What the key may still spend in all. `None`: no limit.
    pub fn left(&self) -> Option<UsdcBase> {
        self.total_cap.map(|cap| UsdcBase(cap.0.saturating_sub(self.spent.0)))
    }

    /// What counts against the cap of the day of this time.
    pub fn spent_at(&self, unix_s: i64) -> UsdcBase {
        if self.day == SpendingGrant::day_of(unix_s) { self.spent_on_day } else { UsdcBase(0) }
    }
}

impl From<&SpendingGrant> for GrantLimits {
    fn from(grant: &SpendingGrant) -> Self {
        Self {
            per_call_cap: limited(grant.per_call_cap),
            total_cap: limited(grant.total_cap),
            spent: UsdcBase(grant.spent),
            daily_cap: limited(grant.daily_cap).filter(|cap| cap.0 > 0),
            spent_on_day: UsdcBase(grant.spent_on_day),
            day: grant.day,
            expires_at_unix_s: grant.expires_at_unix_s,
            allowed_agents: grant.allowed_agents().iter().map(Pubkey::to_string).collect(),
            revoked: grant.revoked != 0,
        }
    }
}

/// Keys of a wallet, newest first.
pub async fn page(pool: &PgPool, wallet: &Pubkey, limit: u32, offset: u64) -> Result<Vec<ShownKey>> {
    select(pool, wallet, None, limit, offset).await
}

/// One key of a wallet.
pub async fn shown(pool: &PgPool, wallet: &Pubkey, session_public_key: &Pubkey) -> Result<Option<ShownKey>> {
    Ok(select(pool, wallet, Some(session_public_key), 1, 0).await?.pop())
}

/// Keys of a wallet, newest first: all of them, or the one with that session public key.
async fn select(
    pool: &PgPool,
    wallet: &Pubkey,
    session_public_key: Option<&Pubkey>,
    limit: u32,
    offset: u64,
) -> Result<Vec<ShownKey>> {
    let rows = sqlx::query_as!(
        ShownKey,
        r#"SELECT ids.session_key AS "session_public_key!: Base58",
               COALESCE(k.grant_address, g.address) AS "grant!: Base58",
               k.name AS "name?", k.last_four AS "last_four?", COALESCE(k.created_at, g.created_at) AS "created_at!",
               k.last_used_at AS "last_used_at?", COALESCE(k.execution_count, 0) AS "execution_count!: Count",
               COALESCE(k.spent, 0) AS "spent!: Usdc", k.registered_at IS NOT NULL AS "proven!",
               k.revoked_at IS NOT NULL AS "revoked!", to_jsonb(g) AS "limits?: Json<GrantLimits>"
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
        i64::from(limit),
        amount_to_db("offset", offset)?,
    );
    Ok(rows.fetch_all(pool).await?)
}

/// How many keys a wallet has.
pub async fn count(pool: &PgPool, wallet: &Pubkey) -> Result<u64> {
    let keys = sqlx::query_scalar!(
        r#"SELECT count(*) AS "keys!: Count" FROM (
               SELECT session_public_key FROM api_keys WHERE wallet = $1
               UNION SELECT session_key FROM mirror_grants WHERE wallet = $1) ids"#,
        wallet.to_string()
    );
    Ok(keys.fetch_one(pool).await?.into())
}

/// What all keys of a wallet that are neither revoked nor expired at `now_unix_s` may still spend together. `None`: one
/// of them has no limit.
pub async fn needed(db: impl PgExecutor<'_>, wallet: &Pubkey, now_unix_s: i64) -> Result<Option<UsdcBase>> {
    let needed = sqlx::query!(
        r#"SELECT LEAST(COALESCE(sum(GREATEST(g.total_cap - g.spent, 0)), 0), 9223372036854775807)::bigint AS "left!: Usdc",
                  COALESCE(bool_or(g.total_cap = 9223372036854775807), false) AS "unlimited!"
           FROM mirror_grants g
           LEFT JOIN api_keys k ON k.session_public_key = g.session_key AND k.wallet = g.wallet
           WHERE g.wallet = $1 AND NOT g.revoked AND k.revoked_at IS NULL AND g.expires_at_unix_s >= $2"#,
        wallet.to_string(),
        now_unix_s,
    );
    let needed = needed.fetch_one(db).await?;
    Ok((!needed.unlimited).then(|| needed.left.into()))
}
