//! API keys on a real PostgreSQL.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crtx_protocol::{api_key::KeyNetwork, usdc::UsdcBase};
use crtx_store::{
    api_keys::{self, NewApiKey},
    testing::{TestDatabase, fixtures::wallet},
};

fn key(session: u8, owner: u8) -> NewApiKey<'static> {
    NewApiKey {
        session_public_key: wallet(session),
        wallet: wallet(owner),
        grant: wallet(9),
        name: "laptop",
        network: KeyNetwork::Test,
    }
}

#[tokio::test]
async fn a_key_is_found_by_its_public_half() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    api_keys::insert(pool, &key(1, 2)).await.expect("stored");
    assert!(api_keys::insert(pool, &key(1, 3)).await.expect_err("twice").is_unique_violation());

    let found = api_keys::find(pool, &wallet(1)).await.expect("read").expect("there");
    assert_eq!(
        (found.wallet, found.name.as_str(), found.execution_count, found.spent),
        (wallet(2), "laptop", 0, UsdcBase(0))
    );
    assert_eq!(api_keys::find(pool, &wallet(4)).await.expect("read"), None);
}

#[tokio::test]
async fn only_its_owner_revokes_a_key_and_only_once() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    api_keys::insert(pool, &key(1, 2)).await.expect("stored");
    api_keys::insert(pool, &key(5, 2)).await.expect("stored");
    assert!(!api_keys::revoke(pool, &wallet(3), &wallet(1)).await.expect("done"));
    assert!(api_keys::revoke(pool, &wallet(2), &wallet(1)).await.expect("done"));
    assert!(!api_keys::revoke(pool, &wallet(2), &wallet(1)).await.expect("done"));
    let keys = api_keys::list(pool, &wallet(2)).await.expect("read");
    assert_eq!(keys.iter().map(|key| key.revoked_at.is_some()).collect::<Vec<_>>(), [true, false]);
}
