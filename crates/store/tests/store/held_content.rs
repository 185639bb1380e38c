//! Held content on a real PostgreSQL: what counts as a reference, what a wallet may hold, and that nothing is dropped
//! that something refers to.

use std::time::Duration;

use agent_marketplace::state::DisputeOutcome;
use crtx_protocol::result_hash::ResultHash;
use crtx_store::{
    PgPool,
    held_content::{
        self, Fate, Held, HoldLimits, HoldingLimits, Piece, Reference, note_listed, reference, release, search,
    },
    testing::{TestDatabase, fixtures::*},
};
use futures::future::join_all;
use uuid::Uuid;

const DAY: Duration = Duration::from_secs(86_400);
const MANY: HoldingLimits = HoldingLimits { pieces: 1_000, bytes: 1_000_000 };
const LIMITS: HoldLimits = HoldLimits {
    wallet: HoldingLimits { pieces: 3, bytes: 100 },
    unknown_wallets: MANY,
    known_wallets: MANY,
    keep_for: DAY,
};

fn piece(number: u8, size: u64) -> Piece {
    Piece { sha256: [number; 32], size }
}

async fn hold(pool: &PgPool, who: u8, pieces: &[Piece]) -> Held {
    held_content::hold(pool, &wallet(who), pieces, None, &LIMITS).await.unwrap()
}

async fn held_for(pool: &PgPool, held_for: Duration, fate: Fate) -> Vec<[u8; 32]> {
    search(pool, held_for, fate, None, 10).await.unwrap().found
}

async fn is_referred_to(pool: &PgPool, hash: &[u8; 32]) -> bool {
    reference(pool, hash).await.unwrap().is_some()
}

/// A dispute whose evidence has this hash.
async fn dispute_about(pool: &PgPool, hash: [u8; 32]) {
    let execution = addresses().execution(&wallet(41), &[hash[0]; 16]);
    let mut dispute = dispute(execution, addresses().agent(&wallet(40), 0), wallet(41), DisputeOutcome::Upheld);
    dispute.evidence_hash = hash;
    put(pool, &addresses().dispute(&execution), 10, &dispute).await;
}

async fn refer_to(pool: &PgPool, hash: [u8; 32]) {
    let mut listing = listing(wallet(40), u32::from(hash[0]));
    listing.metadata_hash = hash;
    put(pool, &addresses().agent(&wallet(40), listing.index), 10, &listing).await;
}

#[tokio::test]
async fn results_documents_and_all_statements_of_a_dispute_are_references() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let (caller, creator, id) = (wallet(1), wallet(2), Uuid::from_u128(1));
    let agent = addresses().agent(&creator, 0);
    let record_address = addresses().execution(&caller, id.as_bytes());
    let open = record(caller, agent, id);
    put(pool, &record_address, 10, &open).await;
    let result = ResultHash::of(b"the result").0;
    assert!(!is_referred_to(pool, &result).await, "an open record has no result");
    put(pool, &record_address, 11, &completed(open, "the result")).await;
    let mut dispute = dispute(record_address, agent, caller, DisputeOutcome::Upheld);
    (dispute.evidence_hash, dispute.answer_hash, dispute.resolution_hash) = ([21; 32], [22; 32], [23; 32]);
    (dispute.answered_at_unix_s, dispute.resolved_at_unix_s) = (NOON + 70, NOON + 80);
    put(pool, &addresses().dispute(&record_address), 12, &dispute).await;
    refer_to(pool, [24; 32]).await;
    assert_eq!(reference(pool, &[24; 32]).await.unwrap(), Some(Reference::Listing { creator: wallet(40) }));
    assert_eq!(reference(pool, &result).await.unwrap(), Some(Reference::Lasting));
    for referred in [result, [21; 32], [22; 32], [23; 32], [24; 32]] {
        assert!(is_referred_to(pool, &referred).await);
    }
    for other in [[0; 32], [25; 32]] {
        assert!(!is_referred_to(pool, &other).await);
    }
}

