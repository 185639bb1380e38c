//! Whose key it is. Any wallet can grant spending to any session public key, because these are visible on chain. So a key
//! acts for the one wallet that the holder of its secret named in a signature, and before that for none.

use crtx_protocol::api_key::KeyNetwork;
use solana_pubkey::Pubkey;
use sqlx::{PgConnection, PgExecutor, PgPool};

use super::rows::network_to_db;
use crate::{error::StoreError, transaction};

/// Keys of one wallet that are not revoked.
pub const MOST_PER_WALLET: i64 = 100;

/// A key whose holder signed for a wallet.
#[derive(Clone, Copy, Debug)]
pub struct Registration<'a> {
    pub session_public_key: Pubkey,
    pub wallet: Pubkey,
    pub grant: Pubkey,
    pub network: KeyNetwork,
    pub name: &'a str,
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
pub async fn register(pool: &PgPool, key: &Registration<'_>) -> Result<Registered, StoreError> {
    let (session, wallet) = (key.session_public_key.to_string(), key.wallet.to_string());
    let mut transaction = transaction::begin(pool).await?;
    sqlx::query!("SELECT pg_advisory_xact_lock(1668445307, hashtext($1))", wallet).execute(&mut *transaction).await?;
    lock_key(&mut transaction, &session).await?;
    let known = sqlx::query!(
        r#"SELECT wallet = $2 AS "own!", name, proven, revoked_at IS NOT NULL AS "revoked!"
           FROM api_keys WHERE session_public_key = $1 AND (wallet = $2 OR proven)"#,
        session,
        wallet,
    )
    .fetch_all(&mut *transaction)
    .await?;
    if known.iter().any(|row| !row.own) {
        return Ok(Registered::OtherWallet);
    }
    match known.iter().find(|row| row.own) {
        Some(own) if own.revoked => return Ok(Registered::Revoked),
        Some(own) if own.proven => {
            let same = own.name.as_deref() == Some(key.name);
            return Ok(if same { Registered::Done } else { Registered::OtherName });
        }
        Some(_) => {}
        None if live_keys(&mut transaction, &wallet).await? >= MOST_PER_WALLET => return Ok(Registered::TooMany),
        None => {}
    }
    sqlx::query!(
        "INSERT INTO api_keys
             (session_public_key, wallet, grant_address, name, network, last_four, proven, registered_at)
         VALUES ($1, $2, $3, $4, $5, $6, true, now())
         ON CONFLICT (session_public_key, wallet) DO UPDATE SET
             name = excluded.name, last_four = excluded.last_four, proven = true, registered_at = now()",
        session,
        wallet,
        key.grant.to_string(),
        key.name,
        network_to_db(key.network),
        key.last_four,
    )
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await?;
    Ok(Registered::Done)
}

/// Names a key of the wallet. False if the wallet has no row of it.
pub async fn rename(
    executor: impl PgExecutor<'_>,
    wallet: &Pubkey,
    session_public_key: &Pubkey,
    name: &str,
) -> Result<bool, StoreError> {
    let done = sqlx::query!(
        "UPDATE api_keys SET name = $3 WHERE session_public_key = $1 AND wallet = $2",
        session_public_key.to_string(),
        wallet.to_string(),
        name,
    )
    .execute(executor)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Revokes a key for this wallet although the wallet has no row of it yet: it cannot be registered any more.
pub async fn revoke_pair(
    executor: impl PgExecutor<'_>,
    wallet: &Pubkey,
    session_public_key: &Pubkey,
    grant: &Pubkey,
    network: KeyNetwork,
) -> Result<(), StoreError> {
    sqlx::query!(
        "INSERT INTO api_keys AS k (session_public_key, wallet, grant_address, network, proven, revoked_at)
         VALUES ($1, $2, $3, $4, false, now())
         ON CONFLICT (session_public_key, wallet) DO UPDATE SET revoked_at = COALESCE(k.revoked_at, now())",
        session_public_key.to_string(),
        wallet.to_string(),
        grant.to_string(),
        network_to_db(network),
    )
    .execute(executor)
    .await?;
    Ok(())
}

/// Registrations of one key happen one after another.
async fn lock_key(connection: &mut PgConnection, session: &str) -> Result<(), StoreError> {
    sqlx::query!("SELECT pg_advisory_xact_lock(1668445308, hashtext($1))", session).execute(connection).await?;
    Ok(())
}

async fn live_keys(connection: &mut PgConnection, wallet: &str) -> Result<i64, StoreError> {
    let keys = sqlx::query_scalar!(
        r#"SELECT count(*) AS "keys!" FROM api_keys WHERE wallet = $1 AND revoked_at IS NULL"#,
        wallet
    );
    Ok(keys.fetch_one(connection).await?)
}
