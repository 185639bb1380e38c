//! Sessions on a real PostgreSQL.

use chrono::TimeDelta;
use crtx_store::{
    PgPool,
    sessions::{self, MOST_PER_WALLET, NewSession, SessionKind, SessionRow},
    testing::{TestDatabase, fixtures::wallet},
};
use uuid::Uuid;

fn session(number: u8, owner: u8) -> NewSession {
    NewSession {
        token_hash: [number; 32],
        wallet: wallet(owner),
        kind: SessionKind::Bearer,
        lifetime: TimeDelta::hours(1),
        challenge: [number; 16],
    }
}

async fn open(pool: &PgPool, number: u8, owner: u8) -> SessionRow {
    sessions::open(pool, &session(number, owner)).await.unwrap().expect("a new challenge")
}

async fn is_live(pool: &PgPool, number: u8) -> bool {
    crtx_store::testing::single::session(pool, &[number; 32])
        .await
        .unwrap()
        .is_some_and(|row| !row.ended && !row.expired)
}

#[tokio::test]
async fn a_challenge_is_used_once_and_a_replay_leaves_no_session() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let opened = open(pool, 1, 2).await;
    assert_eq!(
        crtx_store::testing::single::session(pool, &[1; 32]).await.unwrap().expect("stored").session_id,
        opened.session_id
    );
    let replayed = NewSession { challenge: [1; 16], ..session(9, 2) };
    assert_eq!(sessions::open(pool, &replayed).await.unwrap(), None);
    assert_eq!(crtx_store::testing::single::session(pool, &[9; 32]).await.unwrap(), None);
}

#[tokio::test]
async fn one_session_too_many_ends_the_oldest_of_that_wallet() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    open(pool, 200, 3).await;
    let most = u8::try_from(MOST_PER_WALLET).unwrap();
    for number in 0..=most {
        open(pool, number, 2).await;
    }
    assert!(!is_live(pool, 0).await && is_live(pool, 1).await && is_live(pool, most).await && is_live(pool, 200).await);
    let held = sessions::list(pool, &wallet(2), &Uuid::nil()).await.unwrap();
    assert_eq!(i64::try_from(held.len()).unwrap(), MOST_PER_WALLET);
}

#[tokio::test]
async fn only_its_wallet_ends_a_session_and_only_once() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let id = open(pool, 1, 2).await.session_id;
    assert!(!sessions::end(pool, &wallet(3), &id).await.unwrap());
    assert!(is_live(pool, 1).await);
    assert!(sessions::end(pool, &wallet(2), &id).await.unwrap());
    assert!(!sessions::end(pool, &wallet(2), &id).await.unwrap());
    assert!(!is_live(pool, 1).await);
    assert!(sessions::list(pool, &wallet(2), &Uuid::nil()).await.unwrap().is_empty());
}

#[tokio::test]
async fn the_last_use_is_noted() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let id = open(pool, 1, 2).await.session_id;
    let row = crtx_store::testing::single::session(pool, &[1; 32]).await.unwrap().unwrap();
    assert!(row.is_use_due && row.last_used_at.is_none());
    sessions::touch(pool, &id).await.unwrap();
    let row = crtx_store::testing::single::session(pool, &[1; 32]).await.unwrap().unwrap();
    assert!(!row.is_use_due && row.last_used_at.is_some());
}

#[tokio::test]
async fn what_is_over_is_deleted_after_a_while_and_nothing_else() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let over = NewSession { lifetime: -TimeDelta::hours(2), ..session(1, 2) };
    sessions::open(pool, &over).await.unwrap().unwrap();
    open(pool, 2, 2).await;
    let just_ended = open(pool, 3, 2).await.session_id;
    sessions::end(pool, &wallet(2), &just_ended).await.unwrap();
    assert_eq!(sessions::purge(pool, 100).await.unwrap(), 1);
    assert_eq!(crtx_store::testing::single::session(pool, &[1; 32]).await.unwrap(), None);
    assert!(is_live(pool, 2).await);
    assert!(crtx_store::testing::single::session(pool, &[3; 32]).await.unwrap().is_some_and(|row| row.ended));
    let replayed = NewSession { challenge: [3; 16], ..session(4, 2) };
    assert_eq!(sessions::open(pool, &replayed).await.unwrap(), None, "it is still remembered");
}