#[tokio::test]
async fn a_wallet_holds_neither_more_pieces_nor_more_bytes_than_its_limits() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    assert_eq!(hold(pool, 1, &[piece(1, 60), piece(2, 40)]).await, Held::New);
    let Held::WalletFull { retry_after } = hold(pool, 1, &[piece(3, 1)]).await else { panic!("100 bytes are held") };
    assert!(retry_after <= DAY && retry_after > DAY - Duration::from_secs(3_600), "{retry_after:?}");
    assert_eq!(hold(pool, 1, &[piece(3, 0)]).await, Held::New);
    assert!(matches!(hold(pool, 1, &[piece(4, 0)]).await, Held::WalletFull { .. }), "three pieces are held");
    assert_eq!(hold(pool, 1, &[piece(1, 60)]).await, Held::Again, "what is held already takes no more room");
    assert_eq!(hold(pool, 2, &[piece(1, 60)]).await, Held::New, "another wallet has its own room");
    assert!(matches!(hold(pool, 3, &[piece(7, 60), piece(8, 41)]).await, Held::WalletFull { .. }));
    assert_eq!(hold(pool, 3, &[piece(7, 60)]).await, Held::New, "a refused set leaves no part behind");
}

#[tokio::test]
async fn what_a_dispute_refers_to_takes_no_room_once_it_is_kept() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    assert_eq!(hold(pool, 1, &[piece(1, 100)]).await, Held::New);
    assert!(matches!(hold(pool, 1, &[piece(2, 1)]).await, Held::WalletFull { .. }));
    dispute_about(pool, [1; 32]).await;
    age_held_content(pool, Duration::from_secs(60)).await;
    let kept = release(pool, &[1; 32], Duration::from_secs(30), Fate::Kept).await.unwrap();
    kept.expect("kept").commit().await.unwrap();
    assert_eq!(hold(pool, 1, &[piece(2, 100)]).await, Held::New);
}

#[tokio::test]
async fn what_a_listing_refers_to_takes_the_room_of_one_day_and_no_more() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    assert_eq!(hold(pool, 1, &[piece(1, 50), piece(2, 40), piece(3, 1)]).await, Held::New);
    assert!(matches!(hold(pool, 1, &[piece(4, 1)]).await, Held::WalletFull { .. }), "three pieces are held");
    refer_to(pool, [1; 32]).await;
    assert_eq!(hold(pool, 1, &[piece(4, 9)]).await, Held::New, "what is referred to is not counted as a piece");
    refer_to(pool, [2; 32]).await;
    let full = hold(pool, 1, &[piece(5, 1)]).await;
    assert!(matches!(full, Held::WalletFull { .. }), "100 bytes were handed in within a day: {full:?}");
    age_held_content(pool, DAY).await;
    refer_to(pool, [5; 32]).await;
    assert_eq!(hold(pool, 1, &[piece(2, 40)]).await, Held::Again);
}

#[tokio::test]
async fn what_a_listing_no_longer_refers_to_is_dropped_and_its_last_documents_are_not() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    hold(pool, 1, &[piece(1, 1), piece(2, 1)]).await;
    refer_to(pool, [1; 32]).await;
    age_held_content(pool, DAY).await;
    assert_eq!(held_for(pool, DAY, Fate::Listed).await, [[1; 32]]);
    note_listed(pool, &[[1; 32]]).await.unwrap();
    assert!(held_for(pool, DAY, Fate::Listed).await.is_empty(), "it is noted");
    assert_eq!(held_for(pool, DAY, Fate::Dropped).await, [[2; 32]]);
    sqlx::query("UPDATE mirror_agents SET metadata_hash = $1").bind(&[9_u8; 32][..]).execute(pool).await.unwrap();
    assert_eq!(held_for(pool, DAY, Fate::Dropped).await, [[1; 32], [2; 32]], "noted or not");
    let bytes = document("earlier", &["data"]);
    let hash = ResultHash::of(&bytes).0;
    store_document(pool, &addresses().agent(&wallet(40), 1), &bytes).await;
    hold(pool, 1, &[Piece { sha256: hash, size: 1 }]).await;
    age_held_content(pool, DAY).await;
    assert_eq!(held_for(pool, DAY, Fate::Listed).await, [hash], "one of the last documents");
    sqlx::query("UPDATE mirror_agents SET closed_at_slot = 9").execute(pool).await.unwrap();
    crtx_store::metadata::prune_closed(pool, Duration::ZERO).await.unwrap();
    assert!(held_for(pool, DAY, Fate::Dropped).await.contains(&hash), "the listing is closed");
}

