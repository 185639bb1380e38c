//! API keys on a real PostgreSQL.

use crtx_protocol::usdc::UsdcBase;
use crtx_store::{
    PgPool,
    api_keys::{self, GrantLimits, MOST_PER_WALLET, NewApiKey, Registered},
    testing::{
        TestDatabase,
        fixtures::{addresses, grant, put, wallet},
    },
};
use solana_pubkey::Pubkey;

/// The session public key of the tests, and the wallet of its holder. Others know it from the chain.
const SESSION: u8 = 1;
const OWNER: u8 = 2;
const ATTACKER: u8 = 3;

/// A wallet grants spending to a session key, and the mirror shows it.
async fn granted(pool: &PgPool, owner: u8, session: u8, revoked: bool) {
    let mut account = grant(wallet(owner), wallet(session));
    account.revoked = u8::from(revoked);
    account.revision = if revoked { 2 } else { 1 };
    put(pool, &addresses().grant(&wallet(owner), &wallet(session)), 5, &account).await;
}

async fn register(pool: &PgPool, owner: u8, session: u8, name: &str) -> Registered {
    let registration = NewApiKey {
        session_public_key: wallet(session),
        wallet: wallet(owner),
        grant: addresses().grant(&wallet(owner), &wallet(session)),
        name,
        last_four: "abcd",
    };
    api_keys::register(pool, &registration).await.expect("decided")
}

/// The wallet that the key acts for.
async fn owner_of(pool: &PgPool, session: u8) -> Option<Pubkey> {
    crtx_store::testing::single::api_key(pool, &wallet(session)).await.expect("read").map(|row| row.wallet)
}

#[tokio::test]
async fn a_key_is_found_by_its_public_half() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    assert_eq!(register(pool, 2, 1, "laptop").await, Registered::Done);
    assert_eq!(register(pool, 3, 1, "laptop").await, Registered::OtherWallet);

    let found = crtx_store::testing::single::api_key(pool, &wallet(1)).await.expect("read").expect("there");
    assert_eq!(
        (found.wallet, found.name.as_deref(), found.execution_count, found.spent),
        (wallet(2), Some("laptop"), 0, UsdcBase(0))
    );
    assert_eq!(crtx_store::testing::single::api_key(pool, &wallet(4)).await.expect("read"), None);
}

#[tokio::test]
async fn only_its_owner_revokes_a_key_and_only_once() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    register(pool, 2, 1, "laptop").await;
    register(pool, 2, 5, "laptop").await;
    assert!(!api_keys::revoke(pool, &wallet(3), &wallet(1)).await.expect("done"));
    assert!(api_keys::revoke(pool, &wallet(2), &wallet(1)).await.expect("done"));
    assert!(!api_keys::revoke(pool, &wallet(2), &wallet(1)).await.expect("done"));
    let keys = api_keys::page(pool, &wallet(2), 10, 0).await.expect("read");
    assert_eq!(keys.iter().map(|key| key.revoked).collect::<Vec<_>>(), [false, true]);
}

#[tokio::test]
async fn a_key_acts_for_no_wallet_that_granted_to_it_until_its_holder_signs_for_one() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    // The mirror shows a stranger's grant before that of the owner.
    for granter in [ATTACKER, OWNER] {
        granted(pool, granter, SESSION, false).await;
        assert_eq!(owner_of(pool, SESSION).await, None);
    }
    assert_eq!(register(pool, OWNER, SESSION, "laptop").await, Registered::Done);
    assert_eq!(owner_of(pool, SESSION).await, Some(wallet(OWNER)));
}

