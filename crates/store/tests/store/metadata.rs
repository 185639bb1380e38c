//! Documents of listings in the database: who may fetch what, and what is deleted.

use std::{collections::HashMap, time::Duration};

use crtx_protocol::result_hash::ResultHash;
use crtx_store::{
    metadata::{self, ClaimLimits, WantedDocument},
    testing::{TestDatabase, fixtures::*},
};
use solana_pubkey::Pubkey;
use uuid::Uuid;

const LIMITS: ClaimLimits = ClaimLimits {
    fresh: 100,
    retries: 50,
    per_creator: 4,
    per_host: 8,
    of_content: 20,
    lease: Duration::from_secs(60),
};

async fn put_listing(database: &TestDatabase, creator: Pubkey, index: u32, revision: u64, uri: &str) -> Pubkey {
    let mut listing = listing(creator, index);
    listing.metadata_hash = ResultHash::of(uri.as_bytes()).0;
    listing.revision = revision;
    set_uri(&mut listing, uri);
    let address = addresses().agent(&creator, index);
    put(database.pool(), &address, 1, &listing).await;
    address
}

async fn claim(database: &TestDatabase, holder: u128, limits: ClaimLimits) -> Vec<WantedDocument> {
    metadata::claim(database.pool(), Uuid::from_u128(holder), limits).await.expect("claimed")
}

async fn count(database: &TestDatabase) -> i64 {
    sqlx::query_scalar("SELECT count(*) FROM agent_metadata").fetch_one(database.pool()).await.expect("a count")
}

#[tokio::test]
async fn every_creator_and_every_host_has_documents_among_those_that_are_claimed() {
    let database = TestDatabase::create().await;
    for index in 0..50 {
        put_listing(&database, wallet(1), index, 1, &format!("https://{index}.example/")).await;
        put_listing(&database, wallet(2), index, 1, &format!("https://Shared.example/{index}")).await;
    }
    for number in 3..60 {
        put_listing(&database, wallet(number), 0, 1, &format!("https://shared.example/of-{number}")).await;
    }
    let claimed = claim(&database, 1, LIMITS).await;
    let mut creators: HashMap<Pubkey, usize> = HashMap::new();
    claimed.iter().for_each(|claimed| *creators.entry(claimed.creator).or_default() += 1);
    assert_eq!(creators[&wallet(1)], 4);
    assert_eq!(claimed.iter().filter(|claimed| claimed.uri.to_lowercase().contains("shared")).count(), 8);
    assert!(creators.len() >= 8, "{creators:?}");
    // What is claimed counts for other processes, too.
    assert_eq!(claim(&database, 2, LIMITS).await, []);
    metadata::release_all(database.pool(), Uuid::from_u128(1)).await.expect("released");
    assert_eq!(claim(&database, 2, LIMITS).await.len(), claimed.len());
}

#[tokio::test]
async fn content_by_its_hash_has_a_limit_of_its_own() {
    let database = TestDatabase::create().await;
    for number in 1..=30 {
        put_listing(&database, wallet(number), 0, 1, &format!("ipfs://content-{number}")).await;
        put_listing(&database, wallet(number), 1, 1, &format!("https://one.example/{number}")).await;
    }
    for index in 2..20 {
        put_listing(&database, wallet(1), index, 1, &format!("IPFS://content-of-one-{index}")).await;
    }
    let claimed = claim(&database, 1, LIMITS).await;
    let content = claimed.iter().filter(|claimed| claimed.uri.to_lowercase().starts_with("ipfs:")).count();
    assert_eq!((content, claimed.len()), (20, 28));
    assert!(claimed.iter().filter(|claimed| claimed.creator == wallet(1)).count() <= 4);
}

#[tokio::test]
async fn a_lease_that_is_over_is_taken_over() {
    let database = TestDatabase::create().await;
    let agent = put_listing(&database, wallet(1), 0, 1, "https://a.example/").await;
    assert_eq!(claim(&database, 1, ClaimLimits { lease: Duration::ZERO, ..LIMITS }).await[0].agent, agent);
    assert_eq!(claim(&database, 2, LIMITS).await[0].agent, agent);
    assert_eq!(claim(&database, 3, LIMITS).await, []);
}

#[tokio::test]
async fn retries_leave_room_for_documents_that_were_never_tried() {
    let database = TestDatabase::create().await;
    for number in 1..80 {
        let uri = format!("https://{number}.example/");
        put_listing(&database, wallet(number), 0, 1, &uri).await;
    }
    for claimed in claim(&database, 1, LIMITS).await {
        let failure = metadata::FetchFailure {
            kind: metadata::FailureKind::Unavailable,
            message: "no answer in time",
            retry_in: Duration::ZERO,
        };
        metadata::store_failure(database.pool(), &claimed, failure).await.expect("stored");
    }
    let fresh = put_listing(&database, wallet(200), 0, 1, "https://new.example/").await;
    let claimed = claim(&database, 1, ClaimLimits { retries: 10, ..LIMITS }).await;
    assert_eq!(claimed[0].agent, fresh);
    assert_eq!(claimed.len(), 11);
}

#[tokio::test]
async fn the_ten_newest_documents_of_an_agent_are_kept_and_after_its_end_only_its_name() {
    let database = TestDatabase::create().await;
    let bytes = |number: u64| document(&format!("name {number}"), &["data"]);
    let mut address = Pubkey::default();
    for number in 1..=24 {
        let mut listing = listing(wallet(1), 0);
        (listing.metadata_hash, listing.revision) = (ResultHash::of(&bytes(number)).0, number);
        set_uri(&mut listing, &format!("https://a.example/{number}"));
        address = addresses().agent(&wallet(1), 0);
        put(database.pool(), &address, 1, &listing).await;
        if number % 2 == 0 {
            let claimed = claim(&database, 1, LIMITS).await;
            let failure = metadata::FetchFailure {
                kind: metadata::FailureKind::Mismatch,
                message: "another one",
                retry_in: Duration::from_secs(60),
            };
            metadata::store_failure(database.pool(), &claimed[0], failure).await.expect("stored");
        } else {
            store_document(database.pool(), &address, &bytes(number)).await;
        }
    }
    // The failure of the current document, and nine earlier documents.
    assert_eq!(count(&database).await, 10);
    assert_eq!(metadata::prune_closed(database.pool(), Duration::ZERO).await.expect("pruned"), 0);
    sqlx::query("UPDATE mirror_agents SET closed_at_slot = 9").execute(database.pool()).await.expect("closed");
    assert_eq!(metadata::prune_closed(database.pool(), Duration::from_secs(3_600)).await.expect("pruned"), 0);
    assert_eq!(metadata::prune_closed(database.pool(), Duration::ZERO).await.expect("pruned"), 9);
    let (name, document, bytes): (String, String, Option<Vec<u8>>) =
        sqlx::query_as("SELECT name, document::text, bytes FROM agent_metadata WHERE agent = $1")
            .bind(address.to_string())
            .fetch_one(database.pool())
            .await
            .expect("one is left");
    assert_eq!((name.as_str(), document.as_str(), bytes), ("name 23", "{}", None));
}