#[tokio::test]
async fn content_that_is_longer_than_a_document_is_not_held_for_a_listing() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let longest = u64::try_from(crtx_protocol::metadata::MAX_BYTES).unwrap();
    let limits = HoldLimits {
        wallet: HoldingLimits { pieces: 3, bytes: 1 << 30 },
        known_wallets: HoldingLimits { pieces: 3, bytes: 1 << 30 },
        unknown_wallets: HoldingLimits { pieces: 3, bytes: 1 << 30 },
        ..LIMITS
    };
    held_content::hold(pool, &wallet(1), &[piece(1, longest)], None, &limits).await.unwrap();
    held_content::hold(pool, &wallet(1), &[piece(2, longest + 1)], None, &limits).await.unwrap();
    refer_to(pool, [1; 32]).await;
    let mut other = listing(wallet(42), 0);
    other.metadata_hash = [2; 32];
    put(pool, &addresses().agent(&wallet(42), 0), 10, &other).await;
    age_held_content(pool, DAY).await;
    assert_eq!(held_for(pool, DAY, Fate::Listed).await, [[1; 32]]);
    assert_eq!(held_for(pool, DAY, Fate::Dropped).await, [[2; 32]]);
}

#[tokio::test]
async fn listed_content_takes_no_room_that_wallets_share() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let limits = HoldLimits { unknown_wallets: HoldingLimits { pieces: 10, bytes: 100 }, ..LIMITS };
    let hold = async |who: u8, number: u8| {
        held_content::hold(pool, &wallet(who), &[piece(number, 60)], None, &limits).await.unwrap()
    };
    assert_eq!(hold(1, 1).await, Held::New);
    assert_eq!(hold(2, 2).await, Held::Full);
    refer_to(pool, [1; 32]).await;
    note_listed(pool, &[[1; 32]]).await.unwrap();
    assert_eq!(hold(2, 2).await, Held::New);
}

#[tokio::test]
async fn wallets_without_anything_on_chain_share_a_limit_and_take_no_room_of_the_others() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let limits = HoldLimits { unknown_wallets: HoldingLimits { pieces: 10, bytes: 100 }, ..LIMITS };
    let hold = async |who: u8, number: u8| {
        held_content::hold(pool, &wallet(who), &[piece(number, 60)], None, &limits).await.unwrap()
    };
    assert_eq!(hold(1, 1).await, Held::New);
    assert_eq!(hold(2, 2).await, Held::Full);
    put(pool, &wallet(102), 10, &profile(wallet(2), "Bob", false)).await;
    assert_eq!(hold(2, 2).await, Held::New, "a wallet with a profile is known");
}

#[tokio::test]
async fn limits_hold_when_many_pieces_come_at_the_same_time() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let held = join_all((0..12).map(|number| async move { hold(pool, 1, &[piece(number, 1)]).await })).await;
    assert_eq!(held.iter().filter(|held| **held == Held::New).count(), 3, "{held:?}");
}

#[tokio::test]
async fn a_piece_is_dropped_after_its_time_and_not_before() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    hold(pool, 1, &[piece(1, 1)]).await;
    assert!(held_for(pool, DAY, Fate::Dropped).await.is_empty());
    assert!(release(pool, &[1; 32], DAY, Fate::Dropped).await.unwrap().is_none(), "its time is not over");
    age_held_content(pool, DAY).await;
    assert_eq!(held_for(pool, DAY, Fate::Dropped).await, [[1; 32]]);
    release(pool, &[1; 32], DAY, Fate::Dropped).await.unwrap().expect("dropped").commit().await.unwrap();
    assert!(held_for(pool, Duration::ZERO, Fate::Dropped).await.is_empty());
}