#[tokio::test]
async fn what_another_wallet_does_to_its_pair_does_not_touch_the_key() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    granted(pool, ATTACKER, SESSION, false).await;
    let address = addresses().grant(&wallet(ATTACKER), &wallet(SESSION));
    let (attacker, key) = (wallet(ATTACKER), wallet(SESSION));
    api_keys::revoke_pair(pool, &attacker, &key, &address).await.expect("done");
    assert_eq!(register(pool, OWNER, SESSION, "laptop").await, Registered::Done);
    assert!(api_keys::rename(pool, &wallet(ATTACKER), &wallet(SESSION), "mine").await.expect("done"));
    let row = crtx_store::testing::single::api_key(pool, &wallet(SESSION)).await.expect("read").expect("there");
    assert_eq!((row.wallet, row.name.as_deref(), row.revoked_at), (wallet(OWNER), Some("laptop"), None));
}

#[tokio::test]
async fn a_wallet_revokes_its_own_pair_alone_registered_or_not() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let key = wallet(SESSION);
    let pair = |owner: u8| (wallet(owner), addresses().grant(&wallet(owner), &wallet(SESSION)));
    granted(pool, OWNER, SESSION, false).await;
    // An attacker revokes before the key was ever used.
    let (attacker, address) = pair(ATTACKER);
    api_keys::revoke_pair(pool, &attacker, &key, &address).await.expect("done");
    assert_eq!(register(pool, OWNER, SESSION, "laptop").await, Registered::Done);
    assert!(!api_keys::revoke(pool, &attacker, &key).await.expect("done"), "it is revoked for the attacker already");
    assert_eq!(crtx_store::testing::single::api_key(pool, &key).await.expect("read").expect("there").revoked_at, None);
    // The owner of another key revokes it before it is registered.
    granted(pool, OWNER, 50, false).await;
    let address = addresses().grant(&wallet(OWNER), &wallet(50));
    api_keys::revoke_pair(pool, &wallet(OWNER), &wallet(50), &address).await.expect("done");
    assert_eq!(register(pool, OWNER, 50, "again").await, Registered::Revoked);
}

#[tokio::test]
async fn a_registration_is_repeatable_and_holds_for_ever() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    assert_eq!(register(pool, OWNER, SESSION, "laptop").await, Registered::Done);
    assert_eq!(register(pool, OWNER, SESSION, "laptop").await, Registered::Done);
    assert_eq!(register(pool, OWNER, SESSION, "phone").await, Registered::OtherName);
    assert_eq!(register(pool, ATTACKER, SESSION, "laptop").await, Registered::OtherWallet);
    assert!(api_keys::rename(pool, &wallet(OWNER), &wallet(SESSION), "phone").await.expect("done"));
    assert!(!api_keys::rename(pool, &wallet(ATTACKER), &wallet(SESSION), "mine").await.expect("done"));
    assert_eq!(register(pool, OWNER, SESSION, "phone").await, Registered::Done);
    assert!(api_keys::revoke(pool, &wallet(OWNER), &wallet(SESSION)).await.expect("done"));
    assert_eq!(register(pool, OWNER, SESSION, "phone").await, Registered::Revoked);
    assert_eq!(register(pool, ATTACKER, SESSION, "laptop").await, Registered::OtherWallet);
}

#[tokio::test]
async fn the_number_of_keys_of_a_wallet_is_bounded() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let most = u8::try_from(MOST_PER_WALLET).expect("small");
    for session in 0..most {
        assert_eq!(register(pool, OWNER, session, "key").await, Registered::Done);
    }
    assert_eq!(register(pool, OWNER, most, "key").await, Registered::TooMany);
    assert_eq!(register(pool, OWNER, 0, "key").await, Registered::Done, "a repetition is not one more");
    assert!(api_keys::revoke(pool, &wallet(OWNER), &wallet(0)).await.expect("done"));
    assert_eq!(register(pool, OWNER, most, "key").await, Registered::Done);
}

#[tokio::test]
async fn registrations_at_the_same_time_leave_one_wallet() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    for session in 100..110 {
        let (one, other) =
            tokio::join!(register(pool, OWNER, session, "key"), register(pool, ATTACKER, session, "key"));
        let first = if one == Registered::Done { OWNER } else { ATTACKER };
        assert!([one, other].contains(&Registered::Done) && [one, other].contains(&Registered::OtherWallet));
        assert_eq!(owner_of(pool, session).await, Some(wallet(first)));
    }
}