#[tokio::test]
async fn a_piece_is_not_dropped_once_something_refers_to_it_or_it_was_handed_in_again() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    hold(pool, 1, &[piece(1, 1), piece(2, 1), piece(3, 1)]).await;
    age_held_content(pool, DAY).await;
    assert_eq!(held_for(pool, DAY, Fate::Dropped).await.len(), 3);
    // All of this happens after the search and before the drop.
    refer_to(pool, [1; 32]).await;
    hold(pool, 1, &[piece(2, 1)]).await;
    hold(pool, 2, &[piece(3, 1)]).await;
    for number in [1, 2, 3] {
        assert!(release(pool, &[number; 32], DAY, Fate::Dropped).await.unwrap().is_none(), "{number}");
    }
    assert_eq!(held_for(pool, DAY, Fate::Listed).await, [[1; 32]]);
    assert!(held_for(pool, DAY, Fate::Dropped).await.is_empty());
}

#[tokio::test]
async fn a_drop_that_is_not_committed_changes_nothing() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    hold(pool, 1, &[piece(1, 1)]).await;
    age_held_content(pool, DAY).await;
    drop(release(pool, &[1; 32], DAY, Fate::Dropped).await.unwrap().expect("dropped"));
    assert_eq!(held_for(pool, DAY, Fate::Dropped).await, [[1; 32]]);
}

#[tokio::test]
async fn a_piece_is_not_handed_in_while_it_is_dropped() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    hold(pool, 1, &[piece(1, 1)]).await;
    age_held_content(pool, DAY).await;
    let released = release(pool, &[1; 32], DAY, Fate::Dropped).await.unwrap().expect("dropped");
    let again = tokio::spawn({
        let pool = pool.clone();
        async move { hold(&pool, 1, &[piece(1, 1)]).await }
    });
    while waiting_for_locks(pool).await == 0 {
        tokio::task::yield_now().await;
    }
    assert!(!again.is_finished());
    released.commit().await.unwrap();
    assert_eq!(again.await.unwrap(), Held::New);
    assert_eq!(held_for(pool, Duration::ZERO, Fate::Dropped).await, [[1; 32]]);
}

async fn waiting_for_locks(pool: &PgPool) -> i64 {
    let count = "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
                 WHERE d.datname = current_database() AND NOT l.granted";
    sqlx::query_scalar(count).fetch_one(pool).await.unwrap()
}

#[tokio::test]
async fn who_refers_to_a_document_refers_to_its_files() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    let pieces = [piece(1, 1), piece(2, 1), piece(3, 1)];
    held_content::hold(pool, &wallet(1), &pieces, Some([1; 32]), &LIMITS).await.unwrap();
    assert!(!is_referred_to(pool, &[2; 32]).await);
    dispute_about(pool, [1; 32]).await;
    for number in [1, 2, 3] {
        assert!(is_referred_to(pool, &[number; 32]).await, "{number}");
    }
    age_held_content(pool, DAY).await;
    assert!(held_for(pool, DAY, Fate::Dropped).await.is_empty());
    for number in [1, 2, 3] {
        release(pool, &[number; 32], DAY, Fate::Kept).await.unwrap().expect("kept now").commit().await.unwrap();
    }
    assert!(is_referred_to(pool, &[2; 32]).await, "its files stay known");
}

#[tokio::test]
async fn a_document_that_is_dropped_no_longer_refers_to_its_files() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    held_content::hold(pool, &wallet(1), &[piece(1, 1), piece(2, 1)], Some([1; 32]), &LIMITS).await.unwrap();
    age_held_content(pool, DAY).await;
    release(pool, &[1; 32], DAY, Fate::Dropped).await.unwrap().expect("dropped").commit().await.unwrap();
    dispute_about(pool, [1; 32]).await;
    assert!(!is_referred_to(pool, &[2; 32]).await);
}

#[tokio::test]
async fn one_look_is_bounded_however_much_is_held_and_the_next_goes_on_behind_it() {
    let database = TestDatabase::create().await;
    let pool = database.pool();
    for who in 1..=2 {
        assert_eq!(hold(pool, who, &[piece(who, 1), piece(who + 2, 1), piece(9, 1)]).await, Held::New);
    }
    dispute_about(pool, [4; 32]).await;
    let first = search(pool, Duration::ZERO, Fate::Kept, None, 3).await.unwrap();
    assert_eq!((first.found, first.last), (vec![], Some([3; 32])), "1, 2 and 3 are looked at");
    let second = search(pool, Duration::ZERO, Fate::Kept, first.last, 3).await.unwrap();
    assert_eq!((second.found, second.last), (vec![[4; 32]], None), "4 and 9, which two wallets hold");
}