#[tokio::test]
async fn a_wallet_sees_its_keys_and_its_grants_that_nobody_registered() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    granted(pool, OWNER, SESSION, false).await;
    granted(pool, OWNER, 50, false).await;
    granted(pool, ATTACKER, SESSION, false).await;
    register(pool, OWNER, SESSION, "laptop").await;
    register(pool, OWNER, 60, "not mirrored yet").await;
    let keys = api_keys::page(pool, &wallet(OWNER), 10, 0).await.expect("read");
    let shown: Vec<_> = keys
        .iter()
        .map(|key| (key.session_public_key, key.name.as_deref(), key.proven, key.limits.is_some()))
        .collect();
    let expected = [
        (wallet(60), Some("not mirrored yet"), true, false),
        (wallet(SESSION), Some("laptop"), true, true),
        (wallet(50), None, false, true),
    ];
    assert_eq!(shown, expected);
    assert_eq!(api_keys::count(pool, &wallet(OWNER)).await.expect("read"), 3);
    let second = api_keys::page(pool, &wallet(OWNER), 1, 1).await.expect("read");
    assert_eq!(second, keys.get(1..2).expect("there"));
    // The attacker's grant to the same session key is its own unregistered one.
    let theirs = api_keys::page(pool, &wallet(ATTACKER), 10, 0).await.expect("read");
    assert_eq!(theirs.iter().map(|key| (key.name.as_deref(), key.proven)).collect::<Vec<_>>(), [(None, false)]);
    let one = api_keys::shown(pool, &wallet(OWNER), &wallet(50)).await.expect("read").expect("there");
    assert_eq!(one.grant, addresses().grant(&wallet(OWNER), &wallet(50)));
}

#[tokio::test]
async fn a_wallet_sees_the_limits_of_a_key_that_the_mirror_shows() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let mut account = grant(wallet(OWNER), wallet(SESSION));
    (account.daily_cap, account.spent_on_day, account.day) = (700, 60, 20_000);
    (account.spent, account.executions) = (90, 1);
    (account.allowed_agents[0], account.allowed_agents_len) = (wallet(70), 1);
    put(pool, &addresses().grant(&wallet(OWNER), &wallet(SESSION)), 5, &account).await;
    let shown = api_keys::shown(pool, &wallet(OWNER), &wallet(SESSION)).await.expect("read").expect("there");
    let limits = shown.limits.as_deref().expect("mirrored");
    assert_eq!(*limits, GrantLimits::from(&account));
    assert_eq!((limits.daily_cap, limits.total_cap), (Some(UsdcBase(700)), None));
    assert_eq!(limits.allowed_agents, [wallet(70).to_string()]);
}

#[tokio::test]
async fn what_live_keys_need_is_what_is_left_of_their_caps() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let cap = async |session: u8, total_cap: u64, spent: u64, expires_at_unix_s: i64| {
        let mut account = grant(wallet(OWNER), wallet(session));
        (account.total_cap, account.spent, account.expires_at_unix_s) = (total_cap, spent, expires_at_unix_s);
        account.executions = 1;
        put(pool, &addresses().grant(&wallet(OWNER), &wallet(session)), 5, &account).await;
    };
    let needed = async || api_keys::needed(pool, &wallet(OWNER), 1_000).await.expect("read");
    assert_eq!(needed().await, Some(UsdcBase(0)));
    cap(10, 500, 100, 1_000).await;
    cap(11, 50, 80, 2_000).await;
    cap(12, 7_000, 0, 999).await;
    cap(13, 90_000, 0, 2_000).await;
    assert_eq!(needed().await, Some(UsdcBase(90_400)));
    register(pool, OWNER, 13, "revoked").await;
    assert!(api_keys::revoke(pool, &wallet(OWNER), &wallet(13)).await.expect("done"));
    assert_eq!(needed().await, Some(UsdcBase(400)));
    cap(14, u64::MAX, 0, 2_000).await;
    assert_eq!(needed().await, None, "a key without limit needs all there is");
}
